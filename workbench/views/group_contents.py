"""What is inside a graph's groups: which tensors, how many operations, how much they keep for backward.

`Bundle` sums up what goes along the edges that one arrow stands for, however many they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..scene.labels import TEXT_COLUMNS, columns
from ..scene.model import Arrow, Box, BoxState, Detail
from ..trace.call_records import OperationRan
from ..trace.frame import EdgeState, Frame, NodeState
from ..trace.records import COMPILED, NodeCreated
from ..trace.schema import Record, TensorSeen
from ..trace.values import Value
from .groups import Group
from .memory import bytes_of, bytes_said
from .transform_lanes import Lanes, wholes

_APART = 12  # so many named tensors at most stand outside of all groups; more of them stand where they are used
_SHARED = 4  # a tensor that is used in more places has a box beside each that refers to it


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

    def __init__(self, events: Iterable[Record], whole: Group, lanes: Lanes | None = None) -> None:
        self.groups = {group.id: group for group in whole.groups()}
        self.group_of: dict[str, Group] = {}  # node -> the innermost group it lies in
        for group in (whole, *self.groups.values()):
            self.group_of |= {item: group for item in group.items if isinstance(item, str)}
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
        # What a person named stands outside; the parameters of a module, with a dot in their names, do not.
        apart = [id for id in tensors if (name := names.get(id)) and "." not in name]
        self.rows = self._rows([known[id] for id in apart]) if len(apart) > _APART else {}
        apart = [id for id in apart if id not in self.rows]
        for id in tensors:
            stays = id in apart and len(apart) <= _APART and not (lanes is not None and lanes.framed(id))
            self.homes[id] = whole if stays else self._common(self.users[id], whole)
            self._share(id, self.users[id], whole)
        if lanes is None:
            self._let_in([id for id in tensors if not known[id].requires_grad], names, whole)
        self.rows = {id: row for id, row in self.rows.items() if self.homes[id] is not whole}
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
        first: dict[str, str] = {}
        given = set(tensors)
        fed: set[str] = set()
        for id in self.users:
            home = self.group_of.get(id) or self.homes[id]
            outer, inner = ("", "") if home is whole else (home.path[0].id, "".join(each.id for each in home.path[1:2]))
            if inner and id in given and names.get(id) is None:
                first.setdefault(inner, id)
            if id in self.rows:
                fed |= {outer, inner}
            elif "." not in (names.get(id) or ""):
                into = (self._way(user, whole)[1:2] for user in self.users[id])
                fed |= {group.id for way in into for group in way if group.id != outer}
        for inner, id in first.items():
            if not {inner, self.homes[id].path[0].id} & fed:
                self.homes[id] = whole

    def _share(self, id: str, users: Sequence[str], whole: Group) -> None:
        """Note which of these users of a tensor have a box beside them: where they are many, one in each group."""
        common = self._common(users, whole)
        depth = 1 if common is whole else len(common.path) + 1
        branches: dict[str, list[str]] = {}
        for user in users:
            way = [*(group.id for group in self._way(user, whole)), user]
            branches.setdefault(way[depth], []).append(user)
        for branch, inside in branches.items():
            if len(branches) > _SHARED:
                self._references |= {(id, user): f"{id}@{branch}" for user in inside}
            if len(inside) > _SHARED:
                self._share(id, inside, whole)

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
class Tally:
    """What a closed group holds so far, of as many operations in the end, which are the same ones so many times."""

    group: Group
    count: int
    times: int
    titles: dict[str, str]  # of nodes
    states: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)  # of the states
    operations: Counter[str] = field(default_factory=Counter)
    keeping: dict[str, list[tuple[str, int]]] = field(default_factory=dict)  # node -> what it keeps, and the bytes
    holders: Counter[str] = field(default_factory=Counter)  # of what is kept
    leaves: dict[str, int] = field(default_factory=dict)  # and the numbers in those that are parameters of a module
    entering: dict[tuple[int, ...], None] = field(default_factory=dict)  # the shapes of the data that come in
    leaving: dict[tuple[int, ...], None] = field(default_factory=dict)
    saved: int = 0  # bytes
    most: int = 0
    error: str = ""
    tangents: dict[str, None] = field(default_factory=dict)
    gone: dict[str, None] = field(default_factory=dict)
    compiled: int = 0  # the operations that torch.compile made

    def lift(self, frame: Frame, key: str) -> None:
        """Count an operation without a node, or a tangent."""
        if key not in frame.operations:
            self.tangents[key] = None
        elif key not in self.states:
            self.states[key] = "idle"
            self.counts["idle"] += 1
            self.operations[frame.operations[key].made.name] += 1

    def note(self, frame: Frame, id: str) -> None:
        """Bring up to date what is known of one of its nodes."""
        node = frame.nodes[id]
        before = self.states.get(id)
        if before == node.state and node.keeps:
            return
        if before != node.state:
            self.states[id] = node.state
            self.counts[node.state] += 1
            if before is not None:
                self.counts[before] -= 1
        if before is None:
            self.operations[node.made.operation] += 1
            self.compiled += (node.made.scope or "").endswith(COMPILED)
            self.keeping[id] = _kept(frame, id, node)
            for owner, size in self.keeping[id]:
                self.holders[owner] += 1
                self.saved += size * (self.holders[owner] == 1)
            self.most = max(self.most, self.saved)
        if node.gone:
            self.gone[id] = None
        if not node.keeps:
            for owner, size in self.keeping[id]:
                self.holders[owner] -= 1
                self.saved -= size * (self.holders[owner] == 0)
            self.keeping[id] = []
        if node.state == "error":
            self.error = f"{node.made.name}: {node.error}"

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
        """`(3, 4) → (3, 2)`, or as much as is known; `→ 2.0` for a single number, and nothing for several."""
        leaving = self.leaving
        if not leaving and len(self.states) == self.count:  # nothing has used what it gives
            last = next((frame.nodes[id] for id in reversed(self.states) if id in frame.nodes), None)
            leaving = {last.outputs[0][1].shape: None} if last is not None and 0 in last.outputs else {}
        if not any((*self.entering, *leaving)):
            return self._number(frame)
        entering = f"{_several(self.entering)} " if self.entering else ""
        return f"{entering}→ {_several(leaving)}" if leaving else ""

    def _number(self, frame: Frame) -> str:
        """`→ 2.0`: the number that an expression gives."""
        last = next((frame.nodes[id] for id in reversed(self.states) if id in frame.nodes), None)
        complete = self.group.kind == "expression" and len(self.states) == self.count
        value = last.outputs[0][1] if complete and last is not None and 0 in last.outputs else None
        return f"→ {value.brief(_NUMBER)}" if value is not None and not value.shape else ""

    @property
    def state(self) -> BoxState:
        """That of what is most urgent inside."""
        for state in ("error", "running", "ready", "pending"):
            if self.counts[state]:
                return state
        if len(self.gone) == len(self.states):
            return "over"
        return "done" if self.counts["done"] else "idle"


def _kept(frame: Frame, id: str, node: NodeState) -> list[tuple[str, int]]:
    """The memory that a node keeps for backward: whose it is, and how large."""
    kept = []
    for index, (saved, value) in enumerate(zip(node.made.saved, node.saved, strict=True)):
        if value is not None:
            owner = f"{id}.{index}" if saved.tensor is None else frame.tensors[saved.tensor].base or saved.tensor
            kept.append((owner, bytes_of(value)))
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


def closed_box(frame: Frame, tally: Tally, came: Bundle, went: Bundle) -> Box:
    """A closed group: what is in it, what that keeps, and the gradients that came and went."""
    group = tally.group
    others = sum(not numbers for numbers in tally.leaves.values())
    count = counted(len(tally.states), "operation")
    if tally.times > 1 and len(tally.states) == tally.count and " × " not in group.title:
        count = f"{counted(tally.count // tally.times, 'operation')} × {tally.times:,}"
    if 0 < tally.compiled == len(tally.states):
        count += COMPILED
    more = [(sum(tally.leaves.values()), "parameter"), (others, "leaf"), (len(tally.tangents), "tangent")]
    lines = [tally.shapes(frame), ", ".join([count, *(counted(n, what) for n, what in more if n)])]
    kept = f"saved {bytes_said(tally.saved)}" if tally.saved else f"saved {bytes_said(tally.most)}: freed"
    if len(tally.gone) == len(tally.states) > 0:
        lines.append("gone: nothing holds them")
    else:
        gone = f"{counted(len(tally.gone), 'operation')} gone" if tally.gone else ""
        lines.append("; ".join(filter(None, [kept if tally.most else "", gone])))
    gradients = [f"{way} {norms_of(frame, each)}" for way, each in (("in", came), ("out", went)) if each.total.moved]
    bad = "" if came.total.finite and went.total.finite else "NOT FINITE "
    lines.append(f"gradient {bad}{', '.join(gradients)}" if gradients else "")
    details = [Detail("Error", "text", tally.error)] if tally.error else []
    known = tally.titles
    inside = [
        item.title if isinstance(item, Group) else known.get(item) or name_in(frame, item) for item in group.items
    ]
    details.append(Detail("Inside", "text", ", ".join(inside)))
    if len(inside) < len(tally.states) == tally.count:  # else these are the nodes themselves, or there are more to come
        operations = [f"{name} {count:,}" for name, count in tally.operations.most_common()]
        details.append(Detail("Operations", "text", ", ".join(operations)))
    name = (group.names or (group.id,))[0]
    details.append(Detail("To open it in place", "code", f'trace.show("graph", open=[{name!r}])'))
    return Box(group.id, "group", group.title, tuple(filter(None, lines)), tally.state, details=tuple(details))


def _several(shapes: Iterable[tuple[int, ...]]) -> str:
    """`(3, 4), (3,)`, as far as half a line has room."""
    first, *others = map(str, shapes)
    if others and columns(", ".join([first, *others])) > TEXT_COLUMNS // 2 - 2:
        return f"{first}, …"
    return ", ".join([first, *others])


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
_FEW = 32  # edges whose gradients are added, value by value, whenever one has changed


def total_of(grads: Sequence[Value]) -> Value | None:
    """The sum, if all values are known."""
    arrays = [np.array(grad.values).reshape(grad.shape) for grad in grads if grad.values is not None]
    if len(arrays) < len(grads) or len({array.shape for array in arrays}) > 1:
        return None
    with np.errstate(all="ignore"):
        return Value.of(np.sum(arrays, axis=0))


def norms_of(frame: Frame, bundle: Bundle) -> str:
    """The norm of all that goes along these edges: gradients for one value add up."""
    traffic = bundle.total
    together = f"{traffic.norms} in {traffic.moved:,}" if traffic.moved > 1 else traffic.norms
    if len(bundle.keys) > _FEW:
        return together
    places: dict[tuple[str, int], list[Value]] = {}
    for edge in [frame.edges[key] for key in bundle.keys]:
        if edge.state != "idle" and edge.grad is not None:
            places.setdefault((edge.source, edge.output_nr), []).append(edge.grad)
    sums = [grads[0] if len(grads) == 1 else total_of(grads) for grads in places.values()]
    known = [total for total in sums if total is not None]
    if len(known) < len(sums):
        return together
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
        self.flowing: dict[str, None] = {}
        self._rows: list[list[Traffic]] = [[]]  # of the edges, of pairs of them, of pairs of these …

    @property
    def total(self) -> Traffic:
        """That of all edges."""
        return self._rows[-1][0] if self.keys else Traffic()

    def note(self, key: str, edge: EdgeState) -> None:
        """An edge is there, or has changed."""
        place = self.keys.setdefault(key, len(self.keys))
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
