"""x * log(y) and the divergence beside PyTorch's: values at zeros, reductions, gradients of both."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

CALLS = """
f.kl_div(a, b) | f.kl_div(a, b, reduction="batchmean") | f.kl_div(a, b.log(), log_target=True, reduction="sum")
f.kl_div(a, b * 0, reduction="none") | f.kl_div(a, b, reduction="zz") | f.kl_div(a, b, size_average=False)
f.kl_div(a[0], b[0], reduction="batchmean") | f.kl_div(a, z, reduction="sum") | n.KLDivLoss(reduction="sum")(a, b)
n.KLDivLoss(reduction="batchmean", log_target=True)(a, b.log()) | n.KLDivLoss()(a, b)
f.kl_div(a, b[:1], reduction="none")
t.xlogy(b, b) | z.xlogy(b) | t.xlogy(b, -b) | t.xlogy(z, z) | t.xlogy(z * 0, z / 0) | b.clone().xlogy_(b)
"""


@pytest.mark.parametrize("text", entries(CALLS))
def test_a_call(text: str) -> None:
    def program(torch: Any) -> Any:
        a = torch.tensor([[-1.0, -2.0, -0.5], [-0.1, -3.0, -1.0]], requires_grad=True)
        b = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], requires_grad=True)
        z = torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
        f = torch.nn.functional
        out = eval(text, {"t": torch, "f": f, "n": torch.nn, "a": a, "b": b, "z": z})
        if out.requires_grad:
            out.sum().backward()
        return out, out.grad_fn and out.grad_fn.name(), a.grad, b.grad

    compare(program)
