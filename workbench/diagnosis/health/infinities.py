"""Rules about numbers that aren't finite: a loss, a gradient or a weight, and the origin of the first one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf, isfinite

from ...pictures.trace.backward_records import GradChanged
from ...pictures.trace.cuts import cut_words
from ...pictures.trace.facts import TensorSeen
from ...pictures.trace.values import Value, begun, code
from .backwards import RecordedBackward
from .causes import grown, scale_of, scales
from .finding import Finding, asked, describe, hook_words, operation_of, phrases, place, plural, span, written_as
from .graph import RecordedGraph, RecordedNode
from .measures import size_of
from .not_finite import Cause, Source, cause_of_loss, first_cause, given_of, has_nan, kind_of_broken
from .registered import rates_of
from .training_run import TrainedParameter, TrainingRun, TrainingStep, Update
from .zero_gradient import ITSELF

_HUGE = 1e10  # numbers that something had let grow before they overflowed
_GREW = 1e3  # times the first norm of a weight: more than training makes of it

_HINTS = {
    "sqrt": "Add a small number before the root, as in `(x + 1e-8).sqrt()`: its derivative is infinite at 0.",
    "log": "Keep its input above 0: add a small number, clamp it, or use a function that works with logarithms.",
    "div": "Keep the divisor away from 0, for example by adding a small number to it.",
    "rsqrt": "Add a small number before the root, as in `(x + 1e-8).rsqrt()`: it is infinite at 0.",
    "log1p": "Keep its input above -1: add a small number, or clamp it.",
    "pow": "Keep the base away from 0, for example by adding a small number. At 0 a negative power is infinite, and "
    "any power below 1 has an infinite slope.",
    "logsumexp": "Leave at least one position of each row unmasked, or leave completely masked rows out of the loss: "
    "where it sums only -inf, its derivative is nan.",
    "mul": "Replace the infinite values before the product, for example with `masked_fill(mask, 0.0)`: 0 × inf is nan.",
    "linalg_eigh": "Use only the eigenvalues, or keep them apart with a small change of the matrix: the derivative of "
    "eigenvectors divides by the differences between eigenvalues.",
    "linalg_svd": "Use only the singular values, or keep them apart: the derivative of U and V divides by singular "
    "values and their differences, so it isn't finite where two are equal or one is 0.",
    "exp": "The input of `exp` is too large: subtract the maximum first, or work with logarithms (`logsumexp`, "
    "`log_softmax`).",
    "softmax": "Leave at least one position of each row unmasked: a row of scores that are all -inf has no softmax.",
    "acos": "Clamp its input to just inside -1 and 1, where its derivative is infinite, or use `atan2`.",
    "std": "Give it two or more values, or use `correction=0`: it is nan for a single value.",
    "nll_loss": "Skip a batch in which `ignore_index` excludes every target: their mean is nan.",
    "norm": "Add a small number to what is normalized: it has no derivative at 0.",
}
_ALSO = {
    "linalg_eig": "linalg_eigh",
    "linalg_vector_norm": "norm",
    "log_softmax": "softmax",
    "log2": "log",
    "reciprocal": "div",
    "var": "std",
    "asin": "acos",
}
# By operation where it is defined, and what to do about inputs that lie outside: a small number added is no cure there.
_DOMAINS = {
    "sqrt": (
        0.0,
        inf,
        "Check why its input falls below 0, or clamp it above 0: a negative number has no root.",
    ),
    "log": (0.0, inf, "Check why its input falls below 0, or clamp it above 0: a negative number has no logarithm."),
    "pow": (
        0.0,
        inf,
        "Check why its input falls below 0, or clamp it above 0: a negative number has no fractional power, and no "
        "derivative with respect to the exponent.",
    ),
    "log1p": (-1.0, inf, "Check why its input falls below -1, or clamp it above -1: it isn't defined there."),
    "acos": (-1.0, 1.0, "Check why its input leaves the range from -1 to 1, or clamp it to just inside."),
}
_CHOOSE_FIRST = (
    "Replace the bad inputs before this operation, for example `safe = torch.where(x > 0, x, 1.0)`. A `where` after it "
    "is too late: it sends a gradient of 0 to the values that it didn't choose, and 0 × inf is nan."
)
_WHY_AT_0 = re.compile(r": (its derivative|it) is infinite at 0\.$")  # of a hint, where the sentence says so
_SLOPES = frozenset("sqrt rsqrt log log2 log10 reciprocal".split())  # whose derivative is infinite at 0
# Operations whose derivative has no bound where one of their values is 0.
_POLES = frozenset("sqrt rsqrt log log2 log10 div reciprocal pow linalg_vector_norm norm atan2 std var log1p".split())
_MADE_NAN = {"mul": "0 × inf is nan", "add": "inf - inf is nan", "sub": "inf - inf is nan"}  # from infinite inputs
_GIVEN = "Check where it comes from: the data, how it was loaded or normalized, or an update before the recording."


def not_finite(run: TrainingRun) -> Iterator[Finding]:
    """Find a loss, a gradient or a weight that isn't finite, and what made the first such number."""
    trouble = next(_troubles(run), None)
    begins = [each for each in run.trained if each.seen.value.nonfinite and each.used]
    if begins and (trouble is None or trouble.ids[:1] != (begins[0].id,)):
        certain = any(has_nan(each.seen.value) for each in begins)
        if certain or trouble is None:
            trouble = _from_the_beginning(run, begins, certain)
    if trouble is not None:
        yield trouble


def _troubles(run: TrainingRun) -> Iterator[Finding]:
    for step in run.steps:
        for backward in step.backwards:
            for root, loss in zip(backward.roots, backward.losses, strict=False):
                if loss.nonfinite:
                    cause = cause_of_loss(run, backward, root.node)
                    yield finding_of(run, cause) or _unknown_loss(backward, root.node)
        bad = [(id, grad) for id, grad in step.gradients.items() if grad is not None and grad.nonfinite]
        if bad and _matters(run, step, bad):
            ids = [id for id, _ in bad]
            causes = [first_cause(run, backward, backward.starts, *ids) for backward in step.backwards]
            made = next((made for each in causes if (made := finding_of(run, each)) is not None), None)
            yield made or _unknown_gradient(run, step, *bad[0])
        for id, update in step.updates.items():
            if update.after.nonfinite and not update.before.nonfinite:
                yield _by_update(run, run.parameters[id], update)
    for root in _last_roots(run):
        made = finding_of(run, cause_of_loss(run, None, root.id))
        if made is not None:
            yield made


def _last_roots(run: TrainingRun) -> list[RecordedNode]:
    """Return the last results that no backward pass started from: they may be why the program stopped."""
    end = run.backwards[-1].event if run.backwards else -1
    last = [node for node in run.nodes.values() if node.event > end and not node.inside and not node.made.found]
    return [each for each in last if each.id not in run.users and any(map(_is_lost, run.results(each.id)))]


def _is_lost(value: Value) -> bool:
    """Return True if a result has nan, or is one number that isn't finite: several may be those of a mask."""
    return has_nan(value) or (value.nonfinite > 0 and size_of(value) == 1)


def _matters(run: TrainingRun, step: TrainingStep, bad: Sequence[tuple[str, Value]]) -> bool:
    """Return True if the number was used, or nothing came after it; a step that a scaler skips is intentional."""
    used = any(id in step.updates for id, _ in bad)
    if not used and scale_of(run, step, scales(run)):  # a step that is left out
        return False
    if used or step is run.steps[-1] or not run.is_training:
        return True
    return any(grad is not None and grad.nonfinite for grad in run.steps[-1].gradients.values())


def finding_of(run: TrainingRun, cause: Cause, among: str = "") -> Finding | None:
    """Return a cause in words, if it is known; it is the first in a run, or of those that `among` names."""
    if cause.links and not cause.by_gradient:
        return _by_update(run, cause.links[-1].parameter, cause.links[-1].update)
    origin, backward = cause.origin, cause.backward
    sender = run.nodes.get(origin.sender or "")
    if sender is not None and (origin.source is None or _is_aside(origin.source, sender.id)):
        return _by_backward(run, cause, sender, among)
    if origin.source is not None:
        return _by_forward(run, cause, origin.source, sender, among)
    if backward is None or (origin.hook is None and origin.seed is None):
        return None
    if origin.hook is not None:
        line, hook = origin.hook.hook.source, origin.hook.hook
        who = hook_words(hook, run.nodes.get(origin.hook.node))
        what = f"{who} ({place(line)}) turns a finite gradient into a non-finite one."
        return Finding("not finite", True, what, "Check what the hook computes.", line, backward.event, (cause.place,))
    what = f"The backward pass at {place(backward.source)} starts from a gradient that is not finite."
    next_step = "Check the gradient that `backward(...)` or `grad(...)` is given, and what scales the loss."
    return Finding("not finite", True, what, next_step, backward.source, backward.event, (origin.seed or "",))


def _is_aside(source: Source, sender: str) -> bool:
    """Return True if the backward of a node explains more than the forward: its own values, or an intentional mask."""
    return (
        source.is_mask and source.nan is None or (source.node == sender and source.given is None and not source.number)
    )


def _by_forward(run: TrainingRun, cause: Cause, source: Source, sender: RecordedNode | None, among: str) -> Finding:
    node = run.nodes[source.node]
    then = run.nodes.get(source.nan or "")
    if then is not None and source.is_mask:
        node, then = then, node
    elif source.given is not None and source.value is not None:
        return _given(run, source, source.given, source.value)
    results = node.outputs or run.results(node.id) or [node.saved[name] for name in ITSELF if name in node.saved]
    made = next((value for value in results if value.nonfinite), None)
    size = 0 if made is None else size_of(made)
    at = "" if made is None or size == 1 else f"{made.nonfinite} of {size} values"
    given = [value for value in node.inputs if value.is_known]
    if node.made.found:  # what else it was given isn't known
        saved = [value for name, value in node.saved.items() if name not in ITSELF]
        given = [value for value in (*given, *saved) if value.nonfinite]
    infinite = [value for value in given if value.nonfinite]
    ranges = phrases([span(value) for value in given if not value.nonfinite])
    why = "its inputs are unknown"
    if infinite:
        why = f"its input had {plural(infinite[0].nonfinite, 'infinite value')} of {size_of(infinite[0])}"
        why += f", from {describe(then)}" if then is not None and node.id == source.nan else ""
    elif source.number:
        why = f"it was given the number {source.number}"
        why += f", and its inputs were finite ({ranges})" if ranges else ""
    elif any(not size_of(value) for value in given):
        why = "its input is empty"
    elif ranges:
        why = f"its inputs were finite ({ranges})"
    if node.id == source.nan and node.made.operation == "logsumexp":
        where = f", from {describe(then)}" if then is not None else ""
        sentence = f"{describe(node)} gives -inf{at and f' ({at})'}: all that it sums there is -inf{where}."
        return Finding("not finite", True, sentence, _hint(run, node, 0.0), node.line, node.event, (node.id,))
    is_known = not node.made.found and (ranges or infinite or source.number)
    first = "first" if is_known else "first known"
    kind = kind_of_broken(made or next(iter(infinite), None))
    comes = f"comes from {describe(node)}: {at}; {why}" if at else f"is the result of {describe(node)}: {why}"
    if made is None and infinite:  # no result of it is known
        comes = (
            f"is in an input of {describe(node)}: {infinite[0].nonfinite} of {plural(size_of(infinite[0]), 'value')}"
        )
    sentence = f"The {first} {kind}{among} {comes}{_led_to(cause, source, node, then, sender)}."
    large = max([abs(end) for value in given for end in (value.min, value.max) if end is not None], default=0.0)
    is_number = bool(source.number) and node.id == source.node
    hint = "Check that number: it's written or computed on that line." if is_number else _hint(run, node, large)
    return Finding("not finite", True, sentence, hint, node.line, node.event, (node.id,))


def _led_to(
    cause: Cause, source: Source, node: RecordedNode, then: RecordedNode | None, sender: RecordedNode | None
) -> str:
    """Return what a node's infinities led to."""
    if then is not None and node.id == source.node:
        because = _MADE_NAN.get(then.made.operation, "")
        return f". {begun(describe(then))} turns these into nan{because and f', because {because}'}"
    if sender is not None and sender.id != node.id:
        made = f"he backward of {describe(sender)} made gradients that aren't"
        return f". The loss was finite, but t{made}" if _starts_finite(cause) else f". T{made} finite"
    return ""


def _starts_finite(cause: Cause) -> bool:
    return cause.backward is not None and not any(loss.nonfinite for loss in cause.backward.losses)


def _by_backward(run: TrainingRun, cause: Cause, node: RecordedNode, among: str) -> Finding:
    """Find a node whose own backward made such numbers from finite ones."""
    sent = next(grad for grad in node.sent if grad is not None and grad.nonfinite)
    known = [value for value in node.inputs if value.is_known]
    inputs, hint = _inputs_words(run, node, known), _hint(run, node, 0.0)
    large = max([abs(end) for value in known for end in (value.min, value.max) if end is not None], default=0.0)
    if node.made.operation in _SLOPES and any(0 in (value.min, value.max) for value in known):
        inputs += f"; the slope of `{node.made.operation}` is infinite at 0"
        hint = _WHY_AT_0.sub(".", hint)
    if node.made.operation in _DOMAINS and _is_chosen_from(run, node):
        hint = _CHOOSE_FIRST
    return Finding(
        "not finite",
        True,
        f"The first non-finite gradients{among} come from the backward of {describe(node)}: {sent.nonfinite} of "
        f"{plural(size_of(sent), 'value')}{inputs}. The {'loss and the ' * _starts_finite(cause)}incoming gradient "
        f"{'were' if _starts_finite(cause) else 'was'} finite.",
        f"Keep its inputs smaller: its gradient is multiplied by up to {large:.3g}, and the product is too large for "
        f"{sent.dtype}."
        if node.made.operation == "mul" and large > _HUGE
        else hint,
        node.line,
        node.finished[0],
        (node.id,),
    )


def _is_chosen_from(run: TrainingRun, node: RecordedNode) -> bool:
    """Return True if only `where` uses a result: it was to replace what isn't finite."""
    users = run.users.get(node.id, ())
    return bool(users) and all(run.nodes[user].made.operation == "where" for user in users if user in run.nodes)


def _inputs_words(run: TrainingRun, node: RecordedNode, known: Sequence[Value]) -> str:
    """Return the ranges of a node's inputs, and where the huge one of two factors grew."""
    growth = grown(run, node)
    huge = [value for value in known if max(abs(value.min or 0.0), abs(value.max or 0.0)) > _HUGE]
    if growth and len(known) == 2 and len(huge) == 1 and node.made.operation == "mul":
        other = known[0] if huge[0] is known[1] else known[1]
        return f". One factor was {span(huge[0])}; it had grown{growth}. The other was {span(other)}"
    ranges = list(dict.fromkeys([span(value) for value in known]))
    verb = "ranged" if len(ranges) == 1 and ranges[0].startswith("from") else "were"
    return f", where its inputs {verb} {phrases(ranges)}{growth and f', which had grown{growth}'}" if ranges else ""


def _unknown_loss(backward: RecordedBackward, root: str) -> Finding:
    what = f"The backward pass at {place(backward.source)} starts at a value that is not finite, and no node made it."
    return Finding(
        "not finite", True, what, "Check what it was computed from.", backward.source, backward.event, (root,)
    )


def _unknown_gradient(run: TrainingRun, step: TrainingStep, id: str, grad: Value) -> Finding:
    parameter = run.parameters[id]
    change = run.broken_by(id, step.end)
    if change is not None and isinstance(change.made, GradChanged):
        line, count = change.made.source, f"{grad.nonfinite} of {size_of(grad)} values"
        what = f"{code(change.made.name or 'the program')} ({place(line)}) makes the gradient of {parameter.words} not "
        what += f"finite in step {step.number}: {count}. The backward pass had brought finite values."
        return Finding("not finite", True, what, "Check the value that this line writes.", line, change.event, (id,))
    return Finding(
        "not finite",
        True,
        f"The gradient of {parameter.words} is not finite in step {step.number}: {grad.nonfinite} of "
        f"{size_of(grad)} values; no recorded node made it so.",
        "Check the gradient that the backward pass starts from, hooks, and what scales the loss.",
        None,
        parameter.gradients[0].event if parameter.gradients else step.begin,
        (id,),
    )


def _hint(run: TrainingRun, node: RecordedNode, large: float) -> str:
    name = node.made.operation
    if large > _HUGE:
        if not any(update.event < node.event for each in run.parameters.values() for update in each.updates):
            reached = f"{large:.3g} before any recorded update"
            return f"Normalize its inputs, or compute with logarithms: they reached {reached}."
        return _lower(run, node, large)
    if any(not size_of(value) for value in node.inputs):
        return (
            "Check what selects the values, and skip the step if nothing is selected: the result for no values is nan."
        )
    name = _ALSO.get(name, name)
    low, high, outside = _DOMAINS.get("sqrt" if name == "rsqrt" else name, (-inf, inf, ""))
    ends = [end for value in node.inputs[:1] for end in (value.min, value.max) if end is not None]
    is_nan = any(value is not None and has_nan(value) for value in (*node.outputs, *node.sent))
    if is_nan and any(not low <= end <= high for end in ends):
        return outside
    hint = _HINTS.get(name)
    if hint is not None:
        return hint
    if not is_nan and any(value is not None and value.dtype == "float16" for value in (*node.outputs, *node.sent)):
        return (
            "Numbers above 65504 are inf in `float16`: scale the loss, or compute this part in `float32` or `bfloat16`."
        )
    step = run.shown_step(node.event)
    shown = "trace.show()" if step is None else f"trace.show(step={step})"
    return f"Look at its inputs: open `{shown}`, press `/` and type `{node.made.name}`."


def _lower(run: TrainingRun, node: RecordedNode, large: float) -> str:
    """Return what to do about inputs that became huge after an update; if weights grew with them, the run diverged."""
    inputs = f"The inputs of {operation_of(node)} had already grown to {large:.3g}"
    changes = [[each for each in one.updates if each.event < node.event] for one in run.parameters.values()]
    if any(each and each[-1].after.norm > _GREW * each[0].before.norm > 0 for each in changes):
        return f"Lower the learning rate. {inputs}, so the run was diverging before this operation."
    return f"Check the learning rate and how fast the loss grows. {inputs}."


def _given(run: TrainingRun, source: Source, seen: TensorSeen, value: Value) -> Finding:
    """Find data or weights that weren't finite before any operation."""
    node = run.nodes[source.node]
    own = run.parameters.get(seen.id)
    if own is not None and own.used and own.seen.value.nonfinite:
        return _from_the_beginning(run, [own], True)
    name = code(seen.name) if seen.name else written_as(node, seen.id)
    count = f"{value.nonfinite} of {size_of(value)} values"
    next_step, line, event = _GIVEN, node.line, node.event
    subject = f"{name}, an input of {describe(node)}," if name else f"An input of {describe(node)}"
    if source.written is not None:
        event, write = source.written
        line = write.source
        what = f"{code(write.name)} ({place(line)}) makes {name or 'a tensor'} not finite"
        sentence = f"{what}: {count}; {describe(node)} uses it."
        next_step = "Check the value that this line writes."
    elif seen.cut is not None:
        word = "under `no_grad`" if seen.cut.word == "no_grad" else f"after {cut_words(seen.cut)}"
        sentence = f"{subject} is not finite: {count}; it was computed {word} "
        sentence += f"({place(seen.cut.source)})."
        line = seen.cut.source or line
        next_step = "Check what is computed there."
    else:
        sentence = f"{subject} is not finite: {count}"
        frozen = [id for id in run.frozen if has_nan(run.values[id]) and id != seen.id] if not seen.name else []
        if frozen:  # what it is given may have been computed by a layer whose weights take no gradient
            first, value = code(run.frozen[frozen[0]].name or "a tensor"), run.values[frozen[0]]
            count = f"{value.nonfinite} of {size_of(value)} values"
            sentence += f"; no recorded operation made it so. {begun(first)}, which takes no gradient, contains nan "
            sentence += f"too: {count}."
            next_step = f"Check how {first} was created or loaded, and what was written to it."
        else:
            sentence += "." if node.made.found else "; it was already so before the forward pass."
    return Finding("not finite", True, sentence, next_step, line, event, (seen.id, node.id))


def _from_the_beginning(run: TrainingRun, parameters: Sequence[TrainedParameter], certain: bool) -> Finding:
    """Find weights that weren't finite before the first step."""
    first = parameters[0]
    node, value = run.nodes[first.used[0]], first.seen.value
    kind = kind_of_broken(value)
    count = f"{value.nonfinite} of {size_of(value)} values {'is' if value.nonfinite == 1 else 'are'} {kind}"
    more = len(parameters) - 1
    others = f" {plural(more, 'other parameter')} {'is' if more == 1 else 'are'} affected too." if more else ""
    when = "before the first step" if run.is_whole else "before the first recorded step"
    return Finding(
        "not finite",
        certain,
        asked(
            f"{first.words} is not finite {when}: {count}; {describe(node)} is the first to use it.{others}",
            certain,
        ),
        "Check how it was created or loaded (`torch.empty` returns uninitialized memory), and earlier updates.",
        node.line,
        node.event,
        tuple([each.id for each in parameters]),
    )


def _by_update(run: TrainingRun, parameter: TrainedParameter, update: Update) -> Finding:
    step = run.step_of(update.event)
    within = "" if step is None else f", in step {step.number}"
    finite = update.grad is not None and not update.grad.nonfinite
    rates = rates_of(run, parameter.id) if update.optimizer else []
    rate = next((rate for rate in rates if rate is not None and not isfinite(rate)), None)
    return Finding(
        "not finite",
        True,
        f"{updated_words(update)} makes {parameter.words} not finite: "
        f"{update.after.nonfinite} of {size_of(update.after)} values{within}."
        f"{' Its gradient was finite.' if finite else ''}",
        f"Check what sets its learning rate (`lr`), which was {rate}."
        if rate is not None
        else "Lower the learning rate, or clip the gradient norm."
        if update.optimizer
        else "Check the value that this line writes.",
        update.source,
        update.event,
        (parameter.id,),
    )


def updated_words(update: Update) -> str:
    """Return what made an update."""
    return f"{f'`{update.optimizer}.step()`' if update.optimizer else 'The program'} at {place(update.source)}"


def infinite_slope(run: RecordedGraph, node: str) -> str:
    """Return that a value is 0 at which the slope of a node's operation is infinite; "" if it isn't known to be."""
    own = run.nodes.get(node)
    if own is None or own.made.operation not in _POLES:
        return ""
    known = {**own.saved, **{seen.name or "its input": value for seen, value in given_of(run, node)}}
    zeros = [name for name, value in known.items() if value.is_known and 0 in (value.values or (value.min, value.max))]
    names = {"self": "one of its inputs is 0", "other": "it divides by 0", "result": "one of its results is 0"}
    if not zeros:
        return ""
    word = names.get(zeros[0]) or f"{code(zeros[0])} has a 0"
    return f"{word}, and there the slope of `{own.made.operation}` is infinite"
