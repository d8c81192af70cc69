"""Second names: of operations, and NumPy's for arguments, which PyTorch's reductions and their like take as well."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "row_stack": "vstack",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
}
OTHERS = {"axis": "dim", "keepdims": "keepdim"}


def numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: let a function take `axis` for `dim` and `keepdims` for `keepdim`."""

    @functools.wraps(function)
    def renamed(*args: Any, **options: Any) -> Any:
        if options:
            options = {OTHERS.get(name, name): value for name, value in options.items()}
        return function(*args, **options)

    return renamed
