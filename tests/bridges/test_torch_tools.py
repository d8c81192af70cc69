"""PyTorch's tensors or functions, given where the workbench's own are meant: they run, or it is said what to type."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from functions import function, saved
from oracle import torch

import workbench

# The derivative of the second input has the wrong sign.
wrong = saved(lambda grad, a, b: (grad * b, -grad * a))
Wrong = function(torch, lambda ctx, a, b: a * b, wrong, saves=True, name="Wrong")


def numbers(*shape: int, engine: Any = torch) -> Any:
    return engine.linspace(0.5, 2, 6, dtype=engine.float64)[: shape[0]].clone().requires_grad_()


NET = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()).double()


@pytest.mark.parametrize("engine", [torch, workbench])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("f", [torch.sin, lambda x: torch.cumsum(x * x, 0), NET])
def test_the_jacobian_of_a_function_of_pytorch_is_that_of_pytorch(
    f: Callable[..., Any], mode: Any, engine: Any
) -> None:
    x = numbers(3, engine=engine)
    text = str(workbench.jacobian(f, x, mode))
    expected = torch.autograd.functional.jacobian(f, numbers(3))
    row = text.split("y[0]: ")[1].splitlines()[0].split()
    assert [float(each.replace("−", "-")) for each in row] == pytest.approx(expected[0].tolist(), abs=6e-5)
    assert x.grad is None


def test_a_function_of_pytorch_is_checked() -> None:
    a, b = numbers(3), numbers(3)
    right = str(workbench.check(torch.mul, (a, b)))
    assert right.count("They agree") == 2
    told = str(workbench.check(Wrong.apply, (a, b)))
    assert "They agree" in told and "3 of 9 wrong" in told and "Check of Wrong" in told
    assert "They agree" in str(workbench.check(lambda x, k: x.exp() * k, (a, 2.0)))
    assert a.grad is None and b.grad is None


def test_a_function_of_pytorch_is_explored() -> None:
    weights = torch.tensor([1.0, 2.0])

    def cost(a: Any, b: Any) -> Any:
        return (torch.sin(a) * b).sum()

    one = workbench.explore(cost, a=(0.0, 2.0), b=weights)
    assert one.result == pytest.approx(3 * 0.84147, rel=1e-4) and one.slopes["a"] == pytest.approx(3 * 0.5403, rel=1e-4)
    two = workbench.explore(lambda a: torch.relu(a), a=3.0)
    assert (two.result, two.slopes) == (3.0, {"a": 1.0}) and weights.grad is None
    with pytest.raises(RuntimeError, match="which raised TypeError: unsupported operand"):
        workbench.explore(lambda a: a + "b", a=3.0)


def test_a_function_that_no_engine_can_run_is_refused_in_a_sentence_that_names_the_engine() -> None:
    with pytest.raises(TypeError, match=r"^f uses PyTorch, and there it failed: .* no tensor$") as told:
        workbench.explore(lambda x: torch.sin(x).item(), x=2.0)
    assert told.value.__cause__ is None and len(traceback.format_exception(told.value)) < 12
    with pytest.raises(TypeError, match=r"^f mixes tensors of PyTorch with those of this package: "):
        workbench.explore(lambda x: torch.sin(x) + workbench.sin(x), x=2.0)
    picture = workbench.explore(lambda x, y: x * y + torch.sin(x), x=2.0, y=(-3, 3))
    assert picture.slopes["y"] == 2.0


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(3.0))

    def forward(self, a: Any) -> Any:
        return self.scale * a


class Called:
    def __call__(self, a: Any) -> Any:
        return torch.mul(a, torch.tensor(3.0))


def tripled(a: Any) -> Any:
    return torch.mul(a, torch.tensor(3.0))


# Made where they are used: whatever is compiled first in a process lets distributions check their arguments no longer.
KINDS: dict[str, Callable[[], Any]] = {
    "a module": Scaled,
    "a bound method": lambda: Scaled().forward,
    "an object": Called,
    "a lambda": lambda: lambda a: tripled(a),
    "a partial": lambda: functools.partial(torch.mul, torch.tensor(3.0)),
    "a compiled function": lambda: torch.compile(tripled, backend="eager"),
    "a compiled module": lambda: torch.compile(Scaled(), backend="eager"),
    "a decorated function": lambda: torch.enable_grad()(tripled),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_function_of_pytorch_is_taken(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    f, x = KINDS[kind](), torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert "3" in str(workbench.jacobian(f, x)).split("y[0]: ")[1].splitlines()[0]
    assert "They agree" in str(workbench.check(f, x))
    if kind != "a partial":  # of what is written in C, whose inputs have no names
        assert workbench.explore(f, a=2.0).slopes == {"a": 3.0}
    with workbench.record() as trace:
        f(x).sum().backward()
    assert "record(torch)" in str(trace.findings())
    assert capfd.readouterr().err == ""  # no compiler has read what the workbench does


@pytest.mark.parametrize("view", ["graph", "flow", "health", "memory", "saved"])
def test_record_around_pytorch_says_what_to_type(view: str, tmp_path: Path) -> None:
    w = torch.ones(2, requires_grad=True)
    with workbench.record() as trace:
        (w * w).sum().backward()
    trace.save(tmp_path / "trace.json")
    for each in (trace, workbench.load(tmp_path / "trace.json")):
        for text in (str(each.findings()), str(each.show(view))):
            assert "PyTorch made 2 nodes" in text and "record(torch)" in text and "joined the graph" not in text
    with pytest.raises(ValueError, match="record\\(torch\\)"):
        trace.why(w)
    with workbench.record() as both:
        (w * w).sum().backward()
        x = workbench.ones(2, requires_grad=True)
        (x * x).sum().backward()
    assert "PyTorch" not in str(both.findings())


def test_a_tensor_of_pytorch_is_refused_by_its_name() -> None:
    with pytest.raises(TypeError, match="must be Tensor, not torch.Tensor"):
        workbench.sin(torch.ones(2))
    with pytest.raises(TypeError, match="but got torch.Tensor"):
        workbench.cat([torch.ones(2)])
    with pytest.raises(TypeError, match="but got torch.Tensor"):
        workbench.autograd.gradcheck(torch.sin, numbers(2))
