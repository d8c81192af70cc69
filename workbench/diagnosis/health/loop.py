"""Rules about the loop: gradients that aren't cleared, updates that are zero or too large, graphs that grow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from ...pictures.trace.advised import hook_refused
from ...pictures.trace.backward_records import Failed
from ...pictures.trace.facts import SourceLine
from ...pictures.trace.rounds import rounds_of
from ...pictures.trace.values import code, number, shortened
from .finding import Finding, asked, describe, listed, named, place, plural
from .graph import RecordedNode
from .measures import is_same, rms, size_of
from .refusals import refusal_of, refused_besides
from .registered import grouped, rates_of
from .spikes import spikes
from .training_run import TrainedParameter, TrainingRun, TrainingStep, Update

_REFUSALS = (  # what autograd says of a program in which something is wrong
    "does not require grad",
    "appears to not have been used",
    "modified by an inplace operation",
    "a second time",
)
_DRAWN = 'To see what led to the error: `trace.show("error")`.'
_MESSAGE = 240  # characters of an error's message
_STEPS = 3  # before a report that nothing changes
_LAST_STEPS = 7  # in which nodes that are alive are counted
_GROWTHS = 3  # times that a graph or a loss must have grown
_LARGE_RATIO = 3.0  # of an update by which the loss hardly rises
_HUGE_RATIO = 10.0  # for an update after which the loss isn't known
_HUGE_GRADIENT = 1e9  # which no usual learning rate makes a usual update of
_FAR_TOO_LARGE = 100.0  # of a few numbers
_AS_LARGE = 0.1  # as a multiple of the usual gradient
_LEAST = 8  # numbers of a weight whose update is compared with it


def stopped(run: TrainingRun) -> Iterator[Finding]:
    """Find a last backward pass that ended with an error; one that the program caught may be intentional."""
    if not run.failures or any(each.event > run.failures[-1][0] for each in run.backwards):
        return
    at, failure = run.failures[-1]
    caught = run.caught == len(run.failures)
    if caught and not _is_of_autograd(run, failure):
        return
    node = run.nodes.get(failure.node or "")
    raised, at_line = _raised_by(run, at, failure)
    where = raised or (f" in the backward of {describe(node)}" if node is not None else "")
    if not where and failure.source is not None:
        where = f" ({place(failure.source)})"
    refusal = refusal_of(run, failure) or refused_besides(run, failure)
    words = f"{failure.error}: {_message(failure.message)}"
    line = at_line or (node.line if node is not None else failure.source)
    if refusal is not None:
        words, line = f"{words}\n{refusal.sentence}", refusal.line or line
    advice = _DRAWN if refusal is None else f"{refusal.advice}\n{_DRAWN}"
    yield Finding(
        "stopped",
        not caught,
        f"The program {'caught' if caught else 'stopped with'} an error{where}: {words}",
        f"{advice} If your program catches this error on purpose, ignore this finding." if caught else advice,
        line,
        at,
        (failure.node,) if failure.node else (),
    )


def _message(text: str) -> str:
    """Return the whole sentences of an error's first line, without its hint and without one that is cut short."""
    first = text.strip().partition("\n")[0].partition(" Hint: ")[0]
    short = shortened(first, _MESSAGE)
    whole, dot, _ = short.rpartition(". ")
    short = f"{whole}." if dot and short.endswith("…") else short
    return short if short.endswith((".", "…", "!", "?")) else f"{short}."


def _raised_by(run: TrainingRun, at: int, failure: Failed) -> tuple[str, SourceLine | None]:
    """Return the user's function that raised an error, or the hook that returned a wrong value, and its line."""
    called, refused = failure.called, hook_refused(run.events[:at], failure)
    if called is not None and called.name and not called.is_outside:
        what = "hook" if called.kind in ("hook", "module") else {"pack": "pack hook"}.get(called.kind, "function")
        name, line = called.name, called.source
    elif refused is not None:
        what, (name, line) = "hook", refused
    else:
        return "", None
    return f" in the {what} {code(name)}{'' if line is None else f' ({place(line)})'}", line


def _is_of_autograd(run: TrainingRun, failure: Failed) -> bool:
    """Return True if autograd refused a backward pass, except a deliberate second one from the same results."""
    if not any(words in failure.message for words in _REFUSALS):
        return False
    if "a second time" not in failure.message:
        return True
    *before, last = run.backwards or (None,)
    return last is None or last.failed is not failure or not any(each and each.starts == last.starts for each in before)


def not_cleared(run: TrainingRun) -> Iterator[Finding]:
    """Find updates by a gradient that the update before used too."""
    dirty: list[tuple[TrainedParameter, Update]] = []
    for parameter in run.trained:
        for before, update in zip(parameter.updates, parameter.updates[1:], strict=False):
            since = parameter.gradients[before.arrived : update.arrived]
            if before.grad is None or not since or since[0].before is None or since[0].after is None:
                continue
            if is_same(since[0].own, since[0].after):
                continue  # cleared by a way that the recording did not see
            if not any(before.event < at < update.event for at in parameter.cleared):
                dirty.append((parameter, update))
                break
    if not dirty:
        return
    parameters = [parameter for parameter, _ in dirty]
    parameter, update = dirty[0]
    norms = [each.after.norm for each in parameter.gradients if each.after is not None][:4]
    cleared = f"{parameter.name}.grad = None"
    yield Finding(
        "gradients not cleared",
        True,
        f"Gradients accumulate across updates: {named(parameters)} {'is' if len(dirty) == 1 else 'are'} updated with "
        f"gradients left over from earlier updates, at {place(update.source)}. The norm of {parameter.slot} was "
        f"{', '.join([number(norm, digits=3) for norm in norms])}.",
        "Call `optimizer.zero_grad()` once per update, before its first backward pass."
        if update.optimizer
        else f"Clear the gradient once per update, before its first backward pass: {code(cleared)}.",
        update.source,
        update.event,
        tuple([each.id for each in parameters]),
    )


def unchanged(run: TrainingRun) -> Iterator[Finding]:
    """Find updates that leave every weight as it was, in several steps, though it has a gradient."""
    by_line: dict[object, list[TrainedParameter]] = {}
    for parameter in run.trained:
        if parameter.updates:
            by_line.setdefault((parameter.updates[0].optimizer, parameter.updates[0].source), []).append(parameter)
    for parameters in by_line.values():
        moving = [each for each in parameters if any(_has_gradient(update) for update in each.updates)]
        still = [each for each in moving if _stays(each)]
        if not still:
            continue
        first = still[0].updates[0]
        norm = max([update.grad.norm for update in still[0].updates if update.grad is not None], default=0.0)
        count = len(still[0].updates)
        who = f"`{first.optimizer}.step()`" if first.optimizer else "The update"
        rates = [rate for each in still for rate in rates_of(run, each.id)]
        is_off = bool(rates) and not any(rates) and None not in rates
        if len(still) == len(moving):
            yield Finding(
                "step changes nothing",
                True,
                f"{who} at {place(first.source)} has no effect: {named(still)} stayed exactly the same over "
                f"{plural(count, 'step')}, although the gradient norm of {still[0].words} reached {norm:.3g}"
                f"{'; the learning rate (`lr`) is 0' if is_off else ''}.",
                "Set a learning rate above 0. If a scheduler sets it, check that it doesn't start at 0 or decay to 0."
                if is_off
                else "Check the learning rate: it may be 0, or too small for the weights' dtype.",
                first.source,
                still[0].updates[-1].event,
                tuple([each.id for each in still]),
            )
        elif still := [each for each in still if _is_as_large(each, moving)]:
            yield Finding(
                "step changes nothing",
                False,
                asked(
                    f"{named(still)} didn't change in {plural(count, 'step')} of "
                    f"{code(first.optimizer or 'the program')} ({place(first.source)}), "
                    f"although other weights did and the gradient norm of {still[0].words} "
                    f"reached {norm:.3g}.{' The learning rate (`lr`) of this group is 0.' if is_off else ''}"
                ),
                "Check the learning rate of their parameter group, and whether the update is lost to rounding in the "
                "weight's dtype.",
                first.source,
                still[0].updates[-1].event,
                tuple([each.id for each in still]),
            )


def rate_became_zero(run: TrainingRun) -> Iterator[Finding]:
    """Find steps that change nothing since the learning rate became 0, as by a scheduler."""
    for at, event in {event.number: (at, event) for at, event in run.optimizers}.values():
        ids = [id for group in event.groups if group.lr == 0 for id in group.parameters]
        held = [run.parameters[id] for id in ids if id in run.parameters]
        held = [each for each in held if any(rates_of(run, each.id))]
        since = {each.id: [update for update in each.updates if update.event > at] for each in held}
        still = [each for each in held if _are_still(since[each.id]) and any(map(_has_gradient, since[each.id]))]
        if not still:
            continue
        updates = since[still[0].id]
        norm = max([update.grad.norm for update in updates if update.grad is not None])
        yield Finding(
            "step changes nothing",
            False,
            asked(
                f"`{event.optimizer}.step()` at {place(updates[0].source)} has no effect on {named(still)} in the last "
                f"{len(updates)} of {plural(len(still[0].updates), 'step')}: the learning rate (`lr`) became 0, "
                "although "
                f"the gradient norm of {still[0].words} still reached {norm:.3g}."
            ),
            "Check the scheduler that sets it: it should not reach 0 before the last step. Call its `step()` once per "
            "epoch or once per update, whichever unit its arguments use.",
            updates[0].source,
            updates[-1].event,
            tuple([each.id for each in still]),
        )


def _has_gradient(update: Update) -> bool:
    return update.grad is not None and update.grad.norm > 0


def _is_as_large(parameter: TrainedParameter, others: Sequence[TrainedParameter]) -> bool:
    """Return True if its gradient is as large as the others: a small one changes nothing visible."""
    usual = median([rms(update.grad) for each in others for update in each.updates if update.grad is not None])
    return all(update.grad is not None and rms(update.grad) >= _AS_LARGE * usual for update in parameter.updates)


def _stays(parameter: TrainedParameter) -> bool:
    return _are_still(parameter.updates)


def _are_still(updates: Sequence[Update]) -> bool:
    return len(updates) >= _STEPS and all(
        is_same(update.before, update.after) and not update.after.nonfinite for update in updates
    )


def no_backward(run: TrainingRun) -> Iterator[Finding]:
    """Find steps of an optimizer without any backward pass."""
    if run.backwards or run.failures:
        return
    for at, event in run.optimizers:
        ids = [id for group in event.groups for id in group.parameters]
        known = [run.parameters[id] for id in ids if id in run.parameters]
        used = [each for each in known if each.used and not each.seen.grad]
        if used and not any(each.updates for each in known):
            yield Finding(
                "no updates",
                False,
                asked(
                    f"`{event.optimizer}.step()` ({place(event.source)}) changes nothing: no backward pass was "
                    f"recorded, so {named(used)} {'has' if len(used) == 1 else 'have'} no gradient."
                ),
                "Call `loss.backward()` before the step.",
                event.source,
                at,
                tuple([each.id for each in used]),
            )
            return


def no_updates(run: TrainingRun) -> Iterator[Finding]:
    """Find gradients that arrive in each step and are cleared, without any update."""
    if run.is_training:
        return
    held = [each for each in run.trained if each.is_held and each.gradients]
    cleared = [each for each in held if len(each.gradients) >= _STEPS and len(each.cleared) >= _STEPS - 1]
    others = [each for each in run.parameters.values() if not each.is_held and each.gradients]
    if not cleared or others or len(run.steps) < _STEPS:
        return
    last = run.backwards[-1]
    now = any(each.cleared[-1] > last.event for each in cleared)
    yield Finding(
        "no updates",
        False,
        asked(
            f"No weight is ever updated: in {plural(len(run.backwards), 'backward pass')} ({place(last.source)}), "
            f"{named(cleared)} got gradients that were cleared before any update used them."
        ),
        "Don't call `zero_grad()` between `backward()` and `step()`."
        if now
        else "Call `optimizer.step()` after `backward()`: here it finds no gradients."
        if grouped(run) >= {each.id for each in cleared}
        else "Call `optimizer.step()`, with an optimizer that holds the parameters of this model.",
        last.source,
        last.event,
        tuple([each.id for each in cleared]),
    )


def large_updates(run: TrainingRun) -> Iterator[Finding]:
    """Find an update that is larger than its weight, after which the loss was larger."""
    found: list[tuple[float, int, TrainedParameter, Update]] = []
    once = {parameter.id for group in spikes(run).values() for parameter, *_ in group}  # told as such
    for parameter in run.trained:
        value = parameter.seen.value
        if len(parameter.shape) < 2 or value.min == value.max or parameter.id in once:
            continue
        least = 0.0 if size_of(value) >= _LEAST else _FAR_TOO_LARGE
        for step in run.steps:
            update = step.updates.get(parameter.id)
            if update is None or update.after.nonfinite or update.before.nonfinite or not update.before.norm:
                continue
            after = run.steps[step.number].loss if step.number < len(run.steps) else None
            if update.ratio > max(least, _least_ratio(step.loss, after)):
                found.append((update.ratio, step.number, parameter, update))
                break
    if not found:
        return
    parameters = [parameter for _, _, parameter, _ in found]
    ratio, number_of_step, parameter, update = max(found, key=lambda each: each[0])
    losses = [step.loss for step in run.steps[number_of_step - 1 : number_of_step + 1]]
    rise = ""
    if len(losses) == 2 and None not in losses:
        rise = f"; the loss went from {losses[0]:.3g} to {losses[1]:.3g}"
    count = len(found) - 1
    many = f". {plural(count, 'other parameter')} {'is' if count == 1 else 'are'} affected too" if count else ""
    known = len(losses) == 2 and None not in losses
    exact = "" if update.is_exact else "at least "
    who = f"`{update.optimizer}.step()`" if update.optimizer else "The update"
    facts = (
        f"in step {number_of_step} it changed {parameter.words} by {exact}{ratio:.3g} times its own norm "
        f"(from {update.before.norm:.3g} to {update.after.norm:.3g})"
    )
    size = "too large" if known else "very large"
    yield Finding(
        "large update",
        known,
        asked(f"{who} at {place(update.source)} is {size}: {facts}{rise}{many}.", known),
        f"Clip the gradient with `clip_grad_norm_`: its norm is {update.grad.norm:.3g}, and no usual learning rate is "
        "small enough for that."
        if update.grad is not None and update.grad.norm > _HUGE_GRADIENT and number_of_step == 1
        else "Keep dividing the learning rate by 10 until an update is far smaller than its weight (a norm ratio of "
        "about 0.001 is typical).",
        update.source,
        update.event,
        tuple([each.id for each in parameters]),
    )


def diverges(run: TrainingRun) -> Iterator[Finding]:
    """Find one loss that grows in each of the last steps, to a hundred times the first, with its gradients."""
    if next(large_updates(run), None) is not None or not _grow(run):
        return
    losses = [step.loss or 0.0 for step in run.steps]
    root = run.nodes[run.steps[0].backwards[0].roots[0].node]
    updated = [each for each in run.trained if each.updates]
    update = max(updated, key=lambda each: each.value.norm).updates[0]
    yield Finding(
        "loss grows",
        False,
        asked(
            f"The loss ({place(root.line)}) grows in each of the last {_GROWTHS} steps: it went from {losses[0]:.3g} "
            f"to {losses[-1]:.3g} in {plural(len(losses), 'step')}, so the updates may be too large."
        ),
        "Divide the learning rate by 10 until the loss falls.",
        update.source or root.line,
        update.event,
        tuple([each.id for each in updated]),
    )


def _grow(run: TrainingRun) -> bool:
    """Return True if each step has one loss of one line, and losses, gradients and weights grow far."""
    lines = set()
    for step in run.steps:
        roots = [run.nodes.get(root.node) for each in step.backwards for root in each.roots]
        if len(roots) != 1 or roots[0] is None or not step.updates:
            return False
        lines.add((roots[0].made.operation, roots[0].line))
    losses = [step.loss or 0.0 for step in run.steps]
    if len(lines) != 1 or len(losses) <= _GROWTHS or not 0 < _FAR_TOO_LARGE * losses[0] <= losses[-1] < math.inf:
        return False
    gradients = [sum(grad.norm for grad in step.gradients.values() if grad is not None) for step in run.steps]
    grows = any(each.updates[-1].after.norm > 2 * each.updates[0].after.norm for each in run.trained if each.updates)
    rise = all(one < other for each in (losses, gradients) for one, other in pairwise(each[-_GROWTHS - 1 :]))
    return rise and grows and gradients[-1] * _AS_LARGE > gradients[0] and _overshoot(run.steps[-_GROWTHS - 1 :])


def _overshoot(steps: Sequence[TrainingStep]) -> bool:
    """Return True if each gradient points back: a factor that grows makes a loss grow, too, but no gradient turn."""
    for step, later in pairwise(steps):
        turned = 0.0
        for id, one in step.gradients.items():
            other = later.gradients.get(id)
            if one is not None and other is not None and one.values is not None and other.values is not None:
                turned += sum(a * b for a, b in zip(one.values, other.values, strict=False))
        if turned >= 0:
            return False
    return True


def _least_ratio(loss: float | None, after: float | None) -> float:
    """Return the ratio from which an update is reported: none if the loss falls."""
    if loss is None or after is None:
        return _HUGE_RATIO
    return math.inf if after < loss else 1.0 if after > 1.5 * abs(loss) else _LARGE_RATIO


def growing_graph(run: TrainingRun) -> Iterator[Finding]:
    """Find backward passes that run nodes of earlier steps again: something connects the steps."""
    steps = [step for step in run.steps if step.backwards]
    old: list[int] = []
    older: list[RecordedNode] = []
    for step in steps:
        nodes = [run.nodes[id] for each in step.backwards for id in each.received if id in run.nodes]
        older = [node for node in nodes if node.event < step.begin and not node.made.found]
        old.append(len(older))
    if not _grows(old) or all(node.started[0] > steps[-1].begin for node in older):
        return  # what runs for the first time is no graph of a step before
    backward = steps[-1].backwards[-1]
    ran = [sum(len(each.received) for each in step.backwards) for step in steps]
    begin = steps[-1].begin
    crossing = [
        run.nodes[edge.target]
        for node in run.nodes_of(steps[-1])
        for edge in node.made.edges
        if edge.target in run.nodes and run.nodes[edge.target].event < begin
    ]
    by = f". The result of {describe(crossing[0])} leads there" if crossing else ""
    yield Finding(
        "graph grows",
        True,
        f"The graph grows with every step: the backward pass at {place(backward.source)} runs {_counts(ran)} nodes, "
        f"and in the last step {old[-1]:,} of them came from earlier steps{by}.",
        "Detach what one step passes to the next: `state = state.detach()`.",
        crossing[0].line if crossing else backward.source,
        backward.event,
        tuple([node.id for node in crossing[:1]]),
    )


def kept_graphs(run: TrainingRun) -> Iterator[Finding]:
    """Find graphs of finished steps that stay alive, more of them each step."""
    if not run.is_training and not rounds_of(run.events):
        return  # examples one below the other, each held by a variable
    steps = [step for step in run.steps if step.backwards]
    steps = steps[-_LAST_STEPS:]
    made = [node for node in run.nodes.values() if not node.made.found and not node.inside]
    alive: list[int] = []
    for last, step in zip(steps, steps[1:], strict=False):
        at = step.backwards[-1].event  # what a variable still held is gone by then
        alive.append(sum(node.event < last.begin and (node.gone is None or node.gone > at) for node in made))
    if not _grows(alive):
        return
    if any(len(node.started) > 1 for node in made):  # a growing graph, which another rule reports
        return
    at = steps[-1].backwards[-1].event
    left = [node for node in made if node.event < steps[-2].begin and (node.gone is None or node.gone > at)]
    ends = [node for node in left if not run.users.get(node.id)] or left[-1:]
    node, count = ends[0], Counter([end.line for end in ends])[ends[0].line]
    names = [seen.name for end in ends for seen in end.made.tensors if seen.node == end.id and seen.name]
    if names:
        held = f"{'' if count == 1 else f'{count:,} values of '}{listed(names)} ({place(node.line)})"
    else:
        held = f"{plural(count, 'result')} of {describe(node)}"
    bytes_kept = "" if all(each.freed for each in left) else ", with their saved tensors"
    yield Finding(
        "graphs kept",
        True,
        f"Graphs of finished steps stay in memory: at each backward pass, {_counts(alive)} nodes from before the "
        f"previous step are still alive{bytes_kept}. They are held by {held}.",
        "Store numbers, not tensors that carry a graph: use `loss.item()` or `loss.detach()` in lists and sums.",
        node.line,
        at,
        tuple([end.id for end in ends[:8]]),
    )


def _grows(counts: Sequence[int]) -> bool:
    """Return True if the last values grow, each above the one before."""
    last = counts[-_GROWTHS - 1 :]
    return len(last) > _GROWTHS - 1 and last[-1] > 0 and all(a < b for a, b in zip(last, last[1:], strict=False))


def _counts(counts: Sequence[int]) -> str:
    shown = [f"{count:,}" for count in counts]
    return ", ".join(shown) if len(shown) <= 6 else f"{', '.join(shown[:3])}, … {shown[-1]}"
