"""How an op runs once for a whole batch: vmap's rules, by what an op's arguments are called.

Under vmap a tensor may have the batch as its first dimension, which the op does not know. The rules:

| `batch=` | what happens |
|---|---|
| "pointwise" | shapes are aligned behind the batch; the op runs as it is |
| "in front" | the same, where the op knows its last dimensions, which the batch must not be among |
| "systems" | the same for matrices and right sides, which may be vectors |
| "assign" | the same, and the first tensor gets the batch, as the result is like it |
| "dims" | every tensor gets the batch in front, the arguments that name dimensions move one on |
| "new dims" | the same where these name dimensions of the result; sizes get the batch |
| the name of an op | what this one does to all dimensions, that one does to all but the first |
| "loop" | the op runs once for each sample; `workbench.ops.report()` lists these |

What an op is declared as mostly says which it is. Ops that fit none of these have rules of their own (`batches`,
below), called with the op, the size of the batch, and the arguments by name, tensors as `Mapped`. Convolutions,
normalizations and losses fold the batch into a dimension that they have anyway: images, channels or groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...autograd import dtypes
from ...autograd.levels import Level, Lifted, at
from ...autograd.tensor import Tensor, wrap
from ...autograd.views import layout_of
from .checks import is_vector
from .registry import DIMS, REGISTRY, SIZES, TENSORS

Ints = tuple[int, ...]
Tensors = tuple[Tensor, ...]
Results = tuple[Tensors, Tensors]
OWN: dict[str, Callable[..., Results]] = {}  # rules for one op, by its name


class Mapped:
    """A tensor one level below, and whether its first dimension is the batch."""

    __slots__ = ("value", "batched")

    def __init__(self, value: Tensor, batched: bool) -> None:
        self.value, self.batched = value, batched

    @classmethod
    def of(cls, t: Tensor, level: Level) -> Mapped:
        """Return the same from a tensor as the level sees it."""
        t = at(t, level)
        if type(t) is Lifted and t._level is level:
            return cls(t._value, True)
        return cls(t, False)

    @property
    def ndim(self) -> int:
        """Return the number of dimensions of each sample."""
        return self.value._array.ndim - self.batched

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of each sample."""
        return self.value._array.shape[self.batched :]

    def full(self, size: int) -> Tensor:
        """Return the tensor with the batch in front in any case."""
        return self.value if self.batched else self.value.expand(size, *self.value.shape)

    def aligned(self, ndim: int) -> Tensor:
        """Return the tensor with samples of `ndim` dimensions, so that batches meet in front."""
        if not self.batched or self.ndim >= ndim:
            return self.value
        return self.shaped((1,) * (ndim - self.ndim) + self.shape)

    def shaped(self, shape: tuple[int, ...]) -> Tensor:
        """Return the tensor with samples of another shape."""
        return self.value.reshape(self.value._array.shape[: self.batched] + shape)

    def sample(self, i: int) -> Tensor:
        """Return one sample of the batch."""
        return self.value.select(0, i) if self.batched else self.value


def map_tensors(thing: Any, function: Callable[[Mapped], Any]) -> Any:
    """Return an argument with a function run over the tensors in it."""
    if isinstance(thing, Mapped):
        return function(thing)
    if isinstance(thing, (list, tuple)) and any(isinstance(each, Mapped) for each in thing):
        return type(thing)([map_tensors(each, function) for each in thing])
    return thing


def tensors_in(args: tuple[Any, ...]) -> Iterator[Mapped]:
    """Return all tensors among arguments."""
    for arg in args:
        yield from (m for m in (arg if isinstance(arg, (list, tuple)) else (arg,)) if isinstance(m, Mapped))


def batches(*names: str) -> Callable[..., Any]:
    """Register the batching rule of these ops (a decorator)."""

    def known(rule: Callable[..., Results]) -> Callable[..., Results]:
        OWN.update(dict.fromkeys(names, rule))
        return rule

    return known


def run_op(op: Any, **given: Any) -> Results:
    """Run an op on arguments given by name."""
    return op.perform(tuple([given[name] for name in op.order]))


def alone(t: Tensor) -> Results:
    """Return a rule's one result."""
    return (t,), ()


def run_batched(op: Any, args: tuple[Any, ...], size: int) -> Results:
    """Run an op for the whole batch; every result has the batch in front."""
    if not size and (RULES.get(op.batch) not in (pointwise, _systems) or op.name in OWN):
        return _for_none(op, args)
    if op.name in OWN:
        return OWN[op.name](op, size, **dict(zip(op.order, args, strict=True)))
    return RULES.get(op.batch, _over_all)(op, args, size)


def keeps_place(op: Any, operands: list[Any]) -> bool:
    """Return True if PyTorch leaves the batch in its dimension: only functions of one tensor do."""
    if op.batch != "pointwise" or op.extras or op.kept or op.name in OWN:
        return False
    if op.name in ("eq", "ne", "lt", "le", "gt", "ge"):  # no declaration tells these from `bitwise_and`
        return not isinstance(operands[1], Tensor)
    return op.tensors == ["self"]


def _for_none(op: Any, args: tuple[Any, ...]) -> Results:
    """Return a batch of no samples of what the op makes for one, connected to the graph the same way."""

    def one_more(m: Mapped) -> Mapped:  # the sum of no samples is a sample of zeros
        return Mapped(m.value.sum(0, True).to(m.value.dtype), True) if m.batched else m

    outs, extras = run_batched(op, tuple([map_tensors(a, one_more) for a in args]), 1)
    return tuple([t.narrow(0, 0, 0) for t in outs]), tuple([t.narrow(0, 0, 0) for t in extras])


def pointwise(op: Any, args: tuple[Any, ...], size: int) -> Results:
    """Return the op as it is, on samples of one number of dimensions."""
    found = [a for a in args if type(a) is Mapped]
    first = found[0].value
    facts = first._array.ndim, first._array.dtype
    if all([m.batched and (m.value._array.ndim, m.value._array.dtype) == facts for m in found]):
        return op.perform(tuple([a.value if type(a) is Mapped else a for a in args]))
    ndim = max([m.ndim for m in found])
    if not op.broadcasts:  # its formulas give each operand a gradient in the result's shape
        args = tuple([Mapped(a.full(size), True) if type(a) is Mapped else a for a in args])
    meeting = _meeting(op, args)
    ready = []
    for name, a in zip(op.order, args, strict=True):
        if type(a) is Mapped:
            a = a.aligned(ndim)
            a = a.to(meeting) if meeting is not None and name in op.tensors else a
        ready.append(a)
    return op.perform(tuple(ready))


def _meeting(op: Any, args: tuple[Any, ...]) -> dtypes.dtype | None:
    """Return the common dtype of samples of several dtypes; those without dimensions rank lower despite a batch."""
    operands = [a for name, a in zip(op.order, args, strict=True) if name in op.tensors]
    if not op.promotes or len({m.value._array.dtype for m in operands if type(m) is Mapped}) < 2:
        return None
    standing = [
        (m.value.dtype, 2 if m.ndim else 1) if type(m) is Mapped else (dtypes.of_number(m), 0) for m in operands
    ]
    return dtypes.result_type(standing)


def _assign(op: Any, args: tuple[Any, ...], size: int) -> Results:
    ndim = max([m.ndim for m in tensors_in(args)])
    first = Mapped(args[0].full(size), True)  # also where the op's first argument is all that is not batched
    return op.perform(tuple([map_tensors(a, lambda m: m.aligned(ndim)) for a in (first, *args[1:])]))


def dims_moved(op: Any, args: tuple[Any, ...], size: int) -> Results:
    """Return the batch in front of all tensors, dimensions moved on."""
    scalars = [not m.ndim for m in tensors_in(args)]
    if not any(scalars):
        return new_dims(op, args, size)
    if not all(scalars):
        return looped(op, args, size)
    # one dimension, which a tensor without any is said to have, and which is kept
    args = tuple([name == "keepdim" or a for name, a in zip(op.order, args, strict=True)])
    outs, extras = new_dims(
        op, tuple([map_tensors(a, lambda m: Mapped(m.shaped((1,)), m.batched)) for a in args]), size
    )
    return tuple([t.reshape(size) for t in outs]), extras


def new_dims(op: Any, args: tuple[Any, ...], size: int) -> Results:
    """Return the batch in front of all tensors and sizes, dimensions moved on."""
    ndim = next(tensors_in(args)).ndim
    moved = []
    for name, a in zip(op.order, args, strict=True):
        if name in DIMS:
            a = shifted(a, ndim)
        elif name in SIZES:
            a = (size, *a)
        moved.append(map_tensors(a, lambda m: m.full(size)))
    return op.perform(tuple(moved))


def shifted(dims: Any, ndim: int) -> Any:
    """Dimensions of a sample as dimensions of the batch; none named are all of the sample's."""
    if dims is None or dims == ():
        return tuple(range(1, ndim + 1))
    if isinstance(dims, (tuple, list)):
        return tuple([shifted(d, ndim) for d in dims])
    return dims + 1 if dims >= 0 else dims


def flat(t: Tensor) -> Tensor:
    """Return a batch with all elements of a sample in a row."""
    size, *shape = t._array.shape
    return t.reshape(size, math.prod(shape))


def _over_all(op: Any, args: tuple[Any, ...], size: int) -> Results:
    t, *rest = args[0].value, *args[1:]
    if op.batch.startswith("prod_dim"):  # takes one dimension only
        return REGISTRY[op.batch].perform((flat(t), 1, False, *rest))
    t = t if t._array.ndim > 1 else flat(t)
    return REGISTRY[op.batch].perform((t, tuple(range(1, t._array.ndim)), False, *rest))


def looped(op: Any, args: tuple[Any, ...], size: int) -> Results:
    """Run the op for one sample after another."""
    runs = [op.perform(tuple([map_tensors(a, lambda m, i=i: m.sample(i)) for a in args])) for i in range(size)]
    stack = TENSORS["stack"]
    outs, extras = (
        tuple([stack(list(column), 0) for column in zip(*part, strict=True)]) for part in zip(*runs, strict=True)
    )
    return outs, extras


def _systems(op: Any, args: tuple[Any, ...], size: int) -> Results:
    """Return matrices and right sides, which may be a vector for each matrix."""
    a, b, how = args
    vector = is_vector(a, b)
    b = _column(b) if vector else b
    both = [Mapped(m.full(size), True).aligned(max(a.ndim, b.ndim)) for m in (a, b)]
    outs, _ = op.perform((*both, how))
    return tuple([t.squeeze(-1) if vector else t for t in outs]), ()


RULES = {
    "systems": _systems,
    "pointwise": pointwise,
    "in front": pointwise,
    "assign": _assign,
    "dims": dims_moved,
    "new dims": new_dims,
    "loop": looped,
}


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


def _column(vector: Mapped) -> Mapped:
    return Mapped(vector.shaped((*vector.shape, 1)), vector.batched)


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


@batches("repeat")
def _repeat(op: Any, size: int, self: Mapped, repeats: Ints) -> Results:
    return run_op(op, self=self.aligned(len(repeats)), repeats=(1, *repeats))


@batches("flip", "squeeze_dims", "squeeze__dims")
def _turned(op: Any, size: int, /, self: Mapped, **dims: Ints) -> Results:
    return run_op(op, self=self.value, **{name: tuple([d + 1 for d in which]) for name, which in dims.items()})


@batches("roll")
def _roll(op: Any, size: int, self: Mapped, shifts: Ints, dims: Ints) -> Results:
    if dims:
        return run_op(op, self=self.value, shifts=shifts, dims=tuple([d + 1 for d in dims]))
    (out,), _ = run_op(op, self=flat(self.value), shifts=shifts, dims=(1,))  # the elements are one row
    return alone(out.reshape(self.value.shape))


@batches("as_strided", "strided_copy", "strided_scatter")
def _strided(op: Any, size: int, self: Mapped, geometry: Any, layout: Any) -> Results:
    """Return the same part of the memory of each sample, where one sample's memory lies behind the other's."""
    (shape, strides, offset), array = geometry, self.value._array
    step = array.itemsize + sum([(n - 1) * s for n, s in zip(*layout[:2], strict=True)])
    whole = (size, *layout[0]), (step, *layout[1]), 0
    if op.kind == "view":  # the memory is there already
        step, whole = array.strides[0], layout_of(array)
    return run_op(op, self=self.value, geometry=((size, *shape), (step, *strides), offset), layout=whole)


@batches("median_all")
def _median_all(op: Any, size: int, self: Mapped) -> Results:
    return alone(flat(self.value).median(1)[0])


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


@batches("channel_shuffle")
def _channel_shuffle(op: Any, size: int, self: Mapped, groups: int) -> Results:
    (out,), _ = run_op(op, self=_folded(self, size), groups=groups)
    return alone(_unfolded(out, size))


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


@batches("embedding")
def _embedding(op: Any, size: int, weight: Mapped, indices: Mapped, padding_idx: int | None) -> Results:
    if not weight.batched:
        return run_op(op, weight=weight.value, indices=indices.value, padding_idx=padding_idx)
    where = _in_own_rows(indices, weight.shape[0], size)
    (rows,), _ = run_op(op, weight=_folded(weight, size), indices=where, padding_idx=None)
    if padding_idx is None:
        return alone(rows)
    return alone(TENSORS["where"]((indices.value == padding_idx).unsqueeze(-1), rows.detach(), rows))


@batches("embedding_backward")
def _embedding_backward(
    op: Any, size: int, grad_output: Mapped, indices: Mapped, num_weights: int, padding_idx: int | None
) -> Results:
    grad, where = grad_output.full(size), _in_own_rows(indices, num_weights, size)
    if padding_idx is not None:
        grad = grad * (indices.value != padding_idx).unsqueeze(-1)
    (out,), _ = run_op(op, grad_output=grad, indices=where, num_weights=num_weights * size, padding_idx=None)
    return alone(_unfolded(out, size))


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


NONE = 0  # reductions
MEAN = 1


def _folded(m: Mapped, size: int) -> Tensor:
    """Return the batch and the samples' first dimension as one."""
    first, *rest = m.shape
    return m.full(size).reshape(size * first, *rest)


def _unfolded(t: Tensor, size: int) -> Tensor:
    many, *rest = t._array.shape
    return t.reshape(size, many // size, *rest)


def _in_channels(m: Mapped, size: int) -> Tensor:
    """Return the batch and the samples' second dimension as one."""
    first, second, *rest = m.shape
    return m.full(size).transpose(0, 1).reshape(first, size * second, *rest)


def _out_of_channels(t: Tensor, size: int) -> Tensor:
    first, many, *rest = t._array.shape
    return t.reshape(first, size, many // size, *rest).transpose(0, 1)


@batches("convolution")
def _convolution(op: Any, size: int, input: Mapped, weight: Mapped, bias: Mapped | None, **how: Any) -> Results:
    added = None if bias is None or not bias.batched else bias
    if weight.batched:  # each sample's channels are groups of their own
        how["groups"] *= size
        (out,), _ = run_op(op, input=_in_channels(input, size), weight=_folded(weight, size), bias=None, **how)
        out, added = _out_of_channels(out, size), bias
    else:
        own = None if added is not None or bias is None else bias.value
        (out,), _ = run_op(op, input=_folded(input, size), weight=weight.value, bias=own, **how)
        out = _unfolded(out, size)
    return alone(out if added is None else out + added.shaped((1, *added.shape, *(1,) * (out.ndim - 3))))


@batches("conv_input")
def _conv_input(op: Any, size: int, grad_output: Mapped, weight: Mapped, shape: Ints, **how: Any) -> Results:
    count, channels, *rest = shape
    if not weight.batched:
        grad, shape = _folded(grad_output, size), (count * size, channels, *rest)
        (out,), _ = run_op(op, grad_output=grad, weight=weight.value, shape=shape, **how)
        return alone(_unfolded(out, size))
    how["groups"] *= size
    grad, shape = _in_channels(grad_output, size), (count, channels * size, *rest)
    (out,), _ = run_op(op, grad_output=grad, weight=_folded(weight, size), shape=shape, **how)
    return alone(_out_of_channels(out, size))


@batches("conv_weight")
def _conv_weight(op: Any, size: int, grad_output: Mapped, input: Mapped, shape: Ints, **how: Any) -> Results:
    how["groups"] *= size
    grad, a = (_in_channels(m, size) for m in (grad_output, input))
    (out,), _ = run_op(op, grad_output=grad, input=a, shape=(shape[0] * size, *shape[1:]), **how)
    return alone(_unfolded(out, size))


@batches("native_layer_norm")
def _layer_norm(op: Any, size: int, input: Mapped, weight: Mapped | None, bias: Mapped | None, **how: Any) -> Results:
    own, later = {}, {}
    for name, m in (("weight", weight), ("bias", bias)):
        apart = m is not None and (m.batched or bool(later))
        own[name] = None if m is None or apart else m.value
        if m is not None and apart:
            later[name] = m.aligned(input.ndim)
    (out,), extras = run_op(op, input=input.full(size), **own, **how)
    out = out * later["weight"] if "weight" in later else out
    return (out + later["bias"] if "bias" in later else out,), extras


@batches("native_group_norm")
def _group_norm(op: Any, size: int, input: Mapped, weight: Mapped | None, bias: Mapped | None, **how: Any) -> Results:
    own, later = {}, {}
    for name, m in (("weight", weight), ("bias", bias)):
        apart = m is not None and (m.batched or bool(later))
        own[name] = None if m is None or apart else m.value
        if m is not None and apart:  # one number for each channel of samples
            later[name] = m.shaped((1, *m.shape, *(1,) * (input.ndim - 2)))
    (out,), extras = run_op(op, input=_folded(input, size), **own, **how)
    out = _unfolded(out, size)
    out = out * later["weight"] if "weight" in later else out
    return (out + later["bias"] if "bias" in later else out,), tuple([_unfolded(e, size) for e in extras])


@batches("native_batch_norm")
def _batch_norm(op: Any, size: int, input: Mapped, training: bool, momentum: float, eps: float, **of: Any) -> Results:
    running = of["running_mean"]
    if training and running is not None and not running.batched:
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, "
            "which will be updated in place, were not batched.\nIf you are using a module and "
            "do not need eval mode, please set `track_running_stats` to be False.If you are "
            "using a prebuilt module and do not need eval mode, please see the functorch "
            "website for resources on how to patch your module to work with vmap"
        )
    of = {name: None if m is None else _folded(m, size) for name, m in of.items()}
    (out,), extras = run_op(op, input=_in_channels(input, size), training=training, momentum=momentum, eps=eps, **of)
    return (_out_of_channels(out, size),), tuple([e.reshape(size, e._array.size // size) for e in extras])


@batches("mse_loss", "huber_loss", "smooth_l1_loss", "soft_margin_loss")
@batches("binary_cross_entropy", "binary_cross_entropy_with_logits")
def _loss(op: Any, size: int, self: Mapped, target: Mapped, reduction: int, **rest: Any) -> Results:
    rest = {name: map_tensors(each, lambda m: m.aligned(self.ndim)) for name, each in rest.items()}
    (out,), _ = run_op(op, self=self.full(size), target=target.full(size), reduction=NONE, **rest)
    return alone(out if reduction == NONE else _reduced(out, reduction == MEAN))


def _reduced(t: Tensor, mean: bool) -> Tensor:
    """Return one number for each sample: the mean or the sum."""
    return flat(t).mean(1) if mean else flat(t).sum(1)


def _weighted(t: Tensor, weight: Mapped | None, ndim: int) -> Tensor:
    """Return a batch of scores times the weight of each class."""
    if weight is None:
        return t
    before = 1 if ndim > 1 else 0
    return t * weight.shaped((1,) * before + weight.shape + (1,) * (ndim - before - 1))


def _rows(m: Mapped, size: int, ndim: int) -> Tensor:
    """Return a batch of batches as one; a sample of one row is a row."""
    return m.full(size) if ndim == 1 else _folded(m, size)


def _unweighted(self: Mapped, target: Mapped, size: int) -> dict[str, Any]:
    """Return the arguments of a loss of all samples' rows together, each row for itself."""
    nothing = wrap(np.zeros((), self.value._array.dtype))
    where = _rows(target, size, self.ndim)
    return {"self": _rows(self, size, self.ndim), "target": where, "weight": None, "total_weight": nothing}


@batches("nll_loss", "nll_loss2d")
def _nll(
    op: Any,
    size: int,
    self: Mapped,
    target: Mapped,
    weight: Mapped | None,
    total_weight: Mapped,
    reduction: int,
    ignore_index: int,
) -> Results:
    scores = Mapped(_weighted(self.full(size), weight, self.ndim), True)
    (out,), _ = run_op(op, **_unweighted(scores, target, size), reduction=NONE, ignore_index=ignore_index)
    out = out if self.ndim == 1 else _unfolded(out, size)
    out = out if reduction == NONE else _reduced(out, mean=False)
    return alone(out / total_weight.value if reduction == MEAN else out)


@batches("nll_loss_backward", "nll_loss2d_backward")
def _nll_backward(
    op: Any,
    size: int,
    grad_output: Mapped,
    self: Mapped,
    target: Mapped,
    weight: Mapped | None,
    total_weight: Mapped,
    reduction: int,
    ignore_index: int,
) -> Results:
    grad = grad_output
    if reduction == MEAN:
        total = total_weight.value
        share = grad.value / TENSORS["where"](total == 0, 1, total)
        grad = Mapped(share, grad.batched or total_weight.batched)
    if reduction != NONE and self.ndim > 1:
        ones = (1,) * (self.ndim - 1)
        grad = Mapped(grad.shaped(ones).expand((*grad.value.shape[: grad.batched], *target.shape)), grad.batched)
    given = _unweighted(self, target, size)
    grads = _rows(grad, size, self.ndim)
    (out,), _ = run_op(op, grad_output=grads, **given, reduction=NONE, ignore_index=ignore_index)
    return alone(_weighted(out if self.ndim == 1 else _unfolded(out, size), weight, self.ndim))
