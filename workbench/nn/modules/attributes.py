"""What a module holds: parameters, buffers and modules, each registered by being assigned to an attribute."""

from __future__ import annotations

from typing import Any

from ...absent import refusal
from ...autograd.tensor import Parameter, Tensor
from .. import refusals

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
            raise AttributeError(refusals.PARAMETER_TOO_EARLY)
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(refusals.PARAMETER_KIND.format(typename(param), name))
            if param.grad_fn:
                raise ValueError(refusals.PARAMETER_NON_LEAF.format(name))
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Hold a tensor that is no parameter; a persistent one is part of the state that is saved."""
        if "_buffers" not in self.__dict__:
            raise AttributeError(refusals.BUFFER_TOO_EARLY)
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(refusals.BUFFER_KIND.format(typename(tensor), name))
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Any) -> None:
        """Hold a module under a name, which becomes an attribute; None holds the place."""
        if module is not None and not isinstance(module, Held):
            raise TypeError(refusals.MODULE_KIND.format(typename(module)))
        if not isinstance(name, str):
            raise TypeError(refusals.NAME_KIND.format("module", typename(name)))
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(refusals.ATTRIBUTE_EXISTS.format(name))
        if "." in name:
            raise KeyError(refusals.MODULE_NAME_DOT.format(name))
        if not name:
            raise KeyError(refusals.NAME_EMPTY.format("module"))
        self._modules[name] = module
        changed()

    def register_module(self, name: str, module: Any) -> None:
        """The same as add_module."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: Any, held: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(refusals.NAME_KIND.format(kind, typename(name)))
        if "." in name:
            raise KeyError(refusals.NAME_DOT.format(kind))
        if not name:
            raise KeyError(refusals.NAME_EMPTY.format(kind))
        if hasattr(self, name) and name not in held:
            raise KeyError(refusals.ATTRIBUTE_EXISTS.format(name))

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
                raise AttributeError(refusals.PARAMETERS_TOO_EARLY)
            self._make_way(name, "_parameters")
            self.register_parameter(name, value)
        elif name in parameters:
            if value is not None:
                raise TypeError(refusals.AS_PARAMETER.format(typename(value), name))
            self.register_parameter(name, value)
        elif isinstance(value, Held):
            if "_modules" not in own:
                raise AttributeError(refusals.MODULE_TOO_EARLY)
            self._make_way(name, "_modules")
            self._modules[name] = value
        elif name in modules:
            if value is not None:
                raise TypeError(refusals.AS_MODULE.format(typename(value), name))
            self._modules[name] = value
            changed()
        elif name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(refusals.AS_BUFFER.format(typename(value), name))
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
        else:
            super().__setattr__(name, value)

    def _make_way(self, name: str, kind: str) -> None:
        """Let go what had a name, unless it is of the kind that shall have it."""
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
