"""`pytest --workbench-on-failure` shows of an error in PyTorch's program the lines that pytest shows by itself."""

from __future__ import annotations

import os
import re

import absent
import pytest
from lab import CHECKOUT
from oracle import torch as torch

if torch is None:
    pytest.skip(absent.TORCH, allow_module_level=True)

pytest_plugins = ("pytester",)

TESTS = """
import torch

def test_operation():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    torch.nn.Linear(3, 2)(x)

def test_backward():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y += 1
    y.sum().backward()
"""


def test_no_frame_of_what_records_is_shown(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "assets" / "pytest")]))
    pytester.makepyfile(test_some=TESTS)
    shown = []
    for option in ([], ["--workbench-on-failure"]):
        result = pytester.runpytest_subprocess("-p", "pytest_workbench", "-p", "no:cacheprovider", *option)
        result.assert_outcomes(failed=2)
        shown.append(re.findall(r"^(\S+\.py):\d+: ", result.stdout.str(), re.M))
    plain, seen = shown
    assert seen and set(seen) - set(plain) <= {name for name in seen if name.endswith("overrides.py")}
