"""needs_input_grad and the gradients that backward returns (rows 13.x and 14.x of the semantics)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from functions import function, leaf, save_inputs
from oracle import entries, raised


def giving(torch: Any, backward: Any) -> Any:
    """A Function of any number of inputs, the sum of all tensors, with this backward."""

    def forward(ctx, *inputs):
        return sum(t.sum() * 1.0 for t in inputs if isinstance(t, torch.Tensor))

    return function(torch, forward, backward).apply


def test_13_1_one_bool_per_argument(torch):
    def forward(ctx, *inputs):
        seen.append(ctx.needs_input_grad)
        return inputs[0] * 2

    seen: list[Any] = []
    apply = function(torch, forward, lambda ctx, g: seen.append(ctx.needs_input_grad) or (g,) + (None,) * 6).apply
    x = leaf(torch)
    apply(x, torch.ones(2), 3, None, torch.arange(2), x * 2, "a").sum().backward()
    apply(torch.ones(2), 1)
    return seen


def test_13_2_to_13_4_it_says_what_the_inputs_said(torch):
    def setup_context(ctx, inputs, output):
        save_inputs(ctx, inputs, output)
        seen.append(ctx.needs_input_grad)

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        x, y = ctx.saved_tensors
        return g * y, g * x

    seen: list[Any] = []
    apply = function(torch, lambda x, y: x * y, backward, setup_context=setup_context).apply
    x, y = leaf(torch), leaf(torch)
    with torch.no_grad():
        apply(x, y.detach())
    out = apply(x, y)
    torch.autograd.grad(out.sum(), x, retain_graph=True)
    x.requires_grad_(False)
    out.sum().backward()
    node = out.grad_fn
    seen.append(node.needs_input_grad)
    node.needs_input_grad = (False, True)
    return seen, node.needs_input_grad, x.grad, y.grad


RETURNED = """
13.5 nobody needs it; x, ones; (three, torch.ones(7))
14.1 one for two; x, y; ones
14.1 None for two; x, y; None
14.1 an empty tuple; x; ()
14.1 a 1-tuple for two; x, y; (ones,)
14.1 trailing None; x; (ones, None, None)
14.2 one too many; x; (ones, ones)
14.2 None, then one too many; x, y; (ones, None, None, ones)
14.3 a list for one; x; [ones]
14.3 a list for two; x, y; [ones, ones]
14.4 a float; x; 1.0
14.4 an int for two; x, y; (ones, 3)
14.4 an array; x; np.ones(2)
14.4 a NumPy number; x; np.float64(1.0)
14.4 a string; x; "a"
14.4 None; x; None
14.4 None of two; x, y; (None, three)
14.5 for a number; x, 3; (ones, ones)
14.5 for a number in front; 3, x; (ones, ones)
14.5 for a number behind None; x, None, 2.0; (ones, None, ones)
14.5 for a list; x, [x]; (ones, ones)
14.6 for integers; x, torch.arange(2); (ones, torch.ones(5))
14.9 the index counts tensors; 3, x, "a", x * 2; (None, ones, None, torch.ones(5))
14.11 one for two inputs; x, y; (ones, ones)
14.11 expanded; x, y; (g.expand(2), g.expand(2))
"""


@pytest.mark.parametrize("row", RETURNED.strip().splitlines())
def test_what_backward_returns(torch, row):
    _, inputs, returned = row.split("; ")
    x, y, ones = leaf(torch), leaf(torch), torch.ones(2)
    names = {"torch": torch, "np": np, "x": x, "y": y, "ones": ones, "three": torch.full((2,), 3.0)}
    giving(torch, lambda ctx, g: eval(returned, names | {"g": g}))(*eval(f"({inputs},)", names)).backward()
    told = (x.grad, y.grad)
    if x.grad is not None:
        x.grad = x.grad.mul_(10)  # whoever else has it would see that
    return told, y.grad, ones


def test_14_7_none_is_no_gradient(torch):
    x, y = leaf(torch), leaf(torch)
    out, grad = giving(torch, lambda ctx, g: (None, g.expand(2)))(x, y), torch.autograd.grad
    seen = [raised(grad, out, [x, y], retain_graph=True), grad(out, [x, y], retain_graph=True, allow_unused=True)]
    return seen, grad(out, [x, y], retain_graph=True, materialize_grads=True), out.backward(), x.grad, y.grad


def test_14_8_a_wrong_signature(torch):
    kind, text = raised(giving(torch, lambda ctx: None)(leaf(torch)).backward)
    return kind, "positional argument" in text, raised(giving(torch, lambda ctx, g, h: None)(leaf(torch)).backward)


SHAPES = entries("""
(2, 3), (2, 3) | (3,), (4, 3) | (), (4,) | (1, 3), (2, 3) | (2, 1), (5, 2, 3) | (2, 3), (10,) | (2, 3), (3, 2)
(3,), () | (3,), (1,) | (2, 3), (3,) | (2, 3), (1, 3) | (0,), (0,) | (), () | (1,), () | (), (1,)
""")


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("shapes", SHAPES)
def test_14_9_the_shape(torch, shapes, create_graph):
    want, got = eval(shapes)
    x, grad = torch.ones(want, requires_grad=True), torch.arange(1.0, 1.0 + int(np.prod(got))).reshape(got)
    return torch.autograd.grad(giving(torch, lambda ctx, g: grad * g)(x), x, create_graph=create_graph)


@pytest.mark.parametrize("have", ["float32", "float64", "float16"])
@pytest.mark.parametrize("got", ["float32", "float64", "float16", "int64", "bool"])
def test_14_10_the_dtype(torch, got, have):
    seen: list[Any] = []
    x, grad = leaf(torch, dtype=have), torch.tensor([1, 3]).to(getattr(torch, got))
    out = giving(torch, lambda ctx, g: grad)(x)
    x.register_hook(seen.append)
    out.backward()
    return x.grad, seen


def test_14_11_a_gradient_that_is_handed_on_is_not_kept(torch):
    x, seed = leaf(torch), torch.tensor([1.0, 2.0])
    passed = function(torch, lambda ctx, x: x * 1, lambda ctx, g: g).apply
    passed(x).backward(seed)
    passed(x).backward(seed)
    return x.grad, seed, x.grad is seed


def test_14_12_a_write_into_grad_output_reaches_the_seed(torch):
    x, seed = leaf(torch), torch.tensor([1.0, 2.0])
    function(torch, lambda ctx, x: x * 1, lambda ctx, g: g.mul_(5)).apply(x).backward(seed)
    return seed, x.grad


def test_14_13_grad_dtype_of_leaves(torch):
    x = leaf(torch)
    told = [x.grad_dtype, raised(setattr, x, "grad", torch.ones(2, dtype=torch.float64))]
    x.grad_dtype = torch.float64
    x.grad = torch.ones(2, dtype=torch.float64)
    told += [x.grad, raised(setattr, x, "grad_dtype", torch.float16), x.grad_dtype]
    x.grad = None
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=torch.float16)
    return told, x.grad


@pytest.mark.parametrize("kind", ["float64", "None", "float32"])
def test_14_13_a_gradient_and_its_hooks_have_the_dtype_that_the_leaf_asks_for(torch, kind):
    seen: list[Any] = []
    x, y = leaf(torch), leaf(torch)
    x.grad_dtype = getattr(torch, kind, None)
    x.register_hook(lambda grad: seen.append(str(grad.dtype)))
    wide = function(torch, lambda ctx, x, y: x + y, lambda ctx, g: (g.double(), g.double())).apply
    for out in (wide(x, y), x * 2):
        out.sum().backward()
        seen += [x.grad, y.grad]
        x.grad = None
    return seen


def test_the_version_of_a_new_gradient_counts_its_sums(torch):
    told = []
    for uses in range(1, 7):
        x = torch.ones(2, requires_grad=True)
        sum([x * k for k in range(uses)], torch.zeros(2)).sum().backward()
        told.append((x.grad._version, x.grad.tolist()))
    return told


def test_a_number_is_added_to_the_gradient_that_others_see(torch):
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward()
    seen = x.grad.detach()
    (x * x * x).backward()
    return seen, x.grad
