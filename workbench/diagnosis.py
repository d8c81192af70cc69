"""`why()`: why a tensor's `.grad` is None, zero, not finite or a sum, from the graph or from a recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from .bridges import is_of_torch
from .health.inquiry import Answer, Asked, Inquiry, LiveGraph, Shared
from .health.training_run import TrainingRun
from .health.why import answer
from .trace.call_records import HookRan
from .trace.engine import ACCUMULATE
from .trace.frame import Frame, TensorState
from .trace.gap_records import EngineUnseen, lost_said
from .trace.hooks import nodes_behind
from .trace.names import named_in
from .trace.recorder import Recorder
from .trace.schema import Record
from .trace.stacks import user_frame
from .trace.timeline import Timeline
from .trace.values import read, series
from .trace.workbench_engine import grad_of, is_tensor, maker_of, version_of

if TYPE_CHECKING:
    from .recording import Trace
    from .scene.picture import Picture
    from .scene.theme import Theme

_ASKED = "why() is asked {}, but got {}."
_UNKNOWN = "No tensor named {!r} in this trace. {} {}."
_SEVERAL = "Several tensors in this trace have names that end with {!r}: {}. Give more of the name."
_LOADED = 'In a loaded trace, pass the name of the tensor, for example why("w").'
_MOST_NAMES = 12  # that an error lists
_FLOATING = ("float", "bfloat", "complex")  # how dtypes begin that can have gradients


class Why:
    """An explanation of a gradient. It prints as sentences; a notebook shows the gradient path and where it is cut.

    Attributes:
        verdict: What the gradient is: "none", "zero", "not finite", "sum" (of several backward passes) or "there".
        sentences: The statements that are certain.
        possible: Causes that are possible, if the certain statements don't explain the gradient.
        advice: What you can do about it.
    """

    def __init__(self, trace: Trace, answer: Answer) -> None:
        self._trace, self._answer = trace, answer
        self.verdict = answer.verdict
        self.sentences, self.possible = tuple(answer.sentences), tuple(answer.possible)
        self.advice = answer.advice

    def __repr__(self) -> str:
        return self._answer.text

    def show(self) -> Picture:
        """Return a picture of the gradient path from the loss to the tensor, with the place where it is cut."""
        from .recording import picture_of
        from .views.why import why_story

        return picture_of(self._trace, why_story(self._trace, self._answer))

    def save(self, path: str | PathLike[str], step: int | None = None, theme: str | Theme | None = None) -> None:
        """Write the picture to the file `path`, in the format of its suffix.

        `step` and `theme` are as for `Picture.save`: the step to draw, and the colors.
        """
        self.show().save(path, step, theme)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {**self.show()._repr_mimebundle_(include, exclude), "text/plain": repr(self)}


def why(tensor: Any, loss: Any = None) -> Why:
    """Explain why the `.grad` of a tensor is None, zero or not finite. You don't need a recording.

    Only the graph is read, and nothing is changed. The graph doesn't contain the line that cut the gradient path:
    to find that line, record the program and call `trace.why(tensor)`.

    Example:
        >>> w = torch.ones(3, requires_grad=True)
        >>> v = torch.ones(3, requires_grad=True)
        >>> loss = (w.detach() * v).sum()
        >>> loss.backward()
        >>> answer = workbench.why(w, loss)  # print(answer) also lists possible causes
        >>> print(answer.sentences[0])
        `w.grad` is None: there's no path from `loss` to `w`.

    Args:
        tensor: The tensor whose gradient to explain, of this package or of PyTorch.
        loss: The tensor on which you called `backward()`. If you give it, the answer says whether a gradient path
            connects the loss and the tensor.

    Raises:
        TypeError: if an argument isn't a tensor, or the tensors come from different engines.
    """
    from .recording import Trace

    inquiry = _inquirer_of(tensor, loss)(tensor, loss, user_frame())
    trace = Trace(inquiry.events)
    package = "torch" if is_of_torch(tensor) else ""
    frame = trace.frame(len(inquiry.events))
    return Why(trace, answer(inquiry, trace.kept(TrainingRun), frame, package))


def _inquirer_of(tensor: Any, loss: Any) -> Any:
    """Return the class that inspects graphs of the engine of these tensors."""
    for each, what in ((tensor, "about a tensor"), (loss, "with a tensor as loss")):
        if not (is_tensor(each) or is_of_torch(each) or (each is None and what != "about a tensor")):
            raise TypeError(_ASKED.format(what, type(each).__name__))
    if loss is not None and is_of_torch(tensor) != is_of_torch(loss):
        raise TypeError(
            "why() takes a tensor and a loss of one engine, but got one of PyTorch's and one of this package's."
        )
    if is_of_torch(tensor):
        from .bridges.torch.asking import inquire

        return inquire
    return _inquire


# Of a recording.


def why_in(trace: Trace, tensor: Any, loss: Any = None) -> Why:
    """Explain the `.grad` of a tensor, or of the tensor that a variable of this name held, from a trace."""
    now = trace.snapshot()
    if isinstance(now.events[0] if now.events else None, EngineUnseen):
        raise ValueError(f"{lost_said(now.events)}.")
    frame = now.frame(len(now.events))
    asked = _asked_of(trace, frame, tensor, "about a tensor, or its name")
    told = None if loss is None else _asked_of(trace, frame, loss, "with a loss, or its name")
    return Why(now, answer(Inquiry(now.events, asked, told, None), now.kept(TrainingRun), frame))


def _asked_of(trace: Timeline, frame: Frame, thing: Any, what: str) -> Asked:
    if isinstance(thing, str):
        name = _known_name(thing, [state.name for state in frame.tensors.values() if state.name])
        return _facts_of(trace.events, frame, [state for state in frame.tensors.values() if state.name == name][-1])
    if not (is_tensor(thing) or is_of_torch(thing)):
        raise TypeError(_ASKED.format(what, type(thing).__name__))
    recorder: Any = trace._source
    if isinstance(recorder, Sequence):
        raise TypeError(_LOADED)
    if is_of_torch(thing):
        from .bridges.torch.asking import asked_in

        asked = asked_in(recorder, thing)
    else:
        serial = getattr(thing, "_tag", None) or 0
        asked = _asked(thing, recorder.id_of(serial), "")
        asked = replace(asked, cut=recorder.cut_before(serial), cut_after=recorder.cut_right_after(serial))
    state = frame.tensors.get(asked.id or "")
    name = state.name if state is not None and state.name else _name_of(thing, user_frame())
    return replace(asked, id=None if state is None else asked.id, name=name)


def _known_name(name: str, known: Iterable[str]) -> str:
    """Return the full name of a tensor in a trace; a partial name may lack its root.

    Raises:
        ValueError: if there is no such name, or several; it lists similar ones.
    """
    names = list(dict.fromkeys(known))
    found = [each for each in names if each == name] or [each for each in names if each.partition(".")[2] == name]
    found = found or [each for each in names if each.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(_SEVERAL.format(name, _listed(found)))
    ends = {end: each for each in reversed(names) for end in (each, each.partition(".")[2])}
    near = list(dict.fromkeys([ends[end] for end in get_close_matches(name, ends, _MOST_NAMES)]))
    raise ValueError(_UNKNOWN.format(name, "Close names:" if near else "It has:", _listed(near or names)))


def _listed(names: Sequence[str]) -> str:
    more = ["others"] if len(names) > _MOST_NAMES else []
    return series([*names[:_MOST_NAMES], *more]) or "no names at all"


def _facts_of(events: Sequence[Record], frame: Frame, state: TensorState) -> Asked:
    """Return what a trace contains about a tensor after the last event."""
    node, grad, retains = frame.nodes.get(state.node or ""), state.grad, False
    for event in events if node is not None else ():
        if isinstance(event, HookRan) and event.hook.kind == "retained" and event.hook.output_nr == state.output_nr:
            if event.node == state.node and event.after:
                retains, grad = True, event.after[0]
    dtype = state.value.dtype
    made = "" if node is None or not state.requires_grad else node.made.name
    return Asked(
        state.id, state.name or "", dtype, dtype.startswith(_FLOATING), state.requires_grad, made, retains, grad
    )


def _name_of(thing: Any, frame: FrameType | None) -> str:
    held = () if frame is None else named_in(frame, lambda each: each is thing)
    return next((name for name, each in held if each is thing), "")


# Of a graph of this package's engine.


def _inquire(tensor: Any, loss: Any, frame: FrameType | None) -> Inquiry:
    """Return records of the graph and the facts about a tensor, without creating a node."""
    recorder = Recorder()
    held = [] if frame is None else named_in(frame)
    names = {id(thing): name for name, thing in reversed(held)}
    found: dict[int, Any] = {}
    for each in (tensor, loss):
        if each is not None:
            recorder.show(_subject(each), frame)
    nodes = [] if loss is None or (maker := maker_of(_subject(loss))) is None else nodes_behind([maker])
    shared = _shared(tensor, loss, nodes, held)
    for _, _, source in shared:
        if (maker := maker_of(_subject(source))) is not None:
            recorder._place(maker, found)
        recorder._describe(_subject(source), found)
    recorder._tell(found)
    events = recorder.records()
    leaves = [node.variable for node in nodes if node.name() == ACCUMULATE]
    twins = [each for each in leaves if each is not tensor and _memory(each) == _memory(tensor)]
    live = LiveGraph(
        [
            Shared(None if node is None else recorder.id_of(node._tag), recorder.id_of(_subject(each)._tag) or "", name)
            for node, name, each in shared
        ],
        [own for each in twins if (own := recorder.id_of(each._tag)) is not None],
        any(node.is_freed() for node in nodes),
    )
    asked, told = (
        None if each is None else _asked(each, recorder.id_of(_subject(each)._tag), names.get(id(each), ""))
        for each in (tensor, loss)
    )
    assert asked is not None
    return Inquiry(events, asked, told, live)


def _shared(tensor: Any, loss: Any, nodes: list[Any], held: list[tuple[str, Any]]) -> list[tuple[Any, str, Any]]:
    """Return for each variable that requires grad the first node that saved its memory; None if none did."""
    memories: dict[int | None, dict[int, tuple[str, Any]]] = {}
    for name, each in held:
        if each.requires_grad:
            memories.setdefault(_memory(each), {}).setdefault(id(each), (name, each))
    found: dict[int, tuple[Any, str, Any]] = {}
    for node in nodes:
        for _, thing, _ in node.saved_items():
            for key, (name, each) in memories.get(_memory(thing) or -1, {}).items():
                found.setdefault(key, (node, name, each))
    taken = tensor if loss is None or not tensor.requires_grad else loss
    alike = {} if taken.requires_grad else memories.get(_memory(taken), {})
    return [*found.values(), *[(None, name, each) for name, each in alike.values()]]


def _subject(tensor: Any) -> Any:
    """Return a tensor, or the base of a view whose memory was written: asking the view would create a node."""
    meta = tensor._meta
    if meta is None or meta.base is None or meta.attr_version == version_of(tensor):
        return tensor
    return meta.base


def _asked(tensor: Any, id: str | None, name: str) -> Asked:
    subject, inner = _subject(tensor), tensor
    while hasattr(inner, "_value") and not hasattr(inner, "_array"):
        inner = inner._value
    dtype = inner._array.dtype
    maker, needs = maker_of(subject), tensor.requires_grad
    made = "" if not needs or (maker is None and subject is tensor) else "a view" if maker is None else maker.name()
    grad, retains = grad_of(tensor), bool(getattr(tensor._meta, "retains_grad", False))
    kept = None if grad is None else read(Recorder()._copy(grad))
    return Asked(id, name, dtype.name, dtype.kind == "f", needs, made, retains, kept)


def _memory(thing: Any) -> int | None:
    """Return an id of the memory of a tensor or an array."""
    array = thing if isinstance(thing, np.ndarray) else getattr(thing, "_array", None)
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return None if array is None else id(array)
