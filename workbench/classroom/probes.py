"""Probes that most exercises need, and what a probe finds out about an answer, in a form that can be compared."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

import workbench as torch

Probe = Callable[[Any], Any]
_Case = Sequence[Any]  # the arguments of one call: floats and lists of floats become tensors, all else stays
_TOLERANCE = 1e-4  # relative to the largest element
_LONGEST = 100_000  # characters that an answer may print while it is probed
_DEEPEST = 20  # lists in lists
_MOST = 100_000  # elements of a list
_SAID = 200  # characters of an error that are told


def results(*cases: _Case) -> Probe:
    """What the answer returns for each tuple of arguments."""
    return lambda answer: [_call(answer, _leaves(case, False)) for case in cases]


def gradients(*cases: _Case) -> Probe:
    """The gradients of each argument, where each element of the result has a weight of its own.

    With weights all alike a backward that forgets `grad_output` or sums too much could not be seen.
    """
    return lambda answer: [_gradients(answer, _leaves(case, True)) for case in cases]


def checked(*cases: _Case) -> Probe:
    """Whether `gradcheck` agrees with the answer for each tuple of arguments."""
    return lambda answer: [_agrees(torch.autograd.gradcheck, answer, case) for case in cases]


def checked_twice(*cases: _Case) -> Probe:
    """Whether `gradgradcheck` agrees with the answer: its backward can be differentiated again."""
    return lambda answer: [_agrees(torch.autograd.gradgradcheck, answer, case) for case in cases]


def _call(answer: Any, arguments: Sequence[Any]) -> Any:
    is_function = isinstance(answer, type) and issubclass(answer, torch.autograd.Function)
    return (answer.apply if is_function else answer)(*arguments)


def _leaves(case: _Case, wanted: bool) -> list[Any]:
    made: list[Any] = []
    for each in case:
        moves = isinstance(each, float | list)
        made.append(torch.tensor(each, dtype=torch.float64, requires_grad=wanted) if moves else each)
    return made


def _gradients(answer: Any, arguments: list[Any]) -> list[Any]:
    out = _call(answer, arguments)
    first = out[0] if isinstance(out, tuple) else out
    weights = torch.tensor([2.0 + 0.5 * n for n in range(first.numel())], dtype=first.dtype).reshape(first.shape)
    leaves = [each for each in arguments if isinstance(each, torch.Tensor)]
    return list(torch.autograd.grad(first, leaves, weights, allow_unused=True))


def _agrees(check: Callable[..., bool], answer: Any, case: _Case) -> bool:
    return check(lambda *arguments: _call(answer, arguments), tuple(_leaves(case, True)), raise_exception=False)


def slopes_of(function: Callable[..., Any], *cases: _Case) -> Probe:
    """Whether `gradcheck` agrees that the answer is the backward of a function.

    The answer is called with the gradient that arrives and then with the function's arguments, and returns one gradient
    for each of them.
    """

    def probe(answer: Any) -> list[bool]:
        class ByHand(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *arguments: Any) -> Any:
                ctx.save_for_backward(*arguments)
                return function(*arguments)

            @staticmethod
            def backward(ctx: Any, *grad_output: Any) -> Any:
                return answer(*grad_output, *ctx.saved_tensors)

        return [_agrees(torch.autograd.gradcheck, ByHand, case) for case in cases]

    return probe


@dataclass(frozen=True)
class Raised:
    """That an answer raised an error instead of giving a result."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}" if self.text else self.kind


@dataclass(frozen=True)
class Odd:
    """A result of which no numbers can be made."""

    kind: str


def evidence(probe: Callable[[Any], Any], answer: Any) -> Any:
    """What the probe finds out about an answer: numbers, words, lists and dicts of them, or the error it raised.

    What the answer prints is not shown, and the modes and the random numbers are afterwards what they were.
    """
    try:
        with _aside():
            return _plain(probe(answer))
    except (Exception, SystemExit) as error:  # whatever a learner can write
        return Raised(type(error).__name__, _first_line(error))


def alike(one: Any, other: Any) -> bool:
    """Whether two answers behaved in the same way: numbers up to rounding, errors by their kind and text."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape:
            return False
        largest = float(np.max(np.abs(other[np.isfinite(other)]), initial=0.0))
        return bool(np.allclose(one, other, rtol=0, atol=_TOLERANCE * (largest or 1.0), equal_nan=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, Raised) and isinstance(other, Raised):
        return one.kind == other.kind and _anonymous(one.text) == _anonymous(other.text)
    return type(one) is type(other) and one == other and not isinstance(one, Odd)


def _anonymous(text: str) -> str:
    """An error's text without the name that a learner gave to a Function."""
    return re.sub(r"\w*Backward\w*", "Backward", text)


class _Sink(StringIO):
    """Takes what an answer prints, up to an end: a loop that only prints is stopped."""

    def write(self, text: str) -> int:
        if self.tell() > _LONGEST:
            raise RuntimeError("it prints without an end")
        return super().write(text)


@contextmanager
def _aside() -> Iterator[None]:
    """What a probe runs finds the modes as they are at first, and leaves nothing behind."""
    dtype, random, deepest = torch.get_default_dtype(), torch.get_rng_state(), sys.getrecursionlimit()
    try:
        torch.set_default_dtype(torch.float32)
        with torch.inference_mode(False), torch.enable_grad(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with redirect_stdout(_Sink()), redirect_stderr(_Sink()):
                yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_rng_state(random)
        sys.setrecursionlimit(deepest)


def _plain(value: Any, depth: int = 0) -> Any:
    """A result as truth values, words, None, arrays of numbers, and lists and dicts of these."""
    if value is None or isinstance(value, str | bool | np.bool_):
        return bool(value) if isinstance(value, np.bool_) else value
    if depth > _DEEPEST or (isinstance(value, list | tuple | dict | range) and len(value) > _MOST):
        return Odd("a list without an end")
    if isinstance(value, dict):
        return {key: _plain(each, depth + 1) for key, each in value.items()}
    if hasattr(type(value), "detach"):
        value = value.detach().numpy()  # pyright: ignore[reportAttributeAccessIssue]  its type has it
    if isinstance(value, list | tuple | range):
        parts = [_plain(each, depth + 1) for each in value]
        numbers = all(isinstance(part, np.ndarray) for part in parts)
        return np.stack(parts) if parts and numbers and len({part.shape for part in parts}) == 1 else parts
    try:
        array = np.asarray(value)
    except Exception:  # its conversion is the learner's
        return Odd(type(value).__name__)
    return array.astype(np.float64) if array.dtype.kind in "biuf" else Odd(type(value).__name__)


def _first_line(error: BaseException) -> str:
    try:
        text = str(error).strip().partition("\n")[0]
    except Exception:  # an error class of the learner's own
        return ""
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"
