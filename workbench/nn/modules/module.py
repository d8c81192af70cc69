"""Module, the base of everything with parameters: calls, hooks and modes; and lists of modules (torch.nn.Module)."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, Self

from ...autograd import scopes
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...autograd.hooks import RemovableHandle
from ...autograd.state import scope_threads
from ...autograd.tensor import Tensor
from ...errors import warn
from ...events import emit, listeners
from ...ops.convert import meant
from .backward_hooks import BackwardHook
from .naming import changed, name_within
from .state_dict import Stateful
from .tree import framed

__all__ = ["Module", "ModuleList", "Sequential"]

OUT_OF_RANGE = "index {} is out of range"
COMPLEX_MODULES = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not "
    "work as expected when using complex tensors as parameters or buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as "
    "expected."
)


class _Hook(NamedTuple):
    function: Callable[..., Any]
    with_kwargs: bool
    always_call: bool = False


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Module(Stateful):
    """Base class of all layers and models: a computation together with its parameters.

    A subclass creates its parameters and layers in `__init__`, after `super().__init__()`, and computes in
    `forward`. Call `model(x)`, not `model.forward(x)`, so that hooks run.

    Example:
        >>> class Doubled(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = nn.Linear(3, 2)
        ...
        ...     def forward(self, x):
        ...         return 2 * self.layer(x)
        >>> [name for name, parameter in Doubled().named_parameters()]
        ['layer.weight', 'layer.bias']

    Parameters, buffers and modules that you set as attributes belong to the module: `parameters()` and
    `state_dict()` find them. Every call opens a scope, so a picture of the graph has a box for each module:
    "MLP/layers/0" is `self.layers[0]` of a model of class MLP. PyTorch: torch.nn.Module.
    """

    _forward_hooks: OrderedDict[int, _Hook]
    _forward_pre_hooks: OrderedDict[int, _Hook]
    _backward_hooks: OrderedDict[int, Callable[..., Any]]
    _backward_pre_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if kwargs:
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if args:
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        super().__init__()
        self.__dict__.update({kind: OrderedDict() for kind in _HOOKS})

    def forward(self, *args: Any) -> Any:
        """Compute the result of the module; a subclass overrides it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and the hooks around it, in a scope of this module's name."""
        stack = scopes.local.stack
        entry, caller = stack.entry, stack.module
        stack.enter(name_within(caller, self), self, type(self).__name__)
        try:
            if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
                result = self._call_with_hooks(args, kwargs)
            else:
                result = self.forward(*args, **kwargs) if kwargs else self.forward(*args)
            if listeners and caller is None:
                emit(("returned", self, is_grad_enabled()))
            return result
        finally:
            stack.open -= 1
            if stack.open:
                stack.entry, stack.module = entry, caller
            else:
                stack.entry = stack.module = None
                scope_threads.pop(stack, None)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result, waiting = None, {id: hook for id, hook in self._forward_hooks.items() if hook.always_call}
        try:
            for hook in tuple(self._forward_pre_hooks.values()):
                args, kwargs = self._call_before(hook, args, kwargs)
            around = None
            if self._backward_hooks or self._backward_pre_hooks:
                around = BackwardHook(self, self._backward_hooks.values(), self._backward_pre_hooks.values())
                args = around.inputs(args)
            result = self.forward(*args, **kwargs)
            for id, hook in tuple(self._forward_hooks.items()):
                waiting.pop(id, None)
                result = self._call_after(hook, args, kwargs, result)
            if around is not None:
                result = around.outputs(result)
        except Exception:
            for hook in waiting.values():
                try:
                    result = self._call_after(hook, args, kwargs, result)
                except Exception as error:
                    warn(
                        "module forward hook with ``always_call=True`` raised an exception that was "
                        f"silenced as another error was raised in forward: {error}"
                    )
            raise
        return result

    def _call_before(self, hook: _Hook, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return the arguments after a hook."""
        if hook.with_kwargs:
            changed = hook.function(self, args, kwargs)
            if changed is None:
                return args, kwargs
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                )
            return changed
        changed = hook.function(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _call_after(self, hook: _Hook, args: Any, kwargs: dict[str, Any], result: Any) -> Any:
        """Return the result after a hook."""
        given = (args, kwargs, result) if hook.with_kwargs else (args, result)
        changed = hook.function(self, *given)
        return result if changed is None else changed

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each call of `forward`; a result that isn't None replaces the arguments.

        Args:
            hook: The function to call.
            prepend: If True, this hook runs before the hooks that were registered earlier.
            with_kwargs: If True, the call is `hook(module, args, kwargs)`. The hook then returns a pair
                `(args, kwargs)`, or None.
        """
        return _registered(self._forward_pre_hooks, _Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after each call of `forward`; a result that isn't None replaces the output.

        Args:
            hook: The function to call.
            prepend: If True, this hook runs before the hooks that were registered earlier.
            with_kwargs: If True, the call is `hook(module, args, kwargs, output)`.
            always_call: If True, the hook runs even if `forward` raised an error.
        """
        return _registered(self._forward_hooks, _Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` in each backward pass, once the inputs' gradients are known.

        `grad_input` and `grad_output` are tuples: the gradients of the module's inputs and of its outputs. A result
        that isn't None replaces `grad_input`. With `prepend`, the hook runs before those that were registered earlier.
        """
        return _registered(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` in each backward pass, when the gradients of the outputs arrive.

        `grad_output` is a tuple: the gradients of the module's outputs. A result that isn't None replaces it. With
        `prepend`, the hook runs before those that were registered earlier.
        """
        return _registered(self._backward_pre_hooks, hook, prepend)

    def train(self, mode: bool = True) -> Self:
        """Set training mode, or eval mode if `mode` is False, for this module and all modules in it.

        Dropout and batch normalization behave differently in these modes.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set eval mode for this module and all modules in it, as `train(False)` does."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters: False freezes the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the parameters' gradients to None, or write zeros into them if `set_to_none` is False."""
        clear_grads(self.parameters(), set_to_none)

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` with each module inside this module, then with this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Cast floating-point parameters and buffers in place; the arguments are those of `Tensor.to`."""
        dtype, _, order = meant(*args, **kwargs)
        if dtype is not None and dtype.rank < 2:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warn(COMPLEX_MODULES)
        return self._apply(
            lambda t: t.to(
                dtype if dtype is not None and (t.is_floating_point() or t.is_complex()) else t.dtype,
                memory_format=order if t.ndim in (4, 5) else None,
            )
        )

    def float(self) -> Self:
        """Cast parameters and buffers to float32, in place."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Cast parameters and buffers to float64, in place."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """Return the module unchanged: it is on the CPU already."""
        return self

    def cuda(self, device: Any = None) -> Self:
        """Raise AssertionError if the module has parameters or buffers, because there is no CUDA device."""
        return self._apply(lambda t: t.cuda())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing. In PyTorch, this method compiles the module."""

    def _apply(self, fn: Callable[[Tensor], Tensor]) -> Self:
        for module in self.children():
            module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    parameter.data = fn(parameter)
                    if parameter.grad is not None:
                        parameter.grad.data = fn(parameter.grad)
        self._buffers.update({name: buffer if buffer is None else fn(buffer) for name, buffer in self._buffers.items()})
        return self


def clear_grads(parameters: Iterable[Tensor], set_to_none: bool) -> None:
    """Set each tensor's gradient to None, or write zeros into it and drop its history."""
    for parameter in parameters:
        if set_to_none and not listeners and (meta := parameter._meta) is not None:
            meta.grad = None
            continue
        grad = parameter.grad
        if grad is not None and set_to_none:
            parameter.grad = None
        elif grad is not None:
            (grad.requires_grad_(False) if grad.grad_fn is None else grad.detach_()).zero_()


def _registered(hooks: OrderedDict[int, Any], hook: Any, prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


# Sequential and ModuleList are in this file because pickled models name it.


class _Row(Module):
    """Modules under the names "0", "1", …, unless they were given others."""

    def _name_at(self, index: Any) -> str:
        """Return the name of the module at a place; a negative place counts from the end."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(OUT_OF_RANGE.format(index))
        return list(self._modules)[index]

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return self._part(list(self._modules.items())[idx])
        return self._modules[self._name_at(idx)]

    def _part(self, items: list[tuple[str, Any]]) -> Self:
        raise NotImplementedError

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]:
            delattr(self, name)
        left = list(self._modules.values())
        self._modules.clear()
        self._modules.update({str(number): module for number, module in enumerate(left)})

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def _insert(self, index: int, module: Module) -> None:
        for number in range(len(self), index, -1):
            self._modules[str(number)] = self._modules[str(number - 1)]
        self._modules[str(index)] = module
        changed()

    def extend(self, modules: Iterable[Any]) -> Self:
        """Add the modules in `modules` at the end."""
        for module in tuple(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove the module at the position `key`, or several for a slice, and return what was removed."""
        found = self[key]
        del self[key]
        return found


class Sequential(_Row):
    """Call modules one after the other, each with the result of the module before it. PyTorch: torch.nn.Sequential.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        >>> model(torch.ones(5, 3)).shape
        torch.Size([5, 1])

    Args:
        args: The modules in order, or one OrderedDict that maps names to modules.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def forward(self, input: Any) -> Any:
        """Return the result of the last module."""
        for module in self:
            input = module(input)
        return input

    def _part(self, items: list[tuple[str, Any]]) -> Self:
        return type(self)(OrderedDict(items))

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before this index."""
        if not isinstance(module, Module):
            raise AssertionError("module should be of type: <class 'torch.nn.modules.module.Module'>")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + len(self) if index < 0 else index, module)
        return self


class ModuleList(_Row):
    """A list whose modules are registered with the model, so that `parameters()` finds their parameters.

    The list has no `forward`: the model's own `forward` calls the modules.

    Args:
        modules: The first elements of the list.
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _part(self, items: list[tuple[str, Any]]) -> Self:
        return type(self)([module for _, module in items])

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before this index."""
        self._insert(index, module)

    def extend(self, modules: Iterable[Any]) -> Self:
        """Add the modules in `modules` at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        return super().extend(modules)

    __iadd__ = extend

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """Return the modules as text, neighbors that read alike only once."""
        runs: list[tuple[int, int, str]] = []
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], number, text)
            else:
                runs.append((number, number, text))
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return framed(self._get_name(), lines)
