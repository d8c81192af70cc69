"""Operations that compare and choose: `==` and its kin, logic, the larger and the smaller, where, clamp."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core.umath import clip  # pyright: ignore[reportAttributeAccessIssue]  # NumPy's stub leaves it out

from .. import errors
from ..autograd import dtypes
from ..autograd.levels import is_batched
from ..autograd.state import slow_path_reasons
from ..autograd.tensor import Tensor, wrap
from ..errors import warn
from ..events import emit, listeners
from .core.checks import bool_of, check_tensor, dims_of, not_a_tensor, number_of, numpy_names, only_floats, promoted
from .core.dispatch import dispatch_equality
from .core.op import define, method, operation, operator
from .core.registry import in_formulas
from .core.results import as_int64, into
from .core.scalars import SCALARS

maximum = define(
    "maximum(Tensor self, Tensor other)",
    np.maximum,
    meaning="Return the larger element of each pair. Two equal elements receive half of the gradient each.",
    kind="tensors",
    self="where(self < other, 0, where(self == other, grad / 2, grad))",
    other="where(self > other, 0, where(self == other, grad / 2, grad))",
    out=True,
)
minimum = define(
    "minimum(Tensor self, Tensor other)",
    np.minimum,
    meaning="Return the smaller element of each pair. Two equal elements receive half of the gradient each.",
    kind="tensors",
    self="where(self > other, 0, where(self == other, grad / 2, grad))",
    other="where(self < other, 0, where(self == other, grad / 2, grad))",
    out=True,
)


def _no_masks(args: tuple[Any, ...]) -> tuple[Any, ...]:
    t, low, high = args
    kernel = "clamp_max_scalar_cpu" if low is None else "clamp_min_scalar_cpu" if high is None else "clamp_scalar_cpu"
    return only_floats(kernel, but="iu")((t,)) and args


def _clamped(a: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """Return what `a.clip` gives, in a third of its time."""
    if a.dtype.kind != "f":
        return a.clip(low, high)
    numbers = SCALARS[float][a.dtype]
    if high is None:
        return np.maximum(a, numbers[low])
    return np.minimum(a, numbers[high]) if low is None else clip(a, numbers[low], numbers[high])


where_ = define(
    "where(Kept condition, Tensor self, Tensor other)",
    np.where,
    kind="pointwise",
    self="where(condition, grad, 0)",
    other="where(condition, 0, grad)",
)
_clamp = define(
    "clamp(Tensor self, min, max)",
    _clamped,
    node="ClampBackward1",
    prepare=lambda args: _no_masks(promoted(args)),
    self="where(in_range(self, min, max), grad, 0)",
    tangent="pointwise",
)


def _between(a: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(a, low), high)


_clamp_tensors = define(
    "clamp_tensors(Tensor self, Tensor min, Tensor max)",
    _between,
    node="ClampBackward0",
    kind="pointwise",
    self="where((self >= min) & (self <= max), grad, 0)",
    min="where((min < max) & (self < min), grad, 0)",
    max="where((self > max) | (max < min), grad, 0)",
)


_clamp_min_number, _clamp_max_number = (
    define(
        f"clamp_{name}_number(Tensor self, {name})",
        forward,
        node=f"Clamp{name.title()}Backward0",
        prepare=lambda args, kernel=f"clamp_{name}_scalar_cpu": only_floats(kernel, but="iu")(promoted(args)),
        self=f"where(self {inside} {name}, grad, 0)",
        tangent="pointwise",
    )
    for name, forward, inside in (
        ("min", lambda a, low: _clamped(a, low, None), ">="),
        ("max", lambda a, high: _clamped(a, None, high), "<="),
    )
)
(_clamp_min_tensors, _clamp_low), (_clamp_max_tensors, _clamp_high) = (
    [
        define(
            signature,
            forward,
            node=node,
            kind="pointwise",
            self=f"where(self {inside} {limit}, grad, 0)",
            **{limit: f"where(self {outside} {limit}, grad, 0)"},  # type: ignore[arg-type]
        )
        for node, signature, forward in (
            (
                f"Clamp{limit.title()}Backward1",
                f"clamp_{limit}_tensors(Tensor self, Tensor {limit})",
                bound,
            ),
            (  # whose node has an edge for the limit that is not given, False here
                "ClampBackward0",
                f"clamp_{limit}_alone(Tensor self, Tensor min, Tensor max)",
                alone,
            ),
        )
    ]
    for limit, bound, alone, inside, outside in (
        ("min", np.maximum, lambda a, low, high: np.maximum(a, low), ">=", "<"),
        ("max", np.minimum, lambda a, low, high: np.minimum(a, high), "<=", ">"),
    )
)


def _in_range(a: Any, low: Any, high: Any) -> Any:
    if low is None:
        return a <= high
    return a >= low if high is None else (a >= low) & (a <= high)


in_formulas("in_range", _in_range)


@operation(in_place=True, also=("clip",))
def clamp(self: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit each element to the range from `min` to `max`.

    An element inside the range, or equal to a limit, receives its gradient unchanged. An element
    outside the range receives a gradient of 0. If the limit that replaced the element is a tensor,
    the limit receives the gradient instead.

    Args:
        min: The lower limit: a number, a tensor that broadcasts, or None for no limit.
        max: The upper limit: a number, a tensor that broadcasts, or None for no limit. Where `max`
            is smaller than `min`, the result is `max`.

    Raises:
        RuntimeError: if both limits are None.

    Example:
        >>> t = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
        >>> c = torch.clamp(t, 0.0, 1.0)
        >>> c.sum().backward()
        >>> c.tolist(), t.grad
        ([0.0, 0.5, 1.0], tensor([0., 1., 0.]))
    """
    if out is not None:
        numbers = not isinstance(min, Tensor) and not isinstance(max, Tensor)
        exact = errors.FOUND_DTYPE if numbers else ""
        return into("clamp", out, clamp, self, min, max, exact=exact)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    limits = [limit for limit in (min, max) if isinstance(limit, Tensor)]
    if len(limits) == 1 and None not in (min, max) and not limits[0]._array.ndim and not limits[0].requires_grad:
        limits = []  # beside a number, it is one
    if limits:
        for position, (name, limit) in enumerate((("min", min), ("max", max)), 1):
            if limit is not None and not isinstance(limit, Tensor):
                raise TypeError(not_a_tensor("clamp", name, position, limit))
        kinds = [(t.dtype, 2 if t._array.ndim else 1) for t in (self, *limits)]
        kind = dtypes.result_type(kinds)
        if kind is dtypes.bool_ and None not in (min, max):
            raise NotImplementedError(errors.NO_KERNEL.format("clamp_cpu", "Bool"))
        if min is None or max is None:
            return _clamp_high(self, False, max) if min is None else _clamp_low(self, min, False)
        return _clamp_tensors(self, min, max)
    low = None if min is None else number_of("clamp", "min", 1, min)
    return _clamp(self, low, None if max is None else number_of("clamp", "max", 2, max))


@operation(in_place=True)
def clamp_min(self: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the larger of each element and `min`, a number or a tensor.

    The same as `clamp` with only a lower limit. Gradients flow in the same way.
    """
    if out is not None:
        exact = "" if isinstance(min, Tensor) else errors.FOUND_DTYPE
        return into("clamp_min", out, clamp_min, self, min, exact=exact)
    if isinstance(min, Tensor):
        return _clamp_min_tensors(self, min)
    return _clamp_min_number(self, number_of("clamp_min", "min", 1, min))


@operation(in_place=True)
def clamp_max(self: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the smaller of each element and `max`, a number or a tensor.

    The same as `clamp` with only an upper limit. Gradients flow in the same way.
    """
    if out is not None:
        exact = "" if isinstance(max, Tensor) else errors.FOUND_DTYPE
        return into("clamp_max", out, clamp_max, self, max, exact=exact)
    if isinstance(max, Tensor):
        return _clamp_max_tensors(self, max)
    return _clamp_max_number(self, number_of("clamp_max", "max", 1, max))


@operation(method=False)
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Choose elements: return `input` where `condition` is True, and `other` where it is False.

    `condition`, `input` and `other` are broadcast to one shape, the shape of the result.

    A chosen element receives the gradient of the result, the others receive 0. This 0 becomes nan
    if the element was computed with an infinite derivative: in `where(x > 0, log(x), 0)`, replace
    the bad inputs before the `log`.

    `where(condition)` alone returns the indices of the nonzero elements: a tuple with one int64
    tensor for each dimension.

    Args:
        condition: A bool tensor. `where(condition)` alone takes any dtype.
        input: The values to choose where the condition is True: a tensor or a number.
        other: The values to choose elsewhere: a tensor or a number.

    Raises:
        RuntimeError: if `input` and `other` are given and the condition isn't bool.

    Example:
        >>> t = torch.tensor([-1.0, 2.0], requires_grad=True)
        >>> y = torch.where(t > 0, t, 10 * t)
        >>> y.sum().backward()
        >>> y.tolist(), t.grad
        ([-10.0, 2.0], tensor([10.,  1.]))
    """
    if out is not None:
        for position, (name, given) in enumerate((("input", input), ("other", other)), 1):
            check_tensor("where", name, position, given)
        return into("where", out, where, condition, input, other, exact="Expected out type to be {1} but got {0}")
    if not isinstance(condition, Tensor):
        raise TypeError(not_a_tensor("where", "condition", 0, condition))
    if input is None and other is None:
        if is_batched(condition) is not None:
            raise RuntimeError(errors.VMAP_DYNAMIC.format("where"))
        return tuple([wrap(as_int64(index)) for index in np.nonzero(np.atleast_1d(condition._array))])
    if condition.dtype is dtypes.uint8:
        warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
        condition = condition.to(dtypes.bool_)
    if condition._array.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.word}"
        )
    if type(input) in SCALARS and not listeners and not slow_path_reasons and isinstance(other, Tensor):
        numbers = SCALARS[type(input)].get(other._array.dtype)
        input = input if numbers is None else wrap(numbers[input])
    return where_(condition, input, other)


@method("where")
def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return the tensor's elements where `condition` is True, and those of `other` elsewhere."""
    check_tensor("where", "condition", 1, condition)
    return where(condition, self, other)


def _inverted(a: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f":
        raise NotImplementedError(errors.NO_KERNEL.format("bitwise_not_cpu", dtypes.of(a).word))
    return np.invert(a)


def _of_integers(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    def bitwise(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind == "f":
            raise NotImplementedError(errors.NO_KERNEL.format(f"{ufunc.__name__}_cpu", dtypes.of(a).word))
        return ufunc(a, b)

    return bitwise


def _asked(name: str, forward: Callable[..., Any], **called: Any) -> Callable[..., Tensor]:
    """Return an op that has an operator and no derivative; `called` says what its name may do."""
    return define(f"{name}(Tensor self, Tensor other)", forward, kind="pointwise", **called)


eq = _asked("eq", np.equal, meaning="Return True where the two elements are equal.", out=True)
ne = _asked("ne", np.not_equal, meaning="Return True where the two elements differ.", out=True, also=("not_equal",))
lt = _asked("lt", np.less, meaning="Return True where `input < other`.", out=True, also=("less",))
le = _asked(
    "le",
    np.less_equal,
    meaning="Return True where `input <= other`.",
    out=True,
    also=("less_equal",),
)
gt = _asked(
    "gt",
    np.greater,
    meaning="Return True where `input > other`.",
    out=True,
    also=("greater",),
)
ge = _asked(
    "ge",
    np.greater_equal,
    meaning="Return True where `input >= other`.",
    out=True,
    also=("greater_equal",),
)
bitwise_and, bitwise_or, bitwise_xor = (
    _asked(
        ufunc.__name__,
        _of_integers(ufunc),
        meaning=f"Return the bitwise {word}: the bits set in {ints}; for bools, True where {masks}.",
        method=True,
    )
    for ufunc, word, ints, masks in (
        (np.bitwise_and, "AND", "both integers", "both are True"),
        (np.bitwise_or, "OR", "at least one integer", "one is True"),
        (np.bitwise_xor, "XOR", "exactly one integer", "they differ"),
    )
)
Tensor.__eq__, Tensor.__ne__ = operator(eq, dispatch_equality), operator(ne)
Tensor.__lt__, Tensor.__le__, Tensor.__gt__, Tensor.__ge__ = map(operator, (lt, le, gt, ge))
Tensor.__and__, Tensor.__or__, Tensor.__xor__ = map(operator, (bitwise_and, bitwise_or, bitwise_xor))
Tensor.__rand__, Tensor.__ror__, Tensor.__rxor__ = Tensor.__and__, Tensor.__or__, Tensor.__xor__
bitwise_not = define(
    "bitwise_not(Tensor self)",
    _inverted,
    meaning="Return each integer with its bits inverted, or each bool negated.",
    batch="pointwise",
    method=True,
)


@method("__invert__")
def _invert(self: Tensor) -> Tensor:
    """Return integers with their bits inverted, or bools negated, for `~t`."""
    if self._array.dtype.kind in "fc":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


logical_and = define(
    "logical_and(Tensor self, Tensor other)",
    np.logical_and,
    meaning="Return True where the element and its partner in `other` are both nonzero.\n\n"
    "The shapes are broadcast, and the result is bool.",
    batch="pointwise",
    method=True,
)
logical_or = define(
    "logical_or(Tensor self, Tensor other)",
    np.logical_or,
    meaning="Return True where the element or its partner in `other` is nonzero.\n\n"
    "The shapes are broadcast, and the result is bool.",
    batch="pointwise",
    method=True,
)
logical_xor = define(
    "logical_xor(Tensor self, Tensor other)",
    np.logical_xor,
    meaning="Return True where exactly one of the element and its partner in `other` is nonzero.\n\n"
    "The shapes are broadcast, and the result is bool.",
    batch="pointwise",
    method=True,
)
logical_not = define(
    "logical_not(Tensor self)",
    np.logical_not,
    meaning="Return True where the element is zero.",
    batch="pointwise",
    method=True,
)
isnan = define(
    "isnan(Tensor self)",
    np.isnan,
    meaning="Return True where the element is nan (not a number).",
    batch="pointwise",
    method=True,
)
isinf = define(
    "isinf(Tensor self)",
    np.isinf,
    meaning="Return True where the element is inf or -inf.",
    batch="pointwise",
    method=True,
)
isfinite = define(
    "isfinite(Tensor self)",
    np.isfinite,
    meaning="Return True where the element is neither infinite nor nan.",
    batch="pointwise",
    method=True,
)


def _answer(ask: Any) -> Any:
    """Return the answer as a mask; as bytes where the question was about bytes."""
    return lambda a, dim, keepdim: np.asarray(
        ask(a, axis=dim, keepdims=keepdim), np.uint8 if a.dtype == np.uint8 else bool
    )


_all, _any = (
    define(f"{name}(Tensor self, dim, keepdim)", _answer(ask))
    for name, ask in (("all", np.logical_and.reduce), ("any", np.logical_or.reduce))
)
_isclose = define("isclose(Tensor self, Tensor other, rtol, atol, equal_nan)", np.isclose, batch="pointwise")


def _refuse_batches(sentence: str, *tensors: Tensor) -> None:
    """Raise RuntimeError in a batch, where the answer would be one for each sample, which Python can't have."""
    if builtins.any(is_batched(t) is not None for t in tensors):
        raise RuntimeError(sentence)


@operation()
@numpy_names
def all(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return True if all elements are nonzero, for the whole tensor or along `dim`.

    The result is a bool tensor, or uint8 for an input of uint8. `dim` and `keepdim` work as in
    `sum`.
    """
    return _all(self, dims_of(dim, self._array.ndim), bool_of("all", "keepdim", 2, keepdim))


@operation()
@numpy_names
def any(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return True if at least one element is nonzero, for the whole tensor or along `dim`.

    The result is a bool tensor, or uint8 for an input of uint8. `dim` and `keepdim` work as in
    `sum`.
    """
    return _any(self, dims_of(dim, self._array.ndim), bool_of("any", "keepdim", 2, keepdim))


@operation()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of the nonzero elements, as int64.

    The result is a matrix with one row for each nonzero element and one column for each dimension.

    Args:
        as_tuple: Return a tuple with one vector for each dimension instead. You can use this tuple
            as an index: `t[torch.nonzero(t, as_tuple=True)]`.

    Example:
        >>> torch.nonzero(torch.tensor([[0, 7], [8, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    _refuse_batches(errors.VMAP_DYNAMIC.format("nonzero"), input)
    where = [as_int64(places) for places in np.nonzero(np.atleast_1d(input._array))]
    arrays = where if as_tuple else [np.stack(where, 1)[:, : input._array.ndim]]
    made = tuple([wrap(array) for array in arrays])
    if listeners:
        emit(("unrecorded", "nonzero", (input,), made))
    return made if as_tuple else made[0]


@operation()
def equal(self: Tensor, other: Tensor) -> bool:
    """Return True if the tensor and `other` have the same shape and the same elements.

    nan isn't equal to anything, not even to nan.
    """
    check_tensor("equal", "other", 1, other)
    _refuse_batches(("Batching rule not implemented for aten::equal. We could not generate a fallback."), self, other)
    return bool(np.array_equal(self._array, other._array))


@operation()
def isclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return True for each pair of elements that are nearly equal.

    The shapes are broadcast. Two elements are nearly equal if
    `abs(input - other) <= atol + rtol * abs(other)`.

    Args:
        rtol: The tolerance relative to `other`.
        atol: The absolute tolerance, which matters for elements near 0.
        equal_nan: Treat nan as equal to nan.
    """
    check_tensor("isclose", "other", 1, other)
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{self.dtype.word} did not match {other.dtype.word}")
    rtol, atol = number_of("isclose", "rtol", 2, rtol, "float"), number_of("isclose", "atol", 3, atol, "float")
    return _isclose(self, other, rtol, atol, equal_nan)


@operation()
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return True if all pairs of elements are nearly equal.

    The result is a Python bool. A pair is nearly equal if
    `abs(input - other) <= atol + rtol * abs(other)`. Equal infinities are, too.

    Args:
        other: A tensor whose shape broadcasts with that of the input.
        rtol: The largest difference, relative to the element of `other`.
        atol: The largest difference where `other` is 0.
        equal_nan: Let nan equal nan.
    """
    check_tensor("allclose", "other", 1, other)
    _refuse_batches(
        (
            "vmap over torch.allclose isn't supported yet. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        ),
        self,
        other,
    )
    return bool(np.all(isclose(self, other, rtol, atol, equal_nan)._array))
