"""In a crowded row, what one line computed is one item, and so are small things between large ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .expressions import cut_in_sentence
from .items import Item

_CROWDED = 12  # nodes: of more of them those of one line stand in one box
_SMALL = 4  # nodes of what may be part of a line or a run; what has more of them stands for itself
_RUN = 3  # small things in a row that may stand as one box
_BESIDE = 6  # things in a row, of which a run may be one


def gather(item: Item) -> None:
    """In a crowded row, what one line computed becomes one item, and so do small things between large ones."""
    for each in item.items:
        if each.kind:
            gather(each)
    if item.kind in ("graph", "part", "scope", "call", "round") and len(item.nodes()) > _CROWDED:
        item.items = _lines(item.items)
        item.items = _runs(item.items)


def _lines(items: list[Item]) -> list[Item]:
    """A row with several things that one line computed as one item, if none of them is a large module."""
    row: list[Item] = []
    for at, several in groupby(items, key=_line_of):
        run = list(several)
        line = run[0].nodes()[0].line.strip()
        if at is None or not line or len(run) == 1 or len(run) == len(items) or not _are_joined(run):
            row += run
            continue
        modules = [each.called for each in run if each.scope]
        title, text = (f"{modules[0]} … {modules[-1]}", "") if len(modules) > 1 else (cut_in_sentence(line), line)
        row.append(Item("line", title, ("line", at, len(row)), items=run, text=text))
    return row


def _line_of(item: Item) -> tuple[str, int] | None:
    """The line that computed all of an item; None if it was several, or the item is a large module."""
    nodes = item.nodes()
    lines = {node.at for node in nodes}
    is_large = len(nodes) > (_SMALL if item.kind == "scope" else 2 * _SMALL)
    return lines.pop() if len(lines) == 1 and ("", 0) not in lines and not is_large and not item.turn else None


def _are_joined(items: Sequence[Item]) -> bool:
    """Whether what these compute is one thing: in `mu, logvar = f(h), g(h)` nothing goes from one to the other.

    What a backward recorded is: it is joined by gradients that have no node.
    """
    if any([node.ran for item in items for node in item.nodes()]):
        return True
    pieces: list[tuple[set[str], set[str]]] = []  # nodes, and what they use
    for item in items:
        nodes = item.nodes()
        made, used = {node.node for node in nodes}, {each for node in nodes for each in node.used}
        for piece in [piece for piece in pieces if piece[0] & used or piece[1] & made]:
            pieces.remove(piece)
            made, used = made | piece[0], used | piece[1]
        pieces.append((made, used))
    return len(pieces) == 1


def _runs(items: list[Item]) -> list[Item]:
    """A row with the small things between large ones as one item: `conv1 … maxpool`."""

    def is_small(item: Item) -> bool:
        return item.kind in ("", "scope", "expression") and len(item.nodes()) <= _SMALL and not item.turn

    if len(items) < _BESIDE or all(map(is_small, items)):
        return items
    row: list[Item] = []
    for small, several in groupby(items, key=is_small):
        for run in _chains(list(several)) if small else [list(several)]:
            names = [each.title if each.called.isdigit() else each.called for each in run if each.scope]
            if not small or len(run) < _RUN or not names:
                row += run
                continue
            title = f"{names[0]} … {names[-1]}" if len(names) > 1 else f"{names[0]} and {len(run) - 1} more"
            row.append(Item("run", title, ("run", len(row)), items=run))
    return row


def _chains(items: list[Item]) -> list[list[Item]]:
    """A row in pieces, in each of which every item goes on from the one before."""
    pieces: list[list[Item]] = []
    before: set[str] = set()  # the nodes of the last item
    for item in items:
        nodes = item.nodes()
        if pieces and any(not before.isdisjoint(node.used) for node in nodes):
            pieces[-1].append(item)
        else:
            pieces.append([item])
        before = {node.node for node in nodes}
    return pieces
