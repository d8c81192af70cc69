"""The lessons as pages: before Sphinx reads, each is executed as a reader's copy with its solutions folded.

They are written into `lessons/`, which git ignores. A lesson that needs PyTorch is shown as it was saved where that is
not installed.
"""

from __future__ import annotations

import re
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

import nbformat
from sphinx.application import Sphinx

from workbench.cli.notebooks import copied, place_to_run, read
from workbench.cli.pages import ask_for_guesses, execute, with_folded_solutions

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"


def write(path: Path, target: Path) -> None:
    """Execute a lesson and write it beside the other pages, with links to notebooks, whose pages Sphinx knows."""
    notebook = copied(with_folded_solutions, read(path), path)
    with place_to_run(path) as place:
        execute(notebook, path, place)
    ask_for_guesses(notebook)
    for cell in notebook.cells:
        for name, kinds in cell.pop("attachments", {}).items():  # Sphinx knows images in files alone
            (data,) = kinds.values()
            target.with_name(name).write_bytes(b64decode(data))
            cell.source = cell.source.replace(f"](attachment:{name})", f"]({name})")
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"(\]\((?![a-z]+:)[^)\s]+)\.html(?=[)#])", r"\1.ipynb", cell.source)
    # What a widget's front end would ask its kernel for: the page has the picture, which plays without one.
    notebook.metadata.pop("widgets", None)
    target.write_text(nbformat.writes(notebook), encoding="utf-8")


def write_all(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "lessons"
    lessons = sorted(NOTEBOOKS.glob("*.ipynb"))
    for old in {each.name for each in folder.glob("*.ipynb")} - {each.name for each in lessons}:
        (folder / old).unlink()
    with ThreadPoolExecutor(cpu_count()) as pool:
        list(pool.map(lambda path: write(path, folder / path.name), lessons))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True}
