"""Functions without effect as rows of a table: a row says what a function returns, its docstring and its signature."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def row(result: Any, meaning: str) -> Callable[[F], F]:
    """Decorate a function without a body: `meaning` is its docstring, and `result` what it returns, or calls."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def listed(*args: Any, **options: Any) -> Any:
            function(*args, **options)  # raises TypeError for wrong arguments
            return result(*args, **options) if callable(result) else result

        listed.__doc__ = meaning
        return listed  # type: ignore[return-value]

    return decorate


def unchanged(*args: Any, **options: Any) -> Any:
    """Return the argument."""
    return (*args, *options.values())[0]


def public(module: str) -> list[str]:
    """Return the names of the public functions and classes that a module defines."""
    kinds, known = (FunctionType, type), vars(sys.modules[module]).items()
    own = [name for name, each in known if isinstance(each, kinds) and each.__module__ == module]
    return sorted(name for name in own if not name.startswith("_"))
