"""Samples by number or one after another (torch.utils.data.dataset)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ...autograd.tensor import Tensor
from ...errors import warn
from ...ops.creation import generator as default_generator

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]
Random = np.random.Generator | None


class Dataset:
    """Base class of datasets: `dataset[i]` is sample i; a subclass defines `__getitem__` and `__len__`."""

    def __class_getitem__(cls, _item: Any) -> type:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> Any:
        return ConcatDataset([self, other])


class TensorDataset(Dataset):
    """A dataset made of tensors with the same number of rows: sample i is a tuple with row i of each tensor."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class IterableDataset(Dataset):
    """Base class of datasets that are read in sequence; a subclass defines `__iter__`."""

    def __iter__(self) -> Any:
        raise NotImplementedError

    def __add__(self, other: Dataset) -> ChainDataset:
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """An IterableDataset that yields all samples of the first of `datasets`, then those of the second, and so on."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Any:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        return sum(map(len, self.datasets))  # type: ignore[arg-type]


class ConcatDataset(Dataset):
    """A dataset that joins several `datasets`: the samples of the first one, then those of the second, and so on."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        at = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[at][idx - (self.cumulative_sizes[at - 1] if at else 0)]


class Subset(Dataset):
    """A dataset that contains some samples of `dataset`: those at the positions in `indices`."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> Any:
        return self.dataset[[self.indices[i] for i in idx] if isinstance(idx, list) else self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Random = None) -> list[Subset]:
    """Split a dataset at random into several Subsets.

    Args:
        dataset: The dataset to split.
        lengths: The number of samples in each Subset, or its share of all samples, such as [0.8, 0.2].
        generator: The random number generator. None means the default generator.
    """
    count = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        floors = [math.floor(count * share) for share in lengths]
        rest, parts = count - sum(floors), len(floors)
        lengths = [floor + (rest - i + parts - 1) // parts for i, floor in enumerate(floors)]
        for i, length in enumerate(lengths):
            if not length:
                warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    if sum(lengths) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = (generator or default_generator()).permutation(count).tolist()
    return [Subset(dataset, order[end - n : end]) for end, n in zip(accumulate(lengths), lengths, strict=True)]
