"""Whether two plain values are the same, floats up to rounding."""

from __future__ import annotations

import math
from typing import Any

# Some rounding steps of each dtype; a plain Python float may have been a float32.
TOLERANCE = {"torch.float64": 1e-11, "torch.float32": 2e-6, "torch.float16": 2e-3}


def dtype_of(value: Any) -> str | None:
    """The dtype of a plain value that stands for a tensor; None of any other."""
    is_tensor = isinstance(value, (tuple, list)) and len(value) == 3 and value[0] == "tensor"
    return value[1][0] if is_tensor and isinstance(value[1], (tuple, list)) and value[1] else None


def difference(ours: Any, theirs: Any, where: str, tolerance: float = TOLERANCE["torch.float32"]) -> str | None:
    """Where two plain values differ, and how; None where they do not."""
    if isinstance(ours, (tuple, list)) and isinstance(theirs, (tuple, list)) and len(ours) == len(theirs):
        if (dtype := dtype_of(ours)) is not None:
            tolerance = TOLERANCE.get(dtype, 0)
        parts = enumerate(zip(ours, theirs, strict=True))
        return next((d for i, (a, b) in parts if (d := difference(a, b, f"{where}[{i}]", tolerance))), None)
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return next((d for k in ours if (d := difference(ours[k], theirs[k], f"{where}[{k!r}]", tolerance))), None)
    if type(ours) is type(theirs):
        if isinstance(ours, float):
            close = math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance)
            if close or (ours != ours and theirs != theirs):
                return None
        elif ours == theirs:
            return None
    return f"{where}: the workbench has\n{ours!r}\nand torch has\n{theirs!r}"
