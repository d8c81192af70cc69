"""Rules about updates: those that are undone, two with one gradient, and those of a new optimizer each time."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from itertools import groupby, pairwise

from ...pictures.trace.backward_records import GradChanged
from ...pictures.trace.facts import SourceLine
from ...pictures.trace.model_records import OptimizerFound
from ...pictures.trace.values import code
from .backwards import Change
from .finding import Finding, asked, listed, named, place, plural
from .measures import distance, is_zero
from .training_run import TrainedParameter, TrainingRun, Update

_STEPS = 3  # before a report that it is so in each
_TWICE = 2  # steps by one gradient
_BETWEEN = "Change or clip gradients between `loss.backward()` and `optimizer.step()`."
_BACK = 0.9  # of a step that is taken back


def taken_back(run: TrainingRun) -> Iterator[Finding]:
    """Find changes of an optimizer's step that are overwritten before the next gradient arrives, in each step."""
    found: dict[object, list[tuple[TrainedParameter, list[tuple[Update, Update, float]]]]] = {}
    for parameter in run.trained:
        pairs = list(_undone(run, parameter))
        stepped = sum(1 for _, group in _by_backward(run, parameter) if any(each.optimizer for each in group))
        if len(pairs) >= _STEPS and len(pairs) == stepped:
            found.setdefault((pairs[0][0].source, pairs[0][1].source), []).append((parameter, pairs))
    for group in found.values():
        step, write, _ = group[0][1][0]
        least = min(share for _, pairs in group for *_, share in pairs)
        yield Finding(
            "step taken back",
            False,
            asked(
                f"Each step of {code(step.optimizer or 'the optimizer')} ({place(step.source)}) is undone: before the "
                f"next backward pass, {listed(write.names)} ({place(write.source)}) "
                f"{'overwrite' if len({*write.names}) > 1 else 'overwrites'} "
                f"{named([parameter for parameter, _ in group])}. That undoes {least:.0%} of the change in each of "
                f"{plural(len(group[0][1]), 'step')}."
            ),
            "Check the direction of the copy: an average is computed from the weights, not written back into them.",
            write.source,
            write.event,
            tuple([parameter.id for parameter, _ in group]),
        )


def new_each_step(run: TrainingRun) -> Iterator[Finding]:
    """Find optimizers that are created in each step, for the same weights or for those of a new model."""
    lines: dict[object, list[tuple[int, OptimizerFound]]] = {}
    for at, event in run.optimizers:
        lines.setdefault((event.optimizer, event.source), []).append((at, event))
    for all in lines.values():
        at, event = all[-1]
        given = [tuple([id for group in each.groups for id in group.parameters]) for _, each in all]
        counts = [len(run.parameters[id].updates) for ids in given for id in ids if id in run.parameters]
        is_new_model = len({*given}) == len(given)
        if len({each.number for _, each in all}) < max(_STEPS, len(all)) or not counts:
            continue
        if is_new_model:
            shapes = {tuple([run.parameters[id].shape for id in ids if id in run.parameters]) for ids in given}
            if len(shapes) > 1 or max(counts) > 1 or sum(len(each.updates) for each in run.trained) > sum(counts):
                continue
            what = "updates the weights of a new model, so no weight is updated twice"
        else:
            if len({*given}) > 1 or max(counts) > len(all) or event.optimizer == "SGD":  # which may have no state
                continue
            weights = named([run.parameters[id] for id in given[0] if id in run.parameters])
            what = f"updates {weights}, without the averages of earlier gradients that the one before had"
        yield Finding(
            "new optimizer",
            False,
            asked(f"In each of {plural(len(all), 'step')} a new `{event.optimizer}` ({place(event.source)}) {what}."),
            f"Create the {'model and the ' * is_new_model}optimizer once, before the loop.",
            event.source,
            at,
            given[-1],
        )
        return


def _by_backward(run: TrainingRun, parameter: TrainedParameter) -> Iterator[tuple[int, list[Update]]]:
    """Return the updates of a parameter between the same two backward passes."""
    began = [each.event for each in run.backwards]
    for at, updates in groupby(parameter.updates, lambda update: bisect(began, update.event)):
        yield at, list(updates)


def _undone(run: TrainingRun, parameter: TrainedParameter) -> Iterator[tuple[Update, Update, float]]:
    """Return each step with what overwrote it, and the share of the change that was undone."""
    for _, updates in _by_backward(run, parameter):
        step = next((each for each in updates if each.optimizer), None)
        last = updates[-1]
        if step is None or last.optimizer is not None or last.after.nonfinite:
            continue
        changed = distance(step.before, step.after)  # as far as what is kept tells, as of what is left
        if not changed:
            continue
        share = 1 - distance(step.before, last.after) / changed
        if share >= _BACK:
            yield step, last, share


def changed_after_use(run: TrainingRun) -> Iterator[Finding]:
    """Find gradients that are changed after an update has used them, and cleared before the next ones arrive."""
    changes: dict[str, list[tuple[int, GradChanged]]] = {}
    for at, event in enumerate(run.events):
        if isinstance(event, GradChanged) and event.tensor in run.parameters:
            changes.setdefault(event.tensor, []).append((at, event))
    found: dict[object, list[tuple[TrainedParameter, list[tuple[int, GradChanged]]]]] = {}
    for parameter in run.trained:
        late = list(_late(parameter, changes.get(parameter.id, [])))
        if len(late) >= _TWICE:
            found.setdefault(late[0][1].source, []).append((parameter, late))
    for group in found.values():
        late = group[0][1]
        at, event = late[0]
        parameters = [parameter for parameter, _ in group]
        yield Finding(
            "change not used",
            False,
            asked(
                f"{code(event.name)} ({place(event.source)}) changes the gradients of {named(parameters)} after an "
                f"update has used them, and they are cleared before the next backward pass, in "
                f"{plural(len(late), 'step')}."
            ),
            _BETWEEN,
            event.source,
            at,
            tuple([each.id for each in parameters]),
        )


def _late(parameter: TrainedParameter, changes: list[tuple[int, GradChanged]]) -> Iterator[tuple[int, GradChanged]]:
    """Return the changes of a gradient between the update that used it and what clears it."""
    for (at, event), (cleared, after) in pairwise(changes):
        before = [each for each in parameter.updates if each.event < at]
        arrived = sum(each.event < cleared for each in parameter.gradients)
        if not event.name or event.clears or event.grad is None or is_zero(event.grad) or not after.clears:
            continue
        if before and before[-1].arrived == arrived:
            yield at, event


def changed_zeros(run: TrainingRun) -> Iterator[Finding]:
    """Find gradients that are scaled or clipped while they are zero: between clearing and the next backward pass."""
    found: dict[SourceLine | None, list[tuple[TrainedParameter, list[tuple[int, GradChanged]]]]] = {}
    for parameter in run.trained:
        useless = list(_of_zeros(run.changes.get(parameter.id, [])))
        if len(useless) >= _TWICE and len({made.source for _, made in useless}) == 1:
            found.setdefault(useless[0][1].source, []).append((parameter, useless))
    for source, group in found.items():
        at, made = group[0][1][0]
        parameters = [parameter for parameter, _ in group]
        yield Finding(
            "change not used",
            False,
            asked(
                f"{code(made.name)} ({place(source)}) changes the gradients of {named(parameters)} while they are "
                f"zero: they were cleared before it, and the backward pass comes after it, in "
                f"{plural(len(group[0][1]), 'step')}."
            ),
            _BETWEEN,
            source,
            at,
            tuple([each.id for each in parameters]),
        )


def _of_zeros(changes: list[Change]) -> Iterator[tuple[int, GradChanged]]:
    """Return what was done to a gradient of zeros, after clearing it and before the next one arrives."""
    for before, each, after in zip(changes, changes[1:], changes[2:], strict=False):
        made = each.made
        if before.clears and after.backward and isinstance(made, GradChanged) and not made.clears:
            if made.grad is not None and is_zero(made.grad):
                yield each.event, made


def two_steps(run: TrainingRun) -> Iterator[Finding]:
    """Find two optimizers that change the same weights with the same gradient."""
    found: dict[object, list[tuple[TrainedParameter, Update, Update]]] = {}
    for parameter in run.trained:
        same: dict[object, list[tuple[Update, Update]]] = {}
        for one, other in pairwise(parameter.updates):
            by = (one.optimizer, one.source), (other.optimizer, other.source)
            if one.optimizer and other.optimizer and one.arrived == other.arrived > 0 and by[0] != by[1]:
                same.setdefault(by, []).append((one, other))
        for by, pairs in same.items():
            if len(pairs) >= _TWICE:
                found.setdefault(by, []).append((parameter, *pairs[0]))
                break
    updated = sum(bool(each.updates) for each in run.trained)
    for group in found.values():
        _, one, other = group[0]
        parameters = [parameter for parameter, *_ in group]
        certain = len(group) < updated
        steps = f"`{one.optimizer}` ({place(one.source)}) and by `{other.optimizer}` ({place(other.source)})"
        is_or_are = "is" if len(group) == 1 else "are"
        yield Finding(
            "two optimizers",
            certain,
            asked(
                f"{named(parameters)} {is_or_are} updated twice with the same gradient, by {steps}: "
                f"{'it is' if len(group) == 1 else 'they are'} in more than one optimizer.",
                certain,
            ),
            "Give each weight to one optimizer; its parameter groups can have different learning rates.",
            other.source,
            other.event,
            tuple([each.id for each in parameters]),
        )
