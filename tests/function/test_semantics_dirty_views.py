"""Semantics of Functions that write into views, unsaid, or what they save; each test is named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import chain, compare, raised, same, warned


def bump(torch: Any, *, mark: bool = True) -> Any:
    """A Function that adds one in place, and says so or not."""

    class Bump(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            if mark:
                ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    return Bump


def double(torch: Any) -> Any:
    """A Function that doubles its first argument in place and gives the second too, as a tensor of its own."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x, y + 1

        @staticmethod
        def backward(ctx, gx, gy):
            return gx * 2, gy

    return Double


@same
def test_3_11_a_view_is_written(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = x * 1
    row = base[0]
    out = bump(torch).apply(row)
    names = (base.grad_fn.name(), row.grad_fn.name(), chain(base.grad_fn), out is row, row._base is base)
    (base * base).sum().backward()
    return names, base, row, x.grad, base._version


@same
def test_3_11_gradient_asked_through_the_view(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = x * 1
    out = bump(torch).apply(base[:, 1])
    (out * out).sum().backward()
    return x.grad


@same
def test_3_11_a_view_of_a_plain_base_takes_a_differentiable_value(torch: Any) -> Any:
    class Into(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            x.copy_(y)
            return x

        @staticmethod
        def backward(ctx, g):
            return None, g * 2

    base, y = torch.zeros(3), torch.ones(2, requires_grad=True)
    out = Into.apply(base[1:], y)
    facts = (base.requires_grad, base.is_leaf, chain(base.grad_fn), out.grad_fn.name())
    base.sum().backward()
    return facts, y.grad


@same
def test_3_12_a_view_and_several_outputs(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True) * 1
    return raised(double(torch).apply, x[:2], torch.ones(2, requires_grad=True)), x._version


@same
def test_3_13_a_view_of_a_leaf(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    return raised(bump(torch).apply, x[:2]), raised(x[:2].add_, 1)


@pytest.mark.parametrize("parts", ["split", "unbind", "chunk"])
def test_3_14_a_part_of_several(parts: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(4, requires_grad=True) * 1
        views = {"split": lambda: x.split(2), "unbind": x.unbind, "chunk": lambda: x.chunk(2)}[parts]()
        return raised(bump(torch).apply, views[0]), raised(bump(torch).apply, views[1])

    compare(program)


@same
def test_3_15_returned_twice(torch: Any) -> Any:
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.add_(1)
            return x, x

        @staticmethod
        def backward(ctx, *grads):
            seen.extend(grads)
            return sum(grads)

    x = torch.ones(2, requires_grad=True)
    y = x * 1
    a, b = F.apply(y)
    facts = (a is y, b is y, y.output_nr, y._version)
    (a * 2 + b * 3).sum().backward()
    return facts, seen, x.grad


@same
def test_3_16_saving_what_was_written(torch: Any) -> Any:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.exp_()
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            (result,) = ctx.saved_tensors
            return g * result

    x = torch.tensor([0.5, 1.0], requires_grad=True)
    y = x * 1
    out = Exp.apply(y)
    (saved,) = out.grad_fn.saved_tensors
    facts = (saved is out, saved.grad_fn is out.grad_fn, saved._version, saved)
    (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    return facts, first, torch.autograd.grad(first.sum(), x)


@same
def test_3_17_an_earlier_use_of_the_tensor(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    used = y * y
    bump(torch).apply(y)
    return raised(used.sum().backward)


@same
def test_3_18_written_but_not_marked(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    used = y * y
    out = bump(torch, mark=False).apply(y)
    facts = (out is y, out._base is y, y.grad_fn.name(), out.grad_fn.name(), y._version, out._version)
    return facts, raised(used.sum().backward), torch.autograd.grad(out.sum(), x)


@same
def test_3_18_written_past_autograd_and_not_marked(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.data.mul_(10)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    used = y * y
    F.apply(y)
    used.sum().backward()
    return y._version, x.grad


@same
def test_3_19_dirty_and_non_differentiable(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            ctx.mark_non_differentiable(x)
            return x

    x = torch.ones(2, requires_grad=True) * 1
    out = F.apply(x)
    return out is x, x.requires_grad, x.is_leaf, x.grad_fn, x._version


@same
def test_3_20_several_dirty_inputs(torch: Any) -> Any:
    class Swap(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x, y)
            kept = x.clone()
            x.copy_(y)
            y.copy_(kept)
            return y, x

        @staticmethod
        def backward(ctx, gy, gx):
            return gy, gx

    a, b = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    x, y = a * 1, b * 1
    first, second = Swap.apply(x, y)
    facts = (first is y, second is x, x.output_nr, y.output_nr, x, y)
    (first * 2 + second * 5).sum().backward()
    return facts, a.grad, b.grad


@same
def test_3_21_retain_grad_follows(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    y.retain_grad()
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(("old", g)))
    out = bump(torch).apply(y)
    out.register_hook(lambda g: seen.append(("new", g)))
    (out * 5).sum().backward()
    return out is y, y.grad, seen, x.grad, warned(lambda: y.grad)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("gives", ["none", "other alone", "view alone"])
def test_3_11_a_backward_that_gives_none_to_the_view_gives_none_to_the_base(gives: str, create_graph: bool) -> None:
    def program(torch: Any) -> Any:
        class Write(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.mark_dirty(x)
                x.add_(y)
                return x

            @staticmethod
            def backward(ctx, g):
                return g if gives == "view alone" else None, g if gives == "other alone" else None

        told = []
        for part in (slice(0, 2), slice(0, 3), slice(0, 0)):
            x, y = torch.ones(3, requires_grad=True), torch.ones(1, requires_grad=True)
            base = x * 1
            Write.apply(base[part], y)
            base.grad_fn.register_hook(lambda given, arrived: told.extend([given, arrived]))
            told.append(torch.autograd.grad(base.sum(), [x, y], create_graph=create_graph, allow_unused=True))
        return [[g if g is None else g.tolist() for g in grads] for grads in told]

    compare(program)


@same
def test_3_11_the_node_of_a_written_base_called_by_hand(torch: Any) -> Any:
    def written(write):
        base = torch.ones(3, requires_grad=True) * 1
        write(base[:2])
        return base.grad_fn

    def into(y):
        return lambda view: view.mul_(y)

    y = torch.ones(2, requires_grad=True)
    drop = bump(torch)
    drop.backward = staticmethod(lambda ctx, g: None)
    nodes = [written(write) for write in (into(y), lambda view: view.zero_(), bump(torch).apply, drop.apply)]
    nodes.append(torch.cat([y * 2]).grad_fn)
    with torch.no_grad():
        return [node(g) for node in nodes for g in (torch.ones(2 if node is nodes[-1] else 3), None)]
