"""Each node in the part of the program that made it: the program's tree from its events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..trace.backward_records import BackwardFinished, BackwardStarted, Failed, NodeFinished, NodeStarted
from ..trace.facts import Part, SourceLine
from ..trace.forward_records import NodeCreated, OperationRan, TensorsFound
from ..trace.paths import scope_title
from ..trace.schema import Record
from ..trace.source import without_comment
from .items import Item
from .lanes import Lanes
from .titles import entitled
from .unrecorded import found_expressions

_RAN = "recorded during a backward pass"
_LAYER = re.compile(r"^(\d+) › .*")  # the class of a layer that has only a number


def placed(events: Iterable[Record], lanes: Lanes | None) -> Item:
    """Return all nodes in the parts that they were made in."""
    events = list(events)
    whole = Item("graph", "graph")
    homes = {} if lanes is None else _homes(events, lanes, whole)
    placing = _Placing(whole, homes, found_expressions(events), _parameters(events))
    for event in events:
        placing.running.note(event)
        if isinstance(event, NodeCreated):
            placing.add(event)
        elif isinstance(event, OperationRan) and event.op in homes:
            homes[event.op].items.append(_without_node(event))
    whole.items += {id(home): home for home in homes.values() if home is not whole}.values()
    return whole


@dataclass(slots=True)
class _Running:
    """The backwards that run, and which parts of the program they ran through themselves: those with larger keys."""

    tasks: list[str] = field(default_factory=list)
    custom: set[str] = field(default_factory=set)  # nodes of Functions of the user's
    function: NodeStarted | None = None  # of such a node, whose backward makes no graph of its gradients
    graphs: set[str] = field(default_factory=set)  # backwards that make a graph of the gradients
    before: int = 0  # the last part that there was when the outermost backward began
    known: int = 0  # the last part that there is

    def note(self, event: Record) -> None:
        """Begin or end a backward pass."""
        if isinstance(event, BackwardStarted):
            self.before = self.before if self.tasks else self.known
            self.graphs |= {event.task} if event.create_graph else set()
            self.tasks.append(event.task)
        elif isinstance(event, NodeCreated) and event.custom:
            self.custom.add(event.node)
        elif isinstance(event, NodeStarted) and self.function is None:
            is_plain = event.node in self.custom and not self.graphs & {*self.tasks}
            self.function = event if is_plain else None
        elif isinstance(event, NodeFinished | Failed) and self.function is not None:
            self.function = None if event.node == self.function.node else self.function
        if self.tasks and isinstance(event, BackwardFinished | Failed) and event.task in self.tasks:
            self.tasks.remove(event.task)


@dataclass(slots=True)
class _Placing:
    """A program's tree while it grows, node by node."""

    whole: Item
    homes: dict[str, Item]  # by node or operation, the region it is in if function transforms add to the picture
    found: dict[str, str]  # by node, what is known of its expression
    owned: set[str | None]  # the parameters of modules
    there: set[str] = field(default_factory=set)  # nodes
    names: dict[str, str] = field(default_factory=dict)  # and theirs
    running: _Running = field(default_factory=_Running)

    def add(self, event: NodeCreated) -> None:
        """Put a node into the part that made it, where it is first shown."""
        if event.node in self.there:
            return
        self.there.add(event.node)
        self.names[event.node] = event.name
        home = self.homes.get(event.node, self.whole)
        is_placeless = event.found and not event.path and not event.scope
        part = _going_on(home) if is_placeless else self._part_of(event, home)
        if event.runs is not None:  # CopySlices: a frame is drawn around it and the node that it runs
            part.framed = 1
        part.items.append(self._node(event))

    def _part_of(self, event: NodeCreated, home: Item) -> Item:
        """Return the innermost part that made a node: the existing item if the part continues, else a new one."""
        at, outermost = home, True
        if self.running.function is not None and not event.found:
            at = self._of_function(home, self.running.function.node)
        for part in event.path or _from_scope(event, bool(self.running.tasks)):
            if event.pushing is not None and part.kind == "expression":  # its words are those of what is pushed
                continue
            last = at.items[-1] if at.items else None
            if last is None or last.key != part.key:
                last = self._begun(event, part, outermost)
                at.items.append(last)
            outermost = outermost and not last.framed
            at = last
        return at

    def _of_function(self, home: Item, node: str) -> Item:
        """Return the part that the backward of a Function makes a graph in, which isn't that of its gradients."""
        last = home.items[-1] if home.items else None
        if last is None or last.key != node:
            title = f"inside {self.names.get(node, 'Function')}"
            last = Item("call", title, node, aside=True)
            home.items.append(last)
        return last

    def _begun(self, event: NodeCreated, part: Part, outermost: bool) -> Item:
        """Return a part that begins with a node; `outermost` says that no part around it has a frame."""
        item = Item(part.kind, part.title, part.key)
        if part.kind in ("scope", "call"):
            item.at = part.number or None
        elif part.kind == "round":
            item.number = part.number
        if part.kind == "scope":
            _describe(item, part)
        item.text = part.title if part.kind in ("expression", "call") else ""
        item.line = (part.variable or "") if part.kind == "call" else ""
        if event.path:
            self.running.known = max(self.running.known, part.key)
        if self._ran(event):
            own = item.text and part.key > self.running.before if event.path else part.title == _RAN
            item.framed = (1 if outermost else 2) if own else 0  # a part inside has its own words if it is one
            item.kind = "call" if part.kind == "expression" else part.kind
        return item

    def _ran(self, event: NodeCreated) -> bool:
        """Return True if a backward pass recorded the node."""
        return bool(self.running.tasks) and not event.found and self.running.function is None

    def _node(self, event: NodeCreated) -> Item:
        name = event.name.removesuffix("Backward0")
        item = Item("", event.name, node=event.node, name=name, operation=event.operation, variable=_variable(event))
        takes = {edge.target for edge in event.edges}
        item.leaves = len(takes - self.there - {None})
        item.used = frozenset([each for each in takes if each in self.there])
        item.parameters = len(self.owned & (takes | {arg.tensor for arg in event.args}))
        item.found, item.ran = self.found.get(event.node, ""), self._ran(event)
        _note_line(item, event.source)
        for part in event.path:  # a layer of this package may have expressions of its own in that of the user
            if part.kind == "expression" and part.number:
                item.at, item.line = part.number, part.variable or item.line
        return item


def _going_on(home: Item) -> Item:
    """Return the innermost loop, iteration or call, where things made before are first seen."""
    at = home
    while at.items and at.items[-1].kind in ("loop", "round", "call"):
        at = at.items[-1]
    return at


def _homes(events: Sequence[Record], lanes: Lanes, whole: Item) -> dict[str, Item]:
    """Return the part of the picture, or the `whole`, that holds each node, and each operation without one."""
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
        item.line, item.at = without_comment(source.text).strip(), (source.file, source.line)


def _parameters(events: Iterable[Record]) -> set[str | None]:
    """Return the parameters and buffers of modules: their names have a dot, `fc.weight`."""
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
    """Return the variable that holds the only output of a node."""
    made = [seen.name for seen in event.tensors if seen.node == event.node]
    return made[0] or "" if len(made) == 1 and event.output_count == 1 else ""


def _from_scope(event: NodeCreated, running: bool) -> list[Part]:
    """Parts for a node of which no more than its scope is known."""
    names = [_RAN] if running and not event.found else []
    names += event.scope.split("/") if event.scope else []
    titles = [*names[:-1], scope_title(names[-1], event.module)] if event.scope else names
    return [Part("scope", "/".join(names[: at + 1]), title) for at, title in enumerate(titles)]  # type: ignore[arg-type]
