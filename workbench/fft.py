"""Discrete Fourier transforms (torch.fft)."""

from .compat.absent import refusing as _refusing
from .ops.library import fourier
from .ops.library.fourier import *  # noqa: F403

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

__all__ = [*fourier.__all__]
del fourier
