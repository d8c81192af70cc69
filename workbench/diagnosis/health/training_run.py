"""A training run from its records, gathered in one pass: the basis of the rules of health and of their view.

`TrainingRun(trace.events)` doesn't depend on an engine. It has, in the order in which the program used or did them:

- `parameters`: leaves that require grad at any time, with all gradients that reached them (`gradients`) and all changes
  (`updates`); `frozen` are named ones that never require grad,
- `nodes`: operations of the forward, with the values of their inputs and outputs and the gradients that they received,
- `calls`: the calls of modules, each with its nodes,
- `backwards`, and `steps`: the steps of the training run.

An event is given as its index in `trace.events`; `trace.frame(index + 1)` is the graph after it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

from ...pictures.trace.backward_records import BackwardStarted, GradAccumulated, GradCaptured, GradChanged
from ...pictures.trace.facts import SourceLine, TensorSeen
from ...pictures.trace.forward_records import NodeCreated
from ...pictures.trace.gap_records import BackwardsUnseen, EventsLetGo
from ...pictures.trace.model_records import ModuleCalled, OptimizerFound
from ...pictures.trace.rounds import rounds_of
from ...pictures.trace.schema import Record
from ...pictures.trace.tensor_records import TensorWritten
from ...pictures.trace.values import Value, code
from .backwards import RecordedBackward, RecordedBackwards
from .graph import RecordedNode, Take
from .measures import distance, is_broken, is_same, is_zero, size_of


@dataclass(slots=True)
class ArrivedGradient:
    """A gradient that one backward pass brought to a parameter."""

    event: int
    own: Value  # what this backward brought
    before: Value | None  # the `.grad` that it was added to, None if there was none or it had been cleared
    after: Value | None  # `.grad` then; None where the gradient was handed to the caller of `grad()`


@dataclass(slots=True)
class Update:
    """A change of a parameter by an optimizer's step (or by the program itself: `optimizer` None)."""

    event: int  # the last of its writes
    names: list[str]  # the writes: `mul_`, `addcdiv_`
    before: Value
    after: Value
    grad: Value | None  # the parameter's `.grad` at that time
    arrived: int  # how many gradients the parameter had got by then
    optimizer: str | None
    source: SourceLine | None
    moved: float | None = None  # the norm of the change, where it was recorded

    @property
    def is_exact(self) -> bool:
        """Return True if the size of the change is known."""
        return self.moved is not None or None not in (self.before.values, self.after.values)

    @property
    def size(self) -> float:
        """The norm of the change, or a lower bound."""
        return distance(self.before, self.after) if self.moved is None else self.moved

    @property
    def ratio(self) -> float:
        """The size as a multiple of the norm of the weight; infinite if that was zero."""
        return self.size / self.before.norm if self.before.norm else math.inf if self.size else 0.0


@dataclass(slots=True)
class TrainedParameter:
    """A leaf that requires grad: its first state, and what reached it."""

    id: str
    seen: TensorSeen  # as it was met first
    value: Value  # as it is in the end; at an earlier event it's the `before` of the next update
    used: list[str] = field(default_factory=list)  # the nodes that used it
    scope: str = ""  # of the first of them
    gradients: list[ArrivedGradient] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    cleared: list[int] = field(default_factory=list)  # events that took its `.grad` away, or made it zero
    grad: Value | None = None  # its `.grad` in the end
    registered: bool = False  # whether a module that was called has it
    was_frozen: bool = False  # whether it took no gradient at first

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.seen.value.shape

    @property
    def is_held(self) -> bool:
        """Return True if a called module contains it, or its name says so: `net.fc.weight`."""
        return self.registered or "." in (self.seen.name or "")

    @property
    def name(self) -> str:
        """Its name, or `the (3, 4) parameter used in Net/fc`."""
        if self.seen.name:
            return self.seen.name
        return f"the {self.shape} parameter" + (f" used in `{self.scope}`" if self.scope else "")

    @property
    def words(self) -> str:
        """What a sentence calls it: its name in backticks."""
        return code(self.name)

    @property
    def slot(self) -> str:
        """Its gradient in a sentence."""
        return code(f"{self.name}.grad") if self.seen.name else f"the gradient of {self.name}"


@dataclass(slots=True)
class ModuleCall:
    """A call of a module: `scope` is its path, such as "Net/fc1", `module` its class."""

    key: int  # of its part
    scope: str
    module: str
    event: int
    nodes: list[str] = field(default_factory=list)  # all that were made in it, in calls inside of it too
    has_calls: bool = False  # whether it called modules itself


@dataclass(slots=True)
class TrainingStep:
    """A training step, `begin` <= event < `end`: backward passes, and the updates after them.

    `gradients` are those that the updates used, or without updates the last ones, by the ids of parameters; a parameter
    without one isn't in it. `updates` may have several of one parameter: the last counts.
    """

    number: int  # from 1
    begin: int
    end: int
    backwards: list[RecordedBackward] = field(default_factory=list)
    gradients: dict[str, Value | None] = field(default_factory=dict)
    updates: dict[str, Update] = field(default_factory=dict)

    @property
    def loss(self) -> float | None:
        """The first number that a backward pass of it starts from, if there is one."""
        found = [value for each in self.backwards for value in each.losses if size_of(value) == 1]
        return found[0].norm * (-1 if (found[0].max or 0) < 0 else 1) if found else None


_ASSIGNED = "__setitem__"
_OF_PARTS = {"", _ASSIGNED}  # names of writes by indices, and of changes that were not seen
_WHOLE_STEPS = 2  # by which it shows what a step leaves out

_Event = TypeVar("_Event", ArrivedGradient, Update)


class TrainingRun(RecordedBackwards):
    """Everything in a training run's records, gathered in one pass."""

    def __init__(self, events: Sequence[Record]) -> None:
        self.parameters: dict[str, TrainedParameter] = {}
        self.frozen: dict[str, TensorSeen] = {}  # named tensors of modules that never take a gradient: buffers too
        self.calls: dict[int, ModuleCall] = {}
        self.called: list[tuple[int, ModuleCalled]] = []  # outermost modules, where anything in them was new
        self.optimizers: list[tuple[int, OptimizerFound]] = []  # the same of optimizers, by the steps they make
        self.is_partly_seen = False  # whether other threads ran backward passes meanwhile
        self.is_whole = True  # whether the recording has kept its first events
        self._grads: dict[str, Value | None] = {}
        self._registered: set[str] = set()  # what modules hold that were called
        self._since: dict[str, tuple[object, ...]] = {}  # parameter -> who wrote it since the last backward began
        self._parts: dict[str, TensorSeen] = {}  # views of parameters, made where gradients are off
        super().__init__(events)
        for id, parameter in self.parameters.items():
            parameter.grad, parameter.value = self._grads.get(id), self.values[id]

    # The pass.

    def _takes(self) -> dict[type[Record], Take]:
        return super()._takes() | {
            ModuleCalled: self._call,
            OptimizerFound: self._find_optimizer,
            EventsLetGo: self._cut_off,
            BackwardsUnseen: self._miss,
        }

    def _see(self, at: int, seen: TensorSeen) -> None:
        id, before = seen.id, self.values.get(seen.id)
        super()._see(at, seen)
        if seen.node is not None or seen.level is not None:
            return
        if seen.requires_grad and seen.base in self.parameters and id not in self.parameters:
            self._parts[id] = seen
        elif seen.requires_grad or id in self.parameters:
            if id not in self.parameters:
                self._add(seen)
            elif before is not None and before is not seen.value and not is_same(before, seen.value):
                self._note_update(at, id, "", before, seen.value, None, None)  # by a way that was not seen
            elif self.parameters[id].seen.name is None and seen.name is not None:
                self.parameters[id].seen = seen
            self._grads[id] = seen.grad
        elif seen.name is not None and "." in seen.name and seen.cut is None:
            self.frozen.setdefault(id, seen)

    def _add(self, seen: TensorSeen) -> None:
        known, was_frozen = seen.id in self._registered, self.frozen.pop(seen.id, None) is not None
        self.parameters[seen.id] = TrainedParameter(seen.id, seen, seen.value, registered=known, was_frozen=was_frozen)

    def _add_part(self, id: str | None) -> None:
        """Count a view of a parameter as one of its own: it collects gradients, or a module holds it."""
        if id in self._parts:
            self._add(self._parts.pop(id))
            self._grads[id] = self.parameters[id].seen.grad

    def _create(self, at: int, made: NodeCreated) -> None:
        super()._create(at, made)
        for edge in made.edges:
            self._add_part(edge.target)
            parameter = self.parameters.get(edge.target or "")
            if parameter is not None:
                parameter.used.append(made.node)
                parameter.scope = parameter.scope or made.scope or ""
        self._note_calls(at, made)

    def _note_calls(self, at: int, made: NodeCreated) -> None:
        parts = [part for part in made.path if part.kind == "scope"]
        names, titles = (made.scope or "").split("/"), [part.title.partition(" › ")[0] for part in parts]
        ends = [*accumulate(title.count("/") + 1 for title in titles)]  # `layers/0` is in a list that is not called
        if len(names) != sum(ends[-1:]):  # of an operation in a scope of the user's, say
            names, ends = titles, [*range(1, len(titles) + 1)]
        outer: ModuleCall | None = None
        for end, part in zip(ends, parts, strict=True):
            call = self.calls.get(part.key)
            if call is None:
                call = self.calls[part.key] = ModuleCall(part.key, "/".join(names[:end]), part.module, at)
                if outer is not None:
                    outer.has_calls = True
            call.nodes.append(made.node)
            outer = call

    def _begin(self, at: int, event: BackwardStarted) -> None:
        super()._begin(at, event)
        self._since = {}

    def _accumulate(self, at: int, event: GradAccumulated) -> None:
        super()._accumulate(at, event)
        id, backward = event.tensor, self._tasks.get(event.task)
        if id in self.parameters:
            before = self._grads.get(id)
            came = None if backward is None else backward.received.get(id)
            own = event.grad if came is None else next(iter(came), None)
            if own is not None:  # else a node has returned none for it
                before = None if before is None or is_zero(before) else before
                self.parameters[id].gradients.append(ArrivedGradient(at, own, before, event.grad))
        self._grads[id] = event.grad

    def _capture(self, at: int, event: GradCaptured) -> None:
        super()._capture(at, event)
        if event.node in self.parameters and event.grad is not None:
            self.parameters[event.node].gradients.append(ArrivedGradient(at, event.grad, None, None))

    def _change(self, at: int, event: GradChanged) -> None:
        super()._change(at, event)
        self._grads[event.tensor] = event.grad
        if event.clears and event.tensor in self.parameters:
            self.parameters[event.tensor].cleared.append(at)

    def _write(self, at: int, event: TensorWritten) -> None:
        id, before = event.tensor, self.values.get(event.tensor)
        super()._write(at, event)
        base = self.tensors[id].base if id in self.tensors and id not in self.parameters else None
        if base in self.parameters:  # through `w.data`
            before = self.values.get(base)
            if before is not None and before.shape != event.value.shape:
                self._find_part_write(at, self.parameters[base], event)
                return
            if before is None or is_same(before, event.value):
                return
            id, self.values[base] = base, event.value
        if event.name == "data" and before is not None and is_same(before, event.value):
            return  # moved, as to a device
        if id in self.parameters and before is not None and event.node is None:
            self._note_update(at, id, event.name, before, event.value, event.optimizer, event.source)
            if self.parameters[id].updates and self.parameters[id].updates[-1].event == at:
                self.parameters[id].updates[-1].moved = event.moved

    def _find_part_write(self, at: int, parameter: TrainedParameter, event: TensorWritten) -> None:
        """Give a change that was just noted, of an unknown way, the line and the name of this write into a part."""
        last = parameter.updates[-1] if parameter.updates else None
        if last is not None and last.event == at - 1 and last.names[-1] == "":
            last.names[-1], last.source = event.name, last.source or event.source

    def _note_update(
        self, at: int, id: str, name: str, before: Value, after: Value, optimizer: str | None, source: SourceLine | None
    ) -> None:
        """Note a weight that changed after a backward pass; consecutive writes of one line are one update.

        Writes into parts are one update, too, whatever their lines: `w[0] -= g[0]`, then `w[1] -= g[1]`. PyTorch's
        records show such a write as a change that was not seen and an assignment that changes nothing.
        """
        if self._going or not self.backwards:
            return
        is_part = optimizer is None and name in _OF_PARTS
        parameter, who = self.parameters[id], ("parts",) if is_part else (optimizer, source)
        if parameter.updates and self._since.get(id) == who:
            last = parameter.updates[-1]
            breaks = is_broken(after) and not is_broken(last.after)
            last.source = source if breaks else last.source or source
            last.event, last.after = at, after
            if name == _ASSIGNED and last.names[-1] == "" and is_same(before, after):
                last.names[-1] = name
            else:
                last.names.append(name)
            return
        self._since[id] = who
        arrived, grad = len(parameter.gradients), self._grads.get(id)
        parameter.updates.append(Update(at, [name], before, after, grad, arrived, optimizer, source))

    def _call(self, at: int, event: ModuleCalled) -> None:
        self.called.append((at, event))
        for held in event.parameters:
            self._registered.add(held.tensor)
            self._add_part(held.tensor)
            if held.tensor in self.parameters:
                self.parameters[held.tensor].registered = True

    def _cut_off(self, at: int, event: EventsLetGo) -> None:
        self.is_whole = False

    def _miss(self, at: int, event: BackwardsUnseen) -> None:
        self.is_partly_seen = True

    def _find_optimizer(self, at: int, event: OptimizerFound) -> None:
        self.optimizers.append((at, event))

    # What follows from it.

    @property
    def is_training(self) -> bool:
        """Return True if anything was updated after a backward pass."""
        return any(parameter.updates for parameter in self.parameters.values())

    @cached_property
    def is_cut_short(self) -> bool:
        """Return True if missing parts were not seen, or may not have come before an error within the first steps."""
        if not self.failures or self.is_partly_seen:
            return self.is_partly_seen
        at, _ = self.failures[-1]
        updated = [update.event for each in self.parameters.values() for update in each.updates]
        over = sum(step.end <= at and any(step.begin <= each < step.end for each in updated) for step in self.steps)
        return over < _WHOLE_STEPS and not any(each > at for each in updated)

    @cached_property
    def trained(self) -> list[TrainedParameter]:
        """The parameters that are weights: in a module or updated; all of them, if none is.

        One without a name is a weight if another one without a name is used in the same module, such as a weight and
        its bias. Others require grad for another reason, such as an input that a network is differentiated by.
        """
        all = list(self.parameters.values())
        unnamed = Counter([each.scope for each in all if each.seen.name is None and each.scope])
        return [
            each for each in all if each.is_held or each.updates or (each.seen.name is None and unnamed[each.scope] > 1)
        ] or all

    @cached_property
    def steps(self) -> list[TrainingStep]:
        """The steps of the training run; without updates, each iteration of its loop, or each backward pass."""
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
        """Return the step of an event."""
        return next((step for step in self.steps if step.begin <= event < step.end), None)

    def shown_step(self, event: int) -> int | None:
        """Return the number for `show(step=...)` of the loop iteration that contains an event.

        It is None outside iterations, or if an iteration continues with nodes of another one.
        """
        rounds = rounds_of(self.events)

        begins = [round.begin for round in rounds]

        def place(at: int) -> int:  # of those without a number -1
            found = bisect_right(begins, at) - 1
            return found if found >= 0 and rounds[found].number else -1

        at = place(event)
        if at < 0:
            return None
        places = {node.id: place(node.event) for node in self.nodes.values() if not node.made.found}
        for node in self.nodes.values():
            own = place(node.event)
            others = [places.get(edge.target or "", -1) for edge in node.made.edges]
            ran = [place(started) for started in node.started] if places.get(node.id, -1) >= 0 else []
            if any(other not in (-1, own) for other in others) or any(other != own for other in ran):
                return None
        return rounds[at].number

    def _stretches(self) -> list[tuple[int, int]]:
        """Return where each step starts and ends: iterations, joined if gradients of several accumulate."""
        updated = sorted({update.event for each in self.parameters.values() for update in each.updates})
        began = [each.event for each in self.backwards if not each.inner]
        found: list[tuple[int, int]] = []
        begin: int | None = None
        for turn in rounds_of(self.events) or self._steps_without_loop(updated, began):
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

    def _steps_without_loop(self, updated: Sequence[int], began: Sequence[int]) -> list[tuple[int, int]]:
        """Return the begin and end of each step of a program without a loop, by the begin of each backward pass.

        A step ends at the last update before the next backward pass.
        """
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
        """Return each layer's output in a step, in the order of the model: the layer's name, and its node.

        A layer is the innermost called module, with its last node, or an operation outside such calls, with its scope
        and name. The name of a layer that is used several times has a number.
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
        """Return the nodes that the forward of a step created."""
        at = bisect_left(self._forward, step.begin, key=lambda node: node.event)
        while at < len(self._forward) and self._forward[at].event < step.end:
            yield self._forward[at]
            at += 1

    @cached_property
    def _forward(self) -> list[RecordedNode]:
        return [node for node in self.nodes.values() if not node.inside and not node.made.found]


def _placed(steps: Sequence[TrainingStep], all: Sequence[_Event]) -> Iterator[tuple[TrainingStep, _Event]]:
    """Return each item with its step; both are in order."""
    at = 0
    for each in all:
        while at < len(steps) and each.event >= steps[at].end:
            at += 1
        if at < len(steps) and each.event >= steps[at].begin:
            yield steps[at], each
