"""Functions inside transforms: one node at each level, tangents through `jvp`, batches through `vmap`.

At every level that differentiates, a Function has a separate node: its forward runs one level below, in the end on
ordinary tensors, and setup_context prepares the `ctx` of each level (torch._functorch.autograd_function).

At a level that batches, the user's own rule runs, or one generated from the methods: another Function one level below,
whose methods run the user's methods under vmap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import errors
from ..events import emit, listeners
from .forward_ad import check_size, set_tangent, tangent_of, unpushed
from .function import Function, FunctionCtx, no_setup_context, run_forward, user_backward
from .function_outputs import bind_outputs, emit_created
from .levels import Level, Lifted, as_given, batched, below, entered, lift, value_below, without_finished_levels
from .node import sequence
from .pytree import broadcast_prefix, by_identity, tree_flatten, tree_map, tree_unflatten
from .state import local, with_grad
from .tensor import Tensor

Dims = tuple[Any, ...]  # for each thing its batch's dimension or None, or a tree of these


def apply_transformed(cls: Any, args: tuple[Any, ...], two_steps: bool, kwargs: dict[str, Any]) -> Any:
    """Run `apply` while transforms run or a level of dual tensors is open."""
    modes = local.modes  # of levels that are over nothing is left
    args = tuple([without_finished_levels(a, None) if type(a) is Lifted else a for a in args])
    level = modes.levels[-1] if modes.levels else None
    pushing = modes.dual is not None and modes.dual.depth == len(modes.levels)
    if pushing and level is not None and level.own and not any([_is_at(a, level) for a in args]):
        level = None  # of dual tensors only the tangents are batched
    if level is not None:
        if not two_steps and not level.own:
            raise RuntimeError(errors.TRANSFORM_NEEDS_SETUP)
        if level.kind == "vmap":
            return _batch(cls, args, level, kwargs)
        for name in kwargs:
            raise TypeError(f"custom_function_call_grad() got an unexpected keyword argument '{name}'")
    ctx, recorded = _node(cls, args, level)
    if level is None:
        output = unpushed(run_forward, cls, ctx, args, two_steps, modes)
    else:
        output = unpushed(_forward_below, cls, args, level) if pushing else _forward_below(cls, args, level)
        with_grad(False, cls.setup_context, ctx, args, output)
    result, outputs = bind_outputs(ctx, args, output, recorded)
    if recorded:
        ctx._complete()
    if listeners:
        emit_created(ctx, args, outputs, recorded)
    if pushing or (level is not None and level.kind == "jvp"):
        _push(ctx, args, output if isinstance(output, tuple) else (output,), outputs, None if pushing else level)
    ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
    return result


def _node(cls: Any, args: tuple[Any, ...], level: Level | None) -> tuple[Any, bool]:
    """Return the node of one call at a level, and whether it is recorded: connected to where its gradients go."""
    ctx = (cls._backward_cls if level is None else _node_class(cls))()
    ctx.extra = ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
    ctx._saved = ()
    needs = [_is_at(a, level) and a.requires_grad for a in args]
    ctx.needs_input_grad = tuple(needs)
    recorded = local.modes.grad and True in needs
    if recorded:
        ctx._note_edges(args, needs)
        if level is not None:
            level.runs_code = True
    ctx.seq = next(sequence)
    return ctx, recorded


def _node_class(cls: Any) -> Any:
    """Return the class of a Function's nodes at a level, named as PyTorch names it there."""
    found = cls.__dict__.get("_generated_cls")
    if found is None:
        name = f"{cls.__name__}GeneratedBackward"
        found = cls._generated_cls = type(name, (cls._backward_cls,), {"__slots__": ()})
    return found


def _is_at(a: Any, level: Level | None) -> bool:
    """Return True if an argument is a tensor of this level."""
    return isinstance(a, Tensor) and (level is None or (type(a) is Lifted and a._level is level))


def _forward_below(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    """Compute the outputs one level below; an input that is returned or written stays the same tensor."""
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
    ctx: Any, args: tuple[Any, ...], returned: tuple[Any, ...], outputs: tuple[Any, ...], level: Level | None
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
    _check_tangents(found, outputs)
    dirty, plain = ctx.dirty_tensors or (), ctx.non_differentiable or ()
    for nr, (o, out, t) in enumerate(zip(returned, outputs, found, strict=True)):
        if not isinstance(out, Tensor):
            continue
        if out._array.dtype.kind not in "fc" or any(o is p for p in plain):
            if t is not None:
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {nr}, but  the corresponding forward "
                    "output is not a differentiable Tensor.You should return None at that position "
                    "instead."
                )
            continue
        if any(out is d for d in dirty):
            _check_written(out, t, args, tangents, versions)
        else:
            t = _fitting(out, t, args, given, level)
        set_tangent(out, t)
    if listeners:
        emit(("pushed", ctx._forward_cls, outputs, found, args, tangents, level))


def _check_tangents(found: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Raise RuntimeError unless jvp returned a tensor, or None, for each output."""
    for nr, t in enumerate(found):
        if t is not None and not isinstance(t, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {nr}.")
    if len(found) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} "
            f"but got {len(found)})"
        )


def _check_written(
    out: Tensor, t: Tensor | None, args: tuple[Any, ...], tangents: list[Any], versions: list[Any]
) -> None:
    """Raise RuntimeError if forward wrote an input in place, but jvp didn't write its tangent the same way."""
    position = next((i for i, d in enumerate(args) if d is out), None)
    if position is None:
        raise RuntimeError(
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an "
            "input, there is no need to pass it to mark_dirty()."
        )
    had = tangents[position]
    if had is not None and (t is None or t._version == versions[position]):
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. "
            "If the forward is modifying an input inplace, then the jvp function must modify "
            "the corresponding gradient inplace."
        )
    if had is not None and t is not had:
        raise RuntimeError(
            "An inplace custom Function is not returning the forward mode gradients as-is. If "
            "the forward is modifying an input inplace, then the jvp function must modify the "
            "gradient inplace and return it as-is."
        )


def _fitting(out: Tensor, t: Any, args: tuple[Any, ...], given: list[Any], level: Level | None) -> Tensor:
    """Return the tangent of a new output, as it is at its level; RuntimeError if it can't be its tangent."""
    if t is None or t._array.dtype.kind not in "fc":
        view = t is None and level is None and out._is_view()
        raise RuntimeError(
            "cannot call get_autograd_meta() on undefined tensor"
            if view
            else ("Expected both tensor and its forward grad to be floating point or complex")
        )
    if level is not None and type(t) is Lifted and t._level is level:
        t = t._value
    if out._is_view():
        _check_view(out, t, args, given)
    check_size(out, t)
    return t


def _run_jvp(ctx: Any, args: tuple[Any, ...], tangents: list[Any], level: Level | None) -> tuple[Any, Any, Any]:
    """Return the versions of the tangents, the arguments of the user's jvp, and its results."""
    versions = [None if t is None else t._version for t in tangents]
    given = [_zeros(ctx, a, level) if t is None else t for a, t in zip(args, tangents, strict=True)]
    saved, ctx._saved = ctx._saved, ()  # it reads what was saved for it, not for backward
    try:
        return versions, given, ctx._forward_cls.jvp(ctx, *given)
    finally:
        ctx._saved = saved


def _zeros(ctx: Any, a: Any, level: Level | None) -> Tensor | None:
    if not ctx._materialize or not isinstance(a, Tensor) or a._array.dtype.kind not in "fc":
        return None
    value = a if level is None else value_below(a, level)
    return value.new_zeros(value.shape)


def _check_view(out: Tensor, t: Tensor, args: tuple[Any, ...], given: list[Any]) -> None:
    """Raise RuntimeError if a view's tangent isn't a view of the tangent of the view's base."""
    if not t._is_view():
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    for a, g in zip(args, given, strict=True):
        if isinstance(a, Tensor) and g is not None and _same_base(out, a) and _same_base(t, g):
            return
    raise RuntimeError(
        "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
    )


def _same_base(view: Tensor, t: Tensor) -> bool:
    return view._base is t or view._base is t._base


class VmapInfo(NamedTuple):
    """Describe the batch to a Function's `vmap`."""

    batch_size: int
    randomness: str


def _batch(cls: Any, args: tuple[Any, ...], level: Level, kwargs: dict[str, Any]) -> Any:
    """Apply a Function to a whole batch; only a user's rule receives keyword arguments' batch dimensions."""
    if any([isinstance(leaf, Tensor) for leaf in tree_flatten(kwargs)[0]]):
        raise NotImplementedError(
            "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass "
            f"kwarg-only Tensors to autograd.Function. Got: {kwargs}"
        )
    ruled = cls.vmap is not Function.vmap
    if level.own:
        ruled = False
    elif cls.generate_vmap_rule and ruled:
        raise RuntimeError(errors.VMAP_BOTH_RULES.format(cls.__name__))
    elif not cls.generate_vmap_rule and not ruled:
        raise RuntimeError(errors.VMAP_NO_RULE.format(cls.__name__))
    dims = _dims(args, level)
    with below(level):
        if (ruled or level.own) and all([d is None for d in tree_flatten(dims)[0]]):
            return cls.apply(*tree_map(lambda t: value_below(t, level) if isinstance(t, Tensor) else t, args))
        if ruled:
            values = tree_map(lambda t: as_given(t)[0] if _is_at(t, level) else t, args)
            found = cls.vmap(VmapInfo(level.size, level.randomness), dims, *values, **kwargs)
            (output, out_dims), make = _checked(found), batched
        else:
            values, rule, make = _values(args, level), _generated(cls, dims, level), _in_front
            output, out_dims = rule.apply(*values), rule.out_dims
    output = _relifted(output, out_dims, level, by_identity(values, args), make)
    if listeners:
        emit(("batched", cls, args, tuple(output) if isinstance(output, tuple | list) else (output,), level))
    return output


def _checked(found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple):
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got a {type(found)} instead"
        )
    if len(found) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got {len(found)} returns instead"
        )
    return found


def _relifted(output: Any, out_dims: Any, level: Level, inputs: dict[int, Tensor], make: Callable[..., Tensor]) -> Any:
    """Return the outputs as the level sees them; a returned input stays the same tensor."""
    outputs, structure = tree_flatten(output)
    dims = broadcast_prefix(out_dims, structure)
    if dims is None:
        raise RuntimeError(errors.VMAP_INCOMPATIBLE.format(out_dims, tree_flatten(out_dims)[1], structure))

    def lifted(o: Any, dim: int | None) -> Any:
        if id(o) in inputs or not isinstance(o, Tensor) or dim is None:
            return inputs.get(id(o), o)
        return make(o, dim, level)

    return tree_unflatten([lifted(o, dim) for o, dim in zip(outputs, dims, strict=True)], structure)


class _Kept(NamedTuple):
    """A tensor that a user's method put on `ctx`, as it is below the batch: each method has a level of its own."""

    value: Tensor


class _Ctx:
    """The `ctx` a user's method sees under a generated rule: its tensors are lifted, all else is the rule's own."""

    def __init__(self, ctx: Any, level: Level) -> None:
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "_level", level)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ctx, name)
        return lift(found.value, self._level) if type(found) is _Kept else found

    def __setattr__(self, name: str, value: Any) -> None:
        batched = type(value) is Lifted and value._level is self._level
        setattr(self._ctx, name, _Kept(value._value) if batched else value)

    def __delattr__(self, name: str) -> None:
        delattr(self._ctx, name)

    def save_for_backward(self, *tensors: Any) -> None:
        self._ctx.backward_dims = _dims(tensors, self._level)
        self._ctx.save_for_backward(*_values(tensors, self._level))

    def save_for_forward(self, *tensors: Any) -> None:
        FunctionCtx.save_for_forward(self._ctx, *tensors)
        self._ctx.forward_dims = _dims(tensors, self._level)
        self._ctx.save_for_forward(*_values(tensors, self._level))

    def mark_dirty(self, *tensors: Any) -> None:
        self._ctx.mark_dirty(*_values(tensors, self._level))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._ctx.mark_non_differentiable(*_values(tensors, self._level))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        saved = self._ctx.saved_tensors
        dims = self._ctx.backward_dims if self._ctx.saved_for_forward is None else self._ctx.forward_dims
        return _lifted(saved, dims, self._level)


def _dims(things: Any, level: Level) -> Any:
    """Return the number of each tensor's batch dimension; None for what has no batch."""
    return tree_map(lambda t: (t._given[1] if t._given else 0) if _is_at(t, level) else None, things)


def _values(things: Any, level: Level) -> Any:
    """Return the same things one level below, with the batch in front."""
    return tree_map(lambda t: value_below(t, level) if isinstance(t, Tensor) else t, things)


def _in_front(value: Tensor, dim: int, level: Level) -> Lifted:
    """Return a tensor whose batch is in front as one whose batch is in this dimension."""
    return lift(value, level, given=(None, dim) if dim else None)


def _lifted(things: Any, dims: Dims, level: Level) -> Any:
    """Return values and batch dimensions, as `_values` and `_dims` give them, as tensors of the level."""
    leaves, structure = tree_flatten(things)
    pairs = [(t, d if isinstance(t, Tensor) else None) for t, d in zip(leaves, tree_flatten(dims)[0], strict=True)]
    return tree_unflatten([t if d is None else _in_front(t, d, level) for t, d in pairs], structure)


def _dims_of(gradients: tuple[Any, ...], dims: Dims) -> Dims:
    """Return the batch dimensions of the gradients that exist."""
    return tuple([d if isinstance(g, Tensor) else None for g, d in zip(gradients, dims, strict=True)])


def _several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _generated(cls: Any, in_dims: Dims, outer: Level) -> Any:
    """Return a Function that runs the methods of `cls` under vmap; `in_dims` has the batch dimension of each input."""
    size, randomness = outer.size, outer.randomness
    shapes: list[Any] = []

    def run_all(method: Callable[..., Any], *groups: tuple[Any, Dims]) -> tuple[Any, Dims]:
        """Run a method on lifted things; its results, and which have the batch."""
        with entered("vmap", size, randomness) as level:
            found = method(level, *[_lifted(things, dims, level) for things, dims in groups])
            several = _several(found)
            values, dims = _values(several, level), _dims(several, level)
        return (values if isinstance(found, tuple) else values[0]), dims

    class Rule(Function):
        generate_vmap_rule = True
        out_dims: Any = ()

        @staticmethod
        def run(forward: Callable[..., Any], args: tuple[Any, ...]) -> Any:
            """Compute the outputs, and note which ones have the batch."""
            pairs = zip(args, in_dims, strict=True)
            shapes[:] = [a.shape[d is not None :] if isinstance(a, Tensor) else None for a, d in pairs]
            values, dims = run_all(forward, (args, in_dims))
            Rule.out_dims = dims if isinstance(values, tuple) else dims[0]
            return values

        @staticmethod
        def forward(*args: Any) -> Any:
            return Rule.run(lambda _, lifted: cls.forward(*lifted), args)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            single = not isinstance(output, tuple)

            def prepare(level: Level, ins: tuple[Any, ...], outs: tuple[Any, ...]) -> None:
                cls.setup_context(_Ctx(ctx, level), ins, outs[0] if single else outs)

            ctx.backward_dims = ctx.forward_dims = ()
            run_all(prepare, (inputs, in_dims), (_several(output), _several(Rule.out_dims)))

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            found, dims = run_all(
                lambda level, lifted: user_backward(cls)(_Ctx(ctx, level), *lifted),
                (grads, _dims_of(grads, _several(Rule.out_dims))),
            )
            several = zip(_several(found), dims, in_dims, shapes, strict=True)
            return tuple([_reduced(g, has, wanted, shape, outer) for g, has, wanted, shape in several])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            found, dims = run_all(
                lambda level, lifted: cls.jvp(_Ctx(ctx, level), *lifted), (tangents, _dims_of(tangents, in_dims))
            )
            wanted = _several(Rule.out_dims) + (None,) * len(dims)  # there may be too many, which is reported later
            several = zip(_several(found), dims, wanted, strict=False)
            out = tuple([_reduced(t, has, wanted, None, outer) for t, has, wanted in several])
            return out if isinstance(found, tuple) else out[0]

    if cls.setup_context is no_setup_context:

        def forward(ctx: Any, *args: Any) -> Any:
            ctx.backward_dims = ctx.forward_dims = ()
            return Rule.run(lambda level, lifted: cls.forward(_Ctx(ctx, level), *lifted), args)

        Rule.forward, Rule.setup_context = staticmethod(forward), no_setup_context
    Rule.__name__ = Rule.__qualname__ = f"Vmapped{cls.__name__}"
    Rule._backward_cls.__name__ = f"Vmapped{cls.__name__}Backward"
    return Rule


def _reduced(g: Any, has: int | None, wanted: int | None, shape: Any, outer: Level) -> Any:
    """Return a gradient in its input's shape: summed over a batch that the input lacks, or repeated.

    Outside a gradient may be larger than its input; here the dimensions in front would be taken for the batch.
    """
    if not isinstance(g, Tensor) or has is None is wanted:
        return g
    if wanted is None:
        return g.sum(0)
    g = g.expand(outer.size, *g.shape) if has is None else g
    if shape is None or g.shape[1:] == shape:
        return g
    with entered("vmap", outer.size, outer.randomness) as level:
        reduced = lift(g, level).sum_to_size(shape)
    return value_below(reduced, level)
