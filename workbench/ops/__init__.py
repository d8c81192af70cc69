"""Differentiable operations, one statement each; importing this package gives Tensor its methods."""

from importlib import import_module
from types import FunctionType
from typing import Any

from ..absent import Absent, names
from ..autograd.tensor import Tensor, refuse_writes
from . import (
    activation,
    comparison,
    composed,  # noqa: F401
    convert,
    creation,
    divergence,  # noqa: F401
    draws,  # noqa: F401
    fused,  # noqa: F401
    grids,  # noqa: F401
    indexing,
    inplace,
    join_split,
    linalg,
    linear,
    math,
    matrices,
    nan_sums,  # noqa: F401
    placing,  # noqa: F401
    reduction,
    shape,
    special,  # noqa: F401
)
from .core.codegen import under_name
from .core.registry import VARIANTS

FUNCTIONS: dict[str, Any] = {}  # the operations, by all names that PyTorch has for them


def _give_names() -> None:
    """Make what each operation's declaration says of its name: twins that write in place, and second names.

    Each method that is a function too becomes a function of its own: it counts its arguments without the tensor
    itself, where it refuses one.
    """
    known, methods = {*names()["torch"]}, vars(Tensor)
    made = {name: variants.function for name, variants in VARIANTS.items()}
    for name, variants in VARIANTS.items():
        if variants.in_place and f"{name}_" not in made:  # of index_put it is written by hand
            made[f"{name}_"] = twin = inplace.writing(variants.function, f"{name}_")
            setattr(Tensor, f"{name}_", twin)
    for name, own in list(methods.items()):
        if type(own) is FunctionType and not name.startswith("__") and not own.__qualname__.startswith("Tensor."):
            setattr(Tensor, name, under_name(own, name, "Tensor"))
    FUNCTIONS.update({name: function for name, function in made.items() if name in known})
    for name, variants in VARIANTS.items():
        for alias, own in [(also + end, name + end) for also in variants.also for end in ("", "_")]:
            if own in made and alias in known:
                FUNCTIONS[alias] = under_name(made[own], alias)
            if own in methods:
                setattr(Tensor, alias, under_name(methods[own], alias, "Tensor"))


_give_names()
refuse_writes()

ABSENT = {*names()["torch.Tensor"]}.difference(*map(vars, Tensor.__mro__))
for _name in ABSENT:
    setattr(Tensor, _name, Absent(_name))
Tensor.__dir__ = lambda self: [name for name in object.__dir__(self) if name not in ABSENT]

# Loaded on first use: they give Tensor no methods, and a small program needs none of them.
_LATER = "convolution folds layers losses normalization padding piecewise pixels pooling resampling".split()


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
    "comparison",
    "convert",
    "creation",
    "indexing",
    "inplace",
    "join_split",
    "linalg",
    "linear",
    "math",
    "matrices",
    "reduction",
    "report",
    "shape",
]
