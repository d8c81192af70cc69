"""Compute convolutions: kernels moved over images with one, two or three dimensions, and their transpose.

Strides lay out windows as columns; then the convolution is one matrix product. The convolution and the gradients of its
two factors are three views of one trilinear form, so the derivative of each is given by the other two. A transposed
convolution is the one that computes the input's gradient, with input and output exchanged.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ... import errors
from ...autograd.tensor import Tensor
from ...errors import warn
from ..core.checks import tensors_only
from ..core.op import define
from ..core.registry import in_formulas
from .padding import constant_pad

Ints = tuple[int, ...]


@lru_cache(1000)
def extents(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """Return how many places the kernel has along each dimension."""
    facts = zip(size, kernel, stride, padding, dilation, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in facts)


def _padded(a: np.ndarray, padding: Ints) -> np.ndarray:
    return np.pad(a, ((0, 0), (0, 0), *((p, p) for p in padding))) if any(padding) else a


def columns_of(a: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    """Return what the kernel sees at each of its places: (images, groups, channels * kernel, places)."""
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
    """Return the layout of the windows in a padded image: their shape and strides, and their shape as columns."""
    (count, channels, *size), (image, channel, *steps) = shape, strides
    out, each = extents(tuple(size), kernel, stride, (0,) * len(size), dilation), channels // groups
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
    if transposed:
        size = _enlarged(a.shape[2:], kernel, stride, padding, dilation, output_padding)
        shape = (len(a), weight.shape[1] * groups, *size)
        out = np.ascontiguousarray(
            _to_input(a, weight, shape, stride, padding, dilation, False, output_padding, groups)
        )
        return out if bias is None else out + bias.reshape(-1, *(1,) * len(kernel))
    columns = columns_of(a, kernel, stride, padding, dilation, groups)
    out = np.matmul(weight.reshape(groups, len(weight) // groups, -1), columns)
    out = out.reshape(len(a), len(weight), *extents(a.shape[2:], kernel, stride, padding, dilation))
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(kernel))


@lru_cache(1000)
def _enlarged(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints) -> Ints:
    """Return how large an image is of which the kernel makes one of this size, with so much more at the far sides."""
    facts = zip(size, kernel, stride, padding, dilation, output_padding, strict=True)
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + more + 1 for n, k, s, p, d, more in facts)


def _to_input(
    grad: np.ndarray,
    weight: np.ndarray,
    shape: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> np.ndarray:
    """Return images with each column added where it was read; overlapping windows add up."""
    if transposed:
        return _convolved(grad, weight, None, stride, padding, dilation, False, output_padding, groups)
    kernel, places = weight.shape[2:], grad.shape[2:]
    matrices = weight.reshape(groups, len(weight) // groups, -1).swapaxes(1, 2)
    columns = np.matmul(matrices, _in_groups(grad, groups)).reshape(*shape[:2], *kernel, *places)
    return put_together(columns, shape, stride, padding, dilation)


def put_together(columns: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints) -> np.ndarray:
    """Return images of a shape from columns (images, channels, *kernel, *places); overlapping windows add up."""
    dims = len(shape) - 2
    kernel, places = columns.shape[2 : 2 + dims], columns.shape[2 + dims :]
    padded = np.zeros(shape[:2] + tuple([n + 2 * p for n, p in zip(shape[2:], padding, strict=True)]), columns.dtype)
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
    """Return each kernel element's position in the columns, and the part of the padded image that it reads."""
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
    """Return where a padded image, read row by row, has what each element of its columns sees."""
    every = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    found = np.empty((*shape[:2], *kernel, *places), np.int64)
    for at, seen in _seen(kernel, places, stride, dilation):
        found[at] = every[seen]
    return found.reshape(-1)


def _to_weight(
    grad: np.ndarray,
    a: np.ndarray,
    shape: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> np.ndarray:
    if transposed:
        grad, a = a, grad
    columns = columns_of(a, shape[2:], stride, padding, dilation, groups)
    return np.matmul(_in_groups(grad, groups), columns.swapaxes(2, 3)).sum(0).reshape(shape)


_HOW = "stride, padding, dilation, transposed, output_padding, groups"
_convolution = define(
    f"convolution(Tensor input, Tensor weight, Tensor? bias, {_HOW})",
    _convolved,
    input=f"conv_input(grad, weight, input.shape, {_HOW})",
    weight=f"conv_weight(grad, input, weight.shape, {_HOW})",
    bias="sum_dim(grad, all_but_channels(grad), False)",
    tangent=f"convolution(input_t, weight, None, {_HOW}) + convolution(input, weight_t, None, {_HOW}) "
    "+ channels(bias_t, input)",
)
in_formulas("all_but_channels", lambda g: (0, *range(2, g.ndim)))
define(
    f"conv_input(Tensor grad_output, Tensor weight, shape, {_HOW})",
    _to_input,
    node="ConvolutionBackwardBackward0",
    grad_output=f"convolution(grad, weight, None, {_HOW})",
    weight=f"conv_weight(grad_output, grad, weight.shape, {_HOW})",
)
define(
    f"conv_weight(Tensor grad_output, Tensor input, shape, {_HOW})",
    _to_weight,
    node="ConvolutionBackwardBackward0",
    grad_output=f"convolution(input, grad, None, {_HOW})",
    input=f"conv_input(grad_output, grad, input.shape, {_HOW})",
)


def _each(name: str, value: Any, dims: int = 2) -> Ints:
    """Return one number for all dimensions, or one for each."""
    if isinstance(value, int):
        return (value,) * dims
    each = tuple(value)
    each = each * dims if len(each) == 1 else each
    if len(each) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the "
            f"convolution dimensions, but got {name}={list(each)}"
        )
    return each


def _over_images(
    name: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    output_padding: Any = None,
) -> Tensor:
    """Return a convolution over so many dimensions; one with an `output_padding` is transposed."""
    ndim = input._array.ndim
    if ndim != dims + 2:
        if ndim != dims + 1:
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
                f"{list(input.shape)}"
            )
        how = stride, padding, dilation, groups, output_padding
        return _over_images(name, dims, input.unsqueeze(0), weight, bias, *how).squeeze(0)
    stride, dilation = _each("stride", stride, dims), _each("dilation", dilation, dims)
    if isinstance(padding, str):
        input, padding = _named_padding(input, padding, weight._array.shape[2:], stride, dilation)
    padding, transposed = _each("padding", padding, dims), output_padding is not None
    more = _each("output_padding", output_padding, dims) if transposed else (0,) * dims
    size = None if bias is None else bias._array.shape
    _check_sizes(input._array.shape, weight._array.shape, size, stride, padding, dilation, transposed, more, groups)
    _check_dtypes(input, weight, bias, transposed)
    return _convolution(input, weight, bias, stride, padding, dilation, transposed, more, groups)


@tensors_only()
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Slide kernels over sequences, and return the sum of products at each place.

    The kernels aren't flipped, so mathematically this is a cross-correlation.

    Args:
        input: Sequences (n, channels, length), or one sequence without n.
        weight: The kernels: (out channels, channels / groups, kernel size).
        bias: A vector with a number to add to each output channel, or None.
        stride: How far a kernel moves from one place to the next, in elements.
        padding: The number of zeros to add at each end. Or "valid" for none, or "same" for a result
            as long as the input.
        dilation: The distance between the elements that a kernel reads: 1 reads neighbors, 2 every
            second element.
        groups: Split the channels into this many groups. Each group has its own kernels.

    Returns:
        Sequences (n, out channels, new length). The new length is
        `(length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`.
    """
    return _over_images("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


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
    """Slide kernels over images, and return the sum of products at each place.

    The kernels aren't flipped, so mathematically this is a cross-correlation. Arguments that are a
    size can be a pair (height, width) or one number for both.

    Args:
        input: Images (n, channels, height, width), or one image without n.
        weight: The kernels: (out channels, channels / groups, kernel height, kernel width).
        bias: A vector with a number to add to each output channel, or None.
        stride: How far a kernel moves from one place to the next, in elements.
        padding: The number of zeros to add on each side. Or "valid" for none, or "same" for a
            result of the input's size.
        dilation: The distance between the elements that a kernel reads: 1 reads neighbors, 2 every
            second element.
        groups: Split the channels into this many groups. Each group has its own kernels.

    Returns:
        Images (n, out channels, new height, new width). A new size is
        `(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`.

    Example:
        >>> images = torch.ones(8, 3, 32, 32)
        >>> F.conv2d(images, torch.ones(16, 3, 5, 5)).shape
        torch.Size([8, 16, 28, 28])
        >>> F.conv2d(images, torch.ones(16, 3, 5, 5), stride=2, padding=2).shape
        torch.Size([8, 16, 16, 16])
    """
    return _over_images("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@tensors_only()
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Slide kernels over volumes, and return the sum of products at each place.

    An argument that is a size can be a triple (depth, height, width) or one number for all three.

    Args:
        input: Volumes (n, channels, depth, height, width), or one volume without n.
        weight: The kernels: (out channels, channels / groups, kernel depth, kernel height, kernel
            width).
        bias: A vector with a number to add to each output channel, or None.
        stride: The distance from one place of the kernels to the next.
        padding: The width of a border of zeros around each volume. "same" keeps the size, and
            "valid" adds no border.
        dilation: The distance between the elements of a kernel; 1 means neighbors.
        groups: Split the channels into this many groups. Each group has its own kernels.
    """
    return _over_images("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@tensors_only()
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Lengthen sequences: each element adds a copy of the kernel, times the element, to the result.

    The copies of neighboring elements start `stride` apart, and overlapping parts are summed. This
    is how the backward pass of `conv1d` computes the gradient of its input.

    Args:
        input: Sequences (n, channels, length), or one sequence without n.
        weight: The kernels: (channels, out channels / groups, kernel size).
        bias: A vector with a number to add to each output channel, or None.
        stride: How far apart in the result the kernels of two neighboring elements are.
        padding: The number of elements to cut off on each side of the result.
        output_padding: The number of elements to add at the end. It must be less than the stride or
            the dilation.
        groups: Split the channels into this many groups. Each group has its own kernels.
        dilation: The distance in the result between the elements of a kernel.

    Returns:
        Sequences (n, out channels, new length). The new length is
        `(length - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1`.

    Example:
        >>> F.conv_transpose1d(torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 3), stride=2)
        tensor([[[1., 1., 3., 2., 2.]]])
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, dilation, groups, output_padding)


@tensors_only()
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Enlarge images: each element adds a copy of the kernel, times the element, to the result.

    The copies of neighboring elements start `stride` apart, and overlapping parts are summed. This
    is how the backward pass of `conv2d` computes the gradient of its input. Arguments that are a
    size can be a pair (height, width) or one number for both.

    Args:
        input: Images (n, channels, height, width), or one image without n.
        weight: The kernels: (channels, out channels / groups, kernel height, kernel width).
        bias: A vector with a number to add to each output channel, or None.
        stride: How far apart in the result the kernels of two neighboring elements are.
        padding: The number of elements to cut off on each side of the result.
        output_padding: The number of elements to add at the end of each dimension. It must be less
            than the stride or the dilation.
        groups: Split the channels into this many groups. Each group has its own kernels.
        dilation: The distance in the result between the elements of a kernel.

    Returns:
        Images (n, out channels, new height, new width). A new size is
        `(size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1`.

    Example:
        >>> F.conv_transpose2d(torch.ones(1, 3, 8, 8), torch.ones(3, 6, 2, 2), stride=2).shape
        torch.Size([1, 6, 16, 16])
    """
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, dilation, groups, output_padding)


@tensors_only()
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Enlarge volumes: each element adds a copy of the kernel, times the element, to the result.

    The copies of neighboring elements start `stride` apart, and overlapping parts are summed.
    Arguments that are a size can be a triple (depth, height, width) or one number for all three.

    Args:
        input: Volumes (n, channels, depth, height, width), or one volume without n.
        weight: The kernels: (channels, out channels / groups, kernel depth, kernel height, kernel
            width).
        bias: A vector with a number to add to each output channel, or None.
        stride: How far apart in the result the kernels of two neighboring elements are.
        padding: The number of elements to cut off on each side of the result.
        output_padding: The number of elements to add at the end of each dimension. It must be less
            than the stride or the dilation.
        groups: Split the channels into this many groups. Each group has its own kernels.
        dilation: The distance in the result between the elements of a kernel.
    """
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, dilation, groups, output_padding)


def _transposed(name: str, dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Tensor:
    """Return a transposed convolution; TypeError where its padding has a name."""
    if isinstance(how[1], str):
        raise TypeError(f"{name}(): argument 'padding' must be tuple of ints, not str")
    return _over_images(name, dims, input, weight, bias, *how)


def _named_padding(input: Tensor, name: str, kernel: Ints, stride: Ints, dilation: Ints) -> tuple[Tensor, Ints]:
    """Return the padding for "same" or "valid"; pad the input's far sides by a zero where two sides can't be equal."""
    if name == "valid":
        return input, (0,) * len(kernel)
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
        input = constant_pad(input, tuple(n for r in reach[::-1] for n in (0, r % 2)), 0)
    return input, tuple(r // 2 for r in reach)


@lru_cache(1000)
def _check_sizes(
    a: Ints,
    w: Ints,
    bias: Ints | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> None:
    """Raise RuntimeError if the shapes of image, weight and bias, or the settings, don't fit."""
    for name, wrong in (
        ("non-positive stride", min(stride) <= 0),
        ("negative padding", min(padding) < 0),
        ("negative output_padding", min(output_padding) < 0),
        ("non-positive dilation", min(dilation) <= 0),
        ("non-positive groups", groups <= 0),
    ):
        if wrong:
            raise RuntimeError(f"{name} is not supported")
    size, shape = list(w), list(a)
    if len(w) != len(a):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {size}, but got {len(a)}-dimensional "
            f"input of size {shape} instead"
            if len(a) == 3
            else f"expected stride to be a single integer value or a list of {len(w) - 2} values to match the "
            f"convolution dimensions, but got stride={list(stride)}"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
            f"weight of size [{size}] instead"
        )
    takes, gives = (w[0], w[1] * groups) if transposed else (w[1] * groups, w[0])
    given = f"Given {f'transposed={transposed:d}' if transposed else f'groups={groups}'}, weight of size {size}"
    if a[1] != takes:
        raise RuntimeError(f"{given}, expected input{shape} to have {takes} channels, but got {a[1]} channels instead")
    if bias is not None and bias != (gives,):
        given = given if transposed else f"Given weight of size {size}"
        raise RuntimeError(
            f"{given}, expected bias to be 1-dimensional with {gives} elements, but got bias of size {list(bias)} "
            "instead"
        )
    if transposed:
        _check_enlarged(a, w[2:], stride, padding, dilation, output_padding)
        return
    inside = [n + 2 * p for n, p in zip(a[2:], padding, strict=True)]
    kernel = [d * (k - 1) + 1 for d, k in zip(dilation, w[2:], strict=True)]
    if any(k > n for k, n in zip(kernel, inside, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, inside))}). Kernel size: "
            f"({' x '.join(map(str, kernel))}). Kernel size can't be greater than actual input size"
        )


def _check_enlarged(a: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints) -> None:
    """Raise RuntimeError if a transposed convolution has no such output."""
    if any(more >= max(s, d) for more, s, d in zip(output_padding, stride, dilation, strict=True)):
        wide = [("output_padding", output_padding, 0), ("stride", stride, 1), ("dilation", dilation, 1)]
        sides = ("depth", "height", "width")[-max(len(stride), 2) :]
        got = [
            f"{name}_{side}: {n}"
            for name, each, one in wide
            for side, n in zip(sides, (one,) * (len(sides) - len(each)) + each, strict=True)
        ]
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(got)}")
    if 0 in a[2:]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {list(a)}")
    size = _enlarged(a[2:], kernel, stride, padding, dilation, output_padding)
    if min(size) < 0:
        raise RuntimeError(
            f"Given input size per channel: {list(a[2:])}. Calculated output size per channel: {list(size)}. "
            "Output size is too small"
        )


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool) -> None:
    """Raise RuntimeError if the dtypes differ."""
    a, w = input._array, weight._array
    if bias is not None and bias._array.dtype is not a.dtype:
        got, other = input.dtype.c_name, bias.dtype.c_name
        raise RuntimeError(f"Input type ({got}) and bias type ({other}) should be the same")
    if a.dtype is not w.dtype and (transposed or input.dtype.name in ("float64", "int64")):
        raise RuntimeError(errors.SCALAR_TYPE.format(input.dtype.word, weight.dtype.word))
    if a.dtype is not w.dtype:
        raise RuntimeError(
            f"Input type ({input.dtype.type_name}) and weight type ({weight.dtype.type_name}) should "
            "be the same or input should be a "
            "MKLDNN tensor and weight is a dense tensor"
        )
