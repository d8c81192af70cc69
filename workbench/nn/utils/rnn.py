"""Sequences of different lengths as one tensor, and back (torch.nn.utils.rnn)."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ...autograd.tensor import Tensor
from ...compat.absent import fill
from ...ops.creation import arange, empty_like, full

PAD_ITERABLE = "pad_sequence: Expected iterable for input sequences, but got arg of type: {}"
PAD_SIDE = "Expected padding_side to be one of left or right, but got {}."


def pad_sequence(
    sequences: Tensor | list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Join sequences of different lengths into one tensor, filling up the shorter ones with `padding_value`.

    The sequences have the shape (length, …), and the result has the shape (longest length, batch, …). PyTorch:
    torch.nn.utils.rnn.pad_sequence.

    Args:
        sequences: The sequences: tensors whose first dimensions may differ.
        batch_first: If True, the result has the shape (batch, longest length, …).
        padding_value: The value of the elements that are added.
        padding_side: Where to add elements: "right" (after a sequence) or "left" (before it).

    Raises:
        RuntimeError: if there is no sequence, or the sequences differ in a dimension other than the first.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(PAD_ITERABLE.format(type(sequences)))
    listed = tuple(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(PAD_SIDE.format(padding_side))
    longest, rest = max(each.size(0) for each in listed), listed[0].shape[1:]
    begin = (len(listed), longest) if batch_first else (longest, len(listed))
    padded = full((*begin, *rest), padding_value, dtype=listed[0].dtype)
    for i, each in enumerate(listed):
        start = longest - each.size(0) if padding_side == "left" else 0
        if batch_first:
            padded.select(0, i).narrow(0, start, each.size(0)).copy_(each)
        else:
            padded.narrow(0, start, each.size(0)).select(1, i).copy_(each)
    return padded


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded tensor, each cut to its length.

    Without `batch_first`, the function also swaps the first two dimensions of `padded_sequences` in place, as in
    PyTorch.

    Args:
        padded_sequences: The padded tensor, as `pad_sequence` returns it, with padding on the right.
        lengths: A tensor with the length of each sequence.
        batch_first: Whether the first dimension of `padded_sequences` is the batch.
    """
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    index: Any = arange(padded_sequences.shape[1])
    return [each[index < length] for each, length in zip(padded_sequences, lengths, strict=True)]


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation of indices; None for None."""
    if permutation is None:
        return None
    return empty_like(permutation).scatter_(0, permutation, arange(permutation.numel()))


__all__ = ["invert_permutation", "pad_sequence", "unpad_sequence"]
fill(sys.modules[__name__])
