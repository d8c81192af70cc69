"""Modules in a row (torch.nn.modules.container)."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Self

from .. import messages
from .module import Module, changed, framed


class _Row(Module):
    """Modules under the names "0", "1", …, as far as nobody gave them others."""

    def _name_at(self, index: Any) -> str:
        """The name of the module at a place, counted from the end if negative."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(messages.INDEX_RANGE.format(index))
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
            raise AssertionError(messages.INSERT_KIND)
        if not -len(self) <= index <= len(self):
            raise IndexError(messages.INSERT_RANGE.format(index))
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
            raise TypeError(messages.EXTEND_KIND.format(type(modules).__name__))
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
