"""What a tensor has besides its array: a shape that prints itself, a version counter, its rarer facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from . import state

if TYPE_CHECKING:
    from .node import Node
    from .tensor import Tensor


class Storage:
    """The version counter of one piece of memory."""

    __slots__ = ("version", "__weakref__")

    def __init__(self) -> None:
        self.version = 0


class Uncounted(Storage):
    """Stands for the version counter that inference tensors do not have: writing outside inference mode is refused."""

    __slots__ = ()

    def __init__(self) -> None:
        pass

    @property
    def version(self) -> int:
        """Nobody counts."""
        return 0

    @version.setter
    def version(self, value: int) -> None:
        if not state.local.modes.inference:
            raise RuntimeError(errors.INFERENCE_WRITE)


class Meta:
    """What only some tensors have; the class attributes are what the others have."""

    accumulator: Any = None  # weak reference to a leaf's AccumulateGrad
    grad: Tensor | None = None
    grad_dtype: Any = "own"  # what `grad` must have, if another dtype than the tensor's was set; None for any
    extra: Any = None  # a leaf's hooks, shared with its accumulators
    post_accumulate: dict[int, Any] | None = None  # a leaf's hooks that run after accumulation
    retains_grad: bool = False
    base: Tensor | None = None  # the tensor this one is a view of: always the root
    view_fn: Node | None = None  # a differentiable view's node: asked for through `grad_fn` only
    creation: str = "default"  # how a view came to be: "default", "no_grad", "custom", "multi_output"
    attr_version: int = 0  # the version for which view_fn is right
    tangent: Tensor | None = None  # of a dual tensor
    view_tangent: bool = True  # whether the tangent of a view's base is also its own


class Size(tuple):
    """A shape: a tuple of ints that prints as torch.Size does; its parts and sums are shapes too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple.__add__(self, other))

    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return int(np.prod(self, dtype=np.int64))
