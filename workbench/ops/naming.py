"""NumPy's names for arguments, which PyTorch's reductions and their like take as well."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

OTHERS = {"axis": "dim", "keepdims": "keepdim"}


def numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: let a function take `axis` for `dim` and `keepdims` for `keepdim`."""

    @functools.wraps(function)
    def renamed(*args: Any, **options: Any) -> Any:
        if options:
            options = {OTHERS.get(name, name): value for name, value in options.items()}
        return function(*args, **options)

    return renamed
