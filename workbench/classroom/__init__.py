"""What a lesson needs beyond pictures: predictions and exercises, checked without giving the answer away."""

from .checks import check, grade
from .points import progress

__all__ = ["check", "grade", "progress"]
