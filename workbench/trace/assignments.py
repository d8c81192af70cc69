"""What the user's code assigns to its variables."""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
import textwrap
from collections.abc import Collection
from functools import lru_cache
from types import FrameType
from typing import Any, cast

from .source import LONGEST, NAMELESS, joined, source_lines

_CELLS, _ASSIGNED = 50, 200  # cells of a notebook that are read, the last ones; assignments that are kept


def assignments(frame: FrameType, names: Collection[str]) -> tuple[tuple[str, str], ...]:
    """What the file or the notebook of a frame, and its function, assign to variables of these names, in order."""
    code, cells = frame.f_code, cast("Any", frame.f_globals.get("In"))
    if cells.__class__ is list:
        texts = [re.sub("(?m)^[%!].*", "", str(cell)) for cell in cells[-_CELLS:]]
    else:
        texts = [] if code.co_filename in NAMELESS else ["".join(linecache.getlines(code.co_filename))]
    found = [pair for text in texts for pair in _assigned(text, False)]
    if code.co_name != "<module>":
        with contextlib.suppress(OSError, TypeError):
            found += _assigned(textwrap.dedent("".join(source_lines(code)[0])), True)
    return tuple(dict.fromkeys([pair for pair in found if pair[0] in names]))[-_ASSIGNED:]


@lru_cache(1_000)
def _assigned(text: str, in_function: bool) -> tuple[tuple[str, str], ...]:
    """The variables that a piece of source assigns outside of functions, or its function does, each with the text."""
    try:
        todo: list[ast.AST] = [*ast.parse(text).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    if in_function:
        todo = [*getattr(todo[0], "body", ())] if todo else []
    todo.reverse()
    found: list[tuple[str, str]] = []
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            told = joined(ast.get_source_segment(text, node.value) or "")
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if 0 < len(told) <= LONGEST:
                found += [(each.id, told) for each in targets if isinstance(each, ast.Name)]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            todo += [*ast.iter_child_nodes(node)][::-1]
    return tuple(found)


@lru_cache(10_000)
def taken_of(text: str, variable: str) -> str:
    """The one operand of an expression that is a part or another shape of a variable: `x[t]` in `x[t] @ w`; or ""."""
    try:
        whole = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    operands: list[ast.expr] = []
    if isinstance(whole, ast.BinOp):
        operands = [whole.left, whole.right]
    elif isinstance(whole, ast.Call):
        operands = [*whole.args, *([whole.func.value] if isinstance(whole.func, ast.Attribute) else [])]
    found: list[str] = []
    for operand in operands:
        inner: ast.expr = operand
        while isinstance(inner, ast.Subscript | ast.Attribute | ast.Call):
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
            if ast.get_source_segment(text, inner) == variable:
                found.append(ast.get_source_segment(text, operand) or "")
                break
    return found[0] if len(found) == 1 else ""
