"""Recording a PyTorch program: what `workbench.record(torch)` and `workbench.show(tensor)` stand on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

import torch

from ...trace.caller import leave_out, line_of, user_frame
from .backwards import TorchListener, Wrapped
from .hearing import Listening, ModuleHooks
from .values import LIMIT

leave_out(os.path.dirname(torch.__file__) + os.sep)


class TorchRecorder(TorchListener):
    """Keeps what a PyTorch program does as raw tuples; `records()` gives what it heard."""

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._parts: list[Any] = []  # what listens, to be taken off in the end

    @property
    def note(self) -> str:
        """What there was that it could not see."""
        if not self.unseen:
            return ""
        several = f"{self.unseen:,} operations" if self.unseen > 1 else "1 operation"
        return f"{several} inside of function transforms (torch.func) could not be seen"

    def begin(self, frame: FrameType | None) -> None:
        """From now on listen to this thread."""
        if frame is not None:
            self.outlook.begin(frame)
        self._thread = threading.get_ident()
        mode = Listening(self)
        self._parts = [ModuleHooks(self, mode), Wrapped(self, mode)]
        mode.__enter__()
        self._mode = mode

    def end(self, frame: FrameType | None) -> None:
        """Listen no longer."""
        try:
            if self._mode in torch.overrides._get_current_function_mode_stack():
                self._mode.__exit__(None, None, None)
        finally:
            for part in reversed(self._parts):
                part.remove()
            self._parts = []
            del self._mode
        self.look_up(frame)
        self._bury()
        self._hooked.clear()
        self._slots.clear()
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
        self._raw.append(("found", tuple(found.values())))
        self._raw.append(("shown", self._tag(tensor), line_of(frame)))


class TorchRecording:
    """Records what PyTorch does in a `with` block, and gives the trace; the program is left as it is.

    Tensors of more than `limit` values are kept as a summary.
    """

    def __init__(self, trace: Callable[[TorchRecorder], Any], limit: int = LIMIT) -> None:
        self._trace, self._limit = trace, limit
        self._open: list[TorchRecorder] = []

    def __enter__(self) -> Any:
        recorder = TorchRecorder(self._limit)
        trace = self._trace(recorder)
        recorder.begin(user_frame())
        self._open.append(recorder)
        return trace

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.pop().end(user_frame())
