"""needs_input_grad and the gradients that backward returns (rows 13.x and 14.x of the semantics)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import compare, raised, same


def giving(torch: Any, backward: Any, forward: Any = None) -> type:
    """A Function `Fn` that returns `backward(ctx, g)` as its gradients."""

    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            tensors = [i for i in inputs if isinstance(i, torch.Tensor)]
            return sum(t.sum() * 1.0 for t in tensors) if forward is None else forward(*inputs)

    Fn.backward = staticmethod(backward)
    return Fn


def leaf(torch: Any, *shape: int, dtype: str = "float32") -> Any:
    """A leaf of ones."""
    return torch.ones(*shape, dtype=getattr(torch, dtype), requires_grad=True)


@same
def test_13_1_one_bool_per_argument(torch: Any) -> None:
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            seen.append(ctx.needs_input_grad)
            return inputs[0] * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return (g,) + (None,) * 6

    x = leaf(torch, 2)
    F.apply(x, torch.ones(2), 3, None, torch.arange(2), x * 2, "a").sum().backward()
    F.apply(torch.ones(2), 1)
    return seen


@same
def test_13_2_to_13_4_it_says_what_the_inputs_said(torch: Any) -> None:
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            seen.append(ctx.needs_input_grad)

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            x, y = ctx.saved_tensors
            return g * y, g * x

    x, y = leaf(torch, 2), leaf(torch, 2)
    with torch.no_grad():
        F.apply(x, y.detach())
    out = F.apply(x, y)
    torch.autograd.grad(out.sum(), x, retain_graph=True)
    x.requires_grad_(False)
    out.sum().backward()
    node = out.grad_fn
    seen.append(node.needs_input_grad)
    node.needs_input_grad = (False, True)
    return seen, node.needs_input_grad, x.grad, y.grad


@same
def test_13_5_a_gradient_that_nobody_needs_is_dropped(torch: Any) -> None:
    x = leaf(torch, 2)
    Fn = giving(torch, lambda ctx, g: (torch.full((2,), 3.0), torch.ones(7)))
    Fn.apply(x, torch.ones(2)).backward()
    return x.grad


NUMBERS = {
    "one for two": (2, lambda torch: torch.ones(2)),
    "None for two": (2, lambda torch: None),
    "an empty tuple": (1, lambda torch: ()),
    "a 1-tuple for two": (2, lambda torch: (torch.ones(2),)),
    "trailing None": (1, lambda torch: (torch.ones(2), None, None)),
    "one too many": (1, lambda torch: (torch.ones(2), torch.ones(2))),
    "None, then one too many": (2, lambda torch: (torch.ones(2), None, None, torch.ones(2))),
    "a list for one": (1, lambda torch: [torch.ones(2)]),
    "a list for two": (2, lambda torch: [torch.ones(2), torch.ones(2)]),
    "a float": (1, lambda torch: 1.0),
    "an int for two": (2, lambda torch: (torch.ones(2), 3)),
    "an array": (1, lambda torch: np.ones(2)),
    "a NumPy number": (1, lambda torch: np.float64(1.0)),
    "a string": (1, lambda torch: "a"),
    "None": (1, lambda torch: None),
    "None of two": (2, lambda torch: (None, torch.full((2,), 4.0))),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_14_1_to_14_4_number_and_kind(case: str) -> None:
    def program(torch: Any) -> Any:
        inputs, returned = NUMBERS[case]
        xs = [leaf(torch, 2) for _ in range(inputs)]
        giving(torch, lambda ctx, g: returned(torch)).apply(*xs).backward()
        return [x.grad for x in xs]

    compare(program)


@same
def test_14_5_a_gradient_for_what_is_no_tensor(torch: Any) -> None:
    x = leaf(torch, 2)
    told = []
    for inputs, grads in (((x, 3), (1, 1)), ((3, x), (1, 1)), ((x, None, 2.0), (1, 0, 1)), ((x, [x]), (1, 1))):
        Fn = giving(torch, lambda ctx, g, grads=grads: tuple(torch.ones(2) if e else None for e in grads))
        told.append(raised(Fn.apply(*inputs).backward))
    return told


@same
def test_14_6_a_gradient_for_integers_is_ignored(torch: Any) -> None:
    x = leaf(torch, 2)
    giving(torch, lambda ctx, g: (torch.ones(2), torch.ones(5))).apply(x, torch.arange(2)).backward()
    return x.grad


@same
def test_14_7_none_is_no_gradient(torch: Any) -> None:
    x, y = leaf(torch, 2), leaf(torch, 2)
    Fn = giving(torch, lambda ctx, g: (None, g.expand(2)))
    out = Fn.apply(x, y)
    return (
        raised(torch.autograd.grad, out, [x, y], retain_graph=True),
        torch.autograd.grad(out, [x, y], retain_graph=True, allow_unused=True),
        torch.autograd.grad(out, [x, y], retain_graph=True, materialize_grads=True),
        out.backward(),
        x.grad,
        y.grad,
    )


@same
def test_14_8_a_wrong_signature(torch: Any) -> None:
    kind, text = raised(giving(torch, lambda ctx: None).apply(leaf(torch, 2)).backward)
    many = raised(giving(torch, lambda ctx, g, h: None).apply(leaf(torch, 2)).backward)
    return kind, "positional argument" in text, many


SHAPES = [
    ((2, 3), (2, 3)),
    ((3,), (4, 3)),
    ((), (4,)),
    ((1, 3), (2, 3)),
    ((2, 1), (5, 2, 3)),
    ((2, 3), (10,)),
    ((2, 3), (3, 2)),
    ((3,), ()),
    ((3,), (1,)),
    ((2, 3), (3,)),
    ((2, 3), (1, 3)),
    ((0,), (0,)),
    ((), ()),
    ((1,), ()),
    ((), (1,)),
]


@pytest.mark.parametrize("want, got", SHAPES, ids=str)
def test_14_9_the_shape(want: tuple[int, ...], got: tuple[int, ...]) -> None:
    def program(torch: Any) -> Any:
        told = []
        for create_graph in (False, True):
            x = torch.ones(want, requires_grad=True)
            grad = torch.arange(1.0, 1.0 + int(np.prod(got))).reshape(got)
            out = giving(torch, lambda ctx, g, grad=grad: grad * g).apply(x)
            told.append(raised(torch.autograd.grad, out, x, retain_graph=True, create_graph=create_graph))
            told.append(torch.autograd.grad(out, x, create_graph=create_graph))
        return told

    compare(program)


@same
def test_14_9_the_index_counts_tensors(torch: Any) -> None:
    x = leaf(torch, 2)
    Fn = giving(torch, lambda ctx, g: (None, torch.ones(2), None, torch.ones(5)))
    return raised(Fn.apply(3, x, "a", x * 2).backward)


@same
def test_14_10_the_dtype(torch: Any) -> None:
    told = []
    for have in ("float32", "float64", "float16"):
        for got in ("float32", "float64", "float16", "int64", "bool"):
            x = leaf(torch, 2, dtype=have)
            seen: list[Any] = []
            grad = torch.tensor([1, 3]).to(getattr(torch, got))
            out = giving(torch, lambda ctx, g, grad=grad: grad).apply(x)
            x.register_hook(seen.append)
            out.backward()
            told.append((x.grad, seen))
    return told


@same
def test_14_11_each_grad_owns_its_memory(torch: Any) -> None:
    told = []
    shared = torch.ones(2)
    for backward in (lambda ctx, g: (shared, shared), lambda ctx, g: (g.expand(2), g.expand(2))):
        x, y = leaf(torch, 2), leaf(torch, 2)
        giving(torch, backward).apply(x, y).backward()
        x.grad.mul_(10)
        told.append((x.grad, y.grad, shared))
    x = leaf(torch, 2)
    seed = torch.tensor([1.0, 2.0])
    passed = giving(torch, lambda ctx, g: g, lambda x: x * 1)
    passed.apply(x).backward(seed)
    passed.apply(x).backward(seed)
    return told, x.grad, seed, x.grad is seed


@same
def test_14_12_a_write_into_grad_output_reaches_the_seed(torch: Any) -> None:
    x = leaf(torch, 2)
    seed = torch.tensor([1.0, 2.0])
    giving(torch, lambda ctx, g: g.mul_(5), lambda x: x * 1).apply(x).backward(seed)
    return seed, x.grad


@same
def test_14_13_grad_dtype_of_others(torch: Any) -> None:
    y = torch.ones(2, requires_grad=True) * 1
    kinds = (torch.float32, None, 3)
    return [raised(setattr, y, "grad_dtype", kind) for kind in kinds], raised(lambda: y.grad_dtype)


@same
def test_14_13_grad_dtype_of_leaves(torch: Any) -> None:
    x = leaf(torch, 2)
    told = [x.grad_dtype, raised(setattr, x, "grad", torch.ones(2, dtype=torch.float64))]
    x.grad_dtype = torch.float64
    x.grad = torch.ones(2, dtype=torch.float64)
    told += [x.grad, raised(setattr, x, "grad_dtype", torch.float16), x.grad_dtype]
    x.grad = None
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=torch.float16)
    result = x * 2
    return told, x.grad, raised(lambda: result.grad_dtype)


@same
def test_a_gradient_keeps_the_dtype_that_its_leaf_asks_for(torch: Any) -> Any:
    class Wide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g.double(), g.double()

    told = []
    for dtype in (torch.float64, None, torch.float32):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        x.grad_dtype = dtype
        Wide.apply(x, y).sum().backward()
        told.append((str(x.grad.dtype), str(y.grad.dtype)))
    return told


@same
def test_the_version_of_a_new_gradient_counts_its_sums(torch):
    told = []
    for uses in range(1, 7):
        x = torch.ones(2, requires_grad=True)
        sum([x * k for k in range(uses)], torch.zeros(2)).sum().backward()
        told.append((x.grad._version, x.grad.tolist()))
    return told


@same
def test_a_number_is_added_to_the_gradient_that_others_see(torch):
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward()
    seen = x.grad.detach()
    (x * x * x).backward()
    return seen, x.grad


@same
def test_a_leafs_hook_sees_the_gradient_in_the_dtype_that_the_leaf_wants(torch):
    told = []
    for kind in (torch.float64, torch.float32, None):
        x = torch.ones(2, requires_grad=True)
        x.grad_dtype = kind
        x.register_hook(lambda grad: told.append(str(grad.dtype)))
        (x * 2).sum().backward()
        told.append(str(x.grad.dtype))
    return told
