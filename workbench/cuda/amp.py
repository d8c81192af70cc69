"""The old names for CUDA of `amp`: each warns that it is old (torch.cuda.amp)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import amp
from ..autograd.dtypes import dtype as Dtype
from ..autograd.dtypes import float16
from ..compat.absent import refusing as _refusing
from ..errors import warn

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _say_old(name: str, now: str) -> None:
    warn(f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{now}` instead.", FutureWarning)


class autocast(amp.autocast):
    """Do the same as `amp.autocast("cuda", dtype, enabled, cache_enabled)`: here, autocast has no effect."""

    def __init__(self, enabled: bool = True, dtype: Dtype = float16, cache_enabled: bool = True) -> None:
        _say_old("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """Do the same as `amp.GradScaler("cuda")`, which is off, because there is no CUDA device.

    `init_scale`, `growth_factor`, `backoff_factor` and `growth_interval` have no effect here. With `enabled=False`,
    there is no warning that the scaler is off.
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _say_old("GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Dtype | None = None) -> Callable[..., Any]:
    """Do the same as `amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)`."""
    _say_old("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """Do the same as `amp.custom_bwd(bwd, device_type="cuda")`."""
    _say_old("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")
