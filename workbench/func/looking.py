"""What a program sees of a lifted tensor when it prints it or asks for its numbers.

Under vmap there is no one number to give, so PyTorch refuses; its sentences say what to do instead.
"""

from __future__ import annotations

import textwrap
from typing import Any

from .. import errors
from ..autograd.levels import Lifted
from ..autograd.state import local
from ..autograd.tensor import Tensor
from . import refusals


def is_batched(t: Tensor) -> bool:
    """Whether a tensor stands for a whole batch, at any level."""
    while type(t) is Lifted:
        if t._level.kind == "vmap":
            return True
        t = t._value
    return False


def _text(self: Lifted) -> str:
    level = self._level
    kind, number = "GradTrackingTensor", level.number if level in local.modes.levels else -2
    if level.kind == "vmap":
        kind, number = "BatchedTensor", f"{level.number}, bdim=0"
    return f"{kind}(lvl={number}, value=\n{textwrap.indent(repr(self._value), '    ')}\n)"


def _refusing(method: Any, sentence: str) -> Any:
    """A method that has no answer for a batch."""

    def ask(self: Lifted) -> Any:
        if is_batched(self):
            raise RuntimeError(sentence)
        return method(self)

    ask.__name__, ask.__doc__ = method.__name__, method.__doc__
    return ask


def _numpy(self: Lifted) -> Any:
    """A lifted tensor has no array to share."""
    raise RuntimeError(errors.NUMPY_REQUIRES_GRAD if self.requires_grad and local.modes.grad else refusals.NO_STORAGE)


def _data(self: Lifted, detached: Any = Lifted.data.fget) -> Tensor:
    if self._level.kind == "vmap":
        raise RuntimeError(refusals.DATA)
    return detached(self)


Lifted.__repr__ = _text
Lifted.item = _refusing(Tensor.item, refusals.ITEM)
Lifted._number = _refusing(Tensor._number, refusals.ITEM)
Lifted.__index__ = _refusing(Tensor.__index__, refusals.ITEM)
Lifted.__bool__ = _refusing(Tensor.__bool__, refusals.CONTROL_FLOW)
Lifted.tolist = _refusing(Tensor.tolist, refusals.NO_STORAGE)
Lifted.numpy = _numpy
Lifted.data = property(_data, Tensor.data.fset)
