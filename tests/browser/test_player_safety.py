"""The player is harmless and open to all: hostile text stays text, nothing leaks, axe finds nothing."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page
from player_page import press, show, states
from player_story import storyboard

from workbench.scene.images import to_svg
from workbench.scene.model import Arrow, Box, Detail, Scene, StoryStep
from workbench.scene.storyboard import Storyboard

STORY = storyboard().to_dict()
HOSTILE = [
    "</script><script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    "\"quotes' & ${window.hurt = 1} `ticks` &lt;",
    "שלום \u202eright to left\u202c مرحبا",
    "x" * 10_000,
    "nan",
    "a\x00b\ud800c\n\nline]]>",
    "__proto__",
]

LARGE = """() => { for (const _ of "four") document.querySelector('[data-action="in"]').click(); }"""


@pytest.fixture(scope="module")
def browser_tab():
    with open_page() as page:
        yield page


@pytest.fixture
def page(browser_tab):
    yield browser_tab
    assert browser_tab.console_errors == []
    assert browser_tab.requests_outside == []


def hostile_board(text: str) -> Storyboard:
    value = {"name": text, "shape": [1], "dtype": text, "text": text, "norm": text}
    details = Detail(text, "code", text), Detail(text, "text", text), Detail(text, "value", value)
    boxes = {
        "a": Box("a", "leaf", text, (text, text), "future", details=details),
        "b": Box("b", "function", text, (text,), "future", alt=text),
        "c": Box("c", "saved", text, (text,), "future", holder="b"),
    }
    step = StoryStep(text, "backward", {"file": text, "line": 1, "text": text}, "a")
    step.boxes = {id: {"state": "idle"} for id in boxes} | {"c": {"state": "freed"}}
    step.arrows = {"ab": {"state": "flowing", "label": text}}
    return Storyboard(Scene(text, boxes, {"ab": Arrow("ab", "a", "b", state="future")}), [step, step])


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_text_is_shown_as_text(page, text):
    show(page, hostile_board(text).to_dict())
    page.locator('[data-id="a"]').click()
    press(page, "step")
    assert page.evaluate("window.hurt") is None
    assert page.locator("#here script, #here img").count() == 0
    assert page.locator(".wb-details .wb-section").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("text", HOSTILE[:3])
def test_hostile_text_reaches_the_reader_unchanged(page, text):
    show(page, hostile_board(text).to_dict())
    page.locator('[data-id="a"]').click()
    assert page.locator(".wb-details pre code").text_content() == text
    assert page.locator(".wb-sentence").text_content() == text


def test_unknown_fields_and_ids_are_ignored(page):
    story = storyboard().to_dict()
    story["new"] = story["boxes"][0]["new"] = story["steps"][0]["new"] = {"a": 1}
    story["steps"][0]["boxes"]["nobody"] = {"state": "idle"}
    story["steps"][0]["boxes"]["x"]["id"] = "y"
    show(page, story)
    assert states(page) == {id: thing.state for part in ("boxes", "arrows")
                            for id, thing in getattr(storyboard().at(2), part).items()}  # fmt: skip


@pytest.mark.parametrize("story", [None, {}, [], {**STORY, "version": 2}, {**STORY, "format": "<b>else</b>"}])
def test_what_is_no_storyboard_gets_one_sentence(page, story):
    show(page, story)
    said = page.locator("#here").inner_text()
    assert said.startswith("This player reads workbench-storyboard 1 and was given ")
    assert page.locator("#here *").count() == 1
    page.evaluate("player.go(3); player.destroy()")


def test_a_still_picture_has_nothing_to_step(page):
    still = Storyboard(Scene("still", {"a": Box("a", "leaf", "a")}, {}))
    show(page, still.to_dict())
    assert states(page) == {"a": "idle"}
    assert not page.get_by_role("button", name="Step").is_visible()
    page.locator(".wb-player").press("ArrowRight")
    assert page.get_by_role("button", name="Fit").is_visible()
    press(page, "menu")
    assert page.get_by_role("menuitem", name="Zoom in").is_visible()
    assert page.get_by_role("menuitemcheckbox").count() == 0  # there is nothing to predict


@pytest.mark.parametrize("selector", [".wb-player", ".wb-button", ".wb-slider", '[data-id="n1"]', ".wb-view"])
def test_no_key_leaks_to_the_page(page, selector):
    show(page, STORY)
    page.evaluate(LARGE)  # what does not scroll takes no focus
    for key in ["b", "a", "d", "Enter", "Shift+Enter", "Escape", "ArrowRight", "Home", "Space", "?", "Tab"]:
        page.locator(selector).first.focus()
        page.keyboard.press(key)
    assert page.evaluate("leaked") == []


@pytest.mark.parametrize("selector", [".wb-player", ".wb-button", ".wb-slider", '[data-id="n1"]', ".wb-view"])
def test_a_host_that_hears_of_keys_first_is_told_to_leave_them(page, selector):
    # Notebook 7 looks at every key before the player does, and takes it unless the focused element says this.
    show(page, STORY)
    page.evaluate(LARGE)  # what does not scroll takes no focus
    page.locator(selector).first.focus()
    assert page.evaluate("document.activeElement.hasAttribute('data-lm-suppress-shortcuts')")


def test_the_hosts_own_shortcuts_still_reach_it(page):
    show(page, STORY)
    page.locator(".wb-player").focus()
    page.keyboard.press("Control+s")
    assert page.evaluate("leaked") == ["Control", "s"] or page.evaluate("leaked") == ["s"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("k", [1, 5, 7])
def test_axe_finds_no_violation(page, scheme, k):
    page.emulate_media(color_scheme=scheme)
    try:
        show(page, STORY)
        page.evaluate("k => player.go(k)", k)
        page.locator('[data-id="n1"]').click()
        press(page, "keys")
        found = Axe().run(page, ".wb-player")
        assert found.violations_count == 0, found.generate_report()
    finally:
        page.emulate_media(color_scheme="null")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_jupyterlabs_theme_wins_over_the_systems(page, scheme):
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    try:
        show(page, STORY)
        colour = "getComputedStyle(document.querySelector('.wb-player')).backgroundColor"
        before = page.evaluate(colour)
        light = "true" if scheme == "light" else "false"
        page.evaluate("light => { document.body.dataset.jpThemeLight = light }", light)
        after = page.evaluate(colour)
        assert (after == "rgb(255, 255, 255)") == (scheme == "light")
        assert before != after
    finally:
        page.emulate_media(color_scheme="null")


def test_a_name_written_from_the_right_leaves_its_shape_alone(page):
    name = "\u05e8\u05e9\u05ea"
    board = Storyboard(Scene("a", {"a": Box("a", "leaf", "a", (f"{name} (2, 3) float32",))}))
    place = """text => { const range = document.createRange(), at = text.textContent.indexOf("(2");
        const left = (n) => (range.setStart(text.firstChild, n), range.setEnd(text.firstChild, n + 1),
          range.getBoundingClientRect().left);
        return [left(at), left(at + 1), left(at + 4), left(at + 7)]; }"""
    show(page, board.to_dict())
    in_player = page.locator("svg.wb-picture text.wb-text").evaluate(place)
    page.set_content(to_svg(board))
    for places in (in_player, page.locator("text.wb-text").evaluate(place)):
        assert places == sorted(places)
