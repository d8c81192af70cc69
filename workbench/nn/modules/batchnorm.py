"""Mean 0 and variance 1 for each channel over a batch (torch.nn.modules.batchnorm)."""

from __future__ import annotations

from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Tensor
from ...ops.creation import ones, tensor, zeros
from .. import functional as F
from .. import messages
from .normalization import Scaled


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
            raise ValueError(messages.BATCH_NORM_DIMS.format(self._words, input.dim()))
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
