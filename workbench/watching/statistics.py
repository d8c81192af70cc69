"""Statistics of the workbench's own tensors for `watch`; those of PyTorch's stand in its bridge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..trace.values import axes_beside_units


class WorkbenchStatistics:
    """Sums up the workbench's own tensors."""

    def unobserved(self) -> Any:
        """What is computed inside of it the program does not see: nothing here is an operation."""
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass

    def is_summed_up(self, thing: Any) -> bool:
        """Whether it is a tensor of numbers that have a norm."""
        return hasattr(type(thing), "_array") and thing._array.dtype.kind == "f"

    def is_of_relu(self, thing: Any) -> bool:
        """Whether a ReLU made it, a function too."""
        made = thing.grad_fn if self.is_summed_up(thing) else None
        return made is not None and made.name() == "ReluBackward0"

    def parts_of(self, model: Any) -> list[bool]:
        """Of which parameters this process has a part only: of none."""
        return [False for _ in model.parameters()]

    def is_averaged(self, model: Any) -> bool:
        """Whether processes average the gradients: none do."""
        return False

    def copies(self, tensors: Iterable[Any]) -> list[Any]:
        """The values as they are now."""
        return [tensor._array.copy() for tensor in tensors]

    def norms(self, tensors: Iterable[Any]) -> list[Any]:
        """The norm of each."""
        return [_norm(tensor._array) for tensor in tensors]

    def changes(self, tensors: Iterable[Any], before: list[Any]) -> list[Any]:
        """The norm of how far each is from what it was."""
        return [_norm(tensor._array - then) for tensor, then in zip(tensors, before, strict=True)]

    def dead_share(self, output: Any) -> Any:
        """The share of units that are zero for the whole batch; None where there is no batch."""
        values = output._array
        axes = axes_beside_units(values.ndim)
        return np.mean(values.max(axes) == 0) if axes and values.size else None

    def read(self, values: Sequence[Any]) -> list[float]:
        """The numbers."""
        return [float(each) for each in values]


def _norm(array: Any) -> Any:
    flat = array.reshape(-1)
    return np.sqrt(np.dot(flat, flat.astype(np.float32) if flat.dtype == np.float16 else flat))
