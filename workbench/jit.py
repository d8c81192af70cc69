"""TorchScript's names, for programs that use them: nothing is compiled (torch.jit)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import Final as Final

from .absent import PATH as _PATH
from .absent import refusal
from .errors import warn
from .nn.modules.module import Module

__path__ = _PATH  # so that `from ... import` of an absent name is refused by a sentence (absent.py)

__all__ = [
    "ScriptModule",
    "annotate",
    "export",
    "ignore",
    "is_scripting",
    "is_tracing",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "unused",
]
OLD = "`torch.jit.{}` is deprecated. Please switch to `torch.compile` or `torch.export`."


def __getattr__(name: str) -> Any:
    raise refusal(f"module {__name__!r}", "torch.jit", name)


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Return `obj`, a function, module or class, unchanged, and warn that the name is old, as PyTorch does.

    `optimize` and `example_inputs` have no effect.
    """
    warn(OLD.format("script"), DeprecationWarning)
    return obj


def trace(func: Callable[..., Any], example_inputs: Any = None, **options: Any) -> Any:
    """Return `func`, a function or module, unchanged, and warn that the name is old, as PyTorch does.

    PyTorch compiles the operations that it runs for `example_inputs`. Here, branches and loops depend on the inputs of
    each call. The `options` have no effect.
    """
    warn(OLD.format("trace"), DeprecationWarning)
    return func


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function `fn` unchanged: nothing is traced."""
    return fn


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method `fn` unchanged, and warn that the name is old, as PyTorch does."""
    warn(OLD.format("script_method"), DeprecationWarning)
    return fn


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method `fn` unchanged; PyTorch would compile it, too."""
    return fn


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method `fn` unchanged; PyTorch would not compile it."""
    return fn


def ignore(drop: Any = False, **options: Any) -> Any:
    """Return the function `drop` unchanged; PyTorch would not compile it. With options, return a decorator instead."""
    if callable(drop):
        return drop
    if drop:
        warn(
            "ignore(True) has been deprecated. TorchScript will now drop the function call on compilation. Use "
            "torch.jit.unused now. {}",
            FutureWarning,
        )
    return unused


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return `the_value` unchanged; PyTorch also uses `the_type`."""
    return the_value


def is_scripting() -> bool:
    """Return False: no compiled code runs."""
    return False


def is_tracing() -> bool:
    """Return False: nothing is traced."""
    return False


class ScriptModule(Module):
    """A module whose methods PyTorch compiles when it is created; here it is an ordinary module.

    The result of `script` isn't a ScriptModule: `script` returns the module itself. PyTorch: torch.jit.ScriptModule.
    """

    def __init__(self) -> None:
        super().__init__()
