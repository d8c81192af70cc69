"""Similarity and distance of vectors, and rearranged channels, as modules."""

from __future__ import annotations

from ...autograd.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle", "CosineSimilarity", "PairwiseDistance", "PixelShuffle", "PixelUnshuffle"]


class CosineSimilarity(Module):
    """Compute the cosine of the angle between vectors along `dim`: their dot product, divided by both norms.

    PyTorch: torch.nn.CosineSimilarity.

    Args:
        dim: The dimension of the vectors, which is removed from the result.
        eps: The smallest norm to divide by. A smaller norm counts as `eps`.
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the cosines of the angles between `x1` and `x2`, without the dimension `dim`."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """Compute the distance between vectors: the p-norm of `x1 - x2 + eps` along the last dimension.

    Args:
        p: Which p-norm to use: 2 is the Euclidean distance, 1 the Manhattan distance.
        eps: A small number added to each difference, so that the derivative at equal vectors is finite.
        keepdim: If True, the last dimension stays, with the size 1.
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Return the distances between `x1` and `x2`. The last dimension is removed, unless `keepdim` is True."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class PixelShuffle(Module):
    """Move channels into height and width: (…, C * r * r, H, W) becomes (…, C, H * r, W * r) (Shi et al., 2016).

    Args:
        upscale_factor: The factor r by which height and width grow.
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return the larger images."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Return the upscale factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Move pixels into channels, the reverse of PixelShuffle: (…, C, H * r, W * r) becomes (…, C * r * r, H, W).

    Args:
        downscale_factor: The factor r by which height and width shrink.
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return the smaller images."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Return the downscale factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Reorder the channels: the first of each of the `groups`, then the second of each (Zhang et al., 2018)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with its channels in that order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the number of groups."""
        return f"groups={self.groups}"
