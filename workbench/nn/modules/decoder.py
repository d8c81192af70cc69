"""Layers that attend to two sequences, and the whole transformer with encoder and decoder."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Tensor
from ...ops.creation import full
from .. import functional as F
from .. import init
from .module import Module, ModuleList
from .normalization import LayerNorm
from .transformer import AttentionLayer, TransformerEncoder, TransformerEncoderLayer

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer"]

BATCHES = "the batch number of src and tgt must be equal"
FEATURES = "the feature number of src and tgt must be equal to d_model"


class TransformerDecoderLayer(AttentionLayer):
    """Let each element attend to its sequence and to the encoder's output, then apply two linear layers.

    The result of each of the three parts is added to its input, and the sum is normalized: `x = norm(x + part(x))`.
    With `norm_first` it is `x = x + part(norm(x))`. PyTorch: torch.nn.TransformerDecoderLayer; see Vaswani et al.
    (2017).

    Args:
        d_model: The number of features of each sequence element.
        nhead: The number of attention heads. `d_model` must be divisible by it.
        dim_feedforward: The number of features that the first linear layer computes for the second one.
        dropout: The probability with which each feature is set to zero in training mode.
        activation: The function between the linear layers, or its name: "relu" or "gelu".
        layer_norm_eps: A small number added to the variance in the normalizations, so that they never divide by zero.
        batch_first: If True, sequences have the shape (batch, length, d_model), otherwise (length, batch, d_model).
        norm_first: If True, the input of each part is normalized instead of the sum.
        bias: If True, the linear layers and the normalizations have biases.
    """

    attends_to_memory = True

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the sequence after the three parts; its shape stays the same.

        Args:
            tgt: The sequence to decode.
            memory: The encoder's output; it may have another length.
            tgt_mask: A mask of shape (tgt length, tgt length): entry [i, j] is True, or -inf, if element i must not
                attend to element j.
            memory_mask: A mask of shape (tgt length, memory length): entry [i, j] is True, or -inf, if element i of
                `tgt` must not attend to element j of `memory`.
            tgt_key_padding_mask: A mask of shape (batch, tgt length): True for elements of `tgt` that are only padding.
            memory_key_padding_mask: A mask of shape (batch, memory length): True for elements of `memory` that are only
                padding.
            tgt_is_causal: A hint that `tgt_mask` hides all later elements from each element.
            memory_is_causal: A hint that `memory_mask` hides all later elements of `memory` from each element.
        """
        own, other = (tgt_mask, tgt_key_padding_mask, tgt_is_causal), (memory_mask, memory_key_padding_mask)
        if self.norm_first:
            tgt = tgt + self._attended(self.norm1(tgt), *own)
            tgt = tgt + self._informed(self.norm2(tgt), memory, *other, memory_is_causal)
            return tgt + self._fed_forward(self.norm3(tgt), self.dropout3)
        tgt = self.norm1(tgt + self._attended(tgt, *own))
        tgt = self.norm2(tgt + self._informed(tgt, memory, *other, memory_is_causal))
        return self.norm3(tgt + self._fed_forward(tgt, self.dropout3))

    def _informed(self, x: Tensor, memory: Tensor, mask: Any, padding: Any, is_causal: bool) -> Tensor:
        options = {"attn_mask": mask, "key_padding_mask": padding, "is_causal": is_causal}
        return self.dropout2(self.multihead_attn(x, memory, memory, need_weights=False, **options)[0])


class TransformerDecoder(Module):
    """Apply `num_layers` copies of a decoder layer, one after the other, and then the module `norm`, if given.

    PyTorch: torch.nn.TransformerDecoder.

    Args:
        decoder_layer: The layer to copy. The copies have their own parameters, which begin with the same values.
        num_layers: The number of copies.
        norm: A module that is applied to the output of the last copy. None means no such module.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the sequence after all layers; its shape stays the same.

        Args:
            tgt: The sequence to decode.
            memory: The encoder's output; it may have another length.
            tgt_mask: A mask of shape (tgt length, tgt length): entry [i, j] is True, or -inf, if element i must not
                attend to element j.
            memory_mask: A mask of shape (tgt length, memory length): entry [i, j] is True, or -inf, if element i of
                `tgt` must not attend to element j of `memory`.
            tgt_key_padding_mask: A mask of shape (batch, tgt length): True for elements of `tgt` that are only padding.
            memory_key_padding_mask: A mask of shape (batch, memory length): True for elements of `memory` that are only
                padding.
            tgt_is_causal: A hint that `tgt_mask` hides all later elements from each element.
            memory_is_causal: A hint that `memory_mask` hides all later elements of `memory` from each element.
        """
        masks = {
            "tgt_mask": tgt_mask,
            "memory_mask": memory_mask,
            "tgt_key_padding_mask": tgt_key_padding_mask,
            "memory_key_padding_mask": memory_key_padding_mask,
            "tgt_is_causal": bool(tgt_is_causal),
            "memory_is_causal": memory_is_causal,
        }
        for layer in self.layers:
            tgt = layer(tgt, memory, **masks)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encode one sequence, and decode another sequence that attends to the first (Vaswani et al., 2017).

    The model has neither embeddings nor a final linear layer: sequences have the shape (length, batch, d_model).
    PyTorch: torch.nn.Transformer.

    Args:
        d_model: The number of features of each sequence element.
        nhead: The number of attention heads. `d_model` must be divisible by it.
        num_encoder_layers: The number of encoder layers.
        num_decoder_layers: The number of decoder layers.
        dim_feedforward: In each layer, the number of features that the first linear layer computes for the second one.
        dropout: The probability with which each feature is set to zero in training mode.
        activation: The function between these linear layers, or its name: "relu" or "gelu".
        custom_encoder: A module to use instead of a TransformerEncoder.
        custom_decoder: A module to use instead of a TransformerDecoder.
        layer_norm_eps: A small number added to the variance in the normalizations, so that they never divide by zero.
        batch_first: If True, sequences have the shape (batch, length, d_model), otherwise (length, batch, d_model).
        norm_first: If True, each part of a layer normalizes its input instead of its output.
        bias: If True, the linear layers and the normalizations have biases.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        rest = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        if custom_encoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, **kind)
            layer = TransformerEncoderLayer(d_model, nhead, *rest, **kind)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, **kind)
            layer = TransformerDecoderLayer(d_model, nhead, *rest, **kind)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        """Draw all weights again with `xavier_uniform_`."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's output for `tgt`, in its shape, attending to the encoder's output for `src`.

        Args:
            src: The sequence to encode.
            tgt: The sequence to decode; it may have another length.
            src_mask: A mask of shape (src length, src length): entry [i, j] is True, or -inf, if element i must not
                attend to element j.
            tgt_mask: A mask of shape (tgt length, tgt length): entry [i, j] is True, or -inf, if element i must not
                attend to element j.
            memory_mask: A mask of shape (tgt length, src length): entry [i, j] is True, or -inf, if element i of
                `tgt` must not attend to element j of the encoder's output.
            src_key_padding_mask: A mask of shape (batch, src length): True for elements of `src` that are only padding.
            tgt_key_padding_mask: The same for `tgt`, of shape (batch, tgt length).
            memory_key_padding_mask: The same for the encoder's output, of shape (batch, src length).
            src_is_causal: A hint that `src_mask` hides all later elements from each element.
            tgt_is_causal: A hint that `tgt_mask` hides all later elements from each element.
            memory_is_causal: A hint that `memory_mask` hides all later elements of the encoder's output.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError(BATCHES)
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(FEATURES)
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Dtype | None = None) -> Tensor:
        """Return a mask (sz, sz) that hides later elements from each element: -inf above the diagonal, 0 elsewhere.

        `dtype` is the mask's dtype, by default the default dtype. `device` has no effect.
        """
        return full((sz, sz), float("-inf"), dtype=dtype).triu(1)
