"""Objects distinguished by identity: a class may define equality as it likes, or refuse it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar
from weakref import ref

Fact = TypeVar("Fact")


class ByIdentity(Generic[Fact]):
    """By object a fact, kept until the object is gone; no code of the object's class is run."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[ref[Any], Fact]] = {}

    def __setitem__(self, key: Any, fact: Fact) -> None:
        held, number = self._held, id(key)

        def forget(gone: ref[Any]) -> None:
            """Forget an object that is gone: another one may have its number by now. At exit this file has no names."""
            if number in held and held[number][0] is gone:
                del held[number]

        held[number] = ref(key, forget), fact

    def __contains__(self, key: Any) -> bool:
        return id(key) in self._held

    def get(self, key: Any) -> Fact | None:
        """Return the fact stored for an object, if there is one."""
        held = self._held.get(id(key))
        return None if held is None else held[1]

    def setdefault(self, key: Any, fact: Fact) -> Fact:
        """Return the fact stored for an object; store this one if there is none."""
        if id(key) not in self._held:
            self[key] = fact
        return self._held[id(key)][1]

    def pop(self, key: Any) -> None:
        """Forget an object."""
        self._held.pop(id(key), None)

    def clear(self) -> None:
        """Forget all of them."""
        self._held.clear()

    def items(self) -> Iterator[tuple[Any, Fact]]:
        """Yield the objects that still exist, with their facts."""
        return iter([(key, fact) for own, fact in [*self._held.values()] if (key := own()) is not None])

    def values(self) -> list[Fact]:
        """Return the facts."""
        return [fact for _, fact in self.items()]


def named_parts(module: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a module and all modules in it with their paths, each once, as `named_modules` does.

    Modules are distinguished by identity, without running code of their classes, which may compare objects otherwise.
    """
    met: set[int] = set()
    todo: list[tuple[str, Any]] = [(path, module)]
    while todo:
        path, part = todo.pop()
        if part is None or id(part) in met:
            continue
        met.add(id(part))
        yield path, part
        held: Any = getattr(part, "__dict__", {}).get("_modules") or {}
        todo += [(f"{path}.{name}" if path else str(name), each) for name, each in held.items()][::-1]
