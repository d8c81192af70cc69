"""Function transforms: derivatives and batches of whole functions, nested as deep as you like (torch.func)."""

from typing import Any as _Any

from ..absent import refusal as _refusal
from .transforms import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> _Any:
    raise _refusal(f"module {__name__!r}", "torch.func", name)
