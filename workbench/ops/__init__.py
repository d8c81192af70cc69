"""Differentiable operations, one statement each; importing this package gives Tensor its methods.

The families here are the core: what the engine itself and a first lesson need. `library` has the others, and knows
these; these don't know it.
"""

from importlib import import_module
from typing import Any

from ..compat.absent import NO_ATTRIBUTE
from . import (
    arithmetic,
    assignment,
    comparison,
    complex,
    convert,
    copies,
    creation,
    dimensions,
    division,
    extrema,
    gather_scatter,
    indexing,
    inplace,
    inplace_views,
    join_split,
    linear,
    lookup,
    masks,
    math,
    powers,
    reduction,
    shape,
    strided,
    sums,
)
from .core.names import FUNCTIONS, give_names

give_names()


def __getattr__(name: str) -> Any:
    if name in ("REGISTRY", "report"):  # these know of every operation
        return import_module(".library", __name__).whole(name)
    raise AttributeError(NO_ATTRIBUTE.format(f"module {__name__!r}", name))


__all__ = [
    "FUNCTIONS",
    "REGISTRY",
    "arithmetic",
    "assignment",
    "comparison",
    "complex",
    "convert",
    "copies",
    "creation",
    "dimensions",
    "division",
    "extrema",
    "gather_scatter",
    "indexing",
    "inplace",
    "inplace_views",
    "join_split",
    "linear",
    "lookup",
    "masks",
    "math",
    "powers",
    "reduction",
    "report",
    "shape",
    "strided",
    "sums",
]
