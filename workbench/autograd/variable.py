"""The old name of a tensor, and the engine that hangs on it (torch.autograd.Variable)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import errors
from .state import local
from .tensor import Tensor, alias


class _Engine:
    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the backward that is running is over, leaves included."""
        task = local.modes.task
        if task is None:
            raise RuntimeError(errors.CALLBACK_OUTSIDE)
        task.callbacks.append(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """A tensor, as it was called before tensors could require gradients."""

    _execution_engine = _Engine()

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:
        """A tensor over the same memory, without history."""
        return alias(data).requires_grad_(requires_grad)
