"""A graph with its groups: what a box lies in, and one box in place of the nodes of a group that is never opened."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ..scene.model import Arrow, Box
from ..trace.frame import EdgeState, Frame
from ..trace.values import said
from .bundles import Bundle
from .graph import Graph
from .group_contents import Links, Tally, closed_box, listed
from .groups import Group
from .memory_ledger import bytes_said
from .transform_lanes import TANGENT


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
    """Draws the frames of one trace with the groups of `told` as boxes around what they hold; any other is one box.

    Each box lies in the innermost group that it is part of. A group that is told has a box of its own too, for when a
    reader closes it.
    """

    def __init__(self, view: Graph, drawn: Drawn, links: Links, told: Collection[str]) -> None:
        self._view, self._draw, self._links, self._told = view, drawn, links, told
        self._stands: dict[str, str] = {}  # node or tensor -> the box that stands for it
        self._tallies: dict[str, Tally] = {}  # of the groups that stand for something, or lie around it
        self._bundles: dict[str, Bundle] = {}  # arrow -> the edges it stands for
        # Group -> the edges by which gradients come to it, and by which they leave it.
        self._crossing: dict[str, tuple[Bundle, Bundle]] = {}
        self._drawn: set[str] = set()
        self._homes: dict[str, str] = {}  # a frame that a view draws -> the group that it lies in
        # A frame that a view draws -> the group of the same things.
        parts = [group for group in links.groups.values() if group.part and group.id in told]
        self._parts = {group.part.id: group.id for group in reversed(parts) if group.part}

    @property
    def told_groups(self) -> Collection[str]:
        """The groups that are boxes around what they hold."""
        return self._told

    def forget(self) -> None:
        """The frame is about to change."""
        self._draw.forget()

    def stands(self, id: str) -> str:
        """The box that a node, operation or tensor is drawn by, or a tangent, which stands where its value does."""
        if id not in self._stands:
            if id.endswith(TANGENT):
                own = self._view.lanes.place(id.removesuffix(TANGENT))
                at = self.stands(own)
                self._stands[id] = id if at == own else at
                return self._stands[id]
            closed = (group.id for group in self.path(id) if group.id not in self._told)
            self._stands[id] = next(closed, id)
        return self._stands[id]

    def path(self, id: str) -> list[Group]:
        """The groups that a node, tensor or group lies in, the outermost first."""
        group = self._links.groups.get(id)
        place = group.parent if group is not None else self._links.place(id)
        return [each for each in (place.path if place else ()) if each.id]

    def group(self, id: str) -> Group:
        """The group of an id."""
        return self._links.groups[id]

    def closed(self, id: str) -> Group | None:
        """The group that is one box and stands for a node or tensor."""
        return self._links.groups.get(self.stands(id))

    def _tally(self, id: str) -> Tally:
        if id not in self._tallies:
            self._tallies[id] = self._links.tally(self._links.groups[id])
        return self._tallies[id]

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
                for group in self.path(key):
                    tally = self._tally(group.id)
                    if key in frame.nodes:
                        tally.note(frame, key)
                    elif frame.tensors[key].role == "leaf":
                        own = frame.tensors[key]
                        tally.leaves[key] = math.prod(own.value.shape) if "." in (own.name or "") else 0
                    elif key in self._links.rows:
                        tally.entering[frame.tensors[key].value.shape] = None
                    groups[group.id] = None
                if at == key:
                    seen.append(key)
                elif key in frame.nodes:
                    outputs += [key] * self._view.has_output(key)
            elif key in frame.operations or key.endswith(TANGENT):
                lifted.append(key)
            elif key not in frame.edges:
                node = key.removesuffix(".focus")
                seen += [key] * (node == key or self.stands(node) == node)
            elif (edge := frame.edges[key]).target is None:
                groups |= dict.fromkeys(self._cross(frame, key, edge, self.path(edge.source), ()))
                if self.stands(edge.source) != edge.source:
                    outputs.append(edge.source)
                else:
                    seen.append(key)
            else:
                own = self._view.source(edge)
                groups |= dict.fromkeys(self._cross(frame, key, edge, self.path(own), self.path(edge.target)))
                source = self._links.reference(own, edge.target)
                upper, lower = self.stands(source), self.stands(edge.target)
                if upper == lower:
                    continue
                if (upper, lower) == (source, edge.target):
                    seen.append(key)
                    continue
                bundle = f"{upper}>{lower}{'' if edge.differentiable else '.c'}"
                self._bundles.setdefault(bundle, Bundle()).note(key, edge)
                bundles[bundle] = None
                given.append(upper)
        boxes, arrows = self._draw(frame, seen)
        arrows = [self._referring(frame, arrow, arrow.target, boxes) for arrow in arrows]
        for key in dict.fromkeys(outputs):
            more = self._draw(frame, [key])
            boxes += [box for box in more[0] if box.kind == "output"]
            arrows += [replace(arrow, source=self.stands(key)) for arrow in more[1]]
        for key in lifted:
            self._lift(frame, key, boxes, arrows, groups)
        for key in [key for key in keys if key in self._links.rows]:
            row = self._links.rows[key]
            boxes.append(row.box)
            arrows.append(row.arrow(key, self.stands(key)))
        for bundle in bundles:
            user = frame.edges[next(iter(self._bundles[bundle].keys))].target or ""
            arrows.append(self._referring(frame, self._merged(frame, bundle), user, boxes))
        boxes += [box for id in given for box in self._view.lanes.input(frame, id)]
        boxes += [self._box(frame, id) for id in groups if self._is_seen(id) and self._tally(id).states]
        boxes = self._placed(boxes)
        self._drawn.update(box.id for box in boxes)
        return boxes, [each for each in arrows if each.kind != "same" or {each.source, each.target} <= self._drawn]

    def _referring(self, frame: Frame, arrow: Arrow, user: str, boxes: list[Box]) -> Arrow:
        """An arrow from a tensor that many use, led from a box beside this user; that box is added."""
        own = arrow.source
        source = self._links.reference(own, user) if arrow.kind in ("edge", "constant") else own
        if source == own:
            return arrow
        drawn = [*self._draw(frame, [own])[0], *self._view.lanes.input(frame, own)]
        box = next(box for box in drawn if box.id == own)
        boxes.append(Box(source, box.kind, box.title, note="as above", refers=own))
        return replace(arrow, source=source)

    def _is_seen(self, id: str) -> bool:
        """Whether a group has a box: all that it lies in can be opened."""
        return all(group.id in self._told for group in self.path(id))

    def _cross(
        self, frame: Frame, key: str, edge: EdgeState, upper: Sequence[Group], lower: Sequence[Group]
    ) -> list[str]:
        """Note an edge at the groups that it leads out of and into."""
        out = [group.id for group in upper if group not in lower]
        into = [group.id for group in lower if group not in upper]
        for way, groups in enumerate((out, into)):
            for id in groups:
                if edge.target is not None:
                    self._tally(id).meet(frame, self._view.source(edge), edge.output_nr, leaving=way == 0)
                if id not in self._crossing:
                    self._crossing[id] = Bundle(), Bundle()
                self._crossing[id][way].note(key, edge)
        return [*out, *into]

    def _lift(self, frame: Frame, key: str, boxes: list[Box], arrows: list[Arrow], groups: dict[str, None]) -> None:
        """Add an operation without a node, or a tangent, and the ways to it, as far as they are in no closed group."""
        at, lanes = self.stands(key), self._view.lanes
        own = lanes.place(key.removesuffix(TANGENT)) if key.endswith(TANGENT) else key
        closed = at in self._links.groups
        drawn, ways = ([], lanes.ways(frame, key)) if closed else self._draw(frame, [key])
        for group in self.path(own):
            self._tally(group.id).lift(frame, key)
            groups[group.id] = None
        ends: dict[str, None] = {}
        for way in ways:
            upper, lower = self.stands(way.source), self.stands(way.target)
            if upper == lower:
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
        boxes += [box for box in drawn if self.stands(box.id) == box.id]

    def remarks(self, frame: Frame) -> list[str]:
        """What the view has to add."""
        return self._view.remarks(frame)

    def focus(self, frame: Frame) -> str | None:
        """The box that the last event was about."""
        id = self._view.focus(frame)
        return None if id is None else self.stands(id)

    def told(self, id: str) -> str:
        """What is in a group, and what it keeps."""
        tally = self._tally(id)
        kept = f"{bytes_said(tally.saved)} for backward" if tally.saved else "nothing for backward"
        return f"{listed(tally.operations)}; it keeps {kept}"

    def sent(self, frame: Frame, id: str) -> list[str]:
        """The gradients that are leaving a group, and where to."""
        leaving = [frame.edges[key] for key in self._crossing[id][1].flowing] if id in self._crossing else []
        return [f"{said(edge.grad)} to {self._name(frame, id, edge.source)}" for edge in leaving[:3]]

    def _holds(self, group: str, id: str) -> bool:
        return any(each.id == group for each in self.path(id))

    def receiver(self, frame: Frame, edge: EdgeState) -> str:
        """Where a gradient goes, and in which group that is, if it leads into one."""
        entered = [group for group in self.path(edge.source) if not self._holds(group.id, edge.target or "")]
        receiver, within = frame.receiver(edge), f" in {entered[0].called}" if entered else ""
        return receiver if within in receiver else receiver + within

    def _name(self, frame: Frame, sender: str, id: str) -> str:
        """What receives a gradient from a group: the group beside it that has it inside, or the place itself."""
        common = len([group for group in self.path(id) if self._holds(group.id, sender) or group.id == sender])
        beside = self.path(id)[common:]
        if not beside:
            return frame.told(id)
        return beside[0].title if beside[0].kind in ("", "scope") else beside[0].called

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
            label = "\n".join([label, traffic.norms, *self._view.lost(frame, keys)])
        return replace(looks, id=bundle, source=ends[0], target=ends[1], label=label, state=state)

    def _box(self, frame: Frame, id: str) -> Box:
        came, went = self._crossing.get(id, (Bundle(), Bundle()))
        return closed_box(frame, self._tally(id), came, went)

    def _placed(self, boxes: list[Box]) -> list[Box]:
        """Each box in the innermost group that it is part of; the frame of such a part is then not drawn."""
        for at, box in enumerate(boxes):
            home = self._view.lanes.place(box.id.removesuffix(TANGENT)) if box.id.endswith(TANGENT) else box.id
            path = self.path(home)
            if box.holder is not None or box.kind == "region":
                continue
            if path and (box.region is None or any(group.part and group.part.id == box.region for group in path)):
                boxes[at] = replace(box, region=path[-1].id)
            elif box.region in self._parts:
                boxes[at] = replace(box, region=self._parts[box.region])
            elif path and box.region is not None:
                self._homes[box.region] = path[-1].id
        framed = [box for box in boxes if box.id not in self._parts]
        return [replace(box, region=self._homes[box.id]) if box.id in self._homes else box for box in framed]
