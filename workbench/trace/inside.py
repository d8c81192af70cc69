"""Reading what was recorded inside a Function's methods."""

from __future__ import annotations

import inspect
import ntpath
import textwrap
from types import CodeType
from typing import Any

from .facts import Code
from .methods import LineReached, MethodCalled, MethodEnded, Variable
from .values import read

METHODS = ("forward", "setup_context", "backward", "vjp", "jvp")

Held = tuple[str, Any, str]  # a variable's name, the copy of an array, or a text


class InsideReader:
    """The part of the reader that makes records of calls and lines."""

    def _called(
        self, call: int, function: str, method: str, ctx: int | None, node: int | None, code: CodeType
    ) -> MethodCalled:
        try:
            lines, first = inspect.getsourcelines(code)
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


def file_of(path: str) -> str:
    """A file by its base name; a notebook's cells are all called `cell`."""
    cell = "ipykernel_" in path or path.startswith("<ipython-input")
    return "cell" if cell else ntpath.basename(path)


def _variables(held: tuple[Held, ...]) -> tuple[Variable, ...]:
    return tuple([Variable(name, None if copy is None else read(copy), text) for name, copy, text in held])


def _ctx(held: tuple[Held, ...] | None) -> tuple[Variable, ...] | None:
    return None if held is None else _variables(held)
