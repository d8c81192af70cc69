"""Saved tensors: freed ones, modified ones, a node's own outputs, and those that went through hooks."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from . import state
from .levels import Lifted, lift
from .node import Node, accumulator
from .state import local, with_grad
from .tensor import Storage, Tensor, meta_of, storage_of, wrap
from .views import history_of_result, own_fn


class _Freed:
    """The placeholder of a freed saved tensor."""

    def __repr__(self) -> str:
        return "<freed>"


FREED = _Freed()


def stale(
    node: Node, saved: Tensor | np.ndarray | LiftedOutput, storage: Storage, expected: int, output: int = 0
) -> RuntimeError:
    """Return the error for a saved tensor that was modified after it was saved."""
    fn = saved.grad_fn if isinstance(saved, Tensor) else own_fn(node, expected)
    array = saved if isinstance(saved, np.ndarray) else saved._array
    name = "" if fn is None else re.sub(r"Backward0?(\d*)$", r"\1", fn.name())  # RsubBackward1 is spoken of as Rsub1
    return RuntimeError(
        errors.MODIFIED_IN_PLACE.format(
            kind=wrap(array).dtype.type_name,
            shape=list(array.shape),
            origin="" if fn is None else f", which is output {output} of {name},",
            version=storage.version,
            expected=expected,
            hint=(
                "the backtrace further above shows the operation that failed to compute its "
                "gradient. The variable in question was changed in there or anywhere later. Good "
                "luck!"
            )
            if state.anomaly
            else (
                "enable anomaly detection to find the operation that failed to compute its "
                "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
            ),
        )
    )


class LiftedOutput:
    """A node's own saved output under transforms: its value one level below, or its array and tangent."""

    __slots__ = ("_array", "value", "level", "tangent", "__weakref__")

    def __init__(self, output: Tensor) -> None:
        self._array, self.level = output._array, None
        if type(output) is Lifted:
            self.value, self.level = output._value, output._level
        self.tangent = None if output._meta is None else output._meta.tangent

    def tensor(self) -> Tensor:
        """Return the output without its history."""
        out = wrap(self._array, requires_grad=True) if self.level is None else lift(self.value, self.level, True)
        if self.tangent is not None:
            meta_of(out).tangent = self.tangent
        return out


def saved_as_result(output: Tensor) -> np.ndarray | LiftedOutput:
    """Return what a node stores of its own output: never the tensor, which would be a reference cycle."""
    if type(output) is Lifted or (output._meta is not None and output._meta.tangent is not None):
        return LiftedOutput(output)
    return output._array


def saved_output(node: Node, saved: np.ndarray | LiftedOutput, storage: Storage | None, nr: int) -> Tensor:
    """Return a node's own saved output as a tensor of the same memory and version counter, with the node as history."""
    out = saved.tensor() if isinstance(saved, LiftedOutput) else wrap(saved, requires_grad=True)
    array = out._array
    out._fn, out._nr = history_of_result(node, nr, array)
    out._storage = storage
    if storage is None:
        storage_of(out)
    return out


Hooks = tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]


class Packed:
    """The result of a pack hook, with the history for the unpacked tensor."""

    __slots__ = ("value", "hook", "unpack", "fn", "nr", "requires_grad", "leaf", "kind")
    fn: Any  # the grad_fn to be, OWN, or None
    exist = False  # whether there ever were any: to read one runs a user's hook

    def __init__(self, t: Tensor, hooks: Hooks) -> None:
        Packed.exist = True
        pack, self.unpack = hooks
        self.hook = getattr(pack, "__code__", type(pack).__name__)  # the function itself may hold what it packed
        self.kind = t._array.shape, t._array.dtype
        self.fn, self.nr, self.requires_grad = t.grad_fn, t._nr, t.requires_grad
        self.leaf = accumulator(t) if self.requires_grad and self.fn is None else None
        version = t._version
        self.value = with_grad(False, pack, t)
        if t._version != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead to "
                "unexpected side-effects. Please open an issue if you need to perform in-place "
                "operations on the input to a pack hook."
            )

    def tensor(self, own: Node) -> Tensor:
        """Unpack into a new tensor; for the node's own output, the history is the node itself.

        A tensor that had no gradient when it was packed is returned as the hook returned it.
        """
        unpacked = with_grad(False, self.unpack, self.value)
        if not isinstance(unpacked, Tensor):
            raise TypeError(errors.UNPACKED_KIND.format(type(unpacked).__name__))
        if not self.requires_grad:
            return unpacked
        if self.fn is not OWN and unpacked._array.dtype.kind not in "fc":
            raise RuntimeError(errors.ONLY_FLOATS_CONSTRUCTOR)
        out = wrap(unpacked._array, True)
        if self.fn is OWN:
            out._fn, out._nr = history_of_result(own, self.nr, out._array)
        elif self.fn is not None:
            out._fn, out._nr = self.fn, self.nr
        elif self.leaf is not None:
            meta_of(out).accumulator = weakref.ref(self.leaf)
        return out


OWN = object()  # stands for the node that holds the packed value: naming it would be a reference cycle


def packed(t: Tensor, node: Node, hooks: Hooks | None = None) -> Packed:
    """Return a tensor packed by this thread's innermost hooks, or by the given ones."""
    pack = Packed(t, hooks or local.modes.saved_hooks[-1])
    if pack.fn is node:
        pack.fn = OWN
    return pack


def pack_saved(node: Any, outs: tuple[Tensor, ...]) -> None:
    """Pass all saved tensors of a built-in node through the innermost hooks."""
    for name in node.saved_names:
        saved = getattr(node, f"saved_{name}")
        if name == "result" and node.keeps_result:
            node.saved_result = packed(outs[0], node)
        elif type(saved) is SavedOutput:
            setattr(node, f"saved_{name}", packed(outs[saved.nr], node))
        elif isinstance(saved, Tensor):
            setattr(node, f"saved_{name}", packed(saved, node))
        elif type(saved) is tuple:
            setattr(node, f"saved_{name}", tuple([None if t is None else packed(t, node) for t in saved]))


class SavedOutput:
    """An output that its own node saved: the array, because the tensor would be a reference cycle."""

    __slots__ = ("array", "storage", "nr")

    def __init__(self, output: Tensor) -> None:
        self.array, self.storage, self.nr = saved_as_result(output), storage_of(output), output._nr


def save_results(node: Any, outs: tuple[Tensor, ...]) -> None:
    """Save the results that a built-in node with several results reads in backward."""
    for name, out in zip(node.op.results, outs, strict=True):
        if name in node.saved_names:
            setattr(node, f"saved_{name}", SavedOutput(out))
            setattr(node, f"version_{name}", out._version)


def unpacked(node: Node, saved: Any, version: int) -> Any:
    """Return a saved tensor, or None, as backward reads it: through its hook, or checked for writes since."""
    if type(saved) is Packed:
        return saved.tensor(node)
    if type(saved) is SavedOutput:
        if saved.storage.version != version:
            raise stale(node, saved.array, saved.storage, version, saved.nr)
        return saved_output(node, saved.array, saved.storage, saved.nr)
    if saved is not None:
        storage = saved._storage
        if storage is not None and storage.version != version:
            raise stale(node, saved, storage, version)
    return saved


class SavedTensor:
    """One saved tensor of a node, on which hooks can be registered (`grad_fn._raw_saved_self`)."""

    def __init__(self, *parts: Callable[..., Any]) -> None:
        if len(parts) != 3:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._get, self._put, self._read = parts

    def unpack(self) -> Tensor | None:
        """Return the saved tensor as a backward pass reads it."""
        if self._get() is FREED:
            raise RuntimeError(errors.SECOND_BACKWARD)
        return self._read()

    @property
    def data(self) -> Tensor | None:
        """Return the saved tensor; None once it is freed."""
        return None if self._get() is FREED else self._read()

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        """Return the hook that unpacks the tensor; None without hooks."""
        saved = self._get()
        return saved.unpack if type(saved) is Packed else None

    def register_hooks(self, *hooks: Callable[[Any], Any], **named: Any) -> None:
        """Pack this saved tensor now with the first of two hooks, and unpack it with the second whenever it is read."""
        errors.check_hooks("register_hooks", *hooks, of=self, named=named)
        pack_hook, unpack_hook = hooks
        saved = self._get()
        if saved is FREED:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved "
                "intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the "
                "graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        if saved is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if type(saved) is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        self._put((pack_hook, unpack_hook))
