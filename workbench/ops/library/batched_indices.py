"""The batching rules of the library's ops with indices: along a dimension, into all elements, under a mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd.tensor import Tensor, wrap
from ..core.registry import TENSORS
from ..core.vmap import Ints, Mapped, Results, alone, batches, flat, looped, run_op


@batches("index_select")
def _index_select(op: Any, size: int, self: Mapped, dim: int, index: Mapped) -> Results:
    if not self.ndim or index.ndim != 1:
        return looped(op, (self, dim, index), size)
    if not index.batched:
        return run_op(op, self=self.value, dim=dim + 1, index=index.value)
    if self.batched:
        return alone(TENSORS["gather"](self.value, dim + 1, _for_each(index, self.shape, dim, size)))
    (out,), _ = run_op(op, self=self.value, dim=dim, index=index.value.reshape(-1))
    out = out.reshape(self.shape[:dim] + (size, *index.shape) + self.shape[dim + 1 :])
    return alone(out.permute(dim, *(d for d in range(out.ndim) if d != dim)))


@batches("index_add")
def _index_add(op: Any, size: int, self: Mapped, dim: int, index: Mapped, source: Mapped, alpha: float) -> Results:
    if not self.ndim or index.ndim != 1:
        given = {"self": self, "dim": dim, "index": index, "source": source, "alpha": alpha}
        return looped(op, tuple([given[name] for name in op.order]), size)
    target, source_ = self.full(size), source.full(size)
    if not index.batched:
        return run_op(op, self=target, source=source_, dim=dim + 1, index=index.value, alpha=alpha)
    where = _for_each(index, self.shape, dim, size)
    added = (source_ if alpha == 1 else source_ * alpha).expand(where.shape)
    return alone(TENSORS["scatter_add"](target, dim + 1, where, added))


def _for_each(index: Mapped, shape: Ints, dim: int, size: int) -> Tensor:
    """Return a vector of indices along one dimension as an index for each element."""
    ones = [len_ if d == dim else 1 for d, len_ in enumerate(shape[:dim] + index.shape + shape[dim + 1 :])]
    return index.shaped(tuple(ones)).expand(size, *shape[:dim], *index.shape, *shape[dim + 1 :])


def _in_own_rows(indices: Mapped, count: int, size: int) -> Tensor:
    """Return indices of each sample's rows, counted in all samples' rows one after the other."""
    first = wrap(np.arange(size, dtype=np.int64).reshape(-1, *(1,) * indices.ndim) * count)
    return indices.aligned(indices.ndim) + first


def _named(index: Mapped, length: int) -> Tensor:
    """Return which places along a dimension a vector of indices names: a row of masks, or one for each sample."""
    every = wrap(np.arange(length, dtype=np.int64))
    return (index.shaped((*index.shape, 1)) % length == every).any(-2)


@batches("index_fill", "index_fill_number")
def _index_fill(op: Any, size: int, self: Mapped, dim: int, index: Mapped, value: Any) -> Results:
    t, index = self.full(size), Mapped(index.shaped((math.prod(index.shape),)), index.batched)
    if not self.ndim:
        t, dim = t.reshape(size, 1), 0
    several = isinstance(value, Mapped) and value.batched
    if index.batched or several:
        shape = [n if d == dim + 1 else 1 for d, n in enumerate(t.shape)]
        where = _named(index, t.shape[dim + 1]).reshape(size if index.batched else 1, *shape[1:])
        given = value if not isinstance(value, Mapped) else value.aligned(t.ndim - 1)
        return alone(TENSORS["where"](where, given, t).reshape(self.full(size).shape))
    value = value.value if isinstance(value, Mapped) else value
    (out,), _ = run_op(op, self=t, dim=dim + 1, index=index.value, value=value)
    return alone(out if self.ndim else out.reshape(size))


@batches("index_copy")
def _index_copy(op: Any, size: int, self: Mapped, dim: int, index: Mapped, source: Mapped) -> Results:
    t, given = self.full(size), source.full(size)
    index = Mapped(index.shaped((math.prod(index.shape),)), index.batched)
    t = t if self.ndim else t.reshape(size, 1)
    given = given if source.ndim else given.reshape(size, 1)
    if index.batched:
        shape = tuple(t.shape[1:])
        out = TENSORS["scatter"](t, dim + 1, _for_each(index, shape, dim, size), given)
    else:
        (out,), _ = run_op(op, self=t, dim=dim + 1, index=index.value, source=given)
    return alone(out if self.ndim else out.reshape(size))


def _places_in_turn(mask: Mapped, shape: Ints, size: int) -> tuple[Tensor, Tensor]:
    """Return a mask of each sample, and before each of its places how many come: rows of all elements."""
    masks = mask.aligned(len(shape)).expand(size, *shape).reshape(size, math.prod(shape))
    return masks, (masks.cumsum(1) - 1).clamp(min=0)


@batches("masked_scatter")
def _masked_scatter(op: Any, size: int, self: Mapped, mask: Mapped, source: Mapped) -> Results:
    shape = tuple(np.broadcast_shapes(self.shape, mask.shape))
    t = self.aligned(len(shape)).expand(size, *shape)
    if not math.prod(source.shape):  # no place is marked
        return alone(t.clone())
    masks, turn = _places_in_turn(mask, shape, size)
    last = math.prod(source.shape) - 1
    given = TENSORS["gather"](flat(source.full(size)), 1, turn.clamp(max=last))
    return alone(TENSORS["where"](masks.reshape(size, *shape), given.reshape(size, *shape), t))


@batches("masked_scatter_backward")
def _masked_scatter_backward(op: Any, size: int, grad_output: Mapped, mask: Mapped, shape: Ints) -> Results:
    count = math.prod(shape)
    none = wrap(np.zeros((size, max(1, count)), grad_output.value._array.dtype))
    masks, turn = _places_in_turn(mask, grad_output.shape, size)
    sent = TENSORS["where"](masks, flat(grad_output.full(size)), 0.0)
    out = TENSORS["scatter_add"](none, 1, turn.clamp(max=max(0, count - 1)), sent)
    return alone(out.narrow(1, 0, count).reshape(size, *shape))


def _among_all(self: Mapped, index: Mapped, size: int) -> Tensor:
    """Return indices of each sample's flattened elements, counted in all samples' rows one after the other."""
    count = math.prod(self.shape)
    return _in_own_rows(Mapped(index.value % max(1, count), index.batched), count, size)


@batches("take")
def _take(op: Any, size: int, self: Mapped, index: Mapped) -> Results:
    if not self.batched:
        return run_op(op, self=self.value, index=index.value)
    return run_op(op, self=self.value, index=_among_all(self, index, size))


@batches("put_at")
def _put_at(op: Any, size: int, self: Mapped, index: Mapped, source: Mapped, accumulate: bool) -> Results:
    where = _among_all(self, index, size)
    return run_op(op, self=self.full(size), index=where, source=source.full(size), accumulate=accumulate)


@batches("places_of")
def _places_of(op: Any, size: int, values: Mapped, edges: Mapped, right: bool, small: bool) -> Results:
    if not edges.batched and edges.ndim == 1:
        return run_op(op, values=values.value, edges=edges.value, right=right, small=small)
    all_values = values.full(size)
    rows = flat(all_values) if edges.ndim == 1 else all_values
    (out,), _ = run_op(op, values=rows, edges=edges.full(size), right=right, small=small)
    return alone(out.reshape(all_values.shape))


@batches("isin_of")
def _isin_of(op: Any, size: int, elements: Mapped, tests: Mapped, unique: bool, invert: bool) -> Results:
    if not tests.batched:
        return run_op(op, elements=elements.value, tests=tests.value, unique=unique, invert=invert)
    found = (flat(elements.full(size)).unsqueeze(2) == flat(tests.full(size)).unsqueeze(1)).any(2)
    return alone((~found if invert else found).reshape(size, *elements.shape))


@batches("masked_select")
def _masked_select(op: Any, size: int, self: Mapped, mask: Mapped) -> Results:
    if mask.batched:  # each sample's result would have a length of its own
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
            "support this because for each batch this would return a differently shaped "
            "Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
            "need this feature."
        )
    shape = np.broadcast_shapes(self.shape, mask.shape)
    (where,) = mask.value.expand(shape).reshape(math.prod(shape)).nonzero(as_tuple=True)
    return alone(TENSORS["index_select"](flat(self.aligned(len(shape)).expand(size, *shape)), 1, where))
