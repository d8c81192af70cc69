"""Ways to change parameters so that a loss gets smaller (torch.optim)."""

from typing import Any as _Any

from ..absent import refusal as _refusal
from . import lr_scheduler
from .adaptive import Adadelta, Adagrad, RMSprop
from .lbfgs import LBFGS
from .optimizer import SGD, Adam, AdamW, Optimizer

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "LBFGS", "Optimizer", "RMSprop", "SGD", "lr_scheduler"]


def __getattr__(name: str) -> _Any:
    raise _refusal(f"module {__name__!r}", "torch.optim", name)
