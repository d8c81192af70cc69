"""Operations that write into a tensor: each runs its ordinary op and then writes the result in place.

The op runs on the tensor as it was before the write, so that what its node saves is right; the tensor then takes the
result's place in the graph, and its version counts one more write.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy._core.umath import clip  # pyright: ignore[reportAttributeAccessIssue]  # NumPy's stub leaves it out

from .. import errors
from ..autograd import state
from ..autograd.anomaly_mode import remember
from ..autograd.forward_ad import pushed_from, set_tangent, tangent_of, zero_tangent
from ..autograd.levels import Level, Lifted, at, below, is_batched, lift, place_of_write, same_level, value_below
from ..autograd.node import sequence
from ..autograd.saved_tensors import Packed, saved_as_result
from ..autograd.state import compute, local, off, quietly, silent, unusual
from ..autograd.tensor import Parameter, Tensor, bump, made_by, meta_of, part_of, storage_of, wrap
from ..autograd.views import check_write, rebase
from ..errors import kind_of
from ..events import emit, listeners
from . import comparison, indexing, math
from .core.checks import (
    check_broadcast,
    check_overlap,
    check_width,
    dim_index,
    dims_of,
    fitting,
    int_of,
    named,
    number_of,
)
from .core.described import described_in_place
from .core.op import define, method, operation
from .core.registry import WRITES
from .core.scalars import SCALARS
from .creation import drawn
from .creation import generator as generator_of
from .indexing import check_put, located, plain_view, put
from .shape import (
    _squeeze,
    _squeeze_all,
    _squeeze_dims,
    _t,
    _transpose,
    _unsqueeze,
    check_t,
    clone,
    expand,
    unsqueeze,
    view,
)

BOOL = np.dtype(bool)
FLOAT32 = np.dtype("float32")
FLOAT64 = np.dtype("float64")
ZEROS = {kind: np.zeros((), kind) for kind in (FLOAT32, FLOAT64)}  # with an array a ufunc takes less than with a number
LARGE = 3e38  # numbers of which every float dtype but half has one


def write(t: Tensor, name: str, op: Callable[..., Tensor], *args: Any, **options: Any) -> Tensor:
    """Write `op(t, *args, **options)` into `t`, recorded if wanted, and return `t`."""
    modes = local.modes
    given = (t, *args, *options.values())
    if type(t) is Lifted and t._level not in modes.levels:  # of a transform that is over
        write(at(t, None), name, op, *args, **options)
        return t
    if modes.levels and (level := _level_above(t, given, name)) is not None:
        with below(level):
            return write(t, name, op, *args, **options)
    if modes.mutation is not None:
        modes.mutation.before_write(t)
    tracked = False
    if modes.grad and not modes.inference and t._array.dtype.kind == "f":
        for a in given:
            if isinstance(a, Tensor) and a.requires_grad and same_level(a, t):
                tracked = True
                break
    if tracked:
        check_write(t)
    if op not in (_fill_op, _zero) and not (op is _copy and args[0] is t):
        value_read = op in (_fill_with, indexing.masked_fill, _put_one)  # before anything is written
        mask = args[:1] if op is indexing.masked_fill else ()
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


def _tell_write(t: Tensor, name: str, node: Any, given: tuple[Any, ...]) -> None:
    """Report a write, and if no node records it, its arguments, which get no gradient."""
    emit(("wrote", t, name, node))
    if node is None:
        emit(("unrecorded", name, given, (t,)))


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


# An unrecorded write to elements in row order needs no checks and saves nothing.


def _is_quiet(t: Tensor) -> bool:
    """Return True if to write into the array is all there is to do."""
    if unusual or (type(t) is not Tensor and type(t) is not Parameter):
        return False
    if (t._rg or t._meta is not None) and _is_recorded(t):
        return False
    a = t._array
    return (a.dtype is FLOAT64 or a.dtype is FLOAT32) and (a.base is None or a.flags.c_contiguous)


def _is_recorded(t: Tensor) -> bool:
    """Return True if an operation on the tensor is recorded now."""
    return t.requires_grad and not (off and not local.modes.grad)


def descend(t: Tensor, grad: Tensor, rate: Any) -> None:
    """`t.sub_(grad * rate)`, of which most is settled where both are plain and nothing is recorded."""
    a, g = t._array, grad._array
    if (
        not unusual
        and off
        and not local.modes.grad
        and (type(t) is Parameter or type(t) is Tensor)
        and type(grad) is Tensor
        and type(rate) is float
        and (a.dtype is FLOAT64 or a.dtype is FLOAT32)
        and g.dtype is a.dtype
        and g.shape == a.shape
        and a.base is None
    ):
        run = silent().run
        run(np.subtract, a, run(np.multiply, g, rate), a)
        _count_write(t, "sub_")
    else:
        t.sub_(grad * rate)


def _count_write(t: Tensor, name: str, given: tuple[Any, ...] = ()) -> Tensor:
    """Count and report a write to the tensor, with its `given` arguments, and return the tensor."""
    storage = t._storage or storage_of(t)
    storage.version += 1
    if listeners:
        _tell_write(t, name, None, (t, *given))
    return t


def _quiet_operand(t: Tensor, other: Any) -> Any:
    """Return what to write into such a tensor as NumPy takes it; None where a write has more to look at."""
    kind = type(other)
    if kind is float or kind is int:
        return SCALARS[kind][t._array.dtype][other]
    if kind is not Tensor and kind is not Parameter:
        return None
    if (other._rg or other._meta is not None) and _is_recorded(other):
        return None
    a, b = t._array, other._array
    if b.dtype is not a.dtype or (
        b is not a and (a if a.base is None else a.base) is (b if b.base is None else b.base)
    ):
        return None
    return b


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
    if (unusual and local.modes.dual is not None) or (type(t) is Lifted and t._level.kind == "jvp"):
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


UFUNCS = {
    math.add: np.add,
    math.sub: np.subtract,
    math.div: np.divide,
    math.relu: lambda a, out: np.maximum(a, ZEROS[a.dtype], out=out),
}


def _scaled_quietly(ufunc: Any) -> Callable[..., bool]:
    def write_scaled(t: Tensor, other: Any, *, alpha: Any) -> bool:
        """`t` plus or minus alpha times the other operand."""
        a, given = t._array, _quiet_operand(t, other)
        if given is None or type(alpha) not in SCALARS:
            return False
        compute(ufunc, a, compute(np.multiply, SCALARS[type(alpha)][a.dtype][alpha], given), a)
        return True

    return write_scaled


def _clamp_quietly(t: Tensor, min: Any = None, max: Any = None) -> bool:
    """`t` between two numbers."""
    if type(min) not in SCALARS or type(max) not in SCALARS:
        return False
    a = t._array
    clip(a, SCALARS[float][a.dtype][min], SCALARS[float][a.dtype][max], a)
    return True


def _masked_quietly(t: Tensor, mask: Any, value: Any) -> bool:
    """`t` with a number wherever a mask of its shape is true."""
    if type(mask) is not Tensor or type(value) not in SCALARS or not -LARGE < value < LARGE:
        return False
    a, where = t._array, mask._array
    if where.dtype is not BOOL or where.shape != a.shape:
        return False
    np.copyto(a, SCALARS[type(value)][a.dtype][value], where=where)
    return True


PLAINLY: dict[Any, Callable[..., bool]] = {
    math.add: _scaled_quietly(np.add),
    math.sub: _scaled_quietly(np.subtract),
    comparison.clamp: _clamp_quietly,
    indexing.masked_fill: _masked_quietly,
}

Tensor.__iadd__ = writing(math.add, "add_", operator=True)
Tensor.__isub__ = writing(math.sub, "sub_", operator=True)
Tensor.__imul__ = writing(math.mul, "mul_", operator=True)
Tensor.__itruediv__ = Tensor.__idiv__ = writing(math.div, "div_", operator=True)
Tensor.__imod__ = writing(math.remainder, "remainder_", operator=True)
Tensor.__ipow__ = writing(math.pow, "pow_", operator=True)
Tensor.__iand__ = writing(comparison.bitwise_and, "bitwise_and_", operator=True)
Tensor.__ior__ = writing(comparison.bitwise_or, "bitwise_or_", operator=True)
Tensor.__ixor__ = writing(comparison.bitwise_xor, "bitwise_xor_", operator=True)


_fill_op = define(
    "FillBackward2",
    "fill(Tensor self, value)",
    np.full_like,
    batch="pointwise",
    self="zeros_like(grad)",
    tangent="zeros_like(self_t)",
    samples="r(3), 2.0",
)
_fill_with = define(
    "FillBackward3",
    "fill_with(Tensor self, Tensor value)",
    lambda a, value: np.full_like(a, value),
    kind="assign",
    self="zeros_like(grad)",
    value="grad",
    samples="r(3), r()",
)
_zero = define(
    "ZeroBackward0", "zero(Tensor self)", np.zeros_like, batch="pointwise", self="zeros_like(grad)", samples="r(3)"
)


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
    "torch::autograd::CopyBackwards",
    "copy(Tensor self, Tensor src)",
    _copied,
    kind="assign",
    self="zeros_like(grad)",
    src="grad",
    samples="r(2, 3), r(3); r(3), r(3)",
)


@method()
def floor_divide_(self: Tensor, other: float | Tensor) -> Tensor:
    """Write `input / other`, rounded down, into the tensor itself."""
    return write(self, "floor_divide_", math.floor_divide_in_place, other)


Tensor.__ifloordiv__ = floor_divide_
_random = {
    name: define(
        f"{node}Backward{number}",
        f"{name}(Tensor self, Kept numbers)",
        lambda a, numbers: numbers.astype(a.dtype),
        batch="pointwise",
        self="zeros_like(grad)",
        tangent="zeros_like(self_t)",
        samples="r(3), ones(3)",
    )
    for name, node, number in (
        ("uniform", "Uniform", 0),
        ("normal", "Normal", 0),
        ("exponential", "Exponential", 0),
        ("cauchy", "Cauchy", 0),
        ("log_normal", "LogNormal", 0),
        ("geometric", "Geometric", 0),
        ("random_between", "Random", 0),
        ("random_below", "Random", 1),
        ("random_whole", "Random", 2),
        ("bernoulli_number", "Bernoulli", 2),
    )
}
_bernoulli_tensor = define(
    "BernoulliBackward1",
    "bernoulli_tensor(Tensor self, Kept p, Kept noise)",
    lambda a, p, noise: np.broadcast_to(noise < p, a.shape).astype(a.dtype),
    batch="pointwise",
    self="zeros_like(grad)",
    tangent="zeros_like(self_t)",
    samples="r(3), ones(3), ones(3)",
)
WRITTEN = {  # by an op: what a program calls
    **dict.fromkeys(("random_between", "random_below", "random_whole"), "random"),
    **dict.fromkeys(("bernoulli_number", "bernoulli_tensor"), "bernoulli"),
}
INT64 = np.dtype(np.int64)
CONTINUOUS = (
    "{} distribution is a continuous probability distribution. dtype must be a floating point but you specified {}"
)


def _draw(
    t: Tensor,
    op: Any,
    draw: Callable[[Any, tuple[int, ...]], Any],
    source: Any,
    *given: Any,
    kind: np.dtype = FLOAT64,
) -> Tensor:
    """Write numbers that `draw(generator, shape)` makes, by an op of its own."""
    name = f"{WRITTEN.get(op.op.name, op.op.name)}_"
    random = generator_of(source)

    def numbers(batch: tuple[int, ...]) -> np.ndarray:
        return np.asarray(draw(random, (*batch, *t._array.shape)))

    if any([level.randomness == "different" for level in local.modes.levels]) and is_batched(t) is None:
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This "
            "will appear like same randomness. If this is necessary for your usage, please "
            "file an issue with functorch."
        )
    return write(t, name, op, *given, drawn(numbers, kind, False))


def _check_kernel(t: Tensor, kernel: str, refused: str = "bui") -> None:
    """Raise NotImplementedError for a dtype that this draw doesn't support."""
    if t._array.dtype.kind in refused:
        raise NotImplementedError(errors.NO_KERNEL.format(kernel, t.dtype.word))


@method()
def uniform_(self: Tensor, a: float = 0, b: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the uniform distribution over [a, b)."""
    _check_kernel(self, "check_uniform_bounds")
    if a > b:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a:g} > to={b:g}")
    return _draw(self, _random["uniform"], lambda source, shape: source.uniform(a, b, shape), generator)


@method()
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with normal random numbers of mean `mean` and standard deviation `std`."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    _check_kernel(self, "normal_kernel_cpu")
    return _draw(self, _random["normal"], lambda source, shape: source.normal(mean, std, shape), generator)


@method()
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the exponential distribution.

    Its density is `lambd * exp(-lambd * x)`, and its mean `1 / lambd`.
    """
    if self._array.dtype.kind != "f":
        raise RuntimeError(CONTINUOUS.format("Exponential", self.dtype.word))
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _draw(self, _random["exponential"], lambda source, shape: source.exponential(1 / lambd, shape), generator)


@method()
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the Cauchy distribution.

    Half of them are within `sigma` of `median`.
    """
    if self._array.dtype.kind != "f":
        raise RuntimeError(CONTINUOUS.format("Cauchy", self.dtype.c_name))
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return _draw(
        self, _random["cauchy"], lambda source, shape: median + sigma * source.standard_cauchy(shape), generator
    )


@method()
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers whose logarithms are normally distributed.

    The logarithms have mean `mean` and standard deviation `std`.
    """
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    _check_kernel(self, "log_normal_cpu")
    return _draw(self, _random["log_normal"], lambda source, shape: source.lognormal(mean, std, shape), generator)


@method()
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random counts from the geometric distribution.

    A count is the number of trials up to the first success. Each trial succeeds with probability
    `p`.
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    _check_kernel(self, "geometric_cpu", "b")
    return _draw(self, _random["geometric"], lambda source, shape: source.geometric(p, shape), generator)


@method()
def random_(self: Tensor, *bounds: int, generator: Any = None) -> Tensor:
    """Fill the tensor with random integers, and return it.

    `random_(to)` draws them from 0 up to, but not including, `to`. `random_(low, to)` draws them
    from `low` up to, but not including, `to`.

    `random_()` draws them from 0 up to and including the largest integer of the dtype. Floating
    dtypes have gaps between large integers. There, the largest is the one up to which all integers
    are exact: 2048 for float16, 2**24 for float32, 2**53 for float64.

    Args:
        bounds: Nothing, `to`, or `low` and `to`, as integers.
        generator: The random number generator to draw from. By default, it is the global one.

    Raises:
        RuntimeError: if `to` isn't larger than `low`, or the dtype of integers can't hold a bound.

    Example:
        >>> dice = torch.zeros(1000, dtype=torch.int64).random_(1, 7)
        >>> dice.min(), dice.max()
        (tensor(1), tensor(6))
    """
    kind = self._array.dtype
    low, to = (0, *bounds) if len(bounds) == 1 else bounds or (0, _most(kind) + 1)
    low, to = int_of("random_", "from", 0, low), int_of("random_", "to", 1, to)
    if low >= to:
        raise RuntimeError(errors.RANDOM_RANGE.format(low, to))
    for name, bound in (("from", low), ("to - 1", to - 1)):
        if kind.kind in "iub" and not (np.iinfo(kind).min if kind.kind != "b" else 0) <= bound <= _most(kind):
            raise RuntimeError(f"{name} is out of bounds for {self.dtype.c_name}")
    which = ("random_whole", "random_below", "random_between")[len(bounds)]
    return _draw(
        self,
        _random[which],
        lambda source, shape: source.integers(low, to - 1, shape, endpoint=True),
        generator,
        kind=INT64,
    )


def _most(kind: np.dtype) -> int:
    """Return the largest integer that `random_` writes by default."""
    if kind.kind == "f":
        return 2 ** (np.finfo(kind).nmant + 1)
    return 1 if kind.kind == "b" else int(np.iinfo(kind).max)


@method()
def bernoulli_(self: Tensor, p: float | Tensor = 0.5, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random 0s and 1s; `p` is the probability of a 1.

    Args:
        p: A number, or a tensor with a probability for each element.
    """
    if isinstance(p, Tensor):
        chances = expand(p, self._array.shape).detach()
        check_chances(chances)
        return _draw(self, _bernoulli_tensor, lambda source, shape: source.random(shape), generator, chances)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return _draw(self, _random["bernoulli_number"], lambda source, shape: source.random(shape) < p, generator)


def check_chances(p: Tensor) -> None:
    """Raise RuntimeError unless all are probabilities."""
    if not ((p._array >= 0) & (p._array <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )


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
    if isinstance(src, (bool, int, float)):
        src = wrap(np.array(src))
    if _is_quiet(self) and (given := _quiet_operand(self, src)) is not None:
        try:
            if given.ndim <= self._array.ndim:  # else NumPy overlooks leading dimensions of size 1
                np.copyto(self._array, given)
                return _count_write(self, "copy_", (src,))
        except ValueError:
            pass  # the general way says what does not fit
    return write(self, "copy_", _copy, src)


@operation()
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values` at `indices`, a tuple of index tensors, as `t[i, j] = values` does.

    Args:
        accumulate: Add the values to the elements instead of overwriting them, as in `index_put`.
    """
    check_put("index_put_", indices, values)
    return _put_in(self, tuple(indices), values, accumulate)


def _put_one(before: Tensor, indices: tuple[Tensor | None, ...], value: Tensor) -> Tensor:
    """Write one number where a mask is True."""
    return put(before, indices, value, False)


def _put_in(self: Tensor, indices: tuple[Tensor | None, ...], values: Tensor, accumulate: bool = False) -> Tensor:
    masks = [i._array.dtype.kind == "b" for i in indices if i is not None]

    def putting(before: Tensor, indices: Any, values: Tensor) -> Tensor:
        return put(before, indices, values, accumulate)

    if masks == [True] and values._array.size == 1 and not accumulate:
        return write(self, "index_put_", _put_one, indices, values)
    return write(self, "index_put_", putting, indices, values)


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write into part of the tensor, for `t[index] = value`.

    Index tensors and masks choose single elements; other indices choose a view to write into.
    """
    if index is False:
        return
    if not listeners and _is_quiet(self) and _set_quietly(self, index, value):  # else the write to a view is reported
        return
    if index is True:
        part, where = unsqueeze(self, 0), None
    else:
        alone = type(index) is int or isinstance(index, slice)
        parts = (index,) if alone and self._array.ndim else index
        part, where = plain_view(self, parts), None
        if part is None:
            part, where = located(self, parts)
    if not isinstance(value, Tensor):
        if not isinstance(value, (bool, int, float, np.integer)):
            raise TypeError(f"can't assign a {kind_of(value)} to a torch.{self.dtype.word}Tensor")
        value = value if self.dtype.is_floating_point else fitting(cast(Any, value), self.dtype)
        value = wrap(quietly(np.asarray, value, self._array.dtype))
    if where is not None:
        lead = _leading_ones(value)
        _put_in(part, where, view(value, value._array.shape[lead:]) if lead else value)
    elif part._array.shape == value._array.shape:
        part.copy_(value)
    elif not value._array.ndim:
        part.fill_(value)
    else:
        value = view(value, value._array.shape[_leading_ones(value) :])
        part.copy_(value if value._array.shape == part._array.shape else expand(value, part._array.shape))


def _set_quietly(t: Tensor, index: Any, value: Any) -> bool:
    """Write what fits a part that ints, slices or a mask name; False where there is more to do."""
    a, given, kind = t._array, _quiet_operand(t, value), type(index)
    if not a.ndim or (given is None and not (type(value) is Tensor and _is_plain(index))):
        return False
    where: Any = index
    if kind is Tensor:
        where = index._array
        if where.dtype is not BOOL or where.shape != a.shape or type(value) not in SCALARS:
            return False
    elif kind is tuple:
        if not all([_is_plain(each) for each in index]):
            return False
    elif not _is_plain(index):
        return False
    try:
        if given is None:  # `t[i] += ...` writes the part into itself
            if not _is_same(a[where], value):
                return False
        elif type(value) not in SCALARS and a[where].shape != given.shape:
            return False
        else:
            a[where] = given
    except IndexError:
        return False
    bump(t)
    return True


def _is_same(part: Any, value: Tensor) -> bool:
    """Return True if a tensor without history is just this part of an array."""
    b = value._array
    return (
        type(part) is np.ndarray
        and part.dtype is b.dtype
        and part.shape == b.shape
        and part.strides == b.strides
        and part.__array_interface__["data"] == b.__array_interface__["data"]
        and not ((value._rg or value._meta is not None) and _is_recorded(value))
    )


def _is_plain(index: Any) -> bool:
    """Return True if it is an int, or a slice that goes forwards."""
    if type(index) is slice:
        return index.step is None or (type(index.step) is int and index.step > 0)
    return type(index) is int


def _leading_ones(t: Tensor) -> int:
    """Return how many dimensions of size 1 come first."""
    for i, n in enumerate(t._array.shape):
        if n != 1:
            return i
    return t._array.ndim


def reshaped(t: Tensor, name: str, op: Callable[..., Tensor], *args: Any) -> Tensor:
    """Make `t` what `op(t, *args)` is, recorded if wanted, and return `t`; its version counts one more write."""
    modes = local.modes
    if modes.levels:
        level = place_of_write(t, (t,), name)
        height = level.number if level else 0
        if height < len(modes.levels):
            with below(modes.levels[height]):
                return reshaped(t, name, op, *args)
    tracked = t.requires_grad and modes.grad and not modes.inference
    if tracked:
        check_write(t)
    seen = t._again() if type(t) is Lifted else part_of(t, t._array)
    seen._rg, seen._fn, seen._nr = tracked, t.grad_fn if tracked else None, t._nr
    tangent = tangent_of(t)
    if tangent is not None:
        meta_of(seen).tangent = tangent
    new: Any = op(seen, *args)
    t._array = new._array
    if type(t) is Lifted:
        t._value, t._given = new._value, new._given
    bump(t)
    set_tangent(t, tangent_of(new))
    node = made_by(new)
    if tracked:
        if t._base is None:
            t._fn = node
        else:
            t._meta.view_fn, t._meta.attr_version = node, t._version
        t._nr, t._rg = 0, True
    if listeners:
        emit(("wrote", t, name, node))
    return t


def _view_in_place(node_name: str, like: Callable[..., Any]) -> Callable[..., Any]:
    """Return a view's op under the name that PyTorch gives the node of its in-place kind."""
    op = like.op
    name, _, variant = op.name.partition("_")
    signature = f"{name}_{variant and '_' + variant}" + op.signature[len(op.name) :]
    batch = vars(op).get("batch")  # as declared: to ask the op would take its signature apart
    return define(node_name, signature, op.forward, kind="view", batch=batch, samples=op.samples, **op.formulas)


_t_ = _view_in_place("TBackward1", _t)
_transpose_ = _view_in_place("TransposeBackward1", _transpose)
_unsqueeze_ = _view_in_place("UnsqueezeBackward1", _unsqueeze)
_squeeze_all_ = _view_in_place("SqueezeBackward3", _squeeze_all)
_squeeze_ = _view_in_place("SqueezeBackward4", _squeeze)
_squeeze_dims_ = _view_in_place("SqueezeBackward5", _squeeze_dims)


def _transposed(t: Tensor, dim0: int, dim1: int) -> Tensor:
    return _transpose_(t, dim_index(dim0, t._array.ndim), dim_index(dim1, t._array.ndim))


def _unsqueezed(t: Tensor, dim: int) -> Tensor:
    return _unsqueeze_(t, dim_index(dim, t._array.ndim + 1))


def _squeezed(t: Tensor, dim: Any) -> Tensor:
    if dim is None:
        return _squeeze_all_(t)
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims_(t, dims_of(dim, t._array.ndim) if dim else ())
    return _squeeze_(t, dim_index(dim, t._array.ndim))


@method()
def t_(self: Tensor) -> Tensor:
    """Transpose a matrix in place; tensors with fewer dimensions stay the same."""
    check_t(self, "t_")
    return reshaped(self, "t_", _t_)


@method()
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange the dimensions `dim0` and `dim1` in place."""
    return reshaped(self, "transpose_", _transposed, dim0, dim1)


@method()
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 at `dim`, in place."""
    return reshaped(self, "unsqueeze_", _unsqueezed, dim)


@method()
def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """Remove dimension `dim` (or several) if its size is 1, or all dimensions of size 1, in place."""
    return reshaped(self, "squeeze_", _squeezed, dim)
