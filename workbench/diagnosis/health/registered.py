"""Rules about the parameters of modules and optimizers: layers that are never used, an optimizer of another model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...pictures.trace.model_records import OptimizerFound
from ...pictures.trace.values import code, number
from .finding import Finding, asked, describe, listed, named, place, plural
from .training_run import TrainedParameter, TrainingRun

_COPIES = 3  # backwards that each train a new copy
_BACKWARDS = 2  # before a report that none of them used a layer, or that a step changes nothing


def grouped(run: TrainingRun) -> set[str]:
    """Return the parameters in the groups of optimizers that took a step."""
    return {id for _, event in run.optimizers for group in event.groups for id in group.parameters}


def registered(run: TrainingRun) -> set[str]:
    """Return the parameters in outermost modules."""
    return {held.tensor for _, event in run.called for held in event.parameters}


def holders(run: TrainingRun) -> dict[str, set[str]]:
    """Return for each such parameter the names of the outermost modules that contain it."""
    found: dict[str, set[str]] = {}
    for _, event in run.called:
        for held in event.parameters:
            found.setdefault(held.tensor, set()).add(event.name)
    return found


def rates_of(run: TrainingRun, id: str) -> list[float | None]:
    """Return the learning rates of a parameter's groups, in the order of their steps."""
    return [group.lr for _, event in run.optimizers for group in event.groups if id in group.parameters]


def other_model(run: TrainingRun) -> Iterator[Finding]:
    """Find an optimizer of parameters that take no part in the run, while those that do are never updated."""
    idle = [each for each in run.optimizers if _is_idle(run, *each)]
    ours = grouped(run)
    left = [each for each in run.trained if each.gradients and not each.updates and each.id not in ours]
    left = [each for each in left if len(each.gradients) >= _BACKWARDS]
    if not idle or run.is_training:
        return
    at, event = idle[0]
    theirs = [run.parameters[id] for group in event.groups for id in group.parameters if id in run.parameters]
    if not left or any(each.used for each in theirs):
        yield from _copies(run, at, event, theirs)
        return
    norms = [got.after.norm for got in left[0].gradients[:4] if got.after is not None]
    piled = not any(each.cleared for each in left) and len(norms) > 1
    grows = f". These gradients are never cleared: the norm of {left[0].slot} was " if piled else ""
    shown = ", ".join([number(norm, digits=3) for norm in norms]) if piled else ""
    yield Finding(
        "optimizer of another model",
        True,
        f"`{event.optimizer}` ({place(event.source)}) updates a different model: none of its "
        f"{plural(len(theirs), 'parameter')} ({named(theirs)}) is used in this run, and {named(left)}, which "
        f"{'gets' if len(left) == 1 else 'get'} gradients, {'is' if len(left) == 1 else 'are'} in no optimizer"
        f"{grows}{shown}.",
        "Create the optimizer from the model you train, after its last copy or replacement.",
        event.source,
        at,
        tuple([each.id for each in left]),
    )


def _copies(run: TrainingRun, at: int, event: OptimizerFound, theirs: list[TrainedParameter]) -> Iterator[Finding]:
    """Return True if each backward pass reaches new tensors of the same shapes, and none of the optimizer's."""
    shapes, met, count = Counter([each.shape for each in theirs]), dict[str, TrainedParameter](), 0
    for backward in run.backwards:
        got = {id: run.parameters[id] for id in backward.added if id in run.parameters}
        if backward.inner or not got:
            continue
        if met.keys() & got.keys() or not Counter([each.shape for each in got.values()]) <= shapes:
            return
        met |= got
        count += 1
    if count < _COPIES:
        return
    copy = next(iter(met.values()))
    node = run.nodes[copy.used[0]] if copy.used else None
    used = f", such as an input of {describe(node)}" if node is not None else ""
    many = "" if len(theirs) == 1 else "s"
    yield Finding(
        "optimizer of another model",
        True,
        f"`{event.optimizer}` ({place(event.source)}) updates nothing: {named(theirs)} never "
        f"{'gets' if len(theirs) == 1 else 'get'} a gradient. In each of {plural(count, 'backward pass')} the "
        f"gradients go to new tensors of the same shape{used}.",
        f"Use the original parameter{many} in `forward`. A copy (`deepcopy`, `detach().clone()`, `Parameter(w.data)` "
        "or a new model) collects its own gradient, and the original gets none.",
        event.source if node is None else node.line,
        at,
        tuple([each.id for each in [*theirs, *met.values()]]),
    )


def _is_idle(run: TrainingRun, at: int, event: OptimizerFound) -> bool:
    """Return True if no parameter of an optimizer changed or got a gradient, and no backward pass ran what used it."""
    ids = [id for group in event.groups for id in group.parameters]
    known = [run.parameters[id] for id in ids if id in run.parameters]
    reached = any(run.nodes[node].started for each in known for node in each.used)
    busy = reached or any(each.gradients or each.updates or each.grad is not None for each in known)
    began = sum(each.event < at for each in run.backwards)
    return bool(known) and len(known) == len(ids) and not busy and began > 0


def never_used(run: TrainingRun) -> Iterator[Finding]:
    """Find parameters in a module that no operation used in any step."""
    whole = [each for each in run.backwards if not each.inner and not each.failed and each.targets is None]
    if len(whole) < _BACKWARDS or not run.is_whole:
        return
    for name in dict.fromkeys([event.name for _, event in run.called]):
        calls = [(at, event) for at, event in run.called if event.name == name]
        event = calls[-1][1]
        held = [run.parameters[each.tensor] for each in event.parameters if each.tensor in run.parameters]
        unused = [each for each in held if _is_unused(run, each)]
        trained = [each for each in held if each.gradients]
        if not unused or not trained or _runs_without_gradients(run, unused):
            continue
        layers = list(dict.fromkeys([(each.seen.name or "").rpartition(".")[0] or each.name for each in unused]))
        are, it = ("is", "it") if len(layers) == 1 else ("are", "them")
        among = [each for each in unused if each.id in grouped(run)]
        have = f" The optimizer has {it} too." if among else ""
        yield Finding(
            "never used",
            False,
            asked(
                f"{listed(layers)} {are} never used: {code(event.module)} holds {plural(len(unused), 'parameter')} of "
                f"{it} ({named(unused)}), but no operation in {code(name)} ({place(event.source)}) used "
                f"{'any of these' if len(unused) > 1 else 'it'} in {plural(len(whole), 'backward pass')}.{have}"
            ),
            f"Call {it} in `forward`. Look for a layer replaced by a later assignment, or a branch that's never taken.",
            event.source,
            calls[-1][0],
            tuple([each.id for each in unused]),
        )


def idle_flags(run: TrainingRun) -> Iterator[Finding]:
    """Find attributes that were set to freeze weights, and that nothing reads."""
    for name in dict.fromkeys([event.name for _, event in run.called]):
        at, event = next(each for each in reversed(run.called) if each[1].name == name)
        ids = {held.path: held.tensor for held in event.parameters}
        typos = [flag for flag in event.flags if flag.path in ids]
        frozen = [flag for flag in event.flags if flag.path not in ids]
        for flags, certain in ((typos, True), (frozen, False)):
            under = [id for path, id in ids.items() for each in flags if f"{path}.".startswith(each.path)]
            if not any(id in run.parameters and run.parameters[id].gradients for id in under):
                continue
            what = listed([f"{name}.{each.path}".rstrip(".") for each in flags])
            have, attribute = "has" if len(flags) == 1 else "have", flags[0].name
            they, their = ("it still gets", "its") if len(flags) == 1 else ("they still get", "their")
            who = they if certain else f"{their} parameters still get"
            told_so = f"{what} {have} an attribute `{attribute} = False`, which freezes nothing: {who} gradients."
            yield Finding(
                "flag without effect",
                certain,
                asked(told_so, certain),
                "Set `parameter.requires_grad = False`. The attribute is called `requires_grad`; any other name has no "
                "effect."
                if certain
                else f"Call `{name}.{flags[0].path}".rstrip(".")
                + ".requires_grad_(False)`, which freezes all parameters.",
                event.source,
                at,
                tuple(under),
            )


def _runs_without_gradients(run: TrainingRun, unused: list[TrainedParameter]) -> bool:
    """Return True if some of these were used under `no_grad`, where only the last results are known."""
    ids = {each.id for each in unused}
    return any(not cut.ends or not ids.isdisjoint(cut.ends) for _, cut in run.cuts.values())


def _is_unused(run: TrainingRun, parameter: TrainedParameter) -> bool:
    """Return True if a parameter had no effect; a share or a copy of one may be used instead, unseen."""
    touched = parameter.used or parameter.gradients or parameter.updates or run.users.get(parameter.id)
    return not touched and parameter.grad is None and parameter.seen.value.is_known
