"""Windows of images as columns, and columns put together to images (im2col, col2im).

The two are linear, and each other's gradients.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import errors
from ...autograd.tensor import Tensor
from ..core.checks import dim_index, ints_of, only_floats, tensors_only
from ..core.op import define
from ..core.registry import in_formulas
from .convolution import Ints, columns_of, extents, put_together

_HOW = "kernel_size, dilation, padding, stride"


def _to_columns(a: np.ndarray, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    """(..., channels * kernel, places) of images."""
    columns = columns_of(a.reshape(prod(a.shape[:-3]), *a.shape[-3:]), kernel, stride, padding, dilation, 1)
    return columns.reshape(*a.shape[:-3], *columns.shape[2:])


def _to_images(a: np.ndarray, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    *lead, rows, _ = a.shape
    places, channels = extents(size, kernel, stride, padding, dilation), rows // prod(kernel)
    columns = a.reshape(prod(lead), channels, *kernel, *places)
    out = put_together(columns, (len(columns), channels, *size), stride, padding, dilation)
    return np.ascontiguousarray(out).reshape(*lead, channels, *size)


_im2col = define(
    f"im2col(Tensor self, {_HOW})", _to_columns, batch="in front", self=f"col2im(grad, last_two(self.shape), {_HOW})"
)
_col2im = define(
    f"col2im(Tensor self, output_size, {_HOW})", _to_images, batch="in front", self=f"im2col(grad, {_HOW})"
)
in_formulas("last_two", lambda shape: tuple(shape[-2:]))


def _two(function: str, name: str, position: int, value: Any) -> Ints:
    """Return a number for both dimensions, or one for each."""
    both = ints_of(function, name, (value if isinstance(value, (tuple, list)) else (value, value),), position=position)
    if len(both) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(both)}")
    return both


def _windows(function: str, position: int, kernel: Any, dilation: Any, padding: Any, stride: Any) -> list[Ints]:
    """Return what windows are like; RuntimeError where there are none such."""
    given = {"kernel_size": kernel, "dilation": dilation, "padding": padding, "stride": stride}
    both = [_two(function, name, position + i, value) for i, (name, value) in enumerate(given.items())]
    names = ("kernel size", "kernel"), ("dilation", "dilation"), ("padding", "pad"), ("stride", "stride")
    for (height, width), (what, short) in zip(both, names, strict=True):
        if min(height, width) < (what != "padding"):
            bound = "non-negative" if what == "padding" else "greater than zero"
            raise RuntimeError(f"{what} should be {bound}, but got {short}_height: {height} {short}_width: {width}")
    return both


@tensors_only("im2col")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Copy each window of images (n, channels, height, width), or of one image, into a column.

    A convolution is the matrix product of the flattened kernels with these columns.

    Args:
        kernel_size: The size of a window: a number, or a pair (height, width).
        dilation: The distance between the elements of a window; 1 means neighbors.
        padding: The width of a border of zeros around each image.
        stride: The distance from one window to the next.

    Returns:
        A tensor of shape (n, channels × window elements, windows).

    Example:
        >>> F.unfold(torch.ones(8, 3, 32, 32), kernel_size=5).shape
        torch.Size([8, 75, 784])
    """
    shape = list(input._array.shape)
    kernel, dilation, padding, stride = how = _windows("im2col", 1, kernel_size, dilation, padding, stride)
    if not shape:
        raise IndexError(errors.NO_DIMS.format(-1))
    if len(shape) < 3:  # PyTorch reads the height before the number of dimensions
        dim_index(-2 if len(shape) < 2 else 2, len(shape))
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {shape}"
        )
    places = extents(tuple(shape[-2:]), kernel, stride, padding, dilation)
    if min(places) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {places}, but its components must "
            "be at least one."
        )
    _check_kernel("im2col_out_cpu", input)
    return _im2col(input, *how)


@tensors_only("col2im")
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Sum windows into images: write each column that `unfold` would return back to its place.

    Where windows overlap, their elements are added, so `fold` isn't the inverse of `unfold`.
    Elements of the images that no window covers are 0.

    Args:
        input: Columns (n, channels × window elements, windows), or those of one image, without n.
        output_size: The height and width of the images.
        kernel_size, dilation, padding, stride: The same as in `unfold`.

    Returns:
        Images (n, channels, height, width), or one image without n.

    Example:
        >>> F.fold(torch.ones(1, 4, 4), output_size=3, kernel_size=2)
        tensor([[[[1., 2., 1.],
                  [2., 4., 2.],
                  [1., 2., 1.]]]])
    """
    shape = list(input._array.shape)
    size = _two("col2im", "output_size", 1, output_size)
    kernel, dilation, padding, stride = how = _windows("col2im", 2, kernel_size, dilation, padding, stride)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {shape}"
        )
    rows, columns = shape[-2:]
    if rows % prod(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={kernel}."
        )
    height, width = extents(size, kernel, stride, padding, dilation)
    if height * width != columns:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks {height} * "
            f"{width} = {height * width}, but got input.size(2)={columns}."
        )
    _check_kernel("col2im_out_cpu", input)
    return _col2im(input, size, *how)


def _check_kernel(kernel: str, t: Tensor) -> None:
    """Raise NotImplementedError for integers, but not for masks."""
    only_floats(kernel, but="bc")((t,))
