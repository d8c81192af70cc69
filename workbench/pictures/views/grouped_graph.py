"""A graph with its groups as a story: which of them are open, and what happens inside a closed one is one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..scene.layout import LayoutUnavailable
from ..scene.model import Arrow, Box, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.backward_records import NodeStarted
from ..trace.call_records import above
from ..trace.facts import Phase
from ..trace.forward_records import NodeCreated, OperationRan, TangentPushed
from ..trace.frame import Frame, Key
from ..trace.memory_records import NodesGone, SavedFreed
from ..trace.schema import Record
from ..trace.tensor_records import TensorWritten
from ..trace.timeline import Timeline, phase_of
from ..trace.values import gradient_said, series
from .folded_graph import DrawCache, FoldedGraph
from .graph import Graph, built
from .group_summary import counted, listed
from .groups import MOST, Group
from .links import Links
from .opening import GroupSet, fitted, in_order
from .player_steps import (
    NOTHING,
    caption_of,
    changed_fields,
    cursor_at,
    opening_stop,
    place_of_stop,
    point_out,
    some,
    tell,
    without_place,
)

_LARGE = 150  # nodes and operations of a graph that opens whole, if it must
_NAMED = 12  # groups that an error names
_INSIDES = 300  # boxes in all the closed groups that a reader can open


def tell_grouped(
    trace: Timeline, view: Graph, opened: Collection[str] | str | None = None, depth: int | None = None
) -> Storyboard:
    """Return the storyboard of a graph with its groups: as many are open as there is room for, outer ones first.

    `opened` names those to be open, or they are all down to a `depth`; all others are closed then. Errors: ValueError
    for a name of no group.
    """
    plan = planned(trace.events, view, opened, depth)
    if plan is None:
        return tell(trace, view)
    return plan.fitting(plan.tell(trace, view))


@dataclass(slots=True)
class GroupPlan:
    """Hold which groups of a graph are shown, and which of them are open."""

    links: Links
    opened: set[str]
    told: set[str]
    parts: list[GroupSet]  # of groups that are open if there is room

    def tell(self, trace: Timeline, view: Graph) -> Storyboard:
        """Return the storyboard of a trace's graph."""
        graph = FoldedGraph(view, DrawCache(view), self.links, self.told)
        return _GroupedStory(trace, graph, view).tell(self.opened)

    def ended(self, trace: Timeline, view: Graph) -> Scene:
        """Return only the picture after the last event, like the story's last step, without closed groups' insides."""
        graph = FoldedGraph(view, DrawCache(view), self.links, self.opened)
        frame = Frame(view.program.told_as, view.follows)
        scene, made = Scene(view.title), False
        for event in trace.events:
            if made and isinstance(event, SavedFreed | NodesGone):  # groups tell what their nodes had saved before
                _draw_into(scene, graph, frame)
                made = False
            made = made or isinstance(event, NodeCreated)
            event.apply(frame)
        _draw_into(scene, graph, frame)
        return Storyboard(scene, [StoryStep("")], view.title, opened=self.opened).at(0)

    def fitting(self, board: Storyboard) -> Storyboard:
        """Return the storyboard with as many groups open as there is room for."""
        try:
            return fitted(board, self.parts) if self.parts else board
        except LayoutUnavailable:  # it can still be told in words
            return board


def _draw_into(scene: Scene, graph: FoldedGraph, frame: Frame) -> None:
    """Draw in a scene what was touched since it was last drawn."""
    boxes, arrows = graph.draw(frame, frame.touched)
    scene.boxes |= {box.id: box for box in boxes}
    scene.arrows |= {arrow.id: arrow for arrow in arrows}
    frame.touched = {}
    graph.forget()


def planned(
    events: Iterable[Record],
    view: Graph,
    opened: Collection[str] | str | None = None,
    depth: int | None = None,
    uses: Iterable[Record] | None = None,
    room: int = _INSIDES,
) -> GroupPlan | None:
    """Return how a graph with groups is shown, as `tell_grouped` says; None if it has no groups.

    `uses` are events that know more uses of its nodes. Groups that are closed and can be opened have `room` for that
    many boxes.
    """
    events = list(events)
    lanes = view.lanes if view.transformed else None
    asked = opened is not None or depth is not None
    whole = view.program
    groups = whole.groups()
    if not groups and opened is None:
        return None
    links = Links(built(events if uses is None else uses), whole, lanes)
    parts: list[GroupSet] = []
    if not asked:
        parts = in_order(whole, Counter(map(id, links.homes.values())))
        now = {group for part in parts for group in part.groups}
    else:
        now = _opened(groups, [opened] if isinstance(opened, str) else opened or ())
        now |= {group.id for group in groups if depth is not None and len(group.path) <= depth}
    # Levels take turns: in a large graph, one step covers all of them, not each group in a closed one.
    along = _told_along(groups, now, room) if lanes is None or is_small(events) else []
    return GroupPlan(links, now, {*now, *(group.id for group in along)}, parts)


def is_small(events: Iterable[Record]) -> bool:
    """Return True if a graph is small enough to be shown completely open."""
    return sum(isinstance(event, NodeCreated | OperationRan) for event in events) <= _LARGE


def _opened(groups: Sequence[Group], names: Iterable[str]) -> set[str]:
    """Return the ids of the groups with these names, and of all groups around them."""
    opened: set[str] = set()
    for name in names:
        found = [group for group in groups if name in (group.id, group.title, *group.names)]
        if not found:
            known = list(dict.fromkeys(group.names[0] for group in groups if group.names))
            more = [f"{len(known) - _NAMED} more"] if len(known) > _NAMED else []
            some = f"; its groups are {series([*map(repr, known[:_NAMED]), *more])}" if known else ""
            raise ValueError(f"This graph has no group named {name!r}{some}.")
        opened.update(each.id for group in found for each in group.path if each.id)
    return opened


def _told_along(groups: Sequence[Group], opened: Collection[str], room: int) -> list[Group]:
    """Return the closed groups that a reader can open: outer ones first, as far as there is room."""
    told: list[Group] = []
    known = set(opened)
    for group in sorted(groups, key=lambda group: len(group.path)):
        outer = group.parent is None or not group.parent.id or group.parent.id in known
        if outer and group.id not in known and len(group.items) <= min(room, 2 * MOST):
            room -= len(group.items)
            told.append(group)
            known.add(group.id)
    return told


def _runs(closed: Sequence[Group | None]) -> list[tuple[int, int]]:
    """Return the first and last stop of each step: consecutive stops in one closed group make one step."""
    runs: list[tuple[int, int]] = []
    groups: list[Group | None] = []  # of each run
    for stop, group in enumerate(closed):
        if group is not None and groups and groups[-1] is group:
            runs[-1] = (runs[-1][0], stop)
        else:
            runs.append((stop, stop))
            groups.append(group)
    return _merge_interleaved(runs, groups)


def _merge_interleaved(runs: Sequence[tuple[int, int]], groups: Sequence[Group | None]) -> list[tuple[int, int]]:
    """Make one run of what happens by turns in several parts of the picture: levels record the same function."""
    merged: list[tuple[int, int]] = []
    now: dict[int, Group] = {}  # groups of the last run
    for at, (run, group) in enumerate(zip(runs, groups, strict=True)):
        joins = False
        if group is not None and now and merged[-1][1] == run[0] - 1:
            after = groups[at + 1] if at + 1 < len(groups) else None
            elsewhere = all(group.part is not each.part for each in now.values())
            joins = id(group) in now or (elsewhere and id(after) in now and runs[at + 1][0] == run[1] + 1)
        if joins and group is not None:
            merged[-1] = (merged[-1][0], run[1])
            now[id(group)] = group
        else:
            merged.append(run)
            now = {} if group is None else {id(group): group}
    return merged


class _GroupedStory:
    """The steps of a graph with groups, made in one walk through its trace."""

    def __init__(self, trace: Timeline, graph: FoldedGraph, view: Graph) -> None:
        self._trace, self._graph, self._view = trace, graph, view
        events, self._stops = trace.events, trace.steps
        self._parts = [events[begin:end] for begin, end in zip([0, *self._stops], self._stops, strict=False)]
        self._places = [place_of_stop(part, view.lanes) for part in self._parts]
        self._around = [graph.around(place or "") for place in self._places]
        self._closed = [graph.group(around.closed) if around.closed else None for around in self._around]
        runs = _runs(self._closed)
        self._ending = {last: first for first, last in runs}
        # By stop, the step that it is part of.
        self._number = [step for step, (first, last) in enumerate(runs) for _ in range(first, last + 1)]
        self._frame = Frame(view.program.told_as, view.follows)
        self._higher = above(events)
        self._touched: dict[Key, None] = {}  # since the last step
        self._steps: list[StoryStep] = []
        self._phases: list[Phase] = []  # of these
        self._boxes: dict[str, Box] = {}
        self._arrows: dict[str, Arrow] = {}
        self._now: dict[str, Any] = {}
        self._began: dict[str, int] = {}  # group -> the stop at which its run began
        self._runs: dict[str, list[tuple[int, int, str]]] = {}

    def tell(self, opened: Collection[str]) -> Storyboard:
        """Return the storyboard with these groups open."""
        frame, view, steps = self._frame, self._view, self._steps
        for stop in range(len(self._parts)):
            frame.touched = {}
            caption = self._caption(stop)
            self._touched |= frame.touched
            if stop in self._ending:
                self._step(stop, caption)
            self._end_runs(stop)
        start = self._number[opening_stop(self._trace, view)] if steps else 0
        if steps:
            point_out(steps[start], self._trace, frame, self._graph.visible_box)
        return Storyboard(
            Scene(view.title, self._boxes, self._arrows),
            steps or [StoryStep(NOTHING)],
            view.title,
            start=start,
            legend=view.shared_legend if any([box.refers for box in self._boxes.values()]) else view.legend,
            opened=opened,
            runs=self._runs,
        )

    def _caption(self, stop: int) -> str:
        """Apply the events of a stop; what happened, if the stop alone is a step."""
        part, frame = self._parts[stop], self._frame
        if self._ending.get(stop) == stop:
            hiding = partial(self._graph.receiver, frame)  # names what may be hidden in another group
            return caption_of(part, frame, self._higher, self._view, hiding)
        for event in part:
            event.apply(frame)
        return ""

    def _step(self, stop: int, caption: str) -> None:
        """Return one more step: what changed since the one before, as it is now."""
        frame, graph, first, place = self._frame, self._graph, self._ending[stop], self._places[stop]
        self._phases.append(phase_of(self._parts[stop], frame, self._phases))
        drawn = graph.draw(frame, self._touched)
        self._touched = {}
        boxes = changed_fields(drawn[0], self._now, self._boxes)
        arrows = changed_fields(drawn[1], self._now, self._arrows)
        at = graph.visible_box(place) if place else None
        focus, cursor = graph.focus(frame), cursor_at(frame.cursor)
        step = StoryStep(caption, self._phases[-1], cursor, focus, boxes, arrows, at if at in self._boxes else None)
        if first != stop:
            stops = slice(first, stop + 1)
            step.caption = _summary(graph, frame, self._closed[stops], self._parts[stops])
        self._steps.append(step)
        graph.forget()

    def _end_runs(self, stop: int) -> None:
        """Note the runs of groups around this stop, and tell those that the next stop has left."""
        here = self._around[stop].told
        after = self._around[stop + 1].told if stop + 1 < len(self._parts) else []
        if after is here and (not here or here[-1] in self._began):
            return
        for id in here:
            self._began.setdefault(id, stop)
        number, stops = self._number, self._stops
        for id in [id for id in self._began if id not in after]:
            first = self._began.pop(id)
            if number[first] < number[stop]:
                events = self._trace.events[stops[first - 1] if first else 0 : stops[stop]]
                words = _told(self._graph, self._frame, id, events)
                self._runs.setdefault(id, []).append((number[first], number[stop], words))


def _summary(
    graph: FoldedGraph, frame: Frame, closed: Sequence[Group | None], parts: Sequence[Sequence[Record]]
) -> str:
    """Return a summary of several stops in one closed group, or alternating between several."""
    by_group: dict[str, list[Record]] = {}
    for group, part in zip(closed, parts, strict=True):
        if group is not None:  # else another part of the picture had its turn
            by_group.setdefault(group.id, []).extend(part)
    # What ran backward comes before what was computed meanwhile.
    order = sorted(by_group, key=lambda id: NodeStarted not in map(type, by_group[id]))
    sentences = " ".join([_told(graph, frame, id, by_group[id]) for id in order])
    return f"Inside {frame.inside}: {sentences}" if frame.inside else sentences


def _told(graph: FoldedGraph, frame: Frame, id: str, events: Sequence[Record]) -> str:
    name = graph.group(id).called
    counts = Counter(map(type, events))
    clauses: list[str] = []
    if counts[NodeStarted]:
        clauses.append(_ran(graph, frame, id, [event for event in events if type(event) is NodeStarted]))
    written: dict[str, list[str]] = {}
    for event in events if counts[TensorWritten] else ():
        if type(event) is TensorWritten and event.optimizer is not None:
            written.setdefault(event.writes, []).append(frame.describe(event.tensor))
    clauses += [f"{writes} {some(names)}" for writes, names in written.items()]
    made, ran, pushed = counts[NodeCreated], counts[OperationRan], counts[TangentPushed]
    kinds = Counter([event.operation for event in events if type(event) is NodeCreated])
    kinds = kinds or Counter([event.name for event in events if type(event) is OperationRan])
    happened = [f"{counted(made, 'operation')} join{'s' * (made == 1)} the graph"] if made else []
    happened += [f"{counted(ran, 'operation')} run{'s' * (ran == 1)}"] if ran and not made else []
    happened += [f"{counted(pushed, 'tangent')} {'is' if pushed == 1 else 'are'} pushed forward"] if pushed else []
    if happened and not counts[NodeStarted]:
        clauses.append(f"{', '.join(happened)}{': ' if kinds else ''}{listed(kinds)}; {graph.keeps(id)}")
    clauses = clauses or ["tensors inside are modified in place"]
    told = without_place("; ".join(clauses), name)
    return f"{name}{' ' if told.startswith('runs') else ': '}{told}."


def _ran(graph: FoldedGraph, frame: Frame, id: str, runs: Sequence[NodeStarted]) -> str:
    nodes = list(filter(frame.nodes.__contains__, [event.node for event in runs]))
    sent = series(graph.sent(frame, id, nodes))
    leaves = len(runs) - len(nodes)
    if not nodes:
        return f"{counted(leaves, 'leaf')} inside receive their gradients"
    first, last = frame.describe(nodes[0]), frame.describe(nodes[-1])
    came = series([gradient_said(grad) for grad in runs[0].grads])
    ran = f"{counted(len(nodes), 'node')} run, {first} first, {last} last" if len(nodes) > 1 else f"{first} runs"
    ran += f", and {counted(leaves, 'leaf')} inside" if leaves else ""
    on = f"; it sends {sent}" if sent else ""
    return f"runs backward: it receives the gradient {came}; {ran}{on}"
