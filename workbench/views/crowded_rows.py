"""In a crowded row, what one line computed is one item, and so are small things between large ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from ..scene.labels import GROUP_TITLE_COLUMNS, columns
from .expressions import cut_in_sentence
from .items import Item
from .titles import own_texts

_CROWDED = 12  # nodes: of more of them those of one line stand in one box
_SMALL = 4  # nodes of what may be part of a line or a run; what has more of them stands for itself
_RUN = 3  # small things in a row that may stand as one box
_BESIDE = 6  # things in a row, of which a run may be one
_TARGET = re.compile(r"[\w.]+ = ")


def gather(item: Item) -> None:
    """In a crowded row, what one line computed becomes one item, and so do small things between large ones."""
    for each in item.items:
        if each.kind:
            gather(each)
    if item.kind in ("graph", "part", "scope", "call", "round") and len(item.nodes()) > _CROWDED:
        item.items = _lines(item, len(item.nodes()) // 2)
        item.items = _runs(item.items)


def _lines(around: Item, most: int) -> list[Item]:
    """A row with several things that one line computed as one item: small ones, or around one module of `most` nodes.

    A line of several modules has their names, and outside of a module the variable too, unless its words are short.
    """
    row: list[Item] = []
    for at, several in groupby(around.items, key=_line_of):
        run = list(several)
        large = [each for each in run if _is_large(each)]
        is_around = len(large) == 1 and large[0].kind == "scope" and len(large[0].nodes()) <= most
        pieces = [run] if is_around else [list(piece) for _, piece in groupby(run, key=_is_large)]
        for piece in pieces:
            is_line = at and 1 < len(piece) < len(around.items) and (is_around or piece[0] not in large)
            line = _line(piece, at, len(row), bool(around.scope)) if is_line and _are_joined(piece) else None
            row += piece if line is None else [line]
    return row


def _line(items: list[Item], at: int, place: int, in_module: bool) -> Item | None:
    """What one line computed as one item, with its words; None if they are not known."""
    own = sorted(items, key=lambda each: each.kind in ("scope", "call"))  # what these compute others may have written
    line = next((node.line for each in own for node in each.nodes() if node.at[1] == at), "").strip()
    line = line or next((each.text for each in reversed(items) if each.kind == "call"), "")
    modules = list(dict.fromkeys(each.called for each in items if each.scope))
    title, text = cut_in_sentence(line), line
    if len(modules) > 1 and (in_module or columns(line) > GROUP_TITLE_COLUMNS):
        target = None if in_module else _TARGET.match(line)
        title, text = f"{target[0] if target else ''}{modules[0]} … {modules[-1]}", ""
    key, inner = ("line", at, place), own_texts([each for each in items if each.scope])
    return Item("line", title, key, items=items, text=text, inner=inner) if title else None


def _is_large(item: Item) -> bool:
    return len(item.nodes()) > (_SMALL if item.kind == "scope" else 2 * _SMALL)


def _line_of(item: Item) -> int:
    """The number of the line that computed all of an item, or called it; 0 if there were several."""
    lines = {item.at} if item.at[1] else {node.at for node in item.nodes()}
    return lines.pop()[1] if len(lines) == 1 and not item.turn else 0


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
