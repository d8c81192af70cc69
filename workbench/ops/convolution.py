"""Convolution: kernels moved over images.

Windows are laid out as columns by strides; then it is one matrix product. The convolution and the gradients of its two
factors are three faces of one trilinear form, so each one's derivative is told by the other two.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor
from ..errors import warn
from .core.checks import tensors_only
from .core.op import define
from .core.registry import in_formulas

Ints = tuple[int, ...]


@lru_cache(1000)
def _extents(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many places the kernel has along each dimension."""
    facts = zip(size, kernel, stride, padding, dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in facts)


def _padded(a: np.ndarray, padding: Ints) -> np.ndarray:
    return np.pad(a, ((0, 0), (0, 0), *((p, p) for p in padding))) if any(padding) else a


def _columns(a: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    """What the kernel sees at each of its places: (images, groups, channels * kernel, places)."""
    a = np.ascontiguousarray(_padded(a, padding))
    windows, strides, columns = _windows_of(a.shape, a.strides, kernel, stride, dilation, groups)
    if 0 in windows:
        return np.empty(columns, a.dtype)
    if math.prod(columns) <= FEW_SEEN:
        return a.take(_places_seen(a.shape, kernel, windows[3 + len(kernel) :], stride, dilation)).reshape(columns)
    return np.ndarray(windows, a.dtype, a, 0, strides).reshape(columns)


@lru_cache(1000)
def _windows_of(
    shape: Ints, strides: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> tuple[Ints, Ints, Ints]:
    """How the windows lie in a padded image: their shape and strides, and their shape as columns."""
    (count, channels, *size), (image, channel, *steps) = shape, strides
    out, each = _extents(tuple(size), kernel, stride, (0,) * len(size), dilation), channels // groups
    along = [n * d for n, d in zip(steps, dilation, strict=True)] + [n * s for n, s in zip(steps, stride, strict=True)]
    windows = (count, groups, each, *kernel, *out)
    columns = (count, groups, each * math.prod(kernel), math.prod(out))
    return windows, (image, channel * each, channel, *along), columns


def _in_groups(grad: np.ndarray, groups: int) -> np.ndarray:
    count, channels, *size = grad.shape
    return grad.reshape(count, groups, channels // groups, math.prod(size))


def _convolved(
    a: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> np.ndarray:
    kernel = weight.shape[2:]
    columns = _columns(a, kernel, stride, padding, dilation, groups)
    out = np.matmul(weight.reshape(groups, len(weight) // groups, -1), columns)
    out = out.reshape(len(a), len(weight), *_extents(a.shape[2:], kernel, stride, padding, dilation))
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(kernel))


def _to_input(
    grad: np.ndarray, weight: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """Each place's column put back where it was seen; where windows overlap they add up."""
    kernel, places = weight.shape[2:], grad.shape[2:]
    matrices = weight.reshape(groups, len(weight) // groups, -1).swapaxes(1, 2)
    columns = np.matmul(matrices, _in_groups(grad, groups)).reshape(*shape[:2], *kernel, *places)
    padded = np.zeros(shape[:2] + tuple([n + 2 * p for n, p in zip(shape[2:], padding, strict=True)]), grad.dtype)
    if columns.size <= FEW_SEEN:  # the sums are the same, to the last bit
        np.add.at(padded.reshape(-1), _places_seen(padded.shape, kernel, places, stride, dilation), columns.reshape(-1))
    else:
        for at, seen in _seen(kernel, places, stride, dilation):
            part = padded[seen]
            part += columns[at]
    if not any(padding):
        return padded
    return padded[(..., *(slice(p, p + n) for p, n in zip(padding, shape[2:], strict=True)))]


@lru_cache(100)
def _seen(kernel: Ints, places: Ints, stride: Ints, dilation: Ints) -> list[tuple[Any, Any]]:
    """For each element of the kernel where it is in columns, and what it sees of the padded image."""
    return [
        (
            (slice(None), slice(None), *at),
            (..., *[slice(i * d, i * d + s * n, s) for i, d, s, n in zip(at, dilation, stride, places, strict=True)]),
        )
        for at in np.ndindex(*kernel)
    ]


FEW_SEEN = 5_000  # elements of columns: so many are put back one by one sooner than by slices


@lru_cache(100)
def _places_seen(shape: Ints, kernel: Ints, places: Ints, stride: Ints, dilation: Ints) -> np.ndarray:
    """Where a padded image, read row by row, has what each element of its columns sees."""
    every = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    found = np.empty((*shape[:2], *kernel, *places), np.int64)
    for at, seen in _seen(kernel, places, stride, dilation):
        found[at] = every[seen]
    return found.reshape(-1)


def _to_weight(
    grad: np.ndarray, a: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    columns = _columns(a, shape[2:], stride, padding, dilation, groups)
    return np.matmul(_in_groups(grad, groups), columns.swapaxes(2, 3)).sum(0).reshape(shape)


_SAMPLES = (
    ("r(2, 2, 4, 3)", "r(2, 2, 3, 2)", "(1, 1), (0, 0), (1, 1)", 1, "(2, 2, 2, 2)"),
    ("r(1, 4, 5, 5)", "r(2, 2, 2, 2)", "(2, 1), (1, 0), (1, 2)", 2, "(1, 2, 3, 3)"),
)
_HOW = "stride, padding, dilation, transposed, output_padding, groups"
_convolution = define(
    "ConvolutionBackward0",
    "convolution(Tensor input, Tensor weight, Tensor? bias, stride, padding, dilation, transposed, output_padding, "
    "groups)",
    _convolved,
    input="conv_input(grad, weight, input.shape, stride, padding, dilation, groups)",
    weight="conv_weight(grad, input, weight.shape, stride, padding, dilation, groups)",
    bias="sum_dim(grad, all_but_channels(grad), False)",
    tangent=f"convolution(input_t, weight, None, {_HOW}) + convolution(input, weight_t, None, {_HOW}) "
    "+ channels(bias_t, input)",
    samples="; ".join(
        f"{a}, {w}, {b}, {how}, False, (0, 0), {g}" for b in ("None", "r(2)") for a, w, how, g, _ in _SAMPLES
    ),
)
in_formulas("all_but_channels", *[lambda g: (0, *range(2, g.ndim))] * 2)
define(
    "ConvolutionBackwardBackward0",
    "conv_input(Tensor grad_output, Tensor weight, shape, stride, padding, dilation, groups)",
    _to_input,
    grad_output="convolution(grad, weight, None, stride, padding, dilation, False, (0, 0), groups)",
    weight="conv_weight(grad_output, grad, weight.shape, stride, padding, dilation, groups)",
    samples="; ".join(f"r{out}, {w}, {a[1:]}, {how}, {g}" for a, w, how, g, out in _SAMPLES),
)
define(
    "ConvolutionBackwardBackward0",
    "conv_weight(Tensor grad_output, Tensor input, shape, stride, padding, dilation, groups)",
    _to_weight,
    grad_output="convolution(input, grad, None, stride, padding, dilation, False, (0, 0), groups)",
    input="conv_input(grad_output, grad, input.shape, stride, padding, dilation, groups)",
    samples="; ".join(f"r{out}, {a}, {w[1:]}, {how}, {g}" for a, w, how, g, out in _SAMPLES),
)


def _with_borders(a: np.ndarray, pad: Ints, value: float) -> np.ndarray:
    """Borders of one value; `pad` has two numbers a dimension, the last dimension first, and negative ones cut off."""
    sides = [(0, 0)] * (a.ndim - len(pad) // 2) + [pad[i : i + 2] for i in range(0, len(pad), 2)][::-1]
    cut = tuple(slice(max(-left, 0), n - max(-right, 0)) for (left, right), n in zip(sides, a.shape, strict=True))
    return np.pad(a[cut], [(max(left, 0), max(right, 0)) for left, right in sides], constant_values=value)


_pad = define(
    "ConstantPadNdBackward0",
    "constant_pad(Tensor self, pad, value)",
    _with_borders,
    batch="in front",
    self="constant_pad(grad, backwards(pad), 0)",
    tangent="constant_pad(self_t, pad, 0)",
    samples="r(2, 3), (1, 2), 0; r(2, 3), (0, 1, -1, 0), 1.5",
)


def _pair(name: str, value: Any) -> Ints:
    """One number for both dimensions, or one for each."""
    if type(value) is int:
        return value, value
    pair = (value,) * 2 if isinstance(value, int) else tuple(value)
    pair = pair * 2 if len(pair) == 1 else pair
    if len(pair) != 2:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of 2 values to match the "
            f"convolution dimensions, but got {name}={list(pair)}"
        )
    return pair


@tensors_only()
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Kernels moved over images (images, channels, height, width), one output channel each (cross-correlation)."""
    if input._array.ndim not in (3, 4):
        raise RuntimeError(
            f"Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: {list(input.shape)}"
        )
    if input._array.ndim == 3:
        return conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    stride, dilation = _pair("stride", stride), _pair("dilation", dilation)
    if isinstance(padding, str):
        input, padding = _named_padding(input, padding, weight._array.shape[2:], stride, dilation)
    padding = _pair("padding", padding)
    size = None if bias is None else bias._array.shape
    _check_sizes(input._array.shape, weight._array.shape, size, stride, padding, dilation, groups)
    _check_dtypes(input, weight, bias)
    return _convolution(input, weight, bias, stride, padding, dilation, False, (0, 0), groups)


def _named_padding(input: Tensor, name: str, kernel: Ints, stride: Ints, dilation: Ints) -> tuple[Tensor, Ints]:
    """What "same" and "valid" mean; the input gets a zero more on its far sides where two sides cannot be alike."""
    if name == "valid":
        return input, (0, 0)
    if name != "same":
        raise RuntimeError(f"Invalid padding string: '{name}'")
    if any(s != 1 for s in stride):
        raise RuntimeError(errors.PADDING_SAME_STRIDE)
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(r % 2 for r in reach):
        warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created"
        )
        input = _pad(input, tuple(n for r in reach[::-1] for n in (0, r % 2)), 0)
    return input, tuple(r // 2 for r in reach)


@lru_cache(1000)
def _check_sizes(a: Ints, w: Ints, bias: Ints | None, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> None:
    """RuntimeError where sizes or numbers do not fit: the shapes of image, weight and bias, and how it moves."""
    for name, wrong in (
        ("non-positive stride", min(stride) <= 0),
        ("negative padding", min(padding) < 0),
        ("non-positive dilation", min(dilation) <= 0),
        ("non-positive groups", groups <= 0),
    ):
        if wrong:
            raise RuntimeError(f"{name} is not supported")
    size, shape = list(w), list(a)
    if len(w) != 4:
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {len(w) - 2} values to match the "
            f"convolution dimensions, but got stride={list(stride)}"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
            f"weight of size [{size}] instead"
        )
    if a[1] != w[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {size}, expected input{shape} to have "
            f"{w[1] * groups} channels, but got "
            f"{a[1]} channels instead"
        )
    if bias is not None and bias != w[:1]:
        raise RuntimeError(
            f"Given weight of size {size}, expected bias to be 1-dimensional with {w[0]} elements, but "
            f"got bias of size {list(bias)} instead"
        )
    inside = [n + 2 * p for n, p in zip(a[2:], padding, strict=True)]
    kernel = [d * (k - 1) + 1 for d, k in zip(dilation, w[2:], strict=True)]
    if any(k > n for k, n in zip(kernel, inside, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({inside[0]} x {inside[1]}). Kernel size: "
            f"({kernel[0]} x {kernel[1]}). "
            "Kernel size can't be greater than actual input size"
        )


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """RuntimeError where the dtypes are not one."""
    a, w = input._array, weight._array
    if a.dtype is not w.dtype and input.dtype.name == "float64":
        raise RuntimeError(errors.SCALAR_TYPE.format("Double", weight.dtype.word))
    if a.dtype is not w.dtype:
        raise RuntimeError(
            f"Input type ({input.dtype.type_name}) and weight type ({weight.dtype.type_name}) should "
            "be the same or input should be a "
            "MKLDNN tensor and weight is a dense tensor"
        )
    if bias is not None and bias._array.dtype is not a.dtype:
        words = {"float32": "float", "float64": "double", "float16": "c10::Half"}
        got, other = (words.get(t.dtype.name, t.dtype.name) for t in (input, bias))
        raise RuntimeError(f"Input type ({got}) and bias type ({other}) should be the same")
