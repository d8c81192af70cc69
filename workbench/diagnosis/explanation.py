"""Explanations of the engine's errors: attached to an error as `explain`, and drawn only on request.

The error itself keeps its type, message and arguments. An explanation keeps no graph alive: it holds weak references,
which work as long as something else holds the graph (the error's traceback does). It holds a trace that was being
recorded, which contains copies of values only.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import errors, events

if TYPE_CHECKING:
    from ..pictures.scene.picture import Picture
    from ..pictures.trace.facts import Called
    from ..pictures.trace.probable_cuts import ProbableCut
    from ..pictures.trace.recorder import Recorder

_MARK = "_workbench_shows_errors"  # on a notebook's shell


class Explanation:
    """Call it for the picture: the failed node, its saved tensors, the write that broke it, and what to do."""

    def __init__(self, kind: str, words: str, node: str = "", tensor: str = "", marked: str = "") -> None:
        self.kind, self.words = kind, words
        self.line: tuple[str, int] | None = None  # of the user's code
        self.raised: tuple[str, int] | None = None  # the innermost of the user's lines on the error's way
        self.node, self.tensor = node, tensor  # the failing node's name, and the variable that the error is about
        self.marked = marked  # the Function whose backward is once_differentiable, if the error is about that
        self.called: Called | None = None  # the function of the user's that the engine had called, if that is known
        self.guess: ProbableCut | None = None  # what probably cuts off the tensor that the error is about
        self._serial: int | None = None  # the node's number
        self._recorder: Recorder | None = None
        self._count = 0  # events until then
        self._task: Any = _gone
        self._tensors: list[weakref.ref[Any]] = []
        self._serials: list[int] = []
        self._named: list[tuple[str, weakref.ref[Any]]] = []

    def __reduce__(self) -> Any:
        words = self.kind, self.words, self.node, self.tensor, self.marked
        return Explanation, words  # the words alone go to another process

    def __call__(self) -> Picture:
        """Return the picture of the error: from the recording, or from the part of the graph that still exists."""
        from ..pictures.recording import Trace, picture_of
        from ..pictures.views.error import error_story

        records, tensors = self._found()
        trace = Trace(records)
        about = (tensors, self.line, self.raised, self.node, self.tensor, self.marked, self.called, self.guess)
        return picture_of(trace, error_story(trace, *about))

    def _found(self) -> tuple[Sequence[Any], list[str]]:
        """Return the records up to the error, and the ids of the tensors it is about."""
        from ..pictures.trace.recorder import ErrorRecorder

        numbers = self._serials if self._serial is None else [self._serial, *self._serials]
        recorder, count = self._recorder, self._count
        known = recorder is not None and numbers and recorder.id_of(numbers[0]) is not None
        if recorder is None or not known or not recorder.records(count):
            recorder = finder = ErrorRecorder()
            task = self._task()
            held = [(name, tensor) for name, ref in self._named if (tensor := ref()) is not None]
            tensors = [tensor for ref in self._tensors if (tensor := ref()) is not None]
            roots = [node for node, _ in task.roots] if task is not None else []
            finder.find(roots, tensors, held, (self._serial, self.kind, self.words))
            count = finder.count
        ids = [recorder.id_of(each) for each in self._serials]
        return recorder.records(count), [id for id in takewhile(bool, ids) if id is not None]

    def _about(self, task: Any, node: Any, tensors: tuple[Any, ...]) -> None:
        from ..pictures.trace.recorder import Recorder, number_of

        if node is not None:
            self.node, self._serial = node.name(), number_of(node)
            self.marked = getattr(node, "marked", "")
        if task is not None:
            self._task = weakref.ref(task)
        for tensor in tensors:
            if hasattr(type(tensor), "_array"):
                self._tensors.append(weakref.ref(tensor))
                self._serials.append(events.tag(tensor))
        self.tensor = next((name for name, ref in self._named if tensors and ref() is tensors[0]), "")
        for listener in reversed(events.listeners):
            if isinstance(listener, Recorder):
                self._recorder, self._count = listener, listener.count
                break

    def _at(self, error: BaseException) -> None:
        from ..pictures.trace.error_frames import called_in, users_frames
        from ..pictures.trace.names import named_in
        from ..pictures.trace.stacks import line_of, user_frame

        users = users_frames(error)
        self.raised = users[-1][1] if users else None
        self.called = called_in(error)
        frame = user_frame()
        self.line = line_of(frame)
        self._guess(frame, self.line)
        self._named += [(name, weakref.ref(thing)) for name, thing in (named_in(frame) if frame is not None else ())]

    def _guess(self, frame: Any, line: tuple[str, int] | None) -> None:
        from ..pictures.trace.probable_cuts import probable_cut

        if frame is not None and line is not None and errors.NO_GRAD_FN.partition("{} ")[2] in self.words:
            with suppress(Exception):  # a guess from the source alone: nothing depends on it
                self.guess = probable_cut(frame, line)


class _OfTorch(Explanation):
    """An explanation of an error that a backward pass of PyTorch raised."""

    def __init__(self, error: BaseException, failure: Any) -> None:
        from ..pictures.trace.error_frames import frames_of

        super().__init__(type(error).__name__, str(error), failure.node)
        self.line, self.raised, self.called = failure.line, failure.raised, failure.called
        self._records, self._ids = failure.records, failure.tensors
        at = [frame for frame, line in frames_of(error) if line == failure.line]
        self._guess(at[-1] if at else None, failure.line)

    def _found(self) -> tuple[Sequence[Any], list[str]]:
        return self._records, self._ids


class _OfFrames(Explanation):
    """An explanation of an error that no listener saw, from the frames in its traceback."""

    def __init__(self, error: BaseException, called: Called | None) -> None:
        from ..pictures.trace.error_frames import blamed, users_frames
        from ..pictures.trace.names import named_in

        super().__init__(type(error).__name__, str(error))
        self.called = called
        users = users_frames(error)
        if users:
            frame, self.line = users[0 if called is not None and called.source is not None else -1]
            self.raised = users[-1][1]
            self._named = [(name, weakref.ref(thing)) for name, thing in named_in(frame)]
            tensor = blamed(str(error), self.line, named_in(frame))
            if tensor is not None:
                self._about(None, None, (tensor,))


def explain(error: BaseException) -> Picture:
    """Return a picture of an error, with what failed, on which line, and what to do.

    Pass an error raised by this package or by PyTorch. For an error that has nothing to do with autograd, such as a
    shape mismatch, the picture shows the layer or line that raised the error, and the shapes of the inputs there.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> loss.backward()
        >>> try:
        ...     loss.backward()  # the saved tensors are freed already
        ... except RuntimeError as error:
        ...     picture = workbench.explain(error)
        >>> print(str(picture).splitlines()[0])
        RuntimeError at MulBackward0

    Args:
        error: The exception to explain.

    Raises:
        TypeError: if `error` isn't an exception.
    """
    from ..pictures.trace.outside_errors import outside

    if not isinstance(error, BaseException):
        raise TypeError(f"explain() takes an error, but got {type(error).__name__}.")
    return (explanation_of(error) or _OfFrames(error, outside(error)))()


def explanation_of(error: BaseException | None) -> Explanation | None:
    """Return the explanation of an error, if there is one."""
    known = getattr(error, "explain", None)
    if isinstance(known, Explanation) or error is None:
        return known
    if "torch" in sys.modules:
        from ..bridges.torch.failure import failure_of

        if (failure := failure_of(error)) is not None:
            return _OfTorch(error, failure)
    from ..pictures.trace.advised import known_error
    from ..pictures.trace.error_frames import called_in
    from ..pictures.trace.missing_gradient import without_gradient
    from ..pictures.trace.outside_errors import known_outside

    called = called_in(error)
    outside = without_gradient(error) if called is None else known_outside(error) if called.kind == "refused" else None
    called = outside[0] if outside is not None else called
    return _OfFrames(error, called) if called is not None or known_error(str(error)) is not None else None


def _gone() -> None:
    """Return None, as a dead weak reference does."""


def _attach(error: BaseException, task: Any, node: Any, tensors: tuple[Any, ...]) -> None:
    if not isinstance(error, Exception):
        return
    known = getattr(error, "explain", None)
    if known is None:
        known = Explanation(type(error).__name__, str(error))
        with suppress(AttributeError):  # of a type that has no room for it
            error.explain = known  # type: ignore[attr-defined]
        known._at(error)
    elif not isinstance(known, Explanation) or known.node:
        return  # the user's own name, or a backward pass around the one that failed
    known._about(task, node, tensors)
    in_notebook()


def in_notebook() -> None:
    """Show the picture of an error below its traceback in notebooks from now on."""
    if "ipykernel" in sys.modules:
        with suppress(ImportError):
            show_errors()


def show_errors() -> None:
    """Show a picture of each error that ends a cell of this notebook from now on, below the lines of your code.

    The traceback leaves out the engine's frames; they remain in the error's `__traceback__`.
    """
    from IPython import get_ipython

    shell = get_ipython()
    if hasattr(shell, "kernel") and not hasattr(shell, _MARK):
        setattr(shell, _MARK, True)
        shell.events.register("post_run_cell", _show)
        if not shell.custom_exceptions:  # otherwise other code displays errors itself
            shell.set_custom_exc((Exception,), _show_traceback)


def _show_traceback(shell: Any, kind: Any, error: Any, way: Any, tb_offset: int | None = None) -> Any:
    """Show an error as the notebook does, but without the engine's frames if there is an explanation."""
    if isinstance(getattr(error, "explain", None), Explanation) or hasattr(error, "_workbench_failure"):
        way = users_part(way) or way
    told = shell.InteractiveTB.structured_traceback(kind, error, way, tb_offset=tb_offset)
    shell._showtraceback(kind, error, told)
    return told


def users_part(way: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package."""
    from ..pictures.trace.source import OWN

    frames = []
    while way is not None:
        if not way.tb_frame.f_code.co_filename.startswith(OWN):
            frames.append(way)
        way = way.tb_next
    for each in reversed(frames):
        way = TracebackType(way, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return way


def _show(result: Any) -> None:
    from IPython.display import display

    with suppress(Exception):  # whatever is wrong with the picture, the error was told
        if (explain := explanation_of(result.error_in_exec)) is not None:
            display(explain())


def install() -> None:
    """Attach explanations to every error of the engine from now on."""
    events.explain = _attach
