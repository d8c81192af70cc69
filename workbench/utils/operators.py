"""The operators that ran between two points and the user's lines that called them: a checkpoint's `debug` log."""

from __future__ import annotations

import weakref
from typing import Any

from ..autograd.state import local
from ..autograd.tensor import Tensor
from ..autograd.warnings import users_frames
from ..events import Event, listeners
from . import refusals


class Operators:
    """Logs the operators that this thread records inside, in the last of its `with` blocks.

    Tensors are numbered in the order in which they are met. One that was written in place keeps its number.
    """

    def __enter__(self) -> None:
        self.lines: list[str] = []
        self._frames: list[str] = []
        self._numbers: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        self._met = 0
        self._last: tuple[Any, ...] | None = None  # not a line yet: a write may follow that makes it an in-place one
        self._modes = local.modes
        note = self._note
        listeners[len(listeners) :] = [note]  # no call, after which an interrupt could come

    def __exit__(self, *exc: object) -> None:
        listeners.remove(self._note)
        self._write_last()

    def traces(self, run: str) -> str:
        """Every line with the frames that led to it."""
        several = enumerate(zip(self.lines, self._frames, strict=True), 1)
        return "".join([refusals.TRACED.format(line, i, len(self.lines), run, at) for i, (line, at) in several])

    def _note(self, event: Event) -> None:
        if local.modes is not self._modes:
            return
        if event[0] == "created":
            self._write_last()
            _, node, args, outputs = event
            frames = [(f.f_code.co_filename, f.f_lineno, f.f_code.co_name) for f in users_frames()]
            self._last = node, _name(node), args, outputs, "".join([refusals.FRAME.format(*frame) for frame in frames])
        elif event[0] == "wrote" and self._last is not None and event[3:] == (self._last[0],):
            node, _, args, _, frames = self._last
            self._last = node, _aten(event[2], node.op), (event[1], *args[1:]), (event[1],), frames

    def _write_last(self) -> None:
        if self._last is None:
            return
        _, name, args, outputs, frames = self._last
        self._last = None
        said = ", ".join([str(self._told(arg)) for arg in args])
        made = [f"{self._told(t)}: {t._array.dtype.kind}{t._array.itemsize * 8}{list(t._array.shape)}" for t in outputs]
        self.lines.append(refusals.OPERATOR.format(made[0] if len(made) == 1 else made, name, said))
        self._frames.append(frames)

    def _told(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._told(each) for each in value]
        return f"${self._number(value)}" if isinstance(value, Tensor) else repr(value)

    def _number(self, t: Tensor) -> int:
        known, number = self._numbers.get(id(t), (None, 0))
        if known is None or known() is not t:
            number = self._met
            self._met += 1
            self._numbers[id(t)] = weakref.ref(t), number
        return number


def _name(node: Any) -> str:
    function = getattr(node, "_forward_cls", None)
    if function is not None:
        return f"{function.__name__}.apply"
    return _aten(node.op.shown[: node.op.shown.index("(")], node.op)


def _aten(name: str, op: Any) -> str:
    return f"torch._ops.aten.{name}.{'default' if op.numbers is None else 'Tensor'}"
