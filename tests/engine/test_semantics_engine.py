"""The engine (rows 31.x of the semantics), each program under both engines; order and sums are in test_engine.py."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from functions import function, leaf
from oracle import raised


def test_31_1_the_order_of_a_mixed_graph(torch: Any) -> None:
    ran = []

    def noting(name):
        def forward(ctx, *xs):
            return sum(x * 1 for x in xs)

        def backward(ctx, g):
            ran.append((name, x.grad is not None, y.grad is not None, z.grad is not None))
            return (g,) * len(ctx.needs_input_grad)

        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type(name, (torch.autograd.Function,), members).apply

    x, y, z = leaf(torch), leaf(torch), leaf(torch)
    a, b = noting("a")(x), noting("b")(y)
    c = noting("c")(b, a)
    d = noting("d")(z)
    e = noting("e")(a, x)
    out = noting("f")(e, c, d, b)
    torch.autograd.backward([out.sum(), d.sum(), (c * 2).sum()])
    return ran, x.grad, y.grad, z.grad


def test_31_2_a_diamond_of_diamonds(torch: Any) -> None:
    x = leaf(torch)
    y = x
    for _ in range(6):
        y = y * 0.5 + y * 0.25
    y.sum().backward()
    return x.grad


def test_31_3_a_gradient_that_waits_in_several_places(torch: Any) -> None:
    seen = []

    def backward(ctx, g):
        seen.append(g)
        return g, g, g

    Fan = function(torch, lambda ctx, a, b, c: a + b + c, backward, name="Fan")
    x, y = leaf(torch), leaf(torch)
    a, b = x * 1, y * 1
    (Fan.apply(a, b, a) + a * 10 + b).sum().backward()
    return seen, x.grad, y.grad


def test_31_4_the_users_exception(torch: Any) -> None:
    class Mine(ValueError):
        def __init__(self, text, number):
            super().__init__(text)
            self.number = number

    def backward(ctx, g):
        raise Mine("as it was", 7)

    Fails = function(torch, lambda ctx, x: x * 1, backward, name="Fails")
    x, y = leaf(torch), leaf(torch)
    try:
        (Fails.apply(x) * y.exp()).sum().backward()
    except Mine as error:
        told = str(error), error.number, type(error) is Mine
    (x * 3).sum().backward()
    return told, x.grad, torch.is_grad_enabled()


def test_31_5_backward_inside_backward(torch: Any) -> None:
    def backward(ctx, g):
        told.append(torch.is_grad_enabled())
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            x.exp().backward(g)
        told.append(torch.is_grad_enabled())
        return x.grad

    Inner = function(torch, lambda ctx, x: x.exp(), backward, saves=True, name="Inner")
    told: list[bool] = []
    x = leaf(torch)
    (Inner.apply(x) * 2).sum().backward()
    return told, x.grad, torch.is_grad_enabled()


def test_31_5_grad_without_enable_grad_has_nothing_to_differentiate(torch: Any) -> None:
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        return torch.autograd.grad((x * x).sum(), x)[0]

    Inner = function(torch, lambda ctx, x: x * 1, backward, saves=True, name="Inner")
    return raised(Inner.apply(leaf(torch)).sum().backward), torch.is_grad_enabled()


def deep(torch: Any, last: Any) -> Any:
    """A Function whose backward runs one of its own, so many deep; `last` is the innermost."""

    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 1

    def backward(ctx, g):
        if not ctx.depth:
            return last(g), None
        with torch.enable_grad():
            x = g.detach().requires_grad_()
            apply(x, ctx.depth - 1).sum().backward()
        return x.grad + g, None

    apply = function(torch, forward, backward, name="Deep").apply
    return apply


@pytest.mark.parametrize("depth", [3, 60, 120])
def test_31_5_hundreds_deep(torch: Any, depth: int) -> Any:
    x = leaf(torch, 1.0)
    deep(torch, lambda g: g * 2)(x, depth).sum().backward()
    return x.grad


def test_31_5_an_error_from_deep_inside(torch: Any) -> None:
    def fail(g):
        raise KeyError("deep")

    x = leaf(torch, 1.0)
    return raised(deep(torch, fail)(x, 5).sum().backward), torch.is_grad_enabled(), (x * 2).backward(), x.grad


def test_31_6_backward_runs_in_the_calling_thread(torch: Any) -> None:
    def backward(ctx, g):
        ran.append(threading.current_thread())
        return g

    Who = function(torch, lambda ctx, x: x * 1, backward, name="Who")

    def work():
        Who.apply(leaf(torch)).sum().backward()
        calling.append(threading.current_thread())

    ran: list[threading.Thread] = []
    calling: list[threading.Thread] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    work()
    return [one is other for one, other in zip(ran, calling, strict=True)]


def test_31_6_threads_with_graphs_of_their_own(torch: Any) -> None:
    def work(i):
        x = leaf(torch, float(i), 2.0)
        for _ in range(20):
            y = (x.exp() * x).sum()
            y.backward()
        grads[i] = x.grad

    grads: dict[int, Any] = {}
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [grads[i] for i in range(4)]


def test_31_6_threads_that_share_a_leaf(torch: Any) -> None:
    x = leaf(torch)

    def work():
        for _ in range(50):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return x.grad


def test_31_7_callbacks_run_after_everything(torch: Any) -> None:
    def backward(ctx, g):
        queue = torch.autograd.Variable._execution_engine.queue_callback
        queue(lambda: told.append(("one", x.grad)))
        queue(lambda: told.append(("two", y.grad)))
        told.append(("node", x.grad, y.grad))
        return g

    Calls = function(torch, lambda ctx, x: x * 1, backward, name="Calls")
    told: list[Any] = []
    x, y = leaf(torch), leaf(torch)
    (Calls.apply(x) * y).sum().backward()
    return told


def test_a_callback_that_asks_for_another(torch):
    engine, seen = torch.autograd.Variable._execution_engine, []
    x = torch.ones(2, requires_grad=True)

    def first() -> None:
        seen.append((torch.is_grad_enabled(), x.grad.tolist()))
        engine.queue_callback(second)
        y = torch.ones(1, requires_grad=True)
        y.register_hook(lambda g: engine.queue_callback(lambda: seen.append("of the inner backward")))
        with torch.enable_grad():
            (y * 2).sum().backward()
        seen.append("first is over")

    def second() -> None:
        seen.append("second")
        engine.queue_callback(lambda: seen.append("third"))

    handle = x.register_hook(lambda g: engine.queue_callback(first))
    (x * 2).sum().backward()
    handle.remove()

    def fails() -> None:
        engine.queue_callback(lambda: seen.append("never"))
        raise ValueError("the callback")

    x.register_hook(lambda g: engine.queue_callback(fails))
    seen.append(raised((x * 2).sum().backward))
    return seen, torch.is_grad_enabled(), raised(engine.queue_callback, first), x.grad
