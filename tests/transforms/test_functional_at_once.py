"""Whole Jacobians in one go, by one backward or by dual tensors, beside PyTorch's (row 29.3 of the semantic map)."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from functions import function, save_inputs, saved, wide
from oracle import entries

import workbench

WAYS: dict[str, dict[str, Any]] = {
    "one backward": {"vectorize": True},
    "one backward, recorded": {"vectorize": True, "create_graph": True},
    "dual tensors": {"vectorize": True, "strategy": "forward-mode"},
}
# Functions of x and y, tensors of two and three elements.
FUNCTIONS = entries("""
x * x | x.sum() | x | (x * x,) | (x.sum() * y, x * x) | x.view(2, 1) * y | (x * x, torch.ones(3)) | torch.ones(3)
(x * x, x.long()) | x[:0] | () | [x * x] | 3 | x.t() @ x | x.float() * y | x.clone().mul_(x) | x.sin().cumsum(0)
x * (torch.rand(2) * 0 + 2) | x * x.detach()
x * w | torch.stack([x, x]).prod(0) | 1 / 0 | (x * x * y.sum()).sum() | y * 2
""")


def seen(function: Any, *args: Any, **options: Any) -> Any:
    """What a call returns or raises."""
    with warnings.catch_warnings():  # PyTorch's own, of its compiler
        warnings.simplefilter("ignore")
        try:
            return function(*args, **options)
        except Exception as error:
            return error


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("text", FUNCTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_29_3_jacobians(torch, way, text, requires_grad):
    x, y = wide(torch, [1.0, 2.0], requires_grad), wide(torch, [3.0, 4.0, 5.0], requires_grad)
    known = {"torch": torch, "w": wide(torch, [2.0, 3.0], True), "y": y}
    two, one = eval(f"lambda x, y: {text}", known), eval(f"lambda x, y=y.detach(): {text}", known)
    calls = (two, (x, y)), (one, x), (one, (x,))
    found = [seen(torch.autograd.functional.jacobian, *call, **WAYS[way]) for call in calls]
    return without_history(found) if way == "dual tensors" else found  # PyTorch's have one of inputs that do not count


@pytest.mark.parametrize("way", WAYS)
def test_29_3_shapes_and_dtypes(torch, way):
    jacobian = torch.autograd.functional.jacobian
    a, zero = wide(torch, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), wide(torch, 2.0)
    return [
        seen(jacobian, shaped, inputs, **WAYS[way])
        for shaped, inputs in (
            (lambda a: a.t() @ a, a),
            (lambda a: a.sum(0) * a, a),
            (lambda z: z * z, zero),
            (lambda z, a: z * a, (zero, a)),
            (lambda z, a: (z.float() * a, a.float()), (zero, a)),
            (lambda x: x * 2.0, torch.tensor([1, 2])),
            (lambda x: x * 2.0, [zero]),
        )
    ]


@pytest.mark.parametrize("way", WAYS)
def test_29_3_what_the_function_sees_and_what_stays(torch, way):
    calls = []
    ad = torch.autograd.forward_ad

    def square(a):
        tangent = ad.unpack_dual(a).tangent
        calls.append((a.shape, a.requires_grad, a.is_leaf, torch.is_grad_enabled(), tangent is None))
        return a * a

    x = wide(torch, [1.0, 2.0])
    found = [seen(torch.autograd.functional.jacobian, square, x, **WAYS[way])]
    with torch.no_grad():
        found += [seen(torch.autograd.functional.jacobian, square, x, **WAYS[way]), torch.is_grad_enabled()]
    seen(torch.autograd.functional.jacobian, lambda a: 1 / 0, x, **WAYS[way])
    return found, calls, x, ad.unpack_dual(x).tangent is None, seen(ad.make_dual, x, x)


def test_29_3_dual_tensors_do_not_nest(torch: Any) -> Any:
    with torch.autograd.forward_ad.dual_level():
        return torch.autograd.functional.jacobian(
            lambda a: a * a, wide(torch, [1.0, 2.0]), vectorize=True, strategy="forward-mode"
        )


@pytest.mark.parametrize("way", WAYS)
def test_29_3_functions(torch, way):
    """A Function needs no rule for vmap; it is its backward or its jvp that runs for all."""
    calls = []

    def slope(g, x):
        calls.append((g.shape, x.shape))
        return 3 * x * x * g

    methods = {"setup_context": save_inputs, "backward": saved(slope)}
    both, undirected = (function(torch, lambda x: x * x * x, **methods, jvp=jvp) for jvp in (saved(slope), None))
    jacobian, x = torch.autograd.functional.jacobian, wide(torch, [1.0, 2.0])
    found = [seen(jacobian, cube, x, **WAYS[way]) for cube in (both.apply, undirected.apply)]
    return found, calls


HESSIANS = entries("""
(x * x * x).sum() | (x.sum() * y * y).sum() | (x * 3).sum() | torch.ones(()) | x.prod() * y.sum() | x * x
(x.sum(), y.sum()) | x.sin().sum() + (y * y).sum() | (x * x).sum().reshape(1, 1) | (x * x * w).sum()
""")


@pytest.mark.parametrize("text", HESSIANS)
def test_29_3_hessians_by_one_backward(torch, text):
    x, y = wide(torch, [1.0, 2.0], True), wide(torch, [3.0, 4.0, 5.0])
    known = {"torch": torch, "w": wide(torch, [2.0, 3.0], True), "y": y}
    hessian = torch.autograd.functional.hessian
    two, one = eval(f"lambda x, y: {text}", known), eval(f"lambda x, y=y: {text}", known)
    found = []
    for options in ({}, {"create_graph": True}):
        found += [seen(hessian, two, (x, y), vectorize=True, **options)]
        found += [seen(hessian, one, x, vectorize=True, **options)]
    return found


@pytest.mark.parametrize("text", HESSIANS)
def test_29_3_hessians_forward_over_reverse(torch, text):
    """PyTorch's have a history of inputs that nobody else has; ours have none."""
    x, y = wide(torch, [1.0, 2.0]), wide(torch, [3.0, 4.0, 5.0])
    known = {"torch": torch, "w": wide(torch, [2.0, 3.0], True), "y": y}
    options = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    hessian = torch.autograd.functional.hessian
    two, one = eval(f"lambda x, y: {text}", known), eval(f"lambda x, y=y: {text}", known)
    found = [seen(hessian, two, (x, y), **options), seen(hessian, one, x, **options)]
    if torch is workbench:
        assert not any(t.requires_grad for t in leaves(found))
    return without_history(found), x.requires_grad


def leaves(tree: Any) -> list[Any]:
    return [t for each in tree for t in leaves(each)] if isinstance(tree, (list, tuple)) else flags(tree)


def flags(t: Any) -> list[Any]:
    return [t] if hasattr(t, "requires_grad") else []


def without_history(tree: Any) -> Any:
    if isinstance(tree, (list, tuple)):
        return type(tree)([without_history(each) for each in tree])
    return tree.detach() if hasattr(tree, "detach") else tree
