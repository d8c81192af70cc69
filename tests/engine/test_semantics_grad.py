"""autograd.grad and backward (rows 25.x of the semantics), each program under both engines."""

from __future__ import annotations

from typing import Any

import pytest
from functions import leaf
from oracle import ONCE


def test_25_10_only_what_leads_to_an_input_runs(torch: Any) -> None:
    ran = []

    class Notes(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name_ = name
            return x * 1

        @staticmethod
        def backward(ctx, g):
            ran.append(ctx.name_)
            return g, None

    x, y, z = leaf(torch), leaf(torch), leaf(torch)
    a = Notes.apply(x, "a")
    out = (Notes.apply(a, "b") * Notes.apply(y, "c")).sum()
    torch.autograd.grad(out, a, retain_graph=True)
    first = list(ran)
    torch.autograd.grad(out, z, retain_graph=True, allow_unused=True)
    second = ran[len(first) :]
    out.backward(inputs=[y])
    return first, second, ran[len(first) :], x.grad, y.grad


def test_25_11_backward_into_some_inputs(torch: Any) -> None:
    x, y, z = leaf(torch), leaf(torch), leaf(torch)
    middle = x * y
    out = (middle * 3).sum()
    out.backward(inputs=[x, middle], retain_graph=True)
    out.backward(inputs=x, retain_graph=True)
    told = [x.grad, y.grad, middle.grad]
    out.backward(inputs=[z], retain_graph=True)
    return told, z.grad


def test_25_12_accumulation(torch: Any) -> None:
    x = leaf(torch)
    (x * 3).sum().backward()
    first, version = x.grad, x.grad._version
    x.exp().sum().backward()
    in_place = x.grad is first, x.grad._version > version
    second = x.grad
    (x * x).sum().backward(create_graph=True)
    return in_place, x.grad is second, x.grad, second


def test_25_12_the_warning_of_create_graph_comes_once() -> None:
    import subprocess
    import sys

    code = (
        "import warnings, workbench as torch\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    warnings.simplefilter('always')\n"
        "    x = torch.ones(2, requires_grad=True)\n"
        "    for _ in range(3): (x * x).sum().backward(create_graph=True)\n"
        "print(len(told), told[0].category.__name__, told[0].message)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.startswith(f"1 UserWarning {ONCE} will create a reference cycle between the parameter and its gradient")


def test_25_13_setting_grad(torch: Any) -> None:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    new = torch.ones(2, dtype=torch.float64)
    x.grad = new
    told: list[Any] = [x.grad is new]
    x.sum().backward()
    told.append((new, x.grad is new))
    x.grad = None
    told.append(x.grad)
    x.sum().backward()
    del x.grad
    return told, x.grad


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_results_have_the_inputs_shape_and_dtype(torch: Any, dtype: str) -> Any:
    x = torch.ones(2, 1, dtype=getattr(torch, dtype), requires_grad=True)
    wide = torch.ones(3, dtype=torch.float64) * x
    return torch.autograd.grad(wide.sum(), x), wide.dtype


def test_results_are_new_tensors_without_history(torch: Any) -> None:
    x = leaf(torch)
    (g,) = torch.autograd.grad((x * x).sum(), x)
    g.mul_(100)
    return g, x, x.grad, type(torch.autograd.grad((x * x).sum(), [x])).__name__
