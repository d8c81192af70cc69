"""The batching rules of the core's ops that fit no general one: products, views, and elements at indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.tensor import Tensor, wrap
from ...autograd.views import layout_of
from .registry import TENSORS
from .vmap import Ints, Mapped, Results, _column, alone, batches, dims_moved, flat, run_op


def multiplied(a: Mapped, b: Mapped, size: int) -> Tensor:
    """Return the product of each sample's two matrices, in one call."""
    (n, k), m, x, y = a.shape, b.shape[1], a.value, b.value
    if not b.batched:  # the batch is just more rows
        return (x.reshape(size * n, k) @ y).reshape(size, n, m)
    if not a.batched:
        rows = y.transpose(1, 2)
        if rows.is_contiguous():
            return (rows.reshape(size * m, k) @ x.t()).reshape(size, m, n).transpose(1, 2)
        return a.full(size).bmm(y)
    return x * y if k == 1 else x.bmm(y)


def _check_ndim(op: Any, a: Mapped, b: Mapped, *dims: int) -> None:
    if (a.ndim, b.ndim) != dims:
        raise RuntimeError(
            (
                "Shape mismatch: Got incorrect dims for {}(a, b). a has dim {}and b has dim {}but "
                "expected them to have dim {} and dim {}"
            ).format(op.name, a.ndim, b.ndim, *dims)
        )


@batches("mm")
def _mm(op: Any, size: int, self: Mapped, mat2: Mapped) -> Results:
    _check_ndim(op, self, mat2, 2, 2)
    return alone(multiplied(self, mat2, size))


@batches("mv")
def _mv(op: Any, size: int, self: Mapped, vec: Mapped) -> Results:
    _check_ndim(op, self, vec, 2, 1)
    return alone(multiplied(self, _column(vec), size).squeeze(2))


@batches("dot")
def _dot(op: Any, size: int, self: Mapped, tensor: Mapped) -> Results:
    if self.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError("Got wrong shapes for dot")
    row = Mapped(self.shaped((1, *self.shape)), self.batched)
    return alone(multiplied(row, _column(tensor), size).reshape(size))


@batches("vdot")
def _vdot(op: Any, size: int, self: Mapped, other: Mapped) -> Results:
    return _dot(op, size, self, other)


@batches("bmm")
def _bmm(op: Any, size: int, self: Mapped, mat2: Mapped) -> Results:
    _check_ndim(op, self, mat2, 3, 3)
    count = self.shape[0]
    x, y = (m.full(size).reshape(size * count, *m.shape[1:]) for m in (self, mat2))
    return alone(x.bmm(y).reshape(size, count, self.shape[1], mat2.shape[2]))


@batches("addmm", "addmv", "addr", "baddbmm", "addbmm")
def _added(op: Any, size: int, self: Mapped, *, beta: float, alpha: float, **factors: Mapped) -> Results:
    one, two = factors.values()
    if op.name == "addr":
        one, two = _column(one), Mapped(two.shaped((1, *two.shape)), two.batched)
    elif op.name == "addmv":
        two = _column(two)
    if one.ndim == 3:
        product = _bmm(op, size, one, two)[0][0]
    else:
        product = multiplied(one, two, size) if one.batched or two.batched else one.value @ two.value
    if op.name in ("addmv", "addbmm"):
        product = product.squeeze(-1) if op.name == "addmv" else product.sum(1)
    added = self.aligned(product.ndim - (one.batched or two.batched or one.ndim == 3))
    return alone((product if alpha == 1 else product * alpha) + (added if beta == 1 else added * beta))


@batches("trace_of")
def _trace_of(op: Any, size: int, self: Mapped) -> Results:
    return alone(TENSORS["diagonal"](self.value, 0, 1, 2).sum(1))


@batches("permute")
def _permute(op: Any, size: int, self: Mapped, dims: Ints) -> Results:
    return run_op(op, self=self.value, dims=(0, *(d % self.ndim + 1 for d in dims)))


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
    return run_op(op, self=self.aligned(len(given["size"])), size=(size, *given["size"]))


@batches("flip", "squeeze_dims", "squeeze__dims")
def _turned(op: Any, size: int, /, self: Mapped, **dims: Ints) -> Results:
    return run_op(op, self=self.value, **{name: tuple([d + 1 for d in which]) for name, which in dims.items()})


@batches("as_strided", "strided_copy", "strided_scatter")
def _strided(op: Any, size: int, self: Mapped, geometry: Any, layout: Any) -> Results:
    """Return the same part of the memory of each sample, where one sample's memory lies behind the other's."""
    (shape, strides, *rest), array = geometry, self.value._array
    step = array.itemsize + sum([(n - 1) * s for n, s in zip(*layout[:2], strict=True)])
    whole = (size, *layout[0]), (step, *layout[1]), 0
    if op.kind == "view":  # the memory is there already
        step, whole = array.strides[0], layout_of(array)
    return run_op(op, self=self.value, geometry=((size, *shape), (step, *strides), *rest), layout=whole)


@batches("argmax", "argmin")
def _where_extreme(op: Any, size: int, self: Mapped, dim: int | None, keepdim: bool) -> Results:
    if dim is not None:
        return dims_moved(op, (self, dim, keepdim), size)
    (out,), _ = run_op(op, self=flat(self.value), dim=1, keepdim=False)
    return alone(out.reshape(size, *(1,) * self.ndim) if keepdim else out)


class _Lookup:
    """A batch and indices into it, with the indexed dimensions moved directly after the batch.

    NumPy puts the result's dimensions where the first index is if the indices are side by side, else in front.
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
            self.with_batch = wrap(np.arange(size, dtype=np.int64).reshape(size, *(1,) * self.wide)), *self.indices

    def order(self) -> list[int]:
        """Return the dimensions of what is found, behind the batch, as NumPy would put those of one sample."""
        block, rest = range(self.wide), range(self.wide, self.wide + self.rest)
        return [*rest[: self.before], *block, *rest[self.before :]]


def _without_masks(indices: tuple[Any, ...]) -> list[Any]:
    """Return indices with each mask replaced by the places where it is true."""
    out: list[Any] = []
    for i in indices:
        if i is None or i.value._array.dtype.kind not in "bu":
            out.append(i)
        elif i.batched:
            raise RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. "
                "Attempting to batch over indexing with a boolean mask."
            )
        else:
            out += [Mapped(where, False) for where in i.value.nonzero(as_tuple=True)]
    return out


def _arranged(t: Tensor, dims: Any, batch: bool = True) -> Tensor:
    """Return a tensor with its dimensions in this order, a batch in front."""
    return t.permute(0, *[int(d) + 1 for d in dims]) if batch else t.permute([int(d) for d in dims])


@batches("index")
def _index(op: Any, size: int, self: Mapped, indices: Any) -> Results:
    look = _Lookup(self.ndim, indices, size)
    found = look.with_batch if self.batched else look.indices
    (out,), _ = run_op(op, self=_arranged(self.value, look.dims, self.batched), indices=found)
    return alone(_arranged(out, look.order()))


@batches("index_put", "index_put_impl")
def _index_put(op: Any, size: int, self: Mapped, indices: Any, values: Mapped, accumulate: bool) -> Results:
    look = _Lookup(self.ndim, indices, size)
    order = np.argsort(look.order())
    given = _arranged(values.shaped((1,) * (len(order) - values.ndim) + values.shape), order, values.batched)
    target = _arranged(self.full(size), look.dims)
    (out,), _ = run_op(op, self=target, indices=look.with_batch, values=given, accumulate=accumulate)
    return alone(_arranged(out, np.argsort(look.dims)))
