"""Mean 0 and variance 1 over the last dimensions (torch.nn.modules.normalization)."""

from __future__ import annotations

from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Parameter, Tensor
from ...ops.creation import empty
from .. import functional as F
from .. import init
from .module import Module


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
