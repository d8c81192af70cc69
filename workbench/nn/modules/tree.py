"""A module as the tree of everything it contains: walks over it, and its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...autograd.tensor import Parameter, Tensor
from .attributes import Held


class Parts(Held):
    """A module as the tree of everything it contains."""

    def children(self) -> Iterator[Any]:
        """Return the modules directly inside this module."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Return the modules directly inside this module, with their names; each module comes once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Return this module and all modules in it, each only once unless `remove_duplicate` is False."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Return this module and all modules in it, with paths such as "layers.0".

        Args:
            memo: A set of modules to leave out. The modules that are returned are added to it.
            prefix: The path of this module, with which all paths begin.
            remove_duplicate: If True, a module that occurs several times is returned only once.
        """
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
        """Return the parameters of this module and, if `recurse`, of all modules in it."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Return each parameter with its path, such as "layers.0.weight".

        Args:
            prefix: The path of this module, with which all paths begin.
            recurse: If False, return only the parameters of this module, without those of the modules in it.
            remove_duplicate: If True, a shared parameter is returned under its first path only.
        """
        yield from self._named_tensors("_parameters", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Return the buffers of this module and, if `recurse`, of all modules in it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Return each buffer with its path.

        Args:
            prefix: The path of this module, with which all paths begin.
            recurse: If False, return only the buffers of this module, without those of the modules in it.
            remove_duplicate: If True, a shared buffer is returned under its first path only.
        """
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
        """Return what `print` shows of this module, besides the modules inside it; a subclass overrides this."""
        return ""

    def __repr__(self) -> str:
        said = self.extra_repr()
        lines = said.split("\n") if said else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({said})"
        return framed(self._get_name(), lines + [f"({name}): {module!r}" for name, module in self._modules.items()])


def framed(name: str, lines: list[str]) -> str:
    """Return a module's text, with what it contains indented between parentheses."""
    inner = "".join(["\n  " + line.replace("\n", "\n  ") for line in lines])
    return f"{name}({inner}\n)" if lines else f"{name}()"
