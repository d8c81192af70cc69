"""Notebooks executed and written as self-contained pages: a page each, or all lessons as a book."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
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

from workbench.classroom.handout import name_of, solution, unsolved
from workbench.classroom.judging import NO_PREDICTION
from workbench.cli import errors
from workbench.cli.errors import CommandError, check_loopback
from workbench.cli.lab import SHIPPED, checkout
from workbench.cli.notebooks import copied, place_to_run, read
from workbench.scene.picture import check_place, write_whole


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
    """A renderer that leaves inline tags as they are: nbconvert closes each of them to look for images."""

    def inline_html(self, html: str) -> str:
        return super().inline_html(html) if "<img" in html else html


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


def page(notebook: NotebookNode, path: Path, book: Mapping[str, str] | None = None) -> str:
    """Return the executed `notebook`, read from `path`, as the text of a page, in a book's frame if one is given."""
    ask_for_guesses(notebook)
    widgets = _take_widgets(notebook)
    # It would complain about each picture without a text of its own.
    logging.getLogger("traitlets").setLevel(logging.ERROR)
    exporter = _Exporter(raw_template=(STATIC / "page.html.j2").read_text("utf-8"), embed_images=True)
    # Under an ASCII locale a name's other letters are bytes that no page can hold.
    name = os.fsencode(path.stem).decode(errors="replace")
    resources: dict[str, Any] = {"metadata": {"name": name, "path": str(path.resolve().parent)}, "book": book}
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


# The book: contents, search, previous and next, live players.

TITLE = "The Autograd Workbench"
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


@dataclass
class Section:
    """A part of a lesson's page under one heading."""

    lesson: str
    place: str
    level: int
    title: str = ""
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text under the heading, without the numbers of cells."""
        return " ".join(re.sub(r"\b(?:In|Out)\s*\[\d+\]:", " ", "".join(self.words)).split())


@dataclass
class Lesson:
    """A notebook on its way into the book."""

    path: Path
    notebook: NotebookNode

    @property
    def file(self) -> str:
        return f"{self.path.stem}.html"

    @property
    def title(self) -> str:
        """The text of its first heading."""
        found = re.search(r"^# (.+)$", self._text(), re.M)
        return found[1].replace("`", "") if found else self.path.stem

    @property
    def question(self) -> str:
        """The question that the lesson answers, if it has one."""
        found = re.search(r"\*\*The question of this lesson:\*\* (.+)", self._text())
        asked = found[1] if found else ""
        return re.sub(r"[*`]", "", asked[:1].upper() + asked[1:])

    def _text(self) -> str:
        return "\n".join(cell.source for cell in self.notebook.cells if cell.cell_type == "markdown")


def book(out: Path, folder: Path | None = None) -> None:
    """Execute the lessons, or the notebooks of a folder, and write them as a book into `out`."""
    home = checkout()
    source = folder or (SHIPPED if home is None else home / "notebooks")
    lessons = [Lesson(path, copied(readable, read(path), path)) for path in sorted(source.glob("*.ipynb"))]
    if not lessons:
        raise CommandError(errors.NO_NOTEBOOKS.format(source))
    check_loopback()
    try:
        out.mkdir(parents=True, exist_ok=True)
        sections: list[Section] = []
        for number, lesson in enumerate(lessons):
            with place_to_run(lesson.path) as place:
                execute(lesson.notebook, lesson.path, place)
                text = _book_page(lesson, lessons[number - 1 : number], lessons[number + 1 : number + 2])
            sections += _sections(text, lesson)
            write(out / lesson.file, text)
        write(out / "index.html", _contents(lessons, sections))
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN_INTO.format(out, error.strerror)) from None


def readable(notebook: NotebookNode) -> NotebookNode:
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


def _book_page(lesson: Lesson, before: Sequence[Lesson], after: Sequence[Lesson]) -> str:
    ways = [f'<a class="before" rel="prev" href="{each.file}">← {escape(each.title)}</a>' for each in before]
    ways += [f'<a class="next" rel="next" href="{each.file}">{escape(each.title)} →</a>' for each in after]
    header = f'<nav class="book" aria-label="The book"><a href="index.html">Contents</a>{_SEARCH}{_BUTTON}</nav>'
    footer = f'<nav class="book below" aria-label="Other lessons">{"".join(ways)}</nav>{_script()}'
    frame = {"css": static("book.css"), "header": header, "footer": footer}
    lesson.notebook.metadata.title = lesson.title
    return page(lesson.notebook, lesson.path, book=frame)


_BUTTON = '<button type="button" class="book-theme">Light or dark</button>'


_SEARCH = (
    '<form action="index.html" role="search">'
    '<input type="search" name="q" aria-label="Search the book" placeholder="Search"></form>'
)


def _script() -> str:
    return f'<script type="module">{static("book.js")}</script>'


def static(name: str) -> str:
    return (STATIC / name).read_text("utf-8")


def _contents(lessons: Sequence[Lesson], sections: Sequence[Section]) -> str:
    items = []
    for lesson in lessons:
        own = [each for each in sections if each.place.startswith(f"{lesson.file}#") and each.level == 2]
        links = "".join(f'<li><a href="{escape(each.place)}">{escape(each.title)}</a></li>' for each in own)
        asked = f"<p>{escape(lesson.question)}</p>" if lesson.question else ""
        parts = f'<ul class="sections">{links}</ul>' if links else ""
        items.append(f'<li><a href="{lesson.file}">{escape(lesson.title)}</a>{asked}{parts}</li>')
    index: list[dict[str, Any]] = [
        {"place": each.place, "title": each.title, "lesson": each.lesson, "text": each.text} for each in sections
    ]
    data = json.dumps(index, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{TITLE}</title>
<style>{static("book.css")}</style>
</head>
<body>
<nav class="book" aria-label="The book">{_SEARCH}{_BUTTON}</nav>
<main class="book">
<h1>{TITLE}</h1>
<p id="book-said" role="status"></p>
<ol id="book-found" class="lessons"></ol>
<p>To work in a lesson, type <code>workbench</code>: it opens copies of your own.</p>
<h2>Contents</h2>
<ol class="lessons">{"".join(items)}</ol>
</main>
<script type="application/json" id="book-index">{data}</script>
{_script()}
</body>
</html>
"""


def _sections(text: str, lesson: Lesson) -> list[Section]:
    """Return the text under each heading of a page."""
    reader = _SectionReader(lesson)
    reader.feed(text)
    return reader.sections


class _SectionReader(HTMLParser):
    """Collect the words of a page by heading, without scripts, styles, pictures and the book's frame."""

    _SILENT = ("script", "style", "nav", "head", "svg", "button")

    def __init__(self, lesson: Lesson) -> None:
        super().__init__()
        self.sections: list[Section] = []
        self._lesson, self._silent, self._heading, self._anchor = lesson, 0, False, False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self._silent += tag in self._SILENT
        if re.fullmatch("h[1-3]", tag) and given.get("id"):
            place = f"{self._lesson.file}#{given['id']}"
            self.sections.append(Section(self._lesson.title, place, int(tag[1])))
            self._heading = True
        self._anchor = tag == "a" and given.get("class") == "anchor-link"

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in self._SILENT
        self._heading = self._heading and not re.fullmatch("h[1-3]", tag)
        self._anchor = False

    def handle_data(self, data: str) -> None:
        if self._silent or self._anchor or not self.sections:
            return
        if self._heading:
            self.sections[-1].title += data
        else:
            self.sections[-1].words.append(data)
