"""What a group of a graph is, and how a row that repeats or is too long is divided into groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..scene.model import Box

MOST = 40  # things side by side: more are divided into stretches
_STRETCH = 20  # things in a stretch of a row that is divided
_PARTS = 20  # stretches of a row so long that each of them has more things
_LONGEST_PATTERN = 256  # things in a pattern that repeats
_WORK = 4_000_000  # comparisons made to find a pattern, roughly


@dataclass(slots=True)
class Group:
    """Things that may be drawn as one box: nodes by their ids, and groups; `names` are what a user may call it by.

    Its `kind` is that of the part of the program ("scope", "loop", "round", "call", "expression"), "part" for one that
    a function transform adds to the picture, "line" for what one line computes, "run" for small things between large
    ones, "more" for those between the first and the last of what repeats, and "stretch" for a stretch of a long row; a
    round has a `number`. Groups of the same structure have the same `symbol`. Sentences refer to a group by `told`.

    Function transforms add separate regions to the picture: a group in one has that as its `part`.
    """

    title: str
    items: list[str | Group]
    names: tuple[str, ...] = ()
    id: str = ""
    parent: Group | None = field(default=None, repr=False)
    part: Box | None = None
    kind: str = ""
    number: int = 0
    rounds: int = 0  # of a loop
    symbol: int = 0
    told: str = ""
    scope: str = ""  # of a module with all that it lies in
    single: bool = False  # a module of one operation, whatever that reshapes: a Linear
    aside: bool = False  # a graph that the backward of a Function made for itself
    layer: bool = False  # a module that one line of the program is all of: an LSTM

    @property
    def path(self) -> list[Group]:
        """Return the group after all groups around it, the outermost first."""
        path: list[Group] = [self]
        outer = self.parent
        while outer is not None:
            path.append(outer)
            outer = outer.parent
        return path[::-1]

    @property
    def called(self) -> str:
        """Return what sentences call it; for a stretch of a row, its title."""
        return self.told or self.title

    def nodes(self) -> list[str]:
        """Return all nodes inside, in order."""
        found: list[str] = []
        for item in self.items:
            if isinstance(item, Group):
                found += item.nodes()
            else:
                found.append(item)
        return found

    def groups(self) -> list[Group]:
        """Return all groups inside, outer ones first."""
        found: list[Group] = []
        for item in self.items:
            if isinstance(item, Group):
                found.append(item)
                found += item.groups()
        return found


@dataclass(slots=True)
class Program(Group):
    """The whole graph: `titles` are the words on each node's box, `told_as` what sentences call it, `where` its place.

    `node_names` are below the titles of unrecorded nodes.
    """

    titles: dict[str, str] = field(default_factory=dict, repr=False)
    told_as: dict[str, str] = field(default_factory=dict, repr=False)
    node_names: dict[str, str] = field(default_factory=dict, repr=False)
    where: dict[str, str] = field(default_factory=dict, repr=False)


def repetitions(symbols: Sequence[object], least: int, covered: int) -> list[tuple[int, int, int]]:
    """Return where a row repeats at least `least` times over enough items: place, pattern length, how often."""
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
        # From each item on, how many in a row are equal to those a period later.
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


def divided(items: list[str | Group]) -> list[str | Group]:
    """Return a row if it isn't too long, or else its stretches."""
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


def stretches(row: list[str | Group], rounds: bool, before: int) -> list[str | Group]:
    """Return a row if it isn't too long, or else groups of ten, a hundred … of it."""
    if len(row) <= MOST:
        return row
    each = 10
    while len(row) > each * MOST:
        each *= 10
    parts: list[str | Group] = []
    for start in range(0, len(row), each):
        part = row[start : start + each]
        first, last = before + start + 1, before + start + len(part)
        title = f"{'iterations' if rounds else 'items'} {first:,} to {last:,}"
        inner = stretches(part, rounds, before + start)
        parts += [Group(title, inner, (title,), kind="stretch")] if len(part) > 1 else part
    return parts
