"""A graph of which some groups are closed: a box in place of their nodes, one arrow in place of many."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ..scene.model import WITHIN, Arrow, Box
from ..trace.frame import Frame
from ..trace.states import EdgeState
from ..trace.values import said
from .bundles import Bundle, Traffic
from .contents import Links, Tally, closed_box, listed, name_of
from .graph import Graph
from .grouping import Group
from .holdings import bytes_said
from .lanes import TANGENT


class Drawn:
    """What a view draws of each key of one moment's frame, drawn once for all pictures that show it."""

    def __init__(self, view: Graph) -> None:
        self._view = view
        self._of: dict[str, tuple[list[Box], list[Arrow]]] = {}

    def forget(self) -> None:
        """The frame is about to change."""
        self._of = {}

    def __call__(self, frame: Frame, keys: Iterable[str]) -> tuple[list[Box], list[Arrow]]:
        """The boxes and arrows that the frame's `keys` concern; nobody may change them."""
        boxes: list[Box] = []
        arrows: list[Arrow] = []
        for key in keys:
            if key not in self._of:
                self._of[key] = self._view.draw(frame, [key])
            boxes += self._of[key][0]
            arrows += self._of[key][1]
        return boxes, arrows


class Cut:
    """Draws the frames of one trace with only the groups of `opened` open: as a view does, but for what is closed.

    With `within` it draws the inside of that group alone, and what stands around it as far as arrows lead there.
    """

    def __init__(
        self, view: Graph, drawn: Drawn, links: Links, opened: Collection[str], within: Group | None = None
    ) -> None:
        self._view, self._draw, self._links = view, drawn, links
        self._opened, self._within = opened, within
        self._stands: dict[str, str] = {}  # node or tensor -> the box that stands for it
        self._tallies: dict[str, Tally] = {}  # of the closed groups
        self._bundles: dict[str, Bundle] = {}  # arrow -> the edges it stands for
        self._of: dict[str, dict[str, bool]] = {}  # group -> its bundles, and whether their gradients come to it
        self._drawn: set[str] = set()

    def stands(self, id: str) -> str:
        """The box that a node, operation or tensor is drawn by, or a tangent, which stands where its value does."""
        if id not in self._stands:
            if id.endswith(TANGENT):
                own = self._view.lanes.place(id.removesuffix(TANGENT))
                at = self.stands(own)
                self._stands[id] = id if at == own and self._is_inside(own) else at
                return self._stands[id]
            place = self._links.place(id)
            closed = (group.id for group in (place.path if place else ()) if group.id and group.id not in self._opened)
            self._stands[id] = at = next(closed, id)
            if at != id and at not in self._tallies and self._is_inside(at):
                self._tallies[at] = Tally(self._links.groups[at])
        return self._stands[id]

    def _is_inside(self, at: str) -> bool:
        """Whether a box is what the picture is of, and not what stands around that."""
        if self._within is None:
            return True
        if at.endswith(TANGENT):
            at = self._view.lanes.place(at.removesuffix(TANGENT))
        group = self._links.groups.get(at)
        return (group.parent if group else self._links.place(at)) is self._within

    def group(self, id: str) -> Group:
        """The group of an id."""
        return self._links.groups[id]

    def closed(self, id: str) -> Group | None:
        """The closed group that stands for a node or tensor."""
        tally = self._tallies.get(self.stands(id))
        return tally.group if tally else None

    def draw(self, frame: Frame, keys: Iterable[str]) -> tuple[list[Box], list[Arrow]]:
        """The boxes and arrows that the frame's `keys` concern, as they are now."""
        seen: list[str] = []
        outputs: list[str] = []
        groups: dict[str, None] = {}
        bundles: dict[str, None] = {}
        lifted: list[str] = []
        given: list[str] = []
        for key in keys:
            if key in frame.nodes or key in frame.tensors:
                at = self.stands(key)
                if at in self._tallies:
                    if key in frame.nodes:
                        self._tallies[at].note(frame, key)
                        outputs += [key] * self._view.has_output(key)
                    elif frame.tensors[key].role == "leaf":
                        self._tallies[at].leaves[key] = None
                    groups[at] = None
                elif at == key and (key in frame.tensors or self._is_inside(key)):
                    seen.append(key)
            elif key in frame.operations or key.endswith(TANGENT):
                lifted.append(key)
            elif key not in frame.edges:
                node = key.removesuffix(".focus")
                seen += [key] * (node == key or self.stands(node) == node)
            elif (edge := frame.edges[key]).target is None:
                at = self.stands(edge.source)
                if at in self._tallies:
                    outputs.append(edge.source)
                    groups |= self._bundle(frame, f"{at}>", key, at, "")
                elif at == edge.source and self._is_inside(at):
                    seen.append(key)
            else:
                source = self._view.source(edge)
                upper, lower = self.stands(source), self.stands(edge.target)
                if upper == lower or not (self._is_inside(upper) or self._is_inside(lower)):
                    continue
                if (upper, lower) == (source, edge.target):
                    seen.append(key)
                    continue
                bundle = f"{upper}>{lower}{'' if edge.differentiable else '.c'}"
                groups |= self._bundle(frame, bundle, key, upper, lower)
                bundles[bundle] = None
                given.append(upper)
        boxes, arrows = self._draw(frame, seen)
        for key in dict.fromkeys(outputs):
            more = self._draw(frame, [key])
            boxes += [box for box in more[0] if box.kind == "output"]
            arrows += [replace(arrow, source=self.stands(key)) for arrow in more[1]]
        for key in lifted:
            self._lift(frame, key, boxes, arrows, groups)
        arrows += [self._merged(frame, bundle) for bundle in bundles]
        boxes += [box for id in given for box in self._view.lanes.input(frame, id)]
        boxes += [self._box(frame, id) for id in groups if id in self._tallies and self._tallies[id].states]
        boxes = self._framed(boxes)
        self._drawn.update(box.id for box in boxes)
        arrows = [each for each in arrows if each.kind != "same" or {each.source, each.target} <= self._drawn]
        return [*self._neighbours(frame, arrows), *boxes], arrows

    def _lift(self, frame: Frame, key: str, boxes: list[Box], arrows: list[Arrow], groups: dict[str, None]) -> None:
        """Add an operation without a node, or a tangent, and the ways to it, as far as they are in no closed group."""
        at, lanes = self.stands(key), self._view.lanes
        closed = at in self._tallies or not self._is_inside(at)
        drawn, ways = ([], lanes.ways(frame, key)) if closed else self._draw(frame, [key])
        if at in self._tallies:
            self._tallies[at].lift(frame, key)
            groups[at] = None
        ends: dict[str, None] = {}
        for way in ways:
            upper, lower = self.stands(way.source), self.stands(way.target)
            if upper == lower or not (self._is_inside(upper) or self._is_inside(lower)):
                continue
            whole = (upper, lower) == (way.source, way.target)
            arrows.append(way if whole else replace(way, id=f"{upper}>{lower}.{way.kind}", source=upper, target=lower))
            ends |= {upper: None, lower: None}
        for end in ends if closed else ():
            boxes += lanes.input(frame, end)
            if end.endswith(TANGENT) and frame.tangents[end.removesuffix(TANGENT)][1] is None:  # it was given
                more = self._draw(frame, [end])
                boxes += more[0]
                arrows += more[1]
        own = [box for box in drawn if self.stands(box.id) == box.id]
        shown = [box for box in own if box.kind != "region" and (box.id in ends or self._is_inside(box.id))]
        parts = {box.region for box in shown}
        boxes += [*[box for box in own if box.id in parts], *shown]

    def remarks(self, frame: Frame) -> list[str]:
        """What the view has to add."""
        return self._view.remarks(frame)

    def focus(self, frame: Frame) -> str | None:
        """The box that the last event was about."""
        id = self._view.focus(frame)
        return None if id is None else self.stands(id)

    def told(self, id: str) -> str:
        """What is in a closed group, and what it keeps."""
        tally = self._tallies[id]
        kept = f"{bytes_said(tally.saved)} for backward" if tally.saved else "nothing for backward"
        return f"{listed(tally.operations)}; it keeps {kept}"

    def sent(self, frame: Frame, id: str) -> list[str]:
        """The gradients that are leaving a closed group, and where to."""
        keys = [key for bundle in self._of.get(id, ()) for key in self._bundles[bundle].flowing]
        edges = [frame.edges[key] for key in keys]
        leaving = [edge for edge in edges if self.stands(edge.source) != id]
        return [f"{said(edge.grad)} to {self._name(frame, edge.source)}" for edge in leaving[:3]]

    def receiver(self, frame: Frame, edge: EdgeState) -> str:
        """Where a gradient goes; of what a closed group hides, in which it is."""
        at = self.stands(edge.source)
        inside = f" in {self._links.groups[at].called}" if at in self._links.groups else ""
        return frame.receiver(edge) + inside

    def _name(self, frame: Frame, id: str) -> str:
        at = self.stands(id)
        return self._links.groups[at].title if at in self._links.groups else frame.told(id)

    def _bundle(self, frame: Frame, bundle: str, key: str, upper: str, lower: str) -> dict[str, None]:
        """Put an edge to those that one arrow stands for; the groups it leads to."""
        ends = dict.fromkeys(id for id in (upper, lower) if id in self._tallies)
        if bundle not in self._bundles:
            self._bundles[bundle] = Bundle()
            for id in ends:
                self._of.setdefault(id, {})[bundle] = id == upper
        self._bundles[bundle].note(key, frame.edges[key])
        return ends

    def _merged(self, frame: Frame, bundle: str) -> Arrow:
        """One arrow for all edges that lead from one box to another."""
        keys, traffic = self._bundles[bundle].keys, self._bundles[bundle].total
        first = frame.edges[next(iter(keys))]
        ends = self.stands(self._view.source(first)), self.stands(first.target or "")
        kind = "edge" if first.differentiable else "constant"
        if traffic.largest is None:
            return Arrow(bundle, *ends, kind, f"{len(keys)} edges" if len(keys) > 1 else "")
        state = "flowing" if self._bundles[bundle].flowing else "done"
        key = traffic.largest
        looks = next(arrow for arrow in self._draw(frame, [key])[1] if arrow.id == key)  # as the view draws it
        label = looks.label
        if len(keys) > 1:
            moved = traffic.moved
            label = f"{moved} of {len(keys)} gradients" if moved < len(keys) else f"{moved} gradients"
            label = f"{label}\n{traffic.norms}"
        return replace(looks, id=bundle, source=ends[0], target=ends[1], label=label, state=state)

    def _box(self, frame: Frame, id: str) -> Box:
        came = went = Traffic()
        for bundle, comes in self._of.get(id, {}).items():
            total = self._bundles[bundle].total
            came, went = (came + total, went) if comes else (came, went + total)
        return closed_box(frame, self._tallies[id], came, went)

    def _framed(self, boxes: list[Box]) -> list[Box]:
        """Boxes of an open group stand in its frame, unless they stand in another already."""
        framed: dict[str, Box] = {}
        for at, box in enumerate(boxes):
            home = self._view.lanes.place(box.id.removesuffix(TANGENT)) if box.id.endswith(TANGENT) else box.id
            group = self._tallies[home].group.parent if home in self._tallies else self._links.place(home)
            if group is None or group.id not in self._opened or self._within not in (None, group):
                continue
            if box.region is None and box.holder is None:
                part = group.part or Box(f"{group.id}.frame", "region", WITHIN.join(each.title for each in group.path))
                boxes[at] = replace(box, region=part.id)
                framed[part.id] = part
        return [*framed.values(), *boxes]

    def _neighbours(self, frame: Frame, arrows: Iterable[Arrow]) -> list[Box]:
        """What stands around the inside, where these arrows lead."""
        boxes = {}
        for id in [end for arrow in arrows for end in (arrow.source, arrow.target)]:
            known = id in self._links.groups or id in frame.nodes or id in frame.operations
            if known and not self._is_inside(id):
                group = self._links.groups.get(id)
                title = group.title if group else name_of(frame, id)
                boxes[id] = Box(id, "plain", title, ("outside this group",))
        return list(boxes.values())
