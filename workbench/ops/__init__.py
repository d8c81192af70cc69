"""Differentiable operations, one statement each; importing this package gives Tensor its methods."""

from importlib import import_module
from typing import Any

from ..absent import Absent, names
from ..autograd.tensor import Tensor, refuse_writes
from . import (
    activation,
    aliases,
    arguments,
    arranging,
    casting,
    choice,
    creation,
    devices,
    division,
    elementary,
    gathering,
    indexing,
    inplace,
    inplace_views,
    interop,
    joining,
    linear,
    logic,
    looking,
    movement,
    naming,
    pointwise,
    powers,
    products,
    random,
    reduction,
    refitting,
    remembered,
    reshaping,
    scan,
    shapes,
    softmax,
    sorting,
    splitting,
    statistics,
    strided,
)

aliases.finish_methods()
refuse_writes()

ABSENT = {name for name in names()["torch.Tensor"] if not hasattr(Tensor, name)}
for _name in ABSENT:
    setattr(Tensor, _name, Absent(_name))
Tensor.__dir__ = lambda self: [name for name in object.__dir__(self) if name not in ABSENT]

# Loaded on first use: they give Tensor no methods, and a small program needs none of them.
_LATER = ("convolution", "einsum", "entropy", "losses", "normalization")


def __getattr__(name: str) -> Any:
    if name in ("REGISTRY", "report"):  # these know of every operation
        for each in _LATER:
            import_module(f".{each}", __name__)
        return getattr(import_module(".declare" if name == "REGISTRY" else ".families", __name__), name)
    if name in _LATER:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "REGISTRY",
    "activation",
    "arguments",
    "arranging",
    "casting",
    "choice",
    "creation",
    "devices",
    "division",
    "elementary",
    "gathering",
    "indexing",
    "inplace",
    "inplace_views",
    "interop",
    "joining",
    "linear",
    "logic",
    "looking",
    "movement",
    "naming",
    "pointwise",
    "powers",
    "products",
    "random",
    "reduction",
    "refitting",
    "report",
    "remembered",
    "reshaping",
    "scan",
    "shapes",
    "softmax",
    "sorting",
    "splitting",
    "statistics",
    "strided",
]
