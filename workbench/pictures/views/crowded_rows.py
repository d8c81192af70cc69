"""In a crowded row, what one line computed is one item, and so are small things between large ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from ..scene.metric import GROUP_TITLE_COLUMNS, columns
from ..trace.source import parsed
from .expressions import cut_in_sentence
from .groups import Group
from .items import Item

_CROWDED = 12  # nodes: with more of them, those of one line share one box
_SMALL = 4  # nodes of what may be part of a line or a run; what has more of them stands for itself
_RUN = 3  # small things in a row that may stand as one box
_BESIDE = 6  # things in a row, of which a run may be one
_TARGET = re.compile(r"[\w.]+ = ")
_BACKWARD = re.compile(r"\.backward\(.*\)$")


def gather(item: Item) -> None:
    """Combine what one line computed into one item in a crowded row, and small things between large ones too."""
    for each in item.items:
        if each.kind:
            gather(each)
    if item.kind in ("graph", "part", "scope", "call", "round") and len(item.nodes()) > _CROWDED:
        item.items = _lines(item, len(item.nodes()) // 2)
        item.items = _runs(item.items, bool(item.scope))


def _lines(around: Item, most: int) -> list[Item]:
    """Return a row with one item for what one line computed: small things, or those around a module of `most` nodes.

    A line with several modules is named after them. Outside a module, the variable is added unless the words are short.
    """
    row: list[Item] = []
    for (at, _), several in groupby(around.items, key=lambda each: (_line_of(each), _ran(each))):
        run = list(several)
        large = [each for each in run if _is_large(each)]
        is_around = len(large) == 1 and large[0].kind == "scope" and len(large[0].nodes()) <= most
        pieces = [run] if is_around else [list(piece) for _, piece in groupby(run, key=_is_large)]
        for piece in pieces:
            # What is left of a line has its words if that computes its result.
            is_line = at is not None and piece[-1] is run[-1] and 1 < len(piece) < len(around.items)
            is_line = is_line and (is_around or piece[0] not in large) and _are_joined(piece)
            line = _line(piece, at, len(row), bool(around.scope)) if is_line else None
            row += piece if line is None else [line]
    return row


def _line(items: list[Item], at: tuple[str, int] | int | None, place: int, in_module: bool) -> Item | None:
    """Return what one line computed as one item, with its words; None if they aren't known."""
    line = next((node.line for each in items for node in each.nodes() if node.at == at), "")
    line = line or next((each.line or each.text for each in reversed(items) if each.kind == "call"), "")
    line = _BACKWARD.sub("", line) if _is_statement(line) else ""
    modules = list(dict.fromkeys(each.called for each in items if each.scope))
    title, text = cut_in_sentence(line), line
    if len(modules) > 1 and (in_module or columns(line) > GROUP_TITLE_COLUMNS):
        target = None if in_module else _TARGET.match(line)
        title, text = f"{target[0] if target else ''}{modules[0]} … {modules[-1]}", ""
    inner = frozenset([(call, each.called) for each in items if each.held and (call := _call(line, each.held))])
    return Item("line", title, ("line", at, place), items=items, text=text, inner=inner) if title else None


@lru_cache(10_000)
def _is_statement(line: str) -> bool:
    """Return True if a line of the program is a whole statement or the head of one, not a part of a longer one."""
    return parsed(line) is not None or (line.endswith(":") and parsed(f"{line} pass") is not None)


def _call(line: str, held: str) -> str:
    """Return the text of a module's call in a line: `self.body(x[0])`."""
    _, found, after = line.partition(f"{held}(")
    depth = len(found[-1:])
    for end, character in enumerate(after, 1):
        depth += (character in "([{") - (character in ")]}")
        if not depth:
            return found + after[:end]
    return ""


def is_around_module(line: Group) -> bool:
    """Return True if a line has a module in it that would be shown separately."""
    modules = [item for item in line.items if isinstance(item, Group) and item.kind == "scope"]
    return line.kind == "line" and any(map(_is_large, modules))


def _is_large(item: Item | Group) -> bool:
    return len(item.nodes()) > (_SMALL if item.kind == "scope" else 2 * _SMALL)


def _line_of(item: Item) -> tuple[str, int] | int | None:
    """Return the line that computed all of an item, or called it; None if there were several."""
    lines = {item.at} if item.at is not None else {node.at for node in item.nodes()}
    return lines.pop() if len(lines) == 1 and not item.turn else None


def _ran(item: Item) -> bool:
    """Return True if a backward pass recorded it: in `grad(score.sum(), x)`, all but the sum."""
    return any([node.ran for node in item.nodes()])


def _are_joined(items: Sequence[Item]) -> bool:
    """Return True if what these compute is one thing: in `mu, logvar = f(h), g(h)` nothing connects them.

    What a backward pass recorded is: it is connected by gradients without a node.
    """
    if _ran(items[0]):
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


def _runs(items: list[Item], in_module: bool) -> list[Item]:
    """Return a row in which the small things between large ones are one item: `conv1 … maxpool`.

    Outside of a module only modules are such things: the last of others is the loss.
    """

    def is_small(item: Item) -> bool:
        return item.kind in ("", "scope", "expression") and len(item.nodes()) <= _SMALL and not item.turn

    def is_part(item: Item) -> bool:
        return is_small(item) and (in_module or item.kind == "scope")

    if len(items) < _BESIDE or all(map(is_small, items)):
        return items
    row: list[Item] = []
    for small, several in groupby(items, key=is_part):
        for run in _chains(list(several)) if small else [list(several)]:
            names = [each.title if each.called.isdigit() else each.called for each in run if each.scope]
            if not small or len(run) < _RUN or not names:
                row += run
                continue
            title = f"{names[0]} … {names[-1]}" if len(names) > 1 else f"{names[0]} and {len(run) - 1} more"
            row.append(Item("run", title, ("run", len(row)), items=run))
    return row


def _chains(items: list[Item]) -> list[list[Item]]:
    """Return a row in pieces, in each of which every item continues from the one before."""
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
