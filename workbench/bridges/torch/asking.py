"""PyTorch's facts about a tensor whose gradient is asked about, and about the graph of a loss, without side effects."""

from __future__ import annotations

from dataclasses import replace
from types import FrameType
from typing import Any

import torch

from ...health.inquiry import Asked, Inquiry, LiveGraph, Shared
from ...trace.hooks import nodes_behind
from ...trace.names import named_in
from ...trace.values import read
from .describe import (
    LIMIT,
    AccumulateGrad,
    is_tensor,
    kept_of,
    kind_of_node,
    maker_of,
    memory_of,
    name_of,
    raw_saved,
    version_of,
)
from .operations import unobserved
from .recorder import TorchRecorder
from .versions import TELLS_SAVED, kept_in

_c: Any = torch._C  # its stubs leave out most of what it has
_Kept = _c._autograd.SavedTensor
Held = tuple[str, torch.Tensor]  # a variable's name, and what it holds


def inquire(tensor: torch.Tensor, loss: torch.Tensor | None, frame: FrameType | None) -> Inquiry:
    """Return the records of the current graph, and PyTorch's facts about a tensor."""
    with unobserved():
        recorder = TorchRecorder()
        met: list[Any] = []
        try:
            return _inquire(recorder, tensor, loss, frame, met)
        finally:
            for node in nodes_behind(met):
                node.metadata.pop(recorder._key, None)


def _inquire(
    recorder: TorchRecorder, tensor: torch.Tensor, loss: torch.Tensor | None, frame: FrameType | None, met: list[Any]
) -> Inquiry:
    held: list[Held] = [] if frame is None else named_in(frame, is_tensor)
    names = {id(each): name for name, each in reversed(held)}
    for each in (tensor, loss):
        if each is not None:
            met.append(maker_of(_subject(each)))
            recorder.show(_subject(each), frame)
    nodes = [] if loss is None else nodes_behind(met[-1:])
    shared = _shared(tensor, loss, nodes, held)
    for _, _, source in shared:
        met.append(_tell(recorder, source))
    events = list(recorder.records())
    leaves = [node.variable for node in nodes if type(node) is AccumulateGrad]
    memory = memory_of(tensor)
    twins = [each for each in leaves if each is not tensor and memory is not None and memory_of(each) == memory]
    told = [Shared(_id(recorder, node), _id_of(recorder, source) or "", name) for node, name, source in shared]
    live = LiveGraph(
        told, [own for each in twins if (own := _id_of(recorder, each)) is not None], any(map(_is_freed, nodes))
    )
    asked = _asked(tensor, _id_of(recorder, tensor), names.get(id(tensor), ""))
    start = None if loss is None else _asked(loss, _id_of(recorder, loss), names.get(id(loss), ""))
    return Inquiry(events, asked, start, live)


def asked_in(recorder: Any, tensor: torch.Tensor) -> Asked:
    """Return PyTorch's facts about a tensor now, and its name in a recording."""
    with unobserved():
        serial = recorder._have(tensor) if isinstance(recorder, TorchRecorder) else None
        if serial is None:
            return _asked(tensor, None, "")
        asked = _asked(tensor, recorder.id_of(serial), "")
        return replace(asked, cut=recorder.cut_before(serial), cut_after=recorder.cut_right_after(serial))


def _shared(
    tensor: torch.Tensor, loss: torch.Tensor | None, nodes: list[Any], held: list[Held]
) -> list[tuple[Any, str, torch.Tensor]]:
    """Return for each variable that requires grad the first node that saved its memory; None if none did."""
    memories: dict[int, dict[int, Held]] = {}
    for name, each in held:
        if each.requires_grad and (memory := memory_of(each)) is not None:
            memories.setdefault(memory, {}).setdefault(id(each), (name, each))
    found: dict[int, tuple[Any, str, torch.Tensor]] = {}
    for node in nodes:
        kind = kind_of_node(type(node))
        for _, thing, hook in raw_saved(node, kind) if kind.saves else ():
            if hook is None and isinstance(thing, torch.Tensor):
                for key, (name, each) in memories.get(memory_of(thing) or 0, {}).items():
                    found.setdefault(key, (node, name, each))
    taken = tensor if loss is None or not tensor.requires_grad else loss
    alike = {} if taken.requires_grad else memories.get(memory_of(taken) or 0, {})
    return [*found.values(), *[(None, name, each) for name, each in alike.values()]]


def _tell(recorder: TorchRecorder, tensor: torch.Tensor) -> Any:
    """Record a tensor and what it was computed from; return its node."""
    found: dict[int, Any] = {}
    subject = _subject(tensor)
    made = maker_of(subject)
    if made is not None:
        recorder._place(made, found)
    recorder._describe(subject, found)
    recorder._tell(found)
    return made


def _subject(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor, or the base of a view whose memory was written: asking the view may create a node."""
    base = tensor._base
    return tensor if base is None or not version_of(tensor) else base


def _asked(tensor: torch.Tensor, id: str | None, name: str) -> Asked:
    subject, needs, dtype = _subject(tensor), tensor.requires_grad, tensor.dtype
    maker = maker_of(subject) if needs else None
    made = maker.name() if maker is not None else "a view" if needs and subject is not tensor else ""
    retains = bool(tensor.retains_grad)
    may_ask = not made and (subject is tensor or not subject.requires_grad)
    grad = tensor.grad if may_ask or retains else None  # of others PyTorch warns, or makes a node
    kept = None if grad is None else read(kept_of(grad, LIMIT))
    takes = dtype.is_floating_point or dtype.is_complex
    return Asked(id, name, name_of(dtype), takes, needs, made.rpartition("::")[2], retains, kept)


def _id(recorder: TorchRecorder, node: Any) -> str | None:
    serial = None if node is None else recorder._serial(node)
    return None if serial is None else recorder.id_of(serial)


def _id_of(recorder: TorchRecorder, tensor: torch.Tensor) -> str | None:
    serial = recorder._have(_subject(tensor))
    return None if serial is None else recorder.id_of(serial)


def _is_freed(node: Any) -> bool:
    """Return True if a node has freed what it saved."""
    for attribute, name in kind_of_node(type(node)).saves:
        try:
            raw = getattr(node, attribute)
            if TELLS_SAVED and isinstance(raw, _Kept) and all(each is None for each in kept_in(raw)):
                getattr(node, f"_saved_{name}")  # None was saved, else this raises an error; nothing is unpacked
        except RuntimeError:
            return True
    return False
