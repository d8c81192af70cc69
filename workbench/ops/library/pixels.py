"""Images of many channels as larger images of fewer, and back."""

from __future__ import annotations

import numpy as np

from ...autograd.tensor import Tensor
from ..core.checks import int_of, tensors_only
from ..core.op import define
from ..core.results import in_rows


def _shuffled(a: np.ndarray, factor: int) -> np.ndarray:
    *lead, channels, height, width = a.shape
    parts = a.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return parts.transpose(order).reshape(*lead, channels // factor**2, height * factor, width * factor)


def _unshuffled(a: np.ndarray, factor: int) -> np.ndarray:
    *lead, channels, height, width = a.shape
    parts = a.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return parts.transpose(order).reshape(*lead, channels * factor**2, height // factor, width // factor)


_pixel_shuffle = define(
    "pixel_shuffle(Tensor self, upscale_factor)",
    in_rows(_shuffled),
    batch="in front",
    self="pixel_unshuffle(grad, upscale_factor)",
)
_pixel_unshuffle = define(
    "pixel_unshuffle(Tensor self, downscale_factor)",
    in_rows(_unshuffled),
    batch="in front",
    self="pixel_shuffle(grad, downscale_factor)",
)


def _regrouped(a: np.ndarray, groups: int) -> np.ndarray:
    """Return the first channel of each group, then the second of each, and so on."""
    count, channels, *rest = a.shape
    return a.reshape(count, groups, channels // groups, *rest).swapaxes(1, 2).reshape(a.shape)


_channel_shuffle = define(
    "channel_shuffle(Tensor self, groups)", in_rows(_regrouped), self="channel_shuffle(grad, self.shape[1] // groups)"
)


def _check(name: str, input: Tensor, argument: str, factor: int) -> int:
    factor = int_of(name, argument, 1, factor)
    if input._array.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input._array.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")
    return factor


@tensors_only()
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Turn groups of r * r channels into squares of r by r pixels, for r = `upscale_factor`.

    Images (..., C * r * r, H, W) become (..., C, H * r, W * r).
    """
    factor = _check("pixel_shuffle", input, "upscale_factor", upscale_factor)
    channels = input._array.shape[-3]
    if channels % factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {factor**2}"
        )
    return _pixel_shuffle(input, factor)


@tensors_only()
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Turn squares of r by r pixels into r * r channels, for r = `downscale_factor`.

    Images (..., C, H * r, W * r) become (..., C * r * r, H, W).
    """
    factor = _check("pixel_unshuffle", input, "downscale_factor", downscale_factor)
    for word, size in zip(("height", "width"), input._array.shape[-2:], strict=True):
        if size % factor:
            place = -2 if word == "height" else -1
            raise RuntimeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but input.size({place})={size} "
                f"is not divisible by {factor}"
            )
    return _pixel_unshuffle(input, factor)


@tensors_only()
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Reorder the channels (the second dimension) so that groups of channels are interleaved.

    The result contains the first channel of each group, then the second channel of each, and so on.

    Raises:
        RuntimeError: if `groups` doesn't divide the number of channels.
    """
    groups, shape = int_of("channel_shuffle", "groups", 1, groups), input._array.shape
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    return _channel_shuffle(input, groups)
