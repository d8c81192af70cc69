"""The leaves that modules train (torch.nn.parameter)."""

from ..autograd.tensor import Parameter
from ..compat.absent import refusing as _refusing

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

__all__ = ["Parameter"]
