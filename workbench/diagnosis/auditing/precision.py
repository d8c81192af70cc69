"""In what precision a target computes: what it says, and what its numbers show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .case import Case

_NEAR = 1e-9  # a step below the resolution of float32
_FAR = 1e-3  # and one above it
_UNEVEN = 1e-2  # of a step, by which two equal ones may differ
_COARSE = 1e-5  # of the size of an output: larger jumps are those of half precision
_HALF = ("float16", "bfloat16")


def resolution(case: Case) -> str:
    """Return "float64", "float32" or "half": in what the target computes if it's given float64.

    A target may take float64 and return it, but compute in float32 inside. Its outputs then don't follow small steps of
    its inputs.
    """
    engine = case.engine
    try:
        outputs = case.differentiable(case.run(case.leaves(engine.float64)))
        is_precise = bool(outputs) and all(each.dtype == engine.float64 for each in outputs)
    except Exception:  # the checks in the dtype of the inputs say what is wrong
        is_precise = False
    if not is_precise:
        kinds = [str(case.inputs[place].dtype).rpartition(".")[2] for place in case.wanted]
        return "half" if any(kind in _HALF for kind in kinds) else _by_jumps(case, None)
    return "float64" if _follows(case) else _by_jumps(case, engine.float64)


def _follows(case: Case) -> bool:
    """Return True if two equal steps, too small for float32, change the outputs equally."""
    start, once, again, far = [_moved(case, by, case.engine.float64) for by in (0.0, _NEAR, 2 * _NEAR, _FAR)]
    for a, b, c, d in zip(start, once, again, far, strict=True):
        if tuple(a.shape) != tuple(b.shape) or not a.numel() or not bool(case.engine.isfinite(a).all()):
            continue
        first, both, floor = b - a, c - a, 1e-14 * max(1.0, a.abs().max().item())
        uneven = (both - 2 * first).abs() > _UNEVEN * both.abs() + 4 * floor
        stuck = (first == 0) & ((d - a).abs() > 1e-6 * max(1.0, a.abs().max().item()))
        if bool(uneven.any()) or bool(stuck.any()):
            return False
    return True


def _by_jumps(case: Case, dtype: Any) -> str:
    """Return "half" if the outputs jump by more than float32 would."""
    path = [_moved(case, k * 1e-4, dtype) for k in range(4)]
    for outputs in zip(*path, strict=True):
        if not outputs[0].numel() or any(tuple(each.shape) != tuple(outputs[0].shape) for each in outputs):
            continue
        bends = [(a - 2 * b + c).abs() for a, b, c in zip(outputs, outputs[1:], outputs[2:], strict=False)]
        size = max(1e-30, outputs[0].abs().max().item())
        if any((bend > _COARSE * size).to(dtype=case.engine.float64).mean().item() > 0.5 for bend in bends):
            return "half"
    return "float32"


def _moved(case: Case, by: float, dtype: Any) -> list[Any]:
    """Return the outputs after each differentiable input moved by a step in a fixed direction."""
    leaves = case.leaves(dtype)
    for place in case.wanted:
        if case.is_float(leaves[place]):
            at = leaves[place].detach()
            way = case.numbers(at, 0.7 + place)
            leaves[place] = (at + way * by).requires_grad_()
    return [each.detach().to(case.engine.float64) for each in case.differentiable(case.run(leaves))]
