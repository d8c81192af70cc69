"""A module over several devices: the workbench has only one (torch.nn.parallel)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ..compat.absent import fill
from .modules.module import Module


class DataParallel(Module):
    """Call `module` on the CPU. PyTorch splits the batch over GPUs; without a GPU it also only calls the module.

    The names in the state start with "module.", as in PyTorch, so that its checkpoints can be loaded.

    Args:
        module: The module to call.
        device_ids: No effect here. In PyTorch, the GPUs to use.
        output_device: No effect here. In PyTorch, the GPU for the results.
        dim: No effect here. In PyTorch, the dimension along which the batch is split.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the result of the module."""
        return self.module(*inputs, **kwargs)


__all__ = ["DataParallel"]
fill(sys.modules[__name__])
