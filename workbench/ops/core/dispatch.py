"""The general way through any op, which handles everything that its compiled function does not.

Numbers and mixed dtypes meet here, listeners are told here. It gives the same node as the compiled function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes, state
from ...autograd.anomaly_mode import remember
from ...autograd.function_outputs import fitted_gradient
from ...autograd.levels import Lifted
from ...autograd.node import edge_of, in_scope, sequence
from ...autograd.saved_tensors import Packed, pack_saved
from ...autograd.state import local, scoped, with_grad
from ...autograd.tensor import InferenceTensor, Tensor, link_view, part_of, wrap
from ...events import emit, listeners
from . import checks
from .registry import in_formulas, told_arguments
from .scalars import SCALARS, scalar_array

FLOAT32 = np.dtype("float32")
FLOAT64 = np.dtype("float64")
NUMBER = (bool, int, float, np.number, np.bool_)


def dispatch(op: Any, args: tuple[Any, ...]) -> Any:
    """Run an op on any arguments it takes and record it if wanted; `args` in the order of its signature."""
    outs, _ = perform(op, args)
    return outs if op.several else outs[0]


def perform(op: Any, args: tuple[Any, ...]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The same for the rules of transforms: all outputs, and what else the op's forward found out."""
    modes = local.modes
    if modes.levels or any([type(a) is Lifted for a in (*args, *(args[0] if op.variadic else ()))]):
        from .interpreters import interpret  # most programs run no transform

        return interpret(op, args)
    if state.dual is not None and not modes.paused:
        from .jvp import push_duals_alone

        if (found := push_duals_alone(op, args)) is not None:
            return found
    elif op.simple:
        quick = _unrecorded(op, args, modes)
        if quick is not None:
            return (quick,), ()
    if op.prepare is not None:
        args = op.prepare(args)
    given = dict(zip(op.order, args, strict=True))
    operands = op.operands(given)
    for position, operand in enumerate(operands):
        if not isinstance(operand, Tensor) and (operand is not None or not op.optional):
            _check_operand(op, position, operand, operands)
    arrays = _meet(op, operands) if op.meets else [_array_of(t) for t in operands]
    for name in op.lists:
        given[name] = tuple(given[name])
    inputs = {op.tensors[0]: arrays} if op.variadic else dict(zip(op.tensors, arrays, strict=True))
    for name in op.kept:
        inputs[name] = _array_of(given[name])
    try:
        r = op.forward(*[inputs[name] if name in inputs else given[name] for name in op.order])
    except ValueError as error:
        if op.fits:
            kept = [given[name]._array for name in op.kept if name not in op.lists]
            checks.check_broadcast([a.shape for a in kept + arrays])
        if (said := errors.of_shapes(error)) is not None:
            raise said from None
        raise
    extras: tuple[Tensor, ...] = ()
    if op.extras:
        r, *extra = r
        extras = tuple([wrap(a) for a in extra])
        given.update(zip(op.extras, extras, strict=True))
    viewing = op.kind in ("view", "views")
    results = [np.asarray(a) for a in (r if op.several else (r,))]
    outs = tuple([part_of(operands[0], a) if viewing else wrap(a) for a in results])
    needs = [isinstance(t, Tensor) and t.requires_grad for t in operands]
    floating = bool(outs) and outs[0]._array.dtype.kind == "f"
    normal = any([type(t) is not InferenceTensor for t in operands])
    if viewing and normal:
        for out in outs:
            link_view(out, operands[0], op.creation())
    if modes.grad and True in needs and floating and op.formulas and normal and not modes.inference:
        node = op.bind(given, operands, needs, outs)
        if modes.saved_hooks:
            pack_saved(node, outs[0])
        if listeners:
            emit(("created", node, told_arguments(op, tuple([given[name] for name in op.said])), outs))
    elif listeners:
        emit(("unrecorded", op.name, tuple(operands), outs))
    if modes.dual is not None and floating and op.formulas and not modes.inference:
        from .interpreters import push_duals

        push_duals(op, args, operands, outs, extras)
    return outs, extras


def _unrecorded(op: Any, args: tuple[Any, ...], modes: Any) -> Tensor | None:
    """The result of an op over tensors of one usual dtype that do not ask for gradients; None for all else.

    Transforms run most of their operations so, in the end.
    """
    if modes.inference or modes.dual is not None:
        return None
    arrays, kind = list(args), None
    for place in op.places:
        t = args[place]
        if type(t) is Tensor and not t._rg and (t._meta is None or not t.requires_grad):
            array = arrays[place] = t._array
            if kind is None:
                kind = array.dtype
            elif array.dtype is not kind:
                return None
        elif op.numbers and kind is not None and kind in (numbers := SCALARS.get(type(t), {})):
            arrays[place] = numbers[kind][t]
        else:
            return None
    if kind is not FLOAT64 and kind is not FLOAT32:
        return None
    try:
        r = op.forward(*arrays)
    except ValueError:
        return None
    if op.kind != "view":
        return wrap(r)
    out = wrap(r)
    link_view(out, args[op.places[0]], op.creation())
    return out


def _array_of(t: Any) -> Any:
    if type(t) is tuple:
        return tuple([_array_of(each) for each in t])
    return None if t is None else t._array


def dispatch_operator(op: Any, args: tuple[Any, ...]) -> Any:
    """Dispatch for an operator's method, where an unknown operand means: ask the other side."""
    if all(_takes(op, operand) for operand in args[: len(op.tensors)]):
        return dispatch(op, args)
    return NotImplemented


def _takes(op: Any, operand: Any) -> bool:
    return isinstance(operand, Tensor) or (op.numbers and isinstance(operand, NUMBER))


def _check_operand(op: Any, position: int, operand: Any, operands: list[Any]) -> None:
    if op.meets and op.kind != "tensors" and len(operands) > 1 and isinstance(operand, NUMBER):
        return
    name = op.tensors[position]
    said = "input" if position == 0 and name == "self" else name
    raise TypeError(checks.not_a_tensor(op.name, said, op.order.index(name), operand))


def _meet(op: Any, operands: list[Any]) -> list[np.ndarray]:
    """The operands as arrays of one dtype, which is the result's."""
    standing = []
    for t in operands:
        if isinstance(t, Tensor):
            standing.append((t.dtype, 2 if t._array.ndim else 1))
        else:
            standing.append((dtypes.of_number(t.item() if isinstance(t, np.generic) else t), 0))
    common = dtypes.result_type(standing)
    if op.kind == "float" and not common.is_floating_point:
        common = dtypes.get_default_dtype()
    arrays = [t._array if isinstance(t, Tensor) else scalar_array(t, common.np) for t in operands]
    return [a if a.dtype is common.np else a.astype(common.np) for a in arrays]


def record_node(op: Any, given: dict[str, Any], operands: list[Any], needs: list[bool], out: Tensor) -> Any:
    """The node of one application: its edges and what its formulas read."""
    node = op.node()
    node.seq = next(sequence)  # before the edges, as in PyTorch: a view's may be made anew just now
    node.extra = in_scope() if scoped else None
    edges = [(edge_of(t), t._nr) if need else (None, 0) for t, need in zip(operands, needs, strict=True)]
    if len(op.reads) > 1:  # a view made without gradients leads nowhere, and PyTorch then saves nothing for it
        needs = [parent is not None for parent, _ in edges]
    if op.variadic:
        node.parents = tuple(edges)
        wanted = set(op.tensors)
    else:
        for i, (parent, nr) in enumerate(edges):
            if op.tensors[i] not in op.reads:
                parent, nr = None, 0
            setattr(node, f"p{i}", parent)
            setattr(node, f"n{i}", nr)
        wanted = {name for name, need in zip(op.tensors, needs, strict=True) if need}
    for name in node.saved_names:
        readers = {i for i, reads in op.reads.items() if name in reads.tensors}
        if name == "result":
            node.s_result, node.c_result, node.v_result = out._array, None, 0
            continue
        if len(readers) == 1 and not readers & wanted:
            setattr(node, f"s_{name}", None)
            continue
        value = given[name]
        if name in op.lists:
            saved, versions = value, tuple([_version_of(t) for t in value])
        else:
            is_array = isinstance(value, Tensor) or value is None
            saved, versions = value if is_array else np.array(value, out._array.dtype), _version_of(value)
        setattr(node, f"s_{name}", saved)
        setattr(node, f"v_{name}", versions)
    for name in node.shape_names:
        setattr(node, f"z_{name}", np.shape(given[name]._array))
    for name in node.argument_names:
        setattr(node, f"a_{name}", given[name])
    for name in node.factor_names:
        setattr(node, f"y_{name}", given[name]._array.strides)
    if op.fits:
        node.fit = _fit(operands, [given[name] for name in op.kept], needs, out._array)
    if state.anomaly:
        remember(node)
    return node


def _version_of(saved: Any) -> Any:
    """At which version something is saved, and of a number the number; RuntimeError for what may not be."""
    if type(saved) is InferenceTensor:
        raise RuntimeError(errors.INFERENCE_SAVED)
    if saved is None or isinstance(saved, Tensor):
        return 0 if saved is None else saved._version
    return saved.item() if isinstance(saved, np.generic) else saved


def _fit(operands: list[Any], kept: list[Any], needs: list[bool], result: np.ndarray) -> tuple[Any, ...] | None:
    """What each wanted gradient must be made into; None where all fit already."""
    arrays = [t._array for t in operands if isinstance(t, Tensor)]
    shapes = {a.shape for a in arrays} | {t._array.shape if isinstance(t, Tensor) else None for t in kept}
    if len(shapes) == 1 and all([a.dtype is result.dtype for a in arrays]):
        return None
    return tuple([(t._array.shape, t._array.dtype) if need else None for t, need in zip(operands, needs, strict=True)])


def refit(node: Any, grad: Any, needed: Any = None) -> Any:
    """The gradients as arrays, by way of tensors, which check what they are given."""
    given = [None if g is None else wrap(np.asarray(g)) for g in (grad if node.multi else [grad])]
    vjp, towards = (node.vjp_tensors, ()) if needed is None else (node.vjp_tensors_towards, (needed,))
    out = with_grad(False, vjp, given if node.multi else given[0], *towards)
    if node.arity == 1:
        return None if out is None else out._array
    return [None if t is None else t._array for t in out]


def fit_unpacked(node: Any, grad: Any, *found: Any) -> Any:
    """The gradients as the inputs have them: summed down to their shapes, in their dtypes."""
    first = grad[0] if node.multi else grad
    outs = found[0] if node.op.variadic else found
    outs = [None if t is None else fitted_gradient(node, i, t, *_kind(node, i, t, first)) for i, t in enumerate(outs)]
    return outs[0] if node.arity == 1 else outs


def _kind(node: Any, i: int, t: Tensor, grad: Tensor | None) -> tuple[tuple[int, ...], np.dtype]:
    """What is known of an input's shape and dtype; of the gradient's, where nothing is."""
    op = node.op
    if op.fits and node.fit:
        return node.fit[i]
    # all operands of an op that fits have one shape, which is not the result's where that is reduced
    names = op.tensors if op.fits else [op.tensors[0 if op.variadic else i]]
    for name in names:
        if type(saved := getattr(node, f"s_{name}", None)) is Packed:
            return saved.kind
    like = t if grad is None else grad
    return getattr(node, f"z_{names[0]}", (like if op.fits else t)._array.shape), like._array.dtype


in_formulas("refit", refit, refit)
in_formulas("fit_unpacked", fit_unpacked, fit_unpacked)
