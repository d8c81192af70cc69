"""Functions where something transforms them: tangents pushed through `jvp`, and one node at each level.

At every level that differentiates, a Function has a node of its own: its forward runs one level below, in the end on
ordinary tensors, and setup_context prepares the `ctx` of each level (torch._functorch.autograd_function).
"""

from __future__ import annotations

from typing import Any

from .. import errors
from ..events import emit, listeners
from . import state
from .anomaly_mode import remember
from .forward_ad import check_size, set_tangent, tangent_of, unpushed
from .function_outputs import bind_outputs, emit_created
from .levels import Level, Lifted, at, below, lift, value_below
from .node import sequence
from .pytree import by_identity, tree_map
from .state import local, with_grad
from .tensor import Tensor


def applied(cls: Any, args: tuple[Any, ...], two_steps: bool, kwargs: dict[str, Any]) -> Any:
    """What `apply` does while transforms run, or a level of dual tensors is open."""
    modes = local.modes  # of levels that are over nothing is left
    args = tuple([at(a, None) if type(a) is Lifted else a for a in args])
    level = modes.levels[-1] if modes.levels else None
    pushing = modes.dual is not None and modes.dual.depth == len(modes.levels)
    if pushing and level is not None and level.own and not any([_is_at(a, level) for a in args]):
        level = None  # of dual tensors only the tangents are batched
    if level is not None:
        if not two_steps and not level.own:
            raise RuntimeError(errors.TRANSFORM_NEEDS_SETUP)
        if level.kind == "vmap":
            from .function_vmap import apply_batched

            return apply_batched(cls, args, level, kwargs)
        for name in kwargs:
            raise TypeError(errors.TRANSFORM_UNEXPECTED.format(name))
    ctx = (cls._backward_cls if level is None else _node_class(cls))()
    ctx.extra = ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
    ctx._saved = ()
    needs = [_is_at(a, level) and a.requires_grad for a in args]
    ctx.needs_input_grad = tuple(needs)
    recorded = modes.grad and True in needs
    if recorded:
        ctx._connect(args, needs)
    ctx.seq = next(sequence)
    if level is None:
        output = with_grad(False, unpushed, _forward_here, cls, ctx, args, two_steps)
    else:
        output = unpushed(_forward_below, cls, args, level) if pushing else _forward_below(cls, args, level)
        with_grad(False, cls.setup_context, ctx, args, output)
    dirty, plain = ctx.dirty_tensors or (), ctx.non_differentiable or ()
    fixed = [any(o is p for p in plain) for o in (output if isinstance(output, tuple) else (output,))]
    result, outputs = bind_outputs(ctx, args, output, recorded)
    if recorded:
        if ctx.to_save:
            ctx._pack(ctx.to_save)
        if state.anomaly:
            remember(ctx)
    if listeners:
        emit_created(ctx, args, outputs, recorded)
    if pushing or (level is not None and level.kind == "jvp"):
        _push(ctx, args, outputs, fixed, dirty, None if pushing else level)
    ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
    return result


def _node_class(cls: Any) -> Any:
    """The class of a Function's nodes at a level, under the name they have there."""
    found = cls.__dict__.get("_generated_cls")
    if found is None:
        name = f"{cls.__name__}GeneratedBackward"
        found = cls._generated_cls = type(name, (cls._backward_cls,), {"__slots__": ()})
    return found


def _is_at(a: Any, level: Level | None) -> bool:
    """Whether an argument is a tensor that this level looks into."""
    return isinstance(a, Tensor) and (level is None or (type(a) is Lifted and a._level is level))


def _forward_here(cls: Any, ctx: Any, args: tuple[Any, ...], two_steps: bool) -> Any:
    """The outputs of ordinary tensors; of dual tensors forward sees the values."""
    if not two_steps:
        return cls.forward(ctx, *args)
    output = cls.forward(*args)
    cls.setup_context(ctx, args, output)
    return output


def _forward_below(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    """The outputs, computed one level below; an input that is returned, or written, stays the same tensor."""
    values = tree_map(lambda a: value_below(a, level) if isinstance(a, Tensor) else a, args)
    with below(level):
        output = cls.apply(*values)
    inputs = by_identity(values, args)

    def lifted(o: Any) -> Any:
        if id(o) in inputs or not isinstance(o, Tensor):
            return inputs.get(id(o), o)
        return lift(o, level)

    return tree_map(lifted, output)


def _push(
    ctx: Any, args: tuple[Any, ...], outputs: tuple[Any, ...], fixed: list[bool], dirty: Any, level: Level | None
) -> None:
    """Run the user's jvp, if any argument has a tangent, and give the outputs what it returns."""
    tangents = [tangent_of(a) if _is_at(a, level) else None for a in args]
    if all(t is None for t in tangents):
        return
    if listeners:
        emit(("pushing", ctx._forward_cls, args, outputs, level))
    if level is None:
        versions, given, found = unpushed(_run_jvp, ctx, args, tangents, level)
    else:
        with below(level):
            versions, given, found = _run_jvp(ctx, args, tangents, level)
    found = found if isinstance(found, tuple) else (found,)
    for nr, t in enumerate(found):
        if t is not None and not isinstance(t, Tensor):
            raise RuntimeError(errors.JVP_KIND.format(type(t).__name__, nr))
    if len(found) != len(outputs):
        raise RuntimeError(errors.JVP_COUNT.format(len(outputs), len(found)))
    for nr, (out, t) in enumerate(zip(outputs, found, strict=True)):
        if not isinstance(out, Tensor):
            continue
        if out._array.dtype.kind != "f" or fixed[nr]:
            if t is not None:
                raise RuntimeError(errors.JVP_NOT_DIFFERENTIABLE.format(nr))
            continue
        position = next((i for i, d in enumerate(args) if d is out), None)
        if any(out is d for d in dirty):
            had = tangents[position]
            if had is not None and (t is None or t._version == versions[position]):
                raise RuntimeError(errors.JVP_NOT_IN_PLACE)
            if had is not None and t is not had:
                raise RuntimeError(errors.JVP_NOT_AS_IS)
        else:
            if t is None or t._array.dtype.kind != "f":
                view = t is None and level is None and out._is_view()
                raise RuntimeError(errors.JVP_UNDEFINED if view else errors.JVP_NO_TANGENT)
            if level is not None and type(t) is Lifted and t._level is level:
                t = t._value
            if out._is_view():
                _check_view(out, t, args, given)
            check_size(out, t)
        set_tangent(out, t)
    if listeners:
        emit(("pushed", ctx._forward_cls, outputs, found, args, tangents, level))


def _run_jvp(ctx: Any, args: tuple[Any, ...], tangents: list[Any], level: Level | None) -> tuple[Any, Any, Any]:
    """The versions of the tangents, what the user's jvp is given, and what it returns."""
    versions = [None if t is None else t._version for t in tangents]
    given = [_zeros(ctx, a, level) if t is None else t for a, t in zip(args, tangents, strict=True)]
    kept, ctx._saved = ctx._saved, ()  # it reads what was saved for it, not for backward
    try:
        return versions, given, ctx._forward_cls.jvp(ctx, *given)
    finally:
        ctx._saved = kept


def _zeros(ctx: Any, a: Any, level: Level | None) -> Tensor | None:
    if not ctx._materialize or not isinstance(a, Tensor) or a._array.dtype.kind != "f":
        return None
    value = a if level is None else value_below(a, level)
    return value.new_zeros(value.shape)


def _check_view(out: Tensor, t: Tensor, args: tuple[Any, ...], given: list[Any]) -> None:
    """RuntimeError where a view's tangent is no view of the tangent of what it is a view of."""
    if not t._is_view():
        raise RuntimeError(errors.JVP_NO_VIEW)
    for a, g in zip(args, given, strict=True):
        if isinstance(a, Tensor) and g is not None and _same_base(out, a) and _same_base(t, g):
            return
    raise RuntimeError(errors.JVP_OTHER_VIEW)


def _same_base(view: Tensor, t: Tensor) -> bool:
    return view._base is t or view._base is t._base
