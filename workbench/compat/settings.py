"""PyTorch settings that programs make when they start; most are stored and have no effect here."""

from __future__ import annotations

import os
from typing import Any

from ..errors import check_bool, kind_of, warn
from ..ops.core.checks import CPU, check_device, device

_threads = {"num": 0, "interop": 0}
_precision = "highest"
_deterministic = 0
MODES = {"default": 0, "warn": 1, "error": 2}


def get_default_device() -> device:
    """Return the device of tensors created without one: the CPU."""
    return CPU


def set_default_device(device: Any) -> None:
    """Set `device` as the device of new tensors: the CPU, or None for the default.

    Raises:
        AssertionError: for another device.
    """
    if device is not None:
        check_device(device)


def get_num_threads() -> int:
    """Return the number of threads that was set, otherwise the number of cores; NumPy decides how many compute."""
    return _threads["num"] or os.cpu_count() or 1


def set_num_threads(num: int) -> None:
    """Store `num` threads, which has no effect: set NumPy's threads with the environment variable OMP_NUM_THREADS."""
    _threads["num"] = _number_of("num", num)


def get_num_interop_threads() -> int:
    """Return the number that `set_num_interop_threads` stored, or the number of cores; it has no effect here."""
    return _threads["interop"] or os.cpu_count() or 1


def set_num_interop_threads(num: int) -> None:
    """Store `num` threads for running operations side by side, which has no effect."""
    _threads["interop"] = _number_of("num_interop", num)


def _number_of(which: str, given: Any) -> int:
    """Return the number of threads.

    Raises:
        RuntimeError: if it isn't a positive int.
    """
    if type(given) is not int:
        raise RuntimeError(f"set_{which}_threads expects an int, but got {kind_of(given)}")
    if given <= 0:
        raise RuntimeError(f"set_{which}_threads expects a positive integer")
    return given


def get_float32_matmul_precision() -> str:
    """Return the precision that was set for float32 products."""
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Store a precision, which has no effect: float32 products are computed in float32.

    Args:
        precision: "highest", "high" or "medium".
    """
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
    """Store whether operations must be deterministic, which has no effect: all of them are.

    Args:
        mode: True if operations must be deterministic.
        warn_only: In PyTorch, True warns instead of raising an error.
    """
    check_bool(mode, "_set_deterministic_algorithms", "mode")
    set_deterministic_debug_mode((1 if warn_only else 2) if mode else 0)


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` was set; operations are deterministic in any case."""
    return _deterministic > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` was set with `warn_only`."""
    return _deterministic == 1


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 or 2, for "default", "warn" or "error" of `set_deterministic_debug_mode`."""
    return _deterministic


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Do the same as `use_deterministic_algorithms`.

    Args:
        debug_mode: "default" or 0 (off), "warn" or 1 (warn only), or "error" or 2.
    """
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
    """Return False for any `mode`: NumPy can't replace the smallest numbers by 0, as PyTorch can on some processors."""
    return False
