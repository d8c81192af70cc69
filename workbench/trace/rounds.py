"""The steps of a training loop in a trace: the rounds of the innermost loop whose rounds run a backward each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .call_records import LevelEntered, OperationRan, TangentPushed
from .records import BackwardFinished, BackwardStarted, EventsLetGo, Failed, GradChanged, NodeCreated, TensorWritten
from .schema import Part, Record, SourceLine

_FEWEST = 2  # rounds that are a loop
_LENIENT = 4  # one in so many rounds may have no backward: a batch was left out


@dataclass(frozen=True, slots=True)
class Round:
    """A stretch of a trace, by the counts of events where it begins and ends; what lies beside the loop has number 0.

    Of a round in the loop `depth` is how many parts of the program lie around what was made in it.
    """

    number: int
    begin: int
    end: int
    depth: int = 0


@dataclass(slots=True)
class _Run:
    """Nodes and backwards in succession that are in one round (None: in none), from the first event to the last."""

    key: int | None
    first: int
    last: int
    number: int = 0
    depth: int = 0
    loop: int = 0
    started: SourceLine | None = None  # the last backward's line
    whole: bool = False  # whether a backward is over


def rounds_of(events: Sequence[Record]) -> list[Round]:
    """All of a trace in the rounds of its training loops and what lies between them; nothing if there is no loop."""
    if any(isinstance(event, LevelEntered | OperationRan | TangentPushed) for event in events):
        return []
    films = _films(events)
    runs = _runs(events, films) if films else []
    if sum(run.key is not None for run in runs) < _FEWEST:
        return []
    own = len({run.loop for run in runs if run.key is not None}) == 1  # else the rounds are numbered through
    begins = [1 if isinstance(events[0], EventsLetGo) else 0]
    tail = _tail(events, runs)
    begins += [_boundary(events, run, after, tail) for run, after in zip(runs, runs[1:], strict=False)]
    found: list[Round] = []
    count = 0
    for run, begin, end in zip(runs, begins, [*begins[1:], len(events)], strict=True):
        count += run.key is not None
        number = 0 if run.key is None else run.number if own else count
        found.append(Round(number, begin, end, run.depth))
    return found


def _chains(events: Iterable[Record]) -> dict[int, tuple[object, ...]]:
    """Of each round, by its key, the loops and scopes that it lies in: equal for all rounds of one loop."""
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
    """The rounds of the training loops: of the innermost ones, unless those around them run a backward as often."""
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
    """Which nodes and backwards are in which round, one after the other."""
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
                runs.append(_Run(key, at, at, turn.number if turn else 0, depth, loop.key if loop else 0))
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
    """The loop and its round that a node is in, and how many parts these are the last of."""
    for at, part in enumerate(path):
        if part.key in films:
            yield path[at - 1], part, at + 1


# Where a round begins: what happens between two of them is the end of the one or the beginning of the next.


def _loud(events: Sequence[Record], begin: int, end: int) -> list[tuple[int, Record]]:
    return [(at, events[at]) for at in range(begin, end) if not events[at].quiet]


def _sign(event: Record) -> tuple[object, ...]:
    return type(event), getattr(event, "name", ""), getattr(event, "source", None)


def _tail(events: Sequence[Record], runs: Sequence[_Run]) -> list[tuple[object, ...]]:
    """What ends the last round, if no other comes after it and it came to its end."""
    for run, after in reversed(list(zip(runs, [*runs[1:], None], strict=True))):
        if run.key is not None:
            if not run.whole or (after is not None and after.key is not None):
                return []
            end = len(events) if after is None else after.first
            return [_sign(event) for _, event in _loud(events, run.last + 1, end)]
    return []


def _boundary(events: Sequence[Record], run: _Run, after: _Run, tail: Sequence[tuple[object, ...]]) -> int:
    """Where the second begins: after what ends the last round too, else where the program goes back to lines before."""
    gap = _loud(events, run.last + 1, after.first)
    if after.key is None or run.key is None:
        return after.first if after.key is None else run.last + 1
    if tail:
        same = 0
        for (_, event), sign in zip(gap, tail, strict=False):
            if _sign(event) != sign:
                break
            same += 1
        return gap[same][0] if same < len(gap) else after.first
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
