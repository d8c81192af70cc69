"""Parameters: leaves that a module holds and a learner changes.

To the engine a parameter is a tensor like any other, and takes the same straight paths; only modules tell it apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from . import dtypes
from .tensor import Tensor, wrap


class _Kind(type):
    """Tensors of other kinds (of a running transform, or of inference mode) are parameters by a mark they bear."""

    def __instancecheck__(cls, thing: Any) -> bool:
        marked = cls is Parameter and isinstance(thing, Tensor) and "_is_param" in thing.__dict__
        return marked or super().__instancecheck__(thing)


class Parameter(Tensor, metaclass=_Kind):
    """A leaf that becomes a module's parameter when it becomes its attribute (torch.nn.Parameter).

    It shows the memory of `data`, without its history, and requires grad unless told not to, also under no_grad.
    """

    __slots__ = ()
    __module__ = "workbench.nn.parameter"  # where users know it, as they know PyTorch's

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        """A leaf over the memory of `data`, or over none; RuntimeError where integers are to have a gradient."""
        if not isinstance(requires_grad, bool):
            raise TypeError(errors.PARAMETER_FLAG_KIND.format(type(requires_grad).__name__))
        source = wrap(np.empty(0, dtypes.get_default_dtype().np)) if data is None else data.detach()
        made = source
        if type(source) is Tensor:
            made = super().__new__(cls)
            made._array, made._storage, made._nr = source._array, source._storage, 0
            made._fn = made._meta = None
        else:
            made._is_param = True
        made._rg = False
        made._set_requires_grad(requires_grad, errors.ONLY_FLOATS_CONSTRUCTOR)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter with its own memory, and no gradient yet."""
        return memo.setdefault(id(self), type(self)(self.data.clone(), self.requires_grad))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What a pickle keeps: elements, attributes, whether it requires grad; neither gradient nor history."""
        return type(self), (self.data, self.requires_grad), self.__dict__ or None

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
