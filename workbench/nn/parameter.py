"""The leaves that modules train (torch.nn.parameter)."""

from typing import Any as _Any

from ..absent import PATH as _PATH
from ..absent import refusal as _refusal
from ..autograd.tensor import Parameter

__path__ = _PATH  # so that `from ... import` of an absent name is refused by a sentence (absent.py)

__all__ = ["Parameter"]


def __getattr__(name: str) -> _Any:
    raise _refusal(f"module {__name__!r}", "torch.nn.parameter", name)
