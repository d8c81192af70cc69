"""Rules about losses with the wrong input: probabilities instead of logits or of log-probabilities.

A softmax before a cross entropy is a rule in `layers.py`; rounding, which has no gradient, is one in `numbers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Finding, asked, describe, place
from .layers import source_of
from .measures import size_of
from .training_run import RecordedNode, TrainingRun

_NLL = ("nll_loss", "nll_loss2d", "nll_loss_nd")
_MATRIX = 2  # dimensions of scores: a row for each sample
_CHOSEN = {"gather", "index", "select"}  # which take the logarithm of one chance
_ADDS = {"add", "sub", "rsub"}
_SCALES = {"mul", "div", "neg"}
_AVERAGED = {"mean", "sum", "view", "reshape", "squeeze", "add", "div"}  # from there to the loss


def scores_twice_squashed(run: TrainingRun) -> Iterator[Finding]:
    """Find a binary cross entropy that expects logits and gets the result of a sigmoid."""
    for node in _losses(run, ("binary_cross_entropy_with_logits",)):
        source = source_of(run, node)
        if source is not None and source.made.operation in ("sigmoid", "softmax"):
            yield Finding(
                "sigmoid twice",
                True,
                f"{describe(node)} expects logits but gets probabilities from {describe(source)}: it applies a "
                "sigmoid itself, "
                "which squeezes them into 0.5 to 0.73.",
                f"Remove the `{source.made.operation}`, or use `binary_cross_entropy`.",
                source.line,
                node.event,
                (source.id, node.id),
            )
            return


def chances_without_log(run: TrainingRun) -> Iterator[Finding]:
    """Find a negative log-likelihood that gets probabilities instead of their logarithms."""
    for node in _losses(run, _NLL):
        source = source_of(run, node)
        if source is not None and source.made.operation in ("softmax", "sigmoid"):
            yield Finding(
                "no logarithm",
                True,
                f"{describe(node)} expects log-probabilities but gets probabilities from {describe(source)}, so "
                "the gradient "
                "fades exactly where the model is most wrong.",
                "Use `log_softmax`, or pass the logits to `cross_entropy`.",
                source.line,
                node.event,
                (source.id, node.id),
            )
            return


def over_the_batch(run: TrainingRun) -> Iterator[Finding]:
    """Find a negative log-likelihood of probabilities that sum to one over the batch."""
    for node in _losses(run, _NLL):
        targets = [edge.target for edge in node.made.edges if edge.target in run.nodes]
        source = run.nodes[targets[0]] if targets else None
        if source is None or source.made.operation not in ("log_softmax", "softmax") or not source.inputs:
            continue
        shape, texts = source.inputs[0].shape, [arg.text for arg in source.made.args if arg.tensor is None]
        if len(shape) == _MATRIX and shape[0] > 1 and texts[:1] in (["0"], ["-2"]):
            is_sure = shape[0] != shape[1]
            said = (
                f"{describe(source)} normalizes over the {shape[0]:,} samples of the batch, not over the {shape[1]:,} "
                f"classes that {describe(node)} selects from."
            )
            yield Finding(
                "softmax over the batch",
                is_sure,
                asked(said, is_sure),
                "Take the softmax over the classes: `dim=1`.",
                source.line,
                source.event,
                (source.id, node.id),
            )
            return


def without_minus(run: TrainingRun) -> Iterator[Finding]:
    """Find a loss that is the mean of log-probabilities: it is smallest if all are wrong."""
    for backward in run.backwards:
        root = run.nodes.get(backward.roots[0].node) if backward.roots and not backward.inner else None
        value = backward.losses[0] if backward.losses else None
        if root is None or value is None or value.max is None or value.max >= 0:
            continue
        chosen = _way(run, root)
        if chosen is not None:
            yield Finding(
                "no minus",
                False,
                asked(
                    "The loss is a mean of log-probabilities without a minus sign: minimizing it makes the targets "
                    f"that {describe(chosen)} selects less likely."
                ),
                "Negate it, use `nll_loss`, or set `maximize=True` in the optimizer.",
                root.line,
                backward.event,
                (chosen.id, root.id),
            )
            return


def constant_term(run: TrainingRun) -> Iterator[Finding]:
    """Find a loss with a term computed from gradients that have no graph, such as a gradient penalty."""
    for backward in run.backwards:
        left = [] if backward.inner or backward.failed else [root.node for root in backward.roots]
        while left:
            node = run.nodes.get(left.pop())
            if node is None or node.made.operation not in (*_ADDS, *_SCALES):
                continue
            edges = [edge.target for edge in node.made.edges if edge.target is not None]
            if node.made.operation in _ADDS or len(edges) == 1:
                left += edges
            given = [run.tensors.get(arg.tensor or "") for arg in node.made.args]
            cuts = [
                each.cut for each in given if each is not None and each.cut is not None and size_of(each.value) == 1
            ]
            cut = next((each for each in cuts if each.word == "grad"), None)
            if node.made.operation in _ADDS and cut is not None:
                yield Finding(
                    "constant term",
                    False,
                    asked(
                        f"A term of the loss has no gradient: {describe(node)} adds a number that was computed "
                        "from the "
                        f"result of `autograd.grad()` ({place(cut.source)}). Without `create_graph=True` this result "
                        "has no graph, so the term changes no weight."
                    ),
                    "Call `autograd.grad()` with `create_graph=True`.",
                    cut.source or node.line,
                    node.event,
                    (node.id,),
                )
                return


def _losses(run: TrainingRun, operations: tuple[str, ...]) -> Iterator[RecordedNode]:
    return (node for node in run.nodes.values() if node.made.operation in operations and not node.inside)


def _way(run: TrainingRun, root: RecordedNode) -> RecordedNode | None:
    """Return the logarithms of probabilities of which a loss is the plain mean or sum."""
    node: RecordedNode | None = root
    while node is not None and node.made.operation in _AVERAGED:
        before = [run.nodes[edge.target] for edge in node.made.edges if edge.target in run.nodes]
        node = before[0] if len(before) == 1 else None
    if node is None or node.made.operation not in _CHOSEN:
        return None
    source = source_of(run, node)
    return node if source is not None and source.made.operation == "log_softmax" else None
