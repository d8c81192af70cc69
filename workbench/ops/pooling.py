"""Pooling: windows of images, of each of which one number is made, the largest element or the mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor
from .convolution import Ints, _each, _pad, conv2d
from .core.checks import tensors_only
from .core.op import define
from .creation import full, ones
from .math import div


def _outputs(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """How many windows there are along each dimension; with `ceil_mode` one more that reaches over the far side."""
    found = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        count = (room + (s - 1 if ceil_mode else 0)) // s + 1
        found.append(count - (ceil_mode and (count - 1) * s >= n + p))  # no window begins outside the image
    return tuple(found)


def _reach(size: Ints, outputs: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """By how much the last window reaches over the far side, along each dimension."""
    facts = zip(size, outputs, kernel, stride, padding, dilation, strict=True)
    return tuple(max((o - 1) * s + d * (k - 1) + 1 - n - p, 0) for n, o, k, s, p, d in facts)


def _largest_at(
    a: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> np.ndarray:
    """Where each window's largest element is, the first of equal ones, counted through the image row by row."""
    if a.dtype.kind == "b":
        raise NotImplementedError(errors.NO_KERNEL.format("max_pool2d", "Bool"))
    size = a.shape[-2:]
    outputs = _outputs(size, kernel, stride, padding, dilation, ceil_mode)
    far = _reach(size, outputs, kernel, stride, padding, dilation)
    sides = [(0, 0)] * (a.ndim - 2) + list(zip(padding, far, strict=True))
    padded = np.pad(a, sides, constant_values=-np.inf if a.dtype.kind == "f" else np.iinfo(a.dtype).min)
    *lead, row, column = padded.strides
    steps = (*lead, row * stride[0], column * stride[1], row * dilation[0], column * dilation[1])
    windows = np.ndarray((*a.shape[:-2], *outputs, *kernel), a.dtype, padded, 0, steps)
    first = windows.reshape(*windows.shape[:-2], kernel[0] * kernel[1]).argmax(-1)
    down, right = np.divmod(first, kernel[1])
    rows = np.arange(outputs[0], dtype=np.int64)[:, None] * stride[0] - padding[0] + down * dilation[0]
    columns = np.arange(outputs[1], dtype=np.int64) * stride[1] - padding[1] + right * dilation[1]
    return rows * size[1] + columns


def _at(a: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The elements of images at such places."""
    flat, images = (x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1]) for x in (indices, a))
    return np.take_along_axis(images, flat, -1).reshape(indices.shape)


def _put_back(grad: np.ndarray, indices: np.ndarray, size: Ints) -> np.ndarray:
    """Each gradient where its element came from; where windows overlap they add up."""
    images = grad.reshape(-1, grad.shape[-2] * grad.shape[-1])
    out = np.zeros((len(images), size[0] * size[1]), grad.dtype)
    np.add.at(out, (np.arange(len(images), dtype=np.int64)[:, None], indices.reshape(images.shape)), images)
    return out.reshape(*grad.shape[:-2], *size)


_indices = define(
    "max_pool2d_indices",
    "max_pool2d_indices(Tensor self, kernel_size, stride, padding, dilation, ceil_mode)",
    _largest_at,
    batch="in front",
)
_max_pool = define(
    "MaxPool2DWithIndicesBackward0",
    "max_pool2d(Tensor self, kernel_size, stride, padding, dilation, ceil_mode; Kept indices)",
    lambda a, kernel_size, stride, padding, dilation, ceil_mode, indices: _at(a, indices),
    batch="pointwise",
    self="max_pool2d_backward(grad, indices, self.shape[-2:])",
    tangent="linear",
    samples="r(2, 3, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False, w.tensor([[[[0, 2], [5, 15]]]]).expand(2, 3, 2, 2)",
)
define(
    "MaxPool2DWithIndicesBackwardBackward0",
    "max_pool2d_backward(Tensor grad_output, Kept indices, shape)",
    _put_back,
    batch="pointwise",
    grad_output="max_pool2d(grad, None, None, None, None, None, indices)",
    tangent="linear",
    samples="r(1, 2, 2), w.tensor([[[0, 2], [2, 15]]]), (4, 4)",
)


@tensors_only()
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of images (images, channels, height, width), or of one image.

    With `return_indices` also where these elements are.
    """
    how = _windows(input, kernel_size, stride, padding)
    how = *how, _each("dilation", dilation), ceil_mode
    _check_outputs(input, *how)
    indices = _indices(input.detach(), *how)
    out = _max_pool(input, *how, indices)
    return (out, indices) if return_indices else out


@tensors_only()
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of images (images, channels, height, width), or of one image.

    Zeros around the image count as elements unless `count_include_pad` is False.
    """
    kernel, stride, padding = _windows(input, kernel_size, stride, padding)
    size, channels = input.shape[-2:], input.shape[-3]
    outputs = _check_outputs(input, kernel, stride, padding, (1, 1), ceil_mode)
    far = _reach(size, outputs, kernel, stride, padding, (1, 1))
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    number = divisor_override or kernel[0] * kernel[1]
    whole = not input.dtype.is_floating_point
    if whole and input.dtype.name != "int64":
        raise NotImplementedError(errors.NO_KERNEL.format("avg_pool2d", input.dtype.word))
    weight = full((channels, 1, *kernel), 1 if whole else 1 / number, dtype=input.dtype)
    around = (padding[1], far[1], padding[0], far[0])
    means = conv2d(_pad(input, around, 0.0) if any(around) else input, weight, None, stride, groups=channels)
    if divisor_override or not (any(padding) and not count_include_pad or any(map(int.__gt__, far, padding))):
        return div(means, number, rounding_mode="trunc") if whole else means
    counted = ones((1, 1, *size), dtype=input.dtype)
    inside = (padding[1], min(far[1], padding[1]), padding[0], min(far[0], padding[0]))
    if count_include_pad:
        counted = _pad(counted, inside, 1.0)
        around = tuple(all_ - here for all_, here in zip(around, inside, strict=True))
    counts = conv2d(_pad(counted, around, 0.0), weight[:1], None, stride).view(outputs)
    return div(means, counts, rounding_mode="trunc" if whole else None)


def _windows(input: Tensor, kernel: Any, stride: Any, padding: Any) -> tuple[Ints, Ints, Ints]:
    """The windows' size, their distance and the padding, for both dimensions; RuntimeError where they do not fit."""
    kernel, padding = _each("kernel_size", kernel), _each("padding", padding)
    stride = kernel if stride is None or stride == () else _each("stride", stride)
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if input.dim() not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    return kernel, stride, padding


def _check_outputs(input: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """How many windows there are; RuntimeError if there is none, or if one could lie in the padding."""
    for p, k in zip(padding, kernel, strict=True):
        if p * 2 > k:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={dilation[0]}"
            )
    outputs = _outputs(input.shape[-2:], kernel, stride, padding, dilation, ceil_mode)
    if min(outputs) < 1:
        planes, *size = input.shape[-3:]
        raise RuntimeError(
            f"Given input size: ({planes}x{size[0]}x{size[1]}). Calculated output size: "
            f"({planes}x{outputs[0]}x{outputs[1]}). Output size is too small"
        )
    return outputs
