"""Reading what was recorded of the user's own code: inside a Function's methods, and of hooks."""

from __future__ import annotations

import ntpath
import textwrap
from types import CodeType
from typing import Any

from .caller import line_text, source_lines
from .facts import Code, SourceLine
from .hooks import Hook, Hooked, HookRan, HooksFound
from .methods import LineReached, MethodCalled, MethodEnded, Variable
from .values import Value, read

METHODS = ("forward", "setup_context", "backward", "vjp", "jvp")

Held = tuple[str, Any, str]  # a variable's name, the copy of an array, or a text


class InsideReader:
    """The part of the reader that makes records of calls, lines and hooks."""

    def _called(
        self, call: int, function: str, method: str, ctx: int | None, node: int | None, code: CodeType
    ) -> MethodCalled:
        try:
            lines, first = source_lines(code)
        except OSError:  # typed at a prompt, or made by exec
            lines, first = [], code.co_firstlineno
        return MethodCalled(
            call=self._id(call, "m"),
            function=function,
            method=method,
            ctx=None if ctx is None else self._id(ctx, "c"),
            node=None if node is None else self._place(node),
            file=file_of(code.co_filename),
            first=first,
            code=Code(method, textwrap.dedent("".join(lines)).rstrip()),
        )

    def _reached(
        self, call: int, line: int, variables: tuple[Held, ...], gone: tuple[str, ...], ctx: tuple[Held, ...] | None
    ) -> LineReached:
        return LineReached(self._id(call, "m"), line, _variables(variables), gone, _ctx(ctx))

    def _ended(
        self,
        call: int,
        variables: tuple[Held, ...],
        ctx: tuple[Held, ...] | None,
        returned: tuple[Held, ...],
        error: str,
    ) -> MethodEnded:
        return MethodEnded(self._id(call, "m"), _variables(variables), _ctx(ctx), _variables(returned), error)

    def _hooks(self, places: tuple[Any, ...]) -> HooksFound:
        return HooksFound(tuple(Hooked(self._ids[at], tuple(hook(*each) for each in hooks)) for at, hooks in places))

    def _hook(self, task: int, node: int, which: Any, before: tuple[Any, ...], after: tuple[Any, ...]) -> HookRan:
        return HookRan(self._ids[task], self._ids[node], hook(*which), _values(before), _values(after))


def hook(kind: str, output_nr: int, name: str, line: tuple[str, int] | None) -> Hook:
    """A hook, with the text of the line it is defined in."""
    return Hook(kind, output_nr, name, source(line))


def source(line: tuple[str, int] | None) -> SourceLine | None:
    """A line of code, by the name of the file it is in."""
    if line is None:
        return None
    path, number = line
    text = line_text(path, number).strip()
    return SourceLine(file_of(path), number, text)


def file_of(path: str) -> str:
    """A file by its base name; a notebook's cells are all called `cell`."""
    cell = "ipykernel_" in path or path.startswith("<ipython-input")
    return "cell" if cell else ntpath.basename(path)


def _variables(held: tuple[Held, ...]) -> tuple[Variable, ...]:
    return tuple([Variable(name, None if copy is None else read(copy), text) for name, copy, text in held])


def _ctx(held: tuple[Held, ...] | None) -> tuple[Variable, ...] | None:
    return None if held is None else _variables(held)


def _values(copies: tuple[Any, ...]) -> tuple[Value | None, ...]:
    return tuple([None if copy is None else read(copy) for copy in copies])
