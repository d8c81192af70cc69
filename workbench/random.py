"""The state of the random numbers of functions called without a generator (torch.random)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .compat.absent import refusing
from .ops.creation import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__getattr__ = refusing(__name__)  # refuses absent names by a sentence

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str | None = None
) -> Iterator[None]:
    """Restore the random number state at the end of a `with` block, or of a call of a decorated function.

    Args:
        devices: Must be empty or None: there is no GPU whose state to restore.
        enabled: If False, the state isn't restored.
        device_type: No effect here. In PyTorch, the type of `devices`.

    Raises:
        AssertionError: for a device other than the CPU.
    """
    if not enabled:
        yield
        return
    if devices is not None and [*devices]:
        from .cuda import init

        init()
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
