"""Switches of cuDNN; they can be set, and have no effect (torch.backends.cudnn)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..compat.tables import row as _row

__all__ = ["flags", "is_available", "version"]
enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


@_row(False, "Return False: there is no CUDA device.")
def is_available() -> bool: ...
@_row(None, "Return None: the workbench doesn't use cuDNN.")
def version() -> int | None: ...


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the switches inside a `with` block, and restore them afterward.

    `enabled`, `benchmark`, `benchmark_limit`, `deterministic` and `allow_tf32` are only stored: the workbench doesn't
    use cuDNN.
    """
    given = {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit}
    given |= {"deterministic": deterministic, "allow_tf32": allow_tf32}
    switches = vars(sys.modules[__name__])
    before = {name: switches[name] for name in given}
    switches.update(given)
    try:
        yield
    finally:
        switches.update(before)
