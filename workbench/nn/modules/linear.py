"""Linear layers (torch.nn.modules.linear)."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Parameter, Tensor
from ...errors import warn
from ...ops.creation import empty
from ...ops.random import rand
from .. import functional as F
from .. import messages
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
            warn(messages.EMPTY_INIT)
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    parameter.copy_((rand(parameter.shape, dtype=parameter.dtype) * 2 - 1) * bound)

    def forward(self, input: Tensor) -> Tensor:
        """input @ weight.T + bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The two sizes, and whether there is a bias."""
        has_bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={has_bias}"
