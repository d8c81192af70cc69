"""Who uses each tensor of a graph, which group it is in, and which box represents it if many use it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ..scene.model import Arrow, Box
from ..trace.facts import TensorSeen
from ..trace.forward_records import NodeCreated, OperationRan
from ..trace.schema import Record
from .group_summary import GroupSummary
from .groups import Group, Program
from .lanes import Lanes, named_bases
from .node_boxes import output_id
from .skips import skips_in

_APART = 12  # named tensors up to which they stand outside of all groups: more stand where they are used
_OUTPUTS = 8  # of one node that have boxes in a graph of a Function's own
_SHARED = 4  # a tensor that is used in more places has a box beside each that refers to it
_CROWD = 8  # arrows from tensors to a loop's iterations: with more of them one leads to the loop's frame


@dataclass(slots=True)
class TensorRow:
    """Several tensors of one list or one variable, which are used inside groups: one box that they come from."""

    name: str
    items: list[TensorSeen] = field(default_factory=list)

    @property
    def box(self) -> Box:
        """Return the box that describes them all."""
        kinds = list(dict.fromkeys(seen.value.kind for seen in self.items))
        names = list(dict.fromkeys(seen.name or "" for seen in self.items))
        title = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        lines = (f"{len(self.items):,} tensors", kinds[0] if len(kinds) == 1 else "of several shapes")
        return Box(f"row.{self.name}", "constant", title, lines)

    def arrow(self, item: str, at: str) -> Arrow:
        """Return the arrow from it to the box `at`, which one of them is in."""
        return Arrow(f"row.{self.name}>{item}", f"row.{self.name}", at, "constant")


class Links:
    """Hold what is known of a graph in advance: who uses each tensor with its own box, and where that is."""

    def __init__(self, events: Iterable[Record], whole: Program, lanes: Lanes | None = None) -> None:
        self.groups = {group.id: group for group in whole.groups()}
        self.group_of: dict[str, Group] = {}  # node -> the innermost group it lies in
        for group in (whole, *self.groups.values()):
            for item in group.items:
                if isinstance(item, str):
                    self.group_of[item] = group
        self.users: dict[str, list[str]] = {}  # node or tensor -> the nodes that use it
        self._inputs: dict[str, list[str]] = {}  # node -> what it uses
        events = list(events)
        known = {seen.id: seen for event in events for seen in getattr(event, "tensors", ())}
        names = {id: seen.name for id, seen in known.items()}
        self._titles = whole.titles
        self._operations: dict[str, str] = {}
        self._gather(events, known, lanes)
        self.homes: dict[str, Group] = {}  # tensor -> the innermost group that all its users lie in
        self._references: dict[tuple[str, str], str] = {}  # (tensor, user) -> the box that stands for it there
        self.entered: dict[
            tuple[str, str], str
        ] = {}  # and the group that one arrow from the tensor leads to as a whole
        tensors = [id for id in self.users if id not in self.group_of]
        # What a person named stands outside; the parameters of a module, with a dot in their names, do not, nor does
        # what lies in the frame of a transform.
        apart = [id for id in tensors if (name := names.get(id)) and "." not in name]
        apart = [id for id in apart if lanes is None or not lanes.framed(id)]
        # Nor does what the backward of a Function made a graph of.
        self.aside = {id for group in self.groups.values() if group.aside for id in group.nodes()}
        apart = [id for id in apart if not self.aside.issuperset(self.users[id])]
        self.group_of |= {output_id(id, nr): self.group_of[id] for id in self.aside for nr in range(_OUTPUTS)}
        # Nor does what only a later iteration of a loop has in a variable: that of the ones before is no longer there.
        kept = [id for id in apart if known[id].requires_grad or "[" in (names[id] or "")]
        apart = [id for id in apart if id in kept or not self._is_of_later_round(id, whole)]
        # What is behind a cut stands where it was computed.
        behind = {id: cut.node for id in tensors if (cut := known[id].cut) is not None and cut.node in self.group_of}
        apart = [id for id in apart if id not in behind]
        self.again: set[str] = set()  # parameters of modules that are called again, which are in the first call
        self.rows = self._rows([known[id] for id in apart]) if len(apart) > _APART else {}
        apart = [id for id in apart if id not in self.rows]
        # Data under one name, say of each round of a loop, stand where they are used.
        often = Counter(names[id] for id in apart if not known[id].requires_grad)
        apart = [id for id in apart if often[names[id]] < 2]
        self._crowded = self._crowds(tensors, whole)  # loops
        for id in tensors:
            stays = id in apart and len(apart) <= _APART
            made = [behind[id]] if id in behind else []
            self.homes[id] = whole if stays else self._common([*made, *self.users[id]], whole)
            self._share(id, self.users[id], whole)
        if lanes is None:
            self._let_in([id for id in tensors if not known[id].requires_grad], names, whole)
        self.rows = {id: row for id, row in self.rows.items() if self.homes[id] is not whole}
        # Parameters that a penalty uses too would all stand outside.
        outside = [id for id in tensors if "." in (names.get(id) or "") and self.homes[id] is whole]
        for id in tensors:
            self._call_again(id, whole, len(outside) > _SHARED and id in outside, "." in (names.get(id) or ""))
        beside: dict[str, list[str]] = {}
        for (_, user), box in self._references.items():
            beside.setdefault(box, []).append(user)
        self._shared = {tensor for tensor, _ in self._references}
        self.homes |= {box: self._common(users, whole) for box, users in beside.items()}

    def _gather(self, events: Iterable[Record], known: Mapping[str, TensorSeen], lanes: Lanes | None) -> None:
        """Note what each node and operation is called, and what it uses."""
        free = {seen.id for event in events for seen in getattr(event, "tensors", ()) if seen.node is None}
        at = named_bases(known.values())

        def given(event: NodeCreated | OperationRan) -> list[str]:
            tensors = [arg.tensor for arg in event.args if arg.tensor is not None]
            return [at.get(id, id) for id in tensors if id in free] if lanes is None else [*map(lanes.place, tensors)]

        for event in events:
            if isinstance(event, NodeCreated):
                self._operations[event.node] = event.operation
                self._used(event.node, [edge.target for edge in event.edges if edge.target is not None] + given(event))
            elif isinstance(event, OperationRan):
                self._operations[event.op] = event.name
                if lanes is not None and event.op in self.group_of:
                    self._used(event.op, given(event))

    def _is_of_later_round(self, id: str, whole: Group) -> bool:
        return any(group.number > 1 for group in self._common(self.users[id], whole).path)

    def _rows(self, named: Iterable[TensorSeen]) -> dict[str, TensorRow]:
        """Return the data that come in rows: `x[0]` to `x[19]`, or one variable in each iteration of a loop."""
        rows: dict[str, TensorRow] = {}
        for seen in named:
            stem = (seen.name or "").partition("[")[0]
            if not seen.requires_grad:
                rows.setdefault(stem, TensorRow(stem)).items.append(seen)
        return {seen.id: row for row in rows.values() if len(row.items) > _SHARED for seen in row.items}

    def _let_in(self, tensors: Sequence[str], names: dict[str, str | None], whole: Group) -> None:
        """Place the first unnamed tensor that a group uses outside it, if nothing else brings data into the group."""
        given = {id for id in tensors if names.get(id) is None}
        if not given:
            return
        rounds: dict[str, set[str]] = {}  # loop -> its iterations that have such tensors of their own
        for path in [self.homes[id].path for id in given]:
            for loop, turn in pairwise(path):
                if turn.number:
                    rounds.setdefault(loop.id, set()).add(turn.id)
        first: dict[str, str] = {}
        met = {""}  # outermost groups that have one of these in them
        fed: set[str] = set()
        for id in self.users:
            home = self.group_of.get(id) or self.homes[id]
            outer, inner = ("", "") if home is whole else (home.path[0].id, "".join(each.id for each in home.path[1:2]))
            # What several iterations have each is inside them: of one alone it would seem to be the only one's.
            own = id in given and any(len(rounds.get(group.id, ())) > 1 for group in home.path)
            if id in given and not own and (inner or (outer not in met and home.kind == "scope")):
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
        """Note which of these users of a tensor have a box next to them: where they are many, one in each group.

        In iterations that share their boxes these are many, or in a crowded loop: then an arrow leads to its frame.
        """
        if len(users) == 1:
            return
        common, branches = self._branches(users, whole)
        together = [branch for branch in branches if branch in self.groups and self.groups[branch].kind == "more"]
        repeats = common.id in self._crowded or any(len(branches[branch]) > _SHARED for branch in together)
        for n, (branch, inside) in enumerate(branches.items()):
            if len(branches) > _SHARED or (repeats and (n or common is not whole)):
                self._references |= {(id, user): f"{id}@{branch}" for user in inside}
            if repeats and common is not whole:
                for user in inside:
                    self.entered.setdefault((id, user), common.id)
            if len(inside) > _SHARED:
                self._share(id, inside, whole)

    def _branches(self, users: Sequence[str], whole: Group) -> tuple[Group, dict[str, list[str]]]:
        """Return the innermost group that holds all these users, and them by what they lie in there."""
        common = self._common(users, whole)
        depth = 1 if common is whole else len(common.path) + 1
        branches: dict[str, list[str]] = {}
        for user in users:
            way = [*(group.id for group in self._way(user, whole)), user]
            branches.setdefault(way[depth], []).append(user)
        return common, branches

    def _crowds(self, tensors: Iterable[str], whole: Group) -> set[str]:
        """Return the loops with too many arrows from tensors for each of their iterations to have them."""
        count = Counter[str]()
        for id in [id for id in tensors if len(self.users[id]) > 1]:
            common, branches = self._branches(self.users[id], whole)
            count[common.id] += len(branches) if common.rounds and len(branches) > 1 else 0
        return {id for id, arrows in count.items() if arrows > _CROWD}

    def _call_again(self, id: str, whole: Group, is_many: bool, is_parameter: bool) -> None:
        """Place a parameter of a one-operation module that is called several times in the first call.

        So is one of many that are used outside of their modules too, and that of a module which a loop calls.
        """
        calls = {user: self.group_of[user] for user in self.users[id]}
        groups = list({group.id: group for group in calls.values()}.values())
        is_again = all(group.single and group.scope == groups[0].scope for group in groups)
        is_again = groups[0].single and (is_again or is_many)
        if not is_again and is_parameter and len(calls) > 1:
            common, branches = self._branches(self.users[id], whole)
            is_again = common.rounds > 0 and branches.keys() <= self.groups.keys()
            calls = (
                {user: self.groups[branch] for branch, users in branches.items() for user in users} if is_again else {}
            )
            groups = list({group.id: group for group in calls.values()}.values())
        if len(groups) > 1 and is_again:
            self.homes[id] = groups[0]
            self.again.add(id)
            for user, group in calls.items():
                self._references.pop((id, user), None)
                self.entered.pop((id, user), None)
                if group is not groups[0]:
                    self._references[id, user] = f"{id}@{group.id}"

    def reference(self, tensor: str, user: str) -> str:
        """Return the box where a tensor's arrow to a user starts: its own, or with many uses, one next to the user."""
        return self._references.get((tensor, user), tensor)

    def is_shared(self, tensor: str) -> bool:
        """Return True if a tensor is used elsewhere too, next to boxes that refer to it."""
        return tensor in self._shared

    def _used(self, user: str, used: Iterable[str]) -> None:
        for id in dict.fromkeys(used):
            self.users.setdefault(id, []).append(user)
            self._inputs.setdefault(user, []).append(id)

    def _way(self, node: str, whole: Group) -> list[Group]:
        """Return the groups around a node, from the whole graph inwards."""
        return [whole, *(group for group in self.group_of[node].path if group is not whole)]

    def _common(self, nodes: Sequence[str], whole: Group) -> Group:
        paths = [self._way(node, whole) for node in nodes]
        common = whole
        for level in zip(*paths, strict=False):
            if any(group is not level[0] for group in level):
                break
            common = level[0]
        return common

    def summary(self, group: Group) -> GroupSummary:
        """Return the summary of a group with nothing in it yet."""
        row = [self._operations.get(id, "") for id in group.nodes()]
        count = len(row)
        times = next(n for n in range(count, 0, -1) if count % n == 0 and row[: count // n] * n == row)
        modules = group.kind == "scope" or any(isinstance(item, Group) and item.kind == "scope" for item in group.items)
        skips = skips_in(group.nodes(), self._operations, self._inputs) if modules else 0
        return GroupSummary(group, count, times, self._titles, skips)

    def place(self, id: str) -> Group | None:
        """Return the innermost group around a node or a tensor."""
        return self.group_of.get(id) or self.homes.get(id)
