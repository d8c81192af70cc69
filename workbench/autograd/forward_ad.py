"""Forward-mode differentiation: dual tensors, each a value with a tangent (torch.autograd.forward_ad)."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import errors
from . import state
from .levels import Lifted, below, made_for
from .state import local
from .tensor import Tensor, meta_of, wrap
from .views import blank, geometry_of, layout_of

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

aliased: Any = None  # a function: a recorded view of the whole tensor; the ops supply it
unpacked: Any = None  # the same under the name that unpacking has in a graph
part: Any = None  # the part of a tensor that a geometry names, recorded; likewise


class DualLevel:
    """The open level of `make_dual`: the number of transforms around it, and weak references to holders of tangents."""

    __slots__ = ("depth", "marked", "_tag")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.marked: list[weakref.ref[Any]] = []

    def close(self) -> None:
        """Remove all tangents."""
        for mark in self.marked:
            holder = mark()
            if isinstance(holder, Tensor):
                meta_of(holder).tangent = None
            elif holder is not None:
                holder.tangent = None


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor: `primal` is its value, `tangent` its tangent, or None if it has none."""

    primal: Tensor
    tangent: Tensor | None


def tangent_of(t: Any) -> Tensor | None:
    """Return a tensor's tangent; a view of a dual tensor has the same view of its tangent."""
    meta = t._meta if isinstance(t, Tensor) else None
    if meta is None:
        return None
    if meta.tangent is None and meta.base is not None and meta.view_tangent:
        base = tangent_of(meta.base)
        if base is not None:
            meta.tangent = part(base, geometry_of(t._array, meta.base._array), layout_of(meta.base._array))
    return meta.tangent


def set_tangent(t: Tensor, tangent: Tensor | None) -> None:
    """Set the tangent of a new tensor, for as long as the level is open.

    The tangent gets the tensor's memory layout, so that both have the same views.
    """
    if tangent is not None:
        meta = meta_of(t)
        if meta.base is None and _steps(tangent) != _steps(t):
            tangent = pushed_from(t, _laid_out, t, tangent)
        meta.tangent = tangent
        mark(t)


def zero_tangent(t: Tensor, like: Tensor) -> Tensor:
    """Return zeros with the layout of `t` and the dtype of `like`, for each sample of a batch that `t` stands for."""
    layout, kind = layout_of(t._array), like._array.dtype
    return made_for(like, lambda batch: wrap(blank(layout, kind, batch)))


def _laid_out(t: Tensor, tangent: Tensor) -> Tensor:
    return zero_tangent(t, tangent).copy_(tangent)


def _steps(t: Tensor) -> list[tuple[int, int]]:
    """Return the strides of dimensions with more than one element; an empty tensor has none."""
    a = t._array
    size = a.itemsize
    return [(n, s // size) for n, s in zip(a.shape, a.strides, strict=True) if n > 1] if a.size else []


def mark(holder: Any) -> None:
    """Let the open level remove the holder's tangent when it ends."""
    if local.modes.dual is not None:
        local.modes.dual.marked.append(weakref.ref(holder))


def unpushed(function: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a function that runs without pushing tangents forward."""
    modes = local.modes
    before, modes.paused = modes.paused, True
    try:
        return function(*args)
    finally:
        modes.paused = before


def pushed_from(t: Tensor, function: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a function that runs with the tangent of `t`."""
    if type(t) is not Lifted or t._level.kind != "jvp":
        return unpushed(function, *args)
    with below(t._level):
        return function(*args)


def enter_dual_level() -> int:
    """Open the level for dual tensors, and return its number. Prefer `with dual_level():`, which also closes the level.

    Raises:
        RuntimeError: if a level is open already.
    """
    modes = local.modes
    if modes.dual is not None or any([level.kind == "jvp" for level in modes.levels]):
        raise RuntimeError(errors.DUAL_NESTED)
    level = DualLevel(len(modes.levels))
    state.dual, state.slow_path_reasons["dual"] = level, True
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level and remove all tangents. `level` may only be the current level, or None, which means the same."""
    if level not in (None, 0 if state.dual else -1):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    dual_level().__exit__()


class dual_level:
    """Open a level for forward mode: inside the `with` block, tensors can carry tangents.

    You can also decorate a function. PyTorch: torch.autograd.forward_ad.dual_level.

    Example:
        >>> import workbench.autograd.forward_ad as fwAD
        >>> x, direction = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
        >>> with fwAD.dual_level():
        ...     y = fwAD.make_dual(x, direction).square()
        ...     fwAD.unpack_dual(y).tangent  # how y changes if x moves along the direction
        tensor([2., 0.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: Any) -> None:
        level, state.dual = state.dual, None
        if level is None:
            raise RuntimeError("Dual level must be a positive number.")
        try:
            level.close()
        except BaseException:
            level.close()  # an interrupt: whatever would keep its tangent would have it in the next level, too
            raise
        finally:
            state.slow_path_reasons.pop("dual", None)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return inside


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a dual tensor: a view of `tensor` that carries `tangent`, its direction of movement.

    Operations on a dual tensor also compute the tangent of their result. In inference mode, the result carries no
    tangent. PyTorch: torch.autograd.forward_ad.make_dual.

    Args:
        tensor: The value, a floating-point tensor.
        tangent: The direction in which the value moves, a floating-point tensor of the same shape.
        level: The number of the level, or None. Only one level can be open, so you never need this argument.

    Raises:
        RuntimeError: if no level is open.
    """
    if (local.modes.dual is None) if level is None else level < 0:
        raise RuntimeError(errors.NO_DUAL_LEVEL)
    if any([each.kind == "vmap" and not each.own for each in local.modes.levels]):
        raise RuntimeError(errors.VMAP_NO_VIEW_RULE.format("_make_dual"))
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not t.is_floating_point() and t._array.dtype.kind != "c":
            raise ValueError(errors.DUAL_KIND.format(name, t.dtype))
    dual = aliased(tensor)
    if tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    if tangent_of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    check_size(tensor, tangent)
    if level:
        raise RuntimeError(errors.DUAL_LEVEL.format("make_dual"))
    if local.modes.dual is None:
        raise RuntimeError(
            "Trying to access a forward AD level with an invalid index. This index was either "
            "not created or is already deleted."
        )
    meta_of(dual).view_tangent = False
    if not local.modes.inference:
        set_tangent(dual, lying_as(tensor, tangent))
    return dual


def lying_as(tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return `tangent` laid out in memory like `tensor`: the same object if the layouts match, otherwise a copy.

    If `tensor` is a view of part of its storage, so is the copy.
    """
    if not tensor._array.size or _place_of(tangent._array) == _place_of(tensor._array):
        return tangent
    return _laid_out(tensor, tangent)


def _place_of(array: np.ndarray) -> tuple[Any, ...]:
    """Return the size of an array's memory, and the offset and strides of its elements there."""
    whole, size = array, array.itemsize
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return whole.nbytes // size, geometry_of(array, whole)[2] // size, [step // size for step in array.strides]


def check_size(tensor: Tensor, tangent: Tensor) -> None:
    """Raise RuntimeError for a tangent of another shape."""
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(errors.DUAL_SIZE.format(list(tensor.shape), list(tangent.shape)))


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value and the tangent of a dual tensor, as a pair `(primal, tangent)`.

    The tangent is None if the tensor carries no tangent, or in inference mode.

    Args:
        tensor: The dual tensor.
        level: The level of forward mode, as `enter_dual_level` returns it. None means the current one.
    """
    if (local.modes.dual is None) if level is None else level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if level and tangent_of(tensor) is not None:
        raise RuntimeError(errors.DUAL_LEVEL.format("fw_primal"))
    primal = unpushed(unpacked, tensor)
    meta_of(primal).view_tangent = False
    return UnpackedDualTensor(primal, None if local.modes.inference else tangent_of(tensor))
