"""A training that a callback watches, and that fails without a word to it, has its end in the file."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import CHECKOUT

import workbench
from workbench.callbacks.training_watch import Watches

SCRIPT = """
import workbench as torch
from workbench.callbacks.training_watch import Watches
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
callback = Watches(every=1)
callback._watch.begin(net, optimizer)
for at in range(3):
    net(torch.ones(4, 3)).sum().backward()
    if at == 2:
        raise ValueError("no more")
    optimizer.step()
"""


def last_line(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8").splitlines()[-1])


def test_a_program_that_an_error_ends_tells_it_in_the_last_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
    )
    assert done.returncode == 1 and done.stderr.rstrip().endswith("ValueError: no more")
    last = last_line(tmp_path / "run.jsonl")
    assert last["ended"] == 2 and last["error"] == "ValueError: no more"


@pytest.mark.slow
@pytest.mark.parametrize("over", [False, True])
def test_a_callback_that_is_gone_watches_no_longer(over: bool, tmp_path: Path, monkeypatch: Any) -> None:
    """One whose training is over adds nothing."""
    monkeypatch.delattr(sys, "last_value", raising=False)
    net, path = workbench.nn.Linear(3, 2), tmp_path / "run.jsonl"
    callback = Watches(every=1, path=path)
    callback._watch.begin(net, workbench.optim.SGD(net.parameters(), lr=0.1))
    assert callback.watched is not None
    if over:
        callback._watch.end()
    before = path.read_text(encoding="utf-8")
    del callback
    gc.collect()
    assert (path.read_text(encoding="utf-8") == before) == over
    error = "" if over else "RuntimeError: the training did not come to its end"
    last = last_line(path)
    assert (last["ended"], last["error"]) == (0, error)
