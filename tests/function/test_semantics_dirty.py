"""What mark_dirty does beside what test_semantics_applied.py shows; each test is named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function, leaf, saved
from oracle import chain, warned


def bump(torch: Any, backward: Any = lambda ctx, g: g * 3) -> Any:
    """A Function that adds one in place, and says so."""
    return function(torch, lambda ctx, x: ctx.mark_dirty(x.add_(1)) or x, backward)


def test_3_5_an_alias_shares_memory_and_counter(torch):
    x = leaf(torch)
    with torch.no_grad():
        out = bump(torch).apply(x)
        out.add_(1)
    return x, x._version, out._version, out.requires_grad


def test_3_11_a_view_is_written(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = x * 1
    row = base[0]
    out = bump(torch).apply(row)
    names = (base.grad_fn.name(), row.grad_fn.name(), chain(base.grad_fn), out is row, row._base is base)
    (base * base).sum().backward()
    return names, base, row, x.grad, base._version


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("gives", ["none", "other alone", "view alone"])
def test_3_11_a_backward_that_gives_none_to_the_view_gives_none_to_the_base(torch, gives, create_graph):
    def backward(ctx, g):
        return g if gives == "view alone" else None, g if gives == "other alone" else None

    write = function(torch, lambda ctx, x, y: ctx.mark_dirty(x.add_(y)) or x, backward).apply
    told = []
    for part in (slice(0, 2), slice(0, 3), slice(0, 0)):
        x, y = leaf(torch, 1.0, 1.0, 1.0), leaf(torch, 1.0)
        base = x * 1
        write(base[part], y)
        base.grad_fn.register_hook(lambda given, arrived: told.extend([given, arrived]))
        told.append(torch.autograd.grad(base.sum(), [x, y], create_graph=create_graph, allow_unused=True))
    return [[g if g is None else g.tolist() for g in grads] for grads in told]


def test_3_11_the_node_of_a_written_base_called_by_hand(torch):
    def written(write):
        base = leaf(torch, 1.0, 1.0, 1.0) * 1
        write(base[:2])
        return base.grad_fn

    y = leaf(torch)
    writes = (lambda view: view.mul_(y), lambda view: view.zero_(), bump(torch).apply)
    nodes = [written(write) for write in (*writes, bump(torch, lambda ctx, g: None).apply)]
    nodes.append(torch.cat([y * 2]).grad_fn)
    with torch.no_grad():
        return [node(g) for node in nodes for g in (torch.ones(2 if node is nodes[-1] else 3), None)]


def test_3_16_saving_what_was_written(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x.exp_())
        ctx.save_for_backward(x)
        return x

    x = leaf(torch, 0.5, 1.0)
    out = function(torch, forward, saved(lambda g, result: g * result)).apply(x * 1)
    (kept,) = out.grad_fn.saved_tensors
    facts = (kept is out, kept.grad_fn is out.grad_fn, kept._version, kept)
    (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    return facts, first, torch.autograd.grad(first.sum(), x)


def test_3_21_retain_grad_follows(torch):
    x = leaf(torch)
    y = x * 1
    y.retain_grad()
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(("old", g)))
    out = bump(torch).apply(y)
    out.register_hook(lambda g: seen.append(("new", g)))
    (out * 5).sum().backward()
    return out is y, y.grad, seen, x.grad, warned(lambda: y.grad)
