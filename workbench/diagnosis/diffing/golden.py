"""Goldens: the figures of a trace in a small file, and what moved since it was written."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from ...pictures.trace.alignment import opcodes
from ...pictures.trace.timeline import Timeline
from ...pictures.trace.values import Value, number
from ..health.finding import plural
from .closeness import Tolerance, compared, largest_of
from .origins import VIEWS
from .run import RecordedRun
from .words import called

FORMAT = "workbench-golden"
VERSION = 1
_DIGITS = {"float64": 10, "float32": 7}  # significant digits of a figure in a file; of other dtypes 5
_ROUNDED = {"float64": 7, "float32": 4}  # digits of a value, relative to the largest, that its hash is of; else 1
_TOLERANCE = Tolerance()
_ANGLE = 2.399963  # radians between the weights of neighbors in `mixed`
_CANCELED = 1e3  # how much smaller than what was summed a sum is if that is stored
_MOST_ROWS = 1_000_000
_MOST_SHOWN = 6  # rows that moved in a message
NOT_A_GOLDEN = "it isn't a golden of the workbench: {}"


@dataclass(frozen=True, slots=True)
class GoldenRow:
    """The figures of one result of an operation, or of one gradient in a leaf's `.grad`.

    `mixed` is a sum of the values with different weights, which tells two orders of the same values apart. `hash` is
    of the rounded values. Both are empty if the recording had no values. `scale` is the magnitude of what a sum that
    almost canceled was made of.
    """

    what: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    norm: float
    mean: float | None
    min: float | None
    max: float | None
    nonfinite: int = 0
    mixed: float | None = None
    scale: float = 0.0
    hash: str = ""

    @property
    def value(self) -> Value:
        """Return it as the value of an array."""
        figures = (self.norm, self.min, self.max, self.mean, self.nonfinite)
        return Value(self.shape, self.dtype, None, *figures)

    @property
    def told(self) -> str:
        """Return what it is of."""
        return self.name if self.what == "operation" else f"the gradient of {self.name}"


def rows_of(trace: Timeline) -> list[GoldenRow]:
    """Return the figures of a trace: of each operation in order, and of each gradient when it is added.

    Views are left out: not every engine tells their values, which others have.
    """
    run = RecordedRun(trace)
    rows: list[GoldenRow] = []
    for moment in run.moments:
        id = moment.id
        if moment.kind == "operation" and run.names[id].partition("Backward")[0] not in VIEWS:
            name = called(run, id).replace("`", "")
            for nr, value in sorted(run.outputs.get(id, {}).items()):
                if value.is_known:
                    rows.append(_row("operation", name + (f" (output {nr})" if nr else ""), value, 0.0))
        elif moment.kind == "grad" and (grad := run.grads[id][moment.count]) is not None:
            rows.append(_gradient(run, id, grad))
    return rows + gradients_of(run)


def gradients_of(run: RecordedRun) -> list[GoldenRow]:
    """Return the figures of the gradients that were handed to the caller."""
    found = [(each.id, run.captured[each.id][each.count][1]) for each in run.moments if each.kind == "captured"]
    return [_gradient(run, id, grad) for id, grad in found if grad is not None]


def loss_row(loss: Value) -> GoldenRow:
    """Return the figures of a loss."""
    return _row("operation", "the loss", loss, 0.0)


def _gradient(run: RecordedRun, id: str, grad: Value) -> GoldenRow:
    sent = [largest_of(each) for user in run.users.get(id, ()) for each in run.sent.get(user, [()])[-1]]
    return _row("gradient", called(run, id).replace("`", ""), grad, max(sent, default=0.0))


def _row(what: str, name: str, value: Value, scale: float) -> GoldenRow:
    digits = _DIGITS.get(value.dtype, 5)
    largest = largest_of(value)
    mixed, print_of = None, ""
    if value.values is not None:
        array = np.array(value.values, dtype=float)
        with np.errstate(all="ignore"):
            mixed = _shortened(float(np.nansum(array * np.cos(_ANGLE * np.arange(array.size)))), digits)
            rounded = np.round(array / (largest or 1.0), _ROUNDED.get(value.dtype, 1)) + 0.0  # no -0
        print_of = hashlib.sha256(np.nan_to_num(rounded, nan=1e9).tobytes()).hexdigest()[:8]
    norm, mean, least, most = [_shortened(each, digits) for each in (value.norm, value.mean, value.min, value.max)]
    scale = _shortened(scale, 2) or 0.0 if scale > _CANCELED * largest else 0.0
    norm = math.nan if norm is None else norm
    return GoldenRow(
        what, name, value.shape, value.dtype, norm, mean, least, most, value.nonfinite, mixed, scale, print_of
    )


def _shortened(number: float | None, digits: int) -> float | None:
    return number if number is None or not math.isfinite(number) else float(f"{number:.{digits}g}")


def written(rows: Sequence[GoldenRow]) -> str:
    """Return the text of a golden file, with one row per line."""
    lines = ",\n".join([json.dumps(_plain(row), allow_nan=False) for row in rows])
    return f'{{"format": "{FORMAT}", "version": {VERSION}, "rows": [\n{lines}\n]}}\n'


def _plain(row: GoldenRow) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, each in asdict(row).items():
        if name in ("nonfinite", "scale", "hash", "mixed") and not each:
            continue
        told[name] = str(each) if isinstance(each, float) and not math.isfinite(each) else each
    return told


def read(text: str) -> list[GoldenRow]:
    """Return the rows of a golden file; ValueError says what is wrong with it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(NOT_A_GOLDEN.format(error)) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        raise ValueError(NOT_A_GOLDEN.format(f"its format isn't {FORMAT!r}, version {VERSION}"))
    rows = data.get("rows")
    if not isinstance(rows, list) or len(rows) > _MOST_ROWS:
        raise ValueError(NOT_A_GOLDEN.format("it has no list of rows"))
    return [_read(number, row) for number, row in enumerate(rows, 1)]


_FIGURES = frozenset({"norm", "mean", "min", "max", "mixed", "scale"})


def _read(number: int, row: Any) -> GoldenRow:
    wrong = ValueError(NOT_A_GOLDEN.format(f"row {number} is damaged"))
    known = {each.name for each in fields(GoldenRow)}
    if not isinstance(row, dict) or not row.keys() <= known:
        raise wrong
    told = dict(row)
    for name, each in row.items():
        if name in _FIGURES:
            infinite = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
            told[name] = infinite.get(each, each) if isinstance(each, str) else each
            ok = told[name] is None or (isinstance(told[name], int | float) and not isinstance(each, bool))
        elif name == "shape":
            ok = isinstance(each, list) and len(each) <= 64 and all(type(size) is int and size >= 0 for size in each)
            told[name] = tuple(each) if ok else ()
        else:
            ok = type(each) is (int if name == "nonfinite" else str)
        if not ok:
            raise wrong
    try:
        return GoldenRow(**told)
    except TypeError:
        raise wrong from None


def moved(golden: Sequence[GoldenRow], now: Sequence[GoldenRow]) -> list[str]:
    """Return what moved since a golden was written, a line each: first a summary; nothing if all is the same."""
    signs = [[(row.what, row.name) for row in rows] for rows in (golden, now)]
    lines: list[tuple[int, str]] = []
    count = 0
    for tag, i, to_i, j, to_j in opcodes(*signs):
        if tag == "equal":
            pairs = list(zip(golden[i:to_i], now[j:to_j], strict=True))
            count += len(pairs)
            lines += [(row.what != "gradient", told) for row, new in pairs if (told := _moved(row, new))]
        else:
            lines += [(2, f"{row.told} is gone") for row in golden[i:to_i]]
            lines += [(2, f"{row.told} is new") for row in now[j:to_j]]
    if not lines:
        return []
    figures = [line for kind, line in lines if kind < 2]
    others = [line for kind, line in lines if kind == 2]
    head = f"{len(figures):,} of {plural(count, 'value')} moved" if figures else "no value moved"
    if others:
        head += f", and {plural(len(others), 'operation or gradient')} came or went"
    head = head.replace("operation or gradients", "operations or gradients")
    first = [line for kind, line in lines if kind == 1][:1]  # the operation where it begins
    gradients = [line for kind, line in lines if kind == 0]
    shown = [*[f"first {line}" for line in first], *gradients[:_MOST_SHOWN], *others[:_MOST_SHOWN]]
    left = len(lines) - len(shown)
    return [head, *shown, *[f"… and {left:,} more"] * (left > 0)]


def _moved(row: GoldenRow, new: GoldenRow) -> str:
    """Return how a row moved; empty if it is equal within the tolerance of its dtype."""
    if row.shape != new.shape:
        return f"{row.told}: shape {row.shape} → {new.shape}"
    if row.dtype != new.dtype:
        return f"{row.told}: dtype {row.dtype} → {new.dtype}"
    if row.hash and row.hash == new.hash and _near(row.norm, new.norm, row.dtype):
        return ""
    scale = max(row.scale, new.scale)
    result = compared(row.value, new.value, _TOLERANCE, 1.0, scale)
    allowed = f"allowed {100 * _TOLERANCE.of(row.dtype, row.dtype, 1.0):.2g} %"
    if result.apart is not None:
        told = f"norm {_told(row.norm)} → {_told(new.norm)}"
        if math.isfinite(result.share):
            return f"{row.told}: {told} (moved by {100 * result.share:.2g} %, {allowed})"
        told += f", mean {_told(row.mean)} → {_told(new.mean)}, max {_told(row.max)} → {_told(new.max)}"
        return f"{row.told}: {told}"
    if row.mixed is not None and new.mixed is not None:
        room = _TOLERANCE.of(row.dtype, row.dtype, 1.0) * max(row.norm, new.norm)
        room = max(room, _TOLERANCE.slack(row.dtype, row.dtype) * scale * math.sqrt(math.prod(row.shape)))
        if abs(row.mixed - new.mixed) > 2 * room:
            return f"{row.told}: norm {_told(row.norm)} as before, but its elements are other ones, or in another order"
    return ""


def _near(one: float, two: float, dtype: str) -> bool:
    if one == two or (math.isnan(one) and math.isnan(two)):
        return True
    return abs(one - two) <= _TOLERANCE.of(dtype, dtype, 1.0) * max(abs(one), abs(two))


def _told(figure: float | None) -> str:
    return "none" if figure is None else number(float(figure), digits=6)
