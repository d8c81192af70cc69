"""Functions under vmap: by the user's own rule, or by one generated from its methods.

A generated rule is a Function of its own, one level below, whose methods run the user's under vmap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import errors
from ..events import emit, listeners
from .ctx import FunctionCtx, no_setup_context, user_backward
from .levels import Level, Lifted, below, entered, lift, value_of
from .tensor import Tensor

Dims = tuple[int | None, ...]


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told of the batch."""

    batch_size: int
    randomness: str


def apply_batched(cls: Any, args: tuple[Any, ...], level: Level) -> Any:
    """Apply a Function for a whole batch."""
    from .function import Function

    ruled = cls.vmap is not Function.vmap
    if level.own:
        ruled = False
    elif cls.generate_vmap_rule and ruled:
        raise RuntimeError(errors.VMAP_BOTH_RULES.format(cls.__name__))
    elif not cls.generate_vmap_rule and not ruled:
        raise RuntimeError(errors.VMAP_NO_RULE.format(cls.__name__))
    dims, values = _dims(args, level), list(_values(args, level))
    with below(level):
        if all(d is None for d in dims):
            return cls.apply(*values)
        if ruled:
            dims = tuple([_unbatched(a) if d is None else d for a, d in zip(args, dims, strict=True)])
            found = cls.vmap(VmapInfo(level.size, level.randomness), dims, *values)
            output, out_dims = _checked(found)
        else:
            rule = generated(cls, dims, level)
            output = rule.apply(*values)
            out_dims = rule.out_dims
    output = _relifted(output, out_dims, level, args, values)
    if listeners:
        emit(("batched", cls, args, tuple(output) if isinstance(output, tuple | list) else (output,), level))
    return output


def _unbatched(thing: Any) -> Any:
    """None for everything in a tuple, list or dict, in such a one."""
    if isinstance(thing, dict):
        return {key: _unbatched(each) for key, each in thing.items()}
    kind = next((kind for kind in (tuple, list) if isinstance(thing, kind)), None)
    return kind([_unbatched(each) for each in thing]) if kind else None


def _checked(found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple):
        raise RuntimeError(errors.VMAP_RETURNS_KIND.format(type(found)))
    if len(found) != 2:
        raise RuntimeError(errors.VMAP_RETURNS_COUNT.format(len(found)))
    return found


def _relifted(output: Any, dims: Any, level: Level, args: tuple[Any, ...], values: list[Any]) -> Any:
    """The outputs as the level sees them; an input that was returned stays the same tensor."""
    if isinstance(output, tuple | list):
        if isinstance(dims, list | tuple) and (len(dims) != len(output) or type(dims) is not type(output)):
            raise _incompatible(output, dims)
        spread = dims if isinstance(dims, list | tuple) else (dims,) * len(output)
        return type(output)([_relifted(o, d, level, args, values) for o, d in zip(output, spread, strict=True)])
    if isinstance(dims, list | tuple):
        raise _incompatible(output, dims)
    if not isinstance(output, Tensor):
        return output
    same = [a for a, v in zip(args, values, strict=True) if v is output]
    if same or dims is None:
        return same[0] if same else output
    with below(level):
        rest = [d for d in range(output.ndim) if d != dims % output.ndim]
        return lift(output.permute(dims, *rest) if dims else output, level)


def _incompatible(output: Any, dims: Any) -> RuntimeError:
    return RuntimeError(errors.VMAP_INCOMPATIBLE.format(dims, _structure(dims), _structure(output)))


def _structure(thing: Any) -> str:
    if not isinstance(thing, list | tuple):
        return "*"
    return f"TreeSpec({type(thing).__name__}, None, [" + ",\n  ".join(_structure(each) for each in thing) + "])"


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


def _dims(things: Any, level: Level) -> Dims:
    return tuple([0 if type(t) is Lifted and t._level is level else None for t in things])


def _values(things: Any, level: Level) -> tuple[Any, ...]:
    return tuple([value_of(t, level) if isinstance(t, Tensor) else t for t in things])


def _lifted(things: Any, dims: Dims, level: Level) -> tuple[Any, ...]:
    pairs = zip(things, dims, strict=True)
    return tuple([lift(t, level) if d is not None and isinstance(t, Tensor) else t for t, d in pairs])


def _several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def generated(cls: Any, in_dims: Dims, outer: Level) -> Any:
    """A Function that runs the methods of `cls` under vmap; `in_dims` says which inputs have the batch in front."""
    from .function import Function

    size, randomness = outer.size, outer.randomness
    shapes: list[Any] = []

    def mapped(method: Callable[..., Any], *groups: tuple[Any, Dims]) -> tuple[Any, Dims]:
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
            shapes[:] = [a.shape if isinstance(a, Tensor) else None for a in args]
            values, dims = mapped(forward, (args, in_dims))
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
            mapped(prepare, (inputs, in_dims), (_several(output), _several(Rule.out_dims)))

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            found, dims = mapped(
                lambda level, lifted: user_backward(cls)(_Ctx(ctx, level), *lifted), (grads, _several(Rule.out_dims))
            )
            several = zip(_several(found), dims, in_dims, shapes, strict=True)
            return tuple([_reduced(g, has, wanted, shape, size) for g, has, wanted, shape in several])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            found, dims = mapped(lambda level, lifted: cls.jvp(_Ctx(ctx, level), *lifted), (tangents, in_dims))
            several = zip(_several(found), dims, _several(Rule.out_dims), strict=True)
            out = tuple([_reduced(t, has, wanted, None, size) for t, has, wanted in several])
            return out if isinstance(found, tuple) else out[0]

    if cls.setup_context is no_setup_context:

        def forward(ctx: Any, *args: Any) -> Any:
            ctx.backward_dims = ctx.forward_dims = ()
            return Rule.run(lambda level, lifted: cls.forward(_Ctx(ctx, level), *lifted), args)

        Rule.forward, Rule.setup_context = staticmethod(forward), no_setup_context
    Rule.__name__ = Rule.__qualname__ = f"Vmapped{cls.__name__}"
    Rule._backward_cls.__name__ = f"Vmapped{cls.__name__}Backward"
    return Rule


def _reduced(g: Any, has: int | None, wanted: int | None, shape: Any, size: int) -> Any:
    """A gradient summed over the batch where its input had none, and repeated where it has none itself."""
    if not isinstance(g, Tensor) or has == wanted:
        return g
    if has is None:
        return g.expand(size, *g.shape)
    return g.sum(0) if shape is None else g.sum(0).sum_to_size(shape)
