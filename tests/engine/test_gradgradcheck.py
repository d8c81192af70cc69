"""gradgradcheck beside PyTorch's, and where both checks are found (rows 28 of the semantic map).

No program shows a number that depends on random grad_outputs.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from functions import function, leaf64, saved
from lab import CHECKOUT
from oracle import raised


def square(torch: Any, factor: float) -> Any:
    """A square whose second derivative is that many times too large."""

    Backward = function(
        torch,
        lambda ctx, x, g: 2 * x * g,
        saved(lambda h, x, g: (2 * g * h * factor, 2 * x * h)),
        saves=True,
        name="Backward",
    )
    Square = function(
        torch, lambda ctx, x: x * x, lambda ctx, g: Backward.apply(*ctx.saved_tensors, g), saves=True, name="Square"
    )
    return Square.apply


FUNCTIONS = {
    "cube": lambda torch: lambda x: x * x * x,
    "linear": lambda torch: lambda x: x * 2,
    "right": lambda torch: square(torch, 1),
    "wrong": lambda torch: square(torch, 2),
    "two": lambda torch: lambda x: (x * x * x, x.sum()),
    "list": lambda torch: lambda x: [x * x],
    "integers": lambda torch: lambda x: (x * x, (x + 0.5).long()),
    "integers first": lambda torch: lambda x: ((x + 0.5).long(), x * x),
    "none": lambda torch: lambda x: None,
}
GRAD_OUTPUTS = {
    "one": lambda torch: leaf64(torch, 1.5),
    "tuple": lambda torch: (leaf64(torch, 1.5),),
    "two": lambda torch: [leaf64(torch, 1.5), torch.tensor(0.5, dtype=torch.float64, requires_grad=True)],
    "without grad": lambda torch: leaf64(torch, 1.5).detach(),
    "another shape": lambda torch: leaf64(torch, 1.0, 2.0, 3.0),
}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("seeds", GRAD_OUTPUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_outcomes(torch: Any, name: str, seeds: str, fast_mode: bool) -> Any:
    x, func, given = leaf64(torch, 1.25), FUNCTIONS[name](torch), GRAD_OUTPUTS[seeds](torch)
    return torch.autograd.gradgradcheck(func, x, given, fast_mode=fast_mode)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_28_8_random_grad_outputs(torch: Any, name: str, gaps: bool) -> Any:
    x, func = leaf64(torch, 1.25, 0.5), FUNCTIONS[name](torch)
    options = {"raise_exception": False, "gen_non_contig_grad_outputs": gaps}
    return torch.autograd.gradgradcheck(func, (x,), **options)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (1, 2), (1,), ()])
def test_28_8_what_random_grad_outputs_look_like(torch: Any, shape: tuple[int, ...], gaps: bool) -> Any:
    seen = []

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        seen.append((g.shape, g.stride(), g.requires_grad, g.is_leaf, str(g.dtype), bool((g * g < 1).all())))
        return g * 3 * x * x

    Cube = function(torch, lambda ctx, x: x * x * x, backward, saves=True, name="Cube")
    x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
    found = torch.autograd.gradgradcheck(Cube.apply, x, gen_non_contig_grad_outputs=gaps, atol=1e-4)
    return found, seen[0], len(seen)


def test_the_numbers_of_the_user_stay_as_they_come(torch: Any) -> Any:
    torch.manual_seed(1)
    first = torch.rand(2).tolist()
    torch.manual_seed(1)
    torch.autograd.gradcheck(lambda x: x * x, leaf64(torch, 1.0), fast_mode=True)
    return first == torch.rand(2).tolist()


def test_once_differentiable_is_found_out(torch: Any) -> Any:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    one = leaf64(torch, 1.0)
    return raised(torch.autograd.gradgradcheck, Once.apply, leaf64(torch, 2.0), one)


IMPORTS = {
    "attribute": "import workbench as torch",
    "module first": "from workbench.autograd.gradcheck import GradcheckError\nimport workbench as torch",
    "function first": "from workbench.autograd import gradcheck\nimport workbench as torch",
    "dotted": "import workbench.autograd.gradcheck\ntorch = workbench",
}


@pytest.mark.parametrize("how", IMPORTS)
def test_the_name_is_the_function_and_the_path_is_the_module(how: str) -> None:
    code = f"""{IMPORTS[how]}
import sys
print(torch.autograd.gradcheck.__name__, torch.autograd.gradgradcheck.__module__, torch.autograd.functional.__name__)
from workbench.autograd.gradcheck import GradcheckError, gradcheck
print(gradcheck is torch.autograd.gradcheck, issubclass(GradcheckError, RuntimeError))
"""
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT)
    expected = "gradcheck workbench.autograd.gradcheck workbench.autograd.functional\nTrue True\n"
    assert seen.stdout == expected, seen.stderr


def test_importing_the_package_loads_none_of_them() -> None:
    lazy = {f"workbench.autograd.{name}" for name in ("functional", "gradcheck", "jacobians")}
    code = f"import sys, workbench; print({lazy} & set(sys.modules))"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT)
    assert seen.stdout == "set()\n", seen.stderr
