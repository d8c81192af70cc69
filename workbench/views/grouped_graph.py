"""A graph with its groups: what a box lies in, one box in place of a group that is closed, and how both are told: what
happens inside a closed group is one step.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..scene.graphviz import LayoutUnavailable
from ..scene.model import Arrow, Box, Folding, Scene, Step, paths
from ..scene.storyboard import Storyboard
from ..trace.call_records import OperationRan, TangentPushed, above
from ..trace.frame import EdgeState, Frame
from ..trace.records import NodeCreated, NodeFinished, NodeStarted
from ..trace.schema import Phase, Record
from ..trace.timeline import Timeline, phase_of
from ..trace.values import said, series
from .graph import Graph
from .group_contents import Bundle, Links, Tally, closed_box, counted, listed
from .groups import MOST, Group, grouped
from .memory import bytes_said
from .player_steps import NOTHING, Effort, caption_of, changed_fields, cursor_at, opening, place_of_stop, tell
from .transform_lanes import TANGENT, Lanes


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


_LARGE = 150  # nodes and operations of a graph that opens whole, if it must
_WINDOW = 1310, 494  # px of a picture whose text is 11 px high in a notebook of 1440 × 900
_LEAST, _SEVERAL = 2, 6  # boxes that say what a program does: of fewer more is opened, in a window and in a still
_STILL, _HIGHER = 610, 1100  # px that a still may be high, and one of fewer than several
_FEW, _MOST = 25, 40  # boxes that are seen at first; so many if it would be a single group else
_CLOSED = ("expression", "more", "stretch")  # kinds of groups that stay closed at first
_NAMED = 12  # groups that an error names
_INSIDES = 300  # boxes in all the closed groups that a reader can open


def tell_grouped(
    trace: Timeline, view: Graph, opened: Collection[str] | str | None = None, depth: int | None = None
) -> Storyboard:
    """The storyboard of a graph with its groups: as many are open as there is room for, outer ones first.

    `opened` names those to be open, or they are all down to a `depth`; all others are closed then. Errors: ValueError
    for a name of no group.
    """
    plan = planned(trace.events, view, opened, depth)
    if plan is None:
        return tell(trace, view)
    return plan.fitting(plan.tell(trace, view))


@dataclass(slots=True)
class GroupPlan:
    """Which groups of a graph are told, and which of them are open."""

    links: Links
    opened: set[str]
    told: set[str]
    parts: list[set[str]]  # of groups that are open if there is room, else only the first of them

    def tell(self, trace: Timeline, view: Graph) -> Storyboard:
        """The storyboard of a trace of this graph."""
        return _tell(trace, _Teller(Cut(view, Drawn(view), self.links, self.told)), view, self.opened)

    def fitting(self, board: Storyboard) -> Storyboard:
        """The same with as many groups open as there is room for."""
        try:
            return _fitting(board, self.parts) if self.parts else board
        except LayoutUnavailable:  # it can still be told in words
            return board


def planned(
    events: Iterable[Record],
    view: Graph,
    opened: Collection[str] | str | None = None,
    depth: int | None = None,
    uses: Iterable[Record] | None = None,
) -> GroupPlan | None:
    """How a graph with groups is told, as `tell_grouped` says; None if it has no groups.

    `uses` are events that know more ways to use its nodes.
    """
    events = list(events)
    lanes = view.lanes if view.transformed else None
    asked = opened is not None or depth is not None
    if lanes is not None and opened is None and is_small(events):  # its parts have frames of their own
        return None
    whole = view.program if lanes is None else grouped(events, lanes)
    groups = list(whole.groups())
    if not groups and opened is None:
        return None
    links = Links(events if uses is None else uses, whole, lanes)
    parts: list[set[str]] = []
    if not asked:
        parts = [] if lanes is not None else _opening(whole, links)
        now = set().union(*parts)
    else:
        now = _opened(groups, [opened] if isinstance(opened, str) else opened or ())
        now |= {group.id for group in groups if depth is not None and len(group.path) <= depth}
    told = {*now, *(group.id for group in _told_along(groups, now, lanes is not None))}
    return GroupPlan(links, now, told, parts)


def is_small(events: Iterable[Record]) -> bool:
    """Whether there is so little in a graph that all of it may stand open."""
    return sum(isinstance(event, NodeCreated | OperationRan) for event in events) <= _LARGE


def _fitting(board: Storyboard, parts: Sequence[Collection[str]]) -> Storyboard:
    """The picture with as many of these parts open as a window has room for, so that it opens whole.

    What cannot play, and has no window, shows more of the program: the first part in any case.
    """
    fitting = _opened_to(board, parts, set(), _WINDOW[1])
    few = _program_boxes(fitting) < _LEAST
    high = _HIGHER if _program_boxes(fitting) < _SEVERAL else _STILL
    tall = _opened_to(board, parts, {*fitting.opened, *parts[0]}, high)
    if few or tall.opened == fitting.opened:
        return tall
    return fitting.with_still(tall)


def _opened_to(board: Storyboard, parts: Sequence[Collection[str]], opened: set[str], high: int) -> Storyboard:
    """The picture with these groups open, and as many of the parts as fit into this height."""
    fitting = board.with_open(opened)
    around = paths(board.scene)
    for part in parts:
        if not opened.issuperset(part) and all(opened.issuperset(around[group]) for group in part):
            more = board.with_open(opened.union(part))
            wide = max(_WINDOW[0], fitting.layout.width)
            if more.layout.width <= wide and more.layout.height <= high:
                opened.update(part)
                fitting = more
    return fitting


def _program_boxes(board: Storyboard) -> int:
    """How many boxes are seen that stand for nodes."""
    stands = Folding(board.scene, board.opened).stands
    seen = [box for id, box in board.scene.boxes.items() if stands[id] == id and id not in board.opened]
    return sum(box.kind in ("op", "function", "group") for box in seen)


def _opened(groups: Sequence[Group], names: Iterable[str]) -> set[str]:
    """The ids of the groups of these names, and of all they lie in."""
    opened: set[str] = set()
    for name in names:
        found = [group for group in groups if name in (group.id, group.title, *group.names)]
        if not found:
            known = list(dict.fromkeys(group.names[0] for group in groups if group.names))
            more = [f"{len(known) - _NAMED} more"] if len(known) > _NAMED else []
            some = f"; there are {series([*map(repr, known[:_NAMED]), *more])}" if known else ""
            raise ValueError(f"This graph has no group named {name!r}{some}.")
        opened.update(each.id for group in found for each in group.path if each.id)
    return opened


def _opening(whole: Group, links: Links) -> list[set[str]]:
    """The groups to open at first: outer ones first, those that are equal together, while there are not too many boxes.

    The first round of a loop comes before the others. Single expressions stay closed, and so do stretches of a long row
    and those between the first and the last of what repeats. Where there is room in the end, expressions open that hide
    leaves: what a layer's parameters are, and how they change, is then seen.
    """
    leaves = Counter(id(group) for group in links.homes.values())
    opened: list[set[str]] = []
    count = len(whole.items) + leaves[id(whole)]
    level, hiding = [whole], []
    while level or hiding:
        alike: dict[tuple[str, ...], list[Group]] = {}
        for group in level:
            for inner in group.items:
                if isinstance(inner, Group) and inner.kind not in _CLOSED:
                    alike.setdefault((str(inner.number == 1), *_shape(inner)), []).append(inner)
                elif isinstance(inner, Group) and inner.kind == "expression" and leaves[id(inner)]:
                    hiding.append(inner)
        if not level:
            opened += [] if opened else [set()]  # these open only if they fit
            for inner in hiding:
                alike.setdefault(tuple(_shape(inner)), []).append(inner)
            hiding = []
        level = []
        for several in sorted(alike.values(), key=lambda several: sum(len(group.items) for group in several)):
            more = sum(len(group.items) + leaves[id(group)] - 1 for group in several)
            if count + more <= (_FEW if opened else _MOST):
                count += more
                opened.append({group.id for group in several})
                level += several
    return opened


def _shape(group: Group) -> Iterator[str]:
    """What two groups have in common that are opened together: what stands in them, whatever their names."""
    for item in group.items:
        yield "node" if isinstance(item, str) else f"group of {len(item.items)}"


def _told_along(groups: Sequence[Group], opened: Collection[str], lifted: bool) -> list[Group]:
    """The closed groups that a reader can open: outer ones first, as far as there is room.

    Those that function transforms add stay closed, as levels take turns, which is told of all of them together.
    """
    told: list[Group] = []
    known = set(opened)
    room = 0 if lifted else _INSIDES
    for group in sorted(groups, key=lambda group: len(group.path)):
        outer = group.parent is None or not group.parent.id or group.parent.id in known
        if outer and group.id not in known and len(group.items) <= min(room, 2 * MOST):
            room -= len(group.items)
            told.append(group)
            known.add(group.id)
    return told


class _Teller:
    """Makes the steps; `runs` are the stops that make one step each: the first and the last of them."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.runs: list[tuple[int, int]] = []
        self._groups: list[Group | None] = []  # of each run
        self.touched: dict[str, None] = {}
        self.steps: list[Step] = []
        self.boxes: dict[str, Box] = {}
        self.arrows: dict[str, Arrow] = {}
        self._now: dict[str, Any] = {}
        self.braided = False

    def plan(self, stop: int, place: str | None) -> None:
        """The stop is a step, or part of the step before: both in one closed group, and nothing between."""
        group = self.cut.closed(place) if place is not None else None
        if group is not None and self._groups and self._groups[-1] is group:
            self.runs[-1] = (self.runs[-1][0], stop)
        else:
            self.runs.append((stop, stop))
            self._groups.append(group)

    def braid(self) -> None:
        """Make one step of what happens by turns in several parts of the picture: levels record the same function."""
        runs: list[tuple[int, int]] = []
        now: dict[int, Group] = {}  # groups of the last run
        for at, (run, group) in enumerate(zip(self.runs, self._groups, strict=True)):
            joins = False
            if group is not None and now and runs[-1][1] == run[0] - 1:
                after = self._groups[at + 1] if at + 1 < len(self.runs) else None
                elsewhere = all(group.part is not each.part for each in now.values())
                joins = id(group) in now or (elsewhere and id(after) in now and self.runs[at + 1][0] == run[1] + 1)
            if joins and group is not None:
                runs[-1] = (runs[-1][0], run[1])
                now[id(group)] = group
                self.braided = True
            else:
                runs.append(run)
                now = {} if group is None else {id(group): group}
        self.runs = runs

    def step(self, frame: Frame, phase: str, place: str | None) -> Step:
        """One more step: what was touched since the one before, as it is now."""
        drawn = self.cut.draw(frame, self.touched)
        self.touched = {}
        boxes, arrows = (
            changed_fields(each, self._now, union) for each, union in zip(drawn, (self.boxes, self.arrows), strict=True)
        )
        focus, cursor = self.cut.focus(frame), cursor_at(frame.cursor)
        step = Step("", phase, cursor, focus, boxes, arrows, place if place in self.boxes else None)
        self.steps.append(step)
        return step


def _tell(trace: Timeline, teller: _Teller, view: Graph, opened: Collection[str]) -> Storyboard:
    """Go through the trace once, and make the steps where they end."""
    events, stops, cut = trace.events, trace.steps, teller.cut
    parts = [events[begin:end] for begin, end in zip([0, *stops], stops, strict=False)]
    places = [place_of_stop(part, view.lanes) for part in parts]
    for stop, place in enumerate(places):
        teller.plan(stop, place)
    teller.braid()
    ending = {last: first for first, last in teller.runs}
    groups = [[group.id for group in cut.path(place)] if place else [] for place in places]
    began: dict[str, int] = {}  # group -> the stop at which its run began
    runs: dict[str, list[tuple[int, int, str]]] = {}
    number = {}  # stop -> the step that it is part of
    for step, (first, last) in enumerate(teller.runs):
        number |= dict.fromkeys(range(first, last + 1), step)
    frame, higher, effort = Frame(view.program.words), above(events), Effort(trace)
    phases: list[Phase] = []
    for stop, part in enumerate(parts):
        frame.touched = {}
        cut.forget()
        caption = ""
        if ending.get(stop) == stop:
            caption = _hiding(cut, frame, caption_of(part, frame, higher, view), part)
        else:
            for event in part:
                event.apply(frame)
        effort.spend(frame)
        teller.touched |= {key: None for key in frame.touched if view.follows or not key.endswith(".focus")}
        phases.append(phase_of(part, frame, phases))
        if stop in ending:
            first, place = ending[stop], places[stop]
            step = teller.step(frame, phases[-1], cut.stands(place) if place else None)
            alone = first == stop
            step.caption = caption if alone else _summary(teller, frame, parts[first : stop + 1], view.lanes)
        for group in groups[stop]:
            began.setdefault(group, stop)
        after = groups[stop + 1] if stop + 1 < len(parts) else []
        for group in [group for group in began if group not in after]:
            first = began.pop(group)
            if number[first] < number[stop] and group in cut.told_groups:
                told = _told(cut, frame, group, parts[first : stop + 1])
                runs.setdefault(group, []).append((number[first], number[stop], told))
    steps = teller.steps
    start = opening(steps, bool(parts) and all(event.quiet for event in parts[-1]))
    stop, first = view.still(trace), view.opens(trace)
    still = None if stop is None else number[stop]
    start = number[first] if start is None and first is not None else start
    return Storyboard(
        Scene(view.title, teller.boxes, teller.arrows),
        steps or [Step(NOTHING)],
        view.title,
        start=start,
        still=still,
        legend=view.legend,
        opened=opened,
        runs=runs,
    )


def _hiding(cut: Cut, frame: Frame, caption: str, part: Sequence[Record]) -> str:
    """A caption that says of what another group may hide in which it is."""
    for event in part:
        if isinstance(event, NodeFinished):
            shown = event.told(frame, lambda edge: cut.receiver(frame, edge))
            caption = caption.replace(event.sentence(frame), shown, 1)
    return caption


def _summary(teller: _Teller, frame: Frame, parts: Sequence[Sequence[Record]], lanes: Lanes) -> str:
    """What several stops in one closed group did, or by turns in several."""
    by_group: dict[str, list[Sequence[Record]]] = {}
    for part in parts:
        group = teller.cut.closed(place_of_stop(part, lanes) or "")
        if group is not None:  # else another part of the picture had its turn
            by_group.setdefault(group.id, []).append(part)
    # What ran backward is told before what was computed on the way.
    order = sorted(by_group, key=lambda id: not _runs(by_group[id]))
    told = " ".join([_told(teller.cut, frame, id, by_group[id]) for id in order])
    return f"Inside {frame.inside}: {told}" if frame.inside else told


def _runs(parts: Sequence[Sequence[Record]]) -> list[NodeStarted]:
    return [event for part in parts for event in part if isinstance(event, NodeStarted)]


def _told(cut: Cut, frame: Frame, id: str, parts: Sequence[Sequence[Record]]) -> str:
    name = cut.group(id).called
    if runs := _runs(parts):
        sent = series(list(dict.fromkeys(cut.sent(frame, id))))
        nodes = [event.node for event in runs if event.node in frame.nodes]
        leaves = len(runs) - len(nodes)
        if not nodes:
            return f"{name}: {counted(leaves, 'leaf')} inside get what has arrived."
        first, last = frame.told(nodes[0]), frame.told(nodes[-1])
        came = series([said(grad) for grad in runs[0].grads])
        ran = f"{counted(len(nodes), 'node')} run, {first} first, {last} last"
        ran += f", and {counted(leaves, 'leaf')} inside" if leaves else ""
        on = f"; it sends {sent}" if sent else ""
        return f"{name} runs backward: it receives the gradient {came}; {ran}{on}."
    events = [event for part in parts for event in part]
    made = sum(isinstance(event, NodeCreated) for event in events)
    ran = sum(isinstance(event, OperationRan) for event in events)
    pushed = sum(isinstance(event, TangentPushed) for event in events)
    happened = [f"{counted(made, 'operation')} join the graph"] if made else []
    happened += [f"{counted(ran, 'operation')} run"] if ran and not made else []
    happened += [f"{counted(pushed, 'tangent')} are pushed forward"] if pushed else []
    if not happened:
        return f"{name}: tensors inside are written into."
    return f"{name}: {', '.join(happened)}: {cut.told(id)}."
