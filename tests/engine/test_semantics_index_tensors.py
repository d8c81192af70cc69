"""Index tensors, masks and targets are saved tensors like others (rows 2.1, 16.1, 22.1 and 22.9)."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import chain, compare, raised

CALLS = {
    "x[i]": lambda torch, x, y, i, m: x[i],
    "x[:, i]": lambda torch, x, y, i, m: torch.stack([x, y])[:, i],
    "x[i, i]": lambda torch, x, y, i, m: torch.outer(x, y)[i, i],
    "x[m]": lambda torch, x, y, i, m: x[m],
    "index_put": lambda torch, x, y, i, m: torch.index_put(x, (i,), y),
    "index_put_": lambda torch, x, y, i, m: x.clone().index_put_((i,), y, accumulate=True),
    "gather": lambda torch, x, y, i, m: x.gather(0, i),
    "scatter": lambda torch, x, y, i, m: x.scatter(0, i, y),
    "scatter a number": lambda torch, x, y, i, m: x.scatter(0, i, 1.0),
    "scatter_add": lambda torch, x, y, i, m: x.scatter_add(0, i, y),
    "scatter_add a constant": lambda torch, x, y, i, m: x.scatter_add(0, i, y.detach()),
    "index_select": lambda torch, x, y, i, m: x.index_select(0, i),
    "index_add": lambda torch, x, y, i, m: x.index_add(0, i, y),
    "index_add a constant": lambda torch, x, y, i, m: x.index_add(0, i, y.detach(), alpha=2),
    "masked_fill": lambda torch, x, y, i, m: x.masked_fill(m, 1.0),
    "masked_fill a tensor": lambda torch, x, y, i, m: x.masked_fill(m, y[0]),
    "masked_select": lambda torch, x, y, i, m: x.masked_select(m),
    "where": lambda torch, x, y, i, m: torch.where(m, x, y),
    "where with a number": lambda torch, x, y, i, m: torch.where(m, x, 2.0),
    "nll_loss": lambda torch, x, y, i, m: torch.nn.functional.nll_loss(torch.stack([x, y]), i[:2]),
    "weighted nll_loss": lambda torch, x, y, i, m: torch.nn.functional.nll_loss(
        torch.stack([x, y]), i[:2], weight=y.detach() + 4
    ),
    "sort": lambda torch, x, y, i, m: x.sort(0)[0],
    "topk": lambda torch, x, y, i, m: x.topk(2, 0)[0],
    "max": lambda torch, x, y, i, m: x.max(0)[0],
}
each_call = pytest.mark.parametrize("name", CALLS)


def given(torch: Any) -> tuple[Any, ...]:
    """Two leaves, indices and a mask."""
    x = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.5, 0.25, -3.0], dtype=torch.float64, requires_grad=True)
    return x, y, torch.tensor([2, 0, 1]), torch.tensor([True, False, True])


@each_call
def test_2_1_written_before_the_backward(name: str) -> None:
    def program(torch: Any) -> Any:
        told = []
        for which in ("indices", "mask"):
            x, y, i, m = given(torch)
            out = CALLS[name](torch, x, y, i, m)
            i.add_(0) if which == "indices" else m.fill_(True)
            told.append(raised(out.sum().backward))
        return told

    compare(program)


@each_call
def test_16_1_freed(name: str) -> None:
    def program(torch: Any) -> Any:
        out = CALLS[name](torch, *given(torch))
        out.sum().backward()
        saved = ("index", "indices", "mask", "condition", "target")
        read = [raised(lambda word=word: getattr(out.grad_fn, f"_saved_{word}")) for word in saved]
        refused = [what for what in read if what[0] == "RuntimeError"]
        return refused, raised(out.backward, torch.ones_like(out))

    compare(program)


@each_call
def test_22_1_packed_and_unpacked(name: str) -> None:
    def program(torch: Any) -> Any:
        packed, unpacked = [], []
        x, y, i, m = given(torch)

        def pack(t):
            packed.append(t)
            return t.clone()

        def unpack(t):
            unpacked.append(t)
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            out = CALLS[name](torch, x, y, i, m)
        out.sum().backward()
        return packed, unpacked, x.grad, y.grad

    compare(program)


@each_call
def test_22_9_read_by_name(name: str) -> None:
    def program(torch: Any) -> Any:
        x, y, i, m = given(torch)
        node = CALLS[name](torch, x, y, i, m).grad_fn
        seen = {}
        for word in ("index", "indices", "mask", "condition", "target", "weight", "total_weight", "source", "dim"):
            saved = getattr(node, f"_saved_{word}", "nothing")
            each = saved if isinstance(saved, tuple) else (saved,)
            seen[word] = saved, [t is i or t is m for t in each]
        return seen

    compare(program)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "masked_select"])
def test_15_11_the_graph_of_a_gradient(torch: Any, name: str) -> Any:
    x, *others = given(torch)
    out = CALLS[name](torch, x, *others)
    (g,) = torch.autograd.grad((out * out).sum(), x, create_graph=True)
    return g, chain(g.grad_fn), torch.autograd.grad(g.sum(), x)


@pytest.mark.parametrize("name", ["x[i]", "x[:, i]", "x[i, i]", "index_put_"])
def test_22_8_hooks_on_one_index(torch: Any, name: str) -> Any:
    x, *others = given(torch)
    out = CALLS[name](torch, x, *others)
    raw, seen = out.grad_fn._raw_saved_indices, []

    def note(t):
        seen.append(t)
        return t

    told = [raised(handle.register_hooks, note, note) for handle in raw]
    again = [raised(handle.register_hooks, note, note) for handle in raw]
    out.sum().backward()
    return told, again, seen, raised(lambda: out.grad_fn._raw_saved_indices), x.grad


@pytest.mark.parametrize("index", [[2, 0], (slice(None), [1, 0]), [True, False], (None, [1]), ([0], None)], ids=str)
def test_22_9_indices_that_are_no_tensors(torch: Any, index: Any) -> Any:
    a = torch.arange(6.0).reshape(2, 3).T.contiguous() if index == [2, 0] else torch.arange(6.0).reshape(2, 3)
    out = a.requires_grad_()[index]
    return out, out.grad_fn._saved_indices, out.grad_fn._saved_self_sym_sizes


def test_22_9_what_was_found_on_the_way_is_nobody_s(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    nodes = torch.cat([x, x]).grad_fn, x.to(torch.float64).grad_fn
    return [raised(getattr, node, f"_saved_{name}") for node, name in zip(nodes, ("sizes", "source"), strict=True)]


def test_1_17_an_index_made_in_inference_mode(torch: Any) -> Any:
    x, *_ = given(torch)
    with torch.inference_mode():
        i = torch.tensor([0, 1])
    return raised(lambda: x[i]), raised(x.gather, 0, i), x.detach()[i]
