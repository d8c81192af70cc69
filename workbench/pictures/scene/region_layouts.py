"""Each part of a picture laid out by itself, what is alike only once; and all of them, for a page that opens groups."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .blocks import Block, blocks_of
from .engines import in_time
from .model import Scene
from .reading import drawn_region
from .regions import RegionLayout, Regions, Wire
from .sizes import Size, in_group

_BUTTON = 28.0  # px at the right end of a heading, where a button closes the group


def region_layouts(
    regions: Regions, blocks: Mapping[str, Block], boxes: Mapping[str, Size], labels: Mapping[str, Size]
) -> dict[str | None, RegionLayout]:
    """Return the layout of every part of the picture; a region is as large as its contents require."""
    layouts: dict[str | None, RegionLayout] = {}
    for region in in_time(reversed(regions.order)):  # the inner ones first
        layouts[region] = region_layout(regions, region, blocks, boxes, labels, layouts)
    return layouts


def region_layout(
    regions: Regions,
    region: str | None,
    blocks: Mapping[str, Block],
    boxes: Mapping[str, Size],
    labels: Mapping[str, Size],
    layouts: Mapping[Any, RegionLayout],
) -> RegionLayout:
    """Return the layout of one part; a region in it has the size of its own one of `layouts`, or of its box.

    Equal parts, such as the iterations of a loop, are laid out once, with numbers for boxes and values.
    """
    inside = [id for id in regions.inside[region] if id in blocks or id in layouts]
    wires = list(regions.wires[region])
    ids = [each for id in inside for each in ([id] if id in layouts else blocks[id].ids)]
    ids = list(dict.fromkeys([*ids, *(wire.value for wire in wires)]))
    number = {id: str(n) for n, id in enumerate(ids)}
    depths = sorted({regions.depth[wire.value] for wire in wires})
    drawn = drawn_region(
        None if region is None else boxes[region][0],
        tuple([number[id] for id in inside]),
        tuple([(layouts[id] if id in layouts else blocks[id]).numbered(number) for id in inside]),
        tuple([wire.numbered(number, n) for n, wire in enumerate(wires)]),
        tuple(
            [
                _label_size(wire, arrows, labels, layouts, regions.scene)
                for wire, arrows in regions.wires[region].items()
            ]
        ),
        tuple([bisect_left(depths, regions.depth[wire.value]) for wire in wires]),
    )
    return RegionLayout(
        drawn.width,
        drawn.height,
        {ids[int(id)]: place for id, place in drawn.places.items()},
        {wires[int(wire.arrow or 0)]: way for wire, way in drawn.ways.items()},
        _with_ends(
            {ids[int(value)]: x for value, x in drawn.entries.items()},
            regions.ending.get(region or "", ()),
            0.0 if region is None else boxes[region][0],
            drawn.width,
        ),
        {ids[int(value)]: x for value, x in drawn.exits.items()},
    )


def _with_ends(entries: dict[str, float], ending: Sequence[str], heading: float, width: float) -> dict[str, float]:
    """Return where values enter, and where arrows end at the frame: beside its heading, or over it in a narrow one."""
    ends = [value for value in ending if value not in entries]
    begin = heading if heading < width / 2 else 0.0
    step = (width - _BUTTON - begin) / (len(ends) + 1)
    return entries | {value: round(begin + step * n, 1) for n, value in enumerate(ends, 1)}


def _label_size(
    wire: Wire, arrows: list[str], labels: Mapping[str, Size], layouts: Mapping[Any, RegionLayout], scene: Scene
) -> Size:
    """Return the label size of a piece: zero if its route continues, because the label is further on."""
    if wire.end is None or (wire.end in layouts and wire.arrow is None):
        return 0.0, 0.0
    ids = [id if scene.arrows[id].target == wire.end else in_group(id) for id in arrows]
    return max((labels[id] for id in ids), key=lambda size: size[0] * size[1])


class RegionLayouts(Mapping[str | None, RegionLayout]):
    """Lay out each group of a scene, and the whole (None), on its own with all groups closed, on first use.

    A page stretches them when a group is opened. Layouts stay as they are in the layouts of the `whole`, which the
    scene is a part of, if those hold the same.
    """

    def __init__(
        self, scene: Scene, boxes: dict[str, Size], labels: dict[str, Size], whole: RegionLayouts | None
    ) -> None:
        self._regions, self._blocks = Regions(scene), blocks_of(scene, boxes)
        self._boxes, self._labels, self._whole = boxes, labels, whole
        self._open: dict[str | None, RegionLayout] = {}
        self._known: dict[str | None, RegionLayout] = self._open
        for region in self:
            if region is not None and scene.boxes[region].kind == "region":
                self._open[region] = self._layout(region)
        self._known = dict(self._open)

    @property
    def wires(self) -> int:
        """Return the number of pieces of arrows' routes."""
        return sum(map(len, self._regions.wires.values()))

    def __iter__(self) -> Iterator[str | None]:
        return in_time(reversed(self._regions.order))  # the inner ones first

    def __len__(self) -> int:
        return len(self._regions.order)

    def __getitem__(self, region: str | None) -> RegionLayout:
        if region not in self._known:
            self._known[region] = self._layout(region)
        return self._known[region]

    def _layout(self, region: str | None) -> RegionLayout:
        if region not in self._regions.wires:
            raise KeyError(region)
        if self._whole is not None and self._is_held_in(self._whole, region):
            return self._whole[region]
        return region_layout(self._regions, region, self._blocks, self._boxes, self._labels, self._open)

    def _is_held_in(self, whole: RegionLayouts, region: str | None) -> bool:
        """Return True if the layout of the whole holds the same."""
        wires, standing = self._regions.wires[region].keys(), self._standing(region)
        if region not in whole._regions.wires or wires != whole._regions.wires[region].keys():
            return False
        inner = standing & self._open.keys()
        return standing == whole._standing(region) and all(self._open[id] is whole[id] for id in inner)

    def _standing(self, region: str | None) -> set[str]:
        """Return the boxes that are placed in this region."""
        inside = self._regions.inside[region]
        standing = {each for id in inside if id in self._blocks for each in self._blocks[id].ids}
        return standing | {id for id in inside if id in self._open}
