"""Siblings in program order: the inputs of one box as its arguments are, and the users of one as they were made.

Graphviz knows no such order and swaps what crosses no arrow. Where its answer has siblings of a row the wrong way
round, it is asked again, with invisible edges from left to right. They are kept only if no more arrows cross for them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from .dot import Question
from .engines import Placed, placed
from .geometry import Point

Pair = tuple[int, int]  # two numbered nodes in one row: the left one, and the right one

_MOST_NODES = 24  # the order in larger parts is not read, and arrows that lead past each other count for more
_MOST_EDGES = 60  # the same
_ASIDE = 2.0  # how much further the arrows of a part may lead sideways for the order in it, all together


def in_program_order(asked: Question) -> Placed:
    """Return Graphviz's answer with siblings in program order, as far as that makes no arrows cross.

    Errors: LayoutUnavailable.
    """
    best = placed(asked.dot)
    if len(best.nodes) > _MOST_NODES or len(asked.ends) > _MOST_EDGES:
        return best
    one = {n for n, id in enumerate(asked.inside) if id in asked.blocks and not asked.blocks[id].closed}
    arguments, pairs = _pairs(asked.ends, best.nodes, one)
    wrong = _wrong(pairs, best.nodes)
    if not wrong:
        return best
    crossing, aside = _crossings(best), _aside(asked.ends, best.nodes) * _ASIDE
    # All that is wanted, or else only the order of arguments, or only what is wrong.
    for wanted in dict.fromkeys((tuple(pairs), tuple(arguments), tuple(wrong))):
        found = placed(_with_order(asked.dot, wanted)) if wanted else best
        left = _wrong(_pairs(asked.ends, found.nodes, one)[1], found.nodes)
        crossed = _crossings(found)
        near = _aside(asked.ends, found.nodes) <= aside
        if near and crossed <= crossing and len(left) < len(wrong):
            best, crossing, wrong = found, crossed, left
        if not wrong:
            break
    return best


def _pairs(ends: Sequence[Pair], nodes: Sequence[Point], one: Collection[int]) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs of a row that are inputs of one node, left one first, and all pairs of siblings.

    The inputs of the nodes that are `one` operation each are in the order of its arguments. Others are in the order in
    which they were made, which is that of their numbers.
    """
    into: dict[int, dict[int, None]] = {}
    out: dict[int, dict[int, None]] = {}
    for start, to in ends:
        into.setdefault(to, {})[start] = None
        out.setdefault(start, {})[to] = None
    arguments: dict[Pair, None] = {}
    for to, inputs in into.items():
        _add_row(arguments, [*inputs] if to in one else sorted(inputs), nodes)
    found = dict(arguments)
    for users in out.values():
        _add_row(found, sorted(users), nodes)
    return [*arguments], [*found]


def _add_row(found: dict[Pair, None], ordered: Sequence[int], nodes: Sequence[Point]) -> None:
    """Add the pairs of these nodes that are in one row; a pair that is there the other way round stays."""
    for left, right in combinations(ordered, 2):
        if abs(nodes[left][1] - nodes[right][1]) < 1 and (right, left) not in found:
            found[left, right] = None


def _wrong(pairs: Sequence[Pair], nodes: Sequence[Point]) -> list[Pair]:
    return [(left, right) for left, right in pairs if nodes[left][0] > nodes[right][0]]


def _with_order(dot: str, pairs: Sequence[Pair]) -> str:
    """Return the text with an invisible edge for each pair that doesn't follow from two others."""
    known = set(pairs)
    beyond = {(left, far) for left, middle in pairs for near, far in pairs if middle == near}
    lines = "".join(
        f"{{rank=same; {left} -> {right} [style=invis]}}\n" for left, right in pairs if (left, right) in known - beyond
    )
    return f"{dot[:-1]}{lines}}}"


def _aside(ends: Sequence[Pair], nodes: Sequence[Point]) -> float:
    """Return how far all arrows lead sideways."""
    return sum(abs(nodes[start][0] - nodes[to][0]) for start, to in ends)


def _crossings(found: Placed) -> int:
    """Return how many arrows cross if all are straight: from and to the very place where a value leaves or enters."""
    ends = [(points[0], points[-1]) for points in found.edges]
    return sum(_cross(*one, *other) for one, other in combinations(ends, 2))


def _cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0


def _side(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
