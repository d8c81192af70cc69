"""Tensors print letter by letter as PyTorch prints them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from functions import function
from oracle import compare

import workbench

SHAPES = [(), (1,), (3,), (0,), (2, 3), (2, 0), (2, 2, 2), (20,), (11, 11), (3, 50), (1001,), (33, 33), (2, 3, 4, 5)]
SHAPES += [(10, 10, 11), (1, 1001), (1001, 1)]

POWERS = np.array([float(f"1e{n}") for n in range(-6, 6)])  # what `10.0**n` gives depends on the processor


def floats(shape: tuple[int, ...]) -> list[np.ndarray]:
    """Floating-point arrays that call for each notation and width."""
    random = np.random.default_rng(0)
    drawn = random.standard_normal(shape)
    out = [drawn * scale for scale in (1, 1e-5, 1e5, 1e9, 1e20)]
    out += [np.round(drawn * scale) for scale in (3, 1e6, 1e10)]
    out += [np.zeros(shape), np.round(drawn, 1), drawn * POWERS[random.integers(-6, 6, shape) + 6]]
    out += [np.full(shape, fill) for fill in (0.1, 12345.6789, 9.99995, np.nan, -np.inf, -0.0)]
    if drawn.size:
        odd, whole = drawn.copy(), np.round(drawn)
        odd.flat[0], whole.flat[-1] = np.nan, -np.inf
        out += [odd, whole]
    return out


def printed(torch: Any, arrays: list[np.ndarray], dtypes: list[str]) -> list[str]:
    """The text of each array in each dtype, as a leaf, one that requires grad, and a result."""
    out = []
    for array in arrays:
        for dtype in dtypes:
            with np.errstate(all="ignore"):
                t = torch.tensor(array).to(getattr(torch, dtype))
            out.append(repr(t))
            if "float" in dtype:
                out += [repr(t.requires_grad_()), repr(t * 1)]
    return out


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floats(shape: tuple[int, ...]) -> None:
    compare(printed, floats(shape), ["float64", "float32", "float16"])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integers_and_masks(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    arrays = [random.integers(-bound, bound, shape) for bound in (2, 1000, 10**9)]
    compare(printed, arrays, ["int64", "int32", "uint8", "bool"])


def test_the_default_dtype_is_not_mentioned(torch: Any) -> None:
    texts = []
    for default in (torch.float64, torch.float16, torch.float32):
        torch.set_default_dtype(default)
        for dtype in (torch.float64, torch.float32, torch.float16, torch.int64, torch.bool):
            texts += [repr(torch.tensor([1.5, 0.0]).to(dtype)), repr(torch.tensor([], dtype=dtype))]
        texts += [repr(torch.tensor([1.5])), repr(torch.ones(2) / 3), repr(torch.tensor(2) / 3)]
    return texts


def test_a_view_whose_history_was_spoilt_prints_all_the_same(torch: Any) -> None:
    Rest = function(torch, lambda ctx, x: x[1:], lambda ctx, g: torch.cat([g[:1] * 0, g]), name="Rest")
    x = torch.ones(3, requires_grad=True) * 1
    part = Rest.apply(x)
    x.mul_(2)
    return repr(part)


def test_a_node_is_printed_with_its_address() -> None:
    x = workbench.ones(1, requires_grad=True)
    for node in ((x * x).grad_fn, (x + 1).grad_fn):
        assert repr(node) == str(node) == f"<{node.name()} object at 0x{id(node):x}>"
