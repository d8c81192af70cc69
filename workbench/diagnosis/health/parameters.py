"""Rules about parameters: those that never get a gradient or an update, twice in an optimizer, a broken tie."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...pictures.trace.cuts import cut_said, instead
from ...pictures.trace.facts import Cut, SourceLine
from ...pictures.trace.values import code
from .causes import alike
from .finding import Finding, asked, cut_off, describe, listed, named, place, plural
from .graph import RecordedNode
from .measures import distance, is_same, size_of
from .registered import grouped, holders
from .training_run import TrainedParameter, TrainingRun, Update

_TENSORS_ONLY = (
    "Compute the loss from the model's output with tensor operations only: `torch.tensor(...)`, `item()` and `numpy()` "
    "create values without a graph."
)
_LEAST = 4  # numbers of a weight that can be told from another's by its values
_MATRIX = 2
_NEAR = 0.2  # as a multiple of its norm: a weight that follows another
_PLAIN = re.compile(r"\w+\.\w+")  # the name of a module's own tensor: `net.w`
_HOPS = 8  # nodes in a row that an adapter has at most
_FEW = 0.5  # as a share of the weights: what few lack is a mistake, what most lack may be meant


def _root(parameter: TrainedParameter) -> str:
    return (parameter.seen.name or "").partition(".")[0]


def no_way(run: TrainingRun) -> Iterator[Finding]:
    """Find a backward pass that starts at a leaf, or that reaches no weight though there are some."""
    held = [each for each in run.trained if each.is_held or each.updates]
    for backward in run.backwards:
        if backward.inner or backward.targets is not None or backward.failed or not backward.roots:
            continue
        roots, advice = [root.node for root in backward.roots], _TENSORS_ONLY
        leaves = [run.parameters[id] for id in roots if id in run.parameters]
        if len(leaves) == len(roots) and not any(each.is_held or each.updates for each in leaves):
            why, advice = _leaf_because(run, leaves[0])
            sentence = (
                f"The backward pass at {place(backward.source)} starts from {leaves[0].words}, which is a leaf: {why}, "
                "so no weight gets a gradient."
            )
        elif (used := _used_before(run, held, backward.event)) and not any(each.gradients for each in held):
            others = [run.parameters[id] for id in backward.received if id in run.parameters]
            ends = f"the path ends at {named(others)}, and " if others else ""
            sentence = (
                f"The backward pass at {place(backward.source)} reaches no weights: {ends}none of {named(used)} gets "
                "a gradient."
            )
        else:
            continue
        yield Finding(
            "loss depends on no weight",
            True,
            sentence,
            advice,
            backward.source,
            backward.event,
            tuple(roots),
        )
        return


def _leaf_because(run: TrainingRun, leaf: TrainedParameter) -> tuple[str, str]:
    """Return why a result is a leaf, and what to do: what cut it off from the weights, if that is known."""
    known = run.cuts.get(leaf.id)
    if known is None:
        return "it was computed from nothing that takes gradients", _TENSORS_ONLY
    _, cut = known
    return cut_off(
        cut, "it", "the weights"
    ), f"{instead(cut)} Setting `requires_grad` doesn't connect a result to the weights."


def _used_before(run: TrainingRun, parameters: Sequence[TrainedParameter], event: int) -> list[TrainedParameter]:
    return [each for each in parameters if each.used and run.nodes[each.used[0]].event < event]


@dataclass(frozen=True, slots=True)
class _End:
    """The place where the gradient of a parameter gets no further."""

    # "cut", "read" (only numbers are read behind a cut), "none" (a node returned none) or "lost" (no part of the loss)
    kind: str
    line: SourceLine | None
    event: int
    node: RecordedNode | None
    cut: Cut | None = None


def never_reached(run: TrainingRun) -> Iterator[Finding]:
    """Find parameters that no backward pass reached, with the place where the gradient path ends."""
    whole = [each for each in run.backwards if each.targets is None and not each.failed and not each.inner]
    if not whole:
        return
    reached = [each for each in run.trained if each.gradients]
    missing = [each for each in run.parameters.values() if not each.gradients and each.used and _came_before(run, each)]
    if not reached or not missing:
        return
    groups: dict[object, list[tuple[TrainedParameter, _End]]] = {}
    for parameter in missing:
        end = _end(run, parameter)
        groups.setdefault((end.kind, end.line, end.cut and end.cut.word), []).append((parameter, end))
    given = grouped(run)
    roots = {_root(each) for each in reached} - {""}  # unnamed parameters can't be assigned to a model
    for group in groups.values():
        parameters, end = [parameter for parameter, _ in group], group[0][1]
        if end.kind == "cut" and all(_is_copied(each, reached) for each in parameters):
            continue
        ours = end.kind == "none" and end.node is not None and end.node.made.custom
        certain = ours or (any(_root(each) in roots for each in parameters) and end.kind not in ("lost", "read"))
        word = end.cut.word if end.cut is not None else ""
        if not certain and word == "detach" and given and not any(each.id in given for each in parameters):
            continue  # another model, which no optimizer is given either: it is meant twice
        yield _never(parameters, end, certain, len(whole))


def _came_before(run: TrainingRun, parameter: TrainedParameter) -> bool:
    """Return True if a backward pass came after it was used."""
    first = run.nodes[parameter.used[0]].event
    return any(each.event > first and each.targets is None for each in run.backwards)


def _is_copied(parameter: TrainedParameter, reached: Sequence[TrainedParameter]) -> bool:
    """Return True if it's a copy of a trained one in another part of the model, such as a target network."""
    value = parameter.seen.value
    for other in reached:
        if other.shape == parameter.shape and other.id != parameter.id and _last(other) == _last(parameter):
            if _unnumbered(other) == _unnumbered(parameter):
                continue  # layers that began alike
            first = other.seen.value
            exact = first.values is not None and value.values is not None
            if is_same(value, first) or (exact and distance(value, first) < _NEAR * value.norm):
                return True
    return False


def _unnumbered(parameter: TrainedParameter) -> str:
    return re.sub(r"\d+", "#", parameter.seen.name or "")


def _last(parameter: TrainedParameter) -> str:
    return (parameter.seen.name or "").rpartition(".")[2]


def _end(run: TrainingRun, parameter: TrainedParameter) -> _End:
    """Return where the path ends, searched from the parameter."""
    way = run.before(parameter.id)
    read: _End | None = None
    for id, (at, cut) in run.cuts.items():
        if (end := next((each for each in cut.ends if each in way), None)) is not None:
            if id in run.constants:
                return _End("cut", cut.source, at, run.nodes.get(end), cut)
            read = read or _End("read", cut.source, at, run.nodes.get(end), cut)
    if read is not None:
        return read
    made = [run.nodes[id] for id in way if id in run.nodes]
    whole = [each for each in run.backwards if each.targets is None and not each.inner]
    for node, backward in [(node, each) for node in made for each in whole if node.id in each.sent]:
        for target, sent in run.sends_on(node.id, backward.sent[node.id]):
            if sent is None and target in way and any(grad is not None for grad in backward.received.get(node.id, ())):
                return _End("none", node.line, node.finished[0], node)
    last = max(made, key=lambda node: (not run.users.get(node.id), node.event), default=None)
    first = [node for node in made if not run.users.get(node.id)]
    node = min(first, key=lambda node: node.event) if first else last
    return _End("lost", node.line if node else None, node.event if node else 0, node)


def _never(parameters: Sequence[TrainedParameter], end: _End, certain: bool, backwards: int) -> Finding:
    names, count = named(parameters), plural(backwards, "backward pass")
    them = "them" if len(parameters) > 1 else "it"
    if end.kind == "cut" and end.cut is not None:
        why = cut_said(end.cut, f" at {place(end.line)}", "cuts the gradient path", "the gradient path ends there")
        if end.cut.word == "no_grad":
            why = f"from {place(end.line)} on, everything is computed under `no_grad`"
        next_step = f"{instead(end.cut)} If it's intentional, freeze {them} with `requires_grad_(False)`."
    elif end.kind == "read" and end.cut is not None:
        why = f"`{end.cut.word}` cuts the gradient path at {place(end.line)}, where its numbers are read"
        next_step = (
            "Compute with tensors from there on: the results of NumPy and of Python numbers have no graph. If you only "
            "print or log the numbers, check that the loss uses the model's output."
        )
    elif end.kind == "none" and end.node is not None:
        why = f"the backward of {describe(end.node)} returns `None`"
        next_step = "Return a gradient for each input that requires one, in the order of the arguments of `forward`."
    else:
        what = f" (last by {describe(end.node)})" if end.node is not None else ""
        why = f"the loss doesn't depend on what was computed from {them}{what}"
        next_step = (
            "Compute the loss from this result, without `item()`, `numpy()`, `argmax()` and `torch.tensor(...)`, which "
            f"end the gradient path. If it's intentional, freeze {them} with `requires_grad_(False)`."
        )
    sentence = asked(f"{names} got no gradient in {count}: {why}.", certain)
    ids = tuple([each.id for each in parameters])
    return Finding("no gradient", certain, sentence, next_step, end.line, end.event, ids)


def never_updated(run: TrainingRun) -> Iterator[Finding]:
    """Find parameters that get gradients and that no step changes, while it changes others."""
    updated = [each for each in run.trained if each.is_held and any(update.optimizer for update in each.updates)]
    last = max([update.event for each in updated for update in each.updates], default=0)
    ours = grouped(run)
    left = [
        each
        for each in run.trained
        if not each.updates
        and (each.is_held or (each.seen.name is None and not _is_of_a_backward(run, each)))
        and each.id not in ours
        and any(got.event < last and got.after for got in each.gradients)
    ]
    handed = {each.shape for each in updated if not each.gradients and any(got.grad for got in each.updates)}
    if not updated or all(each.shape in handed for each in left):  # what copies got was given to the weights
        return
    few = len(left) <= _FEW * len(run.trained)
    unheld = [each for each in left if not each.registered] if run.called else []
    certain = few and _is_one_model(run, left, updated)
    update = updated[0].updates[0]
    norms = {each.name: max([got.own.norm for got in each.gradients], default=0.0) for each in left}
    name = next(filter(norms.get, norms), "")
    one = len(left) == 1
    they, them, is_are = ("it", "it", "is") if one else ("they", "them", "are")
    optimizers = listed([event.optimizer or "the optimizer" for _, event in run.optimizers])
    step = f"no step of {code(update.optimizer or 'the optimizer')} ({place(update.source)}) changes {them}"
    if ours:
        step = f"{they} {is_are} in no parameter group of {optimizers} ({place(update.source)})"
    size = f"a norm of up to {norms[name]:.3g} for {code(name)}" if name else "only zeros"
    fresh = _backwards_of_new(run, left)
    gets = f"{they} {'gets' if one else 'get'} gradients ({size})"
    gets = f"{plural(fresh, 'backward pass')} brought gradients ({size}), each to new tensors" if fresh else gets
    sentence = f"{named(left)} {is_are} never updated: {gets}, but {step}."
    unknown = all(each.seen.name is None or "[" in each.seen.name for each in left)  # `net.layers[0].weight`
    unknown = len(unheld) == len(left) if run.called else unknown
    yield Finding(
        "not in the optimizer",
        certain,
        asked(sentence, certain),
        "Create the layer once, in `__init__`: a layer created in `forward` starts with new weights in each call."
        if fresh
        else f"Make {them} an `nn.Parameter`: modules don't register plain tensors."
        if unknown and all(_PLAIN.fullmatch(each.seen.name or "") for each in left)
        else "Put them in an `nn.ModuleList`: modules in a plain list aren't registered."
        if unknown
        else f"Call `optimizer.add_param_group` when {they} {is_are} unfrozen, or give the optimizer all "
        "parameters from the start: it skips those without a gradient."
        if all(each.was_frozen for each in left)
        else "Create the optimizer after the model is complete: it doesn't know layers that are added or replaced "
        f"later. If {they} {is_are} meant to be frozen, call `requires_grad_(False)`.",
        update.source,
        left[0].gradients[-1].event,
        tuple([each.id for each in left]),
    )


def _backwards_of_new(run: TrainingRun, left: Sequence[TrainedParameter]) -> int:
    """Return how many backward passes each brought gradients to tensors of their own; 0 where any is met again."""
    kinds: dict[object, list[int]] = {}
    for each in left:
        if len(each.gradients) != 1 or not each.used:
            return 0
        node = run.nodes[each.used[0]]
        begun = sum(backward.event < each.gradients[0].event for backward in run.backwards)
        kinds.setdefault((each.shape, node.made.operation, node.line), []).append(begun)
    counts = [len(passes) for passes in kinds.values() if len({*passes}) == len(passes)]
    return min(counts) if len(counts) == len(kinds) and min(counts, default=0) > 1 else 0


def _is_of_a_backward(run: TrainingRun, parameter: TrainedParameter) -> bool:
    """Return True if it was used only inside backward passes, for example in what a checkpoint recomputes."""
    return bool(parameter.used) and all(run.nodes[id].inside for id in parameter.used)


def _is_one_model(run: TrainingRun, left: Sequence[TrainedParameter], updated: Sequence[TrainedParameter]) -> bool:
    """Return True if parameters are in a module with some of the updated ones, or were used inside it."""
    held = holders(run)
    theirs = {name for each in updated for name in held.get(each.id, ())}
    roots = {_root(each) for each in updated}
    return all(_root(each) in roots or bool(theirs.intersection(held.get(each.id, ()))) for each in left)


def twice_in_optimizer(run: TrainingRun) -> Iterator[Finding]:
    """Find a parameter that one step writes more often than the others."""
    by_line: dict[object, list[tuple[TrainedParameter, Update]]] = {}
    for parameter in run.trained:
        for update in parameter.updates[:1]:
            by_line.setdefault((update.optimizer, update.source), []).append((parameter, update))
    for (optimizer, source), all in ((key, each) for key, each in by_line.items() if isinstance(key, tuple)):
        writes = [max(Counter(update.names).values()) for _, update in all]
        least = min(writes)
        twice = [parameter for (parameter, _), count in zip(all, writes, strict=True) if count >= 2 * least]
        if optimizer and len(all) > len(twice) > 0 and len(twice) <= len(all) // 2:
            times = max(writes) // least
            yield Finding(
                "twice in the optimizer",
                True,
                f"Each step of {code(str(optimizer))} ({place(source)}) updates {named(twice)} "
                f"{'twice' if times == 2 else f'{times} times'}, and the others once: "
                f"{'it was' if len(twice) == 1 else 'they were'} passed to it more than once.",
                "Pass each parameter once; check for overlap between lists.",
                source,
                all[0][1].event,
                tuple([each.id for each in twice]),
            )


def broken_tie(run: TrainingRun) -> Iterator[Finding]:
    """Find two weights of one model with the same numbers at the start, which are trained separately."""
    matrices = [
        each
        for each in run.trained
        if len(each.shape) == _MATRIX
        and size_of(each.seen.value) >= _LEAST
        and each.seen.value.min != each.seen.value.max
        and each.is_held
    ]
    alike: dict[object, list[TrainedParameter]] = {}
    for each in matrices:
        value = each.seen.value
        alike.setdefault((round(value.norm, 9), value.min, value.max), []).append(each)
    pairs = [group for group in alike.values() if len(group) == 2 and _may_be_tied(run, *group)]
    if len(pairs) != 1:  # several are a copy of a module
        return
    one, other = pairs[0]
    updated = [each for each in (one, other) if each.updates]
    apart = "" if len(updated) < 2 or is_same(one.value, other.value) else ", and have since diverged"
    node = run.nodes[other.used[0]] if other.used else None
    yield Finding(
        "broken tie",
        False,
        f"{one.words} and {other.words} start with the same {size_of(one.value)} values but are two separate "
        f"parameters{apart}. Should they be tied?",
        f"Assign the same parameter to both modules: `{other.name} = {one.name}`. A copy of one of the modules, or "
        "`load_state_dict(..., assign=True)`, splits a tied weight in two.",
        node.line if node is not None else None,
        node.event if node is not None else 0,
        (one.id, other.id),
    )


def _may_be_tied(run: TrainingRun, one: TrainedParameter, other: TrainedParameter) -> bool:
    if _root(one) != _root(other) or {*one.shape} != {*other.shape}:
        return False
    if one.shape == other.shape and not is_same(one.seen.value, other.seen.value):
        return False
    if _unnumbered(one) == _unnumbered(other):
        return False  # layers that were copied
    holders = [(each.seen.name or "").rpartition(".")[0] + "." for each in (one, other)]
    rest = [
        sorted([(each.shape, each.seen.value.norm) for each in run.trained if (each.seen.name or "").startswith(own)])
        for own in holders
    ]
    return len(rest[0]) == 1 or rest[0] != rest[1]  # else one module is a copy of the other


def frozen_between(run: TrainingRun) -> Iterator[Finding]:
    """Find a few weights that don't require grad, between trained layers."""
    frozen: dict[str, RecordedNode] = {}
    for id, seen in run.frozen.items():
        is_weight = (seen.name or "").rpartition(".")[2] == "weight" and len(seen.value.shape) >= _MATRIX
        for user in run.constants.get(id, ()) if is_weight else ():
            node = run.nodes[user]
            if any(edge.target in run.nodes for edge in node.made.edges) and not _has_adapter(run, node):
                frozen.setdefault(id, node)
    trained = [each for each in run.trained if len(each.shape) >= _MATRIX and each.gradients]
    if not frozen or 3 * len(frozen) > len(trained) or not run.is_training:
        return
    names = [run.frozen[id].name or "" for id in frozen]
    node = next(iter(frozen.values()))
    takes, it = ("takes", "it") if len(names) == 1 else ("take", "them")
    yield Finding(
        "frozen",
        False,
        asked(
            f"{listed(names)} {takes} no gradient ({place(node.line)}), while {plural(len(trained), 'weight')} before "
            f"and after {it} {'trains' if len(trained) == 1 else 'train'}."
            f"{alike(names, [each.name for each in trained])}"
        ),
        f"Call `{names[0]}.requires_grad_(True)`, and add it to the optimizer."
        if len(names) == 1
        else f"Call `requires_grad_(True)` on {listed(names)}, and add {'both' if len(names) == 2 else 'them'} to the "
        "optimizer.",
        node.line,
        node.event,
        tuple(frozen),
    )


def _has_adapter(run: TrainingRun, node: RecordedNode) -> bool:
    """Return True if its result is added to what trained weights compute from the same input."""
    sources = {edge.target for edge in node.made.edges}
    for user in run.users.get(node.id, ()):
        left = [edge.target for edge in run.nodes[user].made.edges if edge.target != node.id]
        trains = False
        for _ in range(_HOPS):
            nodes = [run.nodes[id] for id in left if id in run.nodes]
            left = [edge.target for each in nodes for edge in each.made.edges]
            trains = trains or any(id in run.parameters for id in left)
            if trains and sources & {*left}:
                return True
    return False
