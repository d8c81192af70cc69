"""Execute notebooks without a browser and write each one as a page that needs nothing else."""

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

import nbformat
from jinja2 import pass_context
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from tqdm import tqdm

from workbench.cli.command import CommandError, check_loopback
from workbench.scene.picture import check_place, write_whole


def read(path: Path) -> NotebookNode:
    """The notebook in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CommandError(f"there is no notebook {path}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not a notebook.") from None
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}.") from None
    try:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
    except Exception:  # nbformat raises its own errors, but also AttributeError and KeyError on odd JSON
        raise CommandError(f"{path} is not a notebook.") from None
    return notebook


def execute(notebook: NotebookNode, path: Path) -> None:
    """Run all cells of `notebook`, read from `path`, in the folder it lies in, and fill in their outputs.

    One that needs PyTorch keeps the outputs that it was saved with where PyTorch is not installed.
    """
    if _was_run(notebook) and needs_torch(notebook) and find_spec("torch") is None:
        print(f"{path.name} needs PyTorch, which is not installed: it is shown as it was saved.", flush=True)
        return
    # No kernel spec is looked up: whatever is installed on the machine, "python3" is this interpreter.
    specs = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs),
        resources={"metadata": {"path": str(path.resolve().parent)}},
        # How a stream is cut into messages depends on timing.
        coalesce_streams=True,
        record_timing=False,
    )
    number = 0
    try:
        # What cells print comes by messages; the process itself only has notes about its own transport.
        with client.setup_kernel(stderr=subprocess.DEVNULL):
            # On a terminal only: a log needs no bar.
            for index, cell in enumerate(tqdm(notebook.cells, desc=path.stem, unit="cell", disable=None)):
                number += cell.cell_type == "code" and bool(cell.source.strip())
                client.execute_cell(cell, index)
            client.set_widgets_metadata()
    except CellExecutionError as error:
        raise CommandError(f"{path}, code cell {number}: {_first_line(error)}") from None
    except DeadKernelError:
        raise CommandError(f"{path}, code cell {number}: the kernel died.") from None
    except KeyboardInterrupt:
        # Some kernels fail the cell while they are shut down; nobody waits for it, and asyncio would say so.
        ensure_event_loop().set_exception_handler(lambda loop, what: None)
        raise
    finally:
        client._cleanup_kernel()


def needs_torch(notebook: NotebookNode) -> bool:
    """Whether a cell imports PyTorch itself."""
    return any(re.search(r"^import torch\b", cell.source, re.M) for cell in notebook.cells if cell.cell_type == "code")


def _was_run(notebook: NotebookNode) -> bool:
    return any(cell.get("outputs") for cell in notebook.cells)


def _first_line(error: CellExecutionError) -> str:
    said = str(error.evalue).strip().partition("\n")[0]
    return f"{error.ename}: {said}" if said else str(error.ename)


STATIC = Path(__file__).parent / "static"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


class _Renderer(IPythonRenderer):
    """Leaves tags within a line as they are: nbconvert closes each of them where it opens, to look for images."""

    def inline_html(self, html: str) -> str:
        return super().inline_html(html) if "<img" in html else html


class _Exporter(HTMLExporter):
    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """The HTML of a cell of text, with the images it shows inside."""
        renderer = _Renderer(
            escape=False,
            embed_images=self.embed_images,
            path=context.get("resources", {}).get("metadata", {}).get("path", ""),
            attachments=context.get("cell", {}).get("attachments", {}),
        )
        return str(MarkdownWithMath(renderer=renderer).render(source))


def page(notebook: NotebookNode, path: Path, book: Mapping[str, str] | None = None) -> str:
    """The executed `notebook`, read from `path`, as the text of a page, in the frame of a book if one is given."""
    widgets = _take_widgets(notebook)
    # It would complain about each picture without a text of its own.
    logging.getLogger("traitlets").setLevel(logging.ERROR)
    exporter = _Exporter(raw_template=(STATIC / "page.html.j2").read_text("utf-8"), embed_images=True)
    resources: dict[str, Any] = {"metadata": {"name": path.stem, "path": str(path.resolve().parent)}, "book": book}
    if widgets["widgets"]:
        # No text inside may end the script element it lies in.
        resources["widgets"] = json.dumps(widgets, separators=(",", ":")).replace("<", "\\u003c")
        resources["widgets_js"] = (STATIC / "widgets.js").read_text("utf-8")
    text, _ = exporter.from_notebook_node(notebook, resources)
    return text


def _take_widgets(notebook: NotebookNode) -> dict[str, list[Any]]:
    """Put a place for a widget over its still picture, and give what a page needs to bring it to life.

    A widget whose front end is a module of its own lives on in a page; of any other the still picture stays.
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
    """Execute each notebook and write its page into `out`; the first failing cell ends it."""
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
            raise CommandError(f"cannot write {target}: {error.strerror}.") from None


def write(path: Path, text: str) -> None:
    """Write a file, whole or not at all, and say so."""
    write_whole(path, text.encode())
    print(f"Wrote {path}.", flush=True)


def _targets(notebooks: Sequence[Path], out: Path) -> list[Path]:
    """The page of each notebook, in a folder that is there when this returns."""
    if out.suffix == ".html" and len(notebooks) > 1:
        raise CommandError(f"{out} can hold one notebook, not {len(notebooks)}: give a folder.")
    single = out.suffix == ".html" and not out.is_dir()
    targets = [out] if single else [out / f"{path.stem}.html" for path in notebooks]
    if len(set(targets)) < len(targets):
        raise CommandError("two of the notebooks have the same name: give each its own folder of pages.")
    folder = out.parent if single else out
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise CommandError(f"{folder} is a file: give a folder for the pages.") from None
    except OSError as error:
        raise CommandError(f"cannot make the folder {folder}: {error.strerror}.") from None
    if not os.access(folder, os.W_OK):
        raise CommandError(f"cannot write into {folder}: give a folder of your own for the pages.")
    for target in targets:
        if target.is_dir():
            raise CommandError(f"{target} is a folder: a page cannot be written there.")
        try:
            check_place(target)
        except OSError as error:
            raise CommandError(f"cannot write {target}: {error.strerror}.") from None
    return targets
