"""Modules and parameters by name, and lists of parameters (torch.nn.modules.container)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...autograd.tensor import Parameter, Tensor
from .module import OUT_OF_RANGE, Module
from .naming import changed
from .tree import framed

__all__ = ["ModuleDict", "ParameterDict", "ParameterList"]

DICT_KIND = "{}.update should be called with an iterable of key/value pairs, but got {}"
PAIR_KIND = "{} update sequence element #{} should be Iterable; is{}"
PAIR_SIZE = "{} update sequence element #{} has length {}; 2 is required"
KEY_KIND = (
    "Index given to ParameterDict cannot be used as a key as it is not a string (type is '{}'). Open an issue on "
    "github if you need non-string keys."
)
LIST_KIND = "ParameterList.extend should be called with an iterable, but got {}"


def _pairs(name: str, given: Any) -> Iterator[tuple[Any, Any]]:
    """Return keys and values of a mapping, or of a sequence of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(DICT_KIND.format(name, type(given).__name__))
    if isinstance(given, Mapping) or hasattr(given, "keys"):
        yield from given.items()  # type: ignore[union-attr]
        return
    name = name.replace("sD", "D")
    for at, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(PAIR_KIND.format(name, at, type(pair).__name__))
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(PAIR_SIZE.format(name, at, len(pair)))  # type: ignore[arg-type]
        yield tuple(pair)  # type: ignore[misc]


class ModuleDict(Module):
    """A dict whose modules are registered with the model, so that `parameters()` finds their parameters.

    The dict has no `forward`: the model's own `forward` calls the modules.

    Args:
        modules: The first entries: a dict of modules by name, or an iterable of pairs (name, module).
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]
        changed()

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()
        changed()

    def pop(self, key: str) -> Any:
        """Remove the module of the name `key`, and return it."""
        found = self[key]
        del self[key]
        return found

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names with their modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules, which replace those of the same names."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


class ParameterList(Module):
    """A list whose parameters are registered with the module, so that `parameters()` finds them.

    Tensors that you add become parameters.

    Args:
        values: The first elements of the list.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_at(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise IndexError(OUT_OF_RANGE.format(index))
        return str(index + len(self) if index < 0 else index)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(*idx.indices(len(self))))
        return getattr(self, self._name_at(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._name_at(idx), _parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def append(self, value: Any) -> ParameterList:
        """Add the parameter `value` at the end; a tensor becomes a parameter. Return the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add the parameters `values` at the end; tensors become parameters. Return the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(LIST_KIND.format(type(values).__name__))
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")

    def __repr__(self) -> str:
        return framed(
            self._get_name(),
            [f"  ({at}): {_entry_text(value, lambda t: str(t.dtype))}" for at, value in enumerate(self)],
        )


class ParameterDict(Module):
    """A dict whose parameters are registered with the module, so that `parameters()` finds them.

    Tensors that you add become parameters.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._key(key)
        self._keys[key] = None
        setattr(self, name, _parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def _key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(KEY_KIND.format(type(key).__name__))
        return key

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def get(self, key: str, default: Any = None) -> Any:
        """Return the parameter of the name `key`, or `default` if there is none."""
        return self[key] if key in self else default

    def pop(self, key: str) -> Any:
        """Remove the parameter of the name `key`, and return it."""
        found = self[key]
        del self[key]
        return found

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names with their parameters."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the parameters."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add parameters, which replace those of the same names."""
        for key, value in _pairs("ParametersDict", parameters):
            self[key] = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __repr__(self) -> str:
        return framed(
            self._get_name(), [f"  ({key}): {_entry_text(value, Tensor.type)}" for key, value in self.items()]
        )


def _parameter(value: Any) -> Any:
    """Return a tensor as a parameter, and anything else as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _entry_text(value: Any, kind_of: Callable[[Tensor], Any]) -> str:
    """Return the text of an entry for printing."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{kind_of(value)} of size {'x'.join(map(str, value.shape))}]"
