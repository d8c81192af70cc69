"""Automatic mixed precision, which is always off in the workbench (torch.amp).

PyTorch's autocast chooses dtypes for a device. The only device here is the CPU, whose autocast computes in bfloat16,
which the workbench doesn't implement. So autocast can be used everywhere, but is refused where it would compute.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from .autograd.dtypes import dtype as Dtype
from .autograd.dtypes import float16
from .compat.absent import refusing
from .compat.tables import row
from .errors import check_bool, kind_of, warn
from .ops.core.checks import device

__getattr__ = refusing(__name__)  # refuses absent names by a sentence

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
NO_AUTOCAST = (
    "PyTorch has autocast on the cpu, the workbench has not: its dtype is bfloat16; choose dtypes with Tensor.to, or "
    "give enabled=False."
)
NO_BFLOAT16 = "PyTorch's autocast on {} computes in bfloat16, which the workbench has not."
SUPPORTED = ("cpu", "cuda", "ipu", "xpu", "xla", "mps", "hpu", "mtia", "maia", "privateuseone")
OLD = "torch.{} is deprecated. Please use torch.{} instead."


class _Asked(threading.local):
    """The autocast settings of a thread, which have no effect."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, Any] = {"cuda": float16}
        self.cache = True


_asked = _Asked()


def is_autocast_available(device_type: str) -> bool:
    """Return True if PyTorch has an autocast for the type of device `device_type`, such as "cpu".

    Raises:
        RuntimeError: if there is no such type.
    """
    return _kind("is_autocast_available", device_type) in SUPPORTED


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return True if autocast is on for the type of device `device_type`; on "cpu" it never is."""
    return _asked.enabled.get(_kind("is_autocast_enabled", device_type), False)


def is_autocast_cpu_enabled() -> bool:
    """Return `is_autocast_enabled("cpu")`, under its old name."""
    warn(OLD.format("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')"), DeprecationWarning)
    return is_autocast_enabled("cpu")


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Store whether autocast is on for a type of device; on the CPU, True is refused.

    Args:
        device_type: The type of device: "cpu" or "cuda".
        enabled: True or False. If it is the only argument, it is meant for "cuda".
    """
    check_bool(
        device_type if enabled is None else enabled, "set_autocast_enabled", "enabled", 1 + (enabled is not None)
    )
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if _kind("set_autocast_enabled", device_type) == "cpu" and enabled:
        raise NotImplementedError(NO_AUTOCAST)
    _asked.enabled[device_type] = bool(enabled)


def get_autocast_dtype(device_type: str) -> Dtype:
    """Return the dtype in which autocast would compute on the type of device `device_type`.

    Raises:
        NotImplementedError: if that is bfloat16.
    """
    kind = _kind("get_autocast_dtype", device_type)
    if kind not in _asked.dtypes:
        raise NotImplementedError(NO_BFLOAT16.format(kind))
    return _asked.dtypes[kind]


def set_autocast_dtype(device_type: str, dtype: Dtype) -> None:
    """Store `dtype` as the dtype in which autocast would compute on the type of device `device_type`."""
    if not isinstance(dtype, Dtype):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {kind_of(dtype)}"
        )
    _asked.dtypes[_kind("set_autocast_dtype", device_type)] = dtype


def get_autocast_gpu_dtype() -> Dtype:
    """Return `get_autocast_dtype("cuda")`, under its old name."""
    warn(OLD.format("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')"), DeprecationWarning)
    return get_autocast_dtype("cuda")


def get_autocast_cpu_dtype() -> Dtype:
    """Return `get_autocast_dtype("cpu")`, under its old name."""
    warn(OLD.format("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')"), DeprecationWarning)
    return get_autocast_dtype("cpu")


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Store with `enabled`, True or False, whether autocast would cache casts of weights."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {kind_of(enabled)})")
    _asked.cache = enabled


@row(None, "Clear the casts that autocast has cached: there are none.")
def clear_autocast_cache() -> None: ...
@row(lambda: _asked.cache, "Return True if autocast would cache casts of weights.")
def is_autocast_cache_enabled() -> bool: ...


class autocast:
    """Inside the `with` block, let PyTorch choose the dtype of each operation; here, autocast has no effect.

    On "cuda", autocast warns that there is no CUDA device, as PyTorch does without a GPU. On "cpu", it requires
    `enabled=False`. You can also decorate a function. PyTorch: torch.amp.autocast.

    Args:
        device_type: The type of device: "cpu" or "cuda".
        dtype: The dtype that `get_autocast_dtype` returns inside the block. None leaves it as it is.
        enabled: If False, autocast is off inside the block.
        cache_enabled: What `is_autocast_cache_enabled` returns inside the block. None leaves it as it is.
    """

    def __init__(
        self, device_type: str, dtype: Dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        _check_name(device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        if enabled and device_type == "cuda":
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            enabled = False
        elif enabled and dtype not in (None, float16):
            name = device_type.upper()
            warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            enabled = False
        if enabled and device_type == "cpu":
            raise NotImplementedError(NO_AUTOCAST)
        self.device, self.fast_dtype = device_type, _asked.dtypes.get(device_type) if dtype is None else dtype
        self._enabled, self._cache = enabled, cache_enabled

    def __enter__(self) -> autocast:
        self._before = {**_asked.enabled}, {**_asked.dtypes}, _asked.cache
        _asked.enabled[self.device] = self._enabled
        if self.fast_dtype is not None:
            _asked.dtypes[self.device] = self.fast_dtype
        if self._cache is not None:
            _asked.cache = self._cache
        return self

    def __exit__(self, *exc: object) -> None:
        _asked.enabled, _asked.dtypes, _asked.cache = self._before

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                f"Did you mean to use autocast as a context manager? For example:\n"
                f"    with torch.autocast(device_type=...):\n"
                f"        output = model(input)"
            )

        @functools.wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return inside


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Dtype | None = None
) -> Callable[..., Any]:
    """Decorate the forward of a Function that should run under autocast.

    PyTorch: torch.amp.custom_fwd.

    Args:
        fwd: The forward to decorate. Without it, the result is a decorator.
        device_type: The type of device: "cpu" or "cuda".
        cast_inputs: The dtype for the inputs. It has no effect while autocast is off, as it always is here.
    """
    _check_name(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = _asked.dtypes.get(device_type)
        ctx._fwd_used_autocast = cast_inputs is None and is_autocast_enabled(device_type)
        return fwd(*args, **kwargs)

    return decorate_fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the backward of a Function whose forward has `custom_fwd`.

    PyTorch: torch.amp.custom_bwd.

    Args:
        bwd: The backward to decorate. Without it, the result is a decorator.
        device_type: The type of device: "cpu" or "cuda".
    """
    _check_name(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


class GradScaler:
    """Scale a loss, in PyTorch, so that small float16 gradients don't become zero. Here a GradScaler is always off.

    On "cuda", it warns that it is off, as PyTorch does without a GPU. On "cpu", it requires `enabled=False`. When off,
    `scale(loss)` returns the loss, and `step(optimizer)` calls `optimizer.step()`. PyTorch: torch.amp.GradScaler.

    Args:
        device: "cuda" or "cpu".
        init_scale: The first factor of the loss in PyTorch; no effect here, like the following arguments.
        growth_factor: The factor by which the scale grows after `growth_interval` steps.
        backoff_factor: The factor by which the scale shrinks after a step whose gradients aren't finite.
        growth_interval: The number of steps in a row with finite gradients after which the scale grows.
        enabled: If False, there is no warning or error.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if device not in ("cuda", "cpu"):
            raise AssertionError(f"the workbench computes on the cpu alone: give GradScaler no device {device!r}")
        if enabled and device == "cuda":
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
        elif enabled:
            raise NotImplementedError(
                "PyTorch has a GradScaler for the cpu, the workbench has not: give enabled=False, or scale the loss "
                "and the gradients yourself."
            )

    @row(lambda self, outputs: outputs, "Return the outputs unchanged.")
    def scale(self, outputs: Any) -> Any: ...
    @row(None, "Leave the gradients of the parameters of `optimizer` as they are.")
    def unscale_(self, optimizer: Any) -> None: ...
    @row(None, "Leave the scale as it is, even if `new_scale` is given.")
    def update(self, new_scale: Any = None) -> None: ...
    @row(1.0, "Return 1.0: nothing is scaled.")
    def get_scale(self) -> float: ...
    @row(False, "Return False.")
    def is_enabled(self) -> bool: ...
    @row(lambda self: {}, "Return an empty dict.")
    def state_dict(self) -> dict[str, Any]: ...
    @row(None, "Ignore `state_dict`: there is no state.")
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the result of `optimizer.step(*args, **kwargs)`."""
        return optimizer.step(*args, **kwargs)


def _kind(function: str, device_type: Any) -> str:
    """Return a device's type from its name."""
    if not isinstance(device_type, str):
        raise TypeError(f"{function}(): argument 'device_type' (position 1) must be str, not {kind_of(device_type)}")
    return device(device_type).type


def _check_name(device_type: Any) -> None:
    """Raise ValueError for a device that isn't given as a string."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
