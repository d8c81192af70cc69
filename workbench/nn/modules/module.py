"""Module, the base of all that has parameters, its hooks on the backward, and modules in rows (torch.nn.Module)."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple, Self

from ... import errors
from ...absent import refusal
from ...autograd import scopes
from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...autograd.hooks import RemovableHandle
from ...autograd.state import scoped
from ...autograd.tensor import Parameter, Tensor
from ...errors import warn
from ...events import listeners
from ...ops.convert import meant

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
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                    f"created explicitly. To express '{name}' as a function of another Tensor, compute the "
                    "value in the forward() method."
                )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Hold a tensor that is no parameter; a persistent one is part of the state that is saved."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Any) -> None:
        """Hold a module under a name, which becomes an attribute; None holds the place."""
        if module is not None and not isinstance(module, Held):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(errors.NAME_KIND.format("module", typename(name)))
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(errors.ATTRIBUTE_EXISTS.format(name))
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if not name:
            raise KeyError(errors.NAME_EMPTY.format("module"))
        self._modules[name] = module
        changed()

    def register_module(self, name: str, module: Any) -> None:
        """The same as add_module."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: Any, held: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(errors.NAME_KIND.format(kind, typename(name)))
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if not name:
            raise KeyError(errors.NAME_EMPTY.format(kind))
        if hasattr(self, name) and name not in held:
            raise KeyError(errors.ATTRIBUTE_EXISTS.format(name))

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        held = own.get("_parameters")
        if held and name in held:
            return held[name]
        for kind in _HELD[1:]:
            if kind in own and name in own[kind]:
                return own[kind][name]
        raise refusal(f"{type(self).__name__!r} object", "torch.nn.Module", name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters, buffers, modules = own.get("_parameters", ()), own.get("_buffers", ()), own.get("_modules", ())
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._make_way(name, "_parameters")
            self.register_parameter(name, value)
        elif name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Held):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._make_way(name, "_modules")
            self._modules[name] = value
        elif name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = value
            changed()
        elif name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, "
                    "torch.Tensor or None expected)"
                )
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


# Where PyTorch defines what is in another file here: a refusal says a class with its place.
_PLACES = {
    name: f"{place}.{name}"
    for place, names in {
        "nn.modules.activation": "ELU GELU LeakyReLU LogSigmoid LogSoftmax MultiheadAttention ReLU SiLU Sigmoid "
        "Softmax Softplus Tanh",
        "nn.modules.batchnorm": "BatchNorm1d BatchNorm2d",
        "nn.modules.container": "ModuleList Sequential",
        "nn.modules.conv": "Conv2d",
        "nn.modules.dropout": "Dropout",
        "nn.modules.flatten": "Flatten",
        "nn.modules.linear": "Identity Linear NonDynamicallyQuantizableLinear",
        "nn.modules.loss": "BCELoss BCEWithLogitsLoss CrossEntropyLoss HuberLoss L1Loss MSELoss NLLLoss SmoothL1Loss",
        "nn.modules.normalization": "LayerNorm",
        "nn.modules.pooling": "AvgPool2d MaxPool2d",
        "nn.modules.sparse": "Embedding",
        "optim.adam": "Adam",
        "optim.adamw": "AdamW",
        "optim.sgd": "SGD",
    }.items()
    for name in names.split()
}


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
    if not where.startswith(f"{ours}."):
        return f"{where}.{name}"
    return f"torch.{_PLACES.get(name, f'{where.removeprefix(ours)[1:]}.{name}')}"


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
        name = names.get(id(module))
        if name is not None:
            return name
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
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys, problems = _IncompatibleKeys([], []), []
        self._load(dict(state_dict), "", assign, keys, problems)
        if strict:
            for sentence, names in (
                ("Unexpected key(s) in state_dict: {}. ", keys.unexpected_keys),
                ("Missing key(s) in state_dict: {}. ", keys.missing_keys),
            ):
                if names:
                    problems.insert(0, sentence.format(", ".join([f'"{name}"' for name in names])))
        if problems:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(self._get_name(), "\n\t".join(problems))
            )
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
            return [
                (
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                    f"object from checkpoint but received {type(given)}"
                )
            ]
        if not tensor.shape and given.shape == (1,):
            given = given[0]
        if given.shape != tensor.shape:
            return [
                (
                    f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                    f"current model is {tensor.shape}."
                )
            ]
        try:
            with no_grad():
                if not assign:
                    tensor.copy_(given)
                elif isinstance(tensor, Parameter) and not isinstance(given, Parameter):
                    setattr(self, name, Parameter(given, tensor.requires_grad))
                else:
                    setattr(self, name, given.requires_grad_(tensor.requires_grad))
        except Exception as problem:
            return [
                (
                    f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
                    f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {problem.args}."
                )
            ]
        return []


class BackwardHookFunction(Function):
    """Tensors as they are, with a node of their own."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        """All arguments."""
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """All gradients."""
        return args


class BackwardHook:
    """The hooks of one call of a module: `before` is given the outputs' gradients, `after` the inputs' as well."""

    places: Any  # the numbers of the arguments that are behind a node; None where there is no node
    kept: Any  # those of the outputs

    def __init__(self, module: Any, after: Iterable[Callable[..., Any]], before: Iterable[Callable[..., Any]]) -> None:
        self.module, self.after, self.before = module, list(after), list(before)
        self.grads: Any = None  # the outputs' gradients, from when they arrive to when the inputs' are known

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a node that calls the hooks with the gradients of both sides."""
        args, self.places, self.count = *_behind_a_node(args, self._on_inputs), len(args)
        return args

    def outputs(self, result: Any) -> Any:
        """The result, behind a node that takes note of its gradients."""
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
            )
        several = result if isinstance(result, tuple) else (result,)
        found, self.kept, self.results = *_behind_a_node(several, self._on_outputs), len(several)
        return found if isinstance(result, tuple) else found[0]

    def _on_outputs(self, _: Any, arrived: tuple[Any, ...]) -> Any:
        grads = _in_places(self.kept, arrived, self.results)
        for hook in self.before:
            changed = hook(self.module, grads)
            if changed is not None:
                if len(changed) != len(grads):
                    raise RuntimeError(
                        "Backward pre hook returned an invalid number of grad_output, got "
                        f"{len(changed)}, but expected {len(grads)}"
                    )
                grads = changed
        if self.places is None:  # no node around the inputs
            warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients. See "
                "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_full_backward_hook "
                "for more details."
            )
            for hook in self.after:
                changed = hook(self.module, (None,) * self.count, grads)
                if changed is not None and not (isinstance(changed, tuple) and all([c is None for c in changed])):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return "
                        "None or None for all gradients."
                    )
        else:
            self.grads = grads
        return tuple([grads[i] for i in self.kept])

    def _on_inputs(self, arrived: tuple[Any, ...], _: Any) -> Any:
        if self.grads is None:  # the gradient came round the outputs
            return None
        grads = _in_places(self.places, arrived, self.count)
        for hook in self.after:
            changed = hook(self.module, grads, self.grads)
            if changed is not None:
                if len(changed) != len(grads):
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(changed)}, "
                        f"but expected {len(grads)}"
                    )
                grads = changed
        self.grads = None
        return tuple([grads[i] for i in self.places])


def _in_places(places: list[int], values: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Values at their places among so many, None at the others."""
    found = dict(zip(places, values, strict=False))
    return tuple([found.get(i) for i in range(count)])


def _behind_a_node(args: tuple[Any, ...], seen: Callable[..., Any]) -> tuple[Any, list[int] | None]:
    """The arguments with their tensors behind one node that calls `seen`, and where they are; None without a node."""
    places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not is_grad_enabled() or not any([args[i].requires_grad for i in places]):
        return args, None
    behind = BackwardHookFunction.apply(*[args[i] for i in places])

    def hook(*grads: Any) -> Any:  # under the name that errors about it say
        return seen(*grads)

    next(t.grad_fn for t in behind if t.requires_grad).register_hook(hook)
    new = list(args)
    for i, t in zip(places, behind, strict=True):
        new[i] = t
    return tuple(new) if type(args) is tuple else type(args)(*new), places


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
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if args:
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        super().__init__()
        self.__dict__.update({kind: OrderedDict() for kind in _HOOKS})

    def forward(self, *args: Any) -> Any:
        """What the module computes; to be overridden."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and the hooks around it, in a scope of this module's name."""
        stack = scopes.local.stack
        entry, caller = stack.entry, stack.module
        stack.enter(name_within(caller, self), self, type(self).__name__)
        try:
            if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
        finally:
            stack.open -= 1
            if stack.open:
                stack.entry, stack.module = entry, caller
            else:
                stack.entry = stack.module = None
                scoped.pop(stack, None)

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
        """The arguments as a hook leaves them."""
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
            raise ValueError("training mode is expected to be boolean")
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
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
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


class _Row(Module):
    """Modules under the names "0", "1", …, as far as nobody gave them others."""

    def _name_at(self, index: Any) -> str:
        """The name of the module at a place, counted from the end if negative."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
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
        """Put a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def _insert(self, index: int, module: Module) -> None:
        for number in range(len(self), index, -1):
            self._modules[str(number)] = self._modules[str(number - 1)]
        self._modules[str(index)] = module
        changed()

    def extend(self, modules: Iterable[Any]) -> Self:
        """Put several modules at the end."""
        for module in tuple(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Take a module, or several, out of the row."""
        found = self[key]
        del self[key]
        return found


class Sequential(_Row):
    """Modules that are called one after the other, each with what the one before it returned."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def forward(self, input: Any) -> Any:
        """What the last module returns."""
        for module in self:
            input = module(input)
        return input

    def _part(self, items: list[tuple[str, Any]]) -> Self:
        return type(self)(OrderedDict(items))

    def insert(self, index: int, module: Module) -> Self:
        """Put a module at a place."""
        if not isinstance(module, Module):
            raise AssertionError("module should be of type: <class 'torch.nn.modules.module.Module'>")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + len(self) if index < 0 else index, module)
        return self


class ModuleList(_Row):
    """A list of modules; who holds it calls them."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _part(self, items: list[tuple[str, Any]]) -> Self:
        return type(self)([module for _, module in items])

    def insert(self, index: int, module: Module) -> None:
        """Put a module at a place."""
        self._insert(index, module)

    def extend(self, modules: Iterable[Any]) -> Self:
        """Put several modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        return super().extend(modules)

    __iadd__ = extend

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        """The modules, those that read alike in a row said once."""
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
