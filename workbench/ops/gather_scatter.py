"""Elements that an index names along a dimension, taken and written: gather, scatter, scatter_add."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd.levels import elements
from ..autograd.tensor import Tensor
from .core.checks import INT64, all_within, check_tensor, dim_index, held, number_of, numpy_names
from .core.op import define, operation
from .core.registry import in_formulas
from .core.results import places_along
from .sums import is_expandable, sum_to_array

INDEX_DTYPES = (INT64, np.dtype(np.int32))


def _outside(index: Tensor, size: int) -> int | None:
    """Return the first index that names no element."""
    every = elements(index)
    if all_within(every, size):
        return None
    outside = every[(every < 0) | (every >= size)]
    return outside.flat[0] if outside.size else None


def check_places(function: str, t: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> int:
    """Check the arguments of gather and scatter; return the dimension, counted from the front."""
    check_tensor(function, "index", 2, index)
    shape, places = t._array.shape or (1,), index._array.shape or (1,)
    dim = dim_index(dim, len(shape))
    usual = places == shape and index._array.dtype is INT64 and index._array.size
    if not usual or (src is not None and (src._array.shape != shape or src._array.dtype is not t._array.dtype)):
        _check_sizes(function, t, dim, index, src)
    outside = _outside(index, shape[dim])
    if outside is not None:
        place = dim + max(elements(x).ndim - x._array.ndim for x in (t, index))
        raise RuntimeError(errors.INDEX_RANGE.format(outside, place, shape[dim]))
    return dim


def _check_sizes(function: str, t: Tensor, dim: int, index: Tensor, src: Tensor | None) -> None:
    shape, places = t._array.shape or (1,), index._array.shape or (1,)
    empty = not index._array.size
    if not empty and index._array.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype is not t.dtype:
        raise RuntimeError(f"{function}(): Expected self.dtype to be equal to src.dtype")
    if empty:  # and all else is overlooked
        return
    whom = "input" if function == "gather" else "self"
    if len(places) != len(shape):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whom} tensor")
    if src is not None and 0 < src._array.ndim < len(places):
        dim_index(src._array.ndim, src._array.ndim)
    if src is not None and len(places) != (src._array.ndim or 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    too_large = next((d for d, n in enumerate(places) if d != dim and n > shape[d]), None)
    if function == "gather" and too_large is not None:
        raise RuntimeError(
            f"Size does not match at dimension {too_large} expected index {list(places)} to be no larger than self "
            f"{list(shape)} apart from dimension {dim}"
        )
    beyond = src is not None and any(n > m for n, m in zip(places, src._array.shape or (1,), strict=True))
    if too_large is not None or beyond:
        wanted = f"no larger than self {list(t._array.shape)} apart from dimension {dim}"
        if src is not None:
            wanted += f" and to be no larger size than src {list(src._array.shape)}"
        raise RuntimeError(f"Expected index {list(places)} to be {wanted}")


def _gather_of(a: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    if not index.size:
        return np.empty(index.shape, a.dtype)
    return (a if a.ndim else a.reshape(1))[places_along(index, dim)].reshape(index.shape)


def _put_at(a: np.ndarray, dim: int, index: np.ndarray, src: Any, add: bool) -> np.ndarray:
    out = np.asarray(a.copy())  # NumPy makes a scalar, which cannot be written, of a result without dimensions
    if not index.size:
        return out
    places, values = places_along(index, dim), src
    if isinstance(src, np.ndarray) and src.ndim and src.shape != index.shape:
        values = src[tuple([slice(n) for n in index.shape or (1,)])]
    whole = out if out.ndim else out.reshape(1)
    if add:
        np.add.at(whole, places, values)
    else:
        whole[places] = values
    return out


def _fitting(grad: Any, shape: tuple[int, ...], node: str) -> Any:
    """Return a gradient for `src`, summed if that had no dimension; RuntimeError if `src` was larger than its index."""
    if grad.shape == shape:
        return grad
    if not is_expandable(shape, grad.shape):
        got, want = list(grad.shape), list(shape)
        raise RuntimeError(errors.INVALID_GRADIENT_SHAPE.format(node, 1, got, want))
    return sum_to_array(grad, shape) if isinstance(grad, np.ndarray) else grad.sum_to_size(shape)


in_formulas("fitting", _fitting)
_gather = define(
    "gather(Tensor self, dim, Kept index)",
    _gather_of,
    self="scatter_add(zeros_like(self), dim, index, grad)",
    tangent="linear",
)
_scatter_add = define(
    "scatter_add(Tensor self, dim, Kept index, Tensor src)",
    lambda a, dim, index, src: _put_at(a, dim, index, src, add=True),
    self="grad",
    src="fitting(gather(grad, dim, index), src.shape, 'ScatterAddBackward0')",
)
_scatter = define(
    "scatter(Tensor self, dim, Kept index, Tensor src)",
    lambda a, dim, index, src: _put_at(a, dim, index, src, add=False),
    self="scatter_number(grad, dim, index, 0)",
    src="fitting(gather(grad, dim, index), src.shape, 'ScatterBackward0')",
)
_scatter_number = define(
    "scatter_number(Tensor self, dim, Kept index, value)",
    lambda a, dim, index, value: _put_at(a, dim, index, value, add=False),
    node="ScatterBackward1",
    self="scatter_number(grad, dim, index, 0)",
    tangent="scatter_number(self_t, dim, index, 0)",
)


@operation()
@numpy_names
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Return the elements of the tensor that `index` selects along `dim`.

    For a matrix and `dim=0`, `out[i, j]` is `input[index[i, j], j]`. For `dim=1`, `out[i, j]` is
    `input[i, index[i, j]]`. An element that was selected several times receives the sum of the
    gradients of its copies.

    Args:
        dim: The dimension along which elements are selected.
        index: Positions along `dim`: int64, with as many dimensions as the tensor. In all
            dimensions except `dim`, its size is at most that of the tensor.
        sparse_grad: Accepted for compatibility; it has no effect.

    Returns:
        A tensor with the shape of `index`.

    Example:
        >>> scores = torch.tensor([[0.1, 0.9], [0.7, 0.3]])
        >>> labels = torch.tensor([[1], [0]])
        >>> torch.gather(scores, 1, labels)
        tensor([[0.9000],
                [0.7000]])
    """
    return _gather(self, check_places("gather", self, dim, index), index)


@operation(in_place="along")
def scatter(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: float | None = None) -> Tensor:
    """Return a copy with each element of `src` written to its position in `index` along `dim`.

    `scatter` is the opposite of `gather`. For a matrix and `dim=0`, `src[i, j]` is written to
    `out[index[i, j], j]`. The elements that were overwritten receive a gradient of 0. If several
    elements go to the same position, only one of them is written, but all of them receive the
    gradient of that position, as in PyTorch.

    Args:
        index: Positions along `dim`: int64, with as many dimensions as the tensor.
        src: A tensor at least as large as `index`, or a number. A number may also be passed as
            `value`.

    Example:
        >>> torch.zeros(2, 3).scatter(1, torch.tensor([[2], [0]]), torch.tensor([[5.0], [6.0]]))
        tensor([[0., 0., 5.],
                [6., 0., 0.]])
    """
    if not isinstance(src, Tensor):
        number = held(number_of("scatter", "value", 3, value if src is None else src), self.dtype)
        return _scatter_number(self, check_places("scatter", self, dim, index), index, number)
    return _scatter(self, check_places("scatter", self, dim, index, src), index, src)


@operation(in_place="along")
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return a copy with each element of `src` added at its position in `index` along `dim`.

    For a matrix and `dim=0`, `src[i, j]` is added to `out[index[i, j], j]`. Elements that go to the
    same position are all added. The gradient of an element of `src` is the gradient at its
    position.

    Args:
        index: Positions along `dim`: int64, with as many dimensions as the tensor.
        src: A tensor at least as large as `index`.

    Example:
        >>> votes = torch.tensor([0, 2, 2])
        >>> torch.zeros(3).scatter_add(0, votes, torch.ones(3))
        tensor([1., 0., 2.])
    """
    check_tensor("scatter_add", "index", 2, index)
    check_tensor("scatter_add", "src", 3, src)
    return _scatter_add(self, check_places("scatter", self, dim, index, src), index, src)
