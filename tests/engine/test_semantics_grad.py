"""autograd.grad and backward (rows 25.x of the semantics), each program under both engines."""

from __future__ import annotations

from typing import Any

import pytest
from functions import leaf
from oracle import ONCE, raised, warned


def test_25_1_an_unused_input(torch: Any) -> None:
    x, y = leaf(torch), leaf(torch)
    out = (x * 2).sum()
    grad = torch.autograd.grad
    return (
        raised(grad, out, [x, y], retain_graph=True),
        raised(grad, out, y, retain_graph=True, allow_unused=False),
        grad(out, [x, y, x * 3], retain_graph=True, allow_unused=True),
        raised(grad, (x * y).sum(), x * 1),
    )


def test_25_2_without_grad(torch: Any) -> None:
    x, plain = leaf(torch), torch.ones(2)
    out = (x * plain).sum()
    grad = torch.autograd.grad
    return (
        raised(grad, out, plain),
        raised(grad, out, [x, plain]),
        raised(grad, plain.sum(), x),
        raised(grad, [out, plain.sum()], x),
        raised(plain.sum().backward),
        raised(torch.autograd.backward, [out, plain.sum()]),
        raised(plain.backward, torch.ones(2)),
    )


def test_25_3_no_inputs(torch: Any) -> None:
    x = leaf(torch)
    out = (x * 2).sum()
    return (
        raised(torch.autograd.grad, out, []),
        raised(torch.autograd.grad, out, ()),
        raised(out.backward, inputs=[]),
        raised(torch.autograd.backward, out, inputs=()),
    )


def test_25_4_a_dict_of_inputs(torch: Any) -> None:
    x, y, z = leaf(torch), leaf(torch), leaf(torch)
    grads = torch.autograd.grad((x * y).sum(), {"b": y, "a": x, "z": z}, allow_unused=True)
    return type(grads).__name__, list(grads), grads


def test_25_5_the_implicit_seed(torch: Any) -> None:
    x = leaf(torch)
    told = [torch.autograd.grad((x * 3).sum(), x), torch.autograd.grad((x * 3).sum().reshape(1, 1), x)]
    told.append(torch.autograd.grad((x * 3)[:1], x))
    return told, raised((x * 3).backward), raised(torch.autograd.grad, [(x * 2).sum(), x * 3], x)


def test_25_6_the_shape_and_dtype_of_a_seed(torch: Any) -> None:
    x = leaf(torch)
    told = []
    for seed in (torch.ones(3), torch.ones(1, 2), torch.tensor(1.0), torch.ones(2, dtype=torch.float64)):
        told.append(raised(torch.autograd.grad, x * 3, x, seed))
    told.append(raised(torch.autograd.grad, (x * 3).sum(), x, torch.ones(1)))
    return told, torch.autograd.grad(x * 3, x, torch.tensor([1.0, 2.0], dtype=torch.float64))


def test_25_7_the_kind_of_a_seed(torch: Any) -> None:
    x = leaf(torch)
    seeds = (2.0, [1.0, 1.0], "a", [None], [2], (torch.ones(2), torch.ones(2)))
    return [raised(torch.autograd.grad, x * 3, x, seed) for seed in seeds] + [raised((x * 3).backward, 2.0)]


def test_25_8_zeros_for_what_is_unused(torch: Any) -> None:
    x, y = leaf(torch), torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    told = []
    for create_graph in (False, True):
        out = (x * x).sum()
        told.append(torch.autograd.grad(out, [x, y], materialize_grads=True, create_graph=create_graph)[1])
    return told, raised(torch.autograd.grad, out, x, materialize_grads=True, allow_unused=False)


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
    return told, z.grad, raised(out.backward, inputs=[torch.ones(2)]), raised(out.backward, inputs=[x, torch.ones(2)])


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
    values = (torch.ones(3).double(), torch.ones(2), torch.tensor(1.0).double(), 3.0, "a", [1.0], x)
    told = [raised(setattr, x, "grad", value) for value in values]
    new = torch.ones(2, dtype=torch.float64)
    x.grad = new
    told.append(x.grad is new)
    x.sum().backward()
    told.append((new, x.grad is new))
    x.grad = None
    told.append(x.grad)
    x.sum().backward()
    del x.grad
    return told, x.grad


def test_25_14_deprecations(torch: Any) -> None:
    x = leaf(torch)
    return (
        warned(torch.autograd.grad, (x * 2).sum(), x, only_inputs=False),
        warned(torch.autograd.backward, x * 2, grad_variables=torch.ones(2)),
        x.grad,
    )


def test_25_15_inputs_that_are_outputs_and_duplicates(torch: Any) -> None:
    x = leaf(torch)
    y = x * 2
    grad, ones = torch.autograd.grad, torch.ones(2)
    return (
        grad(x, x, ones),
        grad(y, y, ones),
        grad(y, [x, y, x], ones, retain_graph=True),
        grad([y, y], x, [ones, ones * 10], retain_graph=True),
        grad([y, x], x, [ones, ones * 10], retain_graph=True),
        grad([y.sum(), (y * y).sum()], [y, x]),
    )


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


def test_zeros_for_a_gradient_edge_are_refused_only_where_nothing_reached_it(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    middle = x * 2
    reached = torch.autograd.graph.get_gradient_edge(middle)
    other = torch.autograd.graph.get_gradient_edge(y)

    def of(*wanted: Any) -> Any:
        return torch.autograd.grad((middle * 3).sum(), wanted, materialize_grads=True, retain_graph=True)

    return of(reached), of(reached, y), raised(of, other), raised(of, y, other, reached)
