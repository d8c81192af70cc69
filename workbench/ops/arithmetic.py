"""Sums, differences and products, element by element, with their operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.tensor import Tensor
from ..errors import warn
from .core.checks import (
    called_as,
    fitting,
    fitting_scale,
    no_bools,
    no_mask,
    number_of,
    one_number,
    promoted,
    python_number,
)
from .core.op import define, method, operation, operator
from .core.registry import in_formulas
from .core.results import into
from .core.scalars import SCALARS
from .math import abs


def _factor_of(a: np.ndarray, alpha: float) -> np.generic:
    """Return the number in the array's dtype, which must be able to hold it: among bytes -1 is 255."""
    return a.dtype.type(fitting(alpha, dtypes.of(a)))


_add = define(
    "add(Tensor self, Tensor other)",
    np.add,
    kind="pointwise",
    meaning="Return `input + other`, element by element.",
    self="grad",
    other="grad",
)
_add_scaled = define(
    "add_scaled(Tensor self, Tensor other, alpha)",
    lambda a, b, alpha: a + (a.dtype.type(alpha) if a.dtype.kind == "f" else _factor_of(a, alpha)) * b,
    node="AddBackward0",
    kind="pointwise",
    prepare=fitting_scale,
    self="grad",
    other="grad * alpha",
)


_sub = define(
    "sub(Tensor self, Tensor other)",
    np.subtract,
    kind="pointwise",
    meaning="Return `input - other`, element by element.",
    prepare=no_bools,
    self="grad",
    other="-grad",
)
_sub_scaled = define(
    "sub_scaled(Tensor self, Tensor other, alpha)",
    lambda a, b, alpha: a - (a.dtype.type(alpha) if a.dtype.kind == "f" else _factor_of(a, alpha)) * b,
    node="SubBackward0",
    kind="pointwise",
    prepare=lambda args: fitting_scale(no_bools(args)),
    self="grad",
    other="-grad * alpha",
)
_rsub = define(
    "rsub(Tensor self, number)",
    lambda a, n: SCALARS[type(n)][a.dtype][n] - a,
    node="RsubBackward1",
    batch="pointwise",
    prepare=lambda args: promoted(no_bools(args)),
    self="-grad",
    tangent="-self_t",
)
_rsub_tensors = define(
    "rsub_tensors(Tensor self, Tensor other)",
    lambda a, b: np.subtract(b, a),
    node="RsubBackward0",
    kind="pointwise",
    self="-grad",
    other="grad",
    tangent="-self_t + other_t",
)
mul = define(
    "mul(Tensor self, Tensor other)",
    np.multiply,
    meaning="Return `input * other`, element by element.",
    kind="pointwise",
    self="grad * other",
    other="grad * self",
    out=True,
    in_place=True,
    also=("multiply",),
)
in_formulas("times", lambda x, number: x if number == 1 else x * number)
neg = define(
    "neg(Tensor self)",
    np.negative,
    meaning="Return `-x` for each element x.",
    batch="pointwise",
    prepare=no_mask(errors.BOOL_NEG),
    self="-grad",
    out=errors.FOUND_DTYPE,
    in_place=True,
    also=("negative",),
)


@operation(checked=False, in_place=True)
def add(input: Tensor, other: Any, *last: Any, alpha: float = 1, out: Tensor | None = None) -> Tensor:
    """Return `input + alpha * other`, element by element.

    The operands are broadcast to one shape and converted to one dtype. `other` may be a number.
    """
    if last:
        other, alpha = _in_order("add", other, last, alpha)
    if out is not None:
        return into("add", out, add, input, other, alpha=alpha)
    if type(alpha) is not int:
        alpha = _factor("add", alpha, input, other)
    return _add(input, other) if alpha == 1 else _add_scaled(input, other, alpha)


@operation(checked=False, in_place=True, also=("subtract",))
def sub(input: Tensor, other: Any, *last: Any, alpha: float = 1, out: Tensor | None = None) -> Tensor:
    """Return `input - alpha * other`, element by element.

    The operands are broadcast to one shape and converted to one dtype. `other` may be a number.

    Raises:
        RuntimeError: if both are bool.
    """
    if last:
        other, alpha = _in_order("sub", other, last, alpha)
    if out is not None:
        return into("sub", out, sub, input, other, alpha=alpha)
    if type(alpha) is not int:
        alpha = _factor("sub", alpha, input, other)
    return _sub(input, other) if alpha == 1 else _sub_scaled(input, other, alpha)


def _in_order(function: str, alpha: Any, last: tuple[Any, ...], named: Any) -> tuple[Any, Any]:
    """Return the other operand and its factor, given as second and third argument the other way round."""
    owner, called = called_as()
    number = one_number(alpha)
    other, *more = last
    if more or named != 1 or number is None or called.removesuffix("_") != function:
        raise TypeError(f"{called}() takes 2 positional arguments but {2 + len(last)} were given")
    of_method = owner == "Tensor" or called.endswith("_")
    warn(
        (
            (
                "This overload of {0} is deprecated:\n\t{0}(Number alpha, Tensor other)\nConsider "
                "using one of the following signatures instead:\n\t{0}(Tensor other, *, Number alpha "
                "= 1)"
            )
            if of_method
            else (
                "This overload of {0} is deprecated:\n\t{0}(Tensor input, Number alpha, Tensor "
                "other, *, Tensor out = None)\nConsider using one of the following signatures "
                "instead:\n\t{0}(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"
            )
        ).format(called)
    )
    return other, number


def _factor(function: str, alpha: Any, *operands: Any) -> Any:
    """`alpha` as a number; RuntimeError for True or False unless all are masks."""
    alpha = number_of(function, "alpha", None, alpha)
    if isinstance(alpha, bool) and not all([isinstance(t, Tensor) and t.dtype is dtypes.bool_ for t in operands]):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return alpha


@method("__rsub__")
def rsub(self: Tensor, other: Any) -> Tensor:
    """Return `other - self`, element by element."""
    other = python_number(other)
    if isinstance(other, Tensor):
        no_bools((other, self))
        return _rsub_tensors(self, other)
    if isinstance(other, bool):
        no_bools((other, self))
    return _rsub(self, other) if isinstance(other, (int, float, complex)) else NotImplemented


Tensor.__add__ = Tensor.__radd__ = operator(_add)
Tensor.__mul__ = Tensor.__rmul__ = operator(mul)
Tensor.__sub__ = operator(_sub)
Tensor.__neg__ = neg
Tensor.__abs__ = abs
Tensor.__pos__ = lambda self: no_mask("The `+` operator, on a bool tensor is not supported.")((self,))[0]
