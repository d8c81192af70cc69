"""Recording a PyTorch program: what `workbench.record(torch)`, `show(tensor)` and `explain(error)` stand on."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from ...trace.line_recorder import LineWatcher, unwatch, watch
from ...trace.records import Failed, NodeCreated, TensorsFound, TensorShown
from ...trace.schema import Record
from ...trace.source import is_users, leave_out, line_of, methods_of, user_frame
from .. import WRONG_VALUES
from .backward import BackwardRecorder, Wrappers
from .describe import LIMIT, is_python, kind_of_node, nodes_behind, raw_saved, version_of
from .operations import BirthHook, CompiledCalls, InnerValues, ModuleHooks, OperationMode, unobserved

leave_out(os.path.dirname(str(torch.__file__)) + os.sep)


_open: list[TorchRecorder] = []  # the recordings that are going on, the innermost last


class TorchRecorder(BackwardRecorder):
    """Keeps what a PyTorch program does as raw tuples; `records()` makes records of them."""

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self.all = False  # whether results inside of operations are looked at too
        self._parts: list[Any] = []  # hooks, modes and wrappers, to be removed in the end
        self._compiled: CompiledCalls | None = None
        self._suspender: TorchRecorder | None = None  # which has suspended it
        self._mode_at: int | None = None  # of the mode among all modes, where it is suspended

    def begin(self, frame: FrameType | None) -> None:
        """From now on record this thread."""
        if frame is not None:
            self.outlook.begin(frame)
        self._thread = threading.get_ident()
        self._mode = OperationMode(self)
        try:
            self._compiled = CompiledCalls(self)
            self._install()
            self._mode.__enter__()
            _open.append(self)
        except BaseException:
            self._uninstall()
            raise

    def _install(self) -> None:
        for part in (BirthHook, ModuleHooks, Wrappers, *[InnerValues] * self.all):
            self._parts.append(part(self, self._mode))

    def _uninstall(self) -> None:
        while self._parts:
            self._parts.pop().remove()

    def suspend(self) -> None:
        """Until `resume` nothing of this thread's recordings is there."""
        if self._suspender is None:
            for each in reversed(self._open_here()):
                each._suspender = self
                each._pause()

    def resume(self) -> None:
        """Go on where `suspend` has stopped."""
        if self._suspender is self:
            for each in self._open_here():
                each._suspender = None
                each._go_on()

    def _open_here(self) -> list[TorchRecorder]:
        return [each for each in _open if each._thread == self._thread]

    def _pause(self) -> None:
        modes = torch.overrides._get_current_function_mode_stack()
        self._mode_at = modes.index(self._mode) if self._mode in modes else None
        if self._mode_at is not None:
            _set_modes([each for each in modes if each is not self._mode], self._mode_at)
        self._uninstall()
        self.hooks_on_nodes = True  # nobody tells whether one is registered meanwhile

    def _go_on(self) -> None:
        self._install()
        modes = torch.overrides._get_current_function_mode_stack()
        if self._mode_at is not None and self._mode not in modes:
            at = min(self._mode_at, len(modes))
            _set_modes([*modes[:at], self._mode, *modes[at:]], at)

    def end(self, frame: FrameType | None) -> None:
        """Record no longer."""
        try:
            if self in _open:
                _open.remove(self)
            if self._mode in torch.overrides._get_current_function_mode_stack():
                self._mode.__exit__(None, None, None)
        finally:
            self._uninstall()
            if self._compiled is not None:
                self._compiled.remove()
            self._compiled = None
            del self._mode
        self.look_up(frame)
        self._note_deaths()
        self._hooked.clear()
        self.inside.clear()
        self._grad_owners.clear()
        self._sent = {}
        self._calls.clear()

    def show(self, tensor: torch.Tensor, frame: FrameType | None) -> None:
        """Note the graph that made a tensor, as it is."""
        self._begin = 1 << 63
        self.look_up(frame)
        found: dict[int, tuple[Any, ...]] = {}
        made = tensor.grad_fn
        if made is not None:
            self._place(made, found)
        self.look_up(frame)
        self._describe(tensor, found)
        self._raw.append(TensorsFound.Raw(tuple(found.values())))
        self._raw.append(TensorShown.Raw(self._tag(tensor), line_of(frame)))


def _set_modes(modes: list[Any], same: int) -> None:
    """Have these modes of functions active, of which so many at the bottom already are."""
    for _ in range(torch._C._len_torch_function_stack() - same):
        torch.overrides._pop_mode()
    for each in modes[same:]:
        torch.overrides._push_mode(each)


class TorchLineRecorder(LineWatcher, TorchRecorder):
    """A recorder that also watches the methods of Functions."""

    def _is_tensor(self, thing: Any) -> bool:
        return isinstance(thing, torch.Tensor)

    def _version(self, tensor: Any) -> int:
        return version_of(tensor)

    def _number_of(self, ctx: Any) -> int | None:
        token = self._token(ctx) if is_python(ctx) else None
        return None if token is None else token.serial

    def _saved_by(self, ctx: Any) -> list[Any]:
        waiting = getattr(ctx, "to_save", None)
        if waiting:
            return list(waiting)
        return [thing for _, thing, _ in raw_saved(ctx, kind_of_node(type(ctx)))] if is_python(ctx) else []

    def called(self, frame: FrameType) -> None:
        """Note which method begins."""
        with unobserved():
            super().called(frame)

    def reached(self, frame: FrameType) -> None:
        """Note what is new since the line before."""
        with unobserved():
            super().reached(frame)

    def ended(self, frame: FrameType, value: Any, error: BaseException | None) -> None:
        """Note what it returns, or which error leaves it."""
        with unobserved():
            super().ended(frame, value, error)


class TorchRecording:
    """Records what PyTorch does in a `with` block, and gives the trace; the program is left as it is.

    Tensors of more than `limit` values are kept as a summary. With `lines` the lines of Functions' methods are recorded
    too. With `values="all"` results inside of operations are looked at as well: a dispatch mode does that, under which
    PyTorch itself makes other nodes of some reshapes (ViewBackward0 where it is else ReshapeAliasBackward0).
    """

    def __init__(
        self, trace: Callable[[TorchRecorder], Any], limit: int = LIMIT, lines: bool = False, values: str = "seen"
    ) -> None:
        if values not in ("seen", "all"):
            raise ValueError(WRONG_VALUES.format(values))
        self._trace, self._limit, self._lines, self._all = trace, limit, lines, values == "all"
        self._open: list[TorchRecorder] = []

    def __enter__(self) -> Any:
        lines = self._lines
        recorder = TorchLineRecorder(torch.autograd.Function, self._limit) if lines else TorchRecorder(self._limit)
        recorder.all = self._all
        trace = self._trace(recorder)
        recorder.begin(user_frame())
        if isinstance(recorder, TorchLineRecorder):
            watch(recorder)
        self._open.append(recorder)
        return trace

    def __exit__(self, *error: Any) -> None:
        recorder = self._open.pop()
        if isinstance(recorder, TorchLineRecorder):
            unwatch(recorder)
        recorder.end(user_frame())


# What is known of an error of a backward.

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
    finder = _GraphFinder()
    with unobserved():
        node = finder.find(error, outputs, called[-1] if called else None)
    return Failure(finder.records(), node, line, raised)


class _GraphFinder(TorchRecorder):
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
