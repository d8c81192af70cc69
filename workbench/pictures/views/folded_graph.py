"""A graph with its groups as it is drawn: a box is inside its groups, and one box represents all in a closed group."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..scene.metric import LABEL_COLUMNS, columns
from ..scene.model import Arrow, ArrowSum, Box, with_changes
from ..trace.forward_records import COMPILED
from ..trace.frame import EdgeState, Frame, Key
from ..trace.values import Value, gradient_said
from .gradient_totals import ADDED, EdgeBundle, norms_of, total_of
from .graph import Drawing, Graph
from .group_summary import GroupSummary, NodeDelta, closed_box, kept_by
from .groups import Group
from .lanes import tangent_box, tangent_in
from .links import Links
from .memory_sizes import bytes_said
from .value_display import fact, size_of

SUM = "sum of {:,}"  # gradients that a tensor received in one backward pass, at the arrow from it
_SENT = 3  # gradients that a sentence tells one by one
_ENDINGS = {"gradient": "", "constant": ".c", "cut": ".cut"}  # of the ids of arrows that stand for several edges


class DrawCache:
    """What a view draws of each key of one moment's frame, drawn once for all pictures that show it."""

    def __init__(self, view: Graph) -> None:
        self._view = view
        self._of: dict[Key, Drawing] = {}

    def forget(self) -> None:
        """Drop what is cached, because the frame is about to change."""
        self._of = {}

    def __call__(self, frame: Frame, keys: Iterable[Key]) -> Drawing:
        """Return the boxes and arrows of the frame's `keys`; callers must not change them."""
        boxes: list[Box] = []
        arrows: list[Arrow] = []
        for key in keys:
            if key not in self._of:
                self._of[key] = self._view.draw(frame, [key])
            boxes += self._of[key][0]
            arrows += self._of[key][1]
        return boxes, arrows


@dataclass(frozen=True, slots=True)
class Around:
    """Groups inside each other that have boxes: they end with the first that is `closed` and cannot be opened."""

    groups: dict[str, GroupSummary]
    told: list[str]  # those that are open or can be opened
    closed: str  # or ""; the box that stands for all in it


@dataclass(slots=True)
class _Concern:
    """What the keys of one drawing concern."""

    keys: list[Key] = field(default_factory=list)  # of what is drawn as the view draws it
    outputs: dict[str, None] = field(default_factory=dict)  # nodes in closed groups, whose outputs have boxes
    without_node: list[Key] = field(default_factory=list)  # operations, and tangents
    rows: list[str] = field(default_factory=list)  # tensors that are in a row
    merged: dict[str, None] = field(default_factory=dict)  # arrows that each stand for several edges
    groups: dict[str, None] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)  # not noted yet
    around: Around | None = None  # these


class FoldedGraph:
    """Draw the frames of one trace with the groups of `told` as boxes around their contents; others are one box.

    Each box is in the innermost group that it is part of. A group in `told` has a box too, for when a reader closes it.
    """

    def __init__(self, view: Graph, drawn: DrawCache, links: Links, told: Collection[str]) -> None:
        self._view, self._draw, self._links, self._told = view, drawn, links, told
        self._around: dict[str, Around] = {}  # a node, tensor or group
        self._inside: set[str] = set()  # edges that lie in a closed group
        self._levels = {"": Around({}, [], "")}  # around what lies in this group
        self._states: dict[str, str] = {}  # of the nodes in groups
        self._keeping: dict[str, list[tuple[str, int]]] = {}  # node in a group -> what it keeps, and the bytes
        self._gone: set[str] = set()  # nodes in groups
        self._summaries: dict[str, GroupSummary] = {}  # of the groups that stand for something, or lie around it
        self._merging: dict[str, EdgeBundle] = {}  # arrow -> the edges it stands for
        # Group -> the edges by which gradients come to it, and by which they leave it.
        self._crossing: dict[str, tuple[EdgeBundle, EdgeBundle]] = {}
        # Rows of data are no part of the flow of gradients, unless a transform takes them.
        self._draws_rows = view.transformed or not view.shows_gradients
        self._drawn: set[str] = set()
        self._brought: dict[str, list[str]] = {}  # an edge -> those that brought something to its source with it
        self._referring_to: dict[str, dict[str, None]] = {}  # a tensor -> the groups in which boxes refer to it
        self._told_there: dict[str, tuple[Any, ...]] = {}  # a tensor -> what these groups tell of it
        self._homes: dict[str, str | None] = {}  # a frame that a view draws -> the group that it lies in
        # A frame that a view draws -> the group of the same things.
        parts = [group for group in links.groups.values() if group.part and group.id in told]
        self._parts = {group.part.id: group.id for group in reversed(parts) if group.part}
        self._look: dict[str, Callable[[Frame, Key, _Concern], None]] = {
            "node": self._look_at_node,
            "tensor": self._look_at_tensor,
            "edge": self._look_at_edge,
            "operation": self._look_without_node,
            "tangent": self._look_without_node,
            "focus": self._look_at_focus,
            "levels": lambda frame, key, concern: concern.keys.append(key),
        }

    def forget(self) -> None:
        """Drop what is cached, because the frame is about to change."""
        self._draw.forget()

    def visible_box(self, id: str) -> str:
        """Return the box that shows a node, operation or tensor, or a tangent, which is where its value is."""
        tensor = tangent_in(id)
        if tensor is None:
            return self.around(id).closed or id
        own = self._view.lanes.place(tensor)
        at = self.visible_box(own)
        return id if at == own else at

    def _place(self, id: str) -> Group | None:
        group = self._links.groups.get(id)
        return group.parent if group is not None else self._links.place(id)

    def around(self, id: str) -> Around:
        """Return the groups with boxes around a node, operation, tensor or group."""
        if id not in self._around:
            self._around[id] = self._in(self._place(id))
        return self._around[id]

    def _in(self, place: Group | None) -> Around:
        inner = place.id if place is not None else ""
        seen = self._levels.get(inner)
        if seen is None:
            seen = self._in(place.parent if place is not None else None)
            if not seen.closed:
                groups = {**seen.groups, inner: self._summary(inner)}
                told = inner in self._told
                seen = Around(groups, [*seen.told, inner], "") if told else Around(groups, seen.told, inner)
            self._levels[inner] = seen
        return seen

    def path(self, id: str) -> list[Group]:
        """Return the groups around a node, tensor or group, the outermost first."""
        place = self._place(id)
        return [] if place is None else [each for each in place.path if each.id]

    def group(self, id: str) -> Group:
        """Return the group with an id."""
        return self._links.groups[id]

    def _summary(self, id: str) -> GroupSummary:
        if id not in self._summaries:
            self._summaries[id] = self._links.summary(self._links.groups[id])
        return self._summaries[id]

    def draw(self, frame: Frame, keys: Iterable[Key]) -> Drawing:
        """Return the boxes and arrows of the frame's `keys`, as they are now."""
        concern = _Concern()
        for key in dict.fromkeys(keys):
            self._look[key.kind](frame, key, concern)
        self._note(frame, concern)
        boxes, arrows = self._draw(frame, concern.keys)
        arrows = [self._referring(frame, self._with_sums(frame, arrow), arrow.target, boxes) for arrow in arrows]
        for id in concern.outputs:
            more = self._draw(frame, [Key("node", id)])
            boxes += [box for box in more[0] if box.kind == "output"]
            arrows += [with_changes(arrow, {"source": self.visible_box(id)}) for arrow in more[1]]
        for key in concern.without_node:
            self._draw_without_node(frame, key, boxes, arrows)
        for id in concern.rows if self._draws_rows else ():
            row = self._links.rows[id]
            boxes.append(row.box)
            arrows.append(row.arrow(id, self.visible_box(id)))
        for id in concern.merged:
            bundle = self._merging[id]
            boxes += self._view.lanes.input(frame, bundle.source)
            arrow, user = self._merged(frame, id), frame.edges[next(iter(bundle.keys))].target or ""
            arrows.append(arrow if bundle.entered else self._referring(frame, arrow, user, boxes))
        boxes += [self._box(frame, id) for id in concern.groups if self._summary(id).held or self._summary(id).leaves]
        boxes = self._placed(boxes)
        self._drawn.update(box.id for box in boxes)
        return boxes, [each for each in arrows if each.kind != "same" or {each.source, each.target} <= self._drawn]

    def _look_at_node(self, frame: Frame, key: Key, concern: _Concern) -> None:
        here = self.around(key.id)
        if here is not concern.around:
            self._note(frame, concern)
            concern.around = here
            concern.groups |= dict.fromkeys(here.groups)
        if here.groups:
            concern.nodes.append(key.id)
        if not here.closed:
            concern.keys.append(key)
        elif key.id in self._view.outputs and key.id not in self._links.aside:
            concern.outputs[key.id] = None

    def _look_at_tensor(self, frame: Frame, key: Key, concern: _Concern) -> None:
        id, tensor, here = key.id, frame.tensors[key.id], self.around(key.id)
        concern.groups |= dict.fromkeys(here.groups)
        if (referring := self._referring_to.get(id)) is not None:
            told = frame.called(id), tensor.value.shape, None if tensor.grad is None else tensor.grad.norm
            if self._told_there.get(id) != told:  # else very many calls would be drawn again at each of them
                self._told_there[id] = told
                concern.groups |= referring
        if tensor.role == "leaf":
            for summary in here.groups.values():
                summary.leaves[id] = math.prod(tensor.value.shape) if "." in (tensor.name or "") else 0
                summary.shares |= self._links.is_shared(id)
        if id in self._links.rows:
            concern.rows.append(id)
            for summary in here.groups.values() if tensor.role != "leaf" else ():
                summary.entering[tensor.value.shape] = None
        if not here.closed and (tensor.role is not None or id in self._view.lanes.data):
            concern.keys.append(key)

    def _look_at_edge(self, frame: Frame, key: Key, concern: _Concern) -> None:
        if key.id in self._inside:
            return
        edge = frame.edges[key.id]
        if edge.target is None:
            concern.groups |= dict.fromkeys(self._cross(frame, key.id, edge, self.around(edge.source).groups, ()))
            if self.visible_box(edge.source) == edge.source:
                concern.keys.append(key)
            elif edge.source not in self._links.aside:
                concern.outputs[edge.source] = None
            return
        own = self._view.source(edge)
        above, below = self.around(own), self.around(edge.target)
        if above is below and above.closed:
            self._inside.add(key.id)
            return
        source = self._links.reference(own, edge.target)
        sending = above.groups
        if source != own and own in self._links.again:  # it is in another call, which sent nothing of this
            sending = {group: summary for group, summary in sending.items() if group in below.groups}
        concern.groups |= dict.fromkeys(self._cross(frame, key.id, edge, sending, below.groups))
        if self._view.leads(edge) and self._view.shows(frame, edge):
            concern.groups |= dict.fromkeys(self._tell_use(frame, own, source, above.groups, below.groups))
            self._lead(key, edge, own, source, concern)

    def _lead(self, key: Key, edge: EdgeState, own: str, source: str, concern: _Concern) -> None:
        """Return an edge's arrow from `own`, or from the box `source` that refers to it, or part of one for several."""
        upper, lower = self.visible_box(source), self.visible_box(edge.target or "")
        ending = _ENDINGS[edge.kind]
        if (group := self._links.entered.get((own, edge.target or ""))) is not None:
            ends = self.visible_box(own), self.visible_box(group)
            if ends[0] != ends[1]:
                self._merge(key, edge, EdgeBundle(ends[0], entered=ends[1]), ends[1], concern)
        elif (
            upper == lower
            and source != own
            and self.visible_box(own) == own
            and f"{own}>{lower}{ending}" in self._merging
        ):
            upper = own  # what the box brings that refers to it is part of the arrow from it
        if (upper, lower) == (source, edge.target):
            concern.keys.append(key)
        elif upper != lower:
            self._merge(key, edge, EdgeBundle(upper), lower, concern)

    def _merge(self, key: Key, edge: EdgeState, bundle: EdgeBundle, lower: str, concern: _Concern) -> None:
        """Make an edge part of the arrow for a bundle's source and this box; `bundle` is used if there is none yet."""
        merged = f"{bundle.source}>{lower}{_ENDINGS[edge.kind]}"
        self._merging.setdefault(merged, bundle).note(key.id, edge)
        concern.merged[merged] = None

    def _look_without_node(self, frame: Frame, key: Key, concern: _Concern) -> None:
        own = self._view.lanes.place(key.id) if key.kind == "tangent" else key.id
        for group, summary in self.around(own).groups.items():
            summary.lift(frame, key)
            concern.groups[group] = None
        concern.without_node.append(key)

    def _look_at_focus(self, frame: Frame, key: Key, concern: _Concern) -> None:
        if not self.around(key.id).closed:
            concern.keys.append(key)

    def _note(self, frame: Frame, concern: _Concern) -> None:
        """Bring up to date what groups tell of these nodes, which lie in the same ones."""
        changed, concern.nodes = concern.nodes, []
        if not changed or concern.around is None:
            return
        states, keeping, news = self._states, self._keeping, NodeDelta()
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
                news.output = id if id in self._view.outputs else news.output
                news.operations.append(made.operation)
                if made.scope is not None:
                    news.compiled += made.scope.endswith(COMPILED)
                if node.saved and (kept := kept_by(frame, id, node)):
                    keeping[id] = kept
                    news.kept += [(owner, size, 1) for owner, size in kept]
            if node.gone and id not in self._gone:
                self._gone.add(id)
                news.gone += 1
            if (node.freed or node.gone) and id in keeping:
                news.kept += [(owner, size, -1) for owner, size in keeping.pop(id)]
            if state == "error":
                news.error = f"{node.made.name}: {node.error}"
        for summary in concern.around.groups.values():
            summary.note(news)

    def _referring(self, frame: Frame, arrow: Arrow, user: str, boxes: list[Box]) -> Arrow:
        """Add a box next to this user that refers to a tensor with many uses, and return an arrow from it."""
        own = arrow.source
        source = self._links.reference(own, user) if arrow.kind in ("edge", "constant") else own
        if source == own:
            return self._with_all(arrow) if self._links.is_shared(own) else arrow
        drawn = [*self._draw(frame, [Key("tensor", own)])[0], *self._view.lanes.input(frame, own)]
        box = next(box for box in drawn if box.id == own)
        boxes.append(Box(source, box.kind, box.title, note="as above", refers=own))
        return with_changes(arrow, {"source": source})

    def _with_all(self, arrow: Arrow) -> Arrow:
        """Return an arrow from a tensor that other boxes refer to, with the sum of what all its uses sent."""
        if arrow.state not in ("flowing", "done") or arrow.kind != "edge":
            return arrow
        count, total = (0, "") if arrow.together is None else arrow.together[:2]
        count = count if total else len(self._links.users[arrow.source])
        within = {
            group: (mine, _sum(count, total) if total and mine < count else label, *looks)
            for group, (mine, label, *looks) in (arrow.within or {}).items()
        }
        label, brief = _of_all(arrow.label, count, total), arrow.brief and _of_all(arrow.brief, count, total)
        short = (_sum(count, total) if total else brief or label, None)
        looks = {"weight": arrow.together[2], "tone": arrow.together[3]} if arrow.together is not None and total else {}
        return with_changes(arrow, {"label": label, "brief": brief, "short": short, "within": within or None} | looks)

    def _with_sums(self, frame: Frame, arrow: Arrow) -> Arrow:
        """Return an arrow with the sum of the gradients that its source got from each group around its target."""
        edge = frame.edges.get(arrow.id)
        if edge is None or edge.state == "idle" or edge.target is None or edge.grad is None or not edge.differentiable:
            return arrow
        tasks = frame.place(edge.source).came.values()
        came = [key for keys in tasks if arrow.id in keys for key in keys if frame.edges[key].state != "idle"]
        came = [key for key in came if frame.edges[key].output_nr == edge.output_nr] or self._brought.get(arrow.id, [])
        self._brought[arrow.id] = came
        within: dict[str, ArrowSum] = {}
        above = self.around(edge.source).groups
        for group in self.around(edge.target).groups if len(came) > 1 else ():
            mine = [key for key in came if group in self.around(frame.edges[key].target or "").groups]
            if group in above or not 1 < len(mine) <= ADDED or mine[-1] != arrow.id:
                continue
            grads = [grad for key in mine if (grad := frame.edges[key].grad) is not None]
            if (total := total_of(grads)) is None:
                continue
            lost = self._view.lost(frame, mine)
            weight, tone = self._view.looks(total)
            if all(frame.edges[key].lost for key in mine):
                weight, tone = 1, "faint"
            words = self._view.mark(edge.task) + size_of(total)
            within[group] = len(mine), "\n".join([words, *lost]), weight, tone, fact(total.norm)
        return with_changes(arrow, {"within": within}) if within else arrow

    def _tell_use(
        self, frame: Frame, own: str, source: str, upper: Collection[str], lower: Collection[str]
    ) -> list[str]:
        """Note at groups that a tensor is used in them: by an arrow from it, or by a box inside that refers to it.

        Those where such a box is the first of the tensor's are given back.
        """
        new: list[str] = []
        for id in lower if own in frame.tensors else ():
            if source != own and id in self.around(source).groups:
                self._summary(id).referred.setdefault(own, frame.called(own))
                known = self._referring_to.setdefault(own, {})
                new += [] if id in known else [id]
                known[id] = None
            elif id not in upper:
                self._summary(id).given.add(own)
        return new

    def _cross(
        self, frame: Frame, key: str, edge: EdgeState, upper: Collection[str], lower: Collection[str]
    ) -> list[str]:
        """Note an edge at the groups that it leads out of and into."""
        out = [group for group in upper if group not in lower]
        into = [group for group in lower if group not in upper]
        for way, groups in enumerate((out, into)):
            for id in groups:
                # What a recorded backward takes out, say of a weight, isn't what the group gives.
                if way == 0 and self._is_of_backward(frame, edge):
                    self._summary(id).differentiated = True
                elif edge.target is not None:
                    own = self._entering(frame, edge) if edge.kind == "constant" else self._view.source(edge)
                    self._summary(id).meet(frame, own, edge.output_nr, leaving=way == 0)
                if id not in self._crossing:
                    self._crossing[id] = EdgeBundle(""), EdgeBundle("")
                self._crossing[id][way].note(key, edge)
        return [*out, *into]

    def _entering(self, frame: Frame, edge: EdgeState) -> str:
        """Return what an edge brings into groups: of data that a loop takes in parts, the part."""
        whole = self._view.source(edge)
        if whole not in self._view.lanes.data:
            return whole
        sizes = [math.prod(frame.tensors[id].value.shape) for id in (whole, edge.source)]
        return whole if sizes[0] == sizes[1] else edge.source

    @staticmethod
    def _is_of_backward(frame: Frame, edge: EdgeState) -> bool:
        """Return True if a backward pass recorded what uses a value, and the program what gives it."""
        made, used = frame.nodes.get(edge.source), frame.nodes.get(edge.target or "")
        return made is not None and made.during is None and used is not None and used.during is not None

    def _draw_without_node(self, frame: Frame, key: Key, boxes: list[Box], arrows: list[Arrow]) -> None:
        """Add an operation without a node, or a tangent, and the ways to it, as far as they are in no closed group."""
        lanes = self._view.lanes
        at = self.visible_box(tangent_box(key.id) if key.kind == "tangent" else key.id)
        closed = at in self._links.groups
        drawn, ways = ([], lanes.ways(frame, key)) if closed else self._draw(frame, [key])
        ends: dict[str, None] = {}
        for way in ways:
            upper, lower = self.visible_box(way.source), self.visible_box(way.target)
            if upper == lower:
                continue
            whole = (upper, lower) == (way.source, way.target)
            arrows.append(way if whole else replace(way, id=f"{upper}>{lower}.{way.kind}", source=upper, target=lower))
            ends |= {upper: None, lower: None}
        for end in ends if closed else ():
            boxes += lanes.input(frame, end)
            tensor = tangent_in(end)
            if tensor is not None and frame.tangents[tensor][1] is None:  # it was given
                more = self._draw(frame, [Key("tangent", tensor)])
                boxes += more[0]
                arrows += more[1]
        boxes += [box for box in drawn if self.visible_box(box.id) == box.id]

    def remarks(self, frame: Frame) -> list[str]:
        """Return what the view adds to captions."""
        return self._view.remarks(frame)

    def focus(self, frame: Frame) -> str | None:
        """Return the box that the last event was about."""
        id = self._view.focus(frame)
        return None if id is None else self.visible_box(id)

    def keeps(self, id: str) -> str:
        """Return what a group saves."""
        saved = self._summary(id).saved
        return f"it saves {f'{bytes_said(saved)} for backward' if saved else 'nothing'}"

    def sent(self, frame: Frame, id: str, ran: Iterable[str]) -> list[str]:
        """Return the gradients that these nodes of a group have sent out of it, and where they go."""
        leaving: dict[tuple[str, int], list[Value | None]] = {}  # by what they are for
        ran, out = dict.fromkeys(ran), self._crossing[id][1].keys if id in self._crossing else {}
        if len(out) < len(ran):
            found = [(key, frame.edges[key]) for key in reversed(out)]
            found = [each for each in found if each[1].target in ran]
        else:
            found = [each for node in ran for each in frame.edges_of(node) if each[0] in out]
        for _, edge in found:
            if edge.state != "idle":
                leaving.setdefault((edge.source, edge.output_nr), []).append(edge.grad)
        told: dict[str, list[str]] = {}  # by who receives them
        for (source, _), grads in leaving.items():
            known = [grad for grad in grads if grad is not None]
            total = known[0] if len(known) == 1 else total_of(known) if known else None
            words = f"{len(known):,} gradients" if total is None and known else gradient_said(total)
            told.setdefault(self._name(frame, id, source), []).append(words)
        most = _SENT + (len(told) == _SENT + 1)
        said = [
            f"{words[0] if len(words) == 1 else f'{len(words):,} gradients'} to {name}"
            for name, words in [*told.items()][:most]
        ]
        return said + [f"{len(told) - most:,} more"] * (len(told) > most)

    def _holds(self, group: str, id: str) -> bool:
        return any(each.id == group for each in self.path(id))

    def receiver(self, frame: Frame, edge: EdgeState) -> str:
        """Return where a gradient goes, and the group around that, if it leads into one."""
        entered = [group for group in self.path(edge.source) if not self._holds(group.id, edge.target or "")]
        receiver, within = frame.receiver(edge), f" in {entered[0].called}" if entered else ""
        return receiver if within in receiver else receiver + within

    def _name(self, frame: Frame, sender: str, id: str) -> str:
        """Return what a gradient's receiver outside a group is called: a leaf, or the next group around a node."""
        if id in frame.tensors:
            return frame.describe(id)
        common = len([group for group in self.path(id) if self._holds(group.id, sender) or group.id == sender])
        beside = self.path(id)[common:]
        if not beside:
            return frame.describe(id)
        return beside[0].called

    def _merged(self, frame: Frame, bundle: str) -> Arrow:
        """Return one arrow for all edges that lead from one box to another."""
        edges = self._merging[bundle]
        keys, total = edges.keys, edges.total
        first = frame.edges[next(iter(keys))]
        ends = self.visible_box(self._view.source(first)), edges.entered or self.visible_box(first.target or "")
        kind = "edge" if first.differentiable else "constant"
        if first.kind == "cut":
            cuts = [arrow for key in keys for arrow in self._draw(frame, [Key("edge", key)])[1] if arrow.id == key]
            label = f"{len(cuts)} cuts" if len({arrow.label for arrow in cuts}) > 1 else cuts[0].label
            return replace(cuts[0], id=bundle, source=ends[0], target=ends[1], label=label)
        if total.largest is None:
            return Arrow(bundle, *ends, kind)
        state = "flowing" if edges.flowing else "done"
        key = total.largest
        # As the view draws it.
        looks = next(arrow for arrow in self._draw(frame, [Key("edge", key)])[1] if arrow.id == key)
        label = looks.label if looks.brief is None else looks.brief
        words, norm = norms_of(frame, edges)
        if len(keys) > 1:
            words = words and self._view.mark(edges.task) + words
            label = "\n".join(filter(None, [words, *self._view.lost(frame, keys)]))
        last = next(iter(frame.came_to(ends[0])), "") if self._links.is_shared(ends[0]) else ""
        whole = self._view.together(frame, last, frame.edges[last]) if last in keys else None
        if whole is not None and whole[1] and len(keys) < whole[0]:
            label = _sum(*whole[:2])
        own = {"id": bundle, "source": ends[0], "target": ends[1], "label": label, "state": state, "norm": fact(norm)}
        if whole is not None and whole[1]:  # the label shows the sum of everything that arrived
            own |= {"weight": whole[2], "tone": whole[3]}
        return with_changes(looks, own | {"together": None, "brief": None, "short": None})

    def _box(self, frame: Frame, id: str) -> Box:
        came, went = self._crossing.get(id, (EdgeBundle(""), EdgeBundle("")))
        return closed_box(frame, self._summary(id), came, went, self._view)

    def _placed(self, boxes: list[Box]) -> list[Box]:
        """Place each box in the innermost group that it is part of; the frame of such a part is then not drawn."""
        for at, box in enumerate(boxes):
            tensor = tangent_in(box.id)
            home = box.id if tensor is None else self._view.lanes.place(tensor)
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


def _sum(count: int, total: str) -> str:
    return f"{total}\n{SUM.format(count)}"


def _of_all(label: str, count: int, total: str) -> str:
    """Return the label of an arrow that brought one of many gradients for a tensor: their sum, if known, comes first.

    It is what the tensor's `.grad` tells. What this arrow brought comes after it.
    """
    lines = label.split("\n") if label else []
    number = next((n for n, each in enumerate(lines, 1) if "norm " in each), 1)
    own = lines[:number]
    if not total:
        return "\n".join([*own, f"1 of {count:,} uses", *lines[number:]])
    beside = f"{SUM.format(count)}; here {' '.join(own)}"
    told = (
        [beside] if own and columns(beside) <= LABEL_COLUMNS else [SUM.format(count), *[f"here {each}" for each in own]]
    )
    return "\n".join([total, *told, *lines[number:]])
