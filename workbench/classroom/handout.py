"""What a teacher hands out of a lesson: the student's copy, the solved copy, assignments for graders, and paper.

All copies are derived from the markers in the lesson's exercise cells, and nothing is kept twice; points come from the
file that registers the exercises. On paper the few steps that matter are printed in place of a player, one image each.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ..scene.images import to_svg
from ..scene.picture import Picture
from ..scene.storyboard import Storyboard
from .judging import Exercise

YOUR_CODE = "...  # your code"
_EXERCISE = re.compile(r"^# exercise: ([a-z0-9]+(?:-[a-z0-9]+)*)(?: \((\d+(?:\.\d+)?) points?\))?[ \t]*$", re.M)
_REGISTERED = re.compile(r"""^[^#\n]*\bexercise\(\s*(?:name\s*=\s*)?["']([a-z0-9-]+)["']""", re.M)
_SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION[ \t]*\n(.*?)^[ \t]*### END SOLUTION[ \t]*(?:\n|\Z)", re.S | re.M)
_HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS[ \t]*\n.*?^[ \t]*### END HIDDEN TESTS[ \t]*(?:\n|\Z)", re.S | re.M)
_MARKER = re.compile(r"^[ \t]*### ?(?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS)\b", re.M)
# Run before the cells of a lesson that is printed.
ON_PAPER = "from workbench.classroom.handout import on_paper\non_paper()"
STILL = "still"  # the class of the first image of a picture
LATER = "still later"  # that of the others, which may show what a question above asks for
_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
PLACE = "Slider at"  # how what is told of an image of a slider begins
_MOST = 4  # images of a picture
_CAPTION = 200  # characters
_NARROW = 450  # px: two pictures of this width can be read side by side

HALF_MARKER = "cell {} has a BEGIN or an END without its other half."
NO_EXERCISE = "cell {} has markers, but no line that begins with '# exercise: '."
SECOND_EXERCISE = "cell {} is the second exercise called {}."
NOT_CHECKED = "the exercise {0} is not checked by check({0!r}, ...) after its solution."


class MarkerError(Exception):
    """An exercise's cell whose markers do not fit together; the text says which."""


def name_of(cell: Any) -> str | None:
    """The name of the exercise in a cell, if there is one."""
    found = _EXERCISE.search(cell.source) if cell.cell_type == "code" else None
    return found[1] if found else None


def solution(cell: Any) -> str:
    """The code of an exercise's cell with its solution, without the markers and what checks it."""
    return _SOLUTION.sub(r"\2", _halves(cell.source)[0])


def is_note(cell: Any) -> bool:
    """Whether a cell of text is for the presenter alone: Jupyter's slide type "Notes" says so."""
    return cell.cell_type == "markdown" and cell.metadata.get("slideshow", {}).get("slide_type") == "notes"


def student(notebook: Any) -> Any:
    """A copy to work in: no solutions, no hidden tests, and no output of any cell.

    An output may answer a question that stands above it, and a question can be asked in any words: none is kept.
    """
    made = unsolved(notebook)
    _clear(made)
    return made


def unsolved(notebook: Any) -> Any:
    """A copy to run and then show: no solutions, no hidden tests, no outputs of either, and no notes of a presenter."""
    made = copy.deepcopy(notebook)
    made.cells = [cell for cell in made.cells if not is_note(cell)]
    for cell in _marked(made):
        cell.source = _HIDDEN.sub("", _SOLUTION.sub(rf"\1{YOUR_CODE}\n", cell.source)).rstrip()
        cell.outputs, cell.execution_count = [], None
    return made


def solved(notebook: Any) -> Any:
    """A copy to read: with the solutions, without the markers and the hidden tests."""
    made = copy.deepcopy(notebook)
    for cell in _marked(made):
        cell.source = _HIDDEN.sub("", _SOLUTION.sub(r"\2", cell.source)).rstrip()
    return made


def unregistered(notebook: Any, known: Mapping[str, Exercise]) -> list[str]:
    """The names that exercises of the notebook are checked by and that are not among the known ones."""
    names = [(name, cell.source) for cell in notebook.cells if (name := name_of(cell))]
    return [name for name, source in names if name not in known and _given(name, source)]


def registered_in_cells(notebook: Any) -> set[str]:
    """The names that cells of the notebook give to `exercise`, as they are written: no cell runs."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return {name for source in cells for name in _REGISTERED.findall(source)}


def nbgrader(notebook: Any, known: Mapping[str, Exercise]) -> Any:
    """The source of an nbgrader assignment: each exercise as a cell to fill in and a locked cell that gives points.

    Hidden tests are those of the exercise's own cell, or else the whole judgement, which also says
    why. No cell has an output: nbgrader runs them all.
    """
    made = copy.deepcopy(notebook)
    list(_marked(made))
    made.cells = [part for cell in made.cells for part in _for_nbgrader(cell, known)]
    _clear(made)
    return made


def _clear(notebook: Any) -> None:
    """Take away all that running a notebook has left in it."""
    notebook.metadata.pop("widgets", None)  # their states hold what the pictures showed
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None


def otter(notebook: Any, known: Mapping[str, Exercise], files: Sequence[str] = ()) -> Any:
    """The master notebook of an otter assignment: each exercise as a question, with a hidden test.

    `files` are the names of those beside it that go with it.
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
    """The cells with markers, each of which fits together."""
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
    """What a student fills in, and what comes after the last solution, which tests it."""
    *_, last = [0, *(found.end() for found in _SOLUTION.finditer(source))]
    begins = re.compile(r"^(?=[^\s])", re.M).search(source, last)
    end = begins.start() if begins else len(source)
    return source[:end].rstrip(), source[end:].strip()


def _graded(name: str, test: str) -> str:
    """A hidden test that gives the points of the answer that is checked here."""
    lines = ["### BEGIN HIDDEN TESTS", "from workbench.classroom import grade", ""]
    return "\n".join([*lines, f'grade("{name}", {_checked(name, test)})', "### END HIDDEN TESTS"])


def _checked(name: str, code: str) -> str:
    """What `check` is given for this exercise."""
    answer = answer_of(name, code)
    if answer is None:
        raise MarkerError(NOT_CHECKED.format(name))
    return answer


def answer_of(name: str, source: str) -> str | None:
    """What the cell of an exercise gives to `check`, if it does: an expression."""
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
    """From now on this kernel shows each picture as stills."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is not None:
        formatter: Any = shell.display_formatter
        formatter.mimebundle_formatter.for_type(Picture, stills)


def stills(picture: Picture, include: Any = None, exclude: Any = None) -> dict[str, Any]:
    """What a printed page shows of a picture: where its first backward begins, and the ends of what comes after.

    Without a backward it is the step that the picture opens at.
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
    """The steps at which a part of the story is over: forward, backward, an update, a step of a training."""
    steps = story.steps
    ends = [number for number in range(1, len(steps)) if _begins(steps[number - 1], steps[number])]
    return [number - 1 for number in ends] + [len(steps) - 1]


def _begins(before: Any, step: Any) -> bool:
    return bool(step.phase != before.phase or step.chapter)


def _figure(story: Storyboard, k: int | None, said: str, kind: str) -> str:
    drawn = to_svg(story, k, "print")
    image = base64.b64encode(drawn.encode()).decode()
    said = escape(said if len(said) <= _CAPTION else f"{said[:_CAPTION]}…")
    shown = f'<img alt="{said}" src="data:image/svg+xml;base64,{image}">'
    wide = ' style="flex-basis: 100%"' if float(drawn.partition('width="')[2].partition('"')[0]) > _NARROW else ""
    return f'<figure class="{kind}"{wide}>{shown}<figcaption>{said}</figcaption></figure>'
