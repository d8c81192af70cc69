"""How an op pushes tangents forward, derived from what its declaration says already.

| `tangent=` | the tangent of the result |
|---|---|
| "pointwise" | each formula with the tangent in the place of the gradient, summed: a symmetric Jacobian transposed |
| "linear" | the op itself on the tangents |
| "multilinear" | the op with one operand at a time replaced by its tangent, summed |
| "reduction" | the gradient of each result times the tangent, summed over what is reduced |
| "transposed" | the formulas, transposed by differentiating them with respect to the gradient |
| a formula | itself: `self_t` is the tangent of `self`; its terms about what has none are left out |

Where a declaration says nothing, the formulas tell: one that reads no operand belongs to a linear op (unless the op
adds something constant, or is flat: then the declaration must say so), one that reads all operands but its own to a
multilinear op.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..autograd.differentiate import gradients
from ..autograd.levels import Lifted, entered, lift, value_of
from ..autograd.tensor import Tensor, wrap
from .compile import TENSORS, Reads, compiled

Tensors = tuple[Tensor, ...]


def push(op: Any, args: tuple[Any, ...], moved: list[Tensor | None], outs: Tensors, extras: Tensors) -> Tensors:
    """The tangents of an op's outputs, from the primal arguments and each operand's tangent, None for zero."""
    if op.tangent is None:
        op.tangent = _family(op)
    found = RULES.get(op.tangent, _by_formula)(op, args, moved, outs, extras)
    if op.kind in ("view", "views"):
        return found
    return tuple([_fitting(t, out, moved) for t, out in zip(found, outs, strict=True)])


def _family(op: Any) -> str:
    """What the formulas tell about an op."""
    operands = {*op.tensors, "result"}
    read = [operands & set(op.reads[name].tensors) for name in op.tensors]
    if not any(read):
        return "linear"
    multilinear = all(names == {*op.tensors} - {name} for name, names in zip(op.tensors, read, strict=True))
    return "multilinear" if multilinear else "transposed"


def _fitting(t: Tensor | None, out: Tensor, moved: list[Tensor | None]) -> Tensor:
    """A tangent in the result's shape and dtype, and in memory of its own: the result may be written to."""
    if t is None:
        return _zeros(out)
    spread = t._array.shape != out._array.shape
    if spread:
        t = t.expand(out.shape)
    if t.dtype is not out.dtype:
        return t.to(out.dtype)
    return t.clone() if spread or any([t is m for m in moved]) else t


def _sum(terms: list[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _zeros(t: Tensor) -> Tensor:
    return wrap(np.zeros_like(t._array))


def _given(op: Any, args: Any, outs: Tensors, extras: Tensors) -> dict[str, Any]:
    """What formulas may read, by name."""
    return dict(zip(op.order, args, strict=True)) | dict(zip(op.extras, extras, strict=True)) | {"result": outs[0]}


def _pointwise(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> tuple[Tensor | None]:
    given = _given(op, args, outs, extras)
    pairs = zip(op.tensors, moved, strict=True)
    terms = [_slope(op, name)(t, given) for name, t in pairs if t is not None and name in op.reads]
    return (_sum(terms) if terms else None,)


def _slope(op: Any, name: str) -> Any:
    """A formula as a function of the tangent and what is given."""
    found = op.slopes.get(name)
    if found is None:
        reads: Reads = op.reads[name]
        found = op.slopes[name] = _function(f"slope_{name}(grad, given)", reads, op)
    return found


def _function(head: str, reads: Reads, op: Any) -> Any:
    """A formula over tensors as a function."""
    lines = [f"{t} = given[{t!r}]" for t in (*reads.tensors, *reads.arguments)]
    lines += [f"{t} = as_tensor_like({t}, grad)" for t in reads.tensors if t in op.tensors and op.numbers is not None]
    lines += [f"{t}_shape = given[{t!r}].shape" for t in reads.shapes]
    text = "\n    ".join([f"def {head}:", *lines, f"return {reads.text}"]) + "\n"
    return compiled(text, head.partition("(")[0], TENSORS | {"as_tensor_like": _as_tensor_like}, op)


def _as_tensor_like(operand: Any, grad: Tensor) -> Tensor:
    """A number among the operands as the tensor a formula expects."""
    return operand if isinstance(operand, Tensor) else wrap(np.array(operand, grad._array.dtype))


def _with_operands(op: Any, args: tuple[Any, ...], operands: list[Any]) -> tuple[Any, ...]:
    if op.variadic:
        return tuple([operands if name == op.tensors[0] else a for name, a in zip(op.order, args, strict=True)])
    new = dict(zip(op.tensors, operands, strict=True))
    return tuple([new.get(name, a) for name, a in zip(op.order, args, strict=True)])


def _operands(op: Any, args: tuple[Any, ...]) -> list[Any]:
    return op.operands(dict(zip(op.order, args, strict=True)))


def _linear(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> Tensors:
    if None in moved:
        pairs = zip(_operands(op, args), moved, strict=True)
        moved = [_zeros(t) if m is None and isinstance(t, Tensor) else m for t, m in pairs]
    return op.perform(_with_operands(op, args, moved))[0]


def _multilinear(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> Tensors:
    operands = _operands(op, args)
    terms = []
    for i, tangent in enumerate(moved):
        if tangent is not None:
            replaced = [*operands[:i], tangent, *operands[i + 1 :]]
            terms.append(op.perform(_with_operands(op, args, replaced))[0][0])
    return (_sum(terms),)


def _reduction(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> tuple[Tensor | None]:
    given = _given(op, args, outs, extras)
    ones = wrap(np.ones_like(outs[0]._array))
    terms = []
    for name, tangent in zip(op.tensors, moved, strict=True):
        slope = None if tangent is None else _slope(op, name)(ones, given)
        if slope is not None:
            terms.append(_reduced(slope * tangent, given, ones))
    return (_sum(terms) if terms else None,)


def _reduced(x: Tensor, given: dict[str, Any], like: Tensor) -> Tensor:
    """The sum of a tensor over what an op reduces."""
    if "dim" not in given:
        return x.sum() if like._array.ndim < x._array.ndim else x
    dim = given["dim"]
    return x.sum(dim if dim != () else None, given["keepdim"])


def _transposed(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> Tensors:
    """J v is the derivative of w -> w J with respect to w, along v: two reverse passes make one forward pass."""
    operands = _operands(op, args)
    with entered("grad") as level:
        pairs = zip(operands, moved, strict=True)
        lifted = [lift(t, level, m is not None) if isinstance(t, Tensor) else t for t, m in pairs]
        found, _ = op.perform(_with_operands(op, args, lifted))
        w = [lift(_zeros(out), level, True) for out in outs]
        moving = [i for i, m in enumerate(moved) if m is not None]
        back = gradients(found, [lifted[i] for i in moving], w, True, True)
        pairs = [(g, moved[i]) for g, i in zip(back, moving, strict=True) if type(g) is Lifted and g.requires_grad]
        if pairs:
            grads = gradients([g for g, _ in pairs], w, [m for _, m in pairs], True, True)
            return tuple([None if g is None else value_of(g, level) for g in grads])
    return (None,) * len(outs)


def _by_formula(op: Any, args: Any, moved: Any, outs: Tensors, extras: Tensors) -> tuple[Tensor | None]:
    given = _given(op, args, outs, extras)
    moving = tuple([f"{name}_t" for name, m in zip(op.tensors, moved, strict=True) if m is not None])
    found = op.slopes.get(moving)
    if found is None:
        found = op.slopes[moving] = _formula(op, moving)
    return (found(given | dict(zip([f"{name}_t" for name in op.tensors], moved, strict=True))),)


def _formula(op: Any, moving: tuple[str, ...]) -> Any:
    """The terms of an op's formula that are about operands with tangents, as a function of what is given."""
    texts = [ast.unparse(term) for term in _terms(ast.parse(op.tangent, mode="eval").body)]
    texts = [text for text in texts if any(name in text for name in moving)]
    reads = Reads(" + ".join(texts) or "None", [*op.tensors, *op.kept, *op.extras, *moving], op)
    return _function("tangent(given)", reads, op)


def _terms(node: ast.expr) -> list[ast.expr]:
    """The terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


RULES = {
    "pointwise": _pointwise,
    "linear": _linear,
    "multilinear": _multilinear,
    "reduction": _reduction,
    "transposed": _transposed,
}
