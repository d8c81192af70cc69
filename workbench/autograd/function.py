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
from .outputs import bind_output, bind_outputs
from .returned import gradients_of
from .state import local, off, set_grad
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
    """The node of one application of a Function, and the `ctx` its methods see.

    What it remembers lies flat in a few tuples, because each tuple costs the cycle collector more than its making:
    `_inputs` has (shape, dtype) after each other for every argument, None twice where it is no tensor; `_outputs`
    the same for the outputs; `_saved` has (tensor, version) after each other.
    """

    __slots__ = (
        "arity",
        "p0",
        "n0",
        "p1",
        "n1",
        "_parents",
        "needs_input_grad",
        "to_save",
        "dirty_tensors",
        "non_differentiable",
        "multi",
        "outputs",
        "_materialize",
        "_inputs",
        "_outputs",
        "_saved",
    )

    takes_undefined = True
    _forward_cls: type[Function]

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Where each tensor argument's gradient goes."""
        if self.arity == 1:
            return ((self.p0, self.n0),)
        return self._parents

    def _connect(self, args: tuple[Any, ...], needs: tuple[bool, ...]) -> None:
        """Note the edge, shape and dtype of every tensor argument."""
        inputs: list[Any] = []
        parents: list[tuple[Node | None, int]] = []
        for a, need in zip(args, needs, strict=True):
            if isinstance(a, Tensor):
                array = a._array
                inputs += (array.shape, array.dtype)
                parents.append((edge_of(a), a._nr) if need else (None, 0))
            else:
                inputs += (None, None)
        self._inputs = tuple(inputs)
        if len(parents) == 1:
            self.arity = 1
            self.p0, self.n0 = parents[0]
        else:
            self.arity = -1
            self._parents = tuple(parents)

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
        pairs = self._saved
        if pairs is FREED:
            raise RuntimeError(errors.SECOND_BACKWARD)
        if len(pairs) == 2:
            return (self._unpack(*pairs),)
        return tuple([self._unpack(pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2)])

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of saved_tensors."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    def _unpack(self, saved: Any, version: int) -> Tensor | None:
        if type(saved) is _SavedOutput:
            if saved.storage.version != version:
                raise stale(self, saved.array, saved.storage, version, saved.nr)
            return saved_output(self, saved.array, saved.storage, saved.nr)
        if saved is not None:
            storage = saved._storage
            if storage is not None and storage.version != version:
                raise stale(self, saved, storage, version)
        return saved

    def _pack(self, tensors: tuple[Any, ...]) -> None:
        """Save what save_for_backward was given: inputs and others as themselves, own outputs by their array."""
        pairs: list[Any] = []
        for position, t in enumerate(tensors):
            if isinstance(t, Tensor):
                storage = t._storage
                pairs += (_SavedOutput(t) if t.grad_fn is self else t, 0 if storage is None else storage.version)
            elif t is None:
                pairs += (None, 0)
            else:
                raise TypeError(errors.SAVE_ONLY_TENSORS.format(position, type(t).__name__))
        self._saved = tuple(pairs)

    @property
    def saved_names(self) -> tuple[str, ...]:
        """Positions in saved_tensors, as names."""
        pairs = self._saved
        return () if pairs is FREED else tuple([f"saved_tensors[{i}]" for i in range(len(pairs) // 2)])

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """What is saved, as (name, tensor or array or None, version), without any check."""
        if self._saved is FREED:
            return []
        pairs = zip(self._saved[::2], self._saved[1::2], strict=True)
        return [
            (name, saved.array if type(saved) is _SavedOutput else saved, version)
            for name, (saved, version) in zip(self.saved_names, pairs, strict=True)
        ]

    def release(self) -> None:
        """Let the saved tensors go."""
        self._saved = FREED

    def vjp(self, grads: Any) -> Any:
        """Run the user's backward on arrays wrapped as tensors."""
        if self.multi:
            tensors = [None if g is None else wrap(g) for g in grads]
        else:
            tensors = grads if grads is None else wrap(grads)
        out = self.vjp_tensors(tensors)
        if self.arity == 1:
            return None if out is None else out._array
        return [None if g is None else g._array for g in out]

    def vjp_tensors(self, grads: Any) -> Any:
        """One gradient per tensor argument (alone if there is one argument), checked against the inputs."""
        backward = user_backward(self._forward_cls)
        if self.multi:
            return gradients_of(self, backward(self, *self._materialized(grads)))
        if grads is None:
            (grads,) = self._materialized([None])
        return gradients_of(self, backward(self, grads))

    def _materialized(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Zeros for the gradients that did not arrive, if asked for."""
        if not self._materialize:
            return grads
        shapes, kinds = self._outputs[::2], self._outputs[1::2]
        return [
            wrap(np.zeros(shape, kind)) if g is None and kind is not None else g
            for g, shape, kind in zip(grads, shapes, kinds, strict=True)
        ]

    def apply(self, *grads: Any) -> Any:
        """Run the user's backward and return what it returns."""
        return user_backward(self._forward_cls)(self, *grads)


def user_backward(cls: type[Function]) -> Callable[..., Any]:
    """The class's backward, or its vjp; looked up anew at every backward."""
    backward, vjp = cls.backward, cls.vjp
    if vjp is _no_backward:
        return backward
    if backward is not _no_backward:
        raise RuntimeError(errors.BOTH_BACKWARD_AND_VJP)
    return vjp


class FunctionMeta(type):
    """Gives every Function class a node class of its own, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"__slots__": (), "_forward_cls": cls})
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
        two_steps = cls.setup_context is not _no_setup
        if two_steps:
            args = _with_defaults(cls.forward, args, kwargs)
        elif kwargs:
            args = _positional(cls.forward, args, kwargs)
        ctx = cls._backward_cls()
        ctx.extra = ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = None
        ctx._saved, ctx._materialize = (), True
        ctx.needs_input_grad = needs = tuple(
            [isinstance(a, Tensor) and (a._rg or (a._meta is not None and a.requires_grad)) for a in args]
        )
        modes = local.modes
        before = modes.grad
        recorded = before and True in needs
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
            if modes.grad is not before:
                set_grad(before)
        if recorded:
            ctx.seq = next(sequence)
            ctx._connect(args, needs)
        if ctx.dirty_tensors is None is ctx.non_differentiable and type(output) is Tensor and recorded:
            result = bind_output(ctx, 0, output, args)
            array = result._array
            ctx.outputs, ctx.multi, ctx._outputs = 1, False, (array.shape, array.dtype)
            outputs = (result,)
        else:
            result, outputs = bind_outputs(ctx, args, output, recorded)
        if recorded:
            if ctx.to_save:
                ctx._pack(ctx.to_save)
            if listeners:
                emit(("created", ctx, args, tuple([o for o in outputs if isinstance(o, Tensor)])))
        ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = None
        return result


_no_backward, _no_setup = Function.backward, Function.setup_context
_signatures: WeakKeyDictionary[Callable[..., Any], inspect.Signature] = WeakKeyDictionary()


def _with_defaults(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All of forward's parameters in their places, defaults included, for a Function with setup_context."""
    signature = _signatures.get(forward)
    if signature is None:
        signature = _signatures[forward] = inspect.signature(forward)
    if not kwargs and len(args) == len(signature.parameters):
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _positional(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
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
