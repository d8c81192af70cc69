"""What goes along several edges together: gradients of one pass for one value add up, others are counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from ..trace.frame import EdgeState, Frame
from ..trace.values import Value
from .graph import arrived
from .value_display import size_of

ADDED = 32  # edges whose gradients are added, value by value, whenever one has changed


def total_of(grads: Sequence[Value]) -> Value | None:
    """Return the sum, if all values are known."""
    arrays = [np.array(grad.values).reshape(grad.shape) for grad in grads if grad.values is not None]
    if len(arrays) < len(grads) or len({array.shape for array in arrays}) > 1:
        return None
    with np.errstate(all="ignore"):
        return Value.of(np.sum(arrays, axis=0))


def norms_of(frame: Frame, bundle: EdgeBundle) -> tuple[str, float | None]:
    """Return what these edges carry together, in words and as a number: the sum's norm, or the number of gradients.

    Gradients add up if they are for one value and of one pass, and are counted by value otherwise. It is "" and None
    where their sum is not known.
    """
    total = bundle.total
    if total.grads < 2:
        return total.norms, 0.0 if total.grad is None else total.grad.norm
    if bundle.reached > 1:
        return f"{bundle.reached:,} gradients", None
    (source, _), place = next(each for each in bundle.places.items() if each[1].moved)
    if not place.is_of_one_pass(frame, source):
        return f"{total.grads:,} gradients", None
    known = place.sum(frame, bundle.keys)
    if known is None and place.has_all(frame, source):
        known = arrived(frame, source)
    if known is None:
        return "", None
    return size_of(known), known.norm


@dataclass(slots=True)
class GradientTotal:
    """What has gone along some edges, and the edge with the largest gradient."""

    moved: int = 0  # edges
    grads: int = 0  # that were not None
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
            self.finite and other.finite,
            first.largest,
            first.grad,
        )

    @property
    def norms(self) -> str:
        """Return the norm of the only gradient."""
        return "none" if self.grad is None else size_of(self.grad)


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
    total: Value | None = None  # of what they have brought, if that is known,
    added: bool = False  # as long as nothing has changed since it was added

    def sum(self, frame: Frame, places: Mapping[str, int]) -> Value | None:
        """Return what the edges brought together, in the order of their places; zero for none, unknown for many."""
        if len(self.moved) > ADDED:
            return None
        if not self.added:
            inorder = sorted(self.moved, key=places.__getitem__)
            grads = [grad for key in inorder if (grad := frame.edges[key].grad) is not None]
            self.total, self.added = grads[0] if len(grads) == 1 else total_of(grads), True
        return self.total

    def is_of_one_pass(self, frame: Frame, source: str) -> bool:
        """Return True if one backward pass, the last to bring something, brought all of these."""
        came = next(reversed(frame.place(source).came.values()), {})
        return len(self.moved) <= len(came) and (len(self.moved) > ADDED or came.keys() >= self.moved.keys())

    def has_all(self, frame: Frame, source: str) -> bool:
        """Return True if these include everything from the source's last backward pass; visit only new arrivals."""
        came = next(reversed(frame.place(source).came.values()), None)
        if came and frame.edges[next(reversed(came))].state != "idle":
            known = self.known if self.came is came else 0
            if all(key in self.keys for key in islice(reversed(came), len(came) - known)):
                self.came, self.known = came, len(came)
                return True
        return all(key in self.keys for key in frame.came_to(source))


class EdgeBundle:
    """The edges that one arrow represents; a change to one costs no more than the depth of a tree of their sums.

    Changes that come before the next query are added up together.
    """

    def __init__(self, source: str) -> None:
        self.source = source  # the box that they lead from
        self.keys: dict[str, int] = {}  # and their places
        self.places: dict[tuple[str, int], _Keys] = {}  # by output
        self.flowing: dict[str, None] = {}
        self.reached = 0  # places that something was brought to
        self._rows: list[list[GradientTotal]] = [[]]  # of the edges, of pairs of them, of pairs of these …
        self._changed = set[int]()  # places of edges that the pairs do not know of yet

    @property
    def total(self) -> GradientTotal:
        """Return the sum of all edges."""
        if self._changed:
            self._add_up()
        return self._rows[-1][0] if self.keys else GradientTotal()

    def note(self, key: str, edge: EdgeState) -> None:
        """Note that an edge exists, or has changed."""
        place = self.keys.setdefault(key, len(self.keys))
        at = edge.source, edge.output_nr
        if (known := self.places.get(at)) is None:
            known = self.places[at] = _Keys()
        known.keys[key], known.added = None, False
        self.reached -= bool(known.moved)
        if edge.state != "idle" and edge.grad is not None:
            known.moved[key] = None
        else:
            known.moved.pop(key, None)
        self.reached += bool(known.moved)
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
            part = GradientTotal(1, 1, not grad.nonfinite, key, grad)
        self._rows[0][place : place + 1] = [part]
        self._changed.add(place)

    def _add_up(self) -> None:
        """Update the sums above the edges that have changed."""
        changed, self._changed = self._changed, set[int]()
        for level, row in enumerate(self._rows):
            if len(row) > 1 and level + 1 == len(self._rows):
                self._rows.append([])  # gone through next
            changed = {place >> 1 for place in changed}
            for place in sorted(changed) if len(row) > 1 else ():
                pair = row[2 * place : 2 * place + 2]
                self._rows[level + 1][place : place + 1] = [pair[0] + pair[1] if len(pair) > 1 else pair[0]]
