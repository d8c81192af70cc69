"""Padding of sequences, images and volumes, as modules."""

from __future__ import annotations

from typing import Any

from ...autograd.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """The common part of padding: `padding` has two numbers per dimension, the last dimension first."""

    _dims, _mode = 0, ""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        one = not isinstance(padding, (tuple, list))
        self.padding = (padding,) * (2 * self._dims) if one else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the padding before and after each dimension, the last dimension first."""
        return str(self.padding)


class ConstantPad1d(_Pad):
    """Pad sequences with `value` on both sides. `padding` is (left, right), or one number for both."""

    _dims = 1

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the padding before and after each dimension, the last dimension first, and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """Pad images with `value`. `padding` is (left, right, top, bottom), or one number for all sides."""

    _dims = 2


class ConstantPad3d(ConstantPad1d):
    """Pad volumes with `value`. `padding` is (left, right, top, bottom, front, back), or one number for all sides."""

    _dims = 3


class ZeroPad1d(ConstantPad1d):
    """Pad sequences with zeros on both sides. `padding` is (left, right), or one number for both."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding before and after each dimension, the last dimension first."""
        return str(self.padding)


class ZeroPad2d(ZeroPad1d):
    """Pad images with zeros. `padding` is (left, right, top, bottom), or one number for all sides."""

    _dims = 2


class ZeroPad3d(ZeroPad1d):
    """Pad volumes with zeros. `padding` is (left, right, top, bottom, front, back), or one number for all sides."""

    _dims = 3


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input.

        Raises:
            ValueError: if the input has another number of dimensions.
        """
        ndim, least = input.dim(), self._dims + 1
        if ndim not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {ndim}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pad sequences with the elements of the opposite side: `c d | a b c d | a b`.

    `padding` is (left, right), or one number for both sides. It can be at most as large as the sequence.
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Continue images as if they were repeated in all directions: each side gets elements of the opposite side.

    The new columns on the left are copies of the last columns, and those on the right are copies of the first ones.
    The new rows at the top are copies of the last rows, and those at the bottom are copies of the first ones. A side
    can get at most as many columns or rows as the image has. PyTorch: torch.nn.CircularPad2d.

    Example:
        >>> nn.CircularPad2d((1, 0, 0, 1))(torch.arange(6.0).view(1, 2, 3))
        tensor([[[2., 0., 1., 2.],
                 [5., 3., 4., 5.],
                 [2., 0., 1., 2.]]])

    Args:
        padding: `(left, right, top, bottom)`, or one number for all sides.

    Raises:
        RuntimeError: if a number in `padding` is larger than the image.
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pad volumes with the elements of the opposite side: CircularPad2d in three dimensions.

    `padding` is (left, right, top, bottom, front, back), or one number for all sides. No number can be larger than the
    volume in that dimension.
    """

    _dims = 3


class ReflectionPad1d(_Pad):
    """Pad sequences with a mirror image: `c b | a b c d | c b`. `padding` is (left, right), or one number."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pad images with a mirror image. `padding` is (left, right, top, bottom), or one number."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pad volumes with a mirror image. `padding` is (left, right, top, bottom, front, back), or one number."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pad sequences by repeating the outermost elements: `a a | a b c d | d d`.

    `padding` is (left, right), or one number for both sides.
    """

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pad images by repeating the outermost elements. `padding` is (left, right, top, bottom), or one number."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pad volumes by repeating the outermost elements.

    `padding` is (left, right, top, bottom, front, back), or one number for all sides.
    """

    _dims, _mode = 3, "replicate"
