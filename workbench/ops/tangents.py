"""How an op pushes tangents forward, derived from what its declaration says already.

| `tangent=` | the tangent of the result |
|---|---|
| "pointwise" | each formula with the tangent in the gradient's place, summed: a diagonal Jacobian is its transpose |
| "linear" | the op itself on the tangents |
| "multilinear" | the op with one operand at a time replaced by its tangent, summed |
| "transposed" | the formulas, transposed by differentiating them with respect to the gradient |
| a formula | itself; `self_t` is the tangent of `self`, and zeros where there is none |

The third column of a declaration is never needed for a sum, a product, a view or a function of one element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.differentiate import gradients
from ..autograd.levels import Lifted, entered, lift, value_of
from ..autograd.tensor import Tensor, wrap
from .compile import TENSORS, Reads, compiled

Tensors = tuple[Tensor, ...]


def push(op: Any, args: tuple[Any, ...], moved: list[Tensor | None], outs: Tensors, extras: Tensors) -> Tensors:
    """The tangents of an op's outputs, from the primal arguments and each operand's tangent, None for zero."""
    rule = RULES.get(op.tangent, _by_formula)
    found = rule(op, args, moved, outs, extras)
    return tuple([_fitting(t, out) for t, out in zip(found, outs, strict=True)])


def _fitting(t: Tensor | None, out: Tensor) -> Tensor | None:
    if t is None:
        return None
    if t._array.shape != out._array.shape:
        t = t.expand(out.shape)
    return t if t.dtype is out.dtype else t.to(out.dtype)


def _sum(terms: list[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _zeros(t: Tensor) -> Tensor:
    return wrap(np.zeros_like(t._array))


def _pointwise(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> Tensors:
    given = dict(zip(op.order, args, strict=True), **dict(zip(op.extras, extras, strict=True)), result=outs[0])
    terms = []
    for name, tangent in zip(op.tensors, moved, strict=True):
        if tangent is not None and name in op.reads:
            terms.append(_slope(op, name)(tangent, given))
    return (_sum(terms) if terms else None,)


def _slope(op: Any, name: str) -> Any:
    """A formula as a function of the tangent and what is given."""
    found = op.slopes.get(name)
    if found is None:
        reads: Reads = op.reads[name]
        lines = [f"{t} = given[{t!r}]" for t in (*reads.tensors, *reads.arguments)]
        lines += [f"{t} = as_tensor_like(given[{t!r}], grad)" for t in reads.tensors if t in op.tensors]
        lines += [f"{t}_shape = given[{t!r}].shape" for t in reads.shapes]
        text = "\n    ".join([f"def slope_{name}(grad, given):", *lines, f"return {reads.text}"]) + "\n"
        namespace = TENSORS | {"as_tensor_like": _as_tensor_like}
        found = op.slopes[name] = compiled(text, f"slope_{name}", namespace, op)
    return found


def _as_tensor_like(operand: Any, grad: Tensor) -> Tensor:
    """A number among the operands as the tensor a formula expects."""
    return operand if isinstance(operand, Tensor) else wrap(np.array(operand, grad._array.dtype))


def _with_operands(op: Any, args: tuple[Any, ...], operands: list[Any]) -> tuple[Any, ...]:
    if op.variadic:
        return tuple([operands if name == op.tensors[0] else a for name, a in zip(op.order, args, strict=True)])
    new = dict(zip(op.tensors, operands, strict=True))
    return tuple([new.get(name, a) for name, a in zip(op.order, args, strict=True)])


def _linear(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> Tensors:
    operands = op.operands(dict(zip(op.order, args, strict=True)))
    pairs = zip(operands, moved, strict=True)
    moved = [_zeros(t) if m is None and isinstance(t, Tensor) else m for t, m in pairs]
    return op.perform(_with_operands(op, args, moved))[0]


def _multilinear(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> Tensors:
    operands = op.operands(dict(zip(op.order, args, strict=True)))
    terms = []
    for i, tangent in enumerate(moved):
        if tangent is not None:
            replaced = [*operands[:i], tangent, *operands[i + 1 :]]
            terms.append(op.perform(_with_operands(op, args, replaced))[0][0])
    return (_sum(terms),)


def _transposed(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> Tensors:
    """J v is the derivative of w -> w J with respect to w, along v: two reverse passes make one forward pass."""
    operands = op.operands(dict(zip(op.order, args, strict=True)))
    with entered("grad") as level:
        lifted = [
            lift(t, level, m is not None) if isinstance(t, Tensor) else t for t, m in zip(operands, moved, strict=True)
        ]
        found, _ = op.perform(_with_operands(op, args, lifted))
        w = [lift(_zeros(out), level, True) for out in outs]
        moving = [i for i, m in enumerate(moved) if m is not None]
        back = gradients(found, [lifted[i] for i in moving], w, True, True)
        pairs = [(g, moved[i]) for g, i in zip(back, moving, strict=True) if type(g) is Lifted and g.requires_grad]
        if pairs:
            grads = gradients([g for g, _ in pairs], w, [m for _, m in pairs], False, False)
            return tuple([_zeros(out) if g is None else value_of(g, level) for g, out in zip(grads, outs, strict=True)])
    return tuple([_zeros(out) for out in outs])


def _by_formula(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> Tensors:
    given = dict(zip(op.order, args, strict=True), **dict(zip(op.extras, extras, strict=True)), result=outs[0])
    for name, t, m in zip(op.tensors, op.operands(given), moved, strict=True):
        given[f"{name}_t"] = _zeros(t) if m is None and isinstance(t, Tensor) else m
    return (_formula(op)(given),)


def _formula(op: Any) -> Any:
    found = op.slopes.get("")
    if found is None:
        reads = Reads(op.tangent, [*op.tensors, *op.kept, *op.extras, *(f"{t}_t" for t in op.tensors)], op)
        lines = [f"{t} = given[{t!r}]" for t in (*reads.tensors, *reads.arguments)]
        lines += [f"{t}_shape = given[{t!r}].shape" for t in reads.shapes]
        text = "\n    ".join(["def tangent(given):", *lines, f"return {reads.text}"]) + "\n"
        found = op.slopes[""] = compiled(text, "tangent", TENSORS, op)
    return found


RULES = {"pointwise": _pointwise, "linear": _linear, "multilinear": _multilinear, "transposed": _transposed}
