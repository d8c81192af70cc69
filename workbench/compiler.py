"""The compiler's names, for programs that use them: functions and modules run as they are (torch.compiler)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compat.absent import refusing
from .compat.tables import public, row, unchanged

__getattr__ = refusing(__name__)  # refuses absent names by a sentence


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Return the function or module unchanged, for programs that let PyTorch compile it; also usable as a decorator.

    PyTorch wraps a module in another module, whose parameters have longer names. Here the names stay the same.
    PyTorch: torch.compile.

    Args:
        model: The function or module. Without it, the result is a decorator.
        fullgraph, dynamic, backend, mode, options, disable: Accepted for compatibility; they have no effect here.

    Raises:
        RuntimeError: if both `mode` and `options` are given.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    return _as_it_is if model is None else _as_it_is(model)


def _as_it_is(model: Any) -> Any:
    """Return the argument; refuse one that can't be called."""
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function `fn` unchanged, for programs that keep PyTorch from compiling it; also usable as a decorator.

    `recursive` and `reason` have no effect.
    """
    return _as_it_is if fn is None else fn


@row(unchanged, "Return the function `fn` unchanged; PyTorch's compiler treats it as one operation.")
def allow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]: ...
@row(unchanged, "Return the function `fn` unchanged; PyTorch's compiler runs it only once.")
def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]: ...
@row(None, "Mark the start of a step; this has no effect.")
def cudagraph_mark_step_begin() -> None: ...
@row(None, "Clear the compiled code: there is none.")
def reset() -> None: ...
@row(False, "Return False: nothing is compiled.")
def is_compiling() -> bool: ...
@row(False, "Return False: nothing is compiled.")
def is_dynamo_compiling() -> bool: ...
@row(False, "Return False: nothing is exported.")
def is_exporting() -> bool: ...


__all__ = public(__name__)
