"""Where a gradient is lost: nodes that received one, and sent only zeros or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container

from ...pictures.trace.call_records import HookRan
from ...pictures.trace.facts import Saved
from ...pictures.trace.values import Value, code
from .backwards import RecordedBackward
from .finding import hook_words, in_brackets, place_words
from .graph import RecordedGraph, RecordedNode
from .measures import is_nothing, is_zero

STEPS = frozenset("round floor ceil trunc sign sgn heaviside fix".split())  # a derivative of 0 wherever it exists
MASKS = frozenset("relu threshold clamp hardtanh clamp_min relu6".split())  # of 0 where the result is at a bound
_LIMITS = {"tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0)}
# Whose gradient to one factor is a product with the other one alone.
PRODUCTS = frozenset("mul mm addmm bmm baddbmm mv dot convolution".split())
_SATURATES = frozenset("tanh sigmoid softmax log_softmax erf hardsigmoid softsign logsigmoid".split())
ITSELF = ("result", "output")  # what a node calls its own output where it has saved that
_PLACES = ("indices", "index", "target")  # what says where, and not how much


def lost_at(
    graph: RecordedGraph, backward: RecordedBackward, place: str, is_lost: Callable[[Value | None], bool]
) -> list[str]:
    """Return the nodes on paths to a place that received a gradient and sent none toward it, in order.

    It's empty if a gradient came all the way.
    """
    before = graph.before(place)
    live = {root.node for root in backward.roots if not is_lost(root.seed) and root.node in before}
    sinks = []
    for node in backward.sent:  # each place runs after all that send to it
        got = backward.received.get(node, ())
        if node not in live or all(is_lost(grad) for grad in got):
            continue
        towards = [(to, grad) for to, grad in graph.sends_on(node, backward.sent[node]) if to in before]
        on = {to for to, grad in towards if not is_lost(grad)}
        live |= on
        if towards and not on:
            sinks.append(node)
    return [] if place in live else sinks


def zeroed_by(backward: RecordedBackward, places: Container[str]) -> HookRan | None:
    """Return the first hook of a backward pass that made a gradient zero at one of these places."""
    for each in backward.hooks:
        if each.node in places and each.changed and not all(map(is_nothing, each.before)):
            if all(map(is_nothing, each.after)):
                return each
    return None


def zeroed_words(graph: RecordedGraph, ran: HookRan) -> tuple[str, str]:
    """Return that such a hook replaces the gradient, and what to do."""
    node, hook = graph.nodes.get(ran.node), ran.hook
    on = "" if hook.kind != "tensor" else f" on {place_words(graph, ran.node, hook.output_nr)}"
    what = f"{hook_words(hook, node)}{on}{in_brackets(hook.source)} replaces the gradient with zeros"
    return what, "Return another gradient from the hook, or remove it."


def canceled_at(graph: RecordedGraph, backward: RecordedBackward, places: Container[str]) -> str | None:
    """Return the first of these places where nonzero gradients arrive and add up to zero."""
    came = Counter[str]()
    for node, sent in backward.sent.items():
        came.update([to for to, grad in graph.sends_on(node, sent) if not is_nothing(grad)])
    return next(
        (to for to, got in backward.received.items() if to in places and came[to] > 1 and all(map(is_nothing, got))),
        None,
    )


def blocked(graph: RecordedGraph, node: str) -> str:
    """Return why a node sends only zeros for any gradient, if the graph shows it; else ""."""
    if node not in graph.nodes:
        return ""
    made = graph.nodes[node].made
    if made.operation in STEPS:
        return f"the derivative of `{made.operation}` is 0 wherever it exists"
    if made.operation in _LIMITS and _is_saturated(graph, node):
        return f"all its outputs are at a limit of `{made.operation}`, where its slope is 0"
    if made.operation == "threshold_backward":
        return "the second derivative of ReLU is 0"
    if is_of_one(graph, node):
        return "it normalizes over a dimension of size 1, so its result is the same for any input"
    if made.operation in MASKS and (outputs := _outputs(graph, node)) and all(map(is_zero, outputs)):
        who = "ReLU" if made.operation == "relu" else "it"
        return f"all its outputs are 0, and {who} passes no gradient where its output is 0"
    return ""


def with_a_slope(graph: RecordedGraph, node: RecordedNode) -> str:
    """Return what to do about an operation that sends only zeros, from what its derivative is."""
    operation = node.made.operation
    if is_of_one(graph, node.id):
        return (
            "For two classes with one score, use `sigmoid` or `binary_cross_entropy_with_logits`. Otherwise return one "
            f"score per class: over a dimension of size 1, `{operation}` is the same for any input."
        )
    if operation in STEPS:
        return (
            "Use an operation with a slope, or pass the gradient straight through, as in "
            f"`x + (x.round() - x).detach()`. The derivative of `{operation}` is 0 wherever it exists."
        )
    if operation in _SATURATES:
        return (
            f"Scale its input, for example by normalization or smaller weights: `{operation}` is saturated, and its "
            "slope there is 0."
        )
    if operation == "embedding":
        return "Check the indices: the row of `padding_idx` takes no gradient."
    if operation in PRODUCTS:
        return "Check its other factor: where that is 0, no gradient gets through."
    return "Check its inputs, or use an operation that has a slope there."


def _is_saturated(graph: RecordedGraph, node: str) -> bool:
    limits, outputs = _LIMITS[graph.nodes[node].made.operation], _outputs(graph, node)
    known = [number for each in outputs for number in each.values or [0.5]]
    return bool(known) and all(number in limits for number in known)


def is_of_one(graph: RecordedGraph, node: str) -> bool:
    """Return True if a softmax has probabilities of 1 only: there is one class."""
    only = {"softmax": 1.0, "log_softmax": 0.0}.get(graph.nodes[node].made.operation)
    outputs = _outputs(graph, node)
    return only is not None and bool(outputs) and all(each.min == each.max == only for each in outputs)


def zero_because(graph: RecordedGraph, node: str, place: str) -> str:
    """Return why a node that received a gradient may have sent zeros toward a place; "" if nothing is known."""
    if why := blocked(graph, node):
        return why
    made = graph.nodes[node].made
    zeros = zero_factors(graph, node, place)
    if zeros:
        seen = graph.tensors.get(zeros[0].tensor or "")
        name = f", {code(seen.name)}," if seen is not None and seen.name else ""
        return f"{'the other factor' if made.operation in PRODUCTS else 'what it saved'}{name} is all zeros"
    if made.operation == "embedding":  # it hands on what comes, but for the one row that is padding
        return "it only looked up the row of its `padding_idx`, which takes no gradient"
    return "the gradient arrived only where none gets through" if made.operation in MASKS else ""


def zero_factors(graph: RecordedGraph, node: str, place: str) -> list[Saved]:
    """Return what a node saved besides the factor that its gradient toward a place is for, where that is all zeros."""
    own, made = graph.nodes[node], graph.nodes[node].made
    before = graph.before(place)
    towards = [to for to in graph.targets(node) if to in before]
    only = towards if len(towards) == 1 and made.operation in PRODUCTS else []
    factors = [
        saved
        for saved in made.saved
        if saved.name not in _PLACES and saved.name not in ITSELF and graph.places.get(saved.tensor or "") not in only
    ]
    return [saved for saved in factors if saved.name in own.saved and is_zero(own.saved[saved.name])]


def _outputs(graph: RecordedGraph, node: str) -> list[Value]:
    """Return what is known of a node's results, including those that it saved."""
    known = [value for value in graph.results(node) if value.is_known]
    return [*known, *[value for name, value in graph.nodes[node].saved.items() if name in ITSELF]]
