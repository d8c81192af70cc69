"""Functions under vmap: by the user's own rule, or by one generated from its methods.

A generated rule is a Function of its own, one level below, whose methods run the user's under vmap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import errors
from ..events import emit, listeners
from .function import Function, FunctionCtx, no_setup_context, user_backward
from .levels import Level, Lifted, as_given, batched, below, entered, lift, value_below
from .pytree import broadcast_prefix, by_identity, tree_flatten, tree_map, tree_unflatten
from .tensor import Tensor

Dims = tuple[Any, ...]  # for each thing its batch's dimension or None, or a tree of these


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told of the batch."""

    batch_size: int
    randomness: str


def apply_batched(cls: Any, args: tuple[Any, ...], level: Level, kwargs: dict[str, Any]) -> Any:
    """Apply a Function for a whole batch; of what is given by name alone, only a user's rule is told."""
    if any([isinstance(leaf, Tensor) for leaf in tree_flatten(kwargs)[0]]):
        raise NotImplementedError(errors.VMAP_KEYWORD.format(kwargs))
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
            values, rule, make = _values(args, level), generated(cls, dims, level), _in_front
            output, out_dims = rule.apply(*values), rule.out_dims
    output = _relifted(output, out_dims, level, by_identity(values, args), make)
    if listeners:
        emit(("batched", cls, args, tuple(output) if isinstance(output, tuple | list) else (output,), level))
    return output


def _checked(found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple):
        raise RuntimeError(errors.VMAP_RETURNS_KIND.format(type(found)))
    if len(found) != 2:
        raise RuntimeError(errors.VMAP_RETURNS_COUNT.format(len(found)))
    return found


def _relifted(output: Any, out_dims: Any, level: Level, inputs: dict[int, Tensor], make: Callable[..., Tensor]) -> Any:
    """The outputs as the level sees them; an input that was returned stays the same tensor."""
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


def _is_at(t: Any, level: Level) -> bool:
    return type(t) is Lifted and t._level is level


def _dims(things: Any, level: Level) -> Any:
    """Which dimension of each is the batch; None for what has none."""
    return tree_map(lambda t: (t._given[1] if t._given else 0) if _is_at(t, level) else None, things)


def _values(things: Any, level: Level) -> Any:
    """The same one level below, with the batch in front."""
    return tree_map(lambda t: value_below(t, level) if isinstance(t, Tensor) else t, things)


def _in_front(value: Tensor, dim: int, level: Level) -> Lifted:
    """A tensor that has its batch in front, said to be in this dimension."""
    return lift(value, level, given=(None, dim) if dim else None)


def _lifted(things: Any, dims: Dims, level: Level) -> Any:
    """What `_values` and `_dims` tell, as the level sees it."""
    leaves, structure = tree_flatten(things)
    pairs = [(t, d if isinstance(t, Tensor) else None) for t, d in zip(leaves, tree_flatten(dims)[0], strict=True)]
    return tree_unflatten([t if d is None else _in_front(t, d, level) for t, d in pairs], structure)


def _dims_of(gradients: tuple[Any, ...], dims: Dims) -> Dims:
    """The dimensions of the gradients that there are."""
    return tuple([d if isinstance(g, Tensor) else None for g, d in zip(gradients, dims, strict=True)])


def _several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def generated(cls: Any, in_dims: Dims, outer: Level) -> Any:
    """A Function that runs the methods of `cls` under vmap; `in_dims` says which inputs have the batch, and where."""
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
            """The outputs; notes which have the batch."""
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
            wanted = _several(Rule.out_dims) + (None,) * len(dims)  # there may be too many, which is told later
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
    """A gradient summed over the batch where its input had none, repeated where it has none itself, and in its shape.

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
    return reduced._value
