"""TorchScript's names for programs that use them: nothing is compiled (torch.jit)."""

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
    """The function, module or class itself, which PyTorch would compile; it warns that the name is old, as there."""
    warn(OLD.format("script"), DeprecationWarning)
    return obj


def trace(func: Callable[..., Any], example_inputs: Any = None, **options: Any) -> Any:
    """The function or module itself: PyTorch compiles what it does on `example_inputs`, here it goes on to decide anew.

    A branch or a loop that the inputs decide is thus run each time. It warns that the name is old, as PyTorch does.
    """
    warn(OLD.format("trace"), DeprecationWarning)
    return func


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: nothing is traced."""
    return fn


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method itself; it warns that the name is old, as PyTorch does."""
    warn(OLD.format("script_method"), DeprecationWarning)
    return fn


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method itself, which PyTorch would compile too."""
    return fn


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method itself, which PyTorch would not compile."""
    return fn


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself, which PyTorch would not compile; called with options, a decorator that returns it."""
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
    """The value itself, whose type PyTorch is told."""
    return the_value


def is_scripting() -> bool:
    """False: no compiled code runs."""
    return False


def is_tracing() -> bool:
    """False: nothing is traced."""
    return False


class ScriptModule(Module):
    """A module whose methods PyTorch compiles when it is made; here a module like others.

    What `script` returns is none: it is the module itself. Source: torch.jit.ScriptModule.
    """

    def __init__(self) -> None:
        super().__init__()
