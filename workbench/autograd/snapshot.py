"""Undo one step of a backward pass: take a snapshot of what the step is about to change, and restore it.

A step changes little: the queue, the gradients waiting at the node and its inputs, the node's saved tensors, one leaf's
`.grad`. So a snapshot only holds references to these, and going back k steps restores k snapshots. Values are copied
only if they may be overwritten: a `.grad` that is added to in place, or a gradient that user code can access.

A backward pass that user code runs inside the step (a hook, reentrant checkpointing) is reported by events, node by
node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..events import Event
from .builtin_node import OpNode
from .engine import GraphTask
from .function import BackwardCFunction
from .node import AccumulateGrad, Node, edge_of
from .state import local
from .tensor import Tensor, meta_of
from .views import CopySlices

ABSENT = object()  # stands where nothing was


class _Values:
    """A tensor's values, history and version, for one that may be written."""

    def __init__(self, t: Tensor) -> None:
        self.tensor, self.facts = t, (t._fn, t._nr, t._rg)
        self.version = 0 if t._storage is None else t._storage.version
        self.array, self.values = t._array, t._array.copy()

    def restore(self) -> None:
        t = self.tensor
        t._array = self.array
        t._fn, t._nr, t._rg = self.facts
        if t._storage is not None and t._storage.version != self.version:
            t._storage.version = self.version
        _put(self.array, self.values)


def _put(array: np.ndarray, values: np.ndarray) -> None:
    if array.flags.writeable:
        array[...] = values


class Snapshot:
    """What the next step of a task will change; `restore()` undoes it."""

    def __init__(self, task: GraphTask) -> None:
        self.task = task
        self._ready = task._ready.copy()
        self._captured, self._callbacks = task.captured.copy(), task.callbacks.copy()
        self._kept = {key: value.copy() for key, value in task.kept.items()}
        self._over = task._over
        self._buffers: list[tuple[Node, Any]] = []
        self._waiting: list[tuple[Node, int]] = []
        self._grads: list[tuple[Any, Tensor | None]] = []  # a tensor's rare facts, and the gradient among them
        self._written: list[_Values] = []
        self._arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self._attributes: list[tuple[Any, str, Any]] = []
        self._notes: list[tuple[Any, dict[str, Any]]] = []  # what a Function put on its ctx
        if self._ready:
            self._before_step(self._ready[0])

    def _before_step(self, node: Node) -> None:
        task = self.task
        nodes = dict.fromkeys([node, *[parent for parent, _ in node.edges() if parent is not None]])
        for each in nodes:
            have = task._buffers.get(each, ABSENT)
            self._buffers.append((each, have.copy() if type(have) is list else have))
            self._waiting.append((each, task._waiting[each]))
        if runs_user_code(node):
            have = task._buffers.get(node)
            for grad in have if type(have) is list else [have]:
                self._keep_values(grad)
        self._retained(node)
        self._before_run(node, task.tensors)

    def _keep_values(self, grad: Any) -> None:
        if isinstance(grad, Tensor):
            self._written.append(_Values(grad))
        elif type(grad) is np.ndarray:
            self._arrays.append((grad, grad.copy()))

    def _retained(self, node: Node) -> None:
        """Store the gradients of tensors that retain theirs."""
        for reference in (node.extra.retainers or {}).values() if node.extra is not None else ():
            t = reference()
            if t is not None:
                self._grads.append((meta_of(t), meta_of(t).grad))

    def _before_run(self, node: Node, tensors: bool) -> None:
        """Store what the node itself changes: a leaf's gradient, its saved tensors, a Function's notes on its ctx."""
        if type(node) is AccumulateGrad:
            meta = meta_of(node.variable)
            self._grads.append((meta, meta.grad))
            if meta.grad is not None and (not tensors or meta.post_accumulate):
                self._written.append(_Values(meta.grad))
        elif type(node) is CopySlices:
            self._attributes.append((node, "fn", node.fn))
            if node.fn is not None:
                self._before_run(node.fn, tensors)
        elif isinstance(node, BackwardCFunction):
            self._attributes.append((node, "_saved", node._saved))
            self._notes.append((node, node.__dict__.copy()))
        elif isinstance(node, OpNode):
            self._attributes += [(node, f"saved_{name}", getattr(node, f"saved_{name}")) for name in node.saved_names]

    def hear(self, event: Event) -> None:
        """Note what a backward pass inside the step is about to change; a listener while the step runs."""
        if event[0] == "backward" and self._is_around(local.modes.task):
            for node in event[1]._waiting:
                self._retained(node)
        elif event[0] == "run" and event[1] is not self.task and self._is_around(event[1]):
            self._before_run(event[2], event[1].tensors)

    def _is_around(self, task: Any) -> bool:
        while task is not None and task is not self.task:
            task = task.outer
        return task is not None

    def restore(self) -> None:
        """Put everything back as it was; the first note of a thing is the one that counts, so the last comes first."""
        task = self.task
        task._ready, task.captured, task.callbacks = self._ready, self._captured, self._callbacks
        task.kept, task._over = self._kept, self._over
        for node, have in self._buffers:
            if have is ABSENT:
                task._buffers.pop(node, None)
            else:
                task._buffers[node] = have
        task._waiting.update(self._waiting)
        for array, values in reversed(self._arrays):
            _put(array, values)
        for written in reversed(self._written):
            written.restore()
        for meta, grad in reversed(self._grads):
            meta.grad = grad
        for owner, name, value in reversed(self._attributes):
            setattr(owner, name, value)
        for node, notes in reversed(self._notes):
            node.__dict__.clear()
            node.__dict__.update(notes)


def kinds_of_hooks(node: Node) -> list[str]:
    """Return the kinds of hooks that run when a gradient arrives at a node, in words."""
    extra = node.extra
    found = [] if extra is None else [("tensor hook", any((extra.tensor_hooks or {}).values()))]
    found += [] if extra is None else [("pre-hook", extra.pre_hooks), ("post-hook", extra.post_hooks)]
    if type(node) is AccumulateGrad:
        found.append(("hook after accumulation", meta_of(node.variable).post_accumulate))
    return [kind for kind, hooks in found if hooks]


def runs_user_code(node: Node) -> bool:
    """Return True if running a node passes its gradient to user code, which may write to it."""
    inner = node.fn if type(node) is CopySlices else node
    return isinstance(inner, BackwardCFunction) or bool(kinds_of_hooks(node))


def place_of(tensor: Tensor) -> tuple[Node | None, int]:
    """Return where a tensor's gradient arrives: the node, and the number of its output; (None, 0) if it needs none."""
    return (edge_of(tensor), tensor._nr) if tensor.requires_grad else (None, 0)
