"""A rule about target networks and teachers: copies that should follow their model, and are trained with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .finding import Finding, asked, named, place, plural
from .measures import is_same
from .registered import grouped
from .training_run import TrainedParameter, TrainingRun

_WORDS = frozenset(
    ("target", "targ", "tgt", "teacher", "ema", "momentum", "frozen", "ref", "reference", "shadow", "old")
)
_PARTS = re.compile(r"[a-z]+|[A-Z][a-z]*")  # of a name: of `q_target`, `targetNet`
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
