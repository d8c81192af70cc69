"""Files of `watch` from processes that train together: their ranks side by side, and their differences."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...pictures.trace.values import number, series
from .finding import Finding, phrases, plural
from .log import WatchedRun, WatchLog, number_at, read_run, told_at
from .table import HealthRow, HealthTable, in_modules
from .watched import called

_PARTS = (  # in the order in which a step makes them: part of a line, its words, and whether it is of layers
    ("output", "the output of {}", "layers"),
    ("own", "the gradient of {}, before ranks average it,", "parameters"),
    ("grad", "the gradient of {}", "parameters"),
    ("weight", "{}", "parameters"),
)
_BEHIND = 1  # watched steps by which a rank that still runs may be behind
_NO_END = "it was killed, or still runs"


def read_ranks(paths: Sequence[str | os.PathLike[str]]) -> WatchLog:
    """Return the last run of each file: a table with one row per rank, and the differences between ranks.

    Raises:
        ValueError: if two files are of the same rank, or for the reasons of `read_log`.
        OSError: if a file can't be read.
    """
    runs = _by_rank([read_run(path) for path in paths])
    steps = sorted({line["step"] for run in runs.values() for line in run.steps})
    rows: dict[tuple[Any, ...], list[HealthRow]] = {}
    for rank, run in runs.items():
        places = {line["step"]: at for at, line in enumerate(run.steps)}
        for row in run.rows():
            cells = tuple([None if step not in places else row.cells[places[step]] for step in steps])
            title = f"rank {rank}"
            beside = replace(row, name=title, path=(*row.path, row.name), cells=cells)
            rows.setdefault((row.path, row.name, row.kind), []).append(beside)
    table = HealthTable(steps, in_modules([row for several in rows.values() for row in several]))
    found = [*_not_finite(runs), *_different(runs), *_ended(runs), *_parts(runs), *_own_findings(runs)]
    return WatchLog(table, tuple(sorted(found, key=lambda each: not each.certain)))


def _by_rank(runs: Sequence[WatchedRun]) -> dict[int, WatchedRun]:
    """Return the runs by rank, which comes from the file, else from its name, else from its place."""
    found: dict[int, WatchedRun] = {}
    for at, run in enumerate(runs):
        in_name = re.search(r"rank(\d+)", run.path.name)
        rank = int(run.header.get("rank", in_name[1] if in_name else at))
        if rank in found:
            raise ValueError(f"{found[rank].path.name} and {run.path.name} are both of rank {rank}.")
        found[rank] = run
    return dict(sorted(found.items()))


def _finding(rule: str, certain: bool, sentence: str, next_step: str) -> Finding:
    return Finding(rule, certain, sentence, next_step, None, 0)


# What is not finite.


def _not_finite(runs: Mapping[int, WatchedRun]) -> Iterator[Finding]:
    """Return the rank with the first number that isn't finite, and its place."""
    first = {rank: found for rank, run in runs.items() if (found := _first_of(run)) is not None}
    if not first:
        return
    step, stage = min((step, stage) for step, stage, _, _ in first.values())
    ranks = [rank for rank, each in first.items() if each[:2] == (step, stage)]
    what = f"the norm of {first[ranks[0]][2]} is {first[ranks[0]][3]}"
    if _PARTS[stage][0] == "grad" and len(ranks) > 1:
        said = f"{what} on {_ranks(ranks)}: averaging brings it from one to all, and the files do not say from which"
        look = "Give watch the DistributedDataParallel module itself: the file then has the gradients before averaging."
        yield _finding("not finite", True, f"Step {step}: {said}.", look)
        return
    said = f"{_ranks(ranks)} went wrong {'first' if len(ranks) < len(runs) else 'at once'}: {what}"
    later = [f"{rank} in step {each[0]}" for rank, each in first.items() if rank not in ranks]
    said += f"; rank {series(later)} followed" if later else ""
    said += "; no other rank has" if not later and len(ranks) < len(runs) else ""
    look = f"Look at the data of rank {ranks[0]} in that step, and at what was recorded there."
    yield _finding("not finite", True, f"Step {step}: {said}.", look)


def _first_of(run: WatchedRun) -> tuple[int, int, str, float] | None:
    """Return the step, the place in it, the words and the number of the first value in a run that isn't finite."""
    for line in run.steps:
        for stage, (part, words, kind) in enumerate(_PARTS):
            names = [str(each["name"]) for each in run.header[kind]]
            order: Iterable[int] = range(len(names)) if part == "output" else reversed(range(len(names)))
            for at in order:  # a gradient goes backwards
                norm = number_at(line, part, at)
                if norm is not None and not math.isfinite(norm):
                    return line["step"], stage, words.format(called(names[at])), norm
    return None


# What differs.


def _different(runs: Mapping[int, WatchedRun]) -> Iterator[Finding]:
    """Return which averaged gradients, and which parameters, differ between ranks, and from which step on."""
    averaged = all(run.header.get("averaged") for run in runs.values())
    weights, grads = _differences(runs, "weight"), _differences(runs, "grad")
    count = len(_shared(runs))
    if grads is not None and (averaged or weights is None or grads[0] < weights[0]):
        step, names, example = grads
        said = f"the gradients of {len(names):,} of {plural(count, 'parameter')} differ between the ranks: {example}"
        if averaged or len(names) < count:
            of = "DistributedDataParallel made them equal" if averaged else "those of the others are equal"
            said = f"{said}. They are those of {phrases(names)}; {of}."
            look = "Look for what one rank does to them alone: clipping, a branch, a backward under no_sync()."
        else:
            said, look = f"{said}. Are they to be averaged?", "DistributedDataParallel averages them."
        yield _finding("gradients differ", averaged or len(names) < count, f"Step {step}: {said}", look)
    if weights is not None:
        step, names, example = weights
        said = f"{len(names):,} of {plural(count, 'parameter')} differ between the ranks: {example}."
        look = "From here on each rank has a model of its own: look at what sets them, and at the steps before."
        yield _finding("parameters differ", averaged, f"Step {step}: {said}", look)


def _differences(runs: Mapping[int, WatchedRun], part: str) -> tuple[int, list[str], str] | None:
    """Return the first step in which the norms of something differ, the names, and the first with its numbers."""
    for step, lines in _together(runs):
        names: list[str] = []
        said = ""
        for name, places in _shared(runs).items():
            norms = {rank: number_at(line, part, places[rank]) for rank, line in lines.items() if rank in places}
            if len({str(norm) for norm in norms.values()}) > 1:
                names.append(name)
                said = said or f"the norm of {called(name)} is {_on_ranks(norms)}"
        if names:
            return step, names, said
    return None


def _on_ranks(norms: Mapping[int, float | None]) -> str:
    """Return `1.5 on rank 0 and 1.7 on rank 1`: of many ranks, two that differ."""
    first, norm = next(iter(norms.items()))
    other = next(rank for rank, each in norms.items() if str(each) != str(norm))
    pair = [(rank, norms[rank]) for rank in (first, other)]
    return series([f"{'none' if each is None else number(each)} on rank {rank}" for rank, each in pair])


def _together(runs: Mapping[int, WatchedRun]) -> Iterator[tuple[int, dict[int, dict[str, Any]]]]:
    """Return each step that several ranks watched, with their lines."""
    lines = {rank: {line["step"]: line for line in run.steps} for rank, run in runs.items()}
    for step in sorted({step for each in lines.values() for step in each}):
        found = {rank: each[step] for rank, each in lines.items() if step in each}
        if len(found) > 1:
            yield step, found


def _shared(runs: Mapping[int, WatchedRun]) -> dict[str, dict[int, int]]:
    """Return the places, by rank, of parameters that should be the same on several ranks."""
    found: dict[tuple[str, tuple[int, ...]], dict[int, int]] = {}
    for rank, run in runs.items():
        for at, each in enumerate(run.header["parameters"]):
            if not each.get("part"):
                found.setdefault((str(each["name"]), tuple(each["shape"])), {})[rank] = at
    return {name: places for (name, _), places in found.items() if len(places) > 1}


def _parts(runs: Mapping[int, WatchedRun]) -> Iterator[Finding]:
    """Return the sentence that ranks have only parts of parameters, which aren't compared."""
    count = max(sum(bool(each.get("part")) for each in run.header["parameters"]) for run in runs.values())
    if count:
        has = f"{plural(count, 'parameter')} {'is' if count == 1 else 'are'} spread over the ranks, as FSDP does it"
        said = f"{has}: each rank has the norms of its own part, so that these differ means nothing."
        yield _finding("parts", False, said, "The norm of the whole is the root of the sum of the squares.")


# Who ended.


def _ended(runs: Mapping[int, WatchedRun]) -> Iterator[Finding]:
    """Return which rank stopped before the others."""
    failed = sorted((run.end["at"], rank, run.end) for rank, run in runs.items() if run.end and run.end["error"])
    open = [rank for rank, run in runs.items() if run.end is None]
    if failed:
        told = [f"rank {rank} after {plural(end['ended'], 'step')}: {end['error']}" for _, rank, end in failed]
        first = failed[0][1]
        if open:
            said = f"{_ranks(open)} wrote no end: {_NO_END}. Stopped {'; then '.join(told)}"
        else:
            said = f"rank {first} stopped first: {'; then '.join(told)}"
        look = f"Look at the output of rank {(open or [first])[0]}: the others fail as it is gone."
        yield _finding("stopped", True, f"{said[0].upper()}{said[1:]}", look)
        return
    last = {rank: _last_of(run) for rank, run in runs.items()}
    most = max(last.values())
    behind = [rank for rank, run in runs.items() if most - last[rank] > _patience(run)]
    behind = sorted({*behind, *(open if len(open) < len(runs) else ())})
    if behind:
        said = f"the last of {series([f'rank {rank} is step {last[rank]:,}' for rank in behind])}"
        said += f", and others went on to step {most:,}" if any(last[rank] < most for rank in behind) else ""
        said += f"; of {_ranks([*{*open} & {*behind}])} no end is written: {_NO_END}" if {*open} & {*behind} else ""
        look = f"Look at the output of rank {behind[0]}."
        yield _finding("stopped", True, f"{said[0].upper()}{said[1:]}.", look)


def _last_of(run: WatchedRun) -> int:
    """Return the last known step."""
    return int(run.end["ended"]) if run.end else run.steps[-1]["step"] if run.steps else 0


def _patience(run: WatchedRun) -> int:
    """Return by how many steps a rank may be behind: ranks write their lines one after the other."""
    return 0 if run.end else _BEHIND * int(run.header.get("every", 1))


def _own_findings(runs: Mapping[int, WatchedRun]) -> Iterator[Finding]:
    """Return each rank's own messages, the same sentence once."""
    found: dict[tuple[int, str], list[int]] = {}
    for rank, run in runs.items():
        for told in run.told:
            found.setdefault(told, []).append(rank)
    for (step, sentence), ranks in sorted(found.items()):
        yield told_at(f"Step {step}, {_ranks(ranks)}", sentence)


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {series([str(each) for each in ranks])}"
