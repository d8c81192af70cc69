"""How images' elements may be laid out in memory: channel after channel, or the channels of each pixel together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import kind_of


class memory_format:
    """An order of elements in memory.

    There are contiguous_format, channels_last, channels_last_3d and preserve_format.
    """

    __slots__ = ("name", "order")

    def __init__(self, name: str, order: tuple[int, ...] = ()) -> None:
        self.name, self.order = name, order  # of dimensions, the one with the largest steps first

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout:
    """How a tensor is stored. The only layout here is `strided`: every element is stored."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format = memory_format("contiguous_format")
legacy_contiguous_format = contiguous_format  # PyTorch's name of old
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))
strided = layout("strided")


def check_format(function: str, given: Any) -> None:
    """Raise TypeError for anything but a memory format."""
    if not isinstance(given, memory_format):
        raise TypeError(f"{function}(): argument 'memory_format' must be torch.memory_format, not {kind_of(given)}")


def check_rank(ndim: int, given: memory_format) -> None:
    """Raise RuntimeError unless a tensor has as many dimensions as the format requires."""
    if given.order and ndim != len(given.order):
        raise RuntimeError(f"required rank {len(given.order)} tensor to use {given.name} format")


def unfilled(shape: tuple[int, ...], kind: np.dtype, given: memory_format) -> np.ndarray:
    """Return a new array laid out in memory as the format says; batch dimensions stay in front."""
    lead = max(len(shape) - len(given.order), 0) if given.order else len(shape)
    order = (*range(lead), *[lead + d for d in given.order])
    return np.empty([shape[d] for d in order], kind).transpose(np.argsort(order))


def laid_out(a: np.ndarray, given: memory_format) -> np.ndarray:
    """Return a copy with the format's memory layout."""
    if given is preserve_format:
        return a.copy("C" if 0 in a.strides else "K")
    out = unfilled(a.shape, a.dtype, given)
    out[...] = a
    return out


def cloned(a: np.ndarray, given: Any) -> np.ndarray:
    """Return the same, for what may be no format of as many dimensions."""
    check_format("clone", given)
    check_rank(a.ndim, given)
    return laid_out(a, given)


def lies_as(shape: tuple[int, ...], steps: tuple[int, ...], given: memory_format) -> bool:
    """Return True if the steps are those of the format, as far as they are taken."""
    if given.order and len(shape) != len(given.order):
        return False
    expected = 1
    for d in reversed(given.order or range(len(shape))):
        if shape[d] != 1:
            if steps[d] != expected:
                return False
            expected *= shape[d]
    return True


def suggested(shape: tuple[int, ...], steps: tuple[int, ...], given: memory_format) -> bool:
    """Return True if the steps speak for the format; where several have them, it is the contiguous one."""
    if len(shape) != len(given.order) or not steps[1]:
        return False
    least = 0
    for d in reversed(given.order):
        if not shape[d] or steps[d] < least or (d == 0 and least == steps[1]):
            return False
        least = steps[d] * max(shape[d], 1)
    return True
