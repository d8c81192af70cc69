"""Grad modes (rows 26.1 to 26.6 of the semantics), each program under both engines."""

from __future__ import annotations

import threading
from typing import Any

from functions import function
from oracle import raised, warned


def test_26_1_as_context(torch: Any) -> None:
    told = [torch.is_grad_enabled()]
    with torch.no_grad():
        told.append(torch.is_grad_enabled())
        with torch.enable_grad():
            told.append(torch.is_grad_enabled())
            with torch.set_grad_enabled(False):
                told.append(torch.is_grad_enabled())
            told.append(torch.is_grad_enabled())
        told.append(torch.is_grad_enabled())
    return told, torch.is_grad_enabled()


def test_26_1_as_decorators(torch: Any) -> None:
    @torch.no_grad()
    def one(a, b=2):
        """Its text."""
        return torch.is_grad_enabled(), a, b

    @torch.no_grad
    def two():
        return torch.is_grad_enabled()

    @torch.enable_grad()
    def three():
        return torch.is_grad_enabled()

    @torch.enable_grad
    def four():
        return torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def five():
        return torch.is_grad_enabled()

    after = torch.is_grad_enabled()
    with torch.no_grad():
        inside = two(), three(), four(), five()
    return one(1), one(1, b=3), two(), three(), four(), five(), after, inside, one.__name__, one.__doc__


def test_26_1_set_grad_enabled_acts_at_once(torch: Any) -> None:
    told = []
    torch.set_grad_enabled(False)
    told.append(torch.is_grad_enabled())
    mode = torch.set_grad_enabled(True)
    told.append(torch.is_grad_enabled())
    torch.set_grad_enabled(False)
    for _ in range(2):
        with mode:
            told.append(torch.is_grad_enabled())
        told.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    return told


def test_26_1_exceptions_restore_the_mode(torch: Any) -> None:
    @torch.no_grad()
    def fails():
        raise KeyError("mine")

    told = [raised(fails), torch.is_grad_enabled()]
    try:
        with torch.no_grad():
            raise ValueError
    except ValueError:
        told.append(torch.is_grad_enabled())
    return told


def test_26_1_one_object_entered_again(torch: Any) -> None:
    mode = torch.no_grad()
    told = []
    with mode:
        told.append(torch.is_grad_enabled())
    told.append(torch.is_grad_enabled())
    with mode:
        told.append(torch.is_grad_enabled())
    return told, torch.is_grad_enabled()


def test_26_2_generators_switch_at_every_yield(torch: Any) -> None:
    @torch.no_grad()
    def numbers(n):
        for i in range(n):
            inside.append(torch.is_grad_enabled())
            got = yield i
            inside.append((torch.is_grad_enabled(), got))
        return "end"

    def asking():
        end = yield from numbers(2)
        outside.append(end)

    inside: list[Any] = []
    outside: list[Any] = []
    for value in numbers(2):
        outside.append((value, torch.is_grad_enabled()))
    body = numbers(3)
    outside += [next(body), torch.is_grad_enabled(), body.send("hello"), torch.is_grad_enabled()]
    body.close()
    outside += [list(asking()), torch.is_grad_enabled()]
    with torch.enable_grad():
        outside += [list(numbers(1)), torch.is_grad_enabled()]
    return inside, outside


def test_26_2_throwing_into_a_generator(torch: Any) -> None:
    @torch.no_grad()
    def stubborn():
        while True:
            try:
                yield torch.is_grad_enabled()
            except ValueError:
                told.append(("caught", torch.is_grad_enabled()))
            finally:
                told.append(("finally", torch.is_grad_enabled()))

    told: list[Any] = []
    body = stubborn()
    told.append(next(body))
    told.append(body.throw(ValueError("x")))
    told.append(torch.is_grad_enabled())
    told.append(raised(body.throw, KeyError("y")))
    told.append(torch.is_grad_enabled())
    other = stubborn()
    next(other)
    other.close()
    return told, torch.is_grad_enabled()


def test_26_3_classes(torch: Any) -> None:
    class Layer:
        def __init__(self):
            self.at_birth = torch.is_grad_enabled()

        def now(self):
            return torch.is_grad_enabled()

    told = warned(lambda: torch.no_grad()(Layer))
    return told


def test_26_4_each_thread_has_its_own_mode(torch: Any) -> None:
    told = []

    def work():
        told.append(torch.is_grad_enabled())
        torch.set_grad_enabled(False)
        told.append(((torch.ones(2, requires_grad=True) * 2).requires_grad, torch.is_grad_enabled()))

    with torch.no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        told.append(torch.is_grad_enabled())
    return told, torch.is_grad_enabled(), (torch.ones(2, requires_grad=True) * 2).requires_grad


def test_26_4_a_thread_off_does_not_hinder_another(torch: Any) -> None:
    off, done = threading.Event(), threading.Event()

    def work():
        with torch.no_grad():
            off.set()
            done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    off.wait()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward()
    done.set()
    thread.join()
    return y, x.grad


def test_26_5_under_no_grad(torch: Any) -> None:
    with torch.no_grad():
        made = (
            torch.ones(2, requires_grad=True),
            torch.tensor([1.0], requires_grad=True),
            torch.ones(1).requires_grad_(),
        )
        made[0].add_(1)
        made[0][0] = 7
        results = made[0] * 2, made[0][1:], made[0].reshape(2, 1), made[0].clone(), made[0].sum()
    return made, results, made[0] * 2


def test_26_6_numpy(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    told = [raised(x.numpy), raised((x * 2).numpy), x.detach().numpy().tolist()]
    with torch.no_grad():
        told += [x.numpy().tolist(), (x * 2).numpy().tolist()]

    F = function(torch, lambda ctx, x: torch.tensor(x.numpy() * 3), lambda ctx, g: torch.tensor(g.numpy() * 3))
    y = F.apply(x)
    y.sum().backward()
    return told, y, x.grad


def test_how_set_grad_enabled_is_printed(torch):
    with torch.enable_grad():
        return repr(torch.set_grad_enabled(False)), str(torch.set_grad_enabled(mode=True))


def test_a_function_leaves_the_modes_as_it_found_them(torch: Any) -> Any:
    def forward(ctx, x, how):
        how()
        return x * 2

    members = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, g: (g, None))}
    some = type("Some", (torch.autograd.Function,), members)
    told = []
    for before in (True, False):
        for inside in (lambda: None, lambda: torch.set_grad_enabled(True), lambda: torch.set_grad_enabled(False)):
            with torch.set_grad_enabled(before):
                out = some.apply(torch.ones(2, requires_grad=True), inside)
                told.append((torch.is_grad_enabled(), out.requires_grad, (out * 2).requires_grad))
    return told
