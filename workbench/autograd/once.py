"""`once_differentiable`: refuse second derivatives of a Function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container
from typing import Any

from .. import errors
from .node import Node, accumulator, sequence
from .state import local, with_grad
from .tensor import Tensor, alias


class Error(Node):
    """The node at the end of a second derivative that was marked as not available."""

    __slots__ = ("marked", "parents")

    arity = -1
    takes_undefined = True

    def name(self) -> str:
        """Return the node's name as PyTorch prints it."""
        return "torch::autograd::Error"

    def __init__(self, parents: list[Any], marked: str) -> None:
        self.seq, self.extra, self.parents, self.marked = next(sequence), None, tuple(parents), marked

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return new leaves: the graph upstream isn't reached."""
        return self.parents

    def vjp(self, grad: Any, needed: Container[Node] | None = None) -> Any:
        """Raise the error."""
        raise RuntimeError(errors.TWICE)

    vjp_tensors = vjp


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a Function's `backward`, `fn`, that can't be differentiated itself.

    Use the decorator if `backward` computes with NumPy, for example. Without it, a second derivative would silently
    be wrong. With it, a second derivative raises RuntimeError.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        outputs = with_grad(False, fn, ctx, *args)
        if not local.modes.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        node = Error([], type(ctx).__name__)
        results, leaves = [], []
        for nr, output in enumerate(several):
            if output is None:
                results.append(None)
                leaves.append((None, 0))
                continue
            leaf = alias(output)
            leaf._rg = True
            leaves.append((accumulator(leaf), 0))
            result = alias(output)
            result._rg, result._fn, result._nr = True, node, nr
            results.append(result)
        node.parents = tuple(leaves)
        return tuple(results) if isinstance(outputs, tuple) else results[0]

    return wrapper
