"""Differentiable operations, one statement each; importing this package gives Tensor its methods."""

from . import choice, creation, indexing, inplace, joining, linear, movement, pointwise, reduction, shapes, strided
from .declare import REGISTRY

__all__ = [
    "REGISTRY",
    "choice",
    "creation",
    "indexing",
    "inplace",
    "joining",
    "linear",
    "movement",
    "pointwise",
    "reduction",
    "shapes",
    "strided",
]
