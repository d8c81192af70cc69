"""A program's tree of groups: nodes grouped as the program made them.

One box may be a scope, a loop, its iterations, a call, an expression, repetitions, or stretches of a long row. Nodes
that were made one after the other in the same part of the program are in one group: a module that is called twice is
two groups, and no arrow goes back from a later group to an earlier one. A part of the picture that a function transform
adds is the outermost group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ..scene.model import WITHIN
from ..trace.assignments import function_of
from ..trace.forward_records import NodeCreated
from ..trace.listing import calls_many
from ..trace.schema import Record
from .crowded_rows import gather
from .expressions import cut_in_sentence
from .groups import Group, Program, divided, repetitions, stretches
from .items import Item
from .lanes import Lanes
from .placement import placed
from .titles import (
    function_title,
    is_function,
    join_words,
    names_of,
    shorten,
    tell_apart,
    title_of,
    variables_of,
    words_of,
)
from .written import transforms, tree_of

_FEW = 20  # things in a frame that need no group
_LEAVES = 12  # that one node takes; with more of them it is a group
_ROUNDS = 5  # from this many on, repeats are shown as the first and the last
_FOLDED = 8  # nodes between the first and the last of what repeats that are worth a group
_PLACES = 4  # that a sentence has for a node
_RESHAPING = {"t", "view", "reshape", "unsafe_view", "transpose", "expand", "clone", "permute", "as_strided"}
_CHECKPOINT = "checkpoint"  # which runs a module again in backward
_DIGITS = re.compile(r"\d+(,\d{3})*")
_NUMBERED = {"scope": " call", "call": " call"}


@dataclass(slots=True)
class _Called:
    """What sentences may call nodes, by their ids, and groups, by the identity of their items."""

    words: dict[str | int, list[str]] = field(default_factory=dict)  # the shortest first
    scopes: dict[str, int] = field(default_factory=dict)  # node -> the innermost scope that it lies in
    groups: list[tuple[Group, int]] = field(default_factory=list)

    def give(self, root: Program) -> None:
        """Give nodes and groups the shortest words that nothing else has; nodes also the place that captions tell."""
        names = names_of(self.words)
        for group, item in self.groups:
            group.told = names[item]
        for node, scope in self.scopes.items():
            root.told_as[node] = name = names[node]
            own = self.words[node][0]
            place = "" if name == own else name.removeprefix(f"{own} in ")
            root.where[node] = place or names.get(scope, "")


def program_tree(events: Iterable[Record], lanes: Lanes | None = None) -> Program:
    """Return all nodes of a trace, grouped by the parts of the program that made them; `titles` has each node's words.

    With `lanes` there are operations without a node too, and the parts that transforms add to the picture. A group
    around one thing is that thing, unless it also holds very many leaves, or the parameters of a module. Repetitions
    are the first one, one group for those between, and the last one. An expression that several nodes compute is a
    group; if a backward pass recorded them, only if they are many. In a crowded row, each line of the program is one
    group.
    """
    events = [*events]
    whole, own = placed(events, lanes), _Own(events)
    tell_apart(whole)
    shorten(whole)
    own.give(whole)
    items = [each for item in whole.items for each in _simplified(item)]
    while len(items) == 1 and items[0].kind == "call":  # the program's own beginning
        items = items[0].items
    whole.items = items
    gather(whole)
    _mark(whole, {})
    root = Program("graph", [])
    called = _Called()
    root.items = _grouped(whole, "", root, [], called).items
    root.node_names = {id: own.classes[id] + which for id, which in root.node_names.items()}
    called.give(root)
    for number, group in enumerate(root.groups(), 1):
        group.id = f"g{number}"
        for item in group.items:
            if isinstance(item, Group):
                item.parent, item.part = group, item.part or group.part
    if lanes is not None:  # at several levels one expression has several nodes
        root.titles = own.functions | lanes.titles
        titles = {id: [title if title == own.classes.get(id) else f"`{title}`"] for id, title in root.titles.items()}
        root.told_as, root.where = names_of(titles), {}
    return root


class _Own:
    """What no expression of the user's computed has words of its own: those of its operation, or none.

    An expression that calls a module tells nothing of what the module does by itself: only where this is all that the
    module does, and takes several operations, do its words become the module's.
    """

    def __init__(self, events: Iterable[Record]) -> None:
        self.classes: dict[str, str] = {}  # of nodes
        self.functions: dict[str, str] = {}  # what nodes are called by their operations
        self._held: dict[str, str] = {}  # found nodes -> the variables of their results, which are seen later
        self._calls: set[object] = set()  # the parts that are calls of modules
        known: dict[tuple[str, bool], str] = {}
        for event in events:
            if not isinstance(event, NodeCreated):
                continue
            if event.found and event.output_count == 1:
                self._held[event.node] = ""
            for seen in event.tensors if self._held else ():
                if seen.node is not None and seen.node in self._held and seen.name:
                    self._held[seen.node] = seen.name
            kind = event.name, event.custom
            if kind not in known:
                known[kind] = function_title(event.name, event.operation)
            self.classes[event.node], self.functions[event.node] = event.name, known[kind]
            for part in event.path:
                if part.module and part.kind == "expression":
                    self._calls.add(part.key)

    def give(self, item: Item) -> None:
        """Give all nodes in an item that have no other words those of their operations."""
        for each in item.items:
            if not each.kind:
                if each.node in self.functions and each.title == self.classes[each.node]:
                    each.title = self.functions[each.node]
                    each.variable = each.variable or self._held.get(each.node, "")
                continue
            self.give(each)
            if each.key not in self._calls or item.kind != "scope":
                continue
            is_all = len(item.items) == 1
            if not is_all or (len(each.items) == 1 and each.items[0].parameters):  # the box around has its words
                each.text = each.title = ""
                for node in each.nodes():
                    node.at = None  # which is the program's line, not the module's


def _simplified(item: Item, calls: tuple[str, ...] = ()) -> list[Item]:
    """Return the item without groups of one thing, or else what replaces it: its contents.

    `calls` holds the beginnings of the calls of the modules around it: `net(`.
    """
    if not item.kind:
        return [item]
    calls = (*calls, f"{item.held}(") if item.held else calls
    # From the inside out: how many things lie in an item is known when each of them is simple.
    items: list[Item] = []
    for inner in item.items:
        items += _simplified(inner, calls)
    item.items = items
    if item.kind == "scope":
        _tell_apart_calls(items)
    if item.aside:
        return [item]
    if item.kind == "loop":
        return _loop(item)
    if _is_needless(item):
        return items
    # A round stays, whatever is in it: its loop counts them, and then gives its number to the only thing in it.
    if len(items) > 1 or item.kind == "round":
        return [item]
    return [_of_one(item, calls)]


def _tell_apart_calls(items: Sequence[Item]) -> None:
    """Clear the text of modules that share one: it is that of the call that led to all of them."""
    texts = Counter(item.text for item in items if item.scope)
    for item in items:
        if item.scope and texts[item.text] > 1:
            item.text = ""


def _is_needless(item: Item) -> bool:
    """Return True if a box around its contents would say nothing, or has a frame in the picture already."""
    if item.kind in ("expression", "call"):
        if not item.title or transforms(tree_of(item.text)):  # without a source; or all that a transform does
            return True
    return 0 < item.framed <= len(item.items) <= _FEW


def _of_one(item: Item, calls: tuple[str, ...]) -> Item:
    """Return what an item with one thing in it becomes: that thing in the item's words, or the item if it says more."""
    only = item.items[0]
    if item.kind == "part":  # its frame has the transform's words, never those of its contents
        item.items = only.items if only.kind else item.items
        return item if only.kind else only
    if item.kind == "expression" and only.leaves > _LEAVES:  # closed, it hides them
        return item
    if item.kind == "scope" and not only.kind and only.parameters:  # a module of one operation, with what it holds
        # Its box has the words of the module's call: on the node they would be told twice.
        only.text = "" if only.text.startswith(calls) else only.text
        return item
    if item.kind == "scope":
        only.at = item.at if only.kind else only.at
        join_words(item, only)
        only.scope = f"{item.scope}/{only.scope}" if only.scope else item.scope
        only.kind = "scope" if only.kind == "call" else only.kind
    elif item.kind == "call" and only.scope and function_of(item.text) == _CHECKPOINT:
        only.title = f"{_CHECKPOINT}{WITHIN}{only.title}"
    elif item.kind in ("expression", "call") and only.kind in ("", "expression", "call"):
        _give_words(item, only, calls)
    return only


def _give_words(item: Item, only: Item, calls: tuple[str, ...]) -> None:
    """Give the words of an expression or a call to the only thing that it computes."""
    if only.text and calls_many(item.text):  # that of all calls together is not the words of one
        return
    only.text, only.inner = item.text, item.inner
    if not item.text.startswith(calls):  # the module's own call tells less than what is computed in it
        only.title = item.title


def _loop(loop: Item) -> list[Item]:
    """Return a loop and its iterations; a loop of one is its contents, in a group only if its line is known."""
    if len(loop.items) == 1:
        loop.items = loop.items[0].items
        return [loop] if len(loop.items) > 1 and loop.title else loop.items
    for at, turn in enumerate(loop.items):
        if len(turn.items) == 1:
            only = turn.items[0]
            only.turn, only.number = turn.title, turn.number
            only.kind = only.kind if only.kind in ("", "expression") else "round"
            loop.items[at] = only
    loop.title, loop.rounds = loop.title or "loop", len(loop.items)
    return [loop]


def _mark(item: Item, symbols: dict[object, int]) -> None:
    """Give the item and all in it their symbols, and number those at one place that have the same words."""
    for each in item.items:
        if each.kind:
            _mark(each, symbols)
        else:
            each.symbol = symbols.setdefault(("", _undigited(each.title)), len(symbols))
    words = _DIGITS.sub("#", item.title) if item.kind != "loop" else ""
    symbol = item.kind, words, *[each.symbol for each in item.items]
    item.symbol = symbols.setdefault(symbol, len(symbols))
    seen: dict[str, int] = {}
    for each in item.items if len(item.items) > 1 else ():
        if each.turn or (each.variable and is_function(each)):  # which its variable tells apart
            continue
        seen[each.title] = seen.get(each.title, 0) + 1
        if seen[each.title] > 1:
            kind = "scope" if each.kind and each.scope else each.kind
            each.which = f", {_ordinal(seen[each.title])}{_NUMBERED.get(kind, '')}"


@lru_cache(10_000)
def _undigited(title: str) -> str:
    return _DIGITS.sub("#", title)


def _ordinal(number: int) -> str:
    """2nd, 3rd, 4th …"""
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return f"{number:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def _grouped(item: Item, around: str, root: Program, places: Sequence[str], called: _Called, scope: int = 0) -> Group:
    """Return an item as a group: repeats as the first, those between and the last, and long rows divided.

    It lies in the scope `around`, which is the item `scope`, and in groups that sentences tell of as `places`, the
    innermost first.
    """
    path = f"{around}/{item.scope}".strip("/") if item.scope else around
    own = item.title + item.which
    names = [own]
    if item.scope:
        names = [path + item.which, path, *names, item.scope]
    elif item.text:
        names = [item.text + item.which, item.text, *names]
    elif item.part is not None:
        names = [*names, item.part.title]
    if item.kind == "expression" or item.line:
        item.variable = variables_of(item)
    elif item.kind == "scope" and len(item.items) == 1:  # one operation, with the parameters
        item.variable = item.items[0].variable
    title = title_of(item)
    told = words_of(item, title, places)
    if item.kind not in ("graph", "loop", "line", "run"):
        places = [told[0], *([item.turn] if item.turn else ()), *places][:_PLACES]
    inner: list[str | Group] = []
    scope = id(item) if item.scope else scope
    for each in item.items:
        if each.kind:
            inner.append(_grouped(each, path, root, places, called, scope))
        else:
            is_found = each.found and not each.scope and not each.turn
            if is_found:
                root.node_names[each.node] = each.which
            root.titles[each.node] = each.found if is_found else title_of(each)
            called.words[each.node], called.scopes[each.node] = words_of(each, root.titles[each.node], places), scope
            inner.append(each.node)
    row = _row(item.items, inner, item.kind == "loop" and bool(item.items[0].number))
    group = Group(title, row, kind=item.kind, number=item.number, symbol=item.symbol, part=item.part)
    group.rounds, group.aside = item.rounds, item.aside
    group.names = tuple(dict.fromkeys([*names, title]))
    called.words[id(item)] = told
    called.groups.append((group, id(item)))
    if item.scope:
        group.scope = path
        group.single = all(not each.kind for each in item.items) and _computes_once(item.items)
        group.layer = not _holds_modules(item) and len({node.at for node in item.nodes()}) == 1
    return group


def _holds_modules(item: Item) -> bool:
    return any([bool(each.scope) or _holds_modules(each) for each in item.items])


def _computes_once(nodes: Sequence[Item]) -> bool:
    return sum(node.operation.removeprefix("_") not in _RESHAPING for node in nodes) == 1


def _row(items: Sequence[Item], groups: list[str | Group], rounds: bool) -> list[str | Group]:
    """Return a row in which repeats are shown as the first, those between, and the last."""
    row: list[str | Group] = []
    at = 0
    repeated = repetitions([item.symbol for item in items], _ROUNDS, _ROUNDS) if len(items) >= _ROUNDS else []
    for start, period, times in repeated:
        row += groups[at:start]
        at = start + period * times
        between = groups[start + period : at - period]
        if sum(1 if isinstance(each, str) else len(each.nodes()) for each in between) < _FOLDED:
            row += groups[start:at]
            continue
        words = _between(items[start + period : at - period], period, rounds)
        row += groups[start : start + period]
        inner = stretches(between, rounds, start + period)
        row.append(Group(words, inner, (words,), kind="more", told=words))
        row += groups[at - period : at]
    row += groups[at:]
    return stretches(row, rounds, 0) if rounds else divided(row)


def _between(items: Sequence[Item], period: int, rounds: bool) -> str:
    """Return how many there are between the first and the last of what repeats, and which."""
    count = len(items) // period
    if rounds:
        return f"{len(items):,} more iterations ({items[0].number:,} to {items[-1].number:,})"
    first, again, last = items[0], items[-period], items[-1]
    if first.title != again.title and (first.kind or first.scope):  # layers
        one, _, kind = first.title.partition(" › ")
        begin = one if kind and last.title.endswith(f" › {kind}") else first.title  # the class is named once
        return f"{count:,} more ({begin} to {last.title})"
    several = items[:period]
    words = [each.title if each.kind or each.text or each.scope else each.operation for each in several]
    return f"{count:,} more of {cut_in_sentence(', '.join(dict.fromkeys(words)))}"
