"""A page with one player in it and nothing else, and what a test reads from its DOM."""

from __future__ import annotations

import json
from typing import Any

from browser_page import wait_until
from playwright.sync_api import Page

from workbench.scene.payload import in_page, library

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Player</title></head>
<body><main><h1>A page</h1><div id="here"></div></main><script type="module">{library}
window.leaked = []; window.moves = []; window.render = {following}.render; window.mount = {mount};
window.folded = {folded};
document.addEventListener("keydown", (event) => window.leaked.push(event.key));
window.player = mount(document.getElementById("here"), {story}, {{ moved: (k) => window.moves.push(k) }});
</script></body></html>"""

_STATES = """() => { const texts = (g) => [...g.querySelectorAll("text")].map((t) => t.textContent).join("|");
  const read = (g) => [g.dataset.id, [g.dataset.state, g.getAttribute("class"), texts(g)]];
  return Object.fromEntries([...document.querySelectorAll("[data-id]")].map(read)); }"""


def show(page: Page, story: Any, again: bool = False) -> None:
    """Load a page that plays this storyboard dict: a new page, or the same one whose cell was run again."""
    embedded = json.dumps(story).replace("<", "\\u003c")
    if not again:
        page.evaluate("delete window.workbenchLibraries")
    parts = {name: in_page(name) for name in ("following", "mount", "folded")}
    page.set_content(_PAGE.format(library=library()[1], story=embedded, **parts))
    wait_until(page, "window.player !== undefined")


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
