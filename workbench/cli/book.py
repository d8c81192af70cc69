"""All lessons as a folder of pages that need no server: contents, search, previous and next, live players."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from workbench.classroom.handout import name_of, solution, student
from workbench.cli.command import CommandError, check_loopback
from workbench.cli.lab import SHIPPED, checkout
from workbench.cli.run import STATIC, execute, page, read, write

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
        """What stands under the heading, without the numbers of cells."""
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
        """What its first heading says."""
        found = re.search(r"^# (.+)$", self._text(), re.M)
        return found[1].replace("`", "") if found else self.path.stem

    @property
    def question(self) -> str:
        """The question that the lesson answers, if it says one."""
        found = re.search(r"\*\*The question of this lesson:\*\* (.+)", self._text())
        asked = found[1] if found else ""
        return re.sub(r"[*`]", "", asked[:1].upper() + asked[1:])

    def _text(self) -> str:
        return "\n".join(cell.source for cell in self.notebook.cells if cell.cell_type == "markdown")


def book(out: Path, folder: Path | None = None) -> None:
    """Execute the lessons, or the notebooks of a folder, and write them as a book into `out`."""
    home = checkout()
    source = folder or (SHIPPED if home is None else home / "notebooks")
    lessons = [Lesson(path, readable(read(path))) for path in sorted(source.glob("*.ipynb"))]
    if not lessons:
        raise CommandError(f"there is no notebook in {source}.")
    check_loopback()
    try:
        out.mkdir(parents=True, exist_ok=True)
        sections: list[Section] = []
        for number, lesson in enumerate(lessons):
            # What a lesson writes beside itself is not left in the lessons' folder.
            with TemporaryDirectory() as place:
                execute(lesson.notebook, Path(place) / lesson.path.name)
                text = _page(lesson, lessons[number - 1 : number], lessons[number + 1 : number + 2])
            sections += _sections(text, lesson)
            write(out / lesson.file, text)
        write(out / "index.html", _contents(lessons, sections))
    except OSError as error:
        raise CommandError(f"cannot write into {out}: {error.strerror}.") from None


def readable(notebook: NotebookNode) -> NotebookNode:
    """The student's copy with each solution folded below its exercise, and links to pages in place of notebooks."""
    solutions = {name_of(cell): solution(cell) for cell in notebook.cells if name_of(cell)}
    made = student(notebook)
    cells = []
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"(\]\((?![a-z]+:)[^)\s]+)\.ipynb(?=[)#])", r"\1.html", cell.source)
        cells.append(cell)
        if text := solutions.get(name_of(cell)):
            folded = f"<summary>Solution</summary><pre><code>{escape(text)}</code></pre>"
            # An empty line would end the block of HTML.
            folded = folded.replace("\n\n", "\n&#8203;\n")
            cells.append(new_markdown_cell(f'<details class="solution">{folded}</details>'))
    made.cells = cells
    return made


def _page(lesson: Lesson, before: Sequence[Lesson], after: Sequence[Lesson]) -> str:
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
<h2>Contents</h2>
<ol class="lessons">{"".join(items)}</ol>
</main>
<script type="application/json" id="book-index">{data}</script>
{_script()}
</body>
</html>
"""


def _sections(text: str, lesson: Lesson) -> list[Section]:
    """What stands under each heading of a page."""
    reader = _Reader(lesson)
    reader.feed(text)
    return reader.sections


class _Reader(HTMLParser):
    """Collects the words of a page by heading, without scripts, styles, pictures and the frame of the book."""

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
