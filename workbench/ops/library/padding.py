"""Borders around tensors (torch.nn.functional.pad): of one value, or made of what is inside.

A border made of what is inside is a table of which elements each new element is, as in interpolation (resampling.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from ... import errors
from ...autograd.tensor import Tensor
from ..core.checks import tensors_only
from ..core.op import define
from .resampling import Row, _family, _pair_of

Ints = tuple[int, ...]
SUPPORTED = (
    "Padding size {} is not supported for {}D input tensor.\nSupported combinations for non-constant padding:\n"
    "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
    "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
    "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
)


def _with_borders(a: np.ndarray, pad: Ints, value: float) -> np.ndarray:
    """Borders of one value; `pad` has two numbers a dimension, the last dimension first, and negative ones cut off."""
    if not pad:
        return a.copy()
    sides = [(0, 0)] * (a.ndim - len(pad) // 2) + _sides(pad)
    cut = tuple(slice(max(-left, 0), n - max(-right, 0)) for (left, right), n in zip(sides, a.shape, strict=True))
    inside = np.ascontiguousarray(a[cut])  # so that the result is contiguous too
    return np.pad(inside, [(max(left, 0), max(right, 0)) for left, right in sides], constant_values=value)


def _sides(pad: Ints) -> list[Any]:
    """Return what is added before and after each dimension, the first dimension first."""
    return [pad[i : i + 2] for i in range(0, len(pad), 2)][::-1]


constant_pad = define(
    "constant_pad(Tensor self, pad, value)",
    _with_borders,
    node="ConstantPadNdBackward0",
    batch="in front",
    self="constant_pad(grad, backwards(pad), 0)",
    tangent="constant_pad(self_t, pad, 0)",
)


@lru_cache(1000)
def _mirrored(size: int, left: int, right: int, dtype: np.dtype) -> Any:
    return _pair(size, left, right, dtype, lambda i: abs(i) if i < size else 2 * (size - 1) - i)


@lru_cache(1000)
def _repeated(size: int, left: int, right: int, dtype: np.dtype) -> Any:
    return _pair(size, left, right, dtype, lambda i: min(max(i, 0), size - 1))


def _pair(size: int, left: int, right: int, dtype: np.dtype, at: Callable[[int], int]) -> Any:
    rows: list[Row] = [[(at(i), 1.0)] for i in range(-left, size + right)]
    return _pair_of(rows, size, dtype)


def _tables(one: Callable[..., Any]) -> Callable[..., Any]:
    def tables(shape: Ints, dtype: np.dtype, padding: Ints) -> list[Any]:
        sides = _sides(padding)
        return [one(n, left, right, dtype) for n, (left, right) in zip(shape[-len(sides) :], sides, strict=True)]

    return tables


PADDED = {  # by the mode, and the number of dimensions
    (mode, d): _family(f"{word}_pad{d}d", "padding", _tables(one))
    for mode, word, one in (("reflect", "reflection", _mirrored), ("replicate", "replication", _repeated))
    for d in (1, 2, 3)
}


@tensors_only()
def pad(input: Tensor, pad: Iterable[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Return the tensor with a border around it.

    Args:
        pad: The widths of the border: two numbers for each dimension, starting with the last one.
            `(left, right)` pads the last dimension, `(left, right, top, bottom)` the last two. A
            negative width cuts elements off.
        mode: "constant" fills the border with `value`. "reflect" mirrors the tensor, "replicate"
            repeats its outermost elements, "circular" continues at the opposite side.
        value: The number for "constant"; 0 by default.

    Example:
        >>> F.pad(torch.tensor([[1, 2], [3, 4]]), (1, 0))
        tensor([[0, 1, 2],
                [0, 3, 4]])
        >>> F.pad(torch.ones(2, 3), (1, 1, 2, 0)).shape
        torch.Size([4, 5])
    """
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    for i, n in enumerate(pad):
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool):
            raise TypeError(
                "pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type "
                f"{type(n).__name__} at pos {i}"
            )
    if value is not None and not isinstance(value, (int, float, complex)):
        raise TypeError(f"pad(): argument 'value' (position 4) must be float, not {type(value).__name__}")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    sizes = tuple([int(n) for n in pad])
    if len(sizes) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(sizes) > 2 * input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(sizes)} and input of dimension {input.dim()}"
        )
    if mode == "constant":
        return _of_one_value(input, sizes, 0.0 if value is None else value)
    return _of_itself(input, sizes, mode, value)


def _of_one_value(input: Tensor, sizes: Ints, value: float) -> Tensor:
    shape = input.shape[input.dim() - len(sizes) // 2 :]
    if any(n + min(left, 0) + min(right, 0) < 0 for n, (left, right) in zip(shape, _sides(sizes), strict=True)):
        raise RuntimeError(errors.NEGATIVE_LENGTH)
    return constant_pad(input, sizes, value)


def _of_itself(input: Tensor, sizes: Ints, mode: str, value: float | None) -> Tensor:
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(sizes) // 2
    if dims not in (1, 2, 3) or input.dim() - dims not in (1, 2):
        raise NotImplementedError(SUPPORTED.format(len(sizes), input.dim()))
    if mode == "circular":
        return _around(input, sizes)
    _check_shape(input, sizes, dims, mode == "reflect")
    name = PADDED[mode, dims].op.name
    if input.dtype.name == "bool":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    return PADDED[mode, dims](input, sizes)


def _check_shape(input: Tensor, sizes: Ints, dims: int, reflect: bool) -> None:
    """Raise RuntimeError if there are too few elements to make a border of."""
    shape, ndim = list(input.shape), input.dim()
    if 0 in shape[ndim - dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {shape}"
        )
    for i in range(dims):
        left, right = sizes[2 * i : 2 * i + 2]
        size = shape[ndim - 1 - i]
        if reflect and max(left, right) >= size:
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({left}, {right}) at dimension {ndim - 1 - i} of input {shape}"
            )
    new = [n + left + right for n, (left, right) in zip(shape[-dims:], _sides(sizes), strict=True)]
    if min(new) < 1:
        letters = "DHW"[-dims:]
        old = " ".join(f"{letter}: {n}" for letter, n in zip(letters, shape[-dims:], strict=True))
        made = " ".join(f"{letter}: {n}" for letter, n in zip(letters, new, strict=True))
        raise RuntimeError(f"input ({old}) is too small. Calculated output {made}")


def _around(input: Tensor, sizes: Ints) -> Tensor:
    """Borders of what is on the other side, written into a new tensor piece by piece, as PyTorch does."""
    shape, ndim = list(input.shape), input.dim()
    sides = [(ndim - 1 - i, *sizes[2 * i : 2 * i + 2]) for i in range(len(sizes) // 2)]
    for dim, left, right in sides[::-1]:
        if max(left, right) > shape[dim]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        shape[dim] += left + right
        if shape[dim] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    out = input.new_empty(shape)
    inside, old = out, input
    for dim, left, right in sides:
        inside = _part(inside, dim, max(left, 0), shape[dim] - max(right, 0))
        old = _part(old, dim, max(-left, 0), input.shape[dim] - max(-right, 0))
    inside.copy_(old)
    for dim, left, right in sides:
        before, end = max(left, 0), shape[dim] - max(right, 0)
        if left > 0:
            _part(out, dim, 0, left).copy_(_part(out, dim, end - left, end))
        if right > 0:
            _part(out, dim, end, shape[dim]).copy_(_part(out, dim, before, before + right))
    return out


def _part(tensor: Tensor, dim: int, start: int, end: int) -> Tensor:
    return tensor[(slice(None),) * dim + (slice(start, end),)]
