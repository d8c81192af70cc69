"""Audit an `autograd.Function`: everything that can be wrong with it, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from .case import Case
from .checks import CHECKS, all_checks, checked
from .report import Audit, Check

if TYPE_CHECKING:
    from ...pictures.scene.picture import Picture

__all__ = ["Audit", "Check", "audit"]

_DRAWN = 100  # elements of all inputs and outputs, whose derivatives still make a picture


def _audit(target: Any, *inputs: Any, checks: Sequence[str] | None = None) -> Audit:
    """Run a Function, a function or a module under all that can go wrong, and return what was found.

    `audit.assert_ok` takes the same arguments, and raises AssertionError with the table if a check
    fails.

    Args:
        target: A subclass of `autograd.Function` (of PyTorch or the workbench), a function of tensors,
            or a module.
        inputs: Its arguments. Tensors that require grad are those it's differentiated by; small ones
            suffice.
        checks: The names of the checks to run; by default all.

    Raises:
        TypeError: if the target can't be called.
        ValueError: if no input requires grad, or a check isn't known.
    """
    if not callable(target):
        raise TypeError(f"audit() takes a Function, a function or a module, but got {type(target).__name__}.")
    if unknown := [name for name in checks or () if name not in CHECKS]:
        raise ValueError(f"audit() has no check {unknown[0]!r}; its checks are {', '.join(map(repr, CHECKS))}.")
    case = Case(target, inputs)
    if not case.wanted:
        raise ValueError("audit() needs an input that requires grad: pass a tensor with requires_grad=True.")
    with warnings.catch_warnings(), case.chance, case.engine.enable_grad():
        warnings.simplefilter("ignore")  # those of its own runs
        found = all_checks(case) if checks is None else tuple([checked(case, name) for name in checks])
        return Audit(case.title, found, _picture(case, found))


def _picture(case: Case, found: Sequence[Check]) -> Picture | None:
    """Return the Jacobians by `backward` and by differences, if a check says that they differ."""
    if not any(each.name == "derivative" and each.outcome in ("fail", "question") for each in found):
        return None
    from ...pictures.tools.jacobian import check

    def called(*given: Any) -> tuple[Any, ...]:
        return tuple(case.differentiable(case.run(given)))

    called.__name__ = case.title
    with suppress(Exception):  # what the target does is said in the table; the picture is an addition
        leaves = case.leaves()
        if sum(each.numel() for each in (*leaves, *called(*leaves)) if case.is_tensor(each)) <= _DRAWN:
            return check(called, leaves)
    return None


def _assert_ok(target: Any, *inputs: Any, checks: Sequence[str] | None = None) -> None:
    """Raise AssertionError with the table if a check of `audit` fails."""
    found = _audit(target, *inputs, checks=checks)
    if not found.ok:
        raise AssertionError(str(found))


if TYPE_CHECKING:

    class _Auditor(Protocol):
        def __call__(self, target: Any, *inputs: Any, checks: Sequence[str] | None = None) -> Audit: ...

        def assert_ok(self, target: Any, *inputs: Any, checks: Sequence[str] | None = None) -> None: ...

    audit: _Auditor
else:
    audit = _audit
    audit.assert_ok = _assert_ok
    audit.__name__ = audit.__qualname__ = "audit"
