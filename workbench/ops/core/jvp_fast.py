"""The straight path of forward mode: one jvp alone, over plain tensors that nothing is recorded of.

This is the usual case. Each op has code of its own for it, as it has for calls without transforms; that
takes a third of the time of the way through the levels, which does everything else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.forward_ad import tangent_of
from ...autograd.levels import Level, Lifted, lift
from ...autograd.state import local
from ...autograd.tensor import Tensor, link_view, meta_of, part_of, wrap
from ...events import listeners
from . import jvp
from .codegen import compiled
from .registry import ARRAYS

Tensors = tuple[Tensor, ...]


def push_alone(op: Any, args: tuple[Any, ...], level: Level) -> tuple[Tensors, Tensors] | None:
    """An op's outputs as the only level sees them, with their tangents; None where the other way must be taken."""
    modes = local.modes
    if modes.dual is not None or modes.inference or listeners:
        return None
    alone = op.slopes.get("alone")
    if alone is None:
        alone = op.slopes["alone"] = compiled(_text(op), "alone", NAMES, op)
    return alone(op, args, level, modes.grad)


def _text(op: Any) -> str:
    """The code: values and tangents of the operands, the op on arrays, then its tangent."""
    head = "def alone(op, args, level, grad):"
    if op.variadic or op.lists or op.several or (op.formulas and jvp.family(op) == "transposed"):
        return f"{head}\n    return None\n"
    operands = [i for i in op.places if op.order[i] in op.tensors]
    lines = [f"{', '.join([f'a{i}' for i in range(len(op.order))])}, = args"]
    for i in op.places:
        lines += _operand(op, i) if i in operands else _other(i)
    lines += [f"if {' and '.join([f'm{i} is None' for i in operands])}:", "    return None"]
    for i, j in zip(operands, operands[1:], strict=False) if op.meets else ():
        lines += [f"if type(r{i}) is ndarray is type(r{j}) and r{i}.dtype is not r{j}.dtype:", "    return None"]
    arrays = ", ".join([f"r{i}" if i in op.places else f"a{i}" for i in range(len(op.order))])
    lines += [
        "try:",
        f"    {'out, *extras' if op.extras else 'out'} = op.forward({arrays})",
        "except Exception:",  # which the other way tells properly
        "    return None",
    ]
    if op.kind == "view":
        lines += [
            f"moved = op.forward({arrays.replace('r0', 'm0._array', 1)})",
            "return as_view(op, a0, x0, m0, out, moved, level), ()",
        ]
        return "\n    ".join([head, *lines]) + "\n"
    extras = "extras" if op.extras else "()"
    lines += ["out = asarray(out)", "lifted = lift(wrap(out), level)"]
    if op.formulas:
        moved = ", ".join([f"None if m{i} is None else m{i}._array" for i in operands])
        moving = ", ".join([f"m{i} is not None" for i in operands])
        shared = " or ".join([f"m{i} is not None and t is m{i}._array" for i in operands])
        lines += [
            "if out.dtype.kind != 'f':",
            "    return (lifted,), ()",
            f"args, moved = ({arrays},), ({moved},)",
            f"t = (op.slopes.get(({moving},)) or formula(op, moved, ARRAYS))(args, moved, (out,), {extras})",
            "plain = type(t) is ndarray and t.dtype is out.dtype and t.shape == out.shape and t.base is None",
            f"if not plain or {shared}:",
            "    t = fitted(op, t, args, moved, out)",
            "meta_of(lifted).tangent = wrap(t)",
        ]
    lines += [f"return (lifted,), tuple([lift(wrap(a), level) for a in {extras}])"]
    return "\n    ".join([head, *lines]) + "\n"


def _operand(op: Any, i: int) -> list[str]:
    """An operand `a`: its value `x`, the array `r` of that, its tangent `m`."""
    number = " and type(a{0}) is not float and type(a{0}) is not int" if op.numbers is not None else ""
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


def _other(i: int) -> list[str]:
    """A tensor that is no operand."""
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
    """A view, of the value and of the tangent alike."""
    creation = op.creation()
    below, beside = part_of(value, out), part_of(tangent, moved)
    link_view(below, value, creation)
    link_view(beside, tangent, creation)
    lifted = lift(below, level)
    link_view(lifted, arg, creation)
    lifted._meta.tangent = beside
    return (lifted,)


NAMES: dict[str, Any] = {
    "__name__": __name__,
    "Lifted": Lifted,
    "Tensor": Tensor,
    "as_view": _as_view,
    "asarray": np.asarray,
    "f32": np.dtype("float32"),
    "f64": np.dtype("float64"),
    "lift": lift,
    "meta_of": meta_of,
    "ndarray": np.ndarray,
    "fitted": jvp.fitted_tangent,
    "formula": jvp.formula,
    "ARRAYS": ARRAYS,
    "tangent_of": tangent_of,
    "wrap": wrap,
}
