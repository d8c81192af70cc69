"""Nodes: what the graph is made of, and how saved tensors are read back.

Every node has a sequence number, an edge for each tensor it came from, and one method for each of the two worlds:
`vjp` takes and gives plain arrays (no graph wanted), `vjp_tensors` takes and gives tensors (create_graph=True).
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

from .. import errors
from ..events import emit, listeners
from .tensor import Storage, Tensor, bump, meta_of, storage_of, wrap

sequence = itertools.count()


class _Freed:
    """Stands where a saved tensor was."""

    def __repr__(self) -> str:
        return "<freed>"


FREED = _Freed()


class Extra:
    """What only some nodes have; the class attributes are what the others have."""

    metadata: dict[Any, Any] | None = None
    tensor_hooks: dict[int, dict[int, Any]] | None = None  # by output number
    retainers: dict[int, Any] | None = None  # weak references to the tensors that retain their gradient, likewise
    pre_hooks: dict[int, Any] | None = None
    post_hooks: dict[int, Any] | None = None


def extra_of(node: Node) -> Extra:
    """A node's rare facts, made on first use."""
    if node.extra is None:
        node.extra = Extra()
        if type(node) is AccumulateGrad:
            meta_of(node.variable).extra = node.extra  # so that the leaf's next accumulator has them too
    return node.extra


class Node:
    """A recorded operation: where a gradient comes in, and where it goes on to (torch.autograd.graph.Node)."""

    __slots__ = ("seq", "extra", "_tag")

    arity = 0  # how many edges; -1 where it differs from node to node
    multi = False  # several outputs: gradients come in a list, one per output
    outputs = 1
    takes_undefined = False  # runs even when no gradient arrived; other nodes then pass "none" on
    keeps_result = False
    saved_names: tuple[str, ...] = ()
    forward_text = backward_text = ""

    def name(self) -> str:
        """The node's name, as PyTorch says it."""
        return type(self).__name__

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each input's gradient goes: (node, which output of it); (None, 0) where none is needed."""
        return ()

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges, one for each tensor input."""
        return self.edges()

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's notes on this node."""
        extra = extra_of(self)
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    def _sequence_nr(self) -> int:
        return self.seq

    def vjp(self, grad: Any) -> Any:
        """Arrays in, arrays out: the gradient of each input (alone if there is one input, else a tuple)."""
        raise NotImplementedError

    def vjp_tensors(self, grad: Any) -> Any:
        """The same on tensors, recorded if gradients are on."""
        raise NotImplementedError

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """What is saved, as (name, tensor or array or None, version), without any check."""
        return []

    def release(self) -> None:
        """Let the saved tensors go."""


class AccumulateGrad(Node):
    """Where a leaf's gradient arrives: adds it to the leaf's `.grad`."""

    __slots__ = ("variable", "__weakref__")

    seq = 2**64 - 1

    def name(self) -> str:
        """The node's name, as PyTorch says it."""
        return "torch::autograd::AccumulateGrad"

    def vjp(self, grad: Any) -> None:
        """Add an array to the leaf's gradient, in place if there is one already; it owns its memory."""
        if grad is None or not self.variable._rg:
            return
        leaf = self.variable
        meta = meta_of(leaf)
        have = meta.grad
        if have is None:
            meta.grad = wrap(np.array(grad, dtype=leaf._array.dtype, order="C"))
        elif have._rg:
            meta.grad = have + wrap(np.asarray(grad))
        else:
            have._array += grad
            bump(have)
        if meta.post_accumulate:
            self._tell(meta)

    def vjp_tensors(self, grad: Any) -> None:
        """Add a tensor to the leaf's gradient, out of place: the old one may be part of a graph."""
        if grad is None or not self.variable._rg:
            return
        meta = meta_of(self.variable)
        meta.grad = grad.clone() if meta.grad is None else meta.grad + grad
        if meta.post_accumulate:
            self._tell(meta)

    def _tell(self, meta: Any) -> None:
        for hook in list(meta.post_accumulate.values()):
            if hook(self.variable) is not None:
                raise RuntimeError(errors.POST_ACCUMULATE_NONE)


# `seq` is a slot of Node; for AccumulateGrad it is the class's constant, which outranks every sequence number, so that
# leaves take their gradient as soon as it is complete.


def edge_of(t: Tensor) -> Node:
    """The node that takes this tensor's gradient: its grad_fn, or its AccumulateGrad if it is a leaf."""
    fn = t.grad_fn
    return accumulator(t) if fn is None else fn


def accumulator(t: Tensor) -> AccumulateGrad:
    """A leaf's AccumulateGrad: one at a time, alive only while somebody holds it, so that no cycle is made."""
    meta = meta_of(t)
    node = None if meta.accumulator is None else meta.accumulator()
    if node is None:
        node = AccumulateGrad()
        node.extra = meta.extra
        node.variable = t
        meta.accumulator = weakref.ref(node)
    return node


def release(node: Node) -> None:
    """Free a node's saved tensors and say so."""
    if node.saved_names:
        node.release()
        if listeners:
            emit(("freed", node))


def stale(node: Node, saved: Tensor | np.ndarray, storage: Storage, expected: int, output: int = 0) -> RuntimeError:
    """The error of a saved tensor that was written after it was saved."""
    if isinstance(saved, Tensor):
        fn, nr, array = saved.grad_fn, saved.output_nr, saved._array
    else:
        fn, nr, array = node, output, saved
    name = "" if fn is None else fn.name().removesuffix("0").removesuffix("Backward")
    return RuntimeError(
        errors.MODIFIED_IN_PLACE.format(
            kind=wrap(array).dtype.type_name,
            shape=list(array.shape),
            origin="" if fn is None else f", which is output {nr} of {name},",
            version=storage.version,
            expected=expected,
            hint=errors.HINT_ENABLE_ANOMALY,
        )
    )


def read_array(node: Node, name: str) -> np.ndarray | None:
    """A built-in node's saved tensor as an array, after the version check: the unhurried way."""
    tensor = read_tensor(node, name)
    return None if tensor is None else tensor._array


def read_tensor(node: Any, name: str) -> Tensor | None:
    """A built-in node's saved tensor, with its history, after the version check."""
    saved = getattr(node, f"s_{name}")
    if saved is None:
        return None
    if saved is FREED:
        raise RuntimeError(errors.SECOND_BACKWARD)
    if isinstance(saved, Tensor):
        storage, version = saved._storage, getattr(node, f"v_{name}")
        if storage is not None and storage.version != version:
            raise stale(node, saved, storage, version)
        return saved
    if name == "result" and node.keeps_result:
        storage = node.c_result
        if storage is not None and storage.version != node.v_result:
            raise stale(node, saved, storage, node.v_result)
        return saved_output(node, saved, storage, 0)
    return wrap(saved)


def saved_output(node: Node, array: np.ndarray, storage: Storage | None, nr: int) -> Tensor:
    """A node's own saved output as a new tensor: same memory and version counter, history through the node."""
    out = wrap(array, requires_grad=True)
    out._fn = node
    out._nr = nr
    out._storage = storage
    if storage is None:
        storage_of(out)
    return out


class OpNode(Node):
    """A built-in operation's node. Its class says what is saved; the slots are written where the op is declared.

    Slots: `p0, n0, p1, n1 ...` edges; `s_x, v_x` a saved tensor and its version, `c_result` the version counter of a
    saved result; `z_x` a saved shape; `a_x` another argument; `fit` how gradients must be reshaped to the inputs.
    """

    __slots__ = ()

    shape_names: tuple[str, ...] = ()
    argument_names: tuple[str, ...] = ()

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """What is saved, as (name, tensor or array or None, version), without any check."""
        kept = [(name, getattr(self, f"s_{name}")) for name in self.saved_names]
        return [(name, s, getattr(self, f"v_{name}")) for name, s in kept if s is not None and s is not FREED]

    def release(self) -> None:
        """Let the saved tensors go."""
        for name in self.saved_names:
            if getattr(self, f"s_{name}") is not None:
                setattr(self, f"s_{name}", FREED)

    def __getattr__(self, name: str) -> Any:
        """PyTorch's names of what is saved: `_saved_self`, `_saved_self_sym_sizes`, `_saved_dim`."""
        saved = name.removeprefix("_saved_")
        if saved != name:
            if saved in self.saved_names:
                return read_tensor(self, saved)
            if saved.removesuffix("_sym_sizes") in self.shape_names:
                return getattr(self, f"z_{saved.removesuffix('_sym_sizes')}")
            if saved in self.argument_names:
                return getattr(self, f"a_{saved}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class Node1(OpNode):
    """One tensor input."""

    __slots__ = ("p0", "n0")
    arity = 1

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the input's gradient goes."""
        return ((self.p0, self.n0),)


class Node2(OpNode):
    """Two tensor inputs."""

    __slots__ = ("p0", "n0", "p1", "n1")
    arity = 2

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each input's gradient goes."""
        return ((self.p0, self.n0), (self.p1, self.n1))


class Node3(OpNode):
    """Three tensor inputs."""

    __slots__ = ("p0", "n0", "p1", "n1", "p2", "n2")
    arity = 3

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each input's gradient goes."""
        return ((self.p0, self.n0), (self.p1, self.n1), (self.p2, self.n2))


class NodeN(OpNode):
    """A list of tensor inputs."""

    __slots__ = ("parents",)
    arity = -1

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each input's gradient goes."""
        return self.parents
