"""The graph: nodes, edges, and hooks on saved tensors and on several gradients (torch.autograd.graph)."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..events import emit, failed, listeners
from .hooks import RemovableHandle
from .node import Node, edge_of, extra_of
from .state import local, slow_path_reasons
from .tensor import Storage, Tensor, alias, bump, wrap

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

GradientEdge = namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])
GradientEdge.__doc__ = """A place in the graph where a gradient arrives: a node, and the number of one of its outputs.

Args:
    node: The node.
    output_nr: The number of the output, counted from 0.
    ownership_token: An object that keeps the graph alive as long as the edge exists; usually None.
"""


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place in the graph where the gradient of `tensor` arrives.

    You can pass this edge to `backward` or `grad` instead of the tensor. The edge keeps the graph in memory. A
    later in-place write into the tensor doesn't change the edge. PyTorch: torch.autograd.graph.get_gradient_edge.
    """
    if not tensor.requires_grad:
        raise failed(RuntimeError(errors.NO_GRADIENT_EDGE), tensor)
    node, nr = _node_of(tensor), tensor._nr
    if node is None:
        raise AssertionError(errors.NO_EDGE_NODE)
    extra = extra_of(node)
    extra.shapes = {**(extra.shapes or {}), nr: (tensor._array.shape, tensor._array.dtype)}
    return GradientEdge(node, nr)


def _node_of(t: Tensor) -> Node | None:
    """Return the node that takes a tensor's gradient.

    PyTorch finds a leaf's node through a view, which isn't possible in inference mode.
    """
    if (local.modes.inference or t.is_inference()) and t.is_leaf:
        raise AttributeError("'NoneType' object has no attribute 'next_functions'")
    return edge_of(t)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write into a tensor that the engine couldn't see, for example one through NumPy.

    A backward pass that needs the earlier value then raises an error, instead of computing a wrong gradient.

    Args:
        tensor: The tensor whose memory was written, or several tensors.
    """
    if not isinstance(tensor, (Tensor, Iterable)):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not t.is_inference():
            bump(t)
            if listeners:
                emit(("wrote", t, "increment_version"))


class saved_tensors_hooks:
    """Inside the `with` block, change how tensors are saved for backward.

    Whenever an operation saves a tensor, `pack_hook` gets the tensor, and the object that it returns is stored instead.
    When backward needs the tensor, `unpack_hook` makes a tensor from the stored object. PyTorch:
    torch.autograd.graph.saved_tensors_hooks.

    Args:
        pack_hook: A function that takes a tensor and returns any object, which is stored instead.
        unpack_hook: A function that takes the stored object and returns a tensor with the values of the original.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        modes, hooks = local.modes, (self.pack_hook, self.unpack_hook)
        errors.check_hooks("_push_saved_tensors_default_hooks", *hooks)
        if modes.hooks_refused is not None:
            raise RuntimeError(modes.hooks_refused)
        modes.saved_hooks = (*modes.saved_hooks, hooks)
        slow_path_reasons["hooks", modes] = True

    def __exit__(self, *exc: object) -> None:
        modes = local.modes
        if not modes.saved_hooks:
            raise RuntimeError(
                "is_initialized && !tls.stack.empty() INTERNAL ASSERT FAILED at "
                '"/__w/pytorch/pytorch/aten/src/ATen/SavedTensorHooks.cpp":69, please report a bug '
                "to PyTorch. "
            )
        modes.saved_hooks = modes.saved_hooks[:-1]
        if not modes.saved_hooks:
            slow_path_reasons.pop(("hooks", modes), None)


class save_on_cpu(saved_tensors_hooks):
    """Inside the `with` block, save a copy of each tensor for backward, instead of the tensor itself.

    PyTorch moves the copies from the GPU to the CPU's memory. In the workbench, all tensors are in that memory
    already.

    Args:
        pin_memory: No effect here. In PyTorch, True copies into memory from which a GPU can read directly.
        device_type: No effect here. In PyTorch, the kind of device from which the tensors come.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: wrap(t._array.copy()), lambda t: t)


class disable_saved_tensors_hooks(contextlib.ContextDecorator):
    """Inside the `with` block, refuse hooks on saved tensors: registering one raises `RuntimeError(error_message)`."""

    def __init__(self, error_message: str) -> None:
        self._message = error_message
        self._before: Any = None  # why they were refused before, and what had been before that

    def __enter__(self) -> None:
        modes = local.modes
        if modes.saved_hooks:
            raise RuntimeError(self._message)
        self._before = modes.hooks_refused, self._before
        modes.hooks_refused = self._message

    def __exit__(self, *exc: object) -> None:
        local.modes.hooks_refused, self._before = self._before


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` in every backward pass with the gradients of several tensors.

    PyTorch: torch.autograd.graph.register_multi_grad_hook.

    Args:
        tensors: The tensors whose gradients `fn` gets.
        fn: The function to call. In mode "all", the call happens when all gradients have arrived, and the argument is a
            list of them, with None for a tensor without a gradient. In mode "any", the argument is the first gradient
            that arrives.
        mode: When to call `fn`: "all" or "any", as above.

    Returns:
        A handle whose `remove()` removes the hook.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = [t for t in tensors if mode == "all" or t.requires_grad]
    own = object()  # under it a task keeps how many gradients are to come, and those that came
    nodes = [_node_of(t) if t.requires_grad else None for t in tensors] if mode == "all" else []
    if None in nodes:
        raise AssertionError(errors.NO_EDGE_NODE)

    def arrived(index: int, grad: Tensor | None) -> None:
        task = local.modes.task
        first = own not in task.kept
        if first:
            coming = sum(task.will_run(node) for node in nodes) if mode == "all" else 1
            task.kept[own] = [coming, *[None] * len(tensors)]
        seen = task.kept[own]
        seen[0] -= 1
        seen[1 + index] = grad
        if mode == "any" and first:
            fn(grad)
        elif mode == "all" and not seen[0]:
            fn(seen[1:])
            del task.kept[own]

    def at(index: int) -> Callable[[Tensor | None], None]:
        @functools.wraps(fn, (), ())  # for whoever asks what it is
        def hook(grad: Tensor | None) -> None:
            arrived(index, grad)

        return hook

    handles = [t.register_hook(at(i)) for i, t in enumerate(tensors)]
    return _Handles(handles)


class _Handles(RemovableHandle):
    def __init__(self, handles: list[RemovableHandle]) -> None:
        super().__init__({})
        self.handles = handles

    def remove(self) -> None:
        """Remove all of them."""
        for handle in self.handles:
            handle.remove()


class _Handle:
    """One saved tensor under allow_mutation_on_saved_tensors: the tensor, or its old values once it was modified."""

    __slots__ = ("tensor", "__weakref__")

    def __init__(self, t: Tensor) -> None:
        self.tensor = alias(t)


class _Mutation:
    """The saved tensors of one allow_mutation_on_saved_tensors block, by storage."""

    def __init__(self) -> None:
        self.handles: weakref.WeakKeyDictionary[Storage, weakref.WeakSet[_Handle]] = weakref.WeakKeyDictionary()
        self.open = True

    def pack(self, t: Tensor) -> _Handle:
        """Store a tensor as it is, with its storage."""
        handle = _Handle(t)
        self.handles.setdefault(handle.tensor._storage, weakref.WeakSet()).add(handle)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """Return the tensor with the values it had when it was saved."""
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin "
                "which the graph was originally recorded."
            )
        return handle.tensor

    def before_write(self, t: Tensor) -> None:
        """Copy the saved tensors of a storage that is about to be modified."""
        for handle in self.handles.pop(t._storage, ()) if t._storage is not None else ():
            handle.tensor = wrap(np.array(handle.tensor._array))


class allow_mutation_on_saved_tensors(contextlib.ContextDecorator):
    """Inside the `with` block, allow in-place writes to saved tensors.

    A backward pass inside the block uses the values from before the writes. Normally, such a backward pass raises
    an error.
    """

    def __enter__(self) -> _Mutation:
        modes = local.modes
        if modes.mutation is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        if modes.hooks_refused is not None:
            raise RuntimeError(modes.hooks_refused)
        mutation = _Mutation()
        modes.saved_hooks = (*modes.saved_hooks, (mutation.pack, mutation.unpack))
        modes.mutation, slow_path_reasons["hooks", modes] = mutation, True
        return mutation

    def __exit__(self, *exc: object) -> None:
        modes = local.modes
        mutation, modes.mutation = modes.mutation, None
        mutation.open = False
        try:
            mutation.handles.clear()
        finally:
            modes.saved_hooks = modes.saved_hooks[:-1]
            if not modes.saved_hooks:
                slow_path_reasons.pop(("hooks", modes), None)
