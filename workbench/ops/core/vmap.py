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
below), called with the op, the size of the batch, and the arguments by name, tensors as `Mapped`: those of the core in
`batch_rules`, the others in the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from ...autograd import dtypes
from ...autograd.levels import Level, Lifted, without_finished_levels
from ...autograd.tensor import Tensor
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
        t = without_finished_levels(t, level)
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


def _column(vector: Mapped) -> Mapped:
    return Mapped(vector.shaped((*vector.shape, 1)), vector.batched)
