"""What is known of an error of a PyTorch backward pass: the node that failed, from records or from the remaining graph.

Without a recording, the error contains neither node nor line. The graph of the outputs still exists and shows more. A
node of a Function is the `ctx` of its `backward`. A built-in node is found by its saved tensors: unpacking them raises
the same message. If several do, the first in the engine's order failed, and those before it have run and are freed. If
this leaves several nodes, none is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from types import FrameType
from typing import Any, Literal

import torch

from ...pictures.trace.advised import known_error
from ...pictures.trace.error_frames import blamed, called_in, frames_of
from ...pictures.trace.facts import Called
from ...pictures.trace.forward_records import NodeCreated
from ...pictures.trace.hooks import nodes_behind
from ...pictures.trace.names import named_in
from ...pictures.trace.schema import Record, replaced, value_of
from ...pictures.trace.source import OWN, is_users
from .backward import has_graph
from .describe import AccumulateGrad, is_python
from .driver import node_of
from .operations import unobserved
from .recorder import TorchRecorder
from .versions import TELLS_SAVED, kept_in

_WRITTEN = re.compile(r"is at version \d+; expected version (\d+)")
_NAN = re.compile(r"Function '(\w+)' returned nan values")
_TWICE = "backward through the graph a second time"
_HINT = " Hint:"
_BRIDGES = OWN[0] + os.path.join("bridges", "")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known of an error: the records up to it, the failed node's name, and two of the user's lines.

    These are the line that called the backward pass and the innermost one in the traceback. The name is empty if it
    isn't known which node failed. The user's function that the engine called, and the tensors of the error, may be
    known.
    """

    records: list[Record]
    node: str
    line: tuple[str, int] | None
    raised: tuple[str, int] | None
    called: Called | None = None
    tensors: list[str] = field(default_factory=list)


def failure_of(error: BaseException) -> Failure | None:
    """Return what is known of an error; None unless PyTorch's autograd raised it."""
    frames = frames_of(error)
    called_by_engine = called_in(error)
    raised = next((line for frame, line in reversed(frames) if is_users(line[0])), None)
    engines = [at for at, (f, _) in enumerate(frames) if f.f_code.co_name == "_engine_run_backward"]
    outermost = engines[0] if engines else None
    called = [frame for frame, line in frames[:outermost] if is_users(line[0])]
    line = next((line for frame, line in reversed(frames[:outermost]) if is_users(line[0])), None)
    recorded = getattr(error, "__dict__", {}).get("_workbench_failure")
    if recorded is not None:
        recorder, count, node = recorded
        return Failure(recorder.records(count), node, line, raised, called_by_engine)
    finder = _GraphFinder()
    if engines:
        with unobserved():
            node = finder.find(error, _failed_in(error), called[-1] if called else None)
        return Failure(finder.records(), node, line, raised, called_by_engine)
    if known_error(str(error)) is None or not (frames and _is_of_torch(frames[-1][0])):
        return None
    ids = finder.find_refused(error, _blamed(error, called, line), called[-1] if called else None)
    return Failure(finder.records(), "", line, raised, called_by_engine, ids)


def _blamed(error: BaseException, frames: Sequence[FrameType], line: tuple[str, int] | None) -> list[Any]:
    """Return the PyTorch tensor in a line that was refused, if there is one."""
    if not frames or line is None:
        return []
    with unobserved():
        tensor = blamed(str(error), line, named_in(frames[-1], lambda each: isinstance(each, torch.Tensor)))
    return [] if tensor is None else [tensor]


def _is_of_torch(frame: FrameType) -> bool:
    """Return True if PyTorch raised the error in this frame, and not the workbench's own engine."""
    file = frame.f_code.co_filename
    return not file.startswith(OWN[0]) or file.startswith(_BRIDGES)


def culprit_of(error: BaseException) -> Any:
    """Return the node that raised an error of a backward pass, from what still exists; None if several could be it."""
    with unobserved():
        return _failed_in(error).culprit()[0]


def _failed_in(error: BaseException) -> _Backward:
    """Return the backward pass that failed: the innermost, as the others wait for it."""
    frames = [frame for frame, _ in frames_of(error)]
    at = max(at for at, frame in enumerate(frames) if frame.f_code.co_name == "_engine_run_backward")
    return _Backward(frames[at:], str(error))


class _GraphFinder(TorchRecorder):
    """Record what still exists of a graph, and then the error."""

    def find(self, error: BaseException, ran: _Backward, frame: FrameType | None) -> str:
        """Record the graph of a backward pass; return the name of the node that failed, if it is known."""
        self._begin = 1 << 63
        self.look_up(frame)  # what a node has saved may be in no graph but by its name
        found: dict[int, tuple[Any, ...]] = {}
        for output in ran.outputs:
            self._place_of(output, found)
        node, slot = ran.culprit()
        self.look_up(frame)
        for output in ran.outputs:
            self._describe(output, found)
        self._tell(found)
        serial = None if node is None else self._serial(node)
        written = _WRITTEN.search(str(error))
        if slot and written is not None:
            self._saved_then(serial, slot, int(written[1]))
        self._put_failed(None, serial, type(error).__name__, str(error))
        return "" if node is None else str(node.name()).rpartition("::")[2]

    def find_refused(self, error: BaseException, tensors: list[Any], frame: FrameType | None) -> list[str]:
        """Record the graph of the tensors that an operation was refused for, and the error; return their ids."""
        self._begin = 1 << 63
        with unobserved():
            self.look_up(frame)
            found: dict[int, tuple[Any, ...]] = {}
            for each in tensors:
                self._place_of(each, found)
                self._describe(each, found)
            self._tell(found)
            self._put_failed(None, None, type(error).__name__, str(error))
            return self.ids_of(tensors)

    def _saved_then(self, node: int | None, slot: str, version: int) -> None:
        """Record the version that a tensor had when the node saved it; PyTorch only exposes that it is another now."""
        for at, raw in enumerate(self._raw):
            if raw[:2] == (NodeCreated, node):
                kept = value_of(raw, "saved")
                saved = tuple([(*each[:3], version, *each[4:]) if each[0] == slot else each for each in kept])
                self._raw[at] = replaced(raw, saved=saved)


@dataclass(frozen=True, slots=True)
class _State:
    """The state of a node's saved tensors: none, all present, freed, or one that can't be read any longer."""

    kind: Literal["nothing", "there", "freed", "broken"]
    slot: str = ""
    words: str = ""  # what reading the slot raises


class _Backward:
    """A backward pass that failed, from its frames: the engine's first, then those of a Function's `backward`."""

    def __init__(self, frames: Sequence[FrameType], message: str) -> None:
        told = frames[0].f_locals
        self.outputs: tuple[Any, ...] = tuple(told.get("t_outputs", ()))
        _, keeps, _, inputs = (*told.get("args", ()), None, None, None, None)[:4]
        self._keeps = bool(keeps)
        self._frames, self._message = frames[1:], message
        self._targets = [node_of(each) for each in inputs or () if has_graph(each)]

    def culprit(self) -> tuple[Any, str]:
        """Return the node that failed and the saved tensor that caused it; None if several could be it."""
        roots = [node_of(each) for each in self.outputs if has_graph(each)]
        nodes = nodes_behind(roots)
        if (own := self._called(nodes)) is not None:
            return own, next((each.slot for each in _slots_of(own) if self._raises_same(each)), "")
        order = list(_order(roots, nodes, self._targets))
        if named := _NAN.search(self._message):
            return _only(self._returned_nan(order, named[1])), ""
        states = [(node, _state_of(node)) for node in order]
        if _WRITTEN.search(self._message):
            return self._written(states)
        if _TWICE in self._message:
            return _only(self._freed_before(states)), ""
        return None, ""

    def _called(self, nodes: Iterable[Any]) -> Any:
        """Return the node whose Function's `backward` raised the error."""
        for frame in reversed(self._frames):
            first = frame.f_locals.get(frame.f_code.co_varnames[0]) if frame.f_code.co_argcount else None
            if own := [node for node in nodes if node is first and is_python(node)]:
                return own[0]
        return None

    def _written(self, states: list[tuple[Any, _State]]) -> tuple[Any, str]:
        """Return the first in order that can't read what it saved; those before it have run."""
        told = [(node, each) for node, _ in states for each in _slots_of(node) if self._raises_same(each)]
        first = {node: each.slot for node, each in reversed(told)}
        if len(first) == 1:
            return next(iter(first.items()))
        if len({str(place.device) for node, _ in states for place in node._input_metadata}) > 1:
            return None, ""  # each device has a queue of its own
        passed = ("nothing", "there") if self._keeps else ("nothing", "freed")
        node = next((node for node, state in states if state.kind not in passed), None)
        return (node, first[node]) if node in first else (None, "")

    def _raises_same(self, slot: _State) -> bool:
        """Return True if reading this saved tensor raises the same error, up to a hint that depends on the mode."""
        return bool(slot.words) and slot.words.partition(_HINT)[0] == self._message.partition(_HINT)[0]

    def _freed_before(self, states: list[tuple[Any, _State]]) -> list[Any]:
        """Return the nodes that may have been freed when this backward pass reached them."""
        found = []
        for node, state in states:
            if state.kind == "freed":
                found.append(node)
            if state.kind == "there" and not self._keeps or found and self._keeps:
                break
        return found

    def _returned_nan(self, order: list[Any], name: str) -> list[Any]:
        """Return the nodes of a name that may have run last: all before them are freed, and none after them."""
        states = [_state_of(node).kind for node in order]
        found = []
        for at, node in enumerate(order):
            ran, left = states[: at + 1], states[at + 1 :]
            if node.name() == name and (self._keeps or "there" not in ran and "freed" not in left):
                found.append(node)
        return found


def _only(nodes: list[Any]) -> Any:
    return nodes[0] if len(nodes) == 1 else None


def _order(roots: list[Any], nodes: list[Any], targets: list[Any]) -> Iterable[Any]:
    """Return the nodes in the engine's order: the latest created of those that are ready.

    With `targets`, only those that lead to one of them.
    """
    waiting: dict[Any, int] = {}
    leading: dict[Any, list[Any]] = {}
    for node in nodes:
        for to, _ in node.next_functions:
            if to is not None:
                waiting[to] = waiting.get(to, 0) + 1
                leading.setdefault(to, []).append(node)
    wanted, todo = set(), list(targets)
    while todo:
        for node in leading.get(todo.pop(), ()):
            if node not in wanted:
                wanted.add(node)
                todo.append(node)
    ready = [(-node._sequence_nr(), at, node) for at, node in enumerate(dict.fromkeys(roots)) if not waiting.get(node)]
    heapify(ready)
    count = len(ready)
    while ready:
        node = heappop(ready)[2]
        if type(node) is not AccumulateGrad and (not targets or node in wanted):
            yield node
        for to, _ in node.next_functions:
            if to is not None:
                waiting[to] -= 1
                if not waiting[to]:
                    count += 1
                    heappush(ready, (-to._sequence_nr(), count, to))


def _state_of(node: Any) -> _State:
    """Return the state of what a node saved: broken if any of it is, freed if any of it is."""
    found = {state.kind: state for state in reversed(_slots_of(node))}
    return next((found[kind] for kind in ("broken", "freed", "there") if kind in found), _State("nothing"))


def _slots_of(node: Any) -> list[_State]:
    """Return each of a node's saved tensors, those that a hook packed still packed."""
    found = []
    for name in [each for each in dir(type(node)) if each.startswith("_raw_saved_")]:
        slot = name.removeprefix("_raw_saved_")
        slot = "saved_tensors" if is_python(node) else slot
        try:
            raw = getattr(node, name)
        except RuntimeError:
            found.append(_State("freed", slot))
            continue
        several = isinstance(raw, tuple | list)
        for at, each in enumerate(raw if several else (raw,)):
            called = f"{slot}[{at}]" if several else slot
            if each is not None and (words := _refusal(node, name, each)) is not None:
                found.append(_State("freed" if _TWICE in words else "broken" if words else "there", called, words))
    return found


def _refusal(node: Any, attribute: str, saved: Any) -> str | None:
    """Return the error of reading a saved tensor, "" if it can be read; None if it is empty."""
    if not TELLS_SAVED:
        return ""
    try:
        if kept_in(saved)[1] is not None:
            return ""
        try:
            return None if saved.unpack() is None else ""
        except RuntimeError as error:
            if _TWICE in str(error) or _WRITTEN.search(str(error)) or is_python(node):
                raise
            getattr(node, attribute.removeprefix("_raw"))  # a result: it is read with the node that made it
            return ""
    except RuntimeError as error:
        return str(error) if _TWICE in str(error) or _WRITTEN.search(str(error)) else ""
