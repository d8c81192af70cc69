"""The base of all that has parameters: `forward` says what it computes, calling it does so (torch.nn.Module)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from ...absent import refusal
from ...autograd import scopes
from ...autograd.grad_mode import no_grad
from ...autograd.hooks import RemovableHandle
from ...autograd.tensor import Parameter, Tensor
from ...errors import warn
from ...events import listeners
from ...ops.convert import meant
from .. import messages
from .backward_hooks import BackwardHook

_HELD = ("_parameters", "_buffers", "_modules")


class Held:
    """An object that tells apart what it is given: parameters, buffers, modules, and what is none of these."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self) -> None:
        self.__dict__.update(training=True, _non_persistent_buffers_set=set(), **{kind: {} for kind in _HELD})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Hold a parameter under a name, which becomes an attribute; None holds the place."""
        if "_parameters" not in self.__dict__:
            raise AttributeError(messages.PARAMETER_TOO_EARLY)
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(messages.PARAMETER_KIND.format(typename(param), name))
            if param.grad_fn:
                raise ValueError(messages.PARAMETER_NON_LEAF.format(name))
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Hold a tensor that is no parameter; a persistent one is part of the state that is saved."""
        if "_buffers" not in self.__dict__:
            raise AttributeError(messages.BUFFER_TOO_EARLY)
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(messages.BUFFER_KIND.format(typename(tensor), name))
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Any) -> None:
        """Hold a module under a name, which becomes an attribute; None holds the place."""
        if module is not None and not isinstance(module, Held):
            raise TypeError(messages.MODULE_KIND.format(typename(module)))
        if not isinstance(name, str):
            raise TypeError(messages.NAME_KIND.format("module", typename(name)))
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(messages.ATTRIBUTE_EXISTS.format(name))
        if "." in name:
            raise KeyError(messages.MODULE_NAME_DOT.format(name))
        if not name:
            raise KeyError(messages.NAME_EMPTY.format("module"))
        self._modules[name] = module
        changed()

    def register_module(self, name: str, module: Any) -> None:
        """The same as add_module."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: Any, held: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(messages.NAME_KIND.format(kind, typename(name)))
        if "." in name:
            raise KeyError(messages.NAME_DOT.format(kind))
        if not name:
            raise KeyError(messages.NAME_EMPTY.format(kind))
        if hasattr(self, name) and name not in held:
            raise KeyError(messages.ATTRIBUTE_EXISTS.format(name))

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in _HELD:
            if kind in own and name in own[kind]:
                return own[kind][name]
        raise refusal(f"{type(self).__name__!r} object", "torch.nn.Module", name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters, buffers, modules = own.get("_parameters", ()), own.get("_buffers", ()), own.get("_modules", ())
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError(messages.PARAMETERS_TOO_EARLY)
            self._make_way(name, "_parameters")
            self.register_parameter(name, value)
        elif name in parameters:
            if value is not None:
                raise TypeError(messages.AS_PARAMETER.format(typename(value), name))
            self.register_parameter(name, value)
        elif isinstance(value, Held):
            if "_modules" not in own:
                raise AttributeError(messages.MODULE_TOO_EARLY)
            self._make_way(name, "_modules")
            self._modules[name] = value
        elif name in modules:
            if value is not None:
                raise TypeError(messages.AS_MODULE.format(typename(value), name))
            self._modules[name] = value
            changed()
        elif name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(messages.AS_BUFFER.format(typename(value), name))
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
        else:
            super().__setattr__(name, value)

    def _make_way(self, name: str, kind: str) -> None:
        """Drop what had the name, unless it is of the kind that is to have it."""
        for held in (self.__dict__, *[self.__dict__[other] for other in _HELD if other != kind]):
            held.pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        changed()

    def __delattr__(self, name: str) -> None:
        for kind in _HELD:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                changed()
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted([name for name in names if not name[0].isdigit()])


def typename(thing: Any) -> str:
    """What a refused thing is called: a tensor by its dtype, another by its class and where that is defined."""
    if isinstance(thing, Tensor):
        return str(thing.type())
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    name = kind.__qualname__ if kind is thing else kind.__name__
    where = getattr(kind, "__module__", None)
    if where in (None, "builtins"):
        return name
    ours = __name__.partition(".")[0]
    return f"torch{where.removeprefix(ours)}.{name}" if where.startswith(f"{ours}.") else f"{where}.{name}"


changes = 0  # how often any module came to hold other modules


def changed() -> None:
    """Note that a module holds other modules than before, so that names under which any knew them are out of date."""
    global changes
    changes += 1


NOTHING: tuple[int, int, dict[int, str]] = (-1, -1, {})


class Parts(Held):
    """A module as the tree of all that it holds."""

    def children(self) -> Iterator[Any]:
        """The modules that this one holds itself."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The modules that this one holds itself, with their names; one with two names comes once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all in it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all in it, with names that lead there: "layers.0"; each once unless told otherwise."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and, if `recurse`, of all in it."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with names that lead there: "layers.0.weight"; each once unless told otherwise."""
        yield from self._named_tensors("_parameters", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and, if `recurse`, of all in it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with names that lead there; each once unless told otherwise."""
        yield from self._named_tensors("_buffers", prefix, recurse, remove_duplicate)

    def _named_tensors(self, kind: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=once) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, tensor in getattr(module, kind).items():
                if tensor is not None and tensor not in seen:
                    if once:
                        seen.add(tensor)
                    yield f"{path}.{name}" if path else name, tensor

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What to say of this module besides the modules it holds, one thing a line; to be overridden."""
        return ""

    def __repr__(self) -> str:
        said = self.extra_repr()
        lines = said.split("\n") if said else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({said})"
        return framed(self._get_name(), lines + [f"({name}): {module!r}" for name, module in self._modules.items()])


def framed(name: str, lines: list[str]) -> str:
    """A module's text: what it holds, indented between brackets."""
    inner = "".join(["\n  " + line.replace("\n", "\n  ") for line in lines])
    return f"{name}({inner}\n)" if lines else f"{name}()"


def name_within(caller: Any, module: Any) -> str:
    """What a module that is called is named: as the module that calls it holds it, "layers/0", or by its class.

    Names are noted at the first call and until any module comes to hold others. A copy of a module has a copy of the
    notes, which are not about it: hence the identity in them.
    """
    if caller is not None:
        when, of, names = caller.__dict__.get("_names_within", NOTHING)
        if when != changes or of != id(caller):
            names = {id(part): name.replace(".", "/") for name, part in caller.named_modules() if name}
            caller.__dict__["_names_within"] = changes, id(caller), names
        if id(module) in names:
            return names[id(module)]
    return module._get_name()


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """What load_state_dict found no tensor for, and what it had no place for."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if any(self) else "<All keys matched successfully>"

    __str__ = __repr__


class Stateful(Parts):
    """A module whose state can be kept and restored."""

    _version = 1  # of the format of the state, which subclasses may count on

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The parameters and persistent buffers by name, detached unless `keep_vars`, in the memory they are in."""
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = {"version": self._version}
        for name, tensor in self._state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return destination

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy values into the parameters and buffers of the same names, or with `assign` have these tensors instead.

        Returns the keys that were missing or unexpected. RuntimeError if there were any, unless `strict` is False, or
        where a tensor does not fit.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(messages.STATE_KIND.format(type(state_dict)))
        keys, problems = _IncompatibleKeys([], []), []
        self._load(dict(state_dict), "", assign, keys, problems)
        if strict:
            for sentence, names in (
                (messages.STATE_UNEXPECTED, keys.unexpected_keys),
                (messages.STATE_MISSING, keys.missing_keys),
            ):
                if names:
                    problems.insert(0, sentence.format(", ".join([f'"{name}"' for name in names])))
        if problems:
            raise RuntimeError(messages.STATE_ERRORS.format(self._get_name(), "\n\t".join(problems)))
        return keys

    def _state(self) -> dict[str, Tensor]:
        """This module's own parameters and persistent buffers."""
        buffers = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {name: tensor for name, tensor in (self._parameters | buffers).items() if tensor is not None}

    def _load(
        self, given: dict[str, Any], prefix: str, assign: bool, keys: _IncompatibleKeys, problems: list[str]
    ) -> None:
        """Load what begins with a prefix into this module and those in it; what goes wrong is collected."""
        state = self._state()
        for name, tensor in state.items():
            if prefix + name in given:
                problems += self._take(name, tensor, prefix + name, given[prefix + name], assign)
            else:
                keys.missing_keys.append(prefix + name)
        for key in given:
            first, *deeper = key.removeprefix(prefix).split(".", 1)
            if first not in (self._modules if deeper else state):
                keys.unexpected_keys.append(key)
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}{name}."
                part = {key: value for key, value in given.items() if key.startswith(inner)}
                module._load(part, inner, assign, keys, problems)

    def _take(self, name: str, tensor: Tensor, key: str, given: Any, assign: bool) -> list[str]:
        """Give one parameter or buffer a value; what keeps it from that, in a list."""
        if not isinstance(given, Tensor):
            return [messages.STATE_ENTRY_KIND.format(key, type(given))]
        if not tensor.shape and given.shape == (1,):
            given = given[0]
        if given.shape != tensor.shape:
            return [messages.STATE_SHAPE.format(key, given.shape, tensor.shape)]
        try:
            with no_grad():
                if not assign:
                    tensor.copy_(given)
                elif isinstance(tensor, Parameter) and not isinstance(given, Parameter):
                    setattr(self, name, Parameter(given, tensor.requires_grad))
                else:
                    setattr(self, name, given.requires_grad_(tensor.requires_grad))
        except Exception as problem:
            return [messages.STATE_COPY.format(key, tensor.size(), given.size(), problem.args)]
        return []


class _Hook(NamedTuple):
    function: Callable[..., Any]
    with_kwargs: bool
    always_call: bool = False


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Module(Stateful):
    """Something with parameters that computes; what it is made of are attributes, parameters and modules alike.

    Every call opens a scope, so that a picture of the graph has a box for each module: "MLP/layers/0" is what the
    model of class MLP calls `self.layers[0]`.
    """

    _forward_hooks: OrderedDict[int, _Hook]
    _forward_pre_hooks: OrderedDict[int, _Hook]
    _backward_hooks: OrderedDict[int, Callable[..., Any]]
    _backward_pre_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if kwargs:
            raise TypeError(messages.UNEXPECTED_KEYWORD.format(name, next(iter(kwargs))))
        if args:
            raise TypeError(messages.POSITIONAL.format(name, len(args) + 1))
        super().__init__()
        self.__dict__.update({kind: OrderedDict() for kind in _HOOKS})

    def forward(self, *args: Any) -> Any:
        """What the module computes; to be overridden."""
        raise NotImplementedError(messages.NO_FORWARD.format(type(self).__name__))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and the hooks around it, in a scope of this module's name."""
        stack = scopes.local.stack
        entry, caller = stack.entry, stack.module
        name = name_within(caller, self)
        stack.enter(name, self)
        try:
            if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs)
        finally:
            stack.open -= 1
            if stack.open:
                stack.entry, stack.module = entry, caller
            else:
                stack.entry = stack.module = None
                listeners.remove(scopes.label)

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
                    warn(messages.SILENCED_HOOK.format(error))
            raise
        return result

    def _call_before(self, hook: _Hook, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The arguments as a hook leaves them."""
        if hook.with_kwargs:
            changed = hook.function(self, args, kwargs)
            if changed is None:
                return args, kwargs
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(messages.PRE_HOOK_RESULT.format(changed))
            return changed
        changed = hook.function(self, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _call_after(self, hook: _Hook, args: Any, kwargs: dict[str, Any], result: Any) -> Any:
        """The result as a hook leaves it."""
        given = (args, kwargs, result) if hook.with_kwargs else (args, result)
        changed = hook.function(self, *given)
        return result if changed is None else changed

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns, if anything, is given to forward instead.

        With `with_kwargs` it is `hook(module, args, kwargs)`, which returns both.
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
        """Call `hook(module, args, output)` after forward; what it returns, if anything, is the output instead.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`. With `always_call` it runs also after an error.
        """
        return _registered(self._forward_hooks, _Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known.

        What it returns, if anything, goes on instead of `grad_input`.
        """
        return _registered(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the outputs' gradients arrive; what it returns goes on instead."""
        return _registered(self._backward_pre_hooks, hook, prepend)

    def train(self, mode: bool = True) -> Self:
        """Have this module and all in it be in training mode, or not."""
        if not isinstance(mode, bool):
            raise ValueError(messages.MODE_KIND)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Have all parameters require grad, or none of them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Let the parameters' gradients go, or write zeros into them."""
        clear_grads(self.parameters(), set_to_none)

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` with all modules in this one, then with itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Cast parameters and buffers, those of floating point, in place; what `Tensor.to` takes is taken."""
        dtype, _ = meant(*args, **kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(messages.ONLY_FLOATS.format(dtype))
        return self._apply(lambda t: t.to(dtype) if dtype is not None and t.is_floating_point() else t)

    def float(self) -> Self:
        """Cast parameters and buffers to float32, in place."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Cast parameters and buffers to float64, in place."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """The module itself: it is there already."""
        return self

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
    """Set each tensor's gradient to None, or write zeros into it; the gradient has no history then."""
    for parameter in parameters:
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
