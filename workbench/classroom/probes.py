"""Probes that most exercises need.

A probe takes an answer, runs it and returns what it found: numbers, words, tensors, lists and dicts of these.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import workbench as torch

from .answer_errors import Unusable
from .answer_kind import is_function
from .cells import YOURS, Table, table
from .comparison import TOLERANCE, as_numbers, close, detached
from .evidence import alike, plain

WRITTEN_INTO = "your code changed {} in place, but it's used elsewhere too"
THE_GRADIENT = "the gradient it received"
YOUR_GRADIENT = "yours: gradient of {}"
OTHER_SHAPE = ", of another shape"

Probe = Callable[[Any], Any]
_Case = Sequence[Any]  # the arguments of one call: those that move become tensors, all else stays
_MOVING = float | complex | list  # numbers and lists of numbers in double precision
_ARRIVING = [2.0, -3.0, 5.0, -7.0, 11.0, 13.0, -17.0, 19.0, 23.0]  # no two sums of a few of these are alike
_TURNED = 1 + 0.5j  # times this, a gradient shows whether a conjugate is forgotten


@dataclass(frozen=True)
class Cases:
    """A probe that runs the answer on each case; if it returns arrays, their wrong cells can be marked.

    With `names` for the incoming gradient and the arguments, these are drawn too.
    """

    run: Callable[[Any, _Case], Any]
    cases: tuple[_Case, ...]
    names: tuple[str, ...] = ()

    def __call__(self, answer: Any) -> list[Any]:
        return [self.run(answer, case) for case in self.cases]

    def tables(self, aspect: str, found: Any, expected: Any, right: bool) -> tuple[Table, ...]:
        """Return the tables of the first case with a wrong result, or of the first case if all are right."""
        if not all(isinstance(each, list | np.ndarray) and len(each) == len(self.cases) for each in (found, expected)):
            return ()
        for case, mine, wanted in zip(self.cases, found, expected, strict=True):
            if right or not alike(plain(mine), plain(wanted)):
                return self._given(case) + self._judged(aspect, mine, wanted, right) if _has_arrays(mine) else ()
        return ()

    def _given(self, case: _Case) -> tuple[Table, ...]:
        given = [(name, each) for name, each in zip(self.names, case, strict=bool(self.names)) if each is not None]
        drawn = [table(name, as_numbers(np.asarray(detached(each))), given=True) for name, each in given]
        return tuple(each for each in drawn if each)

    def _judged(self, aspect: str, mine: Any, wanted: Any, right: bool) -> tuple[Table, ...]:
        """Return the answer's own numbers, each marked as right or wrong."""
        several = isinstance(wanted, list) or bool(self.names)
        pairs = list(zip(mine, wanted, strict=False)) if several else [(mine, wanted)]
        moving = [name for name, each in zip(self.names, self.cases[0], strict=False) if isinstance(each, _MOVING)]
        drawn: list[Table | None] = []
        for n, (one, other) in enumerate(pairs):
            title = YOUR_GRADIENT.format(moving[n + 1]) if self.names else YOURS.format(aspect)
            title += f", {n + 1}" if len(pairs) > 1 and not self.names else ""
            if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
                continue
            if one.size == 1 and not self.names:  # a number: what is said of it is enough
                continue
            if one.shape != other.shape:
                drawn.append(table(f"{title}{OTHER_SHAPE}: {list(one.shape)}", one, None))
            else:
                drawn.append(table(title, one, ~close(one, other, TOLERANCE) & (not right)))
        return tuple(each for each in drawn if each)


def _has_arrays(found: Any) -> bool:
    return isinstance(found, np.ndarray) or (isinstance(found, list) and any(map(_has_arrays, found)))


def results(*cases: _Case) -> Probe:
    """Make a probe that runs the answer on each case, and returns the results.

    A case is a list of arguments. Floats, complex numbers and lists of these become tensors. The other probes take the
    same cases.
    """
    return Cases(lambda answer, case: _call(answer, _leaves(case, False)), cases)


def returned(*cases: _Case) -> Probe:
    """Make a probe that shows where a Function's backward returns None, and where it returns a gradient."""

    def backward(answer: Any, case: _Case) -> list[str]:
        out = tensor(_call(answer, _leaves(case, True)))
        found = answer.backward(out.grad_fn, _weights(out))
        if isinstance(found, list):
            return ["a list"]
        return ["None" if each is None else "a gradient" for each in (found if isinstance(found, tuple) else [found])]

    return lambda answer: [backward(answer, case) for case in cases]


def gradients(*cases: _Case) -> Probe:
    """Make a probe that returns the gradient of each argument of the answer.

    Backward starts with a different number for each element of the result. If all these numbers were 1, the probe
    wouldn't notice an answer that forgets `grad_output`, or one that sums over too many elements.
    """
    return Cases(lambda answer, case: _gradients(answer, _leaves(case, True)), cases)


def checked(*cases: _Case) -> Probe:
    """Make a probe that returns True for each case in which `gradcheck` accepts the answer."""
    return lambda answer: [_agrees(torch.autograd.gradcheck, answer, case) for case in cases]


def checked_twice(*cases: _Case) -> Probe:
    """Make a probe that returns True for each case in which the answer's first and second derivatives are right.

    gradcheck starts backward with 0 and 1 only. Squaring doesn't change these numbers, so an answer that squares
    `grad_output` would pass. The probe uses other numbers, too.
    """
    both = (torch.autograd.gradcheck, torch.autograd.gradgradcheck)

    def probe(answer: Any) -> list[bool]:
        def weighted(*arguments: Any) -> Any:
            out = _call(answer, arguments)
            return out * _weights(out)

        asked = [(check, each) for each in (answer, weighted) for check in both]
        return [all(_agrees(check, each, case) for check, each in asked) for case in cases]

    return probe


def _call(answer: Any, arguments: Sequence[Any]) -> Any:
    return (answer.apply if is_function(answer) else answer)(*arguments)


def _leaves(case: _Case, wanted: bool) -> list[Any]:
    made: list[Any] = []
    for each in case:
        if isinstance(each, _MOVING):
            dtype = torch.complex128 if np.iscomplexobj(np.asarray(each)) else torch.float64
            each = torch.tensor(each, dtype=dtype, requires_grad=wanted)
        made.append(each)
    return made


def _gradients(answer: Any, arguments: list[Any]) -> list[Any]:
    out = _call(answer, arguments)
    first = tensor(out[0] if isinstance(out, tuple) and out else out)
    leaves = [each for each in arguments if isinstance(each, torch.Tensor)]
    weights = _weights(first)
    found = list(torch.autograd.grad(first, leaves, weights, allow_unused=True))
    if not torch.equal(weights, _weights(first)):
        raise Unusable(WRITTEN_INTO.format(THE_GRADIENT))
    return found


def _weights(out: Any) -> Any:
    turned = _TURNED if out.is_complex() else 1.0
    return torch.tensor([(2.0 + 0.5 * n) * turned for n in range(out.numel())], dtype=out.dtype).reshape(out.shape)


def on_ctx(node: Any) -> int:
    """Count the tensors that a Function stored as attributes of `ctx` (`node`), where the engine doesn't track them."""
    kept = [[each] if isinstance(each, torch.Tensor) else each for each in vars(node).values()]
    held = [list(each.values()) if isinstance(each, dict) else each for each in kept]
    return sum(isinstance(one, torch.Tensor) for each in held if isinstance(each, list | tuple) for one in each)


def words(value: Any) -> list[str]:
    """Return `value` as a list if it is a list of words, and raise Unusable otherwise. For probes of your own."""
    if isinstance(value, list | tuple | set) and all(isinstance(each, str) for each in value):
        return list(value)
    raise Unusable("your code didn't give a list of words in quotes, such as ['x', 'y']")


def tensor(value: Any) -> Any:
    """Return `value` if it is a tensor, and raise Unusable otherwise. For probes of your own."""
    if isinstance(value, torch.Tensor):
        return value
    raise Unusable(f"your code returned {_named(value)} instead of a tensor")


def _named(value: Any) -> str:
    if value is None:
        return "None (is a return missing?)"
    if isinstance(value, bool):
        return "a boolean"
    return "a number" if isinstance(value, int | float | complex) else f"a value of type {type(value).__name__}"


def _agrees(check: Callable[..., bool], answer: Any, case: _Case) -> bool:
    return check(lambda *arguments: _call(answer, arguments), tuple(_leaves(case, True)), raise_exception=False)


def slopes_of(function: Callable[..., Any], *cases: _Case) -> Probe:
    """Make a probe that returns True for each case in which `gradcheck` accepts the answer as a backward of `function`.

    The answer is called as `answer(grad_output, *arguments)`. It returns a gradient for each argument.
    """

    def probe(answer: Any) -> list[bool]:
        class ByHand(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *arguments: Any) -> Any:
                ctx.save_for_backward(*arguments)
                return function(*arguments)

            @staticmethod
            def backward(ctx: Any, *grad_output: Any) -> Any:
                found = answer(*grad_output, *ctx.saved_tensors)
                return tuple(found) if isinstance(found, list) else found

        return [_agrees(torch.autograd.gradcheck, ByHand, case) for case in cases]

    return probe


def backward_of(function: Callable[..., Any], *cases: _Case) -> Probe:
    """Make a probe that calls the answer as the backward of `function`, and marks wrong gradients in tables.

    The answer is called as `answer(grad_output, *arguments)`. `grad_output` has a different number in each cell.
    The engine doesn't record the call, so an answer can't simply let the engine compute the gradients.
    """
    names = ("grad_output", *inspect.signature(function).parameters)
    return Cases(_backward_alone, tuple((_arriving(function, case), *case) for case in cases), names)


def by_engine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the backward of `function` as the engine computes it. Use it as the solution for `backward_of`."""

    def backward(grad_output: Any, *arguments: Any) -> Any:
        with torch.enable_grad():
            leaves = [each.detach().requires_grad_() if _moves(each) else each for each in arguments]
            found = torch.autograd.grad(function(*leaves), [each for each in leaves if _moves(each)], grad_output)
        return found[0] if len(found) == 1 else found

    return backward


def _moves(argument: Any) -> bool:
    return isinstance(argument, torch.Tensor) and (argument.is_floating_point() or argument.is_complex())


def _arriving(function: Callable[..., Any], case: _Case) -> Any:
    out = function(*_leaves(case, False)).detach().numpy()
    return (np.resize(_ARRIVING, out.shape) * (_TURNED if np.iscomplexobj(out) else 1.0)).tolist()


def _backward_alone(answer: Any, case: _Case) -> list[Any]:
    arguments = _leaves(case, False)
    with torch.no_grad():
        found = answer(*arguments)
    for given, then in zip(arguments, _leaves(case, False), strict=True):
        if isinstance(given, torch.Tensor) and not torch.equal(given, then):
            raise Unusable(WRITTEN_INTO.format(THE_GRADIENT if given is arguments[0] else "an argument"))
    gradients = list(found) if isinstance(found, list | tuple) else [found]
    asked = sum(isinstance(each, _MOVING) for each in case[1:])
    if len(gradients) != asked:
        expected = "one gradient" if asked == 1 else f"{asked} gradients"
        raise Unusable(f"your code returned {len(gradients)} instead of {expected}")
    return gradients
