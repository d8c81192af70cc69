"""Recording a PyTorch program: the basis of `workbench.record(torch)`, `show(tensor)` and `explain(error)`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import islice
from types import FrameType
from typing import Any

import torch

from ...events import next_tag
from ...pictures.trace.chapters import InChapters, check_last
from ...pictures.trace.hooks import nodes_behind
from ...pictures.trace.line_recorder import LineWatcher, unwatch, watch
from ...pictures.trace.outside_errors import known_outside
from ...pictures.trace.source import leave_out
from ...pictures.trace.stacks import line_of, user_frame, user_frames
from .. import WRONG_VALUES
from .backward import BackwardRecorder, Wrappers
from .birthplaces import recorders
from .describe import LIMIT, _functorch, _sequence, is_python, kind_of_node, maker_of, raw_saved, version_of
from .found_scopes import FRAMES, found_out
from .operations import BirthHook, CompiledCalls, InnerValues, ModuleHooks, OperationMode, StepHook, unobserved
from .threads import Turns
from .warning_places import WarningPlaces

leave_out(os.path.dirname(str(torch.__file__)) + os.sep)


_open: list[TorchRecorder] = []  # the recordings that are going on, the innermost last


class TorchRecorder(InChapters, BackwardRecorder):
    """A recorder of a PyTorch program as raw tuples; `records()` returns records, only the `last` ones if set."""

    def __init__(self, limit: int = LIMIT, last: int | None = None) -> None:
        super().__init__(limit)
        self._keep_last(last)
        self.all = False  # whether results inside of operations are looked at too
        self._parts: list[Any] = []  # hooks, modes and wrappers, to be removed in the end
        self._compiled: CompiledCalls | None = None
        recorders[self._key] = self
        self._suspender: TorchRecorder | None = None  # which has suspended it
        self._mode_at: int | None = None  # of the mode among all modes, where it is suspended

    def begin(self, frame: FrameType | None) -> None:
        """Start recording this thread."""
        if frame is not None:
            self.sampler.begin(frame)
        self._thread = threading.get_ident()
        self._mode = OperationMode(self)
        self._turns = Turns(self, self._mode)
        try:
            self._compiled = CompiledCalls(self)
            self._install()
            self._mode.__enter__()
            _open.append(self)
        except BaseException:
            self._uninstall()
            self._turns.remove()
            raise

    def _install(self) -> None:
        for part in (WarningPlaces, BirthHook, ModuleHooks, StepHook, Wrappers, *[InnerValues] * self.all):
            self._parts.append(part(self, self._mode))

    def _uninstall(self) -> None:
        while self._parts:
            self._parts.pop().remove()

    def suspend(self) -> None:
        """Remove this thread's recordings until `resume`."""
        if self._suspender is None:
            for each in reversed(self._open_here()):
                each._suspender = self
                each._pause()

    def resume(self) -> None:
        """Continue after `suspend`."""
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
        self.hooks_on_nodes = True  # PyTorch doesn't report one that is registered meanwhile

    def _go_on(self) -> None:
        self._install()
        modes = torch.overrides._get_current_function_mode_stack()
        if self._mode_at is not None and self._mode not in modes:
            at = min(self._mode_at, len(modes))
            _set_modes([*modes[:at], self._mode, *modes[at:]], at)

    def end(self, frame: FrameType | None) -> None:
        """Stop recording."""
        try:
            if self in _open:
                _open.remove(self)
            mode = getattr(self, "_mode", None)
            if mode is not None and mode in torch.overrides._get_current_function_mode_stack():
                mode.__exit__(None, None, None)
        finally:
            self._uninstall()
            if self._compiled is not None:
                self._compiled.remove()
            self._compiled = None
            if self._turns is not None:
                self._turns.remove()
                self._put_unseen(self._turns.unheard)
        vars(self).pop("_mode", None)
        self.look_up(frame)
        self._outermost.learn()
        self._flush_deaths()
        self._hooked.clear()
        self.inside.clear()
        self._grad_owners.clear()
        self._sent = {}
        self._calls.clear()

    # The last events only.

    def _news_come(self) -> None:
        if len(self._raw) >= self._room:
            self._turn(True)

    def is_computing(self) -> bool:
        """Return True during a recorded whole: a call, a backward pass, a part that is left alone."""
        return bool(self._going or self._calls or self._before or self._suspender is not None)

    def _is_at_rest(self) -> bool:
        return not self.is_computing() and _functorch.maybe_current_level() is None

    def _let_go(self) -> None:
        if not self._going:  # a backward pass stores places among the raw events
            super()._let_go()

    def _forget_known(self) -> None:
        self._old_keys.append(self._key)
        self._key = f"workbench recording {next_tag()}"
        recorders[self._key] = self
        self._models.forget()
        self._begin = _sequence()
        self._tensors, self._hooks, self._hooked, self._grads = set(), {}, {}, {}
        self._versions, self._made, self._values, self._inner, self._born = {}, {}, {}, {}, {}
        for known in (self._known, self._grad_owners):
            for gone in [at for at, each in known.items() if each[0]() is None]:
                del known[gone]
        self._storages = {at: each for at, each in self._storages.items() if not each[0].expired()}
        self._sharers = {serial: own for serial, own in self._sharers.items() if own() is not None}

    def _forget_older(self, serial: int, known: set[int]) -> None:
        self._cuts.forget(serial, known)
        for facts in (self._names, self._detached):
            for old in [each for each in facts if each < serial and each not in known]:
                del facts[old]
        for key in [each for each in self._old_keys[:-1] if int(each.rpartition(" ")[2]) < serial]:
            self._old_keys.remove(key)
            recorders.pop(key, None)

    def show(self, tensor: torch.Tensor, frame: FrameType | None) -> None:
        """Record the current graph of a tensor."""
        self._begin = 1 << 63
        self.look_up(frame)
        found: dict[int, tuple[Any, ...]] = {}
        made = maker_of(tensor)
        if made is not None:
            about = found_out(nodes_behind([made]), [*islice(user_frames(), FRAMES)])
            self._born.update(about.places)
            if self._token(made) is None:
                self._note_nodes(made, (), [tensor], None, 1 << 64, None)
            self._born.clear()
            self._learn(about.named)
        self.look_up(frame)
        if frame is not None:
            self._tell_assigned(frame)
        self._describe(tensor, found)
        self._tell(found)
        self._put_shown(self._tag(tensor), line_of(frame))


def _set_modes(modes: list[Any], same: int) -> None:
    """Activate these function modes; the given number at the bottom is active already."""
    for _ in range(torch._C._len_torch_function_stack() - same):
        torch.overrides._pop_mode()
    for each in modes[same:]:
        torch.overrides._push_mode(each)


class TorchLineRecorder(LineWatcher, TorchRecorder):
    """A recorder that also watches the methods of Functions."""

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

    def _is_at_rest(self) -> bool:
        return not self._methods and super()._is_at_rest()

    def called(self, frame: FrameType) -> None:
        """Record which method starts."""
        with unobserved():
            super().called(frame)

    def reached(self, frame: FrameType) -> None:
        """Record what changed since the line before."""
        with unobserved():
            super().reached(frame)

    def ended(self, frame: FrameType, value: Any, error: BaseException | None) -> None:
        """Record what it returns, or which error leaves it."""
        with unobserved():
            super().ended(frame, value, error)


class TorchRecording:
    """Record PyTorch in a `with` block, and return the trace; the program stays the same.

    Tensors with more than `limit` values are stored as a summary. `lines` also records the lines of Functions' methods.
    `values="all"` also records results inside operations, with a dispatch mode; under it PyTorch creates other nodes
    for some reshapes (ViewBackward0 instead of ReshapeAliasBackward0). `last` limits the number of events, as in
    `record(last=...)`.
    """

    def __init__(
        self,
        trace: Callable[[TorchRecorder], Any],
        limit: int = LIMIT,
        lines: bool = False,
        values: str = "seen",
        last: int | None = None,
    ) -> None:
        check_last(last)
        if values not in ("seen", "all"):
            raise ValueError(WRONG_VALUES.format(values))
        self._trace, self._limit, self._lines, self._all, self._last = trace, limit, lines, values == "all", last
        self._open: list[TorchRecorder] = []

    def __enter__(self) -> Any:
        limit, last = self._limit, self._last
        recorder = (
            TorchLineRecorder(torch.autograd.Function, limit, last) if self._lines else TorchRecorder(limit, last)
        )
        recorder.all = self._all
        trace = self._trace(recorder)
        recorder.begin(user_frame())
        try:
            if isinstance(recorder, TorchLineRecorder):
                watch(recorder)
            self._open.append(recorder)
        except BaseException:
            _leave(recorder, None)
            raise
        return trace

    def __exit__(self, *error: Any) -> None:
        recorder = self._open[-1]
        try:
            _leave(recorder, user_frame())
        except BaseException:  # an interrupt: what it has left out is done now
            _leave(recorder, None)
            raise
        finally:
            del self._open[-1]
        left = error[1] if error else None
        recorder.left_with(left, known_outside(left))


def _leave(recorder: TorchRecorder, frame: FrameType | None) -> None:
    """Stop recording; a second call has no effect."""
    try:
        if isinstance(recorder, TorchLineRecorder):
            unwatch(recorder)
    finally:
        recorder.end(frame)
