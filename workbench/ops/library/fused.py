"""Operations that add a product, a quotient or a share of a difference, each in one step and under one node."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.tensor import Tensor
from ...errors import warn
from ..core import checks
from ..core.op import define, operation
from ..core.registry import in_formulas
from ..core.results import into
from ..linear import added_to, dotted

INTEGER_DIVISION = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
    "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
    "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
    "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
    "tensor1 / tensor2), for all dtypes."
)


def _addcmul_of(a: np.ndarray, b: np.ndarray, c: np.ndarray, value: float) -> np.ndarray:
    if a.dtype.kind == "b":
        raise NotImplementedError(errors.NO_KERNEL.format("addcmul_cpu_out", "Bool"))
    return a + (b if value == 1 else a.dtype.type(checks.fitting(value, dtypes.of(a))) * b) * c


_addcmul = define(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, value)",
    _addcmul_of,
    kind="pointwise",
    self="grad",
    tensor1="grad * (tensor2 * value)",
    tensor2="grad * (tensor1 * value)",
)
_addcdiv = define(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, value)",
    lambda a, b, c, value: a + (b if value == 1 else a.dtype.type(value) * b) / c,
    kind="pointwise",
    self="grad",
    tensor1="grad * (value / tensor2)",
    tensor2="-grad * (value * tensor1 / (tensor2 * tensor2))",
)


def _lerp_of(a: np.ndarray, b: np.ndarray, weight: Any) -> np.ndarray:
    """Interpolate from the nearer end, so that a weight of 1 gives exactly the other."""
    if a.dtype.kind not in "fc":
        kernel = "lerp_kernel_tensor" if isinstance(weight, np.ndarray) else "lerp_kernel_scalar"
        raise NotImplementedError(errors.NO_KERNEL.format(kernel, dtypes.of(a).word))
    if not isinstance(weight, np.ndarray):
        weight = a.dtype.type(weight)
    return np.where(np.abs(weight) < 0.5, a + weight * (b - a), b - (b - a) * (1 - weight))


_lerp_number = define(
    "lerp_number(Tensor self, Tensor end, weight)",
    _lerp_of,
    node="LerpBackward0",
    kind="tensors",
    self="grad * (1 - weight)",
    end="grad * weight",
)
_lerp = define(
    "lerp(Tensor self, Tensor end, Tensor weight)",
    _lerp_of,
    node="LerpBackward1",
    kind="tensors",
    self="grad * (1 - weight)",
    end="grad * weight",
    weight="grad * (end - self)",
)


def _three(name: str, *tensors: tuple[str, Any]) -> None:
    for position, (argument, t) in enumerate(tensors, 1):
        checks.check_tensor(name, argument, position, t)


def _value_first(given: tuple[Any, ...], named: Any) -> tuple[Any, Any, Any]:
    """Return both tensors and the value, given by position with the value first, as in old programs; warn about it."""
    owner, called = checks.called_as()
    number = checks.one_number(given[0])
    if len(given) != 3 or named != 1 or number is None:
        raise TypeError(f"{called}() takes two tensors, and no more by position: {len(given)} were given")
    own, into_, also = "Tensor input, ", ", *, Tensor out = None", ", Tensor out = None"
    if owner == "Tensor" or called.endswith("_"):
        own = into_ = also = ""
    warn(
        f"This overload of {called} is deprecated:\n\t{called}({own}Number value, Tensor tensor1, Tensor tensor2"
        f"{into_})\nConsider using one of the following signatures instead:\n\t{called}({own}Tensor tensor1, Tensor "
        f"tensor2, *, Number value = 1{also})"
    )
    return given[1], given[2], number


@operation(checked=False, in_place=True)
def addcmul(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, *last: Any, value: float = 1, out: Tensor | None = None
) -> Tensor:
    """Return `input + value * tensor1 * tensor2`, element by element, with broadcasting."""
    if last:
        tensor1, tensor2, value = _value_first((tensor1, tensor2, *last), value)
    if out is not None:
        return into("addcmul", out, addcmul, self, tensor1, tensor2, value=value)
    checks.check_tensor("addcmul", "input", 0, self)
    _three("addcmul", ("tensor1", tensor1), ("tensor2", tensor2))
    return _addcmul(self, tensor1, tensor2, checks.number_of("addcmul", "value", None, value))


@operation(checked=False, in_place=True)
def addcdiv(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, *last: Any, value: float = 1, out: Tensor | None = None
) -> Tensor:
    """Return `input + value * tensor1 / tensor2`, element by element, with broadcasting.

    Raises:
        RuntimeError: if `tensor1` and `tensor2` are integers.
    """
    if last:
        tensor1, tensor2, value = _value_first((tensor1, tensor2, *last), value)
    if out is not None:
        return into("addcdiv", out, addcdiv, self, tensor1, tensor2, value=value)
    checks.check_tensor("addcdiv", "input", 0, self)
    _three("addcdiv", ("tensor1", tensor1), ("tensor2", tensor2))
    if tensor1.dtype.rank < 2 and tensor2.dtype.rank < 2:
        raise RuntimeError(INTEGER_DIVISION)
    return _addcdiv(self, tensor1, tensor2, checks.number_of("addcdiv", "value", None, value))


@operation(in_place=True)
def lerp(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """Interpolate linearly: return `input + weight * (end - input)`.

    Weight 0 gives the input, 1 gives `end`, and 0.5 gives their mean.

    Args:
        end: A tensor of the same dtype.
        weight: A number, or a tensor of the same dtype that broadcasts.

    Example:
        >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([4.0, 20.0]), 0.25)
        tensor([ 1.0000, 12.5000])
    """
    checks.check_tensor("lerp", "end", 1, end)
    if end.dtype is not self.dtype:
        raise RuntimeError(f"expected dtype {self.dtype.c_name} for `end` but got dtype {end.dtype.c_name}")
    if not isinstance(weight, Tensor):
        return _lerp_number(self, end, checks.number_of("lerp", "weight", 2, weight))
    if weight._array.ndim and weight.dtype is not self.dtype:
        raise RuntimeError(f"expected dtype {self.dtype.c_name} for `weight` but got dtype {weight.dtype.c_name}")
    return _lerp(self, end, weight)


# Products of matrices and vectors, added to what is expanded to their shape.

_addmv = define(
    "addmv(Tensor self, Tensor mat, Tensor vec, beta, alpha)",
    lambda a, mat, vec, beta, alpha: added_to(a, dotted(mat, vec), beta, alpha),
    self="times(sum_to(grad, self.shape), beta)",
    mat="times(unsqueeze(grad, 1) * vec, alpha)",
    vec="times(mv(t(mat), grad), alpha)",
    tangent="times(mv(mat_t, vec), alpha) + times(mv(mat, vec_t), alpha) + times(self_t, beta)",
)
_addr = define(
    "addr(Tensor self, Tensor vec1, Tensor vec2, beta, alpha)",
    lambda a, vec1, vec2, beta, alpha: added_to(a, np.multiply.outer(vec1, vec2), beta, alpha, reads=True),
    self="times(sum_to(grad, self.shape), beta)",
    vec1="times(mv(grad, vec2), alpha)",
    vec2="times(mv(t(grad), vec1), alpha)",
    tangent="times(unsqueeze(vec1_t, 1) * vec2, alpha) + times(unsqueeze(vec1, 1) * vec2_t, alpha) "
    "+ times(self_t, beta)",
)
in_formulas(
    "over_batch",
    lambda grad, shape: np.broadcast_to(grad, (shape[0], *grad.shape)),
    lambda grad, shape: grad.unsqueeze(0).expand(shape[0], *grad.shape),
)
_baddbmm = define(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, beta, alpha)",
    lambda a, batch1, batch2, beta, alpha: added_to(a, np.matmul(batch1, batch2), beta, alpha, reads=True),
    self="times(sum_to(grad, self.shape), beta)",
    batch1="times(bmm(grad, transpose(batch2, 1, 2)), alpha)",
    batch2="times(bmm(transpose(batch1, 1, 2), grad), alpha)",
    tangent="times(bmm(batch1_t, batch2), alpha) + times(bmm(batch1, batch2_t), alpha) + times(self_t, beta)",
)
_addbmm = define(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, beta, alpha)",
    lambda a, batch1, batch2, beta, alpha: added_to(
        a, np.add.reduce(np.matmul(batch1, batch2), 0, a.dtype), beta, alpha
    ),
    self="times(sum_to(grad, self.shape), beta)",
    batch1="times(bmm(over_batch(grad, batch1.shape), transpose(batch2, 1, 2)), alpha)",
    batch2="times(bmm(transpose(batch1, 1, 2), over_batch(grad, batch1.shape)), alpha)",
    tangent="times(sum_dim(bmm(batch1_t, batch2), (0,), False), alpha) "
    "+ times(sum_dim(bmm(batch1, batch2_t), (0,), False), alpha) + times(self_t, beta)",
)


def _factors(name: str, dtype: dtypes.dtype, beta: Any, alpha: Any) -> tuple[Any, Any]:
    """beta and alpha as numbers; among integers they lose their fraction."""
    both = [checks.number_of(name, argument, None, n) for argument, n in (("beta", beta), ("alpha", alpha))]
    return tuple(both if dtype.rank > 1 else map(int, both))  # type: ignore[return-value]


@operation(in_place=True)
def addmv(self: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return `beta * input + alpha * (mat @ vec)` for a matrix (n, m) and a vector (m,).

    The input broadcasts to (n,). If `beta` is 0, nan and inf in the input have no effect. All
    tensors have the same dtype.
    """
    _three("addmv", ("mat", mat), ("vec", vec))
    checks.check_mv(mat._array, vec._array, self._array)
    return _addmv(self, mat, vec, *_factors("addmv", self.dtype, beta, alpha))


@operation(in_place=True)
def addr(self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return `beta * input + alpha * outer(vec1, vec2)` for vectors (n,) and (m,).

    The input broadcasts to (n, m). If `beta` is 0, nan and inf in the input have no effect.
    """
    _three("addr", ("vec1", vec1), ("vec2", vec2))
    for name, t in (("vec1", vec1), ("vec2", vec2)):
        if t._array.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {t._array.ndim}-D")
    beta, alpha = (checks.number_of("addr", name, None, n) for name, n in (("beta", beta), ("alpha", alpha)))
    for name, n in (("beta", beta), ("alpha", alpha)):
        if isinstance(n, float) and not any(t.dtype.rank > 1 for t in (self, vec1, vec2)):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    checks.expanded(self, (vec1._array.size, vec2._array.size))
    wanted = dtypes.result_type([(t.dtype, 2 if t._array.ndim else 1) for t in (self, vec1, vec2)])
    if wanted is dtypes.bool_:
        beta, alpha = bool(beta), bool(alpha)
    return _addr(*[t.to(wanted) for t in (self, vec1, vec2)], beta, alpha)


@operation(in_place=True)
def baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return `beta * input + alpha * (batch1 @ batch2)` for batches (b, n, m) and (b, m, p).

    The input broadcasts to (b, n, p). If `beta` is 0, nan and inf in the input have no effect. All
    tensors have the same dtype.
    """
    _three("baddbmm", ("batch1", batch1), ("batch2", batch2))
    b, c = batch1._array, batch2._array
    checks.check_batches(b, c)
    checks.check_inner(b, c)
    checks.expanded(self, (*b.shape[:2], c.shape[2]))
    if not self.dtype is batch1.dtype is batch2.dtype:
        words = [checks.word(t.dtype) for t in (self, batch1, batch2)]
        raise RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*words))
    checks.no_kernel("baddbmm", self._array)
    return _baddbmm(self, batch1, batch2, *_factors("baddbmm", self.dtype, beta, alpha))


@operation(in_place=True)
def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return `beta * input + alpha * (batch1 @ batch2).sum(0)` for (b, n, m) and (b, m, p).

    The input broadcasts to (n, p). If `beta` is 0, nan and inf in the input have no effect. All
    tensors have the same dtype.
    """
    _three("addbmm", ("batch1", batch1), ("batch2", batch2))
    b, c = batch1._array, batch2._array
    checks.check_batches(b, c)
    if len(b) != len(c):
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {len(b)} and {len(c)}")
    if b.shape[2] != c.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({b.shape[1]}x{b.shape[2]} and {c.shape[1]}x{c.shape[2]})"
        )
    checks.expanded(self, (b.shape[1], c.shape[2]))
    checks.check_dtypes(self, batch1, batch2)
    checks.no_kernel("addmm_impl_cpu_", self._array)
    return _addbmm(self, batch1, batch2, *_factors("addbmm", self.dtype, beta, alpha))
