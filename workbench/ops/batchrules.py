"""Rules of ops that run for a whole batch in a way of their own: matrix products, views, indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import errors
from ..autograd.tensor import Tensor, wrap
from ..autograd.views import layout_of
from .batching import Mapped, Results, alone, batches, dims_moved, flat, looped, run
from .compile import TENSORS

Ints = tuple[int, ...]


def multiplied(a: Mapped, b: Mapped, size: int) -> Tensor:
    """The product of each sample's two matrices, in one call."""
    (n, k), m, x, y = a.shape, b.shape[1], a.value, b.value
    if not b.batched:  # the batch is just more rows
        return (x.reshape(size * n, k) @ y).reshape(size, n, m)
    if not a.batched:
        rows = y.transpose(1, 2)
        if rows.is_contiguous():
            return (rows.reshape(size * m, k) @ x.t()).reshape(size, m, n).transpose(1, 2)
        return a.full(size).bmm(y)
    return x * y if k == 1 else x.bmm(y)


def _column(vector: Mapped) -> Mapped:
    return Mapped(vector.shaped((*vector.shape, 1)), vector.batched)


@batches("mm")
def _mm(op: Any, size: int, self: Mapped, mat2: Mapped) -> Results:
    return alone(multiplied(self, mat2, size))


@batches("mv")
def _mv(op: Any, size: int, self: Mapped, vec: Mapped) -> Results:
    return alone(multiplied(self, _column(vec), size).squeeze(2))


@batches("dot")
def _dot(op: Any, size: int, self: Mapped, tensor: Mapped) -> Results:
    row = Mapped(self.shaped((1, *self.shape)), self.batched)
    return alone(multiplied(row, _column(tensor), size).reshape(size))


@batches("bmm")
def _bmm(op: Any, size: int, self: Mapped, mat2: Mapped) -> Results:
    count = self.shape[0]
    x, y = (m.full(size).reshape(size * count, *m.shape[1:]) for m in (self, mat2))
    return alone(x.bmm(y).reshape(size, count, self.shape[1], mat2.shape[2]))


@batches("addmm")
def _addmm(op: Any, size: int, self: Mapped, mat1: Mapped, mat2: Mapped, beta: float, alpha: float) -> Results:
    product = multiplied(mat1, mat2, size) if mat1.batched or mat2.batched else mat1.value @ mat2.value
    added = self.aligned(2)
    return alone((product if alpha == 1 else product * alpha) + (added if beta == 1 else added * beta))


@batches("permute")
def _permute(op: Any, size: int, self: Mapped, dims: Ints) -> Results:
    return run(op, self=self.value, dims=(0, *(d % self.ndim + 1 for d in dims)))


@batches("t", "t_")
def _t(op: Any, size: int, self: Mapped) -> Results:
    return alone(TENSORS["transpose"](self.value, -2, -1) if self.ndim == 2 else TENSORS["alias"](self.value))


@batches("squeeze_all", "squeeze__all")
def _squeeze_all(op: Any, size: int, self: Mapped) -> Results:
    out = TENSORS["alias"](self.value)
    for dim in reversed(range(1, out.ndim)):
        out = TENSORS["squeeze"](out, dim)
    return alone(out)


@batches("expand")
def _expand(op: Any, size: int, /, self: Mapped, **given: Ints) -> Results:
    return run(op, self=self.aligned(len(given["size"])), size=(size, *given["size"]))


@batches("repeat")
def _repeat(op: Any, size: int, self: Mapped, repeats: Ints) -> Results:
    return run(op, self=self.aligned(len(repeats)), repeats=(1, *repeats))


@batches("flip", "squeeze_dims", "squeeze__dims")
def _turned(op: Any, size: int, /, self: Mapped, **dims: Ints) -> Results:
    return run(op, self=self.value, **{name: tuple([d + 1 for d in which]) for name, which in dims.items()})


@batches("roll")
def _roll(op: Any, size: int, self: Mapped, shifts: Ints, dims: Ints) -> Results:
    if dims:
        return run(op, self=self.value, shifts=shifts, dims=tuple([d + 1 for d in dims]))
    (out,), _ = run(op, self=flat(self.value), shifts=shifts, dims=(1,))  # the elements are one row
    return alone(out.reshape(self.value.shape))


@batches("as_strided", "strided_copy", "strided_scatter")
def _strided(op: Any, size: int, self: Mapped, geometry: Any, layout: Any) -> Results:
    """The same part of the memory of each sample, where one sample's memory lies behind the other's."""
    (shape, strides, offset), array = geometry, self.value._array
    step = array.itemsize + sum([(n - 1) * s for n, s in zip(*layout[:2], strict=True)])
    whole = (size, *layout[0]), (step, *layout[1]), 0
    if op.kind == "view":  # the memory is there already
        step, whole = array.strides[0], layout_of(array)
    return run(op, self=self.value, geometry=((size, *shape), (step, *strides), offset), layout=whole)


@batches("median_all")
def _median_all(op: Any, size: int, self: Mapped) -> Results:
    return alone(flat(self.value).median(1)[0])


@batches("argmax", "argmin")
def _where_extreme(op: Any, size: int, self: Mapped, dim: int | None, keepdim: bool) -> Results:
    if dim is not None:
        return dims_moved(op, (self, dim, keepdim), size)
    (out,), _ = run(op, self=flat(self.value), dim=1, keepdim=False)
    return alone(out.reshape(size, *(1,) * self.ndim) if keepdim else out)


class _Lookup:
    """A batch and indices into it, with the dimensions that are indexed moved directly behind the batch.

    NumPy puts what indices name where the first of them stands if they stand side by side, else in front.
    """

    def __init__(self, ndim: int, indices: tuple[Any, ...], size: int) -> None:
        places = [(d, i) for d, i in enumerate(_without_masks(indices)) if i is not None]
        indexed = [d for d, _ in places]
        adjacent = indexed == list(range(indexed[0], indexed[-1] + 1))
        self.before = indexed[0] if adjacent else 0  # how many dimensions come before what is looked up
        self.dims = indexed + [d for d in range(ndim) if d not in indexed]
        self.rest = ndim - len(indexed)
        self.wide = max([i.ndim for _, i in places])
        self.indices = tuple([i.aligned(self.wide) for _, i in places])
        self.with_batch: tuple[Any, ...] = (None, *self.indices)
        if any([i.batched for _, i in places]):  # each sample is indexed by its own
            self.with_batch = wrap(np.arange(size).reshape(size, *(1,) * self.wide)), *self.indices

    def order(self) -> list[int]:
        """The dimensions of what is found, behind the batch, as NumPy would put those of one sample."""
        block, rest = range(self.wide), range(self.wide, self.wide + self.rest)
        return [*rest[: self.before], *block, *rest[self.before :]]


def _without_masks(indices: tuple[Any, ...]) -> list[Any]:
    """Indices, with masks told by the places where they are true."""
    out: list[Any] = []
    for i in indices:
        if i is None or i.value._array.dtype.kind not in "bu":
            out.append(i)
        elif i.batched:
            raise RuntimeError(errors.VMAP_MASK)
        else:
            out += [Mapped(where, False) for where in i.value.nonzero(as_tuple=True)]
    return out


def _arranged(t: Tensor, dims: Any, batch: bool = True) -> Tensor:
    """A tensor with its dimensions in this order, a batch in front."""
    return t.permute(0, *[int(d) + 1 for d in dims]) if batch else t.permute([int(d) for d in dims])


@batches("index")
def _index(op: Any, size: int, self: Mapped, indices: Any) -> Results:
    look = _Lookup(self.ndim, indices, size)
    found = look.with_batch if self.batched else look.indices
    (out,), _ = run(op, self=_arranged(self.value, look.dims, self.batched), indices=found)
    return alone(_arranged(out, look.order()))


@batches("index_put", "index_put_impl")
def _index_put(op: Any, size: int, self: Mapped, indices: Any, values: Mapped, accumulate: bool) -> Results:
    look = _Lookup(self.ndim, indices, size)
    order = np.argsort(look.order())
    given = _arranged(values.shaped((1,) * (len(order) - values.ndim) + values.shape), order, values.batched)
    target = _arranged(self.full(size), look.dims)
    (out,), _ = run(op, self=target, indices=look.with_batch, values=given, accumulate=accumulate)
    return alone(_arranged(out, np.argsort(look.dims)))


@batches("index_select")
def _index_select(op: Any, size: int, self: Mapped, dim: int, index: Mapped) -> Results:
    if not self.ndim or index.ndim != 1:
        return looped(op, (self, dim, index), size)
    if not index.batched:
        return run(op, self=self.value, dim=dim + 1, index=index.value)
    if self.batched:
        return alone(TENSORS["gather"](self.value, dim + 1, _for_each(index, self.shape, dim, size)))
    (out,), _ = run(op, self=self.value, dim=dim, index=index.value.reshape(-1))
    out = out.reshape(self.shape[:dim] + (size, *index.shape) + self.shape[dim + 1 :])
    return alone(out.permute(dim, *(d for d in range(out.ndim) if d != dim)))


@batches("index_add")
def _index_add(op: Any, size: int, self: Mapped, dim: int, index: Mapped, source: Mapped, alpha: float) -> Results:
    if not self.ndim or index.ndim != 1:
        given = {"self": self, "dim": dim, "index": index, "source": source, "alpha": alpha}
        return looped(op, tuple([given[name] for name in op.order]), size)
    target, source_ = self.full(size), source.full(size)
    if not index.batched:
        return run(op, self=target, source=source_, dim=dim + 1, index=index.value, alpha=alpha)
    where = _for_each(index, self.shape, dim, size)
    added = (source_ if alpha == 1 else source_ * alpha).expand(where.shape)
    return alone(TENSORS["scatter_add"](target, dim + 1, where, added))


def _for_each(index: Mapped, shape: Ints, dim: int, size: int) -> Tensor:
    """A vector of indices along one dimension as an index for each element."""
    ones = [len_ if d == dim else 1 for d, len_ in enumerate(shape[:dim] + index.shape + shape[dim + 1 :])]
    return index.shaped(tuple(ones)).expand(size, *shape[:dim], *index.shape, *shape[dim + 1 :])


@batches("masked_select")
def _masked_select(op: Any, size: int, self: Mapped, mask: Mapped) -> Results:
    if mask.batched:  # each sample's result would have a length of its own
        raise RuntimeError(errors.VMAP_MASKED_SELECT)
    shape = np.broadcast_shapes(self.shape, mask.shape)
    (where,) = mask.value.expand(shape).reshape(math.prod(shape)).nonzero(as_tuple=True)
    return alone(TENSORS["index_select"](flat(self.aligned(len(shape)).expand(size, *shape)), 1, where))
