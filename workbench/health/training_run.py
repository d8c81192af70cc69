"""A training as its records tell it, gathered in one pass: what rules of health and a view of it stand on.

`TrainingRun(trace.events)` knows no engine. It has, in the order in which the program used or did them:

- `parameters`: leaves that take a gradient, with all that came to them (`gradients`) and all that changed them
  (`updates`); `frozen` are named ones that take none,
- `nodes`: operations of the forward, with the values of their inputs and outputs and the gradients that they received,
- `calls`: the calls of modules, each with its nodes,
- `backwards`, and `steps`: the steps of the training.

An event is told by its index in `trace.events`; `trace.frame(index + 1)` is the graph after it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from ..trace.call_records import HookRan
from ..trace.compare import rounds_of
from ..trace.facts import Cut, Root, SourceLine, TensorSeen
from ..trace.model_records import ModuleCalled, OptimizerFound
from ..trace.records import (
    BackwardFinished,
    BackwardStarted,
    EventsLetGo,
    Failed,
    GradAccumulated,
    GradCaptured,
    GradChanged,
    NodeCreated,
    NodeFinished,
    NodesGone,
    NodeStarted,
    SavedFreed,
    TensorWritten,
)
from ..trace.schema import Record
from ..trace.values import Value, unit_axis


def size_of(value: Value) -> int:
    """How many numbers a value has."""
    return math.prod(value.shape)


def rms(value: Value) -> float:
    """The root of the mean square of a value's numbers."""
    return value.norm / math.sqrt(size_of(value)) if size_of(value) else 0.0


def is_zero(value: Value) -> bool:
    """Whether a value is known to be zero everywhere."""
    return value.norm == 0 and not value.nonfinite


def share_of_zeros(value: Value) -> float | None:
    """Which part of a value's numbers is exactly zero; None where nobody counted them."""
    if is_zero(value):
        return 1.0
    if value.values is None:
        return None if value.zeros is None else value.zeros / max(size_of(value), 1)
    return sum(number == 0 for number in value.values) / max(len(value.values), 1)


def units_off(value: Value) -> int | None:
    """How many units of a layer's output are zero for the whole batch; None where nobody counted them."""
    if value.values is None or not value.values or len(value.shape) < 2:
        return 0 if value.off is None and value.zeros == 0 else value.off
    axis = unit_axis(len(value.shape))
    apart = math.prod(value.shape[axis + 1 :])
    on = {at // apart % value.shape[axis] for at, number in enumerate(value.values) if number}
    return value.shape[axis] - len(on)


def is_same(one: Value, other: Value) -> bool:
    """Whether two values have the same numbers, as far as their records tell."""
    if one.values is not None and other.values is not None:
        return one.shape == other.shape and one.values == other.values
    facts = [(value.shape, value.norm, value.min, value.max, value.mean) for value in (one, other)]
    return facts[0] == facts[1]


def distance(one: Value, other: Value) -> float:
    """The norm of the difference of two values: exact where all numbers were kept, else the most that is certain."""
    if one.shape != other.shape:
        return 0.0
    if one.values is not None and other.values is not None:
        return math.dist(one.values, other.values)
    bounds = [abs(other.norm - one.norm)]
    if one.mean is not None and other.mean is not None and not one.nonfinite and not other.nonfinite:
        bounds.append(abs(other.mean - one.mean) * math.sqrt(size_of(one)))
    for least, now in ((one.min, other.min), (one.max, other.max)):
        if least is not None and now is not None:
            bounds.append(abs(now - least))
    return max([bound for bound in bounds if not math.isnan(bound)], default=0.0)


@dataclass(slots=True)
class ArrivedGradient:
    """What one backward brought to a parameter."""

    event: int
    task: str
    own: Value  # what this backward brought
    before: Value | None  # the `.grad` that it was added to, None if there was none or it had been cleared
    after: Value | None  # `.grad` then; None where the gradient was handed to the caller of `grad()`


@dataclass(slots=True)
class Update:
    """A change of a parameter by an optimiser's step (or by the program itself, `optimizer` None)."""

    event: int  # the last of its writes
    names: list[str]  # the writes: `mul_`, `addcdiv_`
    before: Value
    after: Value
    grad: Value | None  # the parameter's `.grad` at that time
    arrived: int  # how many gradients the parameter had got by then
    optimizer: str | None
    source: SourceLine | None

    @property
    def size(self) -> float:
        """The norm of the change, or the least that it can be."""
        return distance(self.before, self.after)

    @property
    def ratio(self) -> float:
        """The same as a multiple of the norm of the weight; infinite where that was zero."""
        return self.size / self.before.norm if self.before.norm else math.inf if self.size else 0.0


@dataclass(slots=True)
class TrainedParameter:
    """A leaf that takes a gradient: what it was first, and what came to it."""

    id: str
    seen: TensorSeen  # as it was met first
    value: Value  # as it is in the end
    used: list[str] = field(default_factory=list)  # the nodes that used it
    scope: str = ""  # of the first of them
    gradients: list[ArrivedGradient] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    cleared: list[int] = field(default_factory=list)  # events that took its `.grad` away, or made it zero
    grad: Value | None = None  # its `.grad` in the end
    registered: bool = False  # whether a module that was called has it

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.seen.value.shape

    @property
    def is_held(self) -> bool:
        """Whether a module holds it, which was called, or as its name says: `net.fc.weight`."""
        return self.registered or "." in (self.seen.name or "")

    @property
    def name(self) -> str:
        """What it is called in a sentence: `net.fc.weight`, or `the (3, 4) parameter used in Net/fc`."""
        if self.seen.name:
            return self.seen.name
        return f"the {self.shape} parameter" + (f" used in {self.scope}" if self.scope else "")


@dataclass(slots=True)
class RecordedNode:
    """A node with the values that went through it; `gradients` and `sent` are those of its first run."""

    made: NodeCreated
    event: int
    inside: bool  # whether a backward made it
    inputs: list[Value] = field(default_factory=list)
    input_ids: list[str] = field(default_factory=list)  # of each the tensor, or the node that gave it
    outputs: list[Value] = field(default_factory=list)
    gradients: tuple[Value | None, ...] = ()
    sent: tuple[Value | None, ...] = ()
    started: list[int] = field(default_factory=list)
    finished: list[int] = field(default_factory=list)
    gone: int | None = None
    freed: int | None = None

    @property
    def id(self) -> str:
        """Its id."""
        return self.made.node

    @property
    def line(self) -> SourceLine | None:
        """The line of the program that made it."""
        return self.made.source


@dataclass(slots=True)
class ModuleCall:
    """A call of a module: `scope` is its path, as "Net/fc1", `module` its class."""

    key: int  # of its part
    scope: str
    module: str
    event: int
    nodes: list[str] = field(default_factory=list)  # all that were made in it, in calls inside of it too
    has_calls: bool = False  # whether it called modules itself


@dataclass(slots=True)
class RecordedBackward:
    """A backward from its start to its end."""

    task: str
    event: int
    end: int | None
    source: SourceLine | None
    roots: tuple[Root, ...]
    losses: list[Value]
    targets: tuple[str, ...] | None
    kept: bool  # whether the graph was to be kept
    inner: bool  # whether it ran inside of another
    ran: list[str] = field(default_factory=list)  # nodes and leaves
    failed: bool = False


@dataclass(slots=True)
class TrainingStep:
    """A step of the training, `begin` <= event < `end`: backwards, and the updates after them.

    `gradients` are what the updates were made by, or where nothing was updated the last that came, by the ids of
    parameters; a parameter without one is not in it. `updates` may be several of one parameter: the last is kept.
    """

    number: int  # from 1
    begin: int
    end: int
    backwards: list[RecordedBackward] = field(default_factory=list)
    gradients: dict[str, Value | None] = field(default_factory=dict)
    updates: dict[str, Update] = field(default_factory=dict)

    @property
    def loss(self) -> float | None:
        """The first number that a backward of it began at, if there is one."""
        found = [value for each in self.backwards for value in each.losses if size_of(value) == 1]
        return found[0].norm * (-1 if (found[0].max or 0) < 0 else 1) if found else None


_Event = TypeVar("_Event", ArrivedGradient, Update)


class TrainingRun:
    """All that a training's records tell, gathered in one pass."""

    def __init__(self, events: Sequence[Record]) -> None:
        self.events = events
        self.parameters: dict[str, TrainedParameter] = {}
        self.frozen: dict[str, TensorSeen] = {}  # named tensors of modules that take no gradient: buffers too
        self.tensors: dict[str, TensorSeen] = {}  # as they were met last
        self.nodes: dict[str, RecordedNode] = {}
        self.calls: dict[int, ModuleCall] = {}
        self.backwards: list[RecordedBackward] = []
        self.failures: list[tuple[int, Failed]] = []
        self.called: list[tuple[int, ModuleCalled]] = []  # outermost modules, where anything in them was new
        self.optimizers: list[tuple[int, OptimizerFound]] = []  # the same of optimisers, by the steps they make
        self.cuts: dict[str, tuple[int, Cut]] = {}  # by the tensor behind each, and when it was met
        self.users: dict[str, list[str]] = {}  # node, leaf or constant -> the nodes that used what it gave
        self.is_whole = True  # whether the recording has kept its first events
        self.hooked: set[str] = set()  # leaves whose gradient a hook changed
        self._values: dict[str, Value] = {}  # tensor -> what it is
        self._grads: dict[str, Value | None] = {}
        self._came: dict[str, Value | None] = {}  # leaf -> what the backward that runs brings
        self._going: list[RecordedBackward] = []
        self._since: dict[str, tuple[object, ...]] = {}  # parameter -> who wrote it since the last backward began
        take = {
            BackwardStarted: self._begin,
            NodeStarted: self._start,
            NodeFinished: self._finish,
            GradAccumulated: self._accumulate,
            GradCaptured: self._capture,
            GradChanged: self._change,
            TensorWritten: self._write,
            NodesGone: self._gone,
            SavedFreed: self._free,
            BackwardFinished: self._over,
            Failed: self._fail,
            HookRan: self._hook,
            EventsLetGo: self._cut_off,
            ModuleCalled: self._call,
            OptimizerFound: lambda at, event: self.optimizers.append((at, event)),
        }
        for at, event in enumerate(events):
            if tensors := getattr(event, "tensors", ()):
                for seen in tensors:
                    self._see(at, seen)
            if type(event) is NodeCreated:
                self._create(at, event)
            elif (how := take.get(type(event))) is not None:
                how(at, event)
        self._grads_last()

    # The pass.

    def _see(self, at: int, seen: TensorSeen) -> None:
        if seen.level is not None:
            return
        id = seen.id
        before = self._values.get(id)
        self.tensors[id], self._values[id] = seen, seen.value
        if seen.cut is not None:
            self.cuts.setdefault(id, (at, seen.cut))
        if seen.node is not None:
            return
        if seen.requires_grad:
            if id not in self.parameters:
                self.parameters[id] = TrainedParameter(id, seen, seen.value)
            elif before is not None and before is not seen.value and not is_same(before, seen.value):
                self._note_update(at, id, "", before, seen.value, None, None)  # by a way that was not seen
            elif self.parameters[id].seen.name is None and seen.name is not None:
                self.parameters[id].seen = seen
            self._grads[id] = seen.grad
        elif seen.name is not None and "." in seen.name and seen.cut is None:
            self.frozen.setdefault(id, seen)

    def _create(self, at: int, made: NodeCreated) -> None:
        node = RecordedNode(made, at, bool(self._going))
        values, given = self._values, [arg.tensor for arg in made.args if arg.tensor is not None]
        node.input_ids = [id for id in given if id in values]
        node.inputs = [values[id] for id in node.input_ids]
        told = set(given)
        for edge in made.edges:
            if edge.target is None:
                continue
            self.users.setdefault(edge.target, []).append(made.node)
            if edge.target in self.parameters:
                parameter = self.parameters[edge.target]
                parameter.used.append(made.node)
                parameter.scope = parameter.scope or made.scope or ""
                if edge.target not in told:
                    node.inputs.append(values[edge.target])
                    node.input_ids.append(edge.target)
            elif not given and edge.target in self.nodes and edge.output_nr < len(self.nodes[edge.target].outputs):
                node.inputs.append(self.nodes[edge.target].outputs[edge.output_nr])
                node.input_ids.append(edge.target)
        for id in told:
            seen = self.tensors.get(id)
            if seen is not None and seen.node is None and id not in self.parameters:
                own = seen.base if seen.base in self.frozen else id
                self.users.setdefault(own or id, []).append(made.node)
        node.outputs = [seen.value for seen in made.tensors if seen.node == made.node and seen.level is None]
        self.nodes[made.node] = node
        self._note_calls(at, made)

    def _note_calls(self, at: int, made: NodeCreated) -> None:
        parts = [part for part in made.path if part.kind == "scope"]
        names = (made.scope or "").split("/")
        if len(names) != len(parts):  # of an operation in a scope of the user's, say
            names = [part.title.partition(" › ")[0] for part in parts]
        outer: ModuleCall | None = None
        for depth, part in enumerate(parts, 1):
            call = self.calls.get(part.key)
            if call is None:
                call = self.calls[part.key] = ModuleCall(part.key, "/".join(names[:depth]), part.module, at)
                if outer is not None:
                    outer.has_calls = True
            call.nodes.append(made.node)
            outer = call

    def _begin(self, at: int, event: BackwardStarted) -> None:
        losses: list[Value] = []
        for root in event.roots:
            node = self.nodes.get(root.node)
            if node is not None and root.output_nr < len(node.outputs):
                losses.append(node.outputs[root.output_nr])
            elif root.node in self._values:
                losses.append(self._values[root.node])
        began = RecordedBackward(
            task=event.task,
            event=at,
            end=None,
            source=event.source,
            roots=event.roots,
            losses=losses,
            targets=event.targets,
            kept=event.keep_graph,
            inner=bool(self._going),
        )
        self.backwards.append(began)
        self._going.append(began)
        self._came, self._since = {}, {}

    def _start(self, at: int, event: NodeStarted) -> None:
        if self._going:
            self._going[-1].ran.append(event.node)
        node = self.nodes.get(event.node)
        if node is None:
            self._came[event.node] = event.grads[0] if event.grads else None
            return
        if not node.started:
            node.gradients = event.grads
        node.started.append(at)

    def _finish(self, at: int, event: NodeFinished) -> None:
        node = self.nodes.get(event.node)
        if node is not None:
            if not node.finished:
                node.sent = event.grads
            node.finished.append(at)

    def _accumulate(self, at: int, event: GradAccumulated) -> None:
        id = event.tensor
        if id in self.parameters:
            before = self._grads.get(id)
            if before is not None and is_zero(before):
                before = None
            own = self._came.get(id, event.grad)
            if own is not None:  # else a node has returned none for it
                self.parameters[id].gradients.append(ArrivedGradient(at, event.task, own, before, event.grad))
        self._grads[id] = event.grad

    def _capture(self, at: int, event: GradCaptured) -> None:
        if event.node in self.parameters and event.grad is not None:
            self.parameters[event.node].gradients.append(ArrivedGradient(at, event.task, event.grad, None, None))

    def _change(self, at: int, event: GradChanged) -> None:
        self._grads[event.tensor] = event.grad
        if event.clears and event.tensor in self.parameters:
            self.parameters[event.tensor].cleared.append(at)

    def _write(self, at: int, event: TensorWritten) -> None:
        id = event.tensor
        before, self._values[id] = self._values.get(id), event.value
        base = self.tensors[id].base if id in self.tensors and id not in self.parameters else None
        if base in self.parameters:  # through `w.data`
            before = self._values.get(base)
            if before is None or before.shape != event.value.shape or is_same(before, event.value):
                return
            id, self._values[base] = base, event.value
        if id in self.parameters and before is not None and event.node is None:
            self._note_update(at, id, event.name, before, event.value, event.optimizer, event.source)

    def _note_update(
        self, at: int, id: str, name: str, before: Value, after: Value, optimizer: str | None, source: SourceLine | None
    ) -> None:
        """A weight is another after a backward; what one line of the program writes in a row is one update."""
        if self._going or not self.backwards:
            return
        parameter, who = self.parameters[id], (optimizer, source)
        if parameter.updates and self._since.get(id) == who:
            last = parameter.updates[-1]
            last.event, last.after = at, after
            last.names.append(name)
            return
        self._since[id] = who
        arrived, grad = len(parameter.gradients), self._grads.get(id)
        parameter.updates.append(Update(at, [name], before, after, grad, arrived, optimizer, source))

    def _gone(self, at: int, event: NodesGone) -> None:
        for id in event.nodes:
            if id in self.nodes:
                self.nodes[id].gone = at

    def _free(self, at: int, event: SavedFreed) -> None:
        if event.node in self.nodes:
            self.nodes[event.node].freed = at

    def _over(self, at: int, event: BackwardFinished) -> None:
        self._end(at, event.task, False)

    def _fail(self, at: int, event: Failed) -> None:
        self.failures.append((at, event))
        self._end(at, event.task, True)

    def _end(self, at: int, task: str | None, failed: bool) -> None:
        for going in reversed(self._going):
            if going.task == task:
                going.end, going.failed = at, failed
                del self._going[self._going.index(going) :]
                return

    def _hook(self, at: int, event: HookRan) -> None:
        if event.changed and event.node in self.parameters:
            self.hooked.add(event.node)

    def _call(self, at: int, event: ModuleCalled) -> None:
        self.called.append((at, event))
        for held in event.parameters:
            if held.tensor in self.parameters:
                self.parameters[held.tensor].registered = True

    def _cut_off(self, at: int, event: EventsLetGo) -> None:
        self.is_whole = False

    def _grads_last(self) -> None:
        for id, parameter in self.parameters.items():
            parameter.grad, parameter.value = self._grads.get(id), self._values[id]

    # What follows from it.

    @property
    def is_training(self) -> bool:
        """Whether anything was updated after a backward."""
        return any(parameter.updates for parameter in self.parameters.values())

    @cached_property
    def trained(self) -> list[TrainedParameter]:
        """Those of the parameters that are weights: held by a module or updated; all of them, if none is.

        One without a name is, if another without one is used in the same module: a weight and its bias, say.

        Others take a gradient for another reason, as the input of a network that is differentiated by it.
        """
        all = list(self.parameters.values())
        unnamed = Counter([each.scope for each in all if each.seen.name is None and each.scope])
        return [
            each for each in all if each.is_held or each.updates or (each.seen.name is None and unnamed[each.scope] > 1)
        ] or all

    @cached_property
    def steps(self) -> list[TrainingStep]:
        """The steps of the training; without updates, each round of its loop, or each backward, is one."""
        steps = [TrainingStep(number, *ends) for number, ends in enumerate(self._stretches(), 1)]
        at = 0
        for backward in self.backwards:
            while at < len(steps) and backward.event >= steps[at].end:
                at += 1
            if at < len(steps) and backward.event >= steps[at].begin:
                steps[at].backwards.append(backward)
        for id, parameter in self.parameters.items():
            for step, arrived in _placed(steps, parameter.gradients):
                step.gradients[id] = arrived.own if arrived.after is None else arrived.after
            for step, update in _placed(steps, parameter.updates):
                step.updates[id] = update
                if update.grad is not None:
                    step.gradients[id] = update.grad
        return steps

    def step_of(self, event: int) -> TrainingStep | None:
        """The step that an event lies in."""
        return next((step for step in self.steps if step.begin <= event < step.end), None)

    def _stretches(self) -> list[tuple[int, int]]:
        """Where each step begins and ends: rounds of the loop, joined where gradients of several are gathered."""
        updated = sorted({update.event for each in self.parameters.values() for update in each.updates})
        began = [each.event for each in self.backwards if not each.inner]
        found: list[tuple[int, int]] = []
        begin: int | None = None
        for turn in rounds_of(self.events) or self._unlooped(updated, began):
            if isinstance(turn, tuple):
                found.append(turn)
                continue
            if not turn.number:
                continue
            begin = turn.begin if begin is None else begin
            inner = [at for at in began if begin <= at < turn.end]
            if inner and (not updated or any(inner[0] < at < turn.end for at in updated)):
                found.append((begin, turn.end))
                begin = None
        if begin is not None and any(at >= begin for at in began):
            found.append((begin, len(self.events)))
        return found

    def _unlooped(self, updated: Sequence[int], began: Sequence[int]) -> list[tuple[int, int]]:
        """The same where there is no loop: a step is over with the last update before the next backward's graph."""
        found: list[tuple[int, int]] = []
        begin = 0
        for at, next_at in zip(began, [*began, len(self.events)][1:], strict=False):
            between = [each for each in updated if at < each < next_at]
            if between or not updated or next_at == len(self.events):
                end = between[-1] + 1 if between and next_at != len(self.events) else next_at
                found.append((begin, end))
                begin = end
        return found

    def activations(self, step: TrainingStep) -> Iterator[tuple[str, RecordedNode]]:
        """What each layer gave in a step, in the order of the model: the layer's name, and the node that gave it.

        A layer is the innermost module that was called, of which the last node is taken, or an operation that stands
        beside such calls: its scope and its own name. Of one that is used several times the name has a number.
        """
        last: dict[object, tuple[str, RecordedNode]] = {}
        for node in self.nodes_of(step):
            keys = [part.key for part in node.made.path if part.kind == "scope"]
            call = self.calls[keys[-1]] if keys else None
            if call is None or call.has_calls:
                place = call.scope if call is not None else ""
                last[node.id] = (f"{place} {node.made.operation}".strip(), node)
            else:
                last.pop(call.key, None)
                last[call.key] = (call.scope, node)
        counts: dict[str, int] = {}
        for name, node in last.values():
            counts[name] = counts.get(name, 0) + 1
            yield (name if counts[name] == 1 else f"{name} ({counts[name]})"), node

    def nodes_of(self, step: TrainingStep) -> Iterator[RecordedNode]:
        """The nodes that the forward of a step made."""
        at = bisect_left(self._forward, step.begin, key=lambda node: node.event)
        while at < len(self._forward) and self._forward[at].event < step.end:
            yield self._forward[at]
            at += 1

    @cached_property
    def _forward(self) -> list[RecordedNode]:
        return [node for node in self.nodes.values() if not node.inside and not node.made.found]

    def leads_to(self, id: str) -> set[str]:
        """All nodes that were computed from a node's or a leaf's result, as far as gradients come back from them."""
        found: set[str] = set()
        left = [id]
        while left:
            for user in self.users.get(left.pop(), ()):
                if user not in found:
                    found.add(user)
                    left.append(user)
        return found


def _placed(steps: Sequence[TrainingStep], all: Sequence[_Event]) -> Iterator[tuple[TrainingStep, _Event]]:
    """Each of what happened with the step that it lies in; both are in order."""
    at = 0
    for each in all:
        while at < len(steps) and each.event >= steps[at].end:
            at += 1
        if at < len(steps) and each.event >= steps[at].begin:
            yield steps[at], each
