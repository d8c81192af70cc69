"""Differentiable operations, one statement each; importing this package gives Tensor its methods."""

from importlib import import_module
from types import FunctionType
from typing import Any

from ..absent import Absent, names
from ..autograd.tensor import Tensor, refuse_writes
from . import (
    activation,
    comparison,
    convert,
    creation,
    indexing,
    inplace,
    join_split,
    linear,
    math,
    reduction,
    shape,
)
from .core.checks import ALIASES
from .core.codegen import under_name

SECOND_NAMES: dict[str, Any] = {}  # the functions under the second names that PyTorch has for them
_known = {*names()["torch"]}
for _alias, _name in ALIASES.items():
    for _end in ("", "_"):
        for _family in (shape, comparison, math, inplace, join_split, linear):
            if _name + _end in vars(_family) and _alias + _end in _known:
                SECOND_NAMES[_alias + _end] = under_name(vars(_family)[_name + _end], _alias + _end)
                break


def _finish_methods() -> None:
    """Give Tensor the second names, and each method that is a function too a function of its own.

    A method counts its arguments without the tensor itself, where it refuses one.
    """
    for name, own in list(vars(Tensor).items()):
        if type(own) is FunctionType and not name.startswith("__") and not own.__qualname__.startswith("Tensor."):
            setattr(Tensor, name, under_name(own, name, "Tensor"))
    for alias, name in ALIASES.items():
        for end in ("", "_"):
            if name + end in vars(Tensor):
                setattr(Tensor, alias + end, under_name(vars(Tensor)[name + end], alias + end, "Tensor"))


_finish_methods()
refuse_writes()

ABSENT = {*names()["torch.Tensor"]}.difference(*map(vars, Tensor.__mro__))
for _name in ABSENT:
    setattr(Tensor, _name, Absent(_name))
Tensor.__dir__ = lambda self: [name for name in object.__dir__(self) if name not in ABSENT]

# Loaded on first use: they give Tensor no methods, and a small program needs none of them.
_LATER = ("layers", "losses")


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
    "linear",
    "math",
    "reduction",
    "report",
    "shape",
]
