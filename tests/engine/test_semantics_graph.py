"""Semantics of the graph, leaves and edges; each test is named after its row in the map."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from functions import function
from oracle import chain


def test_24_1_sequence_numbers(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    first = (x * 2).grad_fn._sequence_nr()
    made = [x.exp(), x.view(2, 1), x.sum(), x.detach() * 2, x + 1]
    with torch.no_grad():
        x * 5
    made.append(x * 3)
    return [m.grad_fn and m.grad_fn._sequence_nr() - first for m in made]


def test_24_1_ops_inside_forward_use_none(torch: Any) -> Any:
    F = function(torch, lambda ctx, x: (x * 2).exp() + 1)
    x = torch.ones(2, requires_grad=True)
    first, second, third = x * 1, F.apply(x), x * 2
    start = first.grad_fn._sequence_nr()
    return second.grad_fn._sequence_nr() - start, third.grad_fn._sequence_nr() - start


def test_24_1_written_tensors_and_their_views(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    base = x * 1
    start = base.grad_fn._sequence_nr()
    view = base[1:]
    view.mul_(2)
    base.add_(1)
    other = view * 3
    return [t.grad_fn._sequence_nr() - start for t in (other, base, view, x.exp())]


def test_24_1_an_operation_is_numbered_before_the_views_it_makes_anew(torch: Any) -> Any:
    base = torch.ones(3, dtype=torch.float64, requires_grad=True) * 1
    start = base.grad_fn._sequence_nr()
    view, other = base[1:], base[:2]
    base.add_(1)
    outs = view.tanh(), other * other, torch.cat([view, other]), base
    return [[n._sequence_nr() - start for n in (o.grad_fn, o.grad_fn.next_functions[0][0])] for o in outs[:3]]


def test_24_4_turned_off_after_the_forward(torch: Any) -> Any:
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    out = (x * y).sum()
    x.requires_grad_(False)
    out.backward()
    return x.grad, y.grad, chain(out.grad_fn)


def test_24_4_turned_on_after_the_forward(torch: Any) -> Any:
    x, y = torch.ones(1), torch.ones(1, requires_grad=True)
    out = x * y
    x.requires_grad_()
    out.backward()
    return x.grad, y.grad, chain(out.grad_fn)


def test_24_5_the_version_before_a_write(torch: Any) -> Any:
    get = torch.autograd.graph.get_gradient_edge
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    edge = get(y)
    y.mul_(5)
    out = y.sum()
    return torch.autograd.grad(out, [edge, y, x], retain_graph=True)


def test_24_5_an_edge_keeps_the_graph_alive(torch: Any) -> Any:
    edge = torch.autograd.graph.get_gradient_edge(torch.tensor([3.0], requires_grad=True).exp() * 2)
    return chain(edge.node), edge.node.next_functions[0][0](torch.ones(1))


def test_24_6_deepcopy_of_leaves(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    y, z = copy.deepcopy(x), copy.deepcopy(torch.tensor([1, 2]))
    shared = copy.deepcopy([x, x])
    y.detach().add_(1)
    return y is x, y, x, y.grad, y.grad is x.grad, y.is_leaf, z, shared[0] is shared[1]


@pytest.mark.parametrize("custom", [True, False])
def test_24_7_depth(torch: Any, custom: bool) -> Any:
    F = function(torch, lambda ctx, x: x + 1, lambda ctx, g: g)
    x = torch.zeros(1, requires_grad=True)
    y = x
    for _ in range(5_000):
        y = F.apply(y) if custom else y + 1
    y.backward()
    result = y, x.grad
    del y
    return result
