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
from ..autograd.state import local
from ..autograd.tensor import Tensor, wrap
from .compile import ARRAYS, TENSORS, Reads, compiled

Tensors = tuple[Tensor, ...]
Values = tuple[Any, ...]  # of arrays or of tensors, None for zeros


def push(op: Any, args: tuple[Any, ...], moved: list[Tensor | None], outs: Tensors, extras: Tensors) -> Tensors:
    """The tangents of an op's outputs, from the primal arguments and each operand's tangent, None for zero."""
    if op.tangent is None:
        op.tangent = _family(op)
    rule = RULES.get(op.tangent, _by_formula)
    if op.kind in ("view", "views"):
        return rule(op, args, moved, outs, extras, TENSORS)
    if rule is _transposed or _recorded(op, args, moved):
        found = rule(op, args, moved, outs, extras, TENSORS)
        return tuple([_fitting(t, out, moved) for t, out in zip(found, outs, strict=True)])
    arrays = _arrays(moved)
    found = rule(op, _arrays(args), arrays, _arrays(outs), _arrays(extras), ARRAYS)
    return tuple([wrap(_fitting_array(t, out._array, arrays)) for t, out in zip(found, outs, strict=True)])


def _recorded(op: Any, args: tuple[Any, ...], moved: list[Tensor | None]) -> bool:
    """Whether anything sees how the tangents are computed: a transform, or a graph."""
    modes = local.modes
    if modes.levels or not modes.grad:
        return bool(modes.levels)
    operands = op.operands(dict(zip(op.order, args, strict=True)))
    return any([isinstance(t, Tensor) and t.requires_grad for t in (*moved, *operands)])


def _arrays(things: Any) -> list[Any]:
    """Arguments with arrays for tensors."""
    return [
        t._array if isinstance(t, Tensor) else tuple(_arrays(t)) if isinstance(t, (tuple, list)) else t for t in things
    ]


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
        return wrap(np.zeros_like(out._array))
    if t._array.shape != out._array.shape:
        t = t.expand(out.shape)
    if t.dtype is not out.dtype:
        return t.to(out.dtype)
    return t.clone() if t._base is not None or any([t is m for m in moved]) else t


def _fitting_array(t: Any, out: np.ndarray, moved: list[Any]) -> np.ndarray:
    """The same for an array."""
    if t is None:
        return np.zeros_like(out)
    t = np.asarray(t)
    if t.shape != out.shape:
        t = np.broadcast_to(t, out.shape)
    elif t.dtype is out.dtype and t.base is None and not any([t is m for m in moved]):
        return t
    return t.astype(out.dtype)


def _sum(terms: list[Any]) -> Any:
    total = terms[0] if terms else None
    for term in terms[1:]:
        total = total + term
    return total


def _given(op: Any, args: Any, outs: Values, extras: Values) -> dict[str, Any]:
    """What formulas may read, by name."""
    given = dict(zip(op.order, args, strict=True))
    given.update(zip(op.extras, extras, strict=True))
    given["result"] = outs[0]
    return given


def _pointwise(op: Any, args: Any, moved: Any, outs: Values, extras: Values, words: dict[str, Any]) -> Values:
    given = _given(op, args, outs, extras)
    pairs = zip(op.tensors, moved, strict=True)
    return (_sum([_slope(op, name, words)(t, given) for name, t in pairs if t is not None and name in op.reads]),)


def _slope(op: Any, name: str, words: dict[str, Any]) -> Any:
    """A formula as a function of the tangent and what is given."""
    found = op.slopes.get((name, words is ARRAYS))
    if found is None:
        found = op.slopes[name, words is ARRAYS] = _function(f"slope_{name}(grad, given)", op.reads[name], op, words)
    return found


def _function(head: str, reads: Reads, op: Any, words: dict[str, Any]) -> Any:
    """A formula as a function of what is given, by name."""
    lines = [f"{t} = given[{t!r}]" for t in (*reads.tensors, *reads.arguments)]
    lines += [f"{t} = beside({t}, grad)" for t in reads.tensors if t in op.tensors and op.numbers is not None]
    lines += [f"{t}_shape = given[{t!r}].shape" for t in reads.shapes]
    text = "\n    ".join([f"def {head}:", *lines, f"return {reads.text}"]) + "\n"
    return compiled(text, head.partition("(")[0], words, op)


def _run(op: Any, args: Values, operands: list[Any], words: dict[str, Any]) -> Values:
    """The op itself with other operands."""
    if op.variadic:
        args = tuple([operands if name == op.tensors[0] else a for name, a in zip(op.order, args, strict=True)])
    else:
        new = dict(zip(op.tensors, operands, strict=True))
        args = tuple([new.get(name, a) for name, a in zip(op.order, args, strict=True)])
    return op.perform(args)[0] if words is TENSORS else (op.forward(*args),)


def _operands(op: Any, args: tuple[Any, ...]) -> list[Any]:
    return op.operands(dict(zip(op.order, args, strict=True)))


def _linear(op: Any, args: Any, moved: Any, outs: Values, extras: Values, words: dict[str, Any]) -> Values:
    if any([m is None for m in moved]):
        pairs = zip(_operands(op, args), moved, strict=True)
        moved = [words["zeros"](t.shape, t) if m is None else m for t, m in pairs]
    return _run(op, args, moved, words)


def _multilinear(op: Any, args: Any, moved: Any, outs: Values, extras: Values, words: dict[str, Any]) -> Values:
    operands = _operands(op, args)
    places = [i for i, t in enumerate(moved) if t is not None]
    return (_sum([_run(op, args, [*operands[:i], moved[i], *operands[i + 1 :]], words)[0] for i in places]),)


def _reduction(op: Any, args: Any, moved: Any, outs: Values, extras: Values, words: dict[str, Any]) -> Values:
    given = _given(op, args, outs, extras)
    one = words["zeros_like"](outs[0]) + 1
    terms = []
    for name, tangent in zip(op.tensors, moved, strict=True):
        slope = None if tangent is None else _slope(op, name, words)(one, given)
        if slope is not None:
            terms.append(_reduced(slope * tangent, given, one, words))
    return (_sum(terms),)


def _reduced(x: Any, given: dict[str, Any], like: Any, words: dict[str, Any]) -> Any:
    """The sum over what an op reduces."""
    if "dim" not in given:
        return words["sum_all"](x) if like.ndim < x.ndim else x
    dim = given["dim"]
    dims = (dim,) if isinstance(dim, int) else words["over"](x.shape, dim)
    return words["sum_dim"](x, dims, given["keepdim"]) if x.ndim else x


def _transposed(op: Any, args: Any, moved: Any, outs: Values, extras: Values, words: dict[str, Any]) -> Values:
    """J v is the derivative of w -> w J with respect to w, along v: two reverse passes make one forward pass."""
    operands = _operands(op, args)
    with entered("grad") as level:
        lifted = [t if m is None else lift(t, level, True) for t, m in zip(operands, moved, strict=True)]
        found = _run(op, args, lifted, words)
        w = [lift(wrap(np.zeros_like(out._array)), level, True) for out in outs]
        moving = [i for i, m in enumerate(moved) if m is not None]
        back = gradients(found, [lifted[i] for i in moving], w, True, True)
        pairs = [(g, moved[i]) for g, i in zip(back, moving, strict=True) if type(g) is Lifted and g.requires_grad]
        if pairs:
            grads = gradients([g for g, _ in pairs], w, [m for _, m in pairs], True, True)
            return tuple([None if g is None else value_of(g, level) for g in grads])
    return (None,) * len(outs)


def _by_formula(op: Any, args: Any, moved: Any, outs: Values, extras: Values, words: dict[str, Any]) -> Values:
    given = _given(op, args, outs, extras)
    given.update([(f"{name}_t", m) for name, m in zip(op.tensors, moved, strict=True)])
    key = (words is ARRAYS, *[m is not None for m in moved])
    found = op.slopes.get(key)
    if found is None:
        found = op.slopes[key] = _formula(op, [f"{n}_t" for n, m in zip(op.tensors, key[1:], strict=True) if m], words)
    return (found(given),)


def _formula(op: Any, moving: list[str], words: dict[str, Any]) -> Any:
    """The terms of an op's formula that are about operands with tangents, as a function of what is given."""
    texts = [ast.unparse(term) for term in _terms(ast.parse(op.tangent, mode="eval").body)]
    texts = [text for text in texts if any(name in text for name in moving)]
    reads = Reads(" + ".join(texts) or "None", [*op.tensors, *op.kept, *op.extras, *moving], op)
    return _function("tangent(given)", reads, op, words)


def _terms(node: ast.expr) -> list[ast.expr]:
    """The terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


# A number among the operands as the array or the tensor that a formula expects.
ARRAYS["beside"] = lambda x, grad: x if isinstance(x, np.ndarray) else np.array(x, grad.dtype)
TENSORS["beside"] = lambda x, grad: x if isinstance(x, Tensor) else wrap(np.array(x, grad._array.dtype))
RULES = {
    "pointwise": _pointwise,
    "linear": _linear,
    "multilinear": _multilinear,
    "reduction": _reduction,
    "transposed": _transposed,
}
