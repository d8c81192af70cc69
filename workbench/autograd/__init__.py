"""The engine, under the names of torch.autograd."""

import importlib as _importlib
import sys as _sys
import types as _types
from typing import Any as _Any

from ..compat.absent import refusal as _refusal
from . import function
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .saved_tensors import SavedTensor

__all__ = [
    "Function",
    "NestedIOFunction",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

# What a small program does not need loads on first use.
_modules_on_first_use = {"functional", "graph"}
_on_first_use = {
    "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
    "NestedIOFunction": "variable",
    "Variable": "variable",
}


def __getattr__(name: str) -> _Any:
    if name in _on_first_use:
        return getattr(_importlib.import_module(f".{_on_first_use[name]}", __name__), name)
    if name in _modules_on_first_use:
        return _importlib.import_module(f".{name}", __name__)
    raise _refusal(f"module {__name__!r}", "torch.autograd", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_on_first_use, *_modules_on_first_use})


class _Package(_types.ModuleType):
    """Make `autograd.gradcheck` the function, as PyTorch does, although a module has the same name."""

    def __setattr__(self, name: str, value: _Any) -> None:
        if name == "gradcheck" and isinstance(value, _types.ModuleType):
            value = value.gradcheck
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
