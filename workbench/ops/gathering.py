"""Elements looked up by an index for each, and put where it says; elements under a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor, wrap
from .compile import TENSORS
from .declare import define, in_formulas, method
from .index_refusals import check_added, check_mask, check_places, check_selected, check_tensor
from .naming import numpy_names
from .refusals import check_broadcast, tensors_only
from .shapes import sum_to_array

Places = tuple[np.ndarray, ...]


def _places(index: np.ndarray, dim: int) -> Places:
    """NumPy's indices of what an index tensor names: its own places, but along `dim` the elements it holds."""
    index = np.atleast_1d(index)
    places = [np.arange(n).reshape((-1,) + (1,) * (index.ndim - i - 1)) for i, n in enumerate(index.shape)]
    places[dim] = index
    return tuple(places)


def _gather_of(a: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    if not index.size:
        return np.empty(index.shape, a.dtype)
    return np.atleast_1d(a)[_places(index, dim)].reshape(index.shape)


def _put_at(a: np.ndarray, dim: int, index: np.ndarray, src: Any, add: bool) -> np.ndarray:
    out = a.copy()
    if not index.size:
        return out
    places, values = _places(index, dim), src
    if isinstance(src, np.ndarray) and src.ndim:
        values = src[tuple(slice(n) for n in index.shape)]
    if add:
        np.add.at(np.atleast_1d(out), places, values)
    else:
        np.atleast_1d(out)[places] = values
    return out


def _fitting(grad: Any, shape: tuple[int, ...], node: str) -> Any:
    """A gradient for `src`; RuntimeError where `src` was larger than its index."""
    if grad.shape != shape:
        got, want = list(grad.shape), list(shape)
        raise RuntimeError(errors.INVALID_GRADIENT_SHAPE.format(node, 1, got, want))
    return grad


in_formulas("fitting", _fitting, _fitting)
_gather = define(
    "GatherBackward0",
    "gather(Tensor self, dim, Kept index)",
    _gather_of,
    self="scatter_add(zeros_like(self), dim, index, grad)",
    tangent="linear",
    samples="r(4), 0, w.tensor([2, 0, 2]); r(2, 3), 1, w.tensor([[0, 0, 2]]); r(), 0, w.tensor(0)",
)
_scatter_add = define(
    "ScatterAddBackward0",
    "scatter_add(Tensor self, dim, Kept index, Tensor src)",
    lambda a, dim, index, src: _put_at(a, dim, index, src, add=True),
    self="grad",
    src="fitting(gather(grad, dim, index), src.shape, 'ScatterAddBackward0')",
    samples="r(4), 0, w.tensor([2, 0, 2]), r(3); r(2, 3), 1, w.tensor([[1, 1]]), r(1, 2)",
)
_scatter = define(
    "ScatterBackward0",
    "scatter(Tensor self, dim, Kept index, Tensor src)",
    lambda a, dim, index, src: _put_at(a, dim, index, src, add=False),
    self="scatter_number(grad, dim, index, 0)",
    src="fitting(gather(grad, dim, index), src.shape, 'ScatterBackward0')",
    samples="r(4), 0, w.tensor([2, 0]), r(2); r(2, 3), 1, w.tensor([[1, 2]]), r(1, 2)",
)
_scatter_number = define(
    "ScatterBackward1",
    "scatter_number(Tensor self, dim, Kept index, value)",
    lambda a, dim, index, value: _put_at(a, dim, index, value, add=False),
    self="scatter_number(grad, dim, index, 0)",
    tangent="scatter_number(self_t, dim, index, 0)",
    samples="r(4), 0, w.tensor([2, 0]), 2.0",
)


def _added(a: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: float) -> np.ndarray:
    out, added = a.copy(), np.atleast_1d(source)
    if alpha != 1:
        added = added * source.dtype.type(alpha)
    np.add.at(np.moveaxis(np.atleast_1d(out), dim, 0), np.atleast_1d(index), np.moveaxis(added, dim, 0))
    return out


in_formulas("expand_as", lambda a, like: np.broadcast_to(a, like.shape), lambda t, like: t.expand(like.shape))
in_formulas("times", *(lambda x, number: x if number == 1 else x * number,) * 2)
_index_add = define(
    "IndexAddBackward0",
    "index_add(Tensor self, dim, Kept index, Tensor source, alpha)",
    _added,
    self="grad",
    source="times(expand_as(index_select(grad, dim, index), source), alpha)",
    tangent="linear",
    samples="r(3), 0, w.tensor([2, 0]), r(2), 1; r(2, 3), 1, w.tensor([1, 1]), r(2, 2), 2.5",
)
_index_select = define(
    "IndexSelectBackward0",
    "index_select(Tensor self, dim, Kept index)",
    lambda a, dim, index: np.take(a, np.atleast_1d(index), dim) if a.ndim else a.copy(),
    self="index_add(zeros(self.shape, grad), dim, index, grad, 1)",
    samples="r(3), 0, w.tensor([2, 0, 2]); r(2, 3), 1, w.tensor([1])",
)


def _filled(a: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    out = np.broadcast_to(a, np.broadcast_shapes(a.shape, mask.shape)).copy()
    np.copyto(out, value, casting="unsafe", where=mask)
    return out


_fill_number = define(
    "MaskedFillBackward0",
    "masked_fill_number(Tensor self, Kept mask, value)",
    _filled,
    kind="assign",
    self="masked_fill_number(grad, mask, 0)",
    tangent="masked_fill_number(self_t, mask, 0)",
    samples="r(3), b(3), 2.0; r(3), b(2, 3), 2.0",
)
_fill = define(
    "MaskedFillBackward1",
    "masked_fill(Tensor self, Kept mask, Tensor value)",
    _filled,
    kind="assign",
    self="masked_fill_number(grad, mask, 0)",
    value="where(mask, grad, 0)",
    samples="r(3), b(3), r(); r(2, 1), b(2, 3), r()",
)


def _selected(a: np.ndarray, mask: np.ndarray) -> np.ndarray:
    a, mask = np.broadcast_arrays(a, mask)
    return a[mask]


def _unselected(grad: np.ndarray, a: np.ndarray, mask: np.ndarray) -> np.ndarray:
    out = np.zeros(np.broadcast_shapes(a.shape, mask.shape), grad.dtype)
    out[np.broadcast_to(mask, out.shape)] = grad
    return sum_to_array(out, a.shape)


def _unselected_tensor(grad: Tensor, t: Tensor, mask: Tensor) -> Tensor:
    shape = np.broadcast_shapes(t.shape, mask.shape)
    where = np.broadcast_to(mask._array, shape)
    return TENSORS["index_backward"](grad, shape, (wrap(where),)).sum_to_size(t.shape)


in_formulas("unselected", _unselected, _unselected_tensor)
_masked_select = define(
    "MaskedSelectBackward0",
    "masked_select(Tensor self, Kept mask)",
    _selected,
    self="unselected(grad, self, mask)",
    tangent="linear",
    samples="r(4), w.tensor([True, False, True, True]); r(3), w.tensor([[True, False, True], [True, True, False]])",
)


@method()
@numpy_names
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """For each place of `index` the element that it names along `dim`."""
    return _gather(self, check_places("gather", self, dim, index), index)


@method()
def scatter(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: float | None = None) -> Tensor:
    """A copy in which the elements of `src` (or one number) have gone where `index` says along `dim`."""
    if not isinstance(src, Tensor):
        return _scatter_number(self, check_places("scatter", self, dim, index), index, value if src is None else src)
    return _scatter(self, check_places("scatter", self, dim, index, src), index, src)


@method()
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy in which the elements of `src` have been added where `index` says along `dim`."""
    check_tensor("scatter_add", "index", 2, index)
    check_tensor("scatter_add", "src", 3, src)
    return _scatter_add(self, check_places("scatter", self, dim, index, src), index, src)


@method()
@tensors_only()
def masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with one number (or a tensor without dimensions) wherever the mask is true."""
    check_mask(mask)
    check_broadcast([mask._array.shape, self._array.shape])
    if not isinstance(value, Tensor):
        return _fill_number(self, mask, value)
    if value._array.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    return _fill(self, mask, value)


@method()
@tensors_only()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements under the mask, as a vector."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    check_broadcast([mask._array.shape, input._array.shape])
    return _masked_select(input, mask)


@method()
def index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """A copy with source's slices (times alpha) added to those that `index` names along `dim`."""
    return _index_add(self, *check_added(self, dim, index, source, alpha))


@method()
@numpy_names
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along `dim` that a vector of indices names."""
    return _index_select(self, check_selected(self, dim, index), index)
