"""Probes that most exercises need: what an answer returns, its gradients, and whether gradcheck agrees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import workbench as torch

Probe = Callable[[Any], Any]
_Case = Sequence[Any]  # the arguments of one call: floats and lists of floats become tensors, all else stays


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
