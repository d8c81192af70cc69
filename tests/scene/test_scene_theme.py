"""The themes: every role has its color, text can be read on it, and the stylesheet asks for nothing else."""

from __future__ import annotations

import re
from html import unescape

import pytest
from scene_samples import loss, square

from workbench.pictures.scene.model import Arrow, Box, Scene
from workbench.pictures.scene.shapes import drawn
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.scene.theme import (
    DARK,
    LIGHT,
    THEMES,
    Stylesheet,
    css_variables,
    flat_css,
    live_css,
    picture_css,
    theme_named,
)

KINDS = ["function", "op", "leaf", "constant", "output", "saved"]
STATES = ["idle", "pending", "ready", "running", "done", "freed", "error"]


def _luminance(color: str) -> float:
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_text_in_a_box_has_contrast(theme, kind, state):
    sheet, group = Stylesheet(flat_css(theme)), f"wb-box wb-kind-{kind} wb-state-{state}"
    frame = sheet.of(group, "wb-frame")["fill"]
    canvas, region = theme.colors["canvas"], sheet.of("wb-box wb-kind-region", "wb-frame")["fill"]
    assert (frame == "none") == (state == "freed")  # what is freed has no frame: its text stands on what is behind it
    for role in ("wb-title", "wb-text") + (("wb-word",) if state == "freed" else ()):
        for behind in [canvas, region] if state == "freed" else [frame]:
            assert _contrast(sheet.of(group, role)["fill"], behind) >= 4.5, role


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("state", ["idle", "flowing", "done"])
def test_every_label_has_contrast(theme, state):
    sheet, group = Stylesheet(flat_css(theme)), f"wb-arrow wb-kind-edge wb-state-{state}"
    behind = sheet.of(group, "wb-pill")["fill"] if state == "flowing" else theme.colors["canvas"]
    assert _contrast(sheet.of(group, "wb-label")["fill"], behind) >= 4.5


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_lines_and_signs_stand_out_from_the_canvas(theme):
    canvas = theme.colors["canvas"]
    for role in "edge-stroke gradient error op-stroke leaf-stroke constant-stroke saved-stroke".split():
        assert _contrast(theme.colors[role], canvas) >= 3, role
    assert _contrast(theme.colors["gradient-on"], theme.colors["gradient-fill"]) >= 3


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_the_words_of_a_page_have_contrast(theme):
    for words in ("ink", "muted", "gradient-ink", "error"):
        for behind in ("canvas", "panel"):
            assert _contrast(theme.colors[words], theme.colors[behind]) >= 4.5, (words, behind)


def test_no_state_is_told_by_colour_alone():
    def plain(kind: str, state: str) -> str:
        board = Storyboard(Scene("", {"n": Box("n", kind, "n", state=state)}))
        sheet, (group,) = Stylesheet(flat_css(LIGHT)), drawn(board)
        looks = [{k: v for k, v in sheet.of(group.classes, s.role).items() if "#" not in v} for s in group.shapes]
        return repr((group.shapes, looks))

    # What is finished is quiet: its arrows tell that the gradient has passed.
    assert plain("op", "done") == plain("op", "idle")
    assert len({plain("op", state) for state in STATES}) == len(STATES) - 1
    assert len({plain(kind, "idle") for kind in KINDS}) == len(KINDS)


def test_no_arrows_state_is_told_by_colour_alone():
    def plain(kind: str, state: str) -> str:
        boxes = {id: Box(id, "op", id) for id in "ab"}
        board = Storyboard(Scene("", boxes, {"e": Arrow("e", "a", "b", kind, "1", state)}))
        sheet, group = Stylesheet(flat_css(LIGHT)), drawn(board)[-1]
        looks = [{k: v for k, v in sheet.of(group.classes, s.role).items() if "#" not in v} for s in group.shapes]
        return repr((group.shapes, looks))

    every = [plain(kind, state) for kind in ("edge", "constant") for state in ("idle", "flowing", "done")]
    assert len(set(every)) == len(every)


def test_all_themes_have_the_same_roles_and_the_stylesheet_asks_for_no_other():
    for theme in THEMES.values():
        assert theme.values.keys() == LIGHT.values.keys()
        assert set(re.findall(r"var\(--wb-([\w-]+)\)", picture_css())) <= {*theme.values}
        assert "var(" not in flat_css(theme)


def test_variables_are_declarations_for_a_rule():
    declared = css_variables("light")
    assert "--wb-function-fill: #0069a6;" in declared and "{" not in declared


def test_a_live_page_is_dark_where_its_reader_wants_it():
    css = live_css(".here")
    assert "@media (prefers-color-scheme: dark) { .here {" in css
    assert ":has(" not in css  # at each change in a large picture the browser would look through all of it
    assert '[data-jp-theme-light="false"] .here' in css and '[data-jp-theme-light="true"] .here' in css


def test_the_stylesheet_keeps_to_what_every_face_understands():
    bare = re.sub(r"/\*.*?\*/", "", picture_css(), flags=re.DOTALL)
    for selectors in re.findall(r"([^{}]+)\{", bare):
        assert re.fullmatch(r"\s*\.[\w.-]+( \.[\w.-]+)*\s*", selectors), selectors


def test_the_more_specific_and_then_the_later_rule_wins():
    sheet = Stylesheet(flat_css(LIGHT))
    running = sheet.of("wb-box wb-kind-function wb-state-running", "wb-frame")
    assert running["stroke-width"] == "4" and running["fill"] == LIGHT.colors["function-fill"]
    dashed = sheet.of("wb-arrow wb-kind-constant wb-state-done", "wb-line")
    assert dashed["stroke-dasharray"] == "6 4" and dashed["stroke"] == LIGHT.colors["gradient-past"]


def test_every_shape_drawn_has_a_colour():
    sheet, board = Stylesheet(flat_css(LIGHT)), loss()
    for k in range(len(board.steps)):
        for group in drawn(board, k):
            for shape in group.shapes:
                assert sheet.of(group.classes, shape.role).keys() & {"fill", "stroke"}, shape.role


def test_an_unknown_theme_is_refused_in_a_sentence():
    assert theme_named("dark") is DARK and theme_named(DARK) is DARK
    sentence = "There is no theme named 'pink'; choose one of dark, light, print, projector."
    with pytest.raises(ValueError, match=sentence):
        theme_named("pink")


@pytest.mark.parametrize("theme", list(THEMES.values()), ids=list(THEMES))
def test_an_image_has_the_rules_that_its_shapes_need_and_no_others(theme):
    whole, light = Stylesheet(flat_css(theme)), ""
    for board in (loss(), square()):
        for k in range(-1, len(board.steps)):
            (css,) = re.findall("<style>(.*)</style>", to_svg(board, k, theme), re.DOTALL)
            sheet = Stylesheet(light := unescape(css))
            for group in drawn(board, k):
                for shape in group.shapes:
                    assert sheet.of(group.classes, shape.role) == whole.of(group.classes, shape.role)
    assert "wb-kind-saved" in light and "wb-kind-level" not in light and len(light) < len(flat_css(theme)) / 2
