"""Checking derivatives against finite differences (torch.autograd.gradcheck).

The slow mode compares whole Jacobians, element by element. The fast mode compares `u J v` for one random direction u of
every input and one random weighting v of every output, which costs one backward instead of one per output element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..events import failed
from .differentiate import grad, gradients
from .gradcheck_batches import check_batched_backward, check_batched_forward
from .gradcheck_forward import check_undefined_tangents, compare_forward, compare_forward_direction
from .jacobians import CHANGES, GradcheckError, Jacobians, as_tuple
from .old_jacobians import (
    _get_numerical_jacobian as _get_numerical_jacobian,
)
from .old_jacobians import (
    get_analytical_jacobian,
    get_numerical_jacobian,
    get_numerical_jacobian_wrt_specific_input,
)
from .quiet import warn
from .tensor import Tensor, wrap

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]

NOT_DOUBLE = (
    "Input #{} requires gradient and is not a double precision floating point or complex. This check will likely fail "
    "if all the inputs are not of double precision floating point or complex. "
)
STRIDE_ZERO = (
    "The {}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able "
    "to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
    "gradcheck."
)
NO_INPUT = "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
UNDEFINED_IS_NEW = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)
UNDEFINED_REFUSED = "Expected backward function to handle undefined output grads."
UNDEFINED_LOST = "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
UNDEFINED_NOTES = ' Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether func's gradients agree with differences of its values `eps` to either side (torch.autograd.gradcheck).

    Checked are the inputs that require grad, best float64, and the outputs that do. Compared are the Jacobians
    (`atol`, `rtol`), then two runs of backward (`nondet_tol`), then the Jacobians that dual tensors give and dual
    tensors without tangent, then batches of tangents and of gradients, which two runs must confirm, then backward for
    zero and for undefined gradients.
    GradcheckError, or False with `raise_exception=False`, where one of these fails. The inputs keep their values and
    their `.grad`, also if `func` raises. Gradients must have their input's dtype in any case, and no tensor is sparse:
    `check_grad_dtypes` and `masked` change nothing.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    try:
        given = as_tuple(inputs)
        check_inputs(given)
        jacobians = Jacobians(func, given, eps, atol, rtol)
        outputs, wanted = jacobians.outputs, jacobians.inputs
        if check_backward_ad and outputs:
            (jacobians.compare_one_direction if fast_mode else jacobians.compare)(nondet_tol)
        elif check_backward_ad and not jacobians.constant(fast_mode):
            raise GradcheckError(CHANGES)
        if check_forward_ad:
            (compare_forward_direction if fast_mode else compare_forward)(jacobians)
            if check_undefined_grad:
                check_undefined_tangents(func, given)
        if check_batched_forward_grad:
            check_batched_forward(func, given)
        if check_backward_ad and outputs:
            if check_batched_grad:
                check_batched_backward(outputs, wanted)
            _check_multiplied(outputs, wanted)
            if check_undefined_grad:
                _check_undefined(_differentiable(func(*given)), wanted)
    except GradcheckError as error:
        if not raise_exception:
            return False
        failed(error, *_about(str(error), given))
        raise
    return True


def _about(words: str, given: Sequence[Any]) -> tuple[Any, ...]:
    """The inputs that are tensors, the one that the words name first."""
    named = re.search(r"with respect to input (\d+)", words)
    tensors = [t for t in given if isinstance(t, Tensor)]
    wanted = [t for t in tensors if t.requires_grad]
    first = wanted[int(named[1])] if named and int(named[1]) < len(wanted) else None
    return (first, *[t for t in tensors if t is not first]) if first is not None else tuple(tensors)


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradients themselves, as a function of the inputs and of the gradients they begin with.

    `grad_outputs` are random if not given. What is compared with differences is backward through backward, dual tensors
    through backward (`check_fwd_over_rev`), or both (torch.autograd.gradgradcheck).
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        outputs = _differentiable(func(*given))
        seeds = tuple(_random_like(o, random, gen_non_contig_grad_outputs) for o in outputs)
    else:
        seeds = as_tuple(grad_outputs)

    flags = [isinstance(a, Tensor) and a.requires_grad for a in given + seeds]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        for a, flag in zip(args, flags, strict=True):
            if flag:
                a.requires_grad_()  # dual tensors have lost it
        wanted = tuple(a for a, flag in zip(args[: len(given)], flags, strict=False) if flag)
        outputs = _differentiable(func(*args[: len(given)]))
        found = grad(outputs, wanted, args[len(given) :], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        given + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(o for o in as_tuple(outputs) if o.requires_grad)


def _random_like(t: Tensor, random: np.random.Generator, gaps: bool) -> Tensor:
    """A leaf of numbers from -1 to 1, with gaps between them in memory if asked for."""
    shape = t._array.shape
    if gaps and t._array.size > 1:
        array = random.uniform(-1, 1, (*shape[:-1], 2 * shape[-1]))[..., ::2]
    else:
        array = random.uniform(-1, 1, shape)
    return wrap(np.asarray(array).astype(t._array.dtype, copy=False), requires_grad=True)


def check_inputs(inputs: tuple[Any, ...]) -> None:
    """Something to differentiate by, each number in memory of its own."""
    wanted = [(i, t) for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    for i, t in wanted:
        if t._array.dtype != np.float64:
            warn(NOT_DOUBLE.format(i))
        if any(stride == 0 and size > 1 for stride, size in zip(t._array.strides, t._array.shape, strict=True)):
            raise failed(RuntimeError(STRIDE_ZERO.format(i)), t)
    if not wanted:
        raise failed(ValueError(NO_INPUT), *inputs)


def _check_multiplied(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Gradients of zero come out as zero."""
    seeds = [wrap(np.zeros_like(o._array)) for o in outputs]
    if not _all_zero(gradients(outputs, inputs, seeds, False, False)):
        raise GradcheckError("backward not multiplied by grad_output")


def _check_undefined(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Undefined gradients, all of them and then one among zeros, come out as undefined or zero."""
    which = [set(range(len(outputs)))] + [{i} for i in range(len(outputs)) if len(outputs) > 1]
    for undefined in which:
        seeds = [None if i in undefined else wrap(np.zeros_like(o._array)) for i, o in enumerate(outputs)]
        try:
            found = gradients(outputs, inputs, seeds, True, False)
        except RuntimeError as error:
            warn(UNDEFINED_IS_NEW)
            raise GradcheckError(UNDEFINED_REFUSED + UNDEFINED_NOTES) from error
        if not _all_zero(found):
            warn(UNDEFINED_IS_NEW)
            raise GradcheckError(UNDEFINED_LOST + UNDEFINED_NOTES)


def _all_zero(found: Sequence[Tensor | None]) -> bool:
    return all(g is None or not g._array.any() for g in found)
