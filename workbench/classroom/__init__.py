"""What a lesson needs beyond pictures: predictions, checked without giving the answer away."""

from .check import check

__all__ = ["check"]
