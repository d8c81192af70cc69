"""How a tensor prints: the numbers in columns as torch prints them, then what is worth knowing about it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import dtypes
from .forward_ad import unpack_dual
from .state import local
from .tensor import Tensor, tensor_method

PRECISION, THRESHOLD, EDGE, LINE = 4, 1000, 3, 80


class _Column:
    """One width and one notation for all the numbers shown."""

    def __init__(self, array: np.ndarray) -> None:
        self.notation, measured = "{}", array
        if array.dtype.kind == "f":
            measured = array[np.isfinite(array) & (array != 0)]  # zeros and what is no number must make do
            self.notation = "{:.0f}."
            if measured.size:
                sizes = np.abs(measured.astype(np.float64))
                whole = bool(np.all(sizes == np.ceil(sizes)))
                low, high = float(sizes.min()), float(sizes.max())
                if high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4:
                    self.notation = f"{{:.{PRECISION}e}}"
                elif not whole:
                    self.notation = f"{{:.{PRECISION}f}}"
        self.width = max([len(self.notation.format(v)) for v in measured.ravel().tolist()], default=1)

    def text(self, value: Any) -> str:
        """One number, filled up from the left."""
        plain = isinstance(value, float) and not math.isfinite(value)
        return (str(value) if plain else self.notation.format(value)).rjust(self.width)


def _rows(array: np.ndarray, indent: int, column: _Column, summarise: bool) -> str:
    """Nested brackets, line by line, with the middle left out of long dimensions."""
    if not array.ndim:
        return column.text(array.item())
    cut = summarise and len(array) > 2 * EDGE
    parts = [array[:EDGE], array[-EDGE:]] if cut else [array]
    if array.ndim == 1:
        ends = [[column.text(v) for v in part.tolist()] for part in parts]
        texts = [*ends[0], " ...", *ends[1]] if cut else ends[0]
        per_line = max(1, (LINE - indent) // (column.width + 2))
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    ends = [[_rows(a, indent + 1, column, summarise) for a in part] for part in parts]
    inner = [*ends[0], "...", *ends[1]] if cut else ends[0]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(inner) + "]"


def _seen(array: np.ndarray) -> np.ndarray:
    """What is left of an array when long dimensions are cut."""
    for axis, size in enumerate(array.shape):
        if size > 2 * EDGE:
            array = np.take(array, [*range(EDGE), *range(-EDGE, 0)], axis=axis)
    return array


def _notes(t: Any) -> list[str]:
    """What is worth knowing besides the numbers."""
    notes = []
    empty = not t._array.size
    if empty and t._array.ndim != 1:
        notes.append(f"size={tuple(t._array.shape)}")
    default = dtypes.get_default_dtype()
    if t.dtype is not default and (empty or t.dtype not in (dtypes.int64, dtypes.bool_)):
        notes.append(f"dtype={t.dtype}")
    try:
        name = t.grad_fn and t.grad_fn.name().rsplit("::", 1)[-1]
    except RuntimeError:  # a view whose history a write has invalidated
        name = "Invalid"
    if name:
        notes.append(f"grad_fn=<{name}>")
    elif t.requires_grad:
        notes.append("requires_grad=True")
    if local.modes.dual is not None:
        tangent = unpack_dual(t).tangent
        if tangent is not None:
            notes.append(f"tangent={tangent}")
    return notes


@tensor_method("__repr__")
def tensor_text(t: Tensor) -> str:
    """`tensor([1., 2.], dtype=torch.float64, requires_grad=True)`."""
    array = t._array
    text, indent = "tensor(", len("tensor(")
    summarise = array.size > THRESHOLD
    text += _rows(array, indent, _Column(_seen(array) if summarise else array), summarise) if array.size else "[]"
    line = len(text) - text.rfind("\n") + 1
    for note in _notes(t):
        if line + len(note) + 2 > LINE:
            text += ",\n" + " " * indent
            line = indent + len(note)
        else:
            text += ", "
            line += len(note) + 2
        text += note
    return text + ")"
