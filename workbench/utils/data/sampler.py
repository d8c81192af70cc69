"""Orders in which samples are loaded (torch.utils.data.sampler)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ...ops.convert import as_tensor
from ...ops.creation import generator as default_generator
from .dataset import Random

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

COUNT = "{0} should be a positive integer value, but got {0}={1}"
TRUTH = "{0} should be a boolean value, but got {0}={1}"
WEIGHTS = "weights should be a 1d sequence but given weights have shape {}"

AT_ONCE = 32  # random numbers: a program may ask for far more than it takes


def _count(name: str, given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given <= 0:
        raise ValueError(COUNT.format(name, given))
    return given


class Sampler:
    """Base class of samplers: iterating over a sampler yields sample indices in the order to use."""

    def __class_getitem__(cls, _item: Any) -> type:
        return cls

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """A sampler that yields the indices of all samples of `data_source` in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """A sampler that yields all sample indices in random order.

    Args:
        data_source: The samples. Only their number, `len(data_source)`, is used.
        replacement: If True, each index is drawn independently, so an index may occur several times.
        num_samples: How many indices to draw, by default as many as there are samples.
        generator: The random number generator. None means the default generator.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Random = None
    ) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        if not isinstance(replacement, bool):
            raise TypeError(TRUTH.format("replacement", replacement))
        self.num_samples = _count("num_samples", len(data_source) if num_samples is None else num_samples)

    def __iter__(self) -> Iterator[int]:
        count, chance = len(self.data_source), self.generator or default_generator()
        if self.replacement:
            for start in range(0, self.num_samples, AT_ONCE):
                yield from chance.integers(count, size=min(AT_ONCE, self.num_samples - start)).tolist()
            return
        for start in range(0, self.num_samples, count):
            yield from islice(chance.permutation(count).tolist(), self.num_samples - start)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """A sampler that yields the given sample indices in random order.

    Args:
        indices: The sample indices.
        generator: The random number generator. None means the default generator.
    """

    def __init__(self, indices: Sequence[int], generator: Random = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in (self.generator or default_generator()).permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """A sampler that draws `num_samples` sample indices: index i with a probability proportional to `weights[i]`.

    Args:
        weights: A weight for each sample. They need not sum to one.
        num_samples: How many indices to draw.
        replacement: If True, an index may be drawn several times. If False, it is drawn at most once.
        generator: The random number generator. None means the default generator.
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Random = None
    ) -> None:
        self.num_samples = _count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(TRUTH.format("replacement", replacement))
        self.weights = as_tensor(np.asarray(weights, dtype=np.float64))
        if self.weights.dim() != 1:
            raise ValueError(WEIGHTS.format(tuple(self.weights.shape)))
        self.replacement, self.generator = replacement, generator

    def __iter__(self) -> Iterator[int]:
        shares = self.weights.numpy() / self.weights.numpy().sum()
        chance = self.generator or default_generator()
        yield from chance.choice(len(shares), self.num_samples, self.replacement, shares).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """A sampler that yields lists of `batch_size` sample indices, which it takes from another sampler.

    Example:
        >>> order = torch.utils.data.SequentialSampler(range(5))
        >>> list(torch.utils.data.BatchSampler(order, batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]

    Args:
        sampler: Yields the sample indices: a sampler, or another iterable.
        batch_size: The number of indices in each list.
        drop_last: If True, the last list is left out if it isn't full.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.sampler, self.batch_size, self.drop_last = sampler, _count("batch_size", batch_size), drop_last
        if not isinstance(drop_last, bool):
            raise ValueError(TRUTH.format("drop_last", drop_last))

    def __iter__(self) -> Iterator[list[int]]:
        order = iter(self.sampler)
        while numbers := list(islice(order, self.batch_size)):
            if len(numbers) == self.batch_size or not self.drop_last:
                yield numbers

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
