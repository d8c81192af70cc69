"""Other engines in the workbench's own records: programs of theirs give the same traces and pictures."""

from __future__ import annotations

import sys
from typing import Any

# The sentences of this part's errors and warnings.
NO_TORCH = 'PyTorch is not installed: pip install "autograd-workbench[torch]" brings it.'
TOO_OLD = "The workbench records PyTorch from {} on, and this is {}."
NO_NUMBERS = "The stepper takes no numbers of a tensor of {}: what it puts in are real floating-point gradients."
NOT_RUN = "PyTorch has not run {}."
WRONG_VALUES = 'values= is "seen" (what operations return) or "all", and not {!r}.'
LOST = "The recording lost {}: {}: {}"


def is_of_torch(thing: Any) -> bool:
    """Whether it is a tensor of PyTorch's; PyTorch is not loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, getattr(torch, "Tensor", ()))
