"""Devices, of which there is one: programs name it, and hear so where they name another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.tensor import Tensor
from .out import into

TYPES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device:
    """Where a tensor's memory is: device("cpu")."""

    __slots__ = ("type", "index")

    def __init__(self, type: str | device, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        kind, _, number = type.partition(":")
        if kind not in TYPES.split(", "):
            raise RuntimeError(f"Expected one of {TYPES} device type at start of device string: {type}")
        self.type, self.index = kind, int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + ("" if self.index is None else f", index={self.index}") + ")"


CPU = device("cpu")


def check_device(given: Any) -> None:
    """AssertionError for another device than the one there is."""
    kind = device(given).type
    if kind == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    if kind != "cpu":
        raise AssertionError(f"the workbench computes on the cpu alone: leave device={kind!r} out")


FILLERS = ("arange", "empty", "eye", "full", "linspace", "ones", "rand", "randn", "zeros")


def _filled(out: Any, make: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What is made, written into `out` where that is a tensor, in its dtype."""
    if out is None:
        return make(*args, **options)
    if isinstance(out, Tensor):
        options.setdefault("dtype", out.dtype)
    return into(f"aten::{make.__name__}", out, make, *args, **options)


def placed(make: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: let a function that makes tensors take `device`."""

    @functools.wraps(make)
    def made(*args: Any, device: Any = None, **options: Any) -> Any:
        if device is not None:
            check_device(device)
        if "out" in options and make.__name__ in FILLERS:
            return _filled(options.pop("out"), make, args, options)
        return make(*args, **options)

    return made
