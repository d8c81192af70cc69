"""The graph behind an error of PyTorch's backward: as it was recorded, else found from the error's own frames."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from ...trace.records import Failed, NodeCreated, TensorsFound
from ...trace.schema import Record
from ...trace.source import is_users, methods_of
from .describe import is_python
from .operations import unobserved
from .recorder import TorchRecorder

_WRITTEN = re.compile(r"is at version (\d+); expected version (\d+)")
_NAN = re.compile(r"Function '(\w+)' returned nan values")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known of an error: the records up to it, the failing node's name, and two lines of the user's.

    These are the one that called the backward and the innermost one on the error's way.
    """

    records: list[Record]
    node: str
    line: tuple[str, int] | None
    raised: tuple[str, int] | None


def failure_of(error: BaseException) -> Failure | None:
    """What is known of an error; None where no backward of PyTorch's raised it."""
    frames = _frames_of(error)
    raised = next((line for frame, line in reversed(frames) if is_users(line[0])), None)
    engine = next((at for at, (f, _) in enumerate(frames) if f.f_code.co_name == "_engine_run_backward"), None)
    called = [frame for frame, line in frames[:engine] if is_users(line[0])]
    line = next((line for frame, line in reversed(frames[:engine]) if is_users(line[0])), None)
    recorded = getattr(error, "__dict__", {}).get("_workbench_failure")
    if recorded is not None:
        recorder, count, node = recorded
        return Failure(recorder.records(count), node, line, raised)
    if engine is None:
        return None
    outputs = frames[engine][0].f_locals.get("t_outputs", ())
    finder = _Finder()
    with unobserved():
        node = finder.find(error, outputs, called[-1] if called else None)
    return Failure(finder.records(), node, line, raised)


class _Finder(TorchRecorder):
    """Puts down what is still there of a graph, and then the error."""

    def find(self, error: BaseException, outputs: Any, frame: FrameType | None) -> str:
        """The graph behind the outputs; the name of the node that failed."""
        self._begin = 1 << 63
        self.look_up(frame)  # what a node has saved may be in no graph but by its name
        found: dict[int, tuple[Any, ...]] = {}
        for output in outputs:
            self._place_of(output, found)
        nodes = nodes_behind([output.grad_fn for output in outputs if isinstance(output, torch.Tensor)])
        node, slot = culprit_of(error, nodes)
        self.look_up(frame)
        for output in outputs:
            self._describe(output, found)
        self._raw.append(TensorsFound.Raw(tuple(found.values())))
        serial = None if node is None else self._serial(node)
        version = expected_version(error)
        if slot and version is not None:
            self._saved_then(serial, slot, version)
        self._raw.append(Failed.Raw(None, serial, type(error).__name__, str(error)))
        return "" if node is None else str(node.name()).rpartition("::")[2]

    def _saved_then(self, node: int | None, slot: str, version: int) -> None:
        """A tensor had this version when the node saved it: now it has another, which is all that PyTorch tells."""
        for at, raw in enumerate(self._raw):
            if isinstance(raw, NodeCreated.Raw) and raw.node == node:
                saved = tuple([(*each[:3], version, *each[4:]) if each[0] == slot else each for each in raw.saved])
                self._raw[at] = raw._replace(saved=saved)


def nodes_behind(starts: list[Any]) -> list[Any]:
    """These nodes and all that their gradients can go to."""
    met = {node: None for node in starts if node is not None}
    todo = list(met)
    while todo:
        for to, _ in todo.pop().next_functions:
            if to is not None and to not in met:
                met[to] = None
                todo.append(to)
    return list(met)


def _frames_of(error: BaseException) -> list[tuple[FrameType, tuple[str, int]]]:
    """The frames on an error's way, the outermost first, each with the line it was at."""
    found = []
    way = error.__traceback__
    while way is not None:
        found.append((way.tb_frame, (way.tb_frame.f_code.co_filename, way.tb_lineno)))
        way = way.tb_next
    return found


def culprit_of(error: BaseException, nodes: list[Any]) -> tuple[Any, str | None]:
    """The node that failed, of those that can have run, and which of what it saved is to blame."""
    message = str(error)
    nodes = sorted(nodes, key=lambda node: -node._sequence_nr())
    if named := _NAN.search(message):
        return next((node for node in nodes if node.name() == named[1]), None), None
    codes = {frame.f_code for frame, _ in _frames_of(error)}
    for node in nodes:
        own = node._forward_cls if is_python(node) else None
        methods = [] if own is None else [getattr(own, each.name, None) for each in methods_of(own)]
        if any(getattr(method, "__code__", None) in codes for method in methods):
            return node, _first_broken(node)
    if "modified by an inplace operation" in message or "backward through the graph a second time" in message:
        for node in nodes:
            if (slot := _first_broken(node)) is not None:
                return node, slot
    return None, None


def _first_broken(node: Any) -> str | None:
    """Which of what a node saved cannot be read any more; "" if all of it is freed."""
    try:
        for name in [each for each in dir(type(node)) if each.startswith("_raw_saved_")]:
            raw = getattr(node, name)
            for at, each in enumerate(raw if isinstance(raw, tuple | list) else (raw,)):
                if each is None or each.unpack_hook is not None:
                    continue
                try:
                    each.unpack()
                except RuntimeError:
                    slot = name.removeprefix("_raw_saved_")
                    return f"{'saved_tensors' if is_python(node) else slot}[{at}]" if raw is not each else slot
    except RuntimeError:
        return ""
    return None


def expected_version(error: BaseException) -> int | None:
    """The version that a tensor had when it was saved, as the message of a write says it."""
    found = _WRITTEN.search(str(error))
    return None if found is None else int(found[2])
