"""Optimizers, and schedules of their learning rates (torch.optim)."""

from typing import Any as _Any

from ..absent import part as _part
from . import lr_scheduler
from .adaptive import Adadelta, Adagrad, RMSprop
from .lbfgs import LBFGS
from .older import ASGD, Adamax, NAdam, RAdam, Rprop
from .optimizer import SGD, Adam, AdamW, Optimizer

__all__ = [
    "ASGD",
    "Adamax",
    "NAdam",
    "RAdam",
    "Rprop",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "LBFGS",
    "Optimizer",
    "RMSprop",
    "SGD",
    "lr_scheduler",
]


def __getattr__(name: str) -> _Any:
    return _part(__name__, name)
