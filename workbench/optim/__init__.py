"""Optimizers, and schedules of their learning rates (torch.optim)."""

from ..compat.absent import refusing as _refusing
from . import lr_scheduler
from .adaptive import Adadelta, Adagrad, RMSprop
from .lbfgs import LBFGS
from .older import ASGD, Adamax, NAdam, RAdam, Rprop
from .optimizer import SGD, Adam, AdamW, Optimizer

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

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
