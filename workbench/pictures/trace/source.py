"""The user's code: which files it is in, and the text of its lines."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import linecache
import ntpath
import os
import re
import tokenize
import warnings
from functools import cache
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

from .facts import SourceLine

# The files of this package, and what the code it generates is said to come from.
OWN = (str(Path(os.path.abspath(__file__)).parents[2]) + os.sep, "<workbench ")
LAYERS = os.path.join(OWN[0], "nn", "modules") + os.sep
# Those of the standard library: of it the user's code is called, a `with` block or a repr goes through it.
_LIBRARY = (os.path.dirname(os.path.abspath(contextlib.__file__)) + os.sep, "<frozen ")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")  # may lie in the library's folder
# What calls a widget's handlers: a button that is pressed is no part of the program.
_HOSTS = frozenset(
    "IPython anywidget comm ipykernel ipykernel_launcher.py ipywidgets jupyter_client psygnal tornado "
    "traitlets zmq".split()
)

# What Python calls the text of any exec() or `python -c`: a source of that name may be another one's.
NAMELESS = ("<string>", "<stdin>")

Line = tuple[str, int] | None  # a file, and the number of a line

_engines: tuple[str, ...] = ()  # the folders of other engines that are recorded


def leave_out(folder: str) -> None:
    """Treat code in this folder as not the user's from now on."""
    global _engines
    if folder not in _engines:
        _engines += (folder,)
        is_users.cache_clear()


def is_engines(file: str) -> bool:
    """Return True if code is the workbench's own or that of another recorded engine."""
    return file.startswith(OWN) or file.startswith(_engines)


@cache
def is_users(file: str) -> bool:
    """Return True if code belongs to neither the workbench, the standard library, Jupyter nor a recorded engine."""
    installed = next((file.partition(folder)[2] for folder in _INSTALLED if folder in file), None)
    library = file.startswith(_LIBRARY) if installed is None else installed.partition(os.sep)[0] in _HOSTS
    return not library and not is_engines(file)


_numbers = count()
_KEPT = "\0"  # what a name of a text that is kept has between the file and a number
_texts: dict[str, list[str]] = {}  # by such a name the lines
_MOST_TEXTS = 1_000


def keep_text(file: str, text: str) -> str:
    """Keep the text of a code that no file has; return a name for it, which is shown as that of the file."""
    lines = text.splitlines(keepends=True)
    known = next((name for name, kept in _texts.items() if kept == lines and name.startswith(file + _KEPT)), None)
    if known is None:
        if len(_texts) >= _MOST_TEXTS:
            del _texts[next(iter(_texts))]
        known = f"{file}{_KEPT}{next(_numbers)}"
        _texts[known] = lines
    return known


def lines_of(file: str) -> list[str]:
    """Return all lines of a source; none if it is unknown."""
    if _KEPT in file:
        return _texts.get(file, [])
    return [] if file in NAMELESS else linecache.getlines(file)


def line_text(file: str, number: int) -> str:
    """Return a line of the source; empty if it is unknown."""
    lines = lines_of(file)
    return lines[number - 1] if 1 <= number <= len(lines) else ""


def text_between(file: str, begin: tuple[int, int], end: tuple[int, int]) -> str:
    """Return the source from one line and column to another; columns count bytes. Empty if it is unknown."""
    lines = [line_text(file, number).encode() for number in range(begin[0], end[0] + 1)]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][: end[1]]
    lines[0] = lines[0][begin[1] :]
    return "".join([line.decode(errors="replace") for line in lines])


# By file its lines, which are others once the file has changed, and what they say.
_trees: dict[str, tuple[list[str], ast.Module | None]] = {}
_TREES = 100  # files that are kept
_parsing = RLock()


def tree_of(file: str) -> ast.Module | None:
    """Return the syntax tree of a file or a cell; None if its source is unknown."""
    lines = lines_of(file)
    known = _trees.get(file)
    if known is None or known[0] is not lines:
        if len(_trees) >= _TREES:
            _trees.clear()
        known = _trees[file] = lines, parsed("".join(lines)) if lines else None
    return known[1]


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a piece of source, if it is Python. Python has already warned of oddities in it."""
    with _parsing, warnings.catch_warnings():  # what it changes is of all threads
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def source_lines(code: Any) -> tuple[list[str], int]:
    """Return the lines of a function or its code, and the number of the first.

    Errors: OSError where they are not known, TypeError for what is not written in Python.
    """
    if inspect.getfile(inspect.unwrap(code) if callable(code) else code) in NAMELESS:
        raise OSError("the source is not known")
    try:
        return inspect.getsourcelines(code)
    except (SyntaxError, tokenize.TokenError) as error:  # another file of that name: a relative one, looked up
        raise OSError("this file holds something else") from error


def source(line: Line) -> SourceLine | None:
    """Return a line of code, by the name of its file."""
    if line is None:
        return None
    path, number = line
    text = line_text(path, number).strip()
    return SourceLine(file_of(path), number, text)


def file_of(path: str) -> str:
    """Return a file's base name; all cells of a notebook are called `cell`."""
    path = path.partition(_KEPT)[0]
    cell = "ipykernel_" in path or path.startswith("<ipython-input")
    return "cell" if cell else ntpath.basename(path)


def joined(text: str) -> str:
    """Return several lines as one, without comments or line breaks between brackets."""
    one = " ".join(without_comment(text).split())
    return re.sub(r",? ([)\]}])", r"\1", re.sub(r"([(\[{]) ", r"\1", one))


def without_comment(text: str) -> str:
    """Return a piece of source without its comments."""
    if "#" not in text:
        return text
    lines = text.splitlines(keepends=True)
    try:
        # In brackets a piece of any statement is a whole.
        for token in tokenize.generate_tokens(io.StringIO(f"(\n{text}\n)").readline):
            if token.type == tokenize.COMMENT:
                row = token.start[0] - 2
                lines[row] = lines[row][: token.start[1]] + "\n" * lines[row].endswith("\n")
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass
    return "".join(lines)


LONGEST = 300  # characters of an expression that are kept


def shortened(text: str) -> str:
    """Return a text short enough to read: its beginning and its end."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 4 :]}"
