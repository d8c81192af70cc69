"""`as_strided`: views with explicit sizes and strides. The engine recreates views with it."""

from __future__ import annotations

from typing import Any

from .. import errors
from ..autograd import forward_ad, state, views
from ..autograd.anomaly_mode import remember
from ..autograd.node import edge_of, sequence
from ..autograd.tensor import Tensor
from .core import checks
from .core.checks import ints_of
from .core.op import define, operation
from .core.registry import REGISTRY

_as_strided = define(
    "as_strided(Tensor self, geometry, layout)",
    lambda a, geometry, layout: views.strided(a, geometry),
    kind="view",
    self="strided_scatter(grad, geometry, layout)",
)


@operation()
def as_strided(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Return a view of the tensor's memory with the given shape and strides.

    An element that occurs several times in the view receives the sum of the gradients of its
    copies.

    Args:
        size: The shape of the view.
        stride: For each dimension, how far apart two neighboring elements are in memory, counted in
            elements.
        storage_offset: The position of the view's first element in memory; by default the tensor's.

    Raises:
        RuntimeError: if the view would reach outside the memory.

    Example:
        >>> torch.as_strided(torch.arange(4), (3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """
    for position, (name, given) in enumerate((("size", size), ("stride", stride)), 1):
        if not isinstance(given, (tuple, list)):
            raise TypeError(checks.wrong("as_strided", name, position, f"tuple of ints, not {errors.kind_of(given)}"))
    shape, steps = ints_of("as_strided", "size", (size,)), ints_of("as_strided", "stride", (stride,), position=1)
    if len(shape) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(steps, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    first = self.storage_offset() if storage_offset is None else storage_offset
    if first < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {first}")
    if min(shape, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
    base = self if self._base is None else self._base
    width = self._array.itemsize
    there, ahead = views.reach(base._array), base.storage_offset() * width
    last = first + sum([(n - 1) * s for n, s in zip(shape, steps, strict=True)])
    needed = 0 if 0 in shape else (last + 1) * width
    if needed > ahead + there:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {first}, and itemsize {width} "
            f"requiring a storage size of {needed} are out of bounds for storage of size {ahead + there}"
        )
    before = (first - self.storage_offset()) * width
    outside = before < 0 or needed > self.storage_offset() * width + views.reach(self._array)
    if outside or views.overlaps(self._array.shape, self._array.strides):
        self, before = base, first * width - ahead  # which has each element once, and all of them
    geometry = shape, tuple([s * width for s in steps]), before
    return _as_strided(self, geometry, views.layout_of(self._array))


Tensor.strided_copy = define(
    "strided_copy(Tensor self, geometry, layout)",
    views.gather_strided,
    node="AsStridedCopyBackward0",
    meaning="Return a copy of the elements that `as_strided` selects (used by its derivatives).",
    self="strided_scatter(grad, geometry, layout)",
)
Tensor.strided_scatter = define(
    "strided_scatter(Tensor self, geometry, layout)",
    views.scatter_strided,
    node="AsStridedScatterBackward0",
    meaning="Return zeros, with the elements added at the places that `as_strided` selects (used by its derivatives).",
    self="strided_copy(grad, geometry, layout)",
)


def _regenerate(base: Tensor, geometry: Any, layout: Any) -> Any:
    node = _as_strided.op.node()
    node.seq, node.extra = next(sequence), None
    node.next0, node.nr0 = edge_of(base), base._nr
    node.arg_geometry, node.arg_layout = geometry, layout
    if state.anomaly:
        remember(node)
    return node


views.regenerate = _regenerate
forward_ad.part = _as_strided
forward_ad.unpacked = define(
    "identity(Tensor self)", lambda a: a[...], node="torch::autograd::Identity", kind="view", self="grad"
)
forward_ad.aliased = lambda t: REGISTRY["view"].function(t, t._array.shape)
