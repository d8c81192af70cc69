"""How an op pushes tangents forward, derived from its declaration.

An op's tangent is a formula like its derivative, in which `self_t` is the tangent of `self`. These words are families
of formulas:

| `tangent=` | the tangent of the result |
|---|---|
| "pointwise" | each formula with the tangent in the place of the gradient, summed: a symmetric Jacobian transposed |
| "linear" | the op itself on the tangents |
| "multilinear" | the op with one operand at a time replaced by its tangent, summed |
| "reduction" | the gradient of each result times the tangent, summed over what is reduced |
| "transposed" | none: the formulas are transposed by differentiating them with respect to the gradient |
| a formula | itself |

Terms for operands without a tangent are left out. If a declaration has no `tangent`, its formulas decide: one that
reads no operand belongs to a linear op (unless the op adds a constant, or is flat: then the declaration must say so),
and one that reads all operands except its own to a multilinear op.

As in backward, a formula runs on plain arrays if nothing is recorded, and on tensors otherwise.

The usual case is a single jvp over plain tensors. Each op has code for it (`push_alone`), as it has for calls without
transforms; it takes a third of the time of the general path through the levels.
"""

from __future__ import annotations

import ast
import weakref
from typing import Any

import numpy as np

from ...autograd import state
from ...autograd.backward import gradients
from ...autograd.forward_ad import set_tangent, tangent_of
from ...autograd.levels import Level, Lifted, entered, lift, value_below
from ...autograd.state import local, quietly
from ...autograd.tensor import Tensor, link_view, meta_of, part_of, wrap
from ...events import listeners
from .codegen import Reads, compiled
from .registry import ARRAYS, TENSORS, in_formulas

Tensors = tuple[Tensor, ...]
Values = tuple[Any, ...]  # of arrays or of tensors


def push_tangents(
    op: Any, args: tuple[Any, ...], moved: list[Tensor | None], outs: Tensors, extras: Tensors
) -> Tensors:
    """Return the tangents of an op's outputs, from the primal arguments and each operand's tangent, None for zero."""
    if family(op) == "transposed":
        found = _transposed(op, args, moved, outs)
    elif op.kind in ("view", "views"):
        found = formula(op, moved, TENSORS)(args, moved, outs, extras)
        return found if op.several else (found,)
    elif _recorded(op, args, moved):
        found = (formula(op, moved, TENSORS)(args, _filled(op, args, moved, TENSORS), outs, extras),)
    else:
        found = push_arrays(op, *[_arrays(things) for things in (args, moved, outs, extras)])
        return tuple([wrap(a) for a in found])
    mixed = _mixed(op.operands(dict(zip(op.order, args, strict=True))), moved)
    return tuple([_fitting(t, out, moved, mixed) for t, out in zip(found, outs, strict=True)])


def push_arrays(op: Any, args: Any, moved: list[Any], outs: Any, extras: Any) -> Values:
    """Return the same on arrays, for an op with one output."""
    t = quietly(formula(op, moved, ARRAYS), args, _filled(op, args, moved, ARRAYS), outs, extras)
    return (fitted_tangent(op, t, args, moved, outs[0]),)


def fitted_tangent(op: Any, t: Any, args: Any, moved: list[Any], out: np.ndarray) -> np.ndarray:
    """Return a tangent's array in the result's shape and dtype, in its own memory, as the result may be written to."""
    if t is None:
        return np.zeros_like(out)
    t = np.asarray(t)
    if t.shape != out.shape:
        t = np.broadcast_to(t, out.shape)
    elif (
        t.dtype is out.dtype
        and t.strides == out.strides
        and not any(
            [m is not None and (t is m or t.base is not None and (t.base is m or t.base is m.base)) for m in moved]
        )
    ):
        return t
    mixed = t.dtype is not out.dtype and _mixed(op.operands(dict(zip(op.order, args, strict=True))), moved)
    fitted = np.empty_like(out, t.dtype if mixed else None)
    fitted[...] = t
    return fitted


def family(op: Any) -> str:
    """Return an op's family or formula: what its declaration says or, where it is silent, what its formulas tell."""
    if op.tangent is None:
        operands = {*op.tensors, "result"}
        read = [operands & set(op.reads[name].tensors) for name in op.tensors]
        others = [{*op.tensors} - {name} for name in op.tensors]
        op.tangent = "linear" if not any(read) else "multilinear" if read == others else "transposed"
    return op.tangent


def _mixed(operands: list[Any], moved: list[Any]) -> bool:
    """Return True if an operand has a tangent of another dtype; the result then keeps whatever dtype comes out."""
    pairs = zip(operands, moved, strict=True)
    return any([m is not None and m.dtype is not t.dtype for t, m in pairs])


def _recorded(op: Any, args: tuple[Any, ...], moved: list[Tensor | None]) -> bool:
    """Return True if anything sees how the tangents are computed: a transform, or a graph."""
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


def _filled(op: Any, args: Any, moved: list[Any], words: dict[str, Any]) -> list[Any]:
    """Return the tangents; those of a list with zeros in it, as a list."""
    if not op.variadic:
        return moved
    tensors = args[op.order.index(op.tensors[0])]
    return [[words["zeros_like"](t) if m is None else m for t, m in zip(tensors, moved, strict=True)]]


def _fitting(t: Tensor | None, out: Tensor, moved: list[Tensor | None], mixed: bool) -> Tensor:
    """Return the same for a tensor."""
    if t is None:
        return wrap(np.zeros_like(out._array))
    if t._array.shape != out._array.shape:
        t = t.expand(out.shape)
    if t.dtype is not out.dtype and not mixed:
        return t.to(out.dtype)
    return t.clone() if t._base is not None or any([t is m for m in moved]) else t


def formula(op: Any, moved: list[Any], words: dict[str, Any]) -> Any:
    """Return the formula for the tangents, as a function of the arguments, the tangents, the outputs and the rest."""
    moving = tuple([m is not None for m in moved])
    key = moving if words is ARRAYS else (moving,)
    found = op.slopes.get(key)
    if found is None:
        found = op.slopes[key] = _compiled(op, moving, words)
    return found


def _compiled(op: Any, moving: tuple[bool, ...], words: dict[str, Any]) -> Any:
    tangents = [f"{name}_t" for name in op.tensors]
    reads = Reads(tangent_text(op, moving), [*op.tensors, *op.kept, *op.extras, *tangents], op)
    where = {name: f"args[{i}]" for i, name in enumerate(op.order)} | {"result": "outs[0]"}
    where |= {name: f"extras[{i}]" for i, name in enumerate(op.extras)}
    where |= {name: f"moved[{i}]" for i, name in enumerate(tangents)}
    lines = [f"{name} = {where[name]}" for name in (*reads.tensors, *reads.arguments)]
    lines += [f"{name} = beside({name}, outs[0])" for name in reads.tensors if name in op.tensors and op.numbers]
    lines += [f"{name}_shape = {where[name]}.shape" for name in reads.shapes]
    text = "\n    ".join(["def tangent(args, moved, outs, extras):", *lines, f"return {reads.text}"]) + "\n"
    return compiled(text, "tangent", words, op)


def tangent_text(op: Any, moving: tuple[bool, ...]) -> str:
    """Return the formula for the tangent of an op's result, where those of its operands have tangents."""
    names = [name for name, moves in zip(op.tensors, moving, strict=False) if moves]
    kind = family(op)
    if kind == "linear":
        tangents = {name: f"{name}_t" if name in names or op.variadic else f"zeros_like({name})" for name in op.tensors}
        return _called(op, tangents)
    if kind == "multilinear":
        terms = [_called(op, {name: f"{name}_t"}) for name in names]
    elif kind == "pointwise":
        terms = [_with_grad(op.formulas[name], f"{name}_t") for name in names if name in op.formulas]
    elif kind == "reduction":
        how = "dim, keepdim" if "dim" in op.order else "None, False"
        slopes = [(_with_grad(op.formulas[name], "(zeros_like(result) + 1)"), name) for name in names]
        terms = [f"added_up({slope}, {name}_t, result, {how})" for slope, name in slopes]
    else:
        terms = [ast.unparse(term) for term in _terms(ast.parse(kind, mode="eval").body)]
        terms = [term for term in terms if any(f"{name}_t" in term for name in names)]
    return " + ".join([f"({term})" for term in terms]) or "None"


def _called(op: Any, instead: dict[str, str]) -> str:
    """Return a call of the op with something else for some arguments."""
    return f"{op.name}({', '.join([instead[name] if name in instead else name for name in op.order])})"


def _with_grad(formula: str, instead: str) -> str:
    """Return a formula with something else in the place of `grad`."""
    tree = ast.parse(formula, mode="eval")

    class Grad(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.parse(instead, mode="eval").body if node.id == "grad" else node

    return ast.unparse(Grad().visit(tree))


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return the terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _transposed(op: Any, args: tuple[Any, ...], moved: list[Tensor | None], outs: Tensors) -> Values:
    """J v is the derivative of w -> w J with respect to w, along v: two reverse passes make one forward pass."""
    new = dict(zip(op.tensors, moved, strict=True))
    with entered("grad") as level:
        pairs = zip(op.order, args, strict=True)
        args = tuple([t if new.get(name) is None else lift(t, level, True) for name, t in pairs])
        found = op.perform(args)[0]
        w = [lift(wrap(np.zeros_like(out._array)), level, True) for out in outs]
        moving = [(t, new[name]) for name, t in zip(op.order, args, strict=True) if new.get(name) is not None]
        back = gradients(found, [t for t, _ in moving], w, True, True)
        pairs = [(g, m) for g, (_, m) in zip(back, moving, strict=True) if type(g) is Lifted and g.requires_grad]
        if pairs:
            grads = gradients([g for g, _ in pairs], w, [m for _, m in pairs], True, True)
            return tuple([None if g is None else value_below(g, level) for g in grads])
    return (None,) * len(outs)


def _adding_up(words: dict[str, Any]) -> Any:
    def added_up(slope: Any, tangent: Any, result: Any, dim: Any, keepdim: bool) -> Any:
        """Return a gradient times a tangent, summed over what an op reduces."""
        if slope is None:
            return None
        x = slope * tangent
        if not x.ndim:
            return x
        if dim is None and not keepdim:
            return words["sum_all"](x) if result.ndim < x.ndim else x
        return words["sum_dim"](x, (dim,) if isinstance(dim, int) else words["over"](x.shape, dim), keepdim)

    return added_up


def push_alone(op: Any, args: tuple[Any, ...], level: Level) -> tuple[Tensors, Tensors] | None:
    """Return an op's outputs with tangents as the only level sees them; None if the general path must be taken."""
    modes = local.modes
    if modes.dual is not None or modes.inference or listeners or state.readable:
        return None
    alone = op.slopes.get("alone")
    if alone is None:
        alone = op.slopes["alone"] = compiled(_alone_text(op), "alone", ALONE, op)
    return quietly(alone, op, args, level, modes.grad)


def push_duals_alone(op: Any, args: tuple[Any, ...]) -> tuple[Tensors, Tensors] | None:
    """Return an op's outputs for plain dual tensors with their tangents; None where the other way must be taken."""
    modes = local.modes
    if modes.dual is None or modes.inference or modes.saved_hooks or listeners or state.readable:
        return None
    alone = op.slopes.get("duals")
    if alone is None:
        alone = op.slopes["duals"] = compiled(_alone_text(op, duals=True), "alone", ALONE, op)
    return quietly(alone, op, args, modes.dual, modes.grad)


def _alone_text(op: Any, duals: bool = False) -> str:
    """Return the code: values and tangents of the operands, the op on arrays, then its tangent.

    Of dual tensors, which hold their tangents themselves, the result is a plain tensor; else it is the level's.
    """
    head = "def alone(op, args, level, grad):"
    if op.variadic or op.lists or op.several or (op.formulas and family(op) == "transposed"):
        return f"{head}\n    return None\n"
    operands = [i for i in op.places if op.order[i] in op.tensors]
    lines = [f"{', '.join([f'a{i}' for i in range(len(op.order))])}, = args"]
    for i in op.places:
        operand = _dual_operand if duals else _operand_alone
        lines += operand(op, i) if i in operands else _other_alone(i)
    lines += [f"still = {' and '.join([f'm{i} is None' for i in operands])}"]
    lines += ["if still:", "    return None"] if not duals or op.kind == "view" else []
    for i, j in zip(operands, operands[1:], strict=False) if op.promotes else ():
        lines += [f"if type(r{i}) is ndarray is type(r{j}) and r{i}.dtype is not r{j}.dtype:", "    return None"]
    arrays = ", ".join([f"r{i}" if i in op.places else f"a{i}" for i in range(len(op.order))])
    lines += [
        "try:",
        f"    {'out, *extras' if op.extras else 'out'} = op.forward({arrays})",
        "except Exception:",  # which the other way tells properly
        "    return None",
    ]
    if op.kind == "view":
        view = "as_dual_view(op, x0, m0, out, moved)" if duals else "as_view(op, a0, x0, m0, out, moved, level)"
        lines += [
            f"moved = op.forward({arrays.replace('r0', 'm0._array', 1)})",
            f"return {view}, ()",
        ]
        return "\n    ".join([head, *lines]) + "\n"
    extras = "extras" if op.extras else "()"
    lines += ["out = asarray(out)", f"lifted = {'wrap(out)' if duals else 'lift(wrap(out), level)'}"]
    lift_extra = "wrap(a)" if duals else "lift(wrap(a), level)"
    if op.formulas:
        moved = ", ".join([f"None if m{i} is None else m{i}._array" for i in operands])
        moving = ", ".join([f"m{i} is not None" for i in operands])
        shared = " or ".join([f"m{i} is not None and t is m{i}._array" for i in operands])
        lines += [
            "if still or out.dtype.kind not in 'fc':",
            f"    return (lifted,), tuple([{lift_extra} for a in {extras}])",
            f"args, moved = ({arrays},), ({moved},)",
            f"t = (op.slopes.get(({moving},)) or formula(op, moved, ARRAYS))(args, moved, (out,), {extras})",
            "plain = type(t) is ndarray and t.dtype is out.dtype and t.shape == out.shape and t.base is None",
            f"if not plain or (t.ndim > 1 and t.strides != out.strides) or {shared}:",
            "    t = fitted(op, t, args, moved, out)",
            "if t.strides == out.strides:",
            "    meta_of(lifted).tangent = wrap(t)",
            *["    level.marked.append(ref(lifted))"] * duals,
            "else:",
            "    set_tangent(lifted, wrap(t))",
        ]
    lines += [f"return (lifted,), tuple([{lift_extra} for a in {extras}])"]
    return "\n    ".join([head, *lines]) + "\n"


def _operand_alone(op: Any, i: int) -> list[str]:
    """Return an operand `a`: its value `x`, the array `r` of that, its tangent `m`."""
    number = " and type(a{0}) is not float and type(a{0}) is not int" if op.numbers else ""
    number = " and a{0} is not None" if op.order[i] in op.optional else number
    return [
        line.format(i)
        for line in (
            "x{0}, m{0} = a{0}, None",
            "if type(a{0}) is Lifted:",
            "    if a{0}._level is not level:",
            "        return None",
            "    x{0} = a{0}._value",
            "    if a{0}._meta is not None:",
            "        m{0} = tangent_of(a{0})",
            "        if m{0} is not None and (type(m{0}) is not Tensor or grad and m{0}._rg):",
            "            return None",
            "if type(x{0}) is Tensor:",
            "    r{0} = x{0}._array",
            "    if grad and x{0}._rg or r{0}.dtype is not f32 and r{0}.dtype is not f64:",
            "        return None",
            f"elif True{number}:",
            "    return None",
            "else:",
            "    r{0} = x{0}",
        )
    ]


def _dual_operand(op: Any, i: int) -> list[str]:
    """Return the same of a plain tensor, which may have a tangent."""
    own = _operand_alone(op, i)
    value = own.index(f"if type(x{i}) is Tensor:")
    tangent = [
        line.format(i)
        for line in (
            "    if grad and a{0}._meta is not None and a{0}.requires_grad:",
            "        return None",
            "    if a{0}._meta is not None:",
            "        m{0} = tangent_of(a{0})",
            "        if m{0} is not None and (type(m{0}) is not Tensor or grad and m{0}.requires_grad):",
            "            return None",
        )
    ]
    number = own.index("else:")
    before = own.index(next(line for line in own[value:] if line.startswith("elif")))
    return [own[0], *own[value:before], *tangent, *own[before : number + 2]]


def _other_alone(i: int) -> list[str]:
    """Return a tensor that isn't an operand."""
    return [
        line.format(i)
        for line in (
            "x{0} = a{0}._value if type(a{0}) is Lifted and a{0}._level is level else a{0}",
            "if x{0} is not None and type(x{0}) is not Tensor:",
            "    return None",
            "r{0} = None if x{0} is None else x{0}._array",
        )
    ]


def _as_view(op: Any, arg: Tensor, value: Tensor, tangent: Tensor, out: Any, moved: Any, level: Level) -> Tensors:
    """Return a view, of the value and of the tangent alike."""
    creation = op.creation()
    below, beside = part_of(value, out), part_of(tangent, moved)
    link_view(below, value, creation)
    link_view(beside, tangent, creation)
    lifted = lift(below, level)
    link_view(lifted, arg, creation)
    lifted._meta.tangent = beside
    return (lifted,)


def _as_dual_view(op: Any, value: Tensor, tangent: Tensor, out: Any, moved: Any) -> Tensors:
    """Return the same of a dual tensor."""
    creation = op.creation()
    made, beside = part_of(value, out), part_of(tangent, moved)
    link_view(made, value, creation)
    link_view(beside, tangent, creation)
    set_tangent(made, beside)
    return (made,)


ALONE: dict[str, Any] = {
    "__name__": __name__,
    "as_dual_view": _as_dual_view,
    "ref": weakref.ref,
    "set_tangent": set_tangent,
    "Lifted": Lifted,
    "Tensor": Tensor,
    "as_view": _as_view,
    "asarray": np.asarray,
    "f32": np.dtype("float32"),
    "f64": np.dtype("float64"),
    "lift": lift,
    "meta_of": meta_of,
    "ndarray": np.ndarray,
    "fitted": fitted_tangent,
    "formula": formula,
    "ARRAYS": ARRAYS,
    "tangent_of": tangent_of,
    "wrap": wrap,
}

in_formulas("added_up", _adding_up(ARRAYS), _adding_up(TENSORS))
# A number among the operands as the array or the tensor that a formula expects.
in_formulas(
    "beside",
    lambda x, out: x if isinstance(x, np.ndarray) else np.array(x, out.dtype),
    lambda x, out: x if isinstance(x, Tensor) else wrap(np.array(x, out._array.dtype)),
)
