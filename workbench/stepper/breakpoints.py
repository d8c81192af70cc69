"""Where and when a running backward is to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from ..autograd.node import Node
from ..autograd.snapshot import place_of
from ..autograd.tensor import Tensor
from . import messages
from .steps import Step, is_called, name_of


@dataclass(frozen=True, slots=True, eq=False)
class Breakpoint:
    """A reason to stop: before the nodes of a place run, or right after the step that had such gradients.

    With a place and gradients both must hold, the step being one of a node of that place.
    """

    place: str | Node | None = None
    nonfinite: bool = False
    over: float | None = None
    under: float | None = None
    when: Callable[[Step], Any] | None = None
    names: Mapping[Node, str] = field(default_factory=dict, repr=False)  # what the leaves are called

    @property
    def is_about_gradients(self) -> bool:
        """Whether it can be told only once the step was taken."""
        return self.nonfinite or self.over is not None or self.under is not None or self.when is not None

    def _is_at(self, node: Node) -> bool:
        return is_called(node, self.place, self.names) if isinstance(self.place, str) else node is self.place

    def stops_before(self, node: Node | None) -> bool:
        """Whether to stop now that this node is next."""
        return node is not None and not self.is_about_gradients and self._is_at(node)

    def stops_after(self, step: Step) -> bool:
        """Whether to stop now that this step was taken."""
        if not self.is_about_gradients or (self.place is not None and not self._is_at(step.node)):
            return False
        return bool(
            (self.nonfinite and not step.is_finite)
            or (self.over is not None and any(norm > self.over for norm in step.norms))
            or (self.under is not None and any(norm < self.under for norm in step.norms))
            or (self.when is not None and self.when(step))
        )

    def told(self, called: Callable[[Node], str]) -> str:
        """Where it stops, and on what condition: `before mul`, `after any node: a norm over 10`."""
        place = called(self.place) if isinstance(self.place, Node) else self.place or "any node"
        return f"after {place}: {', '.join(self._conditions)}" if self.is_about_gradients else f"before {place}"

    @property
    def _conditions(self) -> list[str]:
        told = ["a gradient that is not finite"] if self.nonfinite else []
        told += [f"a norm over {self.over:g}"] if self.over is not None else []
        told += [f"a norm under {self.under:g}"] if self.under is not None else []
        return told + ([getattr(self.when, "__name__", "a function")] if self.when is not None else [])

    def __str__(self) -> str:
        place = self.place if isinstance(self.place, str | None) else self.names.get(self.place, name_of(self.place))
        return ", ".join(([] if place is None else [place]) + self._conditions)


def breakpoint_at(place: Any, **about: Any) -> Breakpoint:
    """A breakpoint from what a user names: an operation, a scope, a node, a tensor or a function of the step."""
    if isinstance(place, Tensor):
        place = place_of(place)[0]
        if place is None:
            raise ValueError(messages.NO_HISTORY)
    for bound in (about.get("over"), about.get("under")):
        if bound is not None and not isinstance(bound, Real):
            raise TypeError(messages.BOUND.format(bound))
    if place is None or isinstance(place, str | Node):
        found = Breakpoint(place, **about)
    elif callable(place):
        found = Breakpoint(when=place, **about)
    else:
        raise TypeError(messages.NOT_A_STOP.format(type(place).__name__))
    if found.place is None and not found.is_about_gradients:
        raise ValueError(messages.EMPTY_STOP)
    return found
