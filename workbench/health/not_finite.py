"""Where a gradient that is not finite began: the first node that made it of finite numbers, backward or forward.

Of a training that is where the first one began by which it is so: an update may have made a weight not finite, and that
the forward of a step after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..trace.facts import TensorSeen
from ..trace.values import Value
from .backwards import RecordedBackward
from .graph import RecordedGraph
from .measures import is_broken
from .training_run import TrainedParameter, TrainingRun, Update
from .zero_gradient import ITSELF

# Operations whose derivative has no bound where one of their values is 0.
_POLES = frozenset("sqrt rsqrt log log2 log10 div reciprocal pow linalg_vector_norm norm atan2 std var log1p".split())
_FINITE_INPUTS = "received a finite gradient and sent one that is not finite"


@dataclass(slots=True)
class Origin:
    """Where it began, each place with what it did, the first to run first; what only may have done it; and a mark."""

    found: list[tuple[str, str]] = field(default_factory=list)
    possible: list[tuple[str, str]] = field(default_factory=list)
    given: TensorSeen | None = None  # what the forward was given that was not finite already
    mark: str = "not finite from here on"


class Link(NamedTuple):
    """A weight that an update made not finite, and the node of a later forward that was given it."""

    parameter: TrainedParameter
    update: Update
    node: str


@dataclass(slots=True)
class Cause:
    """Where a gradient began not to be finite, in which backward, and the place that it came to by that.

    The `links` lead from the gradient that was asked about to there. If it did not begin with a gradient, but with the
    update of the last link, the origin is what that has led to.
    """

    backward: RecordedBackward | None
    place: str
    origin: Origin
    links: list[Link] = field(default_factory=list)
    by_gradient: bool = True


def first_cause(graph: TrainingRun, backward: RecordedBackward | None, starts: Iterable[str], place: str) -> Cause:
    """Why what came to a place by a backward was not finite, followed back through the steps of a training."""
    cause = Cause(backward, place, _origin(graph, backward, starts, place))
    while cause.backward is not None and (link := _link(graph, cause.origin, cause.backward.event)) is not None:
        cause.links.append(link)
        change = graph.broken_by(link.parameter.id, link.update.event)
        if change is None or change.backward is None:
            cause.by_gradient = False
            break
        cause.backward, cause.place = change.backward, link.parameter.id
        cause.origin = _origin(graph, cause.backward, cause.backward.starts, cause.place)
    return cause


def _link(graph: TrainingRun, origin: Origin, end: int) -> Link | None:
    """What made not finite what a forward was given, if that is a weight and an update before did it."""
    parameter = None if origin.given is None else graph.parameters.get(origin.given.id)
    for update in reversed([] if parameter is None else parameter.updates):
        if parameter is not None and update.event < end and not is_broken(update.before) and is_broken(update.after):
            return Link(parameter, update, origin.found[-1][0])
    return None


def _origin(graph: RecordedGraph, backward: RecordedBackward | None, starts: Iterable[str], place: str) -> Origin:
    """Where what came to a place began not to be finite, by a backward, if that was recorded."""
    before = graph.before(place)
    if backward is None:
        return _of_graph(graph, [node for node in graph.reached(starts) if node in before])
    origin = Origin()
    for root in backward.roots:
        if is_broken(root.seed):
            origin.found = [(root.node, "was given a gradient to begin with that is not finite")]
            return origin
    for node, sent in backward.sent.items():
        if node not in before or any(map(is_broken, backward.received.get(node, ()))):
            continue
        if not any(is_broken(grad) for to, grad in graph.sends_on(node, sent) if to in before):
            continue
        source = _forward(graph, node)
        origin.found = [(node, _FINITE_INPUTS + _pole(graph, node) * (source is None))]
        if source is not None:
            _tell_forward(graph, source, origin)
        return origin
    for hook in backward.hooks:
        if hook.node in before and any(map(is_broken, hook.after)) and not any(map(is_broken, hook.before)):
            origin.found = [(hook.node, f"is where {hook.hook.title} made it not finite")]
            break
    return origin


def _of_graph(graph: RecordedGraph, on_way: list[str]) -> Origin:
    """The same of a graph whose backward nobody recorded."""
    origin = Origin()
    for node in on_way:
        if node in graph.nodes and (source := _forward(graph, node)) is not None:
            _tell_forward(graph, source, origin)
            return origin
    origin.possible = [(node, f"may have made it{pole}") for node in on_way if (pole := _pole(graph, node))]
    return origin


def _forward(graph: RecordedGraph, node: str) -> str | None:
    """The node that first made a value of the forward that is not finite, of those by which this one got such."""
    if node not in graph.nodes or not _is_affected(graph, node):
        return None
    seen = {node}
    while True:
        behind = [to for to in graph.targets(node) if to in graph.nodes and to not in seen and _is_affected(graph, to)]
        if not behind:
            return node
        node = behind[0]
        seen.add(node)


def _tell_forward(graph: RecordedGraph, node: str, origin: Origin) -> None:
    """Tell what a node did by which a value of the forward is not finite."""
    origin.given = next((seen for seen, value in _given(graph, node) if seen.node is None and is_broken(value)), None)
    if origin.given is not None:
        what = f"was given {origin.given.name or 'a tensor'} in forward, which is not finite"
    elif not _is_given_known(graph, node):
        what = "has a result in forward that is not finite; what it was given is not known any more"
    else:
        what = f"made a value in forward that is not finite{_pole(graph, node)}"
    origin.found.append((node, what))


def _given(graph: RecordedGraph, node: str) -> list[tuple[TensorSeen, Value]]:
    """The tensors that a node was given or has saved, with their values then."""
    own = graph.nodes[node]
    known = [*zip(own.input_ids, own.inputs, strict=True)]
    known += [(each.tensor, own.saved[each.name]) for each in own.made.saved if each.tensor and each.name in own.saved]
    return [(graph.tensors[id], value) for id, value in known if id in graph.tensors]


def _is_given_known(graph: RecordedGraph, node: str) -> bool:
    """Whether a node's inputs are known: by what it has saved of them, or as the results of the nodes before it."""
    if any(value.is_known for name, value in graph.nodes[node].saved.items() if name not in ITSELF):
        return True
    before = [to for to in graph.targets(node) if to in graph.nodes]
    return all(any(value.is_known for value in graph.results(to)) for to in before)


def _is_affected(graph: RecordedGraph, node: str) -> bool:
    """Whether a node's results, or what it has saved, are not finite."""
    return any(map(is_broken, [*graph.results(node), *graph.nodes[node].saved.values()]))


def _pole(graph: RecordedGraph, node: str) -> str:
    """That a value is 0 of which the derivative has no bound there."""
    own = graph.nodes.get(node)
    if own is None or own.made.operation not in _POLES:
        return ""
    known = {**own.saved, **{seen.name or "its input": value for seen, value in _given(graph, node)}}
    zeros = [name for name, value in known.items() if value.is_known and _has_zero(value)]
    names = {"self": "its input", "other": "what it divides by", "result": "its result"}
    word = names.get(zeros[0], zeros[0]) if zeros else ""
    return f": {word} has a 0, where the derivative of {own.made.operation} has no bound" if zeros else ""


def _has_zero(value: Value) -> bool:
    if value.values is not None:
        return 0 in value.values
    return value.min == 0 or value.max == 0
