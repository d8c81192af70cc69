"""Semantics of mark_dirty; each test is named after its row in the map."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import chain, compare, raised, same


def bump(torch: Any, *, mark: bool = True, write: bool = True, mark_first: bool = True) -> Any:
    """A Function that adds one in place, and says so or not."""

    class Bump(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if mark and mark_first:
                ctx.mark_dirty(x)
            if write:
                x.add_(1)
            if mark and not mark_first:
                ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    return Bump


@same
def test_3_1_the_input_itself_is_returned(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    before = y.grad_fn.name()
    out = bump(torch).apply(y)
    facts = (out is y, before, y.grad_fn.name(), y.is_leaf, y.output_nr, chain(y.grad_fn), y)
    (out * out).sum().backward()
    return facts, x.grad


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("write", [True, False])
def test_3_2_the_counter(requires_grad: bool, mark: bool, write: bool) -> None:
    def program(torch: Any) -> Any:
        y = torch.ones(2, requires_grad=requires_grad) * 1
        out = bump(torch, mark=mark, write=write).apply(y)
        return y._version, out._version, out is y, y.requires_grad

    compare(program)


@pytest.mark.parametrize("mark_first", [True, False])
def test_3_3_marking_before_or_after_writing(mark_first: bool) -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        out = bump(torch, mark_first=mark_first).apply(y)
        (out * 2).sum().backward()
        return out is y, y._version, y, x.grad

    compare(program)


@same
def test_3_4_a_leaf_that_requires_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    return raised(bump(torch).apply, x), raised(x.add_, 1), x.grad_fn, x.is_leaf


@same
def test_3_5_the_same_under_no_grad(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        out = bump(torch).apply(x)
    return out is x, out._base is None, out, x, x._version, out._version


@same
def test_3_5_an_alias_shares_memory_and_counter(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        out = bump(torch).apply(x)
        out.add_(1)
    return x, x._version, out._version, out.requires_grad


@same
def test_3_5_a_non_leaf_under_no_grad(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True) * 1
    with torch.no_grad():
        out = bump(torch).apply(y)
    return out is y, out, y, y._version


@same
def test_3_6_a_plain_leaf_beside_an_input_that_requires_grad(torch: Any) -> Any:
    class Into(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            x.add_(y)
            return x

        @staticmethod
        def backward(ctx, g):
            return g, g * 2

    x, y = torch.zeros(2), torch.ones(2, requires_grad=True)
    out = Into.apply(x, y)
    facts = (out is x, x.is_leaf, x.requires_grad, x.grad_fn is out.grad_fn, x._version, chain(x.grad_fn))
    out.sum().backward()
    return facts, y.grad


@pytest.mark.parametrize("requires_grad", [True, False])
def test_3_7_marked_but_not_returned(requires_grad: bool) -> None:
    def program(torch: Any) -> Any:
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x + 1

        return F.apply(torch.ones(2, requires_grad=requires_grad) * 1)

    compare(program)


def other_than_an_input(torch: Any, make: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = make(x)
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return F


@same
def test_3_8_a_new_tensor_marked(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    out = other_than_an_input(torch, lambda x: x * 3).apply(x)
    out.sum().backward()
    return out, out._version, x.grad


@same
def test_3_8_a_view_of_the_input_marked(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    return raised(other_than_an_input(torch, lambda x: x.view(2)).apply, x), x._version


@same
def test_3_8_a_view_of_something_else_marked(torch: Any) -> Any:
    return other_than_an_input(torch, lambda x: torch.zeros(3)[:2]).apply(torch.ones(2, requires_grad=True))


@same
def test_3_8_no_warning_when_nothing_requires_grad(torch: Any) -> Any:
    return other_than_an_input(torch, lambda x: x * 3).apply(torch.ones(2))


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("marked", [None, 1, "x", [1.0]])
def test_3_9_no_tensor(requires_grad: bool, marked: Any) -> None:
    def program(torch: Any) -> Any:
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(marked)
                return x * 1

        return F.apply(torch.ones(2, requires_grad=requires_grad))

    compare(program)


@same
def test_3_10_a_second_call_replaces_the_first(torch: Any) -> Any:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            ctx.mark_dirty(y)
            return x * 1, y

        @staticmethod
        def backward(ctx, gx, gy):
            return gx, gy

    x, y = (torch.ones(2, requires_grad=True) * i for i in (1, 2))
    a, b = F.apply(x, y)
    return a is x, b is y, x._version, y._version, x.grad_fn.name(), y.grad_fn.name()
