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
    """Return False: there is no CUDA device to initialize."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return False, whatever `including_emulation` is: there is no such device."""
    return False


def device_count() -> int:
    """Return 0, the number of CUDA devices."""
    return 0


def init() -> None:
    """Raise AssertionError: there is no CUDA device."""
    raise AssertionError(errors.NO_CUDA)


def synchronize(device: Any = None) -> None:
    """Raise AssertionError: there is no CUDA device to wait for."""
    init()


def current_device() -> int:
    """Raise AssertionError: there is no CUDA device that could be the current one."""
    return init()  # type: ignore[return-value]


def set_device(device: Any) -> None:
    """Raise AssertionError: there is no CUDA device to choose."""
    init()


def current_stream(device: Any = None) -> Any:
    """Raise AssertionError: there is no CUDA device that could have a stream."""
    init()


def default_stream(device: Any = None) -> Any:
    """Raise AssertionError: there is no CUDA device that could have a stream."""
    init()


def get_device_name(device: Any = None) -> str:
    """Raise AssertionError: there is no CUDA device whose name to return."""
    return init()  # type: ignore[return-value]


def get_device_properties(device: Any = None) -> Any:
    """Raise AssertionError: there is no CUDA device whose properties to return."""
    init()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Raise AssertionError: there is no CUDA device whose capability to return."""
    return init()  # type: ignore[return-value]


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Raise AssertionError: there is no CUDA device whose free memory to return, in bytes."""
    return init()  # type: ignore[return-value]


def ipc_collect() -> None:
    """Raise AssertionError: there is no CUDA device with memory that other processes use."""
    init()


def empty_cache() -> None:
    """Do nothing: there is no CUDA device whose unused memory could be released."""


def memory_allocated(device: Any = None) -> int:
    """Return 0, the number of bytes that are allocated on a CUDA device."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """Return 0, the largest number of bytes that were allocated on a CUDA device so far."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Return 0, the number of bytes that are reserved on a CUDA device."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """Return 0, the largest number of bytes that were allocated on a CUDA device so far."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return an empty dict: there is no CUDA device with memory statistics."""
    return OrderedDict()


def manual_seed(seed: int) -> None:
    """Do nothing: there is no CUDA device whose random numbers could start from `seed`."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Do nothing: there are no CUDA devices whose random numbers could start from `seed`."""
    int(seed)


def seed() -> None:
    """Do nothing: there is no CUDA device whose random numbers could get a random seed."""


def seed_all() -> None:
    """Do nothing: there are no CUDA devices whose random numbers could get a random seed."""


def initial_seed() -> int:
    """Raise AssertionError: there is no CUDA device whose seed to return."""
    return init()  # type: ignore[return-value]


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Raise AssertionError: there is no CUDA device whose random number state to return, in bytes."""
    return init()  # type: ignore[return-value]


def get_rng_state_all() -> list[Tensor]:
    """Return an empty list: there is no CUDA device whose random number state to return."""
    return []


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Do nothing: there is no CUDA `device` whose random number state could become `new_state`."""


def set_rng_state_all(new_states: Any) -> None:
    """Do nothing: there are no CUDA devices whose random number states could become `new_states`."""


class Stream:
    """A queue of a GPU's work. Creating one raises RuntimeError: there is no GPU here. PyTorch: torch.cuda.Stream.

    In PyTorch, `device` is the GPU, and work in queues with a lower `priority` number runs first.
    """

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class Event:
    """A mark in a GPU's work. Creating one raises RuntimeError: there is no GPU here. PyTorch: torch.cuda.Event.

    In PyTorch, `enable_timing` measures times, `blocking` lets a waiting thread sleep, and `interprocess` shares the
    mark with other processes.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")
