"""Layers (linear, convolution, pooling, embedding, normalization, dropout), functions of each element, and losses."""

from __future__ import annotations

import math
from typing import Any

from ... import errors
from ...autograd.dtypes import dtype as Dtype
from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Parameter, Tensor
from ...errors import DROPOUT_PROBABILITY, PADDING_INDEX, PADDING_SAME_STRIDE, warn
from ...ops.creation import empty, ones, rand, tensor, zeros
from ...ops.losses import _reduction
from .. import functional as F
from .. import init
from .module import Module


class Identity(Module):
    """What it is given, whatever it was made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Linear(Module):
    """input @ weight.T + bias, with a weight of (out_features, in_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias again, evenly from ±1/√in_features."""
        if not self.weight.numel():
            warn(errors.EMPTY_INIT)
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    parameter.copy_((rand(parameter.shape, dtype=parameter.dtype) * 2 - 1) * bound)

    def forward(self, input: Tensor) -> Tensor:
        """input @ weight.T + bias."""
        own: Any = self._parameters
        if "weight" in own and "bias" in own:  # nearly always: as attributes they are found in three times the time
            return F.linear(input, own["weight"], own["bias"])
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The two sizes, and whether there is a bias."""
        has_bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={has_bias}"


class Flatten(Module):
    """The input with the dimensions from `start_dim` to `end_dim` as one: all but the batch, unless told otherwise."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The same elements in fewer dimensions."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The first and the last of these dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


def pair(size: Any) -> tuple[Any, ...]:
    """One number for both dimensions, or one for each."""
    return tuple(size) if isinstance(size, (tuple, list)) else (size, size)


class Conv2d(Module):
    """Kernels of weights moved over images, one output channel each, plus bias.

    The weight is (out_channels, in_channels / groups, height, width). Images are padded with zeros.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if padding_mode != "zeros":
            raise ValueError(
                f"the workbench pads convolutions with zeros; padding_mode must be 'zeros', but got '{padding_mode}'"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = pair(kernel_size), pair(stride), pair(dilation)
        self.padding, self.padding_mode = padding if isinstance(padding, str) else pair(padding), padding_mode
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError("Invalid padding string {!r}, should be one of {}".format(padding, {"same", "valid"}))
        if padding == "same" and self.stride != (1, 1):
            raise ValueError(PADDING_SAME_STRIDE)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias again, evenly from ±1/√(numbers that flow into an output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of (images, channels, height, width), or of one image."""
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """The channels and sizes, and what is not as usual."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != (0, 0) else ""
        text += f", dilation={self.dilation}" if self.dilation != (1, 1) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False" if self.bias is None else "")


class MaxPool2d(Module):
    """The largest element of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The largest elements, with `return_indices` also where they are."""
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """The mean of each window."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        how = self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        return F.avg_pool2d(input, self.kernel_size, self.stride, *how)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class Embedding(Module):
    """A row of the weight for each index; the row `padding_idx` begins as zeros and gets no gradient."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(PADDING_INDEX)
            padding_idx %= num_embeddings
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        size = (num_embeddings, embedding_dim)
        if _weight is not None and tuple(_weight.shape) != size:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        weight = empty(size, device=device, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(weight, requires_grad=not _freeze)
        if _weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """An embedding with a given weight, which does not learn unless `freeze` is False."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, _weight=embeddings, _freeze=freeze)

    def reset_parameters(self) -> None:
        """Draw the weight again from the standard normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        """The rows of the weight that the indices name."""
        shortened = self.padding_idx, self.max_norm, self.norm_type
        return F.embedding(input, self.weight, *shortened, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        """How many rows of which length, and what is not as usual."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        text += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        text += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        text += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        return text + (", sparse=True" if self.sparse else "")


class Scaled(Module):
    """A module whose last step is `* weight + bias`, if it has these; they begin as ones and zeros."""

    def _add_affine(self, size: Any, weight: bool, bias: bool, **kind: Any) -> None:
        self.register_parameter("weight", Parameter(empty(size, **kind)) if weight else None)
        self.register_parameter("bias", Parameter(empty(size, **kind)) if weight and bias else None)

    def reset_parameters(self) -> None:
        """Ones as weight, zeros as bias."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(Scaled):
    """Each sample to mean 0 and variance 1 over its last dimensions, then times weight, plus bias."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._add_affine(self.normalized_shape, elementwise_affine, bias, device=device, dtype=dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The shape, the number added to the variance, and which parameters there are."""
        which = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {which}"


class _BatchNorm(Scaled):
    """In training by the batch's own moments, which running statistics follow; in evaluation by these."""

    _version = 2
    _dims: tuple[int, ...] = ()
    _words = ""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        kind = {"device": device, "dtype": dtype}
        self._add_affine(num_features, affine, bias, **kind)
        tracks = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **kind) if tracks else None)
        self.register_buffer("running_var", ones(num_features, **kind) if tracks else None)
        self.register_buffer("num_batches_tracked", tensor(0) if tracks else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Zeros as running mean, ones as running variance, and no batch seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weight to ones and bias to zeros, and reset the running statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input; in training the running statistics move on."""
        if input.dim() not in self._dims:
            raise ValueError(f"expected {self._words} input (got {input.dim()}D input)")
        mean, var, momentum = self.running_mean, self.running_var, self.momentum or 0.0
        if self.training and not self.track_running_stats:
            mean = var = None
        elif self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # all batches count alike
                momentum = 1.0 / self.num_batches_tracked.item()
        by_batch = self.training or mean is var is None
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps)

    def extra_repr(self) -> str:
        """The channels, the number added to the variance, and what there is."""
        which = f"affine={self.affine}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {which}"

    def _load(self, given: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Load a state; one that was saved before batches were counted has no count."""
        if self.num_batches_tracked is not None:
            given.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)
        super()._load(given, prefix, *rest)


class BatchNorm1d(_BatchNorm):
    """Each channel of (batch, channels) or (batch, channels, length) to mean 0 and variance 1."""

    _dims, _words = (2, 3), "2D or 3D"


class BatchNorm2d(_BatchNorm):
    """Each channel of (batch, channels, height, width) to mean 0 and variance 1."""

    _dims, _words = (4,), "4D"


class Dropout(Module):
    """In training, zeros in place of each element with probability `p`, and the others enlarged to make up for it."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(DROPOUT_PROBABILITY.format(p))
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, in training without some of its elements."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability, and whether it writes into its input."""
        return f"p={self.p}, inplace={self.inplace}"


class ReLU(Module):
    """The element, or 0 where it is negative."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or 0 where it is negative."""
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Whether it writes into its input."""
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """The element, or a small part of it where it is negative."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or a small part of it where it is negative."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """The slope below zero, and whether it writes into its input."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """The hyperbolic tangent."""
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-element))."""

    def forward(self, input: Tensor) -> Tensor:
        """1 / (1 + exp(-element))."""
        return F.sigmoid(input)


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        """The logarithm of the sigmoid."""
        return F.logsigmoid(input)


class SiLU(Module):
    """The element times its sigmoid."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element times its sigmoid."""
        return F.silu(input, self.inplace)

    def extra_repr(self) -> str:
        """Whether it writes into its input."""
        return "inplace=True" if self.inplace else ""


class ELU(Module):
    """The element, or alpha * (exp(element) - 1) where it is negative."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The element, or alpha * (exp(element) - 1) where it is negative."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """What the elements approach below zero, and whether it writes into its input."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """log(1 + exp(beta * element)) / beta: ReLU with its corner rounded."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """log(1 + exp(beta * element)) / beta."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """How sharp the corner is, and from where on the element itself is given."""
        return f"beta={self.beta}, threshold={self.threshold}"


class GELU(Module):
    """The element times the chance that a normally distributed number is below it."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The element times the chance that a normally distributed number is below it."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """How that chance is computed."""
        return f"approximate={self.approximate!r}"


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """Positive numbers that sum to one along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        """Positive numbers that sum to one along `dim`."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of softmax."""

    def forward(self, input: Tensor) -> Tensor:
        """The logarithm of softmax."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class _Loss(Module):
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = ("none", "mean", "sum")[_reduction(size_average, reduce, reduction)] if old else reduction


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.weight: Tensor | None


class MSELoss(_Loss):
    """The mean of the squared differences."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean of the squared differences, or their sum, or each."""
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Minus the logarithm of the probability that was given to the right class; the input are such logarithms."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean over the samples, or their sum, or each."""
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Minus the logarithm of the probability that softmax of the input gives to the right class."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean over the samples, or their sum, or each."""
        how = None, self.ignore_index, None, self.reduction, self.label_smoothing
        return F.cross_entropy(input, target, self.weight, *how)


class L1Loss(_Loss):
    """The mean of the differences without their signs."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean, or the sum, or each."""
        return F.l1_loss(input, target, reduction=self.reduction)


class KLDivLoss(_Loss):
    """F.kl_div."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """How far the target is from what the input holds the logarithms of."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class SmoothL1Loss(_Loss):
    """Squares of small differences, straight lines of large ones."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean, or the sum, or each."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squares of small differences, straight lines of large ones."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean, or the sum, or each."""
        return F.huber_loss(input, target, self.reduction, self.delta)


class BCELoss(_WeightedLoss):
    """Minus the logarithm of the probability that was given to a target of 0 or 1; the input are probabilities."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean over the samples, or their sum, or each."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Minus the logarithm of the probability that sigmoid of the input gives to a target of 0 or 1."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean over the samples, or their sum, or each."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )
