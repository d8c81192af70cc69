"""How a tensor prints: the numbers in columns as torch prints them, then what is worth knowing about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes

PRECISION, THRESHOLD, EDGE, LINE = 4, 1000, 3, 80


def _formatter(array: np.ndarray) -> Callable[[Any], str]:
    """One width and one notation for all the numbers shown."""
    if array.dtype.kind != "f":
        texts = [str(v) for v in array.ravel().tolist()]
        width = max(map(len, texts), default=0)
        return lambda v: str(v).rjust(width)
    finite = np.abs(array[np.isfinite(array) & (array != 0)].astype(np.float64))
    whole = bool(np.all(finite == np.ceil(finite)))
    if not finite.size:
        notation = "{:.0f}."
    else:
        low, high = float(finite.min()), float(finite.max())
        wide = high / low > 1000.0 or high > 1.0e8 or (not whole and low < 1.0e-4)
        if wide:
            notation = "{:.4e}"
        else:
            notation = "{:.0f}." if whole else "{:.4f}"

    def text(v: float) -> str:
        return notation.format(v) if math.isfinite(v) else "nan" if v != v else "inf" if v > 0 else "-inf"

    width = max((len(text(v)) for v in array.ravel().tolist()), default=0)
    return lambda v: text(v).rjust(width)


def _rows(values: Any, array: np.ndarray, indent: int, show: Callable[[Any], str], summarise: bool) -> str:
    """Nested brackets, line by line, with the middle left out of long dimensions."""
    if not array.ndim:
        return show(values)
    cut = summarise and len(values) > 2 * EDGE
    parts = [*values[:EDGE], None, *values[-EDGE:]] if cut else list(values)
    arrays = [*array[:EDGE], None, *array[-EDGE:]] if cut else list(array)
    if array.ndim == 1:
        texts = [" ..." if p is None else show(p) for p in parts]
        per_line = max(1, (LINE - indent) // (len(texts[0]) + 2)) if texts else 1
        lines = [texts[i : i + per_line] for i in range(0, len(texts), per_line)] or [[]]
        return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"
    inner = [
        "..." if p is None else _rows(p, a, indent + 1, show, summarise) for p, a in zip(parts, arrays, strict=True)
    ]
    return "[" + (",\n" * (array.ndim - 1) + " " * (indent + 1)).join(inner) + "]"


def tensor_text(t: Any) -> str:
    """`tensor([1., 2.], dtype=torch.float64, requires_grad=True)`."""
    array = t._array
    prefix = "tensor("
    if not array.size:
        body = "[]"
    else:
        summarise = array.size > THRESHOLD
        shown = array
        if summarise:
            for axis in range(array.ndim):
                if array.shape[axis] > 2 * EDGE:
                    keep = [*range(EDGE), *range(-EDGE, 0)]
                    shown = np.take(shown, keep, axis=axis)
        body = _rows(array.tolist(), array, len(prefix), _formatter(shown), summarise)
    notes = []
    if not array.size and array.ndim != 1:
        notes.append(f"size={tuple(array.shape)}")
    expected = (dtypes.get_default_dtype(), dtypes.int64, dtypes.bool_)
    if t.dtype not in expected or (not array.size and t.dtype is not expected[0]):
        notes.append(f"dtype={t.dtype}")
    fn = t.grad_fn
    if fn is not None:
        notes.append(f"grad_fn=<{fn.name().removeprefix('torch::autograd::')}>")
    elif t.requires_grad:
        notes.append("requires_grad=True")
    text = prefix + ", ".join([body, *notes]) + ")"
    last = text.rfind("\n") + 1
    if notes and len(text) - last > LINE:  # too long for one line: the notes go on lines of their own
        lines, line = [], text[last:].split(", " + notes[0])[0]
        for note in notes:
            if len(line) + len(note) + 3 > LINE:
                lines.append(line)
                line = " " * len(prefix) + note
            else:
                line += ", " + note
        text = text[:last] + ",\n".join([*lines, line]) + ")"
    return text
