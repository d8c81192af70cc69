"""Where a gradient that is not finite began: the first node that made it of finite numbers, backward or forward."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..trace.values import Value
from .recorded_graph import RecordedGraph, Run, is_broken, sends_on
from .zero_gradient import ITSELF

# Operations whose derivative has no bound where one of their values is 0.
_POLES = frozenset("sqrt rsqrt log log2 log10 div reciprocal pow linalg_vector_norm norm atan2 std var log1p".split())
_FINITE_INPUTS = "received a finite gradient and sent one that is not finite"


@dataclass(slots=True)
class Origin:
    """Where it began, each place with what it did, the first to run first; what only may have done it; and a mark."""

    found: list[tuple[str, str]] = field(default_factory=list)
    possible: list[tuple[str, str]] = field(default_factory=list)
    mark: str = "not finite from here on"


def not_finite(graph: RecordedGraph, run: Run | None, roots: Iterable[str], place: str) -> Origin:
    """Where what came to a place began not to be finite; `run` is the backward, if it was recorded."""
    before = graph.before([place])
    if run is None:
        return _of_graph(graph, [node for node in graph.reached(roots) if node in before])
    origin = Origin()
    for root in run.started.roots:
        if is_broken(root.seed):
            origin.found = [(root.node, "was given a gradient to begin with that is not finite")]
            return origin
    for node, sent in run.sent.items():
        if node not in before or any(map(is_broken, run.received.get(node, ()))):
            continue
        if not any(is_broken(grad) for to, grad in sends_on(graph, node, sent) if to in before):
            continue
        source = _forward(graph, node)
        origin.found = [(node, _FINITE_INPUTS + _pole(graph, node) * (source is None))]
        if source is not None:
            origin.found.append((source, _in_forward(graph, source)))
        return origin
    for hook in run.hooks:
        if hook.node in before and any(map(is_broken, hook.after)) and not any(map(is_broken, hook.before)):
            origin.found = [(hook.node, f"is where {hook.hook.title} made it not finite")]
            break
    return origin


def _of_graph(graph: RecordedGraph, on_way: list[str]) -> Origin:
    """The same of a graph whose backward nobody recorded."""
    for node in on_way:
        if node in graph.nodes and (source := _forward(graph, node)) is not None:
            return Origin([(source, _in_forward(graph, source))])
    possible = [(node, f"may have made it{pole}") for node in on_way if (pole := _pole(graph, node))]
    return Origin([], possible)


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


def _in_forward(graph: RecordedGraph, node: str) -> str:
    """What a node did by which a value of the forward is not finite."""
    given = [graph.tensors[id] for id in graph.given(node)]
    broken = [seen for seen in given if seen.node is None and is_broken(seen.value)]
    if broken:
        return f"was given {broken[0].name or 'a tensor'} in forward, which is not finite"
    if not _is_given_known(graph, node):
        return "has a result in forward that is not finite; what it was given is not known any more"
    return f"made a value in forward that is not finite{_pole(graph, node)}"


def _is_given_known(graph: RecordedGraph, node: str) -> bool:
    """Whether a node's inputs are known: by what it has saved of them, or as the results of the nodes before it."""
    if any(value.is_known for name, value in _saved(graph, node).items() if name not in ITSELF):
        return True
    before = [to for to in graph.targets(node) if to in graph.nodes]
    return all(any(seen.value.is_known for seen in graph.results(to)) for to in before)


def _is_affected(graph: RecordedGraph, node: str) -> bool:
    """Whether a node's results, or what it has saved, are not finite."""
    return any(map(is_broken, [*[seen.value for seen in graph.results(node)], *_saved(graph, node).values()]))


def _saved(graph: RecordedGraph, node: str) -> dict[str, Value]:
    """What is known of what a node has saved."""
    found = {}
    for saved in graph.nodes[node].saved:
        seen = None if saved.tensor is None else graph.tensors.get(saved.tensor)
        value = saved.value or (None if seen is None else seen.value)
        if value is not None:
            found[saved.name] = value
    return found


def _pole(graph: RecordedGraph, node: str) -> str:
    """That a value is 0 of which the derivative has no bound there."""
    made = graph.nodes.get(node)
    if made is None or made.operation not in _POLES:
        return ""
    given = {seen.name or "its input": seen.value for id in graph.given(node) if (seen := graph.tensors[id])}
    known = {**_saved(graph, node), **given}
    zeros = [name for name, value in known.items() if value.is_known and _has_zero(value)]
    names = {"self": "its input", "other": "what it divides by", "result": "its result"}
    word = names.get(zeros[0], zeros[0]) if zeros else ""
    return f": {word} has a 0, where the derivative of {made.operation} has no bound" if zeros else ""


def _has_zero(value: Value) -> bool:
    if value.values is not None:
        return 0 in value.values
    return value.min == 0 or value.max == 0
