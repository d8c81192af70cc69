"""How an op runs once for a whole batch: vmap's rules, by what an op's arguments are called.

Under vmap a tensor may have the batch as its first dimension, which the op does not know. The rules:

| `batch=` | what happens |
|---|---|
| "pointwise" | shapes are aligned behind the batch; the op runs as it is |
| "dims" | every tensor gets the batch in front, the arguments that name dimensions move one on, sizes get the batch |
| a function | called with the op, its arguments as `Mapped`, and the size of the batch |
| "loop" | the op runs once for each sample; `workbench.ops.report()` lists these |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.levels import Level, Lifted, at
from ..autograd.tensor import Tensor
from .declare import DIMS, SIZES

Tensors = tuple[Tensor, ...]


class Mapped:
    """A tensor one level below, and whether its first dimension is the batch."""

    __slots__ = ("value", "batched")

    def __init__(self, value: Tensor, batched: bool) -> None:
        self.value, self.batched = value, batched

    @classmethod
    def of(cls, t: Tensor, level: Level) -> Mapped:
        """The same from a tensor as the level sees it."""
        t = at(t, level)
        mine = type(t) is Lifted and t._level is level
        return cls(t._value if mine else t, mine)

    @property
    def ndim(self) -> int:
        """How many dimensions each sample has."""
        return self.value._array.ndim - self.batched

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of each sample."""
        return self.value._array.shape[self.batched :]

    def full(self, size: int) -> Tensor:
        """With the batch in front in any case."""
        return self.value if self.batched else self.value.expand(size, *self.value.shape)

    def aligned(self, ndim: int) -> Tensor:
        """With samples of so many dimensions, so that batches meet in front."""
        if not self.batched or self.ndim == ndim:
            return self.value
        shape = self.value.shape
        return self.value.reshape(shape[0], *(1,) * (ndim - self.ndim), *shape[1:])

    def sample(self, i: int) -> Tensor:
        """One of the batch."""
        return self.value.select(0, i) if self.batched else self.value


def mapped(thing: Any, function: Callable[[Mapped], Any]) -> Any:
    """An argument with a function run over the tensors in it."""
    if isinstance(thing, Mapped):
        return function(thing)
    if isinstance(thing, (list, tuple)) and any(isinstance(each, Mapped) for each in thing):
        return type(thing)([mapped(each, function) for each in thing])
    return thing


def batched(op: Any, args: tuple[Any, ...], size: int) -> tuple[Tensors, Tensors]:
    """Run an op for the whole batch; every result has the batch in front."""
    rule = op.batch if callable(op.batch) else RULES[op.batch]
    return rule(op, args, size)


def _pointwise(op: Any, args: tuple[Any, ...], size: int) -> tuple[Tensors, Tensors]:
    ndim = max([a.ndim for a in args if isinstance(a, Mapped)])
    return op.perform(tuple([mapped(a, lambda m: m.aligned(ndim)) for a in args]))


def _dims(op: Any, args: tuple[Any, ...], size: int) -> tuple[Tensors, Tensors]:
    first = next(m for a in args for m in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(m, Mapped))
    moved = []
    for name, a in zip(op.order, args, strict=True):
        if name in DIMS:
            a = shifted(a, first.ndim)
        elif name in SIZES:
            a = (size, *a)
        moved.append(mapped(a, lambda m: m.full(size)))
    return op.perform(tuple(moved))


def shifted(dims: Any, ndim: int) -> Any:
    """Dimensions of a sample as dimensions of the batch; none named are all of the sample's."""
    if dims is None or dims == ():
        return tuple(range(1, ndim + 1))
    if isinstance(dims, (tuple, list)):
        return tuple([shifted(d, ndim) for d in dims])
    return dims % max(ndim, 1) + 1


def looped(op: Any, args: tuple[Any, ...], size: int) -> tuple[Tensors, Tensors]:
    """One sample after another."""
    from .joining import stack

    runs = [op.perform(tuple([mapped(a, lambda m, i=i: m.sample(i)) for a in args])) for i in range(size)]
    return tuple([tuple([stack(column) for column in zip(*part, strict=True)]) for part in zip(*runs, strict=True)])


RULES = {"pointwise": _pointwise, "dims": _dims, "loop": looped}
