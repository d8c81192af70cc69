"""What one backward pass sends along several edges together: gradients for one value add up, others are counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..trace.frame import EdgeState, Frame
from ..trace.values import Value
from .graph import arrived
from .value_display import size_of

ADDED = 32  # edges whose gradients are added, value by value, whenever one has changed


def total_of(grads: Sequence[Value]) -> Value | None:
    """Return the sum, if all values are known."""
    # `numbers`, without a call: a picture adds hundreds of gradients at each move of a slider.
    known = [(grad.complex_values or grad.values, grad.shape) for grad in grads]
    arrays = [np.array(numbers).reshape(shape) for numbers, shape in known if numbers is not None]
    if len(arrays) < len(grads) or len({array.shape for array in arrays}) > 1:
        return None
    with np.errstate(all="ignore"):
        return Value.of(np.sum(arrays, axis=0))


def norms_of(frame: Frame, bundle: EdgeBundle) -> tuple[str, float | None]:
    """Return what the last pass sent along these edges, in words and as a number.

    Gradients for one value add up: it is the norm of their sum, or "" and None if that isn't known. Gradients for
    several values are counted.
    """
    total = bundle.total
    if total.grads < 2:
        return "none" if total.grad is None else size_of(total.grad), 0.0 if total.grad is None else total.grad.norm
    if len(total.places) > 1:
        return f"{len(total.places):,} gradients", None
    ((source, _), keys), known = next(iter(total.places.items())), None
    if len(keys) <= ADDED:
        if total.sum is None:
            total.sum = (total_of([grad for _, grad in sorted(keys.values(), key=lambda each: each[0])]),)
        known = total.sum[0]
    if known is None and total.moved == len(next(reversed(frame.place(source).came.values()), ())):  # all that came
        known = arrived(frame, source)
    return ("", None) if known is None else (size_of(known), known.norm)


@dataclass(slots=True)
class PassTotal:
    """What one backward pass has sent along some edges, and the edge with the largest gradient."""

    moved: int = 0  # edges
    grads: int = 0  # that weren't None
    finite: bool = True
    largest: str | None = None
    grad: Value | None = None  # the largest
    # By output: the edges that brought a gradient for it, each with its place among the edges, and the gradient.
    places: dict[tuple[str, int], dict[str, tuple[int, Value]]] = field(default_factory=dict)
    sum: tuple[Value | None] | None = None  # of all, once it was asked for

    def add(self, key: str, at: int, edge: EdgeState) -> None:
        """Add an edge that the pass went along."""
        self.moved, self.sum, grad = self.moved + 1, None, edge.grad
        if grad is not None:
            self.grads, self.finite = self.grads + 1, self.finite and not grad.nonfinite
            self.places.setdefault((edge.source, edge.output_nr), {})[key] = at, grad
        if self.largest is None or _rank(grad) > _rank(self.grad):
            self.largest, self.grad = key, grad


def _rank(grad: Value | None) -> float:
    if grad is None:
        return -1.0
    return math.inf if math.isnan(grad.norm) else grad.norm


class EdgeBundle:
    """The edges that one arrow represents.

    A pass only adds to them: a change costs the same however many there are. They are gone through again when another
    pass resets what an earlier one sent.
    """

    def __init__(self, source: str, entered: str | None = None) -> None:
        self.source = source  # the box that they lead from
        self.entered = entered  # the group that they lead to as a whole, open or not
        self.keys: dict[str, int] = {}  # and their places
        self.flowing: dict[str, None] = {}
        self._moved: dict[str, dict[str, EdgeState]] = {}  # by pass, the last one last
        self._known: dict[str, tuple[str, Value | None]] = {}  # what each edge counts as: its pass, and its gradient
        self._totals: dict[str, PassTotal] = {}

    @property
    def task(self) -> str:
        """Return the last backward pass that sent something along one of these; "" if none has."""
        return next(reversed(self._moved), "")

    @property
    def total(self) -> PassTotal:
        """Return what the last backward pass sent."""
        if not (task := self.task):
            return PassTotal()
        if task not in self._totals:
            total = self._totals[task] = PassTotal()
            for key, edge in self._moved[task].items():
                total.add(key, self.keys[key], edge)
        return self._totals[task]

    def note(self, key: str, edge: EdgeState) -> None:
        """Note that an edge exists, or has changed."""
        place = self.keys.setdefault(key, len(self.keys))
        if edge.state == "flowing":
            self.flowing[key] = None
        else:
            self.flowing.pop(key, None)
        before, now = self._known.get(key), None if edge.state == "idle" else (edge.task, edge.grad)
        if before is not None and (now is None or now[0] != before[0] or now[1] is not before[1]):
            moved = self._moved[before[0]]
            del moved[key], self._known[key]
            self._totals.pop(before[0], None)
            if not moved:
                del self._moved[before[0]]
        if now is None or key in self._known:
            return
        self._known[key], task = now, edge.task
        moved = self._moved.pop(task, {})
        moved[key] = edge
        self._moved[task] = moved  # the last one
        if task in self._totals:
            self._totals[task].add(key, place, edge)
