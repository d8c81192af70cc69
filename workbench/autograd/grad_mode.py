"""Switching gradient recording off and on, per thread (torch.autograd.grad_mode)."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import Any

from ..errors import check_bool, warn
from .state import inferring, local, no_grad_threads, set_grad, slow_path_reasons


def is_grad_enabled() -> bool:
    """Return True if this thread records operations."""
    return local.modes.grad


class _GradMode:
    """A context manager and decorator; one object can be entered again and again."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before: Any = None  # what was before, and what had been before that

    def _clone(self) -> _GradMode:
        return _GradMode(self.mode)

    def __enter__(self) -> None:
        self._before = local.modes.grad, self._before
        set_grad(self.mode)

    def __exit__(self, *exc: object) -> None:
        modes = local.modes
        modes.grad, self._before = self._before
        if modes.grad:
            no_grad_threads.pop(modes, None)
        else:
            no_grad_threads[modes] = True

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            warn(
                (
                    "Decorating classes is deprecated and will be disabled in future versions. You "
                    "should only decorate functions or methods. To preserve the current behavior of "
                    "class decoration, you can directly decorate the `__init__` method and nothing "
                    "else."
                ),
                FutureWarning,
            )
            made = function  # what is returned is a function that makes the object under the mode
            return self(lambda *args, **kwargs: made(*args, **kwargs))
        if inspect.isgeneratorfunction(function):
            return _around_generator(self._clone, function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._clone():
                return function(*args, **kwargs)

        return wrapped


def _around_generator(mode: Callable[[], _GradMode], function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a generator's body under `mode`, and its caller, at every yield, under the caller's own mode."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        body = function(*args, **kwargs)
        resume, value = body.send, None
        while True:
            try:
                with mode():
                    out = resume(value)
            except StopIteration as stop:
                return stop.value
            try:
                value = yield out
                resume = body.send
            except GeneratorExit:
                with mode():
                    body.close()
                raise
            except BaseException as error:  # handed on into the body, as `throw` would
                resume, value = body.throw, error

    return wrapped


class no_grad(_GradMode):
    """Don't record operations inside the `with` block: their results don't require grad.

    You can also decorate a function with `@torch.no_grad()` or `@torch.no_grad`, which calls `no_grad(function)`.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad():
        ...     y = 2 * x
        >>> y.requires_grad
        False
    """

    _mode = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        mode = super().__new__(cls)
        if function is None:
            return mode
        mode.__init__()  # `@no_grad` without brackets
        return mode(function)

    def __init__(self) -> None:
        super().__init__(self._mode)


class enable_grad(no_grad):
    """Record operations inside the `with` block, even if the block is within `no_grad`.

    You can also decorate a function with `@torch.enable_grad()` or `@torch.enable_grad`, which calls
    `enable_grad(function)`.
    """

    _mode = True


class set_grad_enabled(_GradMode):
    """Switch recording on or off immediately. Used with `with`, the change ends with the block.

    Args:
        mode: True switches recording on, False switches it off.
    """

    def __init__(self, mode: bool) -> None:
        check_bool(mode, "set_grad_enabled", "enabled")
        super().__init__(mode)
        self._at_birth = set_grad(self.mode)

    def __enter__(self) -> None:
        set_grad(self.mode)  # again: meanwhile the switch may have been turned back

    def __exit__(self, *exc: object) -> None:
        modes = local.modes
        modes.grad = self._at_birth
        if modes.grad:
            no_grad_threads.pop(modes, None)
        else:
            no_grad_threads[modes] = True

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        set_grad(self._at_birth)  # as a decorator it acts on the function alone
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


_threads = threading.local()


def is_multithreading_enabled() -> bool:
    """Return True if PyTorch's backward may use several threads; the workbench's always runs in the calling thread."""
    return getattr(_threads, "enabled", True)


class set_multithreading_enabled(_GradMode):
    """Choose whether backward passes of PyTorch may use several threads. The workbench always uses the calling thread.

    The choice holds immediately. Used with `with`, it ends with the block.

    Args:
        mode: True allows several threads, False forbids them.
    """

    def __init__(self, mode: bool) -> None:
        check_bool(mode, "set_multithreading_enabled", "enabled")
        super().__init__(mode)
        self.prev, _threads.enabled = is_multithreading_enabled(), mode

    def _clone(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)

    def __enter__(self) -> None:
        """Do nothing: the constructor did it."""

    def __exit__(self, *exc: object) -> None:
        _threads.enabled = self.prev


class inference_mode(_GradMode):
    """Don't record operations inside the `with` block, and don't count writes into tensors either.

    In PyTorch, this mode is faster than `no_grad`. In return, a tensor that is created inside the block can't be saved
    for backward later. You can also decorate a function with `@torch.inference_mode()`.

    Args:
        mode: If False, inference mode is off inside the block.
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        if callable(mode):  # `@inference_mode` without brackets
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(not mode)

    def _clone(self) -> inference_mode:
        return inference_mode(not self.mode)

    def __enter__(self) -> None:
        modes = local.modes
        self._before = modes.grad, modes.inference, self._before
        set_grad(self.mode)
        modes.inference = not self.mode
        if modes.inference:
            inferring[modes] = slow_path_reasons["inference", modes] = True

    def __exit__(self, *exc: object) -> None:
        modes = local.modes
        modes.grad, modes.inference, self._before = self._before
        if not modes.inference and modes in inferring:
            del inferring[modes], slow_path_reasons["inference", modes]
        if modes.grad:
            no_grad_threads.pop(modes, None)
        else:
            no_grad_threads[modes] = True


def is_inference_mode_enabled() -> bool:
    """Return True if this thread is in inference mode."""
    return local.modes.inference
