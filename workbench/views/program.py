"""The nodes of a graph as the program made them: loops, rounds, scopes, calls and expressions inside each other.

Neighbours in order of creation that were made in the same part of the program stand in one group: a module that is
called twice is two groups, and no arrow goes back from a later group to an earlier one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ..trace.backward import BackwardFinished, BackwardStarted
from ..trace.building import NodeCreated
from ..trace.facts import Part, Record
from .grouping import MOST, RAN, Group, divided, repetitions

_TIMES = 4  # what repeats so often is told by its first and its last
_LONG, _LONGEST = 16, 40  # characters of an expression: of longer ones the inner ones are left out; at most
_NUMBERED = {"scope": " call", "call": " call"}


@dataclass(slots=True)
class _Item:
    """A part of the program with what was made in it, or (without a kind) a node."""

    kind: str
    title: str
    key: object = None
    number: int = 0
    node: str = ""
    items: list[_Item] = field(default_factory=list)
    text: str = ""  # of an expression or a call, in full
    scope: str = ""  # its name; of several inside each other the names joined by "/"
    which: str = ""  # ", 2nd call" of those at one place with the same title
    symbol: int = 0  # equal for what repeats: the same structure, with the same titles but for digits


def program_tree(events: Iterable[Record]) -> Group:
    """All nodes of a trace in groups of the parts of the program that made them; `titles` has the words for each node.

    A group around one thing is that thing. What repeats is its first, one group for those between, and its last.
    """
    whole = _made(events)
    _shorten(whole)
    items = [each for item in whole.items for each in _simplified(item)]
    while len(items) == 1 and items[0].kind == "call":  # the program's own beginning
        items = items[0].items
    whole.items = items
    _mark(whole, {})
    titles: dict[str, str] = {}
    root = _grouped(whole, "", titles)
    assert isinstance(root, Group)
    root.titles = titles
    for number, group in enumerate(root.groups(), 1):
        group.id = f"g{number}"
        for item in group.items:
            if isinstance(item, Group):
                item.parent = group
    return root


def _made(events: Iterable[Record]) -> _Item:
    """All nodes in the parts that they were made in."""
    whole = _Item("graph", "graph")
    running = 0
    for event in events:
        if not isinstance(event, NodeCreated):
            running += isinstance(event, BackwardStarted) - isinstance(event, BackwardFinished)
            continue
        at = whole
        for part in event.path or _from_scope(event, running > 0):
            last = at.items[-1] if at.items else None
            if last is None or last.key != part.key:
                last = _Item(part.kind, part.title, part.key, part.number)
                last.scope = part.title if part.kind == "scope" else ""
                last.text = part.title if part.kind in ("expression", "call") else ""
                at.items.append(last)
            at = last
        at.items.append(_Item("", event.name, node=event.node))
    return whole


def _from_scope(event: NodeCreated, running: bool) -> list[Part]:
    """Parts for a node of which no more than its scope is known."""
    names = [RAN] if running and not event.found else []
    names += event.scope.split("/") if event.scope else []
    return [Part("scope", "/".join(names[: at + 1]), name) for at, name in enumerate(names)]  # type: ignore[arg-type]


# The words.


def _shorten(item: _Item) -> None:
    """In long expressions leave out those inside that have a box of their own; one that calls a scope has its name."""
    own = frozenset([pair for each in item.items for pair in _own(each)])
    for each in item.items:
        _shorten(each)
        if each.text:
            each.title = _without(each.text, own) if len(each.text) > _LONG else each.text
            if len(each.title) > _LONGEST:
                each.title = f"{each.title[: _LONGEST - 1]}…"


def _own(item: _Item) -> list[tuple[str, str]]:
    """The text of an expression or a call, and what stands for it in others; of a scope the text that called it."""
    inner = item
    while inner.kind == "scope":
        inner = inner.items[0]
    return [(inner.text, item.scope or "…")] if inner.text else []


@lru_cache(10_000)
def _without(text: str, own: frozenset[tuple[str, str]]) -> str:
    """An expression with what stands for them in place of the expressions inside it that are among these."""
    inner = dict(own)
    if "\\" in text:  # what is no escape sequence would be warned of
        return text
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    source = text.encode()
    cuts: list[tuple[int, int, str]] = []
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.expr) and node.end_col_offset is not None:
            begin, end = node.col_offset, node.end_col_offset
            told = source[begin:end].decode(errors="replace")
            if told != text and told in inner:
                cuts.append((begin, end, inner[told]))
                continue
        todo += ast.iter_child_nodes(node)
    for begin, end, words in sorted(cuts, reverse=True):
        source = source[:begin] + words.encode() + source[end:]
    return re.sub(r"(?<![\w)\]])\(…\)", "…", source.decode(errors="replace"))


# What is one thing.


def _simplified(item: _Item) -> list[_Item]:
    """The item without groups of one thing in it, or what it is the only one around; nothing, if it has no words."""
    if not item.kind:
        return [item]
    item.items = [each for inner in item.items for each in _simplified(inner)]
    if item.kind == "loop":
        return _loop(item)
    if item.kind == "expression" and not item.title:  # without a source
        return item.items
    if len(item.items) > 1 or item.kind == "round":
        return [item]
    only = item.items[0]
    if item.kind == "scope":
        only.title = f"{item.title} › {only.title}" if only.scope else item.title
        only.scope = f"{item.scope}/{only.scope}" if only.scope else item.scope
        only.kind = only.kind and "scope"
    elif item.kind in ("expression", "call") and only.kind in ("", "expression", "call"):
        only.title, only.text = item.title, item.text
    return [only]


def _loop(loop: _Item) -> list[_Item]:
    """A loop and its rounds; one with a single round is what happened in that."""
    if len(loop.items) == 1:
        loop.items = loop.items[0].items
        loop.title = loop.title or "loop"
        return [loop] if len(loop.items) > 1 else loop.items
    for at, turn in enumerate(loop.items):
        if len(turn.items) == 1:
            only = turn.items[0]
            only.title = f"{turn.title}: {only.title}"
            only.kind, only.number = only.kind and "round", turn.number
            loop.items[at] = only
    loop.title = f"{loop.title or 'loop'} × {len(loop.items):,}"
    return [loop]


def _mark(item: _Item, symbols: dict[object, int]) -> None:
    """Give the item and all in it their symbols, and number those at one place that have the same words."""
    for each in item.items:
        _mark(each, symbols)
    words = re.sub(r"\d+(,\d{3})*", "#", item.title) if item.kind != "loop" else ""
    symbol = item.kind, words, *[each.symbol for each in item.items]
    item.symbol = symbols.setdefault(symbol, len(symbols))
    seen: Counter[str] = Counter()
    for each in item.items:
        seen[each.title] += 1
        if seen[each.title] > 1:
            each.which = f", {_ordinal(seen[each.title])}{_NUMBERED.get(each.kind, '')}"


def _ordinal(number: int) -> str:
    """2nd, 3rd, 4th …"""
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return f"{number:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


# Groups.


def _grouped(item: _Item, around: str, titles: dict[str, str]) -> str | Group:
    """An item as a group, what repeats in it as the first, those between and the last, and long rows divided."""
    title = item.title + item.which
    if not item.kind:
        titles[item.node] = title
        return item.node
    path = f"{around}/{item.scope}".strip("/") if item.scope else around
    inner = [_grouped(each, path, titles) for each in item.items]
    rounds = item.kind == "loop" and bool(item.items[0].number)
    names = [path + item.which, path] if item.scope else [item.text + item.which, item.text] if item.text else []
    row = _row(item.items, inner, rounds)
    names = list(dict.fromkeys([*names, title]))
    return Group(title, row, tuple(names), kind=item.kind, number=item.number, symbol=item.symbol)


def _row(items: Sequence[_Item], groups: list[str | Group], rounds: bool) -> list[str | Group]:
    """A row in which what repeats stands as the first, those between, and the last."""
    row: list[str | Group] = []
    at = 0
    for start, period, times in repetitions([item.symbol for item in items], _TIMES, _TIMES):
        row += groups[at:start]
        at = start + period * times
        between = groups[start + period : at - period]
        words = _between(items[start + period : at - period], period, rounds)
        row += groups[start : start + period]
        row.append(Group(f"⋮ {words}", _stretches(between, rounds, start + period), (words,), kind="more"))
        row += groups[at - period : at]
    row += groups[at:]
    return _stretches(row, rounds, 0) if rounds else divided(row)


def _between(items: Sequence[_Item], period: int, rounds: bool) -> str:
    """How many there are between the first and the last of what repeats, and which."""
    count = len(items) // period
    if rounds:
        return f"{len(items):,} more rounds ({items[0].number:,} to {items[-1].number:,})"
    first, last = items[0].title, items[-1].title
    if period == 1 and first != last and items[0].kind:
        return f"{count:,} more ({first} to {last})"
    return f"{count:,} more{' of these ' + str(period) if period > 1 else ''}"


def _stretches(row: list[str | Group], rounds: bool, before: int) -> list[str | Group]:
    """A row that is not too long, or groups of ten, a hundred … of it."""
    if len(row) <= MOST:
        return row
    each = 10
    while len(row) > each * MOST:
        each *= 10
    parts: list[str | Group] = []
    for start in range(0, len(row), each):
        part = row[start : start + each]
        first, last = before + start + 1, before + start + len(part)
        title = f"{'rounds' if rounds else 'items'} {first:,} to {last:,}"
        inner = _stretches(part, rounds, before + start)
        parts += [Group(title, inner, (title,), kind="stretch")] if len(part) > 1 else part
    return parts
