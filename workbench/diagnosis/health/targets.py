"""A rule about target networks and teachers: copies that should follow their model, and are trained with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...pictures.trace.values import Value
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
_STEPS_TO_TARGET = {"add", "mul", "view", "reshape", "squeeze", "unsqueeze"}  # with one graph only
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
    """Find targets `r + gamma * V(next)` with a graph to the same weights as the prediction."""
    found: list[tuple[RecordedNode, bool, list[TrainedParameter]]] = []
    for node in run.nodes.values():
        edges = [edge.target for edge in node.made.edges if edge.target in run.nodes]
        if node.made.operation not in _COMPARED or len(edges) != 2 or node.inside or not node.started:
            continue
        targets = [_discounted(run, run.nodes[each or ""]) for each in edges]
        for prediction, target, next_value in zip(edges[::-1], edges, targets, strict=True):
            # With two of this form nothing says which is the target.
            if next_value is None or None not in targets or next_value.id in run.reached([prediction or ""]):
                continue
            both = {*run.reached([prediction or ""])} & {*run.reached([next_value.id])}
            shared = [each for each in run.trained if each.id in both]
            best = next_value.made.operation in _BEST
            found += [(run.nodes[target or ""], best, shared)] if shared else []
    if len(found) < _BACKWARDS:
        return
    target, best, shared = found[0]
    what = "a discounted maximum" if best else "a constant plus a discounted value"
    yield Finding(
        "target not detached",
        False,
        asked(
            f"The target ({place(target.line)}) is {what} and has a graph: the loss also sends gradients "
            f"through it to {named(shared)}, which the prediction comes from, in {plural(len(found), 'forward pass')}."
        ),
        "Compute the target under `with torch.no_grad():`, or `detach()` it.",
        target.line,
        target.event,
        (target.id, *[each.id for each in shared]),
    )


def _discounted(run: TrainingRun, target: RecordedNode) -> RecordedNode | None:
    """Return the value that a target adds to rewards after a product with a discount, if it is such a target.

    Rewards differ and discounts are at most 1, which tells a target from margins. A maximum may have any constants.
    """
    node, met = target, set[str]()
    is_reward, is_discount = False, True
    while node.made.operation in _STEPS_TO_TARGET:
        before = [edge.target for edge in node.made.edges if edge.target is not None]
        if len(before) != 1 or before[0] not in run.nodes:
            return None
        met.add(node.made.operation)
        is_reward = is_reward or (node.made.operation == "add" and _adds_rewards(run, node))
        is_discount = is_discount and (node.made.operation != "mul" or _discounts(run, node))
        node = run.nodes[before[0]]
    if not {"add", "mul"} <= met:
        return None
    return node if node.made.operation in _BEST or (is_reward and is_discount) else None


def _constants(run: TrainingRun, node: RecordedNode) -> list[Value]:
    """Return the tensors among a node's arguments that take no gradient."""
    given = [run.tensors.get(arg.tensor or "") for arg in node.made.args]
    return [seen.value for seen in given if seen is not None and not seen.requires_grad]


def _adds_rewards(run: TrainingRun, node: RecordedNode) -> bool:
    values = _constants(run, node)
    return len(values) == 1 and None not in (values[0].min, values[0].max) and values[0].min != values[0].max


def _discounts(run: TrainingRun, node: RecordedNode) -> bool:
    ends = [end for value in _constants(run, node) for end in (value.min, value.max)]
    try:
        ends += [float(arg.text) for arg in node.made.args if arg.tensor is None]
    except ValueError:
        return False
    return all(end is not None and 0 <= end <= 1 for end in ends)


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
