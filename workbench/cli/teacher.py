"""What a teacher makes from a lesson: versions to release, slides for a projector, and paper."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from workbench.classroom.authoring import fault_of, line_of
from workbench.classroom.checks import ANSWER, HOOK
from workbench.classroom.handout import (
    LATER,
    ON_PAPER,
    PLACE,
    STILL,
    YOUR_CODE,
    complete,
    is_note,
    name_of,
    nbgrader,
    otter,
    registered_in_cells,
    solution,
    solved,
    student,
    unregistered,
    unsolved,
)
from workbench.classroom.registry import file_of
from workbench.classroom.sealed import Sealed
from workbench.cli import errors
from workbench.cli.errors import CommandError, check_loopback
from workbench.cli.grading import ran
from workbench.cli.handed_in import Assignment, verdicts
from workbench.cli.notebooks import beside, copied, exercises_of, for_students, modules_of, place_to_run, read, text_of
from workbench.cli.pages import STATE, WIDGET, as_html, execute, page, static, with_folded_solutions, write
from workbench.pictures.scene.picture import check_place, write_whole

# A gentle stub, and pictures in the feedback: nbconvert would take a widget's place, which is empty without a kernel.
_CONFIG = f'''c = get_config()  # noqa: F821
c.ClearSolutions.code_stub = {{"python": "{YOUR_CODE}"}}
c.NbConvertBase.display_data_priority = [
    "text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown", "text/latex", "text/plain",
]
'''


def release(source: Path, kind: str, out: Path) -> None:
    """Write one version (a name in `KINDS`) of a notebook or of all notebooks in a folder, with the files next to them.

    The exercise file is written without its solutions, except for the version that has them.
    """
    found = sorted(source.glob("*.ipynb")) if source.is_dir() else [source]
    if not found:
        raise CommandError(errors.NO_NOTEBOOKS.format(source))
    made: dict[Path, str] = {}
    for path in found:
        target = _place_of(path, kind, out)
        if target.resolve() == path.resolve():
            raise CommandError(errors.OVER_ITSELF.format(target))
        made[target] = _copied(path, kind)
        check_earned(path)
        for file in beside(path):
            name = file_of(target).name if file == file_of(path) else file.name
            made[target.with_name(name)] = text_of(file) if kind == "solutions" else for_students(file)
    try:
        if kind == "nbgrader":
            out.mkdir(parents=True, exist_ok=True)
            if not (out / "nbgrader_config.py").exists():
                write_whole(out / "nbgrader_config.py", _CONFIG.encode())
        for target, text in made.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            write(target, text)
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN_INTO.format(out, error.strerror)) from None


def _copied(path: Path, kind: str) -> str:
    """Return the text of a notebook's copy; refuse one with an exercise that can't be checked."""
    notebook, known = read(path), exercises_of(path)
    file = file_of(path).name
    copies: dict[str, Callable[[NotebookNode], NotebookNode]] = {
        "student": student,
        "solutions": solved,
        "nbgrader": lambda notebook: nbgrader(notebook, known),
        "otter": lambda notebook: otter(notebook, known, [each.name for each in beside(path)]),
    }
    made = copied(copies[kind], copied(lambda each: complete(each, known), notebook, path), path)
    if names := unregistered(notebook, known):
        wrong = errors.UNREGISTERED.format(path, " and ".join(map(repr, names)), file)
        here = [repr(name) for name in names if name in registered_in_cells(notebook)]
        raise CommandError(f"{wrong} {errors.MOVE_TO_FILE.format(' and '.join(here), file)}" if here else wrong)
    for each in known.values():
        if not isinstance(each, Sealed) and (fault := fault_of(each)):
            raise CommandError(f"{file}, line {line_of(each.name, text_of(file_of(path)))}: {fault}")
    return f"{nbformat.writes(made)}\n"


def check_earned(path: Path) -> None:
    """Run a lesson's own solutions, and refuse it if one of them doesn't get all points."""
    if not exercises_of(path):
        return
    check_loopback()
    notebook = read(path)
    lesson = Assignment.of(notebook, path, file_of(path))
    done = ran(solved(notebook), lesson, modules_of(path, notebook))
    errors_of = [each.ename for cell in done.cells for each in cell.get("outputs", ()) if each.output_type == "error"]
    missed = next((each for each in verdicts(done, lesson) if not each.right), None)
    # Where a library of the lesson isn't installed, its solutions can't run.
    if missed and not {"ImportError", "ModuleNotFoundError"} & {*errors_of}:
        raise CommandError(errors.NOT_EARNED.format(path, missed.exercise, missed.says))


def _place_of(path: Path, kind: str, out: Path) -> Path:
    """Return the folder of a copy: for nbgrader, each notebook is an assignment of its own."""
    return out / "source" / path.stem / path.name if kind == "nbgrader" else out / path.name


# Slides and paper.

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"%PROGRAMFILES%\Google\Chrome\Application\chrome.exe",
    r"%PROGRAMFILES(X86)%\Microsoft\Edge\Application\msedge.exe",
)
_SECONDS = 120
_PRESSED = "What the picture shows when you press Step, up to its end:"
_MOVED = "What the picture shows when you move its slider:"
_SHOWN = "What the cell shows:"
_GUESS = re.compile(r"^(\w+) = None\b[ \t]*(?:#[ \t]*(.*))?$", re.M)
_LATER = re.compile(rf'<figure class="{LATER}".*?</figure>', re.S)
_FIGURE = re.compile(r'<figure class="still".*?</figure>', re.S)
_STILL = re.compile(r'<img [^>]*src="data:image/svg\+xml;base64,[^"]+"[^>]*>')


def present(path: Path, handout: Path | None) -> None:
    """Execute a lesson and write its slides into the current folder, and its handout if a file is named for it."""
    source = read(path)
    if handout is not None and handout.suffix not in (".html", ".pdf"):
        raise CommandError(errors.HANDOUT_SUFFIX.format(handout))
    browser = _find_browser() if handout is not None and handout.suffix == ".pdf" else None
    slides = Path(f"{path.stem}-slides.html")
    check_loopback()
    try:
        for target in [slides, *([handout] if handout else [])]:
            check_place(target)
        talk = _slides(_with_answers(copied(lambda given: with_folded_solutions(_noted(given)), source, path), path))
        paper = _paper(_with_answers(copied(unsolved, source, path), path, ON_PAPER), source) if handout else None
        frame = {
            "css": static("talk.css"),
            "header": "",
            "footer": f'<script type="module">{static("talk.js")}</script>',
        }
        write(slides, page(talk, path, frame))
        if handout is not None and paper is not None:
            text = page(paper, path, {"css": static("handout.css"), "header": "", "footer": ""})
            if browser is None:
                write(handout, text)
            else:
                _print_to_pdf(browser, text, handout)
                print(f"Wrote {handout}.", flush=True)
    except OSError as error:
        raise CommandError(errors.NOT_WRITTEN.format(error.filename, error.strerror)) from None


def _with_answers(notebook: NotebookNode, path: Path, more: str = "") -> NotebookNode:
    """Return the notebook with all outputs, in which checks of predictions give the answer; `more` runs before it."""
    notebook.cells.insert(0, new_code_cell(f"{HOOK}\n{more}"))
    with place_to_run(path) as place:
        execute(notebook, path, place, more=1)
    notebook.cells = [part for cell in notebook.cells[1:] for part in _parted(cell)]
    return notebook


def _parted(cell: NotebookNode) -> list[NotebookNode]:
    """Split a text cell at its headings, because a slide starts with one."""
    if cell.cell_type != "markdown" or cell.source.startswith("<aside"):
        return [cell]
    parts = filter(None, map(str.strip, re.split(r"^(?=##? )", cell.source, flags=re.M)))
    kept = {key: cell[key] for key in ("metadata", "attachments") if key in cell}
    return [new_markdown_cell(part, **copy.deepcopy(kept)) for part in parts]


def _noted(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with the presenter's notes, which appear in a separate window."""
    made = copy.deepcopy(notebook)
    for cell in filter(is_note, made.cells):
        cell.source = f'<aside class="notes">{_unbroken_lines(as_html(cell.source, cell.get("attachments")))}</aside>'
        cell.metadata.pop("slideshow")
    return made


def _slides(notebook: NotebookNode) -> NotebookNode:
    """Return the lesson without the cells for written predictions, which an audience speaks; links lead to slides."""
    notebook.cells = [cell for cell in notebook.cells if not _is_guess(cell) and not _is_skipped(cell)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"(\]\((?![a-z]+:)[^)\s]+)\.html(?=[)#])", r"\1-slides.html", cell.source)
    return notebook


def _is_skipped(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("slideshow", {}).get("slide_type") == "skip")


def _is_guess(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and name_of(cell) is None and _GUESS.search(cell.source) is not None


def _paper(notebook: NotebookNode, source: NotebookNode) -> NotebookNode:
    """Return the lesson for paper: stills, room to write at each question, and all answers on a last page."""
    notebook.metadata.get("widgets", {}).pop(STATE, None)
    paper = _Paper({name_of(cell): solution(cell) for cell in source.cells if name_of(cell)})
    for cell in notebook.cells:
        paper.cells.append(cell)
        if cell.cell_type != "code":
            paper.read(cell)
        elif name := name_of(cell):
            paper.ask(name, cell)
        elif _is_guess(cell):
            paper.guess(cell)
        else:
            paper.run(cell)
    numbered = "".join(f"<li>{answer}</li>" for answer in paper.answers)
    if numbered:
        paper.cells.append(new_markdown_cell(f'<div class="answers"><h2>Answers</h2><ol>{numbered}</ol></div>'))
    notebook.cells = paper.cells
    return notebook


@dataclass
class _Paper:
    """A lesson being put on paper: what would answer a question above it moves to the answers."""

    solutions: dict[str | None, str]
    cells: list[NotebookNode] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    asked: bool = False  # a prediction is checked below
    waits: bool = False  # a question is about the next picture alone
    guessed: bool = False  # a prediction was asked in this section: its pictures tell more than it
    answered: bool = False  # the text below says why the answer is so
    held: list[str] = field(default_factory=list)  # stills that would answer a question

    def read(self, cell: NotebookNode) -> None:
        """Return a text cell; its first paragraph, with the list after it, moves to the answer that it explains."""
        paragraphs = cell.source.split("\n\n")
        if self.answered and not re.search(r"^#|\*\*(Predict|Before you)\b", paragraphs[0]):
            many = 1 + (paragraphs[0].endswith(":") or bool(re.match(r"- ", (paragraphs[1:] or [""])[0])))
            self.answers[-1] += _unbroken_lines(as_html("\n\n".join(paragraphs[:many]), cell.get("attachments")))
            cell.source = "\n\n".join(paragraphs[many:])
        self.answered = False
        self.waits = self.waits or "**Before you" in cell.source
        self.guessed = self.guessed and not cell.source.startswith("#")

    def ask(self, name: str, cell: NotebookNode) -> None:
        """Return room for an exercise's code, and move its solution to the answers."""
        cell.outputs = []
        self.cells.append(new_markdown_cell('<div class="room code"></div>'))
        self.answers.append(f"<h3>{escape(name)}</h3><pre>{_unbroken(self.solutions[name])}</pre>")
        self.answered = False

    def guess(self, cell: NotebookNode) -> None:
        """Return a line to write on for each prediction of a cell."""
        guesses = [_labeled(guess, said) for guess, said in _GUESS.findall(cell.source)]
        lines = "".join(f'<p class="room">Your prediction ({escape(said)}):</p>' for said in guesses)
        self.cells[-1] = new_markdown_cell(f'<div class="guess">{lines}</div>')
        self.asked = self.guessed = True

    def run(self, cell: NotebookNode) -> None:
        """Return any other code cell with its outputs, unless a question above asks for them."""
        told = "".join(output.get("text", "") for output in cell.outputs if ANSWER in output.get("text", ""))
        cell.outputs = [_still(output) for output in cell.outputs if ANSWER not in output.get("text", "")]
        whole = bool(told) or self.waits  # the cell itself is asked about
        if whole or self.guessed:
            later = {number: _without_later(output, whole) for number, output in enumerate(cell.outputs)}
            self.held += filter(None, later.values())
            self.waits = self.waits and not later
            cell.outputs = [output for number, output in enumerate(cell.outputs) if not later[number] or _left(output)]
        self.asked = self.asked and not told
        if told or (self.held and not self.asked):
            said = f"<pre>{_unbroken(told.rstrip())}</pre>" if told else f"<p>{_heading(self.held)}</p>"
            self.answers.append(said + _laid(self.held))
            self.cells.append(new_markdown_cell(f'<p class="see">Answer {len(self.answers)} is on the last page.</p>'))
            self.held, self.answered = [], True


def _labeled(guess: str, words: str) -> str:
    """Return the label of a line to write on: the prediction's name and its comment."""
    if guess == "prediction":
        return words or guess
    return f"{guess}: {words}" if words and not words.startswith("your number") else guess


def _without_later(output: NotebookNode, whole: bool) -> str:
    """Remove and return the part of a picture that may answer a question: all but its first still, or its only one.

    If the question is about the `whole` output, any other output is removed too.
    """
    data = output.get("data", {})
    shown = data.get("text/html", "")
    if found := _LATER.findall(shown):
        data["text/html"] = _LATER.sub("", shown)
        return "".join(found)
    if only := _FIGURE.findall(shown):
        data.clear()
        return "".join(only)
    if not whole:
        return ""
    made = shown
    if not made and "image/png" in data:
        made = f'<figure class="{STILL}"><img alt="" src="data:image/png;base64,{data["image/png"].strip()}"></figure>'
    made = made or f"<pre>{_unbroken((output.get('text') or data.get('text/plain', '')).rstrip())}</pre>"
    data.clear()
    return _unbroken_lines(made)


def _left(output: NotebookNode) -> bool:
    return bool(output.get("data"))


def _heading(held: list[str]) -> str:
    """Return the heading above printed pictures; it says where a player's button would have led."""
    shown = "".join(held)
    return _MOVED if PLACE in shown else _PRESSED if LATER in shown else _SHOWN


def _laid(stills: list[str]) -> str:
    return f'<div class="stills">{"".join(stills)}</div>' if stills else ""


def _unbroken(code: str) -> str:
    return _unbroken_lines(escape(code))


def _unbroken_lines(html: str) -> str:
    # An empty line, also one of several, would end the block of HTML.
    return re.sub(r"\n(?=\n)", "\n&#8203;", html.strip())


def _still(output: NotebookNode) -> NotebookNode:
    """Return a picture without its player."""
    data = output.get("data", {})
    data.pop(WIDGET, None)
    shown = data.get("text/html", "")
    if "<figure" not in shown and (image := _STILL.search(shown)):
        data["text/html"] = image[0]
    return output


def _find_browser() -> str:
    """Return the path of an installed Chromium, Chrome or Edge.

    Raises:
        CommandError: if there is none; it says what to do.
    """
    places = (place for place in map(os.path.expandvars, _PLACES) if os.path.exists(place))
    found = next((path for name in _BROWSERS if (path := shutil.which(name))), None) or next(places, None)
    if found is None:
        raise CommandError(errors.NO_BROWSER)
    return found


def _print_to_pdf(browser: str, page: str, target: Path) -> None:
    """Print a self-contained page into a PDF file."""
    with TemporaryDirectory() as folder:
        source, made = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8", errors="backslashreplace")
        flags = ["--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
        flags += [f"--user-data-dir={folder}", f"--print-to-pdf={made}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            flags.append("--no-sandbox")  # it refuses to run as root otherwise; the page is our own and loads nothing
        try:
            ran = subprocess.run(
                [browser, *flags, source.as_uri()], capture_output=True, text=True, errors="replace", timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CommandError(errors.NOT_PRINTED.format(browser, f"{error}.")) from None
        if not made.exists():
            said = (ran.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise CommandError(errors.NOT_PRINTED.format(browser, said))
        write_whole(target, made.read_bytes())
