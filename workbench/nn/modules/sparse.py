"""Vectors looked up by number (torch.nn.modules.sparse)."""

from __future__ import annotations

from typing import Any

from ...autograd.dtypes import dtype as Dtype
from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Parameter, Tensor
from ...ops.creation import empty
from .. import functional as F
from .. import init, messages
from .module import Module


class Embedding(Module):
    """A row of the weight for each index; the row `padding_idx` begins as zeros and gets no gradient."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(messages.EMBEDDING_PADDING)
            padding_idx %= num_embeddings
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        size = (num_embeddings, embedding_dim)
        if _weight is not None and tuple(_weight.shape) != size:
            raise AssertionError(messages.EMBEDDING_WEIGHT)
        weight = empty(size, device=device, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(weight, requires_grad=not _freeze)
        if _weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """An embedding with a given weight, which does not learn unless `freeze` is False."""
        if embeddings.dim() != 2:
            raise AssertionError(messages.EMBEDDING_MATRIX)
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, _weight=embeddings, _freeze=freeze)

    def reset_parameters(self) -> None:
        """Draw the weight again from the standard normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        """The rows of the weight that the indices name."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extra_repr(self) -> str:
        """How many rows of which length, and what is not as usual."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        text += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        return text + (f", norm_type={self.norm_type}" if self.norm_type != 2 else "")
