"""`watch` on a training of PyTorch's."""

from __future__ import annotations

import gc
import inspect
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from oracle import torch
from watched import CHECKS, lines, model_of, train

import workbench


@pytest.mark.parametrize("check", CHECKS)
def test_a_training_of_pytorch(check: Callable[..., None], tmp_path: Path, capsys: Any) -> None:
    given = {"capsys": capsys} if "capsys" in inspect.signature(check).parameters else {}
    check(torch, tmp_path / "run.jsonl", **given)


def test_parameters_and_outputs_of_many_kinds(tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(10, 4, sparse=True)
            self.halves = torch.nn.Linear(4, 4).bfloat16()
            self.doubles = torch.nn.Linear(4, 4).double()
            self.complex = torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))
            self.unused = torch.nn.Linear(2, 2)
            self.cell = torch.nn.GRU(4, 4)

        def forward(self, at: Any) -> Any:
            x = self.words(at)
            x = self.halves(x.bfloat16()).double()
            return self.cell(self.doubles(x).float())[0].sum() + self.complex.sum().abs()

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with workbench.watch(model, optimizer, every=1, path=tmp_path / "run.jsonl"):
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.tensor([[1, 2], [3, 4]])).backward()
            optimizer.step()
    header, first, _ = lines(tmp_path / "run.jsonl")
    grads = dict(zip([each["name"] for each in header["parameters"]], first["grad"], strict=True))
    assert grads["unused.weight"] is None and grads["unused.bias"] is None
    assert all(norm > 0 for name, norm in grads.items() if "unused" not in name)


def test_nothing_of_it_is_in_a_recording_and_no_memory_is_kept(tmp_path: Path) -> None:
    counts = []
    for watched in (False, True):
        model, optimizer = model_of(torch)
        watch = workbench.watch(model, optimizer, every=1, path=tmp_path / "run.jsonl") if watched else None
        with workbench.record(torch) as trace:
            train(torch, model, optimizer, 2)
        if watch is not None:
            watch.remove()
        counts.append([type(event).__name__ for event in trace.events])
    assert counts[0] == counts[1]
    model, optimizer = model_of(torch)
    with workbench.watch(model, optimizer, every=1, path=tmp_path / "long.jsonl"):
        train(torch, model, optimizer, 100)
        tracemalloc.start()
        try:
            train(torch, model, optimizer, 100)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            train(torch, model, optimizer, 400)
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] - before < 20_000
        finally:
            tracemalloc.stop()
