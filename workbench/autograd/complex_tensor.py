"""The class of complex tensors, which keeps them out of the functions that are compiled for real ones.

Those test the classes of what they are given before anything else, so real tensors are as fast as without complex ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import state
from .tensor import Parameter, Tensor, of_kind, tensor_method


class ComplexTensor(Tensor):
    """A tensor of complex numbers; a class of its own, which the compiled functions of ops leave to dispatch."""

    __slots__ = ()

    def _get_class(self) -> type:
        return Tensor  # what a program sees

    def _set_class(self, kind: type) -> None:
        vars(object)["__class__"].__set__(self, kind)

    __class__: Any = property(_get_class, _set_class)


def is_complex(t: Any) -> bool:
    """Return True for a complex tensor, array or number, or a list with a complex tensor."""
    if isinstance(t, Tensor):
        return t._array.dtype.kind == "c"
    if isinstance(t, (np.ndarray, np.generic)):
        return t.dtype.kind == "c"
    return type(t) is complex or (isinstance(t, (list, tuple)) and any([is_complex(each) for each in t]))


ComplexTensor.__name__ = ComplexTensor.__qualname__ = "Tensor"
of_kind["c"] = ComplexTensor


@tensor_method("_set_kind")
def set_kind(t: Tensor) -> None:
    """Give a tensor whose data were exchanged the class for complex or for real numbers; a parameter stays one."""
    if t._array.dtype.kind == "c" and type(t) in (Tensor, Parameter):
        if type(t) is Parameter:
            vars(t)["_is_param"] = True
        t.__class__, state.complex_made = ComplexTensor, True  # type: ignore[assignment]
    elif t._array.dtype.kind != "c" and type(t) is ComplexTensor:
        t.__class__ = Parameter if vars(t).pop("_is_param", False) else Tensor  # type: ignore[assignment]
