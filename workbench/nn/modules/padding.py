"""Borders around sequences, images and volumes, as layers."""

from __future__ import annotations

from typing import Any

from ...autograd.tensor import Tensor
from .. import functional as F
from .module import Module


class _Pad(Module):
    """What padding of any number of dimensions has in common: `padding` has two numbers a dimension, the last first."""

    _dims, _mode = 0, ""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        one = not isinstance(padding, (tuple, list))
        self.padding = (padding,) * (2 * self._dims) if one else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        """The input with its borders."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """How much is added before and after each dimension, the last first."""
        return str(self.padding)


class ConstantPad1d(_Pad):
    """A border of one value before and after sequences."""

    _dims = 1

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The input with its borders."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """How much is added before and after each dimension, the last first, and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """A border of one value around images."""

    _dims = 2


class ConstantPad3d(ConstantPad1d):
    """A border of one value around volumes."""

    _dims = 3


class ZeroPad1d(ConstantPad1d):
    """A border of zeros before and after sequences."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """How much is added before and after each dimension, the last first."""
        return str(self.padding)


class ZeroPad2d(ZeroPad1d):
    """A border of zeros around images."""

    _dims = 2


class ZeroPad3d(ZeroPad1d):
    """A border of zeros around volumes."""

    _dims = 3


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """The input with its borders; ValueError where it has another number of dimensions."""
        ndim, least = input.dim(), self._dims + 1
        if ndim not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {ndim}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """A border of what is on the other side, before and after sequences."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """A border of what is on the other side, around images."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """A border of what is on the other side, around volumes."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """A border of what is inside, mirrored at the outermost elements, before and after sequences."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """A border of what is inside, mirrored at the outermost elements, around images."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """A border of what is inside, mirrored at the outermost elements, around volumes."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """A border of the outermost elements, before and after sequences."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """A border of the outermost elements, around images."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """A border of the outermost elements, around volumes."""

    _dims, _mode = 3, "replicate"
