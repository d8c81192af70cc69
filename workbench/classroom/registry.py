"""The exercises next to a notebook: how a file registers them, and how one is found by its name."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import did_you_mean
from .judging import Exercise, Misconception
from .probes import Probe
from .sealed import Outcomes, Sealed

SUFFIX = ".exercises.py"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")  # how an exercise is called: a word without a hyphen is a prediction
NAME_KIND = "Expected the name of an exercise, words joined by hyphens such as 'cube-backward', got {!r}."
NAME_TAKEN = "The exercise {!r} is registered twice."
NO_EXERCISE = "No exercise named {!r}.{}"
NO_FILE = f" There's no NAME{SUFFIX} file next to the notebook, in {{}}."
OTHERS = " Exercises next to the notebook: {} (in {})."
_LISTED = 10  # names

# The registry in use: that of this session's cells, or of the file that is being read.
_cells: dict[str, Exercise] = {}
_registering = [_cells]


def exercise(
    name: str,
    asks: str,
    solution: Any,
    probes: Mapping[str, Probe] | None = None,
    misconceptions: Sequence[Misconception] = (),
    points: float = 1,
    hints: Mapping[str, str] | None = None,
) -> None:
    """Register an exercise, so that `check(name, answer)` judges answers to it: see `help(workbench.classroom)`.

    Args:
        name: The name of the exercise: words joined by hyphens.
        asks: The question, as a sentence.
        solution: The right answer: a value, a function or a class.
        probes: A dict that maps names to probes. A probe is a function that takes an answer, runs it and returns the
            result, which is compared with the result for the solution. Without probes, the answer itself is compared.
        misconceptions: Wrong answers, each with the hint that it triggers.
        points: The maximum number of points.
        hints: A dict that maps names of probes to hints. A second wrong answer gets the hint for what is wrong in it;
            so does a first one about which there is nothing else to say.

    Raises:
        ValueError: if the name has another form, or is already registered in this file.
    """
    if not NAME.fullmatch(name):
        raise ValueError(NAME_KIND.format(name))
    found = _registering[-1]
    if name in found and found is not _cells:  # a cell may run again
        raise ValueError(NAME_TAKEN.format(name))
    kind = Sealed if isinstance(solution, Outcomes) else Exercise
    found[name] = kind(name, asks, solution, probes or {}, tuple(misconceptions), points, hints or {})


def file_of(notebook: Path) -> Path:
    """Return the exercise file of a notebook."""
    return notebook.with_name(f"{notebook.stem}{SUFFIX}")


def registered(path: Path) -> Mapping[str, Exercise]:
    """Return the exercises that a file registers, by name and in its order; a changed file is read again."""
    return _read(path.resolve(), path.stat().st_mtime_ns)


@cache
def _read(path: Path, changed: int) -> Mapping[str, Exercise]:
    return run(path.read_bytes(), path)[0]


def run(text: bytes | str, path: Path) -> tuple[dict[str, Exercise], dict[str, Any]]:
    """Run the text of an exercise file and return its exercises by name, and all names that it defines."""
    found: dict[str, Exercise] = {}
    names: dict[str, Any] = {"__name__": path.name.removesuffix(".py"), "__file__": str(path)}
    _registering.append(found)
    sys.path.insert(0, str(path.parent))  # it may import a module beside it, from wherever it is read
    # Neither the file nor a module that it imports leaves a __pycache__ beside the notebooks.
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), names)
    finally:
        sys.dont_write_bytecode = writes_none
        _registering.pop()
        sys.path.remove(str(path.parent))
    return found, names


def exercise_files(folder: Path = Path()) -> list[Path]:
    """Return the exercise files of a folder, by name."""
    found = sorted(folder.glob(f"*{SUFFIX}"))
    if sys.platform == "emscripten":  # a site of `workbench lite` keeps its own out of the reader's folder
        names = {path.name for path in found}
        found += [path for path in sorted(Path.home().glob(f"*{SUFFIX}")) if path.name not in names]
    return found


def lessons(folder: Path = Path()) -> dict[str, tuple[Exercise, ...]]:
    """Return the exercises of each notebook in a folder, by the notebook's name."""
    return {path.name.removesuffix(SUFFIX): tuple(registered(path).values()) for path in exercise_files(folder)}


def registered_files(folder: Path = Path()) -> dict[str, Mapping[str, Exercise]]:
    """Return the exercises of each exercise file in a folder, by the notebook's name; of a damaged file, none."""
    found: dict[str, Mapping[str, Exercise]] = {}
    for path in exercise_files(folder):
        found[path.name.removesuffix(SUFFIX)] = {}
        with suppress(Exception, SystemExit):  # whatever someone has written into it
            found[path.name.removesuffix(SUFFIX)] = registered(path)
    return found


def exercises(folder: Path = Path()) -> dict[str, Exercise]:
    """Return all exercises in a folder by name."""
    return {each.name: each for lesson in lessons(folder).values() for each in lesson}


def known(name: str) -> Exercise | None:
    """Return the exercise of this name if a cell or a file next to the notebook registers it, else None."""
    if name in _cells:
        return _cells[name]
    home = home_of(name)
    return None if home is None else registered(home)[name]


def home_of(name: str) -> Path | None:
    """Return the file next to the notebook that registers the exercise of this name, if there is one."""
    # Files that contain the name come first: usually no other file is read.
    files = sorted(exercise_files(), key=lambda path: name.encode() not in path.read_bytes())
    return next((path for path in files if name in registered(path)), None)


def find(name: str) -> Exercise:
    """Return the exercise of this name.

    Raises:
        ValueError: if there is none; the message suggests the nearest names or lists those that exist.
    """
    found = known(name)
    if found is None:
        raise ValueError(NO_EXERCISE.format(name, _what_there_is(name)))
    return found


def _what_there_is(name: str) -> str:
    names = [*_cells, *exercises()]
    if near := did_you_mean(name, names):
        return near
    if not names:
        return NO_FILE.format(Path.cwd())
    some = [repr(each) for each in names[:_LISTED]] + ["…"] * (len(names) > _LISTED)
    files = [path.name for path in exercise_files()]
    return OTHERS.format(", ".join(some), files[0] if len(files) == 1 else f"{len(files)} files")
