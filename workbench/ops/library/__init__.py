"""The families of operations that the engine and a first lesson do without; importing them gives Tensor their methods.

They load when one of their names is first used. Those below that give Tensor no method load one by one.
"""

from importlib import import_module
from typing import Any

from ...absent import NO_ATTRIBUTE, Absent
from ...autograd.tensor import Tensor, refuse_writes
from ..core.names import give_names
from . import (
    activation,
    batched_indices,
    batched_layers,
    composed,
    divergence,
    draws,
    elementary,
    fused,
    grids,
    linalg,
    matrices,
    nan_sums,
    norms,
    order,
    placing,
    random_fills,
    rearranging,
    rounding,
    running,
    selecting,
    special,
    spread,
    windows,
)

give_names()
refuse_writes()
ABSENT = {name for name, own in vars(Tensor).items() if type(own) is Absent}

_LATER = "convolution folds layers losses normalization padding piecewise pixels pooling resampling".split()


def whole(name: str) -> Any:
    """Return the registry or the report, which know of every operation, after all families are loaded."""
    for each in _LATER:
        import_module(f".{each}", __name__)
    return getattr(import_module("..core.registry" if name == "REGISTRY" else "..core.interpreters", __name__), name)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f".{name}", __name__)
    raise AttributeError(NO_ATTRIBUTE.format(f"module {__name__!r}", name))


__all__ = [
    "ABSENT",
    "activation",
    "batched_indices",
    "batched_layers",
    "composed",
    "divergence",
    "draws",
    "elementary",
    "fused",
    "grids",
    "linalg",
    "matrices",
    "nan_sums",
    "norms",
    "order",
    "placing",
    "random_fills",
    "rearranging",
    "rounding",
    "running",
    "selecting",
    "special",
    "spread",
    "whole",
    "windows",
]
