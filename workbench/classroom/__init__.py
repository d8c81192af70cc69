"""What a lesson needs beyond pictures: predictions and exercises, checked without giving the answer away."""

from .checks import check, grade, progress

__all__ = ["check", "grade", "progress"]
