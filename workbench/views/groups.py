"""What may stand as one box, and of function transforms what does: a scope, what repeats, stretches of a long row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from ..scene.model import Box
from ..trace.records import NodeCreated
from ..trace.schema import Record
from .transform_lanes import Lanes

MOST = 40  # things side by side: more are divided into stretches
_STRETCH, _PARTS = 20, 20  # how long such a stretch is, or how many there are of a very long row
_TIMES, _COVERED = 3, 12  # what repeats so often and is so long in all stands as one box
_LONGEST_PATTERN, _WORK = 256, 4_000_000  # nodes of a pattern; comparisons made to find one, roughly
_NAMED = 3  # operations of a pattern that its name tells


@dataclass(slots=True)
class Group:
    """Things that may stand as one box: nodes by their ids, and groups; `names` are what a user may call it by.

    Its `kind` is that of the part of the program ("scope", "loop", "round", "call", "expression"), "more" for those
    between the first and the last of what repeats, and "stretch" for a stretch of a long row; a round has a `number`.
    Groups of the same structure have the same `symbol`. Sentences tell of a group by what it is `told` by. Of the whole
    graph `titles` are the words on each node's box, and `words` those that sentences have for it, the shortest first.

    What function transforms add stands in parts of the picture of their own: a group in one has that as its `part`.
    """

    title: str
    items: list[str | Group]
    names: tuple[str, ...] = ()
    id: str = ""
    parent: Group | None = field(default=None, repr=False)
    part: Box | None = None
    kind: str = ""
    number: int = 0
    symbol: int = 0
    told: str = ""
    titles: dict[str, str] = field(default_factory=dict, repr=False)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @property
    def path(self) -> list[Group]:
        """The group after all that it lies in, the outermost first."""
        return [*(self.parent.path if self.parent else []), self]

    @property
    def called(self) -> str:
        """The title of what repeats or is a stretch, else the scope with all it lies in."""
        return self.told or (self.title if " × " in self.title or not self.names else self.names[0])

    def nodes(self) -> Iterator[str]:
        """All nodes inside, in order."""
        for item in self.items:
            if isinstance(item, Group):
                yield from item.nodes()
            else:
                yield item

    def groups(self) -> Iterator[Group]:
        """All groups inside, outer ones first."""
        for item in self.items:
            if isinstance(item, Group):
                yield item
                yield from item.groups()


@dataclass(frozen=True, slots=True)
class _Node:
    id: str
    operation: str
    path: tuple[str, ...]


def grouped(events: Iterable[Record], lanes: Lanes) -> Group:
    """All nodes of a trace with function transforms, and operations without one, in groups within groups.

    They are in the order in which they were made; each part of the picture is a group.
    """
    whole = Group("graph", _lifted(events, lanes))
    for number, group in enumerate(whole.groups(), 1):
        group.id = f"g{number}"
        for item in group.items:
            if isinstance(item, Group):
                item.parent, item.part = group, item.part or group.part
    return whole


def _lifted(events: Iterable[Record], lanes: Lanes) -> list[str | Group]:
    """What stands in no part of the picture, and a group for each part."""
    events = list(events)
    scopes = {event.node: event.scope for event in events if isinstance(event, NodeCreated)}
    parts: dict[str, Box | None] = {"": None}
    nodes: dict[str, list[_Node]] = {"": []}
    for id, (operation, part) in lanes.places(events).items():
        key = part.id if part else ""
        parts.setdefault(key, part)
        scope = scopes.get(id)
        nodes.setdefault(key, []).append(_Node(id, operation, tuple(scope.split("/")) if scope else ()))
    operations = {node.id: node.operation for each in nodes.values() for node in each}
    items = _arranged(nodes.pop(""), 0, operations)
    storeys: list[str | Group] = []
    for key, inside in nodes.items():
        part = parts[key]
        assert part is not None
        inner = _arranged(inside, 0, operations)
        only = inner[0]
        title = part.title.partition(" while ")[0]  # a box has less room than a frame
        if len(inside) == 1:
            storeys += inner
        elif len(inner) == 1 and isinstance(only, Group):
            storeys.append(Group(title, only.items, (part.title, *only.names), part=part))
        else:
            storeys.append(Group(title, inner, (part.title,), part=part))
    return [*items, *divided(_folded(storeys, operations))]


def _arranged(nodes: Sequence[_Node], depth: int, operations: dict[str, str]) -> list[str | Group]:
    """Nodes whose scopes agree up to `depth`: those of one scope further down as a group, then what repeats as one."""
    items: list[str | Group] = []
    for name, run in groupby(nodes, key=lambda node: node.path[depth] if len(node.path) > depth else None):
        same = list(run)
        if name is None or len(same) == 1:
            items += [node.id for node in same]
            continue
        inner = _arranged(same, depth + 1, operations)
        names = ("/".join(same[0].path[: depth + 1]),)
        only = inner[0]
        if len(inner) == 1 and isinstance(only, Group):  # to open a box with nothing but a box in it is no use
            outer = only.names[0].startswith(f"{names[0]}/")
            items.append(Group(f"{name}/{only.title}" if outer else name, only.items, (*names, *only.names)))
        else:
            items.append(Group(name, inner, names))
    return divided(_folded(items, operations))


def _folded(items: list[str | Group], operations: dict[str, str]) -> list[str | Group]:
    """What repeats many times in a row becomes a group."""
    folded: list[str | Group] = []
    at = 0
    for start, period, times in repetitions([_symbol(item, operations) for item in items], _TIMES, _COVERED):
        folded += items[at:start]
        at = start + period * times
        folded.append(_repeated(items[start:at], period, operations))
    return folded + items[at:]


def repetitions(symbols: Sequence[object], least: int, covered: int) -> list[tuple[int, int, int]]:
    """Where a row repeats at least so often, over so many items in all: where, the length of a pattern, how often."""
    count = len(symbols)
    longest = min(count // least, _LONGEST_PATTERN, max(8, _WORK // max(1, count)))
    if count < covered or longest < 1:
        return []
    numbers: dict[object, int] = {}
    row = np.array([numbers.setdefault(symbol, len(numbers)) for symbol in symbols])
    covers = np.zeros((longest, count), dtype=np.int64)  # by a pattern of this length that begins here
    for period in range(1, longest + 1):
        differs = np.flatnonzero(row[:-period] != row[period:])
        ends = np.append(differs, count - period)
        agree = ends[np.searchsorted(ends, np.arange(count - period))] - np.arange(count - period)
        times = agree // period + 1
        covers[period - 1, : count - period] = np.where(times >= least, times * period, 0)
    best, lengths = covers.argmax(axis=0), covers.max(axis=0)
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < count:
        length, period = int(lengths[at]), int(best[at]) + 1
        if length < covered:
            at += 1
            continue
        found.append((at, period, length // period))
        at += length
    return found


def _symbol(item: str | Group, operations: dict[str, str]) -> object:
    """What makes two things repetitions of each other: the operation, or of groups those inside."""
    return operations[item] if isinstance(item, str) else tuple(operations[node] for node in item.nodes())


def _repeated(items: list[str | Group], period: int, operations: dict[str, str]) -> Group:
    titles = [operations[item] if isinstance(item, str) else item.title for item in items]
    name = ", ".join(titles[:period] if period <= _NAMED else [*titles[:_NAMED], "…"])
    if titles[period : 2 * period] != titles[:period]:  # layer1, layer2, …
        name = f"{titles[0]} to {titles[-1]}"
    times = len(items) // period
    return Group(f"{name} × {times:,}", _parts(items, period, 0), (name,))


def _parts(items: list[str | Group], period: int, before: int) -> list[str | Group]:
    """Repetitions side by side if they are few, else in groups of ten, a hundred …"""
    times = len(items) // period
    if len(items) <= MOST or times == 1:
        return divided(items)
    each = 1
    while times > each * 12 and (each == 1 or period * each * 10 <= len(items)):
        each *= 10
    parts: list[str | Group] = []
    for start in range(0, times, each):
        end = min(times, start + each)
        part = items[start * period : end * period]
        first, last = before + start + 1, before + end
        title = f"repeats {first:,} to {last:,}" if last > first else f"repeat {first:,}"
        parts.append(Group(title, _parts(part, period, before + start)) if len(part) > 1 else part[0])
    return divided(parts)


def divided(items: list[str | Group]) -> list[str | Group]:
    """A row that is not too long, or its stretches."""
    count = len(items)
    if count <= MOST:
        return items
    each = max(_STRETCH, -(-count // _PARTS))
    parts: list[str | Group] = []
    for start in range(0, count, each):
        part = items[start : start + each]
        if len(part) == 1:
            parts += part
        else:
            end = start + len(part)
            title = f"part {start // each + 1} ({start + 1:,} to {end:,})"
            parts.append(Group(title, divided(part), kind="stretch"))
    return parts
