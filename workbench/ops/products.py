"""Products with something around them: addmm, linear, outer."""

from __future__ import annotations

import numpy as np

from ..autograd.tensor import Tensor
from . import refusals
from .declare import define, method
from .linear import matmul
from .pointwise import mul


def _addmm_of(a: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: float, alpha: float) -> np.ndarray:
    product = np.matmul(mat1, mat2)
    return (product if alpha == 1 else alpha * product) + (a if beta == 1 else beta * a)


_addmm = define(
    "AddmmBackward0",
    "addmm(Tensor self, Tensor mat1, Tensor mat2, beta, alpha)",
    _addmm_of,
    self="times(sum_to(grad, self.shape), beta)",
    mat1="times(mm(grad, t(mat2)), alpha)",
    mat2="times(mm(t(mat1), grad), alpha)",
    tangent="times(mm(mat1_t, mat2), alpha) + times(mm(mat1, mat2_t), alpha) + times(self_t, beta)",
    samples="r(4), r(2, 3), r(3, 4), 1, 1; r(2, 1), r(2, 3), r(3, 4), 0.5, 2",
)


@method()
@refusals.tensors_only()
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), in one operation."""
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t._array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t._array.ndim}-D tensor")
    for name, t in (("self", input), ("mat1", mat1)):
        if t.dtype is not mat2.dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {t.dtype.word} and {mat2.dtype.word}"
            )
    refusals.check_mm(mat1._array, mat2._array)
    refusals.check_expand(input, (mat1._array.shape[0], mat2._array.shape[1]))
    return _addmm(input, mat1, mat2, beta, alpha)


@method()
@refusals.tensors_only()
def outer(self: Tensor, vec2: Tensor) -> Tensor:
    """Each element of one vector times each of another."""
    for name, t in (("self", self), ("vec2", vec2)):
        if t._array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t._array.ndim}-D")
    return mul(self.reshape(-1, 1), vec2)


@refusals.tensors_only()
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    try:
        a, w = input._array, weight._array
    except AttributeError:
        name, position, t = ("weight", 1, weight) if isinstance(input, Tensor) else ("input", 0, input)
        raise TypeError(refusals.not_a_tensor("linear", name, position, t)) from None
    if not a.ndim or not w.ndim:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {a.ndim}D and {w.ndim}D")
    if bias is None:
        return matmul(input, weight.t())
    b = bias._array
    if a.ndim == 2:
        return addmm(bias, input, weight.t())
    is_row = b.ndim == 1 or sum([n != 1 for n in b.shape]) == 1
    if is_row and (a.ndim == 1 or a.flags.c_contiguous):
        rows = input.view(-1, a.shape[-1])
        return addmm(bias, rows, weight.t()).view(*a.shape[:-1], w.shape[0])
    return matmul(input, weight.t()).add_(bias)
