"""Write the DOT text that describes one part of a picture to Graphviz: blocks, regions, ports at the edges, arrows.

The main path through the part is drawn straight down (`_spine`), and the users of a region's value are below it
(`_late`). A dense graph is thinned out (`thinned`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .blocks import PORT, Block, Tables, cell, table_of, tables
from .model import Arrow
from .regions import RegionOutline, Wire
from .rows import SETTINGS, thinned
from .sizes import Size

_INCH = 72  # px of an inch, Graphviz's unit of distances
ASIDE = 20  # px between what stands side by side
APART = 14  # px between two rows
_APART_LABELLED = 2  # px between two rows where there are labels: each label takes a row of its own
# Graphviz leaves at least 5 px above and below a label, so the height passed to it is less by this many px.
_OVERLAP = 12
_STRAIGHT = 100  # how much more the main way through a part is kept straight than others
_MOST_BOXES_LED = 200  # of more, looking for the arrows' ways would take longer than all the rest
_MOST_ARROWS_LED = 400  # the same
_MOST_MEETING_LED = 40  # arrows at one box: of more, labels have no room that looking for could find
# Values that enter a region stand far from what takes them: with few rounds their arrows lead side by side.
_IN_FRAME = "splines=true, nslimit=3, nslimit1=3"
_HEAD = "node [shape=plain]\nedge [dir=none]\n"


@dataclass(frozen=True, slots=True)
class Question:
    """Hold the question about one part, and the key to its answer: first the boxes inside it, then the ports."""

    dot: str
    heading: float | None  # the width of the region's heading; None: the whole picture has none
    inside: tuple[str, ...]
    blocks: dict[str, Block]
    regions: dict[str, RegionOutline]
    entries: list[str]  # the values that come in: the first ports
    exits: list[str]  # and that leave: the others
    wires: tuple[Wire, ...]
    arrows: dict[str, Arrow]  # an arrow for each wire, by its number
    told: list[Arrow]  # those passed to Graphviz: its edges
    ends: list[tuple[int, int]]  # of each of these the two nodes, by their numbers
    spine: set[str]
    sizes: dict[str, Size]  # of the arrows' labels
    led: bool  # whether there are few enough to look for a way for each


def question(
    heading: float | None,
    inside: tuple[str, ...],
    held: tuple[Block | RegionOutline, ...],
    wires: tuple[Wire, ...],
    sizes: tuple[Size, ...],
    depths: tuple[int, ...],
    part: float = 1.0,
) -> Question:
    """Return the question to Graphviz for a part, given its heading's width, label sizes and values' depths.

    It keeps room for this `part` of each label's width.
    """
    blocks = {id: each for id, each in zip(inside, held, strict=True) if isinstance(each, Block)}
    regions = {id: each for id, each in zip(inside, held, strict=True) if isinstance(each, RegionOutline)}
    entries = list(dict.fromkeys(wire.value for wire in wires if wire.start is None))
    exits = list(dict.fromkeys(wire.value for wire in wires if wire.end is None))
    names = [str(n) for n in range(len(wires))]
    arrows = {
        name: Arrow(name, wire.start or f"in {wire.value}", wire.end or f"out {wire.value}")
        for name, wire in zip(names, wires, strict=True)
    }
    size, depth = dict(zip(names, sizes, strict=True)), dict(zip(names, depths, strict=True))
    of_block = {each: id for id in inside if id in blocks for each, _ in blocks[id].cells if each is not None}
    of_block |= {id: id for arrow in arrows.values() for id in (arrow.source, arrow.target) if id not in of_block}
    drawn, settings = thinned(list(arrows.values()), of_block, size)
    settings = _IN_FRAME if heading is not None and settings == SETTINGS else settings
    led = "splines=true" in settings and len(of_block) <= _MOST_BOXES_LED and len(wires) <= _MOST_ARROWS_LED
    led = led and _most_meeting(arrows.values()) <= _MOST_MEETING_LED
    settings = settings.replace("splines=true", "splines=line") if led else settings
    spine = _spine({each.id: (of_block[each.source], of_block[each.target]) for each in drawn}, depth)
    table = tables(inside, blocks, regions)
    number = {id: str(n) for n, id in enumerate(inside)}
    lines = [f"{n} [label={table.texts[id]}]" for n, id in enumerate(inside)]
    lines += _port_lines(entries, exits, number)
    ends = {each.id: _ends(each, wires[int(each.id)].value, table, number, of_block) for each in drawn}
    lines += _edge_lines(drawn, ends, size, spine, regions, part)
    apart = _APART_LABELLED if any(w for w, _ in size.values()) else APART
    graph = f"graph [rankdir=TB, nodesep={ASIDE / _INCH:g}, ranksep={apart / _INCH:g}, {settings}]\n"
    dot = "digraph {\n" + graph + _HEAD + "\n".join(lines) + "\n}"
    joined = [(int(number[of_block[each.source]]), int(number[of_block[each.target]])) for each in drawn]
    return Question(
        dot, heading, inside, blocks, regions, entries, exits, wires, arrows, drawn, joined, spine, size, led
    )


def _most_meeting(arrows: Iterable[Arrow]) -> int:
    """Return the number of arrows at the box where most begin or end."""
    ends = Counter(end for arrow in arrows for end in ((arrow.source, "out"), (arrow.target, "in")))
    return max(ends.values(), default=0)


def _port_lines(entries: Sequence[str], exits: Sequence[str], number: dict[str, str]) -> list[str]:
    """Return a top row for the values that come in and a bottom row for those that leave, each numbered."""
    lines: list[str] = []
    port = f"label={table_of(cell(PORT, 1))}"
    for rank, start, values in (("min", "in", entries), ("max", "out", exits)):
        if values:
            numbers = [str(len(number) + n) for n in range(len(values))]
            number |= {f"{start} {value}": n for value, n in zip(values, numbers, strict=True)}
            lines.append(f"{{rank={rank}; {' '.join(f'{n} [{port}];' for n in numbers)}}}")
    return lines


def _ends(
    arrow: Arrow, value: str, table: Tables, number: Mapping[str, str], of_block: Mapping[str, str]
) -> tuple[str, str]:
    """Return the nodes, and the cells of their tables, that an arrow connects."""
    tail, head = (
        table.ports.get((end, way, value)) or f"{number[of_block[end]]}{table.cells.get(end, '')}"
        for end, way in ((arrow.source, "out"), (arrow.target, "in"))
    )
    return tail, head


def _edge_lines(
    drawn: Sequence[Arrow],
    ends: Mapping[str, tuple[str, str]],
    size: Mapping[str, Size],
    spine: set[str],
    regions: Mapping[str, RegionOutline],
    part: float,
) -> list[str]:
    """Return the arrows, each with the room of its label, in the order of their numbers."""
    beside = _late(drawn, regions)
    lines: list[str] = []
    for key, arrow in enumerate(drawn):
        w, h = size[arrow.id]
        weight = f", weight={_STRAIGHT}" if arrow.id in spine else ""
        label = f", label={table_of(cell(w * part, h - _OVERLAP))}" if w else ""
        late = ", minlen=2" if arrow.source in regions and arrow.target in beside else ""
        tail, head = ends[arrow.id]
        lines.append(f"{tail}:s -> {head}:n [key={key}, id={key}{weight}{label}{late}]")
    return lines


def _spine(ends: Mapping[str, tuple[str, str]], depth: Mapping[str, int]) -> set[str]:
    """Return the arrows on the main path through a part, which is drawn straight down: the longest path to a value.

    It begins where a value enters, if it can, and ends at what leaves, or at the lowest. `ends` are an arrow's blocks,
    which are numbers, and `depth` is how long the way to its value is.
    """
    into: dict[str, list[str]] = {}
    reach = {start for start, _ in ends.values() if start.startswith("in ")}
    for id, (start, to) in sorted(ends.items(), key=lambda each: depth[each[0]]):
        into.setdefault(to, []).append(id)
        if start in reach:
            reach.add(to)

    def rank(id: str) -> tuple[bool, int, int]:
        start = ends[id][0]
        return start in reach, depth[id], -int(start.removeprefix("in "))  # of several equal ways the first made

    leaving = [id for id, (_, to) in ends.items() if to.startswith("out ")]
    last = max(leaving or ends, key=rank, default=None)
    spine: set[str] = set()
    while last is not None and last not in spine:  # a circle would lead round for ever
        spine.add(last)
        ways = into.get(ends[last][0], ())
        if len(ways) > 2 and not any(ends[way][0] in into or ends[way][0] in reach for way in ways):
            break  # the only user of several leaves is below their middle
        last = max(ways, key=rank, default=None)
    return spine


def _late(drawn: Iterable[Arrow], regions: Mapping[str, RegionOutline]) -> set[str]:
    """Return the users of both a region and a box that only they use: they get a row below the region."""
    into: dict[str, set[str]] = {}
    out: dict[str, set[str]] = {}
    for arrow in drawn:
        into.setdefault(arrow.target, set()).add(arrow.source)
        out.setdefault(arrow.source, set()).add(arrow.target)
    alone = {id for id, targets in out.items() if len(targets) == 1 and id not in into and not id.startswith("in ")}
    return {id for id, sources in into.items() if sources & alone - regions.keys() and sources & regions.keys()}
