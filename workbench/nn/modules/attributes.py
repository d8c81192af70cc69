"""The attributes of a module: parameters, buffers, modules and others."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...autograd.tensor import Parameter, Tensor
from ...compat.absent import refusal
from .naming import changed, typename

_HELD = ("_parameters", "_buffers", "_modules")


class Held:
    """An object that sorts its attributes into parameters, buffers, modules and others."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self) -> None:
        self.__dict__.update(training=True, _non_persistent_buffers_set=set(), **{kind: {} for kind in _HELD})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add the parameter `param` as the attribute `name`; if `param` is None, so is the attribute."""
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
        """Add a tensor that isn't trained as the attribute `name`.

        Args:
            name: The name of the attribute.
            tensor: The tensor, or None.
            persistent: If True, `state_dict()` contains the tensor.
        """
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
        """Add a module, which becomes the attribute `name`; with None, the attribute is None."""
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
        """Add the module `module` as the attribute `name`: another name of `add_module`."""
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
        """Remove an attribute of this name unless it has the kind to be set."""
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
