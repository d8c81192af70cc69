"""`why()`: why a tensor's `.grad` is None, zero, not finite or a sum, from the graph or from a recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..bridges import is_of_torch
from ..pictures.trace.call_records import HookRan
from ..pictures.trace.frame import Frame, TensorState
from ..pictures.trace.gap_records import EngineUnseen, lost_said
from ..pictures.trace.names import named_in
from ..pictures.trace.schema import Record
from ..pictures.trace.stacks import user_frame
from ..pictures.trace.timeline import Timeline
from ..pictures.trace.values import series
from ..pictures.trace.workbench_engine import is_tensor
from .health.graph import way_in
from .health.inquirer import Inquirer
from .health.inquiry import Answer, Asked, Inquiry
from .health.training_run import TrainingRun
from .health.why_none import MissingGradient
from .health.why_value import PresentGradient

if TYPE_CHECKING:
    from ..pictures.recording import Trace
    from ..pictures.scene.picture import Picture
    from ..pictures.scene.theme import Theme

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

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as a dict that can be written as JSON."""
        return {
            "verdict": self.verdict,
            "sentences": list(self.sentences),
            "possible": list(self.possible),
            "advice": self.advice,
        }

    def show(self) -> Picture:
        """Return a picture of the gradient path from the loss to the tensor, with the place where it is cut."""
        from ..pictures.recording import picture_of
        from ..pictures.views.why import why_story

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
    from ..pictures.recording import Trace

    inquiry = _checked(tensor, loss)().inquire(tensor, loss, user_frame())
    return _answered(Trace(inquiry.events), inquiry, "torch" if is_of_torch(tensor) else "")


def _answered(trace: Trace, inquiry: Inquiry, package: str = "") -> Why:
    """Return the answer to a question; `record(package)` is the code that records the program."""
    asked = inquiry.asked
    is_there = asked.takes and asked.requires_grad and asked.grad is not None
    kind = PresentGradient if is_there else MissingGradient
    question = kind(inquiry, trace.kept(TrainingRun), trace.frame(len(trace.events)), package)
    made = question.answer()
    if question.reaches and not made.way and question.place is not None:
        made.way = way_in(question.found, question.place)
    return Why(trace, made)


def _checked(tensor: Any, loss: Any) -> Any:
    """Return the same for a tensor and its loss.

    Raises:
        TypeError: if they aren't tensors of one engine.
    """
    for each, what in ((tensor, "about a tensor"), (loss, "with a tensor as loss")):
        if not (is_tensor(each) or is_of_torch(each) or (each is None and what != "about a tensor")):
            raise TypeError(_ASKED.format(what, type(each).__name__))
    if loss is not None and is_of_torch(tensor) != is_of_torch(loss):
        raise TypeError(
            "why() takes a tensor and a loss of one engine, but got one of PyTorch's and one of this package's."
        )
    return _inquirer_of(tensor)


def _inquirer_of(tensor: Any) -> Any:
    """Return the class that inspects graphs of a tensor's engine."""
    if not is_of_torch(tensor):
        return Inquirer
    from ..bridges.torch.asking import TorchInquirer

    return TorchInquirer


# Of a recording.


def why_in(trace: Trace, tensor: Any, loss: Any = None) -> Why:
    """Explain the `.grad` of a tensor, or of the tensor that a variable of this name held, from a trace."""
    now = trace.snapshot()
    if isinstance(now.events[0] if now.events else None, EngineUnseen):
        raise ValueError(f"{lost_said(now.events)}.")
    frame = now.frame(len(now.events))
    asked = _asked_of(trace, frame, tensor, "about a tensor, or its name")
    told = None if loss is None else _asked_of(trace, frame, loss, "with a loss, or its name")
    return _answered(now, Inquiry(now.events, asked, told, None))


def _asked_of(trace: Timeline, frame: Frame, thing: Any, what: str) -> Asked:
    if isinstance(thing, str):
        name = _known_name(thing, [state.name for state in frame.tensors.values() if state.name])
        return _facts_of(trace.events, frame, [state for state in frame.tensors.values() if state.name == name][-1])
    if not (is_tensor(thing) or is_of_torch(thing)):
        raise TypeError(_ASKED.format(what, type(thing).__name__))
    recorder: Any = trace._source
    if isinstance(recorder, Sequence):
        raise TypeError(_LOADED)
    asked = _inquirer_of(thing)(recorder).asked_in(thing)
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
