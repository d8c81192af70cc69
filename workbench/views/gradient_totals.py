"""What goes along several edges together: gradients for one value add up, others stand side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..trace.frame import EdgeState, Frame
from ..trace.values import Value
from .graph import arrived

ADDED = 32  # edges whose gradients are added, value by value, whenever one has changed


def total_of(grads: Sequence[Value]) -> Value | None:
    """The sum, if all values are known."""
    arrays = [np.array(grad.values).reshape(grad.shape) for grad in grads if grad.values is not None]
    if len(arrays) < len(grads) or len({array.shape for array in arrays}) > 1:
        return None
    with np.errstate(all="ignore"):
        return Value.of(np.sum(arrays, axis=0))


def norms_of(frame: Frame, bundle: EdgeBundle) -> tuple[str, float | None]:
    """The norm of all that goes along these edges, in words and as a number: gradients for one value add up.

    It is "" and None where their sum is not known.
    """
    total = bundle.total
    if total.moved < 2:
        return total.norms, total.norm
    known: list[Value] = []
    for (source, _), (keys, moved) in bundle.places.items():
        total = None
        if len(moved) <= ADDED:  # of none the sum is zero
            inorder = sorted(moved, key=bundle.keys.__getitem__)
            grads = [grad for key in inorder if (grad := frame.edges[key].grad) is not None]
            total = grads[0] if len(grads) == 1 else total_of(grads)
        if total is None and moved and all(key in keys for key in frame.came_to(source)):
            total = arrived(frame, source)
        if total is None and moved:
            return "", None
        known += [total] if total is not None else []
    if len(known) == 1 and not (known[0].shape and known[0].is_known):
        return known[0].text(), known[0].norm
    norm = math.hypot(*[total.norm for total in known])
    return f"‖{norm:.3g}‖" if known else "none", norm


@dataclass(slots=True)
class GradientTotal:
    """What has gone along some edges, and the edge with the largest gradient."""

    moved: int = 0  # edges
    grads: int = 0  # that were not None
    norm: float = 0.0  # of all together
    finite: bool = True
    largest: str | None = None
    grad: Value | None = None  # the largest

    def __add__(self, other: GradientTotal) -> GradientTotal:
        if not other.moved:
            return self
        if not self.moved:
            return other
        first = self if _rank(self.grad) >= _rank(other.grad) else other
        return GradientTotal(
            self.moved + other.moved,
            self.grads + other.grads,
            math.hypot(self.norm, other.norm),
            self.finite and other.finite,
            first.largest,
            first.grad,
        )

    @property
    def norms(self) -> str:
        """The norm of all gradients together."""
        if self.grad is None:
            return "none"
        if self.grads == 1 and not self.grad.shape:
            return self.grad.text()
        return f"‖{self.norm:.3g}‖"


def _rank(grad: Value | None) -> float:
    if grad is None:
        return -1.0
    return math.inf if math.isnan(grad.norm) else grad.norm


class EdgeBundle:
    """The edges that one arrow stands for; a change of one costs no more than the depth of a tree of their sums."""

    def __init__(self, source: str) -> None:
        self.source = source  # the box that they lead from
        self.keys: dict[str, int] = {}  # and their places
        # Output -> the edges by which gradients come to it, and those that have brought one.
        self.places: dict[tuple[str, int], tuple[dict[str, None], dict[str, None]]] = {}
        self.flowing: dict[str, None] = {}
        self._rows: list[list[GradientTotal]] = [[]]  # of the edges, of pairs of them, of pairs of these …

    @property
    def total(self) -> GradientTotal:
        """That of all edges."""
        return self._rows[-1][0] if self.keys else GradientTotal()

    def note(self, key: str, edge: EdgeState) -> None:
        """An edge is there, or has changed."""
        place = self.keys.setdefault(key, len(self.keys))
        keys, moved = self.places.setdefault((edge.source, edge.output_nr), ({}, {}))
        keys[key] = None
        if edge.state != "idle" and edge.grad is not None:
            moved[key] = None
        else:
            moved.pop(key, None)
        if edge.state == "flowing":
            self.flowing[key] = None
        else:
            self.flowing.pop(key, None)
        grad = edge.grad
        if edge.state == "idle":
            part = GradientTotal()
        elif grad is None:
            part = GradientTotal(1, largest=key)
        else:
            part = GradientTotal(1, 1, grad.norm, not grad.nonfinite, key, grad)
        for row in self._rows:
            row[place : place + 1] = [part]
            pair = row[place & ~1 : (place | 1) + 1]
            part, place = sum(pair[1:], pair[0]), place >> 1
        if len(self._rows[-1]) > 1:
            self._rows.append([part])
