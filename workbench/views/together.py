"""Telling a graph whose groups are closed: what happens inside one is one step; what is inside is told on its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..scene.model import Arrow, Box, Scene, Step
from ..scene.storyboard import Storyboard
from ..trace.backward import NodeFinished, NodeStarted
from ..trace.building import NodeCreated
from ..trace.facts import Phase, Record
from ..trace.frame import Frame
from ..trace.levels import LevelEntered, OperationRan, TangentPushed, above
from ..trace.timeline import Timeline, phase_of
from ..trace.values import said, series
from .contents import Links, counted
from .cut import Cut, Drawn
from .graph import Graph
from .grouping import MOST, Group, grouped
from .lanes import Lanes
from .telling import NOTHING, Effort, caption_of, cursor_of, differences, opening, tell
from .where import ends_of, place_of, reached_by

LARGE = 150  # nodes: a graph of more is told closed
_NAMED = 12  # groups that an error names
_INSIDES = 300  # boxes in all the insides that are told along with a closed graph


def tell_grouped(trace: Timeline, view: Graph, opened: Collection[str] | str | None = None) -> Storyboard:
    """The storyboard of a graph: of a small one all is open, and scopes are framed; a large one is closed.

    `opened` names the groups to be open, all others being closed then. Errors: ValueError for a name of no group.
    """
    events = trace.events
    transformed = any(isinstance(event, LevelEntered | OperationRan | TangentPushed) for event in events)
    lanes = view.lanes if transformed else None
    small = opened is None and sum(isinstance(event, NodeCreated | OperationRan) for event in events) <= LARGE
    if small and transformed:  # its parts have frames of their own
        return tell(trace, view)
    whole = grouped(events, small, lanes)
    groups = list(whole.groups())
    if not groups and opened is None:
        return tell(trace, view)
    names = [opened] if isinstance(opened, str) else opened or ()
    open_now = {group.id for group in groups} if small else _opened(groups, names)
    links = Links(events, whole, lanes)
    drawn = Drawn(view)
    tellers = [_Teller(Cut(view, drawn, links, open_now), view.title)]
    for group in [] if small else _told_along(groups, open_now):
        path = [each.id for each in group.path if each.id]
        title = " › ".join([view.title, *(each.title for each in group.path if each.id)])
        tellers.append(_Teller(Cut(view, drawn, links, path, group), title, group))
    _tell(trace, tellers, view, drawn, links)
    insides = {teller.group: teller.storyboard() for teller in tellers[1:] if teller.steps}
    board = tellers[0].storyboard(insides, view.still(trace))
    board.legend = view.legend
    return board


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


def _told_along(groups: Sequence[Group], opened: Collection[str]) -> list[Group]:
    """The closed groups whose insides are told too: outer ones first, as far as there is room."""
    told: list[Group] = []
    room = _INSIDES
    for group in sorted(groups, key=lambda group: len(group.path)):
        if group.id not in opened and len(group.items) <= min(room, 2 * MOST):
            room -= len(group.items)
            told.append(group)
    return told


class _Teller:
    """Makes the steps of one picture; `runs` are the stops that make one step each: the first and the last of them."""

    def __init__(self, cut: Cut, title: str, group: Group | None = None) -> None:
        self.cut, self.title, self.group = cut, title, group.id if group else ""
        self.part = group.part.id if group and group.part else ""  # of the picture
        self.runs: list[tuple[int, int]] = []
        self._groups: list[Group | None] = []  # of each run
        self.touched: dict[str, None] = {}
        self.steps: list[Step] = []
        self.start: int | None = None
        self._boxes: dict[str, Box] = {}
        self._arrows: dict[str, Arrow] = {}
        self._now: dict[str, Any] = {}
        self.braided = False
        self._last: tuple[Group | None, int] = (None, -1)  # the group of the last stop planned, and its number

    def plan(self, stop: int, place: str | None, before: int) -> None:
        """The stop is a step, or part of the step before: both in one closed group, and nothing between.

        `before` is the stop before it, without those in other parts of the picture.
        """
        group = self.cut.closed(place) if place is not None else None
        if group is not None and self._last == (group, before):
            self.runs[-1] = (self.runs[-1][0], stop)
        else:
            self.runs.append((stop, stop))
            self._groups.append(group)
        self._last = (group, stop)

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

    def step(self, frame: Frame, phase: str, when: int) -> Step:
        """One more step: what was touched since the one before, as it is now."""
        step = Step("", phase, when=when)
        drawn = self.cut.draw(frame, self.touched)
        self.touched = {}
        step.boxes = differences(drawn[0], self._now, self._boxes)
        step.arrows = differences(drawn[1], self._now, self._arrows)
        step.cursor = cursor_of(frame)
        step.focus = self.cut.focus(frame)
        self.steps.append(step)
        return step

    def storyboard(self, insides: dict[str, Storyboard] | None = None, stop: int | None = None) -> Storyboard:
        """All that was told; still, it shows the step that the stop is part of."""
        scene = Scene(self.title, self._boxes, self._arrows)
        still = None if stop is None else next(at for at, (_, last) in enumerate(self.runs) if last >= stop)
        return Storyboard(scene, self.steps or [Step(NOTHING)], self.title, insides or {}, self.start, still)


def _tell(trace: Timeline, tellers: Sequence[_Teller], view: Graph, drawn: Drawn, links: Links) -> None:
    """Go through the trace once, and make each picture's steps where they end."""
    whole, insides = tellers[0], tellers[1:]
    events, stops = trace.events, trace.steps
    parts = [events[begin:end] for begin, end in zip([0, *stops], stops, strict=False)]
    edges = {event.node: [edge.target for edge in event.edges] for event in events if isinstance(event, NodeCreated)}
    of_group = {teller.group: teller for teller in insides}
    concerned: dict[str, list[_Teller]] = {}  # place -> the insides that show it

    def tellers_of(id: str) -> list[_Teller]:
        if id not in concerned:
            nodes = [id] if id in links.group_of else links.users.get(id, ())
            groups = {group.id: None for node in nodes for group in links.group_of[node].path}
            concerned[id] = [of_group[group] for group in groups if group in of_group]
        return concerned[id]

    latest: dict[str, int] = {}  # the last stop in each part of the picture
    anywhere = -1  # or in none
    for stop, part in enumerate(parts):
        place = place_of(part, view.lanes)
        whole.plan(stop, place, stop - 1)
        group = links.group_of.get(place or "")
        here = group.part.id if group and group.part else ""
        reached = reached_by(part, edges, view.lanes) if place is None or group else []
        own = tellers_of(place) if place else []
        for teller in dict.fromkeys([*own, *(teller for id in reached for teller in tellers_of(id))]):
            # Levels take turns: what another part of the picture sends here is drawn with the next step in this one.
            if teller.part == here or teller in own or group is None:
                teller.plan(stop, place if teller in own else None, max(latest.get(teller.part, -1), anywhere))
        if group:
            latest[here] = stop
        else:
            anywhere = stop
    for teller in insides:
        if teller.runs and teller.runs[-1][1] < len(parts) - 1:  # what ran last there is done
            teller.plan(len(parts) - 1, None, -1)
    for teller in tellers:
        teller.braid()
    ending: dict[int, list[tuple[_Teller, int]]] = {}
    for teller in tellers:
        for first, last in teller.runs:
            ending.setdefault(last, []).append((teller, first))
    frame, higher, effort = Frame(), above(events), Effort(trace)
    phases: list[Phase] = []
    for stop, part in enumerate(parts):
        frame.touched = {}
        drawn.forget()
        ends = ending.get(stop, [])
        caption = ""
        if any(first == stop for _, first in ends):
            caption = caption_of(part, frame, higher, view)
        else:
            for event in part:
                event.apply(frame)
        effort.spend(frame)
        for key in frame.touched:
            if key.endswith(".focus") and not view.follows:
                continue
            whole.touched[key] = None
            for id in ends_of(frame, key, view.lanes):
                for teller in tellers_of(id):
                    teller.touched[key] = None
        phases.append(phase_of(part, frame, phases))
        for teller, first in ends:
            step = teller.step(frame, phases[-1], stops[stop])
            whole_run = parts[first : stop + 1]
            alone = first == stop
            step.caption = (
                _hiding(teller, frame, caption, part) if alone else _summary(teller, frame, whole_run, view.lanes)
            )
    whole.start = opening(whole.steps, bool(parts) and all(event.quiet for event in parts[-1]))


def _hiding(teller: _Teller, frame: Frame, caption: str, part: Sequence[Record]) -> str:
    """A caption that says of what a closed group hides in which it is."""
    for event in part:
        if isinstance(event, NodeFinished):
            shown = event.told(frame, lambda edge: teller.cut.receiver(frame, edge))
            caption = caption.replace(event.sentence(frame), shown, 1)
    return caption


def _summary(teller: _Teller, frame: Frame, parts: Sequence[Sequence[Record]], lanes: Lanes) -> str:
    """What several stops in one closed group did, or by turns in several."""
    by_group: dict[str, list[Sequence[Record]]] = {}
    if teller.part or teller.braided:
        for part in parts:
            group = teller.cut.closed(place_of(part, lanes) or "")
            if group is not None:  # else another part of the picture had its turn
                by_group.setdefault(group.id, []).append(part)
    else:
        by_group = {teller.cut.stands(place_of(parts[0], lanes) or ""): list(parts)}
    # What ran backward is told before what was computed on the way.
    order = sorted(by_group, key=lambda id: not _runs(by_group[id]))
    told = " ".join([_told(teller, frame, id, by_group[id]) for id in order])
    return f"Inside {frame.inside}: {told}" if frame.inside else told


def _runs(parts: Sequence[Sequence[Record]]) -> list[NodeStarted]:
    return [event for part in parts for event in part if isinstance(event, NodeStarted)]


def _told(teller: _Teller, frame: Frame, id: str, parts: Sequence[Sequence[Record]]) -> str:
    name = teller.cut.group(id).called
    if runs := _runs(parts):
        sent = series(list(dict.fromkeys(teller.cut.sent(frame, id))))
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
    return f"{name}: {', '.join(happened)}: {teller.cut.told(id)}."
