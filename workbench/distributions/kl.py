"""The Kullback-Leibler divergence of two distributions (torch.distributions.kl)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.tensor import Tensor
from ..nn.functional import softplus
from ..ops.comparison import where
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent, rightmost_sum
from .normal import Normal

__all__ = ["kl_divergence", "register_kl"]

NO_RULE = "No KL(p || q) is implemented for p type {} and q type {}"
_rules: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[[Any, Any], Tensor]], Callable[[Any, Any], Tensor]]:
    """Register the decorated function, which `kl_divergence` then calls for these two classes of distributions."""
    for each in (type_p, type_q):
        if not (isinstance(each, type) and issubclass(each, Distribution)):
            raise TypeError(
                f"Expected type_{'p' if each is type_p else 'q'} to be a Distribution subclass but got {each}"
            )

    def registered(rule: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
        _rules[type_p, type_q] = rule
        return rule

    return registered


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence of p from q: the mean of `log(p(x)) - log(q(x))` over samples x of p.

    It is 0 only if p equals q, and it changes if you exchange them. The result has the batch shape. PyTorch:
    torch.distributions.kl_divergence.

    Raises:
        NotImplementedError: if no formula is known for this pair of classes.
    """
    fitting = [pair for pair in ((a, b) for a in type(p).__mro__ for b in type(q).__mro__) if pair in _rules]
    if not fitting:
        raise NotImplementedError(NO_RULE.format(type(p).__name__, type(q).__name__))
    return _rules[fitting[0]](p, q)


@register_kl(Normal, Normal)
def _of_normals(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Categorical, Categorical)
def _of_categories(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    each = where((q.probs == 0).expand_as(each), float("inf"), each)
    return where((p.probs == 0).expand_as(each), 0.0, each).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _of_bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = _part(p.probs, q.probs, softplus(-q.logits) - softplus(-p.logits))
    return ones + _part(1 - p.probs, 1 - q.probs, softplus(q.logits) - softplus(p.logits))


def _part(of_p: Tensor, of_q: Tensor, difference: Tensor) -> Tensor:
    """Return one value's share in the difference of the logarithms."""
    each = where(of_q == 0, float("inf"), of_p * difference)
    return where(of_p == 0, 0.0, each)


@register_kl(Independent, Independent)
def _of_independents(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return rightmost_sum(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
