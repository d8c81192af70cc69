"""Linear layers, embeddings, and dropout."""

from __future__ import annotations

import math
import sys
from typing import Any

from ... import errors
from ...autograd.dtypes import dtype as Dtype
from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Parameter, Tensor
from ...errors import DROPOUT_PROBABILITY, PADDING_INDEX, warn
from ...ops.creation import empty, rand
from .. import functional as F
from .. import init
from .module import Module

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "FeatureAlphaDropout",
    "Flatten",
    "Identity",
    "Linear",
]


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


def __getattr__(name: str) -> Any:
    """Return a layer that had its place in this file when a model was pickled."""
    return getattr(sys.modules[str(__package__)], name)
