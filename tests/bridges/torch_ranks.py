"""One of two processes that train together, by themselves, traced, and with something planted in the second."""

from __future__ import annotations

import contextlib
import os
import runpy
from typing import Any

import torch
import torch.distributed as distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import workbench
from workbench.cli import main

PLANTED = ("nothing", "forward", "backward", "changed gradient", "shards", "alone", "error")


def train(how: str, rank: int) -> None:
    """Six steps, watched, each rank on numbers of its own."""
    torch.manual_seed(0)
    model: Any = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    if how == "shards":
        fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    elif how != "alone":
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    path = f"{how.replace(' ', '_')}.jsonl"
    with workbench.watch(model, optimizer, every=1, path=path):
        for step in range(1, 7):
            torch.manual_seed(10 * step + rank)
            planted = rank == 1 and step == 3
            x = torch.randn(16, 4)
            if how == "forward" and planted:
                x[0, 0] = torch.nan
            optimizer.zero_grad()
            out = model(x)
            loss = (out**2).mean()
            if how == "backward" and planted:
                loss = loss + (out * 0).sum().abs().sqrt()
            loss.backward()
            if how == "changed gradient" and planted:
                model.module[2].weight.grad *= 0.5
            if how == "error" and planted:
                raise ArithmeticError("no data")
            optimizer.step()


def run() -> None:
    """Run train.py plain and traced, and then every training with something planted."""
    rank = int(os.environ["RANK"])
    distributed.init_process_group("gloo")
    for name in ("plain", "traced"):
        with open(f"{name}.rank{rank}.txt", "w", encoding="utf-8") as said, contextlib.ExitStack() as redirected:
            for redirect in (contextlib.redirect_stdout, contextlib.redirect_stderr):
                redirected.enter_context(redirect(said))
            if name == "plain":
                runpy.run_path("train.py", run_name="__main__")
            else:
                main(["trace", "-o", "out.json", "train.py"])
    for how in PLANTED:
        # The error that is planted in one rank ends the other's connection.
        with contextlib.suppress(*([ArithmeticError, RuntimeError] if how == "error" else [])):
            train(how, rank)


if __name__ == "__main__":
    run()
    os._exit(0)  # a rank that leaves while PyTorch's own threads run can end in an abort
