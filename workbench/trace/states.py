"""What a frame knows of each thing in the graph: a node, an operation without one, a tensor, an edge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .values import Value

if TYPE_CHECKING:
    from .building import NodeCreated
    from .hooks import Hook
    from .levels import OperationRan

PlaceState = Literal["idle", "pending", "ready", "running", "done", "error"]


@dataclass(slots=True, kw_only=True)
class Place:
    """Where gradients arrive: a node, or a leaf with the AccumulateGrad node that fills its `.grad`."""

    state: PlaceState = "idle"
    received: tuple[Value | None, ...] = ()  # one gradient per output, as the place was started with
    waiting: int = 0  # gradients still to come in this backward
    came: dict[str, dict[str, None]] = field(default_factory=dict)  # backward, the last to bring something -> edges
    error: str = ""
    hooks: tuple[Hook, ...] = ()
    hooked: tuple[str, ...] = ()  # what they did in this backward


@dataclass(slots=True, kw_only=True)
class NodeState(Place):
    """A node of the graph."""

    made: NodeCreated
    outputs: dict[int, tuple[str, Value]] = field(default_factory=dict)  # tensor, and its value when made
    given: tuple[Value | None, ...] = ()  # the values of its arguments when it was made, of those that are tensors
    saved: tuple[Value | None, ...] = ()
    freed: bool = False
    gone: bool = False  # nothing holds it any more
    run_by: str | None = None  # the node that runs it: of a write through a view the one that its base got by that
    during: tuple[str, int] | None = None  # the backward it was born in, and the order of derivative it belongs to
    tangent_of: str | None = None  # the tensor whose tangent it computed

    @property
    def keeps(self) -> bool:
        """Whether it still has what it saved."""
        return not (self.freed or self.gone)


@dataclass(slots=True, kw_only=True)
class OperationState:
    """An operation without a node."""

    made: OperationRan
    during: tuple[str, int] | None = None


@dataclass(slots=True, kw_only=True)
class TensorState(Place):
    """A tensor as it is now; `role` says what it is in the graph if it stands there for itself."""

    id: str
    name: str | None
    value: Value
    requires_grad: bool
    node: str | None
    output_nr: int
    grad: Value | None
    level: str | None = None
    below: str | None = None  # what it stands for, one or more levels below
    base: str | None = None  # what it is a view of, or was detached from
    grad_before: Value | None = None  # what the last accumulation was added to
    brought: dict[str, None] = field(default_factory=dict)  # the edges whose gradients `grad` is the sum of
    rest: Value | None = None  # what `grad` was before the first of these, if that is known
    # Of the gradients in `grad` those that a hook changed: in which backward, and what it made of what.
    remade: tuple[tuple[str, Value | None, Value | None], ...] = ()
    cleared: bool = False  # whether a gradient that it had was ever taken away
    role: Literal["leaf", "constant"] | None = None


@dataclass(slots=True)
class EdgeState:
    """A way from what made a value (`source`) to the node that used it; a gradient goes the other way.

    The seed of a backward travels such an edge too: from outside (`target` None) to the node it starts at.

    `kept` are the gradients that it brought to a leaf and that are part of the leaf's `.grad` now, the last one perhaps
    the edge's own; `lost` says why that is not one of them.
    """

    source: str
    target: str | None
    output_nr: int
    differentiable: bool = True
    state: Literal["idle", "flowing", "done"] = "idle"
    grad: Value | None = None
    kept: tuple[Value, ...] = ()
    lost: str = ""
