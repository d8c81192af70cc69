"""Layers (linear, convolution, pooling, embedding, normalization, dropout), functions of each element, and losses."""

from __future__ import annotations

import math
from typing import Any

from ... import errors
from ...autograd.dtypes import dtype as Dtype
from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Parameter, Tensor
from ...errors import DROPOUT_PROBABILITY, PADDING_INDEX, warn
from ...ops.creation import empty, rand
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


class _MaxPoolNd(Module):
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

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of sequences."""

    def forward(self, input: Tensor) -> Any:
        """The largest elements, with `return_indices` also where they are."""
        how = self.padding, self.dilation, self.ceil_mode, self.return_indices
        return F.max_pool1d(input, self.kernel_size, self.stride, *how)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of images."""

    def forward(self, input: Tensor) -> Any:
        """The largest elements, with `return_indices` also where they are."""
        how = self.padding, self.dilation, self.ceil_mode, self.return_indices
        return F.max_pool2d(input, self.kernel_size, self.stride, *how)


class _AvgPoolNd(Module):
    """What mean pools of images and of volumes share."""

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

    def extra_repr(self) -> str:
        """The sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """The mean of each window."""

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        how = self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        return F.avg_pool2d(input, self.kernel_size, self.stride, *how)


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


class Dropout1d(Dropout):
    """In training, zeros in place of each channel of sequences with probability `p`; the others are enlarged."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, in training without some of its channels."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """In training, zeros in place of each channel of images with probability `p`; the others are enlarged."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, in training without some of its channels."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(Dropout):
    """In training, zeros in place of each channel of volumes with probability `p`; the others are enlarged."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, in training without some of its channels."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(Dropout):
    """Dropout for layers with SELU: mean 0 and variance 1 stay so."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, in training without some of its elements."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(Dropout):
    """Dropout of whole channels for layers with SELU: mean 0 and variance 1 stay so."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, in training without some of its channels."""
        return F.feature_alpha_dropout(input, self.p, self.training)


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
