"""Functions of the user's own, in a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import workbench as torch


def function(name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """Make a Function of what it computes, and of what it makes of a gradient; neither is given `ctx`."""
    methods = {"forward": lambda ctx, *args: forward(*args), "backward": lambda ctx, *grads: backward(*grads)}
    return type(name, (torch.Function,), {name: staticmethod(method) for name, method in methods.items()})


def raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    """Return a backward that fails."""

    def backward(*grads: Any) -> Any:
        raise error

    return backward
