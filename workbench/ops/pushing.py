"""The straight path of forward mode: one jvp alone, over plain tensors that nothing is recorded of.

This is the usual case, and takes half the time that the way through the levels takes, which does everything else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.forward_ad import tangent_of
from ..autograd.levels import Level, Lifted, lift
from ..autograd.state import local
from ..autograd.tensor import Tensor, link_view, meta_of, part_of, wrap
from ..events import listeners
from . import tangents
from .door import _meet

Tensors = tuple[Tensor, ...]
NARROW = (np.dtype(np.float32), np.dtype(np.float64))


def push_alone(op: Any, args: tuple[Any, ...], level: Level) -> tuple[Tensors, Tensors] | None:
    """An op's outputs as the only level sees them, with their tangents; None where the other way must be taken."""
    modes = local.modes
    if (
        op.single_places is None
        or tangents.family(op) == "transposed"
        or modes.dual is not None
        or modes.inference
        or listeners
    ):
        return None
    values, arrays, moved, alike = list(args), list(args), [], True
    for place, operand in op.single_places:
        t, tangent = args[place], None
        if type(t) is Lifted and t._level is level:
            tangent = tangent_of(t)
            t = values[place] = t._value
        if type(t) is Tensor:
            arrays[place] = t._array
            if operand and t._array.dtype not in NARROW:
                return None
        elif t is not None and not (op.numbers is not None and type(t) in (int, float)):
            return None
        else:
            alike = False
        if tangent is not None and type(tangent) is not Tensor:
            return None
        if modes.grad and (type(t) is Tensor and t._rg or tangent is not None and tangent._rg):
            return None
        if operand:
            moved.append(tangent)
    if all([t is None for t in moved]):
        return None
    return _pushed(op, args, values, arrays, moved, alike, level)


def _pushed(op: Any, args: Any, values: Any, arrays: Any, moved: Any, alike: bool, level: Level) -> Any:
    places = op.single_places
    met = arrays
    if op.meets and not (alike and all([arrays[place].dtype is arrays[places[0][0]].dtype for place, _ in places])):
        met = list(arrays)
        operands = [place for place, operand in places if operand]
        for place, array in zip(operands, _meet(op, [values[place] for place in operands]), strict=True):
            met[place] = array
    try:
        r = op.forward(*met)
    except Exception:  # which the other way tells properly
        return None
    extras = ()
    if op.extras:
        r, *extras = r
    results = [np.asarray(a) for a in (r if op.several else (r,))]
    viewing = op.kind in ("view", "views")
    source = places[0][0]
    if viewing:
        below, found = _views(op, values[source], results), ()
        if moved[0] is not None:
            parts = op.forward(*[moved[0]._array if i == source else a for i, a in enumerate(arrays)])
            found = _views(op, moved[0], parts if op.several else (parts,))
    else:
        below = [wrap(a) for a in results]
        moved = [None if t is None else t._array for t in moved]
        moves = op.formulas and results and results[0].dtype.kind == "f"
        found = [wrap(a) for a in tangents.pushed(op, arrays, moved, results, extras)] if moves else ()
    outs = tuple([lift(value, level) for value in below])
    if viewing and type(args[source]) is Lifted:
        for out in outs:
            link_view(out, args[source], op.creation())
    for out, tangent in zip(outs, found, strict=False):
        meta_of(out).tangent = tangent
    return outs, tuple([lift(wrap(a), level) for a in extras])


def _views(op: Any, source: Tensor, arrays: Any) -> list[Tensor]:
    """Views of a tensor over parts of its memory."""
    out = [part_of(source, a) for a in arrays]
    for view in out:
        link_view(view, source, op.creation())
    return out
