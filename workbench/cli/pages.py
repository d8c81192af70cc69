"""Notebooks executed and written as self-contained pages."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import pass_context
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from tqdm import tqdm

from workbench.classroom.comparison import NO_PREDICTION
from workbench.classroom.handout import name_of, solution, unsolved
from workbench.cli import errors
from workbench.cli.errors import CommandError, check_loopback
from workbench.cli.notebooks import read
from workbench.pictures.scene.picture import check_place, write_whole


def execute(notebook: NotebookNode, path: Path, place: str | None = None, more: int = 0) -> None:
    """Run all cells of `notebook`, read from `path`, in `place` or its own folder, and fill in their outputs.

    The first `more` cells aren't from the file: they don't count in the number of a failing cell. Without PyTorch, a
    notebook that needs it keeps the outputs that it was saved with.
    """
    if _was_run(notebook) and needs_torch(notebook) and find_spec("torch") is None:
        print(f"{path.name} needs PyTorch, which is not installed: it is shown as it was saved.", flush=True)
        return
    client = client_of(notebook, place or str(path.resolve().parent))
    number = -more
    try:
        # What cells print comes by messages; the process itself only has notes about its own transport.
        with client.setup_kernel(stderr=subprocess.DEVNULL):
            # On a terminal only: a log needs no bar.
            for index, cell in enumerate(tqdm(notebook.cells, desc=path.stem, unit="cell", disable=None)):
                number += cell.cell_type == "code" and bool(cell.source.strip())
                client.execute_cell(cell, index)
            client.set_widgets_metadata()
    except CellExecutionError as error:
        raise CommandError(errors.CELL.format(path, number, _first_line(error))) from None
    except DeadKernelError:
        raise CommandError(errors.CELL.format(path, number, errors.KERNEL_DIED)) from None
    except KeyboardInterrupt:
        # Some kernels fail the cell during shutdown. Nothing awaits it, and asyncio would report that.
        ensure_event_loop().set_exception_handler(lambda loop, what: None)
        raise
    finally:
        client._cleanup_kernel()


def client_of(notebook: NotebookNode, place: str, **options: Any) -> NotebookClient:
    """Return the client that runs a notebook in the folder `place`, with this interpreter's kernel for any notebook."""
    # No kernel spec is looked up: whatever is installed on the machine, "python3" is this interpreter.
    specs = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)
    return NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs),
        resources={"metadata": {"path": place}},
        # How a stream is cut into messages depends on timing.
        coalesce_streams=True,
        record_timing=False,
        **options,
    )


def needs_torch(notebook: NotebookNode) -> bool:
    """Return True if a cell imports PyTorch itself."""
    return any(re.search(r"^import torch\b", cell.source, re.M) for cell in notebook.cells if cell.cell_type == "code")


def _was_run(notebook: NotebookNode) -> bool:
    return any(cell.get("outputs") for cell in notebook.cells)


def _first_line(error: CellExecutionError) -> str:
    said = str(error.evalue).strip().partition("\n")[0]
    return f"{error.ename}: {said}" if said else str(error.ename)


STATIC = Path(__file__).parent / "static"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
GUESS = "Guess first; run the lesson to check your guess."
_UNANSWERED = re.compile(re.escape(NO_PREDICTION).replace(r"\{\}", ".+?"))


class _Renderer(IPythonRenderer):
    """A renderer that draws formulas, and leaves inline tags as they are: nbconvert closes each to look for images."""

    def inline_html(self, html: str) -> str:
        return super().inline_html(html) if "<img" in html else html

    def inline_math(self, body: str) -> str:
        return _drawn(body)

    def block_math(self, body: str) -> str:
        return _drawn(body, block=True)


def _drawn(formula: str, block: bool = False) -> str:
    from workbench.cli.formulas import as_svg  # with matplotlib, which most commands need not load

    return as_svg(formula, block)


def as_html(text: str, attachments: dict[str, dict[str, str]] | None = None) -> str:
    """Return the HTML of a cell's text as part of a page, with the images attached to the cell."""
    renderer = _Renderer(escape=False, embed_images=True, attachments=attachments)
    return str(MarkdownWithMath(renderer=renderer).render(text))


class _Exporter(HTMLExporter):
    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Return the HTML of a text cell, with its images embedded."""
        renderer = _Renderer(
            escape=False,
            embed_images=self.embed_images,
            path=context.get("resources", {}).get("metadata", {}).get("path", ""),
            attachments=context.get("cell", {}).get("attachments", {}),
        )
        return str(MarkdownWithMath(renderer=renderer).render(source))


def ask_for_guesses(notebook: NotebookNode) -> None:
    """Ask the reader of a page for a prediction where a check found none, as a page can't take one."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        for held in (output, output.get("data", {})):
            for name in {"text", "text/plain"} & held.keys():
                held[name] = _UNANSWERED.sub(GUESS, held[name])


def page(notebook: NotebookNode, path: Path, frame: Mapping[str, str] | None = None) -> str:
    """Return the executed `notebook`, read from `path`, as the text of a page, in a frame if one is given."""
    ask_for_guesses(notebook)
    widgets = _take_widgets(notebook)
    # It would complain about each picture without a text of its own.
    logging.getLogger("traitlets").setLevel(logging.ERROR)
    exporter = _Exporter(raw_template=(STATIC / "page.html.j2").read_text("utf-8"), embed_images=True)
    # Under an ASCII locale a name's other letters are bytes that no page can hold.
    name = os.fsencode(path.stem).decode(errors="replace")
    resources: dict[str, Any] = {"metadata": {"name": name, "path": str(path.resolve().parent)}, "frame": frame}
    if widgets["widgets"]:
        # No text inside may end the script element it lies in.
        resources["widgets"] = json.dumps(widgets, separators=(",", ":")).replace("<", "\\u003c")
        resources["widgets_js"] = (STATIC / "widgets.js").read_text("utf-8")
    text, _ = exporter.from_notebook_node(notebook, resources)
    return text


def _take_widgets(notebook: NotebookNode) -> dict[str, list[Any]]:
    """Put a place for a widget over its still picture, and return what a page needs to start the widget.

    A widget whose front end is a module of its own works on a page; any other one stays a still picture.
    """
    models = notebook.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    modules: dict[str, int] = {}
    styles: dict[str, None] = {}
    widgets: list[Any] = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        view = data.pop(WIDGET, None)
        state = dict(models.get(view["model_id"], {}).get("state", {})) if view else {}
        if "_esm" not in state:
            continue
        module = modules.setdefault(state.pop("_esm"), len(modules))
        styles[state.pop("_css", "")] = None
        still = data.get("text/html", f"<pre>{escape(data.get('text/plain', ''))}</pre>")
        data["text/html"] = f'<div data-widget="{len(widgets)}">{still}</div>'
        widgets.append({"module": module, "state": state})
    return {"modules": list(modules), "styles": list(styles), "widgets": widgets}


def run(notebooks: Sequence[Path], out: Path) -> None:
    """Execute each notebook and write its page into `out`; the first failing cell stops it."""
    # Everything that can be refused is refused before the first cell runs.
    read_in = [read(path) for path in notebooks]
    targets = _targets(notebooks, out)
    check_loopback()
    for path, notebook, target in zip(notebooks, read_in, targets, strict=True):
        execute(notebook, path)
        text = page(notebook, path)
        try:
            write(target, text)
        except OSError as error:
            raise CommandError(errors.NOT_WRITTEN.format(target, error.strerror)) from None


def write(path: Path, text: str) -> None:
    """Write a file, completely or not at all, and print its name."""
    write_whole(path, text.encode(errors="backslashreplace"))  # half of a character, which JSON can hold
    print(f"Wrote {path}.", flush=True)


def _targets(notebooks: Sequence[Path], out: Path) -> list[Path]:
    """Return the page of each notebook, in a folder that exists afterward."""
    if out.suffix == ".html" and len(notebooks) > 1:
        raise CommandError(errors.ONE_PAGE.format(out, len(notebooks)))
    single = out.suffix == ".html" and not out.is_dir()
    targets = [out] if single else [out / f"{path.stem}.html" for path in notebooks]
    if len(set(targets)) < len(targets):
        raise CommandError(errors.SAME_NAME)
    folder = out.parent if single else out
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise CommandError(errors.PAGES_IN_FILE.format(folder)) from None
    except OSError as error:
        raise CommandError(errors.NOT_MADE.format(folder, error.strerror)) from None
    if not os.access(folder, os.W_OK):
        raise CommandError(errors.PAGES_REFUSED.format(folder))
    for target in targets:
        if target.is_dir():
            raise CommandError(errors.PAGE_IS_FOLDER.format(target))
        try:
            check_place(target)
        except OSError as error:
            raise CommandError(errors.NOT_WRITTEN.format(target, error.strerror)) from None
    return targets


def with_folded_solutions(notebook: NotebookNode) -> NotebookNode:
    """Return the lesson with each solution folded below its exercise, and links to pages instead of notebooks."""
    solutions = {name_of(cell): solution(cell) for cell in notebook.cells if name_of(cell)}
    made = unsolved(notebook)
    cells = []
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"(\]\((?![a-z]+:)[^)\s]+)\.ipynb(?=[)#])", r"\1.html", cell.source)
        cells.append(cell)
        if text := solutions.get(name_of(cell)):
            folded = f"<summary>Solution</summary><pre><code>{escape(text)}</code></pre>"
            # An empty line would end the block of HTML.
            folded = re.sub(r"\n(?=\n)", "\n&#8203;", folded)
            cells.append(new_markdown_cell(f'<details class="solution">{folded}</details>'))
    made.cells = cells
    return made


def static(name: str) -> str:
    return (STATIC / name).read_text("utf-8")
