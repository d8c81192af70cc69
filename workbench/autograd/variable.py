"""Names from before tensors could require grad: `Variable`, its engine, and Functions over nested lists of Variables.

PyTorch has them in `autograd.variable` and `autograd.function`.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import errors, events
from .function import Function
from .hooks import RemovableHandle
from .state import local
from .tensor import Tensor, alias, wrap


class _Engine:
    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the running backward pass has finished, including the leaves."""
        task = local.modes.task
        if task is None:
            raise events.failed(RuntimeError(errors.NO_CALLBACK))
        task.callbacks.append(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """The old name of Tensor: `Variable(data)` returns a tensor over the same memory, without history.

    Args:
        data: The tensor whose memory to use.
        requires_grad: If True, operations on the new tensor are tracked for backward.
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:
        """Return a tensor over the same memory, without history."""
        return alias(data).requires_grad_(requires_grad)


class _HookMixin:
    """A method to put a hook into a dictionary, which the first hook creates."""

    @staticmethod
    def _register_hook(backward_hooks: Any, hook: Callable[..., Any]) -> tuple[Any, RemovableHandle]:
        hooks = OrderedDict() if backward_hooks is None else backward_hooks
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return hooks, handle


class InplaceFunction(Function):
    """A Function with the attribute `inplace`, for old programs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _unknown(obj: Any, accepted: str | None) -> ValueError:
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    name = named.__qualname__ if named.__module__ == "builtins" else f"{named.__module__}.{named.__qualname__}"
    text = "Auto nesting doesn't know how to process an input object of type {}".format(
        f"torch.{obj.dtype.word}Tensor" if isinstance(obj, Tensor) else name
    )
    return ValueError(text if accepted is None else text + f". Accepted types: {accepted}, or lists/tuples of them")


def _nested_map(
    condition: Callable[[Any], bool], fn: Callable[[Any], Any], condition_msg: str | None = None
) -> Callable[[Any], Any]:
    """Return a function that applies `fn` to the values that `condition` accepts, in nested lists, tuples and dicts."""

    def mapped(obj: Any) -> Any:
        if condition(obj):
            return fn(obj)
        if obj is None:
            return None
        if isinstance(obj, dict):
            return {key: mapped(value) for key, value in obj.items()}
        if not isinstance(obj, (list, tuple)):
            raise _unknown(obj, condition_msg)
        values = [mapped(value) for value in obj]
        return type(obj)(*values) if hasattr(obj, "_fields") else type(obj)(values)

    return mapped


def _iter_filter(
    condition: Callable[[Any], bool],
    allow_unknown: bool = False,
    condition_msg: str | None = None,
    conversion: Callable[[Any], Any] | None = None,
) -> Callable[[Any], Iterator[Any]]:
    """Return a function that yields the values that `condition` accepts, from nested lists, tuples and dicts."""

    def walk(obj: Any) -> Iterator[Any]:
        if conversion is not None:
            obj = conversion(obj)
        if condition(obj):
            yield obj
        elif isinstance(obj, (list, tuple, dict)):
            for value in obj.values() if isinstance(obj, dict) else obj:
                yield from walk(value)
        elif obj is not None:
            if not allow_unknown:
                raise _unknown(obj, condition_msg)
            yield obj

    return walk


def _unflatten(input: Sequence[Any], proto: Any) -> Any:
    """Return the values of a flat sequence in the nesting of `proto`, in which None stays None."""
    taken = itertools.count()

    def filled(part: Any) -> Any:
        if not isinstance(part, (list, tuple)):
            return input[next(taken)]
        return type(part)([None if p is None else filled(p) for p in part])

    return filled(proto)


def _is_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor)


_iter_tensors = _iter_filter(_is_tensor, condition_msg="Tensors")
_iter_tensors_permissive = _iter_filter(_is_tensor, allow_unknown=True, condition_msg="Tensors (permissive)")
_iter_None_tensors = _iter_filter(lambda o: o is None or _is_tensor(o), condition_msg="Tensors or None")
_map_tensor_data = _nested_map(_is_tensor, lambda o: wrap(o._array), condition_msg="Tensors")


class NestedIOFunction(Function):
    """A Function whose inputs and outputs are nested lists of tensors, for old programs.

    As in PyTorch, neither a call nor `apply` runs its methods any longer.
    """

    def _parent(self) -> Any:
        return super()

    def _do_forward(self, *input: Any) -> Any:
        self._nested_input = input
        flat = tuple(_iter_tensors(input))
        return self._parent()._do_forward(*flat)

    def _do_backward(self, gradients: Any, retain_variables: bool) -> Any:
        return self._parent()._do_backward(gradients, retain_variables)

    def __call__(self, *input: Any) -> Any:
        """Raise AttributeError: no engine calls instances any longer."""
        return self._do_forward(*input)

    def forward(self, *args: Any) -> Any:
        """Return the result of forward_extended for the nested input, as a flat tuple of tensors."""
        nested = _map_tensor_data(self._nested_input)
        self._nested_output = self.forward_extended(*nested)
        del self._nested_input
        return tuple(_iter_tensors(self._nested_output))

    def backward(self, *gradients: Any) -> Any:
        """Return the result of backward_extended for gradients nested like the outputs, as a flat tuple."""
        nested = _unflatten(gradients, self._nested_output)
        return tuple(_iter_None_tensors(self.backward_extended(*nested)))

    def save_for_backward(self, *args: Any) -> None:
        """Store the tensors to save, and how they were nested."""
        self.to_save = tuple(_iter_tensors(args))
        self._to_save_nested = args

    @property
    def saved_tensors(self) -> Any:
        """The saved tensors, nested as given; an instance isn't a node, so there never are any."""
        return _unflatten((), self._to_save_nested)

    def mark_dirty(self, *args: Any, **kwargs: Any) -> None:
        """Store the tensors that forward modifies in place."""
        self.dirty_tensors = tuple(_iter_tensors((args, kwargs)))

    def mark_non_differentiable(self, *args: Any, **kwargs: Any) -> None:
        """Store the outputs that have no gradient."""
        self.non_differentiable = tuple(_iter_tensors((args, kwargs)))

    def forward_extended(self, *input: Any) -> Any:
        """Compute the nested outputs; a subclass overrides it."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """Compute the nested gradients; a subclass overrides it."""
        raise NotImplementedError
