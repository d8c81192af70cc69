"""The checks of an audit by name, and how one runs."""

from __future__ import annotations

from collections.abc import Callable

from . import derivatives, layouts, memory
from .case import Case
from .comparing import NotApplicable, Seen
from .report import Check

CHECKS: dict[str, Callable[[Case], Seen]] = {
    "derivative": derivatives.derivative,
    "gradient of any layout": layouts.layouts,
    "expanded gradient": layouts.expanded,
    "gradient isn't written": memory.gradient_unchanged,
    "saved tensors aren't written": memory.saved_unchanged,
    "backward twice": memory.twice,
    "saved tensors read once": memory.unpacked_once,
    "each input alone": layouts.each_alone,
    "second derivative": derivatives.second_derivative,
    "inputs written in place": memory.dirty,
    "inputs of any layout": layouts.strided_inputs,
    "same result again": memory.same_again,
    "shapes and dtypes": layouts.kinds,
    "memory goes": memory.no_cycle,
    "jvp": derivatives.declares_jvp,
    "vmap": derivatives.declares_vmap,
}


def checked(case: Case, name: str) -> Check:
    """Run one check; an error of the target is a failure of it."""
    try:
        outcome, evidence, advice, method = CHECKS[name](case)
    except NotApplicable as why:
        return Check(name, "not applicable", str(why))
    except Exception as error:
        said = str(error).strip().splitlines()
        return Check(
            name, "fail", f"It raises {type(error).__name__}: {said[0] if said else ''}", "", case.line("backward")
        )
    return Check(name, outcome, evidence, advice, case.line(method) if outcome == "fail" and method else "")
