"""Rules about how a model is built: softmax twice, a target that broadcasts, padding in a loss."""

from __future__ import annotations

from collections.abc import Iterator

from ...pictures.trace.values import Value
from .finding import Finding, asked, describe, listed, place, plural
from .graph import RecordedNode
from .training_run import TrainingRun

_RESHAPES = {"view", "reshape", "reshape_alias", "unsafe_view", "transpose", "t", "permute", "squeeze", "unsqueeze"}
_RESHAPES |= {"flatten", "slice", "select", "alias", "clone", "to_copy"}
_DIFFERENCES = {"sub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
_PADDED = 0.1  # the share of targets that is reported
_WITH_PADDING = (1, 4)  # the number of an embedding's options if one is its padding, here and in PyTorch
_COLUMN = 2  # dimensions of predictions in a column


def softmax_twice(run: TrainingRun) -> Iterator[Finding]:
    """Find a loss that expects logits and gets the result of a softmax."""
    for node in run.nodes.values():
        if node.made.operation != "log_softmax" or node.inside:
            continue
        source = source_of(run, node)
        if source is not None and source.made.operation in ("softmax", "sigmoid"):
            yield Finding(
                "softmax twice",
                False,
                asked(
                    f"{describe(node)} receives the output of {describe(source)}, but cross entropy applies a "
                    "softmax itself: "
                    "a second one flattens the probabilities, so that the loss can't approach 0."
                ),
                f"Pass raw scores (logits) to the loss, without the `{source.made.operation}`.",
                source.line,
                node.event,
                (source.id, node.id),
            )
            return


def source_of(run: TrainingRun, node: RecordedNode) -> RecordedNode | None:
    """Return the node that computed this one's input, before any change of its shape."""
    found: RecordedNode | None = node
    while found is not None and (found is node or found.made.operation in _RESHAPES):
        found = next((run.nodes[edge.target] for edge in found.made.edges if edge.target in run.nodes), None)
    return found


def broadcast_target(run: TrainingRun) -> Iterator[Finding]:
    """Find the difference of n predictions in a column and n targets in a row: n times n numbers."""
    for node in run.nodes.values():
        if node.made.operation not in _DIFFERENCES or node.inside or len(node.inputs) < 2:
            continue
        column, row = _column_and_row(_given(run, node))
        if column is None or row is None:
            continue
        count = row.shape[0]
        given = [run.tensors[id] for id in node.input_ids if id in run.tensors and id not in run.parameters]
        if all(seen.requires_grad for seen in given):
            continue
        yield Finding(
            "broadcast",
            False,
            asked(
                f"{describe(node)} compares every prediction with every target: shapes {column.shape} and {row.shape} "
                f"broadcast to {count:,} x {count:,} differences, and the loss averages all of them."
            ),
            "Match the shapes: `prediction.squeeze(1)` or `target.unsqueeze(1)`.",
            node.line,
            node.event,
            (node.id,),
        )
        return


def _given(run: TrainingRun, node: RecordedNode) -> list[Value]:
    """Return the inputs of an operation before they were expanded to one shape."""
    found: list[Value] = []
    for id, value in zip(node.input_ids, node.inputs, strict=True):
        seen = run.tensors.get(id)
        made = run.nodes.get(seen.node or "") if seen is not None else run.nodes.get(id)
        base = run.tensors.get(seen.base or "") if seen is not None else None
        if made is not None and made.made.operation == "expand" and made.inputs:
            found.append(made.inputs[0])
        else:
            found.append(base.value if base is not None and base.value.shape == value.shape[-1:] else value)
    return found


def _column_and_row(inputs: list[Value]) -> tuple[Value | None, Value | None]:
    """Return the inputs of shape (n, 1) and (n,), with n above 1, of an operation."""
    for column in inputs:
        if len(column.shape) == _COLUMN and column.shape[1] == 1 and column.shape[0] > 1:
            row = next((value for value in inputs if value.shape == column.shape[:1]), None)
            if row is not None:
                return column, row
    return None, None


def statistics_stay(run: TrainingRun) -> Iterator[Finding]:
    """Find batch norms that all use their running statistics while their own weights are trained."""
    norms = [node for node in run.nodes.values() if "BatchNorm" in node.made.name and not node.inside]
    if not norms or not run.is_training or not all(map(_is_evaluating, norms)):
        return
    trained = [run.parameters[edge.target] for edge in norms[0].made.edges if edge.target in run.parameters]
    if not any(each.updates for each in trained):
        return
    yield Finding(
        "eval while training",
        False,
        asked(
            f"batch norm ({place(norms[0].line)}) runs in eval mode, although its weights are updated: in "
            f"{plural(len(norms), 'call')} of {listed([node.made.scope or 'the layer' for node in norms])} it used its "
            "running statistics, which never update."
        ),
        "Call `model.train()` before the training steps: `eval()` stays in effect until then.",
        norms[0].line,
        norms[0].event,
        (norms[0].id,),
    )


def _is_evaluating(node: RecordedNode) -> bool:
    flags = [arg.text for arg in node.made.args if arg.tensor is None and arg.text in ("True", "False")]
    return flags[:1] == ["False"]


def padded_targets(run: TrainingRun) -> Iterator[Finding]:
    """Find a loss that averages over padding targets."""
    embeddings = [node for node in run.nodes.values() if node.made.operation == "embedding" and not node.inside]
    padding = [(_padding(node), node) for node in embeddings]
    for node in run.nodes.values():
        if node.made.operation not in ("nll_loss", "nll_loss2d", "nll_loss_nd") or node.inside:
            continue
        counted = [saved for saved in node.made.saved if saved.name == "total_weight"]
        targets = next((value for value in node.inputs if value.dtype.startswith("int") and value.values), None)
        scores = next((value for value in node.inputs if len(value.shape) >= _COLUMN), None)
        if targets is None or scores is None or not counted or targets.values is None:
            continue
        held = run.tensors.get(counted[0].tensor or "")
        total = counted[0].value or (held.value if held else None)
        if total is None or total.norm != len(targets.values):
            continue  # some are left out, or weighted
        for index, embedding in padding:
            count = sum(value == index for value in targets.values)
            padded = count / len(targets.values)
            words = [value.shape[0] for value in embedding.inputs if len(value.shape) == _COLUMN]
            if index is not None and count > 1 and padded >= _PADDED and scores.shape[1] in words:
                yield Finding(
                    "padding in the loss",
                    False,
                    asked(
                        f"{describe(node)} averages over padding: {count} of its {len(targets.values)} targets "
                        f"({padded:.0%}) are {index}, the padding index of {describe(embedding)}."
                    ),
                    f"Leave them out with `cross_entropy(..., ignore_index={index})`.",
                    node.line,
                    node.event,
                    (node.id, embedding.id),
                )
                return


def _padding(embedding: RecordedNode) -> int | None:
    """Return the index that an embedding uses for padding."""
    texts = [arg.text for arg in embedding.made.args if arg.tensor is None]
    told = len(texts) in _WITH_PADDING and texts[0].isdigit()  # PyTorch leaves out one that is None
    return int(texts[0]) if told else None
