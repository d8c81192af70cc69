"""Random variables: samples of them, and the probability of a value (torch.distributions)."""

from typing import Any as _Any

from ..absent import refusal as _refusal
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .kl import kl_divergence
from .laplace import Laplace
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .uniform import Uniform

__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Independent",
    "Laplace",
    "Normal",
    "OneHotCategorical",
    "Uniform",
    "kl_divergence",
]


def __getattr__(name: str) -> _Any:
    raise _refusal(f"module {__name__!r}", "torch.distributions", name)
