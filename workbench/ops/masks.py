"""Elements under a mask, filled: `masked_fill`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor
from .core.checks import check_broadcast, held, number_of, tensors_only, word
from .core.op import define, operation


def check_mask(mask: Tensor) -> None:
    """Raise RuntimeError for anything but a mask."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(errors.ONLY_MASKS.format("masked_fill_", word(mask.dtype)))


def _filled(a: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    same = a.shape == mask.shape
    out = np.asarray(a.copy() if same else np.broadcast_to(a, np.broadcast_shapes(a.shape, mask.shape)).copy())
    np.copyto(out, value, casting="unsafe", where=mask)
    return out


_fill_number = define(
    "masked_fill_number(Tensor self, Kept mask, value)",
    _filled,
    node="MaskedFillBackward0",
    kind="assign",
    self="masked_fill_number(grad, mask, 0)",
    tangent="masked_fill_number(self_t, mask, 0)",
)
_fill = define(
    "masked_fill(Tensor self, Kept mask, Tensor value)",
    _filled,
    node="MaskedFillBackward1",
    kind="assign",
    self="masked_fill_number(grad, mask, 0)",
    value="where(mask, grad, 0)",
)


@operation(in_place="mask")
@tensors_only()
def masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Return a copy with `value` written wherever `mask` is True.

    The elements that were overwritten receive a gradient of 0.

    Args:
        mask: A bool tensor that broadcasts to the shape of the tensor.
        value: A number, or a tensor without dimensions. Such a tensor receives the sum of the
            gradients of all elements into which it was written.

    Example:
        >>> torch.tensor([1.0, 2.0, 3.0]).masked_fill(torch.tensor([False, True, False]), 0.0)
        tensor([1., 0., 3.])
    """
    check_mask(mask)
    check_broadcast([mask._array.shape, self._array.shape])
    if not isinstance(value, Tensor):
        return _fill_number(self, mask, held(number_of("masked_fill", "value", 2, value), self.dtype))
    if value._array.ndim:
        raise RuntimeError(errors.NO_DIMENSION.format("masked_fill_", value._array.ndim))
    return _fill(self, mask, value)
