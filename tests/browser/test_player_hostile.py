"""A page with hostile texts or damaged data does no harm and says so; axe finds nothing, and no key leaks."""

from __future__ import annotations

import json
import re

import pytest
from browser_page import assert_accessible, settled
from player_page import go, position, press, show, states
from player_story import storyboard
from test_scene_hostile import HOSTILE

import workbench as torch
from workbench.pictures.scene.model import Arrow, Box, Detail, Scene, StoryStep
from workbench.pictures.scene.picture import to_html
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg
from workbench.pictures.views import storyboard as view_of

STORY = storyboard().to_dict()
SENTENCE = "The picture appears here when the whole page has loaded."
HURT = "window.hurt = 1"
TEXTS = {name: text.replace("alert(1)", HURT).replace("x()", HURT) for name, text in HOSTILE.items()}
TEXTS |= {
    "image": f"<img src=x onerror='{HURT}'>",
    "template": f"\"quotes' & ${{{HURT}}} `ticks` &lt;",
    "nan": "nan",
    "no characters": "a\x00b\ud800c\n\nline]]>",
    "prototype": "__proto__",
}


def graph(text: str) -> Storyboard:
    value = {"name": text, "shape": [1], "dtype": text, "text": text, "norm": text}
    details = (Detail(text, "code", text), Detail(text, "text", text), Detail(text, "value", value))
    boxes = {
        text or "n": Box(text or "n", "function", text, (text,), "error", alt=text, details=details),
        "s": Box("s", "saved", text, (text,), "freed", holder=text or "n"),
        "x": Box("x", "leaf", text, (text, text)),
        "r": Box("r", "region", text),
    }
    boxes["x"].region = "r"
    arrow = Arrow(text or "a", "x", text or "n", label=text, state="flowing", weight=2, tone="bad")
    steps = [StoryStep(text, text, {"file": text, "line": 1, "text": text}, text), StoryStep(text, "backward")]
    return Storyboard(Scene(text, boxes, {text or "a": arrow}), steps)


def chart(text: str) -> Storyboard:
    kinds = ("cell", "bar", "ghost", "event", "text", "heading", "line", "frame", "tick")
    boxes = {
        kind: Box(kind, kind, text, (text,), "running", place=(0, 60 * n, 200, 50), shade=n - 4, alt=text)
        for n, kind in enumerate(kinds)
    }
    return Storyboard(Scene(text, boxes), [StoryStep(text, cursor={"file": text, "line": 1, "text": text})])


def load(page, html: str) -> None:
    page.set_content(html)
    settled(page)


@pytest.mark.parametrize("board", [graph, chart])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_hostile_label_is_a_label_in_a_saved_page(page, board, text):
    load(page, to_html(board(text)))
    page.wait_for_selector(".wb-picture")
    page.locator(".wb-box:not(.wb-kind-region)").first.click()
    assert board is chart or page.locator(".wb-details .wb-section").count() == 3
    page.keyboard.press("/")
    page.keyboard.type("o")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.hurt") is None
    assert page.locator("main script, main img, main a, main [href], main [src], main [onclick]").count() == 0
    drawn = page.locator(".wb-box, .wb-arrow").count()
    assert drawn == sum(map(len, (board("plain").scene.boxes, board("plain").scene.arrows)))
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("name", ["script", "image", "template"])
def test_hostile_text_reaches_the_reader_unchanged(page, name):
    show(page, graph(TEXTS[name]).to_dict())
    page.locator(".wb-kind-function").click()
    assert page.locator(".wb-details pre code").text_content() == TEXTS[name]
    # Text between backticks is shown as code, and is text all the same.
    assert page.locator(".wb-sentence").text_content() == TEXTS[name].replace("`", "")
    assert page.locator("#here script, #here img").count() == 0 and page.evaluate("window.hurt") is None


@pytest.mark.parametrize("part", [0.3, 0.5, 0.9, 0.999])
def test_a_page_that_is_cut_short_says_so_and_runs_nothing(page, part):
    html = to_html(graph("x"))
    load(page, html[: int(len(html) * part)])
    said = page.locator("body").inner_text()
    assert said == "" if "<body>" not in html[: int(len(html) * part)] else SENTENCE in said
    assert page.locator(".wb-picture").count() == 0


DAMAGE = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: "",
    "another version": lambda data: data.replace('"version":1', '"version":99'),
    "another format": lambda data: data.replace("workbench-storyboard", "something else"),
    "a number that is none": lambda data: data.replace('"version":1', '"version":NaN'),
    "a list": lambda data: "[1, 2]",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_data_get_one_sentence(page, damage):
    told = r'(<script type="application/json" id="storyboard">)(.*?)(</script>)'
    load(page, re.sub(told, lambda at: at[1] + damage(at[2]) + at[3], to_html(graph("x")), flags=re.DOTALL))
    said = r"This player reads workbench-storyboard 1 and was given .{1,80}; make the picture again here\."
    assert re.fullmatch(said, page.locator(".wb-problem").inner_text())


@pytest.mark.parametrize("story", [None, {}, [], {**STORY, "version": 2}, {**STORY, "format": "<b>else</b>"}])
def test_what_is_no_storyboard_gets_one_sentence(page, story):
    show(page, story)
    assert page.locator("#here").inner_text().startswith("This player reads workbench-storyboard 1 and was given ")
    assert page.locator("#here *").count() == 1
    page.evaluate("player.go(3); player.destroy()")


def test_packed_data_that_are_damaged_get_the_same_sentence(page):
    board = graph("x")
    board.steps.extend(StoryStep("words " * 40, "forward") for _ in range(2000))
    html = to_html(board)
    assert 'type="application/gzip"' in html
    load(page, html)
    page.wait_for_selector(".wb-picture")
    told = r'(<script type="application/gzip" id="storyboard">)(.*?)(</script>)'
    load(page, re.sub(told, lambda found: found[1] + found[2][:400] + found[3], html, flags=re.DOTALL))
    assert "was given no format" in page.locator(".wb-problem").inner_text()


@pytest.mark.parametrize("view", ["graph", "flow", "memory"])
def test_values_that_are_not_finite_are_shown_as_words(page, view):
    with torch.record() as trace:
        x = torch.tensor([0.0, -1.0, 1e38], requires_grad=True)
        y = (x.log() * 1e38).sum()
        y.backward()
    told = view_of(trace, view).to_dict()
    assert "NaN" not in json.dumps(told, allow_nan=False)
    show(page, told)
    for k in range(len(told["steps"])):
        go(page, k)
    if view != "memory":
        assert re.search(r"nan|inf", page.locator(".wb-picture").text_content())


def test_sizes_and_places_that_are_no_numbers_draw_nothing_harmful(page):
    told = graph("x").to_dict() | {"width": "Infinity", "height": None}
    told["boxes"][0] |= {"x": "NaN", "w": None, "lines": None, "details": "none"}
    told["steps"][0] |= {"cursor": "here", "boxes": None, "caption": {"a": 1}}
    show(page, told)
    page.locator(".wb-player").press("End")
    assert position(page) == "2 / 2"
    page.console_errors.clear()  # the browser complains about such numbers


def test_unknown_fields_and_ids_are_ignored(page):
    story = storyboard().to_dict()
    story["new"] = story["boxes"][0]["new"] = story["steps"][0]["new"] = {"a": 1}
    story["steps"][0]["boxes"]["nobody"] = {"state": "idle"}
    story["steps"][0]["boxes"]["x"]["id"] = "y"
    show(page, story)
    scene = storyboard().at(2)
    assert states(page) == {id: thing.state for id, thing in (scene.boxes | scene.arrows).items()}


def test_a_still_picture_has_nothing_to_step(page):
    show(page, Storyboard(Scene("still", {"a": Box("a", "leaf", "a")}, {})).to_dict())
    assert states(page) == {"a": "idle"}
    assert not page.get_by_role("button", name="Step").is_visible()
    page.locator(".wb-player").press("ArrowRight")
    assert page.get_by_role("button", name="Fit").is_visible()
    press(page, "menu")
    assert page.get_by_role("menuitem", name="Zoom in").is_visible()
    assert page.get_by_role("menuitemcheckbox").count() == 0  # there is nothing to predict


@pytest.mark.parametrize("selector", [".wb-player", ".wb-button", ".wb-slider", '[data-id="n1"]', ".wb-view"])
def test_no_key_leaks_to_the_page_and_a_host_that_hears_of_it_first_is_asked_to_leave_it(page, selector):
    # What does not scroll takes no focus.
    page.evaluate("""() => { for (const _ of "four") document.querySelector('[data-action="in"]').click(); }""")
    for key in ["b", "a", "d", "Enter", "Shift+Enter", "Escape", "ArrowRight", "Home", "Space", "?", "Tab"]:
        page.locator(selector).first.focus()
        # Notebook 7 looks at every key before the player does, and takes it unless the focused element says this.
        assert page.evaluate("document.activeElement.hasAttribute('data-lm-suppress-shortcuts')")
        page.keyboard.press(key)
    assert page.evaluate("leaked") == []


def test_the_hosts_own_shortcuts_still_reach_it(page):
    page.locator(".wb-player").press("Control+s")
    assert page.evaluate("leaked") == ["Control", "s"] or page.evaluate("leaked") == ["s"]


@pytest.mark.parametrize(("scheme", "k"), [("light", 1), ("dark", 5), ("light", 7)])
def test_axe_finds_no_violation(page, scheme, k):
    page.emulate_media(color_scheme=scheme)
    go(page, k)
    page.locator('[data-id="n1"]').click()
    press(page, "keys")
    assert_accessible(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_jupyterlabs_theme_wins_over_the_systems(page, scheme):
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    color = "getComputedStyle(document.querySelector('.wb-player')).backgroundColor"
    before = page.evaluate(color)
    page.evaluate("light => { document.body.dataset.jpThemeLight = light }", str(scheme == "light").lower())
    after = page.evaluate(color)
    assert (after == "rgb(255, 255, 255)") == (scheme == "light")
    assert before != after


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
