"""The views: each draws a trace in a different form. A new one is a file here and a line in `VIEWS`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from ...diagnosis.health.finding import plural
from ...diagnosis.health.findings import findings
from ...errors import did_you_mean
from ..scene.storyboard import Storyboard
from ..trace.frame import Frame
from ..trace.gap_records import EventsLetGo, Unseen, lost_said
from ..trace.gc_paused import gc_paused
from ..trace.tensor_records import TensorWritten
from ..trace.timeline import Ending, Timeline
from ..trace.values import series
from .compare import compared
from .error import error_story
from .flow import Flow
from .function import function_card
from .graph import Graph
from .grouped_graph import tell_grouped
from .health import health
from .memory import memory
from .overlay import Numbers, laid_over
from .saved import saved
from .training import film
from .value_display import in_words
from .versions import versions


class View(NamedTuple):
    """One form of drawing a trace: what makes the storyboard, and its options besides the legend."""

    draw: Callable[..., Storyboard]
    options: tuple[str, ...] = ()
    compares: bool = False  # it draws a trace beside another
    tells_findings: bool = True  # it says that a training run has findings


def graph_of(kind: type[Graph]) -> View:
    """Return the view that describes a graph as this class does; a training loop is shown step by step."""

    def draw(
        trace: Timeline, open: Any = None, depth: int | None = None, step: int | None = None, overlay: Any = None
    ) -> Storyboard:
        board = None if isinstance(trace, Ending) else film(trace, kind, open, depth, step)
        board = board or tell_grouped(trace, kind(trace.events), open, depth)
        return board if overlay is None else laid_over(board, overlay)

    return View(draw, ("open", "depth", "step", "overlay"))


VIEWS = {
    "graph": graph_of(Graph),
    "flow": graph_of(Flow),
    "error": View(error_story, tells_findings=False),
    "function": View(function_card, tells_findings=False),
    "health": View(health, ("open", "depth"), tells_findings=False),
    "memory": View(memory, ("against",)),
    "saved": View(saved, ("step",)),
    "versions": View(versions),
    "compare": View(compared, ("against",), compares=True, tells_findings=False),
}


def storyboard(trace: Timeline, view: str = "graph", *, legend: bool = True, **options: Any) -> Storyboard:
    """Return a trace's storyboard in a view: a graph with the groups `open`, memory with another trace `against`.

    A graph may have all groups open down to a `depth`: at 0 all are closed, at 1 the outermost are open. For a training
    loop it shows the step with the number `step` first. An `overlay` has numbers of the user's own for what is drawn.
    The `legend` is the sentence that explains it. A comparison takes `against` too. ValueError for a view, a group or a
    step that doesn't exist, TypeError for an option that the view doesn't have, or lacks.
    """
    _check(view, options)
    if options.get("overlay") is not None:
        options["overlay"] = Numbers.of(trace, options["overlay"])
    trace = trace.snapshot()
    if isinstance(other := options.get("against"), Timeline):
        options["against"] = other.snapshot()
    with gc_paused():
        board = VIEWS[view].draw(trace, **options)
    if not board.scene.boxes:
        board = in_words(board.title, board.steps[0].caption)
    board.legend = board.legend if legend else ""
    if VIEWS[view].tells_findings:
        _tell_findings(trace, board)
    for event in trace.events[:1]:
        if isinstance(event, EventsLetGo):
            _tell_first(event.sentence(Frame()), board)
    lost = lost_said(trace.events)
    if lost and all(isinstance(event, Unseen) for event in trace.events):
        return in_words(board.title, f"{lost}.")
    if lost:
        opened = board.steps[board.start if 0 <= board.start < len(board.steps) else 0]
        opened.caption = f"{lost}. {opened.caption}"
    return board


def _check(view: str, options: Mapping[str, Any]) -> None:
    """Raise an error unless there is such a view, and it has these options."""
    names = sorted(VIEWS)
    if view not in names:
        raise ValueError(f"No view named {view!r}.{did_you_mean(view, names)} Views: {', '.join(names)}.")
    own = VIEWS[view].options
    for name in options:
        if name not in own:
            known = ", ".join(map(repr, [*own, "legend"]))
            near = did_you_mean(name, [*own, "legend"])
            raise TypeError(f"View {view!r} has no option {name!r}.{near} Options: {known}.")
    against = options.get("against")
    if not isinstance(against, Timeline | None):
        raise TypeError(f"Expected a trace from record() or load() as `against`, but got {type(against).__name__}.")
    if VIEWS[view].compares and against is None:
        raise TypeError(f"View {view!r} compares two traces. Pass the other one: show({view!r}, against=other).")
    _check_groups_and_step(options.get("open"), options.get("depth"), options.get("step"))


def _check_groups_and_step(opened: Any, depth: Any, step: Any) -> None:
    if not isinstance(opened, Collection | None):
        raise TypeError(f"Expected a list of group names as `open`, but got {type(opened).__name__}.")
    if depth is not None and (not isinstance(depth, int) or isinstance(depth, bool) or depth < 0):
        raise TypeError(f"Expected the number of levels to open, at least 0, as `depth`, but got {depth!r}.")
    if not isinstance(step, int | None) or isinstance(step, bool):
        raise TypeError(f"Expected the number of a training step, from 1, as `step`, but got {step!r}.")


def _tell_findings(trace: Timeline, board: Storyboard) -> None:
    """Let the step at which a picture of a training run opens begin with what is certainly wrong, if anything is."""
    if not any(type(event) is TensorWritten and event.optimizer is not None for event in trace.events):
        return
    found = [each for each in findings(trace) if each.certain]
    if not found or not 0 <= board.start < len(board.steps):
        return
    rules = series(list(dict.fromkeys([each.rule for each in found])))
    said = f'{plural(len(found), "finding")} ({rules}): see show("health").'
    begin = board.start
    board.steps[begin].caption = f"{said} {board.steps[begin].caption}"
    for group, runs in board.runs.items():
        board.runs[group] = [(a, b, f"{said} {words}" if a <= begin <= b else words) for a, b, words in runs]


def _tell_first(told: str, board: Storyboard) -> None:
    """Have a story begin with this sentence, unless it does so."""
    if not board.steps[0].caption.startswith(told):
        board.steps[0].caption = f"{told}. {board.steps[0].caption}"  # what is no graph
    for group, runs in board.runs.items():
        board.runs[group] = [(first, last, said if first else f"{told}. {said}") for first, last, said in runs]
