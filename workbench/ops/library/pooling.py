"""Pooling: windows of images, of each of which one number is made, the largest element or the mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import errors
from ...autograd.tensor import Tensor
from ..core.checks import ints_of, only_floats, tensors_only
from ..core.op import define
from .convolution import Ints, _each
from .resampling import INPUT_DIMENSION, ONE_SIZE, avg_pool2d_op, avg_pool3d_op, check_ndim, check_windows, outputs


def _outputs(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """Return the number of windows along each dimension; with `ceil_mode` one more may reach beyond the far side."""
    facts = zip(size, kernel, stride, padding, dilation, strict=True)
    return tuple([outputs(*each, ceil_mode) for each in facts])


def _reach(size: Ints, outputs: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """Return how far the last window reaches beyond the far side, along each dimension."""
    facts = zip(size, outputs, kernel, stride, padding, dilation, strict=True)
    return tuple(max((o - 1) * s + d * (k - 1) + 1 - n - p, 0) for n, o, k, s, p, d in facts)


def _largest_at(
    a: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> np.ndarray:
    """Return where each window's largest element is, the first of equal ones, counted through the image row by row."""
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
    """Return the elements of images at such places."""
    flat, images = (x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1]) for x in (indices, a))
    return np.take_along_axis(images, flat, -1).reshape(indices.shape)


def _put_back(grad: np.ndarray, indices: np.ndarray, size: Ints) -> np.ndarray:
    """Return each gradient where its element came from; overlapping windows add up."""
    images = grad.reshape(math.prod(grad.shape[:-2]), grad.shape[-2] * grad.shape[-1])
    out = np.zeros((len(images), size[0] * size[1]), grad.dtype)
    np.add.at(out, (np.arange(len(images), dtype=np.int64)[:, None], indices.reshape(images.shape)), images)
    return out.reshape(*grad.shape[:-2], *size)


_indices = define(
    "max_pool2d_indices(Tensor self, kernel_size, stride, padding, dilation, ceil_mode)", _largest_at, batch="in front"
)
_max_pool = define(
    "max_pool2d(Tensor self, kernel_size, stride, padding, dilation, ceil_mode; Kept indices)",
    lambda a, kernel_size, stride, padding, dilation, ceil_mode, indices: _at(a, indices),
    node="MaxPool2DWithIndicesBackward0",
    batch="pointwise",
    self="max_pool2d_backward(grad, indices, self.shape[-2:])",
)
define(
    "max_pool2d_backward(Tensor grad_output, Kept indices, shape)",
    _put_back,
    node="MaxPool2DWithIndicesBackwardBackward0",
    batch="pointwise",
    grad_output="max_pool2d(grad, None, None, None, None, None, indices)",
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
    """Return the maximum of each window of images (n, channels, height, width), or of one image.

    The gradient of a window goes only to its maximum. If several elements equal the maximum, the
    first one gets the gradient.

    Args:
        kernel_size: The size of a window: a number, or a pair (height, width).
        stride: The distance from one window to the next; by default `kernel_size`.
        padding: The width of a border whose elements are never the maximum, at most half the size
            of a window.
        dilation: The distance between the elements of a window; 1 means neighbors.
        ceil_mode: Also use windows that reach beyond the far side of the image.
        return_indices: Also return the index of each maximum in its flattened channel, as int64.

    Example:
        >>> F.max_pool2d(torch.ones(8, 3, 32, 32), 2).shape
        torch.Size([8, 3, 16, 16])
    """
    how = _windows(input, kernel_size, stride, padding)
    how = *how, _each("dilation", dilation), ceil_mode
    _check_outputs(input, *how)
    indices = _indices(input.detach(), *how)
    out = _max_pool(input, *how, indices)
    return (out, indices) if return_indices else out


@tensors_only()
def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the maximum of each window of sequences (n, channels, length), or of one sequence.

    The gradient of a window goes only to its maximum, the first one if several are equal.

    Args:
        kernel_size: The size of a window.
        stride: The distance from one window to the next; by default `kernel_size`.
        padding: The number of elements on each side that are never the maximum, at most half the
            size of a window.
        dilation: The distance between the elements of a window; 1 means neighbors.
        ceil_mode: Also use a window that reaches beyond the end of the sequence.
        return_indices: Also return the index of each maximum in its sequence, as int64.
    """
    if input.dim() not in (2, 3):
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(input.shape)}"
        )
    given = kernel_size, kernel_size if stride is None or stride == () else stride, padding, dilation
    each = [(n,) if isinstance(n, int) else tuple(n) for n in given]
    for name, sizes in zip(("kernel_size", "stride", "padding", "dilation"), each, strict=True):
        if len(sizes) != 1:
            raise RuntimeError(
                f"max_pool1d() {name} must be an int, list of ints or tuple of ints of size 1 but got size {len(sizes)}"
            )
    (kernel,), (step,), (border,), (apart,) = each
    if step <= 0:
        raise RuntimeError(f"max_pool1d() stride must be greater than zero, but got {step}")
    if border * 2 > kernel:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={border} and "
            f"kernel_size={kernel}"
        )
    if (count := outputs(input.shape[-1], kernel, step, border, apart, ceil_mode)) < 1:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")
    only_floats("max_pool1d_impl")((input,))
    how = (1, kernel), (1, step), (0, border), (1, apart), ceil_mode
    out, indices = max_pool2d(input.unsqueeze(-2), *how, return_indices=True)
    out = out.squeeze(-2)
    return (out, indices.squeeze(-2)) if return_indices else out


def _largest_of_each(a: np.ndarray, output_size: Ints) -> np.ndarray:
    """Return where the maximum of each of this many windows is, the first of equal ones, but the last nan."""
    (height, width), places = a.shape[-2:], np.arange(a.shape[-2] * a.shape[-1]).reshape(a.shape[-2:])
    out = np.empty((*a.shape[:-2], *output_size), np.int64)
    edges = [
        [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
        for n, m in zip((height, width), output_size, strict=True)
    ]
    for i, (top, bottom) in enumerate(edges[0]):
        for j, (left, right) in enumerate(edges[1]):
            window = a[..., top:bottom, left:right]
            window = window.reshape(*a.shape[:-2], window.shape[-2] * window.shape[-1])
            missing = np.isnan(window)
            last = missing.shape[-1] - 1 - missing[..., ::-1].argmax(-1)
            found = np.where(missing.any(-1), last, window.argmax(-1))
            out[..., i, j] = places[top:bottom, left:right].reshape(-1)[found]
    return out


_adaptive_indices = define("adaptive_max_pool2d_indices(Tensor self, output_size)", _largest_of_each, batch="in front")
_adaptive_max_pool = define(
    "adaptive_max_pool2d(Tensor self, output_size; Kept indices)",
    lambda a, output_size, indices: _at(a, indices),
    batch="pointwise",
    self="adaptive_max_pool2d_backward(grad, self, indices)",
    tangent="linear",
)
define(
    "adaptive_max_pool2d_backward(Tensor grad_output, Kept self, Kept indices)",
    lambda grad, a, indices: _put_back(grad, indices, a.shape[-2:]),
    batch="pointwise",
    grad_output="adaptive_max_pool2d(grad, None, indices)",
)


@tensors_only()
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Divide images into a grid of windows, and return the maximum of each window.

    The result has the shape (n, channels, *output_size). The rows and the columns are divided as in
    `adaptive_max_pool1d`, so windows overlap where a size isn't a multiple of the number of
    windows.

    Args:
        output_size: The number of windows: a pair (rows, columns), or one number for both.
        return_indices: Also return the index of each maximum in its flattened channel.
    """
    name, shape = "adaptive_max_pool2d", input.shape
    size = output_size
    if not isinstance(size, int):
        if len(shape) <= len(size):
            raise ValueError(INPUT_DIMENSION.format(len(size) + 1))
        size = [n if m is None else m for n, m in zip(shape[-len(size) :], size, strict=True)]
        if len(size) != 2:
            raise RuntimeError("adaptive_max_pool2d(): internal error: output_size.size() must be 2")
    sizes = ints_of(name, "output_size", (size if isinstance(size, list) else [size] * 2,))
    if len(shape) not in (3, 4):
        raise RuntimeError(f"adaptive_max_pool2d(): Expected 3D or 4D tensor, but got: {list(shape)}")
    check_windows(name, input, range(1, len(shape)))
    if min(sizes) < 0:
        raise RuntimeError(errors.NEGATIVE_SIZE.format(min(sizes), [*shape[:-2], *sizes]))
    only_floats(name)((input,))
    indices = _adaptive_indices(input.detach(), sizes)
    out = _adaptive_max_pool(input, sizes, indices)
    return (out, indices) if return_indices else out


@tensors_only()
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Divide sequences into `output_size` windows, and return the maximum of each window.

    The result has the shape (n, channels, output_size). Window i begins at
    `floor(i * length / output_size)` and ends before `ceil((i + 1) * length / output_size)`. The
    windows overlap where `output_size` doesn't divide the length. With `return_indices`, the index
    of each maximum is also returned.
    """
    name, ndim = "adaptive_max_pool1d", input.dim()
    sizes = ints_of(name, "output_size", (output_size,))
    if ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 'self' (while checking "
            "arguments for adaptive_max_pool1d)"
        )
    check_windows(name, input, range(1, ndim))
    if len(sizes) != 1:
        raise RuntimeError(ONE_SIZE.format(name, len(sizes)))
    out, indices = adaptive_max_pool2d(input.unsqueeze(-2), (1, *sizes), True)
    out = out.squeeze(-2)
    return (out, indices.squeeze(-2)) if return_indices else out


@tensors_only()
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window of sequences (n, channels, length), or of one sequence.

    Args:
        kernel_size: The size of a window.
        stride: The distance from one window to the next; by default `kernel_size`.
        padding: The number of zeros on each side of a sequence, at most half the size of a window.
        ceil_mode: Also use a window that reaches beyond the end of the sequence.
        count_include_pad: Count the zeros on the sides when a mean is computed.
    """
    check_ndim("avg_pool1d", input, 1)
    kernel, padding = _each("kernel_size", kernel_size, 1), _each("padding", padding, 1)
    stride = kernel if stride is None or stride == () else _each("stride", stride, 1)
    how = (1, *kernel), (1, *stride), (0, *padding), ceil_mode, count_include_pad
    return avg_pool2d(input.unsqueeze(-2), *how).squeeze(-2)


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
    """Return the mean of each window of images (n, channels, height, width), or of one image.

    Args:
        kernel_size: The size of a window: a number, or a pair (height, width).
        stride: The distance from one window to the next; by default `kernel_size`.
        padding: The width of a border of zeros, at most half the size of a window.
        ceil_mode: Also use windows that reach beyond the far side of the image.
        count_include_pad: Count the zeros of the border when a mean is computed.
        divisor_override: Divide the sum of a window by this number, not by its number of elements.
    """
    kernel, stride, padding = _windows(input, kernel_size, stride, padding)
    _check_outputs(input, kernel, stride, padding, (1, 1), ceil_mode)
    return _means(avg_pool2d_op, input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


@tensors_only()
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window of volumes (n, channels, depth, height, width), or of one volume.

    Args:
        kernel_size: The size of a window: a number, or a triple (depth, height, width).
        stride: The distance from one window to the next; by default `kernel_size`.
        padding: The width of a border of zeros, at most half the size of a window.
        ceil_mode: Also use windows that reach beyond the far side of the volume.
        count_include_pad: Count the zeros of the border when a mean is computed.
        divisor_override: Divide the sum of a window by this number, not by its number of elements.
    """
    kernel, stride, padding = _windows(input, kernel_size, stride, padding, 3)
    if any(n < k for n, k in zip(input.shape[-3:], kernel, strict=True)) and not any(padding):
        size, (t, h, w) = input.shape[-3:], kernel
        raise RuntimeError(
            f"input image (T: {size[0]} H: {size[1]} W: {size[2]}) smaller than kernel size (kT: {t} kH: {h} kW: {w})"
        )
    _check_outputs(input, kernel, stride, padding, (1, 1, 1), ceil_mode)
    return _means(avg_pool3d_op, input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


KERNELS = {"avg_pool2d": "avg_pool2d", "avg_pool3d": "avg_pool3d_out_frame"}


def _means(op: Callable[..., Tensor], input: Tensor, *how: Any) -> Tensor:
    """Return the means; of integers cut off to integers."""
    if how[-1] == 0:
        raise RuntimeError("divisor must be not zero")
    whole = not input.dtype.is_floating_point
    if whole and input.dtype.name != "int64":
        raise NotImplementedError(errors.NO_KERNEL.format(KERNELS[op.op.name], input.dtype.word))
    if input.dtype.itemsize < 4 and op is avg_pool3d_op:
        raise NotImplementedError(errors.NO_KERNEL.format(KERNELS[op.op.name], input.dtype.word))
    return op(input.double(), *how).to(input.dtype) if whole else op(input, *how)


def _windows(input: Tensor, kernel: Any, stride: Any, padding: Any, dims: int = 2) -> tuple[Ints, Ints, Ints]:
    """Return the windows' size, distance and padding for all dimensions; RuntimeError if they don't fit."""
    kernel, padding = _each("kernel_size", kernel, dims), _each("padding", padding, dims)
    stride = kernel if stride is None or stride == () else _each("stride", stride, dims)
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    return kernel, stride, padding


def _check_outputs(input: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """Return how many windows there are; RuntimeError if there is none, or if one could lie in the padding."""
    for p, k in zip(padding, kernel, strict=True):
        if p * 2 > k:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={dilation[0]}"
            )
    outputs = _outputs(input.shape[-len(kernel) :], kernel, stride, padding, dilation, ceil_mode)
    if min(outputs) < 1:
        before, *_ = planes = input.shape[-len(kernel) - 1 :]
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, planes))}). Calculated output size: "
            f"({'x'.join(map(str, (before, *outputs)))}). Output size is too small"
        )
    return outputs
