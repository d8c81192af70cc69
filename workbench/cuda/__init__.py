"""PyTorch's CUDA functions as in a PyTorch without CUDA: there is no such device (torch.cuda)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .. import errors
from ..autograd.tensor import Tensor
from ..compat.absent import refusing as _refusing
from ..compat.tables import public as _public
from ..compat.tables import row as _row

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence


def _no_device(*args: Any, **options: Any) -> None:
    raise AssertionError(errors.NO_CUDA)


def manual_seed(seed: int) -> None:
    """Do nothing: there is no CUDA device whose random numbers could start from `seed`."""
    int(seed)


@_row(False, "Return False: tensors are always in the computer's main memory.")
def is_available() -> bool: ...
@_row(False, "Return False: there is no CUDA device to initialize.")
def is_initialized() -> bool: ...
@_row(False, "Return False, whatever `including_emulation` is: there is no such device.")
def is_bf16_supported(including_emulation: bool = True) -> bool: ...
@_row(0, "Return 0, the number of CUDA devices.")
def device_count() -> int: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device.")
def init() -> None: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device to wait for.")
def synchronize(device: Any = None) -> None: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device that could be the current one.")
def current_device() -> int: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device to choose.")
def set_device(device: Any) -> None: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device that could have a stream.")
def current_stream(device: Any = None) -> Any: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device that could have a stream.")
def default_stream(device: Any = None) -> Any: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device whose name to return.")
def get_device_name(device: Any = None) -> str: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device whose properties to return.")
def get_device_properties(device: Any = None) -> Any: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device whose capability to return.")
def get_device_capability(device: Any = None) -> tuple[int, int]: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device whose free memory to return, in bytes.")
def mem_get_info(device: Any = None) -> tuple[int, int]: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device with memory that other processes use.")
def ipc_collect() -> None: ...
@_row(None, "Do nothing: there is no CUDA device whose unused memory could be released.")
def empty_cache() -> None: ...
@_row(0, "Return 0, the number of bytes that are allocated on a CUDA device.")
def memory_allocated(device: Any = None) -> int: ...
@_row(0, "Return 0, the largest number of bytes that were allocated on a CUDA device so far.")
def max_memory_allocated(device: Any = None) -> int: ...
@_row(0, "Return 0, the number of bytes that are reserved on a CUDA device.")
def memory_reserved(device: Any = None) -> int: ...
@_row(0, "Return 0, the largest number of bytes that were allocated on a CUDA device so far.")
def max_memory_reserved(device: Any = None) -> int: ...
@_row(lambda device=None: OrderedDict(), "Return an empty dict: there is no CUDA device with memory statistics.")
def memory_stats(device: Any = None) -> dict[str, Any]: ...
@_row(manual_seed, "Do nothing: there are no CUDA devices whose random numbers could start from `seed`.")
def manual_seed_all(seed: int) -> None: ...
@_row(None, "Do nothing: there is no CUDA device whose random numbers could get a random seed.")
def seed() -> None: ...
@_row(None, "Do nothing: there are no CUDA devices whose random numbers could get a random seed.")
def seed_all() -> None: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device whose seed to return.")
def initial_seed() -> int: ...
@_row(_no_device, "Raise AssertionError: there is no CUDA device whose random number state to return, in bytes.")
def get_rng_state(device: Any = "cuda") -> Tensor: ...
@_row(lambda: [], "Return an empty list: there is no CUDA device whose random number state to return.")
def get_rng_state_all() -> list[Tensor]: ...
@_row(None, "Do nothing: there is no CUDA `device` whose random number state could become `new_state`.")
def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None: ...
@_row(None, "Do nothing: there are no CUDA devices whose random number states could become `new_states`.")
def set_rng_state_all(new_states: Any) -> None: ...


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


__all__ = _public(__name__)
