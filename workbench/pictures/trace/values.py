"""What a trace remembers of an array: all of it if it is small, else a summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

LIMIT = 1000  # how many values of an array are kept unless the user says otherwise

ZEROS = "no gradient, given as zeros"  # to a Function, which by default need not ask whether there is one

_ARTICLES = ("the ", "a ", "an ", "this ", "what ", "which ")  # how words begin that are no name
_FEW_NUMBERS = 20  # characters of a gradient's numbers in a sentence: more are its norm
_LINE = 42  # characters a value may take in a box or on an arrow
_SHOWN = 6  # numbers shown there
_MESSAGE = 200  # characters of an error's message in a sentence
# A sum of squares between these two has lost nothing.
_TINY = 1e-200
_HUGE = 1e300
_PART = 8192  # values that are multiplied by themselves at once
_SMALL = 48  # values that take no more room than their summary
_vdot: Any = np.vdot
_sum: Any = np.add.reduce
_DOUBLE = np.dtype(np.float64)
_MARKED = 4096  # bytes of an array that are all read to find writes that no engine reports
_SUMMED = 1 << 16  # values of a larger one
_FEW = 8  # values that are summed up one by one sooner than by NumPy: most of what a lesson records


@dataclass(frozen=True, slots=True)
class Value:
    """An array as it was at one moment.

    `values` lists it row by row, or is None if it was larger than the limit. The first `batch` dimensions number the
    samples that a vmap runs at once. `norm` is the Euclidean norm; `min`, `max` and `mean` cover only the finite
    values, and are None if there are none.

    The number of `zeros` is None if it wasn't counted, and so is the number of units that are `off`: zero for the whole
    batch. They are counted in arrays without negative values, such as a ReLU's output.

    Of complex numbers `values` and what is computed from them are the moduli; `complex_values` lists the numbers.

    If an array couldn't be read, only shape and dtype are known: its norm is nan, and no value counts as non-finite.
    """

    shape: tuple[int, ...]
    dtype: str
    values: tuple[float | bool, ...] | None
    norm: float
    min: float | None
    max: float | None
    mean: float | None
    nonfinite: int
    batch: int = 0
    zeros: int | None = None
    off: int | None = None
    complex_values: tuple[complex, ...] | None = None

    def __post_init__(self) -> None:
        if self.values is not None and len(self.values) != math.prod(self.shape):
            raise ValueError(f"has {len(self.values)} numbers for the shape {self.shape}")

    @classmethod
    def of(cls, array: Any, limit: int = LIMIT, batch: int = 0) -> Value:
        """Return the value of an array or a NumPy scalar."""
        array = np.asarray(array)
        if array.dtype.kind == "c":
            numbers = tuple(array.ravel().tolist()) if array.size <= limit else None
            return replace(cls.of(np.abs(array), limit, batch), dtype=_name(array.dtype), complex_values=numbers)
        if 0 < array.size <= min(_FEW, limit) and math.isfinite(sum(few := array.ravel().tolist())):
            return cls(
                array.shape,
                _name(array.dtype),
                tuple(few),
                math.hypot(*few),
                float(min(few)),
                float(max(few)),
                sum(few) / len(few),
                0,
                batch,
            )
        if array.size <= limit:
            return cls(array.shape, _name(array.dtype), tuple(array.ravel().tolist()), *_summary(array), batch)
        summary = _summary(array)
        counts = (None, None) if batch else counts_of(array, summary[1], summary[2])
        return cls(array.shape, _name(array.dtype), None, *summary, batch, *counts)

    @classmethod
    def unknown(cls, shape: tuple[int, ...], dtype: str) -> Value:
        """Return the value of an array of which only shape and dtype are known."""
        return cls(shape, dtype, None, math.nan, None, None, None, 0)

    @property
    def is_known(self) -> bool:
        """True if the values are known."""
        return bool(self.nonfinite) or not math.isnan(self.norm)

    @property
    def is_complex(self) -> bool:
        """True if the array has complex numbers."""
        return self.dtype.startswith("complex")

    @property
    def numbers(self) -> tuple[complex, ...] | None:
        """The values, complex ones with both parts."""
        return self.complex_values or self.values

    @property
    def kind(self) -> str:
        """Shape and dtype: `(3,) float64`; of a batch `a batch of 5: each (3,)`."""
        if not self.batch:
            return f"{self.shape} {self.dtype}"
        sizes = " x ".join(map(str, self.shape[: self.batch]))
        return f"a batch of {sizes}: each {self.shape[self.batch :]}"

    @property
    def trouble(self) -> str:
        """Return what is wrong with the values, in words; empty if they are all finite."""
        if not self.nonfinite:
            return ""
        size = math.prod(self.shape)
        return "not finite" if size == 1 else f"{self.nonfinite} of {size} values not finite"

    def text(self, shown: int = _SHOWN, line: int = _LINE) -> str:
        """Return the values on one line with 4 significant digits; `…` replaces those left out."""
        return self._listed(shown, line) or self._summed_up(line)

    def brief(self, line: int) -> str:
        """Return the same as `text`, but a summary has 3 digits, and no mean."""
        return self._listed(_SHOWN, line) or self._summed_up(line, 3, mean=False)

    def _listed(self, shown: int, line: int) -> str:
        """Return the values, or as many as fit; empty if none do."""
        # That's `numbers`, without a call: a picture lists hundreds of values at each move of a slider.
        numbers = self.complex_values or self.values
        if numbers is None:
            return ""
        if not self.shape:
            return number(numbers[0], ".0")
        if len(numbers) <= shown and len(whole := _rows(numbers, self.shape, shown)) <= line:
            return whole
        for edge in range(min(shown, max(self.shape) - 1) - 1, 0, -1):
            count = math.prod([min(length, edge + 1) for length in self.shape])
            if count <= shown and len(part := _rows(numbers, self.shape, edge)) <= line:
                return part
        return ""

    def _summed_up(self, line: int, digits: int = 4, mean: bool = True) -> str:
        """Return the minimum, the maximum and, if requested and if there is room, the mean."""
        if self.min is None or self.max is None or self.mean is None:
            return "no finite value" if self.is_known else "values unknown"
        least, largest, middle = (number(each, digits=digits) for each in (self.min, self.max, self.mean))
        span = f"{'moduli ' if self.is_complex else ''}from {least} to {largest}"
        told = f"{span}, mean {middle}"
        return told if mean and len(told) <= line else span


def _summary(array: Any) -> tuple[float, float | None, float | None, float | None, int]:
    """Return the norm; the minimum, maximum and mean of the finite values; and the number of other values."""
    flat = array.ravel()
    if flat.dtype is not _DOUBLE:
        flat = flat.astype(_DOUBLE)
    # Unlike `dot` it never warns; of a longer part threads would be asked for, which takes longer where all are busy.
    size = flat.size
    if size <= _PART:
        squares = float(_vdot(flat, flat))
    else:
        parts = [flat[at : at + _PART] for at in range(0, size, _PART)]
        squares = sum([float(_vdot(part, part)) for part in parts])
    if _TINY < squares < _HUGE:  # then all are finite, and no square that counts is out of range
        low, high = flat.item(flat.argmin()), flat.item(flat.argmax())
        return math.sqrt(squares), low, high, float(_sum(flat)) / size, 0
    finite = flat if np.isfinite(flat).all() else flat[np.isfinite(flat)]
    others = size - finite.size
    with np.errstate(all="ignore"):
        peak = np.abs(flat).max(initial=0.0)
        # Scaled by the largest value, so that the squares of huge and tiny values stay in range.
        norm = float(peak * np.sqrt(np.square(flat / peak).sum()) if 0 < peak < np.inf else peak)
        if not finite.size:
            return norm, None, None, None, others
        return norm, float(finite.min()), float(finite.max()), float(finite.mean()), others


def distance(one: Any, other: Any) -> float:
    """Return the norm of the difference of two arrays of one shape."""
    one, other, squares = one.ravel(), other.ravel(), 0.0
    for at in range(0, one.size, _PART):
        change = one[at : at + _PART] - other[at : at + _PART]
        squares += float(_vdot(change, change).real)
    return math.sqrt(squares)


def counts_of(array: Any, low: float | None, high: float | None) -> tuple[int | None, int | None]:
    """Return how many values of an array with these ends are zero, and how many of its units are off.

    Arrays with values on both sides of 0 aren't counted: that takes half as long as the rest of the summary.
    """
    if low is None or high is None:
        return None, None
    if low > 0 or high < 0:
        return 0, None
    if low < 0 < high:
        return None, None
    zeros = int(np.count_nonzero(array == 0))
    axes = axes_beside_units(array.ndim) if low == 0 and zeros else ()
    return zeros, int(np.count_nonzero(array.max(axes) == 0)) if axes else None


def axes_beside_units(dims: int) -> tuple[int, ...]:
    """Return the dimensions of a layer's output over which each of its units gives numbers; none without a batch.

    Units are the channels of images, and the features of anything else.
    """
    unit = unit_axis(dims)
    return tuple([dim for dim in range(dims) if dim != unit])


def unit_axis(dims: int) -> int:
    """Return the dimension that numbers the units."""
    return 1 if dims > 3 else dims - 1


def mark_of(array: Any) -> Any:
    """Return a number that is another after a write into an array: of all its bytes where they are few, else a sum.

    Of a very large array the sum leaves values out.
    """
    if array.nbytes <= _MARKED:
        return hash(array.tobytes())
    flat = array.ravel("K")
    step = max(1, flat.size // _SUMMED)
    return repr(_sum(flat[::step] if step > 1 else flat).item())  # a nan is equal to no other


class Pending:
    """What is kept of a tensor on another device, and fetched on reading: nothing waits for it before."""

    __slots__ = ()

    def value(self) -> Value:
        """Return what is known of the tensor."""
        raise NotImplementedError


def kept(array: Any, limit: int) -> Any:
    """Return what a recorder keeps of an array: a copy within the limit, else a summary; `read` makes a Value of it.

    Where a copy takes no more room than a summary, it is made, as it takes less time, and summed up when it is read.
    """
    size = array.size
    if size <= limit:
        return array.copy()
    if array.dtype.kind == "c":
        return Value.of(array, limit)
    if size <= _SMALL:
        return (array.copy(),)
    summary = _summary(array)
    return array.shape, _name(array.dtype), None, *summary, 0, *counts_of(array, summary[1], summary[2])


def read(thing: Any) -> Value:
    """Return the Value of what was kept of an array."""
    if thing.__class__ is tuple:
        if len(thing) == 5:  # what lay in memory, its dtype, the limit, its shape and strides
            memory, dtype, limit, shape, strides = thing
            return Value.of(np.ndarray(shape, dtype, memory, 0, strides), limit)
        if len(thing) == 2:  # of a dtype that NumPy does not have
            return replace(Value.of(thing[0], thing[0].size), dtype=thing[1])
        return Value.of(thing[0], 0) if len(thing) == 1 else Value(*thing)
    if isinstance(thing, Value):
        return thing
    return thing.value() if isinstance(thing, Pending) else Value.of(thing, thing.size)


def value(copy: Any) -> Value | None:
    """Return the value of what was kept of an array; None is a missing gradient."""
    return None if copy is None else read(copy)


def values(copies: tuple[Any, ...]) -> tuple[Value | None, ...]:
    """Return the values of several."""
    return tuple([None if copy is None else read(copy) for copy in copies])


@cache
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name


def number(value: complex, point: str = "", digits: int = 4) -> str:
    """Return a number with `digits` significant digits; `point` follows a float that has no fraction."""
    if not isinstance(value, float):
        if isinstance(value, complex):
            real, imag = number(value.real, digits=digits), number(value.imag, digits=digits)
            return f"{real}{'' if imag.startswith('-') else '+'}{imag}j"
        return str(value)
    text = f"{value:.4g}" if digits == 4 else f"{value:.{digits}g}"  # a fixed format takes a fifth of the time
    return text + point if text.lstrip("-").isdigit() else text


def format_value(value: Value | None) -> str:
    """Return a value for a sentence, with what is wrong with it; None is a missing gradient."""
    if value is None:
        return "no gradient"
    text = value.text()
    if text.startswith("from "):
        least, largest = text.partition(",")[0].removeprefix("from ").split(" to ")
        equal = f"{'' if value.min == value.max else 'about '}{least} everywhere"
        text = equal if least == largest else f"values from {least} to {largest}"
    return f"{text} ({value.trouble})" if value.trouble else text


def gradient_said(grad: Value | None) -> str:
    """Return a gradient for a sentence: its numbers if they are few, or all the same, else its norm; what is wrong."""
    text = format_value(grad)
    if grad is None or len(text) <= _FEW_NUMBERS or not grad.norm < math.inf:
        return text
    if grad.min is not None and grad.min == grad.max and not grad.trouble and not grad.is_complex:
        return f"{number(float(grad.min), '.0')} everywhere"
    return f"norm {number(grad.norm, digits=3)}" + (f" ({grad.trouble})" if grad.trouble else "")


def code(name: str) -> str:
    """Return a name or code in backticks, except where it has them, is words such as `the loss`, or a bare `call()`."""
    is_plain = "`" in name or name.startswith(_ARTICLES) or (name.endswith("()") and name[:-2].isidentifier())
    return name if is_plain else f"`{name}`"


def begun(text: str) -> str:
    """Return a text with a capital first letter, for the start of a sentence; a `call()` stays as it is written."""
    return text if text.partition(" ")[0].rstrip(",").endswith("()") else text[:1].upper() + text[1:]


def series(words: Sequence[str]) -> str:
    """Words as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _rows(values: Sequence[complex], shape: Sequence[int], edge: int) -> str:
    """Return an array's values in brackets, with `edge` items at the start of each axis and one at the end."""
    length, *inner = shape
    if inner:
        size = math.prod(inner)
        items = [_rows(values[n * size : (n + 1) * size], inner, edge) for n in _ends(length, edge)]
    else:
        items = [number(values[n], ".") for n in _ends(length, edge)]
    if length > edge + 1:
        items.insert(edge, "…")
    return f"[{' '.join(items)}]"


def _ends(length: int, edge: int) -> Sequence[int]:
    """Return the indices of `edge` items at the start of an axis and of one at its end."""
    return range(length) if length <= edge + 1 else [*range(edge), length - 1]


def shortened(text: str, most: int = _MESSAGE) -> str:
    """Return the first line of a text, with at most `most` characters; `…` replaces what is left out."""
    first, *more = text.strip().split("\n")
    if len(first) > most:
        return first[: most - 1] + "…"
    return f"{first} …" if more else first
