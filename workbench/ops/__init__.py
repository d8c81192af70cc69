"""Differentiable operations, one statement each; importing this package gives Tensor its methods."""

from . import (
    activation,
    arranging,
    choice,
    creation,
    elementary,
    indexing,
    inplace,
    joining,
    linear,
    movement,
    pointwise,
    reduction,
    scan,
    shapes,
    splitting,
    statistics,
    strided,
)
from .declare import REGISTRY

__all__ = [
    "REGISTRY",
    "activation",
    "arranging",
    "choice",
    "creation",
    "elementary",
    "indexing",
    "inplace",
    "joining",
    "linear",
    "movement",
    "pointwise",
    "reduction",
    "scan",
    "shapes",
    "splitting",
    "statistics",
    "strided",
]
