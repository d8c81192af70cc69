"""Audit an `autograd.Function`: everything that can be wrong with it, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .case import Case
from .checks import CHECKS, checked
from .report import Audit, Check

__all__ = ["Audit", "Check", "audit"]


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
        ValueError: if no input requires grad, or a check isn't known.
    """
    if unknown := [name for name in checks or () if name not in CHECKS]:
        raise ValueError(f"audit() has no check {unknown[0]!r}; its checks are {', '.join(map(repr, CHECKS))}.")
    case = Case(target, inputs)
    if not case.wanted:
        raise ValueError("audit() needs an input that requires grad: pass a tensor with requires_grad=True.")
    random = case.engine.get_rng_state()
    try:
        with case.engine.enable_grad():
            found = tuple([checked(case, name) for name in (CHECKS if checks is None else checks)])
    finally:
        case.engine.set_rng_state(random)
    return Audit(case.title, found)


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
