"""Rows: roughly which row Graphviz puts each block in, and which of very many arrows are passed to it.

Arrows that lead past many boxes cost Graphviz minutes and show nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from .model import Arrow
from .sizes import Size

_CALM_ROWS = 4_000  # rows that all arrows together lead through: up to these Graphviz takes its time
_HURRIED_ROWS = 8_000  # up to these it gets every arrow, but hurries
_MOST_ROWS = 12_000  # and no more when it gets only some
# Rows that arrows past other boxes lead through. To bend more of them takes longer than all the rest.
_TANGLED_ROWS = 1_200
_LEAST_ARROWS = 2_000  # arrows that it gets in any case
_ARROWS_EACH = 4  # arrows for each box, where that makes more
# The limits stop the network simplex where more of it takes minutes for a thousand boxes and shows nowhere.
SETTINGS = "splines=true, nslimit=2, nslimit1=2"
_FEWER_ROUNDS = "nslimit=0.1, nslimit1=0.1, mclimit=0.1"


def thinned(arrows: Sequence[Arrow], blocks: Mapping[str, str], labels: Mapping[str, Size]) -> tuple[list[Arrow], str]:
    """Return the arrows that decide where blocks are, with their settings: all of them, unless there are too many.

    `blocks` has the block of each box. Of very many arrows those into the row just below stay, the shortest of each
    box, and other short ones.
    """
    ends = {arrow.id: (blocks[arrow.source], blocks[arrow.target]) for arrow in arrows}
    row = rows(ends.values())
    # A label takes a row of its own.
    through = {id: max(1, row[to] - row[start]) * (2 if labels[id][0] else 1) for id, (start, to) in ends.items()}
    work, most = sum(through.values()), max(_LEAST_ARROWS, _ARROWS_EACH * len(row))
    tangled = sum(each for each in through.values() if each > 2) > _TANGLED_ROWS
    if work <= _CALM_ROWS and len(arrows) <= most and not tangled:
        return list(arrows), SETTINGS
    if work <= _HURRIED_ROWS and len(arrows) <= most:
        return list(arrows), f"splines={'line' if tangled else 'true'}, {_FEWER_ROUNDS}"
    from_above: dict[str, str] = {}
    shortest: dict[str, str] = {}
    order = sorted(ends, key=lambda id: through[id])
    for id in order:
        start, to = ends[id]
        from_above.setdefault(to, id)
        shortest.setdefault(start, id)
    kept = {*from_above.values(), *shortest.values()}
    room = _MOST_ROWS - sum(through[id] for id in kept)
    for id in order:
        room -= 0 if id in kept else through[id]
        if room < 0 or len(kept) >= most:
            break
        kept.add(id)
    return [arrow for arrow in arrows if arrow.id in kept], f"splines=line, {_FEWER_ROUNDS}"


def rows(ends: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return each block's row, about as Graphviz finds it: below all that lead to it, and no higher than needed."""
    below, above = _neighbours(ends)
    row = _fallen(below, above)
    for block in reversed(row):
        if len(below[block]) >= len(above[block]):
            row[block] = max(row[block], min(row[to] for to in below[block]) - 1)
    return row


def depths(ends: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the number of arrows on the longest path to each block."""
    return _fallen(*_neighbours(ends))


def _neighbours(ends: Iterable[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the blocks that each block leads to, and those that lead to it."""
    below: dict[str, list[str]] = defaultdict(list)
    above: dict[str, list[str]] = defaultdict(list)
    for start, to in ends:
        below[start].append(to)
        above[to].append(start)
    return below, above


def _fallen(below: dict[str, list[str]], above: dict[str, list[str]]) -> dict[str, int]:
    """Return the first row of each block that is below all its predecessors, each block after those."""
    blocks = dict.fromkeys([*below, *above])
    waiting = {block: len(above[block]) for block in blocks}
    row = dict.fromkeys(blocks, 0)
    done: dict[str, None] = {}
    for first in sorted(blocks, key=lambda block: waiting[block]):  # those in a circle come last
        ready = [] if first in done else [first]
        while ready:
            block = ready.pop()
            if block in done:
                continue
            done[block] = None
            for to in below[block]:
                waiting[to] -= 1
                if to not in done:
                    row[to] = max(row[to], row[block] + 1)
                    ready += [to] * (not waiting[to])
    return {block: row[block] for block in done}
