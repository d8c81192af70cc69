"""Settings of PyTorch's that programs make at their start; most are kept and change nothing here."""

from __future__ import annotations

import os
from typing import Any

from .errors import check_bool, kind_of, warn
from .ops.core.checks import CPU, check_device, device

_threads = {"num": 0, "interop": 0}
_precision = "highest"
_deterministic = 0
MODES = {"default": 0, "warn": 1, "error": 2}


def get_default_device() -> device:
    """The device of tensors for which none is named: the cpu."""
    return CPU


def set_default_device(device: Any) -> None:
    """Make tensors on a device from now on; AssertionError unless it is the cpu, or None for what it was."""
    if device is not None:
        check_device(device)


def get_num_threads() -> int:
    """How many threads were asked for, else how many cores there are; NumPy decides how many compute."""
    return _threads["num"] or os.cpu_count() or 1


def set_num_threads(num: int) -> None:
    """Keep a number of threads, which changes nothing: NumPy's threads are set by the variable OMP_NUM_THREADS."""
    _threads["num"] = _number_of("num", num)


def get_num_interop_threads() -> int:
    """How many threads between operations were asked for, else how many cores there are: operations run in one."""
    return _threads["interop"] or os.cpu_count() or 1


def set_num_interop_threads(num: int) -> None:
    """Keep a number of threads between operations, which changes nothing."""
    _threads["interop"] = _number_of("num_interop", num)


def _number_of(which: str, given: Any) -> int:
    """The number of threads; RuntimeError unless it is one."""
    if type(given) is not int:
        raise RuntimeError(f"set_{which}_threads expects an int, but got {kind_of(given)}")
    if given <= 0:
        raise RuntimeError(f"set_{which}_threads expects a positive integer")
    return given


def get_float32_matmul_precision() -> str:
    """How exactly products of float32 were asked to be computed."""
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Keep "highest", "high" or "medium", which changes nothing: products of float32 are computed in float32."""
    global _precision
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {kind_of(precision)}")
    if precision not in ("highest", "high", "medium"):
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect."
        )
        return
    _precision = precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Keep whether every operation is to give the same each time, which changes nothing: every one does."""
    check_bool(mode, "_set_deterministic_algorithms", "mode")
    set_deterministic_debug_mode((1 if warn_only else 2) if mode else 0)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was asked for; operations give the same each time in any case."""
    return _deterministic > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was asked for with `warn_only`."""
    return _deterministic == 1


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: the same as "default", "warn" or "error" of `set_deterministic_debug_mode`."""
    return _deterministic


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same as `use_deterministic_algorithms`, by "default", "warn" or "error", or by 0, 1 or 2."""
    global _deterministic
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = MODES[debug_mode]
    if debug_mode not in MODES.values():
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _deterministic = debug_mode


def set_flush_denormal(mode: bool) -> bool:
    """False: NumPy cannot be told to take the smallest numbers for 0, as PyTorch can on some processors."""
    return False
