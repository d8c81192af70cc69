"""Leaves that modules hold (torch.nn.parameter)."""

from ..autograd.parameter import Parameter

__all__ = ["Parameter"]
