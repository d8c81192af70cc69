"""What a stepper says of a backward: its steps, what waits and what replaces it, branches and how they differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..autograd.node import AccumulateGrad, Node
from ..autograd.scopes import scope_of
from ..autograd.tensor import Tensor, wrap
from ..trace.call_records import HookRan
from ..trace.schema import Record
from ..trace.values import Value, said
from . import messages

Place = tuple[Node, int]  # where a gradient arrives: a node, and which output of it


def name_of(node: Node) -> str:
    """A node's name without its C++ namespace: `MulBackward0`, `AccumulateGrad`."""
    return node.name().rpartition("::")[2]


def operation_of(node: Node) -> str:
    """What a node is the backward of: `mul` for MulBackward0; a Function's own name."""
    name = name_of(node)
    if hasattr(node, "_forward_cls"):
        return node._forward_cls.__name__
    words = re.findall("[A-Z][a-z0-9]*", re.sub(r"Backward\d*$", "", name))
    return "_".join(words).lower() or name


def is_called(node: Node, text: str, leaves: Mapping[Node, str]) -> bool:
    """Whether a text names a node: by its name, its leaf's, its operation, or a scope it was made in, however deep."""
    return text in (node.name(), name_of(node), leaves.get(node), operation_of(node)) or is_in_scope(node, text)


def is_in_scope(node: Node, scope: str) -> bool:
    """Whether a node was made inside a scope, which may be given from any level on: "layer1" for "encoder/layer1"."""
    return f"/{scope.strip('/')}/" in f"/{scope_of(node)}/" if scope_of(node) is not None else False


def numbers_of(gradient: Any) -> np.ndarray:
    """A gradient's array, whether it is carried as one or as a tensor."""
    return np.asarray(getattr(gradient, "_array", gradient))


def as_tensor(gradient: Any) -> Tensor | None:
    """A gradient for the user to see: its tensor where a graph of it is recorded, else one that cannot be written."""
    if gradient is None or isinstance(gradient, Tensor):
        return gradient
    view = numbers_of(gradient).view()
    view.flags.writeable = False  # the engine still adds this array to others
    return wrap(view)


def value_of(gradient: Any) -> str:
    """A gradient in a line; that there is none is said, too."""
    return said(None if gradient is None else Value.of(numbers_of(gradient)))


def norm_of(gradient: Any) -> float:
    """The Euclidean norm."""
    return float(np.linalg.norm(numbers_of(gradient).astype(np.float64).ravel()))


def are_equal(a: Any, b: Any) -> bool:
    """Whether two gradients are the same numbers; nan is equal to nan."""
    if a is None or b is None:
        return a is b
    return np.array_equal(numbers_of(a), numbers_of(b), equal_nan=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step:
    """One node that ran: its number from 1 on, what came in at it, and what it gave to each of its inputs.

    `captured` says that its gradient was taken for the caller, `hooks` which kinds of hooks ran, `error` what it
    raised. `edits` are the gradients that were changed before it ran, `replaced` what had waited there.
    """

    number: int
    node: Node
    scope: str | None
    captured: bool
    hooks: tuple[str, ...]
    error: BaseException | None
    edits: dict[Place, Any]
    replaced: dict[Place, Any]
    incoming: tuple[Any, ...]  # the gradients as the engine carries them
    outgoing: tuple[Any, ...]
    arrived: dict[Place, Any]  # what then waited at the node's inputs
    hooked: tuple[HookRan, ...]  # what each hook made of the gradients, as a trace tells it
    made: tuple[Record, ...]  # what joined the graph meanwhile, where the backward records one

    def __repr__(self) -> str:
        return f"<step {self.number}: {self.name}{' failed' if self.error is not None else ''}>"

    @property
    def name(self) -> str:
        """The node's name."""
        return name_of(self.node)

    @property
    def op(self) -> str:
        """The operation that made the node."""
        return operation_of(self.node)

    @property
    def leaf(self) -> Tensor | None:
        """The leaf whose gradient was accumulated, if this was an AccumulateGrad."""
        return self.node.variable if type(self.node) is AccumulateGrad else None

    @property
    def grads(self) -> tuple[Tensor | None, ...]:
        """The gradients that came in, one per output of the operation, as hooks left them."""
        return tuple([as_tensor(g) for g in self.incoming])

    @property
    def outs(self) -> tuple[Tensor | None, ...]:
        """The gradients that the node gave, one per input of the operation."""
        return tuple([as_tensor(g) for g in self.outgoing])

    @property
    def norms(self) -> list[float]:
        """The norms of all its gradients."""
        return [norm_of(g) for g in (*self.incoming, *self.outgoing) if g is not None]

    @property
    def is_finite(self) -> bool:
        """Whether all its gradients are finite."""
        return all(np.isfinite(numbers_of(g)).all() for g in (*self.incoming, *self.outgoing) if g is not None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Waiting:
    """A gradient that waits at a node: what has arrived so far, and how many deliveries are still to come."""

    node: Node
    input_nr: int
    grad: Tensor | None
    missing: int
    called: str  # the node, and which output of it, in words

    def __repr__(self) -> str:
        return f"<{value_of(self.grad)} waits at {self.called} for {self.missing} more>"


@dataclass(slots=True, eq=False, repr=False)
class Branch:
    """One course that the backward took; it shares its first `start` steps with the branch it left."""

    name: str
    start: int = 0
    steps: list[Step] = field(default_factory=list)

    @property
    def edits(self) -> dict[Place, Tensor | None]:
        """The gradients that were changed on the way, as they were set."""
        return {place: as_tensor(value) for step in self.steps for place, value in step.edits.items()}

    def __repr__(self) -> str:
        edited = [f"{name_of(node)}[{nr}]" for node, nr in self.edits]
        told = f", with {', '.join(edited)} changed" if edited else ""
        return f"<{self.name}: {counted(len(self.steps), 'step')}{told}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference:
    """A gradient that came out otherwise in another branch, where a node's output takes it."""

    node: Node
    input_nr: int
    first: Tensor | None
    second: Tensor | None
    called: str  # the node, and which output of it, in words

    @property
    def leaf(self) -> Tensor | None:
        """The leaf, if it is one's gradient."""
        return self.node.variable if type(self.node) is AccumulateGrad else None

    def __repr__(self) -> str:
        return f"<{self.called}: {value_of(self.first)} against {value_of(self.second)}>"


def at_output(called: str, node: Node, nr: int) -> str:
    """A node in words, and which of its outputs, if it has several."""
    return f"{called}[{nr}]" if node.multi else called


def differences(first: Branch, second: Branch, called: Callable[[Node], str] = name_of) -> list[Difference]:
    """The nodes that ran in both branches and were given other gradients, in the order of the first."""
    others = {step.node: step for step in second.steps}
    return [
        Difference(step.node, nr, as_tensor(a), as_tensor(b), at_output(called(step.node), step.node, nr))
        for step in first.steps
        if step.node in others and step is not others[step.node]
        for nr, (a, b) in enumerate(zip(step.incoming, others[step.node].incoming, strict=False))
        if not are_equal(a, b)
    ]


def counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def in_place_of(have: Any, value: Any, name: str) -> Any:
    """A number, array or tensor as the engine would carry it instead of the gradient it has at the node of that name.

    Errors: TypeError for anything else and for a tensor of another dtype, ValueError for another shape.
    """
    want = numbers_of(have)
    if isinstance(value, Tensor):
        if (mine := value.dtype) != (its := as_tensor(have).dtype):
            raise TypeError(messages.EDIT_DTYPE.format(name, its, mine, its))
        new = value if isinstance(have, Tensor) else numbers_of(value).copy()  # recorded: with its history
    elif isinstance(value, int | float | list | tuple | np.ndarray | np.generic):
        array = _array_of(value).astype(want.dtype)
        array = np.full(want.shape, array) if isinstance(value, int | float | np.generic) else array
        new = wrap(array) if isinstance(have, Tensor) else array
    else:
        raise TypeError(messages.EDIT_KIND.format(type(value).__name__))
    got = numbers_of(new).shape
    if got != want.shape:
        raise ValueError(messages.EDIT_SHAPE.format(name, list(want.shape), list(got)))
    return new


def _array_of(value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        array = None
    if array is None or array.dtype.kind not in "biuf":
        text = repr(value)
        raise ValueError(messages.EDIT_NUMBERS.format(text if len(text) <= 60 else f"{text[:59]}…"))
    return array


def are_same(a: dict[Place, Any], b: dict[Place, Any]) -> bool:
    """Whether the same gradients were changed to the same numbers."""
    return a.keys() == b.keys() and all(are_equal(a[place], b[place]) for place in a)
