"""What a teacher releases from a lesson: the student version, the solved version, assignments for graders, and paper.

All versions are derived from the markers in the lesson's exercise cells, so nothing is stored twice; points come from
the exercise file. On paper, the few steps that matter are printed instead of a player, one image each.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ..pictures.scene.picture import Picture
from ..pictures.scene.storyboard import Storyboard
from ..pictures.scene.svg import to_svg
from .judging import Exercise

YOUR_CODE = "...  # your code"
_EXERCISE = re.compile(r"^# exercise: ([a-z0-9]+(?:-[a-z0-9]+)*)(?: \((\d+(?:\.\d+)?) points?\))?[ \t]*$", re.M)
_REGISTERED = re.compile(r"""^[^#\n]*\bexercise\(\s*(?:name\s*=\s*)?["']([a-z0-9-]+)["']""", re.M)
_CHECKED = re.compile(r"""^[^#\n]*\bcheck\(\s*["']([a-z0-9-]+)["']\s*,""", re.M)
_SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION[ \t]*\n(.*?)^[ \t]*### END SOLUTION[ \t]*(?:\n|\Z)", re.S | re.M)
_HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS[ \t]*\n.*?^[ \t]*### END HIDDEN TESTS[ \t]*(?:\n|\Z)", re.S | re.M)
_MARKER = re.compile(r"^[ \t]*### ?(?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS)\b", re.M)
# Run before the cells of a lesson that is printed.
ON_PAPER = "from workbench.classroom.handout import on_paper\non_paper()"
STILL = "still"  # the class of the first image of a picture
LATER = "still later"  # that of the others, which may show what a question above asks for
_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
PLACE = "Slider at"  # the start of the caption of a slider's image
_MOST = 4  # images of a picture
_CAPTION = 200  # characters
_NARROW = 450  # px: two pictures of this width can be read side by side

HALF_MARKER = "cell {} has a BEGIN or an END without its other half."
NO_EXERCISE = "cell {} has markers, but no line that begins with '# exercise: '."
SECOND_EXERCISE = "cell {} is the second exercise called {}."
NOT_CHECKED = "the exercise {0} is not checked by check({0!r}, ...) after its solution."
NOT_NAMED = "cell {0} checks {1!r}, but no cell has the line '# exercise: {1}', by which graders find the answer."
NOT_MARKED = (
    "the exercise {} has no lines '### BEGIN SOLUTION' and '### END SOLUTION' around its solution, so every copy would "
    "contain the answer."
)


class MarkerError(Exception):
    """An exercise cell whose markers don't match; the text names it."""


def name_of(cell: Any) -> str | None:
    """Return the name of the exercise in a cell, if there is one."""
    found = _EXERCISE.search(cell.source) if cell.cell_type == "code" else None
    return found[1] if found else None


def solution(cell: Any) -> str:
    """Return the code of an exercise cell with its solution, without the markers and the check."""
    return _SOLUTION.sub(r"\2", _halves(cell.source)[0])


def is_note(cell: Any) -> bool:
    """Return True if a text cell is for the presenter only, by Jupyter's slide type "Notes"."""
    return cell.cell_type == "markdown" and cell.metadata.get("slideshow", {}).get("slide_type") == "notes"


def student(notebook: Any) -> Any:
    """Return the version to work in: no solutions, no hidden tests, and no outputs.

    No output is kept, because any of them may answer a question above it.
    """
    made = unsolved(notebook)
    _clear(made)
    return made


def unsolved(notebook: Any) -> Any:
    """Return the version to run and then show: no solutions, no hidden tests and their outputs, no presenter notes."""
    made = copy.deepcopy(notebook)
    made.cells = [cell for cell in made.cells if not is_note(cell)]
    for cell in _marked(made):
        cell.source = _HIDDEN.sub("", _SOLUTION.sub(rf"\1{YOUR_CODE}\n", cell.source)).rstrip()
        cell.outputs, cell.execution_count = [], None
    return made


def solved(notebook: Any) -> Any:
    """Return the version to read: with the solutions, without the markers and the hidden tests."""
    made = copy.deepcopy(notebook)
    for cell in _marked(made):
        cell.source = _HIDDEN.sub("", _SOLUTION.sub(r"\2", cell.source)).rstrip()
    return made


def complete(notebook: Any, known: Mapping[str, Exercise]) -> Any:
    """Return the notebook, or raise MarkerError if a known exercise in it has no name or no marked solution."""
    code = [(number, cell) for number, cell in enumerate(notebook.cells, 1) if cell.cell_type == "code"]
    named = {name: cell for _, cell in code if (name := name_of(cell))}
    for number, cell in code:
        for name in _CHECKED.findall(cell.source):
            if name in known and name not in named:
                raise MarkerError(NOT_NAMED.format(number, name))
    for name in known.keys() & named.keys():
        if not _SOLUTION.search(named[name].source):
            raise MarkerError(NOT_MARKED.format(name))
    return notebook


def unregistered(notebook: Any, known: Mapping[str, Exercise]) -> list[str]:
    """Return the names of the notebook's checked exercises that aren't among the known ones."""
    names = [(name, cell.source) for cell in notebook.cells if (name := name_of(cell))]
    return [name for name, source in names if name not in known and _given(name, source)]


def registered_in_cells(notebook: Any) -> set[str]:
    """Return the names that cells of the notebook pass to `exercise`, as written; no cell runs."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return {name for source in cells for name in _REGISTERED.findall(source)}


def nbgrader(notebook: Any, known: Mapping[str, Exercise]) -> Any:
    """Return the source of an nbgrader assignment: each exercise as a cell to fill in and a locked, graded cell.

    The hidden tests are those of the exercise's own cell, or else the whole verdict with its explanation. No cell has
    an output: nbgrader runs them all.
    """
    made = copy.deepcopy(notebook)
    list(_marked(made))
    made.cells = [part for cell in made.cells for part in _for_nbgrader(cell, known)]
    _clear(made)
    return made


def _clear(notebook: Any) -> None:
    """Remove everything that running a notebook left in it."""
    notebook.metadata.pop("widgets", None)  # their states hold what the pictures showed
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None


def otter(notebook: Any, known: Mapping[str, Exercise], files: Sequence[str] = ()) -> Any:
    """Return the master notebook of an Otter assignment: each exercise as a question, with a hidden test.

    `files` are the names of the files that belong to it.
    """
    made = copy.deepcopy(notebook)
    made.metadata.setdefault("kernelspec", _KERNEL)  # without one otter stops
    list(_marked(made))
    _clear(made)
    listed = ["files:", *(f"  - {json.dumps(name)}" for name in files)] if files else []
    made.cells = [_raw(made, "# ASSIGNMENT CONFIG", "export_cell: false", "check_all_cell: false", *listed)] + [
        part for cell in made.cells for part in _for_otter(made, cell, known)
    ]
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"
    return made


def _for_otter(notebook: Any, cell: Any, known: Mapping[str, Exercise]) -> list[Any]:
    name = name_of(cell)
    if name is None:
        return [cell]
    cell.source = re.sub(
        r"^([ \t]*)### ?(BEGIN|END) SOLUTION", r"\1# \2 SOLUTION", _HIDDEN.sub("", cell.source), flags=re.M
    )
    if name not in known:
        return [cell]
    answer = _checked(name, cell.source)
    test = copy.deepcopy(cell)
    judged = f"find({name!r}).judge({answer}).right"
    test.source = f"# HIDDEN\nfrom workbench.classroom.registry import find\n{judged}"
    output = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "True"}}
    test.outputs, test.execution_count = [type(cell)(output)], 1
    config = ("# BEGIN QUESTION", f"name: {name}", f"points: {known[name].points:g}", "check_cell: false")
    begin, solution, end = _raw(notebook, *config), _raw(notebook, "# BEGIN SOLUTION"), _raw(notebook, "# END SOLUTION")
    return [
        *(begin, solution, cell, end, _raw(notebook, "# BEGIN TESTS"), test),
        *(_raw(notebook, "# END TESTS"), _raw(notebook, "# END QUESTION")),
    ]


def _raw(notebook: Any, *lines: str) -> Any:
    return type(notebook)({"id": "", "cell_type": "raw", "metadata": {}, "source": "\n".join(lines)})


def _marked(notebook: Any) -> Iterator[Any]:
    """Return the cells with markers, after checking that these match."""
    names: set[str] = set()
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        name = name_of(cell)
        rest = _HIDDEN.sub("", _SOLUTION.sub("", cell.source))
        inside = [_MARKER.search(found[2]) for found in _SOLUTION.finditer(cell.source)]
        if _MARKER.search(rest) or any(inside):
            raise MarkerError(HALF_MARKER.format(number))
        if name is None and rest != cell.source:
            raise MarkerError(NO_EXERCISE.format(number))
        if name in names:
            raise MarkerError(SECOND_EXERCISE.format(number, name))
        if name is not None:
            names.add(name)
            yield cell


def _for_nbgrader(cell: Any, known: Mapping[str, Exercise]) -> list[Any]:
    name = name_of(cell)
    if name is None:
        return [cell]
    answer, test = _halves(cell.source)
    cell.source = answer
    cell.metadata["nbgrader"] = _metadata(name, solution=True)
    if not test:
        return [cell]
    given = _EXERCISE.search(answer)
    points = float(given[2]) if given and given[2] else known[name].points if name in known else 1
    graded = copy.deepcopy(cell)
    graded["id"] = f"{cell['id'][:50]}-points"
    graded.source = test if name not in known or _HIDDEN.search(test) else f"{test}\n{_graded(name, test)}"
    graded.metadata["nbgrader"] = _metadata(f"{name}-points", points=points)
    return [cell, graded]


def _halves(source: str) -> tuple[str, str]:
    """Return the part that a student fills in, and the part after the last solution, which tests it."""
    *_, last = [0, *(found.end() for found in _SOLUTION.finditer(source))]
    begins = re.compile(r"^(?=[^\s])", re.M).search(source, last)
    end = begins.start() if begins else len(source)
    return source[:end].rstrip(), source[end:].strip()


def _graded(name: str, test: str) -> str:
    """Return a hidden test that gives the points of the answer checked here."""
    lines = ["### BEGIN HIDDEN TESTS", "from workbench.classroom import grade", ""]
    return "\n".join([*lines, f'grade("{name}", {_checked(name, test)})', "### END HIDDEN TESTS"])


def _checked(name: str, code: str) -> str:
    """Return the arguments of `check` for this exercise."""
    answer = answer_of(name, code)
    if answer is None:
        raise MarkerError(NOT_CHECKED.format(name))
    return answer


def answer_of(name: str, source: str) -> str | None:
    """Return the expression that an exercise cell passes to `check`, if it does."""
    found = _given(name, source)
    return found and found[1].strip()


def _given(name: str, code: str) -> re.Match[str] | None:
    return re.search(rf'check\(\s*["\']{re.escape(name)}["\']\s*,\s*(.*)\)\s*$', code, re.S | re.M)


def _metadata(name: str, solution: bool = False, points: float | None = None) -> dict[str, Any]:
    graded = points is not None
    made: dict[str, Any] = {"schema_version": 3, "grade_id": name, "task": False, "cell_type": "code"}
    made |= {"solution": solution, "grade": graded, "locked": graded}
    return made | ({"points": points} if graded else {})


def on_paper() -> None:
    """Show every picture in this kernel as stills from now on."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is not None:
        formatter: Any = shell.display_formatter
        formatter.mimebundle_formatter.for_type(Picture, stills)


def stills(picture: Picture, include: Any = None, exclude: Any = None) -> dict[str, Any]:
    """Return the steps to print of a picture: the start of its first backward pass, and the ends of all later parts.

    Without a backward pass it is the step at which the picture opens.
    """
    story = picture.storyboard
    if not story.steps:
        figures = [_figure(story, None, story.title, STILL)]
    else:
        phases = [step.phase for step in story.steps]
        opened = max(0, phases.index("backward") - 1 if "backward" in phases else story.start)
        shown = [opened, *(number for number in matter(story) if number > opened)]
        slides = all(step.phase == "position" for step in story.steps)
        if slides:  # both ends of the slider
            shown.insert(1, 0)
        shown = shown[: _MOST - 1] + shown[_MOST - 1 :][-1:]
        said = [
            f"{PLACE if slides else 'Step'} {number + 1} of {len(story.steps)}: {story.steps[number].caption}"
            for number in shown
        ]
        kinds = [STILL, *[LATER] * (len(shown) - 1)]
        figures = [_figure(story, *each) for each in zip(shown, said, kinds, strict=True)]
    return {"text/plain": repr(picture), "text/html": f'<div class="stills">{"".join(figures)}</div>'}


def matter(story: Storyboard) -> Sequence[int]:
    """Return the steps that end a part of the story: forward, backward, an update, a training step."""
    steps = story.steps
    ends = [number for number in range(1, len(steps)) if _begins(steps[number - 1], steps[number])]
    return [number - 1 for number in ends] + [len(steps) - 1]


def _begins(before: Any, step: Any) -> bool:
    return bool(step.phase != before.phase or step.chapter)


def _figure(story: Storyboard, k: int | None, title: str, kind: str) -> str:
    drawn = to_svg(story, k, "print")
    image = base64.b64encode(drawn.encode()).decode()
    title = escape(title if len(title) <= _CAPTION else f"{title[:_CAPTION]}…")
    shown = f'<img alt="{title}" src="data:image/svg+xml;base64,{image}">'
    wide = ' style="flex-basis: 100%"' if float(drawn.partition('width="')[2].partition('"')[0]) > _NARROW else ""
    return f'<figure class="{kind}"{wide}>{shown}<figcaption>{title}</figcaption></figure>'
