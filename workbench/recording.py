"""What a user starts with: `record()` around any code, and `show()` for the graph of one tensor."""

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
    """What the engine did, event by event: `show()` plays it, `save()` keeps it."""

    def __repr__(self) -> str:
        return f"<Trace of {len(self.events):,} events in {len(self.steps):,} steps: show() plays it>"

    def show(self, view: str = "graph", **options: Any) -> Picture:
        """The trace as a picture to step through, also in a notebook that is opened again with no kernel.

        `view` is "graph", "flow", "saved", "memory", "versions", "function", "error" or "health";
        `show("memory", against=other)` draws another trace over this one. A graph opens as many of its groups (scopes,
        and what repeats) as a screen has room for; `show(open=["layer1"])` opens these, `show(depth=2)` all of the two
        outermost levels. The steps of a training loop take turns in the same places: a few of many, with the one that
        is asked, as by `show(step=500)`, which is shown first.
        `legend=False` leaves out the sentence that says how to read the picture.
        """
        from .views import storyboard

        return picture_of(self, storyboard(self, view, **options))

    def findings(self) -> Findings:
        """What is wrong in a recorded training: a list of sentences with their places, which prints as text.

        What is certain comes first, then what may be meant, as questions. Record three steps or more of a training.
        """
        from .health.findings import findings

        return findings(self)

    def why(self, tensor: Any, loss: Any = None) -> Why:
        """Why the `.grad` of a tensor, or of what a variable of this name held, is None, zero, not finite or a sum.

        It is about the last backward that leads to the tensor, or that of the `loss`, and knows the lines: of a cut, of
        what cleared it, of the backwards whose gradients it is the sum of, of what first made it zero or nan in the
        training. A name may do without its root: "fc.weight" for "net.fc.weight", if no other tensor has it.
        """
        from .diagnosis import why_in

        return why_in(self, tensor, loss)

    def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
        """Write a file by its suffix: the trace itself as .json, else its picture, as `Picture.save` does.

        A .json file of a large trace is compressed by gzip, and `load` reads both.
        `step` counts from 0: what a player calls "5 / 7" is step 4.
        """
        if _is_data(path, step, theme):
            from .scene.picture import write_whole

            write_whole(Path(path), self.to_bytes())
        else:
            self.show().save(path, step, theme)


def _is_data(path: str | PathLike[str], step: int | None, theme: str | Theme | None) -> bool:
    """Whether this saves the trace itself and no picture."""
    return Path(path).suffix.lower() == ".json" and step is None and theme is None


def picture_of(trace: Trace, board: Storyboard) -> Picture:
    """A picture whose data, saved as .json, are its trace, which `load` reads again."""
    from .scene.picture import Picture

    class TracePicture(Picture):
        def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
            if _is_data(path, step, theme):
                trace.save(path)
            else:
                super().save(path, step, theme)

    return TracePicture(board)


class record:  # named as what a user writes: `with record() as trace:`
    """Record what the engine does in a `with` block; tensors are named after the variables that hold them.

    Arrays of more than `limit` values are kept as a summary. With `lines` the lines of Functions' methods are recorded
    too, for `show("function")`: what their variables hold, and what `ctx` has, at each of them.

    With `last` about the last so many events are kept, at most `last` and never less than half of it once there were
    that many, so that the recording of a long training run takes no more and more memory; the first step then says how
    many were let go. What is kept begins with a whole step of the training, if two of them are within `last`: else
    the nodes from before are known, but not the lines that made them. A graph or a backward that has more events than
    that is kept whole until it is over.
    """

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """`record(torch)` records a program of PyTorch's."""
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
    """What records the programs of another engine: of PyTorch; TypeError for any other."""
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
    """In a forked child their blocks never end."""
    for listener in tuple(listeners):
        if isinstance(listener, Recorder) and _threads.get(listener) != threading.get_ident():
            _leave(listener)


def _leave(recorder: Recorder) -> None:
    """Hear no more; whoever does this twice has done it once."""
    if recorder in listeners:
        listeners.remove(recorder)
    recorder.watch(False)
    if isinstance(recorder, LineRecorder):
        unwatch(recorder)


def show(tensor: Any, view: str = "graph", **options: Any) -> Picture:
    """The graph that made a tensor, with what it has saved; nothing needs to have been recorded.

    `view` and its options are those of `Trace.show`.
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
    """Read a trace that was saved as .json; a ValueError says what is wrong with the file."""
    return Trace.load(path)
