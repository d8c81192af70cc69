"""Layers (linear, convolution, pooling, embedding, normalization, dropout), element-wise functions, and losses."""

from __future__ import annotations

import math
from typing import Any

from ... import errors
from ...autograd.dtypes import dtype as Dtype
from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Parameter, Tensor
from ...errors import DROPOUT_PROBABILITY, PADDING_INDEX, warn
from ...ops.creation import empty, rand
from ...ops.library.losses import _reduction
from .. import functional as F
from .. import init
from .module import Module


class Identity(Module):
    """Return the input; any arguments are accepted and ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class Linear(Module):
    """Compute weighted sums of the input features, with learned weights: `input @ weight.T + bias`.

    The shapes are (…, in_features) for the input, (…, out_features) for the output, and (out_features, in_features) for
    the weight. PyTorch: torch.nn.Linear.

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> layer(torch.ones(5, 3)).shape, layer.weight.shape
        (torch.Size([5, 2]), torch.Size([2, 3]))

    Args:
        in_features: The size of the input's last dimension.
        out_features: The size of the output's last dimension.
        bias: If True, a learned number is added to each output feature.
    """

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
        """Draw weight and bias again, uniformly between -1/√in_features and 1/√in_features."""
        if not self.weight.numel():
            warn(errors.EMPTY_INIT)
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    parameter.copy_((rand(parameter.shape, dtype=parameter.dtype) * 2 - 1) * bound)

    def forward(self, input: Tensor) -> Tensor:
        """Return input @ weight.T + bias."""
        own: Any = self._parameters
        if "weight" in own and "bias" in own:  # nearly always: as attributes they are found in three times the time
            return F.linear(input, own["weight"], own["bias"])
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the two sizes, and whether there is a bias."""
        has_bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={has_bias}"


class Flatten(Module):
    """Merge the dimensions from `start_dim` to `end_dim` into one: by default, (batch, …) becomes (batch, features)."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the same elements in fewer dimensions."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the first and the last of these dimensions."""
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
        """Return the sizes."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Compute the maximum of each window of a sequence, in each channel.

    The input has the shape (batch, channels, length), or is one sequence without the batch. PyTorch:
    torch.nn.MaxPool1d.

    Args:
        kernel_size: The length of a window.
        stride: How many elements the window moves each time. None means `kernel_size`, so that windows don't overlap.
        padding: How many elements to add on both sides, with the value minus infinity.
        dilation: The distance between two neighboring elements of a window: 1 reads all elements, 2 every other one.
        return_indices: If True, the result is a pair: the maxima and their positions in the input.
        ceil_mode: If True, the last window may extend beyond the end of the input. Otherwise, such a window is left
            out.
    """

    def forward(self, input: Tensor) -> Any:
        """Return the maxima, and with `return_indices` their positions in the input."""
        how = self.padding, self.dilation, self.ceil_mode, self.return_indices
        return F.max_pool1d(input, self.kernel_size, self.stride, *how)


class MaxPool2d(_MaxPoolNd):
    """Compute the maximum of each window of an image, in each channel.

    The input has the shape (batch, channels, height, width), or is one image without the batch. Each size below is a
    pair (height, width), or one number for both. PyTorch: torch.nn.MaxPool2d.

    Args:
        kernel_size: The size of a window.
        stride: How many elements the window moves each time. None means `kernel_size`, so that windows don't overlap.
        padding: How many elements to add on both sides of each dimension, with the value minus infinity.
        dilation: The distance between two neighboring elements of a window: 1 reads all elements, 2 every other one.
        return_indices: If True, the result is a pair: the maxima and their positions in the input.
        ceil_mode: If True, the last window may extend beyond the end of the input. Otherwise, such a window is left
            out.
    """

    def forward(self, input: Tensor) -> Any:
        """Return the maxima, and with `return_indices` their positions in each flattened channel."""
        how = self.padding, self.dilation, self.ceil_mode, self.return_indices
        return F.max_pool2d(input, self.kernel_size, self.stride, *how)


class _AvgPoolNd(Module):
    """The common part of average pools of images and of volumes."""

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
        """Return the sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """Compute the mean of each window of an image, in each channel.

    The input has the shape (batch, channels, height, width), or is one image without the batch. Each size below is a
    pair (height, width), or one number for all. PyTorch: torch.nn.AvgPool2d.

    Args:
        kernel_size: The size of a window.
        stride: How many elements the window moves each time. None means `kernel_size`, so that windows don't overlap.
        padding: How many zeros to add on both sides of each dimension.
        ceil_mode: If True, the last window may extend beyond the end of the input. Otherwise, such a window is left
            out.
        count_include_pad: If True, the zeros of the padding count as elements when a mean is computed.
        divisor_override: The number to divide each sum by, instead of the number of elements.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        how = self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        return F.avg_pool2d(input, self.kernel_size, self.stride, *how)


class Embedding(Module):
    """Return a learned vector for each integer, such as the number of a word: row i of the weight for the index i.

    The input is a tensor of integers, of any shape. The output's shape is the input's shape followed by
    `embedding_dim`. PyTorch: torch.nn.Embedding.

    Example:
        >>> words = nn.Embedding(num_embeddings=1000, embedding_dim=8)
        >>> words(torch.tensor([[4, 7, 7], [1, 0, 3]])).shape
        torch.Size([2, 3, 8])

    Args:
        num_embeddings: The number of rows; valid indices are 0 to `num_embeddings - 1`.
        embedding_dim: The length of a row.
        padding_idx: The index of a row that starts as zeros and gets no gradient.
        max_norm: The largest norm of a row. When a row with a larger norm is read, it is scaled down to this norm, in
            place. None means no limit.
        norm_type: The norm that `max_norm` limits: 2 for the square root of the sum of squares, 1 for the sum of
            absolute values.
        scale_grad_by_freq: If True, the gradient of each row is divided by how often the batch reads the row.
        sparse: No effect here. In PyTorch, True makes the gradient a sparse tensor.
    """

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
        """Return an embedding whose weight is given.

        Args:
            embeddings: The weight, of shape (num_embeddings, embedding_dim).
            freeze: If True, the weight isn't trained.
            padding_idx: The index of a row that gets no gradient.
        """
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
        """Return the rows of the weight that the indices select."""
        shortened = self.padding_idx, self.max_norm, self.norm_type
        return F.embedding(input, self.weight, *shortened, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        """Return the number and length of rows, and the options that differ from their defaults."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        text += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        text += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        text += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        return text + (", sparse=True" if self.sparse else "")


class Dropout(Module):
    """In training mode, set each element to zero with probability `p`, and divide the other elements by 1 - p.

    In eval mode, the layer returns the input unchanged. PyTorch: torch.nn.Dropout; see Srivastava et al. (2014).

    Args:
        p: The probability that an element becomes zero.
        inplace: If True, the result overwrites the input.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(DROPOUT_PROBABILITY.format(p))
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; in training mode, with some elements set to zero and the others scaled."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the probability, and whether the module writes into its input."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """In training mode, set channels of sequences to zero with probability `p`; divide the other channels by 1 - p.

    The input has the shape (batch, channels, length), or (channels, length). In eval mode, the layer returns the input
    unchanged.

    Args:
        p: The probability that a channel becomes zero.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; in training mode, with some channels set to zero and the others scaled."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """In training mode, set channels of images to zero with probability `p`; divide the other channels by 1 - p.

    The input has the shape (batch, channels, height, width). In eval mode, the layer returns the input unchanged.

    Args:
        p: The probability that a channel becomes zero.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; in training mode, with some channels set to zero and the others scaled."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(Dropout):
    """In training mode, set channels of volumes to zero with probability `p`; divide the other channels by 1 - p.

    The input has the shape (batch, channels, depth, height, width). In eval mode, the layer returns the input
    unchanged.

    Args:
        p: The probability that a channel becomes zero.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; in training mode, with some channels set to zero and the others scaled."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(Dropout):
    """In training mode, drop elements with probability `p`, preserving mean 0 and variance 1; use it with SELU.

    Dropped elements get SELU's limit for large negative inputs, and the result is scaled and shifted. In eval mode,
    the layer returns the input unchanged. See Klambauer et al. (2017).

    Args:
        p: The probability that an element is dropped.
        inplace: No effect: the result is always a new tensor.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; in training mode, with some elements replaced and all scaled and shifted."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(Dropout):
    """In training mode, drop whole channels with probability `p`, as AlphaDropout drops elements.

    Args:
        p: The probability that a channel is dropped.
        inplace: No effect: the result is always a new tensor.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the input; in training mode, with some channels replaced and all scaled and shifted."""
        return F.feature_alpha_dropout(input, self.p, self.training)


class ReLU(Module):
    """Compute `max(0, x)` for each element x. PyTorch: torch.nn.ReLU.

    Args:
        inplace: If True, the result overwrites the input.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element, or 0 where it is negative."""
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Return "inplace=True" if the module writes into its input."""
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """Return each element x, or `negative_slope * x` where x is negative.

    Args:
        negative_slope: The slope for negative elements.
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element; negative elements are multiplied by `negative_slope`."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the slope below zero, and whether the module writes into its input."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class Tanh(Module):
    """Compute the hyperbolic tangent of each element, a number between -1 and 1."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the hyperbolic tangent of each element."""
        return F.tanh(input)


class Sigmoid(Module):
    """Compute `1 / (1 + exp(-x))` for each element x, a number between 0 and 1."""

    def forward(self, input: Tensor) -> Tensor:
        """Return 1 / (1 + exp(-element))."""
        return F.sigmoid(input)


class LogSigmoid(Module):
    """Compute `log(1 / (1 + exp(-x)))` for each element x, without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the logarithm of the sigmoid."""
        return F.logsigmoid(input)


class SiLU(Module):
    """Compute `x * sigmoid(x)` for each element x; also called swish."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element times its sigmoid."""
        return F.silu(input, self.inplace)

    def extra_repr(self) -> str:
        """Return "inplace=True" if the module writes into its input."""
        return "inplace=True" if self.inplace else ""


class ELU(Module):
    """Return each element x, or `alpha * (exp(x) - 1)` where x is negative (Clevert et al., 2016).

    Args:
        alpha: The result for large negative inputs approaches `-alpha`.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return each element; a negative element x becomes `alpha * (exp(x) - 1)`."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return alpha, and whether the module writes into its input."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """Compute `log(1 + exp(beta * x)) / beta` for each element x, a smooth ReLU.

    Where `beta * x` is above `threshold`, the result is x itself, which avoids an overflow.
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """Return log(1 + exp(beta * element)) / beta."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return beta, and the threshold above which an element is returned as it is."""
        return f"beta={self.beta}, threshold={self.threshold}"


class GELU(Module):
    """Compute a smooth ReLU: x times the probability that a standard normal random number is below x.

    With `approximate="tanh"`, compute `0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))` instead. PyTorch:
    torch.nn.GELU; see Hendrycks and Gimpel (2016).
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Return each element times the probability that a standard normal number is below it."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return how the probability is computed."""
        return f"approximate={self.approximate!r}"


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """Compute `exp(x) / sum(exp(x))` along `dim`: positive numbers that sum to one. PyTorch: torch.nn.Softmax."""

    def forward(self, input: Tensor) -> Tensor:
        """Return positive numbers that sum to one along `dim`."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """Compute `log(softmax(x))` along `dim`, in one stable operation. PyTorch: torch.nn.LogSoftmax."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the logarithm of softmax."""
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
    """Compute the mean squared error: the mean of `(input - target)**2`.

    PyTorch: torch.nn.MSELoss.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean, the sum, or each squared difference, as `reduction` chooses.
        """
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Compute the negative log-probability of the correct class, averaged over the batch, from log-probabilities.

    The input contains log-probabilities, such as those of LogSoftmax, and has the shape (batch, classes) or
    (batch, classes, …). The target contains the index of the correct class (int64) and has the shape (batch,) or
    (batch, …). PyTorch: torch.nn.NLLLoss.

    Args:
        weight: A factor for the loss of each class. With "mean", the mean is weighted by these factors.
        size_average, reduce: Deprecated; use `reduction`.
        ignore_index: Samples with this target are left out of the loss and of the mean.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            sample.
    """

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
        """Compare `input` with `target`.

        Return the mean over the samples, the sum, or each loss, as `reduction` chooses.
        """
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Compute the negative log-probability of the correct class, averaged over the batch, from logits.

    The loss applies `log_softmax` to the input, so the model must not end with a softmax. The input has the shape
    (batch, classes) or (batch, classes, …). The target has the shape (batch,) or (batch, …) and contains the index of
    the correct class (int64). It may instead contain a probability for each class, in the input's shape. PyTorch:
    torch.nn.CrossEntropyLoss.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> nn.CrossEntropyLoss(reduction="none")(logits, torch.tensor([0, 2]))
        tensor([0.2395, 1.0986])

    Args:
        weight: A factor for the loss of each class. With "mean", the mean is weighted by these factors.
        size_average, reduce: Deprecated; use `reduction`.
        ignore_index: Samples with this target are left out of the loss and of the mean.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            sample.
        label_smoothing: The share of the target probability, from 0 to 1, that is spread evenly over all classes.
    """

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
        """Compare `input` with `target`.

        Return the mean over the samples, the sum, or each loss, as `reduction` chooses.
        """
        how = None, self.ignore_index, None, self.reduction, self.label_smoothing
        return F.cross_entropy(input, target, self.weight, *how)


class L1Loss(_Loss):
    """Compute the mean absolute error: the mean of `abs(input - target)`.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`; return the mean, the sum, or each loss, as `reduction` chooses."""
        return F.l1_loss(input, target, reduction=self.reduction)


class KLDivLoss(_Loss):
    """Measure how far the distribution `input` is from the distribution `target` (the Kullback-Leibler divergence).

    The input contains log-probabilities. The target contains probabilities and has the same shape. The loss of each
    element is `target * (log(target) - input)`. PyTorch: torch.nn.KLDivLoss.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "batchmean" divides the sum of the losses by the batch size, which is the mathematical definition.
            "mean" divides it by the number of elements. "sum" returns the sum, and "none" returns one loss per element.
        log_target: Set this if the target contains log-probabilities, too. The loss is then
            `exp(target) * (target - input)`.
    """

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
        """Return the divergence of `input`, which holds logarithms, from `target`, as `reduction` chooses."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class SmoothL1Loss(_Loss):
    """Compute the squared error of small differences and the absolute error of differences of at least `beta`.

    With `d = abs(input - target)`, the loss is `d**2 / (2 * beta)` where `d < beta`, otherwise `d - beta / 2`. It
    equals HuberLoss divided by `beta`. PyTorch: torch.nn.SmoothL1Loss.

    Args:
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
        beta: The difference at which the loss becomes linear. With 0, the loss is L1Loss.
    """

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
        """Compare `input` with `target`; return the mean, the sum, or each loss, as `reduction` chooses."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Compute the squared error of differences below `delta`, and an error that grows linearly for larger ones.

    With `d = abs(input - target)`, the loss is `d**2 / 2` where `d < delta`, otherwise `delta * (d - delta / 2)`; the
    slope has no jump at `delta`. PyTorch: torch.nn.HuberLoss.

    Args:
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
        delta: The difference at which the loss becomes linear.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`; return the mean, the sum, or each loss, as `reduction` chooses."""
        return F.huber_loss(input, target, self.reduction, self.delta)


class BCELoss(_WeightedLoss):
    """Compute the negative log-probability of targets that are 0 or 1, from probabilities of a 1.

    The loss, the binary cross-entropy, is `-(target * log(input) + (1 - target) * log(1 - input))`. A logarithm below
    -100 counts as -100. If your model computes logits, use BCEWithLogitsLoss, which is more stable. PyTorch:
    torch.nn.BCELoss.

    Args:
        weight: A factor for each loss, in a shape that broadcasts to the input's shape.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare `input` with `target`.

        Return the mean over the elements, the sum, or each loss, as `reduction` chooses.
        """
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Compute the negative log-probability of targets that are 0 or 1, from logits.

    The result is that of BCELoss for `sigmoid(input)`, but is computed in one stable operation. The target contains
    numbers from 0 to 1, and has the input's shape. PyTorch: torch.nn.BCEWithLogitsLoss.

    Args:
        weight: A factor for each loss, in a shape that broadcasts to the input's shape.
        size_average, reduce: Deprecated; use `reduction`.
        reduction: "mean" returns the mean of all losses, "sum" returns their sum, and "none" returns one loss per
            element.
        pos_weight: A factor for the loss of targets that are 1. Use 3, for example, if ones are three times as rare as
            zeros.
    """

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
        """Compare `input` with `target`.

        Return the mean over the elements, the sum, or each loss, as `reduction` chooses.
        """
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )
