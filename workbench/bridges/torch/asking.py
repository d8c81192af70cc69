"""PyTorch's facts about a tensor whose gradient is asked about, and about the graph of a loss, without side effects."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from ...diagnosis.health.inquirer import Inquirer
from ...diagnosis.health.inquiry import Asked, Inquiry
from ...pictures.trace.hooks import nodes_behind
from ...pictures.trace.values import read
from .describe import (
    LIMIT,
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


class TorchInquirer(Inquirer):
    """Reads graphs of PyTorch."""

    _is_tensor = staticmethod(is_tensor)

    def __init__(self, recorder: Any = None) -> None:
        super().__init__(TorchRecorder() if recorder is None else recorder)
        self._met: list[Any] = []

    def inquire(self, tensor: torch.Tensor, loss: torch.Tensor | None, frame: FrameType | None) -> Inquiry:
        """Return the records of the current graph, and PyTorch's facts about a tensor; leave no mark on its nodes."""
        with unobserved():
            try:
                return super().inquire(tensor, loss, frame)
            finally:
                for node in nodes_behind(self._met):
                    node.metadata.pop(self._recorder._key, None)

    def asked_in(self, tensor: torch.Tensor) -> Asked:
        """Return PyTorch's facts about a tensor now, and its name in a recording."""
        with unobserved():
            return super().asked_in(tensor)

    def _subject(self, tensor: torch.Tensor) -> torch.Tensor:
        base = tensor._base
        return tensor if base is None or not version_of(tensor) else base

    def _maker(self, tensor: torch.Tensor) -> Any:
        maker = maker_of(self._subject(tensor))
        self._met.append(maker)
        return maker

    def _memory(self, thing: Any) -> int | None:
        return memory_of(thing)

    def _serial(self, thing: Any) -> int | None:
        recorder = self._recorder
        if thing is None or not isinstance(recorder, TorchRecorder):
            return None
        return recorder._have(thing) if is_tensor(thing) else recorder._serial(thing)

    def _saved(self, node: Any) -> list[torch.Tensor]:
        kind = kind_of_node(type(node))
        saved = raw_saved(node, kind) if kind.saves else []
        return [thing for _, thing, hook in saved if hook is None and isinstance(thing, torch.Tensor)]

    def _is_freed(self, node: Any) -> bool:
        for attribute, name in kind_of_node(type(node)).saves:
            try:
                raw = getattr(node, attribute)
                if TELLS_SAVED and isinstance(raw, _Kept) and all(each is None for each in kept_in(raw)):
                    getattr(node, f"_saved_{name}")  # None was saved, else this raises an error; nothing is unpacked
            except RuntimeError:
                return True
        return False

    def _asked(self, tensor: torch.Tensor, id: str | None, name: str) -> Asked:
        subject, needs, dtype = self._subject(tensor), tensor.requires_grad, tensor.dtype
        maker = maker_of(subject) if needs else None
        made = maker.name() if maker is not None else "a view" if needs and subject is not tensor else ""
        retains = bool(tensor.retains_grad)
        may_ask = not made and (subject is tensor or not subject.requires_grad)
        grad = tensor.grad if may_ask or retains else None  # of others PyTorch warns, or makes a node
        kept = None if grad is None else read(kept_of(grad, LIMIT))
        takes = dtype.is_floating_point or dtype.is_complex
        return Asked(id, name, name_of(dtype), takes, needs, made.rpartition("::")[2], retains, kept)
