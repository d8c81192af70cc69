"""The entry points: `record()` around any code, and `show()` for the graph of one tensor."""

from __future__ import annotations

import threading
import weakref
from os import PathLike
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .autograd.function import Function
from .autograd.state import in_forked_children, prepare_for_forks
from .bridges import is_of_torch, nodes_of_torch
from .events import LAST, listeners
from .trace.chapters import check_last
from .trace.line_recorder import LineRecorder, unwatch, watch
from .trace.names import own_of
from .trace.outside_errors import known_outside
from .trace.recorder import Recorder
from .trace.stacks import user_frame
from .trace.timeline import Timeline
from .trace.values import LIMIT

if TYPE_CHECKING:
    from .diagnosis import Why
    from .health.findings import Findings
    from .scene.picture import Picture
    from .scene.storyboard import Storyboard
    from .scene.theme import Theme


class Trace(Timeline):
    """A recording of the engine, event by event: `show()` plays it, `save()` writes it to a file."""

    def __repr__(self) -> str:
        return f"<Trace of {len(self.events):,} events in {len(self.steps):,} steps: show() plays it>"

    def show(self, view: str = "graph", **options: Any) -> Picture:
        """Return the trace as a picture to step through; it also plays in a notebook reopened without a kernel.

        A graph opens as many of its groups (scopes and repeated parts) as fit on a screen. The iterations of a training
        loop share one place: a long run shows a few of them.

        Args:
            view: "graph", "flow", "saved", "memory", "versions", "function", "error" or "health".
            options: Options of the view. For a graph: `open=["layer1"]` opens these groups, `depth=2` the two outer
                levels, and `step=500` shows this training step first. For "memory": `against=other`
                draws another trace over this one. For all: `legend=False` omits the sentence that explains the picture.

        Raises:
            ValueError: if there is no such view.
            TypeError: if the view has no such option, or an option has the wrong type.
        """
        from .views import storyboard

        return picture_of(self, storyboard(self, view, **options))

    def findings(self) -> Findings:
        """Return what is wrong with a recorded training run: a list of findings with their lines, which prints as text.

        Certain findings come first. Possible issues follow and end with a question. Record at least three training
        steps.
        """
        from .health.findings import findings

        return findings(self)

    def why(self, tensor: Any, loss: Any = None) -> Why:
        """Explain why the `.grad` of a tensor is None, zero, not finite or a sum.

        The answer is about the last backward pass that reaches the tensor. It names lines: of a cut, of a
        `zero_grad()`, of the backward passes whose gradients were added, and of the first zero or nan.

        Args:
            tensor: A tensor, or the name of a variable that held one. "fc.weight" is enough for "net.fc.weight", if no
                other tensor has that name.
            loss: Answer for the backward pass of this loss instead.

        Raises:
            ValueError: if the trace contains no such tensor, or several of this name.
        """
        from .diagnosis import why_in

        return why_in(self, tensor, loss)

    def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
        """Write a file in the format of its suffix: .json for the trace, otherwise a picture, as `Picture.save` does.

        A large .json file is compressed with gzip; `load` reads both.

        Args:
            path: Where to write.
            step: The step to draw, counted from 0: the player's "5 / 7" is step 4.
            theme: "light", "dark", "projector" or "print".
        """
        if _is_data(path, step, theme):
            from .scene.picture import write_whole

            write_whole(Path(path), self.to_bytes())
        else:
            self.show().save(path, step, theme)


def _is_data(path: str | PathLike[str], step: int | None, theme: str | Theme | None) -> bool:
    """Return True if this saves the trace itself instead of a picture."""
    return Path(path).suffix.lower() == ".json" and step is None and theme is None


def picture_of(trace: Trace, board: Storyboard) -> Picture:
    """Return a picture whose .json file is its trace, which `load` reads."""
    from .scene.picture import Picture

    class TracePicture(Picture):
        def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
            if _is_data(path, step, theme):
                trace.save(path)
            else:
                super().save(path, step, theme)

    return TracePicture(board)


class record:  # named as what a user writes: `with record() as trace:`
    """Record the engine in a `with` block; tensors are named after the variables that hold them.

    `with workbench.record() as trace:` records this package, `with workbench.record(torch) as trace:` PyTorch.

    Args:
        limit: Arrays with more values than this are stored as a summary. Or `torch`, to record PyTorch.
        lines: Also record every line of your Functions' methods for `show("function")`: variables, and `ctx`.
        last: Keep only the most recent events, so that recording a long run uses bounded memory. Between `last / 2` and
            `last` events are kept; the player's first step shows how many were dropped. The kept part starts with a
            whole training step if two steps fit. Otherwise, nodes created earlier are included without their lines. A
            graph or a backward pass with more events is kept whole until it has finished.

    Raises:
        TypeError: if `limit` is another package, or `last` isn't an int.
        ValueError: if `last` is less than 1.
    """

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Return a recording of PyTorch for `record(torch)`, and otherwise one of this package."""
        if cls is record and args and isinstance(args[0], ModuleType) and args[0].__name__ != __package__:
            return recording_of(*args, **options)
        return super().__new__(cls)

    def __init__(self, limit: int | ModuleType = LIMIT, lines: bool = False, last: int | None = None) -> None:
        if isinstance(limit, ModuleType):  # this package itself, by whatever name
            if limit.__name__ != __package__:
                raise TypeError(
                    f"{type(self).__name__}() records the programs of this package alone, and none of {limit.__name__}."
                )
            limit = LIMIT
        check_last(last)
        self._limit, self._lines, self._last = limit, lines, last
        self._torch_nodes = 0  # that PyTorch had made before
        self._open: Any = None  # the recorder, what ends it, and those that had been open before

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: records nothing by itself; write `with workbench.{name}() as trace:` around the code>"

    def __enter__(self) -> Trace:
        limit, last = self._limit, self._last
        recorder = LineRecorder(Function, limit, last) if self._lines else Recorder(limit, last)
        self._torch_nodes = nodes_of_torch() or 0
        frame = user_frame()
        if frame is not None:
            recorder.sampler.begin(frame)
            del frame
        trace = Trace(recorder)
        leave = weakref.finalize(self, _leave, recorder)  # should the block never end
        try:
            recorder.watch(True)
            if isinstance(recorder, LineRecorder):
                watch(recorder)
            _threads[recorder] = threading.get_ident()
            self._open = recorder, leave, self._open
            listeners[LAST] = [recorder]  # after all else
        except BaseException:
            _leave(recorder)
            raise
        return trace

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        recorder, leave, self._open = self._open
        try:
            _leave(recorder)
        except BaseException:  # an interrupt: what it has left out is done now
            _leave(recorder)
            raise
        leave.detach()
        if (nodes := nodes_of_torch()) is not None:
            recorder.miss_engine("PyTorch", nodes - self._torch_nodes)
        recorder.left_with(error, known_outside(error))
        recorder.look_up(user_frame())


def recording_of(engine: ModuleType, **options: Any) -> Any:
    """Return a recording of another engine.

    Raises:
        TypeError: if the engine isn't PyTorch.
    """
    if engine.__name__ != "torch":
        raise TypeError(
            "record() records the programs of this package, or record(torch) those of PyTorch, but "
            f"not those of {engine.__name__}."
        )
    from .bridges.torch.recorder import TorchRecording
    from .explanation import in_notebook

    in_notebook()
    return TorchRecording(Trace, **options)


_threads: weakref.WeakKeyDictionary[Recorder, int] = weakref.WeakKeyDictionary()  # which began it
prepare_for_forks(needed=True)  # every thread's events go to the same recorders


@in_forked_children
def _leave_those_of_other_threads() -> None:
    """Stop the recordings of other threads in a forked child, where their blocks never end."""
    for listener in tuple(listeners):
        if isinstance(listener, Recorder) and _threads.get(listener) != threading.get_ident():
            _leave(listener)


def _leave(recorder: Recorder) -> None:
    """Stop recording; a second call has no effect."""
    if recorder in listeners:
        listeners.remove(recorder)
    recorder.watch(False)
    if isinstance(recorder, LineRecorder):
        unwatch(recorder)


def show(tensor: Any, view: str = "graph", **options: Any) -> Picture:
    """Return a picture of the graph that computed a tensor, with its saved tensors; no recording is needed.

    The view and its options are those of `Trace.show`.
    """
    recorder: Any
    tensor = own_of(tensor)
    if hasattr(type(tensor), "_array"):
        recorder = Recorder()
    elif is_of_torch(tensor):
        from .bridges.torch.recorder import TorchRecorder
        from .explanation import in_notebook

        in_notebook()
        recorder = TorchRecorder()
    else:
        raise TypeError(f"show() draws the graph of a Tensor, but got {type(tensor).__name__}.")
    recorder.show(tensor, user_frame())
    return Trace(recorder).show(view, **options)


def load(path: str | PathLike[str]) -> Trace:
    """Read a trace from a .json file.

    Raises:
        ValueError: if the file isn't a trace, with what is wrong in it.
    """
    return Trace.load(path)
