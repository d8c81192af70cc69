"""Normalization to mean 0 and variance 1 per sample, channel or group; then weight and bias."""

from __future__ import annotations

from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Parameter, Tensor
from ...errors import warn
from ...ops.creation import empty, ones, tensor, zeros
from .. import functional as F
from .. import init
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "SyncBatchNorm",
]


class Scaled(Module):
    """A module whose last step is `* weight + bias`, if it has these; they start as ones and zeros."""

    def _add_affine(self, size: Any, weight: bool, bias: bool, **kind: Any) -> None:
        self.register_parameter("weight", Parameter(empty(size, **kind)) if weight else None)
        self.register_parameter("bias", Parameter(empty(size, **kind)) if weight and bias else None)

    def reset_parameters(self) -> None:
        """Set weight to ones and bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(Scaled):
    """Shift and scale each sample to mean 0 and variance 1 over its last dimensions, then apply weight and bias.

    The result is `(x - mean) / sqrt(var + eps) * weight + bias`, in the input's shape. The layer works the same in
    training mode and eval mode. PyTorch: torch.nn.LayerNorm; see Ba et al. (2016).

    Args:
        normalized_shape: The sizes of the last dimensions, over which the mean and variance are computed; or one
            number, for the last dimension only.
        eps: A small number added to the variance, so that the layer never divides by zero.
        elementwise_affine: If True, the layer learns a weight for each element of `normalized_shape`.
        bias: If True and there is a weight, the layer also learns a bias for each element.
    """

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
        """Return the normalized input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the shape, eps, and which parameters exist."""
        which = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {which}"


class _NormBase(Scaled):
    """Normalize by the input's own moments in training, and by running statistics in evaluation."""

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
        """Set the running mean to zeros, the running variance to ones, and the number of batches to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weight to ones and bias to zeros, and reset the running statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check(self, input: Tensor) -> None:
        if input.dim() not in self._dims:
            raise ValueError(f"expected {self._words} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        """Return the channels, eps, and which parameters and statistics exist."""
        which = f"affine={self.affine}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {which}"

    def _load(self, given: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Load a state; an old one may lack the number of batches."""
        if self.num_batches_tracked is not None:
            given.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)
        super()._load(given, prefix, *rest)


class _BatchNorm(_NormBase):
    """Normalize by the batch's own moments in training, and by running statistics in evaluation."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input; in training, update the running statistics."""
        self._check(input)
        mean, var, momentum = self.running_mean, self.running_var, self.momentum or 0.0
        if self.training and not self.track_running_stats:
            mean = var = None
        elif self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # all batches count alike
                momentum = 1.0 / self.num_batches_tracked.item()
        by_batch = self.training or mean is var is None
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Shift and scale each channel to mean 0 and variance 1 over the batch, then apply a weight and a bias.

    The result is `(x - mean) / sqrt(var + eps) * weight + bias`. The input has the shape (batch, channels) or
    (batch, channels, length). In training mode, the layer uses the mean and the variance of the batch, and updates its
    running statistics with them. In eval mode, it uses the running statistics. PyTorch: torch.nn.BatchNorm1d; see Ioffe
    and Szegedy (2015).

    Args:
        num_features: The number of channels.
        eps: A small number added to the variance, so that the layer never divides by zero.
        momentum: How much the newest batch counts in the running statistics:
            `running = (1 - momentum) * running + momentum * batch`. With None, they are the plain average over all
            batches.
        affine: If True, the layer learns a weight and a bias per channel.
        track_running_stats: If True, the layer keeps running statistics for eval mode. Otherwise, eval mode uses the
            statistics of the batch, too.
        bias: If False, the layer has no bias, even if `affine` is True.
    """

    _dims, _words = (2, 3), "2D or 3D"


class BatchNorm2d(_BatchNorm):
    """Shift and scale each channel of a batch of images to mean 0 and variance 1, then apply a weight and a bias.

    The result is `(x - mean) / sqrt(var + eps) * weight + bias`. Training mode uses the mean and variance of the batch
    and updates the running statistics; eval mode uses the running statistics. PyTorch: torch.nn.BatchNorm2d.

    Args:
        num_features: The number of channels.
        eps: A small number added to the variance, so that the layer never divides by zero.
        momentum: How much the newest batch counts in the running statistics. With None, they are the plain average over
            all batches.
        affine: If True, the layer learns a weight and a bias per channel.
        track_running_stats: If True, the layer keeps running statistics for eval mode. Otherwise, eval mode uses the
            statistics of the batch, too.
        bias: If False, the layer has no bias, even if `affine` is True.
    """

    _dims, _words = (4,), "4D"


class BatchNorm3d(_BatchNorm):
    """Shift and scale each channel of a batch of volumes to mean 0 and variance 1, then apply a weight and a bias.

    The result is `(x - mean) / sqrt(var + eps) * weight + bias`. Training mode uses the mean and variance of the batch
    and updates the running statistics; eval mode uses the running statistics. PyTorch: torch.nn.BatchNorm3d.

    Args:
        num_features: The number of channels.
        eps: A small number added to the variance, so that the layer never divides by zero.
        momentum: How much the newest batch counts in the running statistics. With None, they are the plain average over
            all batches.
        affine: If True, the layer learns a weight and a bias per channel.
        track_running_stats: If True, the layer keeps running statistics for eval mode. Otherwise, eval mode uses the
            statistics of the batch, too.
        bias: If False, the layer has no bias, even if `affine` is True.
    """

    _dims, _words = (5,), "5D"


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes; here, with a single process, the same as BatchNorm.

    Args:
        num_features: The number of channels, in dimension 1 of the input.
        eps: A small number added to the variance, so that it never divides by zero.
        momentum: How much the newest batch counts in the running statistics. With None, they are the plain average over
            all batches.
        affine: If True, a learned weight and bias scale and shift each channel.
        track_running_stats: If True, the layer collects running statistics, and uses them in eval mode.
        process_group: No effect here. In PyTorch, the processes whose batches are combined.
        bias: If False, the layer has no bias, even if `affine` is True.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return `module` with each BatchNorm replaced by a SyncBatchNorm of the same parameters and statistics.

        `process_group` has no effect here.
        """
        made = module
        if isinstance(module, _BatchNorm):
            how = module.eps, module.momentum, module.affine, module.track_running_stats, process_group
            made = cls(module.num_features, *how)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(made, name, getattr(module, name))
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    """Normalize by each sample's own moments; with running statistics, evaluation uses these."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input; in training, update the running statistics if there are any."""
        self._check(input)
        dim = input.dim() - self._dims[0]
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.size(dim)}."
                )
            warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False"
            )
        by_own = self.training or not self.track_running_stats
        how = self.running_mean, self.running_var, self.weight, self.bias, by_own, self.momentum or 0.0, self.eps
        return F.instance_norm(input, *how) if dim else F.instance_norm(input.unsqueeze(0), *how).squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each sample by its own mean and variance.

    Eval mode does the same, unless `track_running_stats` is True.

    The input has the shape (batch, channels, length), or is one sample without the batch. PyTorch:
    torch.nn.InstanceNorm1d.

    Args:
        num_features: The number of channels.
        eps: A small number added to the variance, so that the layer never divides by zero.
        momentum: How much the newest batch counts in the running statistics. With None, they are the plain average over
            all batches.
        affine: If True, the layer learns a weight and a bias per channel. Off by default.
        track_running_stats: If True, the layer keeps running statistics and uses them in eval mode. Off by default.
        bias: If False, the layer has no bias, even if `affine` is True.
    """

    _dims, _words = (2, 3), "2D or 3D"


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each sample by its own mean and variance.

    Eval mode does the same, unless `track_running_stats` is True.

    The input has the shape (batch, channels, height, width), or is one sample without the batch. PyTorch:
    torch.nn.InstanceNorm2d.

    Args:
        num_features: The number of channels.
        eps: A small number added to the variance, so that the layer never divides by zero.
        momentum: How much the newest batch counts in the running statistics. With None, they are the plain average over
            all batches.
        affine: If True, the layer learns a weight and a bias per channel. Off by default.
        track_running_stats: If True, the layer keeps running statistics and uses them in eval mode. Off by default.
        bias: If False, the layer has no bias, even if `affine` is True.
    """

    _dims, _words = (3, 4), "3D or 4D"


class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of each sample by its own mean and variance.

    Eval mode does the same, unless `track_running_stats` is True.

    The input has the shape (batch, channels, depth, height, width), or is one sample without the batch. PyTorch:
    torch.nn.InstanceNorm3d.

    Args:
        num_features: The number of channels.
        eps: A small number added to the variance, so that the layer never divides by zero.
        momentum: How much the newest batch counts in the running statistics. With None, they are the plain average over
            all batches.
        affine: If True, the layer learns a weight and a bias per channel. Off by default.
        track_running_stats: If True, the layer keeps running statistics and uses them in eval mode. Off by default.
        bias: If False, the layer has no bias, even if `affine` is True.
    """

    _dims, _words = (4, 5), "4D or 5D"


class GroupNorm(Scaled):
    """Shift and scale groups of channels to mean 0 and variance 1 in each sample, then apply weight and bias.

    The input has the shape (batch, channels, …). The layer works the same in training mode and eval mode. PyTorch:
    torch.nn.GroupNorm; see Wu and He (2018).

    Args:
        num_groups: The number of groups. `num_channels` must be divisible by it.
        num_channels: The number of channels.
        eps: A small number added to the variance, so that the layer never divides by zero.
        affine: If True, the layer learns a weight and a bias per channel.
        bias: If True and there is a weight, the layer also learns a bias for each channel.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._add_affine(num_channels, affine, bias, device=device, dtype=dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalized input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the groups and channels, eps, and which parameters exist."""
        which = f"affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, {which}"
