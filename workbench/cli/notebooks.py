"""Notebooks in files: how they are read, what lies beside them, and how a copy of one is made."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    """The text of a file beside a notebook, which goes into copies and pages as UTF-8."""
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


def modules_of(path: Path, notebook: NotebookNode) -> list[Path]:
    """The Python modules beside a notebook, read from `path`, that it imports, and those that they import."""
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
    """What goes along with a notebook: the file of its exercises, and the modules that it imports."""
    return [*[file for file in [file_of(path)] if file.is_file()], *modules_of(path, read(path))]


_MAGIC = re.compile(r"^[ \t]*[%!].*", re.M)  # what is no Python


def _imported(text: str) -> set[str]:
    """The modules that a text imports, by the first part of their names; none if it is no Python."""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError):
        return set()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.partition(".")[0] for name in names}


def for_students(file: Path, is_tested: bool = False) -> str:
    """The text of a file beside a lesson as it is handed out: of one of exercises without the solutions."""
    return _sealed(file, file.stat().st_mtime_ns, is_tested) if file.name.endswith(SUFFIX) else text_of(file)


@cache
def _sealed(file: Path, changed: int, is_tested: bool) -> str:
    text = text_of(file)
    with _told(file):
        return sealed(text, file, is_tested)


@contextmanager
def place_to_run(path: Path) -> Iterator[str]:
    """A folder to run a notebook in, with what lies beside it in Python: what it writes does not stay in its own."""
    place = mkdtemp()
    try:
        for file in path.parent.glob("*.py"):
            shutil.copy(file, place)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)  # Windows keeps a folder in which a kernel is still ending


@contextmanager
def place_to_grade(file: Path, modules: Iterable[Path] = ()) -> Iterator[tuple[str, Path]]:
    """A folder to run a student's notebook in, and a file that judges it, which is elsewhere: neither has solutions.

    Both have the modules beside them that they may import.

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
            for module in modules:
                shutil.copy(module, folder)
        yield place, Path(kept, file.name)
    finally:
        for folder in (place, kept):
            shutil.rmtree(folder, ignore_errors=True)
