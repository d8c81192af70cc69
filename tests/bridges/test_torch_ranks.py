"""Two real processes that train together by PyTorch's gloo: what the files of `watch` tell of their ranks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import absent
import pytest
from lab import CHECKOUT
from oracle import torch
from patience import PATIENCE
from watched import lines

import workbench
from workbench.diagnosis.health.ranks import read_ranks

if torch is None or not torch.distributed.is_available():
    pytest.skip(absent.TORCH, allow_module_level=True)

PROGRAM = Path(__file__).with_name("torch_ranks.py")
TRAIN = """
import os, torch
rank = int(os.environ["RANK"])
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    model(torch.full((3, 2), rank + 1.0)).square().sum().backward()
    optimizer.step()
print(f"rank {rank}: {float(model.module.bias.detach()):.6f}", flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that both ranks wrote."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "train.py").write_text(TRAIN)
    path = os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "tests" / "support")])
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(PROGRAM)]
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | loopback
    given = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "timeout": 4 * PATIENCE}
    ran = subprocess.run(words, check=False, **given)
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.fixture
def trained(folder: Path) -> Callable[[str], list[Path]]:
    """The files of `watch` of both ranks, by what was planted."""
    return lambda how: [folder / f"{how.replace(' ', '_')}.rank{rank}.jsonl" for rank in range(2)]


def told(paths: list[Path]) -> list[str]:
    return [each.sentence for each in read_ranks(paths).found]


def test_ranks_that_are_healthy_have_no_findings(trained: Any) -> None:
    paths = trained("nothing")
    assert told(paths) == []
    (head, *first), (_, *second) = [lines(path) for path in paths]
    assert head["averaged"] and [line["step"] for line in first] == [1, 2, 3, 4, 5, 6]
    for one, other in zip(first, second, strict=True):
        assert one["grad"] == other["grad"] and one["own"] != other["own"], "before averaging each has its own"


PLANTED = [
    ("forward", "Step 3: rank 1 went wrong first: the norm of the output of module.0 is nan; rank 0 in step 3 "),
    (
        "backward",
        "Step 3: rank 1 went wrong first: the norm of the gradient of module.2.bias, before ranks average it,",
    ),
    (
        "changed gradient",
        "Step 3: the gradients of 1 of 4 parameters differ between the ranks: the norm of",
    ),
    ("shards", "4 parameters are spread over the ranks, as FSDP does it: each rank has the norms of its own part"),
    ("alone", "Step 1: the gradients of 4 of 4 parameters differ between the ranks: the norm of 0.weight is "),
    ("error", "Rank 1 stopped first: rank 1 after 2 steps: ArithmeticError: no data"),
]


@pytest.mark.parametrize(("how", "said"), PLANTED)
def test_what_is_planted_in_one_rank_is_told_first(how: str, said: str, trained: Any) -> None:
    found = told(trained(how))
    assert found[0].startswith(said), found
    count = {"changed gradient": 2, "alone": 2, "shards": 1, "error": 1}.get(how)
    assert count is None or len(found) == count, found


def test_the_step_that_went_wrong_is_recorded_on_the_rank_where_it_did(trained: Any) -> None:
    one, two = trained("forward")
    trace = workbench.load(two.with_name("forward.rank1.step-3.json"))
    kinds = [type(event).__name__ for event in trace.events]
    assert kinds.count("BackwardStarted") == 1 and "HooksFound" not in kinds
    assert one.with_name("forward.rank0.step-4.json").exists()


def test_under_torchrun_each_rank_writes_its_own_trace(folder: Path) -> None:
    for rank in range(2):
        plain, traced = [(folder / f"{name}.rank{rank}.txt").read_text() for name in ("plain", "traced")]
        assert plain.startswith(f"rank {rank}: ") and plain in traced
        assert f"workbench: wrote out.rank{rank}.json: 3 steps of train.py" in traced
        events = workbench.load(folder / f"out.rank{rank}.json").events
        assert [type(event).__name__ for event in events].count("BackwardStarted") == 3
