"""The graph behind an error that nobody recorded, found from what the engine still has at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..events import tag
from .asking import maker_of
from .recorder import Recorder


class Finder(Recorder):
    """Puts down what was there when an error left the engine, and then the error."""

    _held: Sequence[Any] = ()  # what the user's variables hold

    def find(
        self,
        roots: Iterable[Any],
        tensors: Iterable[Any],
        named: Iterable[tuple[str, Any]],
        failure: tuple[int | None, str, str],
    ) -> None:
        """The graph behind `roots` and `tensors`, names of variables, and (the failing node's tag, type, words)."""
        named = list(named)
        self._held = [tensor for _, tensor in named]
        found: dict[int, tuple[Any, ...]] = {}
        for root in roots:
            self._place(root, found)
        for tensor in tensors:
            if (maker := maker_of(tensor)) is not None:
                self._place(maker, found)
            self._describe(tensor, found)
        for tensor in self._held:
            maker = maker_of(tensor)
            if tag(tensor) in self._tensors and (maker is None or tag(maker) in self._nodes):
                self._describe(tensor, found)
        self._raw.append(("found", tuple(found.values())))
        self._learn(named)
        node, *words = failure
        self._raw.append(("failed", None, node if node in self._nodes or node in self._tensors else None, *words))

    def _saved(self, node: Any, tensors: list[Any], found: dict[int, Any]) -> tuple[Any, ...]:
        """A node keeps the array of its own output, which the user may hold as a tensor."""
        items = [getattr(thing, "_array", thing) for _, thing, _ in node.saved_items()]
        for tensor in self._held:
            if any(tensor._array is item for item in items):
                self._describe(tensor, found)
                tensors = [*tensors, tensor]
        return super()._saved(node, tensors, found)


def number_of(node: Any) -> int:
    """The number under which a node stands in records: of a leaf's AccumulateGrad, the leaf's."""
    return tag(getattr(node, "variable", node))
