"""The loops of the user's code: those that a place in the source is in, and the variables that they set."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, cast

from .source import joined, shortened, text_between

Position = tuple[int | None, int | None, int | None, int | None]  # first and last line, first column, the one behind
_For = ast.For | ast.AsyncFor
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_Block = ast.stmt | ast.ExceptHandler | ast.match_case
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
# A loop: a statement, or one `for` of a comprehension, with all of the comprehension.
LoopNode = tuple[ast.AST, ast.AST]
PathStep = tuple[ast.AST, str | int, ast.AST]  # a node, one of its fields, and a node in it

_GROWS = re.compile(r" in (range|enumerate)\([^-]*$")  # a loop that counts: its first variable only grows


class Loop:
    """A loop: its head in the source, the variables of its `for`, and those of them that nothing else in it sets.

    It is a statement, or else a `for` of a comprehension.
    """

    __slots__ = ("title", "names", "variables", "sets", "statement")

    def __init__(self, title: str = "", names: Sequence[str] = (), whole: ast.AST | None = None) -> None:
        self.title, self.names = title, names
        stored = Counter(_stored(whole)) if whole is not None else Counter[str]()
        self.sets = frozenset(stored)
        self.variables = tuple([name for name in names if stored[name] == 1])
        self.statement = isinstance(whole, ast.stmt)

    def begins_anew(self, before: Mapping[str, int], now: Mapping[str, int]) -> bool:
        """Return True if its variable only grows, and is less than before."""
        name = self.variables[0]
        was, count = before.get(name), now.get(name)
        return was is not None and count is not None and count < was and _GROWS.search(self.title) is not None


def loop_of(node: LoopNode, file: str) -> Loop:
    """Return a loop of the source."""
    loop, whole = node
    return Loop(_head(loop, file), for_variables(loop), whole)


def for_variables(loop: ast.AST) -> tuple[str, ...]:
    """Return the variables that a `for` loop sets."""
    return tuple(_stored(loop.target)) if isinstance(loop, _For | ast.comprehension) else ()


def _stored(node: ast.AST) -> Iterator[str]:
    """Yield the variables that source code sets, each as often as it does, except in nested functions."""
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        inner = [child for child in ast.iter_child_nodes(each) if not isinstance(child, _Function | ast.GeneratorExp)]
        todo += inner[::-1]


def _head(loop: ast.AST, file: str) -> str:
    """Return the head of a loop in the source, without its colon: `for x in xs`."""
    if isinstance(loop, ast.While):
        begin, before, last = (loop.lineno, loop.col_offset), (loop.lineno, loop.col_offset + 5), loop.test
    elif isinstance(loop, _For | ast.comprehension):
        target, last = loop.target, loop.iter
        first = loop if isinstance(loop, _For) else target
        begin, before = (first.lineno, first.col_offset), (target.end_lineno or 0, target.end_col_offset or 0)
    else:
        return ""
    text = text_between(file, begin, (last.end_lineno or 0, last.end_col_offset or 0))
    # A node in brackets begins behind them.
    opened = re.sub("#.*", "", text_between(file, before, (last.lineno, last.col_offset))).count("(")
    return shortened(("" if isinstance(loop, ast.stmt) else "for ") + joined(text + ")" * opened))


class CodePlace(NamedTuple):
    """Where an instruction is in the source, within its function."""

    offset: int  # of the instruction
    loops: tuple[Loop, ...] = ()  # the outermost first
    asks: Loop | None = None  # the one whose next item it gets, or whose iterator
    steps: tuple[PathStep, ...] = ()  # on the way to it from the function


def find(tree: ast.AST, position: Position, is_apart: bool) -> tuple[list[LoopNode], list[PathStep]]:
    """Return the loops around a place, and the path to the place, both within its function.

    `is_apart` says whether a list comprehension is a function of its own, as it is before Python 3.12.
    """
    node, loops, steps = tree, list[LoopNode](), list[PathStep]()
    while (step := next((each for each in _steps(node, position[0]) if _holds(each[2], position)), None)) is not None:
        _, field, child = step
        if isinstance(node, _Comprehension):
            # What it goes through first is computed by the function around.
            if field and (is_apart or isinstance(node, ast.GeneratorExp)):
                loops, steps = [], []
            loops += [(each, node) for each in node.generators[: int(field)]]
        elif isinstance(node, _Function) and field == "body":
            loops, steps = [], []
        elif isinstance(node, _For | ast.While) and field in ("target", "test", "body"):
            loops.append((node, node))
        steps.append(step)
        node = child
    return loops, steps


def _steps(node: ast.AST, line: int | None) -> Iterator[PathStep]:
    """Yield the parts of a node that have a position; of several statements, those around a line.

    Those of a comprehension come with the number of the `for` that they are in.
    """
    if isinstance(node, _Comprehension):
        for count, each in enumerate(node.generators):
            yield node, count, each.iter
            yield from [(node, count + 1, part) for part in (each.target, *each.ifs)]
        results = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        yield from [(node, len(node.generators), part) for part in results]
        return
    for field, value in ast.iter_fields(node):
        children = cast("list[Any]", value) if isinstance(value, list) else [value]
        if children and isinstance(children[0], ast.stmt) and line is not None:
            first, last = [cut(children, line, key=_line) for cut in (bisect_left, bisect_right)]
            children = children[max(0, first - 1) : last + 1]  # the one behind may have decorators
        for child in children:
            if hasattr(child, "lineno") or isinstance(child, ast.match_case):
                yield node, field, child
            elif isinstance(child, ast.AST):
                yield from [(node, field, part) for _, _, part in _steps(child, line)]


_line = attrgetter("lineno")


def _holds(node: Any, position: Any) -> bool:
    """Return True if a node is around a place, of which perhaps only the line is known."""
    begin: Any = node
    end: Any = node
    if isinstance(node, ast.match_case):
        begin, end = node.pattern, node.body[-1]
    elif decorators := getattr(node, "decorator_list", None):
        begin = decorators[0]
    line, last, column, after = position
    if column is None:
        return isinstance(node, _Block) and begin.lineno <= line <= end.end_lineno
    return (begin.lineno, begin.col_offset) <= (line, column) and (last, after) <= (end.end_lineno, end.end_col_offset)


def follows(here: CodePlace, there: CodePlace) -> bool:
    """Return True if control can flow between two places without another iteration: not between two branches.

    Statements run in source order, everything else in the order of the instructions.
    """
    for at, ((node, field, one), (_, other_field, other)) in enumerate(zip(here.steps, there.steps, strict=False)):
        if field in _BLOCKS and other_field in _BLOCKS:
            if field != other_field:
                return other_field == "finalbody" or (field == "body" and not isinstance(node, ast.If | ast.IfExp))
            inside = here.steps[at + 1 :]
            if one is not other and isinstance(one, ast.stmt) and isinstance(other, ast.stmt):
                return (one.lineno, one.col_offset) < (other.lineno, other.col_offset) and _goes_on(inside)
            if one is not other and inside and inside[0][1] == "body":  # of two cases, or handlers
                return False
        if one is not other:
            break
    return here.offset < there.offset


def _goes_on(steps: tuple[PathStep, ...]) -> bool:
    """Return True if the flow goes on after the outermost of some statements: if all of its blocks have an end.

    The contents of a `try` or a `with` may fail there.
    """
    leaves: ast.AST | None = None
    for node, field, _ in reversed(steps):
        block = getattr(node, str(field), None)
        if isinstance(block, list) and isinstance(block[-1], ast.Return | ast.Raise | ast.Break | ast.Continue):
            leaves = block[-1]
        if isinstance(node, _For | ast.While) and isinstance(leaves, ast.Break | ast.Continue):
            leaves = None
        elif isinstance(node, ast.Try | ast.TryStar) and (field == "body" or node.finalbody):
            leaves = None
        elif isinstance(node, ast.With | ast.AsyncWith) and isinstance(leaves, ast.Raise):
            leaves = None
    return leaves is None
