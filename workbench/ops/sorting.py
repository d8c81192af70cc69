"""Elements in order: sort, argsort."""

from __future__ import annotations

import numpy as np

from ..autograd.tensor import Tensor
from .declare import define, method
from .layout import lying_as
from .naming import numpy_names
from .pairs import pair
from .shapes import dim_index


def _taken(a: np.ndarray, dim: int, indices: np.ndarray) -> np.ndarray:
    return lying_as(a, np.take_along_axis(a, indices, dim)) if a.ndim else a.copy()


_sort = define(
    "SortBackward0",
    "sorted_values(Tensor self, dim; Kept indices)",
    _taken,
    self="put(grad, self.shape, dim, True, indices)",
    samples="r(4), 0, w.argsort(r(4)); r(2, 3), 1, w.argsort(r(2, 3))",
)
sort_result = pair("sort")


def _order(a: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    if descending:
        a = -a if a.dtype.kind == "f" else ~a  # the least integer and bytes have no negative
    return np.argsort(a, axis=dim, kind="stable") if a.ndim else np.zeros((), np.int64)


_argsort = define("argsort", "argsort(Tensor self, dim, descending)", lambda a, *how: lying_as(a, _order(a, *how)))


@method()
@numpy_names
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """The indices that put the elements in order along `dim`; equal elements keep their order."""
    return _argsort(self, dim_index(dim, self._array.ndim), descending)


@method()
@numpy_names
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> sort_result:
    """(values, indices): the elements in order along `dim`, and where each came from."""
    indices = argsort(self, dim, descending)
    return sort_result(_sort(self, dim_index(dim, self._array.ndim), indices), indices)
