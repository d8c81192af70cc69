"""Putting tensors together, and views of their parts: cat, stack, narrow, select, diagonal, split, unbind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.complex_tensor import is_complex
from ..autograd.tensor import Tensor
from .core import checks
from .core.checks import dim_index, int_of, ints_of, is_int, named, numpy_names
from .core.op import define, method, operation
from .core.registry import ARRAYS, TENSORS, in_formulas
from .core.results import in_rows, into
from .indexing import WHOLE, _at, _select, _slice

Shape = tuple[int, ...]


def _pieces(a: np.ndarray, sizes: Shape, dim: int) -> list[np.ndarray]:
    before, start, pieces = WHOLE * dim, 0, []
    for size in sizes:
        pieces.append(a[(*before, slice(start, start + size))])
        start += size
    return pieces


def _equal_sizes(size: int, whole: int) -> Shape:
    """Return the sizes of the pieces of a dimension cut after every `size` elements."""
    if not whole:
        return (0,)
    return (size,) * (whole // size) + ((whole % size,) if whole % size else ())


def _joined(words: dict[str, Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the gradient of the whole from those of the pieces, some of which may be missing."""

    def known(grads: list[Any], shapes: list[Shape]) -> list[Any] | None:
        like = next((g for g in grads if g is not None), None)
        if like is None:
            return None
        return [words["zeros"](s, like) if g is None else g for g, s in zip(grads, shapes, strict=True)]

    def split_backward(grads: list[Any], sizes: Shape, dim: int, shape: Shape) -> Any:
        pieces = known(grads, [(*shape[:dim], size, *shape[dim + 1 :]) for size in sizes])
        return None if pieces is None else words["cat"](pieces, dim, sizes)

    def unbind_backward(grads: list[Any], dim: int, shape: Shape) -> Any:
        pieces = known(grads, [shape[:dim] + shape[dim + 1 :]] * len(grads))
        return None if pieces is None else words["stack"](pieces, dim)

    return split_backward, unbind_backward


for _name, _arrays, _tensors in zip(
    ("split_backward", "unbind_backward"), _joined(ARRAYS), _joined(TENSORS), strict=True
):
    in_formulas(_name, _arrays, _tensors)
in_formulas("equal_sizes", _equal_sizes)

_split = define(
    "split(Tensor self, split_size, dim)",
    lambda a, split_size, dim: _pieces(a, _equal_sizes(split_size, a.shape[dim]), dim),
    kind="views",
    self="split_backward(grad, equal_sizes(split_size, self.shape[dim]), dim, self.shape)",
)
_split_with_sizes = define(
    "split_with_sizes(Tensor self, split_sizes, dim)",
    _pieces,
    kind="views",
    self="split_backward(grad, split_sizes, dim, self.shape)",
)
_unbind = define(
    "unbind(Tensor self, dim)",
    lambda a, dim: [a[(*WHOLE * dim, i, ...)] for i in range(a.shape[dim])],  # `...`: an array also of one element
    kind="views",
    self="unbind_backward(grad, dim, self.shape)",
)


def _diagonal_of(a: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    out = a.diagonal(offset, dim1, dim2)
    if a.flags.writeable:
        out.setflags(write=True)  # NumPy's own may only be read
    return out


def _on_diagonal(grad: np.ndarray, shape: Shape, offset: int, dim1: int, dim2: int) -> np.ndarray:
    out = np.zeros(shape, grad.dtype)
    _diagonal_of(out, offset, dim1, dim2)[...] = grad
    return out


_diagonal = define(
    "diagonal(Tensor self, offset, dim1, dim2)",
    _diagonal_of,
    kind="view",
    self="diagonal_backward(grad, self.shape, offset, dim1, dim2)",
)
define(
    "diagonal_backward(Tensor grad_output, input_sizes, offset, dim1, dim2)",
    _on_diagonal,
    grad_output="diagonal(grad, offset, dim1, dim2)",
)

_diagonal_copied = define(
    "diagonal_copied(Tensor self, offset, dim1, dim2)",
    lambda a, *where: _diagonal_of(a, *where).copy(),
    node="DiagonalBackward0_copy",
    self="diagonal_backward(grad, self.shape, offset, dim1, dim2)",
)
_trace = define(
    "trace_of(Tensor self)",
    lambda a: a.trace(dtype=np.int64 if a.dtype.kind in "iu" else None),
    node="TraceBackward0",
    self="diagonal_backward(expand(grad, smallest(self.shape)), self.shape, 0, 0, 1)",
)
in_formulas("smallest", lambda shape: (min(shape),))


def _embedded(a: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    """Return matrices in two dimensions with the last dimension on a diagonal."""
    side = a.shape[-1] + abs(offset)
    shape = list(a.shape[:-1])
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, side)
    return _on_diagonal(a, tuple(shape), offset, dim1, dim2)


_diag_embed = define(
    "diag_embed(Tensor self, offset, dim1, dim2)",
    _embedded,
    batch="new dims",
    self="diagonal(grad, offset, dim1, dim2)",
)


@operation()
@numpy_names
def narrow(self: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Return a view of `length` elements along `dim`, starting at index `start`.

    For `dim=0`, it is the same as `t[start:start + length]`.
    """
    if not self._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError(errors.NEGATIVE_LENGTH)
    dim, start = dim_index(dim, self._array.ndim), int(start)
    size = self._array.shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return _slice(self, dim, start, start + length, 1)


@operation()
@numpy_names
def select(self: Tensor, dim: int, index: int) -> Tensor:
    """Return a view of the slice at `index` along `dim`, without this dimension.

    For `dim=0`, it is the same as `t[index]`.
    """
    if not self._array.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = dim_index(dim, self._array.ndim)
    size = self._array.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self._array.shape)} at dimension {dim}"
        )
    return _select(self, dim, int(index) % size)


@operation()
def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of the diagonals of the matrices in dimensions `dim1` and `dim2`.

    These two dimensions are removed, and the diagonals become the last dimension.

    Args:
        offset: The diagonal to return: 0 is the main one, 1 the next above, -1 the next below.
        dim1: The dimension of the rows.
        dim2: The dimension of the columns.
    """
    return _diagonal(self, offset, *_two_dims(dim1, dim2, self._array.ndim))


def _two_dims(dim1: int, dim2: int, ndim: int) -> Shape:
    """Return two dimensions counted from the front; RuntimeError where they are one."""
    one, two = dim_index(dim1, ndim), dim_index(dim2, ndim)
    if one == two:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return one, two


@operation()
def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return matrices with the vectors along the last dimension as diagonals, and zeros elsewhere.

    Vectors (..., n) give matrices (..., n, n), or larger ones if `offset` isn't 0.

    Args:
        offset: The diagonal to fill: 0 is the main one, 1 the next above, -1 the next below.
        dim1: The dimension of the result that counts the rows.
        dim2: The dimension of the result that counts the columns.
    """
    offset = int_of("diag_embed", "offset", 1, offset)
    return _diag_embed(self, offset, *_two_dims(dim1, dim2, self._array.ndim + 1))


@operation()
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """Return the diagonal of a matrix, or a matrix with a vector on its diagonal.

    A matrix gives a vector: a copy of its diagonal. A vector (n,) gives a matrix (n, n), with zeros
    elsewhere.

    Args:
        diagonal: The diagonal to use: 0 is the main one, 1 the next above, -1 the next below.

    Example:
        >>> torch.diag(torch.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
    """
    ndim, diagonal = self._array.ndim, int_of("diag", "diagonal", 1, diagonal)
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    return _diag_embed(self, diagonal, 0, 1) if ndim == 1 else _diagonal_copied(self, diagonal, 0, 1)


@operation()
def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    """Return a matrix of zeros with all elements of the tensor on one diagonal.

    Args:
        offset: The diagonal to use: 0 is the main one, 1 the next above, -1 the next below.
    """
    return _diag_embed(self.contiguous().view(-1), int_of("diagflat", "offset", 1, offset), 0, 1)


@method()
def trace(self: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix (n, m)."""
    if self._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self._array.ndim}")
    checks.no_kernel("trace", self._array)
    return _trace(self)


@operation(method=False)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split the tensor along `dim` into consecutive pieces, and return views of them.

    The gradient of an element comes from the piece that contains it.

    Args:
        split_size_or_sections: An int: the size of each piece. The last piece is smaller if the
            size doesn't divide the dimension. Or a list with the size of every piece.

    Example:
        >>> torch.split(torch.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> torch.split(torch.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    if not tensor._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = dim_index(dim, tensor._array.ndim)
    whole = tensor._array.shape[dim]
    if not is_int(split_size_or_sections):
        if isinstance(split_size_or_sections, Tensor) and split_size_or_sections._array.size == 1:
            return split(tensor, int(split_size_or_sections), dim)
        if not isinstance(split_size_or_sections, (list, tuple)):
            raise TypeError(
                "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not "
                f"{errors.kind_of(split_size_or_sections)}"
            )
        return _sections(tensor, ints_of("split_with_sizes", "split_sizes", (split_size_or_sections,)), dim)
    if split_size_or_sections < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size_or_sections}")
    if whole and not split_size_or_sections:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {whole}")
    return _split(tensor, split_size_or_sections, dim)


def _sections(tensor: Tensor, sizes: Shape, dim: int) -> tuple[Tensor, ...]:
    if any(size < 0 for size in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    whole = tensor._array.shape[dim]
    if sum(sizes) != whole:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {whole} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(sizes)}"
        )
    return _split_with_sizes(tensor, sizes, dim)


@method("split")
def split_self(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split the tensor along `dim` into consecutive pieces, and return views of them.

    Args:
        split_size: An int, the size of each piece, or a list with the size of every piece. The last
            of equal pieces is smaller if the size doesn't divide the dimension.
        dim: The dimension to split.
    """
    return split(self, split_size, dim)


@operation()
@numpy_names
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split the tensor along `dim` into at most `chunks` pieces, and return views of them.

    All pieces have the same size, except that the last one may be smaller. There are fewer pieces
    if the dimension can't be split evenly: 5 elements in 4 chunks give sizes 2, 2 and 1.
    """
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if (chunks := int_of("chunk", "chunks", 1, chunks)) <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = dim_index(dim, input._array.ndim)
    whole = input._array.shape[dim]
    return _split(input, -(-whole // chunks), dim) if whole else _sections(input, (0,) * chunks, dim)


@operation()
@numpy_names
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return a tuple with a view of each slice along `dim`, without this dimension.

    Iterating over a tensor, as in `for row in t`, gives the slices for `dim=0`.
    """
    dim = dim_index(dim, input._array.ndim)
    if not input._array.ndim:
        raise IndexError(errors.NO_DIMS.format(0))
    return _unbind(input, dim)


@method("__iter__")
def iterate(self: Tensor) -> Iterator[Tensor]:
    """Return the slices along the first dimension, one after the other."""
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))


def _cat_backward(grad: Any, dim: int, sizes: tuple[int | None, ...]) -> list[Any]:
    before, start, grads = WHOLE * dim, 0, []
    for size in sizes:
        end = start + (size or 0)
        part = grad[(*before, slice(start, end))]
        grads.append(part.reshape(-1) if size is None else part)
        start = end
    return grads


def _concatenated(
    arrays: Sequence[np.ndarray], dim: int, sizes: tuple[int | None, ...], kinds: tuple[dtypes.dtype, ...] | None = None
) -> np.ndarray:
    """Return the arrays one after the other, but for vectors without elements among those of more dimensions."""
    if None in sizes:
        arrays = [a for a in arrays if a.shape != (0,)]
    return np.concatenate(arrays if kinds is None else _meeting(arrays, kinds), dim)


def _stacked(arrays: Sequence[np.ndarray], dim: int) -> np.ndarray:
    """Return what `np.stack` gives, in a quarter of its time."""
    return np.concatenate([a[_at(dim, None)] for a in arrays], axis=dim) if dim else np.array(arrays)


in_formulas("cat_backward", _cat_backward)
in_formulas(
    "in_kinds",
    lambda grads, kinds: _in_kinds(grads, kinds, lambda grad, kind: grad.astype(kind.np)),
    lambda grads, kinds: _in_kinds(grads, kinds, Tensor.to),
)


def _in_kinds(grads: list[Any], kinds: tuple[dtypes.dtype, ...] | None, to: Callable[..., Any]) -> list[Any]:
    """Return each gradient in its tensor's dtype; that of integers, which only a hook sees, stays as it arrived.

    So does a complex one of a real tensor, of which the real part is taken later.
    """
    if kinds is None:
        return grads
    least = 3 if grads and is_complex(grads[0]) else 2
    return [to(g, kind) if kind.rank >= least else g for g, kind in zip(grads, kinds, strict=True)]


_cat = define(
    "cat(Tensor[] tensors, dim; sizes, kinds=None)",
    in_rows(_concatenated),
    tensors="in_kinds(cat_backward(grad, dim, sizes), kinds)",
)
_stack = define(
    "stack(Tensor[] tensors, dim; kinds=None)",
    in_rows(lambda arrays, dim, kinds=None: _stacked(_meeting(arrays, kinds), dim)),
    batch="new dims",
    tensors="in_kinds([select(grad, dim, i) for i in range(grad.shape[dim])], kinds)",
)


def _meeting(arrays: Sequence[np.ndarray], kinds: tuple[dtypes.dtype, ...] | None) -> Sequence[np.ndarray]:
    """Return the arrays in the one dtype they meet in."""
    if kinds is None:
        return arrays
    common = dtypes.result_type([(kind, 2) for kind in kinds]).np
    return [a.astype(common, copy=False) for a in arrays]


def _kinds(tensors: Sequence[Tensor]) -> tuple[dtypes.dtype, ...] | None:
    """Return the tensors' dtypes; None where they are all the same."""
    first = tensors[0]._array.dtype
    for t in tensors:
        if t._array.dtype is not first:
            return tuple([t.dtype for t in tensors])
    return None


@operation(method=False, also=("concat", "concatenate"))
@numpy_names
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenate tensors along an existing dimension `dim`.

    In all other dimensions, their sizes must be equal. An empty vector fits any tensor. Each tensor
    receives its part of the gradient. Use `stack` to join tensors along a new dimension.

    Args:
        tensors: A list or tuple of tensors. The result has their common dtype.
        dim: The dimension along which the tensors are joined: their sizes add up there.

    Example:
        >>> a, b = torch.zeros(2, 3), torch.ones(1, 3)
        >>> torch.cat([a, b]).shape
        torch.Size([3, 3])
        >>> torch.cat([a, a], dim=1).shape, torch.stack([a, a]).shape
        (torch.Size([2, 6]), torch.Size([2, 2, 3]))
    """
    if out is not None:
        return into("cat", out, cat, tensors, dim)
    checks.check_tensors("cat", tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    shapes = [t._array.shape for t in tensors]
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    first = shapes[0]
    if shapes.count(first) == len(shapes):
        dim = dim_index(dim, len(first)) if first != (0,) else 0
        sizes: tuple[int | None, ...] = (first[dim],) * len(shapes)
    else:
        ndim = len(first if first != (0,) else next(s for s in shapes if s != (0,)))
        dim = dim_index(dim, ndim)
        checks.check_cat(shapes, dim)
        # vectors without elements are overlooked among tensors of more dimensions
        sizes = tuple([None if ndim != 1 and shape == (0,) else shape[dim] for shape in shapes])
    return _cat(tensors, dim, sizes, _kinds(tensors))


def _with_dims(t: Tensor, ndim: int) -> Tensor:
    """Return a view with at least so many dimensions, where NumPy puts new ones."""
    if not t._array.ndim:
        return t.reshape((1,) * ndim)
    if t._array.ndim == 1 and ndim > 1:
        t = t.unsqueeze(0)
    return t.unsqueeze(-1) if t._array.ndim == 2 and ndim == 3 else t


def _at_least(ndim: int) -> Any:
    def at_least(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return _with_dims(tensors[0], ndim)
        given = tensors[0] if len(tensors) == 1 else tensors
        checks.check_tensors(at_least.__name__, given)
        return tuple([_with_dims(t, ndim) for t in given])

    named(at_least, f"atleast_{ndim}d")
    at_least.__doc__ = (
        f"Return a view of each tensor with at least {ndim} dimension{'s' if ndim > 1 else ''}.\n\n"
        "Dimensions of size 1 are added where necessary. Several tensors give a tuple."
    )
    return operation(method=False)(at_least)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def _listed(name: str, tensors: Any) -> Sequence[Tensor]:
    checks.check_tensors(name, tensors)
    if not tensors:
        raise RuntimeError(errors.EMPTY_LIST.format(name))
    return tensors


@operation(method=False)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors side by side: vectors end to end, others along the second dimension."""
    rows = [_with_dims(t, 1) for t in _listed("hstack", tensors)]
    return cat(rows, int(rows[0]._array.ndim > 1))


@operation(method=False, also=("row_stack",))
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors below each other, along the first dimension; a vector counts as a row."""
    return cat([_with_dims(t, 2) for t in _listed("vstack", tensors)])


@operation(method=False)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along the third dimension.

    A vector (n,) is first reshaped to (1, n, 1), and a matrix (n, m) to (n, m, 1).
    """
    return cat([_with_dims(t, 3) for t in _listed("dstack", tensors)], 2)


@operation(method=False)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors side by side, along the second dimension; a vector counts as a column."""
    tensors = _listed("column_stack", tensors)
    return hstack([t if t._array.ndim > 1 else t.reshape(t._array.size, 1) for t in tensors])


@operation(method=False)
@numpy_names
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors of the same shape along a new dimension, which is inserted at `dim`.

    Each tensor receives its slice of the gradient. `cat` joins tensors along an existing dimension.

    Example:
        >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """
    if out is not None:
        return into("stack", out, stack, tensors, dim)
    checks.check_tensors("stack", tensors)
    if not tensors:
        raise RuntimeError(errors.EMPTY_LIST.format("stack"))
    first = tensors[0]._array
    for i, t in enumerate(tensors):
        if t._array.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 "
                f"and {list(t._array.shape)} at entry {i}"
            )
    return _stack(tensors, dim_index(dim, first.ndim + 1), _kinds(tensors))


Tensor._stack = staticmethod(stack)  # what the engine joins rows with
