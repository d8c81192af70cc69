"""Other engines in the workbench's own records: programs of theirs give the same traces and pictures."""

from __future__ import annotations

import sys
from typing import Any


def is_of_torch(thing: Any) -> bool:
    """Whether it is a tensor of PyTorch's; PyTorch is not loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, getattr(torch, "Tensor", ()))
