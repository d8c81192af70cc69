"""Draws whose distribution tensors say, beside PyTorch's: shapes, dtypes, refusals, and how often what comes."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries, same

DRAWS = """
t.normal(0.0, 1.0, (2, 3)) | t.normal(m, 0.5) | t.normal(0.0, s) | t.normal(m, s) | t.normal(m[:, None], s)
t.normal(m, -s)
t.normal(0.0, -1.0, (2,)) | t.normal(m, -1.0) | t.normal(mean=m, std=s) | t.normal(0.0, 1.0, size=(4,), dtype=t.float64)
t.multinomial(p, 2) | p.multinomial(3) | p.multinomial(5, replacement=True) | q.multinomial(2, True) | p.multinomial(4)
q.multinomial(1) | p.multinomial(0) | (-p).multinomial(1) | (p * 0).multinomial(1) | t.arange(3).multinomial(1)
(p / 0).multinomial(1) | q[None].multinomial(1) | p.double().multinomial(2)
"""


@pytest.mark.parametrize("text", entries(DRAWS))
def test_a_draw(text: str) -> None:
    def program(torch: Any) -> Any:
        m, s, p = torch.zeros(3), torch.ones(3), torch.tensor([0.5, 0.25, 0.25])
        made = eval(text, {"t": torch, "m": m, "s": s, "p": p, "q": torch.stack([p, p])})
        return made.shape, made.dtype, made.requires_grad

    compare(program)


@same
def test_draws_come_as_often_as_they_should(torch):
    torch.manual_seed(0)
    weights = torch.tensor([[1.0, 3.0, 0.0], [0.0, 2.0, 2.0]])
    drawn = torch.multinomial(weights, 20000, replacement=True)
    share = torch.stack([(drawn == k).to(torch.float32).mean(1) for k in range(3)], 1)
    once = torch.stack([torch.multinomial(weights[0], 2) for _ in range(50)])
    numbers = torch.normal(torch.full((20000,), 3.0), 0.5)
    near = (share - weights / 4).abs().max() < 0.02
    return near, sorted(set(once.flatten().tolist())), abs(numbers.mean() - 3) < 0.02, abs(numbers.std() - 0.5) < 0.02
