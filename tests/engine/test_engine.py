"""The engine: in which order nodes run, and how gradients add up."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from functions import function

from workbench.autograd.engine import pop_ready, push_ready


def noting(torch: Any, ran: list[str], name: str) -> Any:
    """A Function of that name which passes its input on and notes when its backward runs."""

    def forward(ctx, *xs):
        return sum(x * 1 for x in xs)

    def backward(ctx, g):
        ran.append(name)
        return tuple(g for _ in ctx.needs_input_grad)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), members).apply


def test_the_node_created_last_runs_first(torch: Any) -> None:
    ran: list[str] = []
    a, b, c, d = (noting(torch, ran, name) for name in "abcd")
    x = torch.ones(2, requires_grad=True)
    first, second, third = a(x), b(x), c(x)
    d(third, first, second).sum().backward()
    return ran


def test_order_of_use_does_not_matter(torch: Any) -> None:
    ran: list[str] = []
    a, b, c = (noting(torch, ran, name) for name in "abc")
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    late = b(y)
    early = a(x)
    c(early + late, early * 2, late).sum().backward()
    return ran


def test_a_node_runs_once_after_all_its_uses(torch: Any) -> None:
    ran: list[str] = []
    a, b, c = (noting(torch, ran, name) for name in "abc")
    x = torch.ones(2, requires_grad=True)
    y = a(x)
    c(b(y), y, b(y), y).sum().backward()
    return ran, x.grad


def test_leaves_accumulate_as_soon_as_they_are_ready(torch: Any) -> None:
    seen = []

    def backward(ctx, g):
        seen.append([t.grad is not None for t in (x, y, z)])
        return g, g

    Watch = function(torch, lambda ctx, a, b: a + b, backward, name="Watch")
    x, y, z = (torch.ones(1, requires_grad=True) for _ in range(3))
    Watch.apply(Watch.apply(Watch.apply(x, x), y), z).backward()
    return seen


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_leaves_that_are_ready_together(torch: Any, seed: int) -> str:
    random, order, leaves = Random(seed), [], []

    def leaf() -> Any:
        name = f"{len(leaves)}"
        leaves.append(torch.tensor(1.0, requires_grad=True))
        leaves[-1].register_hook(lambda g: order.append(name))
        return leaves[-1]

    def several(depth: int) -> Any:
        kinds = [leaf, lambda: leaf() * 2, lambda: leaf() + leaf(), lambda: random.choice(leaves) * leaf()]
        parts = [leaf()] + [random.choice(kinds)() for _ in range(random.randint(1, 9))]
        parts += [several(depth - 1).sum() for _ in range(depth)]
        random.shuffle(parts)
        return torch.stack(parts)

    several(2).sum().backward()
    return " ".join(order)


def test_several_roots(torch: Any) -> None:
    ran: list[str] = []
    a, b, c = (noting(torch, ran, name) for name in "abc")
    x = torch.ones(2, requires_grad=True)
    inner = a(x)
    one, two = b(inner), c(inner)
    torch.autograd.backward(
        [one, two, inner, one], [torch.ones(2), torch.ones(2) * 2, None or torch.ones(2), torch.ones(2)]
    )
    return ran, x.grad


def test_grad_runs_only_what_leads_to_the_inputs(torch: Any) -> None:
    ran: list[str] = []
    a, b, c, d = (noting(torch, ran, name) for name in "abcd")
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    middle = a(x)
    out = d(b(middle), c(y)).sum()
    grads = torch.autograd.grad(out, [middle], retain_graph=True)
    first = list(ran)
    ran.clear()
    return first, grads, torch.autograd.grad(out, [x, middle]), ran, x.grad


def test_a_gradient_owns_its_memory(torch: Any) -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seed = torch.tensor([1.0, 2.0])
    (x + y).backward(seed)
    x.grad.mul_(10)
    return x.grad, y.grad, seed, seed._version


def test_an_expanded_gradient_is_written_out(torch: Any) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    x.sum().backward()
    x.grad[0, 0] = 7
    return x.grad, x.grad.stride()


def test_waiting_gradients_are_never_summed_in_place(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    seen = []

    def backward(ctx, g):
        seen.append(g)
        return g

    Keep = function(torch, lambda ctx, x: x * 1, backward, name="Keep")
    y = Keep.apply(x)
    z = Keep.apply(y)
    (z + y + z).sum().backward()
    return seen, x.grad


def test_grad_finds_its_way_through_a_view_whose_history_was_made_anew(torch: Any) -> None:
    Double = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2, name="Double")
    told = []
    for use in (lambda t: t.sum(), lambda t: Double.apply(t).sum(), lambda t: torch.cat([t, t]).sum()):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        views = x[1:], x.reshape(3)
        with torch.no_grad():
            x.mul_(0.5)
        told.append([torch.autograd.grad(use(view), x) for view in views])
        with torch.no_grad():
            views[0].mul_(0.5)
        use(views[1]).backward(inputs=[x])
        told.append(x.grad)
    return told


def test_parts_of_an_expanded_view_may_be_written(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    wide = x.expand(2, 3)
    wide[0] = 5.0
    wide[1, 1:] = torch.tensor([6.0, 7.0])
    return x, wide, x._version, wide._base is x


@pytest.mark.parametrize("create_graph", [False, True])
def test_several_uses_of_one_of_several_outputs(torch: Any, create_graph: bool) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    first, second = x.unbind()
    out = first * 3 + first * 5 + second * first * 7
    return [g.tolist() for g in torch.autograd.grad(out, x, create_graph=create_graph)]


@pytest.mark.parametrize("size", [1, 2, 3, 6, 13, 40])
def test_what_is_ready_is_taken_newest_first_in_whatever_order_it_came(size: int) -> None:
    draw = Random(size)
    for _ in range(20):
        heap: list[Any] = []
        for seq in draw.sample(range(100), size):
            push_ready(heap, SimpleNamespace(seq=seq))
        taken = [pop_ready(heap).seq for _ in range(size)]
        assert taken == sorted(taken, reverse=True) and not heap
