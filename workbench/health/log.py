"""A file of `watch` as a table of health: it is read while the training still writes it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .table import HealthCell, HealthRow, HealthTable, in_modules

FORMAT = "workbench.watch"
VERSION = 1
LARGEST = 1 << 28  # bytes of a file that is read


@dataclass(frozen=True, slots=True)
class WatchLog:
    """The last run of a file: its table, and what was told at which step."""

    table: HealthTable
    told: tuple[tuple[int, str], ...]


def read_log(path: str | os.PathLike[str]) -> WatchLog:
    """The last run of a file that `watch` has written, or is writing: a line that is not whole yet is left out.

    Errors: ValueError for what is no such file, or is larger than 2^28 bytes, OSError if it cannot be read.
    """
    if Path(path).stat().st_size > LARGEST:
        raise ValueError(f"{Path(path).name} is too large to be read: it has more than {LARGEST:,} bytes.")
    header: dict[str, Any] | None = None
    lines: list[dict[str, Any]] = []
    for line in _lines(Path(path)):
        if line.get("format") == FORMAT:
            header, lines = line, []
        elif header is not None:
            lines.append(line)
    if header is None or header.get("version") != VERSION:
        raise ValueError(f"{Path(path).name} is no file that workbench.watch of this version has written.")
    try:
        return _log(header, lines)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"{Path(path).name} is not as workbench.watch writes it: {error!r}.") from None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                continue  # the process was killed in the middle of it, or has not finished it
            if isinstance(line, dict):
                yield line


def _log(header: dict[str, Any], lines: list[dict[str, Any]]) -> WatchLog:
    steps = [line for line in lines if "grad" in line]
    rows: list[HealthRow] = []
    for at, layer in enumerate(header["layers"]):
        cells = tuple([_output(line, at) for line in steps])
        if any(cells):
            rows.append(HealthRow("output", "output", _path(layer["name"]), cells, measured="output"))
    for at, parameter in enumerate(header["parameters"]):
        cells = tuple([_parameter(line, at) for line in steps])
        *path, name = str(parameter["name"]).split(".")
        shape = tuple([int(size) for size in parameter["shape"]])
        rows.append(HealthRow(name, "parameter", tuple(path), cells, shape))
    told = [(int(line["step"]), str(each)) for line in lines if "found" in line for each in line["found"]]
    return WatchLog(HealthTable([int(line["step"]) for line in steps], in_modules(rows)), tuple(told))


def _path(name: Any) -> tuple[str, ...]:
    return tuple(str(name).split(".")) if name else ("the model",)


def _output(line: dict[str, Any], at: int) -> HealthCell | None:
    norm = _number(line["output"][at])
    if norm is None:
        return None
    wrong = "" if math.isfinite(norm) else "value"
    return HealthCell(norm, norm, None, _number(line["dead"][at]), wrong)


def _parameter(line: dict[str, Any], at: int) -> HealthCell:
    grad, weight, update = (_number(line[part][at]) for part in ("grad", "weight", "update"))
    wrong = "gradient" if grad is not None and not math.isfinite(grad) else ""
    wrong = wrong or ("value" if weight is not None and not math.isfinite(weight) else "")
    return HealthCell(grad, weight, update, None, wrong)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
