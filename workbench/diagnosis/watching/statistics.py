"""Statistics of the workbench's own tensors for `watch`; the PyTorch bridge has those of PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...pictures.trace.values import axes_beside_units


class WorkbenchStatistics:
    """Statistics of the workbench's own tensors."""

    def unobserved(self) -> Any:
        """Hide the computations inside from the program: nothing here counts as an operation."""
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass

    def is_summed_up(self, thing: Any) -> bool:
        """Return True if it is a tensor of numbers that have a norm."""
        return hasattr(type(thing), "_array") and thing._array.dtype.kind == "f"

    def is_of_relu(self, thing: Any) -> bool:
        """Return True if a ReLU made it, as a module or as a function."""
        made = thing.grad_fn if self.is_summed_up(thing) else None
        return made is not None and made.name() == "ReluBackward0"

    def parts_of(self, model: Any) -> list[bool]:
        """Return for each parameter whether this process has only a part of it: False for all."""
        return [False for _ in model.parameters()]

    def is_averaged(self, model: Any) -> bool:
        """Return True if processes average the gradients; here they never do."""
        return False

    def copies(self, tensors: Iterable[Any]) -> list[Any]:
        """Return copies of the current values."""
        return [tensor._array.copy() for tensor in tensors]

    def norms(self, tensors: Iterable[Any]) -> list[Any]:
        """Return the norm of each tensor."""
        return [_norm(tensor._array) for tensor in tensors]

    def changes(self, tensors: Iterable[Any], before: list[Any]) -> list[Any]:
        """Return the norm of the difference between each tensor and its earlier copy in `before`."""
        return [_norm(tensor._array - then) for tensor, then in zip(tensors, before, strict=True)]

    def dead_share(self, output: Any) -> Any:
        """Return the share of units that are zero for the whole batch; None without a batch."""
        values = output._array
        axes = axes_beside_units(values.ndim)
        return np.mean(values.max(axes) == 0) if axes and values.size else None

    def read(self, values: Sequence[Any]) -> list[float]:
        """Return the numbers."""
        return [float(each) for each in values]


def _norm(array: Any) -> Any:
    flat = array.reshape(-1)
    return np.sqrt(np.dot(flat, flat.astype(np.float32) if flat.dtype == np.float16 else flat))
