"""The nodes of built-in operations, and how their saved tensors are read back."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from .. import errors
from .node import AccumulateGrad, Node, run_by_hand
from .saved_tensors import FREED, Packed, SavedOutput, SavedTensor, packed, saved_output, stale, unpacked
from .tensor import DetachedTensor, Size, Tensor, wrap

# "AddBackward0._saved_alpha": told by a function; None: hidden. One list, as these are PyTorch's names for what its
# nodes keep: no operation is computed by them.
FURTHER: dict[str, Callable[[Any], Any] | None] = {}


class UnpackedMismatch(Exception):
    """A hook unpacked another shape or dtype than was packed: the formulas for arrays do not see to that."""


def read_array(node: Node, name: str) -> Any:
    """Return a saved tensor of a built-in node as an array, or a list of these, after the version check."""
    saved = getattr(node, f"saved_{name}")
    if type(saved) is tuple:
        arrays: list[Any] = []
        for t, version in zip(saved, getattr(node, f"version_{name}"), strict=True):
            if type(t) is not Tensor or (t._storage is not None and t._storage.version != version):
                break
            arrays.append(t._array)
        else:
            return tuple(arrays)
    found = read_tensor(node, name)
    for t, s in zip(found, saved, strict=True) if type(saved) is tuple else ((found, saved),):
        if type(s) is Packed and s.kind != (t._array.shape, t._array.dtype):
            s.value, s.unpack = t, lambda t: t  # a hook may refuse to be asked again
            raise UnpackedMismatch
    if type(found) is tuple:
        return tuple([None if t is None else t._array for t in found])
    return None if found is None else found._array


def read_tensor(node: Any, name: str) -> Any:
    """Return a saved tensor of a built-in node, or a list of these, with history, after the version check."""
    saved = getattr(node, f"saved_{name}")
    if saved is None:
        return None
    if saved is FREED:
        raise RuntimeError(errors.SECOND_BACKWARD)
    if type(saved) is tuple:
        pairs = zip(saved, getattr(node, f"version_{name}"), strict=True)
        return tuple([None if t is None else _checked(node, name, t, version) for t, version in pairs])
    if type(saved) in (Packed, SavedOutput) or isinstance(saved, Tensor):
        return _checked(node, name, saved, getattr(node, f"version_{name}"))
    if name == "result" and node.keeps_result:
        storage = node.counter_result
        if storage is not None and storage.version != node.version_result:
            raise stale(node, saved, storage, node.version_result)
        return saved_output(node, saved, storage, 0)
    return wrap(saved)


def number_as_given(saved: Any, version: Any) -> tuple[Any, int]:
    """Return a saved operand and its version; a number saved in the tensor's dtype gets the one that PyTorch keeps."""
    if type(saved) is not np.ndarray:
        return saved, version
    return np.asarray(version, np.int64 if type(version) is int else None), 0  # NumPy's own integers may have 32 bits


def _checked(node: Any, name: str, saved: Tensor | Packed, version: int) -> Tensor:
    found = unpacked(node, saved, version)
    if type(saved) is DetachedTensor and saved.grad_fn is None and _came_from_a_node(node, name):
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with "
            ".detach_().This is not supported, please use out-of-place `.detach()` instead"
        )
    return found


def _came_from_a_node(node: Any, name: str) -> bool:
    """Return True if what a node saved under that name had a grad_fn at the time."""
    if name not in node.op.tensors:
        return False
    parent, _ = node.edges()[node.op.tensors.index(name)]
    return parent is not None and type(parent) is not AccumulateGrad


class OpNode(Node):
    """A built-in operation's node. Its class says what is saved; the slots are written where the op is declared.

    Slots: `next0, nr0, next1, nr1 ...` edges; `saved_x, version_x` a saved tensor and its version, or a number's array
    and the number; `counter_result` the version counter of a saved result; `shape_x` a saved shape; `strides_x` the
    strides of a factor, in bytes; `arg_x` another argument; `fit` how gradients must be reshaped to the inputs.
    """

    __slots__ = ()

    built_in = True
    op: Any  # what it is an application of
    shape_names: tuple[str, ...] = ()
    argument_names: tuple[str, ...] = ()
    factor_names: tuple[str, ...] = ()

    def _saved(self, name: str) -> Any:
        """Return what the node saved under a name; a number becomes a tensor."""
        saved = getattr(self, f"saved_{name}")
        if type(saved) is np.ndarray and name in self.op.tensors:
            return wrap(number_as_given(saved, getattr(self, f"version_{name}"))[0])
        return read_tensor(self, name)

    def _raw(self, name: str) -> SavedTensor | tuple[SavedTensor, ...]:
        """Return handles on what the node saved under a name."""
        slot = f"saved_{name}"
        if name not in self.op.lists:

            def put(hooks: Any) -> None:
                setattr(self, slot, packed(read_tensor(self, name), self, hooks))

            return SavedTensor(lambda: getattr(self, slot), put, lambda: read_tensor(self, name))
        if getattr(self, slot) is FREED:
            raise RuntimeError(errors.SECOND_BACKWARD)
        return tuple([self._raw_of(name, i) for i in range(len(getattr(self, slot)))])

    def _raw_of(self, name: str, i: int) -> SavedTensor:
        slot = f"saved_{name}"

        def get() -> Any:
            saved = getattr(self, slot)
            return saved if saved is FREED else saved[i]

        def read() -> Any:
            return _checked(self, name, get(), getattr(self, f"version_{name}")[i])

        def put(hooks: Any) -> None:
            saved = list(getattr(self, slot))
            saved[i] = packed(read(), self, hooks)
            setattr(self, slot, tuple(saved))

        return SavedTensor(get, put, read)

    __call__ = run_by_hand

    def is_freed(self) -> bool:
        """Return True if an earlier backward pass freed what the next one must read."""
        return any([getattr(self, f"saved_{name}") is FREED for name in self.saved_names])

    def check_saved(self) -> None:
        """Read what is saved, as PyTorch does even where no gradient arrived: it may be freed, or out of date."""
        for name in self.saved_names:
            read_tensor(self, name)


def tells_saved(kind: Any) -> Any:
    """Give a class of nodes PyTorch's attributes for saved values: `_saved_self`, `_saved_self_sym_sizes`.

    They are properties, because a `__getattr__` would make every attribute of a node slow to read.
    """
    attributes: dict[str, Any] = {}
    for name in kind.saved_names:
        attributes[f"_saved_{name}"] = methodcaller("_saved", name)
        attributes[f"_raw_saved_{name}"] = methodcaller("_raw", name)
    attributes |= {f"_saved_{name}_sym_sizes": attrgetter(f"shape_{name}") for name in kind.shape_names}
    passed = [name for name in kind.argument_names if name not in kind.op.found]
    attributes |= {f"_saved_{name}": attrgetter(f"arg_{name}") for name in passed}
    own = f"{kind.op.node_name}."
    attributes |= {name.removeprefix(own): tell for name, tell in FURTHER.items() if name.startswith(own)}
    for name, tell in attributes.items():
        if tell is not None:
            setattr(kind, name, property(tell))
    return kind


class Node1(OpNode):
    """One tensor input."""

    __slots__ = ("next0", "nr0")
    arity = 1

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return where the input's gradient goes."""
        return ((self.next0, self.nr0),)

    def leads_to(self) -> tuple[Node | None, ...]:
        """Return the nodes that receive the gradients."""
        return (self.next0,)


class Node2(OpNode):
    """Two tensor inputs."""

    __slots__ = ("next0", "nr0", "next1", "nr1")
    arity = 2

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return where each input's gradient goes."""
        return ((self.next0, self.nr0), (self.next1, self.nr1))

    def leads_to(self) -> tuple[Node | None, ...]:
        """Return the nodes that receive the gradients."""
        return (self.next0, self.next1)


class Node3(OpNode):
    """Three tensor inputs."""

    __slots__ = ("next0", "nr0", "next1", "nr1", "next2", "nr2")
    arity = 3

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return where each input's gradient goes."""
        return ((self.next0, self.nr0), (self.next1, self.nr1), (self.next2, self.nr2))

    def leads_to(self) -> tuple[Node | None, ...]:
        """Return the nodes that receive the gradients."""
        return (self.next0, self.next1, self.next2)


class NodeN(OpNode):
    """A list of tensor inputs."""

    __slots__ = ("parents",)
    arity = -1

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return where each input's gradient goes."""
        return self.parents


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda node: value


def _of_saved(name: str, fact: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a property that reads a fact of a saved value; AttributeError if the node didn't have to save it."""

    def tell(node: Any) -> Any:
        saved = read_tensor(node, name)
        if saved is None:
            raise AttributeError(f"'{type(node).__name__}' object has not saved {name!r}, which nothing reads here")
        return fact(saved)

    return tell


def _matrices(node: str, *names: str) -> None:
    for name in names:
        FURTHER[f"{node}._saved_{name}_sym_sizes"] = _of_saved(name, lambda t: tuple(t.shape))
        FURTHER[f"{node}._saved_{name}_sym_strides"] = _of_saved(name, lambda t: t.stride())


for _node in ("AddBackward0", "SubBackward0", "RsubBackward0", "RsubBackward1"):
    FURTHER[f"{_node}._saved_alpha"] = lambda node: getattr(node, "arg_alpha", 1)
for _node in ("MeanBackward0", "MeanBackward1"):
    FURTHER[f"{_node}._saved_self_sym_numel"] = lambda node: Size(node.shape_self).numel()
_matrices("MmBackward0", "self", "mat2")
_matrices("AddmmBackward0", "mat1", "mat2")
FURTHER |= {
    "GatherBackward0._saved_sparse_grad": _constant(False),
    "IndexAddBackward0._saved_source_dim": _of_saved("source", lambda t: t.ndim),
    "EluBackward0._saved_scale": _constant(1),
    "EmbeddingBackward0._saved_scale_grad_by_freq": _constant(False),
    "EmbeddingBackward0._saved_sparse": _constant(False),
    "EmbeddingBackward0._saved_weight_sym_argsize_0": lambda node: node.shape_weight[0],
    "EluBackward0._saved_input_scale": _constant(1),
    "LogSigmoidBackward0._saved_buffer": _of_saved("self", lambda t: (-wrap(t._array).abs()).exp()),
    "NllLossBackward0._saved_ignore_index": lambda node: node.arg_ignore_index % 2**64,
    "ConvolutionBackward0._saved_transposed": _constant(False),
    "ConvolutionBackward0._saved_output_padding": _constant((0, 0)),
}
for _name in (
    "ProdBackward1._saved_self_sym_sizes",
    "AddmmBackward0._saved_self_sym_sizes",
    "UnbindBackward0._saved_self_sym_sizes",
    "ScatterBackward0._saved_src_sym_sizes",
    "ScatterAddBackward0._saved_src_sym_sizes",
    "ToCopyBackward0._saved_dtype",
    "NativeLayerNormBackward0._saved_eps",
    "MseLossBackward0._saved_self_sym_sizes",
    "SmoothL1LossBackward0._saved_self_sym_sizes",
    "BinaryCrossEntropyBackward0._saved_self_sym_sizes",
    "BinaryCrossEntropyWithLogitsBackward0._saved_self_sym_sizes",
    "EmbeddingBackward0._saved_weight_sym_sizes",
    "ConvolutionBackward0._saved_input_sym_sizes",
    "ConvolutionBackward0._saved_weight_sym_sizes",
):
    FURTHER[_name] = None
