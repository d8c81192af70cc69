"""Nodes: what the graph is made of, and where a leaf's gradient arrives.

Every node has a sequence number, an edge for each tensor it came from, and two methods: `vjp` takes and returns plain
arrays (without a graph), `vjp_tensors` takes and returns tensors (create_graph=True). If only some leaves are wanted,
both receive the nodes that lead to them, and a built-in operation only computes the gradients that go to these nodes.
"""

from __future__ import annotations

import copy
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from ..events import ask, listeners
from . import dtypes, state
from .anomaly_mode import remember
from .state import again_quietly, compute, in_forked_children, local, quietly
from .tensor import Tensor, bump, meta_of, storage_of, tensor_method, wrap

count = sys.getrefcount


class _Probe:
    """Counts as AccumulateGrad does: how many references a call adds differs between Pythons."""

    __slots__ = ("held",)

    def vjp(self, grad: Any, needed: Any = None) -> int:
        return count(grad)

    def hand_on(self) -> int:
        out: Any = np.empty(1)
        grad, out = out, None
        return self.vjp(grad)

    def hold(self) -> int:
        self.held = np.empty(1)
        held = self.held
        return count(held)


# The references if there are no others; at most 3, because a debugger may have added some when this was counted.
REFERENCES_IF_HANDED_ON = min(_Probe().hand_on(), 3)  # what a node is called with, by a caller who has it too
REFERENCES_IF_HELD_ONCE = min(_Probe().hold(), 3)  # what was just read from the one place that has it


def owns_memory(grad: np.ndarray) -> bool:
    """Return True if an array's memory is its own, or that of an array that exists only for it."""
    base = grad.base
    is_own = base is None or (type(base) is np.ndarray and count(base) <= REFERENCES_IF_HELD_ONCE)
    return is_own and grad.flags.writeable


def is_dense(array: np.ndarray) -> bool:
    """Return True if the elements are contiguous in memory, in any order of the dimensions."""
    if array.flags.forc:
        return True
    expected = array.itemsize
    for step, n in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if step != expected:
            return False
        expected *= n
    return True


def lies_like(grad: np.ndarray, leaf: np.ndarray) -> bool:
    """Return True if a gradient's memory layout matches PyTorch's: like the leaf, or in rows if that has gaps."""
    if leaf.flags.c_contiguous and leaf.size:
        return grad.flags.c_contiguous
    if not is_dense(leaf):
        return grad.flags.c_contiguous
    steps = zip(grad.strides, leaf.strides, leaf.shape, strict=True)
    return grad.strides == leaf.strides or all([n == 1 or step == own for step, own, n in steps])


def room_like(leaf: np.ndarray, dtype: Any) -> np.ndarray:
    """Return zeros for a leaf's gradient in PyTorch's memory layout; a picture shows what is overwritten."""
    return np.zeros_like(leaf, dtype) if is_dense(leaf) else np.zeros(leaf.shape, dtype)


sequence = itertools.count()
_accumulating = threading.Lock()  # two threads may bring gradients to one leaf


@in_forked_children
def _renew_lock() -> None:
    global _accumulating
    _accumulating = threading.Lock()


class Metadata:
    """What a node knows about a gradient that arrives at it."""

    __slots__ = ("shape", "dtype")
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, shape: list[int], dtype: dtypes.dtype) -> None:
        self.shape, self.dtype = shape, dtype

    @classmethod
    def of(cls, shape: tuple[int, ...], kind: np.dtype | None) -> Metadata:
        """Return it from an array's facts; if no gradient can arrive, from what PyTorch makes of nothing."""
        if kind is None or kind.kind not in "fc":
            return cls([], dtypes.get_default_dtype())
        return cls(list(shape), dtypes.named(kind.name))


def read_only(name: str) -> Callable[[Any, Any], None]:
    """Return the setter of a property that can't be set."""

    def refuse(node: Any, value: Any) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch._C._FunctionBase' objects is not writable")

    return refuse


class Extra:
    """What only some nodes have; the class attributes are the values for all others."""

    metadata: dict[Any, Any] | None = None
    tensor_hooks: dict[int, dict[int, Any]] | None = None  # by output number
    retainers: dict[int, Any] | None = None  # weak references to the tensors that retain their gradient, likewise
    cast: dict[int, dtypes.dtype] | None = None  # what gradients of an output are cast to, if not to its own dtype
    pre_hooks: dict[int, Any] | None = None
    post_hooks: dict[int, Any] | None = None
    scope: Any = None  # the innermost open scope in which the node was made: its entry (scopes.py)
    shapes: dict[int, Any] | None = None  # shape and dtype of outputs of which a GradientEdge was made
    slices: Any = None  # of a write through a view: weak reference to the CopySlices that runs this node


class ScopeOnlyExtra(Extra):
    """Hold a node's scope, or its lifetime token: a backward pass runs such a node as an ordinary one."""


def in_scope() -> ScopeOnlyExtra | None:
    """Return what a new node stores about the innermost open scope; None outside all scopes."""
    entry = state.scopes.stack.entry
    if entry is None:
        return None
    extra = ScopeOnlyExtra()
    extra.scope = entry
    return extra


def note_scope(node: Node) -> None:
    """Tell a node that was made without it of the innermost open scope."""
    if node.extra is None:
        node.extra = in_scope()
    elif node.extra.scope is None:
        node.extra.scope = state.scopes.stack.entry


def extra_of(node: Node, kind: type[Extra] = Extra) -> Extra:
    """Return a node's rare facts, created on first use."""
    if type(node.extra) is ScopeOnlyExtra and kind is Extra:
        node.extra.__class__ = Extra
    if node.extra is None:
        made, meta = kind(), meta_of(node.variable) if type(node) is AccumulateGrad else None
        if node.extra is None:  # as in meta_of: no other thread comes between this and what follows
            node.extra = made
            if meta is not None:
                meta.extra = made  # so that the leaf's next accumulator has them too
    return node.extra


class Node:
    """A recorded operation: where gradients arrive, and where they go (torch.autograd.graph.Node)."""

    __slots__ = ("seq", "extra", "_tag")

    arity = 0  # how many edges; -1 where it differs from node to node
    multi = False  # several outputs: gradients come in a list, one per output
    outputs = 1
    takes_undefined = False  # runs even when no gradient arrived; other nodes then pass "none" on
    keeps_result = False
    built_in = False  # whether no code of the user's runs in it
    of_function = False  # whether it is one application of a Function of the user's
    saved_names: tuple[str, ...] = ()
    next0: Any  # of a node with one edge or two: where its gradients go, (next0, nr0) and (next1, nr1)
    next1: Any
    nr0: int
    nr1: int
    variable: Tensor  # of an AccumulateGrad
    forward_text = backward_text = ""

    def name(self) -> str:
        """Return the node's name, as PyTorch prints it."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at 0x{id(self):x}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return where each input's gradient goes: (node, its output); (None, 0) if none is needed."""
        return ()

    def leads_to(self) -> Sequence[Node | None]:
        """Return the nodes that the gradients go to."""
        return [parent for parent, _ in self.edges()]

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Return the edges, one for each tensor input."""
        return self.edges()

    def lifetime_token(self) -> object:
        """Return an object that lives exactly as long as the node; weak references would make every node larger."""
        return extra_of(self, ScopeOnlyExtra)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for your notes on this node."""
        extra = extra_of(self)
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    def _sequence_nr(self) -> int:
        return self.seq

    def vjp(self, grad: Any, needed: Container[Node] | None = None) -> Any:
        """Return the gradient of each input as arrays, from arrays; a single gradient isn't in a tuple."""
        raise NotImplementedError

    def vjp_tensors(self, grad: Any, needed: Container[Node] | None = None) -> Any:
        """Return the gradients as tensors, recorded if recording is on."""
        raise NotImplementedError

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """Return what is saved, as (name, tensor or array or None, version), without any check."""
        return []

    def release(self) -> bool:
        """Free the saved tensors; return True if there were any."""
        return False

    def is_freed(self) -> bool:
        """Return True if an earlier backward pass freed saved tensors that the next pass has to read."""
        return False

    def check_saved(self) -> None:
        """Read what is saved, as PyTorch does even where no gradient arrived: it may be freed, or out of date."""


def run_by_hand(node: Node, *grads: Tensor | None, **named: Any) -> Tensor | tuple[Tensor | None, ...] | None:
    """Return the gradients of a built-in node's inputs, or of one input, from the gradients of its outputs.

    Inside a backward pass for certain inputs, PyTorch computes only those here too.
    """
    if named:
        raise TypeError("keyword arguments are not supported")
    if len(grads) != node.outputs:
        raise TypeError(f"expected {node.outputs} arguments, got {len(grads)} instead")
    for i, grad in enumerate(grads):
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(f"argument {i} is not a Variable")
    if grads == (None,) and not node.takes_undefined:
        node.check_saved()
        out = (None,) * len(node.edges())
    else:
        arrived, task = list(grads) if node.multi else grads[0], local.modes.task
        out = node.vjp_tensors(arrived, None if task is None or task.targets is None else task.needed())
        out = (out,) if node.arity == 1 else tuple(out or ())
    return out[0] if len(out) == 1 else out


class AccumulateGrad(Node):
    """The node where a leaf's gradient arrives: it adds the gradient to the leaf's `.grad`."""

    __slots__ = ("variable", "__weakref__")

    seq = 2**64 - 1
    takes_undefined = True  # the hooks after accumulation hear of a gradient that is not there, too
    __call__ = run_by_hand

    def name(self) -> str:
        """Return the node's name, as PyTorch prints it."""
        return "torch::autograd::AccumulateGrad"

    @property
    def _input_metadata(self) -> tuple[Metadata]:
        return (Metadata.of(self.variable._array.shape, self.variable._array.dtype),)

    def vjp(self, grad: Any, needed: Container[Node] | None = None) -> None:
        """Add an array to the leaf's gradient, in place if there is one already."""
        leaf = self.variable
        meta, own = leaf._meta or meta_of(leaf), leaf._array
        if grad is not None and leaf._rg:
            have = meta.grad
            if have is None:
                if type(grad) is not np.ndarray or (grad.dtype != own.dtype and self._casts(meta)):
                    grad = quietly(np.array, grad, own.dtype if self._casts(meta) else grad.dtype)
                if count(grad) <= REFERENCES_IF_HANDED_ON and lies_like(grad, own):
                    made = wrap(grad if owns_memory(grad) else grad.copy("K"))
                    task = local.modes.task
                    if task is not None and self in task.sums:  # written as often as others were added on the way
                        storage_of(made).version = task.sums[self]
                else:
                    made = _copied(grad, leaf)
                have = meta.grad
                if have is None:  # as in meta_of: no other thread comes between these lines
                    meta.grad = made
            if have is not None:
                with _accumulating:
                    try:
                        compute(np.add, have._array, grad, have._array)
                    except RuntimeError as error:
                        again_quietly(error, np.add, have._array, grad, have._array)
                    bump(have)
        if meta.post_accumulate:
            self._tell(meta)

    def vjp_tensors(self, grad: Any, needed: Container[Node] | None = None) -> None:
        """Add a tensor to the leaf's gradient, out of place: the old one may be part of a graph."""
        leaf, meta = self.variable, meta_of(self.variable)
        if grad is not None and leaf._rg:
            with _accumulating:
                if meta.grad is None:
                    grad = grad if local.modes.grad else grad.detach()  # which has no tangent
                    meta.grad = wrap(room_like(leaf._array, grad._array.dtype)).copy_(grad)
                else:
                    meta.grad = meta.grad + grad
        if meta.post_accumulate:
            self._tell(meta)

    def _casts(self, meta: Any) -> bool:
        """Return True if gradients are cast to the leaf's dtype: not if it has, or had, another grad_dtype."""
        return meta.grad_dtype == "own" and (self.extra is None or self.extra.cast is None)

    def _tell(self, meta: Any) -> None:
        leaf = self.variable
        for hook in list(meta.post_accumulate.values()):
            returned = ask("accumulated", local.modes.task, self, 0, hook, leaf) if listeners else hook(leaf)
            if returned is not None and returned is not leaf:
                from .hooks import check_value

                check_value(hook, leaf, returned)
                leaf = returned  # as PyTorch does, which refuses it when all hooks ran
        if leaf is not self.variable:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _copied(grad: np.ndarray, leaf: Tensor) -> Tensor:
    """Return a copy of a gradient in the leaf's memory layout; PyTorch counts a write, unless the leaf has gaps."""
    if leaf._array.flags.c_contiguous:
        copied = wrap(grad.copy())
    else:
        copied = wrap(room_like(leaf._array, grad.dtype))
        copied._array[...] = grad
    if is_dense(leaf._array):
        bump(copied)
    return copied


# `seq` is a slot of Node; for AccumulateGrad it is the class's constant, which outranks every sequence number, so that
# leaves take their gradient as soon as it is complete.


def edge_of(t: Tensor) -> Node | None:
    """Return the node that takes this tensor's gradient: its grad_fn, or a leaf's AccumulateGrad.

    None for a view made without gradients, which requires grad only because its base does.
    """
    fn, meta = t._fn, t._meta
    if fn is None and meta is not None and meta.base is not None:
        current = meta.view_fn is not None and meta.attr_version == t._storage.version
        fn = meta.view_fn if current else t.grad_fn
    return accumulator(t) if fn is None and t._rg else fn


def target_of(t: Tensor) -> Node:
    """Return the same for a tensor whose gradient is requested; if it has no node, return one that no path reaches."""
    return edge_of(t) or accumulator(t)


@tensor_method("_keep_dtype")
def keep_dtype(t: Tensor) -> None:
    """Keep the dtype that gradients of results computed from `t` have, whatever dtype its data gets.

    PyTorch's nodes know the dtypes of their results; here the node stores the dtype when another one replaces it.
    """
    node = t.grad_fn
    if node is None:
        accumulates = t._meta and t._meta.accumulator
        node = accumulates and accumulates()
        if node is None or t._meta.grad_dtype != "own":
            return
        node.extra, t._meta.accumulator = copy.copy(extra_of(node)), None  # from now on another one
    extra = extra_of(node)
    extra.cast = {t._nr: t.dtype, **(extra.cast or {})}


@tensor_method("_cast_gradients")
def cast_gradients(t: Tensor, kind: dtypes.dtype | None) -> None:
    """Cast gradients that arrive at a leaf to a dtype; None for no cast."""
    extra_of(target_of(t)).cast = None if kind is None else {0: kind}


def accumulator(t: Tensor) -> AccumulateGrad:
    """Return a leaf's AccumulateGrad: one at a time, alive only while something holds it, so that there is no cycle."""
    meta = t._meta or meta_of(t)
    before = meta.accumulator
    node = None if before is None else before()
    if node is None:
        node = AccumulateGrad()
        if meta.extra is not None and (meta.extra.metadata or meta.extra.pre_hooks or meta.extra.post_hooks):
            meta.extra = copy.copy(meta.extra)  # without what belonged to the node before it
            meta.extra.metadata = meta.extra.pre_hooks = meta.extra.post_hooks = None
        node.extra = meta.extra
        node.variable = t
        made = weakref.ref(node)
        if meta.accumulator is not before:  # another thread was first
            return accumulator(t)
        meta.accumulator = made
        if state.anomaly:
            remember(node)
    return node
