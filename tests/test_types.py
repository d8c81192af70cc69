"""What a type checker says of programs that use the workbench, and whether the stub it reads is that of the code."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import absent
import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
PROGRAM = """
import numpy as np

import workbench
import workbench as torch
from workbench import nn, optim
from workbench.autograd import Function
from workbench.nn import functional as F


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class Exp(Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(F.relu(self.first(x)))


x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
with workbench.record() as trace:
    Square.apply(x).sum().backward()
trace.show("flow", depth=2)
trace.save("square.html")
if x.grad is not None:
    print(x.grad.tolist(), x.grad.norm().item(), x.grad.shape[0], Exp.apply(x).sum().item() / 2)
w = torch.randn(3, 4, requires_grad=True)
z = (w @ torch.ones(4)).tanh().pow(2).mean(dim=0, keepdim=True).view(-1).reshape(1).squeeze()
z = -z / 2 + 3**z - (1 - z) + w[0, 1:] .sum()
z += 1
loss = F.mse_loss(z, torch.zeros(()))
loss.backward(retain_graph=True)
(grad,) = torch.autograd.grad(loss, [w], create_graph=True)
print(grad.T.detach().numpy() @ np.ones(3), w.grad_fn, float(loss), len(w), [row.sum() for row in w])
net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
with torch.no_grad():
    w[0] = 1.0
    w.mul_(2).add_(1, alpha=2)
    largest, where = w.max(dim=0)
    first, second = w.split(2)
handle = w.register_hook(lambda grad: grad * 2)
handle.remove()
torch.manual_seed(0)
stepper = workbench.step(loss)
stepper.step()
per_sample = torch.func.vmap(torch.func.grad(lambda v: (v * v).sum()))(torch.ones(3, 2))
mask = (w > 0) & (w < 1)
print(torch.ones(2, device="cpu").sum(axis=0, keepdims=True), w.requires_grad_(True).is_leaf, torch.multiply(w, 2))
print(w[mask], torch.where(mask, w, torch.zeros_like(w)).sum(), w.dtype is torch.float32)
node = loss.grad_fn
if node is not None:
    print(node.next_functions, node.name())
"""


def checked(project: Path) -> list[dict[str, Any]]:
    """What the type checker reports of a project, by its path or that of its configuration."""
    if find_spec("basedpyright") is None:
        pytest.skip(absent.CHECKER)
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--project", str(project)]
    ran = subprocess.run([*command, "--pythonpath", sys.executable], capture_output=True, text=True, cwd=CHECKOUT)
    return json.loads(ran.stdout)["generalDiagnostics"]


def reports(folder: Path, program: str) -> list[dict[str, Any]]:
    """What it reports of a program, with the settings that the package has."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    settings = {"extends": str(CHECKOUT / "pyproject.toml"), "include": ["program.py"], "extraPaths": [str(CHECKOUT)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    return checked(folder)


def test_the_package_has_no_type_error() -> None:
    errors = [each for each in checked(CHECKOUT / "pyproject.toml") if each["severity"] == "error"]
    assert [(each["file"], each["range"]["start"]["line"] + 1, each["message"]) for each in errors] == []


def test_the_stubs_are_those_of_the_code(tmp_path: Path) -> None:
    # In a process of its own: what runs before may have compiled operators, which then have other parameters.
    code = "import json, write_stubs as w; print(json.dumps({str(path): text for path, text in w.stubs().items()}))"
    (tmp_path / "workbench.py").touch()  # what else is installed under this name is not asked
    where = {"cwd": CHECKOUT / "tests", "env": os.environ | {"PYTHONPATH": str(tmp_path)}}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **where)
    for path, text in json.loads(done.stdout).items():
        assert Path(path).is_relative_to(CHECKOUT)
        written = ast.parse(Path(path).read_text(encoding="utf-8"))  # ruff's versions lay lines out in their own ways
        assert ast.dump(written) == ast.dump(ast.parse(text)), f"python tests/write_stubs.py writes {path} anew"


def test_a_typical_program_has_no_type_error(tmp_path: Path) -> None:
    assert [report["message"] for report in reports(tmp_path, PROGRAM)] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x.bakward()", 'Cannot access attribute "bakward" for class "Tensor"'),
        ("x.detach().shape.rows", 'Cannot access attribute "rows" for class "Size"'),
        ("x.grad.sum()", '"sum" is not a known attribute of "None"'),
        ("x.backward(retain_graf=True)", 'No parameter named "retain_graf"'),
        ("torch.softmaxx(x)", '"softmaxx" is not a known attribute of module "workbench"'),
    ],
)
def test_a_mistake_is_reported(tmp_path: Path, line: str, said: str) -> None:
    (report,) = reports(tmp_path, f"import workbench as torch\n\nx = torch.ones(2)\n{line}\n")
    assert said in report["message"]
