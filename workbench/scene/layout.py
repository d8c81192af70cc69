"""Where things stand: Graphviz places boxes of a size we give, so that a layout is the same on every machine.

What lies in a group or region is laid out by itself, and is then one box of that size among what stands around it.
The way of an arrow is made of pieces, one for each part of the picture that it leads through: it enters a frame from
above by a port of its value, and leaves it below. So frames lie in each other as the program's parts do, and one large
layout is many small ones.

A node and the saved tensors hanging on it are one block to Graphviz, described as an HTML-like table of
empty cells of fixed size, and so is a label: Graphviz sees no text, so no font of the machine is measured and
no text can mislead it. It works in this process or as a program on the path (`ENGINES`). Of a dense graph it is not
told all: arrows that lead past many boxes cost it minutes and show nothing (`thinned`).
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from _thread import start_new_thread
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, groupby
from math import inf
from typing import Any

from .labels import STRIP, Size, in_group
from .messages import DOT_FAILED, NO_GRAPHVIZ, NO_PLACE
from .model import AROUND, LOOSE, Arrow, Box, Scene, paths
from .routes import GAP, MARGIN, Place, Point, Walls, Way, one_way, related, routed, straight_between, swung

_LABEL_MARGIN = 12  # around the picture where only a label comes near its edge
TIE = 22  # between a node and the saved tensors hanging on it
CHIP_GAP = 6  # between two saved tensors of one node, or two levels
_BESIDE = 36  # between a box and its tangent, or a story
_NEAR = 220  # px between a story at the picture's side and what it is about: in a window both are in sight
_STRIP_TOP = 12.0  # above the strip of levels
_PAD = 14  # between a frame and what lies in it
_STRAIGHT = 100  # how much more the main way through a part is kept straight than others
_APART, _APART_LABELLED = 14, 2  # px between two rows; a label takes a row of its own
_CROWDED = 24  # px more for each row that needs room, where a label still has none
_OVERLAP = 12  # px of a label's height in the room that Graphviz leaves above and below it: 5 px at least
_ASIDE = 28  # px between what stands side by side
_FALL, _MOST_FALL = 0.16, 42.0  # how far down an arrow leads for each px sideways, and px of that
_BY_HEADING = 12.0  # px between a heading and a value that enters beside it, and to the next
_EDGE = 8  # px between a part's edge and an arrow in it
_MOST_LED = 200, 400  # boxes and arrows; of more, looking for the arrows' ways would take longer than all the rest
_PORT = 4  # the width of the cell where an arrow goes through a frame
_HEAD = "node [shape=plain]\nedge [dir=none]\n"

_lock = threading.Lock()  # Graphviz has state of its own, and the standard error stream is every thread's
if hasattr(os, "register_at_fork"):  # so a fork waits until no other thread is in there
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands, in px; y grows downwards."""

    width: float
    height: float
    boxes: dict[str, Place]
    arrows: dict[str, Way]


@dataclass(frozen=True, slots=True)
class Wire:
    """A piece of arrows' ways in one part of the picture: from a box, or the port of a value (None), to another."""

    start: str | None
    end: str | None
    value: str  # the box that makes the value
    arrow: str | None = None  # that ends here; where the way leads on through a frame, it is that of all the value's

    def numbered(self, number: Mapping[str, str], own: int) -> Wire:
        """The same with numbers for names."""
        start, end = (None if id is None else number[id] for id in (self.start, self.end))
        return Wire(start, end, number[self.value], str(own))


@dataclass(frozen=True, slots=True)
class Frame:
    """What a part of the picture that lies in another is to that: its size, and where values enter and leave."""

    width: float
    height: float
    entries: tuple[tuple[str, float], ...]
    exits: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Level:
    """One part of the picture laid out by itself, from its own upper left corner."""

    width: float
    height: float
    places: dict[str, Place]
    ways: dict[Wire, Way]
    entries: dict[str, float] = field(default_factory=dict)  # value -> how far right it enters at the upper edge
    exits: dict[str, float] = field(default_factory=dict)  # and leaves at the lower

    def numbered(self, number: Mapping[str, str]) -> Frame:
        """What it is to the part that it lies in, with numbers for names."""
        entries, exits = (tuple([(number[id], x) for id, x in each.items()]) for each in (self.entries, self.exits))
        return Frame(self.width, self.height, entries, exits)

    def to_dict(self) -> dict[str, Any]:
        """The level as JSON-native values: the corners of boxes, and of each piece its ends, value, arrow and way.

        A way's points are told in whole px, each from the one before it.
        """
        return {
            "w": round(self.width),
            "h": round(self.height),
            "boxes": {id: [round(place.x), round(place.y)] for id, place in self.places.items()},
            "wires": [
                [wire.start, wire.end, wire.value, wire.arrow, _steps(way.points), *_tag(way)]
                for wire, way in self.ways.items()
            ],
            "in": {value: round(x) for value, x in self.entries.items()},
            "out": {value: round(x) for value, x in self.exits.items()},
        }


def _steps(points: Iterable[Point]) -> list[int]:
    """How far each point is from the one before it, in whole px."""
    steps: list[int] = []
    before = (0, 0)
    for x, y in points:
        here = round(x), round(y)
        steps += [here[0] - before[0], here[1] - before[1]]
        before = here
    return steps


def _tag(way: Way) -> list[int]:
    """Where a way's label is, if it has one, and whether it stands at the left."""
    label = way.label
    return [round(each) for each in (label.x, label.y, label.w, label.h, way.leftward)] if label.w else []


def laid_out(scene: Scene, boxes: dict[str, Size], labels: dict[str, Size]) -> Layout:
    """The layout of the scene's boxes and arrow labels of these sizes, with values going down."""
    if any(box.place for box in scene.boxes.values()):
        return _chart(scene)
    for id, box in scene.boxes.items():
        if box.kind == "story":
            others = {each: other for each, other in scene.boxes.items() if each != id}
            found = _beside(laid_out(replace(scene, boxes=others), boxes, labels), box, boxes[id])
            if box.refers not in found.boxes or found.boxes[id].gap(found.boxes[box.refers]) <= _NEAR:
                return found
    strip, width = _strip(scene, boxes)
    blocks = _blocks(scene, boxes)
    if not blocks:
        return Layout(max(width, 2 * MARGIN), 2 * MARGIN + _top(strip), strip, {})
    parts = Parts(scene)
    levels: dict[str | None, Level] = {}
    for frame in reversed(parts.order):  # the inner ones first
        levels[frame] = level_of(parts, frame, blocks, boxes, labels, levels)
    places: dict[str, Place] = {}
    corners: dict[str | None, Point] = {None: (MARGIN, MARGIN + _top(strip))}
    for frame in parts.order:
        x, y = corners[frame]
        for id, place in levels[frame].places.items():
            places[id] = Place(round(place.x + x, 1), round(place.y + y, 1), place.w, place.h)
            corners[id] = places[id].x, places[id].y
    drawn = {id: {wire: way.moved(*corners[id]) for wire, way in level.ways.items()} for id, level in levels.items()}
    standing = [place for id, place in places.items() if id not in levels]
    standing += [replace(place, w=boxes[id][0], h=float(STRIP)) for id, place in places.items() if id in levels]
    standing += [way.label for each in drawn.values() for way in each.values() if way.label.w]
    walls = Walls(standing)
    ways = {id: one_way([drawn[frame][wire] for frame, wire in pieces], walls) for id, pieces in parts.pieces.items()}
    ways |= {
        a.id: straight_between(places[a.source], places[a.target]) for a in scene.arrows.values() if a.kind == "beside"
    }
    # A label brought near its arrow may have left Graphviz's frame.
    labels_at = [(way.label.x, way.label.x + way.label.w) for way in ways.values() if way.label.w]
    shift = max(0.0, *(_LABEL_MARGIN - start for start, _ in labels_at), 0.0)
    whole = levels[None]
    width = max(width, whole.width + 2 * MARGIN, *(end + _LABEL_MARGIN for _, end in labels_at), 0.0)
    ways |= related(scene, places | strip, [way.label for way in ways.values() if way.label.w], width)
    return Layout(
        round(width + shift),
        round(whole.height + 2 * MARGIN + _top(strip)),
        {id: strip[id] if id in strip else places[id].moved(shift) for id in scene.boxes},
        {id: ways[id].moved(shift) for id in scene.arrows},
    )


def _beside(layout: Layout, story: Box, size: Size) -> Layout:
    """The layout with a story beside all else: at the side and the height of the box that it refers to."""
    (w, h), about = size, layout.boxes.get(story.refers or "")
    height = max(layout.height, h + 2 * MARGIN)
    down = (height - layout.height) / 2
    x, y, gap = layout.width - MARGIN, float(MARGIN), _BESIDE if layout.boxes else 0
    right = 0.0
    if about is not None:
        y = min(max(y, about.y + about.h / 2 + down - h / 2), height - MARGIN - h)
        if about.x + about.w / 2 < layout.width / 2:
            x, right = float(MARGIN), w + gap
    return Layout(
        round(layout.width + w + gap),
        round(height),
        {id: place.moved(right, down) for id, place in layout.boxes.items()}
        | {story.id: Place(x if right else x + gap, round(y, 1), w, h)},
        {id: way.moved(right, down) for id, way in layout.arrows.items()},
    )


class Levels(Mapping[str | None, Level]):
    """Each group of a scene, and the whole (None), laid out by itself with all groups closed, once it is asked for.

    A page stretches them when a group is opened. Those stay as they are in the levels of the `whole`, of which the
    scene is a part, that hold the same.
    """

    def __init__(self, scene: Scene, boxes: dict[str, Size], labels: dict[str, Size], whole: Levels | None) -> None:
        self._parts, self._blocks = Parts(scene), _blocks(scene, boxes)
        self._boxes, self._labels, self._whole = boxes, labels, whole
        self._regions: dict[str | None, Level] = {}
        self._known: dict[str | None, Level] = self._regions
        for frame in self:
            if frame is not None and scene.boxes[frame].kind == "region":
                self._regions[frame] = self._level(frame)
        self._known = dict(self._regions)

    @property
    def wires(self) -> int:
        """How many pieces of arrows' ways there are."""
        return sum(map(len, self._parts.wires.values()))

    def __iter__(self) -> Iterator[str | None]:
        return reversed(self._parts.order)  # the inner ones first

    def __len__(self) -> int:
        return len(self._parts.order)

    def __getitem__(self, frame: str | None) -> Level:
        if frame not in self._known:
            self._known[frame] = self._level(frame)
        return self._known[frame]

    def _level(self, frame: str | None) -> Level:
        if frame not in self._parts.wires:
            raise KeyError(frame)
        if self._whole is not None and self._is_held_in(self._whole, frame):
            return self._whole[frame]
        return level_of(self._parts, frame, self._blocks, self._boxes, self._labels, self._regions)

    def _is_held_in(self, whole: Levels, frame: str | None) -> bool:
        """Whether the level of the whole holds the same."""
        wires, standing = self._parts.wires[frame].keys(), self._standing(frame)
        if frame not in whole._parts.wires or wires != whole._parts.wires[frame].keys():
            return False
        inner = standing & self._regions.keys()
        return standing == whole._standing(frame) and all(self._regions[id] is whole[id] for id in inner)

    def _standing(self, frame: str | None) -> set[str]:
        """What has a place in this frame."""
        inside = self._parts.inside[frame]
        standing = {each for id in inside if id in self._blocks for each in self._blocks[id].ids}
        return standing | {id for id in inside if id in self._regions}


def _chart(scene: Scene) -> Layout:
    """Every box where it says, arrows straight."""
    places: dict[str, Place] = {}
    for box in scene.boxes.values():
        if box.place is None:
            raise ValueError(NO_PLACE.format(box.id))
        x, y, w, h = box.place
        places[box.id] = Place(x + MARGIN, y + MARGIN, w, h)
    return Layout(
        round(max(place.x + place.w for place in places.values()) + MARGIN),
        round(max(place.y + place.h for place in places.values()) + MARGIN),
        places,
        {arrow.id: straight_between(places[arrow.source], places[arrow.target]) for arrow in scene.arrows.values()},
    )


def _strip(scene: Scene, boxes: dict[str, Size]) -> tuple[dict[str, Place], float]:
    """The places of the levels, side by side along the picture's upper edge, and how wide that is."""
    places: dict[str, Place] = {}
    x = float(MARGIN)
    for box in scene.boxes.values():
        if box.kind == "level":
            places[box.id] = Place(x, _STRIP_TOP, *boxes[box.id])
            x += boxes[box.id][0] + CHIP_GAP
    return places, x - CHIP_GAP + MARGIN if places else 0.0


def _top(strip: dict[str, Place]) -> float:
    """The height that the strip of levels takes."""
    return _STRIP_TOP + STRIP if strip else 0.0


@dataclass(frozen=True, slots=True)
class Block:
    """A standing box with the saved tensors hanging on it and its tangents beside it: one node to Graphviz."""

    width: float
    height: float
    chips: tuple[tuple[str, Size], ...]
    stack: float  # the height of the saved tensors, one above the other
    cells: tuple[tuple[str | None, Size], ...]  # from left to right: a box, or what has no arrows (without a height)

    @property
    def ids(self) -> list[str]:
        """All boxes in it."""
        return [id for id, _ in (*self.cells, *self.chips) if id is not None]

    def numbered(self, number: Mapping[str, str]) -> Block:
        """The same with numbers for names."""
        chips = tuple([(number[id], size) for id, size in self.chips])
        cells = tuple([(None if id is None else number[id], size) for id, size in self.cells])
        return replace(self, chips=chips, cells=cells)


def _blocks(scene: Scene, boxes: dict[str, Size]) -> dict[str, Block]:
    standing = [box for box in scene.boxes.values() if box.holder is None and box.kind not in (*AROUND, "tangent")]
    chips: dict[str, list[str]] = {box.id: [] for box in standing}
    tangents: dict[str, list[str]] = {box.id: [] for box in standing}
    for box in scene.boxes.values():
        if box.holder is not None:
            chips[box.holder].append(box.id)
    for arrow in scene.arrows.values():
        if arrow.kind == "beside" and scene.boxes[arrow.target].kind == "tangent":
            tangents[arrow.source].append(arrow.target)
    for box in standing:
        if box.kind == "story" and box.refers in tangents:
            tangents[box.refers].append(box.id)
            del chips[box.id]
    # Where there are saved tensors, a tangent at their right would be out of its box's sight.
    left = any(chips[id] and tangents[id] for id in chips)
    blocks: dict[str, Block] = {}
    for id, hanging in chips.items():
        w, h = boxes[id]
        stack = sum(boxes[chip][1] for chip in hanging) + CHIP_GAP * max(0, len(hanging) - 1)
        wide = max((TIE + boxes[chip][0] for chip in hanging), default=0.0)
        cells: list[tuple[str | None, Size]] = [(id, (w, h))]
        cells += [(None, (wide, 0.0))] if wide else []
        for tangent in tangents[id]:
            pair = [(None, (float(_BESIDE), 0.0)), (tangent, boxes[tangent])]
            cells = [*pair[::-1], *cells] if left else [*cells, *pair]
        width = sum(each for _, (each, _) in cells)
        height = max(stack, *(each for _, (_, each) in cells))
        blocks[id] = Block(width, height, tuple([(chip, boxes[chip]) for chip in hanging]), stack, tuple(cells))
    return blocks


class Parts:
    """What stands in each frame of a scene (None: the whole picture), and the pieces of arrows' ways there."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.order: list[str | None] = [None]  # the outer ones first
        self.inside: dict[str | None, list[str]] = {None: []}
        self.wires: dict[str | None, dict[Wire, list[str]]] = {None: {}}  # with the arrows that they are a piece of
        self.pieces: dict[str, list[tuple[str | None, Wire]]] = {}
        flowing = [arrow for arrow in scene.arrows.values() if arrow.kind not in LOOSE]
        self.depth = dict.fromkeys(scene.boxes, 0) | depths((arrow.source, arrow.target) for arrow in flowing)
        path = paths(scene)
        holding = dict.fromkeys(box.region for box in scene.boxes.values() if box.region is not None)
        for id, box in scene.boxes.items():
            if box.holder is None and box.kind not in ("level", "tangent") and (box.kind != "region" or id in holding):
                self.inside.setdefault(box.region, []).append(id)
        for id in sorted(holding, key=lambda id: len(path[id])):
            self.order.append(id)
            self.wires[id] = {}
        for arrow in flowing:
            self._lead(arrow, [*path[arrow.source], arrow.source], [*path[arrow.target], arrow.target])

    def _lead(self, arrow: Arrow, upper: list[str], lower: list[str]) -> None:
        """Divide an arrow's way among the frames that it leads through."""
        common = 0
        while upper[common] == lower[common] and common < min(len(upper), len(lower)) - 1:
            common += 1
        value = arrow.source
        pieces: list[tuple[str | None, Wire]] = []
        for depth in range(len(upper) - 1, common, -1):
            pieces.append((upper[depth - 1], Wire(upper[depth], None, value)))
        last = common == len(lower) - 1
        home = upper[common - 1] if common else None
        pieces.append((home, Wire(upper[common], lower[common], value, arrow.id if last else None)))
        for depth in range(common + 1, len(lower)):
            last = depth == len(lower) - 1
            pieces.append((lower[depth - 1], Wire(None, lower[depth], value, arrow.id if last else None)))
        for frame, wire in pieces:
            self.wires[frame].setdefault(wire, []).append(arrow.id)
        self.pieces[arrow.id] = pieces


def level_of(
    parts: Parts,
    frame: str | None,
    blocks: Mapping[str, Block],
    boxes: Mapping[str, Size],
    labels: Mapping[str, Size],
    levels: Mapping[Any, Level],
) -> Level:
    """One part of the picture; a frame in it that has its own of `levels` is of that size, another of its box's.

    What is alike, as the rounds of a loop are, is laid out once: boxes and values go by numbers there.
    """
    inside = [id for id in parts.inside[frame] if id in blocks or id in levels]
    wires = list(parts.wires[frame])
    ids = [each for id in inside for each in ([id] if id in levels else blocks[id].ids)]
    ids = list(dict.fromkeys([*ids, *(wire.value for wire in wires)]))
    number = {id: str(n) for n, id in enumerate(ids)}
    depths = sorted({parts.depth[wire.value] for wire in wires})
    drawn = drawn_level(
        None if frame is None else boxes[frame][0],
        tuple([number[id] for id in inside]),
        tuple([(levels[id] if id in levels else blocks[id]).numbered(number) for id in inside]),
        tuple([wire.numbered(number, n) for n, wire in enumerate(wires)]),
        tuple([_label(wire, arrows, labels, levels, parts.scene) for wire, arrows in parts.wires[frame].items()]),
        tuple([bisect_left(depths, parts.depth[wire.value]) for wire in wires]),
    )
    return Level(
        drawn.width,
        drawn.height,
        {ids[int(id)]: place for id, place in drawn.places.items()},
        {wires[int(wire.arrow or 0)]: way for wire, way in drawn.ways.items()},
        {ids[int(value)]: x for value, x in drawn.entries.items()},
        {ids[int(value)]: x for value, x in drawn.exits.items()},
    )


@lru_cache(maxsize=512)  # the rounds of a loop are all alike
def drawn_level(
    heading: float | None,
    inside: tuple[str, ...],
    held: tuple[Block | Frame, ...],
    wires: tuple[Wire, ...],
    sizes: tuple[Size, ...],
    depths: tuple[int, ...],
) -> Level:
    """What `level_of` lays out: below a heading so wide, wires with labels of these sizes, of values so deep down."""
    blocks = {id: each for id, each in zip(inside, held, strict=True) if isinstance(each, Block)}
    levels = {id: each for id, each in zip(inside, held, strict=True) if isinstance(each, Frame)}
    entries = list(dict.fromkeys(wire.value for wire in wires if wire.start is None))
    exits = list(dict.fromkeys(wire.value for wire in wires if wire.end is None))
    names = [str(n) for n in range(len(wires))]
    ends = [(wire.start or f"in {wire.value}", wire.end or f"out {wire.value}") for wire in wires]
    pseudo = [Arrow(name, *each) for name, each in zip(names, ends, strict=True)]
    size, depth = dict(zip(names, sizes, strict=True)), dict(zip(names, depths, strict=True))
    of_block = {each: id for id in inside if id in blocks for each, _ in blocks[id].cells if each is not None}
    of_block |= {id: id for each in ends for id in each if id not in of_block}
    told, settings = thinned(pseudo, of_block, size)
    # Values that enter a frame stand far from what takes them: with few rounds their arrows lead side by side.
    settings = _IN_FRAME if heading is not None and settings == _SETTINGS else settings
    led = "splines=true" in settings and len(of_block) <= _MOST_LED[0] and len(wires) <= _MOST_LED[1]
    settings = settings.replace("splines=true", "splines=line") if led else settings
    table, ports = _tables(inside, blocks, levels)
    lines = [f"{n} [label={table[id]}]" for n, id in enumerate(inside)]
    number = {id: str(n) for n, id in enumerate(inside)}
    for rank, start, values in (("min", "in", entries), ("max", "out", exits)):
        if values:
            numbers = [str(len(number) + n) for n in range(len(values))]
            number |= {f"{start} {value}": n for value, n in zip(values, numbers, strict=True)}
            port = f"label={_table(_cell(_PORT, 1))}"
            lines.append(f"{{rank={rank}; {' '.join(f'{n} [{port}];' for n in numbers)}}}")
    spine = _spine({each.id: (of_block[each.source], of_block[each.target]) for each in told}, depth)
    beside = _late(told, levels)
    for key, arrow in enumerate(told):
        w, h = size[arrow.id]
        weight = f", weight={_STRAIGHT}" if arrow.id in spine else ""
        label = f", label={_table(_cell(w, h - _OVERLAP))}" if w else ""
        late = ", minlen=2" if arrow.source in levels and arrow.target in beside else ""
        tail, head = (
            ports.get((end, way, wires[int(arrow.id)].value)) or f"{number[of_block[end]]}{ports.get(end, '')}"
            for end, way in ((arrow.source, "out"), (arrow.target, "in"))
        )
        lines.append(f"{tail}:s -> {head}:n [key={key}, id={key}{weight}{label}{late}]")
    apart = _APART_LABELLED if any(w for w, _ in size.values()) else _APART
    graph = f"graph [rankdir=TB, nodesep={_ASIDE / 72:g}, ranksep={apart / 72:g}, {settings}]\n"
    found = placed("digraph {\n" + graph + _HEAD + "\n".join(lines) + "\n}")
    told_of = (heading, inside, wires, told, spine, (entries, exits), blocks, size, levels, led)
    level, wanted = _settled(found, *told_of, past=False)
    if wanted:
        level, crowded = _settled(_loosened(found, wanted), *told_of, past=True)
        if crowded:
            more = {row: by + _CROWDED for row, by in wanted.items()}
            level, _ = _settled(_loosened(found, more), *told_of, past=True)
    return level


def _spine(ends: Mapping[str, tuple[str, str]], depth: Mapping[str, int]) -> set[str]:
    """The arrows on the main way through a part, which reads straight down: that of what came the longest way.

    It begins where a value enters, if it can, and ends at what leaves, or at the lowest. `ends` are an arrow's blocks,
    and `depth` is how long the way to its value is.
    """
    into: dict[str, list[str]] = {}
    reach = {start for start, _ in ends.values() if start.startswith("in ")}
    for id, (start, to) in sorted(ends.items(), key=lambda each: depth[each[0]]):
        into.setdefault(to, []).append(id)
        if start in reach:
            reach.add(to)

    def rank(id: str) -> tuple[bool, int]:
        return ends[id][0] in reach, depth[id]

    leaving = [id for id, (_, to) in ends.items() if to.startswith("out ")]
    last = max(leaving or ends, key=rank, default=None)
    spine: set[str] = set()
    while last is not None and last not in spine:  # a circle would lead round for ever
        spine.add(last)
        ways = into.get(ends[last][0], ())
        if len(ways) > 2 and not any(ends[way][0] in into or ends[way][0] in reach for way in ways):
            break  # what several leaves alone lead to stands below their middle
        last = max(ways, key=rank, default=None)
    return spine


def _late(told: Iterable[Arrow], levels: Mapping[str, Frame]) -> set[str]:
    """What uses both what a frame makes and what stands there for it alone: that gets a row below the frame."""
    into: dict[str, set[str]] = {}
    out: dict[str, set[str]] = {}
    for arrow in told:
        into.setdefault(arrow.target, set()).add(arrow.source)
        out.setdefault(arrow.source, set()).add(arrow.target)
    alone = {id for id, targets in out.items() if len(targets) == 1 and id not in into and not id.startswith("in ")}
    return {id for id, sources in into.items() if sources & alone - levels.keys() and sources & levels.keys()}


def _label(
    wire: Wire, arrows: list[str], labels: Mapping[str, Size], levels: Mapping[Any, Level], scene: Scene
) -> Size:
    """The size of the label of a piece: where its way leads on, the label is there."""
    if wire.end is None or wire.end in levels:
        return 0.0, 0.0
    told = [id if scene.arrows[id].target == wire.end else in_group(id) for id in arrows]
    return max((labels[id] for id in told), key=lambda size: size[0] * size[1])


def _settled(
    found: Placed,
    heading: float | None,
    inside: Sequence[str],
    wires: Sequence[Wire],
    told: list[Arrow],
    spine: Collection[str],
    values: tuple[list[str], list[str]],
    blocks: Mapping[str, Block],
    size: Mapping[str, Size],
    levels: Mapping[str, Frame],
    led: bool,
    past: bool,
) -> tuple[Level, dict[float, float]]:
    """What Graphviz found, with the ways led up to the boxes and through the frame.

    And by how many px each row, by its level there, should be further down, for no arrow to lead nearly level.
    """
    entries, exits = values
    pad = _PAD if heading is not None else 0
    width = max(found.width + 2 * pad, heading or 0.0)
    height = found.height + 2 * pad
    across, down = (width - found.width) / 2, float(pad)
    if heading is not None:
        # A value that enters comes down past the heading, and so does its label.
        below = [y - _height(id, blocks, levels) / 2 for id, (_, y) in zip(inside, found.nodes, strict=False)]
        tags_at = [(*at, *size[arrow.id]) for arrow, at in zip(told, found.labels, strict=True) if at is not None]
        below += [y - h / 2 for x, y, w, h in tags_at if x + across - w / 2 < heading]
        down = max(STRIP + 4.0 - min(below, default=0.0), 6.0)
        height = down + found.height + (pad if not exits else 6.0)
    places: dict[str, Place] = {}
    fixed: set[str] = set()
    for id, (x, y) in zip(inside, found.nodes, strict=False):
        x, y = x + across, y + down
        if id in levels:
            inner = levels[id]
            places[id] = Place(round(x - inner.width / 2, 1), round(y - inner.height / 2, 1), inner.width, inner.height)
            fixed.add(id)
        else:
            _stand(id, blocks[id], x, y, places)
    spots = [(x + across, y + down) for x, y in found.nodes[len(inside) :]]
    enters = {value: round(x, 1) for value, (x, _) in zip(entries, spots, strict=False)}
    least = (heading or 0.0) + _BY_HEADING
    for value in sorted(enters, key=lambda each: enters[each]):
        if enters[value] >= least or least > width - pad:
            break
        enters[value] = least
        least += _BY_HEADING
    leaves = {value: round(x, 1) for value, (x, _) in zip(exits, spots[len(entries) :], strict=True)}
    around = dict(places)
    around |= {f"in {value}": Place(x - 1, -GAP, 2.0, 0.0) for value, x in enters.items()}
    around |= {f"out {value}": Place(x - 1, height + GAP, 2.0, 0.0) for value, x in leaves.items()}
    fixed |= around.keys() - places.keys()
    splines: dict[str, list[Point]] = {}
    tags: dict[str, Place] = {}
    for arrow, points, label in zip(told, found.edges, found.labels, strict=True):
        w, h = size[arrow.id]
        x, y = label if label is not None else (0.0, 0.0)
        tags[arrow.id] = Place(round(x + across - w / 2, 1), round(y + down - h / 2, 1), w, h)
        splines[arrow.id] = [(x + across, y + down) for x, y in points]
    flowing = {
        str(n): Arrow(str(n), wire.start or f"in {wire.value}", wire.end or f"out {wire.value}")
        for n, wire in enumerate(wires)
    }
    for arrow in flowing.values():
        if arrow.id not in splines:
            splines[arrow.id], tags[arrow.id] = swung(around[arrow.source], around[arrow.target], size[arrow.id])
    for wire, arrow in zip(wires, flowing.values(), strict=True):
        # To the very place where the way goes on beyond the frame.
        points = splines[arrow.id]
        if wire.start is not None and wire.start in levels:
            points[0] = (places[wire.start].x + dict(levels[wire.start].exits)[wire.value], points[0][1])
        elif wire.start is None:
            points[0] = (enters[wire.value], points[0][1])
        if wire.end is not None and wire.end in levels:
            points[-1] = (places[wire.end].x + dict(levels[wire.end].entries)[wire.value], points[-1][1])
        elif wire.end is None:
            points[-1] = (leaves[wire.value], points[-1][1])
    titles = [] if heading is None else [Place(0.0, 0.0, heading, float(STRIP))]
    found_ways, crowded = routed(Scene("", {}, flowing), splines, around, tags, fixed, spine, titles, led, past)
    standing = Walls([*places.values(), *titles])
    entering = Counter(wire.value for wire in wires if wire.start is None)
    for n, wire in enumerate(wires):
        if wire.start is None and entering[wire.value] == 1:
            found_ways[str(n)] = _from_above(found_ways[str(n)], standing, enters, wire.value)
    # A page keeps the first way through a frame straight.
    order = sorted(range(len(wires)), key=lambda n: str(n) not in spine)
    ways = {wires[n]: found_ways[str(n)] for n in order}
    across = [x for way in ways.values() for x, _ in way.points]
    if heading is not None:  # beside a frame other arrows lead past
        across += [x for way in ways.values() if way.label.w for x in (way.label.x, way.label.x + way.label.w)]
    left = max(0.0, _EDGE - min(across, default=_EDGE))
    width += left + max(0.0, max(across, default=0.0) + _EDGE - width)
    level = Level(
        float(2 * -(-width // 2)),
        height,
        {id: place.moved(left) for id, place in places.items()},
        {wire: way.moved(left) for wire, way in ways.items()},
        {value: round(x + left, 1) for value, x in enters.items()},
        {value: round(x + left, 1) for value, x in leaves.items()},
    )
    falling = () if past else ways.values()
    return level, _wanted(found, down, falling, [found_ways[id].label for id in crowded]) if led else {}


def _from_above(way: Way, standing: Walls, enters: dict[str, float], value: str) -> Way:
    """The way, entering right above where it first turns, if that is near and nothing stands there."""
    if len(way.points) == 4:
        return way
    (x, top), (_, down), (_, low), (turn, foot), (after, _), *_ = way.points
    others = [each for other, each in enters.items() if other != value]
    free = abs(turn - x) < _ASIDE and turn == after and all(abs(turn - each) >= _BY_HEADING for each in others)
    if not free or standing.met(turn - _PORT, top, turn + _PORT, foot).any():
        return way
    enters[value] = turn
    return replace(way, points=((turn, top), (turn, down), (turn, low), *way.points[3:]))


def _wanted(found: Placed, down: float, ways: Iterable[Way], crowded: Iterable[Place]) -> dict[float, float]:
    """How much further down each row of a level that is so far down should be, by its place before."""
    levels = sorted({y for _, y in found.nodes})
    wanted: dict[float, float] = {}
    for way in ways:
        start, *knots = way.points[::3]
        for row, run in groupby(knots, lambda knot: min(bisect_left(levels, knot[1] - down), len(levels) - 1)):
            inside = [start, *run]
            start = inside[-1]
            above = levels[row - 1] if row > 1 else -inf  # of the row before, if it is not one of ports
            inside = [knot for knot in inside if knot[1] - down >= above]
            more = min(_FALL * abs(inside[-1][0] - inside[0][0]), _MOST_FALL) - (inside[-1][1] - inside[0][1])
            if more > 1 and row:
                wanted[levels[row]] = max(wanted.get(levels[row], 0.0), more)
    for label in crowded:
        row = bisect_left(levels, label.y + label.h / 2 - down)
        if 0 < row < len(levels):
            wanted[levels[row]] = max(wanted.get(levels[row], 0.0), label.h + _APART)
    return wanted


def _loosened(found: Placed, wanted: Mapping[float, float]) -> Placed:
    """The same with rows so much further down."""
    rows = sorted(wanted)
    sums = [0.0, *accumulate(wanted[row] for row in rows)]

    def moved(point: Point) -> Point:
        return point[0], point[1] + sums[bisect_right(rows, point[1])]

    edges = [[moved(point) for point in points] for points in found.edges]
    labels = [label and moved(label) for label in found.labels]
    return Placed(found.width, found.height + sums[-1], [moved(each) for each in found.nodes], edges, labels)


def _height(id: str, blocks: Mapping[str, Block], levels: Mapping[str, Frame]) -> float:
    return levels[id].height if id in levels else blocks[id].height


def _stand(id: str, block: Block, x: float, y: float, places: dict[str, Place]) -> None:
    """The places of a block's boxes, with its middle at this point."""
    x -= block.width / 2
    for each, (w, h) in block.cells:
        if each is not None:
            places[each] = Place(round(x, 1), round(y - h / 2, 1), w, h)
        x += w
    x, y = places[id].x + places[id].w + TIE, y - block.stack / 2
    for chip, (w, h) in block.chips:
        places[chip] = Place(round(x, 1), round(y, 1), w, h)
        y += h + CHIP_GAP


def _tables(
    inside: Iterable[str], blocks: Mapping[str, Block], levels: Mapping[str, Frame]
) -> tuple[dict[str, str], dict[Any, str]]:
    """How Graphviz is told of each box, and by which cell arrows come to it."""
    tables: dict[str, str] = {}
    ports: dict[Any, str] = {}
    for n, id in enumerate(inside):
        if id not in levels:
            block = blocks[id]
            tables[id] = _node(id, block)
            for at, (each, _) in enumerate(block.cells):
                if each is not None:
                    ports[each] = ":b" if each == id else f":t{at}"
            continue
        inner = levels[id]
        rows: list[str] = []
        for letter, way, spots in (("i", "in", inner.entries), ("o", "out", inner.exits)):
            cells: list[str] = []
            at = 0
            for k, (value, x) in enumerate(sorted(spots, key=lambda spot: spot[1])):
                left = max(at, round(x - _PORT / 2))
                cells += [_cell(left - at, 1)] if left > at else []
                cells.append(_cell(_PORT, 1, f'PORT="{letter}{k}"'))
                at = left + _PORT
                ports[id, way, value] = f"{n}:{letter}{k}"
            cells += [_cell(inner.width - at, 1)] if at < inner.width else []
            rows.append(f"<TR><TD>{_TABLE}<TR>{''.join(cells)}</TR></TABLE></TD></TR>")
        rows.insert(1, f"<TR>{_cell(inner.width, inner.height - 2)}</TR>")
        tables[id] = f"<{_TABLE}{''.join(rows)}</TABLE>>"
    return tables, ports


def _node(id: str, block: Block) -> str:
    height = block.height + 2 * GAP
    ports = [f'PORT="{"b" if each == id else f"t{at}"}"' if each else "" for at, (each, _) in enumerate(block.cells)]
    return _table("".join([_cell(w, height, port) for (_, (w, _)), port in zip(block.cells, ports, strict=True)]))


_TABLE = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">'


def _table(cells: str) -> str:
    return f"<{_TABLE}<TR>{cells}</TR></TABLE>>"


def _cell(width: float, height: float, more: str = "") -> str:
    return f'<TD FIXEDSIZE="TRUE" WIDTH="{width:.0f}" HEIGHT="{height:.0f}" {more}></TD>'


class LayoutUnavailable(RuntimeError):
    """There is no Graphviz to place the boxes with."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where Graphviz put things, in px from the upper left corner: middles of nodes and labels, and Bézier points."""

    width: float
    height: float
    nodes: list[Point]
    edges: list[list[Point]]
    labels: list[Point | None]


def placed(dot: str) -> Placed:
    """What the first of the engines that is installed makes of numbered nodes and edges.

    Errors: LayoutUnavailable.
    """
    for engine in ENGINES:
        found = engine(dot)
        if found is not None:
            return found
    raise LayoutUnavailable(NO_GRAPHVIZ)


def _by_pygraphviz(dot: str) -> Placed | None:
    try:
        from pygraphviz import AGraph  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    return _uninterrupted(AGraph, dot)


def _uninterrupted(graph_class: Any, dot: str) -> Placed:
    """In a thread of its own, because Ctrl-C stops only the main one: a graph half closed is closed once more, a crash.

    The bare thread and lock, because an interrupt of `Thread.start` and `join` can raise errors of theirs. What an
    interrupted caller no longer waits for ends later, or never begins; that caller's traceback is to be seen.
    """
    done = threading.Lock()
    outcome: list[Placed | BaseException] = []
    left: list[bool] = []

    def run() -> None:
        try:
            with _lock:
                with _stream:
                    if left:
                        return
                    _hush()
                try:
                    outcome.append(_in_process(graph_class, dot))
                finally:
                    with _stream:
                        _unhush()
        except BaseException as error:  # raised below, where the caller is
            outcome.append(error)
        finally:
            done.release()

    done.acquire()
    try:
        start_new_thread(run, ())
        done.acquire()
    except BaseException:
        with _stream:
            left.append(True)
            _unhush()
        raise
    (placed_or_error,) = outcome
    if isinstance(placed_or_error, BaseException):
        raise placed_or_error
    return placed_or_error


def _in_process(graph_class: Any, dot: str) -> Placed:
    graph = graph_class(string=dot)
    try:
        graph.layout("dot")
        keyed = sorted(graph.edges(keys=True), key=lambda edge: int(edge[2]))
        edges = [graph.get_edge(*edge).attr for edge in keyed]
        nodes = [node.attr["pos"] for node in sorted(graph.nodes(), key=int)]
        return _read_places(graph.graph_attr["bb"], nodes, [(attr["pos"], attr["lp"]) for attr in edges])
    finally:
        graph.close()


def _by_program(dot: str) -> Placed | None:
    try:
        import graphviz  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    try:
        told = json.loads(graphviz.pipe("dot", "json0", dot.encode(), quiet=True))
    except graphviz.ExecutableNotFound:
        return None
    except (OSError, subprocess.CalledProcessError) as error:
        raise LayoutUnavailable(DOT_FAILED.format(str(error).partition("\n")[0])) from None
    edges = sorted(told.get("edges", []), key=lambda edge: int(edge["id"]))
    nodes = sorted([each for each in told["objects"] if each["name"].isdigit()], key=lambda each: int(each["name"]))
    return _read_places(told["bb"], [each["pos"] for each in nodes], [(each["pos"], each.get("lp")) for each in edges])


# From the text of a graph in DOT to its places; an engine that is not installed gives None.
ENGINES: Sequence[Callable[[str], Placed | None]] = (_by_pygraphviz, _by_program)


def _read_places(box: str, nodes: list[str], edges: list[tuple[str, str | None]]) -> Placed:
    left, bottom, right, top = _numbers(box)

    def point(text: str) -> Point:
        x, y = _numbers(text)
        return x - left, top - y  # Graphviz counts upwards

    splines = [[point(each) for each in spline.split()] for spline, _ in edges]
    labels = [point(label) if label else None for _, label in edges]
    return Placed(right - left, top - bottom, [point(each) for each in nodes], splines, labels)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


_stream = threading.Lock()  # held while the standard error stream is switched
_heard: list[int] = []  # the stream itself, while Graphviz's warnings go nowhere


def _hush() -> None:
    """Keep Graphviz's C code from warning about fonts on standard error, which a notebook would show."""
    try:
        _heard.append(os.dup(2))
    except OSError:  # a program without a standard error stream
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _unhush() -> None:
    if _heard:
        kept = _heard.pop()
        os.dup2(kept, 2)
        os.close(kept)


_CALM_ROWS, _HURRIED_ROWS, _MOST_ROWS = 4_000, 8_000, 12_000  # rows that all arrows together lead through
_TANGLED_ROWS = 1_200  # rows that those past other boxes lead through: to bend more takes longer than all the rest
_LEAST_ARROWS, _ARROWS_EACH = 2_000, 4  # told of in any case, or for each box
# The limits stop the network simplex where more of it takes minutes for a thousand boxes and shows nowhere.
_SETTINGS, _IN_FRAME = "splines=true, nslimit=2, nslimit1=2", "splines=true, nslimit=3, nslimit1=3"
_FEWER_ROUNDS = "nslimit=0.1, nslimit1=0.1, mclimit=0.1"


def thinned(arrows: Sequence[Arrow], blocks: Mapping[str, str], labels: Mapping[str, Size]) -> tuple[list[Arrow], str]:
    """The arrows that decide where blocks stand, and with what settings: all of them, unless there are too many.

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
        return list(arrows), _SETTINGS
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
    """The row of each block, about as Graphviz finds it: below all that lead to it, no higher than it need be."""
    below, above = _neighbours(ends)
    row = _fallen(below, above)
    for block in reversed(row):
        if len(below[block]) >= len(above[block]):
            row[block] = max(row[block], min(row[to] for to in below[block]) - 1)
    return row


def depths(ends: Iterable[tuple[str, str]]) -> dict[str, int]:
    """How many arrows the longest way to each block has."""
    return _fallen(*_neighbours(ends))


def _neighbours(ends: Iterable[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The blocks that each block leads to, and those that lead to it."""
    below: dict[str, list[str]] = defaultdict(list)
    above: dict[str, list[str]] = defaultdict(list)
    for start, to in ends:
        below[start].append(to)
        above[to].append(start)
    return below, above


def _fallen(below: dict[str, list[str]], above: dict[str, list[str]]) -> dict[str, int]:
    """The first row of each block that is below all that lead to it, each block after those."""
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
