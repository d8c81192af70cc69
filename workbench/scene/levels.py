"""Each part of a picture laid out by itself, what is alike only once; and all of them, for a page that opens groups."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

from .blocks import Block, blocks_of
from .labels import Size, in_group
from .model import Scene
from .parts import Level, Parts, Wire
from .reading import drawn_level


def levels_of(
    parts: Parts, blocks: Mapping[str, Block], boxes: Mapping[str, Size], labels: Mapping[str, Size]
) -> dict[str | None, Level]:
    """Every part of the picture; what lies in a frame makes it as large as it is."""
    levels: dict[str | None, Level] = {}
    for frame in reversed(parts.order):  # the inner ones first
        levels[frame] = level_of(parts, frame, blocks, boxes, labels, levels)
    return levels


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
        tuple([_label_size(wire, arrows, labels, levels, parts.scene) for wire, arrows in parts.wires[frame].items()]),
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


def _label_size(
    wire: Wire, arrows: list[str], labels: Mapping[str, Size], levels: Mapping[Any, Level], scene: Scene
) -> Size:
    """The size of the label of a piece: where its way leads on, the label is there."""
    if wire.end is None or wire.end in levels:
        return 0.0, 0.0
    told = [id if scene.arrows[id].target == wire.end else in_group(id) for id in arrows]
    return max((labels[id] for id in told), key=lambda size: size[0] * size[1])


class Levels(Mapping[str | None, Level]):
    """Each group of a scene, and the whole (None), laid out by itself with all groups closed, once it is asked for.

    A page stretches them when a group is opened. Those stay as they are in the levels of the `whole`, of which the
    scene is a part, that hold the same.
    """

    def __init__(self, scene: Scene, boxes: dict[str, Size], labels: dict[str, Size], whole: Levels | None) -> None:
        self._parts, self._blocks = Parts(scene), blocks_of(scene, boxes)
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
