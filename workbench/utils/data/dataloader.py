"""Iterating over a dataset in batches (torch.utils.data.dataloader)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ...autograd.dtypes import float64
from ...autograd.tensor import Tensor
from ...ops.convert import as_tensor
from ...ops.creation import generator as default_generator
from ...ops.creation import tensor
from ...ops.join_split import stack
from .dataset import Dataset, IterableDataset, Random
from .sampler import COUNT

__all__ = ["DataLoader", "Dataset", "IterableDataset", "default_collate", "default_convert"]

FLOWING = "DataLoader with IterableDataset: expected unspecified {0} option, but got {0}={1}"


def default_collate(batch: Sequence[Any]) -> Any:
    """Join the samples in the list `batch`, and return them as one batch.

    Samples that are tensors, arrays or numbers become one tensor with a new first dimension. Samples that are
    tuples, lists or dicts are collated part by part.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, float) and not isinstance(first, np.generic):
        return tensor(batch, dtype=float64)
    if isinstance(first, (int, np.bool_, np.number)):
        return tensor(list(batch)) if isinstance(first, int) else as_tensor(np.array(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _mapped(first, {key: default_collate([each[key] for each in batch]) for key in first})
    if isinstance(first, Sequence):
        if not hasattr(first, "_fields") and any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _listed(first, [default_collate(part) for part in zip(*batch, strict=False)])
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


def default_convert(data: Any) -> Any:
    """Return `data` with its NumPy arrays and numbers as tensors, even inside tuples, lists and dicts."""
    if isinstance(data, (np.ndarray, np.bool_, np.number)) and data.dtype.kind not in "SUO":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _mapped(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _listed(data, [default_convert(each) for each in data])
    return data


def _mapped(like: Any, made: dict[Any, Any]) -> Any:
    """Return a mapping of another one's type, with these values."""
    if not isinstance(like, MutableMapping):
        return type(like)(made)
    filled = copy.copy(like)
    filled.update(made)
    return filled


def _listed(like: Any, parts: list[Any]) -> Any:
    """Return a sequence of another one's type, with these elements; a list instead of a plain tuple."""
    if hasattr(like, "_fields"):
        return type(like)(*parts)
    if not isinstance(like, MutableSequence):
        return parts
    filled = copy.copy(like)
    filled[:] = parts
    return filled


class DataLoader:
    """Iterate over a dataset in batches, in order or, with `shuffle`, in a new random order each time.

    The calling process loads the samples: `num_workers` and `pin_memory` have no effect. PyTorch:
    torch.utils.data.DataLoader.

    Example:
        >>> from workbench.utils.data import DataLoader, TensorDataset
        >>> dataset = TensorDataset(torch.arange(5), torch.arange(5) ** 2)
        >>> for x, y in DataLoader(dataset, batch_size=3):
        ...     print(x, y)
        tensor([0, 1, 2]) tensor([0, 1, 4])
        tensor([3, 4]) tensor([ 9, 16])

    Args:
        dataset: The samples: a Dataset, a list, or an IterableDataset.
        batch_size: The number of samples per batch. With None, the loader yields single samples.
        shuffle: If True, each iteration over the loader uses a new random order.
        sampler: Yields sample indices in the order to use; replaces `shuffle`.
        batch_sampler: Yields one list of sample indices per batch; replaces `batch_size`, `shuffle`, `sampler` and
            `drop_last`.
        collate_fn: A function that makes a batch from a list of samples. None means `default_collate`.
        drop_last: If True, the last batch is left out unless it is full.
        generator: The random number generator for `shuffle`. None means the default generator.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        *,
        generator: Random = None,
    ) -> None:
        flowing = isinstance(dataset, IterableDataset)
        for name, given in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if flowing and given not in (None, False):
                raise ValueError(FLOWING.format(name, given))
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        elif batch_size is not None and (not isinstance(batch_size, int) or batch_size <= 0):
            raise ValueError(COUNT.format("batch_size", batch_size))
        if shuffle and not len(dataset):
            raise ValueError(COUNT.format("num_samples", 0))
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.shuffle, self.sampler, self.batch_sampler = bool(shuffle), sampler, batch_sampler
        self.num_workers, self.pin_memory, self.generator = num_workers, pin_memory, generator
        single = batch_size is None and batch_sampler is None
        self.collate_fn = collate_fn or (default_convert if single else default_collate)

    def _samples(self) -> Iterator[Any]:
        """Yield all samples one by one."""
        if isinstance(self.dataset, IterableDataset):
            return iter(self.dataset)
        return (self.dataset[i] for i in self._order())

    def _order(self) -> Iterable[int]:
        """Return the samples' numbers in order."""
        if self.sampler is not None:
            return self.sampler
        count = len(self.dataset)
        return (self.generator or default_generator()).permutation(count).tolist() if self.shuffle else range(count)

    def _batches(self) -> Iterator[list[int]]:
        """Return the numbers of each batch's samples."""
        if self.batch_sampler is not None:
            yield from self.batch_sampler
            return
        order = iter(self._order())
        while numbers := list(islice(order, self.batch_size)):
            if len(numbers) == self.batch_size or not self.drop_last:
                yield numbers

    def __iter__(self) -> Iterator[Any]:
        if self.batch_size is None and self.batch_sampler is None:
            yield from map(self.collate_fn, self._samples())
            return
        if isinstance(self.dataset, IterableDataset):
            samples = self._samples()
            while batch := list(islice(samples, self.batch_size)):
                if len(batch) == self.batch_size or not self.drop_last:
                    yield self.collate_fn(batch)
            return
        for numbers in self._batches():
            yield self.collate_fn([self.dataset[i] for i in numbers])

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)  # type: ignore[arg-type]
        count = len(self.dataset if self.sampler is None else self.sampler)  # type: ignore[arg-type]
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
