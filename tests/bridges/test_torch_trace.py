"""`workbench trace` and `pytest --workbench-on-failure` with programs of PyTorch's, which compute what they compute."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import pytest
from lab import CHECKOUT
from patience import PATIENCE
from test_cli_trace import traced

import workbench
from workbench.pictures.trace.backward_records import BackwardFinished
from workbench.pictures.trace.forward_records import NodeCreated
from workbench.pictures.trace.tensor_records import TensorWritten

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# Each takes six steps; in between are all ways to count them, and modes and recordings of the program's own.
LOOPS = {
    "an optimizer": """
optimizer = torch.optim.Adam(net.parameters())
for step in range(6):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()
""",
    "gradients that add up": """
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    loss().backward()
    if step % 2:
        optimizer.step()
        optimizer.zero_grad()
""",
    "a closure": """
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=2)
def closure():
    optimizer.zero_grad()
    found = loss()
    found.backward()
    return found
for step in range(6):
    optimizer.step(closure)
""",
    "an optimizer around another": """
class Around(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
        super().__init__(net.parameters(), {})
    def step(self, closure=None):
        self.inner.step()
optimizer = Around(torch.optim.SGD(net.parameters(), lr=0.1))
for step in range(6):
    loss().backward()
    optimizer.step()
""",
    "by hand, in a mode": """
for step in range(6):
    with torch.device("cpu"):
        loss().backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
                p.grad = None
""",
    "grad()": """
for step in range(6):
    grads = torch.autograd.grad(loss(), tuple(net.parameters()))
    with torch.no_grad():
        for p, grad in zip(net.parameters(), grads):
            p -= 0.1 * grad
""",
    "a recording of its own": """
import workbench
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    with torch.device("cpu"), workbench.record(torch) as trace:
        loss().backward()
        optimizer.step()
    print(len(trace.events))
""",
    "compiled": """
net = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    loss().backward()
    optimizer.step()
""",
    "data from other processes": """
from torch.utils.data import DataLoader
class Data:
    def __len__(self): return 6
    def __getitem__(self, at):
        return torch.tensor([float(at), torch._C._len_torch_function_stack()])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for data in DataLoader(Data(), num_workers=1, multiprocessing_context="fork"):
    print(data)
    loss().backward()
    optimizer.step()
""",
}
SCRIPT = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
inputs = torch.randn(4, 2)
def loss():
    return (net(inputs) - 1).square().mean()
{}
print([p.tolist() for p in net.parameters()], torch._C._len_torch_function_stack())
"""
QUICK = {"an optimizer", "by hand, in a mode"}


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run a command line of Python in a folder; PyTorch is imported once for all of them."""
    folders = os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "assets" / "pytest")])
    words = [sys.executable, str(Path(__file__).with_name("torch_forks.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        words, env=os.environ | {"PYTHONPATH": folders, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, **pipes
    ) as server:  # type: ignore[call-overload]

        def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
            timer = Timer(PATIENCE, server.kill)
            timer.start()
            print(json.dumps([str(folder), words]), file=server.stdin, flush=True)
            code = server.stdout.readline()
            timer.cancel()
            said = [(folder / name).read_text() for name in ("out.txt", "err.txt")]
            return subprocess.CompletedProcess(words, int(code), *said)

        yield run


@pytest.mark.parametrize("loop", [pytest.param(each, marks=[pytest.mark.slow] * (each not in QUICK)) for each in LOOPS])
def test_the_steps_that_are_asked_for_are_recorded_and_nothing_else_changes(
    loop: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.format(LOOPS[loop]))
    plain = run(tmp_path, "train.py")
    for first in ("0", "3"):
        options = ("--from-step", first, "--steps", "2", "-o", "two.json")
        seen = run(tmp_path, "-m", "workbench", "trace", *options, "train.py")
        assert seen.returncode == plain.returncode == 0, seen.stderr
        assert seen.stdout == plain.stdout
        told = (
            "workbench: wrote two.json: 2 steps of train.py, recorded from PyTorch; the script continues unrecorded.\n"
        )
        assert told in seen.stderr and "lost" not in seen.stderr
        trace = workbench.load(tmp_path / "two.json")
        backwards = {"gradients that add up": 4, "a closure": 4}.get(loop, 2)
        assert sum(isinstance(event, BackwardFinished) for event in trace.events) == backwards
        written = sum(isinstance(event, TensorWritten) for event in trace.events)
        # With no optimizer the last step ends with its backward, before the parameters are written.
        assert written >= (4 if loop in ("by hand, in a mode", "grad()") else 8)
        made = next(event for event in trace.events if isinstance(event, NodeCreated))
        assert [part.kind for part in made.path[:2]] == ["loop", "round"]


def test_a_script_of_both_engines_is_told_by_the_one_that_takes_most_steps(tmp_path: Path) -> None:
    own = "import workbench\n(workbench.ones(2, requires_grad=True) ** 2).sum().backward()\n"
    own += "import sys\nassert 'torch' not in sys.modules\n"
    (tmp_path / "train.py").write_text(own + SCRIPT.format(LOOPS["an optimizer"]))
    assert "3 steps of train.py, recorded from PyTorch" in traced(tmp_path, "train.py").stderr
    assert (tmp_path / "train.html").exists()


def test_an_error_in_a_backward_has_its_page_and_its_own_traceback(run: Run, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x.exp()\ny += 1\ny.sum().backward()\n"
    )
    seen = run(tmp_path, "-m", "workbench", "trace", "fails.py", "--lr", "0.1")
    assert seen.returncode == 1 and "workbench: wrote fails.html: no whole step of fails.py" in seen.stderr
    assert 'fails.py", line 5, in <module>' in seen.stderr
    assert str(CHECKOUT / "workbench") not in seen.stderr
    assert "modified by an inplace operation" in seen.stderr


TESTS = """
import torch

def test_operation():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    torch.nn.Linear(3, 2)(x)

def test_backward():
    y = torch.ones(2, requires_grad=True).exp()
    y += 1
    y.sum().backward()

def test_fails():
    (torch.ones(2, requires_grad=True) ** 2).sum().backward()
    assert False

def teardown_function():
    from torch.optim.optimizer import _global_optimizer_post_hooks
    assert not torch._C._len_torch_function_stack()
    assert torch.autograd.graph._engine_run_backward.__module__.startswith("torch")
    assert not _global_optimizer_post_hooks
"""


def test_a_failing_test_of_pytorch_has_its_page_and_no_frame_of_what_records(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test_torch.py").write_text(TESTS)
    shown = []
    for option in ([], ["--workbench-on-failure"]):
        words = ["-p", "pytest_workbench", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
        seen = run(tmp_path, "-m", "pytest", *words, "test_torch.py", *option)
        assert "= 3 failed in " in seen.stdout, seen
        shown.append(set(re.findall(r"^(\S+\.py):\d+: ", seen.stdout, re.M)))
    plain, recorded = shown
    assert recorded and recorded - plain <= {name for name in recorded if name.endswith("overrides.py")}
    assert re.search(r"^Recorded from PyTorch: .*test_torch\.py\+test_fails\.html$", seen.stdout, re.M)
