"""Random variables: samples of them, and the probability of a value (torch.distributions)."""

from ..compat.absent import refusing as _refusing
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .kl import kl_divergence
from .laplace import Laplace
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .uniform import Uniform

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

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
