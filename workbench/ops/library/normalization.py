"""Normalization to mean 0 and variance 1: over the last dimensions, per channel, or per group of channels.

Layer norm uses the last dimensions, batch norm each channel, instance norm each channel of each sample, and group norm
groups of each sample's channels.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ... import errors
from ...autograd.tensor import Tensor
from ..core.checks import int_of, ints_of, number_of, only_floats, tensors_only
from ..core.op import define
from ..core.registry import TENSORS, abbreviation, explained, in_formulas
from ..core.results import in_rows
from ..reduction import _count_of
from ..sums import adder, per_channel, sums

Ints = tuple[int, ...]


def _standardized(a: np.ndarray, dims: Ints, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the elements with mean 0 and variance 1, what the mean was, and one over the standard deviation."""
    wide = a.astype(np.float32) if a.itemsize < 4 else a
    added, count, slack, once = _how(a.shape, dims, wide.dtype, eps)
    mean = added(wide) / count
    less = wide - mean
    rstd = np.sqrt(count / (added(less * less) + slack))
    less *= rstd
    if not mean.ndim:
        mean, rstd = (np.array(each, ndmin=a.ndim) for each in (mean, rstd))
    if wide is a:
        return less, mean[once].copy(), rstd[once].copy()
    return less.astype(a.dtype), mean[once].astype(a.dtype), rstd[once].astype(a.dtype)


@lru_cache(1000)
def _how(shape: Ints, dims: Ints, dtype: np.dtype, eps: float) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    """Return the function that sums, the number of summands, eps for each of them, and an index of distinct values."""
    once = tuple([slice(1) if d in dims else slice(None) for d in range(len(shape))])
    count = np.array(max(_count_of(shape, dims), 1), dtype)
    return adder(shape, dims, dtype, None), count, np.array(count * eps, dtype), once


# Arrays use the moments from forward; tensors compute them again, because they depend on the input too.
in_formulas("mean_of", lambda x, mean, dims: mean, lambda x, mean, dims: TENSORS["mean_dim"](x, dims, True))
abbreviation("anew(x, dims, eps)", "rsqrt(mean_dim((x - mean_dim(x, dims, True)) ** 2, dims, True) + eps)")
in_formulas("rstd_of", lambda x, rstd, dims, eps: rstd, lambda x, rstd, dims, eps: TENSORS["anew"](x, dims, eps))
abbreviation("standard(x, mean, rstd, dims, eps)", "(x - mean_of(x, mean, dims)) * rstd_of(x, rstd, dims, eps)")
in_formulas(
    explained("means(x, dims)", "mean_dim(x, dims, True)"),
    lambda x, dims: sums(x, dims) / float(_count_of(x.shape, dims) or np.nan),
    lambda x, dims: TENSORS["mean_dim"](x, dims, True),
)
abbreviation("remainder(g, h, dims)", "g - means(g, dims) - h * means(g * h, dims)")
abbreviation(
    "standard_slope(g, x, mean, rstd, dims, eps)",
    "rstd_of(x, rstd, dims, eps) * remainder(g, standard(x, mean, rstd, dims, eps), dims)",
)
in_formulas("last_dims", lambda x, shape: _last_dims(x.ndim, len(shape)))


def _affine(h: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    """Return the elements of `h`, which nothing else refers to, times weight, plus bias."""
    if weight is not None:
        h *= weight
    if bias is not None:
        h += bias
    return h


_affine_in_rows = in_rows(_affine)


def _layer_normalized(
    a: np.ndarray, shape: Ints, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, ...]:
    standard, mean, rstd = _standardized(a, _last_dims(a.ndim, len(shape)), eps)
    return _affine_in_rows(standard, weight, bias), mean, rstd


@lru_cache(100)
def _last_dims(ndim: int, count: int) -> Ints:
    return tuple(range(ndim - count, ndim))


_layer_norm = define(
    "native_layer_norm(Tensor input, normalized_shape, Tensor? weight, Tensor? bias, eps)",
    _layer_normalized,
    input="standard_slope(scaled(grad, weight), input, result1, result2, last_dims(input, normalized_shape), eps)",
    weight="sum_to(grad * standard(input, result1, result2, last_dims(input, normalized_shape), eps), "
    "normalized_shape)",
    bias="sum_to(grad, normalized_shape)",
    tangent="scaled(standard_slope(input_t, input, result1, result2, last_dims(input, normalized_shape), eps), weight) "
    "+ weight_t * standard(input, result1, result2, last_dims(input, normalized_shape), eps) + bias_t",
)


def _refuse_mixed(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> None:
    """Raise RuntimeError if the first of the parameters has another dtype than the input."""
    dtype, given = input.dtype, [t.dtype.word for t in (weight, bias) if t is not None]
    if given and given[0] != dtype.word:
        raise RuntimeError(
            "mixed dtype (CPU): all inputs must share same datatype."
            if set(given) == {"Float"}
            else "mixed dtype (CPU): expect parameter to have scalar type of Float"
        )


def _refuse_to_normalize(input: Tensor, shape: Ints, weight: Tensor | None, bias: Tensor | None) -> None:
    """Raise RuntimeError or NotImplementedError for the argument that doesn't fit."""
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
            "one element, but got normalized_shape = []"
        )
    _refuse_mixed(input, weight, bias)
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._array.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(t.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    size = input._array.shape
    if size[-len(shape) :] != shape:
        raise RuntimeError(
            ("Given normalized_shape={}, expected input with shape [*, {}], but got input of size{}").format(
                list(shape), ", ".join(map(str, shape)), list(size)
            )
        )
    only_floats("LayerNormKernelImpl")((input,))
    raise RuntimeError(errors.SCALAR_TYPE.format(input.dtype.word, (input if bias is None else bias).dtype.word))


@tensors_only()
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize each sample, over its last dimensions, to mean 0 and variance 1.

    The result is then multiplied by `weight`, and `bias` is added.

    Args:
        normalized_shape: The sizes of the last dimensions, over which mean and variance are
            computed.
        weight, bias: The scale and the offset of each element, in the shape `normalized_shape`, or
            None.
        eps: A small number, added to the variance so that it never divides by zero.
    """
    if isinstance(normalized_shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    a, shape = input._array, tuple(normalized_shape)
    for n in shape:
        if type(n) is not int:
            shape = ints_of("layer_norm", "normalized_shape", (shape,))
            break
    fits = shape and a.shape[-len(shape) :] == shape and a.dtype.kind == "f"
    for t in (weight, bias):
        if t is not None and (t._array.shape != shape or t._array.dtype is not a.dtype):
            fits = False
    if not fits:
        _refuse_to_normalize(input, shape, weight, bias)
    if type(eps) is not float:
        eps = number_of("layer_norm", "eps", 4, eps, "float")
    return _layer_norm(input, shape, weight, bias, eps)


in_formulas("over_channels", lambda x: (0, *range(2, x.ndim)))
abbreviation("running_rstd(x, var, eps)", "channels(rsqrt(var + eps), x)")
abbreviation(
    "batch_standard(x, mean, var, m, r, training, eps)",
    "standard(x, channels(m, x), channels(r, x), over_channels(x), eps) if training "
    "else (x - channels(mean, x)) * running_rstd(x, var, eps)",
)
abbreviation(
    "batch_slope(g, x, mean, var, m, r, training, eps)",
    "standard_slope(g, x, channels(m, x), channels(r, x), over_channels(x), eps) if training "
    "else g * running_rstd(x, var, eps)",
)
_BATCH = "input, running_mean, running_var, result1, result2, training, eps"


def _batch_normalized(
    a: np.ndarray, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> tuple[np.ndarray, ...]:
    if training:
        standard, m, r = _standardized(a, (0, *range(2, a.ndim)), eps)
        m, r = m.reshape(-1), r.reshape(-1)
        if mean is not None:  # the running statistics move on, not counted as a write, nor by PyTorch
            count = a.size // len(m)
            mean += momentum * (m - mean)
            var += momentum * ((np.reciprocal(r * r) - eps) * (count / (count - 1)) - var)
    else:
        standard = (a - per_channel(mean, a)) * per_channel(1 / np.sqrt(var + eps), a)
        m = r = np.zeros(0, a.dtype)
    return _affine_in_rows(standard, per_channel(weight, a), per_channel(bias, a)), m, r


_batch_norm = define(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Kept? running_mean, Kept? running_var, training, "
    "momentum, eps)",
    _batch_normalized,
    input=f"batch_slope(grad if weight is None else grad * channels(weight, input), {_BATCH})",
    weight=f"sum_dim(grad * batch_standard({_BATCH}), over_channels(input), False)",
    bias="sum_dim(grad, over_channels(grad), False)",
    tangent=f"scaled(batch_slope(input_t, {_BATCH}), channels(weight, input)) "
    f"+ channels(weight_t, input) * batch_standard({_BATCH}) + channels(bias_t, input)",
)


def _check_dtypes(input: Tensor, given: list[Tensor]) -> None:
    """Raise RuntimeError if dtypes differ, except float32 parameters with float16."""
    wide = all([t.dtype.word == "Float" for t in given])
    if input.dtype.word == "Half" and wide:
        return
    if given[0].dtype is not input.dtype:
        other = given[0] if wide else next(t for t in given if t.dtype.word != "Float")
        _refuse_to_normalize(input, given[0].shape, given[0], other)
    other = next(t for t in given if t.dtype is not input.dtype)
    raise RuntimeError(errors.SCALAR_TYPE.format(input.dtype.word, other.dtype.word))


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of a batch (n, channels, ...) to mean 0 and variance 1.

    The result is then multiplied by `weight`, and `bias` is added.

    Args:
        running_mean: The mean of each channel. It is used if `training` is False. If `training` is
            True, it is updated in place.
        running_var: The variance of each channel, used and updated like `running_mean`. The update
            uses the unbiased variance.
        weight, bias: The scale and the offset of each channel, or None.
        training: Normalize with the mean and variance of this batch, not with the running ones.
        momentum: How much this batch counts when the running values are updated, from 0 to 1.
        eps: A small number, added to the variance so that it never divides by zero.

    Raises:
        ValueError: if `training` is True and there is only one value per channel.
    """
    a = input._array
    if training and a.shape[0] * math.prod(a.shape[2:]) == 1:
        raise ValueError(errors.ONE_VALUE.format(input.shape))
    channels = a.shape[1] if a.ndim > 1 else 0
    given = ("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)
    mixed = False
    for name, t in given:
        if t is None:
            if not training and name in ("running_mean", "running_var"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif t._array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t._array.size}")
        elif t._array.dtype is not a.dtype:
            mixed = True
    if a.ndim < 2:
        raise IndexError(errors.DIM_RANGE.format(-1, 0, 1))
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if a.dtype.kind != "f":
        only_floats("batch_norm")((input,))
    if mixed:
        _check_dtypes(input, [t for t in (weight, bias, running_mean, running_var) if t is not None])
    if type(eps) is not float or type(momentum) is not float:
        momentum = number_of("batch_norm", "momentum", 6, momentum, "float")
        eps = number_of("batch_norm", "eps", 7, eps, "float")
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@tensors_only()
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each sample (n, channels, ...) to mean 0 and variance 1.

    Args:
        use_input_stats: Normalize with the mean and variance of each sample. If False, use
            `running_mean` and `running_var`, as `batch_norm` does if `training` is False.
        weight, bias, momentum, eps: The same as in `batch_norm`.
    """
    shape = input._array.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    count, channels = input.size(0), input.size(1)
    given = running_mean, running_var, weight, bias
    mean, var, times, plus = (None if t is None else t.repeat(count) for t in given)
    alike = input.contiguous().view(1, count * channels, *shape[2:])
    out = batch_norm(alike, mean, var, times, plus, use_input_stats, momentum, eps)
    for own, all_ in ((running_mean, mean), (running_var, var)):
        if own is not None and all_ is not None:
            own.copy_(all_.view(count, channels).mean(0))
    return out.view(shape)


# Groups of channels as rows: (samples, groups, elements).
in_formulas("in_groups", lambda x, group: _in_groups(x, group))
in_formulas("per_group", lambda m: m[..., None])
abbreviation(
    "group_standard(x, m, r, group, eps)",
    "reshaped(standard(in_groups(x, group), per_group(m), per_group(r), (2,), eps), x)",
)
abbreviation(
    "group_slope(g, x, m, r, group, eps)",
    "reshaped(standard_slope(in_groups(g, group), in_groups(x, group), per_group(m), per_group(r), (2,), eps), x)",
)
in_formulas("reshaped", lambda x, like: x.reshape(like.shape))
_GROUPS = "input, result1, result2, group, eps"


def _in_groups(x: Any, group: int) -> Any:
    count, channels, *size = x.shape
    return x.reshape(count, group, channels // group * math.prod(size))


def _group_normalized(a: np.ndarray, weight: Any, bias: Any, group: int, eps: float) -> tuple[np.ndarray, ...]:
    if not a.size:
        return a.copy(), np.zeros((len(a), group), a.dtype), np.zeros((len(a), group), a.dtype)
    standard, mean, rstd = _standardized(_in_groups(a, group), (2,), eps)
    out = _affine_in_rows(standard.reshape(a.shape), per_channel(weight, a), per_channel(bias, a))
    return out, mean.reshape(mean.shape[:2]), rstd.reshape(mean.shape[:2])


_group_norm = define(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, group, eps)",
    _group_normalized,
    input=f"group_slope(grad if weight is None else grad * channels(weight, input), {_GROUPS})",
    weight=f"sum_dim(grad * group_standard({_GROUPS}), over_channels(input), False)",
    bias="sum_dim(grad, over_channels(grad), False)",
    tangent=f"scaled(group_slope(input_t, {_GROUPS}), channels(weight, input)) "
    f"+ channels(weight_t, input) * group_standard({_GROUPS}) + channels(bias_t, input)",
)


@tensors_only()
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize groups of channels of each sample (n, channels, ...) to mean 0 and variance 1.

    The result is then multiplied by `weight`, and `bias` is added.

    Args:
        num_groups: The number of groups. It must divide the number of channels.
        weight, bias: The scale and the offset of each channel, or None.
        eps: A small number, added to the variance so that it never divides by zero.
    """
    a = input._array
    if a.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {a.ndim}")
    count, channels, *rest = a.shape
    if type(num_groups) is not int:
        num_groups = int_of("group_norm", "num_groups", 1, num_groups)
    if count * channels // num_groups * math.prod(rest) == 1:
        size = [count * channels // num_groups, num_groups, *rest]
        raise ValueError(errors.ONE_VALUE.format(size))
    if num_groups < 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(a.shape)} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._array.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list((t if weight is None else weight).shape)} and input of shape {list(a.shape)}"
            )
    if a.dtype.kind != "f" or any([t is not None and t._array.dtype is not a.dtype for t in (weight, bias)]):
        _refuse_mixed(input, weight, bias)
        only_floats("GroupNormKernelImpl")((input,))
        raise RuntimeError(errors.SCALAR_TYPE.format(input.dtype.word, (input if bias is None else bias).dtype.word))
    if type(eps) is not float:
        eps = number_of("group_norm", "eps", 4, eps, "float")
    return _group_norm(input, weight, bias, num_groups, eps)
