"""The command `workbench audit`, for a Function of a file and for all that a script applies, in both engines."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import absent
import pytest
from lab import CHECKOUT

OPS = """
import {engine} as torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad

class Written(Square):
    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(10)

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, bias=None):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None, None

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad @ b.t(), a.t() @ grad

cube = lambda x: x**3
NUMBER = 3
"""
SCRIPT = """
import sys
from ops import Scale, Square, Written, torch
print("ran", sys.argv)
x = torch.ones(3, requires_grad=True)
Square.apply(x).sum().backward()
Square.apply(x).sum().backward()
(Written.apply(x * 2) * 2).sum().backward()
Scale.apply(x, 3.0)
Scale.apply(x.detach(), 3.0)
if "fail" in sys.argv: raise KeyError("x")
"""
DRIVER = """
import contextlib, io, json, sys
from workbench.cli import main
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["audit", *words])
    for name in ("ops", "bad"):
        sys.modules.pop(name, None)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


@pytest.fixture(params=["workbench", pytest.param("torch", marks=pytest.mark.oracle)])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(absent.TORCH)
    (tmp_path / "ops.py").write_text(OPS.format(engine=request.param))
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "bad.py").write_text("1 / 0\n")
    (tmp_path / "idle.py").write_text("import ops\n")
    return tmp_path


def audited(folder: Path, *lines: list[str]) -> list[tuple[int, str, str]]:
    """The exit code, stdout and stderr of each command line."""
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER], input=json.dumps(lines), capture_output=True, text=True, cwd=folder, env=env
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_a_function_of_a_file(folder: Path) -> None:
    square, written, scale, named, product, plain, module = audited(
        folder,
        ["ops.py:Square"],
        ["ops.py:Written", "--json"],
        ["ops.py:Scale", "--input", "float64[5]", "--input", "factor=3.0"],
        ["--input", "float32[2] positive", "--input", "bias=None", "--input", "factor=2", "ops.py:Scale"],
        ["ops.py:Product", "--input", "float32[2,3]", "--input", "float32[3,1] nograd", "--check", "derivative"],
        ["ops.py:cube"],
        ["ops:Square"],
    )
    assert square[0] == 0 and "Audit of Square: " in square[1] and "✓ derivative\n" in square[1]
    (told,) = json.loads(written[1])["audits"]
    assert written[0] == 1 and not told["ok"]
    failed = {each["name"]: each for each in told["checks"] if each["outcome"] == "fail"}
    assert "gradient isn't written" in failed and failed["derivative"]["line"] == "ops.py, line 17"
    assert [each[0] for each in (scale, named, product, plain, module)] == [0] * 5
    assert product[1] == "Audit of Product: 1 passed, 0 failed\n✓ derivative\n"


def test_the_functions_of_a_script(folder: Path) -> None:
    all_of_it, failed, data = audited(
        folder, ["script.py", "a", "--json"], ["script.py", "fail"], ["--json", "script.py"]
    )
    assert all_of_it[0] == 1 and all_of_it[1].startswith("ran ['script.py', 'a', '--json']\n")
    titles = ["Square(float32[3])", "Written(float32[3])", "Scale(float32[3], 3.0)"]
    assert [line for line in all_of_it[1].splitlines() if line.startswith("Audit of ")] == [
        line for line in failed[1].splitlines() if line.startswith("Audit of ")
    ]
    assert [each["title"] for each in json.loads(data[1])["audits"]] == titles and data[0] == 1
    assert [each["ok"] for each in json.loads(data[1])["audits"]] == [True, False, True]
    assert failed[0] == 2 and "KeyError: 'x'" in failed[2] and "script.py failed." in failed[2]


def test_what_it_refuses(folder: Path) -> None:
    refused: dict[str, tuple[list[str], str]] = {
        "none": ([], "what should be audited?"),
        "no file": (["nope.py:A"], "no script nope.py."),
        "no script": (["nope.py"], "no script nope.py."),
        "no name": (["ops.py:Sqare"], "ops.py has no 'Sqare'. Did you mean 'Square' or 'Scale'?"),
        "a number": (["ops.py:NUMBER"], "NUMBER is of type int. Name a Function"),
        "an error": (["bad.py:A"], "bad.py can't be imported: ZeroDivisionError: "),
        "no module": (["nopes:A"], "nopes can't be imported: ModuleNotFoundError"),
        "no dtype": (["ops.py:Square", "--input", "float3"], "'float3' is no input. Use a dtype"),
        "no shape": (["ops.py:Square", "--input", "float32[a]"], "a shape is whole numbers"),
        "no word": (["ops.py:Square", "--input", "float32[2] big"], "'big' is no word of an input."),
        "too large": (["ops.py:Square", "--input", "float32[9999,9999]"], "An audit needs small inputs"),
        "no parameter": (["ops.py:Square", "--input", "y=float32[2]"], "'y' isn't a parameter"),
        "a hole": (["ops.py:Product", "--input", "b=float32[2]"], "'a' has no value, but a parameter after it has."),
        "after a name": (["ops.py:Scale", "--input", "x=1", "--input", "2"], "'2' has no name, but follows one"),
        "no gradient": (["ops.py:Square", "--input", "float32[2] nograd"], "needs an input that requires grad"),
        "other shapes": (["ops.py:Product"], "Product can't be called with float32[3,4] for each tensor."),
        "each shape": (["ops.py:Product"], "for example: --input 'float32[3,4]' --input 'float32[4,2]'"),
        "no check": (["--check", "speed", "ops.py:Square"], "no check 'speed'. Checks: 'derivative', "),
        "words": (["ops.py:Square", "more"], "'more' follows it. Describe inputs with --input."),
        "inputs": (["--input", "1.0", "script.py"], "--input needs FILE:NAME."),
        "nothing": (["idle.py"], "idle.py applied no Function of its own"),
    }
    found: list[Any] = audited(folder, *[words for words, _ in refused.values()])
    for (what, (_, text)), (code, out, err) in zip(refused.items(), found, strict=True):
        assert (code, out) == (2, "") and err.startswith("workbench: ") and text in err, (what, out, err)


def test_a_reader_may_stop_early(folder: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    for more in ([], ["--json"]):
        command = [sys.executable, "-m", "workbench", "audit", "ops.py:Square", *more]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=env)
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b"" and running.wait() == 141
        running.stderr.close()
