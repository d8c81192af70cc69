"""A graph with its groups: what a box lies in, one box in place of a group that is closed, and how both are told: what
happens inside a closed group is one step.

`Links` knows who uses each tensor and where that is, a `Tally` how much a group holds and keeps for backward, and a
`Bundle` what goes along the edges that one arrow stands for, however many they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..scene.labels import GROUP_COLUMNS, TEXT_COLUMNS, columns
from ..scene.layout import LayoutUnavailable
from ..scene.model import Arrow, ArrowTone, Box, BoxState, Detail, Scene, Step, with_changes
from ..scene.storyboard import Storyboard
from ..trace.call_records import OperationRan, TangentPushed, above
from ..trace.frame import EdgeState, Frame, NodeState
from ..trace.records import COMPILED, NodeCreated, NodeFinished, NodeStarted, TensorWritten
from ..trace.schema import Phase, Record, TensorSeen
from ..trace.timeline import Timeline, phase_of
from ..trace.values import Value, said, series
from .graph import Graph, arrived, built, rows_of
from .groups import MOST, TANGENT, Group, Lanes, Program, wholes
from .memory import bytes_said, kept_of
from .messages import NO_GROUP
from .opening import Part, fitted, in_order
from .player_steps import (
    NOTHING,
    Effort,
    caption_of,
    changed_fields,
    cursor_at,
    opening_stop,
    place_of_stop,
    point_out,
    some,
    tell,
)

# What groups hold.

_APART = 12  # so many named tensors at most stand outside of all groups; more of them stand where they are used
_SHARED = 4  # a tensor that is used in more places has a box beside each that refers to it
FREED = ": freed"  # behind what was kept
_ROWS = 4  # parameters of a module that its box tells one by one


@dataclass(slots=True)
class TensorRow:
    """Several tensors of one list or one variable, which are used inside of groups: one box that they come from."""

    name: str
    items: list[TensorSeen] = field(default_factory=list)

    @property
    def box(self) -> Box:
        """What is told of them all."""
        kinds = list(dict.fromkeys(seen.value.kind for seen in self.items))
        names = list(dict.fromkeys(seen.name or "" for seen in self.items))
        title = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        lines = (f"{len(self.items):,} tensors", kinds[0] if len(kinds) == 1 else "of several shapes")
        return Box(f"row.{self.name}", "constant", title, lines)

    def arrow(self, item: str, at: str) -> Arrow:
        """The way from it to the box `at` in which one of them stands."""
        return Arrow(f"row.{self.name}>{item}", f"row.{self.name}", at, "constant")


class Links:
    """What is known of a graph before it is told: who uses each tensor that stands for itself, and where that is."""

    def __init__(self, events: Iterable[Record], whole: Program, lanes: Lanes | None = None) -> None:
        self.groups = {group.id: group for group in whole.groups()}
        self.group_of: dict[str, Group] = {}  # node -> the innermost group it lies in
        for group in (whole, *self.groups.values()):
            for item in group.items:
                if isinstance(item, str):
                    self.group_of[item] = group
        self.users: dict[str, list[str]] = {}  # node or tensor -> the nodes that use it
        events = list(events)
        known = {seen.id: seen for event in events for seen in getattr(event, "tensors", ())}
        names = {id: seen.name for id, seen in known.items()}
        free = {seen.id for event in events for seen in getattr(event, "tensors", ()) if seen.node is None}
        at = wholes(known.values())
        self._titles = whole.titles
        self._operations: dict[str, str] = {}
        for event in events:
            if isinstance(event, NodeCreated | OperationRan):
                own = event.node if isinstance(event, NodeCreated) else event.op
                self._operations[own] = event.operation if isinstance(event, NodeCreated) else event.name
            if isinstance(event, NodeCreated):
                used = [edge.target for edge in event.edges if edge.target is not None]
                if lanes is None:
                    given = [arg.tensor for arg in event.args if arg.tensor is not None]
                    used += [at.get(id, id) for id in given if id in free]
                else:
                    used += [lanes.place(arg.tensor) for arg in event.args if arg.tensor is not None]
                self._used(event.node, used)
            elif isinstance(event, OperationRan) and lanes is not None and event.op in self.group_of:
                self._used(event.op, [lanes.place(arg.tensor) for arg in event.args if arg.tensor is not None])
        self.homes: dict[str, Group] = {}  # tensor -> the innermost group that all its users lie in
        self._references: dict[tuple[str, str], str] = {}  # (tensor, user) -> the box that stands for it there
        tensors = [id for id in self.users if id not in self.group_of]
        # What a person named stands outside; the parameters of a module, with a dot in their names, do not, nor does
        # what lies in the frame of a transform.
        apart = [id for id in tensors if (name := names.get(id)) and "." not in name]
        apart = [id for id in apart if lanes is None or not lanes.framed(id)]
        self.again: set[str] = set()  # parameters of modules that are called again, which stand in the first call
        self.rows = self._rows([known[id] for id in apart]) if len(apart) > _APART else {}
        apart = [id for id in apart if id not in self.rows]
        for id in tensors:
            stays = id in apart and len(apart) <= _APART
            self.homes[id] = whole if stays else self._common(self.users[id], whole)
            self._share(id, self.users[id], whole)
        if lanes is None:
            self._let_in([id for id in tensors if not known[id].requires_grad], names, whole)
        self.rows = {id: row for id, row in self.rows.items() if self.homes[id] is not whole}
        for id in tensors:
            self._call_again(id)
        beside: dict[str, list[str]] = {}
        for (_, user), box in self._references.items():
            beside.setdefault(box, []).append(user)
        self.homes |= {box: self._common(users, whole) for box, users in beside.items()}

    def _rows(self, named: Iterable[TensorSeen]) -> dict[str, TensorRow]:
        """The data that come in rows: `x[0]` to `x[19]`, or one variable in each round of a loop."""
        rows: dict[str, TensorRow] = {}
        for seen in named:
            stem = (seen.name or "").partition("[")[0]
            if not seen.requires_grad:
                rows.setdefault(stem, TensorRow(stem)).items.append(seen)
        return {seen.id: row for row in rows.values() if len(row.items) > _SHARED for seen in row.items}

    def _let_in(self, tensors: Sequence[str], names: dict[str, str | None], whole: Group) -> None:
        """The first of these without a name that a group uses stands outside, if nothing else brings data into it."""
        given = {id for id in tensors if names.get(id) is None}
        if not given:
            return
        first: dict[str, str] = {}
        met = {""}  # outermost groups that have one of these in them
        fed: set[str] = set()
        for id in self.users:
            home = self.group_of.get(id) or self.homes[id]
            outer, inner = ("", "") if home is whole else (home.path[0].id, "".join(each.id for each in home.path[1:2]))
            if id in given and (inner or (outer not in met and home.kind == "scope")):
                first.setdefault(inner or outer, id)
                met.add(outer)
            if id in self.rows:
                fed |= {outer, inner}
            elif "." not in (names.get(id) or ""):
                into = (self._way(user, whole)[1:2] for user in self.users[id])
                fed |= {group.id for way in into for group in way if group.id != outer}
        for inner, id in first.items():
            if not {inner, self.homes[id].path[0].id} & fed:
                self.homes[id] = whole

    def _share(self, id: str, users: Sequence[str], whole: Group) -> None:
        """Note which of these users of a tensor have a box beside them: where they are many, one in each group.

        Of rounds that are told together these are many: then the first has the tensor itself, and any other a box.
        """
        common = self._common(users, whole)
        depth = 1 if common is whole else len(common.path) + 1
        branches: dict[str, list[str]] = {}
        for user in users:
            way = [*(group.id for group in self._way(user, whole)), user]
            branches.setdefault(way[depth], []).append(user)
        together = [branch for branch in branches if branch in self.groups and self.groups[branch].kind == "more"]
        repeats = any(len(branches[branch]) > _SHARED for branch in together)
        for n, (branch, inside) in enumerate(branches.items()):
            if len(branches) > _SHARED or (repeats and n):
                self._references |= {(id, user): f"{id}@{branch}" for user in inside}
            if len(inside) > _SHARED:
                self._share(id, inside, whole)

    def _call_again(self, id: str) -> None:
        """The parameter of a module of one operation that is called several times stands in the first of its calls."""
        calls = {user: self.group_of[user] for user in self.users[id]}
        groups = list({group.id: group for group in calls.values()}.values())
        if len(groups) > 1 and all(group.single and group.scope == groups[0].scope for group in groups):
            self.homes[id] = groups[0]
            self.again.add(id)
            for user, group in calls.items():
                self._references.pop((id, user), None)
                if group is not groups[0]:
                    self._references[id, user] = f"{id}@{group.id}"

    def reference(self, tensor: str, user: str) -> str:
        """The box that a tensor's arrow to a user leaves from: its own, or where many use it, one beside the user."""
        return self._references.get((tensor, user), tensor)

    def _used(self, user: str, used: Iterable[str]) -> None:
        for id in dict.fromkeys(used):
            self.users.setdefault(id, []).append(user)

    def _way(self, node: str, whole: Group) -> list[Group]:
        """The groups that a node lies in, from the whole graph inwards."""
        return [whole, *(group for group in self.group_of[node].path if group is not whole)]

    def _common(self, nodes: Sequence[str], whole: Group) -> Group:
        paths = [self._way(node, whole) for node in nodes]
        common = whole
        for level in zip(*paths, strict=False):
            if any(group is not level[0] for group in level):
                break
            common = level[0]
        return common

    def tally(self, group: Group) -> Tally:
        """What is to be told of a group, of which nothing is there yet."""
        row = [self._operations.get(id, "") for id in group.nodes()]
        count = len(row)
        times = next(n for n in range(count, 0, -1) if count % n == 0 and row[: count // n] * n == row)
        return Tally(group, count, times, self._titles)

    def place(self, id: str) -> Group | None:
        """The innermost group that a node or a tensor lies in."""
        return self.group_of.get(id) or self.homes.get(id)


@dataclass(slots=True)
class News:
    """What is new of several nodes: those that were made, their states, and what they keep for backward."""

    made: list[str] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)  # of these
    compiled: int = 0  # how many of them torch.compile made
    counts: dict[str, int] = field(default_factory=dict)  # how many more, or fewer, have a state
    kept: list[tuple[str, int, int]] = field(default_factory=list)  # whose memory, its bytes, and 1 more or -1
    gone: int = 0
    error: str = ""


@dataclass(slots=True)
class Tally:
    """What a closed group holds so far, of as many operations in the end, which are the same ones so many times."""

    group: Group
    count: int
    times: int
    titles: dict[str, str]  # of nodes
    held: int = 0  # operations
    last: str = ""  # of the nodes
    counts: Counter[str] = field(default_factory=Counter)  # of the states
    operations: Counter[str] = field(default_factory=Counter)
    holders: dict[str, int] = field(default_factory=dict)  # how many keep what is kept
    leaves: dict[str, int] = field(default_factory=dict)  # and the numbers in those that are parameters of a module
    # The names of tensors that boxes inside refer to, by id, and of tensors that arrows lead from into it.
    referred: dict[str, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    entering: dict[tuple[int, ...], None] = field(default_factory=dict)  # the shapes of the data that come in
    leaving: dict[tuple[int, ...], None] = field(default_factory=dict)
    kept: int = 0  # tensors that were saved
    saved: int = 0  # bytes
    most: int = 0
    error: str = ""
    tangents: dict[str, None] = field(default_factory=dict)
    lifted: dict[str, None] = field(default_factory=dict)  # operations without a node
    gone: int = 0  # nodes
    compiled: int = 0  # the operations that torch.compile made
    details: tuple[Detail, ...] = ()  # what is in it, when all is there

    def lift(self, frame: Frame, key: str) -> None:
        """Count an operation without a node, or a tangent."""
        if key not in frame.operations:
            self.tangents[key] = None
        elif key not in self.lifted:
            self.lifted[key] = None
            self.held += 1
            self.counts["idle"] += 1
            self.operations[frame.operations[key].made.name] += 1

    def note(self, news: News) -> None:
        """This is new of nodes in it."""
        if news.made:
            self.held += len(news.made)
            self.last = news.made[-1]
            self.operations.update(news.operations)
            self.compiled += news.compiled
        self.gone += news.gone
        self.error = news.error or self.error
        for state, count in news.counts.items():
            self.counts[state] += count
        holders = self.holders
        for owner, size, more in news.kept:
            self.kept += max(0, more)
            holders[owner] = held = holders.get(owner, 0) + more
            if not held:
                self.saved -= size
            elif more == held == 1:
                self.saved += size
                self.most = max(self.most, self.saved)

    def meet(self, frame: Frame, source: str, nr: int, leaving: bool) -> None:
        """Note the shape of what comes into the group from this place, unless it is a parameter, or goes out of it."""
        value = None
        if source in frame.nodes:
            value = frame.nodes[source].outputs.get(nr, ("", None))[1]
        elif source in frame.tensors and "." not in (frame.tensors[source].name or ""):
            value = frame.tensors[source].value
        if value is not None:
            (self.leaving if leaving else self.entering)[value.shape] = None

    def shapes(self, frame: Frame) -> str:
        """`(3, 4) → (3, 2)`, or as much as is known.

        A single number is told, `(3, 2) → 0.5`, if an expression of numbers gives it, or if nothing uses it: a loss.
        """
        last = frame.nodes.get(self.last) if self.held == self.count else None
        value = last.outputs[0][1] if last is not None and 0 in last.outputs else None
        ends = not self.leaving and value is not None  # nothing has used what it gives
        leaving = {value.shape: None} if ends and value is not None else self.leaving
        of_numbers = not any((*self.entering, *leaving))
        told = _shapes(leaving) if leaving and not of_numbers else ""
        if value is not None and not value.shape and (ends or (of_numbers and self.group.kind == "expression")):
            told = value.brief(_NUMBER)
        entering = f"{_shapes(self.entering)} " if self.entering and not of_numbers else ""
        return f"{entering}→ {told}" if told else ""

    @property
    def parameters(self) -> list[str]:
        """The parameters of modules that are used in it, those that stand elsewhere too."""
        own = [id for id, count in self.leaves.items() if count]
        return own + [id for id, name in self.referred.items() if "." in name and id not in self.leaves]

    def counts_of_operations(self) -> list[str]:
        """`12 operations`, `3 operations × 4` of what repeats."""
        if not self.held:
            return []
        count = counted(self.held, "operation")
        if 1 < self.times < self.count == self.held and " × " not in self.group.title:
            count = f"{counted(self.count // self.times, 'operation')} × {self.times:,}"
        return [count + (COMPILED if 0 < self.compiled == self.held else "")]

    def holds(self, frame: Frame) -> list[str]:
        """`1,234 parameters`, `2 leaves`, `3 tangents`."""
        elsewhere = [id for id, name in self.referred.items() if "." in name and id not in self.leaves]
        numbers = sum(self.leaves.values()) + sum([math.prod(frame.tensors[id].value.shape) for id in elsewhere])
        others = sum(not numbers for numbers in self.leaves.values())
        told = [(numbers, "parameter"), (others, "leaf"), (len(self.tangents), "tangent")]
        return [counted(n, what) for n, what in told if n]

    def saves(self, several: bool = False) -> list[str]:
        """What it keeps for backward, or did: `saved 1.2 KiB`, or how many tensors too; a single one always says so."""
        if not self.most:
            return []
        count = f"{counted(self.kept, 'tensor')}, " if several or self.group.single else ""
        return [f"saved {count}{bytes_said(self.saved or self.most)}{'' if self.saved else FREED}"]

    def inside(self, frame: Frame) -> tuple[Detail, ...]:
        """What is in the group, in words; they stay once all is there."""
        if self.details:
            return self.details
        known, items, is_whole = self.titles, self.group.items, self.held == self.count
        inside = [item.title if isinstance(item, Group) else known.get(item) or name_in(frame, item) for item in items]
        details = [Detail("Inside", "text", ", ".join(inside))]
        if len(inside) < self.held and is_whole:  # else these are the nodes themselves, or there are more to come
            operations = [f"{name} {count:,}" for name, count in self.operations.most_common()]
            details.append(Detail("Operations", "text", ", ".join(operations)))
        name = (self.group.names or (self.group.id,))[0]
        details.append(Detail("To open it in place", "code", f'trace.show("graph", open=[{name!r}])'))
        if is_whole:
            self.details = tuple(details)
        return tuple(details)

    @property
    def state(self) -> BoxState:
        """That of what is most urgent inside."""
        for state in ("error", "running", "ready", "pending"):
            if self.counts[state]:
                return state
        if self.gone == self.held > 0:
            return "over"
        return "done" if self.counts["done"] else "idle"


def _kept(frame: Frame, id: str, node: NodeState) -> list[tuple[str, int]]:
    """The memory that a node keeps for backward: whose it is, and how large."""
    kept = []
    for index, (saved, value) in enumerate(zip(node.made.saved, node.saved, strict=True)):
        if value is not None:
            kept.append(kept_of(frame, f"{id}.{index}", saved, value)[:2])
    return kept


def listed(counts: Counter[str]) -> str:
    """`mul 4, add 4, sin 4`, as far as a line has room."""
    text = ""
    for name, count in counts.most_common():
        more = f"{text}, {name} {count:,}" if text else f"{name} {count:,}"
        if columns(more) > TEXT_COLUMNS - 3:
            return f"{text}, …"
        text = more
    return text


def closed_box(frame: Frame, tally: Tally, came: Bundle, went: Bundle, view: Graph) -> Box:
    """A closed group: what is in it and what that keeps; a module of one operation tells its parameters.

    Where gradients are the story, leaves are told with theirs instead, and not what is kept.
    """
    group, told = tally.group, view.of_leaves(frame, tally.leaves)
    saves = [] if view.shows_gradients else tally.saves()
    if group.single and 0 < len(tally.parameters) <= _ROWS:
        told = [line for line in told if not line.startswith("grad ‖")]  # a row has it
        lines = [tally.shapes(frame), *rows_of(frame, tally.parameters), *saves, *told]
    elif view.shows_gradients and tally.leaves:
        lines = [", ".join([*tally.holds(frame), *told[:1]]), *told[1:]]
    else:
        used = [name for id, name in tally.referred.items() if id not in tally.given and "." not in name]
        held = ", ".join([*tally.counts_of_operations(), *tally.holds(frame)])
        if saves and columns(f"{held}, {saves[0].removesuffix(FREED)}{FREED}") <= GROUP_COLUMNS:
            held = ", ".join(filter(None, [held, *saves]))
        lines = [tally.shapes(frame), _using(held, used), *told]
    if tally.gone:
        all_gone = tally.gone == tally.held
        lines.append("gone: nothing holds them" if all_gone else f"{counted(tally.gone, 'operation')} gone")
    gradients = [
        f"{way} {norms_of(frame, each) or f'{each.total.moved:,} gradients'}"
        for way, each in (("in", came), ("out", went))
        if each.total.moved
    ]
    if not (came.total.finite and went.total.finite):
        lines.append(f"gradient NOT FINITE {', '.join(gradients)}")
    details = [Detail("Error", "text", tally.error)] if tally.error else []
    details += tally.inside(frame)
    details += [Detail("Gradient", "text", ", ".join(gradients))] if gradients else []
    details += [Detail("Kept for backward", "text", line) for line in tally.saves(several=True)]
    return Box(group.id, "group", group.title, tuple(filter(None, lines)), tally.state, details=tuple(details))


def _shapes(shapes: Iterable[tuple[int, ...]]) -> str:
    """`(3, 4), (3,)`, as far as half a line has room."""
    first, *others = map(str, shapes)
    if others and columns(", ".join([first, *others])) > TEXT_COLUMNS // 2 - 2:
        return f"{first}, …"
    return ", ".join([first, *others])


def _using(inside: str, names: Sequence[str]) -> str:
    """`5 operations, uses Wx, Wh, b`, as far as a line has room."""
    text = inside
    for n, name in enumerate(names):
        longer = f"{text}, {name}" if n else f"{text}, uses {name}"
        if columns(longer) > GROUP_COLUMNS - (3 if name is not names[-1] else 0):
            return f"{text}, …" if n else text
        text = longer
    return text


def name_in(frame: Frame, id: str) -> str:
    """The name of a node or an operation, if it is there already."""
    if id in frame.operations:
        return frame.operations[id].made.name
    return frame.nodes[id].made.name if id in frame.nodes else id


def counted(count: int, what: str) -> str:
    """`3 leaves`."""
    several = "leaves" if what == "leaf" else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


_NUMBER = 20  # columns of one
_ADDED = 32  # edges whose gradients are added, value by value, whenever one has changed


def total_of(grads: Sequence[Value]) -> Value | None:
    """The sum, if all values are known."""
    arrays = [np.array(grad.values).reshape(grad.shape) for grad in grads if grad.values is not None]
    if len(arrays) < len(grads) or len({array.shape for array in arrays}) > 1:
        return None
    with np.errstate(all="ignore"):
        return Value.of(np.sum(arrays, axis=0))


def norms_of(frame: Frame, bundle: Bundle) -> str:
    """The norm of all that goes along these edges: gradients for one value add up; "" where their sum is not known."""
    traffic = bundle.total
    if traffic.moved < 2:
        return traffic.norms
    known: list[Value] = []
    for (source, _), keys in bundle.places.items():
        edges = [edge for key in keys if (edge := frame.edges[key]).state != "idle" and edge.grad is not None]
        grads = [edge.grad for edge in edges if edge.grad is not None]
        total = grads[0] if len(grads) == 1 else total_of(grads) if len(grads) <= _ADDED else None
        if total is None and grads and {*frame.came_to(source)} <= keys.keys():
            total = arrived(frame, source)
        if total is None and grads:
            return ""
        known += [total] if total is not None else []
    if len(known) == 1:
        return known[0].text() if not (known[0].shape and known[0].is_known) else f"‖{known[0].norm:.3g}‖"
    return f"‖{math.hypot(*[total.norm for total in known]):.3g}‖" if known else "none"


@dataclass(slots=True)
class Traffic:
    """What has gone along some edges, and the edge with the largest gradient."""

    moved: int = 0  # edges
    grads: int = 0  # that were not None
    norm: float = 0.0  # of all together
    finite: bool = True
    largest: str | None = None
    grad: Value | None = None  # the largest

    def __add__(self, other: Traffic) -> Traffic:
        if not other.moved:
            return self
        if not self.moved:
            return other
        first = self if _rank(self.grad) >= _rank(other.grad) else other
        return Traffic(
            self.moved + other.moved,
            self.grads + other.grads,
            math.hypot(self.norm, other.norm),
            self.finite and other.finite,
            first.largest,
            first.grad,
        )

    @property
    def norms(self) -> str:
        """The norm of all gradients together."""
        if self.grad is None:
            return "none"
        if self.grads == 1 and not self.grad.shape:
            return self.grad.text()
        return f"‖{self.norm:.3g}‖"


def _rank(grad: Value | None) -> float:
    if grad is None:
        return -1.0
    return math.inf if math.isnan(grad.norm) else grad.norm


class Bundle:
    """The edges that one arrow stands for; a change of one costs no more than the depth of a tree of their sums."""

    def __init__(self) -> None:
        self.keys: dict[str, int] = {}  # and their places
        self.places: dict[tuple[str, int], dict[str, None]] = {}  # output -> the edges by which gradients come to it
        self.flowing: dict[str, None] = {}
        self._rows: list[list[Traffic]] = [[]]  # of the edges, of pairs of them, of pairs of these …

    @property
    def total(self) -> Traffic:
        """That of all edges."""
        return self._rows[-1][0] if self.keys else Traffic()

    def note(self, key: str, edge: EdgeState) -> None:
        """An edge is there, or has changed."""
        place = self.keys.setdefault(key, len(self.keys))
        self.places.setdefault((edge.source, edge.output_nr), {})[key] = None
        if edge.state == "flowing":
            self.flowing[key] = None
        else:
            self.flowing.pop(key, None)
        grad = edge.grad
        if edge.state == "idle":
            part = Traffic()
        elif grad is None:
            part = Traffic(1, largest=key)
        else:
            part = Traffic(1, 1, grad.norm, not grad.nonfinite, key, grad)
        for row in self._rows:
            row[place : place + 1] = [part]
            pair = row[place & ~1 : (place | 1) + 1]
            part, place = sum(pair[1:], pair[0]), place >> 1
        if len(self._rows[-1]) > 1:
            self._rows.append([part])


# The picture.


class Drawn:
    """What a view draws of each key of one moment's frame, drawn once for all pictures that show it."""

    def __init__(self, view: Graph) -> None:
        self._view = view
        self._of: dict[str, tuple[list[Box], list[Arrow]]] = {}

    def forget(self) -> None:
        """The frame is about to change."""
        self._of = {}

    def __call__(self, frame: Frame, keys: Iterable[str]) -> tuple[list[Box], list[Arrow]]:
        """The boxes and arrows that the frame's `keys` concern; nobody may change them."""
        boxes: list[Box] = []
        arrows: list[Arrow] = []
        for key in keys:
            if key not in self._of:
                self._of[key] = self._view.draw(frame, [key])
            boxes += self._of[key][0]
            arrows += self._of[key][1]
        return boxes, arrows


@dataclass(frozen=True, slots=True)
class _Seen:
    """Groups inside each other that have boxes: they end with the first that is `closed` and cannot be opened."""

    groups: dict[str, Tally]
    told: list[str]  # those that are open or can be opened
    closed: str  # or ""; the box that stands for all in it


class Cut:
    """Draws the frames of one trace with the groups of `told` as boxes around what they hold; any other is one box.

    Each box lies in the innermost group that it is part of. A group that is told has a box of its own too, for when a
    reader closes it.
    """

    def __init__(self, view: Graph, drawn: Drawn, links: Links, told: Collection[str]) -> None:
        self._view, self._draw, self._links, self._told = view, drawn, links, told
        self._around: dict[str, _Seen] = {}  # a node, tensor or group
        self._inside: set[str] = set()  # edges that lie in a closed group
        self._seen = {"": _Seen({}, [], "")}  # around what lies in this group
        self._states: dict[str, str] = {}  # of the nodes in groups
        self._keeping: dict[str, list[tuple[str, int]]] = {}  # node in a group -> what it keeps, and the bytes
        self._gone: set[str] = set()  # nodes in groups
        self._tallies: dict[str, Tally] = {}  # of the groups that stand for something, or lie around it
        self._bundles: dict[str, Bundle] = {}  # arrow -> the edges it stands for
        # Group -> the edges by which gradients come to it, and by which they leave it.
        self._crossing: dict[str, tuple[Bundle, Bundle]] = {}
        self._drawn: set[str] = set()
        self._brought: dict[str, list[str]] = {}  # an edge -> those that brought something to its source with it
        self._referring_to: dict[str, dict[str, None]] = {}  # a tensor -> the groups in which boxes refer to it
        self._homes: dict[str, str | None] = {}  # a frame that a view draws -> the group that it lies in
        # A frame that a view draws -> the group of the same things.
        parts = [group for group in links.groups.values() if group.part and group.id in told]
        self._parts = {group.part.id: group.id for group in reversed(parts) if group.part}

    def forget(self) -> None:
        """The frame is about to change."""
        self._draw.forget()

    def stands(self, id: str) -> str:
        """The box that a node, operation or tensor is drawn by, or a tangent, which stands where its value does."""
        if id.endswith(TANGENT):
            own = self._view.lanes.place(id.removesuffix(TANGENT))
            at = self.stands(own)
            return id if at == own else at
        return self.around(id).closed or id

    def _place(self, id: str) -> Group | None:
        group = self._links.groups.get(id)
        return group.parent if group is not None else self._links.place(id)

    def around(self, id: str) -> _Seen:
        """The groups with boxes around a node, operation, tensor or group."""
        seen = self._around.get(id)
        if seen is None:
            seen = self._around[id] = self._in(self._place(id))
        return seen

    def _in(self, place: Group | None) -> _Seen:
        inner = place.id if place is not None else ""
        seen = self._seen.get(inner)
        if seen is None:
            seen = self._in(place.parent if place is not None else None)
            if not seen.closed:
                groups = {**seen.groups, inner: self._tally(inner)}
                told = inner in self._told
                seen = _Seen(groups, [*seen.told, inner], "") if told else _Seen(groups, seen.told, inner)
            self._seen[inner] = seen
        return seen

    def path(self, id: str) -> list[Group]:
        """The groups that a node, tensor or group lies in, the outermost first."""
        place = self._place(id)
        return [] if place is None else [each for each in place.path if each.id]

    def group(self, id: str) -> Group:
        """The group of an id."""
        return self._links.groups[id]

    def _tally(self, id: str) -> Tally:
        if id not in self._tallies:
            self._tallies[id] = self._links.tally(self._links.groups[id])
        return self._tallies[id]

    def draw(self, frame: Frame, keys: Iterable[str]) -> tuple[list[Box], list[Arrow]]:
        """The boxes and arrows that the frame's `keys` concern, as they are now."""
        seen: list[str] = []
        outputs: list[str] = []
        groups: dict[str, None] = {}
        bundles: dict[str, None] = {}
        lifted: list[str] = []
        given: list[str] = []
        nodes, tensors, edges, inside = frame.nodes, frame.tensors, frame.edges, self._inside
        view, known, around, rows = self._view, self._around, self.around, self._links.rows
        changed: list[str] = []  # nodes that lie in the same groups
        within: _Seen | None = None  # these
        # Where gradients flow, data have neither box nor arrow, unless a transform takes them.
        data = view.transformed or not view.shows_gradients
        for key in dict.fromkeys(keys):
            if key in inside:
                continue
            if key in nodes:
                here = known.get(key) or around(key)
                if here is not within:
                    self._note(frame, changed, within)
                    changed, within = [], here
                    groups |= dict.fromkeys(here.groups)
                if here.groups:
                    changed.append(key)
                if not here.closed:
                    seen.append(key)
                elif view.has_output(key):
                    outputs.append(key)
            elif (tensor := tensors.get(key)) is not None:
                here = known.get(key) or around(key)
                groups |= dict.fromkeys(here.groups) | self._referring_to.get(key, {})
                if tensor.role == "leaf":
                    for tally in here.groups.values():
                        tally.leaves[key] = math.prod(tensor.value.shape) if "." in (tensor.name or "") else 0
                elif key in rows:
                    for tally in here.groups.values():
                        tally.entering[tensor.value.shape] = None
                if not here.closed and (tensor.role is not None or key in view.lanes.data):
                    seen.append(key)
            elif (edge := edges.get(key)) is not None and edge.target is not None:
                own = edge.source if edge.differentiable else view.source(edge)
                above, below = known.get(own) or around(own), known.get(edge.target) or around(edge.target)
                if above is below and above.closed:
                    inside.add(key)
                    continue
                source = self._links.reference(own, edge.target)
                sending = above.groups
                if source != own and own in self._links.again:  # it stands in another call, which sent nothing of this
                    sending = {group: tally for group, tally in sending.items() if group in below.groups}
                groups |= dict.fromkeys(self._cross(frame, key, edge, sending, below.groups))
                self._tell_use(frame, own, source, above.groups, below.groups)
                if not (data or edge.differentiable) or not view.leads(key, edge):
                    continue
                upper, lower = self.stands(source), self.stands(edge.target)
                ending = "" if edge.differentiable else ".cut" if key.endswith(".cut") else ".c"
                if upper == lower and source != own and f"{self.stands(own)}>{lower}{ending}" in self._bundles:
                    upper = self.stands(own)  # what the box brings that refers to it is part of the arrow from it
                if upper == lower:
                    continue
                if (upper, lower) == (source, edge.target):
                    seen.append(key)
                    continue
                bundle = f"{upper}>{lower}{ending}"
                self._bundles.setdefault(bundle, Bundle()).note(key, edge)
                bundles[bundle] = None
                given.append(upper)
            elif key in frame.operations or key.endswith(TANGENT):
                lifted.append(key)
            elif edge is None:
                node = key.removesuffix(".focus")
                if node == key or not around(node).closed:
                    seen.append(key)
            else:
                groups |= dict.fromkeys(self._cross(frame, key, edge, around(edge.source).groups, ()))
                if self.stands(edge.source) != edge.source:
                    outputs.append(edge.source)
                else:
                    seen.append(key)
        self._note(frame, changed, within)
        boxes, arrows = self._draw(frame, seen)
        arrows = [self._referring(frame, self._with_sums(frame, arrow), arrow.target, boxes) for arrow in arrows]
        for key in dict.fromkeys(outputs):
            more = self._draw(frame, [key])
            boxes += [box for box in more[0] if box.kind == "output"]
            arrows += [with_changes(arrow, {"source": self.stands(key)}) for arrow in more[1]]
        for key in lifted:
            self._lift(frame, key, boxes, arrows, groups)
        for key in [key for key in keys if key in rows] if rows and data else ():
            row = rows[key]
            boxes.append(row.box)
            arrows.append(row.arrow(key, self.stands(key)))
        for bundle in bundles:
            user = frame.edges[next(iter(self._bundles[bundle].keys))].target or ""
            arrows.append(self._referring(frame, self._merged(frame, bundle), user, boxes))
        boxes += [box for id in given for box in self._view.lanes.input(frame, id)]
        boxes += [self._box(frame, id) for id in groups if self._tally(id).held or self._tally(id).leaves]
        boxes = self._placed(boxes)
        self._drawn.update(box.id for box in boxes)
        return boxes, [each for each in arrows if each.kind != "same" or {each.source, each.target} <= self._drawn]

    def _note(self, frame: Frame, changed: Iterable[str], seen: _Seen | None) -> None:
        """Bring up to date what groups tell of nodes in them."""
        if not changed or seen is None:
            return
        states, keeping, news = self._states, self._keeping, News()
        nodes, counts = frame.nodes, news.counts
        for id in changed:
            node, before = nodes[id], states.get(id)
            state = node.state
            if before != state:
                states[id] = state
                counts[state] = counts.get(state, 0) + 1
                if before is not None:
                    counts[before] = counts.get(before, 0) - 1
            if before is None:
                made = node.made
                news.made.append(id)
                news.operations.append(made.operation)
                if made.scope is not None:
                    news.compiled += made.scope.endswith(COMPILED)
                if node.saved and (kept := _kept(frame, id, node)):
                    keeping[id] = kept
                    news.kept += [(owner, size, 1) for owner, size in kept]
            if node.gone and id not in self._gone:
                self._gone.add(id)
                news.gone += 1
            if (node.freed or node.gone) and id in keeping:
                news.kept += [(owner, size, -1) for owner, size in keeping.pop(id)]
            if state == "error":
                news.error = f"{node.made.name}: {node.error}"
        for tally in seen.groups.values():
            tally.note(news)

    def _referring(self, frame: Frame, arrow: Arrow, user: str, boxes: list[Box]) -> Arrow:
        """An arrow from a tensor that many use, led from a box beside this user; that box is added."""
        own = arrow.source
        source = self._links.reference(own, user) if arrow.kind in ("edge", "constant") else own
        if source == own:
            return arrow
        drawn = [*self._draw(frame, [own])[0], *self._view.lanes.input(frame, own)]
        box = next(box for box in drawn if box.id == own)
        boxes.append(Box(source, box.kind, box.title, note="as above", refers=own))
        return with_changes(arrow, {"source": source})

    def _with_sums(self, frame: Frame, arrow: Arrow) -> Arrow:
        """An arrow with the sum of the gradients that came to its source from each group around its target."""
        edge = frame.edges.get(arrow.id)
        if edge is None or edge.state == "idle" or edge.target is None or edge.grad is None or not edge.differentiable:
            return arrow
        tasks = frame.place(edge.source).came.values()
        came = [key for keys in tasks if arrow.id in keys for key in keys if frame.edges[key].state != "idle"]
        came = [key for key in came if frame.edges[key].output_nr == edge.output_nr] or self._brought.get(arrow.id, [])
        self._brought[arrow.id] = came
        within: dict[str, tuple[int, str, int, ArrowTone]] = {}
        above = self.around(edge.source).groups
        for group in self.around(edge.target).groups if len(came) > 1 else ():
            mine = [key for key in came if group in self.around(frame.edges[key].target or "").groups]
            if group in above or not 1 < len(mine) <= _ADDED or mine[-1] != arrow.id:
                continue
            grads = [grad for key in mine if (grad := frame.edges[key].grad) is not None]
            if (total := total_of(grads)) is None:
                continue
            lost = self._view.lost(frame, mine)
            weight, tone = self._view.looks(total)
            if all(frame.edges[key].lost for key in mine):
                weight, tone = 1, "faint"
            text = f"‖{total.norm:.3g}‖" if total.shape else total.text()
            within[group] = len(mine), "\n".join([text, *lost]), weight, tone
        return with_changes(arrow, {"within": within}) if within else arrow

    def _tell_use(self, frame: Frame, own: str, source: str, upper: Collection[str], lower: Collection[str]) -> None:
        """Note at groups that a tensor is used in them: by an arrow from it, or by a box inside that refers to it."""
        if own not in frame.tensors:
            return
        for id in lower:
            if source != own and id in self.around(source).groups:
                self._tally(id).referred.setdefault(own, frame.called(own))
                self._referring_to.setdefault(own, {})[id] = None
            elif id not in upper:
                self._tally(id).given.add(own)

    def _cross(
        self, frame: Frame, key: str, edge: EdgeState, upper: Collection[str], lower: Collection[str]
    ) -> list[str]:
        """Note an edge at the groups that it leads out of and into."""
        out = [group for group in upper if group not in lower]
        into = [group for group in lower if group not in upper]
        for way, groups in enumerate((out, into)):
            for id in groups:
                if edge.target is not None:
                    self._tally(id).meet(frame, self._view.source(edge), edge.output_nr, leaving=way == 0)
                if id not in self._crossing:
                    self._crossing[id] = Bundle(), Bundle()
                self._crossing[id][way].note(key, edge)
        return [*out, *into]

    def _lift(self, frame: Frame, key: str, boxes: list[Box], arrows: list[Arrow], groups: dict[str, None]) -> None:
        """Add an operation without a node, or a tangent, and the ways to it, as far as they are in no closed group."""
        at, lanes = self.stands(key), self._view.lanes
        own = lanes.place(key.removesuffix(TANGENT)) if key.endswith(TANGENT) else key
        closed = at in self._links.groups
        drawn, ways = ([], lanes.ways(frame, key)) if closed else self._draw(frame, [key])
        for group, tally in self.around(own).groups.items():
            tally.lift(frame, key)
            groups[group] = None
        ends: dict[str, None] = {}
        for way in ways:
            upper, lower = self.stands(way.source), self.stands(way.target)
            if upper == lower:
                continue
            whole = (upper, lower) == (way.source, way.target)
            arrows.append(way if whole else replace(way, id=f"{upper}>{lower}.{way.kind}", source=upper, target=lower))
            ends |= {upper: None, lower: None}
        for end in ends if closed else ():
            boxes += lanes.input(frame, end)
            if end.endswith(TANGENT) and frame.tangents[end.removesuffix(TANGENT)][1] is None:  # it was given
                more = self._draw(frame, [end])
                boxes += more[0]
                arrows += more[1]
        boxes += [box for box in drawn if self.stands(box.id) == box.id]

    def remarks(self, frame: Frame) -> list[str]:
        """What the view has to add."""
        return self._view.remarks(frame)

    def focus(self, frame: Frame) -> str | None:
        """The box that the last event was about."""
        id = self._view.focus(frame)
        return None if id is None else self.stands(id)

    def keeps(self, id: str) -> str:
        """What a group keeps."""
        saved = self._tally(id).saved
        return f"it keeps {f'{bytes_said(saved)} for backward' if saved else 'nothing for backward'}"

    def sent(self, frame: Frame, id: str) -> list[str]:
        """The gradients that are leaving a group, and where to."""
        leaving = [frame.edges[key] for key in self._crossing[id][1].flowing] if id in self._crossing else []
        return [f"{said(edge.grad)} to {self._name(frame, id, edge.source)}" for edge in leaving[:3]]

    def _holds(self, group: str, id: str) -> bool:
        return any(each.id == group for each in self.path(id))

    def receiver(self, frame: Frame, edge: EdgeState) -> str:
        """Where a gradient goes, and in which group that is, if it leads into one."""
        entered = [group for group in self.path(edge.source) if not self._holds(group.id, edge.target or "")]
        receiver, within = frame.receiver(edge), f" in {entered[0].called}" if entered else ""
        return receiver if within in receiver else receiver + within

    def _name(self, frame: Frame, sender: str, id: str) -> str:
        """What receives a gradient from a group: the group beside it that has it inside, or the place itself."""
        common = len([group for group in self.path(id) if self._holds(group.id, sender) or group.id == sender])
        beside = self.path(id)[common:]
        if not beside:
            return frame.told(id)
        return beside[0].title if beside[0].kind in ("", "scope") else beside[0].called

    def _merged(self, frame: Frame, bundle: str) -> Arrow:
        """One arrow for all edges that lead from one box to another."""
        keys, traffic = self._bundles[bundle].keys, self._bundles[bundle].total
        first = frame.edges[next(iter(keys))]
        ends = self.stands(self._view.source(first)), self.stands(first.target or "")
        kind = "edge" if first.differentiable else "constant"
        if bundle.endswith(".cut"):
            cuts = [arrow for key in keys for arrow in self._draw(frame, [key])[1] if arrow.id == key]
            label = f"{len(cuts)} cuts" if len({arrow.label for arrow in cuts}) > 1 else cuts[0].label
            return replace(cuts[0], id=bundle, source=ends[0], target=ends[1], label=label)
        if traffic.largest is None:
            return Arrow(bundle, *ends, kind, f"{len(keys)} edges" if len(keys) > 1 else "")
        state = "flowing" if self._bundles[bundle].flowing else "done"
        key = traffic.largest
        looks = next(arrow for arrow in self._draw(frame, [key])[1] if arrow.id == key)  # as the view draws it
        label = looks.label if looks.brief is None else looks.brief
        if len(keys) > 1:
            told = [norms_of(frame, self._bundles[bundle]), *self._view.lost(frame, keys)]
            label = "\n".join(filter(None, told))
        source, target = ends
        return replace(
            looks, id=bundle, source=source, target=target, label=label, state=state, together=None, brief=None
        )

    def _box(self, frame: Frame, id: str) -> Box:
        came, went = self._crossing.get(id, (Bundle(), Bundle()))
        return closed_box(frame, self._tally(id), came, went, self._view)

    def _placed(self, boxes: list[Box]) -> list[Box]:
        """Each box in the innermost group that it is part of; the frame of such a part is then not drawn."""
        for at, box in enumerate(boxes):
            home = self._view.lanes.place(box.id.removesuffix(TANGENT)) if box.id.endswith(TANGENT) else box.id
            path = self.path(home)
            if box.holder is not None or box.kind == "region":
                continue
            if path and (box.region is None or any(group.part and group.part.id == box.region for group in path)):
                boxes[at] = with_changes(box, {"region": path[-1].id})
            elif box.region in self._parts:
                boxes[at] = with_changes(box, {"region": self._parts[box.region]})
            elif box.region is not None:
                own = path[-1].id if path else None
                if self._homes.setdefault(box.region, own) != own:  # a frame is where it is from its first box on
                    boxes[at] = with_changes(box, {"region": own})
        framed = [box for box in boxes if box.id not in self._parts]
        return [replace(box, region=home) if (home := self._homes.get(box.id)) is not None else box for box in framed]


# What is open, and the steps.

_LARGE = 150  # nodes and operations of a graph that opens whole, if it must
_NAMED = 12  # groups that an error names
_INSIDES = 300  # boxes in all the closed groups that a reader can open


def tell_grouped(
    trace: Timeline, view: Graph, opened: Collection[str] | str | None = None, depth: int | None = None
) -> Storyboard:
    """The storyboard of a graph with its groups: as many are open as there is room for, outer ones first.

    `opened` names those to be open, or they are all down to a `depth`; all others are closed then. Errors: ValueError
    for a name of no group.
    """
    plan = planned(trace.events, view, opened, depth)
    if plan is None:
        return tell(trace, view)
    return plan.fitting(plan.tell(trace, view))


@dataclass(slots=True)
class GroupPlan:
    """Which groups of a graph are told, and which of them are open."""

    links: Links
    opened: set[str]
    told: set[str]
    parts: list[Part]  # of groups that are open if there is room

    def tell(self, trace: Timeline, view: Graph) -> Storyboard:
        """The storyboard of a trace of this graph."""
        return _tell(trace, _Teller(Cut(view, Drawn(view), self.links, self.told)), view, self.opened)

    def fitting(self, board: Storyboard) -> Storyboard:
        """The same with as many groups open as there is room for."""
        try:
            return fitted(board, self.parts) if self.parts else board
        except LayoutUnavailable:  # it can still be told in words
            return board


def planned(
    events: Iterable[Record],
    view: Graph,
    opened: Collection[str] | str | None = None,
    depth: int | None = None,
    uses: Iterable[Record] | None = None,
) -> GroupPlan | None:
    """How a graph with groups is told, as `tell_grouped` says; None if it has no groups.

    `uses` are events that know more ways to use its nodes.
    """
    events = list(events)
    lanes = view.lanes if view.transformed else None
    asked = opened is not None or depth is not None
    whole = view.program
    groups = whole.groups()
    if not groups and opened is None:
        return None
    links = Links(built(events if uses is None else uses), whole, lanes)
    parts: list[Part] = []
    if not asked:
        parts = in_order(whole, Counter(map(id, links.homes.values())))
        now = {group for part in parts for group in part.groups}
    else:
        now = _opened(groups, [opened] if isinstance(opened, str) else opened or ())
        now |= {group.id for group in groups if depth is not None and len(group.path) <= depth}
    # Levels take turns: of a large graph that is told of all of them together, not of each group in a closed one.
    along = _told_along(groups, now) if lanes is None or is_small(events) else []
    return GroupPlan(links, now, {*now, *(group.id for group in along)}, parts)


def is_small(events: Iterable[Record]) -> bool:
    """Whether there is so little in a graph that all of it may stand open."""
    return sum(isinstance(event, NodeCreated | OperationRan) for event in events) <= _LARGE


def _opened(groups: Sequence[Group], names: Iterable[str]) -> set[str]:
    """The ids of the groups of these names, and of all they lie in."""
    opened: set[str] = set()
    for name in names:
        found = [group for group in groups if name in (group.id, group.title, *group.names)]
        if not found:
            known = list(dict.fromkeys(group.names[0] for group in groups if group.names))
            more = [f"{len(known) - _NAMED} more"] if len(known) > _NAMED else []
            some = f"; there are {series([*map(repr, known[:_NAMED]), *more])}" if known else ""
            raise ValueError(NO_GROUP.format(name, some))
        opened.update(each.id for group in found for each in group.path if each.id)
    return opened


def _told_along(groups: Sequence[Group], opened: Collection[str]) -> list[Group]:
    """The closed groups that a reader can open: outer ones first, as far as there is room."""
    told: list[Group] = []
    known = set(opened)
    room = _INSIDES
    for group in sorted(groups, key=lambda group: len(group.path)):
        outer = group.parent is None or not group.parent.id or group.parent.id in known
        if outer and group.id not in known and len(group.items) <= min(room, 2 * MOST):
            room -= len(group.items)
            told.append(group)
            known.add(group.id)
    return told


class _Teller:
    """Makes the steps; `runs` are the stops that make one step each: the first and the last of them."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.runs: list[tuple[int, int]] = []
        self._groups: list[Group | None] = []  # of each run
        self.touched: dict[str, None] = {}
        self.steps: list[Step] = []
        self.boxes: dict[str, Box] = {}
        self.arrows: dict[str, Arrow] = {}
        self._now: dict[str, Any] = {}

    def plan(self, stop: int, group: Group | None) -> None:
        """The stop is a step, or part of the step before: both in one closed group, and nothing between."""
        if group is not None and self._groups and self._groups[-1] is group:
            self.runs[-1] = (self.runs[-1][0], stop)
        else:
            self.runs.append((stop, stop))
            self._groups.append(group)

    def braid(self) -> None:
        """Make one step of what happens by turns in several parts of the picture: levels record the same function."""
        runs: list[tuple[int, int]] = []
        now: dict[int, Group] = {}  # groups of the last run
        for at, (run, group) in enumerate(zip(self.runs, self._groups, strict=True)):
            joins = False
            if group is not None and now and runs[-1][1] == run[0] - 1:
                after = self._groups[at + 1] if at + 1 < len(self.runs) else None
                elsewhere = all(group.part is not each.part for each in now.values())
                joins = id(group) in now or (elsewhere and id(after) in now and self.runs[at + 1][0] == run[1] + 1)
            if joins and group is not None:
                runs[-1] = (runs[-1][0], run[1])
                now[id(group)] = group
            else:
                runs.append(run)
                now = {} if group is None else {id(group): group}
        self.runs = runs

    def step(self, frame: Frame, phase: str, place: str | None) -> Step:
        """One more step: what was touched since the one before, as it is now."""
        drawn = self.cut.draw(frame, self.touched)
        self.touched = {}
        boxes, arrows = (
            changed_fields(each, self._now, union) for each, union in zip(drawn, (self.boxes, self.arrows), strict=True)
        )
        focus, cursor = self.cut.focus(frame), cursor_at(frame.cursor)
        step = Step("", phase, cursor, focus, boxes, arrows, place if place in self.boxes else None)
        self.steps.append(step)
        return step


def _tell(trace: Timeline, teller: _Teller, view: Graph, opened: Collection[str]) -> Storyboard:
    """Go through the trace once, and make the steps where they end."""
    events, stops, cut = trace.events, trace.steps, teller.cut
    parts = [events[begin:end] for begin, end in zip([0, *stops], stops, strict=False)]
    places = [place_of_stop(part, view.lanes) for part in parts]
    around = [cut.around(place or "") for place in places]
    closed = [cut.group(seen.closed) if seen.closed else None for seen in around]
    for stop, group in enumerate(closed):
        teller.plan(stop, group)
    teller.braid()
    ending = {last: first for first, last in teller.runs}
    began: dict[str, int] = {}  # group -> the stop at which its run began
    runs: dict[str, list[tuple[int, int, str]]] = {}
    number: list[int] = []  # by stop, the step that it is part of
    for step, (first, last) in enumerate(teller.runs):
        number += [step] * (last - first + 1)
    frame, higher, effort = Frame(view.program.words, view.follows), above(events), Effort(trace)
    phases: list[Phase] = []  # of the steps
    told: list[str] = []  # the groups around the stop before
    for stop, part in enumerate(parts):
        frame.touched = {}
        caption = ""
        if ending.get(stop) == stop:
            caption = _hiding(cut, frame, caption_of(part, frame, higher, view), part)
        else:
            for event in part:
                event.apply(frame)
        effort.spend(frame)
        teller.touched |= frame.touched
        if stop in ending:
            first, place = ending[stop], places[stop]
            phases.append(phase_of(part, frame, phases))
            step = teller.step(frame, phases[-1], cut.stands(place) if place else None)
            alone = first == stop
            step.caption = caption if alone else _summary(cut, frame, closed[first : stop + 1], parts[first : stop + 1])
            cut.forget()
        if around[stop].told is not told:
            told = around[stop].told
            for id in told:
                began.setdefault(id, stop)
        after = around[stop + 1].told if stop + 1 < len(parts) else []
        if after is told:
            continue
        for id in [id for id in began if id not in after]:
            first = began.pop(id)
            if number[first] < number[stop]:
                words = _told(cut, frame, id, events[stops[first - 1] if first else 0 : stops[stop]])
                runs.setdefault(id, []).append((number[first], number[stop], words))
    steps = teller.steps
    stop = opening_stop(trace, view)
    start = number[stop] if number else 0
    if steps:
        point_out(steps[start], trace, frame, cut.stands)
    return Storyboard(
        Scene(view.title, teller.boxes, teller.arrows),
        steps or [Step(NOTHING)],
        view.title,
        start=start,
        legend=view.shared_legend if any([box.refers for box in teller.boxes.values()]) else view.legend,
        opened=opened,
        runs=runs,
    )


def _hiding(cut: Cut, frame: Frame, caption: str, part: Sequence[Record]) -> str:
    """A caption that says of what another group may hide in which it is."""
    for event in part:
        if isinstance(event, NodeFinished):
            shown = event.told(frame, lambda edge: cut.receiver(frame, edge))
            caption = caption.replace(event.sentence(frame), shown, 1)
    return caption


def _summary(cut: Cut, frame: Frame, closed: Sequence[Group | None], parts: Sequence[Sequence[Record]]) -> str:
    """What several stops in one closed group did, or by turns in several."""
    by_group: dict[str, list[Record]] = {}
    for group, part in zip(closed, parts, strict=True):
        if group is not None:  # else another part of the picture had its turn
            by_group.setdefault(group.id, []).extend(part)
    # What ran backward is told before what was computed on the way.
    order = sorted(by_group, key=lambda id: NodeStarted not in map(type, by_group[id]))
    told = " ".join([_told(cut, frame, id, by_group[id]) for id in order])
    return f"Inside {frame.inside}: {told}" if frame.inside else told


def _told(cut: Cut, frame: Frame, id: str, events: Sequence[Record]) -> str:
    name = cut.group(id).called
    counts = Counter(map(type, events))
    told: list[str] = []
    if counts[NodeStarted]:
        told.append(_ran(cut, frame, id, [event for event in events if type(event) is NodeStarted]))
    written: dict[str, list[str]] = {}
    for event in events if counts[TensorWritten] else ():
        if type(event) is TensorWritten and event.optimizer is not None:
            written.setdefault(event.writes, []).append(frame.called(event.tensor))
    told += [f"{writes} {some(names)}" for writes, names in written.items()]
    made, ran, pushed = counts[NodeCreated], counts[OperationRan], counts[TangentPushed]
    kinds = Counter([event.operation for event in events if type(event) is NodeCreated])
    kinds = kinds or Counter([event.name for event in events if type(event) is OperationRan])
    happened = [f"{counted(made, 'operation')} join{'s' * (made == 1)} the graph"] if made else []
    happened += [f"{counted(ran, 'operation')} run{'s' * (ran == 1)}"] if ran and not made else []
    happened += [f"{counted(pushed, 'tangent')} {'is' if pushed == 1 else 'are'} pushed forward"] if pushed else []
    if happened and not counts[NodeStarted]:
        told.append(f"{', '.join(happened)}{': ' if kinds else ''}{listed(kinds)}; {cut.keeps(id)}")
    told = told or ["tensors inside are written into"]
    return f"{name}{' ' if told[0].startswith('runs') else ': '}{'; '.join(told)}."


def _ran(cut: Cut, frame: Frame, id: str, runs: Sequence[NodeStarted]) -> str:
    sent = series(list(dict.fromkeys(cut.sent(frame, id))))
    nodes = list(filter(frame.nodes.__contains__, [event.node for event in runs]))
    leaves = len(runs) - len(nodes)
    if not nodes:
        return f"{counted(leaves, 'leaf')} inside get what has arrived"
    first, last = frame.told(nodes[0]), frame.told(nodes[-1])
    came = series([said(grad) for grad in runs[0].grads])
    ran = f"{counted(len(nodes), 'node')} run, {first} first, {last} last" if len(nodes) > 1 else f"{first} runs"
    ran += f", and {counted(leaves, 'leaf')} inside" if leaves else ""
    on = f"; it sends {sent}" if sent else ""
    return f"runs backward: it receives the gradient {came}; {ran}{on}"
