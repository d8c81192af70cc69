"""Functions of your own: `Function`, and `ctx`, which is the graph node itself (torch.autograd.function)."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import errors
from ..events import emit, listeners
from .node import FREED, Node, edge_of, saved_output, sequence, stale
from .outputs import bind_outputs
from .returned import gradients_of
from .state import local, set_grad
from .tensor import Tensor, storage_of, wrap

_function_ids = itertools.count()


class FunctionCtx:
    """What a Function's methods may say through `ctx`; on its own it only notes what it was told."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward; read them there as `ctx.saved_tensors`. A second call replaces the first."""
        self.to_save = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs forward wrote in place; each must be returned as well."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach backward as zeros (the default) or as None."""
        self.materialize_grads = value


class _SavedOutput:
    """An output that its own node saved: the array, not the tensor, which would be a reference cycle."""

    __slots__ = ("array", "storage", "nr")

    def __init__(self, output: Tensor) -> None:
        self.array, self.storage, self.nr = output._array, storage_of(output), output._nr


class BackwardCFunction(Node, FunctionCtx):
    """The node of one application of a Function, and the `ctx` its methods see."""

    __slots__ = (
        "needs_input_grad",
        "to_save",
        "dirty_tensors",
        "non_differentiable",
        "multi",
        "outputs",
        "_materialize",
        "_parents",
        "_inputs",
        "_outputs",
        "_saved",
    )

    arity = -1
    takes_undefined = True
    _forward_cls: type[Function]

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each tensor argument's gradient goes."""
        return self._parents

    @property
    def materialize_grads(self) -> Any:
        """Write-only: set_materialize_grads sets it."""
        raise AttributeError("materialize_grads")

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        if type(value) is not bool:
            raise TypeError(errors.MATERIALIZE_BOOL.format(""))
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What save_for_backward kept, each checked against writes since; RuntimeError once freed."""
        if self._saved is FREED:
            raise RuntimeError(errors.SECOND_BACKWARD)
        return tuple([self._unpack(saved, version) for saved, version in self._saved])

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of saved_tensors."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    def _unpack(self, saved: Any, version: int) -> Tensor | None:
        if saved is None:
            return None
        if type(saved) is _SavedOutput:
            if saved.storage.version != version:
                raise stale(self, saved.array, saved.storage, version, saved.nr)
            return saved_output(self, saved.array, saved.storage, saved.nr)
        storage = saved._storage
        if storage is not None and storage.version != version:
            raise stale(self, saved, storage, version)
        return saved

    def _pack(self) -> None:
        """Save what save_for_backward was given: inputs and others as themselves, own outputs by their array."""
        saved = []
        for position, t in enumerate(self.to_save or ()):
            if isinstance(t, Tensor):
                own = t.grad_fn is self
                saved.append((_SavedOutput(t) if own else t, t._version))
            elif t is None:
                saved.append((None, 0))
            else:
                raise TypeError(errors.SAVE_ONLY_TENSORS.format(position, type(t).__name__))
        self._saved = tuple(saved)

    @property
    def saved_names(self) -> tuple[str, ...]:
        """Positions in saved_tensors, as names."""
        saved = self._saved
        return () if saved is FREED else tuple([f"saved_tensors[{i}]" for i in range(len(saved))])

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """What is saved, as (name, tensor or array or None, version), without any check."""
        if self._saved is FREED:
            return []
        return [
            (name, saved.array if type(saved) is _SavedOutput else saved, version)
            for name, (saved, version) in zip(self.saved_names, self._saved, strict=True)
        ]

    def release(self) -> None:
        """Let the saved tensors go."""
        self._saved = FREED

    def vjp(self, grads: Any) -> list[Any]:
        """Run the user's backward on arrays wrapped as tensors."""
        if not self.multi:
            grads = [grads]
        tensors = [None if g is None else wrap(g) for g in grads]
        return [None if g is None else g._array for g in self.vjp_list(tensors)]

    def vjp_tensors(self, grads: Any) -> list[Any]:
        """Run the user's backward, recorded if gradients are on."""
        return self.vjp_list(grads if self.multi else [grads])

    def vjp_list(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """One gradient per tensor argument, checked against the inputs, from one per output."""
        if self._materialize:
            grads = [
                wrap(np.zeros(*info)) if g is None and info is not None else g
                for g, info in zip(grads, self._outputs, strict=True)
            ]
        returned = user_backward(self._forward_cls)(self, *grads)
        return gradients_of(self, returned)

    def apply(self, *grads: Any) -> Any:
        """Run the user's backward and return what it returns."""
        return user_backward(self._forward_cls)(self, *grads)


def user_backward(cls: type[Function]) -> Callable[..., Any]:
    """The class's backward, or its vjp; looked up anew at every backward."""
    if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
        raise RuntimeError(errors.BOTH_BACKWARD_AND_VJP)
    return cls.vjp if cls.vjp is not Function.vjp else cls.backward


class FunctionMeta(type):
    """Gives every Function class a node class of its own, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        cls._backward_cls = type(
            name + "Backward", (BackwardCFunction,), {"__slots__": (), "_forward_cls": cls}
        )
        cls._autograd_function_id = cls._backward_cls._autograd_function_id = next(_function_ids)
        super().__init__(name, bases, namespace)


class Function(metaclass=FunctionMeta):
    """A differentiable operation of your own: a static forward and backward, run by `apply`.

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(errors.NOT_INSTANTIATED.format(self.__class__), DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: the way in is `apply` on the class."""
        raise RuntimeError(errors.LEGACY_FUNCTION)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; the first argument is `ctx` unless setup_context is overridden."""
        raise NotImplementedError(errors.NO_FORWARD)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Prepare `ctx` after a forward that does not take it."""
        raise NotImplementedError(errors.NO_SETUP_CONTEXT)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return one gradient per argument of forward, None where there is none."""
        raise NotImplementedError(errors.NO_BACKWARD)

    vjp = backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record this Function as one node of the graph."""
        two_steps = cls.setup_context is not Function.setup_context
        if two_steps:
            args = _with_defaults(cls.forward, args, kwargs)
        elif kwargs:
            args = _positional(cls.forward, args, kwargs)
        ctx = cls._backward_cls()
        ctx.extra = ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = None
        ctx._saved, ctx._materialize = (), True
        needs = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
        ctx.needs_input_grad = needs
        recorded = local.modes.grad and True in needs
        before = set_grad(False)
        try:
            if two_steps:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            set_grad(before)
        if recorded:
            ctx.seq = next(sequence)
            ctx._parents = tuple(
                [
                    (edge_of(a), a._nr) if need else (None, 0)
                    for a, need in zip(args, needs, strict=True)
                    if isinstance(a, Tensor)
                ]
            )
            ctx._inputs = tuple(
                [(a._array.shape, a._array.dtype) if isinstance(a, Tensor) else None for a in args]
            )
        result, outputs = bind_outputs(ctx, args, output, recorded)
        if recorded:
            ctx._pack()
            if listeners:
                emit(("created", ctx, args, tuple([o for o in outputs if isinstance(o, Tensor)])))
        ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = None
        return result


_signatures: WeakKeyDictionary[Callable[..., Any], inspect.Signature] = WeakKeyDictionary()


def _with_defaults(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """All of forward's parameters in their places, defaults included, for a Function with setup_context."""
    signature = _signatures.get(forward)
    if signature is None:
        signature = _signatures[forward] = inspect.signature(forward)
    if not kwargs and len(args) == len(signature.parameters):
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _positional(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Keyword arguments put in their places, for a forward that takes ctx; omitted defaults stay omitted."""
    names = list(inspect.signature(forward).parameters)[1:]
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
