"""What goes along several edges together: gradients for one value add up, others stand side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

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
    for (source, _), place in bundle.places.items():
        total, moved = None, place.moved
        if len(moved) <= ADDED:  # of none the sum is zero
            inorder = sorted(moved, key=bundle.keys.__getitem__)
            grads = [grad for key in inorder if (grad := frame.edges[key].grad) is not None]
            total = grads[0] if len(grads) == 1 else total_of(grads)
        if total is None and moved and place.has_all(frame, source):
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


@dataclass(slots=True)
class _Keys:
    """The edges of a bundle by which gradients come to one place."""

    keys: dict[str, None] = field(default_factory=dict)
    moved: dict[str, None] = field(default_factory=dict)  # those that have brought one
    came: dict[str, None] | None = None  # what came there in one backward,
    known: int = 0  # of which so many are known to be among the keys

    def has_all(self, frame: Frame, source: str) -> bool:
        """Whether all that came there in its last backward is among these; what is new since then is looked at."""
        came = next(reversed(frame.place(source).came.values()), None)
        if came and frame.edges[next(reversed(came))].state != "idle":
            known = self.known if self.came is came else 0
            if all(key in self.keys for key in islice(reversed(came), len(came) - known)):
                self.came, self.known = came, len(came)
                return True
        return all(key in self.keys for key in frame.came_to(source))


class EdgeBundle:
    """The edges that one arrow stands for; a change of one costs no more than the depth of a tree of their sums."""

    def __init__(self, source: str) -> None:
        self.source = source  # the box that they lead from
        self.keys: dict[str, int] = {}  # and their places
        self.places: dict[tuple[str, int], _Keys] = {}  # by output
        self.flowing: dict[str, None] = {}
        self._rows: list[list[GradientTotal]] = [[]]  # of the edges, of pairs of them, of pairs of these …

    @property
    def total(self) -> GradientTotal:
        """That of all edges."""
        return self._rows[-1][0] if self.keys else GradientTotal()

    def note(self, key: str, edge: EdgeState) -> None:
        """An edge is there, or has changed."""
        place = self.keys.setdefault(key, len(self.keys))
        at = edge.source, edge.output_nr
        if (known := self.places.get(at)) is None:
            known = self.places[at] = _Keys()
        known.keys[key] = None
        if edge.state != "idle" and edge.grad is not None:
            known.moved[key] = None
        else:
            known.moved.pop(key, None)
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
            first = place & ~1
            part = row[first] + row[first + 1] if first + 1 < len(row) else row[first]
            place >>= 1
        if len(self._rows[-1]) > 1:
            self._rows.append([part])
