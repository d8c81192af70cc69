"""Telling a graph whose groups are closed: what happens inside one is one step; what is inside is told on its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..scene.model import Arrow, Box, Scene, Step
from ..scene.storyboard import Storyboard
from ..trace.backward import BackwardStarted, Failed, GradCaptured, NodeFinished, NodeStarted
from ..trace.building import NodeCreated, TensorWritten
from ..trace.facts import Record
from ..trace.frame import Frame
from ..trace.levels import LevelEntered, OperationRan, TangentPushed, above
from ..trace.timeline import Timeline
from ..trace.values import said, series
from .contents import Links
from .cut import Cut, Drawn, counted
from .graph import Graph
from .grouping import MOST, Group, grouped
from .telling import NOTHING, caption_of, cursor_of, differences, tell

LARGE = 150  # nodes: a graph of more is told closed
_INSIDES = 300  # boxes in all the insides that are told along with a closed graph


def tell_grouped(trace: Timeline, view: Graph, opened: Collection[str] | str | None = None) -> Storyboard:
    """The storyboard of a graph: of a small one all is open, and scopes are framed; a large one is closed.

    `opened` names the groups to be open, all others being closed then. Errors: ValueError for a name of no group.
    """
    events = trace.events
    nodes = sum(isinstance(event, NodeCreated) for event in events)
    if any(isinstance(event, LevelEntered | OperationRan | TangentPushed) for event in events):
        return tell(trace, view)  # transforms have frames of their own
    small = opened is None and nodes <= LARGE
    whole = grouped(events, scopes_only=small)
    groups = list(whole.groups())
    if not groups and opened is None:
        return tell(trace, view)
    names = [opened] if isinstance(opened, str) else opened or ()
    open_now = {group.id for group in groups} if small else _opened(groups, names)
    links = Links(events, whole)
    drawn = Drawn(view)
    tellers = [_Teller(Cut(view, drawn, links, open_now), view.title)]
    for group in [] if small else _told_along(groups, open_now):
        path = [each.id for each in group.path if each.id]
        title = " › ".join([view.title, *(each.title for each in group.path if each.id)])
        tellers.append(_Teller(Cut(view, drawn, links, path, group), title, group.id))
    _tell(trace, tellers, view, drawn, links)
    insides = {teller.group: teller.storyboard() for teller in tellers[1:] if teller.steps}
    return tellers[0].storyboard(insides)


def _opened(groups: Sequence[Group], names: Iterable[str]) -> set[str]:
    """The ids of the groups of these names, and of all they lie in."""
    opened: set[str] = set()
    for name in names:
        found = [group for group in groups if name in (group.id, group.title, *group.names)]
        if not found:
            known = list(dict.fromkeys(group.names[0] for group in groups if group.names))
            some = f"; there are {series([repr(each) for each in known[:12]])}" if known else ""
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

    def __init__(self, cut: Cut, title: str, group: str = "") -> None:
        self.cut, self.title, self.group = cut, title, group
        self.runs: list[tuple[int, int]] = []
        self.touched: dict[str, None] = {}
        self.steps: list[Step] = []
        self._boxes: dict[str, Box] = {}
        self._arrows: dict[str, Arrow] = {}
        self._now: dict[str, Any] = {}
        self._last: tuple[Group | None, int] = (None, -1)  # the group of the last stop planned, and its number

    def plan(self, stop: int, place: str | None) -> None:
        """The stop is a step, or part of the step before: both in one closed group, and nothing between."""
        group = self.cut.closed(place) if place is not None else None
        if group is not None and self._last == (group, stop - 1):
            self.runs[-1] = (self.runs[-1][0], stop)
        else:
            self.runs.append((stop, stop))
        self._last = (group, stop)

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

    def storyboard(self, insides: dict[str, Storyboard] | None = None) -> Storyboard:
        """All that was told."""
        scene = Scene(self.title, self._boxes, self._arrows)
        return Storyboard(scene, self.steps or [Step(NOTHING)], self.title, insides or {})


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

    for stop, part in enumerate(parts):
        place = _place(part)
        whole.plan(stop, place)
        reached = _reached(part, edges) if place is None or place in edges else []
        for teller in dict.fromkeys(teller for id in (place, *reached) if id for teller in tellers_of(id)):
            teller.plan(stop, place if place and teller in tellers_of(place) else None)
    ending: dict[int, list[tuple[_Teller, int]]] = {}
    for teller in tellers:
        for first, last in teller.runs:
            ending.setdefault(last, []).append((teller, first))
    frame, higher = Frame(), above(events)
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
        for key in frame.touched:
            if key.endswith(".focus") and not view.follows:
                continue
            whole.touched[key] = None
            for id in _ends(frame, key):
                for teller in tellers_of(id):
                    teller.touched[key] = None
        phase = next(event.phase for event in part if not event.quiet)
        for teller, first in ends:
            step = teller.step(frame, phase, stops[stop])
            step.caption = caption if first == stop else _summary(teller, frame, parts[first : stop + 1])


def _place(part: Sequence[Record]) -> str | None:
    """Where the events of a stop happen, if they may be told together with those of the same group."""
    if any(isinstance(event, Failed | GradCaptured | BackwardStarted) for event in part):
        return next((event.node for event in part if isinstance(event, NodeStarted)), None)
    for event in part:
        if isinstance(event, NodeCreated | NodeStarted | TensorWritten) and not event.quiet and event.node is not None:
            return event.node
    return None


def _reached(part: Sequence[Record], edges: dict[str, list[str | None]]) -> list[str]:
    """What the events of a stop use, or send a gradient to."""
    reached: list[str] = []
    for event in part:
        if isinstance(event, BackwardStarted):
            reached += [root.node for root in event.roots]
        elif isinstance(event, NodeFinished | NodeCreated):
            reached += [id for id in edges.get(event.node, ()) if id in edges]  # a leaf has steps of its own
        elif isinstance(event, GradCaptured) or (isinstance(event, Failed) and event.node is not None):
            reached.append(event.node or "")
    return reached


def _ends(frame: Frame, key: str) -> tuple[str, ...]:
    edge = frame.edges.get(key)
    if edge is None:
        return (key.removesuffix(".focus"),)
    return (edge.source,) if edge.target is None else (edge.source, edge.target)


def _summary(teller: _Teller, frame: Frame, parts: Sequence[Sequence[Record]]) -> str:
    """What several stops in one closed group did."""
    group = teller.cut.closed(_place(parts[0]) or "")
    assert group is not None
    name = group.called
    runs = [event for part in parts for event in part if isinstance(event, NodeStarted)]
    if runs:
        sent = series(list(dict.fromkeys(teller.cut.sent(frame, group.id))))
        nodes = [event.node for event in runs if event.node in frame.nodes]
        leaves = len(runs) - len(nodes)
        if not nodes:
            return f"{name}: {counted(leaves, 'leaf')} inside get what has arrived."
        first, last = frame.called(nodes[0]), frame.called(nodes[-1])
        came = series([said(grad) for grad in runs[0].grads])
        ran = f"{counted(len(nodes), 'node')} run, {first} first, {last} last"
        ran += f", and {counted(leaves, 'leaf')} inside" if leaves else ""
        on = f"; it sends {sent}" if sent else ""
        return f"{name} runs backward: it receives the gradient {came}; {ran}{on}."
    made = sum(isinstance(event, NodeCreated) for part in parts for event in part)
    joined = f"{counted(made, 'operation')} join the graph: {teller.cut.told(group.id)}"
    return f"{name}: {joined if made else 'tensors inside are written into'}."
