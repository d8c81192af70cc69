"""A rule about target networks and teachers: copies that should follow their model, and are trained with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .finding import Finding, asked, named, place, plural
from .graph import RecordedNode
from .measures import is_same
from .registered import grouped
from .training_run import TrainedParameter, TrainingRun

_WORDS = frozenset(
    ("target", "targ", "tgt", "teacher", "ema", "momentum", "frozen", "ref", "reference", "shadow", "old")
)
_PARTS = re.compile(r"[a-z]+|[A-Z][a-z]*")  # of a name: of `q_target`, `targetNet`
_COMPARED = {"mse_loss", "smooth_l1_loss", "huber_loss", "sub"}  # a prediction and its target
_BEST = {"max", "amax"}  # of the next state's values
_STEPS_TO_TARGET = {"add", "mul", "view", "reshape", "squeeze", "unsqueeze"}
_BACKWARDS = 2  # before it is asked

_Pairs = dict[tuple[str, str], list[tuple[TrainedParameter, TrainedParameter]]]


def target_trained(run: TrainingRun) -> Iterator[Finding]:
    """Find a target copy of a module, known by its name, that gets its original's gradients or is in an optimizer."""
    ours = grouped(run)
    for (copy, original), pairs in _copies(run).items():
        targets, both = [target for target, _ in pairs], 0
        for backward in run.backwards:
            added = [backward.added.keys() >= {target.id, other.id} for target, other in pairs]
            both += all(added) and not backward.inner
        among = [each for each in targets if each.id in ours]
        if both < _BACKWARDS:
            continue
        first = next((run.nodes[id] for id in targets[0].used if id in run.nodes), None)
        used = f" ({place(first.line)})" if first is not None else ""
        passes, are = plural(both, "backward pass"), "is" if len(among) == 1 else "are"
        takes = f"`{copy}` starts as a copy of `{original}`, and gets gradients from the same loss in {passes}{used}"
        trains = f". {named(among)} {are} in the optimizer, which changes `{copy}`" if among else ""
        take_out = f", and take its parameters out of the optimizer (`{original}.parameters()` only)" if among else ""
        yield Finding(
            "target trained",
            False,
            asked(f"{takes}{trains}."),
            f"Compute with `{copy}` under `with torch.no_grad():`, or `detach()` what it returns{take_out}. Then it "
            f"follows `{original}` only by copying its weights.",
            first.line if first is not None else None,
            run.backwards[0].event,
            tuple([each.id for each in targets]),
        )


def attached_target(run: TrainingRun) -> Iterator[Finding]:
    """Find targets `r + gamma * max(Q(next))` with a graph to the same weights as the prediction."""
    found: list[tuple[RecordedNode, list[TrainedParameter]]] = []
    for node in run.nodes.values():
        edges = [edge.target for edge in node.made.edges if edge.target in run.nodes]
        if node.made.operation not in _COMPARED or len(edges) != 2 or node.inside or not node.started:
            continue
        for prediction, target in (edges, edges[::-1]):
            best = _discounted(run, run.nodes[target or ""])
            if best is not None and best.id not in run.reached([prediction or ""]):
                both = {*run.reached([prediction or ""])} & {*run.reached([best.id])}
                shared = [each for each in run.trained if each.id in both]
                found += [(run.nodes[target or ""], shared)] if shared else []
    if len(found) < _BACKWARDS:
        return
    target, shared = found[0]
    yield Finding(
        "target not detached",
        False,
        asked(
            f"The target ({place(target.line)}) is a discounted maximum and has a graph: the loss also sends gradients "
            f"through it to {named(shared)}, which the prediction comes from, in {plural(len(found), 'forward pass')}."
        ),
        "Compute the target under `with torch.no_grad():`, or `detach()` it.",
        target.line,
        target.event,
        (target.id, *[each.id for each in shared]),
    )


def _discounted(run: TrainingRun, target: RecordedNode) -> RecordedNode | None:
    """Return the maximum that a target adds to a constant after a product with constants, if it is such a target."""
    node, seen = target, list[str]()
    while node.made.operation not in _BEST:
        before = [edge.target for edge in node.made.edges if edge.target is not None]
        if node.made.operation not in _STEPS_TO_TARGET or len(before) != 1 or before[0] not in run.nodes:
            return None
        seen.append(node.made.operation)
        node = run.nodes[before[0]]
    return node if {"add", "mul"} <= {*seen} else None


def _copies(run: TrainingRun) -> _Pairs:
    """Return the parameters of each copy and its original, by name: all of the copy's equal one of the original's."""
    found: _Pairs = {}
    left: set[str] = set()
    for target in run.trained:
        root, rest = _split(target)
        if not root:
            continue
        others = [each for each in run.trained if each.id != target.id and _is_like(each, target, rest)]
        if len(others) != 1:
            left.add(root)
        for other in others[:1]:
            found.setdefault((root, (other.seen.name or "").removesuffix(f".{rest}")), []).append((target, other))
    return {key: each for key, each in found.items() if key[0] not in left and any(_is_drawn(one) for one, _ in each)}


def _is_drawn(parameter: TrainedParameter) -> bool:
    """Return True unless it has one number everywhere, as biases do that begin at zero."""
    return parameter.seen.value.min != parameter.seen.value.max


def _split(parameter: TrainedParameter) -> tuple[str, str]:
    """`agent.q_target` and `0.weight`; two empty texts where no part of the name is that of a target."""
    parts = (parameter.seen.name or "").split(".")
    for at, part in enumerate(parts[:-1]):
        if _WORDS.intersection(word.lower() for word in _PARTS.findall(part)):
            return ".".join(parts[: at + 1]), ".".join(parts[at + 1 :])
    return "", ""


def _is_like(one: TrainedParameter, target: TrainedParameter, rest: str) -> bool:
    """Return True if it has the same place in its model as a target's, and the same initial numbers."""
    name = one.seen.name or ""
    return name.endswith(f".{rest}") and not _split(one)[0] and is_same(one.seen.value, target.seen.value)
