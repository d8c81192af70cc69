"""Functions that are made of other operations, as PyTorch makes them, and counts that have no derivative."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ... import errors
from ...autograd.levels import elements as array_of
from ...autograd.levels import is_batched
from ...autograd.state import local
from ...autograd.tensor import Tensor, wrap
from ..comparison import where
from ..core.checks import check_tensor, dim_index, dims_of, int_of, ints_of, numpy_names
from ..core.complex_rule import only_real
from ..core.op import define, operation
from ..core.results import as_int64, into
from ..join_split import cat, stack
from ..linear import dot, mm
from ..shape import _unsafe_view
from .linalg_norms import vector_norm
from .order import sort
from .spread import std, var


@operation(in_place=True)
def renorm(self: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None) -> Tensor:
    """Shrink each slice along `dim` whose p-norm exceeds `maxnorm`: its norm becomes `maxnorm`.

    The other slices stay as they are. Slice i is `input.select(dim, i)`.

    Args:
        p: Which p-norm to use: 2 is the Euclidean length, 1 the sum of absolute values.
        dim: The dimension whose slices are measured.
        maxnorm: The largest norm that a slice may have.

    Raises:
        RuntimeError: if `p` isn't positive, `maxnorm` is negative, or there are fewer than two
            dimensions.

    Example:
        >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    if out is not None:
        return into("renorm", out, renorm, self, p, dim, maxnorm, exact=True)
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if self._array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self._array.ndim} dimensions")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    dim = dim_index(dim, self._array.ndim)
    lengths = vector_norm(self, p, [d for d in range(self._array.ndim) if d != dim], keepdim=True)
    return self * where(lengths > maxnorm, maxnorm / (lengths + 1e-7), 1.0)


# Arrangements.


@operation()
def tile(self: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """Return a copy of the tensor in which dimension i is repeated `dims[i]` times.

    Unlike in `repeat`, `dims` may have fewer numbers than the tensor has dimensions. The numbers
    then belong to the last dimensions.
    """
    times = ints_of("tile", "dims", given, dims)
    return self.repeat((1,) * (self._array.ndim - len(times)) + times)


@operation()
def flipud(self: Tensor) -> Tensor:
    """Return the elements in reverse order along the first dimension."""
    if not self._array.ndim:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip(0)


@operation()
def fliplr(self: Tensor) -> Tensor:
    """Return the elements in reverse order along the second dimension."""
    if self._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip(1)


@operation()
def msort(self: Tensor) -> Tensor:
    """Return the elements sorted along the first dimension."""
    return sort(self, 0)[0]


@operation()
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Return the elements that `indices` selects along `dim`, like `gather`, with broadcasting.

    If `dim` is omitted, the indices refer to the flattened tensor.

    Args:
        indices: int64. In all dimensions except `dim`, it is broadcast together with the tensor.

    Example:
        >>> t = torch.tensor([[3, 1, 2], [6, 5, 4]])
        >>> torch.take_along_dim(t, torch.argmin(t, dim=1, keepdim=True), dim=1)
        tensor([[1],
                [4]])
    """
    check_tensor("take_along_dim", "indices", 1, indices)
    if dim is None:
        return self.reshape(-1).gather(0, indices.reshape(-1))
    if self._array.ndim != indices._array.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self._array.ndim} dimensions for input, and {indices._array.ndim} dimensions for indices"
        )
    dim = dim_index(dim, self._array.ndim)
    around = [s[:dim] + (1,) + s[dim + 1 :] for s in (self._array.shape, indices._array.shape)]
    shape = np.broadcast_shapes(*around)
    wide = [t.expand(shape[:dim] + (t._array.shape[dim],) + shape[dim + 1 :]) for t in (self, indices)]
    return wide[0].gather(dim, wide[1])


@operation(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """Return all combinations of one element from each vector, one combination per row.

    Args:
        tensors: Vectors. The result has one column for each. Of a single vector, the result is the
            vector itself.
    """
    for t in tensors:
        if t._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    if len({t.dtype for t in tensors}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    shape = tuple([t._array.size for t in tensors])
    grids = [t.view((-1,) + (1,) * (len(shape) - i - 1)).expand(shape) for i, t in enumerate(tensors)]
    return stack([t.reshape(-1) for t in grids], 1)


# Products, differences, moments.


@operation()
def inner(self: Tensor, other: Tensor) -> Tensor:
    """Return the dot product of each vector of the input with each vector of `other`.

    The vectors are along the last dimension of both tensors. The result has the shape
    `(*input.shape[:-1], *other.shape[:-1])`. If one of the tensors has no dimensions, the result is
    the product of the two.
    """
    check_tensor("inner", "other", 1, other)
    a, b = self._array.shape, other._array.shape
    if not a or not b:
        return self * other
    if a[-1] != b[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}"
        )
    return tensordot(self, other, ([-1], [-1]))


@operation(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Multiply two tensors, and sum the products over pairs of dimensions.

    Args:
        dims: A number n pairs the last n dimensions of `a` with the first n of `b`. Two lists name
            the dimensions of `a` and those of `b` to pair, in order.

    Returns:
        A tensor with the remaining dimensions of `a`, then those of `b`.

    Example:
        >>> a, b = torch.ones(2, 3, 4), torch.ones(4, 3, 5)
        >>> torch.tensordot(a, b, dims=([1, 2], [1, 0])).shape
        torch.Size([2, 5])
    """
    if isinstance(dims, (int, Tensor)):
        count = int(dims)
        if count < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if count > min(a._array.ndim, b._array.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = list(range(a._array.ndim - count, a._array.ndim)), list(range(count))
    over_a, over_b = ([each] if isinstance(each, int) else list(each) for each in dims)
    if len(over_a) != len(over_b):
        raise RuntimeError("both dimension lists should have same length")
    over_a = [dim_index(d, a._array.ndim) for d in over_a]
    over_b = [dim_index(d, b._array.ndim) for d in over_b]
    for one, two in zip(over_a, over_b, strict=True):
        if (n := a._array.shape[one]) != (m := b._array.shape[two]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {one} and second has size {m} "
                f"in dim {two}"
            )
    rest_a = [d for d in range(a._array.ndim) if d not in over_a]
    rest_b = [d for d in range(b._array.ndim) if d not in over_b]
    if not rest_a and not rest_b and len(over_a) == 1:
        return dot(a.permute(0), b.permute(0)).view(())
    size = math.prod([a._array.shape[d] for d in over_a])
    shape = [*(a._array.shape[d] for d in rest_a), *(b._array.shape[d] for d in rest_b)]
    rows = a.permute(rest_a + over_a).reshape(math.prod([a._array.shape[d] for d in rest_a]), size)
    columns = b.permute(over_b + rest_b).reshape(size, math.prod([b._array.shape[d] for d in rest_b]))
    return mm(rows, columns).reshape(shape)


@operation()
def kron(self: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: each element of the input times the whole of `other`.

    Along each dimension, the size of the result is the product of the two sizes. Missing dimensions
    in front count as size 1.

    Example:
        >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2, 3]))
        tensor([ 1,  2,  3, 10, 20, 30])
    """
    check_tensor("kron", "other", 1, other)
    ndim = builtins.max(self._array.ndim, other._array.ndim)
    a, b = ((1,) * (ndim - t._array.ndim) + t._array.shape for t in (self, other))
    one = _unsafe_view(self.contiguous(), tuple([n for m in a for n in (m, 1)]))
    two = _unsafe_view(other.contiguous(), tuple([n for m in b for n in (1, m)]))
    return _unsafe_view(one * two, tuple([n * m for n, m in zip(a, b, strict=True)]))


@operation()
def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the difference between each element and the one before it, along `dim`.

    In the result, the size along `dim` is smaller by `n`. For bool, the result is True where
    neighbors differ.

    Args:
        n: How often to take differences. 2 gives the differences of the differences.
        prepend: A tensor to put in front of the input before differences are taken. Its shape is
            that of the input, except along `dim`.
        append: A tensor to put after the input before differences are taken, of such a shape.
    """
    if not self._array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    n = int_of("diff", "n", 1, n)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = dim_index(dim, self._array.ndim)
    if not n:
        return self.clone()
    parts = [t for t in (prepend, self, append) if t is not None]
    out = self if len(parts) == 1 else cat(parts, dim)
    for _ in range(builtins.min(n, out._array.shape[dim])):
        size = out._array.shape[dim] - 1
        later, earlier = out.narrow(dim, 1, size), out.narrow(dim, 0, size)
        out = later.logical_xor(earlier) if out._array.dtype.kind == "b" else later - earlier
    return out


@operation(method=False, also=("trapz",))
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Return the area under the curve that joins the points `y` with straight lines, along `dim`.

    Args:
        y: The heights of the points.
        x: The positions of the points: a vector for all rows, or a tensor that broadcasts with `y`.
        dx: The distance between neighboring points, if `x` is omitted.
        dim: The dimension of the points. It is removed from the result. One point has the area 0.

    Example:
        >>> y = torch.tensor([[0.0, 1.0, 2.0], [3.0, 3.0, 3.0]])
        >>> torch.trapezoid(y), torch.trapezoid(y, torch.tensor([0.0, 1.0, 4.0]))
        (tensor([2., 6.]), tensor([ 5., 12.]))
    """
    _no_masks("trapezoid", y)
    if not y._array.ndim:
        raise IndexError(errors.NO_DIMS.format(dim))
    dim = dim_index(dim, y._array.ndim)
    if not y._array.shape[dim]:
        return y.detach().sum(dim)
    if x is None:
        ends = y.select(dim, 0) + y.select(dim, -1)
        return (y.sum(dim) - ends * 0.5) * dx
    wide, heights = _widths(y, x, dim)
    return (wide * heights).sum(dim) / 2.0


@operation(method=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Return the area under a curve through the points `y`, up to each point after the first.

    In the result, the size along `dim` is smaller by 1.

    Args:
        y: The heights of the points.
        x: The positions of the points: a vector for all rows, or a tensor that broadcasts with `y`.
        dx: The distance between neighboring points, if `x` is omitted.
        dim: The dimension of the points.
    """
    _no_masks("cumulative_trapezoid", y)
    if not y._array.ndim:
        raise IndexError(errors.SLICE_NO_DIMS)
    dim = dim_index(dim, y._array.ndim)
    if x is None:
        size = max(0, y._array.shape[dim] - 1)
        return ((y.narrow(dim, 1, size) + y.narrow(dim, 0, size)) * (dx / 2.0)).cumsum(dim)
    wide, heights = _widths(y, x, dim)
    return (wide * heights).cumsum(dim) / 2.0


def _no_masks(name: str, y: Tensor) -> None:
    if y._array.dtype.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")


def _widths(y: Tensor, x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return how far points are apart, and the sum of their two heights."""
    size = y._array.shape[dim] - 1
    if x._array.ndim == 1:
        x, along = x.view((-1,) + (1,) * (y._array.ndim - dim - 1)), 0
    else:
        along = dim
    return diff(x, 1, along), y.narrow(dim, 1, size) + y.narrow(dim, 0, size)


@operation(method=False)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """Return the distance from each row of `x1` to each row of `x2`.

    Shapes (..., n, d) and (..., m, d) give the shape (..., n, m). The gradient of the distance
    between two equal rows is 0.

    Args:
        p: Which p-norm to use: 2 is the Euclidean distance, 1 the Manhattan distance.

    Example:
        >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    for name, t in (("X1", x1), ("X2", x2)):
        only_real(f"R:cdist only supports floating-point dtypes, {name} got: {t.dtype.word}", t)
        if t._array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {t._array.ndim}D")
    if (n := x1._array.shape[-1]) != (m := x2._array.shape[-1]):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {n} X2: {m}")
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


def _with_mean(name: str, spread: Any) -> Any:
    def both(
        self: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
    ) -> tuple[Tensor, Tensor]:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        free = (1 if unbiased else 0) if correction is None else correction
        dims = dims_of(dim, self._array.ndim)
        return spread(self, dim, correction=free, keepdim=keepdim), self.mean(dims, keepdim)

    both.__name__ = both.__qualname__ = name
    word = "variance" if spread is var else "standard deviation"
    both.__doc__ = (
        f"Return a pair: the {word} and the mean, of all elements or over `dim`.\n\n"
        "Args:\n    dim, keepdim: The same as in `sum`.\n"
        "    unbiased: The older name of `correction`: True means 1, False means 0.\n"
        f"    correction: Divide by `n - correction` in the {word}. By default, it is 1."
    )
    return operation(method=False)(numpy_names(both))


var_mean, std_mean = _with_mean("var_mean", var), _with_mean("std_mean", std)


# Counts and places: no derivative.


@operation()
def argwhere(self: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, as an int64 matrix with one row for each of them."""
    return self.nonzero()


@operation()
def count_nonzero(self: Tensor, dim: Any = None) -> Tensor:
    """Return the number of nonzero elements, in the whole tensor or over the dimensions `dim`."""
    return (self != 0).sum(dims_of(dim, self._array.ndim))


@operation()
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each of the numbers 0, 1, 2 and so on occurs in a vector of integers.

    Args:
        weights: A vector with a weight for each element. The result then contains sums of weights
            instead of counts.
        minlength: The minimum length of the result.

    Example:
        >>> torch.bincount(torch.tensor([0, 2, 2]))
        tensor([1, 0, 2])
    """
    if is_batched(self) is not None or (weights is not None and is_batched(weights) is not None):
        raise RuntimeError("vmap: the workbench has no rule for bincount over a batch; call it outside of vmap")
    a = array_of(self)
    if a.dtype.kind not in "iu":
        raise NotImplementedError(errors.NO_KERNEL.format("bincount_cpu", self.dtype.word))
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if a.ndim != 1 or (a.size and a.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._array.shape != a.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counts = np.bincount(a, None if weights is None else array_of(weights), minlength)
    if weights is None:
        return wrap(as_int64(counts))
    return wrap(counts.astype(np.float32 if weights._array.dtype == np.float32 else np.float64))


def _places_of(found: np.ndarray, edges: np.ndarray, right: bool, small: bool) -> np.ndarray:
    """Return where each number belongs among ascending edges, in one row or in as many as the numbers have."""
    side = "right" if right else "left"
    if edges.ndim == 1:
        at = np.searchsorted(edges, found, side)
    else:
        if not found.ndim:
            raise RuntimeError(
                "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we "
                f"got boundaries tensor dim({edges.ndim}) and input value's dim(0) numel(1)"
            )
        if edges.shape[:-1] != found.shape[:-1]:
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                "boundaries tensor and input value tensor must match, but we got boundaries tensor "
                f"{list(edges.shape)} and input value tensor {list(found.shape)}"
            )
        rows = zip(edges.reshape(-1, edges.shape[-1]), found.reshape(-1, found.shape[-1]), strict=True)
        at = np.array([np.searchsorted(row, wanted, side) for row, wanted in rows]).reshape(found.shape)
    return np.asarray(at, np.int32 if small else np.int64)


_places = define("places_of(Tensor values, Tensor edges, right, small)", _places_of, node="searchsorted")


def _placed(values: Any, edges: Tensor, right: bool, small: bool) -> Tensor:
    if not isinstance(values, Tensor):
        values = wrap(np.asarray(values, edges._array.dtype if edges._array.dtype.kind == "f" else None))
    return _places(values, edges, right, small)


@operation(method=False)
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None
) -> Tensor:
    """Return the index at which to insert each number into a sorted sequence to keep it sorted.

    The result has the shape of `input`. Its dtype is int64, or int32 with `out_int32`.

    Args:
        sorted_sequence: A sorted vector, or sorted vectors (..., n), one for each row of `input`.
        input: The numbers to insert: a tensor or one number.
        out_int32: Return int32 instead of int64.
        right: If elements equal the number, return the index after them, not before them.
        side: "left" or "right": another spelling of `right=False` or `right=True`.

    Example:
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
        tensor([1, 2])
    """
    only_real("searchsorted_out_cpu", sorted_sequence)
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    return _placed(input, sorted_sequence, right or side == "right", out_int32)


@operation(method=False)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Return the index of the bucket that contains each element, given the sorted boundaries.

    Bucket 0 contains the elements up to `boundaries[0]`, bucket 1 those up to `boundaries[1]`, and
    so on. `bucketize` equals `searchsorted(boundaries, input)`.

    Args:
        out_int32: Return int32 instead of int64.
        right: Put an element that equals a boundary into the bucket above the boundary, not below.

    Example:
        >>> torch.bucketize(torch.tensor([0, 1, 2, 9]), torch.tensor([1, 5]))
        tensor([0, 0, 1, 2])
    """
    if boundaries._array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    only_real("searchsorted_out_cpu", boundaries)
    return _placed(input, boundaries, right, out_int32)


_isin = define(
    "isin_of(Tensor elements, Tensor tests, unique, invert)",
    lambda one, two, unique, invert: np.asarray(np.isin(one, two, unique, invert)),
    node="isin",
)


@operation(method=False)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Return True for each element of `elements` that equals one in `test_elements`.

    The result has the shape of `elements`. nan isn't equal to anything, so it never occurs.

    Args:
        elements: A tensor, or a number if `test_elements` is a tensor.
        test_elements: A tensor of any shape, or a number if `elements` is a tensor.
        assume_unique: Accepted for compatibility; it has no effect.
        invert: Return True for the elements that don't occur in `test_elements`.

    Example:
        >>> torch.isin(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 4, 6]))
        tensor([[False,  True],
                [False,  True]])
    """
    one, two = (t if isinstance(t, Tensor) else wrap(np.asarray(t)) for t in (elements, test_elements))
    if "b" in (one._array.dtype.kind, two._array.dtype.kind):
        raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    return _isin(one, two, assume_unique, invert)


@operation()
def unique(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the distinct elements in ascending order, or the distinct slices along `dim`.

    Args:
        sorted: Accepted for compatibility: the result is always sorted.
        return_inverse: Also return, for each input element, its index in the result.
        return_counts: Also return how often each element occurs.
        dim: Compare the slices along this dimension instead of the elements.

    Example:
        >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    name = "_unique2" if dim is None else "unique_dim"
    only_real("unique" if dim is None else name, self)
    if is_batched(self) is not None:
        raise RuntimeError(errors.VMAP_DYNAMIC.format(name))
    if self.requires_grad and local.modes.grad:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")
    a = array_of(self)
    axis = None if dim is None else dim_index(dim, a.ndim)
    values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True, axis=axis)
    found = [wrap(values)]
    if return_inverse:
        found.append(wrap(as_int64(inverse.reshape(a.shape if axis is None else -1))))
    if return_counts:
        found.append(wrap(as_int64(counts)))
    return found[0] if len(found) == 1 else tuple(found)
