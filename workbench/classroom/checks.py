"""`check()`, `grade()` and `progress()`: judge answers, and store the points reached in a file next to the notebook."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ..pictures.scene.picture import check_place, write_whole
from .comparison import compared
from .judging import Verdict, counted
from .registry import NAME, SUFFIX, exercise_files, find, home_of, known, lessons, registered
from .solutions import practice_solution

ANSWER = "The answer: "
IN_LESSON = "{} of {} in this lesson."
NEXT = "Next: {}."
QUESTION = "The question again: {}"
SOLVED = "solution({!r}) shows a solution."
_WITHOUT_SOLUTION = 2  # wrong answers
# Run before the cells of a presented lesson, so that the `check` they import shows the answers.
HOOK = "import workbench.classroom\nfrom workbench.classroom.checks import tell\nworkbench.classroom.check = tell"


def check(prediction: Any, truth: Any, tolerance: float = 1e-3) -> str | Verdict:
    """Check a prediction or an exercise, and explain what is wrong without giving the answer away.

    `check(prediction, truth)` compares a prediction with the right value: numbers, lists or tensors of one shape,
    words, booleans, or a shape (a tuple). `check("name-of-an-exercise", answer)` runs the answer to an exercise.
    The result names the misconception that the answer shows, if any, and the points count in `progress()`. A file
    next to the notebook registers the exercise.

    Args:
        prediction: The prediction, or the name of an exercise. `...` means that there is no prediction yet, and so does
            None unless `truth` is None.
        truth: The right value, or the answer to the exercise.
        tolerance: How far each number may be off, as a share of the right number.

    Raises:
        ValueError: if no exercise has this name.
    """
    if not isinstance(prediction, str) or not NAME.fullmatch(prediction):
        return compared(prediction, truth, tolerance)
    if isinstance(truth, str) and known(prediction) is None:
        return compared(prediction, truth, tolerance)  # a prediction that is a word with a hyphen
    verdict = find(prediction).judge(truth)
    note(verdict)
    return _with_help(verdict) if _in_notebook() else verdict


_wrong: dict[str, int] = {}  # by exercise: how many wrong answers this session saw


def _with_help(verdict: Verdict) -> Verdict:
    """Add the exercises done in this lesson, the hint for a second wrong answer, and a solution for a third one."""
    name, then = verdict.exercise, []
    if verdict.answered and not verdict.right:
        _wrong[name] = _wrong.get(name, 0) + 1
        if _wrong[name] > 1:
            then.append(verdict.hint or QUESTION.format(find(name).asks))
        if _wrong[name] > _WITHOUT_SOLUTION and (code := practice_solution(name)):
            verdict = replace(verdict, solution=code)
            then.append(SOLVED.format(name))
    return replace(verdict, then=[*then, *_standing(name)])


def _standing(name: str) -> list[str]:
    """Return how many exercises of the lesson are right, and the next lesson if all are."""
    home = home_of(name)
    if home is None:  # a cell registered it
        return []
    done, lesson, files = read_points(Path(FILE)), registered(home).values(), exercise_files()
    right = sum(done.get(each.name, -1.0) >= each.points for each in lesson)
    rest = files[files.index(home) + 1 :]
    said = IN_LESSON.format(right, len(lesson))
    return [f"{said} {NEXT.format(rest[0].name.removesuffix(SUFFIX))}" if right == len(lesson) and rest else said]


def grade(name: str, answer: Any) -> float:
    """Print what is right or wrong in an answer, and return its points. Hidden tests of a grader call this function.

    Args:
        name: The name of the exercise.
        answer: The student's answer.
    """
    verdict = find(name).judge(answer)
    print(verdict)
    return verdict.points


def tell(prediction: Any, truth: Any, tolerance: float = 1e-3) -> str | Verdict:
    """Replace `check` in a presentation: give the right value of a prediction; judge an exercise as usual."""
    verdict = check(prediction, truth, tolerance)
    return verdict if isinstance(verdict, Verdict) else f"{ANSWER}{_as_text(truth)}"


def _as_text(truth: Any) -> str:
    plain = truth.detach().numpy() if hasattr(type(truth), "detach") else truth
    if isinstance(plain, np.ndarray):
        plain = plain.tolist()
    if isinstance(plain, list | tuple):
        return f"[{', '.join(map(_as_text, plain))}]"
    return f"{plain:.4g}" if isinstance(plain, float) else str(plain)


FILE = "workbench-progress.json"
_LONGEST = 1_000_000  # bytes that are read
_NAMED = 200  # characters of a name
_MOST = 1000  # points of an exercise


def note(verdict: Verdict) -> None:
    """Store the points of an answer in the file next to the notebook; outside a notebook, do nothing.

    The best answer counts. If the file can't be written, it stays as it was, and one line says so.
    """
    if verdict.answered and _in_notebook():
        try:
            keep_points(Path(FILE), verdict.exercise, verdict.points)
        except OSError as error:
            print(f"progress() won't show this: {FILE} can't be written ({error.strerror}).")


def keep_points(path: Path, name: str, points: float) -> None:
    """Store the points of an exercise in the file if they are more than before.

    A damaged file is kept under another name.

    Raises:
        OSError: if the file can't be written.
    """
    done = read_points(path)
    if points <= done.get(name, -1.0):
        return
    check_place(path)
    text = json.dumps({"exercises": done | {name: points}}, indent=1, sort_keys=True)
    if path.exists() and not _is_sound(path, done):
        aside = next(place for n in count(1) if not (place := path.with_suffix(f".damaged-{n}.json")).exists())
        os.replace(path, aside)
    write_whole(path, f"{text}\n".encode())


def progress() -> Progress:
    """Return the points that you have in each exercise of the notebooks in this folder.

    The result prints as a list. A notebook shows it as a picture.
    """
    return Progress(read_points(Path(FILE)))


def read_points(path: Path) -> dict[str, float]:
    """Return the points by exercise that a file contains; from a damaged file, the readable ones."""
    found = _json(path)
    done = found.get("exercises") if isinstance(found, dict) else None
    return {name: points for name, points in done.items() if _is_entry(name, points)} if isinstance(done, dict) else {}


def _json(path: Path) -> Any:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for ever
            return None
        with open(path, "rb") as file:
            return json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None


def _is_entry(name: str, points: Any) -> bool:
    return len(name) <= _NAMED and type(points) in (int, float) and 0 <= points <= _MOST


def _is_sound(path: Path, done: Mapping[str, float]) -> bool:
    """Return True if rewriting the file with what was read loses nothing."""
    return _json(path) == {"exercises": done}


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


class Progress:
    """The points reached, lesson by lesson: prints as a list, and shows as a picture in a notebook."""

    def __init__(self, done: Mapping[str, float]) -> None:
        self.done = dict(done)

    @property
    def points(self) -> float:
        """The sum of the points reached; no exercise counts for more than its maximum."""
        return sum(min(self.done.get(each.name, 0.0), each.points) for lesson in lessons().values() for each in lesson)

    @property
    def most(self) -> float:
        """The sum of the points of all exercises."""
        return sum(each.points for lesson in lessons().values() for each in lesson)

    def __repr__(self) -> str:
        lines = [f"{self.points:g} of {counted(self.most)}"]
        for notebook, lesson in lessons().items():
            lines.append(_titled(notebook))
            lines += [f"  {_MARKS[state]} {name}: {said}" for name, state, said in self._rows(lesson)]
        return "\n".join(lines)

    def _rows(self, lesson: Any) -> list[tuple[str, str, str]]:
        rows = []
        for each in lesson:
            points = min(self.done.get(each.name, -1.0), each.points)
            state = "open" if points < 0 else "right" if points == each.points else "tried"
            said = f"{max(points, 0):g} of {counted(each.points)}" + (", not answered" if points < 0 else "")
            rows.append((each.name, state, said))
        return rows

    def _repr_html_(self) -> str:
        # Jupyter keeps images even in an untrusted notebook.
        image = base64.b64encode(self.to_svg().encode()).decode()
        return f'<img alt="{escape(repr(self))}" src="data:image/svg+xml;base64,{image}">'

    def to_svg(self) -> str:
        """Draw a bar for all points, and for each exercise a circle, filled if its answer is right."""
        parts, top = [], 64
        for notebook, lesson in lessons().items():
            rows = self._rows(lesson)
            height = _LINE * len(rows)
            parts.append(f'<text x="16" y="{top + 5}" font-weight="bold">{escape(_titled(notebook))}</text>')
            for place, (name, state, said) in enumerate(rows):
                y = top + _LINE * place
                parts.append(_CIRCLES[state].format(y=y, top=y - 7))
                parts.append(f'<text x="128" y="{y + 5}">{escape(name)}</text>')
                parts.append(f'<text x="{_WIDE - 16}" y="{y + 5}" text-anchor="end">{escape(said)}</text>')
            top += height + 10
        share = self.points / self.most if self.most else 0.0
        said = escape(f"{self.points:g} of {counted(self.most)}")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{top}" viewBox="0 0 {_WIDE} {top}" '
            'font-family="sans-serif" font-size="14" fill="#222">'
            f'<rect width="{_WIDE}" height="{top}" rx="6" fill="#fff" stroke="#bbb"/>'
            f'<rect x="16" y="20" width="{_BAR}" height="16" rx="8" fill="#ddd"/>'
            f'<rect x="16" y="20" width="{_BAR * share:.1f}" height="16" rx="8" fill="#1b6e3c"/>'
            f'<text x="{_WIDE - 16}" y="33" text-anchor="end" font-weight="bold">{said}</text>'
            f"{''.join(parts)}</svg>"
        )


def _titled(notebook: str) -> str:
    """Return a lesson's title: the number at the start of its notebook's name, or else that name."""
    number = notebook.partition("-")[0]
    return f"Lesson {int(number)}" if number.isdecimal() else notebook


_WIDE = 600  # px
_LINE = 24  # px
_BAR = 440  # px
_MARKS = {"right": "●", "tried": "◐", "open": "○"}
_CIRCLES = {
    "right": '<circle cx="108" cy="{y}" r="7" fill="#1b6e3c" stroke="#1b6e3c" stroke-width="2"/>',
    "tried": '<circle cx="108" cy="{y}" r="7" fill="none" stroke="#8a5a00" stroke-width="2"/>'
    '<path d="M108,{top} a7,7 0 0 1 0,14 z" fill="#8a5a00"/>',
    "open": '<circle cx="108" cy="{y}" r="7" fill="none" stroke="#777" stroke-width="2"/>',
}
