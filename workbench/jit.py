"""TorchScript's names, for programs that use them: nothing is compiled (torch.jit)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import Final as Final

from .compat.absent import refusing
from .compat.tables import public, row, unchanged
from .errors import warn
from .nn.modules.module import Module

__getattr__ = refusing(__name__)  # refuses absent names by a sentence

OLD = "`torch.jit.{}` is deprecated. Please switch to `torch.compile` or `torch.export`."


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


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method `fn` unchanged, and warn that the name is old, as PyTorch does."""
    warn(OLD.format("script_method"), DeprecationWarning)
    return fn


@row(unchanged, "Return the function `fn` unchanged: nothing is traced.")
def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]: ...
@row(unchanged, "Return the method `fn` unchanged; PyTorch would compile it, too.")
def export(fn: Callable[..., Any]) -> Callable[..., Any]: ...
@row(unchanged, "Return the method `fn` unchanged; PyTorch would not compile it.")
def unused(fn: Callable[..., Any]) -> Callable[..., Any]: ...


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


@row(lambda the_type, the_value: the_value, "Return `the_value` unchanged; PyTorch also uses `the_type`.")
def annotate(the_type: Any, the_value: Any) -> Any: ...
@row(False, "Return False: no compiled code runs.")
def is_scripting() -> bool: ...
@row(False, "Return False: nothing is traced.")
def is_tracing() -> bool: ...


class ScriptModule(Module):
    """A module whose methods PyTorch compiles when it is created; here it is an ordinary module.

    The result of `script` isn't a ScriptModule: `script` returns the module itself. PyTorch: torch.jit.ScriptModule.
    """

    def __init__(self) -> None:
        super().__init__()


__all__ = public(__name__)
