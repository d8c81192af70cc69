"""Notebooks in files: how they are read, and how a copy of one is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from workbench.classroom.handout import MarkerError
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
