"""Notebooks in files: reading them, finding the files next to them, and making copies."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from traceback import extract_tb

import nbformat
from nbformat import NotebookNode

from workbench.classroom.handout import MarkerError
from workbench.classroom.judging import Exercise
from workbench.classroom.registry import SUFFIX, file_of, registered
from workbench.classroom.sealing import NotSealed, sealed
from workbench.cli import errors
from workbench.cli.errors import CommandError


def read(path: Path) -> NotebookNode:
    """Read a notebook from a file."""
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
    """Return `make(notebook)`, and report exercise markers that don't fit together as an error of the file `path`."""
    try:
        return make(notebook)
    except MarkerError as error:
        raise CommandError(errors.MARKERS.format(path, error)) from None


def text_of(file: Path) -> str:
    """Read the text of a file next to a notebook, which must be UTF-8."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CommandError(errors.NOT_READ.format(file, "it isn't UTF-8")) from None


def exercises_of(path: Path) -> Mapping[str, Exercise]:
    """Return the exercises that the file next to a notebook registers, by name; none without such a file."""
    file = file_of(path)
    with _one_line_errors(file):
        return registered(file) if file.exists() and text_of(file) else {}


@contextmanager
def _one_line_errors(file: Path) -> Iterator[None]:
    """Turn errors of an exercise file that runs here into a one-line message."""
    try:
        yield
    except CommandError:
        raise
    except NotSealed as error:
        raise CommandError(errors.NOT_SEALED.format(file, error)) from None
    except Exception as error:  # whatever an author can write
        why = f"{type(error).__name__}: {error}".rstrip(".")
        own = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).name == file.name]
        why += errors.IN_LINE.format(file.name, own[-1].lineno) if own else ""
        raise CommandError(errors.NOT_READ.format(file, why)) from None


def modules_of(path: Path, notebook: NotebookNode) -> list[Path]:
    """Return the modules next to a notebook, read from `path`, that it imports directly or through other modules."""
    texts = [_MAGIC.sub("", cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    texts += [text_of(file) for file in [file_of(path)] if file.is_file()]
    found: dict[str, Path] = {}
    while texts:
        for name in _imported(texts.pop()):
            file = path.with_name(f"{name}.py")
            if name not in found and file.is_file():
                found[name] = file
                texts.append(text_of(file))
    return [found[name] for name in sorted(found)]


def beside(path: Path) -> list[Path]:
    """Return the files that belong to a notebook: its exercise file and the modules that it imports."""
    return [*[file for file in [file_of(path)] if file.is_file()], *modules_of(path, read(path))]


_MAGIC = re.compile(r"^[ \t]*[%!].*", re.M)  # not Python


def _imported(text: str) -> set[str]:
    """Return the top-level names of the modules that a text imports; none if it isn't valid Python."""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError):
        return set()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.partition(".")[0] for name in names}


def for_students(file: Path, is_tested: bool = False) -> str:
    """Return the released text of a file next to a lesson; an exercise file is released without its solutions."""
    return _sealed(file, file.stat().st_mtime_ns, is_tested) if file.name.endswith(SUFFIX) else text_of(file)


@cache
def _sealed(file: Path, changed: int, is_tested: bool) -> str:
    text = text_of(file)
    with _one_line_errors(file):
        return sealed(text, file, is_tested)


@contextmanager
def place_to_run(path: Path) -> Iterator[str]:
    """Yield a temporary folder to run a notebook in, with the Python files next to it."""
    place = mkdtemp()
    try:
        for file in path.parent.glob("*.py"):
            shutil.copy(file, place)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)  # Windows keeps a folder that a stopping kernel still uses


@contextmanager
def place_to_grade(file: Path, modules: Iterable[Path] = ()) -> Iterator[tuple[str, Path]]:
    """Yield a temporary folder to run a submission in, and an exercise file in another folder that judges it.

    Both are sealed, so an answer that reads its exercise file finds no solution; only a file that can't be sealed is
    used as it is. Both folders contain the modules that they may import.
    """
    try:
        text = for_students(file)
    except CommandError:
        text = text_of(file)
    place, kept = mkdtemp(), mkdtemp()
    try:
        for folder in (place, kept):
            Path(folder, file.name).write_text(text, encoding="utf-8")
            for module in modules:
                shutil.copy(module, folder)
        yield place, Path(kept, file.name)
    finally:
        for folder in (place, kept):
            shutil.rmtree(folder, ignore_errors=True)
