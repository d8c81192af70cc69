"""Reads the graph of a tensor whose gradient is asked about, without a recording and without changing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from ...pictures.trace.engine import ACCUMULATE
from ...pictures.trace.hooks import nodes_behind
from ...pictures.trace.names import named_in
from ...pictures.trace.recorder import Recorder
from ...pictures.trace.values import read
from ...pictures.trace.workbench_engine import grad_of, is_tensor, maker_of, version_of
from .inquiry import Asked, Inquiry, LiveGraph, Shared


class Inquirer:
    """Reads the graph of a tensor, and facts about it, and changes nothing."""

    _is_tensor: Callable[[Any], bool] = staticmethod(is_tensor)

    def __init__(self, recorder: Any = None) -> None:
        self._recorder: Any = Recorder() if recorder is None else recorder

    def inquire(self, tensor: Any, loss: Any, frame: FrameType | None) -> Inquiry:
        """Return records of the graph and the facts about a tensor."""
        recorder = self._recorder
        held = [] if frame is None else named_in(frame, self._is_tensor)
        names = {id(each): name for name, each in reversed(held)}
        for each in (tensor, loss):
            if each is not None:
                self._maker(each)
                recorder.show(self._subject(each), frame)
        nodes = [] if loss is None else nodes_behind([self._maker(loss)])
        shared = self._shared(tensor, loss, nodes, held)
        for _, _, source in shared:
            self._tell(source)
        events = list(recorder.records())
        leaves = [node.variable for node in nodes if node.name() == ACCUMULATE]
        memory = self._memory(tensor)
        twins = [each for each in leaves if each is not tensor and memory is not None and self._memory(each) == memory]
        live = LiveGraph(
            [Shared(self._id_of(node), self._id_of(source) or "", name) for node, name, source in shared],
            [own for each in twins if (own := self._id_of(each)) is not None],
            any(map(self._is_freed, nodes)),
        )
        asked = self._asked(tensor, self._id_of(tensor), names.get(id(tensor), ""))
        told = None if loss is None else self._asked(loss, self._id_of(loss), names.get(id(loss), ""))
        return Inquiry(events, asked, told, live)

    def asked_in(self, tensor: Any) -> Asked:
        """Return the facts about a tensor now, and its name in a recording."""
        if (serial := self._serial(tensor)) is None:
            return self._asked(tensor, None, "")
        asked, recorder = self._asked(tensor, self._recorder.id_of(serial), ""), self._recorder
        return replace(asked, cut=recorder.cut_before(serial), cut_after=recorder.cut_right_after(serial))

    def _shared(
        self, tensor: Any, loss: Any, nodes: list[Any], held: list[tuple[str, Any]]
    ) -> list[tuple[Any, str, Any]]:
        """Return for each variable that requires grad the first node that saved its memory; None if none did."""
        memories: dict[int | None, dict[int, tuple[str, Any]]] = {None: {}}
        for name, each in held:
            if each.requires_grad and (memory := self._memory(each)) is not None:
                memories.setdefault(memory, {}).setdefault(id(each), (name, each))
        found: dict[int, tuple[Any, str, Any]] = {}
        for node in nodes:
            for thing in self._saved(node):
                for key, (name, each) in memories.get(self._memory(thing), {}).items():
                    found.setdefault(key, (node, name, each))
        taken = tensor if loss is None or not tensor.requires_grad else loss
        alike = {} if taken.requires_grad else memories.get(self._memory(taken), {})
        return [*found.values(), *[(None, name, each) for name, each in alike.values()]]

    def _tell(self, tensor: Any) -> None:
        """Record a tensor and what it was computed from."""
        found: dict[int, Any] = {}
        if (maker := self._maker(tensor)) is not None:
            self._recorder._place(maker, found)
        self._recorder._describe(self._subject(tensor), found)
        self._recorder._tell(found)

    def _id_of(self, thing: Any) -> str | None:
        """Return the id of a tensor or a node in the records."""
        serial = self._serial(self._subject(thing) if self._is_tensor(thing) else thing)
        return None if serial is None else self._recorder.id_of(serial)

    # What PyTorch answers in another way.

    def _subject(self, tensor: Any) -> Any:
        """Return a tensor, or the base of a view whose memory was written: asking the view would create a node."""
        meta = tensor._meta
        if meta is None or meta.base is None or meta.attr_version == version_of(tensor):
            return tensor
        return meta.base

    def _maker(self, tensor: Any) -> Any:
        return maker_of(self._subject(tensor))

    def _memory(self, thing: Any) -> int | None:
        array = thing if isinstance(thing, np.ndarray) else getattr(thing, "_array", None)
        while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
            array = array.base
        return None if array is None else id(array)

    def _serial(self, thing: Any) -> int | None:
        return getattr(thing, "_tag", None) if isinstance(self._recorder, Recorder) else None

    def _saved(self, node: Any) -> Iterable[Any]:
        return [thing for _, thing, _ in node.saved_items()]

    def _is_freed(self, node: Any) -> bool:
        return bool(node.is_freed())

    def _asked(self, tensor: Any, id: str | None, name: str) -> Asked:
        subject, inner = self._subject(tensor), tensor
        while hasattr(inner, "_value") and not hasattr(inner, "_array"):
            inner = inner._value
        dtype = inner._array.dtype
        maker, needs = maker_of(subject), tensor.requires_grad
        made = "" if not needs or (maker is None and subject is tensor) else "a view" if maker is None else maker.name()
        grad, retains = grad_of(tensor), bool(getattr(tensor._meta, "retains_grad", False))
        kept = None if grad is None else read(Recorder()._copy(grad))
        return Asked(id, name, dtype.name, dtype.kind in "fc", needs, made, retains, kept)
