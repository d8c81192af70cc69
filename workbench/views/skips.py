"""Skip connections: additions in a group of what is computed from a value, and of the value itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

_ADDS = ("add", "add_", "iadd")
_SHORT = 2  # operations on a skip, at most: a convolution and a norm that change its shape
_LONGER = 2  # this many more operations are on the other way
_MOST = 60  # operations that are looked at on each way


def skips_in(nodes: Sequence[str], operations: Mapping[str, str], inputs: Mapping[str, Collection[str]]) -> int:
    """Return how many of these nodes add a value to what others of them compute from it."""
    inside = set(nodes)
    return sum(_is_skip([*inputs.get(id, ())], inside, inputs) for id in nodes if operations.get(id) in _ADDS)


def _is_skip(added: Sequence[str], inside: Collection[str], inputs: Mapping[str, Collection[str]]) -> bool:
    if len(added) != 2:
        return False
    one, other = (_above(each, inside, inputs) for each in added)
    both = one.keys() & other.keys()
    return any(min(one[id], other[id]) <= _SHORT and abs(one[id] - other[id]) >= _LONGER for id in both)


def _above(start: str, inside: Collection[str], inputs: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Return all that a value is computed from in a group, and what enters it, with the operations between."""
    found, ready = {start: 0}, [start]
    for id in ready:
        if id in inside and len(found) < _MOST:
            new = [each for each in inputs.get(id, ()) if each not in found]
            found |= dict.fromkeys(new, found[id] + 1)
            ready += new
    return found
