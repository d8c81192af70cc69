"""Multi-head attention, and the transformer layers built from it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ... import errors
from ...autograd import dtypes
from ...autograd.dtypes import dtype as Dtype
from ...autograd.tensor import Parameter, Tensor
from ...errors import warn
from ...ops.creation import empty, zeros
from ...ops.join_split import cat
from ...ops.library.layers import additive, attention_weights
from .. import functional as F
from .. import init
from .layers import Dropout, Linear
from .module import Module, ModuleList
from .normalization import LayerNorm

__all__ = ["MultiheadAttention", "TransformerEncoder", "TransformerEncoderLayer"]


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, under the name that PyTorch gives the one in attention."""


def numbers(name: str, mask: Tensor | None, dtype: Dtype) -> Tensor | None:
    """Return a mask as numbers to add.

    Raises:
        AssertionError: if the mask has integers.
    """
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not dtypes.bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return additive(mask, dtype)


def both_numbers(
    names: tuple[str, str], padding: Tensor | None, mask: Tensor | None, dtype: Dtype
) -> tuple[Tensor | None, Tensor | None]:
    """Return a mask of keys and a mask of pairs as numbers to add, with a warning if they are of two kinds."""
    if padding is not None and mask is not None and padding.dtype is not mask.dtype:
        warn(("Support for mismatched {} and {} is deprecated. Use same type for both instead.").format(*names))
    return numbers(names[0], padding, dtype), numbers(names[1], mask, dtype)


class MultiheadAttention(Module):
    """Compute multi-head attention: each head attends from the queries to the keys and averages the values.

    Linear layers compute Q, K and V from query, key and value. Their features are split evenly among the heads. Each
    head computes `softmax(Q @ K.T / sqrt(head size)) @ V`, and a last linear layer combines the results of all heads.

    A batch of sequences has the shape (length, batch, embed_dim). With `batch_first`, its shape is
    (batch, length, embed_dim). A single sequence has the shape (length, embed_dim). PyTorch:
    torch.nn.MultiheadAttention; see Vaswani et al. (2017).

    Example:
        >>> attention = nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True)
        >>> words = torch.ones(3, 5, 8)  # three sequences of five words
        >>> output, weights = attention(words, words, words)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))

    Args:
        embed_dim: The number of features of the queries and of the result.
        num_heads: The number of heads. `embed_dim` must be divisible by it.
        dropout: The probability with which each attention weight is set to zero in training mode.
        bias: If True, the linear layers have biases.
        add_bias_kv: If True, a learned key and a learned value are added at the end of each sequence.
        add_zero_attn: If True, a key and a value of zeros are added at the end of each sequence.
        kdim: The number of features of the keys. None means `embed_dim`.
        vdim: The number of features of the values. None means `embed_dim`.
        batch_first: If True, the batch is the first dimension of the sequences. Otherwise, it is the second one.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        apart = {} if self._qkv_same_embed_dim else {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        for name in "qkv":
            weight = Parameter(empty((embed_dim, apart[name]), **kind)) if apart else None
            self.register_parameter(f"{name}_proj_weight", weight)
        whole = None if apart else Parameter(empty((3 * embed_dim, embed_dim), **kind))
        self.register_parameter("in_proj_weight", whole)
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim, **kind)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **kind)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k, self.bias_v = (Parameter(empty((1, 1, embed_dim), **kind)) for _ in "kv")
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw weights with `xavier_uniform_` and extra keys and values with `xavier_normal_`; set biases to zeros."""
        for name, parameter in self._parameters.items():
            if parameter is not None and name.endswith("weight"):
                init.xavier_uniform_(parameter)
        for parameter in (self.bias_k, self.bias_v):
            if parameter is not None:
                init.xavier_normal_(parameter)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return a pair: the averaged values, in the query's shape, and the attention weights (or None).

        Args:
            query: The elements that attend; the result has one vector for each.
            key: The elements that the queries attend to.
            value: The values to average, one for each key.
            key_padding_mask: A mask of shape (batch, key length): True for keys that are only padding.
            need_weights: If True, the second result is the attention weights, of shape
                (batch, query length, key length). Otherwise, it is None.
            attn_mask: A mask of shape (query length, key length) or (batch * heads, query length, key length). A
                boolean mask excludes each pair of query and key for which it is True. A mask of numbers is added to the
                scores before the softmax.
            average_attn_weights: If True, the returned weights are averaged over the heads. Otherwise, their shape is
                (batch, heads, query length, key length).
            is_causal: A hint that `attn_mask` hides all later keys from each query.
        """
        batched = self._check(query, key, value, key_padding_mask, attn_mask)
        names = "key_padding_mask", "attn_mask"
        padding, mask = both_numbers(names, key_padding_mask, attn_mask, query.dtype)
        if is_causal and mask is None:
            raise RuntimeError(
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer "
                "module method `generate_square_subsequent_mask` to create this mask."
            )
        q, k, v = self._projected(query, key, value)
        if not batched:
            q, k, v = (t.unsqueeze(1) for t in (q, k, v))
        elif self.batch_first:
            q, k, v = (t.transpose(0, 1) for t in (q, k, v))
        length, batch = q.shape[:2]
        if self.bias_k is not None and self.bias_v is not None:
            k, v = (cat([t, extra.repeat(1, batch, 1)]) for t, extra in ((k, self.bias_k), (v, self.bias_v)))
        rows = batch * self.num_heads
        q, k, v = (t.reshape(t.size(0), rows, self.head_dim).transpose(0, 1) for t in (q, k, v))
        if self.add_zero_attn:
            k, v = (cat([t, zeros(rows, 1, self.head_dim, dtype=t.dtype)], 1) for t in (k, v))
        causal = is_causal and padding is None and not need_weights
        keys = k.size(1) - (self.bias_k is not None) - self.add_zero_attn
        mask = None if causal else self._merged(mask, padding, length, keys, batch, k.size(1))
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            weights = F.dropout(attention_weights(q, k, mask), dropout)
            out = weights @ v
            weights = weights.view(batch, self.num_heads, length, -1)
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            out = F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
        out = self.out_proj(out.transpose(0, 1).reshape(length, batch, self.embed_dim))
        if not batched:
            return out.squeeze(1), None if weights is None else weights.squeeze(0)
        return out.transpose(0, 1) if self.batch_first else out, weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
        """Return queries, keys and values, each through a linear layer; one layer if they are the same tensor."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if query is key is value and weight is not None:
            return F.linear(query, weight, bias).chunk(3, -1)
        names = "q_proj_weight", "k_proj_weight", "v_proj_weight"
        weights = [getattr(self, name) for name in names] if weight is None else weight.chunk(3)
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        return [F.linear(*each) for each in zip((query, key, value), weights, biases, strict=True)]

    def _merged(
        self, mask: Tensor | None, padding: Tensor | None, length: int, keys: int, batch: int, all_keys: int
    ) -> Tensor | None:
        """Return one mask for all heads; it never excludes the added keys."""
        if mask is not None:
            shape, want = tuple(mask.shape), (batch * self.num_heads, length, keys)[3 - mask.dim() :]
            if shape != want:
                raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {want}.")
        if padding is not None:
            padding = padding.view(-1, 1, 1, padding.size(-1))
            for name, got, want in ((0, padding.size(0), batch), (1, padding.size(-1), keys)):
                if got != want:
                    raise AssertionError(f"Expected key_padded_mask.shape[{name}] to be {want}, but got {got}")
            padding = padding.expand(-1, self.num_heads, -1, -1).reshape(-1, 1, keys)
        merged = padding if mask is None else mask if padding is None else mask + padding
        if merged is None or all_keys == keys:
            return merged
        return cat([merged, zeros(*merged.shape[:-1], all_keys - keys, dtype=merged.dtype)], -1)

    def _check(self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None) -> bool:
        """Return True if there is a batch.

        Raises:
            AssertionError: if the dimensions don't fit.
        """
        dims = query.dim()
        if dims not in (2, 3):
            raise AssertionError(
                f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
            )
        which = ("unbatched (2-D)", "batched (3-D)")[dims - 2]
        if key.dim() != dims or value.dim() != dims:
            raise AssertionError(
                f"For {which} `query`, expected `key` and `value` to be {dims}-D but found "
                f"{key.dim()}-D and {value.dim()}-D tensors respectively"
            )
        if padding is not None and padding.dim() != dims - 1:
            which_dims = f" or {dims - 1}-D"
            raise AssertionError(errors.MASK_DIMS.format(which, "key_padding_mask", which_dims, padding.dim()))
        if mask is not None and mask.dim() not in (2, 3):
            raise AssertionError(errors.MASK_DIMS.format(which, "attn_mask", ", 2-D or 3-D", mask.dim()))
        return dims == 3


class AttentionLayer(Module):
    """The common part of encoder and decoder layers: attention, then two linear layers.

    Each of these steps has its own normalization and dropout.
    """

    attends_to_memory = False

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
        if self.attends_to_memory:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **kind)
        self.linear1 = Linear(d_model, dim_feedforward, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **kind)
        self.norm_first = norm_first
        steps = "123" if self.attends_to_memory else "12"
        for step in steps:
            self.add_module(f"norm{step}", LayerNorm(d_model, eps=layer_norm_eps, **kind))
        for step in steps:
            self.add_module(f"dropout{step}", Dropout(dropout))
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            raise RuntimeError(f"activation should be relu/gelu, not {activation}")
        named = isinstance(activation, str)
        self.activation: Callable[[Tensor], Tensor] = getattr(F, activation) if named else activation

    def _attended(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool) -> Tensor:
        options = {"key_padding_mask": padding, "attn_mask": mask, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, **options)[0])

    def _fed_forward(self, x: Tensor, dropout: Module) -> Tensor:
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(AttentionLayer):
    """Let each element of a sequence attend to all elements, then apply two linear layers with an activation.

    The result of each of the two parts is added to its input, and the sum is normalized: `x = norm(x + part(x))`. With
    `norm_first` it is `x = x + part(norm(x))` (Xiong et al., 2020). PyTorch: torch.nn.TransformerEncoderLayer.

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

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the sequence after both parts; its shape stays the same.

        Args:
            src: The sequence.
            src_mask: A mask of shape (length, length): entry [i, j] is True, or -inf, if element i must not attend to
                element j.
            src_key_padding_mask: A mask of shape (batch, length): True for elements that are only padding.
            is_causal: A hint that `src_mask` hides all later elements from each element.
        """
        names = "src_key_padding_mask", "src_mask"
        padding, mask = both_numbers(names, src_key_padding_mask, src_mask, src.dtype)
        if self.norm_first:
            src = src + self._attended(self.norm1(src), mask, padding, is_causal)
            return src + self._fed_forward(self.norm2(src), self.dropout2)
        src = self.norm1(src + self._attended(src, mask, padding, is_causal))
        return self.norm2(src + self._fed_forward(src, self.dropout2))


class TransformerEncoder(Module):
    """Apply `num_layers` copies of an encoder layer, one after the other, and then the module `norm`, if given.

    PyTorch: torch.nn.TransformerEncoder.

    Args:
        encoder_layer: The layer to copy. The copies have their own parameters, which begin with the same values.
        num_layers: The number of copies.
        norm: A module that is applied to the output of the last copy. None means no such module.
        enable_nested_tensor: Accepted for compatibility; it has no effect here.
        mask_check: Accepted for compatibility; it has no effect here.
    """

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
        """Return the sequence after all layers; its shape stays the same.

        Args:
            src: The sequence.
            mask: A mask of shape (length, length): entry [i, j] is True, or -inf, if element i must not attend to
                element j.
            src_key_padding_mask: A mask of shape (batch, length): True for elements that are only padding.
            is_causal: A hint that `mask` hides all later elements from each element.
        """
        names = "src_key_padding_mask", "mask"
        padding, mask = both_numbers(names, src_key_padding_mask, mask, src.dtype)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=padding, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)
