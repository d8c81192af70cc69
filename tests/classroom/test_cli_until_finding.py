"""The command `workbench trace --until-finding`: it records until something is wrong, in flat memory."""

from __future__ import annotations

import sys
from pathlib import Path

import absent
import pytest
from test_cli_trace import counted, traced, typed

import workbench
from workbench.cli.first_steps import WorkbenchSteps
from workbench.cli.until_finding import UntilFinding
from workbench.pictures.trace.backward_records import BackwardStarted

SCRIPT = """
import sys
import {engine} as torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(8, 2)
    out = net(x)
    loss = (out - x.sum(1, keepdim=True)).square().mean()
    if step == {wrong}:
        loss = loss + (0 * out).sqrt().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained", step)
{end}
"""
ENGINES = ["workbench", pytest.param("torch", marks=pytest.mark.oracle)]
NAMES = {"workbench": "the workbench", "torch": "PyTorch"}


def script(folder: Path, engine: str, wrong: int, end: str = "") -> None:
    if engine == "torch":
        pytest.importorskip("torch", reason=absent.TORCH)
    (folder / "train.py").write_text(SCRIPT.format(engine=engine, wrong=wrong, end=end))


@pytest.mark.parametrize("engine", ENGINES)
def test_it_records_until_a_step_has_a_finding(engine: str, tmp_path: Path) -> None:
    script(tmp_path, engine, 7, "sys.exit(5)")
    seen = traced(tmp_path, "--until-finding", "-o", "some.json", "train.py")
    assert (seen.stdout, seen.returncode) == ("trained 11\n", 5)
    first, *rest = seen.stderr.splitlines()
    assert first == (
        "workbench: found a problem in step 8 of train.py; wrote some.json: steps 7 to 8, recorded from "
        f"{NAMES[engine]}; the script continues unrecorded."
    )
    assert "\n".join(rest) == str(workbench.load(tmp_path / "some.json").findings())
    assert rest[0].startswith("1. The first non-finite gradients come from the backward of `sqrt` (train.py:12 ")
    assert counted(tmp_path / "some.json", BackwardStarted) == 2


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_where_nothing_is_wrong_the_last_steps_are_kept(engine: str, tmp_path: Path) -> None:
    script(tmp_path, engine, 99)
    for words, told in (
        (["--steps", "4"], "steps 9 to 12"),  # 12 is a multiple of 4
        (["--steps", "5", "--from-step", "1"], "step 12"),
    ):
        seen = traced(tmp_path, "--until-finding", *words, "train.py")
        assert (seen.stdout, seen.returncode) == ("trained 11\n", 0)
        assert seen.stderr == (
            "workbench: found no problem in 12 steps of train.py; wrote train.html: "
            f"{told}, recorded from {NAMES[engine]}.\n"
        )


@pytest.mark.slow
def test_steps_before_the_first_are_not_looked_at(tmp_path: Path) -> None:
    script(tmp_path, "workbench", 7)
    seen = traced(tmp_path, "--from-step", "7", "--until-finding", "--view", "health", "train.py")
    assert "found a problem in step 8 of train.py; wrote train.health.html: step 8, recorded" in seen.stderr
    late = traced(tmp_path, "--from-step", "20", "--until-finding", "train.py")
    assert late.stderr.startswith("workbench: nothing recorded: train.py ended after 12 steps, before --from-step ")


@pytest.mark.slow
def test_what_ends_the_script_is_looked_at_too(tmp_path: Path) -> None:
    end = "w = torch.ones(2, requires_grad=True)\nz = w.exp()\nz += 1\nz.sum().backward()"
    script(tmp_path, "workbench", 99, end)
    plain, seen = typed(tmp_path, "train.py"), traced(tmp_path, "--until-finding", "train.py")
    assert seen.returncode == plain.returncode == 1
    assert seen.stderr.startswith("workbench: found a problem after step 12 of train.py; wrote train.html: ")
    assert seen.stderr.splitlines()[-1] == plain.stderr.splitlines()[-1]
    script(tmp_path, "workbench", 99, "raise KeyboardInterrupt")
    seen = traced(tmp_path, "--until-finding", "train.py")
    assert seen.stderr.startswith("workbench: found no problem in 12 steps of train.py; ")


def test_without_an_optimiser_a_step_is_a_backward(tmp_path: Path) -> None:
    lines = (
        "import workbench as torch\nw = torch.ones(2, requires_grad=True)\nfor step in range(20):\n    w.grad = None\n"
    )
    (tmp_path / "hand.py").write_text(f"{lines}    (w * (19.5 - step) - 1).log().sum().backward()\n")
    seen = traced(tmp_path, "--until-finding", "hand.py")
    assert seen.stderr.startswith("workbench: found a problem in step 20 of hand.py; wrote hand.html: ")


def test_memory_is_flat() -> None:
    w = workbench.ones(4, requires_grad=True)
    optimizer = workbench.optim.SGD([w], lr=1e-3)
    search = UntilFinding(3)
    steps = WorkbenchSteps(sys._getframe(), 0, None, False, lambda: None, search.took)
    sizes = []
    for _ in range(30):
        optimizer.zero_grad()
        w.square().sum().backward()
        optimizer.step()
        assert steps.trace is not None
        sizes.append(len(steps.trace.events))
    steps.leave()
    assert search.found is None and len(search._before) == 1
    assert max(sizes) <= 2 * max(sizes[:3]) and sizes[3:6] == sizes[-3:]
