"""Each node in the part of the program that made it: the program's tree as its events tell it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..trace.call_records import OperationRan
from ..trace.records import BackwardFinished, BackwardStarted, Failed, NodeCreated, TensorsFound
from ..trace.schema import Part, Record, SourceLine
from ..trace.source import scope_title
from .items import Item
from .lanes import Lanes
from .titles import entitled
from .unrecorded import found_expressions

RAN = "recorded while a backward ran"
_LAYER = re.compile(r"^(\d+) › .*")  # the class of a layer that has only a number


def placed(events: Iterable[Record], lanes: Lanes | None) -> Item:
    """All nodes in the parts that they were made in."""
    events = list(events)
    found = found_expressions(events)
    owned = _parameters(events)
    whole = Item("graph", "graph")
    homes: dict[str, Item] = {} if lanes is None else _homes(events, lanes, whole)
    there: set[str] = set()
    going: list[str] = []  # backwards
    before = known = 0  # the last part that there was when the outermost of them began, and that there is
    for event in events:
        if isinstance(event, BackwardStarted):
            before = before if going else known
            going.append(event.task)
        elif going and isinstance(event, BackwardFinished | Failed) and event.task in going:
            going.remove(event.task)
        if isinstance(event, OperationRan) and event.op in homes:
            homes[event.op].items.append(_without_node(event))
        if not isinstance(event, NodeCreated) or event.node in there:  # it is told again of what was there before
            continue
        there.add(event.node)
        home = at = homes.get(event.node, whole)
        ran, outermost = bool(going) and not event.found, True
        for part in event.path or _from_scope(event, bool(going)):
            if event.pushing is not None and part.kind == "expression":  # its words are those of what is pushed
                continue
            last = at.items[-1] if at.items else None
            if last is None or last.key != part.key:
                last = Item(part.kind, part.title, part.key, part.number)
                if part.kind == "scope":
                    _describe(last, part)
                last.text = part.title if part.kind in ("expression", "call") else ""
                if ran and part.kind == "expression":
                    last.kind = "call"
                known = max(known, part.key) if event.path else known
                if ran and (part.title == RAN if not event.path else last.text and part.key > before):
                    last.framed = 1 if outermost else 2  # a part inside has its own words if it is one
                at.items.append(last)
            outermost = outermost and not last.framed
            at = last
        while at is home or at.kind in ("loop", "round", "call"):
            inner = at.items[-1] if at.items else at
            if not event.found or event.path or event.scope or inner.kind not in ("loop", "round", "call"):
                break
            at = inner  # one that was there before stands where it is first seen
        at.framed = 1 if event.runs is not None else at.framed
        name = event.name.removesuffix("Backward0")
        item = Item("", event.name, node=event.node, name=name, operation=event.operation, variable=_variable(event))
        item.leaves = len({edge.target for edge in event.edges if edge.target is not None} - there)
        item.found = found.get(event.node, "")
        used = {edge.target for edge in event.edges} | {arg.tensor for arg in event.args}
        item.parameters = len(owned & used)
        item.ran = ran
        item.used = frozenset([edge.target for edge in event.edges if edge.target in there])
        _note_line(item, event.source)
        at.items.append(item)
    whole.items += {id(home): home for home in homes.values() if home is not whole}.values()
    return whole


def _homes(events: Sequence[Record], lanes: Lanes, whole: Item) -> dict[str, Item]:
    """The part of the picture, or the `whole`, that each node stands in, and each operation without one."""
    parts: dict[str, Item] = {}
    homes: dict[str, Item] = {}
    for id, part in lanes.places(events).items():
        if part is not None and part.id not in parts:
            title = part.title.partition(" while ")[0]  # a box has less room than a frame
            parts[part.id] = Item("part", title, part.id, part=part)
        homes[id] = whole if part is None else parts[part.id]
    return homes


def _without_node(event: OperationRan) -> Item:
    item = Item("", event.name, node=event.op, name=event.name, operation=event.name)
    _note_line(item, event.source)
    return item


def _note_line(item: Item, source: SourceLine | None) -> None:
    """Note the line of the program that computed it."""
    if source is not None:
        item.line, item.at = source.text, (source.file, source.line)


def _parameters(events: Iterable[Record]) -> set[str | None]:
    """The parameters and buffers of modules: their names have a dot, `fc.weight`."""
    building = (event for event in events if isinstance(event, NodeCreated | TensorsFound))
    return {each.id for event in building for each in event.tensors if each.node is None and "." in (each.name or "")}


def _describe(item: Item, part: Part) -> None:
    """Give a scope its words: of a module the variable or attribute that holds it comes first, then its class."""
    item.scope, item.settings = _LAYER.sub(r"\1", part.title), part.settings
    # A module that is called where it is made, as in `nn.Linear(2, 2)(x)`, is held by nothing.
    held = "" if part.variable.rpartition(".")[2] in (part.module, part.title) else part.variable
    item.held, item.called = held, held.removeprefix("self.") or item.scope.replace("/", ".")
    item.module = part.module or (part.title if held else "")
    item.title = part.title if item.called == item.scope and not item.module else entitled(item.called, item.module)


def _variable(event: NodeCreated) -> str:
    """The variable that holds the only output of a node."""
    made = [seen.name for seen in event.tensors if seen.node == event.node]
    return made[0] or "" if len(made) == 1 and event.output_count == 1 else ""


def _from_scope(event: NodeCreated, running: bool) -> list[Part]:
    """Parts for a node of which no more than its scope is known."""
    names = [RAN] if running and not event.found else []
    names += event.scope.split("/") if event.scope else []
    told = [*names[:-1], scope_title(names[-1], event.module)] if event.scope else names
    return [Part("scope", "/".join(names[: at + 1]), title) for at, title in enumerate(told)]  # type: ignore[arg-type]
