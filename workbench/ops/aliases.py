"""The second names of operations, as functions and as methods; and methods that are told apart from functions."""

from __future__ import annotations

from types import FunctionType

from ..absent import names
from ..autograd.tensor import Tensor
from . import comparison, inplace, join_split, linear, math, shape
from .core.checks import ALIASES
from .core.codegen import under_name

__all__ = []
for _alias, _name in ALIASES.items():
    for _end in ("", "_"):
        for _family in (shape, comparison, math, inplace, join_split, linear):
            if _name + _end in vars(_family) and _alias + _end in names()["torch"]:
                globals()[_alias + _end] = under_name(vars(_family)[_name + _end], _alias + _end)
                __all__.append(_alias + _end)
                break


def finish_methods() -> None:
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
