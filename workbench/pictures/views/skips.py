"""Skip connections: additions in a group of what is computed from a value, and of the value itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

_ADDS = ("add", "add_", "iadd")
_GATES = ("mul", "sub", "rsub", "lerp")  # a value that is weighted is no skip: a GRU's gates would be
_SHORT = 2  # operations on a skip, at most: a convolution and a norm that change its shape
_LONGER = 2  # this many more operations are on the other way
_MOST = 60  # operations that are looked at on each way


def skips_in(nodes: Sequence[str], operations: Mapping[str, str], inputs: Mapping[str, Collection[str]]) -> int:
    """Return how many of these nodes add a value to what others of them compute from it."""
    inside = set(nodes)
    plain = {id for id in nodes if operations.get(id) not in _GATES}
    added = [[*inputs.get(id, ())] for id in nodes if operations.get(id) in _ADDS]
    return sum(
        _leads_past(one, other, plain, inside, inputs) or _leads_past(other, one, plain, inside, inputs)
        for one, other in (each for each in added if len(each) == 2)
    )


def _leads_past(
    one: str, other: str, plain: Collection[str], inside: Collection[str], inputs: Mapping[str, Collection[str]]
) -> bool:
    """Return True if one of two values is nearly what the other is computed from."""
    near, far = _above(one, plain, inputs), _above(other, inside, inputs)
    return any(near[id] <= _SHORT and far[id] - near[id] >= _LONGER for id in near.keys() & far.keys())


def _above(start: str, inside: Collection[str], inputs: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Return all that a value is computed from in a group, and what enters it, with the operations between."""
    found, ready = {start: 0}, [start]
    for id in ready:
        if id in inside and len(found) < _MOST:
            new = [each for each in inputs.get(id, ()) if each not in found]
            found |= dict.fromkeys(new, found[id] + 1)
            ready += new
    return found
