"""Which arguments a transform is about, and how they come to its level and leave it."""

from __future__ import annotations

from typing import Any

from ..autograd.levels import Level, lift, value_below
from ..autograd.pytree import tree_flatten, tree_map, tree_unflatten
from ..autograd.tensor import Tensor
from . import messages


def chosen_arguments(args: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
    """The positions that `argnums` names, negative ones counted from the end; RuntimeError for what are none."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(messages.ARGNUMS_KIND.format(type(argnums)))
    count = len(args)
    places = []
    for n in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(n, int):
            raise RuntimeError(messages.ARGNUM_KIND.format(type(n)))
        if not -count <= n < count:
            raise RuntimeError(messages.ARGNUM_RANGE.format(n, count))
        places.append(n % count)
    if not places:
        raise RuntimeError(messages.ARGNUMS_EMPTY)
    if len(set(places)) < len(places):
        raise RuntimeError(messages.ARGNUMS_TWICE.format(tuple(places)))
    return tuple(places)


def lifted(tree: Any, level: Level) -> Any:
    """A tree whose tensors were lifted to a level."""
    return tree_map(lambda leaf: lift(leaf, level) if isinstance(leaf, Tensor) else leaf, tree)


def lowered(tree: Any, level: Level) -> Any:
    """A tree of tensors as they are one level below; RuntimeError for anything else in it."""
    leaves, structure = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(messages.OUTPUT_KIND.format(type(leaf)))
    return tree_unflatten([value_below(leaf, level) for leaf in leaves], structure)


def with_aux(returned: Any, name: str) -> tuple[Any, Any]:
    """What a function returned that has auxiliary output as well; RuntimeError if it has none."""
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise RuntimeError(messages.AUX.format(name))
    return returned


def check_output(leaves: list[Any], name: str) -> None:
    """RuntimeError unless a function returned tensors, and at least one."""
    if not leaves or leaves == [None]:
        raise RuntimeError(messages.NOTHING.format(name, leaves))
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(messages.ONLY_TENSORS.format(name, type(leaf)))
