"""Operations that write into a tensor: each runs its ordinary op and then writes the result in place.

The op runs on the tensor as it was before the write, so that what its node saves is right; the tensor then takes the
result's place in the graph, and its version counts one more write.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd import state
from ..autograd.anomaly_mode import remember
from ..autograd.forward_ad import pushed_from, set_tangent, tangent_of, zero_tangent
from ..autograd.levels import (
    Level,
    Lifted,
    below,
    lift,
    place_of_write,
    same_level,
    value_below,
    without_finished_levels,
)
from ..autograd.node import sequence
from ..autograd.saved_tensors import Packed, saved_as_result
from ..autograd.state import compute, local, quietly, slow_path_reasons
from ..autograd.tensor import Tensor, bump, meta_of, storage_of, wrap
from ..autograd.views import check_write, rebase
from ..events import listeners
from . import arithmetic, comparison, division, masks, math, powers
from .copies import clone
from .core.checks import check_broadcast, check_overlap, check_width, fitting, named, number_of
from .core.described import described_in_place
from .core.op import define, method, operation
from .core.registry import WRITES
from .lookup import _put_one
from .plain_writes import LARGE, PLAINLY, UFUNCS, _count_write, _is_quiet, _quiet_operand, _tell_write


def write(t: Tensor, name: str, op: Callable[..., Tensor], *args: Any, **options: Any) -> Tensor:
    """Write `op(t, *args, **options)` into `t`, recorded if wanted, and return `t`."""
    modes = local.modes
    given = (t, *args, *options.values())
    if type(t) is Lifted and t._level not in modes.levels:  # of a transform that is over
        write(without_finished_levels(t, None), name, op, *args, **options)
        return t
    if modes.levels and (level := _level_above(t, given, name)) is not None:
        with below(level):
            return write(t, name, op, *args, **options)
    if modes.mutation is not None:
        modes.mutation.before_write(t)
    tracked = False
    if modes.grad and not modes.inference and t._array.dtype.kind in "fc":
        for a in given:
            if isinstance(a, Tensor) and a.requires_grad and same_level(a, t):
                tracked = True
                break
    if tracked:
        check_write(t)
    if op not in (_fill_op, _zero) and not (op is _copy and args[0] is t):
        value_read = op in (_fill_with, masks.masked_fill, _put_one)  # before anything is written
        mask = args[:1] if op is masks.masked_fill else ()
        check_overlap(t, mask if value_read else given[1:], name)
        if op is _put_one:
            check_overlap(t, args[:1], "masked_fill_")  # as PyTorch then does: a mask may be the tensor itself
    if tracked:
        node = _write_recorded(t, name, op, args, options)
    else:
        node = None
        pushing = modes.dual is not None or (type(t) is Lifted and t._level.kind == "jvp")
        # what the tangent is computed from may be saved below, so it must not be written
        r = op(_before(t) if pushing else _now(t), *args, **options)
        _fill(t, r, name)
    if listeners:
        _tell_write(t, name, node, given)
    return t


def _level_above(t: Tensor, given: tuple[Any, ...], name: str) -> Level | None:
    """Return the level next above the one where this is written; None where that is the innermost."""
    modes = local.modes
    level = place_of_write(t, given, name)
    height = max(level.number if level else 0, modes.dual.depth if modes.dual else 0)
    return modes.levels[height] if height < len(modes.levels) else None


def _write_recorded(
    t: Tensor, name: str, op: Callable[..., Tensor], args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Write `op(t, *args, **options)` into `t`, whose history is from then on the node of the op, which is returned."""
    storage, before = storage_of(t), _before(t)
    r = op(before, *args, **options)
    _fill(t, r, name)
    node: Any = r._fn
    if type(before) is Tensor and before._fn is not None:
        _clone_saved(node, before)
    if node.keeps_result and type(node.saved_result) is not Packed:  # a hook's answer stays as it is
        node.saved_result, node.counter_result, node.version_result = saved_as_result(t), storage, storage.version
    rebase(t, node, r._nr)
    return node


def _now(t: Tensor) -> Tensor:
    """Return the tensor as it is now, without history."""
    return t._again() if type(t) is Lifted else wrap(t._array)


def _before(t: Tensor) -> Tensor:
    """Return a copy of the tensor as it is now, at the same place in the graph."""
    if type(t) is Lifted:
        with below(t._level):
            before = lift(t._value.clone(), t._level, t.requires_grad)
    else:
        before = wrap(t._array.copy(), t.requires_grad)
    if t._meta is not None and (tangent := tangent_of(t)) is not None:
        meta_of(before).tangent = pushed_from(t, tangent.clone)
    if t.requires_grad:
        before._fn, before._nr = t._fn or t.grad_fn, t._nr
    return before


def _clone_saved(node: Any, before: Tensor) -> None:
    """Return where the operation saved the tensor as it was, let that be a recorded clone, as in PyTorch.

    Only a graph of gradients leads there.
    """
    for name in node.saved_names:
        if getattr(node, f"saved_{name}") is before:
            made = clone.op.node()
            made.seq, made.extra = next(sequence), None
            made.next0, made.nr0 = before._fn, before._nr
            before._fn, before._nr = made, 0
            if state.anomaly:
                remember(made)


def _fill(t: Tensor, r: Tensor, name: str) -> None:
    if r._array.shape != t._array.shape:
        if name in ("addmm_", "addmv_", "baddbmm_"):
            raise RuntimeError(
                f"Bad in-place call: input tensor size {list(t._array.shape)} and output tensor size "
                f"{list(r._array.shape)} should match"
            )
        check_width(t._array.shape, r._array.shape)
    if r._array.dtype is not t._array.dtype and r.dtype.rank > t.dtype.rank:
        words = {"float64": "Double", "float32": "Float", "int64": "Long"}
        got, want = (words.get(x.dtype.name, x.dtype.word) for x in (r, t))
        raise RuntimeError(errors.OUT_CAST.format(got, want))
    if type(t) is Lifted:
        with below(t._level):
            t._value.copy_(value_below(r, t._level))
    elif 0 in t._array.strides and WRITES.get(name) in ("indices", "mask", "triangle"):
        changed = r._array != t._array  # the unwritten must not overwrite the rest
        t._array[changed] = r._array[changed]
    else:
        quietly(np.copyto, t._array, r._array, "unsafe")
    bump(t)
    if (slow_path_reasons and local.modes.dual is not None) or (type(t) is Lifted and t._level.kind == "jvp"):
        pushed_from(t, _write_tangent, t, tangent_of(r))


def _write_tangent(t: Tensor, tangent: Any) -> None:
    """Write the tangent of what was written into `t`: in place, so that views of it and its base see it."""
    have: Any = tangent_of(t)
    if have is None and tangent is None:
        return
    if have is None:
        base = t if t._base is None else t._base
        set_tangent(base, zero_tangent(base, tangent))
        have = tangent_of(t)
    have.copy_(have.detach().clone().zero_() if tangent is None else tangent)


def writing(op: Callable[..., Tensor], name: str, operator: bool = False) -> Callable[..., Tensor]:
    """Return the method that writes what `op` gives.

    That of an operator has no answer for what is neither a tensor nor a number.
    """
    ufunc: Any = UFUNCS.get(op) or getattr(getattr(op, "op", None), "forward", None)
    operands = ufunc.nin if isinstance(ufunc, np.ufunc) else 1 if op is math.relu else 0

    plainly = PLAINLY.get(op)

    def written(self: Tensor, *args: Any, **options: Any) -> Tensor:
        if plainly is not None and (options or len(args) != operands - 1) and _is_quiet(self):
            try:
                if plainly(self, *args, **options):
                    return _count_write(self, name, args)
            except (RuntimeError, TypeError, ValueError):
                pass  # the general way says what is wrong, and finds a context
        elif len(args) == operands - 1 and not options and _is_quiet(self):
            a, given = self._array, _quiet_operand(self, args[0]) if args else True
            if given is not None:
                try:
                    compute(ufunc, a, given, a) if args else compute(ufunc, a, a)
                except (RuntimeError, ValueError):
                    pass  # the general way says what does not fit, and finds a context
                else:
                    return _count_write(self, name, args)
        if operator and not isinstance(args[0], OPERANDS):
            return NotImplemented
        return write(self, name, op, *args, **options)

    named(written, name)
    written.__doc__ = described_in_place(op.__doc__ or "")
    takes = inspect.signature(op)
    first, *rest = [each for each in takes.parameters.values() if each.name != "out"]
    written.__signature__ = takes.replace(parameters=[first.replace(name="self"), *rest])  # type: ignore[attr-defined]
    return written


OPERANDS = (Tensor, bool, int, float, np.generic)
Tensor.__iadd__ = writing(arithmetic.add, "add_", operator=True)
Tensor.__isub__ = writing(arithmetic.sub, "sub_", operator=True)
Tensor.__imul__ = writing(arithmetic.mul, "mul_", operator=True)
Tensor.__itruediv__ = Tensor.__idiv__ = writing(division.div, "div_", operator=True)
Tensor.__imod__ = writing(division.remainder, "remainder_", operator=True)
Tensor.__ipow__ = writing(powers.pow, "pow_", operator=True)
Tensor.__iand__ = writing(comparison.bitwise_and, "bitwise_and_", operator=True)
Tensor.__ior__ = writing(comparison.bitwise_or, "bitwise_or_", operator=True)
Tensor.__ixor__ = writing(comparison.bitwise_xor, "bitwise_xor_", operator=True)


_fill_op = define(
    "fill(Tensor self, value)",
    np.full_like,
    node="FillBackward2",
    batch="pointwise",
    self="zeros_like(grad)",
    tangent="zeros_like(self_t)",
)
_fill_with = define(
    "fill_with(Tensor self, Tensor value)",
    lambda a, value: np.full_like(a, value),
    node="FillBackward3",
    kind="assign",
    self="zeros_like(grad)",
    value="grad",
)
_zero = define("zero(Tensor self)", np.zeros_like, batch="pointwise", self="zeros_like(grad)")


def _copied(a: np.ndarray, src: np.ndarray) -> np.ndarray:
    if src.shape == a.shape:
        return src.astype(a.dtype)
    try:
        return np.broadcast_to(src, a.shape).astype(a.dtype)
    except ValueError:
        check_broadcast([a.shape, src.shape])
        check_width(a.shape, np.broadcast_shapes(a.shape, src.shape))
        raise


_copy = define(
    "copy(Tensor self, Tensor src)",
    _copied,
    node="torch::autograd::CopyBackwards",
    kind="assign",
    self="zeros_like(grad)",
    src="grad",
)


@method()
def floor_divide_(self: Tensor, other: float | Tensor) -> Tensor:
    """Write `input / other`, rounded down, into the tensor itself."""
    return write(self, "floor_divide_", division.floor_divide_in_place, other)


Tensor.__ifloordiv__ = floor_divide_


@operation()
def fill_(self: Tensor, value: float | Tensor) -> Tensor:
    """Set every element to `value`, a number or a tensor without dimensions.

    No gradient flows to the earlier elements.
    """
    if not isinstance(value, Tensor):
        if type(value) in (float, int) and -LARGE < value < LARGE and _is_quiet(self):
            self._array.fill(value)
            return _count_write(self, "fill_")
        return write(self, "fill_", _fill_op, fitting(number_of("fill_", "value", 1, value), self.dtype))
    if value._array.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
        )
    return write(self, "fill_", _fill_with, value)


@operation()
def zero_(self: Tensor) -> Tensor:
    """Set every element to 0, and return the tensor."""
    if _is_quiet(self):
        self._array.fill(0)
        return _count_write(self, "zero_")
    return write(self, "zero_", _zero)


@method()
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src` into this tensor, broadcast and converted to its dtype.

    Gradients flow to `src`, and no longer to the earlier elements of this tensor.
    """
    if isinstance(src, (bool, int, float, complex)):
        src = wrap(np.array(src))
    if _is_quiet(self) and (given := _quiet_operand(self, src)) is not None:
        try:
            if given.ndim <= self._array.ndim:  # else NumPy overlooks leading dimensions of size 1
                np.copyto(self._array, given)
                return _count_write(self, "copy_", (src,))
        except ValueError:
            pass  # the general way says what does not fit
    return write(self, "copy_", _copy, src)
