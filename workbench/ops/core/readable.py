"""Readable mode: the engine runs its own source lines instead of code that is generated for speed."""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from typing import Self

from ...autograd import state
from .codegen import late_methods
from .registry import REGISTRY, SEVERAL


class readable(ContextDecorator):
    """Run the engine on its own source lines, for a debugger.

    Normally each operation runs code that is generated for speed. In this block, each goes through
    `dispatch`, and each backward pass through `GraphTask`, as ARCHITECTURE.md describes them. A
    debugger then stops there, and in a backward pass on the formula in an operation's declaration.
    Results, errors and events are the same, in three to four times the time.

    It holds for all threads. The environment variable `WORKBENCH_READABLE=1` switches it on for a
    whole program.

    Example:
        >>> x = torch.tensor([2.0], requires_grad=True)
        >>> with workbench.readable():
        ...     (x * x).sum().backward()
        >>> x.grad
        tensor([4.])
    """

    def __init__(self) -> None:
        self._open: list[object] = []

    def __enter__(self) -> Self:
        block = object()
        self._open.append(block)
        state.readable[block] = state.slow_path_reasons["readable"] = True
        for op in (*REGISTRY.values(), *SEVERAL.values()) if len(state.readable) == 1 else ():
            if "node" in vars(op):
                late_methods(op, op.node)  # those that were generated become those of nodes.py, until the block ends
        return self

    def __exit__(self, *_: object) -> None:
        state.readable.pop(self._open.pop(), None)
        if not state.readable:
            state.slow_path_reasons.pop("readable", None)


if os.environ.get("WORKBENCH_READABLE", "0") not in ("", "0"):
    readable().__enter__()
