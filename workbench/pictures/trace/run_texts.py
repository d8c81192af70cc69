"""The text of code that no file has: what `exec` ran, and what IPython's `%time` and `%timeit` compile."""

from __future__ import annotations
import __future__

import linecache
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from .source import NAMELESS, keep_text, parsed
from .variables import local_variables

_FRAMES = 12  # frames around a code that are asked for its text
_LONGEST = 200_000  # characters of a text that is compiled to be compared
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in ("annotations", "barry_as_FLUFL"))

_MAGICS = ("ExecutionMagics.time", "ExecutionMagics.timeit")  # which compile what is written under these names:
_TIMED = ("<timed exec>", "<timed eval>", "<magic-timeit>")

Place = tuple[str, int]  # a file, or the name that a text is kept under; and what to add to a line of the code

_found: dict[tuple[str, CodeType], Place] = {}  # codes of one text are equal to those of another only in equal lines
_MOST = 5_000


def place_of(code: CodeType, around: Iterable[FrameType]) -> Place:
    """Return where the source of a code is; the frames around it, inner ones first, hold text that isn't in a file."""
    file = code.co_filename
    if (found := _found.get((file, code))) is not None:
        return found
    if file not in NAMELESS and linecache.getlines(file):
        return file, 0
    with suppress(Exception):  # what the variables of others hold may do anything; without a text all goes on
        if (found := _find(code, [*islice(around, _FRAMES)])) is not None:
            return found
    return file, 0


def _find(code: CodeType, around: Sequence[FrameType]) -> Place | None:
    if code.co_filename in _TIMED:
        for at, each in enumerate(around):
            if each.f_code.co_qualname in _MAGICS:
                return _of_magic(code, each, around[at + 1 :])
    for each in around:
        for text in _texts_in(each, code):
            for mode in ("exec", "eval"):
                if any(code == one for one in _codes_of(text, mode, code)):
                    return _keep(code, text, code.co_filename, 0)
    return None


def _of_magic(code: CodeType, magic: FrameType, around: Iterable[FrameType]) -> Place | None:
    """Return the lines of a cell or a line that an IPython magic compiled, at their place in the cell."""
    held = dict(local_variables(magic))
    text, first = held.get("cell"), 1  # behind the line of the magic itself
    if not text:
        text, first = held.get("expr") or held.get("stmt"), 0
    cell = next((each for each in around if "run_line_magic" in each.f_code.co_names or _is_cell(each)), None)
    if not isinstance(text, str) or cell is None:
        return None
    return _keep(code, text, cell.f_code.co_filename, cell.f_lineno - 1 + first)


def _is_cell(frame: FrameType) -> bool:
    return "run_cell_magic" in frame.f_code.co_names and "In" in frame.f_globals


def _texts_in(frame: FrameType, code: CodeType) -> Iterator[str]:
    """Yield the texts in a frame's variables and its code that could be the source of a code."""
    is_module = frame.f_code.co_name == "<module>"
    values = [] if is_module else [value for _, value in local_variables(frame)]
    values += [frame.f_globals.get(name) for name in {*frame.f_code.co_names}]
    needed = [*code.co_names, *code.co_varnames[: code.co_argcount]]
    for text in dict.fromkeys([each for each in (*values, *frame.f_code.co_consts) if type(each) is str]):
        if len(text) <= _LONGEST and all(name in text for name in needed):
            yield from dict.fromkeys((text, textwrap.dedent(text), text.strip()))


def _codes_of(text: str, mode: str, code: CodeType) -> Iterator[CodeType]:
    """Yield the codes that a text compiles to, including inner ones."""
    if parsed(text) is None:  # which warns of nothing, as compiling may
        return
    flags = code.co_flags & _FUTURE
    todo: list[Any] = []
    with suppress(SyntaxError, ValueError):
        todo = [compile(text, code.co_filename, mode, flags, dont_inherit=True)]
    while todo:
        one = todo.pop()
        yield one
        todo += [each for each in one.co_consts if isinstance(each, CodeType)]


def _keep(code: CodeType, text: str, file: str, shift: int) -> Place:
    """Keep a text; its codes, which may be called when nothing around holds it, are known from now on."""
    if len(_found) >= _MOST:
        _found.clear()
    place = keep_text(file, "\n" * shift + text), shift
    _found[code.co_filename, code] = place
    for mode in ("exec", "eval"):
        for one in _codes_of(text, mode, code):
            _found[code.co_filename, one] = place
    return place
