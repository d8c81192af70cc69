"""A lesson as a talk on a projector, and as a handout on paper."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from workbench.classroom.assignment import name_of, solution, student
from workbench.classroom.checks import ANSWER, HOOK
from workbench.cli.book import readable, static
from workbench.cli.command import CommandError, check_loopback
from workbench.cli.run import STATE, WIDGET, execute, page, read
from workbench.scene.picture import check_place, write_whole

_GUESS = re.compile(r"^(\w+) = None\b[ \t]*(?:#[ \t]*(.*))?$", re.M)
_STILL = re.compile(r'<img [^>]*src="data:image/svg\+xml;base64,[^"]+"[^>]*>')


def present(path: Path, handout: Path | None) -> None:
    """Execute a lesson and write its slides into the current folder, and its handout if a file is named for it."""
    source = read(path)
    if handout is not None and handout.suffix != ".html":
        raise CommandError(
            f"{handout} does not end in .html: write a page, and print it to paper or PDF from a browser."
        )
    slides = Path(f"{path.stem}-slides.html")
    check_loopback()
    try:
        for target in [slides, *([handout] if handout else [])]:
            check_place(target)
        talk = _slides(_told(readable(source), path))
        paper = _paper(_told(student(source), path), source) if handout else None
        frame = {
            "css": static("talk.css"),
            "header": "",
            "footer": f'<script type="module">{static("talk.js")}</script>',
        }
        _write(slides, page(talk, path, frame))
        if handout is not None and paper is not None:
            _write(handout, page(paper, path, {"css": static("handout.css"), "header": "", "footer": ""}))
    except OSError as error:
        raise CommandError(f"cannot write {error.filename}: {error.strerror}.") from None


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode())
    print(f"Wrote {path}.", flush=True)


def _told(notebook: NotebookNode, path: Path) -> NotebookNode:
    """The notebook with all outputs, in which a check of a prediction tells the answer."""
    notebook.cells.insert(0, new_code_cell(HOOK))
    with TemporaryDirectory() as place:
        execute(notebook, Path(place) / path.name)
    notebook.cells = [part for cell in notebook.cells[1:] for part in _parted(cell)]
    return notebook


def _parted(cell: NotebookNode) -> list[NotebookNode]:
    """A cell of text in parts that begin with a heading, since a slide does."""
    if cell.cell_type != "markdown":
        return [cell]
    return [new_markdown_cell(part.strip()) for part in re.split(r"^(?=##? )", cell.source, flags=re.M) if part.strip()]


def _slides(notebook: NotebookNode) -> NotebookNode:
    """The lesson without the cells in which a reader writes a prediction: a room says it."""
    notebook.cells = [cell for cell in notebook.cells if not _is_guess(cell)]
    return notebook


def _is_guess(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and name_of(cell) is None and _GUESS.search(cell.source) is not None


def _paper(notebook: NotebookNode, source: NotebookNode) -> NotebookNode:
    """The lesson for paper: stills, room to write where something is asked, and all answers on a last page."""
    solutions = {name_of(cell): solution(cell) for cell in source.cells if name_of(cell)}
    notebook.metadata.get("widgets", {}).pop(STATE, None)
    answers: list[str] = []
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type != "code":
            continue
        if name := name_of(cell):
            cell.outputs = []
            cells.append(new_markdown_cell('<div class="room code"></div>'))
            answers.append(f"<h3>{escape(name)}</h3><pre>{_unbroken(solutions[name])}</pre>")
        elif _is_guess(cell):
            guesses = [said or guess for guess, said in _GUESS.findall(cell.source)]
            lines = "".join(f'<p class="room">Your prediction ({escape(said)}):</p>' for said in guesses)
            cells[-1] = new_markdown_cell(f'<div class="guess">{lines}</div>')
        else:
            told = "".join(output.get("text", "") for output in cell.outputs if ANSWER in output.get("text", ""))
            cell.outputs = [_still(output) for output in cell.outputs if ANSWER not in output.get("text", "")]
            if told:
                answers.append(f"<pre>{_unbroken(told.rstrip())}</pre>")
                cells.append(new_markdown_cell(f'<p class="see">Answer {len(answers)} is on the last page.</p>'))
    numbered = "".join(f"<li>{answer}</li>" for answer in answers)
    if numbered:
        cells.append(new_markdown_cell(f'<div class="answers"><h2>Answers</h2><ol>{numbered}</ol></div>'))
    notebook.cells = cells
    return notebook


def _unbroken(code: str) -> str:
    # An empty line would end the block of HTML.
    return escape(code).replace("\n\n", "\n&#8203;\n")


def _still(output: NotebookNode) -> NotebookNode:
    """A picture without what plays it."""
    data = output.get("data", {})
    data.pop(WIDGET, None)
    if image := _STILL.search(data.get("text/html", "")):
        data["text/html"] = image[0]
    return output
