"""Initial values of parameters: each function writes into a tensor and returns it (torch.nn.init)."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import cleandoc
from typing import Any

import numpy as np

from .. import errors
from ..autograd.grad_mode import no_grad
from ..autograd.tensor import Tensor
from ..errors import warn
from ..ops.creation import generator as default_generator
from ..ops.creation import tensor as tensor_of

Random = np.random.Generator | None


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended factor for a layer's initial weights, given the activation after the layer.

    For example, the factor is 1 for "linear" and "sigmoid", 5/3 for "tanh", and `sqrt(2)` for "relu".

    Args:
        nonlinearity: The name of the activation: "linear" (none), "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
            The name of a convolution, such as "conv2d", counts as "linear".
        param: For "leaky_relu", the negative slope. None means 0.01.
    """
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4, "linear": 1}
    gains |= {f"conv{way}{n}d": 1 for way in ("", "_transpose") for n in (1, 2, 3)}
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Random = None) -> Tensor:
    """Fill the tensor with uniform random numbers between `a` and `b`.

    Args:
        tensor: The tensor to fill.
        a: The lower bound.
        b: The upper bound.
        generator: The random number generator. None means the default generator.
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Random = None) -> Tensor:
    """Fill the tensor with normal random numbers.

    Args:
        tensor: The tensor to fill.
        mean: The mean of the numbers.
        std: Their standard deviation.
        generator: The random number generator. None means the default generator.
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Random = None
) -> Tensor:
    """Fill the tensor with normal random numbers from a limited range: from `a` to `b`.

    Numbers outside the range are drawn again.

    Args:
        tensor: The tensor to fill.
        mean: The mean of the normal distribution, before the range is limited.
        std: Its standard deviation, before the range is limited.
        a: The smallest possible number.
        b: The largest possible number.
        generator: The random number generator. None means the default generator.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )
    below, above = ((1 + math.erf((limit - mean) / std / math.sqrt(2))) / 2 for limit in (a, b))
    random = generator or default_generator()
    if above - below > 0.3:
        values = random.normal(mean, std, tensor._array.shape)
        while (wrong := (values < a) | (values > b)).any():
            values[wrong] = random.normal(mean, std, int(wrong.sum()))
    else:  # most would be drawn again: draw between the limits, and keep each with its probability
        values = np.empty(tensor._array.shape)
        wrong = np.ones(values.shape, bool)
        peak = max(a, min(mean, b))
        while wrong.any():
            drawn = random.uniform(a, b, int(wrong.sum()))
            chance = np.exp(0.5 * (((peak - mean) / std) ** 2 - ((drawn - mean) / std) ** 2))
            values[wrong] = drawn
            wrong[wrong] = random.uniform(size=drawn.size) > chance
    return _write(tensor, values)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set all elements of `tensor` to `val`."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill `tensor` with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill `tensor` with zeros."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill the matrix `tensor` with the identity: 1 on the diagonal, 0 elsewhere.

    Raises:
        ValueError: if the tensor doesn't have two dimensions.
    """
    if tensor._array.ndim != 2:
        raise ValueError(errors.INIT_MATRIX)
    return _write(tensor, np.eye(*tensor._array.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the kernels of a convolution so that the convolution returns its input channels unchanged.

    Output channel i of the convolution is then input channel i. If there are more output channels than input channels,
    the rest is zero.

    Args:
        tensor: The weight of a convolution over sequences, images or volumes.
        groups: How many groups the convolution has. Each group gets its own identity.
    """
    shape = tensor._array.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    zeros_(tensor)
    each = shape[0] // groups
    with no_grad():
        for group in range(groups):
            for channel in range(min(each, shape[1])):
                tensor[(group * each + channel, channel, *[n // 2 for n in shape[2:]])] = 1
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Random = None) -> Tensor:
    """Fill the tensor with uniform random numbers that preserve the spread of values and gradients.

    The numbers are between -a and a, where `a = gain * sqrt(6 / (inputs + outputs))`, with the numbers of inputs and
    outputs of the layer. PyTorch: torch.nn.init.xavier_uniform_; see Glorot and Bengio (2010).

    Args:
        tensor: The weight to fill, with at least two dimensions.
        gain: A factor for the activation after the layer, as `calculate_gain` returns it.
        generator: The random number generator. None means the default generator.
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Random = None) -> Tensor:
    """Fill the tensor with normal random numbers that preserve the spread of values and gradients.

    The standard deviation is `gain * sqrt(2 / (inputs + outputs))`, with the numbers of inputs and outputs of the
    layer. PyTorch: torch.nn.init.xavier_normal_; see Glorot and Bengio (2010).

    Args:
        tensor: The weight to fill, with at least two dimensions.
        gain: A factor for the activation after the layer, as `calculate_gain` returns it.
        generator: The random number generator. None means the default generator.
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """Return the standard deviation that preserves the spread through rectifiers; None for an empty tensor."""
    if 0 in tensor._array.shape:
        warn(errors.EMPTY_INIT)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Random = None
) -> Tensor:
    """Fill the tensor with uniform random numbers that preserve the spread of values or gradients.

    The numbers are between -b and b, where `b = gain * sqrt(3 / fan)`, and `fan` is a number that `mode` chooses. See
    He et al. (2015).

    Args:
        tensor: The weight to fill, with at least two dimensions.
        a: The negative slope of the LeakyReLU after the layer. It matters only for "leaky_relu".
        mode: With "fan_in", `fan` is the number of inputs of each output, which preserves the spread of values. With
            "fan_out", it is the number of outputs, which preserves the spread of gradients.
        nonlinearity: The name of the activation after the layer, as for `calculate_gain`.
        generator: The random number generator. None means the default generator.
    """
    std = _kaiming(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Random = None
) -> Tensor:
    """Fill the tensor with normal random numbers that preserve the spread of values or gradients.

    The standard deviation is `gain / sqrt(fan)`, where `fan` is a number that `mode` chooses. See He et al. (2015).

    Args:
        tensor: The weight to fill, with at least two dimensions.
        a: The negative slope of the LeakyReLU after the layer. It matters only for "leaky_relu".
        mode: With "fan_in", `fan` is the number of inputs of each output, which preserves the spread of values. With
            "fan_out", it is the number of outputs, which preserves the spread of gradients.
        nonlinearity: The name of the activation after the layer, as for `calculate_gain`.
        generator: The random number generator. None means the default generator.
    """
    std = _kaiming(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Random = None) -> Tensor:
    """Fill a matrix with orthogonal rows (or columns, if there are fewer) of length `gain` (Saxe et al., 2013).

    Args:
        tensor: The weight to fill, with at least two dimensions. All dimensions after the first count as one.
        gain: The length of the rows or columns.
        generator: The random number generator. None means the default generator.
    """
    if tensor._array.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor._array.size:
        return tensor
    rows = tensor._array.shape[0]
    drawn = (generator or default_generator()).standard_normal((rows, tensor._array.size // rows))
    q, r = np.linalg.qr(drawn.T if rows < drawn.shape[1] else drawn)
    q = q * np.sign(np.diagonal(r))  # so that all such matrices are equally likely
    return _write(tensor, gain * (q.T if rows < drawn.shape[1] else q).reshape(tensor._array.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Random = None) -> Tensor:
    """Fill a matrix with normal random numbers, and set the share `sparsity` of each column to zero.

    Args:
        tensor: The matrix to fill.
        sparsity: The share of zeros, from 0 to 1.
        std: The standard deviation of the other numbers. Their mean is 0.
        generator: The random number generator. None means the default generator.
    """
    if tensor._array.ndim != 2:
        raise ValueError(errors.INIT_MATRIX)
    random, (rows, columns) = generator or default_generator(), tensor._array.shape
    values = random.normal(0, std, (rows, columns))
    for column in range(columns):
        values[random.permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    return _write(tensor, values)


def _write(tensor: Tensor, values: np.ndarray) -> Tensor:
    with no_grad():
        return tensor.copy_(tensor_of(values.astype(tensor._array.dtype)))


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return how many numbers flow into each output of a layer, and out of each input."""
    if tensor._array.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *field = tensor._array.shape
    return inputs * math.prod(field), outputs * math.prod(field)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function under its old name, which warns."""
    old = function.__name__.removesuffix("_")

    def deprecated_init(*args: Any, **options: Any) -> Tensor:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{function.__name__}`.", FutureWarning)
        return function(*args, **options)

    deprecated_init.__wrapped__ = function  # pyright: ignore[reportFunctionMemberAccess]  `help` shows its arguments
    deprecated_init.__name__ = old
    deprecated_init.__doc__ = (
        f"{cleandoc(function.__doc__ or '')}\n\nThis name is old, and warns: use `{function.__name__}`."
    )
    return deprecated_init


uniform, normal, constant = _deprecated(uniform_), _deprecated(normal_), _deprecated(constant_)
eye, dirac, orthogonal, sparse = (_deprecated(f) for f in (eye_, dirac_, orthogonal_, sparse_))
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
