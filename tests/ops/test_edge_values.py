"""Pointwise operations at infinities, nan, zeros and numbers too large to exponentiate: values and two derivatives."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from oracle import compare, entries

import workbench
from workbench.ops.shape import summed, sums

CALLS = """
    x.relu() | x.sigmoid() | x.tanh() | x.exp() | x.log() | x.sqrt() | x.rsqrt() | x.reciprocal()
    x.square() | x.sin() | x.cos() | x.tan() | x.asin() | x.acos() | x.atan() | x.sinh() | x.cosh() | x.erf()
    x.log1p() | x.expm1() | x.floor() | x.round() | x.trunc() | x ** 2 | (x * x) ** 0.5 | x ** -1 | x ** 0 | 2.0 ** x
    x.clamp(-1, 1) | x.clamp(min=0) | x.clamp(max=0) | F.leaky_relu(x) | F.silu(x)
    F.elu(x[:3]) | F.elu(x[3:6]) | F.elu(x[6:]) | F.elu(x[:3], 1.5) | F.elu(x[3:6], 1.5) | F.elu(x[6:], 1.5)
    F.softplus(x) | F.softplus(x, 2.0, 3.0) | F.logsigmoid(x) | F.gelu(x) | F.gelu(x, approximate='tanh')
    F.softmax(x, 0) | F.log_softmax(x, 0) | x.logsumexp(0) | torch.maximum(x, x.flip(0)) | torch.minimum(x, x * 2)
    torch.maximum(x, torch.zeros_like(x)) | torch.where(x > 0, x, x * 2) | x / x | x / 0.0 | 1.0 / x | x * x | x ** x
    F.softmax(x.reshape(3, 3), 1) | F.log_softmax(x.reshape(3, 3), 1) | x.reshape(3, 3).logsumexp(1)
    x.clamp(torch.ones_like(x), torch.zeros_like(x)) | x.clamp(1.0, 0.0) | F.softmax(x[1:3], 0)
    F.log_softmax(x[2:5], 0)
    x[1:3].log_softmax(0) | x[2:3].softmax(0) | x[2:3].log_softmax(0) | x[2:3].logsumexp(0) | x[1:3].logsumexp(0)
"""
# PyTorch's elu has another gradient at nan where a processor's vectors are filled: three elements fill none.
VALUES = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1000.0, -1000.0, 1.0, -0.5]


@pytest.mark.parametrize("call", entries(CALLS))
def test_values_and_derivatives_at_the_edges(call: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor(VALUES, dtype=torch.float64, requires_grad=True)
        y = eval(call, {"x": x, "F": torch.nn.functional, "torch": torch})
        told = [y.detach()]
        if y.requires_grad:
            (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            told.append(slope.detach())
            if slope.requires_grad:
                told += torch.autograd.grad(slope.sum(), x, allow_unused=True)
        return [t if t is None else t.tolist() for t in told]

    compare(program)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [0.1, 1.9, 2.1, 10.0, 29.9, 30.1, 40.0])
def test_softmax_loses_no_digits(size: float, dtype: str) -> None:
    """Of small numbers the exponentials are taken as they are, of others after the largest was subtracted."""
    rows = np.array([[size, -size, -size], [size, size * 0.9, 0.0], [-size, -size, -size * 0.5]], dtype)
    exact = rows.astype(np.longdouble)
    logs = exact - exact.max(1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(1, keepdims=True))
    eps = np.finfo(dtype).eps
    found = workbench.log_softmax(workbench.tensor(rows), 1).numpy()
    assert (np.abs(found - logs) <= 2 * eps * (1 + np.abs(logs))).all()
    found = workbench.softmax(workbench.tensor(rows), 1).numpy()
    assert (np.abs(found - np.exp(logs)) <= 8 * eps * (1 + np.abs(logs)) * np.exp(logs)).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (0, 3), (2, 3, 4), (20, 4)])
def test_sums_of_few_and_many_elements(shape, dtype):
    a = (np.arange(math.prod(shape)).reshape(shape) % 7).astype(dtype)
    for array in (a, a.T, a[..., ::-1] if shape else a):
        dims = [None, *[d for n in range(1, a.ndim + 1) for d in itertools.combinations(range(a.ndim), n)]]
        for dim, keepdim in itertools.product(dims, (False, True)):
            expected = np.sum(array, axis=dim, keepdims=keepdim, dtype=np.int64 if a.dtype.kind in "ib" else None)
            found = summed(array, dim, keepdim)
            assert (found.shape, found.dtype, found.tolist()) == (expected.shape, expected.dtype, expected.tolist())
            assert found.flags.c_contiguous
            if a.dtype.kind == "f" and dim is not None and keepdim:
                assert (np.zeros(array.shape) + sums(array, dim) == expected).all()


@pytest.mark.parametrize("x", [-1.0, -40.0, -700.0, 40.0])
def test_a_sigmoid_is_as_exact_where_it_is_very_small(x: float) -> None:
    y = workbench.tensor(x, dtype=workbench.float64).sigmoid().item()
    assert y == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-14, abs=0)
