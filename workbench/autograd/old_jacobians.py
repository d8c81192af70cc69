"""Jacobians one at a time, by the old functions of torch.autograd.gradcheck; a row for each element of the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .differentiate import gradients
from .jacobians import Jacobians, as_tuple
from .quiet import warn
from .tensor import Tensor, wrap

OLD = (
    "`{}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed "
    "in a future version of PyTorch. If you have a specific use for this or feature request for this to be a stable "
    "API, please file us an issue at https://github.com/pytorch/pytorch/issues/new"
)
SCALED = "Expected grad_out to be 1.0. {} no longer supports values of grad_out != 1.0."


def _check_old(name: str, grad_out: float) -> None:
    warn(OLD.format(name), FutureWarning)
    if grad_out != 1.0:
        raise ValueError(SCALED.format(name))


def _requiring(tensors: Any) -> list[Tensor]:
    several = tensors if isinstance(tensors, (tuple, list)) else (tensors,)
    return [t for t in several if isinstance(t, Tensor) and t.requires_grad]


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Sequence[Any], target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The Jacobian of the first output by each input that requires grad, or by each target, from differences.

    `fn` takes the inputs as one tuple; a target is perturbed in place, and may be anything that `fn` reads.
    """
    _check_old("get_numerical_jacobian", grad_out)
    found = Jacobians(lambda *given: fn(given), tuple(inputs), eps, 0, 0)
    return tuple([wrap(found._numerical(t)[0]) for t in _requiring(inputs if target is None else target)])


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Sequence[Any],
    outputs: Sequence[Tensor],
    eps: float,
    input: Tensor | None = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:
    """The Jacobian of each output by one input, from differences."""
    perturbed = inputs[input_idx] if input is None else input
    if not perturbed.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    found = Jacobians(fn, tuple(inputs), eps, 0, 0)._numerical(perturbed)
    return tuple([wrap(jacobian) for jacobian in found[: len(outputs)]])


def _get_numerical_jacobian(
    fn: Callable[..., Any],
    inputs: Any,
    outputs: Any = None,
    target: Any = None,
    eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Tensor, ...]]:
    """The Jacobians of every output by each input that requires grad, or by each target, from differences."""
    inputs = as_tuple(inputs)
    outputs = as_tuple(fn(*inputs)) if outputs is None else outputs
    return [
        get_numerical_jacobian_wrt_specific_input(fn, 0, inputs, outputs, eps, t, is_forward_ad)
        for t in _requiring(inputs if target is None else target)
    ]


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobian of an output by each input that requires grad, from its backward.

    Beside it: whether a second run gave the same, and whether the gradients had the inputs' sizes and dtypes.
    """
    _check_old("get_analytical_jacobian", grad_out)
    wanted = _requiring(inputs)
    shape, kind = output._array.shape, output._array.dtype
    runs: list[list[np.ndarray]] = []
    sizes_fit = dtypes_fit = True
    for _ in range(2):
        jacobians = [np.zeros((t._array.size, output._array.size), t._array.dtype) for t in wanted]
        for column, at in enumerate(np.ndindex(shape)):
            seed = np.zeros(shape, kind)
            seed[at] = 1
            found = gradients((output,), wanted, [wrap(seed)], True, False)
            for jacobian, g, t in zip(jacobians, found, wanted, strict=True):
                if g is not None:
                    sizes_fit &= g._array.shape == t._array.shape
                    dtypes_fit &= g.dtype is t.dtype
                    jacobian[:, column] = g._array.reshape(-1)
        runs.append(jacobians)
    same = all([not a.size or np.abs(a - b).max() <= nondet_tol for a, b in zip(*runs, strict=True)])
    return tuple([wrap(jacobian) for jacobian in runs[0]]), same, sizes_fit, dtypes_fit
