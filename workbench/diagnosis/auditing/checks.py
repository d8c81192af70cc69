"""The checks of an audit by name, and how one runs."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from typing import Any

from . import derivatives, layouts, memory, own_dtype, sizes, surroundings, uses
from .case import Case
from .comparing import NotApplicable, Seen, in_a_line
from .report import Check

RUNS = "forward and backward run"
SAME = "same result again"  # without which others may compare two different runs
ALONE = "each input alone"
NEEDED = "only what is needed"
CHECKS: dict[str, Callable[[Case], Seen]] = {
    "derivative": derivatives.derivative,
    "gradient in its own dtype": own_dtype.own_dtype,
    "gradient of any layout": layouts.layouts,
    "expanded gradient": layouts.expanded,
    "gradient isn't written": memory.gradient_unchanged,
    "saved tensors aren't written": memory.saved_unchanged,
    "backward twice": memory.twice,
    "saved tensors read once": memory.unpacked_once,
    ALONE: layouts.each_alone,
    "second derivative": derivatives.second_derivative,
    "inputs written in place": memory.dirty,
    "inputs written later": memory.written_later,
    "inputs of any layout": layouts.strided_inputs,
    SAME: memory.same_again,
    "shapes and dtypes": uses.kinds,
    "memory goes": memory.no_cycle,
    "gradients None and zero": uses.none_and_zero,
    "old name of a result": uses.thrown_away,
    "shared outputs": uses.shared_outputs,
    NEEDED: uses.only_what_is_needed,
    "under a checkpoint": surroundings.in_checkpoint,
    "random state": surroundings.random_state,
    "two calls at once": surroundings.two_at_once,
    "under autocast": surroundings.under_autocast,
    "empty and 0-d inputs": sizes.other_sizes,
    "other batch sizes": sizes.batch_sizes,
    "many rows": sizes.many_rows,
    "large numbers": sizes.large_numbers,
    "jvp": derivatives.declares_jvp,
    "vmap": derivatives.declares_vmap,
}

# What to do about errors of the engine, by a part of their text.
_ADVICE = {
    "returned as-is as output is being saved": "Return `x.view_as(x)` instead of `x`, or save the input.",
    "incorrect number of gradients": "Return one value for each argument of `forward`, and None where there is none.",
    "marked as dirty": "Return the very tensor that is marked dirty, not a copy of it.",
    "is a view and is being modified inplace": "Leave out `inplace=True`, or return a copy.",
    "returned an invalid gradient": "Return a gradient of the input's own shape.",
    "more than one element of the written-to tensor": "Compute out of place: `grad * x`, not `grad.mul_(x)`.",
    "modified by an inplace operation": "Don't write into what is saved: compute a new tensor.",
}


# The condition under which a check runs it, and what to do if it raises then.
_WHEN = {
    "gradient of any layout": (
        "With a gradient that isn't contiguous, it",
        "Use `reshape` instead of `view`, or call `.contiguous()` on the gradient first.",
    ),
    "expanded gradient": ("With an expanded gradient, it", "Call `.contiguous()` on the gradient first."),
    ALONE: ("If only one input requires grad, it", "Return None where `ctx.needs_input_grad` is False."),
    "gradients None and zero": (
        "If an output is unused, it",
        "With `set_materialize_grads(False)`, the gradient of an unused output is None: check for that.",
    ),
}


def checked(case: Case, name: str) -> Check:
    """Run one check; an error of the target is a failure of it."""
    try:
        outcome, evidence, advice, method = CHECKS[name](case)
    except NotApplicable as why:
        return Check(name, "not applicable", str(why))
    except Exception as error:
        return raised(case, name, error)
    if outcome == "fail" and method == "backward" and _draws(case):
        evidence, advice = f"`backward` draws random numbers. {evidence}", _DRAW_ADVICE
    where = case.line(method) if outcome in ("fail", "question", "note") and method else ""
    return Check(name, outcome, evidence, advice, where)


_DRAW_ADVICE = "Draw them in `forward`, and save what came out: the gradient belongs to these numbers."


def _draws(case: Case) -> bool:
    """Return True if `backward` draws random numbers; its errors are those of other checks."""
    try:
        return case.draws_in_backward
    except Exception:
        return False


def raised(case: Case, name: str, error: Exception) -> Check:
    """Return the failure that an error of the target is."""
    where = case.raised_at(error) or case.line("backward") or case.line("forward")
    who, advice = _WHEN.get(name, ("It", ""))
    advice = next((each for sign, each in _ADVICE.items() if sign in str(error)), advice)
    return Check(name, "fail", f"{who} raises {in_a_line(error)}", advice, where)


def why_not_run(case: Case) -> Check | None:
    """Run the target forward and backward once, and return what is wrong if that can't be done."""
    try:
        leaves, outputs, seeds = case.graph()
        if outputs:
            case.gradients(outputs, leaves, seeds)
            return None
    except Exception as error:
        if "incompatible with .grad()" in str(error):
            reason = "its reentrant checkpoint takes no `autograd.grad`; with `use_reentrant=False` it can be audited"
            return Check(RUNS, "not applicable", reason)
        return raised(case, RUNS, error)
    if _computes_gradients(case) and any(case.is_float(each) for each in case.run(case.leaves())):
        advice = "Take it out of `ctx.mark_non_differentiable`, or compute it from the inputs without `detach`."
        return Check(RUNS, "fail", "An input requires grad, but no output does.", advice, case.line("forward"))
    return Check(RUNS, "not applicable", "no output requires grad")


def _computes_gradients(case: Case) -> bool:
    """Return False for a Function without a `backward`, or with one that only returns None."""
    own: Any = getattr(case.function, "backward", None)
    if case.function is None:
        return True
    reads = dis.get_instructions(inspect.unwrap(own)) if inspect.isfunction(own) and case.defines("backward") else ()
    return any("LOAD_FAST" in each.opname for each in reads)


def _unless_noted(check: Check) -> Check:
    """Leave out what is computed and not needed, if the gradients of single inputs are wrong."""
    if check.name == NEEDED and check.outcome == "note":
        return Check(NEEDED, "not applicable", f"`{ALONE}` failed")
    return check


def all_checks(case: Case) -> tuple[Check, ...]:
    """Run all checks, or say why none can be run."""
    if (first := why_not_run(case)) is None:
        found = [checked(case, name) for name in CHECKS]
        if any(each.outcome == "fail" and each.name == SAME for each in found):
            unlike = "two runs on equal inputs differ"
            found = [
                Check(each.name, "not applicable", unlike) if each.outcome == "fail" and each.name != SAME else each
                for each in found
            ]
        if any(each.outcome == "fail" and each.name == ALONE for each in found):
            found = [_unless_noted(each) for each in found]
        return (Check(RUNS, "pass"), *found)
    reason = "it doesn't run" if first.outcome == "fail" else first.evidence
    return (first, *[Check(name, "not applicable", reason) for name in CHECKS])
