"""The records of a graph and its backward: nodes, tensors and writes; what is saved; gradients and failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from .assignments import function_of, operand_of, taken_of
from .facts import (
    Argument,
    Attribute,
    Called,
    Code,
    Cut,
    Edge,
    Part,
    Phase,
    Root,
    Saved,
    SourceLine,
    Tangent,
    TensorSeen,
)
from .formulas import formula_of, methods_of, name_of, text_of
from .frame import DROPOUT_MASK, EdgeState, Frame, Key, NodeState, OperationState
from .listing import Spot, read_spot
from .schema import Building, Changed, Known, Place, Reached, Reading, Record, Tensors, asks, by, kind_of_event
from .source import Line, source
from .stacks import Stack
from .values import Value, code, gradient_said, read, said, series, shortened, value

Located = Annotated[SourceLine | None, by(source)]
Texts = Annotated[tuple[Code, ...], by(lambda texts: tuple([Code(*each) for each in texts]))]
Checkpoint = Annotated[str, asks("id", "k")]


def is_slot(saved: Saved) -> bool:
    """Return True if nothing is saved, because a checkpoint will compute it again."""
    return saved.packed is not None and saved.packed.kept == "_Slot"


def tensor_of(saved: Saved) -> str | None:
    """Return the tensor to be saved, whatever is saved instead, if the trace knows it."""
    return saved.tensor or (saved.packed.tensor if saved.packed else None)


def as_kept(saved: Saved, name: str) -> str:
    """Return what is saved for a name: `x`, `a slot for x`, or `x packed by pack`."""
    if saved.packed is None:
        return name
    return f"a slot for {name}" if is_slot(saved) else f"{name} packed by {saved.packed.hook}"


def _kept(at: Reading, saved: tuple[Any, ...]) -> tuple[Saved, ...]:
    return tuple([at.saved(str(slot), *each) for slot, *each in saved])


@kind_of_event
@dataclass(frozen=True, slots=True)
class CheckpointKept(Record):
    """A checkpoint keeps tensors that no node has saved: its arguments, or what it computed `again`."""

    checkpoint: Checkpoint
    tensors: Tensors
    saved: Annotated[tuple[Saved, ...], _kept]
    again: bool

    @property
    def repeated(self) -> bool:
        """True if it was computed again; else it has arguments, maybe those of a checkpoint in such a run."""
        return self.again and all(saved.name.isdigit() for saved in self.saved)

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it: it belongs to the step of a node."""
        return True

    def apply(self, frame: Frame) -> None:
        """Note the tensors."""
        for seen in self.tensors:
            frame.see(seen)

    def sentence(self, frame: Frame) -> str:
        """Say what it does; several tensors of one run share the same words."""
        who = checkpoint_said(self.checkpoint)
        if self.again:
            return f"{who} recomputes its part" if self.repeated else f"inside that, {who} saves its arguments"
        names = [(saved, tensor_of(saved)) for saved in self.saved]
        kept = series([as_kept(saved, frame.told(known) if known else "a tensor") for saved, known in names])
        return f"{who.capitalize()} saves its arguments: {kept}" if kept else ""


@kind_of_event
@dataclass(frozen=True, slots=True)
class CheckpointDropped(Record):
    """A checkpoint lets go of one of the tensors it kept, or of everything."""

    checkpoint: Checkpoint
    name: str | None

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it: it belongs to the step of a node."""
        return True

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is."""

    def sentence(self, frame: Frame) -> str:
        """Say that a node has what it needs; the end of a checkpoint belongs to no step."""
        return "" if self.name is None else f"{checkpoint_said(self.checkpoint)} returns the recomputed tensors"


def checkpoint_said(id: str) -> str:
    """`checkpoint 1`."""
    return f"checkpoint {id.removeprefix('k')}"


DATA = "data"  # what gives a tensor other memory by `w.data = ...`
UNREPORTED = "other code"  # what writes into memory where no engine reported the write
COMPILED = " (compiled)"  # how the name of a scope ends whose operations torch.compile made
_NAMED = 8  # nodes that a sentence names
_MESSAGE = 500  # characters of an error in a sentence: as long as those of an engine are
_MOST_SENT = 12  # gradients of a node that a sentence tells all
_FIRST_SENT = 3  # and how many of more


@kind_of_event
@dataclass(frozen=True, slots=True)
class NodeCreated(Building):
    """A node joined the graph; `found` if it existed before the recording, with unknown arguments.

    A found node has an `output_count`, as not all of its outputs may be known. A custom node gets zeros if no gradient
    arrives for one of the outputs `zeros`.

    A node for a write through a view `runs` the node that recorded the write; it wasn't found then.

    A node that computes with tangents has the level that is `pushing` them, or "dual". Nodes made inside `with
    scope("a"), scope("b"):` have the scope "a/b". The `path` consists of the parts of the program that made the node,
    the outermost first; the last is the expression.
    """

    node: str
    name: str
    custom: bool
    found: bool
    edges: tuple[Edge, ...]
    args: tuple[Argument, ...]
    tensors: tuple[TensorSeen, ...]
    saved: tuple[Saved, ...]
    code: tuple[Code, ...]
    source: SourceLine | None
    pushing: str | None = None
    attributes: tuple[Attribute, ...] = ()
    scope: str | None = None
    module: str = ""  # the class of the module that the scope is a call of, where no path tells it
    output_count: int = 1
    runs: str | None = None
    zeros: tuple[int, ...] = ()
    path: tuple[Part, ...] = ()

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return self.found

    @property
    def operation(self) -> str:
        """Return what the node is the backward of: `Square` for SquareBackward, `mul` for MulBackward0."""
        return _operation(self.name, self.custom)

    def apply(self, frame: Frame) -> None:
        """Add the node, its tensors and its edges, in the order of its arguments."""
        node = frame.nodes[self.node] = NodeState(made=self, during=None if self.found else frame.working)
        for seen in self.tensors:
            frame.see(seen)
        frame.touch(Key("node", self.node))
        known, given = frame.tensors, [arg.tensor for arg in self.args]
        node.given = tuple([None if tensor is None else known[tensor].value for tensor in given])
        kept: list[Value | None] = []
        for saved in self.saved:
            kept.append(saved.value if saved.value is not None or saved.tensor is None else known[saved.tensor].value)
            if saved.tensor is not None:
                inner = bool(given) and saved.tensor not in {*given}
                frame.hold(self.node, saved.tensor, saved.version, inner)
        node.saved = tuple(kept)
        if self.runs is not None:
            frame.nodes[self.runs].run_by = self.node
        self._add_edges(frame, given)
        frame.focus = Key("node", self.node)
        frame.cursor = self.source or frame.cursor

    def _add_edges(self, frame: Frame, given: list[str | None]) -> None:
        """Add the edges in the order of the tensors that were given; a constant is led here by an edge of its own."""
        known = frame.tensors
        leading: dict[str, list[int]] = {}  # to each place, the last edge first
        for index in range(len(self.edges) - 1, -1, -1):
            if (target := self.edges[index].target) is not None:
                leading.setdefault(target, []).append(index)
        for position, id in enumerate(given):
            if id is None:
                continue
            tensor = known[id]
            maker = tensor.node or id
            if (leads := leading.get(maker)) and tensor.requires_grad:
                self._connect(frame, leads.pop())
            elif not tensor.requires_grad:
                if tensor.node is None:
                    frame.play_part(id, "constant")
                    if not (tensor.name or tensor.taken):
                        tensor.taken = self._taken(frame, tensor.base, [each for each in given if each], id)
                constant = EdgeState(maker, self.node, tensor.output_nr, "constant")
                frame.add_edge(f"{self.node}.c{position}", constant)
        for index in sorted([index for leads in leading.values() for index in leads]):
            self._connect(frame, index)

    def _taken(self, frame: Frame, base: str | None, given: list[str], id: str) -> str:
        """Return the expression of one of the tensors that were given, which no variable holds, if a line tells it."""
        if not self.path:
            return ""
        own, task = self.path[-1], frame.working
        if (called := frame.variable(base)) is not None:
            return taken_of(own.title, called)
        if task is not None:  # the line is that of the backward pass
            return ""
        if self.operation == "mul" and (_DROPPING.fullmatch(own.module) or "dropout" in function_of(own.title)):
            return DROPOUT_MASK
        at = given.index(id), len(given)
        found = operand_of(own.title, *at, self.operation, own.module) if own.kind == "expression" else ""
        return found if len(found) <= _OPERAND else ""

    def _connect(self, frame: Frame, index: int) -> None:
        edge = self.edges[index]
        assert edge.target is not None
        if edge.target not in frame.nodes:
            frame.play_part(edge.target, "leaf")
        frame.add_edge(f"{self.node}.{index}", EdgeState(edge.target, self.node, edge.output_nr))

    def sentence(self, frame: Frame) -> str:
        """Say what was computed from what, and what is saved for backward."""
        if self.found:
            return ""
        made = [seen for seen in self.tensors if seen.node == self.node]
        told = frame.told(self.node)
        results = series([results_said(told, seen.name, seen.value) for seen in made]) or "its result"
        names = [as_kept(saved, _saved_said(frame, self.node, saved)) for saved in self.saved]
        kept = series(list(dict.fromkeys(names)))
        level = next((frame.levels[seen.level].number for seen in made if seen.level is not None), None)
        joins = "" if level is None else f"joins the graph of level {level} and "
        saves = f"saves {f'{kept} for backward' if kept else 'nothing'}"
        if told in (self.name, code(self.operation)):
            joins = joins or "joins the graph and "
            call = frame.call(self.operation, self.custom, self.args)
            return f"{call} gives {results}; {self.name} {joins}{saves}"
        return f"{frame.introduced(self.node)} gives {results}; it {joins}{saves}"

    @classmethod
    def read(
        cls,
        at: Reading,
        node: int,
        name: str,
        kind: type,
        found: bool,
        edges: tuple[tuple[int | None, int], ...],
        args: tuple[Any, ...],
        tensors: tuple[Any, ...],
        saved: tuple[Any, ...],
        stack: Stack | None,
        pushing: int | None = None,
        attributes: tuple[Any, ...] = (),
        entry: Any = None,
        outputs: int = 1,
        runs: int | None = None,
        zeros: tuple[int, ...] = (),
        line: Line = None,
    ) -> NodeCreated | TensorsFound:
        """Return the record; if an earlier chapter has the node already, only its tensors.

        A node from before the recording may have its line from another record.
        """
        if found and node in at.ids:
            return TensorsFound(at.seen(tensors))
        id, seen, ids = at.id(node, "n"), at.seen(tensors), at.ids
        told = [(name, text_of(it), at.place(own), value(copy)) for name, it, own, copy in attributes]
        return cls(
            node=id,
            name=name.rpartition("::")[2],  # as grad_fn is printed, without its C++ namespace
            custom=hasattr(kind, "_forward_cls"),
            found=found,
            edges=tuple([Edge(None if to is None else ids[to], nr) for to, nr in edges]),
            args=tuple([at.argument(arg) for arg in args]),
            tensors=seen,
            saved=tuple([at.saved(*each) for each in saved]),
            code=at.code(kind),
            source=source(line) if stack is None else at.source(stack),
            pushing="dual" if pushing == 0 else at.place(pushing),
            attributes=tuple([Attribute(*each) for each in told]),
            scope=None if entry is None else entry.path,
            module=entry.kind if entry is not None and stack is None else "",
            output_count=outputs,
            runs=at.place(runs),
            zeros=zeros,
            path=() if stack is None else at.paths.path(stack, entry),
        )


_DROPPING = re.compile(r"\w*Dropout\d?d?|MultiheadAttention|RNN|LSTM|GRU")  # layers that multiply by such a mask
_OPERAND = 32  # characters of an expression that names a tensor


@cache
def _operation(name: str, custom: bool) -> str:
    if custom:
        return re.sub("(?<=.)(Generated)?Backward$", "", name)
    words = re.findall("[A-Z](?:[a-z]|[0-9]+(?:[A-Z](?![a-z]))?)*", re.sub(r"Backward(s|\d*)$", "", name))
    return "_".join(words).lower() or name


def results_said(told: str, name: str | None, value: Value) -> str:
    """Return a result with its variable, unless that is the beginning of what its operation is `told` as."""
    return said(value) if not name or told.startswith(f"`{name} = ") else f"{code(name)} = {said(value)}"


def _saved_said(frame: Frame, node: str, saved: Saved) -> str:
    """Return what a node saved: the variable that holds it, what computed it, or what the node calls it."""
    known = tensor_of(saved)
    if known is None or frame.variable(known) is not None:
        return code(frame.variable(known) or saved.name)
    if (view := frame.view_told(known)) is not None:
        return view
    if frame.tensors[known].node == node:
        return "its result"
    told = frame.told(known)
    return told if told.startswith("the result") else code(saved.name)


@kind_of_event
@dataclass(frozen=True, slots=True)
class NodesGone(Building):
    """Nodes that nothing holds any more, and with them what they had saved: a variable had another value, say."""

    nodes: tuple[str, ...]

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """They are no part of any graph."""
        for node in self.nodes:
            frame.nodes[node].gone = True
            frame.touch(Key("node", node))

    def sentence(self, frame: Frame) -> str:
        """Say how many they are, or which."""
        if len(self.nodes) < 2:
            return "" if not self.nodes else f"{frame.told(self.nodes[0])} was freed: nothing references it"
        return f"{len(self.nodes):,} nodes were freed: nothing references them"

    @classmethod
    def read(cls, at: Reading, nodes: tuple[int, ...]) -> NodesGone:
        """Return the record, without the nodes that no record has."""
        return cls(tuple([at.ids[node] for node in nodes if node in at.ids]))


@kind_of_event
@dataclass(frozen=True, slots=True)
class EventsLetGo(Building):
    """The first event of a recording that keeps only the last ones: the number of events before it."""

    count: int

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is: nothing is known of them."""

    def sentence(self, frame: Frame) -> str:
        """Say how many there were."""
        return f"{self.count:,} earlier event{' was' if self.count == 1 else 's were'} dropped"


class Unseen(Building):
    """What was not recorded. A player does not stop for it: `lost_said` says it once for all."""

    __slots__ = ()

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is: nothing is known of it."""

    def sentence(self, frame: Frame) -> str:
        """Nothing."""
        return ""


@kind_of_event
@dataclass(frozen=True, slots=True)
class EventLost(Unseen):
    """In the place of an event of the kind `lost`, which could not be recorded or speaks of what was not."""

    lost: str


@kind_of_event
@dataclass(frozen=True, slots=True)
class BackwardsUnseen(Unseen):
    """A thread ran this many backward passes while another one was recorded."""

    thread: str
    count: int


@kind_of_event
@dataclass(frozen=True, slots=True)
class EngineUnseen(Unseen):
    """Nothing was recorded, and another engine made this many nodes meanwhile."""

    engine: str
    nodes: int


@kind_of_event
@dataclass(frozen=True, slots=True)
class FailuresCaught(Building):
    """The program caught the errors before this: they did not end the recording's block."""

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is."""


def lost_said(events: Iterable[Record]) -> str:
    """Say how many events were lost and backward passes missed, in sentences without the last full stop, or nothing."""
    count, said = 0, list[str]()
    unseen: list[BackwardsUnseen] = []
    for event in events:
        count += isinstance(event, EventLost)
        if isinstance(event, BackwardsUnseen):
            unseen.append(event)
        if isinstance(event, EngineUnseen):
            made = f"PyTorch made {event.nodes:,} node{'s' * (event.nodes != 1)}, but " if event.nodes else ""
            said.append(f"{made}record() records the workbench's own engine. To record PyTorch, use record(torch)")
    was = "1 event of this recording is" if count == 1 else f"{count:,} events of this recording are"
    if count:
        they = "it" if count == 1 else "they"
        said.append(f"{was} missing, and so is anything that only {they} showed")
    if unseen:
        ran = [f"{each.thread} ran {each.count:,}" for each in unseen[:3]]
        others = f" and {len(unseen) - 3:,} other threads ran more" if len(unseen) > 3 else ""
        said.append(
            f"Backward passes that were not recorded: {', '.join(ran)}{others}. A recording follows one thread at a "
            "time; use workbench.record(torch) inside the function that each thread runs"
        )
    return ". ".join(said)


@kind_of_event
@dataclass(frozen=True, slots=True)
class TensorsFound(Building):
    """Tensors from before the recording, held by the user's variables.

    If their graph is from before the recording too, `assigned` has what the program assigns to variables of these
    names.
    """

    tensors: Tensors
    assigned: Texts = ()

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Note them as they are."""
        for seen in self.tensors:
            frame.see(seen)


@kind_of_event
@dataclass(frozen=True, slots=True)
class TensorShown(Building):
    """The user asked to see the graph of this tensor."""

    tensor: Known
    source: Located

    def apply(self, frame: Frame) -> None:
        """Apply the event: a tensor without a node is the whole graph."""
        tensor = frame.tensors[self.tensor]
        if tensor.node is None:
            frame.play_part(self.tensor, "leaf" if tensor.requires_grad else "constant")
        frame.focus = frame.key(tensor.node or self.tensor)
        frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """Say what is shown."""
        tensor = frame.tensors[self.tensor]
        if tensor.node is None:
            kind = "a leaf: gradients end here" if tensor.requires_grad else "a constant: it gets no gradient"
            return f"{code(tensor.name) if tensor.name else 'This tensor'} = {said(tensor.value)} is {kind}"
        named = f"{code(tensor.name)} = " if tensor.name else ""
        return f"The graph of {named}{said(tensor.value)}, from the leaves down"


@kind_of_event
@dataclass(frozen=True, slots=True)
class TensorWritten(Building):
    """An in-place operation wrote to a tensor; through a view, its base may come from another node: `slices`.

    For a weight that isn't stored completely, `moved` is the norm of its change so far in an optimizer's step.
    """

    tensor: Changed
    name: str
    version: int
    value: Value
    node: Place
    output_nr: int
    source: Reached = None
    slices: Place = None
    optimizer: str | None = None  # whose step this is a part of
    moved: float | None = None

    @property
    def writes(self) -> str:
        """`SGD changes`, or `mul_ writes into`: what does it."""
        return f"{self.name} writes into" if self.optimizer is None else f"{self.optimizer} changes"

    def target(self, frame: Frame) -> str:
        """Return what it writes into by the name from before: `mul_` writes into the result of exp."""
        if frame.variable(self.tensor) is None and self.node is not None and self.name.endswith("_"):
            given = [arg.tensor for arg in frame.nodes[self.node].made.args[:1]]
            if given and given[0] is not None:
                return frame.told(given[0])
        return frame.told(self.tensor)

    def phase(self, frame: Frame) -> Phase:
        """Return "update" if it writes unrecorded into a leaf that a backward pass may have given a gradient."""
        owner = frame.tensors[frame.owner(self.tensor)]
        leaf = owner.node is None and owner.requires_grad
        return frame.between if self.node is None and leaf else Building.phase(self, frame)

    def apply(self, frame: Frame) -> None:
        """Give the tensor its new value and version, and perhaps another origin.

        What shares its memory has the same version.
        """
        tensor = frame.tensors[self.tensor]
        tensor.value = self.value
        frame.count_write(self.tensor, self.version)
        frame.cursor = self.source or frame.cursor
        if self.node is not None and self.node != tensor.node:
            tensor.node, tensor.output_nr, tensor.requires_grad = self.node, self.output_nr, True
            frame.nodes[self.node].outputs[self.output_nr] = (self.tensor, self.value)
            frame.touch(Key("node", self.node))
        frame.focus = frame.key(self.slices or self.tensor)

    def sentence(self, frame: Frame) -> str:
        """Say what it is now, and which nodes had saved its earlier value."""
        what = self.target(frame)
        written = f"{self.writes} {what}: now {said(self.value)}, version {self.version}"
        if late := frame.stale_holders(self.tensor):
            few = len(late) <= _NAMED
            who = series([frame.told(node) for node in late]) if few else f"{len(late):,} nodes"
            written += f"; but {who} saved it before that"
        if self.slices is not None:
            written += f"; {frame.output(self.slices, 0)} now comes from {frame.told(self.slices)}"
        return written


@kind_of_event
@dataclass(frozen=True, slots=True)
class BackwardStarted(Record):
    """A backward pass begins; with `targets`, only what is on a path to them will run."""

    task: str
    roots: tuple[Root, ...]
    targets: tuple[str, ...] | None
    keep_graph: bool
    create_graph: bool
    source: SourceLine | None

    def apply(self, frame: Frame) -> None:
        """Deliver the seeds."""
        for root in self.roots:
            if root.node not in frame.nodes:
                frame.play_part(root.node, "leaf")
        frame.begin(self.task, [root.node for root in self.roots], self.targets)
        for root in self.roots:
            key = f"{root.node}.seed{root.output_nr}"
            frame.add_edge(key, EdgeState(root.node, None, root.output_nr, "seed"))
            frame.flow(self.task, key, root.seed)
            frame.focus = Key("edge", key)
        frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """Say where it starts and with what."""
        starts: list[str] = []
        for root in self.roots:
            starts.append(f"{frame.output(root.node, root.output_nr)} with the gradient {said(root.seed)}")
        own = self.create_graph and not frame.levels  # a transform records for the levels below, if there are any
        recorded = "; its operations are recorded as a graph of their own" if own else ""
        return f"Backward starts at {series(starts)}{recorded}"

    @classmethod
    def read(
        cls,
        at: Reading,
        task: int,
        roots: tuple[Any, ...],
        targets: tuple[int, ...] | None,
        keep_graph: Any,
        create_graph: Any,
        stack: Stack,
    ) -> BackwardStarted:
        """Return the record; later expressions belong to this backward pass."""
        line, ids, own = at.seen_at(stack), at.ids, at.id(task, "b")
        at.paths.begin(own)
        starts = tuple([Root(ids[node], nr, value(seed)) for node, nr, seed in roots])
        wanted = None if targets is None else tuple([ids[each] for each in targets])
        return cls(own, starts, wanted, bool(keep_graph), bool(create_graph), line)


@kind_of_event
@dataclass(frozen=True, slots=True)
class NodeStarted(Record):
    """A node (or a leaf's AccumulateGrad) is taken from the ready queue: one gradient per output."""

    task: Known
    node: Known
    grads: tuple[Value | None, ...]

    def apply(self, frame: Frame) -> None:
        """Mark it as running, and what ran before as done."""
        frame.start(self.node)
        frame.place(self.node).received = self.grads

    def sentence(self, frame: Frame) -> str:
        """Say what came in."""
        grads = series([frame.arrived(self.node, nr, each) for nr, each in enumerate(self.grads)])
        plural = "s" if len(self.grads) > 1 else ""
        article = f"the gradient{plural} " if any(each is not None for each in self.grads) else ""
        return f"{frame.introduced(self.node)} receives {article}{grads or 'no gradient'}"


@kind_of_event
@dataclass(frozen=True, slots=True)
class NodeFinished(Record):
    """A node returned: one gradient per edge."""

    task: Known
    node: Known
    grads: tuple[Value | None, ...]

    def apply(self, frame: Frame) -> None:
        """Let its gradients travel the edges."""
        for index, grad in enumerate(self.grads):
            if (key := f"{self.node}.{index}") in frame.edges:
                frame.flow(self.task, key, grad)

    def sentence(self, frame: Frame) -> str:
        """Say what went out, and where to."""
        return self.told(frame, frame.receiver)

    def told(self, frame: Frame, receiver: Callable[[EdgeState], str]) -> str:
        """Say the same, with other words for where it goes."""
        edges = [edge for _, edge in frame.edges_of(self.node) if edge.state == "flowing"]
        told = edges if len(edges) <= _MOST_SENT else edges[:_FIRST_SENT]
        sent = [f"{gradient_said(edge.grad)} to {receiver(edge)}" for edge in told]
        sent += [f"gradients to {len(edges) - len(told)} more"] if told is not edges else []
        return f"it sends {series(sent)}" if sent else "it sends nothing"


@kind_of_event
@dataclass(frozen=True, slots=True)
class SavedFreed(Record):
    """A node's saved tensors were freed."""

    node: Known

    def apply(self, frame: Frame) -> None:
        """Drop its saved tensors."""
        inner = frame.nodes[self.node].made.runs
        for node in (self.node,) if inner is None else (self.node, inner):
            frame.nodes[node].freed = True
            frame.touch(Key("node", node))

    def sentence(self, frame: Frame) -> str:
        """Say that it is freed, or name the slots that a checkpoint had left in its place."""
        saved = frame.nodes[self.node].made.saved
        if saved and all(map(is_slot, saved)):
            return f"its slot{'s are' if len(saved) > 1 else ' is'} freed"
        return "its saved tensors are freed"


@kind_of_event
@dataclass(frozen=True, slots=True)
class GradAccumulated(Record):
    """A leaf's `.grad` is new."""

    task: Known
    tensor: Changed
    grad: Value | None

    def apply(self, frame: Frame) -> None:
        """Note the new gradient and the one it was added to."""
        frame.add_up(self.task, self.tensor, self.grad)

    def sentence(self, frame: Frame) -> str:
        """Say what the leaf's gradient is, and what it was before."""
        tensor = frame.tensors[self.tensor]
        slot = code(f"{tensor.name}.grad") if tensor.name else "its grad"
        if self.grad is None:
            return f"{slot} stays None"
        if tensor.grad_before is None:
            return f"{slot} becomes {gradient_said(self.grad)}"
        return f"{slot} was {gradient_said(tensor.grad_before)} and becomes {gradient_said(self.grad)}"


@kind_of_event
@dataclass(frozen=True, slots=True)
class GradChanged(Record):
    """A tensor's `.grad` was set, to None if it was cleared, or an in-place operation of this name wrote into it."""

    tensor: Changed
    grad: Value | None
    name: str
    source: Reached

    def phase(self, frame: Frame) -> Phase:
        """Return "update", unless a hook or a node's own backward does it."""
        return frame.between

    @property
    def clears(self) -> bool:
        """True if nothing is left of it."""
        return self.grad is None or self.name == "zero_"

    def apply(self, frame: Frame) -> None:
        """Give the leaf another gradient, or none."""
        tensor = frame.tensors[self.tensor]
        tensor.cleared |= tensor.grad is not None and self.grad is None
        why = "cleared since" if self.clears else f"{self.name} changed grad since" if self.name else "replaced since"
        frame.replace_grad(self.tensor, self.grad, why)
        frame.cursor = self.source or frame.cursor
        frame.focus = Key("tensor", self.tensor)

    def sentence(self, frame: Frame) -> str:
        """Say what it is now."""
        slot = frame.grad_of(self.tensor)
        if self.grad is None:
            return f"{slot} is cleared"
        if self.name == "zero_":
            return f"{slot} is cleared: zero_ makes it {said(self.grad)}"
        if self.name:
            return f"{self.name} writes into {slot}: now {said(self.grad)}"
        return f"{slot} is set to {said(self.grad)}"


@kind_of_event
@dataclass(frozen=True, slots=True)
class GradCaptured(Record):
    """A gradient was handed to the caller of `grad()` or `backward(inputs=...)`."""

    task: Known
    node: Known
    output_nr: int
    grad: Value | None

    def apply(self, frame: Frame) -> None:
        """Mark the place as having what it waited for."""
        frame.start(self.node)
        frame.hand_out(self.task, self.node)
        frame.handed.setdefault(self.node, {})[self.output_nr] = self.task, self.grad
        place = frame.place(self.node)
        if not place.received:
            node = frame.nodes.get(self.node)  # else it is a leaf, which has one output
            last = max(node.made.output_count - 1, *node.outputs, 0) if node else 0
            place.received = (None,) * min(self.output_nr, last) + (self.grad,)

    def sentence(self, frame: Frame) -> str:
        """Whose gradient it is."""
        what = frame.output(self.node, self.output_nr)
        return f"The gradient of {what}, {said(self.grad)}, is handed to the caller"


@kind_of_event
@dataclass(frozen=True, slots=True)
class BackwardFinished(Record):
    """A backward pass has ended."""

    task: str

    def apply(self, frame: Frame) -> None:
        """Stop all that runs or travels."""
        frame.finish(self.task)
        frame.focus = None

    def sentence(self, frame: Frame) -> str:
        """Say that it has ended."""
        return "Backward pass finished"

    @classmethod
    def read(cls, at: Reading, task: int) -> BackwardFinished:
        """Return the record; later expressions belong to no backward pass."""
        at.paths.end(at.ids[task])
        return cls(at.ids[task])


@kind_of_event
@dataclass(frozen=True, slots=True)
class Failed(Record):
    """An error left the engine, at a node or before there was one."""

    task: str | None
    node: str | None
    error: str
    message: str
    about: tuple[str, ...] = ()  # the tensors that were refused, where no node failed
    source: SourceLine | None = None
    number: Cut | None = None  # where a number was last read of what takes gradients, as by `item()`
    off: bool = False  # whether gradients were switched off then
    called: Called | None = None  # what the engine had called then, if that raised it

    def phase(self, frame: Frame) -> Phase:
        """Return the phase: "backward" if it came while gradients traveled."""
        return "forward" if self.task is None else "backward"

    def apply(self, frame: Frame) -> None:
        """End the backward pass."""
        frame.finish(self.task)
        if self.node is not None:
            place = frame.place(self.node)
            place.state, place.error = "error", f"{self.error}: {self.message}"
            frame.touch(frame.key(self.node))
        frame.focus = None if self.node is None else frame.key(self.node)

    def sentence(self, frame: Frame) -> str:
        """Who failed, and with which words."""
        who = f"{frame.introduced(self.node)} fails with" if self.node is not None else "The engine raises"
        return f"{who} {self.error}: {shortened(self.message, _MESSAGE)}"

    @classmethod
    def read(
        cls,
        at: Reading,
        task: int | None,
        node: int | None,
        error: str,
        message: str,
        about: tuple[int, ...] = (),
        line: Line = None,
        number: tuple[Any, ...] | None = None,
        off: bool = False,
        called: Called | None = None,
    ) -> Failed:
        """Return the record, with which the backward pass ends."""
        own = None if task is None else at.id(task, "b")
        at.paths.end(own)
        known = tuple([at.ids[each] for each in about if each in at.ids])
        read_last = None if number is None else at.cut(*number)
        return cls(own, at.place(node), error, message, known, source(line), read_last, off, called)


Level = Annotated[str, asks("id", "l")]


@kind_of_event
@dataclass(frozen=True, slots=True)
class LevelEntered(Building):
    """A transform begins: "grad", "jvp" or "vmap" with its batch size; `found` if it began before the recording."""

    level: Level
    transform: str
    number: int
    size: int | None
    found: bool
    source: Located

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return self.found

    @property
    def title(self) -> str:
        """Return the level's name: `vmap of 5 (level 2)`."""
        batch = "" if self.size is None else f" of {self.size}"
        return f"{self.transform}{batch} (level {self.number})"

    def apply(self, frame: Frame) -> None:
        """Put it on top."""
        frame.levels[self.level] = self
        if not self.found:
            frame.enter(self.level)
            frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """Say that it begins."""
        return f"{self.title} begins" if not self.found else ""


@kind_of_event
@dataclass(frozen=True, slots=True)
class OperationRan(Building):
    """An operation without a node ran inside a transform; `op` is its id, `text` the expression."""

    op: str
    name: str
    custom: bool
    args: tuple[Argument, ...]
    tensors: tuple[TensorSeen, ...]
    outputs: tuple[str, ...]
    code: tuple[Code, ...]
    source: SourceLine | None
    text: str = ""

    def apply(self, frame: Frame) -> None:
        """Note its results."""
        for seen in self.tensors:
            frame.see(seen)
        frame.operations[self.op] = OperationState(made=self, during=frame.working)
        frame.results.update(dict.fromkeys(self.outputs, self.op))
        frame.focus = Key("operation", self.op)
        frame.touch(frame.focus)
        frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """Say what was computed from what."""
        results = [frame.tensors[output] for output in self.outputs]
        given = series([results_said(frame.told(self.op), each.name, each.value) for each in results])
        sizes = results[0].value.shape[: results[0].value.batch] if results else ()
        batch = f" for a batch of {' x '.join(map(str, sizes))} at once" if sizes else ""
        told = frame.told(self.op)
        told = frame.call(self.name, self.custom, self.args) if told == self.name else told
        return f"{told} gives {given or 'its result'}{batch}"

    @classmethod
    def read(
        cls,
        at: Reading,
        op: int,
        what: Any,
        args: tuple[Any, ...],
        tensors: tuple[Any, ...],
        outputs: tuple[int, ...],
        spot: Spot,
    ) -> OperationRan:
        """Return the record, with the operation's formula, or the Function's methods."""
        seen, custom = at.seen(tensors), isinstance(what, type)
        line, text = read_spot(spot)
        return cls(
            op=at.id(op, "o"),
            name=name_of(what),
            custom=custom,
            args=tuple([at.argument(arg) for arg in args]),
            tensors=seen,
            outputs=tuple([at.ids[output] for output in outputs]),
            code=methods_of(what) if custom else (Code("forward", what.shown),),
            source=line,
            text=text,
        )


@kind_of_event
@dataclass(frozen=True, slots=True)
class TangentPushed(Building):
    """The tangents of an operation's outputs were computed from those of its operands (level None: dual tensors)."""

    name: str
    level: str | None
    tensors: tuple[TensorSeen, ...]
    outputs: tuple[Tangent, ...]
    operands: tuple[Tangent, ...]
    code: tuple[Code, ...]

    def apply(self, frame: Frame) -> None:
        """Note the tangents."""
        for seen in self.tensors:
            frame.see(seen)
        for operand in self.operands:
            frame.tangents.setdefault(operand.tensor, (operand, None))
        for output in self.outputs:
            frame.tangents[output.tensor] = output, self
            frame.touch(Key("tangent", output.tensor))
            if output.node is not None:
                frame.nodes[output.node].tangent_of = output.tensor
                frame.touch(Key("node", output.node))
        frame.focus = Key("tangent", self.outputs[0].tensor)

    def sentence(self, frame: Frame) -> str:
        """Say what they are, and what they come from."""
        moved = series([frame.told(operand.tensor) for operand in self.operands])
        found = series([said(output.value) for output in self.outputs])
        return f"the tangent of {frame.told(self.outputs[0].tensor)} is {found}, from that of {moved}"

    @classmethod
    def read(
        cls,
        at: Reading,
        what: Any,
        level: int | None,
        tensors: tuple[Any, ...],
        outputs: tuple[Any, ...],
        operands: tuple[Any, ...],
    ) -> TangentPushed:
        """Return the record, with how the tangent is computed."""
        seen, custom = at.seen(tensors), isinstance(what, type)
        methods = [each for each in methods_of(what) if each.name == "jvp"] if custom else []
        return cls(
            name=name_of(what),
            level=at.place(level),
            tensors=seen,
            outputs=tuple([Tangent(at.ids[t], read(copy), at.place(node)) for t, copy, node in outputs]),
            operands=tuple([Tangent(at.ids[t], read(copy)) for t, copy in operands]),
            code=tuple(methods) if custom else (Code("tangent", formula_of(what)),),
        )
