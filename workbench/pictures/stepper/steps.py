"""The state of a stepped backward pass: its steps, waiting gradients, breakpoints, branches and their differences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.node import AccumulateGrad, Node
from ...autograd.scopes import scope_of
from ...autograd.snapshot import place_of
from ...autograd.tensor import Tensor, wrap
from ..trace.call_records import HookRan
from ..trace.schema import Record
from ..trace.values import Value, format_value
from .typed import condition

if TYPE_CHECKING:
    from .stepper import PausedBackward


# What the stepper refuses, and what it warns of.
NOT_A_TENSOR = "step() needs the tensor, or a list of tensors, whose backward pass to run, but got {}."
COUNT = "{}() expected a number of steps, an int of at least 0, but got {!r}."
FAILED = "The backward pass failed in {} at step {}. Call back() to return to the point before it, then continue."
TOO_FAR_BACK = "Can't go back {}: only {} so far."
NO_SUCH_PLACE = "No node or scope named {!r} in this backward pass. Nodes: {}. Leaves: {}. Scopes: {}."
NOT_IN_TASK = "{} isn't a node of this backward pass."
NO_HISTORY = "This tensor does not require grad, so no gradient will arrive at it."
NOT_WATCHED = "watch() expected a tensor whose gradient to follow, but got {}."
NOT_A_PLACE = "Expected a place (an operation, a scope, a node or a tensor), but got {}."
NOT_A_STOP = "Expected a stop (an operation, a scope, a node, a tensor or a function of the last step), but got {}."
EMPTY_STOP = "A breakpoint needs a condition: a place, nonfinite=True, over=, under= or a function."
NO_SCOPE = 'No node of this backward pass was created inside `with workbench.scope("{}")`. Scopes: {}.'
NOTHING_WAITS = "No gradient is waiting at {} (input_nr {}), so there is none to change. Gradients wait at {}."
SEVERAL_WAIT = "Gradients wait at {} nodes named {!r}. Pass the node itself."
EDIT_SHAPE = "The gradient waiting at {} has shape {}, but the new value has {}. Use the same shape, or a number."
EDIT_KIND = "Expected a number, an array or a tensor as the new gradient, but got {}."
EDIT_NUMBERS = "Expected numbers as the new gradient, in rows of equal length, but got {}."
EDIT_DTYPE = "The gradient waiting at {} is {}, but the new tensor is {}. Convert it with .to({})."
INPUT_NR = "Expected the number of a node's output, an int, but got {!r}."
BOUND = "over= and under= are bounds on a gradient's norm: expected a number, but got {!r}."
NO_BRANCH = "No branch named {!r}. Branches: {}."
GRAD_REPLACED = "{}.grad was changed by other code after step {}. That change is lost: it is {} again."
RECORDED = "A recording is active: it keeps the steps you undo, so steps you run again appear twice in its pictures."
HOOK_STAYS = "Step {} ran a {} of {}. Its effects other than changing gradients couldn't be undone."

Place = tuple[Node, int]  # where a gradient arrives: a node, and which output of it


def node_name(node: Node) -> str:
    """Return a node's name without its C++ namespace: `MulBackward0`, `AccumulateGrad`."""
    return node.name().rpartition("::")[2]


def operation_of(node: Node) -> str:
    """Return the operation of a node: `mul` for MulBackward0; a Function's own name."""
    name = node_name(node)
    function = getattr(node, "_forward_cls", None)
    if function is not None:
        return function.__name__
    words = re.findall("[A-Z][a-z0-9]*", re.sub(r"Backward\d*$", "", name))
    return "_".join(words).lower() or name


def is_called(node: Node, text: str, leaves: Mapping[Node, str]) -> bool:
    """Return True if a text names a node: by its name, its leaf's, its operation, or any scope around it."""
    return text in (node.name(), node_name(node), leaves.get(node), operation_of(node)) or is_in_scope(node, text)


def is_in_scope(node: Node, scope: str) -> bool:
    """Return True if a node was created inside a scope, which may start at any level: "layer1" for "encoder/layer1"."""
    return f"/{scope.strip('/')}/" in f"/{scope_of(node)}/" if scope_of(node) is not None else False


def numbers_of(gradient: Any) -> np.ndarray:
    """Return a gradient's array, whether it is carried as an array or as a tensor."""
    return np.asarray(getattr(gradient, "_array", gradient))


def gradient_tensor(gradient: Any) -> Tensor | None:
    """Return a gradient for the user: its tensor if a graph of it is recorded, else a read-only one."""
    if gradient is None or isinstance(gradient, Tensor):
        return gradient
    view = numbers_of(gradient).view()
    view.flags.writeable = False  # the engine still adds this array to others
    return wrap(view)


def recorded(gradient: Any) -> Value | None:
    """Return a gradient that the engine carries, as a trace stores it."""
    return None if gradient is None else Value.of(numbers_of(gradient))


def gradient_text(gradient: Any) -> str:
    """Return a gradient in one line, also if there is none."""
    return format_value(recorded(gradient))


def norm_of(gradient: Any) -> float:
    """Return the Euclidean norm."""
    return float(np.linalg.norm(numbers_of(gradient).astype(np.float64).ravel()))


def are_equal(a: Any, b: Any) -> bool:
    """Return True if two gradients have the same numbers; nan equals nan."""
    if a is None or b is None:
        return a is b
    return np.array_equal(numbers_of(a), numbers_of(b), equal_nan=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step:
    """One step of a Stepper: the node that ran, with the gradients that it received (`grads`) and sent (`outs`).

    `number` is the number of the step, counted from 1. `captured` is True if the gradient is returned to the
    caller, `hooks` lists the kinds of hooks that ran, and `error` is the error that was raised. `edits` has the
    gradients that you changed before the step, and `replaced` has their old values.
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
    left: Value | None  # the gradient that it left at its leaf

    def __repr__(self) -> str:
        return f"<step {self.number}: {self.name}{' failed' if self.error is not None else ''}>"

    @property
    def name(self) -> str:
        """The node's name."""
        return node_name(self.node)

    @property
    def op(self) -> str:
        """The operation that created the node."""
        return operation_of(self.node)

    @property
    def leaf(self) -> Tensor | None:
        """The leaf whose gradient was accumulated, if this was an AccumulateGrad."""
        return self.node.variable if type(self.node) is AccumulateGrad else None

    @property
    def grads(self) -> tuple[Tensor | None, ...]:
        """The incoming gradients after hooks, one per output of the operation."""
        return tuple([gradient_tensor(g) for g in self.incoming])

    @property
    def outs(self) -> tuple[Tensor | None, ...]:
        """The outgoing gradients, one per input of the operation."""
        return tuple([gradient_tensor(g) for g in self.outgoing])

    @property
    def norms(self) -> list[float]:
        """The norms of all its gradients."""
        return [norm_of(g) for g in (*self.incoming, *self.outgoing) if g is not None]

    @property
    def is_finite(self) -> bool:
        """True if all its gradients are finite."""
        return all(np.isfinite(numbers_of(g)).all() for g in (*self.incoming, *self.outgoing) if g is not None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Waiting:
    """A gradient that waits at a node: the sum of the contributions so far, and the number of those still missing."""

    node: Node
    input_nr: int
    grad: Tensor | None
    missing: int
    called: str  # the node, and which output of it, in words

    def __repr__(self) -> str:
        return f"<{gradient_text(self.grad)} waits at {self.called} for {self.missing} more>"


@dataclass(slots=True, eq=False, repr=False)
class Branch:
    """One sequence of steps of a backward pass; it shares its first `start` steps with the branch that it left."""

    name: str
    start: int = 0
    steps: list[Step] = field(default_factory=list)

    @property
    def edits(self) -> dict[Place, Tensor | None]:
        """The gradients that were changed on this branch, with their new values."""
        return {place: gradient_tensor(value) for step in self.steps for place, value in step.edits.items()}

    def __repr__(self) -> str:
        edited = [f"{node_name(node)}[{nr}]" for node, nr in self.edits]
        told = f", with {', '.join(edited)} changed" if edited else ""
        return f"<{self.name}: {counted(len(self.steps), 'step')}{told}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference:
    """A gradient that differs between two branches: `first` and `second` are its values."""

    node: Node
    input_nr: int
    first: Tensor | None
    second: Tensor | None
    called: str  # the node, and which output of it, in words

    @property
    def leaf(self) -> Tensor | None:
        """The leaf, if it is a leaf's gradient."""
        return self.node.variable if type(self.node) is AccumulateGrad else None

    def __repr__(self) -> str:
        return f"<{self.called}: {gradient_text(self.first)} against {gradient_text(self.second)}>"


def at_output(called: str, node: Node, nr: int) -> str:
    """Return a node in words, with the number of its output if it has several."""
    return f"{called}[{nr}]" if node.multi else called


def branch_differences(first: Branch, second: Branch, called: Callable[[Node], str] = node_name) -> list[Difference]:
    """Return the nodes that ran in both branches with different gradients, in the order of the first."""
    others = {step.node: step for step in second.steps}
    return [
        Difference(step.node, nr, gradient_tensor(a), gradient_tensor(b), at_output(called(step.node), step.node, nr))
        for step in first.steps
        if step.node in others and step is not others[step.node]
        for nr, (a, b) in enumerate(zip(step.incoming, others[step.node].incoming, strict=False))
        if not are_equal(a, b)
    ]


def counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def in_place_of(have: Any, value: Any, name: str) -> Any:
    """Return a number, array or tensor in the form of the gradient that it replaces at a node.

    Raises:
        TypeError: if it is anything else, or a tensor of another dtype.
        ValueError: if its shape differs.
    """
    want = numbers_of(have)
    if isinstance(value, Tensor):
        its = have.dtype if isinstance(have, Tensor) else wrap(want).dtype
        if (mine := value.dtype) != its:
            raise TypeError(EDIT_DTYPE.format(name, its, mine, its))
        new = value if isinstance(have, Tensor) else numbers_of(value).copy()  # recorded: with its history
    elif isinstance(value, int | float | list | tuple | np.ndarray | np.generic):
        array = _array_of(value).astype(want.dtype)
        array = np.full(want.shape, array) if isinstance(value, int | float | np.generic) else array
        new = wrap(array) if isinstance(have, Tensor) else array
    else:
        raise TypeError(EDIT_KIND.format(type(value).__name__))
    got = numbers_of(new).shape
    if got != want.shape:
        raise ValueError(EDIT_SHAPE.format(name, list(want.shape), list(got)))
    return new


def _array_of(value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        array = None
    if array is None or array.dtype.kind not in "biuf":
        text = repr(value)
        raise ValueError(EDIT_NUMBERS.format(text if len(text) <= 60 else f"{text[:59]}…"))
    return array


def are_same(a: dict[Place, Any], b: dict[Place, Any]) -> bool:
    """Return True if the same gradients were changed to the same numbers."""
    return a.keys() == b.keys() and all(are_equal(a[place], b[place]) for place in a)


FEW = 5  # items named on one line, and differences told


def describe(s: PausedBackward) -> str:
    """Return a text with the nodes that ran, those ready, the waiting gradients, and the finished ones."""
    ran, whole = ran_of(s), len(s._to_run())
    lines = [f"Stepper on {s.branch.name}: {len(ran)} of {counted(whole, 'node')} run"]
    if ran:
        lines.append(f"ran:     {_few([node_called(s, step.node) for step in ran], last=True)}")
    if s.error is not None:
        lines.append(f"failed:  {s.steps[-1].name} raised {type(s.error).__name__}: {s.error}")
    elif s.ready:
        lines.append(f"ready:   {_few([node_called(s, node) for node in s.ready])}")
    else:
        lines.append("ready:   nothing, the backward pass has finished")
    lines += [f"line:    {each}" for each in s._line_told()]
    partly = dict.fromkeys([w.node for w in s.pending if w.missing])
    if partly:
        missing = {w.node: w.missing for w in s.pending}
        lines.append(f"waiting: {_few([f'{node_called(s, node)} for {missing[node]} more' for node in partly])}")
    edits = [(place, step.replaced[place], new) for step in s.steps for place, new in step.edits.items()]
    edits += [(place, old, new) for place, (old, new) in s._edits.items()]
    if edits:
        places = [
            f"{node_called(s, node)}[{nr}] = {gradient_text(new)}, was {gradient_text(old)}"
            for (node, nr), old, new in edits
        ]
        lines.append(f"edited:  {_few(places, last=True)}")
    lines += _gradients(s)
    if s.reason is not None:
        lines.append(f"stopped: {s.reason}")
    others = [branch for branch in s.branches if branch is not s.branch]
    if others:
        lines.append(f"beside:  {_few([f'{b.name} of {len(b.steps)}' for b in others])}")
    lines += _differences(s)
    return "\n".join(lines + [f"warning: {sentence}" for sentence in s.warnings])


def ran_of(s: PausedBackward) -> list[Step]:
    """Return the steps whose node ran: all except one that failed."""
    return [step for step in s.steps if step.error is None]


def other_branch(s: PausedBackward) -> Branch | None:
    """Return the branch to compare the current one with, if there is another: the first, or for the first, the last."""
    if len(s.branches) == 1:
        return None
    return s.branches[-1 if s.branch is s.branches[0] else 0]


def differing(s: PausedBackward, called: Callable[[Node], str]) -> list[Difference]:
    """Return what differs so far from the other branch, in the order of the steps; `called` names the nodes."""
    other = other_branch(s)
    return branch_differences(Branch(s.branch.name, steps=s.steps), other, called) if other is not None else []


def against(each: Difference, other: Branch, value: Callable[[Any], str] = gradient_text) -> str:
    """Return what a node receives here and on another branch, in words; `value` formats a gradient."""
    here, there = value(each.first), value(each.second)
    told = f"{each.called}: {here} here, {there} on {other.name}"
    if here != there:
        return told
    with np.errstate(invalid="ignore"):  # infinite on both
        return f"{told}, {norm_of(numbers_of(each.first) - numbers_of(each.second)):.2g} apart"


def _differences(s: PausedBackward) -> list[str]:
    """Return one line for each of the first differences."""
    other = other_branch(s)
    if other is None:
        return []

    def named(node: Node) -> str:
        return leaf_called(s, node) if type(node) is AccumulateGrad else node_name(node)

    found = differing(s, named)
    few = found if len(found) <= FEW + 1 else found[:FEW]
    told = [f"differs: {'' if i else 'first at '}{against(each, other)}" for i, each in enumerate(few)]
    return told if few is found else [*told, f"differs: and {len(found) - FEW} more"]


def _gradients(s: PausedBackward) -> list[str]:
    """Return one line for each existing gradient, and one for the missing ones."""
    if s._inputs is None:
        rows: list[tuple[str, Any]] = [(leaf_called(s, node), node.variable.grad) for node in s._leaves()]
    else:
        names = [name or f"input {i}" for i, name in enumerate(s._input_names)]
        rows = list(zip(names, s._task.captured, strict=True))
    lines = [f"grad:    {name}: {gradient_text(g)}" for name, g in rows if g is not None]
    without = [name for name, g in rows if g is None]
    return lines + ([f"no grad: {_few(without)}"] if without else [])


def _few(words: list[str], last: bool = False) -> str:
    """Return the first (or last) few of several words."""
    if len(words) <= FEW:
        return ", ".join(words)
    return f"{len(words) - FEW} more, then {', '.join(words[-FEW:])}" if last else f"{', '.join(words[:FEW])}, …"


def node_called(s: PausedBackward, node: Node) -> str:
    """Return a node in words: its name, its leaf if it accumulates, its scope."""
    if type(node) is AccumulateGrad:
        return f"AccumulateGrad of {leaf_called(s, node)}"
    scope = scope_of(node)
    return node_name(node) + (f" in {scope}" if scope else "")


def leaf_called(s: PausedBackward, node: AccumulateGrad) -> str:
    """Return a leaf's variable name."""
    return s._leaf_names.get(node) or f"a leaf of shape {tuple(node.variable._array.shape)}"


@dataclass(frozen=True, slots=True, eq=False)
class Breakpoint:
    """A place or condition at which every run stops: before a node runs, or after a step with certain gradients.

    With both a place and a condition, a run stops after a step at that place if the step meets the condition.
    """

    place: str | Node | None = None
    nonfinite: bool = False
    over: float | None = None
    under: float | None = None
    when: Callable[[Step], Any] | None = None
    names: Mapping[Node, str] = field(default_factory=dict, repr=False)  # what the leaves are called

    @property
    def is_about_gradients(self) -> bool:
        """True if it can only be decided after the step."""
        return self.nonfinite or self.over is not None or self.under is not None or self.when is not None

    def _is_at(self, node: Node) -> bool:
        return is_called(node, self.place, self.names) if isinstance(self.place, str) else node is self.place

    def stops_before(self, node: Node | None) -> bool:
        """Return True if this breakpoint stops a run before the given next node."""
        return node is not None and not self.is_about_gradients and self._is_at(node)

    def stops_after(self, step: Step) -> bool:
        """Return True if this breakpoint stops a run after the given step."""
        if not self.is_about_gradients or (self.place is not None and not self._is_at(step.node)):
            return False
        return bool(
            (self.nonfinite and not step.is_finite)
            or (self.over is not None and any(norm > self.over for norm in step.norms))
            or (self.under is not None and any(norm < self.under for norm in step.norms))
            or (self.when is not None and self.when(step))
        )

    def describe(self, called: Callable[[Node], str]) -> str:
        """Describe where the breakpoint stops, and when: `before mul`, `after any node: a norm over 10`."""
        place = called(self.place) if isinstance(self.place, Node) else self.place or "any node"
        return f"after {place}: {', '.join(self._conditions)}" if self.is_about_gradients else f"before {place}"

    @property
    def _conditions(self) -> list[str]:
        told = ["a gradient that is not finite"] if self.nonfinite else []
        told += [f"a norm over {self.over:g}"] if self.over is not None else []
        told += [f"a norm under {self.under:g}"] if self.under is not None else []
        return told + ([getattr(self.when, "__name__", "a function")] if self.when is not None else [])

    def __str__(self) -> str:
        place = self.place if isinstance(self.place, str | None) else self.names.get(self.place, node_name(self.place))
        return ", ".join(([] if place is None else [place]) + self._conditions)


def breakpoint_at(place: Any, **about: Any) -> Breakpoint:
    """Return a breakpoint for what a user names: an operation, a scope, a node, a tensor or a function of the step.

    It may also be a condition in words: `not finite`, `norm > 10`, `norm < 1e-6`.
    """
    if isinstance(place, Tensor):
        place = place_of(place)[0]
        if place is None:
            raise ValueError(NO_HISTORY)
    if isinstance(place, str) and (found := condition(place)):
        place, about = None, about | found
    for bound in (about.get("over"), about.get("under")):
        if bound is not None and not isinstance(bound, Real):
            raise TypeError(BOUND.format(bound))
    if place is None or isinstance(place, str | Node):
        stop = Breakpoint(place, **about)
    elif callable(place):
        stop = Breakpoint(when=place, **about)
    else:
        raise TypeError(NOT_A_STOP.format(type(place).__name__))
    if stop.place is None and not stop.is_about_gradients:
        raise ValueError(EMPTY_STOP)
    return stop
