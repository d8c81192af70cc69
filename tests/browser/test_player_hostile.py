"""A saved page whose labels are hostile, whose data are damaged or which is cut short does no harm and says so."""

from __future__ import annotations

import json
import re

import pytest
from browser_page import open_page, settled
from player_page import show
from test_scene_hostile import HOSTILE

import workbench as torch
from workbench.scene.model import Arrow, Box, Detail, Scene, StoryStep
from workbench.scene.picture import to_html
from workbench.scene.storyboard import Storyboard
from workbench.views import storyboard

SENTENCE = "The picture appears here when the whole page has loaded."
HURT = "window.hurt = 1"
CALLS = {"alert(1)": HURT, "x()": HURT}


def graph(text: str) -> Storyboard:
    details = (Detail(text, "code", text), Detail(text, "value", {"name": text, "text": text, "norm": text}))
    boxes = {
        text or "n": Box(text or "n", "function", text, (text,), "error", alt=text, details=details),
        "s": Box("s", "saved", text, (text,), "freed", holder=text or "n"),
        "x": Box("x", "leaf", text),
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


@pytest.fixture(scope="module")
def page():
    with open_page() as page:
        yield page


def load(page, html: str) -> None:
    page.console_errors.clear()
    page.set_content(html)


@pytest.mark.parametrize("board", [graph, chart])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_label_is_a_label_in_a_saved_page(page, board, text):
    for call, harm in CALLS.items():
        text = text.replace(call, harm)
    load(page, to_html(board(text)))
    page.wait_for_selector(".wb-picture")
    page.locator(".wb-box:not(.wb-kind-region)").first.click()
    page.keyboard.press("/")
    page.keyboard.type("o")
    page.keyboard.press("Escape")
    assert page.evaluate("window.hurt") is None
    assert page.locator("main script, main img, main a, main [href], main [src], main [onclick]").count() == 0
    drawn = page.locator(".wb-box, .wb-arrow").count()
    assert drawn == sum(map(len, (board("plain").scene.boxes, board("plain").scene.arrows)))
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.console_errors == [] and page.requests_outside == []


@pytest.mark.parametrize("part", [0.3, 0.5, 0.9, 0.999])
def test_a_page_that_is_cut_short_says_so_and_runs_nothing(page, part):
    html = to_html(graph("x"))
    load(page, html[: int(len(html) * part)])
    settled(page)
    said = page.locator("body").inner_text()
    assert said == "" if "<body>" not in html[: int(len(html) * part)] else SENTENCE in said
    assert page.locator(".wb-picture").count() == 0 and page.console_errors == []


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
    html = re.sub(told, lambda found: found[1] + damage(found[2]) + found[3], to_html(graph("x")), flags=re.DOTALL)
    load(page, html)
    said = page.locator(".wb-problem").inner_text()
    assert re.fullmatch(
        r"This player reads workbench-storyboard 1 and was given .{1,80}; make the picture again here\.", said
    )
    assert page.console_errors == []


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
    assert page.console_errors == []


@pytest.mark.parametrize("view", ["graph", "flow", "memory"])
def test_values_that_are_not_finite_are_shown_as_words(page, view):
    with torch.record() as trace:
        x = torch.tensor([0.0, -1.0, 1e38], requires_grad=True)
        y = (x.log() * 1e38).sum()
        y.backward()
    told = storyboard(trace, view).to_dict()
    assert "NaN" not in json.dumps(told, allow_nan=False)
    show(page, told)
    for k in range(len(told["steps"])):
        page.evaluate("k => player.go(k)", k)
    if view != "memory":
        assert re.search(r"nan|inf", page.locator(".wb-picture").text_content())
    assert page.console_errors == []


def test_sizes_and_places_that_are_no_numbers_draw_nothing_harmful(page):
    told = graph("x").to_dict() | {"width": "Infinity", "height": None}
    told["boxes"][0] |= {"x": "NaN", "w": None, "lines": None, "details": "none"}
    told["steps"][0] |= {"cursor": "here", "boxes": None, "caption": {"a": 1}}
    show(page, told)
    page.locator(".wb-player").press("End")
    assert page.locator(".wb-position").inner_text() == "2 / 2"
