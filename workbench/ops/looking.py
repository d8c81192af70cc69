"""What a program sees of a lifted tensor when it prints it or asks for its numbers.

Under vmap there is no one number to give, so PyTorch refuses; its sentences say what to do instead.
"""

from __future__ import annotations

import textwrap
from typing import Any

from .. import errors
from ..autograd.levels import AUTOGRAD, Lifted, as_given
from ..autograd.state import local
from ..autograd.tensor import Tensor


def is_batched(t: Tensor) -> str | None:
    """Whether a tensor stands for a whole batch, at any level, and what this says of random numbers."""
    while type(t) is Lifted:
        if t._level.kind == "vmap":
            return t._level.randomness
        t = t._value
    return None


def _text(self: Lifted) -> str:
    level, value = self._level, self._value
    kind, number = "GradTrackingTensor", level.number if level in local.modes.levels else -2
    if level.kind == "vmap":
        value, dim = as_given(self)
        kind, number = "BatchedTensor", f"{level.number}, bdim={dim}"
    return f"{kind}(lvl={number}, value=\n{textwrap.indent(repr(value), '    ')}\n)"


def _refusing(method: Any, sentence: str, called: str = "") -> Any:
    """A method that has no answer for a batch; in batches of autograd's own PyTorch says what it `called`."""

    def ask(self: Lifted) -> Any:
        batch = is_batched(self)
        if batch is not None:
            raise RuntimeError(errors.VMAP_NO_RULE_FOR.format(called) if called and batch == AUTOGRAD else sentence)
        return method(self)

    ask.__name__, ask.__doc__ = method.__name__, method.__doc__
    return ask


def _numpy(self: Lifted) -> Any:
    """A lifted tensor has no array to share."""
    if is_batched(self) == AUTOGRAD:
        raise RuntimeError(errors.VMAP_NO_VIEW_RULE.format("detach"))
    raise RuntimeError(errors.NUMPY_REQUIRES_GRAD if self.requires_grad and local.modes.grad else errors.VMAP_DATA)


def _data(self: Lifted, detached: Any = Lifted.data.fget) -> Tensor:
    if self._level.kind == "vmap":
        raise RuntimeError(errors.VMAP_DETACHED)
    return detached(self)


def _detach_(self: Lifted) -> Tensor:
    if is_batched(self) is not None:
        raise RuntimeError(errors.DETACH_VIEW)
    return Tensor.detach_(self)


def _data_ptr(self: Lifted) -> int:
    raise RuntimeError(errors.VMAP_DATA)


def _deepcopy(self: Lifted, memo: dict[int, Any]) -> Tensor:
    return _reduce(self) if self.is_leaf else Tensor.__deepcopy__(self, memo)  # which refuses what is no leaf


def _reduce(self: Lifted, protocol: Any = None) -> Any:
    """A lifted tensor has no elements of its own to copy: those of a copy would know nothing of the transform."""
    kind = "BatchedTensorImpl" if self._level.kind == "vmap" else "TensorWrapper"
    raise NotImplementedError(errors.NO_STORAGE.format(kind))


Lifted.__repr__ = _text
Lifted.detach_ = _detach_
Lifted.data_ptr = _data_ptr
Lifted.__deepcopy__ = _deepcopy
Lifted.__reduce_ex__ = _reduce
Lifted.item = _refusing(Tensor.item, errors.VMAP_ITEM, "item")
Lifted._number = _refusing(Tensor._number, errors.VMAP_ITEM, "item")
Lifted.__index__ = _refusing(Tensor.__index__, errors.VMAP_ITEM, "item")
Lifted.__bool__ = _refusing(Tensor.__bool__, errors.VMAP_BOOL, "is_nonzero")
Lifted.tolist = _refusing(Tensor.tolist, errors.VMAP_DATA)
Lifted.numpy = _numpy
Lifted.data = property(_data, Tensor.data.fset)
