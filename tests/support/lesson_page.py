"""A lesson open and run in a real JupyterLab, and what a test reads from its players."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page, wait_until
from lab import CHECKOUT, Lab, assert_clean
from playwright.sync_api import Locator, Page

_PARTS = """player => [...player.querySelectorAll("[data-id]")].map((part) => ({
  arrow: part.classList.contains("wb-arrow"), state: part.dataset.state, says: part.getAttribute("aria-label"),
  texts: [...part.querySelectorAll("text")].map((text) => text.textContent) }))"""
_PLAYERS = ".wb-player:not(.wb-stepper):not(.wb-explore)"
_STILL = "img[src^='data:image/svg']"
_STILLS = f"""async () => Promise.all([...document.querySelectorAll("{_STILL}")].map(async (image) => {{
  await image.decode();
  const drawn = await (await fetch(image.src)).text();
  const titles = [...new DOMParser().parseFromString(drawn, "image/svg+xml").querySelectorAll(".wb-box .wb-title")];
  return [image.alt, image.naturalWidth, image.naturalHeight, titles.map((title) => title.textContent)];
}}))"""
_GRADIENT = re.compile(r"gradient (?:flowing|flowed) from (.+?) back to (.+?): (.+)")
_CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.cells.length"
_RUN = """async (code) => {
  const app = window.jupyterapp, notebook = app.shell.currentWidget.content;
  notebook.activeCellIndex = notebook.widgets.length - 1;
  await app.commands.execute("notebook:insert-cell-below");
  notebook.activeCell.model.sharedModel.setSource(code);
  await app.commands.execute("notebook:run-cell");
}"""
_THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"


class Player:
    """One player in a page, found by its title."""

    def __init__(self, page: Page, title: str) -> None:
        self.page = page
        self.root: Locator = page.get_by_role("group", name=f"Player: {title}", exact=True)

    def press(self, *keys: str) -> None:
        """Focus the player and press these keys, one after the other."""
        self.root.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def click(self, button: str) -> None:
        """Click on the button with this name."""
        self.root.get_by_role("button", name=button, exact=True).click()

    def open(self, box: str) -> None:
        """Click on the box with this title."""
        self.root.locator(".wb-box", has=self.page.get_by_text(box, exact=True)).click()

    def says(self, part: str) -> str:
        """The text of one of the player's own parts: "sentence", "code", "position", …"""
        # Not inner_text(): JupyterLab does not render what is out of sight, and that has none.
        return self.root.locator(f".wb-{part}").text_content()

    def drawn(self) -> list[str]:
        """The markup of every box and arrow, but for which box the tab key comes to: that is the reader's own place."""
        parts = self.root.evaluate("player => [...player.querySelectorAll('[data-id]')].map((part) => part.outerHTML)")
        return [re.sub(r' tabindex="-?\d"', "", part) for part in parts]

    def boxes(self) -> dict[str, tuple[str, list[str]]]:
        """State and lines of each box that is there, by its title."""
        parts = [part for part in self.root.evaluate(_PARTS) if not part["arrow"] and part["state"] != "future"]
        # The title of a region lies over everything, in no part of its own.
        told = [part["texts"] or [part["says"].partition(" (")[0]] for part in parts]
        return {texts[0]: (part["state"], texts[1:]) for part, texts in zip(parts, told, strict=True)}

    def gradients(self, state: str) -> list[tuple[str, str]]:
        """Each arrow in this state: from where to where its gradient goes, and what stands on the arrow."""
        parts = [part for part in self.root.evaluate(_PARTS) if part["arrow"] and part["state"] == state]
        ways = [_GRADIENT.fullmatch(part["says"].partition("; ")[0]) for part in parts]
        assert [way and way[3] for way in ways] == [", ".join(part["texts"]) for part in parts]
        return sorted((f"{way[1]} to {way[2]}", way[3]) for way in ways)

    def now(self) -> tuple[list[str], list[tuple[str, str]], list[str], dict[str, str]]:
        """What runs, the gradients that flow, what is freed, and the gradients that leaves hold."""
        boxes = self.boxes()
        running = [title for title, (state, _) in boxes.items() if state == "running"]
        freed = [title for title, (state, lines) in boxes.items() if state == "freed" and lines[-1] == "freed"]
        grads = {title: line for title, (_, lines) in boxes.items() for line in lines if line.startswith("grad ")}
        return running, self.gradients("flowing"), freed, {title: line[5:] for title, line in grads.items()}

    def details(self) -> list[tuple[str, str]]:
        """Heading and text of each section of the open details."""
        sections = self.root.locator(".wb-section").all()
        texts = [section.locator(".wb-facts span, pre, p").all_text_contents() for section in sections]
        headings = [section.locator(".wb-heading").text_content() for section in sections]
        return list(zip(headings, map(" ".join, texts), strict=True))


@dataclass(frozen=True)
class Lesson:
    """An open lesson whose cells were all run.

    `stills` are alt text, width, height and the boxes' titles of each picture that it showed before; `opened` is where
    each player opened, by its title.
    """

    page: Page
    lab: Lab
    folder: Path
    stills: list[tuple[str, int, int, list[str]]]
    opened: dict[str, str]

    def player(self, title: str) -> Player:
        return Player(self.page, title)

    def players(self) -> list[Player]:
        """All players, from top to bottom, whatever they are called."""

        class Nth(Player):
            def __init__(self, page: Page, root: Locator) -> None:
                self.page, self.root = page, root

        return [Nth(self.page, root) for root in self.page.locator(_PLAYERS).all()]

    def cells(self) -> int:
        """How many cells the notebook has."""
        return self.page.evaluate(_CELLS)

    def run(self, code: str) -> None:
        """Run this code in a new last cell."""
        self.page.evaluate(_RUN, code)

    def put_on(self, theme: str) -> None:
        """Change JupyterLab's theme, as its menu does."""
        self.page.evaluate(_THEME, f"JupyterLab {theme}")
        light = str(theme == "Light").lower()
        wait_until(self.page, f"document.body.dataset.jpThemeLight === '{light}'")

    def assert_accessible(self) -> None:
        """axe finds nothing to complain about in any player."""
        found = Axe().run(self.page, ".wb-player")
        assert found.violations_count == 0, found.generate_report()


def _pictures(lesson: Path) -> int:
    """How many pictures the lesson was committed with, without the one that opens it, which is no player."""
    told = json.loads(lesson.read_text(encoding="utf-8"))
    for cell in told["cells"]:
        if "opening" in cell["metadata"].get("tags", []):
            cell["outputs"] = []
    lesson.write_text(json.dumps(told), encoding="utf-8")
    return sum("data:image/svg" in json.dumps(output) for cell in told["cells"] for output in cell.get("outputs", []))


@contextmanager
def study(name: str, lab: Lab) -> Iterator[Lesson]:
    """Open and run a copy of the lesson; whatever happens in it, its page stays clean."""
    folder = lab.folder / name.removesuffix(".ipynb")
    folder.mkdir()
    shutil.copy(CHECKOUT / "notebooks" / name, folder)
    pictures = _pictures(folder / name)
    with open_page((1400, 900)) as page:
        lab.open(page, f"{folder.name}/{name}")
        # JupyterLab draws what is far down when it finds the time, and counts as open before.
        wait_until(page, f'document.querySelectorAll("{_STILL}").length === {pictures}')
        stills = [tuple(still) for still in page.evaluate(_STILLS)]
        assert page.locator(".wb-player").count() == 0
        lab.run_all(page)
        wait_until(page, f"document.querySelectorAll('.wb-player').length === {pictures}")
        players = page.locator(_PLAYERS).all()
        titles = [player.get_attribute("aria-label").removeprefix("Player: ") for player in players]
        positions = [player.locator(".wb-position").text_content() for player in players]
        opened = dict(zip(titles, positions, strict=True))
        yield Lesson(page, lab, folder, stills, opened)
        assert_clean(page)
        lab.close()
