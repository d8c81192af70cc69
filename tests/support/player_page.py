"""A page with one player in it and nothing else, and what a test reads from its DOM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from browser_page import inside, place_of, settled, wait_until
from playwright.sync_api import Page

from workbench.pictures.scene.payload import in_page, library

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Player</title></head>
<body>{around[0]}<div id="here"></div>{around[1]}<script type="module">{library}
window.leaked = []; window.moves = []; window.render = {following}.render; window.mount = {mount};
window.folded = {folded};
document.addEventListener("keydown", (event) => window.leaked.push(event.key));
window.player = mount(document.getElementById("here"), {story}, {{ moved: (k) => window.moves.push(k) }});
</script></body></html>"""

_STATES = """() => { const texts = (g) => [...g.querySelectorAll("text")].map((t) => t.textContent).join("|");
  const read = (g) => [g.dataset.id, [g.dataset.state, g.getAttribute("class"), texts(g)]];
  return Object.fromEntries([...document.querySelectorAll("[data-id]")].map(read)); }"""


_PLAIN = "<main><h1>A page</h1>", "</main>"
# A notebook as JupyterLab shows it: an element that scrolls, in one that cuts off whatever is placed outside it.
_NOTEBOOK = (
    '<main style="contain: strict; position: fixed; inset: 60px 0 0"><h1 style="position: absolute">A page</h1>'
    '<div class="jp-WindowedPanel-outer" style="width: {}px; height: {}px; overflow: auto; transform: translate(0)">'
    '<div style="height: 80px"></div>',
    '<div style="height: 900px"></div></div></main>',
)


def show(page: Page, story: Any, again: bool = False, notebook: tuple[int, int] | None = None) -> None:
    """Load a page that plays this storyboard dict: a new page, or the same one whose cell was run again.

    It stands in a page of its own, or in a notebook that shows so much at once.
    """
    around = _PLAIN if notebook is None else (_NOTEBOOK[0].format(*notebook), _NOTEBOOK[1])
    embedded = json.dumps(story).replace("<", "\\u003c")
    if not again:
        page.evaluate("delete window.workbenchLibraries")
    parts = {name: in_page(name) for name in ("following", "mount", "folded")}
    page.set_content(_PAGE.format(library=library()[1], story=embedded, around=around, **parts))
    wait_until(page, "window.player !== undefined")
    settled(page)


def everything(page: Page) -> dict[str, list[str]]:
    """State, class and text of every box and arrow, by id."""
    return page.evaluate(_STATES)


def states(page: Page) -> dict[str, str]:
    """State of every box and arrow, by id."""
    return {id: found[0] for id, found in everything(page).items()}


def position(page: Page) -> str:
    """What the bar says of the place, like "3 / 8"."""
    return page.locator(".wb-position").inner_text()


def press(page: Page, action: str) -> None:
    """Click one of the player's buttons by what it does: "step", "back", "play", …, in the menu too."""
    wanted = page.locator(f'[data-action="{action}"]')
    if wanted.get_attribute("role") is not None and not wanted.is_visible():
        page.locator('[data-action="menu"]').click()
    wanted.click()


def wear(page: Page, theme: str) -> None:
    """Choose a theme in the menu."""
    press(page, f"theme-{theme}")
    assert page.evaluate("document.getElementById('here').dataset.wbTheme") == theme
    settled(page)


def go(page: Page, k: int) -> None:
    """Show a step."""
    page.evaluate("k => player.go(k)", k)


def focused(page: Page) -> str:
    """What has the focus: the action of a button, the id of a box, or the last class of an element, or its tag."""
    return page.evaluate("""() => { const e = document.activeElement;
        return e.dataset.action || e.dataset.id || [...e.classList].at(-1) || e.tagName; }""")


def in_sight(page: Page, id: str) -> bool:
    """Whether a box is in sight in the window onto the picture."""
    return inside(place_of(page.locator(f'[data-id="{id}"] .wb-frame')), place_of(page.locator(".wb-view")))


def whole(page: Page) -> bool:
    """Whether all of the picture is in sight, and nothing scrolls."""
    return page.evaluate("""() => { const p = document.querySelector(".wb-picture").getBoundingClientRect(),
        view = document.querySelector(".wb-view"), v = view.getBoundingClientRect();
        return v.left <= p.left && p.right <= v.right && v.top <= p.top && p.bottom <= v.bottom
          && view.scrollWidth <= view.clientWidth && view.scrollHeight <= view.clientHeight; }""")


# The size of the smallest text of a picture on the screen, in px.
SMALLEST = """Math.min(...[...document.querySelectorAll(".wb-picture text")]
  .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a))"""
# How many boxes are in sight, and how many there are.
IN_SIGHT = """() => { const view = document.querySelector(".wb-view").getBoundingClientRect();
  const boxes = [...document.querySelectorAll(".wb-box:not(.wb-state-future):not(.wb-kind-region) .wb-frame")];
  return [boxes.map((box) => box.getBoundingClientRect()).filter(({ left, top, right, bottom }) =>
    left >= view.left && right <= view.right && top >= view.top && bottom <= view.bottom).length, boxes.length]; }"""
HEIGHT = "document.querySelector('.wb-player').getBoundingClientRect().height"
# What JupyterLab shows of a notebook beside its list of files, by the size of the browser's window.
NOTEBOOKS = {(1440, 900): (988, 779), (1024, 768): (572, 647), (960, 600): (508, 479)}


def scheduled_but(few: Sequence[Any], every: Sequence[Any], names: int = 1) -> list[Any]:
    """The entries of a parametrized test of so many names, of which all but a few are scheduled."""
    marks = [[] if each in few else [pytest.mark.scheduled] for each in every]
    split = [(each,) if names == 1 else each for each in every]
    return [pytest.param(*values, marks=mark) for values, mark in zip(split, marks, strict=True)]
