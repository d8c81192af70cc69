"""Parts that `torch.compile` has compiled: each call is one box, and computes what it does unrecorded.

While a compiled part runs, forward or backward, nothing else of the recording is there: no mode, hook or wrapper for
which PyTorch would compile it again, or otherwise. PyTorch tells nobody of such a call. Two private names are wrapped
for that, here alone: `_maybe_set_eval_frame`, with which a call of a compiled function begins and ends, and the call of
an OptimizedModule, which warns where there are hooks on all modules.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ...trace.records import COMPILED
from .describe import _sequence
from .operations import tensors_in, unobserved, warn_lost

if TYPE_CHECKING:
    from .recorder import TorchRecorder

_EVAL_FRAME = "torch._dynamo.eval_frame"


class _Call(NamedTuple):
    """A call of a compiled part that is going on."""

    owner: Any
    args: tuple[Any, ...]
    since: int
    before: list[tuple[Any, ...]]


class CompiledCalls:
    """Tells a recorder of each call of what `torch.compile` has made, and suspends it meanwhile."""

    def __init__(self, recorder: TorchRecorder) -> None:
        self._recorder = recorder
        self._frame: FrameType | None = None  # of the outermost compiled function that is being called
        self._call: _Call | None = None
        self._depth = 0
        self._compile: Any = None
        self._dynamo = sys.modules.get(_EVAL_FRAME)
        if self._dynamo is not None:
            self._wrap()
        else:  # nothing is compiled yet
            self._compile = inner = torch.compile

            def compile(*args: Any, **kwargs: Any) -> Any:
                made = inner(*args, **kwargs)
                if self._dynamo is None:
                    self._dynamo = sys.modules.get(_EVAL_FRAME)
                    self._wrap()
                return made

            self._own_compile = torch.compile = compile

    def _wrap(self) -> None:
        dynamo: Any = self._dynamo
        self._set, self._module_call = dynamo._maybe_set_eval_frame, dynamo.OptimizedModule.__call__

        def set_eval_frame(callback: Any) -> Any:
            if threading.get_ident() == self._recorder._thread:
                frame: FrameType | None = sys._getframe(1)
                while frame is not None and frame.f_code is set_eval_frame.__code__:  # of a recording inside this one
                    frame = frame.f_back
                if frame is not None and frame.f_code.co_name == "compile_wrapper":
                    self._switch(frame, callback)
            return self._set(callback)

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            eager = dynamo._stance.stance == "force_eager"
            if eager or threading.get_ident() != self._recorder._thread:
                return self._module_call(module, *args, **kwargs)
            self._begin(module._orig_mod, args, kwargs)
            out = None
            try:
                out = self._module_call(module, *args, **kwargs)
                return out
            finally:
                self._end(out)

        self._own_set, self._own_call = set_eval_frame, call
        dynamo._maybe_set_eval_frame, dynamo.OptimizedModule.__call__ = set_eval_frame, call

    def _switch(self, frame: FrameType, callback: Any) -> None:
        """A compiled function sets what compiles, which it does as it begins and as it ends."""
        if self._frame is frame:
            self._frame = None
            self._end(frame.f_locals.get("result"))
        elif self._frame is None and not self._depth and callable(callback):
            self._frame = frame
            held = frame.f_locals
            self._begin(held["fn"], held["args"], held["kwargs"])

    def _begin(self, thing: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        try:
            with unobserved():
                owner = getattr(thing, "__self__", thing)  # of a module's method the module
                given = (*args, *kwargs.values())
                before = [self._recorder.before(each) for each in tensors_in(given)]
                self._recorder.enter(owner, COMPILED)
                self._call = _Call(owner, given, _sequence(), before)
        except Exception as error:
            warn_lost("the call of a compiled part", error)
        self._recorder.suspend()

    def _end(self, out: Any) -> None:
        self._depth -= 1
        if self._depth:
            return
        self._recorder.resume()
        call, self._call = self._call, None
        if call is None:
            return
        try:
            with unobserved():
                self._recorder.ran("a compiled part", call.args, {}, out, call.since, call.before)
                self._recorder.leave(call.owner)
        except Exception as error:
            warn_lost("the call of a compiled part", error)

    def remove(self) -> None:
        """Put the others back, unless somebody has put others there since."""
        dynamo: Any = self._dynamo
        if self._compile is not None and torch.compile is self._own_compile:
            torch.compile = self._compile
        if dynamo is not None:
            if dynamo._maybe_set_eval_frame is self._own_set:
                dynamo._maybe_set_eval_frame = self._set
            if dynamo.OptimizedModule.__call__ is self._own_call:
                dynamo.OptimizedModule.__call__ = self._module_call
