"""Trees of tensors: dicts, lists, tuples and named tuples in each other, and the leaves at their ends.

A function given to a transform may take and return trees; the transforms work on the leaves in order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .tensor import Size


class TreeSpec:
    """What is left of a tree when its leaves are taken away; `kind` is None for a single leaf."""

    __slots__ = ("kind", "facts", "parts", "leaves")

    def __init__(self, kind: type | None, facts: Any, parts: list[TreeSpec]) -> None:
        self.kind, self.facts, self.parts = kind, facts, parts
        self.leaves = 1 if kind is None else sum([part.leaves for part in parts])

    def __eq__(self, other: object) -> bool:
        mine = (self.kind, self.facts, self.parts)
        return isinstance(other, TreeSpec) and mine == (other.kind, other.facts, other.parts)

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.kind is None:
            return "*"
        apart = ",\n" + " " * (indent + 2)
        inner = apart.join([part._text(indent + 2) for part in self.parts])
        name, facts = self.kind.__name__, self.facts
        if _is_named(self.kind):
            name, facts = "namedtuple", self.kind
        return f"TreeSpec({name}, {facts}, [{inner}])"

    def pretty(self) -> str:
        """Return the tree with a star for every leaf."""
        return repr(tree_unflatten([_STAR] * self.leaves, self))


class _Star:
    def __repr__(self) -> str:
        return "*"


_STAR = _Star()
LEAF = TreeSpec(None, None, [])


def _is_named(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def tree_flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree from left to right, and its structure."""
    leaves: list[Any] = []
    return leaves, _take_apart(tree, leaves)


def _take_apart(tree: Any, leaves: list[Any]) -> TreeSpec:
    kind = type(tree)
    if kind in (dict, OrderedDict):
        return TreeSpec(kind, list(tree), [_take_apart(part, leaves) for part in tree.values()])
    if kind in (tuple, list, Size) or _is_named(kind):
        return TreeSpec(kind, None, [_take_apart(part, leaves) for part in tree])
    leaves.append(tree)
    return LEAF


def tree_unflatten(leaves: Iterable[Any], structure: TreeSpec) -> Any:
    """Return a tree of this structure with other leaves."""
    return _rebuild(iter(leaves), structure)


def _rebuild(leaves: Iterator[Any], structure: TreeSpec) -> Any:
    kind = structure.kind
    if kind is None:
        return next(leaves)
    parts = [_rebuild(leaves, part) for part in structure.parts]
    if structure.facts is not None:
        return kind(zip(structure.facts, parts, strict=True))
    return kind(*parts) if _is_named(kind) else kind(parts)


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the tree with `function` applied to its leaves."""
    leaves, structure = tree_flatten(tree)
    return tree_unflatten([function(leaf) for leaf in leaves], structure)


def broadcast_prefix(prefix: Any, structure: TreeSpec) -> list[Any] | None:
    """Return a leaf for every leaf of a structure; one of `prefix` may cover a whole subtree. None if it doesn't fit.

    This is how `in_dims=0` is said of a dict of tensors. A dict's parts meet by their keys; PyTorch 2.13 mixes them up
    where these are in another order.
    """
    kind = type(prefix)
    if kind not in (dict, OrderedDict, tuple, list, Size) and not _is_named(kind):
        return [prefix] * structure.leaves
    if kind is not structure.kind or len(prefix) != len(structure.parts):
        return None
    if structure.facts is not None:
        if set(prefix) != set(structure.facts):
            return None
        prefix = [prefix[key] for key in structure.facts]
    found: list[Any] = []
    for each, part in zip(prefix, structure.parts, strict=True):
        inner = broadcast_prefix(each, part)
        if inner is None:
            return None
        found += inner
    return found


def by_identity(values: Any, args: Any) -> dict[int, Any]:
    """Return the leaves of `args`, by the identity of the leaf of `values` in the same place."""
    return {id(value): arg for value, arg in zip(tree_flatten(values)[0], tree_flatten(args)[0], strict=True)}
