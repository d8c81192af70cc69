"""Random numbers written into a tensor: `uniform_`, `normal_`, `random_` and other distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import errors
from ...autograd.levels import is_batched
from ...autograd.state import local
from ...autograd.tensor import Tensor
from ..core.checks import int_of
from ..core.op import define, method
from ..creation import drawn
from ..creation import generator as generator_of
from ..inplace import write
from ..plain_writes import FLOAT64
from ..shape import expand

_random = {
    name: define(
        f"{name}(Tensor self, Kept numbers)",
        lambda a, numbers: numbers.astype(a.dtype),
        node=node,
        batch="pointwise",
        self="zeros_like(grad)",
        tangent="zeros_like(self_t)",
    )
    for name, node in (
        *dict.fromkeys(("uniform", "normal", "exponential", "cauchy", "log_normal", "geometric"), "").items(),
        ("random_between", "RandomBackward0"),
        ("random_below", "RandomBackward1"),
        ("random_whole", "RandomBackward2"),
        ("bernoulli_number", "BernoulliBackward2"),
    )
}
_bernoulli_tensor = define(
    "bernoulli_tensor(Tensor self, Kept p, Kept noise)",
    lambda a, p, noise: np.broadcast_to(noise < p, a.shape).astype(a.dtype),
    node="BernoulliBackward1",
    batch="pointwise",
    self="zeros_like(grad)",
    tangent="zeros_like(self_t)",
)
WRITTEN = {  # by an op: what a program calls
    **dict.fromkeys(("random_between", "random_below", "random_whole"), "random"),
    **dict.fromkeys(("bernoulli_number", "bernoulli_tensor"), "bernoulli"),
}
INT64 = np.dtype(np.int64)
CONTINUOUS = (
    "{} distribution is a continuous probability distribution. dtype must be a floating point but you specified {}"
)


def _draw(
    t: Tensor,
    op: Any,
    draw: Callable[[Any, tuple[int, ...]], Any],
    source: Any,
    *given: Any,
    kind: np.dtype = FLOAT64,
) -> Tensor:
    """Write numbers that `draw(generator, shape)` makes, by an op of its own."""
    name = f"{WRITTEN.get(op.op.name, op.op.name)}_"
    random = generator_of(source)

    def numbers(batch: tuple[int, ...]) -> np.ndarray:
        return np.asarray(draw(random, (*batch, *t._array.shape)))

    if any([level.randomness == "different" for level in local.modes.levels]) and is_batched(t) is None:
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This "
            "will appear like same randomness. If this is necessary for your usage, please "
            "file an issue with functorch."
        )
    return write(t, name, op, *given, drawn(numbers, kind, False))


def _check_kernel(t: Tensor, kernel: str, refused: str = "bui") -> None:
    """Raise NotImplementedError for a dtype that this draw doesn't support."""
    if t._array.dtype.kind in refused:
        raise NotImplementedError(errors.NO_KERNEL.format(kernel, t.dtype.word))


@method()
def uniform_(self: Tensor, a: float = 0, b: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the uniform distribution over [a, b)."""
    _check_kernel(self, "check_uniform_bounds")
    if a > b:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a:g} > to={b:g}")
    return _draw(self, _random["uniform"], lambda source, shape: source.uniform(a, b, shape), generator)


@method()
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with normal random numbers of mean `mean` and standard deviation `std`."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    _check_kernel(self, "normal_kernel_cpu")
    return _draw(self, _random["normal"], lambda source, shape: source.normal(mean, std, shape), generator)


@method()
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the exponential distribution.

    Its density is `lambd * exp(-lambd * x)`, and its mean `1 / lambd`.
    """
    if self._array.dtype.kind != "f":
        raise RuntimeError(CONTINUOUS.format("Exponential", self.dtype.word))
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _draw(self, _random["exponential"], lambda source, shape: source.exponential(1 / lambd, shape), generator)


@method()
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the Cauchy distribution.

    Half of them are within `sigma` of `median`.
    """
    if self._array.dtype.kind != "f":
        raise RuntimeError(CONTINUOUS.format("Cauchy", self.dtype.c_name))
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return _draw(
        self, _random["cauchy"], lambda source, shape: median + sigma * source.standard_cauchy(shape), generator
    )


@method()
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers whose logarithms are normally distributed.

    The logarithms have mean `mean` and standard deviation `std`.
    """
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    _check_kernel(self, "log_normal_cpu")
    return _draw(self, _random["log_normal"], lambda source, shape: source.lognormal(mean, std, shape), generator)


@method()
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random counts from the geometric distribution.

    A count is the number of trials up to the first success. Each trial succeeds with probability
    `p`.
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    _check_kernel(self, "geometric_cpu", "b")
    return _draw(self, _random["geometric"], lambda source, shape: source.geometric(p, shape), generator)


@method()
def random_(self: Tensor, *bounds: int, generator: Any = None) -> Tensor:
    """Fill the tensor with random integers, and return it.

    `random_(to)` draws them from 0 up to, but not including, `to`. `random_(low, to)` draws them
    from `low` up to, but not including, `to`.

    `random_()` draws them from 0 up to and including the largest integer of the dtype. Floating
    dtypes have gaps between large integers. There, the largest is the one up to which all integers
    are exact: 2048 for float16, 2**24 for float32, 2**53 for float64.

    Args:
        bounds: Nothing, `to`, or `low` and `to`, as integers.
        generator: The random number generator to draw from. By default, it is the global one.

    Raises:
        RuntimeError: if `to` isn't larger than `low`, or the dtype of integers can't hold a bound.

    Example:
        >>> dice = torch.zeros(1000, dtype=torch.int64).random_(1, 7)
        >>> dice.min(), dice.max()
        (tensor(1), tensor(6))
    """
    kind = self._array.dtype
    low, to = (0, *bounds) if len(bounds) == 1 else bounds or (0, _most(kind) + 1)
    low, to = int_of("random_", "from", 0, low), int_of("random_", "to", 1, to)
    if low >= to:
        raise RuntimeError(errors.RANDOM_RANGE.format(low, to))
    for name, bound in (("from", low), ("to - 1", to - 1)):
        if kind.kind in "iub" and not (np.iinfo(kind).min if kind.kind != "b" else 0) <= bound <= _most(kind):
            raise RuntimeError(f"{name} is out of bounds for {self.dtype.c_name}")
    which = ("random_whole", "random_below", "random_between")[len(bounds)]
    return _draw(
        self,
        _random[which],
        lambda source, shape: source.integers(low, to - 1, shape, endpoint=True),
        generator,
        kind=INT64,
    )


def _most(kind: np.dtype) -> int:
    """Return the largest integer that `random_` writes by default."""
    if kind.kind == "f":
        return 2 ** (np.finfo(kind).nmant + 1)
    return 1 if kind.kind == "b" else int(np.iinfo(kind).max)


@method()
def bernoulli_(self: Tensor, p: float | Tensor = 0.5, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random 0s and 1s; `p` is the probability of a 1.

    Args:
        p: A number, or a tensor with a probability for each element.
    """
    if isinstance(p, Tensor):
        chances = expand(p, self._array.shape).detach()
        check_chances(chances)
        return _draw(self, _bernoulli_tensor, lambda source, shape: source.random(shape), generator, chances)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return _draw(self, _random["bernoulli_number"], lambda source, shape: source.random(shape) < p, generator)


def check_chances(p: Tensor) -> None:
    """Raise RuntimeError unless all are probabilities."""
    if not ((p._array >= 0) & (p._array <= 1)).all():
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
