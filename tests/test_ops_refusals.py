"""Edges of the operations beside PyTorch's: what is noticed when it was written, layout of memory, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries, names, raised, same

# A tensor by name in the second column is written after the op; `out` is the result.
WRITTEN = """
p ** y; out | p ** y.detach(); out | p ** n; out | p.detach() ** y; out | p ** 2; out | p ** 2; p | 2 ** x; out
x * y; out | x * 2; x | x / y; out | a @ M; M | torch.addmm(c, a, M); a | torch.addmm(c, a, M); M
torch.nn.functional.linear(a, q, x[:2]); a | torch.nn.functional.linear(a, q, x[:2]); q
torch.maximum(x, y); out | torch.where(x > 0, x, y); out | a.max(); out | x.clamp(y, p); p | a.cumprod(1); out
torch.logsumexp(a, 1); out | torch.softmax(a, 1); out | a.norm(); out | a.std(); out | a.prod(); out | x.sign(); x
"""


@pytest.mark.parametrize("text", entries(WRITTEN))
def test_a_write_after_saving(text: str) -> None:
    op, written = text.split("; ")

    def program(torch: Any) -> Any:
        leaves = names(torch)
        named = {k: v * 1 if isinstance(v, torch.Tensor) and v.requires_grad else v for k, v in leaves.items()}
        named["out"] = eval(op, named)
        with torch.no_grad():
            named[written].zero_()
        named["out"].sum().backward()
        return [leaf.grad for leaf in leaves.values() if isinstance(leaf, torch.Tensor)]

    compare(program)


IN_PLACE = """
leaky_relu(b, 0.1, inplace=True) | leaky_relu(b, inplace=True) | leaky_relu(b, 0.0, inplace=True)
leaky_relu(b, -0.1, inplace=True) | elu(b, inplace=True) | elu(b, 1.5, inplace=True) | elu(b, -1.5, inplace=True)
elu(b, 0.0, True) | relu(b, True)
"""


@pytest.mark.parametrize("text", entries(IN_PLACE))
def test_activations_in_place(text: str) -> None:
    def program(torch: Any) -> Any:
        named = names(torch)
        x, b = named["x"], named["x"] * 1
        out = eval(text, {"b": b, **vars(torch.nn.functional)})
        node = out.grad_fn
        saved = node.name(), node._saved_result, [getattr(node, f"_saved_{n}", None) for n in ("alpha", "self")]
        (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        again = torch.autograd.grad(g.sum(), x, allow_unused=True)
        with torch.no_grad():
            out.zero_()
        return out is b, saved, g.detach(), again, raised(out.sum().backward)

    compare(program)


@same
def test_activations_in_place_without_a_graph(torch: Any) -> Any:
    x, F = torch.tensor([-1.0, 2.0]), torch.nn.functional
    integers = torch.tensor([-1, 2])
    return F.leaky_relu(x.clone(), -0.5, True), F.elu(x.clone(), -0.5, True), raised(F.elu, integers, 1.0, True)
