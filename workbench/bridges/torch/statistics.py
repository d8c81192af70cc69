"""Statistics of PyTorch tensors for `watch`, computed on the tensors' devices and read together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ...pictures.trace.values import axes_beside_units
from .describe import _is_wrapped, maker_of
from .operations import unobserved

_foreach_norm: Any = vars(torch)["_foreach_norm"]  # its stubs leave it out
_HALF = (torch.float16, torch.bfloat16)


class TorchStatistics:
    """Statistics of tensors as numbers that `read` reads, with one wait for each device and dtype."""

    def unobserved(self) -> Any:
        """Hide the computations inside from all modes and subclasses of the program."""
        return unobserved()

    def is_summed_up(self, thing: Any) -> bool:
        """Return True if it is a tensor of numbers that have a norm, outside any function transform."""
        takes = isinstance(thing, torch.Tensor) and (thing.is_floating_point() or thing.is_complex())
        return takes and not _is_wrapped(thing)

    def is_of_relu(self, thing: Any) -> bool:
        """Return True if a ReLU made it, as a module or as a function; asking a view may create a node."""
        made = maker_of(thing) if isinstance(thing, torch.Tensor) and thing._base is None else None
        return made is not None and made.name() == "ReluBackward0"

    def parts_of(self, model: torch.nn.Module) -> list[bool]:
        """Return for each parameter whether this process has only a part of it, as with FSDP."""
        whole = any(type(each).__name__ == "FullyShardedDataParallel" for each in model.modules())
        return [whole or _is_part(each) for each in model.parameters()]

    def is_averaged(self, model: torch.nn.Module) -> bool:
        """Return True if processes average the gradients, and each has its own before."""
        return any(isinstance(each, torch.nn.parallel.DistributedDataParallel) for each in model.modules())

    def copies(self, tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
        """Return copies of the current values."""
        return [_values(tensor).clone() for tensor in tensors]

    def norms(self, tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
        """Return the norm of each tensor, not read yet."""
        return _norms([_values(tensor) for tensor in tensors])

    def changes(self, tensors: Iterable[torch.Tensor], before: list[torch.Tensor]) -> list[torch.Tensor]:
        """Return for each tensor the norm of its change, not read yet."""
        return _norms([_values(tensor) - then for tensor, then in zip(tensors, before, strict=True)])

    def dead_share(self, output: torch.Tensor) -> torch.Tensor | None:
        """Return the share of units that are zero for the whole batch, not read yet; None without a batch."""
        values = _values(output)
        axes = axes_beside_units(values.dim())
        return (values.amax(axes) == 0).float().mean() if axes and values.numel() else None

    def read(self, values: Sequence[torch.Tensor]) -> list[float]:
        """Return the numbers."""
        found = [math.nan] * len(values)
        groups: dict[tuple[torch.device, torch.dtype], list[int]] = {}
        for at, each in enumerate(values):
            groups.setdefault((each.device, each.dtype), []).append(at)
        for places in groups.values():
            for at, number in zip(places, torch.stack([values[at] for at in places]).tolist(), strict=True):
                found[at] = number
        return found


def _norms(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    found: list[Any] = [None] * len(tensors)
    for half in (False, True):
        places = [at for at, each in enumerate(tensors) if (each.dtype in _HALF) is half]
        if places:
            given = [tensors[at] for at in places]
            norms = _foreach_norm(given, 2, torch.float32) if half else _foreach_norm(given)
            for at, norm in zip(places, norms, strict=True):
                found[at] = norm
    return found


def _is_part(tensor: torch.Tensor) -> bool:
    """Return True if other processes have other parts of it."""
    return any(not each.is_replicate() for each in getattr(tensor, "placements", ()))


def _values(tensor: torch.Tensor) -> torch.Tensor:
    """Return its numbers; for one that is spread over processes, those in this process."""
    local: Any = getattr(tensor, "to_local", None)
    plain = (tensor if local is None else local()).detach()
    return plain.coalesce().values() if plain.layout == torch.sparse_coo else plain
