"""Semantics of inference mode, and of grad modes on generators and classes; each test is named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function
from oracle import raised

MODES = ("no_grad", "enable_grad", "inference_mode")


@pytest.mark.parametrize("name", MODES)
def test_26_1_each_form(torch: Any, name: str) -> Any:
    mode = getattr(torch, name)
    seen: list[Any] = []

    def body(x: int, y: int = 2) -> int:
        """Says what it sees."""
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        return x + y

    bare, called = mode(body), mode()(body)
    with torch.no_grad():
        with mode():
            body(0)
        seen += [body(0), bare(1), called(1, y=5), bare.__name__, bare.__doc__]
    with mode():
        body(0)
    return seen, bare(1), body(0)


@pytest.mark.parametrize("on", [True, False])
def test_26_1_inference_mode_with_an_argument(torch: Any, on: bool) -> Any:
    seen = []

    def note():
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.ones(1).is_inference()))

    with torch.inference_mode(on):
        note()
        with torch.inference_mode(not on):
            note()
        with torch.enable_grad():
            note()
            x = torch.ones(2, requires_grad=True)
            results = x * 2, x.sum(), x[:1], x.clone().mul_(2), torch.cat([x, x])
    note()
    return seen, results


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("how", ["next", "send", "throw", "close", "return"])
def test_26_2_generators(torch: Any, name: str, how: str) -> Any:
    seen: list[Any] = []

    def note(where):
        seen.append((where, torch.is_grad_enabled(), torch.is_inference_mode_enabled()))

    @getattr(torch, name)()
    def body():
        note("begin")
        try:
            for i in range(3):
                try:
                    seen.append((yield i))
                except KeyError as error:
                    note(f"caught {error}")
                note("body")
        finally:
            note("finally")
        return "result"

    with torch.set_grad_enabled(name != "enable_grad"):
        running = body()
        note("made")
        seen.append(next(running))
        note("outside")
        if how == "next":
            seen.append(next(running))
        elif how == "send":
            seen.append(running.send("sent"))
        elif how == "throw":
            seen.append(running.throw(KeyError("thrown")))
            note("outside")
            seen.append(raised(running.throw, ValueError("out")))
        elif how == "close":
            seen.append(running.close())
        else:
            seen += list(running)
        note("end")
    return seen


@pytest.mark.parametrize("name", MODES)
def test_26_3_classes(torch: Any, name: str) -> Any:
    seen = []

    @getattr(torch, name)()
    class Holder:
        def __init__(self, *args: int, **kwargs: int) -> None:
            seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), args, kwargs))

        def method(self):
            return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    held = Holder(1, b=2)
    return held.method(), seen, Holder.__name__, isinstance(Holder, type), type(held).__name__


@pytest.mark.parametrize("name", ["no_grad", "inference_mode"])
def test_26_5_requires_grad_inside(torch: Any, name: str) -> Any:
    x = torch.ones(2, requires_grad=True)
    with getattr(torch, name)():
        made = torch.tensor([1.0], requires_grad=True), torch.zeros(1).requires_grad_()
        x.add_(1)
        x[0] = 5.0
        results = x * 2, x.sum(), made[0] * 3, x[:1]
    return made, x, x._version, results, [r.is_inference() for r in (*made, *results, x)]


def test_26_7_inference_tensors(torch: Any) -> Any:
    with torch.inference_mode():
        t = torch.tensor([1.0, 2.0])
        t.add_(1)
        view = t[:1]
        view.mul_(2)
        alias = t.detach()
    later = t[:1], t.view(2, 1), t.detach(), t.reshape(1, 2), t.clone(), t + 1, t.unbind()[0]
    return [(s.is_inference(), s._is_view(), s._base is t, s.requires_grad) for s in (t, view, alias, *later)], t


def test_26_7_a_clone_is_normal(torch: Any) -> Any:
    with torch.inference_mode():
        t = torch.tensor([1.0, 2.0])
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    clone = t.clone()
    (x * clone).sum().backward()
    # PyTorch counts the copying of an inference tensor as a write into the clone, so only the difference is compared.
    before = clone._version
    clone.add_(1)
    return clone.is_inference(), clone._version - before, x.grad, clone.requires_grad_().is_leaf


def test_26_7_saved_by_a_function(torch: Any) -> Any:
    def forward(ctx, x, t):
        ctx.save_for_backward(t)
        return x * t

    F = function(torch, forward)
    with torch.inference_mode():
        t = torch.tensor([1.0, 2.0])
        inside = F.apply(torch.ones(2, requires_grad=True), t)
    return inside.requires_grad, inside, raised(F.apply, torch.ones(2, requires_grad=True), t)


def test_26_8_views_of_normal_tensors(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, plain = x * 1, torch.zeros(3)
    with torch.inference_mode():
        views = y[:1], plain[1:], y.detach(), plain.view(3, 1), plain.unbind()[0]
        plain[0] = 5.0
        views[1].add_(1)
        y.mul_(2)
        versions = y._version, plain._version, [v._version for v in views]
    facts = [(v.is_inference(), v._is_view(), v.requires_grad) for v in views]
    return versions, facts, y, plain, raised(views[1].add_, 1), raised(views[0].add_, 1), plain._version


def test_26_9_data_that_becomes_an_inference_tensor(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    before = (x * x).sum()
    with torch.inference_mode():
        i = torch.tensor([1.0, 2.0])
    x.data = i
    facts = x.is_inference(), x.requires_grad, x._version, x
    return (
        facts,
        raised((x * x).sum().backward),
        before.requires_grad,
        raised(torch.mul, x, torch.ones(2).requires_grad_()),
    )


def test_26_10_edges_of_leaves(torch: Any) -> Any:
    graph, x = torch.autograd.graph, torch.tensor([3.0, 4.0], requires_grad=True)

    def edges(*tensors):
        hooked = [
            raised(graph.register_multi_grad_hook, [t], print, mode=mode) for t in tensors for mode in ("all", "any")
        ]
        return [raised(graph.get_gradient_edge, t) for t in tensors], hooked

    with torch.inference_mode():
        made = torch.tensor([3.0, 4.0], requires_grad=True)
        inside = edges(x, made)
    with torch.no_grad():
        quiet = graph.get_gradient_edge(x)
    return inside, edges(x, made), quiet.node.name()
