"""Several pictures on one page: each looks as it does alone, whatever came first and whichever release made it."""

from __future__ import annotations

import itertools
import json
import re
from functools import cache

import pytest
from browser_page import open_page, wait_until
from playwright.sync_api import Page
from test_player_window import five_steps, three_layers

import workbench as torch
from workbench.pictures.scene.payload import compressed, library
from workbench.pictures.scene.picture import playing
from workbench.pictures.views import storyboard

VIEWS = ("flow", "graph", "saved", "memory", "versions", "function", "error", "compare")
# All that the stylesheets could change, of each part of a player at its first, its middle and its last step.
PAINTED = "const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
LOOKS = """async (root) => {
  PAINTED
  const at = (action) => root.querySelector(`[data-action="${action}"]`).click();
  const looks = () => [root, ...root.querySelectorAll("*")].map((part) => {
    const style = getComputedStyle(part), own = part.closest(".wb-below") ? ["color", "display", "fontSize"] : NAMES;
    return [part.tagName, part.getAttribute("class"), part.childElementCount ? "" : part.textContent,
      ...own.map((name) => style[name])].join(" | "); });
  const found = [];
  for (const [action, times] of [["first", 1], ["step", 3], ["last", 1]]) {
    for (let n = 0; n < times; n += 1) at(action);
    for (let n = 0; n < 3; n += 1) await painted(); // what is told of its size has settled then
    found.push(looks());
  }
  return found; }""".replace("PAINTED", PAINTED).replace(
    "NAMES",
    '["fill", "stroke", "strokeWidth", "strokeDasharray", "fontSize", "fontWeight", "visibility", "display", "color", '
    '"backgroundColor", "width", "height", "padding", "margin", "opacity", "rx"]',
)


@pytest.fixture(scope="module")
def page():
    with open_page((1100, 900), offline=True) as page:
        page.emulate_media(reduced_motion="reduce")
        yield page
        assert page.console_errors == [] and page.requests_outside == []


@cache
def picture(view: str) -> str:
    """A picture of this view as a notebook keeps it."""
    if view == "error":
        w = torch.tensor([0.5, 2.0], requires_grad=True)
        with torch.record() as trace:
            try:
                y = w.exp()
                y.mul_(2.0)
                y.sum().backward()
            except RuntimeError:
                pass
        return playing(storyboard(trace, view))
    with torch.record() as trace:
        (five_steps if view == "function" else three_layers)()
    options = {}
    if view == "compare":
        with torch.record() as other:
            five_steps()
        options = {"against": other}
    return playing(storyboard(trace, view, **options))


def load(page: Page, *pictures: str) -> None:
    """A page of these pictures, one below the other."""
    page.goto("about:blank")
    parts = map("<div>{}</div>".format, pictures)
    page.set_content(f'<!doctype html><html lang="en"><title>Page</title>{"".join(parts)}')
    wait_until(page, f"document.querySelectorAll('.wb-player').length === {len(pictures)}")
    # A theme with large text has its player built again, packed, once the browser has told its size.
    page.evaluate(f"async () => {{ {PAINTED} for (let n = 0; n < 3; n += 1) await painted(); }}")


def looks(page: Page) -> list[list[list[str]]]:
    return [root.evaluate(LOOKS) for root in page.locator(".wb-player").all()]


@cache
def alone(page: Page, html: str) -> list[list[str]]:
    load(page, html)
    (found,) = looks(page)
    return found


@pytest.mark.parametrize("order", [VIEWS, VIEWS[::-1]], ids=["flow first", "flow last"])
def test_eight_pictures_of_a_notebook_look_as_each_does_alone(page, order):
    single = [alone(page, picture(view)) for view in order]
    load(page, *map(picture, order))
    assert page.locator("style").count() == 1 and page.evaluate(LIBRARIES) == [library()[0]]
    for view, found, wanted in zip(order, looks(page), single, strict=True):
        assert differing(found, wanted) == [], view


def differing(found: list[list[str]], wanted: list[list[str]]) -> list[tuple[str, str]]:
    """The parts that look otherwise than they are to, at each step."""
    pairs = zip(itertools.chain(*found), itertools.chain(*wanted), strict=True)
    return [(one, other) for one, other in pairs if one != other]


LIBRARIES = "Object.entries(workbenchLibraries).filter(([, each]) => each.mount).map(([version]) => version)"


VALUES = {"stroke-width": "9", "fill": "red", "stroke": "lime", "font-size": "20px", "padding": "1px"}


def odd(style: str) -> str:
    """Rules with other sizes and colors."""
    for name, value in VALUES.items():
        style = re.sub(rf"(?<=[{{;]){name}:[^;}}]*", f"{name}:{value}", style)
    style = re.sub(r"--wb-(ink|canvas|parts|high|scale|font): ?[^;}]*", r"--wb-\1:13px", style)
    assert style.count("stroke:lime") > 50
    return style


def of_another_release(html: str) -> str:
    """The picture with a library in which boxes, arrows, sizes and colors are other ones."""
    version, script = library()
    other = odd(script.replace(version, "wb-000000000000"))
    return html.replace(version, "wb-000000000000").replace(compressed(script), compressed(other))


@pytest.mark.parametrize("view", ["flow", "memory"])
@pytest.mark.parametrize("first", ["this release", "another"])
def test_pictures_of_two_releases_do_not_disturb_each_other(page, view, first):
    ours, theirs = picture(view), of_another_release(picture(view))
    each = [alone(page, ours), alone(page, theirs)]
    assert each[0] != each[1]
    shown = [ours, theirs]
    if first == "another":
        shown, each = shown[::-1], each[::-1]
    load(page, *shown)
    assert page.locator("style").count() == 2 == len(page.evaluate(LIBRARIES))
    assert looks(page) == each


def test_rules_that_lie_on_all_of_the_page_leave_a_picture_as_it_is(page):
    # As those of pictures that were saved before rules lay in the class of a version.
    version, script = library()
    style = json.loads(re.search(r'LIBRARY_STYLE = ("(?:[^"\\]|\\.)*")', script)[1])
    old = odd(style.removeprefix(f".{version}{{").removesuffix("}").replace("&", ""))
    wanted = alone(page, picture("flow"))
    load(page, picture("flow"))
    page.add_style_tag(content=old)
    assert looks(page) == [wanted]
