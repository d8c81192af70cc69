"""Layers of transformers (torch.nn.modules.transformer)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Tensor
from .. import functional as F
from .. import messages
from .activation import MultiheadAttention, both_numbers
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself, then two linear layers, each added to its input and normalised.

    With `norm_first` the input is normalised instead (Xiong et al., 2020).
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **kind)
        self.linear1 = Linear(d_model, dim_feedforward, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **kind)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **kind)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **kind)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            raise RuntimeError(messages.ACTIVATION.format(activation))
        named = isinstance(activation, str)
        self.activation: Callable[[Tensor], Tensor] = getattr(F, activation) if named else activation

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence after attention and linear layers, in its shape."""
        names = "src_key_padding_mask", "src_mask"
        padding, mask = both_numbers(names, src_key_padding_mask, src_mask, src.dtype)
        if self.norm_first:
            src = src + self._attended(self.norm1(src), mask, padding, is_causal)
            return src + self._fed_forward(self.norm2(src))
        src = self.norm1(src + self._attended(src, mask, padding, is_causal))
        return self.norm2(src + self._fed_forward(src))

    def _attended(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool) -> Tensor:
        options = {"key_padding_mask": padding, "attn_mask": mask, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, **options)[0])

    def _fed_forward(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """Copies of a layer one after the other; `enable_nested_tensor` and `mask_check` change nothing."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The sequence after all layers."""
        names = "src_key_padding_mask", "mask"
        padding, mask = both_numbers(names, src_key_padding_mask, mask, src.dtype)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=padding, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)
