"""How a level interprets an operation: on the values one level below, with what the transform adds at its own.

"grad" records a node, "jvp" pushes tangents forward, "vmap" runs one operation for the whole batch.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

from ...autograd.forward_ad import mark, set_tangent, tangent_of, unpushed
from ...autograd.levels import (
    Level,
    Lifted,
    as_given,
    batched,
    below,
    highest,
    lift,
    lift_to_top,
    without_finished_levels,
)
from ...autograd.saved_tensors import Packed, SavedOutput, save_results, saved_as_result
from ...autograd.state import local
from ...autograd.tensor import Tensor, link_view
from ...events import emit, listeners
from . import batch_rules, vmap  # noqa: F401  the rules register themselves
from .jvp import family, push_alone, push_tangents
from .nodes import record_node
from .registry import REGISTRY, SEVERAL, non_default_arguments

Tensors = tuple[Tensor, ...]


def interpret(op: Any, args: tuple[Any, ...]) -> tuple[Tensors, Tensors]:
    """Return the outputs of an op and what else its forward found out, where transforms are running."""
    levels = local.modes.levels
    if len(levels) == 1 and levels[0].kind == "jvp":
        found = push_alone(op, args, levels[0])
        if found is not None:
            return found
    level: Level | None = None
    plain = True  # whether all that is lifted is so to the level found
    for place in op.places:
        arg = args[place]
        if type(arg) is Lifted or isinstance(arg, (list, tuple)):
            own = arg._level if type(arg) is Lifted else None
            if own is None or own not in levels:
                own, plain = highest((arg,)), False
            if own is not None and (level is None or own.number > level.number):
                level = own
    dual = local.modes.dual
    if dual is not None and (level.number if level else 0) <= dual.depth <= len(levels) and dual.depth:
        return _push_duals_within(op, args, dual.depth)
    if level is None:
        with below(None):
            return _risen(op, op.perform(_map(op, args, lambda t: without_finished_levels(t, None))), levels)
    if level is not levels[-1]:
        with below(levels[level.number]):
            return _risen(op, interpret(op, args), levels)
    if not plain:
        args = _map(op, args, lambda t: without_finished_levels(t, level))
    if op.prepare is not None:
        args = op.prepare(args)
    return RULES[level.kind](op, args, level)


def _risen(op: Any, found: tuple[Tensors, Tensors], levels: tuple[Level, ...]) -> tuple[Tensors, Tensors]:
    """Return an op's result on captured tensors only: new tensors belong to the running levels, views stay captured."""
    if op.kind in ("view", "views"):
        return found
    return tuple([lift_to_top(out, levels) for out in found[0]]), found[1]


def _map(op: Any, args: tuple[Any, ...], function: Any) -> tuple[Any, ...]:
    """Return the arguments of an op with a function run over its tensors."""
    found = list(args)
    for place in op.places:
        arg = args[place]
        if isinstance(arg, Tensor):
            found[place] = function(arg)
        elif isinstance(arg, (list, tuple)):
            found[place] = type(arg)([function(t) if isinstance(t, Tensor) else t for t in arg])
    return tuple(found)


def _values(op: Any, args: tuple[Any, ...], level: Level) -> tuple[Any, ...]:
    """Return the arguments one level below."""
    return _map(op, args, lambda t: t._value if type(t) is Lifted and t._level is level else t)


def _run_below(op: Any, args: tuple[Any, ...], level: Level) -> tuple[Tensors, Tensors]:
    with below(level):
        return op.perform(_values(op, args, level))


def _lifted(op: Any, operands: list[Any], values: Tensors, level: Level) -> tuple[Lifted, ...]:
    """Return the outputs as this level sees them; views are linked to what they are views of."""
    outs = tuple([lift(value, level) for value in values])
    if op.kind in ("view", "views") and type(operands[0]) is Lifted:
        for out in outs:
            link_view(out, operands[0], op.creation())
    return outs


def _record(op: Any, args: tuple[Any, ...], level: Level) -> tuple[Tensors, Tensors]:
    given = dict(zip(op.order, args, strict=True))
    operands = op.operands(given)
    values, extras = _run_below(op, args, level)
    outs = _lifted(op, operands, values, level)
    needs = [type(t) is Lifted and t._level is level and t.requires_grad for t in operands]
    if local.modes.grad and True in needs and op.formulas and outs and outs[0]._array.dtype.kind in "fc":
        node = record_node(op, given, operands, extras, outs, needs)
        if node.keeps_result:
            node.saved_result = saved_as_result(outs[0])
        if listeners:
            emit(("created", node, non_default_arguments(op, tuple([given[name] for name in op.caller_args])), outs))
    return outs, tuple([lift(extra, level) for extra in extras])


def _push(op: Any, args: tuple[Any, ...], level: Level) -> tuple[Tensors, Tensors]:
    given = dict(zip(op.order, args, strict=True))
    operands = op.operands(given)
    moved = [tangent_of(t) if type(t) is Lifted and t._level is level else None for t in operands]
    values, extras = _run_below(op, args, level)
    outs = _lifted(op, operands, values, level)
    if op.formulas and any(t is not None for t in moved) and outs and outs[0]._array.dtype.kind in "fc":
        if listeners:
            emit(("pushing", op, tuple([given[name] for name in op.caller_args]), outs, level))
        with below(level):
            found = push_tangents(op, _values(op, args, level), moved, values, extras)
        for out, tangent in zip(outs, found, strict=True):
            set_tangent(out, tangent)
        if listeners:
            emit(("pushed", op, outs, found, operands, moved, level))
    return outs, tuple([lift(extra, level) for extra in extras])


def _map_batch(op: Any, args: tuple[Any, ...], level: Level) -> tuple[Tensors, Tensors]:
    given = dict(zip(op.order, args, strict=True))
    operands, extras = op.operands(given), ()
    first = operands[0]
    if type(first) is Lifted and first._given is not None and vmap.keeps_place(op, operands):
        value, dim = as_given(first)
        with below(level):
            values, _ = op.perform(_map(op, args, lambda t: value))
        outs = tuple([batched(t, dim, level) for t in values])
    else:
        with below(level):
            values, extras = vmap.run_batched(op, _map(op, args, lambda t: vmap.Mapped.of(t, level)), level.size)
        outs = _lifted(op, operands, values, level)
    if listeners:
        emit(("batched", op, tuple([given[name] for name in op.caller_args]), outs, level))
    return outs, tuple([lift(extra, level) for extra in extras])


def _push_duals_within(op: Any, args: tuple[Any, ...], depth: int) -> tuple[Tensors, Tensors]:
    """Return the outputs where so many transforms surround the level of dual tensors, which is above them then."""
    levels = local.modes.levels
    with below(levels[depth]) if len(levels) > depth else nullcontext():
        args = _map(op, args, lambda t: without_finished_levels(t, None))
        if op.prepare is not None:
            args = op.prepare(args)
        outs, extras = unpushed(op.perform, args)
        if outs and outs[0]._array.dtype.kind in "fc" and op.formulas:
            push_duals(op, args, op.operands(dict(zip(op.order, args, strict=True))), outs, extras)
    return outs, extras


def push_duals(op: Any, args: tuple[Any, ...], operands: list[Any], outs: Tensors, extras: Tensors) -> None:
    """Give the results of dual tensors their tangents, and let the node that saved the result know of it."""
    moved = [tangent_of(t) for t in operands]
    if all(t is None for t in moved):
        return
    if listeners:
        given = dict(zip(op.order, args, strict=True))
        emit(("pushing", op, tuple([given[name] for name in op.caller_args]), outs, None))
    found = unpushed(push_tangents, op, args, moved, outs, extras)
    for out, tangent in zip(outs, found, strict=True):
        set_tangent(out, lift_to_top(tangent, local.modes.levels))
    node = outs[0]._fn
    if node is not None and node.keeps_result and type(node.saved_result) is not Packed:
        node.saved_result = saved_as_result(outs[0])
        mark(node.saved_result)
    elif node is not None and op.results and node.op is op:
        save_results(node, outs)
        for name in node.saved_names:
            if type(saved := getattr(node, f"saved_{name}")) is SavedOutput:
                mark(saved.array)  # what holds the tangent
    if listeners:
        emit(("pushed", op, outs, found, operands, moved, None))


RULES = {"grad": _record, "jvp": _push, "vmap": _map_batch}

FAMILIES = ("pointwise", "linear", "multilinear", "reduction", "transposed")


class Row(NamedTuple):
    """An op, how its tangent is found, and how a batch of it runs."""

    op: str
    tangent: str
    batch: str


class Report(tuple[Row, ...]):
    """A row for each op; shown as a table."""

    __slots__ = ()

    @property
    def loops(self) -> list[str]:
        """Return the ops that run once for each sample of a batch."""
        return [row.op for row in self if row.batch == "loop"]

    def __repr__(self) -> str:
        rows = [Row("operation", "tangent", "batch"), *self]
        wide, wider = (max([len(row[i]) for row in rows]) for i in (0, 1))
        lines = [f"{row.op:{wide}}  {row.tangent:{wider}}  {row.batch}" for row in rows]
        return "\n".join([*lines, f"run sample by sample: {', '.join(self.loops) or 'none'}"])


def report() -> Report:
    """Return how every op finds its tangent and runs a batch: by which family, or by a rule of its own.

    Along a dimension, ops whose samples have none beside others that have some still run one after the other.
    """
    return Report([Row(op.name, _tangent(op), _batch(op)) for op in (*REGISTRY.values(), *SEVERAL.values())])


def _tangent(op: Any) -> str:
    if not op.formulas:
        return "none"
    found = family(op)
    return found if found in FAMILIES else "formula"


def _batch(op: Any) -> str:
    if op.name in vmap.OWN:
        return "own rule"
    return f"as {op.batch}" if op.batch in REGISTRY else op.batch
