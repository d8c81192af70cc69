"""Where a gradient started not to be finite, in the words of `why`: each place, and what it did."""

from __future__ import annotations

from ..trace.cuts import cut_words
from ..trace.values import Value, code
from .finding import hook_words, in_brackets, written_as
from .graph import RecordedGraph
from .measures import is_broken
from .not_finite import Origin, Source, given_of
from .training_run import TrainingRun

# Operations whose derivative has no bound where one of their values is 0.
_POLES = frozenset("sqrt rsqrt log log2 log10 div reciprocal pow linalg_vector_norm norm atan2 std var log1p".split())
_FINITE_INPUTS = "received a finite gradient but sent a non-finite one"


def places_of(graph: TrainingRun, origin: Origin) -> list[tuple[str, str]]:
    """Return the places where it started, in the order of the backward pass, each with what it did."""
    if origin.seed is not None:
        return [(origin.seed, "started from a gradient that isn't finite")]
    if origin.hook is not None:
        hook = hook_words(origin.hook.hook, graph.nodes.get(origin.hook.node))
        return [(origin.hook.node, f"is where {hook} made the gradient not finite")]
    source, found = origin.source, list[tuple[str, str]]()
    if source is not None and source.given is not None and source.node == origin.sender and source.nan is None:
        given = f"{_given_words(graph, source)} {_since(graph, source, 'was not finite')}"
        return [(source.node, f"{_FINITE_INPUTS}, because its forward input{given}")]
    if origin.sender is not None:
        found.append((origin.sender, _FINITE_INPUTS + _pole(graph, origin.sender) * (source is None)))
    if source is None:
        return found
    if source.nan not in (None, origin.sender):
        is_sum = graph.nodes[source.nan or ""].made.operation == "logsumexp"
        made = "gave -inf in forward: all that it sums is -inf" if is_sum else ""
        found.append((source.nan or "", made or "made nan in forward from a value that isn't finite"))
    return [*found, (source.node, _source_words(graph, source))]


def possible_in(graph: RecordedGraph, origin: Origin) -> list[tuple[str, str]]:
    """Return the places that may have done it, if no backward pass was recorded."""
    return [(node, f"may have made it{pole}") for node in origin.on_way if (pole := _pole(graph, node))]


def _source_words(graph: TrainingRun, source: Source) -> str:
    """Return what a node did to make a forward value not finite."""
    if source.given is not None:
        name = _given_words(graph, source) or " a tensor"
        return f"used{name} in forward, which {_since(graph, source)}"
    if source.number:
        return f"made a value in forward that isn't finite: it was given the number {source.number}"
    if not source.is_known:
        return (
            "produced a value in the forward pass that isn't finite. Its inputs are no longer known, so the cause "
            "can't be traced further"
        )
    return f"made a value in forward that isn't finite{_pole(graph, source.node)}"


def _given_words(graph: TrainingRun, source: Source) -> str:
    """Return the name of a node's input, or the code for it, after a space; nothing if neither is known."""
    if source.given is None:
        return ""
    name = source.given.name or written_as(graph.nodes[source.node], source.given.id)
    return f" {code(name)}" if name else ""


def _since(graph: TrainingRun, source: Source, isnt: str = "isn't finite") -> str:
    """Return since when, or because of what, a node's input isn't finite, as far as is known."""
    seen = source.given
    if seen is None:
        return isnt
    if seen.id in graph.parameters and is_broken(graph.parameters[seen.id].seen.value):
        return "was not finite from the start" if graph.is_whole else isnt
    if source.written is not None:
        write = source.written[1]
        return f"{isnt}: {code(write.name)}{in_brackets(write.source)} made it so"
    if seen.cut is None:
        return isnt
    how = "under `no_grad`" if seen.cut.word == "no_grad" else f"after {cut_words(seen.cut)}"
    return f"{isnt}: it was computed {how}{in_brackets(seen.cut.source)}"


def _pole(graph: RecordedGraph, node: str) -> str:
    """Return the sentence that a value is 0 at which the slope is infinite."""
    own = graph.nodes.get(node)
    if own is None or own.made.operation not in _POLES:
        return ""
    known = {**own.saved, **{seen.name or "its input": value for seen, value in given_of(graph, node)}}
    zeros = [name for name, value in known.items() if value.is_known and _has_zero(value)]
    names = {"self": "one of its inputs is 0", "other": "it divides by 0", "result": "one of its results is 0"}
    if not zeros:
        return ""
    word = names.get(zeros[0]) or f"{code(zeros[0])} has a 0"
    return f": {word}, and there the slope of `{own.made.operation}` is infinite"


def _has_zero(value: Value) -> bool:
    if value.values is not None:
        return 0 in value.values
    return value.min == 0 or value.max == 0
