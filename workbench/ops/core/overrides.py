"""`__torch_function__`: operands whose class defines the result of an operation, including subclasses of Tensor.

Compiled functions of ops leave everything but plain tensors to `dispatch`, which asks here, so plain tensors pay
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.state import local
from ...autograd.tensor import Tensor, subclasses
from .registry import VARIANTS


def overriding(args: tuple[Any, ...]) -> list[type]:
    """Return the classes to ask, from the arguments and from lists among them: a subclass before its bases."""
    kinds: list[type] = []
    if not local.modes.overridden:
        return kinds
    for given in args:
        for each in given if type(given) in (list, tuple) else (given,):
            kind = type(each)
            asked = kind in subclasses or (_overrides(kind) and not isinstance(each, Tensor))
            if asked and kind not in kinds:
                kinds.insert(next((i for i, other in enumerate(kinds) if issubclass(kind, other)), len(kinds)), kind)
    return kinds


def _overrides(kind: type) -> bool:
    """Return True if a class says what an operation gives; PyTorch's tensors only call the operation again."""
    return hasattr(kind, "__torch_function__") and not any(base.__module__ == "torch" for base in kind.__mro__)


def overridden(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Return what the first of these classes says that says something; TypeError where none does."""
    kinds = overriding(args)
    for kind in kinds:
        found = kind.__torch_function__(function, tuple(kinds), args, kwargs or {})  # type: ignore[attr-defined]
        if found is not NotImplemented:
            return found
    told = "\n".join([f"  - tensor subclass {kind}" for kind in kinds])
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{function.__name__}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n{told}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def public(op: Any) -> Callable[..., Any]:
    """Return the function that users know an op by, where that takes what the op is given."""
    if op.name not in VARIANTS:
        return op.function
    known: Any = VARIANTS[op.name].function
    takes = getattr(known, "__wrapped__", known).__code__.co_argcount >= len(op.order)
    return known if takes or getattr(known, "op", None) is op else op.function
