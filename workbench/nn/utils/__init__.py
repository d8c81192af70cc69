"""Operations on all parameters of a model: gradient clipping, and parameters as one vector (torch.nn.utils)."""

from __future__ import annotations

from collections.abc import Iterable
from types import GeneratorType

from ...autograd.grad_mode import no_grad
from ...autograd.tensor import Tensor
from ...compat.absent import refusing
from ...errors import warn
from ...ops.creation import tensor
from ...ops.join_split import cat, stack
from ...ops.library.norms import norm
from ..modules.naming import typename
from . import parametrizations, parametrize, rnn

__getattr__ = refusing(__name__)  # refuses absent names by a sentence

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "rnn",
    "vector_to_parameters",
]
Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector.

    Args:
        tensors: The tensors, for example the gradients of a model.
        norm_type: The p of the p-norm, `sum(abs(g) ** p) ** (1 / p)`: usually 2 or 1, or inf for the largest absolute
            value.
        error_if_nonfinite: If True, raise RuntimeError if the norm is nan or inf.
        foreach: Accepted for compatibility; it has no effect here.
    """
    order, listed = float(norm_type), _listed(tensors)
    with no_grad():
        total = norm(stack([norm(t, order) for t in listed]), order) if listed else tensor(0.0)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply all gradients in place by `max_norm / total_norm`, if `total_norm` is larger than `max_norm`.

    Args:
        parameters: A tensor or an iterable of tensors. Their gradients are scaled.
        max_norm: The largest norm that stays as it is.
        total_norm: The norm of all gradients, as `get_total_norm` returns it.
        foreach: Accepted for compatibility; it has no effect here.
    """
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _grads(parameters):
            grad.mul_(factor)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients down by the same factor, in place, so that their total norm is at most `max_norm`.

    The total norm is that of one vector which contains all gradients. PyTorch: torch.nn.utils.clip_grad_norm_; see
    Pascanu et al. (2013).

    Example:
        >>> w = torch.zeros(2, requires_grad=True)
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> nn.utils.clip_grad_norm_([w], max_norm=1.0)
        tensor(5.)
        >>> w.grad
        tensor([0.6000, 0.8000])

    Args:
        parameters: The parameters whose gradients to scale, or one tensor. Parameters without a gradient are skipped.
        max_norm: The largest total norm to allow.
        norm_type: The p of the p-norm, `sum(abs(g) ** p) ** (1 / p)`: usually 2 or 1, or inf for the largest absolute
            value.
        error_if_nonfinite: If True, raise RuntimeError if the norm is nan or inf.
        foreach: Accepted for compatibility; it has no effect here.

    Returns:
        The total norm before clipping, as a zero-dimensional tensor.
    """
    listed = _listed(parameters)
    if not listed and isinstance(parameters, GeneratorType):
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(_grads(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each element of the gradients to the range from -clip_value to clip_value, in place.

    Args:
        parameters: A tensor or an iterable of tensors. Their gradients are clamped.
        clip_value: The largest absolute value that stays as it is.
        foreach: Accepted for compatibility; it has no effect here.
    """
    most = float(clip_value)
    with no_grad():
        for grad in _grads(parameters):
            grad.clamp_(min=-most).clamp_(max=most)  # two writes, as PyTorch counts


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all `parameters`, one after the other, as one vector; gradients flow through it."""
    return cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the elements of the vector `vec` into the `parameters`, in order; this sets their `data`."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
