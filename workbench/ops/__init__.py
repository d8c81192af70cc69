"""Differentiable operations, one statement each; importing this package gives Tensor its methods."""

from importlib import import_module
from typing import Any

from ..absent import Absent, names
from ..autograd.tensor import Tensor, refuse_writes
from . import (
    activation,
    aliases,
    comparison,
    convert,
    creation,
    indexing,
    inplace,
    join_split,
    linear,
    math,
    random,
    reduction,
    shape,
    statistics,
)

aliases.finish_methods()
refuse_writes()

ABSENT = {name for name in names()["torch.Tensor"] if not hasattr(Tensor, name)}
for _name in ABSENT:
    setattr(Tensor, _name, Absent(_name))
Tensor.__dir__ = lambda self: [name for name in object.__dir__(self) if name not in ABSENT]

# Loaded on first use: they give Tensor no methods, and a small program needs none of them.
_LATER = ("convolution", "lookup", "losses", "normalization", "pooling")


def __getattr__(name: str) -> Any:
    if name in ("REGISTRY", "report"):  # these know of every operation
        for each in _LATER:
            import_module(f".{each}", __name__)
        return getattr(import_module(".core.registry" if name == "REGISTRY" else ".core.interpreters", __name__), name)
    if name in _LATER:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "REGISTRY",
    "activation",
    "aliases",
    "comparison",
    "convert",
    "creation",
    "indexing",
    "inplace",
    "join_split",
    "linear",
    "math",
    "random",
    "reduction",
    "report",
    "shape",
    "statistics",
]
