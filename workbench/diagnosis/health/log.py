"""A file of `watch` as a table of health, which can be read while training still writes it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .finding import Finding
from .table import HealthCell, HealthRow, HealthTable, in_modules

FORMAT = "workbench.watch"
VERSION = 2  # the first counted steps from 0
LARGEST = 1 << 28  # bytes of a file that is read
LOAD = "Where a step was recorded, `workbench.load` reads its file."


@dataclass(frozen=True, slots=True)
class WatchLog:
    """The content of a page about one file or several: the table, and the messages."""

    table: HealthTable
    found: tuple[Finding, ...]


@dataclass(slots=True)
class WatchedRun:
    """The last run of a file: its header, its watched steps, counted from 1, and the messages by step.

    `end` is the line that was written when watching ended, if it did.
    """

    path: Path
    header: dict[str, Any]
    steps: list[dict[str, Any]] = field(default_factory=list)
    told: list[tuple[int, str]] = field(default_factory=list)
    end: dict[str, Any] | None = None

    def rows(self) -> list[HealthRow]:
        """Return a row for each layer's output and for each parameter."""
        rows: list[HealthRow] = []
        for at, layer in enumerate(self.header["layers"]):
            cells = tuple([_output(line, at) for line in self.steps])
            if any(cells):
                rows.append(HealthRow("output", "output", _path(layer["name"]), cells, measured="output"))
        for at, parameter in enumerate(self.header["parameters"]):
            cells = tuple([_parameter(line, at) for line in self.steps])
            *path, name = str(parameter["name"]).split(".")
            shape = tuple([int(size) for size in parameter["shape"]])
            rows.append(HealthRow(name, "parameter", tuple(path), cells, shape))
        return rows


def read_log(path: str | os.PathLike[str]) -> WatchLog:
    """Return the last run of a file that `watch` writes; a last line that isn't complete yet is skipped.

    Raises:
        ValueError: if it isn't such a file, or is larger than 2^28 bytes.
        OSError: if it can't be read.
    """
    run = read_run(path)
    table = HealthTable([line["step"] for line in run.steps], in_modules(run.rows()))
    return WatchLog(table, tuple([told_at(f"Step {step}", sentence) for step, sentence in run.told]))


def told_at(place: str, sentence: str) -> Finding:
    """Return the messages of `watch` in a step."""
    return Finding("watch", True, f"{place}: {sentence}.", LOAD, None, 0)


def read_run(path: str | os.PathLike[str]) -> WatchedRun:
    """Return the run as it is in the file; the errors are those of `read_log`."""
    if Path(path).stat().st_size > LARGEST:
        raise ValueError(f"{Path(path).name} is too large to be read: it has more than {LARGEST:,} bytes.")
    header: dict[str, Any] | None = None
    lines: list[dict[str, Any]] = []
    for line in _lines(Path(path)):
        if line.get("format") == FORMAT:
            header, lines = line, []
        elif header is not None:
            lines.append(line)
    if header is None or header.get("version") not in (1, VERSION):
        raise ValueError(f"{Path(path).name} is no file that workbench.watch of this version has written.")
    try:
        run = _run(Path(path), header, lines)
        run.rows()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"{Path(path).name} is not as workbench.watch writes it: {error!r}.") from None
    return run


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                continue  # the process was killed in the middle of it, or has not finished it
            if isinstance(line, dict):
                yield line


def _run(path: Path, header: dict[str, Any], lines: list[dict[str, Any]]) -> WatchedRun:
    run = WatchedRun(path, header)
    before = int(header["version"] == 1)
    for line in lines:
        if "ended" in line:
            run.end = {"ended": int(line["ended"]), "at": float(line["at"]), "error": str(line["error"])}
            continue
        step = int(line["step"]) + before
        if "grad" in line:
            run.steps.append({**line, "step": step})
        run.told += [(step, str(each)) for each in line.get("found", ())]
    return run


def _path(name: Any) -> tuple[str, ...]:
    return tuple(str(name).split(".")) if name else ("the model",)


def _output(line: dict[str, Any], at: int) -> HealthCell | None:
    norm = number_at(line, "output", at)
    if norm is None:
        return None
    wrong = "" if math.isfinite(norm) else "value"
    return HealthCell(norm, norm, None, number_at(line, "dead", at), wrong)


def _parameter(line: dict[str, Any], at: int) -> HealthCell:
    grad, weight, update = (number_at(line, part, at) for part in ("grad", "weight", "update"))
    wrong = "gradient" if grad is not None and not math.isfinite(grad) else ""
    wrong = wrong or ("value" if weight is not None and not math.isfinite(weight) else "")
    return HealthCell(grad, weight, update, None, wrong)


def number_at(line: dict[str, Any], part: str, at: int) -> float | None:
    """Return a number of a line for the layer or the parameter at a place, if the line has it."""
    value = line[part][at] if part in line else None
    return None if value is None else float(value)


def rank_of_process() -> int | None:
    """Return the rank of this process, if the environment names one, as torchrun does."""
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdigit() and os.environ.get("WORLD_SIZE", "1") != "1" else None


def of_this_process(path: Path) -> Path:
    """Return the file of this process: `run.rank0.jsonl` instead of `run.jsonl` if there are several."""
    rank = rank_of_process()
    return path if rank is None else path.with_name(f"{path.stem}.rank{rank}{path.suffix}")
