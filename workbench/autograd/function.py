"""Functions of your own (torch.autograd.function), and `ctx`: the node of one application of a Function."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..compat.absent import PATH as _PATH
from ..compat.absent import refusal
from ..errors import warn
from ..events import listeners
from . import state
from .anomaly_mode import remember
from .function_arguments import positional, with_defaults
from .function_outputs import bind_output, bind_outputs, emit_created, gradients_of
from .levels import Lifted
from .node import Metadata, Node, edge_of, note_scope, read_only, sequence
from .once import once_differentiable
from .saved_tensors import FREED, SavedOutput, SavedTensor, packed, unpacked
from .state import Modes, local, no_grad_threads, scope_threads, slow_path_reasons
from .tensor import InferenceTensor, Tensor, wrap


class FunctionCtx:
    """The methods of `ctx`, the object with which the forward of a Function passes data to its backward."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for backward, which gets them from `ctx.saved_tensors`.

        Call this method in `forward` or `setup_context`.

        Args:
            tensors: Inputs, outputs or intermediate tensors of forward, or None. Store other objects as attributes of
                `ctx`. If you call this method twice, only the tensors of the second call are saved.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor) -> None:
        """Save tensors (or None) for the method `jvp`, which gets them from `ctx.saved_tensors`.

        Raises:
            AssertionError: if an argument is anything else.
        """
        for t in tensors:
            assert isinstance(t, Tensor) or t is None, (
                "save_for_forward expects all arguments to be tensors; you should save non-tensors "
                "as attributes on ctx."
            )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark the inputs that forward modified in place; forward must return each of them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark the outputs of forward that have no gradient, such as indices: they won't require grad."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing but warn: the engine detects shared storage itself."""
        warn(
            (
                "`mark_shared_storage` is deprecated. Tensors with shared storages are "
                "automatically tracked. Note that calls to `set_()` are not tracked"
            ),
            FutureWarning,
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Let backward get zeros (`value` True, the default) or None for an output without a gradient."""
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The graph node of one call of `apply`, which is also the `ctx` of your methods.

    Its records are flat tuples, which cost the cycle collector less than nested ones: `_inputs` and `_outputs`
    alternate shapes and dtypes (None for what isn't a tensor), and `_saved` alternates tensors and versions.
    """

    __slots__ = (
        "arity",
        "next0",
        "nr0",
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

    takes_undefined = of_function = True
    _materialize = True  # what set_materialize_grads sets
    _materialize_non_diff_grads = True  # may be set to False on ctx: no zeros for non-differentiable outputs
    _forward_cls: Any  # the Function
    _saved: Any

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at 0x{id(self):x}>"

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return where the gradient of each tensor argument goes."""
        if self.arity == 1:
            return ((self.next0, self.nr0),)
        return self._parents

    def leads_to(self) -> Sequence[Node | None]:
        """Return the nodes that the gradients go to."""
        return (self.next0,) if self.arity == 1 else [parent for parent, _ in self._parents]

    def _connect(self, args: tuple[Any, ...], wanted: bool) -> bool:
        """Store which arguments need a gradient, and the edges if a node is wanted and one does; return True if so."""
        if len(args) == 1 and type(alone := args[0]) is Tensor:  # the same as below, in less time
            needed = alone._rg or (alone._meta is not None and alone.requires_grad)
            self.needs_input_grad = (needed,)
            if not (wanted and needed):
                return False
            array, fn = alone._array, alone._fn
            self._inputs = (array.shape, array.dtype)
            self.arity, self.next0, self.nr0 = 1, edge_of(alone) if fn is None else fn, alone._nr
            return True
        needs = [isinstance(a, Tensor) and (a._rg or (a._meta is not None and a.requires_grad)) for a in args]
        self.needs_input_grad = tuple(needs)
        if not (wanted and True in needs):
            return False
        self._note_edges(args, needs)
        return True

    def _note_edges(self, args: tuple[Any, ...], needs: Sequence[bool]) -> None:
        """Store the edge, shape and dtype of every tensor argument."""
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
            self.next0, self.nr0 = parents[0]
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
            raise TypeError(
                (
                    "set_materialize_grads received an invalid combination of arguments - got ({}), but expected (bool)"
                ).format("")
            )
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors of save_for_backward, each checked for writes since; RuntimeError once they are freed."""
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
            return (saved if unwritten else unpacked(self, saved, version),)
        return tuple([unpacked(self, pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2)])

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

    def _complete(self) -> None:
        """Save the tensors in a recorded node, and store where the node was created."""
        if tensors := self.to_save:
            t = tensors[0] if len(tensors) == 1 and not local.modes.saved_hooks else None
            if type(t) is Tensor and t._fn is not self and (t._meta is None or t._meta.base is None):
                self._saved = (t, 0 if t._storage is None else t._storage.version)  # the same as `_pack`, in less time
            else:
                self._pack(tensors)
        if state.anomaly:
            remember(self)
        if scope_threads:
            note_scope(self)

    def _pack(self, tensors: tuple[Any, ...]) -> None:
        """Save the tensors of save_for_backward: the node's own outputs as arrays, others as themselves."""
        hooks = local.modes.saved_hooks
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
                raise TypeError(errors.SAVED_KIND.format(position, type(t).__name__))
        self._saved = tuple(pairs)

    def check_not_saved(self, returned: Tensor) -> None:
        """Raise RuntimeError if setup_context saved an input that forward returned, as it looks like the output."""
        if self._forward_cls.setup_context is not no_setup_context:
            if any([returned is t for t in (*(self.to_save or ()), *(self.saved_for_forward or ()))]):
                raise RuntimeError(
                    "An input that has been returned as-is as output is being saved for backward. This "
                    "is not supported if you override setup_context. You should return and save a view "
                    "of the input instead, e.g. with x.view_as(x) or setup ctx inside the forward "
                    "function itself."
                )

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._saved is FREED:
            raise RuntimeError(errors.SECOND_BACKWARD)
        return tuple([self._raw(i) for i in range(0, len(self._saved), 2)])

    def _raw(self, i: int) -> SavedTensor:
        def put(hooks: Any) -> None:
            pairs = list(self._saved)
            pairs[i] = packed(unpacked(self, *pairs[i : i + 2]), self, hooks)
            self._saved = tuple(pairs)

        def read() -> Any:
            return unpacked(self, *self._saved[i : i + 2])

        return SavedTensor(lambda: self._saved if self._saved is FREED else self._saved[i], put, read)

    @property
    def saved_names(self) -> tuple[str, ...]:
        """Positions in saved_tensors, as names."""
        pairs = self._saved
        count = 0 if pairs is FREED or pairs is TAKEN else len(pairs) // 2
        return tuple([f"saved_tensors[{i}]" for i in range(count)])

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """Return the saved tensors as (name, tensor or array or None, version), without any check."""
        if self._saved is FREED or self._saved is TAKEN:
            return []
        pairs = zip(self._saved[::2], self._saved[1::2], strict=True)
        return [
            (name, saved.array if type(saved) is SavedOutput else saved, version)
            for name, (saved, version) in zip(self.saved_names, pairs, strict=True)
        ]

    def release(self) -> bool:
        """Free the saved tensors, even if there are none, and refuse later reads; return True if there were any."""
        saved, self._saved = self._saved, FREED
        return type(saved) is tuple and len(saved) > 0

    def is_freed(self) -> bool:
        """Return True if the saved tensors are freed and the user's backward reads them; it may not need them."""
        code = getattr(inspect.unwrap(user_backward(self._forward_cls)), "__code__", None)
        return self._saved is FREED and code is not None and "saved_tensors" in code.co_names

    def vjp(self, grads: Any, needed: Container[Node] | None = None) -> Any:
        """Run the user's backward on arrays wrapped as tensors; it reads `needs_input_grad`."""
        if self.multi:
            out = self.vjp_tensors([None if g is None else wrap(g) for g in grads])
        else:
            out = self.vjp_tensors(None if grads is None else wrap(grads))
        if self.arity == 1:
            return None if out is None else out._array
        return [None if g is None else g._array for g in out]

    def vjp_tensors(self, grads: Any, needed: Container[Node] | None = None) -> Any:
        """Return one gradient per tensor argument, checked against the inputs; a single gradient isn't in a tuple."""
        cls = self._forward_cls
        backward = cls.backward if cls.vjp is no_backward else user_backward(cls)
        boxed = cls.boxed_grads_call and type(self) is cls._backward_cls  # a transform's node takes them one by one
        if self.multi or grads is None or boxed:
            grads = self._materialized(grads if self.multi else [grads])
            return gradients_of(self, backward(self, grads) if boxed else backward(self, *grads))
        return gradients_of(self, backward(self, grads))

    def _materialized(self, grads: Any) -> list[Tensor | None]:
        """Replace missing gradients by zeros, unless set_materialize_grads(False)."""
        if not self._materialize:
            return grads
        shapes, kinds = self._outputs[::2], self._outputs[1::2]
        return [
            wrap(np.zeros(shape, kind)) if g is None and self.hands_zeros(nr) else g
            for nr, (g, shape, kind) in enumerate(zip(grads, shapes, kinds, strict=True))
        ]

    def hands_zeros(self, nr: int) -> bool:
        """Return True if backward gets zeros when no gradient arrived for an output."""
        plain = () if self._materialize_non_diff_grads else getattr(self, "_plain", ())
        return bool(self._materialize) and self._outputs[2 * nr + 1] is not None and nr not in plain

    def apply(self, *grads: Any) -> Any:
        """Run the user's backward and return its result."""
        backward = user_backward(self._forward_cls)
        return backward(self, list(grads)) if self._forward_cls.boxed_grads_call else backward(self, *grads)

    def apply_jvp(self, *tangents: Any) -> Any:
        """Run the user's jvp and return its result."""
        return self._forward_cls.jvp(self, *tangents)

    def apply_boxed(self, grads: list[Any]) -> Any:
        """Run the user's backward on a list of gradients."""
        return user_backward(self._forward_cls)(self, grads)


TAKEN = object()  # stands where saved tensors were that could be read only once


def no_forward(*args: Any, **kwargs: Any) -> Any:
    """Compute the result of the operation from the arguments of `apply`; your class must define it.

    Return a tensor, or a tuple of tensors. Autograd doesn't track the operations inside `forward`. The first argument
    is `ctx`, unless the class defines `setup_context`.
    """
    raise NotImplementedError(errors.NO_FORWARD)


def no_setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    """Prepare `ctx` after a forward that doesn't take it, for example with `ctx.save_for_backward`.

    Args:
        ctx: The context, an object that `backward` gets later.
        inputs: The arguments of forward, as a tuple.
        output: The value that forward returned.
    """
    raise NotImplementedError("setup_context is not implemented.")


def _is_setup_context_defined(fn: Any) -> bool:
    """Return True if `setup_context` is overridden (PyTorch's own name)."""
    return fn != no_setup_context


def no_backward(ctx: Any, *grad_outputs: Any) -> Any:
    """Return one value per argument of `forward`: a gradient, or None.

    Args:
        ctx: The context, with `saved_tensors` and `needs_input_grad`, a boolean per argument of `forward`.
        grad_outputs: The gradient of the loss with respect to each output of `forward`.
    """
    raise NotImplementedError(errors.NO_BACKWARD)


def no_jvp(ctx: Any, *grad_inputs: Any) -> Any:
    """Return the tangent of each output, given the tangents of the inputs.

    Args:
        ctx: The context, with the tensors of `save_for_forward` in `saved_tensors`.
        grad_inputs: The tangent of each argument of `forward`; None for an argument without a tangent.
    """
    raise NotImplementedError(errors.NO_JVP)


def no_vmap(info: Any, in_dims: Any, *args: Any) -> Any:
    """Return the output for a whole batch, and the position of the batch dimension in it.

    Args:
        info: An object with the number of samples, `info.batch_size`, and the setting of vmap, `info.randomness`.
        in_dims: For each argument, the position of its batch dimension; None if all samples share the argument.
        args: The arguments of `forward`, with their batch dimensions.
    """
    raise NotImplementedError(
        "To use autograd.Function with vmap, you must either override the vmap "
        "staticmethod or set generate_vmap_rule=True."
    )


def user_backward(cls: Any) -> Callable[..., Any]:
    """Return the class's backward, or its vjp; it is looked up for every backward pass."""
    backward, vjp = cls.backward, cls.vjp
    if vjp is no_backward:
        return backward
    if backward is not no_backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return vjp


_function_ids = itertools.count()
FLAGS = ("clear_saved_tensors_on_access", "boxed_grads_call")  # in the order in which PyTorch looks at them
_ContextMethodMixin = FunctionCtx

__path__ = _PATH  # so that `from ... import` of an absent name is refused by a sentence (absent.py)
__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "once_differentiable",
]

# PyTorch has these names here; `variable` defines them, is built on this module and loads on first use.
_OF_VARIABLE = frozenset(
    "InplaceFunction NestedIOFunction _HookMixin _iter_filter _iter_None_tensors _iter_tensors "
    "_iter_tensors_permissive _map_tensor_data _nested_map _unflatten".split()
)
__all__ += sorted(name for name in _OF_VARIABLE if not name.startswith("_"))


def __getattr__(name: str) -> Any:
    if name in _OF_VARIABLE:
        from . import variable

        return getattr(variable, name)
    raise refusal(f"module {__name__!r}", "torch.autograd.function", name)


class FunctionMeta(type):
    """The metaclass of Functions: it gives each a node class. Give it `name`, `bases` and `namespace`, as `type`."""

    _backward_cls: Any

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        own = {"__slots__": (), "_forward_cls": cls, "_autograd_function_id": next(_function_ids)}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), own)
        cls._plain_forward = None, 0  # the forward whose parameters were counted, and their number
        super().__init__(name, bases, namespace)
        cls._check_flags()

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in FLAGS:
            cls._check_flags()

    def _check_flags(cls) -> None:
        """Make node creation fail if a flag isn't True or False, at no cost for other classes."""
        odd = [flag for flag in FLAGS if type(getattr(cls, flag, False)) is not bool]
        if odd:
            sentence = f"{odd[0]} must be a bool, got {type(getattr(cls, odd[0])).__name__}"

            def refuse(ctx: Any) -> None:
                raise RuntimeError(sentence)

            cls._backward_cls.__init__ = refuse
        elif "__init__" in vars(cls._backward_cls):
            del cls._backward_cls.__init__
        for child in cls.__subclasses__():
            child._check_flags()


class _SingleLevelFunction(FunctionCtx, metaclass=FunctionMeta):
    """A Function without rules for batches."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            (
                f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so "
                "you should invoke them on the class itself. Instantiating an autograd function "
                "will raise an error in a future version of PyTorch."
            ),
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError: call `apply` on the class instead."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    clear_saved_tensors_on_access = False  # True: saved_tensors may be read once, and are free after that
    boxed_grads_call = False  # True: backward takes its gradients as one list

    forward = staticmethod(no_forward)
    setup_context = staticmethod(no_setup_context)
    backward = staticmethod(no_backward)
    vjp = backward
    jvp = staticmethod(no_jvp)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` with these arguments, record this Function as one node of the graph, and return the outputs."""
        two_steps = cls.setup_context is not no_setup_context
        if two_steps:
            forward, count = cls._plain_forward
            if kwargs or forward is not cls.forward or count != len(args):
                args, kwargs = with_defaults(cls, args, kwargs)
        elif kwargs:
            args, kwargs = positional(cls.forward, args, kwargs), {}
        modes = local.modes
        if slow_path_reasons and (modes.levels or modes.dual is not None or any([type(a) is Lifted for a in args])):
            from .function_transforms import apply_transformed

            return apply_transformed(cls, args, two_steps, kwargs)
        ctx = cls._backward_cls()
        ctx.extra = ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
        ctx._saved = ()
        recorded = ctx._connect(args, modes.grad)
        ctx.seq = next(sequence)  # after the edges: a view's may just have been made again
        output = run_forward(cls, ctx, args, two_steps, modes)
        if recorded and type(output) is Tensor and ctx.dirty_tensors is None is ctx.non_differentiable:
            result = bind_output(ctx, 0, output, args)
            array = result._array
            ctx.outputs, ctx.multi, ctx._outputs = 1, False, (array.shape, array.dtype)
            outputs = (result,)
        else:
            result, outputs = bind_outputs(ctx, args, output, recorded)
        if recorded and (ctx.to_save or scope_threads or state.anomaly):  # else a call costs time for nothing
            ctx._complete()
        if listeners:
            emit_created(ctx, args, outputs, recorded)
        ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
        return result


class Function(_SingleLevelFunction):
    """A differentiable operation of your own: define `forward` and `backward`, and call `apply`.

    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**2
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad_output):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad_output
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)

    `forward(ctx, *args)` gets the arguments of `apply` and returns a tensor or a tuple of tensors. Autograd doesn't
    track the operations inside `forward`. Save tensors for `backward` with `ctx.save_for_backward`, and other objects
    as attributes of `ctx`.

    `backward(ctx, *grad_outputs)` gets the gradient of each output, in the output's shape. It returns one value per
    argument of `forward`: a gradient in the argument's shape, or None if the argument needs no gradient.

    If `forward` doesn't take `ctx`, define `setup_context(ctx, inputs, output)` to fill it. Other optional methods are
    `jvp`, which pushes tangents forward, and `vmap`, which runs a whole batch; `generate_vmap_rule = True` derives
    `vmap` from the other methods. `vjp` is another name for `backward`.
    """

    vmap = staticmethod(no_vmap)
    generate_vmap_rule = False  # True: vmap runs this Function by running its methods under vmap


def run_forward(cls: Any, ctx: Any, args: tuple[Any, ...], two_steps: bool, modes: Modes) -> Any:
    """Run the user's forward, with gradients off."""
    before = modes.grad
    if before:
        modes.grad = False
        no_grad_threads[modes] = True
    try:
        if not two_steps:
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output
    finally:
        if before and not modes.grad:
            modes.grad = True
            del no_grad_threads[modes]
        elif modes.grad is not before:  # switched on inside, and not off again
            modes.grad = False
            no_grad_threads[modes] = True


_no_backward, _no_setup = Function.backward, Function.setup_context


def custom_function_call(autograd_function: type[Function], *args: Any, **kwargs: Any) -> Any:
    """Apply a Function, as PyTorch's own code does."""
    return autograd_function.apply(*args, **kwargs)
