"""The user's hooks on gradients as they are found, and what each makes of what it is given: names and copies alone."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any

from ..events import tag
from .call_records import HookRan, HooksFound
from .describe import ACCUMULATE, Describer, is_tensor, maker_of
from .source import OWN, variables

Hooks = tuple[tuple[Any, ...], ...]  # of each its kind, which output it is on, its name and line


class HookDescriber(Describer):
    """Puts down which hooks are where, whenever that has changed, and what they do."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._hooks: dict[int, Hooks] = {}  # place -> what was put down of its hooks
        # By task and node: a hook, what it has been given, and the leaf whose gradient that is.
        self._given: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._after: list[HookRan.Raw] = []  # what hooks did after an accumulation that is still to be told
        self._retaining: tuple[int, int] | None = None  # the node whose tensors are said to keep what has come

    def look_up(self, frame: FrameType | None) -> None:
        """Learn which of a frame's variables hold tensors, and which hooks are on these."""
        super().look_up(frame)
        if frame is not None:
            self._meet_those_of([thing for _, thing in variables(frame) if is_tensor(thing)])

    def _meet(self, nodes: Iterable[Any]) -> None:
        """Put down the hooks of these nodes, where they are others than before."""
        news: list[tuple[int, Hooks]] = []
        for node in nodes:
            if not _has_hooks(node.extra) and (node.arity or not _told_by(node)):
                if not self._hooks:
                    continue
                hooks: Hooks = ()
            else:
                hooks = hooks_of(node)
            serial = self._serial(node)
            if hooks != self._hooks.get(serial, ()) and (serial in self._nodes or serial in self._tensors):
                self._hooks[serial] = hooks
                news.append((serial, hooks))
        if news:
            self._raw.append(HooksFound.Raw(tuple(news)))

    def _meet_those_of(self, tensors: Iterable[Any]) -> None:
        """The same of the nodes of tensors, and of leaves, which may have no node yet."""
        nodes: list[Any] = []
        for tensor in tensors:
            if (maker := maker_of(tensor)) is not None:
                nodes.append(maker)
            elif tensor._meta is not None:
                nodes.append(_Leaf(tensor))
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
        told = HookRan.Raw(task._tag, serial, hook, before, after)
        if hook[0] == "accumulated":
            self._after.append(told)
        else:
            self._raw.append(told)

    def _retain(self, task: Any, node: Any) -> None:
        """Put down once what tensors keep of the gradient that has come to their node, before its own hooks run."""
        if node.extra is None or not node.extra.retainers or self._retaining == (tag(task), tag(node)):
            return
        self._retaining = tag(task), tag(node)
        for nr, own in node.extra.retainers.items():
            if (tensor := own()) is not None:
                which, kept = ("retained", nr, "retain_grad", None), (self._copy(tensor.grad),)
                self._raw.append(HookRan.Raw(task._tag, self._serial(node), which, kept, kept))

    def _is_after(self, task: Any, node: Any) -> bool:
        """Whether a leaf's node that fails does so in a hook after the accumulation, which then was done."""
        asked = self._given.get((tag(task), tag(node)))
        told = [each for each in self._after if each[:2] == (tag(task), self._serial(node))]
        return bool(told) or (asked is not None and asked[0][0] == "accumulated")

    def _take_after(self, leaf: int) -> list[HookRan.Raw]:
        """What hooks did since a gradient was added to a leaf's."""
        told, self._after = [each for each in self._after if each.node == leaf], []
        return told

    def forget(self, task: Any) -> None:
        """Forget what hooks had begun in a task that is over."""
        serial = tag(task)
        self._after = [each for each in self._after if each.task != serial]
        for key in [key for key in self._given if key[0] == serial]:
            del self._given[key]

    def _carried(self, kind: str, given: Any) -> tuple[Any, ...]:
        """What is put down of what a hook is called with: gradients, or the leaf that has one."""
        if kind == "accumulated":
            return (self._copy(given.grad),)
        several: Any = given if given.__class__ is tuple else (given,)
        return tuple([self._copy(each) for each in several])


class _Leaf:
    """A leaf as the node that takes its gradient, which comes and goes."""

    arity = 0

    def __init__(self, variable: Any) -> None:
        self.variable, self.extra, self._tag = variable, variable._meta.extra, tag(variable)

    def name(self) -> str:
        return ACCUMULATE


def _has_hooks(extra: Any) -> bool:
    """Whether there are any among the rare facts of a node."""
    return extra is not None and bool(
        extra.tensor_hooks or extra.retainers or extra.pre_hooks or extra.post_hooks
    )


def hooks_of(node: Any) -> Hooks:
    """The hooks at a node, and those on the tensors that it made, or on its leaf, in the order in which they run."""
    extra: Any = node.extra
    found: list[tuple[Any, ...]] = []
    if extra is not None:
        for nr, hooks in _all(extra.tensor_hooks).items():
            found += [("tensor", nr, *name_of(hook)) for hook in hooks.values()]
        kept = [nr for nr, tensor in _all(extra.retainers).items() if tensor() is not None]
        found += [("retained", nr, "retain_grad", None) for nr in kept]
        found += [("before", 0, *name_of(hook)) for hook in _all(extra.pre_hooks).values()]
        found += [("after", 0, *name_of(hook)) for hook in _all(extra.post_hooks).values()]
    if not node.arity and (told := _told_by(node)):
        found += [("accumulated", 0, *name_of(hook)) for hook in told.values()]
    return tuple(found)


def _all(hooks: dict[int, Any] | None) -> dict[int, Any]:
    return hooks or {}


def reached_from(node: Any) -> list[Any]:
    """A node and all that its gradients can go to."""
    reached = {node: None}
    stack = [node]
    while stack:
        for to, _ in stack.pop().next_functions:
            if to is not None and to not in reached:
                reached[to] = None
                stack.append(to)
    return list(reached)


def _told_by(node: Any) -> Any:
    """The hooks after an accumulation of what may be the node of a leaf."""
    meta = node.variable._meta if node.name() == ACCUMULATE else None
    return None if meta is None else meta.post_accumulate


def name_of(hook: Any) -> tuple[str, tuple[str, int] | None]:
    """What a hook is called, and the line of the user's where it is defined."""
    hook = getattr(hook, "__wrapped__", hook)
    hook = getattr(hook, "func", hook)
    code = getattr(hook, "__code__", None)
    if code is not None:
        users = not code.co_filename.startswith(OWN)
        return code.co_name, (code.co_filename, code.co_firstlineno) if users else None
    call = getattr(type(hook).__call__, "__code__", None)  # of an object that can be called
    name = getattr(hook, "__name__", type(hook).__name__)
    if call is None or call.co_filename.startswith(OWN):
        return name, None
    return name, (call.co_filename, call.co_firstlineno)
