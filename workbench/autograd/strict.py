"""What autograd.functional refuses in strict mode: results that do not depend on what they are differentiated by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .tensor import Tensor, wrap

_STRICT = "This is not allowed in strict mode"
DETACHED = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)
IGNORES = f"Output {{}} of the user-provided function is independent of input {{}}. {_STRICT}."
INDEPENDENT = f"The {{}} of the user-provided function is independent of input {{}}. {_STRICT}{{}}."
FLAT_JACOBIAN = INDEPENDENT.format("jacobian", "{}", " when create_graph=True")
FLAT_HESSIAN = INDEPENDENT.format("hessian", "{}", " when create_graph=True")
SEED_IGNORED = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    f"backward trick to compute forward mode gradients. {_STRICT}."
)
INNER_SEED_IGNORED = (
    f"The hessian of the user-provided function is independent of entry {{}} in the grad_jacobian. {_STRICT} as it "
    "prevents from using the double backward trick to replace forward mode AD."
)
LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    f"independent of the input. {_STRICT}. You should ensure that your function is twice differentiable and that the "
    "jacobian depends on the inputs (this would be violated by a linear function for example)."
)
QUADRATIC = (
    f"The hessian of the user-provided function with respect to input {{}} is independent of the input. {_STRICT}. You "
    "should ensure that your function is thrice differentiable and that the hessian depends on the inputs."
)
SEED_ALONE = (
    f"The gradient with respect to input {{}} is independent of the inputs of the user-provided function. {_STRICT}."
)


def need_history(tensors: Sequence[Tensor | None], refusal: str, strict: bool) -> None:
    """RuntimeError for a tensor without history, in strict mode."""
    for i, t in enumerate(tensors):
        if strict and t is None:
            raise RuntimeError(INDEPENDENT.format("output", i, ""))
        if strict and not t.requires_grad:
            raise RuntimeError(refusal.format(i))


def filled(
    grads: Sequence[Tensor | None], like: Sequence[Tensor], strict: bool, create_graph: bool, missing: str, flat: str
) -> tuple[Tensor, ...]:
    """Zeros where there is no gradient; `strict` refuses that (`missing`), and a gradient without history (`flat`)."""
    for i, g in enumerate(grads):
        if strict and g is None:
            raise RuntimeError(missing.format(i))
        if strict and create_graph and not g.requires_grad:
            raise RuntimeError(flat.format(i))
    return tuple(wrap(np.zeros_like(t._array)) if g is None else g for g, t in zip(grads, like, strict=True))
