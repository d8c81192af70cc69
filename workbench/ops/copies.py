"""The same elements in a tensor of their own: copied by `clone` and `contiguous`, without history by `detach`."""

from __future__ import annotations

from typing import Any

from .. import errors
from ..autograd.state import local
from ..autograd.tensor import DetachedTensor, Tensor, alias
from ..events import emit, listeners
from .core import formats
from .core.formats import cloned
from .core.op import define, method, operation
from .core.results import copied

clone = define(
    "clone(Tensor self, memory_format=None)",
    lambda a, memory_format=None: copied(a) if memory_format is None else cloned(a, memory_format),
    meaning="Return a copy of the tensor: the same shape and elements, its own memory.\n\n"
    "`memory_format` is the order of the elements in memory, such as `channels_last`.",
    batch="pointwise",
    self="grad",
    method=True,
)
_in_rows = define(
    "contiguous_clone(Tensor self)", lambda a: a.copy(), node="CloneBackward0", batch="in front", self="grad"
)
_alias = define("alias(Tensor self)", lambda a: a[...], kind="view", self="grad")


@operation()
def detach(self: Tensor) -> Tensor:
    """Return a tensor that shares memory with this one, but isn't connected to its graph.

    The result doesn't require grad, so no gradient flows back through it. A write into one of the
    two tensors changes both.
    """
    return alias(self)


@operation()
def detach_(self: Tensor) -> Tensor:
    """Detach the tensor from its graph, in place.

    The tensor no longer requires grad. In inference mode, nothing changes.

    Raises:
        RuntimeError: if the tensor is a view.
    """
    if local.modes.inference:
        return self
    if self._base is not None:
        raise RuntimeError(errors.DETACH_VIEW)
    if self._fn is not None and type(self) is Tensor:
        self.__class__ = DetachedTensor
    if listeners:
        emit(("unrecorded", "detach_", (self,), (self,)))
    self._fn, self._nr, self._rg = None, 0, False
    if self._meta is not None:
        self._meta.tangent = None
    return self


@method()
def contiguous(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return the tensor with its elements in order in memory: the tensor itself, or a copy.

    Args:
        memory_format: Another order, such as `channels_last`.
    """
    if memory_format is not None and memory_format is not formats.contiguous_format:
        formats.check_format("contiguous", memory_format)
        if memory_format is formats.preserve_format and not self._array.flags.c_contiguous:
            raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
        formats.check_rank(self._array.ndim, memory_format)
        return self if self.is_contiguous(memory_format=memory_format) else clone(self, memory_format)
    return self if self._array.flags.c_contiguous else _in_rows(self)
