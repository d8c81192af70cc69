"""The graph of each training step after its backward pass, in the same places: a health cell opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..scene.model import StoryStep
from ..scene.storyboard import Storyboard
from ..trace.alignment import Aligner
from ..trace.backward_records import BackwardFinished, Failed
from ..trace.forward_records import NodeCreated
from ..trace.rounds import Round, rounds_of
from ..trace.schema import Record
from ..trace.timeline import Ending
from .flow import Flow
from .folded_graph import DrawCache, FoldedGraph
from .grouped_graph import GroupPlan, planned
from .player_steps import tell
from .training import Told, cast_rounds, joined

NODES = 1_600  # of all steps that are shown, roughly
_MOST = 4_000  # nodes of a step that is shown
_INSIDES = 2_000  # boxes in closed groups that a reader can open


@dataclass(frozen=True, slots=True)
class TrainingMoment:
    """A training step: its number, and the number of events when its backward pass ends."""

    number: int
    end: int


@dataclass(slots=True)
class GraphAfterBackward:
    """The graphs as one story with a step for each moment, whose number is its `when`."""

    board: Storyboard
    moments: list[TrainingMoment]
    _name: Callable[[str], str]  # from the ids of the trace to those of the story
    _visible_box: Callable[[str], str]

    def box(self, id: str) -> str | None:
        """Return the box that shows a node or a tensor of the trace once all groups are open; None if there is none."""
        box = self._visible_box(self._name(id))
        return box if box in self.board.scene.boxes else None


def graph_after_backward(events: Sequence[Record], moments: Sequence[TrainingMoment]) -> GraphAfterBackward | None:
    """Return the graph at these moments, with all groups closed; None if it is too large, or nothing was recorded."""
    nodes = sum(isinstance(event, NodeCreated) for event in events[: moments[-1].end]) if moments else 0
    if not nodes:
        return None
    rounds = rounds_of(events)
    chosen = {each.begin: moment for each in rounds for moment in moments if each.begin < moment.end <= each.end}
    cast = Aligner()
    told = cast_rounds(events, rounds, [each for each in rounds if each.begin in chosen], cast) if chosen else None
    if told is not None:
        parts = [(each, chosen[each.round.begin]) for each in told]
        return _drawn(cast.plan, cast.uses, parts, cast.name)
    if nodes > _MOST:
        return None
    moments = moments[-max(1, NODES // nodes) :]
    whole = [Told(Round(each.number, 0, each.end, 0), [*events[: each.end]], {}, "", "", {}) for each in moments]
    return _drawn(events, None, list(zip(whole, moments, strict=True)), lambda id: id)


def _drawn(
    events: Sequence[Record],
    uses: Iterable[Record] | None,
    parts: Sequence[tuple[Told, TrainingMoment]],
    name: Callable[[str], str],
) -> GraphAfterBackward:
    plan = planned(events, Flow(list(events)), (), uses=uses, room=_INSIDES)
    boards = [(told, _after(_until_over(told.events), plan)) for told, _ in parts]
    board = joined(boards, None, boards[0][1].title)
    for step, (_, moment) in zip(board.steps, parts, strict=True):
        step.when, step.chapter, step.cursor, step.phase, step.place = moment.number, "", None, "backward", None
        step.caption = (
            f"The graph of step {moment.number} after its backward pass: each arrow shows the norm of its gradient."
        )
    view = Flow(list(events))
    graph = None if plan is None else FoldedGraph(view, DrawCache(view), plan.links, plan.told)
    return GraphAfterBackward(
        board, [moment for _, moment in parts], name, (lambda id: id) if graph is None else graph.visible_box
    )


def _after(events: list[Record], plan: GroupPlan | None) -> Storyboard:
    """Return one step, in which everything is as it is then."""
    view, part = Flow(events), Ending(events)
    board = tell(part, view) if plan is None else plan.tell(part, view)
    board.steps = board.steps[:1] or [StoryStep("")]
    return board


def _until_over(events: Sequence[Record]) -> list[Record]:
    """Return the events up to the end of the last backward pass, or to an error."""
    ends = [at for at, event in enumerate(events, 1) if isinstance(event, BackwardFinished | Failed)]
    return list(events[: ends[-1] if ends else len(events)])
