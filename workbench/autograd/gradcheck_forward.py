"""gradcheck's checks of forward mode: dual tensors give the Jacobian, and a tangent that is zero may be left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .forward_ad import dual_level, make_dual, unpack_dual
from .jacobians import CHANGES, MISMATCH, GradcheckError, Jacobians, as_tuple, direction, nearly
from .tensor import Tensor, wrap

FORWARD_MISMATCH = MISMATCH.replace("Jacobian", "Jacobian computed with forward mode", 1)

Parts = list[list[Tensor]]  # for each input, of each output; with the history that tangents have


def compare_forward(jacobians: Jacobians) -> None:
    """GradcheckError unless dual tensors give the Jacobians that differences give, output by output."""
    if not jacobians.outputs:
        if not jacobians.constant(False):
            raise GradcheckError(CHANGES)
        return
    pushed = columns(jacobians)
    for i, place in enumerate(jacobians.positions):
        for j, of_input in enumerate(jacobians.numerical):
            n, a = of_input[place], pushed[j][place]
            if not jacobians.close(a._array, n):
                raise GradcheckError(FORWARD_MISMATCH.format(i, j, wrap(n), a))


def compare_forward_direction(jacobians: Jacobians) -> None:
    """GradcheckError unless `J u` agrees, u being a random direction of each input."""
    random = np.random.default_rng(0)
    us = [direction(t, random) for t in jacobians.inputs]
    numerical = [jacobians.slopes(t._array, u) for t, u in zip(jacobians.inputs, us, strict=True)]
    pushed = columns(jacobians, us)
    for j, u in enumerate(us):
        for i, place in enumerate(jacobians.floating):
            n, a = numerical[j][place].ravel(), pushed[j][place]
            if not jacobians.close(a._array, n, float(u.sum())):
                whole = columns(jacobians)[j][place]
                told = FORWARD_MISMATCH.format(i, j, wrap(n), a)
                raise GradcheckError(told + jacobians.element_by_element(j, place, whole))


def columns(jacobians: Jacobians, directions: list[np.ndarray] | None = None) -> Parts:
    """How the outputs change along each element of each input, or along one direction of each."""
    with dual_level():
        duals, moved = _duals(jacobians.given)
        found = []
        for j, t in enumerate(moved):
            whole = directions is not None
            shape = () if whole else (t._array.size,)
            parts = [wrap(np.zeros((*shape, first.size), first.dtype)) for first in jacobians.first]
            for row, at in enumerate([...] if whole else np.ndindex(t._array.shape)):
                t._array[at] = directions[j] if whole else 1
                for part, out in zip(parts, as_tuple(jacobians.func(*duals)), strict=True):
                    tangent = unpack_dual(out).tangent
                    if tangent is not None:
                        (part if whole else part[row]).copy_(tangent.reshape(-1))
                t._array[at] = 0
            found.append(parts)
    return found


def check_undefined_tangents(func: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """GradcheckError unless an input whose tangent is zero gives the same as one that has none."""
    random = np.random.default_rng(0)
    with dual_level():
        duals, moved = _duals(given)
        for t in moved:
            t._array[...] = direction(t, random)
        for place, t in enumerate(given):
            if not (isinstance(t, Tensor) and t.requires_grad):
                continue
            results = []
            for instead in (make_dual(t.detach(), wrap(np.zeros_like(t._array))), t.detach()):
                outputs = as_tuple(func(*duals[:place], instead, *duals[place + 1 :]))
                results.append([unpack_dual(o).tangent for o in outputs if o.is_floating_point()])
            for i, (zero, none) in enumerate(zip(*results, strict=False)):
                if zero is not None and none is not None and not nearly(zero._array, none._array):
                    raise GradcheckError(
                        "Mismatch in tangent values for output with index: ",
                        i,
                        " when input: ",
                        t,
                        " has an undefined tangent value. ",
                        " Got: ",
                        zero,
                        " but expected: ",
                        none,
                    )


def _duals(given: tuple[Any, ...]) -> tuple[list[Any], list[Tensor]]:
    """The inputs, those that require grad as dual tensors, and the tangents of these: zeros, to be written."""
    duals, moved = [], []
    for t in given:
        if isinstance(t, Tensor) and t.requires_grad:
            t = make_dual(t.detach(), wrap(np.zeros_like(t._array)))
            moved.append(unpack_dual(t).tangent)
        duals.append(t)
    return duals, moved
