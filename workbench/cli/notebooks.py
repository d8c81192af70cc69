"""Notebooks in files: how they are read, what lies beside them, and how a copy of one is made."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import nbformat
from nbformat import NotebookNode

from workbench.classroom.handout import MarkerError
from workbench.classroom.judging import Exercise
from workbench.classroom.registry import SUFFIX, file_of, registered
from workbench.classroom.sealing import NotSealed, sealed
from workbench.cli import errors
from workbench.cli.errors import CommandError


def read(path: Path) -> NotebookNode:
    """The notebook in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CommandError(errors.NO_NOTEBOOK.format(path)) from None
    except UnicodeDecodeError:
        raise CommandError(errors.NOT_A_NOTEBOOK.format(path)) from None
    except OSError as error:
        raise CommandError(errors.NOT_READ.format(path, error.strerror)) from None
    try:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
    except Exception:  # nbformat raises its own errors, but also AttributeError and KeyError on odd JSON
        raise CommandError(errors.NOT_A_NOTEBOOK.format(path)) from None
    return notebook


def copied(make: Callable[[NotebookNode], NotebookNode], notebook: NotebookNode, path: Path) -> NotebookNode:
    """What `make` makes of a notebook, read from `path`; markers of an exercise that do not fit are one sentence."""
    try:
        return make(notebook)
    except MarkerError as error:
        raise CommandError(errors.MARKERS.format(path, error)) from None


def text_of(file: Path) -> str:
    """The text of a file of exercises, which goes into copies and pages as UTF-8."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CommandError(errors.NOT_READ.format(file, "it is not in UTF-8")) from None


def exercises_of(path: Path) -> Mapping[str, Exercise]:
    """The exercises that the file beside a notebook registers, by name: none without such a file."""
    file = file_of(path)
    with _told(file):
        return registered(file) if file.exists() and text_of(file) else {}


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """Tell in a sentence what is wrong with a file of exercises that runs here."""
    try:
        yield
    except CommandError:
        raise
    except NotSealed as error:
        raise CommandError(errors.NOT_SEALED.format(file, error)) from None
    except Exception as error:  # whatever an author can write
        why = f"{type(error).__name__}: {error}".rstrip(".")
        raise CommandError(errors.NOT_READ.format(file, why)) from None


def for_students(file: Path, is_tested: bool = False) -> str:
    """The text of a file of exercises as it is handed out: without solutions."""
    return _sealed(file, file.stat().st_mtime_ns, is_tested)


@cache
def _sealed(file: Path, changed: int, is_tested: bool) -> str:
    text = text_of(file)
    with _told(file):
        return sealed(text, file, is_tested)


@contextmanager
def place_to_run(path: Path) -> Iterator[str]:
    """A folder to run a notebook in, with the exercises beside it: what it writes does not stay in its own folder."""
    place = mkdtemp()
    try:
        for file in path.parent.glob(f"*{SUFFIX}"):
            shutil.copy(file, place)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)  # Windows keeps a folder in which a kernel is still ending


@contextmanager
def place_to_grade(file: Path) -> Iterator[tuple[str, Path]]:
    """A folder to run a student's notebook in, and a file that judges it, which is elsewhere: neither has solutions.

    An answer that reads its exercise cannot find the right one there. A file that cannot be sealed judges as it is.
    """
    try:
        text = for_students(file)
    except CommandError:
        text = text_of(file)
    place, kept = mkdtemp(), mkdtemp()
    try:
        for folder in (place, kept):
            Path(folder, file.name).write_text(text, encoding="utf-8")
        yield place, Path(kept, file.name)
    finally:
        for folder in (place, kept):
            shutil.rmtree(folder, ignore_errors=True)
