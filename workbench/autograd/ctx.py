"""`ctx`: the node of one application of a Function, and what its methods see and say through it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from .node import Metadata, Node, edge_of, read_only
from .quiet import warn
from .returned import gradients_of
from .saved import FREED, Packed, SavedOutput, SavedTensor, packed, saved_output, stale
from .state import local
from .tensor import InferenceTensor, Tensor, wrap


class FunctionCtx:
    """What a Function's methods may say through `ctx`; on its own it only notes what it was told."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward; read them there as `ctx.saved_tensors`. A second call replaces the first."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor) -> None:
        """Keep tensors for jvp; AssertionError for anything else."""
        for t in tensors:
            assert isinstance(t, Tensor) or t is None, errors.SAVE_FOR_FORWARD
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs forward wrote in place; each must be returned as well."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing: shared storage is seen without it."""
        warn(errors.MARK_SHARED_STORAGE, FutureWarning)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach backward as zeros (the default) or as None."""
        self.materialize_grads = value


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
        "_parents",
        "needs_input_grad",
        "to_save",
        "dirty_tensors",
        "non_differentiable",
        "saved_for_forward",
        "multi",
        "outputs",
        "_inputs",
        "_outputs",
        "_saved",
        "_plain",
    )

    takes_undefined = True
    _materialize = True  # what set_materialize_grads sets
    _materialize_non_diff_grads = True  # may be set to False on ctx: no zeros for non-differentiable outputs
    _forward_cls: Any  # the Function

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at 0x{id(self):x}>"

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
        raise AttributeError("attribute 'materialize_grads' of 'torch._C._FunctionBase' objects is not readable")

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        if type(value) is not bool:
            raise TypeError(errors.MATERIALIZE_BOOL.format(""))
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What save_for_backward kept, each checked against writes since; RuntimeError once freed."""
        pairs = self._saved
        if not pairs:
            return self.saved_for_forward or ()  # until forward is over
        if type(pairs) is not tuple:
            raise RuntimeError(errors.SECOND_BACKWARD if pairs is FREED else errors.SAVED_TAKEN)
        if self._forward_cls.clear_saved_tensors_on_access:
            self._saved = TAKEN
        if len(pairs) == 2:
            saved, version = pairs
            unwritten = type(saved) is Tensor and saved._storage is None
            return (saved if unwritten else self._unpack(saved, version),)
        return tuple([self._unpack(pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2)])

    saved_tensors = saved_tensors.setter(read_only("saved_tensors"))

    @property
    def _input_metadata(self) -> tuple[Metadata, ...]:
        facts, plain = getattr(self, "_outputs", ()), getattr(self, "_plain", ())  # not there yet during forward
        pairs = enumerate(zip(facts[::2], facts[1::2], strict=True))
        return tuple([Metadata.of(shape, None if nr in plain else kind) for nr, (shape, kind) in pairs])

    _input_metadata = _input_metadata.setter(read_only("_input_metadata"))

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of saved_tensors."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def _unpack(self, saved: Any, version: int) -> Tensor | None:
        if type(saved) is Packed:
            return saved.tensor(self)
        if type(saved) is SavedOutput:
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
        hooks = local.modes.saved_hooks
        t = tensors[0] if len(tensors) == 1 and not hooks else None
        if type(t) is Tensor and t._fn is not self and (t._meta is None or t._meta.base is None):
            self._saved = (t, 0 if t._storage is None else t._storage.version)
            return
        pairs: list[Any] = []
        for position, t in enumerate(tensors):
            if isinstance(t, Tensor):
                if type(t) is InferenceTensor:
                    raise RuntimeError(errors.INFERENCE_SAVED)
                if hooks:
                    pairs += (packed(t, self), 0)
                    continue
                storage = t._storage
                pairs += (SavedOutput(t) if t.grad_fn is self else t, 0 if storage is None else storage.version)
            elif t is None:
                pairs += (None, 0)
            else:
                raise TypeError(errors.SAVE_ONLY_TENSORS.format(position, type(t).__name__))
        self._saved = tuple(pairs)

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._saved is FREED:
            raise RuntimeError(errors.SECOND_BACKWARD)
        return tuple([self._raw(i) for i in range(0, len(self._saved), 2)])

    def _raw(self, i: int) -> SavedTensor:
        def put(hooks: Any) -> None:
            pairs = list(self._saved)
            pairs[i] = packed(self._unpack(*pairs[i : i + 2]), self, hooks)
            self._saved = tuple(pairs)

        def read() -> Any:
            return self._unpack(*self._saved[i : i + 2])

        return SavedTensor(lambda: self._saved if self._saved is FREED else self._saved[i], put, read)

    @property
    def saved_names(self) -> tuple[str, ...]:
        """Positions in saved_tensors, as names."""
        pairs = self._saved
        count = 0 if pairs is FREED or pairs is TAKEN else len(pairs) // 2
        return tuple([f"saved_tensors[{i}]" for i in range(count)])

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """What is saved, as (name, tensor or array or None, version), without any check."""
        if self._saved is FREED or self._saved is TAKEN:
            return []
        pairs = zip(self._saved[::2], self._saved[1::2], strict=True)
        return [
            (name, saved.array if type(saved) is SavedOutput else saved, version)
            for name, (saved, version) in zip(self.saved_names, pairs, strict=True)
        ]

    def release(self) -> bool:
        """Let the saved tensors go, if only of none: reading them is refused from now on; whether there were any."""
        saved, self._saved = self._saved, FREED
        return type(saved) is tuple and len(saved) > 0

    def is_freed(self) -> bool:
        """Whether its saved tensors are freed, and the user's backward speaks of them: it may do without."""
        code = getattr(inspect.unwrap(user_backward(self._forward_cls)), "__code__", None)
        return self._saved is FREED and code is not None and "saved_tensors" in code.co_names

    def vjp(self, grads: Any) -> Any:
        """Run the user's backward on arrays wrapped as tensors."""
        if self.multi:
            out = self.vjp_tensors([None if g is None else wrap(g) for g in grads])
        else:
            out = self.vjp_tensors(None if grads is None else wrap(grads))
        if self.arity == 1:
            return None if out is None else out._array
        return [None if g is None else g._array for g in out]

    def vjp_tensors(self, grads: Any) -> Any:
        """One gradient per tensor argument (alone if there is one argument), checked against the inputs."""
        cls = self._forward_cls
        backward = cls.backward if cls.vjp is no_backward else user_backward(cls)
        boxed = cls.boxed_grads_call and type(self) is cls._backward_cls  # a transform's node takes them one by one
        if self.multi or grads is None or boxed:
            grads = self._materialized(grads if self.multi else [grads])
            return gradients_of(self, backward(self, grads) if boxed else backward(self, *grads))
        return gradients_of(self, backward(self, grads))

    def _materialized(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Zeros for the gradients that did not arrive, if asked for."""
        if not self._materialize:
            return grads
        shapes, kinds = self._outputs[::2], self._outputs[1::2]
        return [
            wrap(np.zeros(shape, kind)) if g is None and self.hands_zeros(nr) else g
            for nr, (g, shape, kind) in enumerate(zip(grads, shapes, kinds, strict=True))
        ]

    def hands_zeros(self, nr: int) -> bool:
        """Whether backward is given zeros where no gradient arrived for an output."""
        plain = () if self._materialize_non_diff_grads else getattr(self, "_plain", ())
        return bool(self._materialize) and self._outputs[2 * nr + 1] is not None and nr not in plain

    def apply(self, *grads: Any) -> Any:
        """Run the user's backward and return what it returns."""
        backward = user_backward(self._forward_cls)
        return backward(self, list(grads)) if self._forward_cls.boxed_grads_call else backward(self, *grads)

    def apply_jvp(self, *tangents: Any) -> Any:
        """Run the user's jvp and return what it returns."""
        return self._forward_cls.jvp(self, *tangents)

    def apply_boxed(self, grads: list[Any]) -> Any:
        """Run the user's backward on a list of gradients."""
        return user_backward(self._forward_cls)(self, grads)


TAKEN = object()  # stands where saved tensors were that could be read only once


def no_forward(*args: Any, **kwargs: Any) -> Any:
    """Compute the result; the first argument is `ctx` unless setup_context is overridden."""
    raise NotImplementedError(errors.NO_FORWARD)


def no_setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    """Prepare `ctx` after a forward that does not take it."""
    raise NotImplementedError(errors.NO_SETUP_CONTEXT)


def no_backward(ctx: Any, *grad_outputs: Any) -> Any:
    """Return one gradient per argument of forward, None where there is none."""
    raise NotImplementedError(errors.NO_BACKWARD)


def no_jvp(ctx: Any, *grad_inputs: Any) -> Any:
    """Return the tangent of each output from those of the inputs."""
    raise NotImplementedError(errors.NO_JVP)


def no_vmap(info: Any, in_dims: Any, *args: Any) -> Any:
    """Return the output for a whole batch, and which dimension of it is the batch."""
    raise NotImplementedError(errors.NO_VMAP)


def user_backward(cls: Any) -> Callable[..., Any]:
    """The class's backward, or its vjp; looked up anew at every backward."""
    backward, vjp = cls.backward, cls.vjp
    if vjp is no_backward:
        return backward
    if backward is not no_backward:
        raise RuntimeError(errors.BOTH_BACKWARD_AND_VJP)
    return vjp
