"""What apply returns (rows 12.x of the semantics), each program under both engines."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest
from oracle import chain, compare, raised, same

Point = namedtuple("Point", ["left", "right"])


def returning(torch: Any, forward: Any, backward: Any = None) -> type:
    """A Function whose forward is `forward(*inputs)`, and whose backward shows its gradients and adds them up."""

    class F(torch.autograd.Function):
        seen: list[Any] = []

        @staticmethod
        def forward(ctx, *inputs):
            ctx.inputs = len(inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, *grads):
            F.seen.append(grads)
            total = sum(g.sum() for g in grads if isinstance(g, torch.Tensor))
            return (total.reshape(1).expand(2).clone(),) + (None,) * (ctx.inputs - 1)

    return F


def leaf(torch: Any) -> Any:
    """A leaf that requires grad."""
    return torch.tensor([1.0, 2.0], requires_grad=True)


RESULTS = {
    "tensor": lambda x: x * 2,
    "pair": lambda x: (x * 2, x * 3),
    "one": lambda x: (x * 2,),
    "none": lambda x: (),
    "namedtuple": lambda x: Point(x * 2, x * 3),
    "None": lambda x: None,
    "number": lambda x: 3.5,
    "text and tensor": lambda x: ("a", x * 2),
    "a None and a tensor": lambda x: (None, x * 2, 3),
    "list": lambda x: [x * 2, x * 3],
    "dict": lambda x: {"a": x * 2},
    "nested": lambda x: ((x * 2, x * 3), x * 4),
    "list among others": lambda x: (x * 2, [x * 3]),
    "Size": lambda x: x.shape,
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("requires_grad", [True, False])
def test_12_1_to_12_4_shapes_of_results(name: str, requires_grad: bool) -> None:
    def program(torch: Any) -> Any:
        F = returning(torch, RESULTS[name])
        out = F.apply(torch.tensor([1.0, 2.0], requires_grad=requires_grad))
        flat = out if isinstance(out, tuple) else (out,)
        tensors = [o for o in flat if isinstance(o, torch.Tensor)]
        nodes = {id(t.grad_fn) for t in tensors}
        if requires_grad and tensors:
            sum(t.sum() for t in tensors).backward()
        return type(out).__name__, out, [t.output_nr for t in tensors], len(nodes), F.seen

    compare(program)


@same
def test_12_5_the_same_new_tensor_twice(torch: Any) -> None:
    def forward(x):
        out = x * 2
        return out, x * 3, out

    F, x = returning(torch, forward), leaf(torch)
    a, b, c = F.apply(x)
    (a.sum() + 10 * c.sum()).backward()
    return a is c, a.output_nr, b.output_nr, F.seen, x.grad


@same
def test_12_6_an_input_returned_as_it_is(torch: Any) -> None:
    told = []
    for x in (leaf(torch), leaf(torch) * 1, torch.ones(2)):
        F = returning(torch, lambda x: x)
        out = F.apply(x)
        told.append((out is x, out._base is x, out, out.grad_fn, x, x.is_leaf, x.grad_fn))
        with torch.no_grad():
            plain = returning(torch, lambda x: x).apply(x)
        told.append((plain is x, plain._base is None, plain))
        if out.requires_grad:
            out.sum().backward()
    return told


@same
def test_12_6_an_input_among_others(torch: Any) -> None:
    x = leaf(torch)
    F = returning(torch, lambda x: (x * 2, x))
    a, b = F.apply(x)
    facts = b is x, b._base is x, a, b, b.output_nr, a.grad_fn is b.grad_fn
    (a + b).sum().backward()
    return facts, F.seen, x.grad


@same
def test_12_7_a_plain_input_returned_beside_one_that_requires_grad(torch: Any) -> None:
    x, y = leaf(torch), torch.ones(2)
    F = returning(torch, lambda x, y: (x * 2, y))
    _, b = F.apply(x, y)
    return b is y, b, b._base is y, y, y.grad_fn


@same
def test_12_8_a_captured_tensor_is_returned(torch: Any) -> None:
    told = []
    for make in (lambda: torch.ones(2), lambda: leaf(torch), lambda: leaf(torch) * 2):
        captured = make()
        x = leaf(torch)
        F = returning(torch, lambda x, captured=captured: captured)
        out = F.apply(x)
        told.append((out is captured, captured, captured.is_leaf, captured.grad_fn))
        out.sum().backward()
        told.append((x.grad, F.seen))
    return told


@same
def test_12_9_a_graph_built_inside_forward_is_replaced(torch: Any) -> None:
    def forward(x):
        with torch.enable_grad():
            return x.exp().sin()

    x = leaf(torch)
    F = returning(torch, forward)
    y = F.apply(x)
    y.sum().backward()
    return chain(y.grad_fn), x.grad, F.apply(torch.ones(2)), F.apply(x.detach()).grad_fn


@same
def test_12_10_a_view_of_an_input(torch: Any) -> None:
    told = []
    for x in (leaf(torch), leaf(torch) * 1, torch.ones(2)):
        out = returning(torch, lambda x: x[:1]).apply(x)
        told.append((out, out._base is x, chain(out.grad_fn), out.is_leaf))
        with torch.no_grad():
            view = returning(torch, lambda x: x[:1]).apply(x)
        told.append((view, view._base is x))
    return told


@same
def test_12_11_nothing_to_record(torch: Any) -> None:
    told = [returning(torch, lambda: torch.ones(2)).apply(), returning(torch, lambda n: n + 1).apply(3)]
    told.append(returning(torch, lambda x: x * 2).apply(torch.ones(2)))
    with torch.no_grad():
        told.append(returning(torch, lambda x: x * 2).apply(leaf(torch)))
    return told, torch.is_grad_enabled()


@same
def test_12_12_tensors_inside_a_list_are_no_inputs(torch: Any) -> None:
    x, y = leaf(torch), leaf(torch)
    out = returning(torch, lambda x, ys: x + ys[0]).apply(x, [y])
    out.sum().backward()
    return out.grad_fn.next_functions, x.grad, y.grad, returning(torch, lambda xs: xs[0] * 2).apply([x])


@same
def test_12_13_integers_never_require_grad(torch: Any) -> None:
    return returning(torch, lambda x: (x.long(), x > 0, x * 2)).apply(leaf(torch))


@same
def test_12_14_an_apply_inside_forward_is_not_recorded(torch: Any) -> None:
    inner = returning(torch, lambda x: x * 2)
    outer = returning(torch, lambda x: inner.apply(x) + 1)
    x = leaf(torch)
    y = outer.apply(x)
    y.sum().backward()
    return chain(y.grad_fn), inner.seen, outer.seen


@same
def test_12_15_exceptions_of_forward_and_its_grad_mode(torch: Any) -> None:
    class Mine(Exception):
        pass

    def fails(x):
        raise Mine("as it was", 3)

    def switches(x):
        torch.set_grad_enabled(True)
        return x * 2

    told = []
    for mode in (True, False):
        with torch.set_grad_enabled(mode):
            told.append((raised(returning(torch, fails).apply, leaf(torch)), torch.is_grad_enabled()))
            told.append((returning(torch, switches).apply(leaf(torch)), torch.is_grad_enabled()))
    return told


@same
def test_12_16_the_same_tensor_passed_twice(torch: Any) -> None:
    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a * 10

    x = leaf(torch)
    y = Mul.apply(x, x)
    y.sum().backward()
    (a, _), (b, _) = y.grad_fn.next_functions
    return x.grad, a is b


@same
def test_12_17_methods_without_staticmethod(torch: Any) -> None:
    class F(torch.autograd.Function):
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(torch)
    F.apply(x).sum().backward()
    return x.grad
