"""What a PyTorch without CUDA says of it: there is no such device (torch.cuda)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .. import errors
from ..absent import refusal as _refusal
from ..autograd.tensor import Tensor

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "synchronize",
]


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(".amp", __name__)
    raise _refusal(f"module {__name__!r}", "torch.cuda", name)


def is_available() -> bool:
    """False: tensors are always in the computer's own memory."""
    return False


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no device that could."""
    return False


def device_count() -> int:
    """0: how many such devices there are."""
    return 0


def init() -> None:
    """AssertionError: there is no such device, as all functions say that need one."""
    raise AssertionError(errors.NO_CUDA)


def synchronize(device: Any = None) -> None:
    """Wait for a device; AssertionError, as there is none."""
    init()


def current_device() -> int:
    """The number of the device in use; AssertionError, as there is none."""
    return init()  # type: ignore[return-value]


def set_device(device: Any) -> None:
    """Use a device; AssertionError, as there is none."""
    init()


def current_stream(device: Any = None) -> Any:
    """The stream in use; AssertionError, as there is no device."""
    init()


def default_stream(device: Any = None) -> Any:
    """A device's own stream; AssertionError, as there is none."""
    init()


def get_device_name(device: Any = None) -> str:
    """What a device is called; AssertionError, as there is none."""
    return init()  # type: ignore[return-value]


def get_device_properties(device: Any = None) -> Any:
    """What a device can do; AssertionError, as there is none."""
    init()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Which instructions a device has; AssertionError, as there is none."""
    return init()  # type: ignore[return-value]


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """How much memory of a device is free, and how much it has; AssertionError, as there is none."""
    return init()  # type: ignore[return-value]


def ipc_collect() -> None:
    """Let go memory that other processes have left; AssertionError, as there is no device."""
    init()


def empty_cache() -> None:
    """Give back memory that is not in use: there is none."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes: nothing is on such a device."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0 bytes, at any time."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0 bytes: nothing is kept for such a device."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0 bytes were ever kept."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Counts of a device's memory: none."""
    return OrderedDict()


def manual_seed(seed: int) -> None:
    """Begin a device's random numbers anew: nothing is done, as it has none."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Begin the random numbers of all devices anew: nothing is done, as there are none."""
    int(seed)


def seed() -> None:
    """Begin a device's random numbers by chance: nothing is done."""


def seed_all() -> None:
    """Begin the random numbers of all devices by chance: nothing is done."""


def initial_seed() -> int:
    """How a device's random numbers began; AssertionError, as there is none."""
    return init()  # type: ignore[return-value]


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Where a device's random numbers are, in bytes; AssertionError, as there is none."""
    return init()  # type: ignore[return-value]


def get_rng_state_all() -> list[Tensor]:
    """Where the random numbers of all devices are: an empty list."""
    return []


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Go back to where a device's random numbers were: nothing is done, as it has none."""


def set_rng_state_all(new_states: Any) -> None:
    """Go back to where the random numbers of all devices were: there are none."""


class Stream:
    """A queue of a device's work; RuntimeError, as there is no device. Source: torch.cuda.Stream."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A mark in a device's work; RuntimeError, as there is no device. Source: torch.cuda.Event."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")
