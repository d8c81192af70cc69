"""Distributions beside PyTorch's: probabilities, moments, what they refuse, and what draws promise."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries, same

ASKED = """
n | n.log_prob(t.tensor(0.5)) | n.cdf(t.tensor(0.5)) | n.entropy() | D.Normal(0.0, 1.0) | D.Normal(0.0, -1.0)
n.log_prob(2.0)
n.log_prob(t.ones(3)) | n.log_prob(t.tensor([float("nan"), 1.0])) | D.Normal(0, 1) | D.Normal(t.ones(2, 1), t.ones(3))
[n.mean, n.stddev, n.variance, n.mode, n.batch_shape, n.event_shape] | D.Normal("a", 1.0) | n.expand([3, 2])
D.Normal(t.zeros(2), 1.0, validate_args=False).log_prob(t.tensor(float("nan")))
[c, c.probs, c.logits, c.entropy(), c.log_prob(t.tensor([0, 2])), c.mean, c.variance, c.mode]
[c.perplexity(), c.param_shape]
c.log_prob(t.tensor([3, 0])) | D.Categorical() | D.Categorical(t.tensor(1.0)) | D.Categorical(t.tensor([-1.0, 2.0]))
D.Categorical(logits=t.tensor([1.0, 2.0])).probs | D.Categorical(logits=t.tensor([1.0, float("nan")]))
c.enumerate_support() | c.enumerate_support(False) | c.log_prob(t.tensor([[0], [1], [2]])) | c.log_prob(t.ones(3))
[c.sample((5,)).shape, c.sample().dtype, D.Categorical(t.tensor([0.0, 1.0, 0.0])).sample((4,))]
[b, b.logits, b.mode, b.mean, b.variance, b.entropy(), b.log_prob(t.tensor([1.0, 0.0])), b.log_prob(t.tensor(1.0))]
b.log_prob(t.tensor([0.5, 0.5])) | D.Bernoulli(1.5) | D.Bernoulli(logits=t.tensor([1.0, -2.0])).probs | D.Bernoulli(0.3)
[D.Bernoulli(t.tensor([0.0, 1.0])).sample((2,)), b.sample().dtype] | D.Bernoulli(0.5, logits=0.5)
[i, i.log_prob(t.zeros(4, 2)), i.entropy(), i.event_shape, i.batch_shape, i.mean, i.variance, i.mode]
D.Independent(n, 2)
i.log_prob(t.zeros(3)) | i.rsample((2,)).shape | D.kl_divergence(n, D.Normal(0.0, 1.0)) | i.support
D.kl_divergence(c, D.Categorical(t.tensor([0.0, 1.0, 1.0]))) | D.kl_divergence(b, D.Bernoulli(t.tensor([1.0, 0.3])))
D.kl_divergence(i, D.Independent(D.Normal(t.zeros(2), t.ones(2)), 1)) | D.kl_divergence(c, i)
[u, u.mean, u.variance, u.stddev, u.log_prob(t.tensor(1.0)), u.cdf(t.tensor(0.5)), u.entropy(), u.sample((2, 3)).shape]
u.log_prob(t.tensor(3.0)) | D.Uniform(1.0, 0.0) | D.Uniform(t.zeros(2), 1.0, False).log_prob(t.tensor([0.5, 3.0]))
[D.Normal.arg_constraints, D.Categorical.arg_constraints, c.support, b.support, u.support]
"""


@pytest.mark.parametrize("text", entries(ASKED))
def test_what_a_distribution_says(text: str) -> None:
    def program(torch: Any) -> Any:
        given = {"t": torch, "D": torch.distributions}
        given["n"] = torch.distributions.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
        given["c"] = torch.distributions.Categorical(torch.tensor([[0.1, 0.2, 0.7], [1.0, 1.0, 2.0]]))
        given["b"] = torch.distributions.Bernoulli(torch.tensor([0.2, 0.5]))
        given["i"] = torch.distributions.Independent(given["n"], 1)
        given["u"] = torch.distributions.Uniform(0.0, 2.0)
        found = eval(text, given)
        plain = (int, float, torch.Tensor, torch.Size)
        return [each if isinstance(each, plain) else str(each) for each in (found if type(found) is list else [found])]

    compare(program)


@same
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


@same
def test_a_draw_with_a_gradient_moves_with_its_parameters(torch):
    loc, scale = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    normal = torch.distributions.Normal(loc, scale)
    draw = normal.rsample((5,))
    draw.sum().backward()
    moved = torch.allclose(scale.grad, draw.detach().sum(0))
    return loc.grad, moved, normal.sample().requires_grad, draw.shape


@same
def test_draws_are_as_often_as_they_are_likely(torch):
    torch.manual_seed(1)
    D = torch.distributions
    chosen = D.Categorical(torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])).sample((20000,))
    shares = torch.stack([(chosen == k).to(torch.float32).mean(0) for k in range(3)], 1)
    ones, normal = D.Bernoulli(0.3).sample((20000,)).mean(), D.Normal(1.0, 2.0).sample((20000,))
    uniform = D.Uniform(-1.0, 3.0).sample((20000,))
    near = (shares - torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])).abs().max() < 0.02
    return near, abs(ones - 0.3) < 0.02, abs(normal.mean() - 1) < 0.06, abs(normal.std() - 2) < 0.06, uniform.min() > -1


@same
def test_a_rule_of_divergence_of_ones_own(torch):
    class Mine(torch.distributions.Normal):
        pass

    @torch.distributions.kl.register_kl(Mine, torch.distributions.Normal)
    def rule(p, q):
        return p.loc - q.loc

    mine, other = Mine(3.0, 1.0), torch.distributions.Normal(1.0, 1.0)
    return torch.distributions.kl_divergence(mine, other), torch.distributions.kl_divergence(other, mine)
