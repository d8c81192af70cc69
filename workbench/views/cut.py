"""A graph of which some groups are closed: a box in place of their nodes, one arrow in place of many."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace

from ..scene.model import Arrow, Box, Detail
from ..trace.frame import Frame
from ..trace.states import EdgeState
from ..trace.values import Value, said
from .contents import Links, Tally, listed
from .graph import Graph
from .grouping import Group
from .holdings import bytes_said


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
        self._bundles: dict[str, dict[str, None]] = {}  # arrow -> the edges it stands for
        self._of: dict[str, list[str]] = {}  # group -> its bundles
        self._drawn: set[str] = set()

    def stands(self, id: str) -> str:
        """The box that a node or tensor is drawn by."""
        if id not in self._stands:
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
        group = self._links.groups.get(at)
        return (group.parent if group else self._links.place(at)) is self._within

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
            elif key not in frame.edges:
                seen.append(key)
            elif (edge := frame.edges[key]).target is None:
                at = self.stands(edge.source)
                if at in self._tallies:
                    outputs.append(edge.source)
                    groups |= self._bundle(frame, f"{at}>", key, at, "")
                elif at == edge.source and self._is_inside(at):
                    seen.append(key)
            else:
                upper, lower = self.stands(edge.source), self.stands(edge.target)
                if upper == lower or not (self._is_inside(upper) or self._is_inside(lower)):
                    continue
                if (upper, lower) == (edge.source, edge.target):
                    seen.append(key)
                    continue
                bundle = f"{upper}>{lower}{'' if edge.differentiable else '.c'}"
                groups |= self._bundle(frame, bundle, key, upper, lower)
                bundles[bundle] = None
        boxes, arrows = self._draw(frame, seen)
        for key in dict.fromkeys(outputs):
            more = self._draw(frame, [key])
            boxes += [box for box in more[0] if box.kind == "output"]
            arrows += [replace(arrow, source=self.stands(key)) for arrow in more[1]]
        arrows += [self._merged(frame, bundle) for bundle in bundles]
        boxes += [self._box(frame, id) for id in groups if id in self._tallies and self._tallies[id].states]
        boxes = self._framed(boxes)
        self._drawn.update(box.id for box in boxes)
        arrows = [each for each in arrows if each.kind != "same" or {each.source, each.target} <= self._drawn]
        return [*self._neighbours(frame, arrows), *boxes], arrows

    def remarks(self, frame: Frame) -> list[str]:
        """What the view has to add."""
        return self._view.remarks(frame)

    def focus(self, frame: Frame) -> str | None:
        """The box that the last event was about."""
        id = self._view.focus(frame)
        return self.stands(id) if id in frame.nodes or id in frame.tensors else id

    def told(self, id: str) -> str:
        """What is in a closed group, and what it keeps."""
        tally = self._tallies[id]
        kept = f"{bytes_said(tally.saved)} for backward" if tally.saved else "nothing for backward"
        return f"{listed(tally.operations)}; it keeps {kept}"

    def sent(self, frame: Frame, id: str) -> list[str]:
        """The gradients that are leaving a closed group, and where to."""
        edges = [frame.edges[key] for bundle in self._of.get(id, ()) for key in self._bundles[bundle]]
        leaving = [edge for edge in edges if edge.state == "flowing" and self.stands(edge.source) != id]
        return [f"{said(edge.grad)} to {self._name(frame, edge.source)}" for edge in leaving[:3]]

    def _name(self, frame: Frame, id: str) -> str:
        at = self.stands(id)
        return self._links.groups[at].title if at in self._links.groups else frame.called(id)

    def _bundle(self, frame: Frame, bundle: str, key: str, upper: str, lower: str) -> dict[str, None]:
        """Put an edge to those that one arrow stands for; the groups it leads to."""
        ends = dict.fromkeys(id for id in (upper, lower) if id in self._tallies)
        if bundle not in self._bundles:
            self._bundles[bundle] = {}
            for id in ends:
                self._of.setdefault(id, []).append(bundle)
        self._bundles[bundle][key] = None
        return ends

    def _merged(self, frame: Frame, bundle: str) -> Arrow:
        """One arrow for all edges that lead from one box to another."""
        edges = [frame.edges[key] for key in self._bundles[bundle]]
        first = edges[0]
        ends = self.stands(first.source), self.stands(first.target or "")
        kind = "edge" if first.differentiable else "constant"
        moved = [edge for edge in edges if edge.state != "idle"]
        state = "flowing" if any(edge.state == "flowing" for edge in edges) else "done" if moved else "idle"
        if not moved and len(edges) == 1:
            return Arrow(bundle, *ends, kind)
        if not moved:
            return Arrow(bundle, *ends, kind, f"{len(edges)} edges")
        largest = max(moved, key=lambda edge: edge.grad.norm if edge.grad else -1.0)
        key = next(key for key in self._bundles[bundle] if frame.edges[key] is largest)
        looks = next(arrow for arrow in self._draw(frame, [key])[1] if arrow.id == key)  # as the view draws it
        label = looks.label
        if len(edges) > 1:
            label = f"{len(moved)} of {len(edges)} gradients" if len(moved) < len(edges) else f"{len(moved)} gradients"
            label = f"{label}\n{_norms(moved)}"
        return replace(looks, id=bundle, source=ends[0], target=ends[1], label=label, state=state)

    def _box(self, frame: Frame, id: str) -> Box:
        tally = self._tallies[id]
        count = len(tally.states)
        leaves = [counted(len(tally.leaves), "leaf")] if tally.leaves else []
        lines = [", ".join([counted(count, "operation"), *leaves]), listed(tally.operations)]
        if tally.most:
            lines.append(
                f"saved {bytes_said(tally.saved)}" if tally.saved else f"saved {bytes_said(tally.most)}: freed"
            )
        edges = [(key, frame.edges[key]) for bundle in self._of.get(id, ()) for key in self._bundles[bundle]]
        moved = [edge for _, edge in edges if edge.state != "idle"]
        came = [edge for edge in moved if self.stands(edge.source) == id]
        went = [edge for edge in moved if self.stands(edge.source) != id]
        if came:
            lines.append(f"gradient in {_norms(came)}")
        if went:
            lines.append(f"gradient out {_norms(went)}")
        if any(edge.grad is not None and edge.grad.nonfinite for edge in moved):
            lines.append("gradient NOT FINITE")
        details = [Detail("Error", "text", tally.error)] if tally.error else []
        inside = [item.title if isinstance(item, Group) else item for item in tally.group.items]
        told = ", ".join(frame.called(item) if item in frame.nodes else item for item in inside)
        details.append(Detail("Inside", "text", told))
        name = (tally.group.names or (id,))[0]
        details.append(Detail("To open it in place", "code", f'trace.show("graph", open=[{name!r}])'))
        return Box(id, "group", tally.group.title, tuple(lines), tally.state, details=tuple(details))

    def _framed(self, boxes: list[Box]) -> list[Box]:
        """Boxes of an open group stand in its frame, unless they stand in another already."""
        framed: dict[str, Box] = {}
        for at, box in enumerate(boxes):
            group = self._tallies[box.id].group.parent if box.id in self._tallies else self._links.place(box.id)
            if group is None or group.id not in self._opened or self._within not in (None, group):
                continue
            if box.region is None and box.holder is None:
                id = f"{group.id}.frame"
                boxes[at] = replace(box, region=id)
                framed[id] = Box(id, "region", " › ".join(each.title for each in group.path))
        return [*framed.values(), *boxes]

    def _neighbours(self, frame: Frame, arrows: Iterable[Arrow]) -> list[Box]:
        """What stands around the inside, where these arrows lead."""
        boxes = {}
        for id in [end for arrow in arrows for end in (arrow.source, arrow.target)]:
            if (id in self._links.groups or id in frame.nodes) and not self._is_inside(id):
                group = self._links.groups.get(id)
                title = group.title if group else frame.nodes[id].made.name
                boxes[id] = Box(id, "plain", title, ("outside this group",))
        return list(boxes.values())


def counted(count: int, what: str) -> str:
    several = "leaves" if what == "leaf" else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


def _norms(edges: Iterable[EdgeState]) -> str:
    grads: list[Value] = [edge.grad for edge in edges if edge.grad is not None]
    if not grads:
        return "none"
    if len(grads) == 1 and not grads[0].shape:
        return grads[0].text()
    return f"‖{math.hypot(*[grad.norm for grad in grads]):.3g}‖"
