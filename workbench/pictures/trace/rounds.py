"""The rounds of a training loop: where each iteration begins and ends in a trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .backward_records import BackwardFinished, BackwardStarted, Failed, GradChanged
from .facts import Part, SourceLine
from .forward_records import LevelEntered, NodeCreated, OperationRan, TangentPushed
from .gap_records import EventsLetGo
from .schema import Record
from .tensor_records import TensorWritten

_FEWEST = 2  # rounds that are a loop
_LENIENT = 4  # one in so many rounds may have no backward: a batch was left out


@dataclass(frozen=True, slots=True)
class Round:
    """A stretch of a trace, by the counts of events where it begins and ends; stretches outside the loop have number 0.

    For an iteration of the loop, `depth` is the number of parts of the program around what was made in it. If outer
    loops have several iterations, `around` says which, as "epoch 2", and `turn` is the number in the inner loop only.
    """

    number: int
    begin: int
    end: int
    depth: int = 0
    around: str = ""
    turn: int = 0

    @property
    def name(self) -> str:
        """`step 3`, or `epoch 2, step 3`."""
        return f"{self.around}, step {self.turn:,}" if self.around else f"step {self.number:,}"


@dataclass(slots=True)
class _Run:
    """Consecutive nodes and backward passes in one iteration (None: in none), from the first event to the last."""

    key: int | None
    first: int
    last: int
    number: int = 0
    depth: int = 0
    loop: int = 0
    around: str = ""  # the rounds of the loops around it
    started: SourceLine | None = None  # the last backward's line
    whole: bool = False  # whether a backward pass has ended


def rounds_of(events: Sequence[Record]) -> list[Round]:
    """Return a trace in the iterations of its training loops and what is between them; nothing without a loop."""
    kinds = Counter(map(type, events))
    if kinds[LevelEntered] or kinds[OperationRan] or kinds[TangentPushed] or kinds[BackwardStarted] < _FEWEST:
        return []
    films = _films(events)
    runs = _runs(events, films) if films else []
    if sum(run.key is not None for run in runs) < _FEWEST:
        return []
    inner = [run for run in runs if run.key is not None]
    own = len({run.loop for run in inner}) == 1  # else the rounds are numbered through
    nested = not own and len({(run.around, run.number) for run in inner if run.around}) == len(inner)
    begins = [1 if isinstance(events[0], EventsLetGo) else 0]
    tail = _tail(events, runs)
    begins += [_boundary(events, run, after, tail) for run, after in zip(runs, runs[1:], strict=False)]
    found: list[Round] = []
    count = 0
    for run, begin, end in zip(runs, begins, [*begins[1:], len(events)], strict=True):
        count += run.key is not None
        number = 0 if run.key is None else run.number if own else count
        around = (run.around, run.number) if number and nested else ("", 0)
        found.append(Round(number, begin, end, run.depth, *around))
    return found


def _chains(events: Iterable[Record]) -> dict[int, tuple[object, ...]]:
    """Return the loops and scopes around each iteration, by its key: equal for all iterations of one loop."""
    found: dict[int, tuple[object, ...]] = {}
    for event in events:
        if isinstance(event, NodeCreated):
            for at, part in enumerate(event.path):
                if part.kind == "round" and part.key not in found:
                    found[part.key] = tuple([(each.kind, _title(each)) for each in event.path[: at + 1]])
    return found


def _title(part: Part) -> str:
    return "" if part.kind == "round" else part.title


def _films(events: Sequence[Record]) -> dict[int, tuple[object, ...]]:
    """Return the training loops' iterations: of the innermost ones, unless outer ones run a backward pass as often."""
    chains = _chains(events)
    with_backward: set[int] = set()
    path: tuple[Part, ...] = ()
    going = 0
    for event in events:
        if isinstance(event, NodeCreated) and event.path and not going:
            path = event.path
        elif isinstance(event, BackwardStarted):
            with_backward |= set() if going else {part.key for part in path if part.kind == "round"}
            going += 1
        elif _is_end(event):
            going -= 1
    rounds: dict[tuple[object, ...], list[int]] = {}
    for key, chain in chains.items():
        rounds.setdefault(chain, []).append(key)
    counts = Counter({chain: sum(key in with_backward for key in keys) for chain, keys in rounds.items()})
    chosen: list[tuple[object, ...]] = []
    for chain in sorted(rounds, key=len):
        keys, count = rounds[chain], counts[chain]
        missing = len(keys) - count - (keys[-1] not in with_backward)  # the last may not have come to it
        if count < _FEWEST or missing * _LENIENT > len(keys):
            continue
        around = [each for each in chosen if chain[: len(each)] == each]
        if all(counts[each] < count for each in around):
            chosen = [*(each for each in chosen if each not in around), chain]
    return {key: chain for key, chain in chains.items() if chain in chosen}


def _is_end(event: Record) -> bool:
    return isinstance(event, BackwardFinished) or (isinstance(event, Failed) and event.task is not None)


def _runs(events: Sequence[Record], films: dict[int, tuple[object, ...]]) -> list[_Run]:
    """Return which nodes and backward passes are in which iteration, one after the other."""
    runs: list[_Run] = []
    going = 0
    for at, event in enumerate(events):
        if isinstance(event, NodeCreated) and event.path and not going and not event.found:
            loop, turn, depth = next(_found(event.path, films), (None, None, 0))
            key = turn.key if turn is not None else None
            again = key is not None and key in [run.key for run in runs[-2:]]
            if again and runs[-1].key is None:  # a part of the same round that was made elsewhere
                runs.pop()
            elif not again and not (runs and runs[-1].key is None and key is None):
                loops = event.path[: depth - 2] if turn else ()
                number, own = turn.number if turn else 0, loop.key if loop else 0
                runs.append(_Run(key, at, at, number, depth, own, _around(loops)))
        elif isinstance(event, BackwardStarted):
            going += 1
        elif not going or not runs:
            continue
        if not runs:
            runs.append(_Run(None, at, at))
        runs[-1].last = at
        if isinstance(event, BackwardStarted) and going == 1:
            runs[-1].started = event.source
        if _is_end(event):
            going -= 1
            runs[-1].whole |= isinstance(event, BackwardFinished)
    return runs


def _found(
    path: tuple[Part, ...], films: dict[int, tuple[object, ...]]
) -> Iterator[tuple[Part | None, Part | None, int]]:
    """Yield the loops and iterations that a node is in, and how many parts of the path lead to each."""
    for at, part in enumerate(path):
        if part.key in films:
            yield path[at - 1], part, at + 1


def _around(path: tuple[Part, ...]) -> str:
    """`epoch 2`: the rounds among these parts, each by the variable of its loop where that is a word."""
    rounds: list[str] = []
    for loop, turn in pairwise(path):
        if turn.kind == "round":
            found = re.match(r"for \(?([a-zA-Z]\w+)\b", loop.title)
            word = found[1] if found and found[1] != "step" else "iteration"
            rounds.append(f"{word} {turn.number:,}")
    return ", ".join(rounds)


# Where a round begins: what happens between two of them is the end of the one or the beginning of the next.


def _loud(events: Sequence[Record], begin: int, end: int) -> list[tuple[int, Record]]:
    return [(at, events[at]) for at in range(begin, end) if not events[at].quiet]


def _sign(event: Record) -> tuple[object, ...]:
    return type(event), getattr(event, "name", ""), getattr(event, "source", None)


def _tail(events: Sequence[Record], runs: Sequence[_Run]) -> list[tuple[object, ...]]:
    """Return what ends the last iteration, if it is complete and none follows."""
    for run, after in reversed(list(zip(runs, [*runs[1:], None], strict=True))):
        if run.key is not None:
            if not run.whole or (after is not None and after.key is not None):
                return []
            end = len(events) if after is None else after.first
            return [_sign(event) for _, event in _loud(events, run.last + 1, end)]
    return []


def _boundary(events: Sequence[Record], run: _Run, after: _Run, tail: Sequence[tuple[object, ...]]) -> int:
    """Return where the second begins: after what ends the last iteration too, else where the lines go back."""
    gap = _loud(events, run.last + 1, after.first)
    if after.key is None or run.key is None:
        return after.first if after.key is None else run.last + 1
    if tail:
        ended = _ended([event for _, event in gap], tail, run.started)
        return gap[ended][0] if ended < len(gap) else after.first
    line = run.started
    for at, event in gap:
        now = getattr(event, "source", None)
        if now is not None and line is not None and now.file == line.file and now.line < line.line:
            return at
        line = now or line
    writes = [at for at, event in gap if isinstance(event, TensorWritten)]
    cleared = [at for at, event in gap if isinstance(event, GradChanged) and event.clears]
    if cleared and line is not None and all(getattr(event, "source", None) == line for _, event in gap):  # one line
        return next((at for at in cleared if not writes or at > writes[-1]), after.first)
    return after.first


def _ended(gap: Sequence[Record], tail: Sequence[tuple[object, ...]], line: SourceLine | None) -> int:
    """Return how many events still end an iteration: those of the last one's end, and any between them.

    None of them comes after the program went back to earlier lines than the one that began the backward pass.
    """
    signs = [_sign(event) for event in gap]
    if signs[: len(tail)] == tail:
        return len(tail)
    ended = 0
    for count, (event, sign) in enumerate(zip(gap, signs, strict=True), 1):
        now: SourceLine | None = getattr(event, "source", None)
        if now is not None and line is not None and now.file == line.file and now.line < line.line:
            break
        line = now or line
        if sign in tail:
            ended = count
    return ended
