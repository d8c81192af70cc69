"""Telling a graph with its groups: what happens inside one that is closed is one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..scene.graphviz import LayoutUnavailable
from ..scene.model import Arrow, Box, Scene, Step
from ..scene.open_groups import Folding, paths
from ..scene.storyboard import Storyboard
from ..trace.frame import Frame
from ..trace.records import NodeCreated, NodeFinished, NodeStarted
from ..trace.schema import Phase, Record
from ..trace.timeline import Timeline, phase_of
from ..trace.transform_records import OperationRan, TangentPushed, above
from ..trace.values import said, series
from .event_places import place_of
from .graph import Graph
from .group_contents import Links, counted
from .grouped_graph import Cut, Drawn
from .groups import MOST, Group, grouped
from .player_steps import NOTHING, Effort, caption_of, cursor_of, differences, opening, tell
from .transform_lanes import Lanes

_LARGE = 150  # nodes and operations of a graph that opens whole, if it must
_WINDOW = 1310, 610  # px of a picture whose text is 11 px high in a window of 1,200 × 560
_SEVERAL, _HIGHER = 6, 1100  # boxes that say what a program does; px that a picture of fewer may be high
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
class Plan:
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
) -> Plan | None:
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
    return Plan(links, now, told, parts)


def is_small(events: Iterable[Record]) -> bool:
    """Whether there is so little in a graph that all of it may stand open."""
    return sum(isinstance(event, NodeCreated | OperationRan) for event in events) <= _LARGE


def _fitting(board: Storyboard, parts: Sequence[Collection[str]]) -> Storyboard:
    """The picture with as many of these parts open as a window has room for, the first of them in any case.

    A window with hardly a box in it shows too little of a program: then a picture may be as high as two.
    """
    opened = set(parts[0])
    fitting = board.with_open(opened)
    around = paths(board.scene)
    for part in parts[1:]:
        if all(opened.issuperset(around[group]) for group in part):
            more = board.with_open(opened.union(part))
            high = _HIGHER if _program_boxes(fitting) < _SEVERAL else _WINDOW[1]
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
            differences(each, self._now, union) for each, union in zip(drawn, (self.boxes, self.arrows), strict=True)
        )
        focus, cursor = self.cut.focus(frame), cursor_of(frame)
        step = Step("", phase, cursor, focus, boxes, arrows, place if place in self.boxes else None)
        self.steps.append(step)
        return step


def _tell(trace: Timeline, teller: _Teller, view: Graph, opened: Collection[str]) -> Storyboard:
    """Go through the trace once, and make the steps where they end."""
    events, stops, cut = trace.events, trace.steps, teller.cut
    parts = [events[begin:end] for begin, end in zip([0, *stops], stops, strict=False)]
    places = [place_of(part, view.lanes) for part in parts]
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
    stop = view.still(trace)
    still = None if stop is None else number[stop]
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
        group = teller.cut.closed(place_of(part, lanes) or "")
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
