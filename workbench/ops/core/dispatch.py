"""The general path through any op, in three steps: interpret, compute, record.

Transforms interpret it; tensors and numbers of any dtype are computed; `record_node` makes the node. The op's compiled
function (codegen.py) is the last two steps without the tests that the usual call doesn't need.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes, state
from ...autograd.function_outputs import fitted_gradient
from ...autograd.levels import Lifted
from ...autograd.saved_tensors import Packed, pack_saved
from ...autograd.state import again_quietly, compute, local, quietly, slow_path_reasons, with_grad
from ...autograd.tensor import InferenceTensor, Tensor, link_view, part_of, subclasses, wrap
from ...events import emit, listeners
from . import checks
from .complex_rule import for_complex
from .nodes import record_node
from .overrides import overridden, overriding, public
from .registry import in_formulas, non_default_arguments
from .scalars import scalar_array

NUMBER = (bool, int, float, complex, np.number, np.bool_)
Performed = tuple[tuple[Tensor, ...], tuple[Tensor, ...]]  # the outputs, and what else an op's forward found out


def dispatch(op: Any, args: tuple[Any, ...]) -> Any:
    """Run an op on any arguments it takes and record it if wanted; `args` in the order of its signature."""
    if subclasses and overriding(args):
        return overridden(public(op), args)
    try:
        outs, _ = perform(op, args)
    except TypeError:
        if overriding(args):
            return overridden(public(op), args)
        raise
    return outs if op.several else outs[0]


def perform(op: Any, args: tuple[Any, ...]) -> Performed:
    """Return the same for the rules of transforms: all outputs, and what else the op's forward found out."""
    if state.complex_made:
        op = for_complex(op, args)
    found = _interpret(op, args)
    return _run(op, args) if found is None else found


def _interpret(op: Any, args: tuple[Any, ...]) -> Performed | None:
    """Return the op as the transforms around it run it; None if only the general path is left."""
    modes = local.modes
    if modes.levels or Lifted in map(type, args) or (op.variadic and Lifted in map(type, args[0])):
        from .interpreters import interpret  # most programs run no transform

        return interpret(op, args)
    if state.dual is not None and not modes.paused:
        from .jvp import push_duals_alone

        return push_duals_alone(op, args)
    is_below = op.simple and not state.complex_made and slow_path_reasons and not state.readable
    if is_below and not (modes.inference or modes.saved_hooks or state.anomaly):
        return (op.usual(*args),), ()  # below all transforms, or where another thread has something unusual going on
    return None


def run_odd(op: Any, args: tuple[Any, ...]) -> Tensor:
    """Return the output of a simple op which has just been found not to be about transforms."""
    return _run(op, args)[0][0]


def _run(op: Any, args: tuple[Any, ...]) -> Performed:
    """Compute and record."""
    if op.prepare is not None:
        args = op.prepare(args)
    given = dict(zip(op.order, args, strict=True))
    operands = op.operands(given)
    results, extras = _compute(op, given, operands)
    normal = any([type(t) is not InferenceTensor for t in operands])
    if op.kind in ("view", "views"):
        outs = tuple([part_of(operands[0], a) for a in results])
        for out in outs if normal else ():
            link_view(out, operands[0], op.creation())
    else:
        outs = tuple([wrap(a) for a in results])
    _record(op, given, operands, outs, extras, normal)
    modes = local.modes
    if modes.dual is not None and _is_differentiable(op, outs) and not modes.inference:
        from .interpreters import push_duals

        push_duals(op, args, operands, outs, extras)
    return outs, extras


def _compute(op: Any, given: dict[str, Any], operands: list[Any]) -> tuple[list[np.ndarray], tuple[Tensor, ...]]:
    """Return the arrays of the outputs, and what else the forward found out; refuses what the op does not take."""
    for position, operand in enumerate(operands):
        if not isinstance(operand, Tensor) and (operand is not None or not op.optional):
            _check_operand(op, position, operand, operands)
    arrays = _promoted(op, operands) if op.promotes else [_array_of(t) for t in operands]
    for name in op.lists:
        given[name] = tuple(given[name])
    inputs = {**given, **({op.tensors[0]: arrays} if op.variadic else dict(zip(op.tensors, arrays, strict=True)))}
    for name in op.kept:
        inputs[name] = _array_of(given[name])
    try:
        try:
            r = compute(op.forward, *inputs.values())
        except RuntimeError as error:
            r = again_quietly(error, op.forward, *inputs.values())
    except ValueError as error:
        if op.broadcasts:
            beside = [given[name]._array for name in op.kept if name not in op.lists]
            checks.check_broadcast([a.shape for a in beside + arrays])
        if (shape_error := errors.of_shapes(error)) is not None:
            raise shape_error from None
        raise
    extras: tuple[Tensor, ...] = ()
    if op.extras:
        r, *extra = r
        extras = tuple([wrap(a) for a in extra])
    return [np.asarray(a) for a in (r if op.several else (r,))], extras


def _record(
    op: Any,
    given: dict[str, Any],
    operands: list[Any],
    outs: tuple[Tensor, ...],
    extras: tuple[Tensor, ...],
    normal: bool,
) -> None:
    """Record the node, if one is wanted, and tell listeners; what is `normal` is not all made in inference mode."""
    modes = local.modes
    needs = [isinstance(t, Tensor) and t.requires_grad for t in operands]
    if modes.grad and True in needs and _is_differentiable(op, outs) and normal and not modes.inference:
        node = record_node(op, given, operands, extras, outs, needs)
        if modes.saved_hooks:
            pack_saved(node, outs)
        if listeners:
            emit(("created", node, non_default_arguments(op, tuple([given[name] for name in op.caller_args])), outs))
    elif listeners:
        emit(("unrecorded", op.name, tuple(operands), outs))


def _is_differentiable(op: Any, outs: tuple[Tensor, ...]) -> bool:
    """Return True if an op with these outputs has a derivative."""
    return bool(outs) and outs[0]._array.dtype.kind in "fc" and bool(op.formulas)


def _array_of(t: Any) -> Any:
    if type(t) is tuple:
        return tuple([_array_of(each) for each in t])
    return None if t is None else t._array


def dispatch_operator(op: Any, args: tuple[Any, ...]) -> Any:
    """Dispatch for an operator's method, where an unknown operand means: ask the other side."""
    if all(_takes(op, operand) for operand in args[: len(op.tensors)]) or overriding(args):
        return dispatch(op, args)
    return NotImplemented


def dispatch_equality(op: Any, args: tuple[Any, ...]) -> Any:
    """Dispatch for `==`, which takes arrays too; `!=` takes none, as in PyTorch."""
    return dispatch_operator(op, tuple([wrap(arg) if isinstance(arg, np.ndarray) else arg for arg in args]))


def _takes(op: Any, operand: Any) -> bool:
    return isinstance(operand, Tensor) or (op.numbers and isinstance(operand, NUMBER))


def _check_operand(op: Any, position: int, operand: Any, operands: list[Any]) -> None:
    if op.promotes and op.kind != "tensors" and len(operands) > 1 and isinstance(operand, NUMBER):
        return
    name = op.tensors[position]
    argument = "input" if position == 0 and name == "self" else name
    raise TypeError(checks.not_a_tensor(op.name, argument, op.order.index(name), operand))


def _promoted(op: Any, operands: list[Any]) -> list[np.ndarray]:
    """Return the operands as arrays of one dtype, which is the result's."""
    arrays = [t._array for t in operands if isinstance(t, Tensor)]
    if len(arrays) == len(operands) and (op.kind != "float" or arrays[0].dtype.kind in "fc"):
        first = operands[0].dtype.np
        if all([a.dtype is first for a in arrays]):
            return arrays
    standing = []
    for t in operands:
        if isinstance(t, Tensor):
            standing.append((t.dtype, 2 if t._array.ndim else 1))
        else:
            standing.append((dtypes.of_number(t.item() if isinstance(t, np.generic) else t), 0))
    common = dtypes.result_type(standing)
    if op.kind == "float" and common.rank < 2:
        common = dtypes.get_default_dtype()
    arrays = [t._array if isinstance(t, Tensor) else scalar_array(t, common.np) for t in operands]
    return [a if a.dtype is common.np else quietly(a.astype, common.np) for a in arrays]


def refit(node: Any, grad: Any, needed: Any = None) -> Any:
    """Return the gradients as arrays, by way of tensors, which check what they are given."""
    given = [None if g is None else wrap(np.asarray(g)) for g in (grad if node.multi else [grad])]
    out = with_grad(False, node.op.node.vjp_tensors, node, given if node.multi else given[0], needed)
    if node.arity == 1:
        return None if out is None else out._array
    return [None if t is None else t._array for t in out]


def fit_unpacked(node: Any, grad: Any, *found: Any) -> Any:
    """Return the gradients as the inputs have them: summed down to their shapes, in their dtypes."""
    first = grad[0] if node.multi else grad
    outs = found[0] if node.op.variadic else found
    outs = [None if t is None else fitted_gradient(node, i, t, *_kind(node, i, t, first)) for i, t in enumerate(outs)]
    return outs[0] if node.arity == 1 else outs


def _kind(node: Any, i: int, t: Tensor, grad: Tensor | None) -> tuple[tuple[int, ...], np.dtype]:
    """Return what is known of an input's shape and dtype; of the gradient's, where nothing is."""
    op = node.op
    if op.broadcasts and node.fit:
        return node.fit[i]
    # all operands of an op that broadcasts have one shape, which is not the result's where that is reduced
    names = op.tensors if op.broadcasts else [op.tensors[0 if op.variadic else i]]
    for name in names:
        if type(saved := getattr(node, f"saved_{name}", None)) is Packed:
            return saved.kind
    like = t if grad is None else grad
    return getattr(node, f"shape_{names[0]}", (like if op.broadcasts else t)._array.shape), like._array.dtype


in_formulas("refit", refit)
in_formulas("fit_unpacked", fit_unpacked)
