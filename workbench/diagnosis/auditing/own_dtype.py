"""The gradient in the dtype of the user's own inputs, beside that in a wider one."""

from __future__ import annotations

from typing import Any

from .case import Case
from .comparing import PASS, NotApplicable, Seen, apart, both, failed, shown

_OFF = {"float32": 1e-2, "float16": 5e-2, "bfloat16": 5e-2}  # of the largest: far more than rounding
_LARGEST = {"float16": 6e4, "float32": 3e38, "bfloat16": 3e38}


def own_dtype(case: Case) -> Seen:
    """Compare the gradient in the dtype of the inputs with that of the same numbers in a wider dtype."""
    kinds = {_kind(each) for each in case.inputs if case.is_float(each)}
    narrow = [kind for kind in _OFF if kind in kinds]
    if not narrow:
        raise NotApplicable("its inputs are float64")
    leaves, outputs, seeds = case.graph()
    if any(not bool(case.engine.isfinite(each).all()) for each in outputs):
        raise NotApplicable("its result isn't finite")
    off = max(_OFF[kind] for kind in narrow)
    wide = _wider(case, outputs, seeds, off)
    name = narrow[-1]
    for place, grad, other in zip(case.wanted, case.gradients(outputs, leaves, seeds), wide, strict=True):
        largest = other.abs().max().item() if other.numel() else 0.0
        if not largest < _LARGEST[name] * 0.1:  # nan and infinities too
            continue
        own = grad.detach().to(case.engine.float64)
        is_finite = bool(case.engine.isfinite(own).all())
        if is_finite and apart(case, own / max(largest, 1e-6), other / max(largest, 1e-6)) <= off:
            continue
        a, b = both(case, own, other) if is_finite else (_not_finite(case, own), shown(case, other))
        seen = f"In {name}, the gradient of {case.name(place)} is {a}; in {_kind(other)}, for the same numbers, {b}."
        advice = "Subtract the largest before `exp`, divide before multiplying, or sum in a wider dtype."
        return (
            ("question", f"{seen} Is that enough?", advice, "backward")
            if is_finite
            else failed(seen, advice, "backward")
        )
    return PASS


def _kind(each: Any) -> str:
    return str(each.dtype).rpartition(".")[2]


def _not_finite(case: Case, own: Any) -> str:
    gone = int((~case.engine.isfinite(own)).sum().item())
    return f"nan or infinite in {gone} of {own.numel()} entries"


def _wider(case: Case, outputs: list[Any], seeds: list[Any], off: float) -> list[Any]:
    """Return the gradients in float64, or in float32 if it refuses that; its result has to be the same."""
    for dtype in (case.engine.float64, case.engine.float32):
        try:
            leaves = case.leaves(dtype)
            again = case.differentiable(case.run(leaves))
            grads = case.gradients(again, leaves, [seed.to(out.dtype) for seed, out in zip(seeds, again, strict=True)])
        except Exception:  # it takes no such inputs
            continue
        if len(again) != len(outputs) or any(apart(case, a, b) > off for a, b in zip(outputs, again, strict=True)):
            raise NotApplicable("its result in a wider dtype is another")
        return [each.detach() for each in grads]
    raise NotApplicable("it takes no wider dtype")
