"""The notebook with the course page, and the first picture of a lesson: both show something before any cell has run."""

from __future__ import annotations

import ast
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from workbench.classroom.course import PAGE, TITLE, course_in
from workbench.pictures.scene.picture import write_whole

OPENING = "opening"  # the tag of a cell whose picture a reader finds before running it
_CODE = "from workbench.classroom import course\n\ncourse()"
_BELOW = (
    "To bring this page up to date, click the list and press <kbd>Shift</kbd>+<kbd>Enter</kbd>. The command "
    "`workbench` does the same when it starts."
)
# What this environment's kernel says of itself: with it, opening a notebook doesn't change it.
_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": platform.python_version(),
    },
}


def course_page(folder: Path, files: Path | None = None) -> NotebookNode:
    """Return the notebook that shows the lessons of a folder; the exercise files may be in another folder."""
    shown = course_in(folder, files)
    data = {"text/plain": repr(shown), "text/html": shown._repr_html_()}
    cell = new_code_cell(_CODE, id="course", outputs=[new_output("execute_result", data, execution_count=1)])
    cell.execution_count, cell.metadata = 1, nbformat.from_dict({"jupyter": {"source_hidden": True}})
    cells = [new_markdown_cell(f"# {TITLE}", id="title"), cell, new_markdown_cell(_BELOW, id="below")]
    return new_notebook(cells=cells)


def with_opening(notebook: NotebookNode) -> NotebookNode:
    """Give the cells of a lesson that have the tag "opening" their output, as if they had run."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and OPENING in cell.metadata.get("tags", []):
            data = _shown(cell.source)
            cell.outputs = [new_output("display_data", data)] if data else []
    return notebook


def _shown(code: str) -> dict[str, str]:
    """Return what a cell that ends in an expression shows; nothing if it fails."""
    names: dict[str, Any] = {}
    with suppress(Exception):
        *before, last = ast.parse(code).body
        exec(compile(ast.Module(before, []), "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            return {"text/plain": repr(value), "text/html": value._repr_html_()}
    return {}


def write_trusted(notebook: NotebookNode, target: Path) -> None:
    """Write a notebook of ours, and tell this user's Jupyter that its outputs may run scripts."""
    notebook.metadata.update(_METADATA)
    text = f"{nbformat.writes(notebook)}\n"
    write_whole(target, text.encode())
    with suppress(Exception):  # without a signature the pictures stand still
        from nbformat.sign import NotebookNotary

        notary = NotebookNotary()
        notary.sign(nbformat.reads(text, as_version=4))
        notary.store.close()


def write_course_page(folder: Path, mark: str, fingerprint: Any) -> str | None:
    """Write the course page into a reader's folder, unless the file there is the reader's own or has been changed.

    Returns:
        The name of the page to open, or None if there is none.
    """
    page, target = course_page(folder), folder / PAGE
    page.metadata[mark] = fingerprint(page)
    own = True
    if not os.path.lexists(target):
        own = False
    else:
        with suppress(Exception):  # else it isn't a notebook of ours
            held = nbformat.read(target, as_version=4)
            given = held.metadata.get(mark)
            own = given != fingerprint(held)
            if own and given is not None:
                return PAGE  # the reader has written into it
    if own:
        return None
    try:
        write_trusted(page, target)
    except OSError:  # protected, or open elsewhere
        return PAGE if target.exists() else None
    return PAGE
