"""What a lesson needs beyond pictures: predictions and exercises, checked without giving the answer away."""

from .check import check, grade
from .progress import progress

__all__ = ["check", "grade", "progress"]
