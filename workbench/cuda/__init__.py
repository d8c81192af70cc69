"""PyTorch's CUDA functions as in a PyTorch without CUDA: there is no such device (torch.cuda)."""

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
    """Return False: tensors are always in the computer's main memory."""
    return False


def is_initialized() -> bool:
    """Return False: there is nothing to initialize."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return False: there is no such device."""
    return False


def device_count() -> int:
    """Return 0, the number of such devices."""
    return 0


def init() -> None:
    """Raise AssertionError: there is no CUDA device."""
    raise AssertionError(errors.NO_CUDA)


def synchronize(device: Any = None) -> None:
    """Raise AssertionError: there is no device to wait for."""
    init()


def current_device() -> int:
    """Raise AssertionError: there is no device in use."""
    return init()  # type: ignore[return-value]


def set_device(device: Any) -> None:
    """Raise AssertionError: there is no device to use."""
    init()


def current_stream(device: Any = None) -> Any:
    """Raise AssertionError: there is no device with a stream."""
    init()


def default_stream(device: Any = None) -> Any:
    """Raise AssertionError: there is no device with a stream."""
    init()


def get_device_name(device: Any = None) -> str:
    """Raise AssertionError: there is no device with a name."""
    return init()  # type: ignore[return-value]


def get_device_properties(device: Any = None) -> Any:
    """Raise AssertionError: there is no device with properties."""
    init()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Raise AssertionError: there is no device with instructions."""
    return init()  # type: ignore[return-value]


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Raise AssertionError: there is no device with memory, in bytes."""
    return init()  # type: ignore[return-value]


def ipc_collect() -> None:
    """Raise AssertionError: there is no device with memory of other processes."""
    init()


def empty_cache() -> None:
    """Release unused memory: there is none."""


def memory_allocated(device: Any = None) -> int:
    """Return 0 bytes: there is nothing on such a device."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """Return 0 bytes, the maximum so far."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Return 0 bytes: nothing is reserved on such a device."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """Return 0 bytes, the maximum so far."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return the counts of a device's memory: an empty dict."""
    return OrderedDict()


def manual_seed(seed: int) -> None:
    """Seed a device's random numbers; this has no effect, as it has none."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all devices; this has no effect, as there are none."""
    int(seed)


def seed() -> None:
    """Seed a device's random numbers randomly; this has no effect."""


def seed_all() -> None:
    """Seed the random numbers of all devices randomly; this has no effect."""


def initial_seed() -> int:
    """Raise AssertionError: there is no device with a seed."""
    return init()  # type: ignore[return-value]


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Raise AssertionError: there is no device with a state of random numbers, in bytes."""
    return init()  # type: ignore[return-value]


def get_rng_state_all() -> list[Tensor]:
    """Return the states of the random numbers of all devices: an empty list."""
    return []


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Restore the state of a device's random numbers; this has no effect, as it has none."""


def set_rng_state_all(new_states: Any) -> None:
    """Restore the states of the random numbers of all devices: there are none."""


class Stream:
    """A queue of a device's work: RuntimeError, as there is no device. PyTorch: torch.cuda.Stream."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A mark in a device's work: RuntimeError, as there is no device. PyTorch: torch.cuda.Event."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")
