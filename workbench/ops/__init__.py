"""Differentiable operations, one statement each; importing this package gives Tensor its methods."""

from typing import Any

from . import (
    activation,
    arguments,
    arranging,
    casting,
    choice,
    convolution,
    creation,
    devices,
    einsum,
    elementary,
    entropy,
    gathering,
    indexing,
    inplace,
    interop,
    joining,
    linear,
    logic,
    looking,
    losses,
    movement,
    naming,
    normalization,
    pointwise,
    powers,
    products,
    random,
    reduction,
    refitting,
    reshaping,
    scan,
    shapes,
    softmax,
    sorting,
    splitting,
    statistics,
    strided,
)
from .declare import REGISTRY


def __getattr__(name: str) -> Any:
    if name != "report":  # which asks for the rules of transforms: most programs run none
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .families import report

    return report


__all__ = [
    "REGISTRY",
    "activation",
    "arguments",
    "arranging",
    "casting",
    "choice",
    "convolution",
    "creation",
    "devices",
    "einsum",
    "elementary",
    "entropy",
    "gathering",
    "indexing",
    "inplace",
    "interop",
    "joining",
    "linear",
    "logic",
    "looking",
    "losses",
    "movement",
    "naming",
    "normalization",
    "pointwise",
    "powers",
    "products",
    "random",
    "reduction",
    "refitting",
    "report",
    "reshaping",
    "scan",
    "shapes",
    "softmax",
    "sorting",
    "splitting",
    "statistics",
    "strided",
]
