"""What the text of a lesson names of a picture above it is in sight where the picture opens, as the page chooses."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from browser_page import open_page, settled, these_first, wait_until
from lab import CHECKOUT
from playwright.sync_api import Page

LESSONS = sorted(path for path in (CHECKOUT / "notebooks").glob("*.ipynb") if not path.name.startswith("13"))
# Runs a lesson; prints of each picture that a cell ends with the page, and what the text below names of its boxes.
RUN = """
import contextlib, io, json, re, sys
from IPython.core.interactiveshell import InteractiveShell
from workbench.pictures.scene.picture import Picture, playing

cells, shell, told = json.load(open(sys.argv[1], encoding="utf-8"))["cells"], InteractiveShell(), []
for n, cell in enumerate(cells):
    if cell["cell_type"] != "code":
        continue
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = shell.run_cell("".join(cell["source"])).result
    if isinstance(result, Picture):
        text = ""
        for after in cells[n + 1 :]:
            if after["cell_type"] != "markdown":
                break
            text += "".join(after["source"])
        boxes = result.storyboard.scene.boxes.values()
        names = {box.title for box in boxes} | {word for box in boxes for line in box.lines for word in line.split()}
        words = [word for word in re.findall("`([^`]+)`", text) if word in names]
        words += [word for word in re.findall("frame [*]([^*]+)[*]", text)]
        before = ""
        for each in reversed(cells[:n]):
            before = "".join(each["source"]) + before if each["cell_type"] == "markdown" else before
            if each["cell_type"] == "markdown" or each.get("outputs"):
                break
        told.append({"cell": n, "html": playing(result.storyboard), "words": words, "around": before + text})
print("told:" + json.dumps(told))
"""
# What a lesson quotes of what is written in a picture, beside the names of boxes.
QUOTED = {
    "02": ["(4, 3) summed to (3,)", "all positive"],
    "03": ["includes the gradient of step 1", "retains its grad"],
    "04": ["not reached by backward", "The other run", "shares the memory", "detach"],
    "05": ["2 nodes save nothing", "held anyway", "packed by the hook pack"],
    "06": ["save 0", "write 1", "read 0 ×"],
    "07": ["for output 0", "freed"],
    "15": ["saved other"],
}
# The notebook's own part of JupyterLab at 1440 x 900, beside the list of files; a page of a lesson on a projector, and
# the notebook's part there.
SIZES = [(1020, 779), (1024, 768), (900, 700)]
# The picture of a whole model, of which a projector shows a part: the lesson, and its cell.
LARGE = [("14-matrices-and-partial-derivatives.ipynb", 27)]
IN_SIGHT = """() => { const view = document.querySelector(".wb-view"), port = view.getBoundingClientRect();
  return [...view.querySelectorAll("svg text")].filter((text) => {
    const { left, right, top, bottom, width } = text.getBoundingClientRect();
    return width && getComputedStyle(text).visibility !== "hidden" && left > port.left - 1 && right < port.right + 1
      && top > port.top - 1 && bottom < port.bottom + 1; }).map((text) => text.textContent); }"""


@pytest.fixture(scope="module")
def page():
    with open_page(offline=True) as page:
        yield page


def pictures(lesson: str) -> list[dict[str, Any]]:
    folder = CHECKOUT / "notebooks"
    done = subprocess.run([sys.executable, "-c", RUN, lesson], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1].removeprefix("told:"))


def seen_first(page: Page, html: str) -> list[str]:
    page.goto("about:blank")
    page.set_content(f'<!doctype html><html lang="en"><title>Lesson</title><div>{html}</div>')
    wait_until(page, "document.querySelectorAll('.wb-player').length === 1")
    settled(page)
    return page.evaluate(IN_SIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("lesson", these_first([path.name for path in LESSONS], ("02", "08")))
def test_what_the_text_names_is_in_sight(page: Page, lesson: str) -> None:
    told = pictures(lesson)
    assert told or "record(" not in (CHECKOUT / "notebooks" / lesson).read_text(encoding="utf-8")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        quoted = set()
        for picture in told:
            if (width, height) == SIZES[-1] and (lesson, picture["cell"]) in LARGE:
                continue
            seen = seen_first(page, picture["html"])
            assert seen, picture["cell"]
            assert [word for word in picture["words"] if not any(word in text for text in seen)] == [], picture["cell"]
            around = [words for words in QUOTED.get(lesson[:2], ()) if f"*{words}*" in picture["around"]]
            quoted |= {words for words in around if any(words in text for text in seen)}
        assert quoted == set(QUOTED.get(lesson[:2], ()))
