"""Levels: each running function transform (`grad`, `jvp`, `vmap`) is one, the innermost on top.

A tensor inside a transform is lifted: it represents a tensor of the levels below, its value. An operation is
interpreted at the highest level among its operands, on their values, one level below; its results are lifted again. So
a transform only knows its own level, and transforms nest freely (JAX's autodidax explains the idea).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..events import emit, listeners
from .state import local, no_grad_threads, set_grad, slow_path_reasons
from .tensor import Tensor, alias

AUTOGRAD = "autograd"  # the `randomness` of batches that autograd itself runs: none, and Functions need no vmap rule


class Level:
    """One running transform: "grad", "jvp" or "vmap" with the size of its batch."""

    __slots__ = ("kind", "number", "outer_grad", "size", "randomness", "runs_code", "_tag")
    size: Any  # of the batch, None where there is none
    runs_code: bool  # whether a backward pass through it runs user code: a Function's, a hook

    def __init__(self, kind: str, size: int | None = None, randomness: str = "error") -> None:
        self.kind, self.size, self.randomness = kind, size, randomness
        self.number = len(local.modes.levels) + 1
        self.outer_grad, self.runs_code = local.modes.grad, False

    @property
    def own(self) -> bool:
        """True if autograd itself runs it, not the user."""
        return self.randomness == AUTOGRAD

    def check_data(self, *tensors: Tensor) -> None:
        """Raise RuntimeError if a tensor that should share memory is lifted, and so has no memory of its own."""
        for t in tensors:
            level = level_of(t)
            if level is not None:
                raise RuntimeError(
                    "mutating directly with `.data` under vmap transform is not allowed."
                    if level.kind == "vmap"
                    else ("mutating directly with `.data` inside functorch transform is not allowed.")
                )


Given = tuple[Tensor | None, int] | None


class Lifted(Tensor):
    """Show a tensor as one level sees it; its array has the shape and dtype there (in a batch, the first sample's).

    Its value has the batch in front, whichever dimension the user chose. `_given` holds that dimension, with the tensor
    as it was given, if it was; it is None if the batch was in front already.
    """

    __slots__ = ("_value", "_level", "_given")
    __class__: Any = Tensor

    @property
    def data(self) -> Tensor:
        """Return the same memory as a tensor without history at this level; RuntimeError for a batch."""
        if self._level.kind == "vmap":
            raise RuntimeError("accessing `data` under vmap transform is not allowed")
        return self._again()

    data = data.setter(Tensor.data.fset)

    def _again(self) -> Tensor:
        return lift(self._value, self._level, given=_same_place(self))

    def _detached(self) -> Tensor:
        if self._level not in local.modes.levels:
            return alias(without_finished_levels(self, None))
        return lift(alias(self._value), self._level, given=_same_place(self))


def lift(value: Tensor, level: Level, requires_grad: bool = False, given: Given = None) -> Lifted:
    """Return a tensor of the levels below as a leaf of this level. Under vmap, its first dimension is the batch."""
    t = Lifted()
    t._value, t._level, t._given = value, level, given
    array = value._array
    if level.kind == "vmap":
        array = array[0, ...] if len(array) else np.empty(array.shape[1:], array.dtype)
    t._array = array if type(array) is np.ndarray else np.asarray(array)
    t._rg, t._fn, t._nr, t._storage, t._meta = requires_grad, None, 0, None, None
    return t


def batched(t: Tensor, dim: int, level: Level) -> Lifted:
    """Return a tensor as a vmap level sees it, with its batch in this dimension."""
    dim %= t.ndim
    if not dim:
        return lift(t, level)
    with below(level):
        return lift(t.permute(dim, *[d for d in range(t.ndim) if d != dim]), level, given=(t, dim))


def as_given(t: Lifted) -> tuple[Tensor, int]:
    """Return a batched tensor one level below, as it was given, and the number of its batch dimension."""
    if t._given is None:
        return t._value, 0
    tensor, dim = t._given
    if tensor is None:
        with below(t._level):
            tensor = t._value.permute(*range(1, dim + 1), 0, *range(dim + 1, t._value.ndim))
    return tensor, dim


def _same_place(t: Lifted) -> Given:
    """Return `given` for another tensor whose batch is in the same dimension."""
    return None if t._given is None else (None, t._given[1])


def level_of(t: Any) -> Level | None:
    """Return the level that a tensor was lifted to, if that level is still running."""
    if type(t) is not Lifted:
        return None
    return t._level if t._level in local.modes.levels else level_of(t._value)


def without_finished_levels(t: Tensor, level: Level | None) -> Tensor:
    """Return a lifted tensor without its finished levels; RuntimeError if a finished level leaves a batch behind."""
    while type(t) is Lifted and t._level is not level and t._level not in local.modes.levels:
        if t._level.kind == "vmap":
            raise RuntimeError(
                "Either your tensor may have escaped from inside a function being vmapped and this "
                "is a user error (see https://pytorch.org/functorch/stable/ux_limitations.html), "
                "or there is an internal functorch error in `gen_vmap_plumbing` Please file an "
                "issue if it looks like the latter"
            )
        t = t._value
    return t


def elements(t: Tensor) -> np.ndarray:
    """Return all elements of a tensor: those of every sample."""
    while type(t) is Lifted:
        t = t._value
    return t._array


def same_level(a: Tensor, t: Tensor) -> bool:
    """Return True if two tensors were lifted to the same level, or neither was."""
    if type(a) is Lifted and type(t) is Lifted:
        return a._level is t._level
    return type(a) is not Lifted is not type(t)


def value_below(t: Tensor, level: Level) -> Tensor:
    """Return the tensor one level below."""
    t = without_finished_levels(t, level)
    return t._value if type(t) is Lifted and t._level is level else t


def with_batch(t: Tensor, level: Level) -> Tensor:
    """Return the tensor below a batch, always with the batch in front."""
    t = without_finished_levels(t, level)
    if type(t) is Lifted and t._level is level:
        return t._value
    with below(level):
        return t.expand(level.size, *t._array.shape)


def highest(tensors: Any) -> Level | None:
    """Return the highest running level among tensors (and lists of them)."""
    found: Level | None = None
    for t in tensors:
        level = highest(t) if isinstance(t, (list, tuple)) else level_of(t)
        if level is not None and (found is None or level.number > found.number):
            found = level
    return found


# What PyTorch's messages add to the name of a write: with a number, and with a tensor, as its last argument. It stands
# here, as do the names in `place_of_write`, because only these messages differ: no operation does anything else for it.
OVERLOADS = {
    **dict.fromkeys(("add_", "sub_", "mul_", "div_"), (".Tensor", ".Tensor")),
    **dict.fromkeys(("pow_", "fill_", "masked_fill_"), (".Scalar", ".Tensor")),
    "clamp_": ("", ".Tensor"),
    "scatter_": (".value", ".src"),
}


def place_of_write(t: Tensor, given: tuple[Any, ...], name: str) -> Level | None:
    """Return the level at which `t` can be written; RuntimeError if a transform would miss the write."""
    own = level_of(t)
    above = local.modes.levels[own.number if own else 0 :]
    if any(level.kind != "vmap" for level in above):
        overload = OVERLOADS.get(name, ("", ""))[isinstance(given[-1], Tensor)]
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
            f"call in-place operation (aten::{name + overload}) that would mutate a captured Tensor. This is "
            "not supported; please rewrite the function being transformed to explicitly accept "
            "the mutated Tensor(s) as inputs."
        )
    wide = highest(given)
    if wide is not None and wide is not own:  # samples would have to be written on top of each other
        if name == "add_":
            others = [a._array.shape for a in given[1:] if level_of(a) is wide]
            for other in others:
                ndim = max(t._array.ndim, len(other)) + 1  # with the batch
                one, two = ((1,) * (ndim - len(each)) + each for each in (t._array.shape, other))
                if (error := errors.no_broadcast(one, two)) is not None:
                    raise error
            shape = (wide.size, *np.broadcast_shapes(t._array.shape, *others))
            raise RuntimeError(errors.WRITE_TOO_WIDE.format(list(t._array.shape), list(shape)))
        if name in ("sub_", "mul_", "div_", "copy_") or (name == "masked_fill_" and not isinstance(given[-1], Tensor)):
            name = "inplace arithmetic"
        elif name not in ("fill_", "index_add_", "index_put_", "scatter_add_"):  # those without a rule of their own
            raise RuntimeError(errors.WRITE_OF_BATCH.format(f"aten::{name}", f"at level {wide.number}"))
        raise RuntimeError(errors.WRITE_OF_BATCH.format(name, "in a vmap"))
    return own


def lift_to_top(t: Tensor, levels: tuple[Level, ...]) -> Tensor:
    """Return a tensor made while levels run, lifted to those that differentiate, because they may see writes to it."""
    own = 0 if type(t) is not Lifted else t._level.number
    for level in levels[own:]:
        if level.kind != "vmap":
            t = lift(t, level)
    return t


def made_for(t: Tensor, make: Callable[[tuple[int, ...]], Tensor], alike: bool = False) -> Tensor:
    """Call `make` with the sizes of the batches that `t` is lifted to, and return its result lifted alike.

    If `alike`, the result has its batch in the same dimension as `t`.
    """
    levels = local.modes.levels
    return lift_to_top(_made_below(without_finished_levels(t, None), make, (), alike), levels) if levels else make(())


def _made_below(t: Tensor, make: Callable[[tuple[int, ...]], Tensor], batch: tuple[int, ...], alike: bool) -> Tensor:
    if type(t) is not Lifted:
        with below(None):
            return make(batch)
    value = _made_below(t._value, make, (t._level.size, *batch) if t._level.size is not None else batch, alike)
    value = lift_to_top(value, local.modes.levels[: t._level.number - 1])  # the levels between see what they may write
    return lift(value, t._level, given=_same_place(t) if alike else None)


class entered:
    """Context: a new level on top; a "grad" level switches gradients on for itself."""

    __slots__ = ("level", "before", "outer")

    def __init__(self, kind: str, size: int | None = None, randomness: str = "error") -> None:
        if kind == "jvp" and local.modes.dual is not None:
            raise RuntimeError(errors.DUAL_NESTED)
        self.level = Level(kind, size, randomness)

    def __enter__(self) -> Level:
        modes, level = local.modes, self.level
        self.before = modes.levels, modes.grad
        self.outer = ("levels", modes) in slow_path_reasons  # also below others, whose levels aren't seen
        if listeners:
            emit(("entered", level))
        if level.kind == "grad":
            set_grad(True)
        modes.levels = (*modes.levels, level)
        slow_path_reasons["levels", modes] = True
        return level

    def __exit__(self, *error: Any) -> None:
        modes = local.modes
        modes.levels, modes.grad = self.before
        if not self.outer and ("levels", modes) in slow_path_reasons:
            del slow_path_reasons["levels", modes]
        if modes.grad:
            no_grad_threads.pop(modes, None)
        else:
            no_grad_threads[modes] = True
        if listeners:
            emit(("left", self.level))


class below:
    """Context: work one level below, with the grad mode that is in force there. None: below all levels."""

    __slots__ = ("level", "before")

    def __init__(self, level: Level | None) -> None:
        self.level = level

    def __enter__(self) -> None:
        modes = local.modes
        levels, grad = modes.levels, modes.grad
        self.before = levels, grad
        number = 1 if self.level is None else self.level.number
        for each in reversed(levels[number - 1 :]):
            if each.kind == "grad":
                grad = grad and each.outer_grad  # what switches gradients off inside does so for all levels
        set_grad(grad)
        modes.levels = levels[: number - 1]

    def __exit__(self, *error: Any) -> None:
        modes = local.modes
        modes.levels, modes.grad = self.before
        if modes.grad:
            no_grad_threads.pop(modes, None)
        else:
            no_grad_threads[modes] = True


def is_batched(t: Tensor) -> str | None:
    """Return True if a tensor contains a whole batch, at any level, and how that level treats random numbers."""
    while type(t) is Lifted:
        if t._level.kind == "vmap":
            return t._level.randomness
        t = t._value
    return None


def _text(self: Lifted) -> str:
    level, value = self._level, self._value
    kind, number = "GradTrackingTensor", level.number if level in local.modes.levels else -2
    if level.kind == "vmap":
        value, dim = as_given(self)
        kind, number = "BatchedTensor", f"{level.number}, bdim={dim}"
    return f"{kind}(lvl={number}, value=\n{textwrap.indent(repr(value), '    ')}\n)"


def _refusing(method: Any, sentence: str, called: str = "") -> Any:
    """Return a method that rejects a batch; for batches of autograd's own, PyTorch's message names `called`."""

    def ask(self: Lifted) -> Any:
        batch = is_batched(self)
        if batch is not None:
            raise RuntimeError(
                (f"Batching rule not implemented for aten::{called}. We could not generate a fallback.")
                if called and batch == AUTOGRAD
                else sentence
            )
        return method(self)

    ask.__name__, ask.__doc__ = method.__name__, method.__doc__
    return ask


def _numpy(self: Lifted) -> Any:
    """Refuse: a lifted tensor has no array to share."""
    if is_batched(self) == AUTOGRAD:
        raise RuntimeError(errors.VMAP_NO_VIEW_RULE.format("detach"))
    raise RuntimeError(errors.NUMPY_REQUIRES_GRAD if self.requires_grad and local.modes.grad else errors.VMAP_DATA)


def _detach_(self: Lifted) -> Tensor:
    if is_batched(self) is not None:
        raise RuntimeError(errors.DETACH_VIEW)
    return Tensor.detach_(self)


def _data_ptr(self: Lifted) -> int:
    raise RuntimeError(errors.VMAP_DATA)


def _deepcopy(self: Lifted, memo: dict[int, Any]) -> Tensor:
    return _reduce(self) if self.is_leaf else Tensor.__deepcopy__(self, memo)  # which refuses what is no leaf


def _reduce(self: Lifted, protocol: Any = None) -> Any:
    """Refuse: a copy of a lifted tensor's elements would lose its connection to the transform."""
    kind = "BatchedTensorImpl" if self._level.kind == "vmap" else "TensorWrapper"
    raise NotImplementedError(f"Cannot access storage of {kind}")


Lifted.__repr__ = _text
Lifted.detach_ = _detach_
Lifted.data_ptr = _data_ptr
Lifted.__deepcopy__ = _deepcopy
Lifted.__reduce_ex__ = _reduce
Lifted.item = _refusing(Tensor.item, errors.VMAP_ITEM, "item")
Lifted._number = _refusing(Tensor._number, errors.VMAP_ITEM, "item")
Lifted.__index__ = _refusing(Tensor.__index__, errors.VMAP_ITEM, "item")
Lifted.__bool__ = _refusing(Tensor.__bool__, errors.VMAP_BOOL, "is_nonzero")
Lifted.tolist = _refusing(Tensor.tolist, errors.VMAP_DATA)
Lifted.numpy = _numpy
