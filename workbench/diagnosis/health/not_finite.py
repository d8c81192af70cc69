"""Where numbers that aren't finite started: the first node that made them from finite ones, in backward or forward.

In a training run this is the cause of the first such number: an update may have made a weight not finite, and the
weight the forward of a later step. The input of a node may be infinite from the start, or because of a number in the
program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...pictures.trace.call_records import HookRan
from ...pictures.trace.facts import TensorSeen
from ...pictures.trace.tensor_records import TensorWritten
from ...pictures.trace.values import Value
from .backwards import RecordedBackward
from .graph import RecordedGraph
from .measures import is_broken
from .training_run import TrainedParameter, TrainingRun, Update

_NUMBERS = ("inf", "-inf", "nan")  # as a program gives one to an operation
_LAYS_OVER = frozenset("masked_fill where add sub index_fill index_put scatter".split())  # what applies a mask of -inf


@dataclass(slots=True)
class Source:
    """The first node of a forward with numbers that aren't finite, and its inputs that already were so.

    Such an input is a tensor that no node computed (`given`, and the write that made it so, if known), or a number of
    the program. Otherwise the node made them. If they were infinite, `nan` is the node that made nan from them, or the
    `logsumexp` of nothing but a mask, which is -inf and has no derivative.
    """

    node: str
    nan: str | None = None
    given: TensorSeen | None = None
    value: Value | None = None  # of what it was given
    written: tuple[int, TensorWritten] | None = None
    number: str = ""
    is_mask: bool = False  # whether it is the -inf of a mask, which is no fault where nothing makes nan of it


@dataclass(slots=True)
class Origin:
    """Where the numbers that came to a place started not to be finite.

    It is a root with such a seed, a node that received a finite gradient and sent another, or a hook, with the cause in
    the forward. In a graph whose backward wasn't recorded, it is the nodes on the path that may have done it.
    """

    seed: str | None = None
    sender: str | None = None
    hook: HookRan | None = None
    source: Source | None = None
    on_way: Sequence[str] = ()


class Link(NamedTuple):
    """A weight that an update made not finite, and the node of a later forward that used it."""

    parameter: TrainedParameter
    update: Update
    node: str


@dataclass(slots=True)
class Cause:
    """Where a gradient started not to be finite, in which backward pass, and the place that it reached.

    The `links` lead there from the gradient asked about. If it started with the update of the last link instead of a
    gradient, the origin is what that update led to.
    """

    backward: RecordedBackward | None
    place: str
    origin: Origin
    links: list[Link] = field(default_factory=list)
    by_gradient: bool = True


def first_cause(graph: TrainingRun, backward: RecordedBackward | None, starts: Iterable[str], *places: str) -> Cause:
    """Return why the numbers that a backward pass brought to places aren't finite, traced back through the run."""
    return _followed(graph, Cause(backward, places[0], _origin(graph, backward, starts, places)))


def cause_of_loss(graph: TrainingRun, backward: RecordedBackward | None, root: str) -> Cause:
    """Return why a number that a backward pass starts at isn't finite, traced back through the run."""
    return _followed(graph, Cause(backward, root, Origin(source=source_of(graph, root))))


def _followed(graph: TrainingRun, cause: Cause) -> Cause:
    while cause.backward is not None and (link := _link(graph, cause.origin.source, cause.backward.event)) is not None:
        cause.links.append(link)
        change = graph.broken_by(link.parameter.id, link.update.event)
        if change is None or change.backward is None:
            cause.by_gradient = False
            break
        cause.backward, cause.place = change.backward, link.parameter.id
        cause.origin = _origin(graph, cause.backward, cause.backward.starts, (cause.place,))
    return cause


def _link(graph: TrainingRun, source: Source | None, end: int) -> Link | None:
    """Return the update that made a forward's input not finite, if that is a weight."""
    if source is None or source.given is None or source.given.id not in graph.parameters:
        return None
    parameter = graph.parameters[source.given.id]
    for update in reversed(parameter.updates):
        if update.event < end and not is_broken(update.before) and is_broken(update.after):
            return Link(parameter, update, source.node)
    return None


def _origin(
    graph: RecordedGraph, backward: RecordedBackward | None, starts: Iterable[str], places: Sequence[str]
) -> Origin:
    """Return where the numbers that came to places started not to be finite in a backward pass, if it was recorded."""
    before = graph.before(*places)
    if backward is None:
        on_way = [node for node in graph.reached(starts) if node in before]
        sources = (source_of(graph, node) for node in on_way)
        source = next((found for found in sources if found is not None), None)
        return Origin(source=source, on_way=on_way if source is None else ())
    for root in backward.roots:
        if is_broken(root.seed):
            return Origin(seed=root.node)
    for node, sent in backward.sent.items():
        if node not in before or any(map(is_broken, backward.received.get(node, ()))):
            continue
        if any(is_broken(grad) for to, grad in graph.sends_on(node, sent) if to in before):
            return Origin(sender=node, source=source_of(graph, node))
    for hook in backward.hooks:
        if hook.node in before and any(map(is_broken, hook.after)) and not any(map(is_broken, hook.before)):
            return Origin(hook=hook)
    return Origin()


def places_of(origin: Origin) -> list[str]:
    """Return the places where it started, in the order of the backward pass."""
    hook, source = origin.hook, origin.source
    found = [origin.seed or (hook.node if hook is not None else origin.sender)]
    found += [source.nan, source.node] if source is not None else []
    return list(dict.fromkeys([place for place in found if place is not None]))


# The forward.


def source_of(graph: RecordedGraph, node: str) -> Source | None:
    """Return what first made a forward value not finite, among the nodes it depends on; None if it has none."""
    nan = _earliest(graph, node, has_nan)
    first = _earliest(graph, nan or node, is_broken)
    if first is None:
        return None
    source = Source(first, nan if nan != first else None)
    made = graph.nodes[first].made
    for seen, value in given_of(graph, first):
        if seen.node is None and is_broken(value):
            source.given, source.value = seen, value
            writes = graph.broken.get(seen.id) or graph.broken.get(seen.base or "") or []
            source.written = next((each for each in reversed(writes) if each[0] < graph.nodes[first].event), None)
            break
    else:
        results = any(map(is_broken, graph.results(first)))
        texts = [arg.text for arg in made.args if arg.tensor is None] if results else []
        source.number = next((text for text in texts if text in _NUMBERS), "")
    source.is_mask = (made.operation in _LAYS_OVER or "attention" in made.operation) and _is_below(source)
    if source.is_mask and source.nan is None:
        source.nan = _sum_of_mask(graph, node)
    return source


def _sum_of_mask(graph: RecordedGraph, node: str) -> str | None:
    """Return the first `logsumexp` on the path to a node that is itself not finite: all its terms are -inf."""
    sums = [graph.nodes[id] for id in graph.reached([node]) if id in graph.nodes]
    sums = [each for each in sums if each.made.operation == "logsumexp" and any(map(is_broken, graph.results(each.id)))]
    return min(sums, key=lambda each: each.event).id if sums else None


def kind_of_broken(value: Value | None) -> str:
    """Return whether the numbers are nan, inf, or both, as far as is known."""
    if value is None or value.values is None:
        return "inf" if not has_nan(value) else "nan" if value is None or value.nonfinite == 1 else "nan or inf"
    kinds = {"nan" if math.isnan(each) else "inf" for each in value.values if not math.isfinite(each)}
    return " or ".join(sorted(kinds, reverse=True)) or "inf"


def has_nan(value: Value | None) -> bool:
    """Return True if a value has a nan, and not only infinities."""
    return value is not None and value.nonfinite > 0 and math.isnan(value.norm)


def _is_below(source: Source) -> bool:
    """Return True if all inputs of a node that aren't finite are -inf, as far as is known."""
    if source.value is None:
        return source.number == "-inf"
    return not has_nan(source.value) and math.inf not in (source.value.values or ())


def _earliest(graph: RecordedGraph, node: str, is_bad: Callable[[Value | None], bool]) -> str | None:
    """Return the first-created of the nodes that gave a node bad values: all on the path have such values."""
    found: str | None = None
    left, seen = [node], {node}
    while left:
        at = left.pop()
        if at not in graph.nodes:
            continue
        values = _known(graph.results(at))
        if at == node or not values:  # a node may have saved a mask of -inf, and give what is finite
            values += _known(graph.nodes[at].saved.values())
        if any(map(is_bad, values)):
            if found is None or graph.nodes[at].event < graph.nodes[found].event:
                found = at
        elif at == node or values:  # else nothing is known of it, as of a view inside of a product of batches
            continue
        behind = [to for to in _behind(graph, at) if to not in seen]
        left += behind
        seen.update(behind)
    return found


def _known(values: Iterable[Value]) -> list[Value]:
    return [value for value in values if value.is_known]


def _behind(graph: RecordedGraph, node: str) -> Iterator[str]:
    """Return the nodes that computed a node's inputs, even if no gradient goes there."""
    yield from graph.targets(node)
    for seen, value in given_of(graph, node):
        if is_broken(value) and seen.node is None and seen.cut is not None and seen.cut.node is not None:
            yield seen.cut.node


def given_of(graph: RecordedGraph, node: str) -> list[tuple[TensorSeen, Value]]:
    """Return the tensors that a node was called with or saved, with their values then."""
    own = graph.nodes[node]
    known = [*zip(own.input_ids, own.inputs, strict=True)]
    known += [(each.tensor, own.saved[each.name]) for each in own.made.saved if each.tensor and each.name in own.saved]
    return [(graph.tensors[id], value) for id, value in known if id in graph.tensors]
