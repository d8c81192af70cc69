"""Jacobians twice over, from differences of a function's values and from its backward, and whether both agree.

A Jacobian has a row for each element of an input and a column for each element of an output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .differentiate import gradients
from .tensor import Tensor, wrap

PERTURBED = (
    "Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, but got: "
    "{what}s {one} and {other}."
)
MISMATCH = "Jacobian mismatch for output {} with respect to input {},\nnumerical:{}\nanalytical:{}\n"
CHANGES = "Numerical gradient for function expected to be zero"
FAST_FAILED = """
The above quantities relating the numerical and analytical jacobians are computed \n\
in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n\
about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:

Numerical:
 {}
Analytical:
{}

The max per-element difference (slow mode) is: {}.
"""
SLOW_WOULD_PASS = """\
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:

If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `fast_mode=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_fast_mode=False`
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_fast_mode=False`"""
NOT_REENTRANT = """\
Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different \
values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""


class GradcheckError(RuntimeError):
    """What gradcheck raises where a derivative is wrong."""

    __module__ = f"{__package__}.gradcheck"  # where users find it


def as_tuple(value: Any) -> tuple[Any, ...]:
    """What a function takes or returns, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


class Jacobians:
    """A function at one point: how its outputs change with those inputs that require grad.

    The inputs are written in place, behind the engine's back, and have their values again afterwards, also if the
    function raises.
    """

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float) -> None:
        self.func, self.given, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self._found: list[list[np.ndarray]] | None = None
        self.inputs = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
        returned = as_tuple(func(*inputs))
        self.positions = [k for k, o in enumerate(returned) if o.requires_grad]
        self.outputs = [returned[k] for k in self.positions]
        self.first = _values(returned)
        self.floating = [k for k, value in enumerate(self.first) if value.dtype.kind == "f"]

    @property
    def numerical(self) -> list[list[np.ndarray]]:
        """For each input the Jacobian of every output."""
        if self._found is None:
            self._found = [self._numerical(t) for t in self.inputs]
        return self._found

    def compare(self, nondet_tol: float) -> None:
        """GradcheckError unless the Jacobians agree, output by output."""
        for i, output in enumerate(self.outputs):
            analytical = self._twice(lambda output=output: self._analytical(output), nondet_tol)
            for j, a in enumerate(analytical):
                n = self.numerical[j][self.positions[i]]
                if not self.close(a, n):
                    raise GradcheckError(MISMATCH.format(i, j, wrap(n), wrap(a)))

    def compare_one_direction(self, nondet_tol: float) -> None:
        """GradcheckError unless `u J v` agrees, u and v being random directions of each input and output."""
        random = np.random.default_rng(0)
        us, vs = ([direction(t, random) for t in tensors] for tensors in (self.inputs, self.outputs))
        numerical = [self.slopes(t._array, u) for t, u in zip(self.inputs, us, strict=True)]
        analytical = [
            self._twice(lambda o=o, v=v: self._dots(us, o, v), nondet_tol)
            for o, v in zip(self.outputs, vs, strict=True)
        ]
        for j, u in enumerate(us):
            for i, v in enumerate(vs):
                n, a = (numerical[j][self.positions[i]] * v).sum(), analytical[i][j]
                if not self.close(a, n, float(u.sum()) * float(v.sum())):
                    whole = wrap(self._analytical(self.outputs[i])[j])
                    told = self.element_by_element(j, self.positions[i], whole)
                    raise GradcheckError(MISMATCH.format(i, j, n.item(), a.item()) + told)

    def element_by_element(self, j: int, place: int, analytical: Tensor) -> str:
        """What the whole Jacobians of one output by one input have to say of a mismatch in one direction."""
        numerical = self._numerical(self.inputs[j])[place]
        worst = np.abs(numerical - analytical._array).max()
        told = FAST_FAILED.format(wrap(numerical), analytical, worst.item())
        return told + SLOW_WOULD_PASS if self.close(analytical._array, numerical) else told

    def constant(self, fast: bool) -> bool:
        """Whether no floating-point output changes at all."""
        random = np.random.default_rng(0)
        for t in self.inputs:
            slopes = self.slopes(t._array, direction(t, random)) if fast else self._numerical(t)
            if any((slope != 0).any() for slope in slopes):
                return False
        return True

    def slopes(self, part: np.ndarray, direction: Any, where: str = "") -> list[np.ndarray]:
        """The derivative of every output when part of an input moves in a direction; integers have none."""
        before = part.copy()
        change = self.eps * np.asarray(direction, np.float64)
        try:
            part[...] = before.astype(np.float64) - change
            low = _values(self.func(*self.given))
            part[...] = before.astype(np.float64) + change
            high = _values(self.func(*self.given))
        finally:
            part[...] = before
        for ones, others in ((low, high), (self.first, low)):
            for one, other in zip(map(wrap, ones), map(wrap, others), strict=False):
                for what, a, b in (("shape", one.shape, other.shape), ("dtype", one.dtype, other.dtype)):
                    if a != b:
                        raise AssertionError(PERTURBED.format(what=what, where=where, eps=self.eps, one=a, other=b))
        with np.errstate(all="ignore"):
            return [(b - a) / (2 * self.eps) if a.dtype.kind == "f" else 0 * a for a, b in zip(low, high, strict=False)]

    def _numerical(self, t: Tensor) -> list[np.ndarray]:
        """The Jacobian of every output by one input, element by element."""
        rows = [self.slopes(t._array[(*at, ...)], 1, f"on index {at} ") for at in np.ndindex(t._array.shape)]
        if not rows:
            return [np.zeros((0, out.size), out.dtype) for out in self.first]
        return [np.stack([slope.ravel() for slope in column]) for column in zip(*rows, strict=True)]

    def _analytical(self, output: Tensor) -> list[np.ndarray]:
        """The Jacobian of one output by every input: one backward for each element."""
        columns = []
        for at in np.ndindex(output._array.shape):
            seed = np.zeros(output._array.shape, output._array.dtype)
            seed[at] = 1
            columns.append([g.ravel() for g in self._pulled(output, seed)])
        if not columns:
            return [np.zeros((t._array.size, 0), t._array.dtype) for t in self.inputs]
        return [np.stack(column, axis=1) for column in zip(*columns, strict=True)]

    def _pulled(self, output: Tensor, seed: np.ndarray) -> list[np.ndarray]:
        """The gradients of the inputs, zero where none arrived."""
        found = gradients((output,), self.inputs, [wrap(seed)], True, False)
        for g, t in zip(found, self.inputs, strict=True):
            if g is not None and g.dtype is not t.dtype:  # PyTorch says "size" of dtypes too
                raise GradcheckError("Analytical gradient has incorrect size")
        return [np.zeros_like(t._array) if g is None else g._array for g, t in zip(found, self.inputs, strict=True)]

    def _dots(self, us: list[np.ndarray], output: Tensor, v: np.ndarray) -> list[Any]:
        return [(u * g).sum() for u, g in zip(us, self._pulled(output, v), strict=True)]

    @staticmethod
    def _twice(backward: Callable[[], list[Any]], nondet_tol: float) -> list[Any]:
        """What a backward gives, after a second run gave the same."""
        once, again = backward(), backward()
        for a, b in zip(once, again, strict=True):
            if np.size(a) and np.abs(a - b).max() > nondet_tol:
                raise GradcheckError(NOT_REENTRANT.format(nondet_tol))
        return once

    def close(self, a: Any, n: Any, times: float = 1.0) -> bool:
        """Whether what a formula gives is near enough to what differences give."""
        return nearly(a, n, self.rtol, self.atol * times)


def nearly(a: Any, n: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Whether numbers are near those that they should be."""
    with np.errstate(all="ignore"):
        return bool(np.all((a == n) | (np.isfinite(n) & (np.abs(a - n) <= atol + rtol * np.abs(n)))))


def _values(outputs: Any) -> list[np.ndarray]:
    return [np.array(o._array) for o in as_tuple(outputs)]


def direction(t: Tensor, random: np.random.Generator) -> np.ndarray:
    """Random numbers of length 1 in a tensor's shape and dtype."""
    numbers = np.asarray(random.random(t._array.shape))
    return (numbers / (np.linalg.norm(numbers) or 1.0)).astype(t._array.dtype)
