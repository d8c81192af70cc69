"""Parts of a tensor's memory, by geometry: what a view's history is rebuilt from after a write."""

from __future__ import annotations

from typing import Any

from ..autograd import forward_ad, views
from ..autograd.tensor import Tensor
from .declare import REGISTRY, define
from .door import record

_as_strided = define(
    "AsStridedBackward0",
    "as_strided(Tensor self, geometry, layout)",
    lambda a, geometry, layout: views.strided(a, geometry),
    kind="view",
    self="strided_scatter(grad, geometry, layout)",
    samples="r(2, 3), ((2,), (24,), 8), ((2, 3), (24, 8), 0)",
)
Tensor.strided_copy = define(
    "AsStridedCopyBackward0",
    "strided_copy(Tensor self, geometry, layout)",
    views.gather,
    self="strided_scatter(grad, geometry, layout)",
    samples="r(2, 3), ((2,), (24,), 8), ((2, 3), (24, 8), 0)",
)
Tensor.strided_scatter = define(
    "AsStridedScatterBackward0",
    "strided_scatter(Tensor self, geometry, layout)",
    views.scatter,
    self="strided_copy(grad, geometry, layout)",
    samples="r(2), ((2,), (24,), 8), ((2, 3), (24, 8), 0)",
)


def _regenerate(base: Tensor, geometry: Any, layout: Any) -> Any:
    op = REGISTRY["as_strided"]
    return record(op, {"self": base, "geometry": geometry, "layout": layout}, [base], [True], base)


views.regenerate = _regenerate
forward_ad.part = _as_strided
forward_ad.unpacked = define(
    "torch::autograd::Identity",
    "identity(Tensor self)",
    lambda a: a[...],
    kind="view",
    self="grad",
    samples="r(3)",
)
forward_ad.aliased = lambda t: REGISTRY["view"].function(t, t._array.shape)
