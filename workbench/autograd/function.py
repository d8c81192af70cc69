"""Functions of your own (torch.autograd.function)."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from .. import errors
from ..events import listeners
from . import state
from .anomaly_mode import remember
from .ctx import BackwardCFunction, FunctionCtx, no_backward, no_forward, no_jvp, no_setup_context, no_vmap
from .levels import Lifted
from .node import Node, accumulator, edge_of, sequence
from .outputs import bind_output, bind_outputs, tell
from .quiet import warn
from .state import local, off, unusual, with_grad
from .tensor import Tensor, alias
from .transformed import applied

_function_ids = itertools.count()
FLAGS = ("clear_saved_tensors_on_access", "boxed_grads_call")  # in the order in which PyTorch looks at them
_ContextMethodMixin = FunctionCtx

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


class FunctionMeta(type):
    """Gives every Function class a node class of its own, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"__slots__": (), "_forward_cls": cls})
        cls._backward_cls._autograd_function_id = next(_function_ids)
        cls._plain_forward = None, 0  # the forward whose parameters were counted, and their number
        super().__init__(name, bases, namespace)
        cls._check_flags()

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in FLAGS:
            cls._check_flags()

    def _check_flags(cls) -> None:
        """Where a flag is neither True nor False no node can be made, which costs the others nothing."""
        odd = [flag for flag in FLAGS if type(getattr(cls, flag, False)) is not bool]
        if odd:
            sentence = errors.FLAG_NOT_BOOL.format(odd[0], type(getattr(cls, odd[0])).__name__)

            def refuse(ctx: Any) -> None:
                raise RuntimeError(sentence)

            cls._backward_cls.__init__ = refuse
        elif "__init__" in vars(cls._backward_cls):
            del cls._backward_cls.__init__
        for child in cls.__subclasses__():
            child._check_flags()


class _SingleLevelFunction(FunctionCtx, metaclass=FunctionMeta):
    """A Function that knows nothing of batches."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(errors.NOT_INSTANTIATED.format(self.__class__), DeprecationWarning)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: the way in is `apply` on the class."""
        raise RuntimeError(errors.LEGACY_FUNCTION)

    clear_saved_tensors_on_access = False  # True: saved_tensors may be read once, and are free after that
    boxed_grads_call = False  # True: backward takes its gradients as one list

    forward = staticmethod(no_forward)
    setup_context = staticmethod(no_setup_context)
    backward = staticmethod(no_backward)
    vjp = backward
    jvp = staticmethod(no_jvp)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record this Function as one node of the graph."""
        two_steps = cls.setup_context is not no_setup_context
        if two_steps:
            forward, count = cls._plain_forward
            if kwargs or forward is not cls.forward or count != len(args):
                args, kwargs = _with_defaults(cls, args, kwargs)
        elif kwargs:
            args, kwargs = _positional(cls.forward, args, kwargs), {}
        modes = local.modes
        if unusual and (modes.levels or modes.dual is not None or any([type(a) is Lifted for a in args])):
            return applied(cls, args, two_steps, kwargs)
        ctx = cls._backward_cls()
        ctx.extra = ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
        ctx._saved = ()
        before = modes.grad
        alone = args[0] if len(args) == 1 and type(args[0]) is Tensor else None
        if alone is None:
            needs = [isinstance(a, Tensor) and (a._rg or (a._meta is not None and a.requires_grad)) for a in args]
            ctx.needs_input_grad = tuple(needs)
            recorded = before and True in needs
            if recorded:
                ctx._connect(args, needs)
        else:  # the same where there is one argument, a tensor
            needed = alone._rg or (alone._meta is not None and alone.requires_grad)
            ctx.needs_input_grad = (needed,)
            recorded = before and needed
            if recorded:
                array, fn = alone._array, alone._fn
                ctx._inputs = (array.shape, array.dtype)
                ctx.arity, ctx.p0, ctx.n0 = 1, edge_of(alone) if fn is None else fn, alone._nr
        ctx.seq = next(sequence)  # after the edges: a view's may just have been made anew
        if before:
            modes.grad = False
            off[modes] = True
        try:
            if two_steps:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            if before and not modes.grad:
                modes.grad = True
                del off[modes]
            elif modes.grad is not before:  # switched on inside, and not off again
                modes.grad = False
                off[modes] = True
        saved = ctx.to_save
        if recorded and type(output) is Tensor and ctx.dirty_tensors is None is ctx.non_differentiable:
            result = bind_output(ctx, 0, output, args)
            array = result._array
            ctx.outputs, ctx.multi, ctx._outputs = 1, False, (array.shape, array.dtype)
            outputs = (result,)
        else:
            result, outputs = bind_outputs(ctx, args, output, recorded)
        if recorded:
            if saved:
                ctx._pack(saved)
            if state.anomaly:
                remember(ctx)
        if listeners:
            tell(ctx, args, outputs, recorded)
        ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
        return result


class Function(_SingleLevelFunction):
    """A differentiable operation of your own: a static forward and backward, run by `apply`.

    `vjp` is another name for backward, `jvp` pushes tangents forward, `vmap` runs a whole batch. On purpose this is not
    as in PyTorch 2.13: a jvp of a jvp is right (there 0), the transforms of `func` see `vjp` (there they ask for
    backward), and a generated vmap rule takes what is marked dirty, and lists (there it is an error).
    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    vmap = staticmethod(no_vmap)
    generate_vmap_rule = False  # True: vmap runs this Function by running its methods under vmap


_no_backward, _no_setup = Function.backward, Function.setup_context


def _with_defaults(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All of forward's parameters in their places, defaults included, for a Function with setup_context.

    Those that can be given by name alone are no inputs; only a rule of vmap's takes them.
    """
    forward = cls.forward
    signature = inspect.signature(forward)
    if len(_names(signature)) == len(signature.parameters):
        cls._plain_forward = forward, len(signature.parameters)  # with as many arguments there is nothing to bind
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    for name in bound.kwargs if not local.modes.levels else ():
        raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    return bound.args, bound.kwargs


def _names(signature: inspect.Signature) -> list[str]:
    """The parameters that have a place."""
    return [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _positional(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Keyword arguments put in their places, for a forward that takes ctx; omitted defaults stay omitted."""
    names = _names(inspect.signature(forward))[1:]
    places = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in places:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        places[name] = value
    for position, name in enumerate(names[: max(names.index(n) for n in places) + 1]):
        if name not in places:
            raise TypeError(f"forward() missing required argument: '{name}' (position {position})")
    return tuple([places[name] for name in names if name in places])


class Error(Node):
    """Where a second derivative ends that was marked as not to be taken."""

    __slots__ = ("marked", "parents")

    arity = -1
    takes_undefined = True

    def name(self) -> str:
        """The node's name, as PyTorch says it."""
        return "torch::autograd::Error"

    def __init__(self, parents: list[Any], marked: str) -> None:
        self.seq, self.extra, self.parents, self.marked = next(sequence), None, tuple(parents), marked

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Fresh leaves: nothing of the graph before is reached."""
        return self.parents

    def vjp(self, grad: Any) -> Any:
        """Refused."""
        raise RuntimeError(errors.TWICE)

    vjp_tensors = vjp


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a backward that cannot be differentiated again: trying to is an error, not a wrong number."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        outputs = with_grad(False, fn, ctx, *args)
        if not local.modes.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        node = Error([], type(ctx).__name__)
        results, leaves = [], []
        for nr, output in enumerate(several):
            if output is None:
                results.append(None)
                leaves.append((None, 0))
                continue
            leaf = alias(output)
            leaf._rg = True
            leaves.append((accumulator(leaf), 0))
            result = alias(output)
            result._rg, result._fn, result._nr = True, node, nr
            results.append(result)
        node.parents = tuple(leaves)
        return tuple(results) if isinstance(outputs, tuple) else results[0]

    return wrapper


def custom_function_call(autograd_function: type[Function], *args: Any, **kwargs: Any) -> Any:
    """Apply a Function, as PyTorch's own code writes it."""
    return autograd_function.apply(*args, **kwargs)


# PyTorch keeps the old names in this module; they are built on Function, so they can only come last.
from .legacy import (  # noqa: E402, F401
    InplaceFunction,
    NestedIOFunction,
    _HookMixin,
    _iter_filter,
    _iter_None_tensors,
    _iter_tensors,
    _iter_tensors_permissive,
    _map_tensor_data,
    _nested_map,
    _unflatten,
)
