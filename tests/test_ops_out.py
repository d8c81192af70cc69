"""`out=`: what is written, in which shape and dtype, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

# `o` and `d` are to be written, `n` holds integers, `g` requires grad.
CALLS = """
torch.exp(x, out=o) | torch.exp(x, out=o) is o | torch.exp(x, out=torch.empty(5)) | torch.exp(x, out=torch.empty(0))
torch.exp(g, out=o) | torch.exp(x, out=g) | torch.exp(x, out=n) | torch.sqrt(x, out=d) | torch.exp(x, out=3)
torch.exp(x, out=None) | torch.exp(x, out=torch.zeros(4)[::2]) | torch.neg(o, out=o) | torch.mul(x, 2, out=o)
torch.mul(x, g, out=o) | torch.add(x, 1, out=o) | torch.add(x, 1, alpha=2, out=o) | torch.sub(x, g, out=o)
torch.div(x, 2, out=o) | torch.div(x, 2, rounding_mode='floor', out=o) | torch.div(n, 2, out=n) | torch.eq(x, x, out=n)
torch.maximum(x, x, out=o) | torch.sum(m, 0, out=o) | torch.sum(m, 0, out=d) | torch.mean(m, 0, out=o)
torch.sum(m, (0, 1), True, out=o) | torch.sum(m * g, 0, out=o) | torch.mm(m, m, out=M) | torch.mm(m, m, out=M.double())
torch.matmul(m, m, out=M) | torch.matmul(m, g, out=o) | torch.mv(m, x, out=o) | torch.dot(x, x, out=torch.zeros(()))
torch.bmm(m[None], m[None], out=M[None]) | torch.cat([x[:1], x[:1]], out=o) | torch.cat([x, x], out=d)
torch.cat([x, g], out=o) | torch.stack([x, x], out=M) | torch.stack([x, x], 1, out=o) | torch.arange(2, out=o)
torch.arange(2, out=n) | torch.zeros(2, out=o) | torch.ones((2, 2), out=M) | torch.eye(2, out=M)
torch.full((2,), 3, out=o) | torch.linspace(0, 1, 2, out=o) | torch.zeros(2, out=None) | torch.relu(x, out=o)
torch.pow(x, x, out=o) | torch.pow(x, 2, out=o) | torch.pow(2, x, out=o) | torch.pow(x, 2, out=n)
torch.pow(x, g, out=o) | torch.pow(x, x, out=None)
"""


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("text", entries(CALLS))
def test_a_call(text: str, recording: bool) -> None:
    def program(torch: Any) -> Any:
        o, n = torch.tensor([7.0, 8.0]), torch.tensor([7, 8])
        known = {"torch": torch, "o": o, "n": n, "d": o.double(), "g": torch.tensor([1.0, 4.0], requires_grad=True)}
        known |= {"x": torch.tensor([1.0, 4.0]), "m": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "M": torch.zeros(2, 2)}
        with torch.set_grad_enabled(recording):
            out = eval(text, known)
        return out, o, n, o._version, n._version

    compare(program)


def test_what_is_read_and_written_may_not_overlap() -> None:
    def program(torch: Any) -> Any:
        o = torch.zeros(4)
        return torch.neg(o[1:], out=o[:3])

    compare(program)
