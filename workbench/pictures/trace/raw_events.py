"""What a recorder has recorded: raw events, which a Reader turns into records on request.

Each event that several engines have is recorded by one method: a new value is added here and in its record, for all
engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .advised import known_error
from .backward_records import (
    BackwardFinished,
    BackwardStarted,
    Failed,
    FailuresCaught,
    GradAccumulated,
    GradCaptured,
    GradChanged,
    NodeFinished,
    NodeStarted,
)
from .call_records import HookRan, HooksFound
from .error_frames import users_frames
from .facts import Called
from .forward_records import NodeCreated, TensorsFound
from .gap_records import BackwardsUnseen, EngineUnseen
from .memory_records import NodesGone, SavedFreed
from .model_records import ModuleCalled, OptimizerFound
from .reader import Reader
from .schema import Raw, Record, value_of
from .stacks import Line, Stack, StackSampler
from .tensor_records import TensorShown, TensorWritten

Hooks = tuple[tuple[Any, ...], ...]  # of each its kind, which output it is on, its name and line
Copies = tuple[Any, ...]  # what was kept of gradients


class Ended(Exception):
    """The error given to a recording outside a `with` block: whether the program caught earlier errors is unknown."""


class RawEvents:
    """Keeps raw events, each thing in them under its serial number, and makes records of them."""

    _reading: type[Reader] = Reader

    def __init__(self) -> None:
        self.sampler = StackSampler()
        self._raw: list[Raw] = []
        self._gone = 0  # records that were let go
        self._names: dict[int, str] = {}  # tensor -> the first variable found that holds it
        self._hooks: dict[int, Hooks] = {}  # place -> its hooks as recorded
        self._late: list[Raw] = []  # what hooks did after an accumulation that is still to be told
        self._read_anew()

    # What a trace asks for.

    def records(self, count: int | None = None) -> list[Record]:
        """Return all records so far, or up to when `count` was this number."""
        self._flush_deaths()
        if len(self._names) != self._named:  # a name belongs to its tensor from the beginning
            self._read_anew()
        records = self._reader.read(self._raw)
        if count is None:
            return records
        left = count - self._gone
        return records[: left + bool(self._gone)] if left > 0 else []

    @property
    def count(self) -> int:
        """Return the number of records so far."""
        return self._gone + len(self._raw) - bool(self._gone)  # the first then tells of those that are gone

    def id_of(self, serial: int) -> str | None:
        """Return the id of a node or a tensor in the records, if they have one."""
        self.records()
        return self._reader.id_of(serial)

    def _read_anew(self) -> None:
        self._reader, self._named = self._reading(self._names), len(self._names)

    def _changed(self, at: int) -> None:
        """Note that the raw event there has changed."""
        if self._reader.read_already > at:
            self._read_anew()

    def _flush_deaths(self) -> None:
        """Record the nodes that were dropped since the last event."""
        raise NotImplementedError

    # Tensors.

    def _tell(self, found: dict[int, Any]) -> None:
        """Record tensors as they are, if there are any."""
        if found:
            self._raw.append((TensorsFound, tuple(found.values())))

    def _put_written(
        self,
        tensor: int,
        name: str,
        version: int,
        value: Any,
        node: int | None,
        output_nr: int,
        stack: Stack,
        slices: int | None,
        optimizer: str | None,
        moved: float | None,
    ) -> None:
        """Record a write, which made the tensor an output of a node; that of its base `slices` it, if that is new."""
        told = TensorWritten, tensor, name, version, value, node, output_nr, stack, slices, optimizer, moved
        self._raw.append(told)

    def _put_grad_changed(self, tensor: int, grad: Any, name: str, stack: Stack) -> None:
        """Record that a tensor's gradient is another, or was written by the operation of this name."""
        self._raw.append((GradChanged, tensor, grad, name, stack))

    def _put_shown(self, tensor: int, line: Line) -> None:
        """Record that the graph of a tensor is shown."""
        self._raw.append((TensorShown, tensor, line))

    # Modules and optimizers.

    def _put_called(
        self,
        name: str,
        module: str,
        found: dict[int, Any],
        parameters: tuple[tuple[str, int], ...],
        grad: bool,
        training: bool,
        modes: tuple[tuple[Any, ...], ...],
        line: Line,
        flags: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Record the call of an outermost module; ModuleCalled explains the arguments."""
        told = ModuleCalled, name, module, tuple(found.values()), parameters, grad, training, modes, line, flags
        self._raw.append(told)

    def _put_groups(
        self, optimizer: str, number: int, found: dict[int, Any], groups: tuple[tuple[Any, ...], ...], line: Line
    ) -> None:
        """Record the groups of an optimizer: the learning rate and the parameters of each."""
        self._raw.append((OptimizerFound, optimizer, number, tuple(found.values()), groups, line))

    # Nodes.

    def _put_node(
        self,
        serial: int,
        name: str,
        kind: type | None,
        found: bool,
        edges: tuple[Any, ...],
        given: tuple[Any, ...],
        tensors: dict[int, Any],
        saved: tuple[Any, ...],
        stack: Stack | None,
        entry: Any,
        outputs: int = 1,
        attributes: tuple[Any, ...] = (),
        zeros: tuple[int, ...] = (),
        pushing: int | None = None,
        runs: int | None = None,
        line: Line = None,
    ) -> None:
        """Record a node; NodeCreated explains the arguments. A `found` node existed before the recording."""
        told = NodeCreated, serial, name, kind, found, edges, given, tuple(tensors.values()), saved, stack
        more = pushing, attributes, entry, outputs, runs, zeros, line
        self._raw.append(told + more)  # in half the time of unpacking them

    def _put_gone(self, nodes: Iterable[int]) -> None:
        """Record nodes that nothing refers to any more."""
        self._raw.append((NodesGone, tuple(nodes)))

    # A backward pass, by its serial number.

    def _put_backward(
        self,
        task: int,
        roots: tuple[tuple[int, int, Any], ...],
        targets: tuple[int, ...] | None,
        keep_graph: bool,
        create_graph: bool,
        stack: Stack,
    ) -> None:
        """Record the beginning of a backward pass: the places and outputs with the seeds, and the wanted places."""
        self._raw.append((BackwardStarted, task, roots, targets, keep_graph, create_graph, stack))

    def _put_started(self, task: int, place: int, grads: Copies) -> None:
        """Record that a node or a leaf has all its gradients, and runs."""
        self._raw.append((NodeStarted, task, place, grads))

    def _put_finished(self, task: int, node: int, grads: Copies) -> None:
        """Record what a node sends."""
        self._raw.append((NodeFinished, task, node, grads))

    def _put_freed(self, node: int) -> None:
        """Record that a node's saved tensors are freed."""
        self._raw.append((SavedFreed, node))

    def _put_captured(self, task: int, place: int, output_nr: int, grad: Any) -> None:
        """Record a gradient that is returned to the caller."""
        self._raw.append((GradCaptured, task, place, output_nr, grad))

    def _put_over(self, task: int) -> None:
        """Record the end of a backward pass."""
        self._raw.append((BackwardFinished, task))

    def left_with(self, error: BaseException | None, missing: tuple[Called, tuple[str, int]] | None = None) -> None:
        """End the recording's block, with an error or without, and record whether it caught earlier errors.

        `missing` is the tensor whose `.grad` was None where the error came, or the operation or layer that raised it in
        forward.
        """
        if error is not None and not self._has_noted(error):
            if missing is not None:
                self._put_failed(None, None, type(error).__name__, str(error), (), missing[1], None, False, missing[0])
            elif known_error(str(error)):
                users = users_frames(error)
                line = users[-1][1] if users else None
                self._put_failed(None, None, type(error).__name__, str(error), (), line)
        failed = next((raw for raw in reversed(self._raw) if raw[0] in (Failed, FailuresCaught)), None)
        if failed is None or failed[0] is FailuresCaught or isinstance(error, Ended):
            return
        words = value_of(failed, "error"), value_of(failed, "message")
        while error is not None and (type(error).__name__, str(error)) != words:
            error = error.__cause__ or error.__context__
        if error is None:
            self._raw.append((FailuresCaught,))

    def _has_noted(self, error: BaseException) -> bool:
        words = type(error).__name__, str(error)
        return any((value_of(raw, "error"), value_of(raw, "message")) == words for raw in self._raw if raw[0] is Failed)

    def _put_unseen(self, counts: Mapping[str, int]) -> None:
        """Record how many unrecorded backward passes threads have run, by the thread's name."""
        self._raw += [(BackwardsUnseen, *each) for each in counts.items()]

    def miss_engine(self, engine: str, nodes: int) -> None:
        """Record that another engine has made this many nodes, if this one did nothing."""
        if nodes and not self._raw:
            self._raw.append((EngineUnseen, engine, nodes))

    def _put_failed(
        self, task: int | None, place: int | None, error: str, message: str, about: tuple[int, ...] = (), *more: Any
    ) -> None:
        """Record an error by its message only: its traceback would keep every tensor of the failed call."""
        self._raw.append((Failed, task, place, error, message, about, *more))

    # The user's hooks.

    def _put_hooks(self, places: Iterable[tuple[int, Hooks]]) -> None:
        """Record which hooks are at these places, if they have changed."""
        news: list[tuple[int, Hooks]] = []
        for place, hooks in places:
            if hooks != self._hooks.get(place, ()):
                self._hooks[place] = hooks
                news.append((place, hooks))
        if news:
            self._raw.append((HooksFound, tuple(news)))

    def _put_hook(
        self, task: int, place: int, hook: tuple[Any, ...], before: tuple[Any, ...], after: tuple[Any, ...]
    ) -> None:
        """Record what a hook did; after an accumulation, it is recorded together with that."""
        (self._late if hook[0] == "accumulated" else self._raw).append((HookRan, task, place, hook, before, after))

    def _take_late(self, leaf: int) -> list[Raw]:
        """Return what hooks did since a gradient was added to a leaf's."""
        if not self._late:
            return []
        told, self._late = [each for each in self._late if value_of(each, "node") == leaf], []
        return told

    def _forget_late(self, task: int) -> None:
        """Forget what hooks of a finished task did after an unrecorded accumulation."""
        self._late = [each for each in self._late if value_of(each, "task") != task]

    def _put_accumulated(self, task: int, leaf: int, grad: Any, late: list[Raw]) -> None:
        """Record a leaf's new gradient: its value before hooks, and what these did after that."""
        self._raw.append((GradAccumulated, task, leaf, value_of(late[0], "before")[0] if late else grad))
        self._raw += late
