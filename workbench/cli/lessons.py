"""Where the lessons lie, and how a reader gets a copy of their own."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import workbench
from workbench.cli.command import CommandError

PACKAGE = Path(workbench.__file__).parent
SHIPPED = PACKAGE / "lessons"
COPIED_TO = "workbench-lessons"


def checkout() -> Path | None:
    """The checkout this package runs from, or that the current folder is, if any."""
    return next((place for place in (PACKAGE.parent, Path.cwd()) if _is_checkout(place)), None)


def _is_checkout(place: Path) -> bool:
    if not (place / "notebooks").is_dir():
        return False
    try:
        project = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return project.get("project", {}).get("name") == "autograd-workbench"


def prepare(folder: Path | None) -> Path:
    """The folder to work in: a checkout's own notebooks, else `folder` with the missing lessons copied in."""
    home = checkout()
    if home is not None and (folder is None or folder.resolve() == (home / "notebooks").resolve()):
        return home / "notebooks"
    place = Path(COPIED_TO) if folder is None else folder
    try:
        copied = _copy(SHIPPED if home is None else home / "notebooks", place)
    except FileExistsError:
        raise CommandError(f"{place} is a file: give a folder for the lessons.") from None
    except OSError as error:
        raise CommandError(f"cannot write the lessons into {place}: {error.strerror}.") from None
    if not os.access(place, os.W_OK):
        raise CommandError(f"cannot write into {place}: choose a folder of your own for the lessons.")
    if copied:
        print(f"Copied {copied} lesson{'s' * (copied > 1)} into {place}.")
    return place


def _copy(source: Path, target: Path) -> int:
    """Copy the lessons that `target` does not have yet, and say how many."""
    target.mkdir(parents=True, exist_ok=True)
    copied = 0
    for lesson in sorted(source.glob("*.ipynb")):
        text = lesson.read_bytes()
        try:
            # "x" creates the file or fails: a reader's own work is never opened for writing.
            file = open(target / lesson.name, "xb")
        except FileExistsError:
            continue
        try:
            with file:
                file.write(text)
        except BaseException:
            # Half a lesson would be kept for ever, as if it were the reader's.
            Path(file.name).unlink()
            raise
        copied += 1
    return copied


def first(folder: Path) -> str | None:
    """The name of the first notebook in `folder`, in order of name."""
    return min((notebook.name for notebook in folder.glob("*.ipynb")), default=None)
