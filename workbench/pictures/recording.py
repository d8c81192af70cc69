"""The entry points: `record()` around any code, and `show()` for the graph of one tensor."""

from __future__ import annotations

import sys
import threading
import weakref
from os import PathLike
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from ..autograd.function import Function
from ..autograd.state import in_forked_children, prepare_for_forks
from ..bridges import WRONG_VALUES, is_of_torch, nodes_of_torch
from ..errors import warn
from ..events import LAST, listeners
from .trace.chapters import check_last
from .trace.line_recorder import LineRecorder, unwatch, watch
from .trace.names import own_of
from .trace.outside_errors import known_outside
from .trace.recorder import Recorder
from .trace.stacks import user_frame
from .trace.timeline import Timeline
from .trace.values import LIMIT

if TYPE_CHECKING:
    from ..diagnosis.asking import Why
    from ..diagnosis.auditing import Audit
    from ..diagnosis.auditing.applied import AppliedFunctions
    from ..diagnosis.health.findings import Findings
    from .scene.picture import Picture
    from .scene.storyboard import Storyboard
    from .scene.theme import Theme

ONLY_OF_TORCH = 'values="all" is an option of record(torch) only.'


class Trace(Timeline):
    """A recording of a program, event by event: the result of `with record() as trace:`.

    `show()` plays the recording, step by step. `findings()` diagnoses it, and `why(tensor)` explains one gradient.
    `save()` writes a file, which `workbench.load` reads.
    """

    _applied: AppliedFunctions | None = None  # the Functions that ran, if they're to be audited

    def __repr__(self) -> str:
        events, steps = len(self.events), len(self.steps)
        said = f"{events:,} event{'s' * (events != 1)}: show() plays it in {steps:,} step{'s' * (steps != 1)}"
        return f"<Trace of {said}>"

    def show(self, view: str = "graph", **options: Any) -> Picture:
        """Return a picture of the recording, with a player that steps through it.

        In a saved notebook, the picture still plays without a kernel. Its tabs are the other views that have something
        to show. Groups (scopes and repeated parts) are open as far as they fit on a screen. A training loop's steps
        are drawn in the same place, one after the other. For a long run, the picture shows about 12 steps (fewer
        for large graphs): the first and the last three, some between them at even distances, and the first step of each
        kind, if steps differ in their operations.

        | View         | What it shows                                      | When to use it                          |
        | ------------ | -------------------------------------------------- | --------------------------------------- |
        | `"graph"`    | the graph and its backward pass, node by node      | first, to follow a gradient             |
        | `"flow"`     | the graph, with wider arrows for larger gradients  | when gradients vanish or explode        |
        | `"saved"`    | the tensors that each operation saves              | to find out what takes memory           |
        | `"memory"`   | the memory held for backward, after each event     | to find the event that needs most       |
        | `"versions"` | each tensor's version number, line by line         | after an error about in-place writes    |
        | `"function"` | your Function line by line, with `ctx`             | to debug it; needs `record(lines=True)` |
        | `"error"`    | the graph at the moment when `backward()` failed   | after an error in the backward pass     |
        | `"health"`   | layers and parameters, with their norms per step   | to watch a training run                 |
        | `"compare"`  | this trace next to another one                     | to see where two runs differ            |

        Args:
            view: The name of a view from this table.
            options: Options of the view. For "graph" and "flow": `open=["layer1"]` opens these groups, `depth=2` opens
                the two outer levels, and `step=500` adds training step 500 to the picture and opens it there.
                `overlay` is a dict of numbers that color boxes; its keys are names in the picture, tensors, or
                `grad_fn` nodes. "saved" takes `step`, and "health" takes `open` and `depth`. For "memory",
                `against=other` draws another trace over this one; "compare" requires `against=other`. In every view,
                `legend=False` omits the sentence that explains the picture.

        Raises:
            ValueError: if there is no such view, or nothing in the picture has the name of a key of `overlay`.
            TypeError: if the view has no such option, or an option has the wrong type.
        """
        from .views.tabs import with_tabs

        return picture_of(self, with_tabs(self, view, **options))

    def findings(self) -> Findings:
        """Diagnose the recorded training run, and return a list of findings, which prints as readable text.

        Each finding describes one problem, with numbers and the line of your code. Certain findings come first; those
        that may be intentional follow, and end with a question. Record at least three training steps.

        Example:
            >>> w = torch.ones(3, requires_grad=True)
            >>> optimizer = torch.optim.SGD([w], lr=0.1)
            >>> with workbench.record() as trace:
            ...     for step in range(3):
            ...         (w * w).sum().backward()
            ...         optimizer.step()  # without optimizer.zero_grad()
            >>> [finding.rule for finding in trace.findings()]
            ['gradients not cleared']
        """
        from ..diagnosis.health.findings import findings

        return findings(self)

    def why(self, tensor: Any, loss: Any = None) -> Why:
        """Explain why the `.grad` of a tensor is None, zero, not finite, or a sum of several backward passes.

        The answer names the lines of code that are responsible: the line that cut the gradient path, a `zero_grad()`,
        the backward passes whose gradients were added, or the first operation whose result is zero or nan.

        Args:
            tensor: The tensor whose gradient to explain, or the name of a variable that held it. "fc.weight" is enough
                for "net.fc.weight", if no other tensor has that name.
            loss: The tensor at which the backward pass to explain started. By default, the answer is about the last
                backward pass that reaches the tensor.

        Raises:
            ValueError: if the trace contains no such tensor, or several tensors of this name.
        """
        from ..diagnosis.asking import why_in

        return why_in(self, tensor, loss)

    def audit(self) -> list[Audit]:
        """Audit each Function that the recorded program applied, on copies of the inputs it ran on.

        Up to three kinds of inputs (by shapes and dtypes) are audited per Function: see `workbench.audit`.

        Raises:
            ValueError: if the recording was made without `record(audit=True)`, or read from a file.
        """
        if self._applied is None:
            raise ValueError(
                "trace.audit() needs the inputs of your Functions: record with `record(audit=True)`, and audit before "
                "the program ends (a file doesn't contain them)."
            )
        return [each.audit() for each in self._applied]

    def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
        """Write the trace, or a picture of the trace, to a file. The suffix of `path` chooses which.

        "run.json" stores the trace itself, and `workbench.load` reads it again; a large trace is compressed with gzip.
        With any other suffix, such as ".html" or ".png", the file is a picture in that format: see `Picture.save`.

        Args:
            path: The file to write.
            step: For a picture, the step to draw, counted from 0: the player's "5 / 7" is step 4.
            theme: For a picture, "light", "dark", "projector" or "print".
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
    """Return a picture whose .json file is its trace, which `load` reads, with the picture, which saved pages open."""
    from .scene.picture import Picture

    class TracePicture(Picture):
        def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
            if _is_data(path, step, theme):
                _save_with_picture(trace, board, path)
            else:
                super().save(path, step, theme)

    return TracePicture(board)


def _save_with_picture(trace: Trace, board: Storyboard, path: str | PathLike[str]) -> None:
    """Write the trace with a picture of it, which a saved page opens; without, if nothing can lay it out here."""
    from .scene.layout import LayoutUnavailable
    from .scene.picture import carried, check_place, write_whole

    check_place(Path(path))
    try:
        content = trace.to_bytes(carried(board))
    except LayoutUnavailable as problem:
        warn(f"{path} has the trace without a picture. {problem}")
        content = trace.to_bytes()
    write_whole(Path(path), content)


class record:  # named as what a user writes: `with record() as trace:`
    """Record the operations and backward passes of a `with` block, to replay them with `trace.show()`.

    To record a PyTorch program, `import torch` and pass the module: `with workbench.record(torch) as trace:`. In
    pictures, a tensor has the name of the variable that holds it.

    Example:
        >>> import workbench
        >>> x = workbench.tensor([1.0, 2.0], requires_grad=True)
        >>> with workbench.record() as trace:
        ...     loss = (x * x).sum()
        ...     loss.backward()
        >>> trace
        <Trace of 11 events: show() plays it in 7 steps>

    Args:
        engine: The `torch` module, to record PyTorch. Omit it to record this package.
        limit: The maximum number of values to store per tensor: by default 1,000, or 100 with PyTorch. For a larger
            tensor, only a summary is stored.
        lines: If True, also record each line that runs in the methods of your Functions, with its variables, for
            `show("function")`.
        last: Keep only the newest events, about this many, so that memory stays bounded. If they cover two training
            steps, the recording starts at the beginning of a step. If not, it may start in the middle of one, and
            nodes that were created before that point have no source line. One graph or backward pass is never cut,
            even if it is larger. The first step of the player shows how many events were dropped.
        values: For PyTorch only. "seen" (the default) records the results that PyTorch's graph exposes. "all" also
            records intermediate results inside PyTorch operations; a few reshapes then have another node name than in
            PyTorch's own graph.
        audit: If True, also keep copies of the inputs of your Functions, for `trace.audit()`.

    Raises:
        TypeError: if `engine` is another module, or an option has the wrong type.
        ValueError: if `last` is less than 1, or `values` is neither "seen" nor "all".
    """

    def __init__(
        self,
        engine: ModuleType | None = None,
        limit: int | None = None,
        lines: bool = False,
        last: int | None = None,
        values: str = "seen",
        audit: bool = False,
    ) -> None:
        self._engine, self._audit = engine, audit
        self._watched: list[AppliedFunctions] = []
        weakref.finalize(self, _unwatch_all, self._watched)  # should the block never end
        self._of_torch: Any = None  # the recording that does it all, if it is of PyTorch
        if engine is not None and getattr(engine, "__name__", "") != __name__.partition(".")[0]:
            options = {"lines": lines, "last": last, "values": values} | ({} if limit is None else {"limit": limit})
            self._of_torch = self._of_other_engine(engine, options)
        elif values == "all":
            raise ValueError(ONLY_OF_TORCH)
        elif values != "seen":
            raise ValueError(WRONG_VALUES.format(values))
        check_last(last)
        self._limit, self._lines, self._last = LIMIT if limit is None else limit, lines, last
        self._torch_nodes = 0  # that PyTorch had made before
        self._open: Any = None  # the recorder, what ends it, and those that had been open before

    def _of_other_engine(self, engine: Any, options: dict[str, Any]) -> Any:
        """Return a recording of PyTorch.

        Raises:
            TypeError: if the engine isn't PyTorch.
        """
        if getattr(engine, "__name__", "") != "torch":
            raise TypeError(
                "record() records the programs of this package, or record(torch) those of PyTorch, but "
                f"not those of {getattr(engine, '__name__', repr(engine))}."
            )
        from ..bridges.torch.recorder import TorchRecording
        from ..diagnosis.explanation import in_notebook

        in_notebook()
        return TorchRecording(Trace, **options)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: records nothing by itself; write `with workbench.{name}() as trace:` around the code>"

    def __enter__(self) -> Trace:
        trace = self._begin() if self._of_torch is None else self._of_torch.__enter__()
        if self._audit:
            from ..diagnosis.auditing.applied import AppliedFunctions

            trace._applied = AppliedFunctions()
            trace._applied.watch(self._engine or sys.modules[__name__.partition(".")[0]])
            self._watched.append(trace._applied)
        return trace

    def _begin(self) -> Trace:
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
        if self._watched:
            self._watched.pop().__exit__()
        if self._of_torch is not None:
            return self._of_torch.__exit__(kind, error, traceback)
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


_threads: weakref.WeakKeyDictionary[Recorder, int] = weakref.WeakKeyDictionary()  # which began it
prepare_for_forks(needed=True)  # every thread's events go to the same recorders


@in_forked_children
def _leave_those_of_other_threads() -> None:
    """Stop the recordings of other threads in a forked child, where their blocks never end."""
    for listener in tuple(listeners):
        if isinstance(listener, Recorder) and _threads.get(listener) != threading.get_ident():
            _leave(listener)


def _unwatch_all(watched: list[AppliedFunctions]) -> None:
    while watched:
        watched.pop().__exit__()


def _leave(recorder: Recorder) -> None:
    """Stop recording; a second call has no effect."""
    if recorder in listeners:
        listeners.remove(recorder)
    recorder.watch(False)
    if isinstance(recorder, LineRecorder):
        unwatch(recorder)


def show(tensor: Any, view: str = "graph", **options: Any) -> Picture:
    """Return a picture of the graph that computed a tensor, with its saved tensors. You don't need a recording.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> print(workbench.show((x * x).sum(), legend=False))
        Autograd graph
        output (output)
        └─ sum(x * x): SumBackward0  5.0
           └─ x * x: MulBackward0
              ├╌ saved other (x): (2,)  [1. 2.]
              ├╌ saved self (x): (2,)  [1. 2.]
              ├─ x (leaf): (2,)  [1. 2.]
              └─ x (leaf, see above)

    Args:
        tensor: The tensor whose graph to draw, of this package or of PyTorch.
        view: "graph", or another view from the table in `help(trace.show)`.
        options: Options of the view, as for `Trace.show`.

    Raises:
        TypeError: if `tensor` isn't a tensor.
    """
    recorder: Any
    tensor = own_of(tensor)
    if hasattr(type(tensor), "_array"):
        recorder = Recorder()
    elif is_of_torch(tensor):
        from ..bridges.torch.recorder import TorchRecorder
        from ..diagnosis.explanation import in_notebook

        in_notebook()
        recorder = TorchRecorder()
    else:
        raise TypeError(f"show() draws the graph of a Tensor, but got {type(tensor).__name__}.")
    recorder.show(tensor, user_frame())
    return Trace(recorder).show(view, **options)


def load(path: str | PathLike[str]) -> Trace:
    """Read a trace from a .json file that `Trace.save` wrote.

    Raises:
        ValueError: if the file isn't a valid trace; the message says what is wrong.
    """
    return Trace.load(path)
