"""Whether two recorded arrays are equal within a tolerance, and where they are apart if not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...pictures.trace.values import Value

# By dtype, relative to the largest value of the arrays: how far apart the results of one operation may be that is
# given exactly the same, and those of operations that are given rounded values.
ONCE = {"float64": 1e-9, "float32": 1e-5, "float16": 5e-3, "bfloat16": 4e-2, "float8": 0.25}
ROUNDED = {"float64": 1e-8, "float32": 1e-4, "float16": 2e-2, "bfloat16": 0.1, "float8": 0.5}
_EPS = {"float64": 2.3e-16, "float32": 1.2e-7, "float16": 9.8e-4, "bfloat16": 7.9e-3, "float8": 0.125}
_SUMMED = 32  # rounding errors of what a sum adds up that it may be off by
CARRIED = 4  # how often the error of what it adds up


@cache
def _known(dtype: str) -> str:
    dtype = dtype.replace("complex64", "float32").replace("complex128", "float64")
    return next((name for name in ONCE if dtype.startswith(name)), "")


def coarsest(dtypes: Iterable[str]) -> str:
    """Return the dtype with the lowest precision; integers have no rounding."""
    return max(dtypes, key=lambda each: ONCE.get(_known(each), 0.0), default="")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What counts as equal: `|a - b| <= atol + rtol * max(|a|, |b|)`.

    Without `rtol`, it is that of the dtype with the lower precision; what is computed from rounded values has a larger
    one, that of the dtype `whole`, the coarsest of both runs. Without `atol`, it is `rtol` times the largest magnitude
    in both arrays, so that it fits gradients of any size.
    """

    rtol: float | None = None
    atol: float | None = None
    whole: str = ""

    def of(self, one: str, two: str, given: float = 0.0) -> float:
        """Return the relative tolerance for two dtypes, of a result whose inputs are this far apart."""
        if self.rtol is not None:
            return self.rtol
        own = coarsest((one, two))
        if _known(own) == "":
            return 0.0
        return ROUNDED.get(_known(coarsest((own, self.whole))), 0.0) if given else ONCE[_known(own)]

    def slack(self, one: str, two: str) -> float:
        """Return the part of what was summed that a sum may be off by."""
        return 0.0 if self.rtol == 0 else min(_SUMMED * _EPS.get(_known(coarsest((one, two))), 0.0), 0.05)

    @property
    def is_exact(self) -> bool:
        """True if nothing but equal values is equal."""
        return self.rtol == 0 and not self.atol

    def text(self, dtype: str, given: float = 0.0) -> str:
        """Return it in words: `within 1e-05 of the largest value (float32)`."""
        if self.is_exact:
            return "bit by bit"
        whose = "" if self.rtol is not None or not dtype else f" ({coarsest((dtype, self.whole)) if given else dtype})"
        told = f"{self.of(dtype, dtype, given):g}"
        if self.atol is None:
            return f"within {told} of the largest value{whose}"
        return f"within rtol {told}{whose} and atol {self.atol:g}"


@dataclass(frozen=True, slots=True)
class Apart:
    """How two arrays differ: in "shape", in their "values", in their "summary", or "missing" on one side.

    `index` is the first element that differs, with its values on both sides. `largest` is the largest difference, of
    elements or of the norms.
    """

    kind: str
    index: tuple[int, ...] | None = None
    pair: tuple[complex, complex] | None = None
    largest: float = math.nan
    count: int = 0
    size: int = 0

    @property
    def told(self) -> str:
        """Return the first element and the largest difference in words."""
        most = f"largest difference {self.largest:.3g}" if math.isfinite(self.largest) else ""
        if self.index is None or self.pair is None:
            return f"the norms differ by {self.largest:.3g}" if self.kind == "summary" and most else ""
        told = "{:.4g} and {:.4g}" if f"{self.pair[0]:.4g}" != f"{self.pair[1]:.4g}" else "{:.9g} and {:.9g}"
        if not self.index:
            return f"{told.format(*self.pair)}; {most}".removesuffix("; ")
        where = f"first difference at [{', '.join(map(str, self.index))}]: {told.format(*self.pair)}"
        return "; ".join([part for part in (where, f"{self.count:,} of {self.size:,} differ", most) if part])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a comparison gave: how the values are `apart`, if they are, and the `share` of the largest value by which.

    The share is 0 for equal values, and inf where one is not finite or missing. If they are unknown, so is all else.
    The `gap` is the largest difference of values that are equal but for rounding; what is apart has none.
    """

    share: float = 0.0
    apart: Apart | None = None
    is_unknown: bool = False
    gap: float = 0.0

    @property
    def is_exact(self) -> bool:
        """True if the values are known to be the same."""
        return self.share == 0 and self.apart is None and not self.is_unknown


EXACT = Outcome()
UNKNOWN = Outcome(is_unknown=True)


def compared(
    one: Value | None,
    two: Value | None,
    tolerance: Tolerance,
    given: float = 0.0,
    scale: float = 0.0,
    carried: float = 0.0,
) -> Outcome:
    """Compare two values: results whose inputs are `given` with this share of their size apart.

    If they are sums, `scale` is the magnitude of what was added up, whose rounding errors they have. `carried` is
    how far apart the results may be because the inputs are.
    """
    if one is None or two is None:
        return EXACT if one is two else Outcome(math.inf, Apart("missing"))
    if one.shape != two.shape:
        return Outcome(math.inf, Apart("shape"))
    if one.numbers is not None and one.numbers == two.numbers:
        return EXACT
    if not (one.is_known and two.is_known):
        return UNKNOWN
    rtol = tolerance.of(one.dtype, two.dtype, given)
    largest = max(largest_of(one), largest_of(two))
    least = rtol * largest if tolerance.atol is None else tolerance.atol
    if math.isfinite(scale) and tolerance.rtol != 0:
        least = max(least, tolerance.slack(one.dtype, two.dtype) * scale + carried)
    size = max(largest, scale if math.isfinite(scale) else 0.0)
    if one.values is not None and two.values is not None:
        return _elements(one, two, rtol, least, size)
    return _summaries(one, two, rtol, least + rtol * largest, size)


def _elements(one: Value, two: Value, rtol: float, least: float, largest: float) -> Outcome:
    kind = complex if one.is_complex or two.is_complex else float
    a, b = (np.array(each.numbers, dtype=kind) for each in (one, two))
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if same.all():
            return EXACT
        finite = np.isfinite(a) & np.isfinite(b)
        difference = np.abs(a - b)
        close = same | (finite & (difference <= least + rtol * np.maximum(np.abs(a), np.abs(b))))
        most = math.inf if not (finite | same).all() else float(np.where(same, 0.0, difference).max())
        share = most / largest if largest else math.inf
        if close.all():
            return Outcome(share, gap=most)
        at = int(np.argmin(close))
    index = tuple(int(each) for each in np.unravel_index(at, one.shape)) if one.shape else ()
    count = int(np.count_nonzero(~close))
    return Outcome(share, Apart("values", index, (a[at].item(), b[at].item()), most, count, a.size))


def _summaries(one: Value, two: Value, rtol: float, room: float, largest: float) -> Outcome:
    """Compare norm, mean, min, max and the number of values that aren't finite.

    What is close element by element is close here: a norm sums the errors of all elements, a mean averages them.
    """
    size = math.prod(one.shape)
    whole = max(one.norm, two.norm)
    whole = whole if math.isfinite(whole) else 0.0
    spread = rtol * whole / math.sqrt(size)
    rows: list[tuple[float | None, float | None, float]] = [
        (one.nonfinite, two.nonfinite, 0.0),
        (one.norm, two.norm, rtol * whole + room * math.sqrt(size)),
        (one.mean, two.mean, room + spread),
        (one.min, two.min, room),
        (one.max, two.max, room),
    ]
    if all(_same(a, b) for a, b, _ in rows):
        return EXACT
    gaps = [abs(a - b) for a, b, _ in rows[2:] if a is not None and b is not None]
    share = max(gaps, default=math.inf) / largest if largest else math.inf
    gap = abs(one.norm - two.norm)
    parted = gap / whole if whole else 0.0
    share = max(share, parted) if math.isfinite(gap) else math.inf
    if all(_same(a, b) or (a is not None and b is not None and abs(a - b) <= most) for a, b, most in rows):
        return Outcome(share, gap=max([*gaps, parted * max(largest_of(one), largest_of(two))]))
    return Outcome(share, Apart("summary", largest=gap, size=size))


def _same(a: float | None, b: float | None) -> bool:
    return a == b or (a is not None and b is not None and math.isnan(a) and math.isnan(b))


def largest_of(value: Value | None) -> float:
    """Return the largest finite magnitude of an array; 0 if there is none."""
    if value is None or value.min is None or value.max is None:
        return 0.0
    return max(abs(value.min), abs(value.max))


def factor_of(value: Value | None) -> float:
    """Return the largest magnitude that an operand may multiply by: none of integers, which mostly are indices."""
    return largest_of(value) if value is not None and _known(value.dtype) else 0.0
