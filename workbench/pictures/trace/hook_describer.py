"""The hooks on the workbench's own nodes, described for a recorder: where they are, and what they do."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any

from ...events import tag
from .hooks import name_of
from .names import named_in
from .raw_events import Hooks
from .values import LIMIT
from .variables import variables
from .workbench_describer import WorkbenchDescriber
from .workbench_engine import LeafNode, has_hooks, hooks_of, is_tensor, maker_of, told_by


class HookDescriber(WorkbenchDescriber):
    """Describes the hooks of nodes whenever they have changed, and each call of one."""

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        # By task and node: a hook, what it has been given, and the leaf whose gradient that is.
        self._given: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._retaining: tuple[int, int] | None = None  # the node whose tensors are said to keep what has come

    def look_up(self, frame: FrameType | None) -> None:
        """Learn which of a frame's variables hold tensors, and the hooks on these; one keeps the first name found."""
        if frame is not None:
            self._learn(named_in(frame))
            self._meet_those_of([thing for _, thing in variables(frame) if is_tensor(thing)])
            self._read(frame)

    def _meet(self, nodes: Iterable[Any]) -> None:
        """Record the hooks of these nodes, if they have changed."""
        places: list[tuple[int, Hooks]] = []
        for node in nodes:
            if not has_hooks(node.extra) and (node.arity or not told_by(node)):
                if not self._hooks:
                    continue
                hooks: Hooks = ()
            else:
                hooks = hooks_of(node)
            serial = self._serial(node)
            if serial in self._nodes or serial in self._tensors:
                places.append((serial, hooks))
        self._put_hooks(places)

    def _meet_those_of(self, tensors: Iterable[Any]) -> None:
        """Record the nodes of tensors too, and leaves, which may have no node yet."""
        nodes: list[Any] = []
        for tensor in tensors:
            if (maker := maker_of(tensor)) is not None:
                nodes.append(maker)
            elif tensor._meta is not None:
                nodes.append(LeafNode(tensor))
        self._meet(nodes)

    def on_asks(self, task: Any, node: Any, kind: str, output_nr: int, hook: Any, given: Any) -> None:
        if kind == "before":
            self._retain(task, node)
        of = tag(given) if kind == "accumulated" else None
        self._given[tag(task), tag(node)] = (kind, output_nr, *name_of(hook)), self._carried(kind, given), of

    def on_asked(self, task: Any, node: Any, given: Any, returned: Any) -> None:
        hook, before, _ = self._given.pop((tag(task), tag(node)), (None, (), None))
        serial = self._serial(node)
        if hook is None or not (serial in self._nodes or serial in self._tensors):
            return
        several: Any = returned
        fits = is_tensor(returned) or (type(returned) is tuple and len(several) == len(before))
        after = self._carried(hook[0], returned if fits and hook[0] != "accumulated" else given)
        self._put_hook(task._tag, serial, hook, before, after)

    def _retain(self, task: Any, node: Any) -> None:
        """Record once what tensors keep of the gradient that reached their node, before its own hooks run."""
        if node.extra is None or not node.extra.retainers or self._retaining == (tag(task), tag(node)):
            return
        self._retaining = tag(task), tag(node)
        self._put_retained(task._tag, self._serial(node), node.extra.retainers.items())

    def _is_after(self, task: Any, node: Any) -> bool:
        """Return True if a leaf's node that fails does so in a hook after the accumulation, which then was done."""
        asked = self._given.get((tag(task), tag(node)))
        told = [each for each in self._late if each[1:3] == (tag(task), self._serial(node))]
        return bool(told) or (asked is not None and asked[0][0] == "accumulated")

    def forget(self, task: Any) -> None:
        """Forget what hooks had begun in a task that is over."""
        serial = tag(task)
        self._forget_late(serial)
        for key in [key for key in self._given if key[0] == serial]:
            del self._given[key]

    def _carried(self, kind: str, given: Any) -> tuple[Any, ...]:
        """Return what is recorded of a hook's arguments: gradients, or the leaf that has one."""
        if kind == "accumulated":
            return (self._copy(given.grad),)
        several: Any = given if given.__class__ is tuple else (given,)
        return tuple([self._copy(each) for each in several])
