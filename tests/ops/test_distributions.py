"""Distributions beside PyTorch's: probabilities, moments, what they refuse, and what draws promise."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import entries


def test_gradients_reach_the_parameters(torch):
    D = torch.distributions
    scores = torch.tensor([[0.5, -1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    loc, scale = (torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    chosen, normal = D.Categorical(logits=scores), D.Normal(loc, scale)
    chosen.sample()  # what it computes without a gradient has one later all the same
    value = chosen.log_prob(torch.tensor([2])).sum() + chosen.entropy().sum() + chosen.probs[0, 1]
    value = value + normal.log_prob(torch.tensor(1.5)).sum() + normal.entropy().sum()
    value = value + D.kl_divergence(normal, D.Normal(0.0, 1.0)).sum() + D.Bernoulli(logits=scores).entropy().sum()
    value.backward()
    return value, scores.grad, loc.grad, scale.grad


def test_a_draw_with_a_gradient_moves_with_its_parameters(torch):
    loc, scale = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    normal = torch.distributions.Normal(loc, scale)
    draw = normal.rsample((5,))
    draw.sum().backward()
    moved = torch.allclose(scale.grad, draw.detach().sum(0))
    return loc.grad, moved, normal.sample().requires_grad, draw.shape


def test_draws_are_as_often_as_they_are_likely(torch):
    torch.manual_seed(1)
    D = torch.distributions
    chosen = D.Categorical(torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])).sample((20000,))
    shares = torch.stack([(chosen == k).to(torch.float32).mean(0) for k in range(3)], 1)
    ones, normal = D.Bernoulli(0.3).sample((20000,)).mean(), D.Normal(1.0, 2.0).sample((20000,))
    uniform = D.Uniform(-1.0, 3.0).sample((20000,))
    near = (shares - torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])).abs().max() < 0.02
    return near, abs(ones - 0.3) < 0.02, abs(normal.mean() - 1) < 0.06, abs(normal.std() - 2) < 0.06, uniform.min() > -1


def test_a_rule_of_divergence_of_ones_own(torch):
    class Mine(torch.distributions.Normal):
        pass

    @torch.distributions.kl.register_kl(Mine, torch.distributions.Normal)
    def rule(p, q):
        return p.loc - q.loc

    mine, other = Mine(3.0, 1.0), torch.distributions.Normal(1.0, 1.0)
    return torch.distributions.kl_divergence(mine, other), torch.distributions.kl_divergence(other, mine)


DRAWS = """
t.normal(0.0, 1.0, (2, 3)) | t.normal(m, 0.5) | t.normal(0.0, s) | t.normal(m, s) | t.normal(m[:, None], s)
t.normal(m, -s)
t.normal(0.0, -1.0, (2,)) | t.normal(m, -1.0) | t.normal(mean=m, std=s) | t.normal(0.0, 1.0, size=(4,), dtype=t.float64)
t.multinomial(p, 2) | p.multinomial(3) | p.multinomial(5, replacement=True) | q.multinomial(2, True) | p.multinomial(4)
q.multinomial(1) | p.multinomial(0) | (-p).multinomial(1) | (p * 0).multinomial(1) | t.arange(3).multinomial(1)
(p / 0).multinomial(1) | q[None].multinomial(1) | p.double().multinomial(2)
"""


@pytest.mark.parametrize("text", entries(DRAWS))
def test_a_draw(torch: Any, text: str) -> Any:
    m, s, p = torch.zeros(3), torch.ones(3), torch.tensor([0.5, 0.25, 0.25])
    made = eval(text, {"t": torch, "m": m, "s": s, "p": p, "q": torch.stack([p, p])})
    return made.shape, made.dtype, made.requires_grad


def test_draws_come_as_often_as_they_should(torch):
    torch.manual_seed(0)
    weights = torch.tensor([[1.0, 3.0, 0.0], [0.0, 2.0, 2.0]])
    drawn = torch.multinomial(weights, 20000, replacement=True)
    share = torch.stack([(drawn == k).to(torch.float32).mean(1) for k in range(3)], 1)
    once = torch.stack([torch.multinomial(weights[0], 2) for _ in range(50)])
    numbers = torch.normal(torch.full((20000,), 3.0), 0.5)
    near = (share - weights / 4).abs().max() < 0.02
    return near, sorted(set(once.flatten().tolist())), abs(numbers.mean() - 3) < 0.02, abs(numbers.std() - 0.5) < 0.02
