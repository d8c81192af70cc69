"""Functions of neural networks (torch.nn.functional)."""

from __future__ import annotations

import warnings
from types import FunctionType as _FunctionType
from typing import Any

from ..autograd.dtypes import dtype as Dtype
from ..autograd.tensor import Tensor
from ..compat.absent import refusing
from ..errors import warn
from ..ops import math
from ..ops.core.checks import number_of
from ..ops.core.described import described_in_place as _described_in_place
from ..ops.core.described import explain_shared as _explain_shared
from ..ops.creation import empty_like, zeros_like
from ..ops.inplace import write
from ..ops.library import activation
from ..ops.library.activation import gelu, logsigmoid
from ..ops.library.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ..ops.library.divergence import kl_div
from ..ops.library.folds import fold, unfold
from ..ops.library.layers import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    embedding,
    feature_alpha_dropout,
    one_hot,
    scaled_dot_product_attention,
)
from ..ops.library.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from ..ops.library.normalization import batch_norm, group_norm, instance_norm, layer_norm
from ..ops.library.padding import pad
from ..ops.library.piecewise import (
    celu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    mish,
    prelu,
    relu6,
    rrelu,
    softshrink,
    threshold,
)
from ..ops.library.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from ..ops.library.pooling import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
)
from ..ops.library.resampling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, interpolate
from ..ops.linear import linear
from ..ops.math import sigmoid, tanh
from .losses import (
    cosine_embedding_loss,
    cosine_similarity,
    gaussian_nll_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multilabel_soft_margin_loss,
    pairwise_distance,
    poisson_nll_loss,
    triplet_margin_loss,
)

__getattr__ = refusing(__name__)  # refuses absent names by a sentence

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "elu",
    "elu_",
    "embedding",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "interpolate",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "log_softmax",
    "logsigmoid",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "mish",
    "mse_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu_",
    "relu6",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "fold",
    "unfold",
    "alpha_dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "channel_shuffle",
    "upsample",
    "triplet_margin_loss",
]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `max(0, x)` for each element x.

    Positive elements receive the gradient unchanged; all others, including 0, receive 0.
    """
    return input.relu_() if inplace else math.relu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return x for each element x above 0, and `negative_slope * x` for the others."""
    if type(negative_slope) is not float:
        negative_slope = number_of("leaky_relu_" if inplace else "leaky_relu", "negative_slope", 1, negative_slope)
    if inplace:
        return write(input, "leaky_relu_", activation.leaky_relu_, negative_slope)
    return activation.leaky_relu(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return x for each element x above 0, and `alpha * (exp(x) - 1)` for the others."""
    if type(alpha) is not float:
        alpha = number_of("elu_" if inplace else "elu", "alpha", 1, alpha)
    if inplace:
        return write(input, "elu_", activation.elu_, alpha, 1, 1)
    return activation.elu(input, alpha, 1, 1)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `x * sigmoid(x)` for each element x: the SiLU activation, also called swish."""
    return write(input, "silu_", activation.silu) if inplace else activation.silu(input)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """Return `log(1 + exp(beta * x)) / beta` for each element x: a smooth version of ReLU.

    Where `beta * x` is above `threshold`, the result is x itself, which avoids an overflow.
    """
    if type(beta) is not int or type(threshold) is not int:
        beta, threshold = number_of("softplus", "beta", 1, beta), number_of("softplus", "threshold", 2, threshold)
    return activation.softplus(input, beta, threshold)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `1.0507 * x` for each element x above 0, and `1.7581 * (exp(x) - 1)` for the others.

    The constants keep mean 0 and variance 1 through many layers (Klambauer et al., 2017).
    """
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return (
        write(input, "selu_", activation.elu_, alpha, scale, 1) if inplace else activation.elu(input, alpha, scale, 1)
    )


_threshold_of = threshold  # in the function below the name is an argument's


def relu_(input: Tensor) -> Tensor:
    """Write the result of `relu` into the input itself, and return the input."""
    return relu(input, True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Write the result of `leaky_relu` into the input itself, and return the input."""
    return leaky_relu(input, negative_slope, True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Write the result of `elu` into the input itself, and return the input."""
    return elu(input, alpha, True)


def selu_(input: Tensor) -> Tensor:
    """Write the result of `selu` into the input itself, and return the input."""
    return selu(input, True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Write the result of `celu` into the input itself, and return the input."""
    return celu(input, alpha, True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Write the result of `hardtanh` into the input itself, and return the input."""
    return hardtanh(input, min_val, max_val, True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """Write the result of `threshold` into the input itself, and return the input."""
    return _threshold_of(input, threshold, value, True)


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """Write the result of `rrelu` into the input itself, and return the input."""
    return rrelu(input, lower, upper, training, True)


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resize the input as `interpolate` does, with a warning: `upsample` is its old name.

    Args:
        size: The new height and width of images, or the one size of sequences.
        scale_factor: How many times as large the result is, if `size` is omitted.
        mode: "nearest" copies the nearest element. "linear", "bilinear", "bicubic" and "trilinear"
            compute the elements between.
        align_corners: Let the centers of the corner elements stay at the corners. It isn't used by
            "nearest".
    """
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def softsign(input: Tensor) -> Tensor:
    """Return `x / (1 + abs(x))` for each element x."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """Return `x - tanh(x)` for each element x."""
    return input - input.tanh()


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide the vectors along `dim` by their p-norm, so that each has norm 1.

    A vector whose norm is below `eps` is divided by `eps` instead, so a vector of zeros stays zero.
    The result has the shape of the input.

    Args:
        p: Which p-norm to use: 2 is the Euclidean length, 1 the sum of absolute values.
        dim: The dimension along which norms are computed. The default, 1, takes the rows of a
            matrix. A single vector needs `dim=0`.
        eps: The smallest divisor. It avoids a division by zero.

    Example:
        >>> F.normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 0.0000]])
    """
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """Return `exp(x) / sum(exp(x))` along `dim`: positive numbers that sum to one.

    For the loss of a classifier, pass logits to `cross_entropy`, which contains the softmax.

    Args:
        dim: The dimension along which the results sum to one, usually the one with the classes.
            Always pass it: None is deprecated.
        dtype: Convert the input to this dtype first.
    """
    return activation.softmax(input, _chosen("softmax", dim, input.ndim, _stacklevel), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """Return `softmax(-x)` along `dim`: the smallest element gets the largest probability.

    Args:
        dim: The dimension along which the results sum to one. Always pass it: None is deprecated.
    """
    return activation.softmax(-input, _chosen("softmin", dim, input.ndim, _stacklevel), dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw a random class for each row of logits, as a vector through which gradients can flow.

    The result is `softmax((logits + noise) / tau)`, with noise from the Gumbel distribution (Jang
    et al., 2017).

    Args:
        logits: The logarithms of the class probabilities, up to a constant.
        tau: The temperature. The smaller it is, the closer the results are to 0 and 1.
        hard: Return vectors with a single 1 and zeros elsewhere. Gradients are computed as if the
            result were the softmax.
        eps: Deprecated; it has no effect.
        dim: The dimension of the classes, along which the results sum to one.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    return zeros_like(logits).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0) - soft.detach() + soft


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """Return the logarithm of `softmax` along `dim`.

    `softmax(x, dim).log()` is less accurate: it gives -inf where a probability rounds to 0.
    `log_softmax` takes the same arguments as `softmax`.
    """
    return activation.log_softmax(input, _chosen("log_softmax", dim, input.ndim, _stacklevel), dtype)


def _chosen(name: str, dim: int | None, ndim: int, stacklevel: int) -> int:
    """Return `dim`, or with a warning the dimension that PyTorch picks if it is None."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


for _name, _each in list(vars().items()):  # what the twins say above is for readers of this file
    if (_base := vars().get(_name[:-1])) and _name.endswith("_") and not _name.startswith("_"):
        _each.__doc__ = _described_in_place(_base.__doc__, "input")
for _each in list(vars().values()):
    if isinstance(_each, _FunctionType):
        _explain_shared(_each)
