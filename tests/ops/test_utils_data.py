"""Samples in batches beside PyTorch's loader, and an order that is random but of the engine's seed."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from oracle import entries

import workbench
from workbench.utils.data import DataLoader, TensorDataset, random_split

Point = namedtuple("Point", "x y")
LOADERS = """
DataLoader(d) | DataLoader(d, 2) | DataLoader(d, 2, drop_last=True) | DataLoader(d, batch_size=10) | DataLoader(d, None)
DataLoader(d, 10, drop_last=True) | DataLoader(d, 2, sampler=[4, 0, 2]) | DataLoader(d, batch_sampler=[[0, 1], [4]])
DataLoader(d, 2, collate_fn=len) | DataLoader(d, None, collate_fn=len) | DataLoader(d, 5, shuffle=False)
DataLoader(d, 0) | DataLoader(d, -1) | DataLoader(d, 2.5) | DataLoader(d, None, drop_last=True)
DataLoader(d, shuffle=True, sampler=[1]) | DataLoader(d, 2, batch_sampler=[[1]]) | DataLoader([], 2)
DataLoader([], shuffle=True) | DataLoader([1.5, 2, 3], 2) | DataLoader([1, 2, 3], 2) | DataLoader([True, False], 2)
DataLoader(["a", "bc"], 2) | DataLoader([[1, 2.0], [3, 4.0]], 2)
DataLoader([{"a": 1, "b": [1.0]}, {"a": 2, "b": [3.0]}], 2) | DataLoader([P(1, 2.0), P(3, 4.0)], 2)
DataLoader([set()]) | DataLoader([[1], [1, 2]], 2) | DataLoader([np.ones(2), np.zeros(2)], 2)
DataLoader([np.float32(1), np.float32(2)], 2) | DataLoader([(1, "a"), (2, "b")], 2)
DataLoader(torch.arange(6).reshape(3, 2), 2) | DataLoader(Dataset(), 2) | DataLoader(Subset(d, [3, 1]), 2)
DataLoader(TensorDataset(torch.arange(3)), 2) | DataLoader([None, None], 2)
DataLoader(TensorDataset(torch.ones(2, 1, requires_grad=True)), 2) | [TensorDataset(torch.ones(2), torch.ones(3))]
[TensorDataset(torch.arange(4), torch.eye(4))[1:3]] | [Dataset()[0]] | [Subset(d, [3, 1])[[0, 1]]]
[list(map(len, random_split(d, [2, 3])))] | [list(map(len, random_split(d, [0.5, 0.25, 0.25])))]
random_split(d, [1, 1]) | [list(map(len, random_split(d, [0.9, 0.1, 0.0])))] | random_split(d, [1.5, -0.5])
DataLoader(Flow(), 2) | DataLoader(Flow(), 2, drop_last=True) | DataLoader(Flow(), None) | DataLoader(Flow(), 2, True)
DataLoader(Flow(), sampler=[1]) | [list(Flow() + Flow())] | DataLoader(d + d, 3) | [ConcatDataset([d, [1, 2]])[-1]]
ConcatDataset([]) | ConcatDataset([Flow()]) | [ConcatDataset([d])[-9]] | [len(Flow())]
DataLoader(d, 2, sampler=SequentialSampler(d))
DataLoader(d, batch_sampler=BatchSampler(SequentialSampler(d), 2, True))
[sorted(RandomSampler(d))] | [len(RandomSampler(d, num_samples=12)), sorted(list(RandomSampler(d, num_samples=12))[:5])]
[len(list(RandomSampler(d, True, 70))), next(iter(RandomSampler([0], True, 10**12)))]
RandomSampler(d, 1) | RandomSampler([]) | RandomSampler(d, num_samples=0)
[sorted(SubsetRandomSampler([3, 5, 7]))] | [list(WeightedRandomSampler([0.0, 1.0], 4))]
WeightedRandomSampler([1.0], 0)
[sorted(WeightedRandomSampler([1.0, 2.0, 0.5], 3, False))] | WeightedRandomSampler([[1.0]], 1)
BatchSampler([1], 0, True)
WeightedRandomSampler([1.0], 1, 2) | BatchSampler([1], 1, 2) | [list(Sampler())]
[len(BatchSampler([1, 2, 3], 2, False))]
DataLoader([np.ones(2), {"a": np.float32(2)}, P([np.eye(2), "a"], 3), (1.5, None)], None)
"""


@pytest.mark.parametrize("text", entries(LOADERS))
def test_a_loader(torch: Any, text: str) -> Any:
    data = torch.utils.data
    d = data.TensorDataset(torch.arange(10.0).reshape(5, 2), torch.arange(5))

    class Flow(data.IterableDataset):
        def __iter__(self):
            return iter([1.5, 2.5, 3.5])

    made = eval(text, {"torch": torch, "d": d, "P": Point, "np": np, "Flow": Flow} | vars(data))
    return len(made), list(made), list(made)


def test_each_sample_comes_once_in_a_random_order(torch):
    d = torch.utils.data.TensorDataset(torch.arange(100))
    loader = torch.utils.data.DataLoader(d, 7, shuffle=True, num_workers=0)
    first, second = (torch.cat([x for (x,) in loader]) for _ in range(2))
    parts = torch.utils.data.random_split(d, [40, 60])
    parted = sorted(x.item() for part in parts for (x,) in part)
    return torch.equal(first, second), first.sort().values.sum(), len(loader), parted == list(range(100))


def test_the_seed_gives_the_order() -> None:
    def order() -> list[int]:
        workbench.manual_seed(3)
        loader = DataLoader(TensorDataset(workbench.arange(20)), 4, shuffle=True)
        return [x.tolist() for (x,) in loader] + random_split(range(5), [2, 3])[0].indices

    assert order() == order()
    loader = DataLoader(range(20), None, True, generator=np.random.default_rng(0))
    assert list(loader) == np.random.default_rng(0).permutation(20).tolist()


def test_a_dataset_of_ones_own(torch):
    class Squares(torch.utils.data.Dataset[int]):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return torch.tensor([i, i * i]), i % 2 == 0

    return list(torch.utils.data.DataLoader(Squares(), batch_size=2))
