"""The families of operations that the engine and a first lesson do without; importing them gives Tensor their methods.

The front door of the package loads them. Those below that give Tensor no method load on first use, one by one.
"""

from importlib import import_module
from typing import Any

from ...autograd.tensor import Tensor, refuse_writes
from ...compat.absent import NO_ATTRIBUTE, Absent, names
from ..core.names import FUNCTIONS as _OF_ALL
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
    linalg_norms,
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

_known = {*names()["torch"]}
FUNCTIONS = {name: function for name, function in _OF_ALL.items() if name in _known}  # those that PyTorch has in torch
ABSENT = {*names()["torch.Tensor"]}.difference(*map(vars, Tensor.__mro__))
for _name in ABSENT:
    setattr(Tensor, _name, Absent(_name))
Tensor.__dir__ = lambda self: [name for name in object.__dir__(self) if name not in ABSENT]

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
    "FUNCTIONS",
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
    "linalg_norms",
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
