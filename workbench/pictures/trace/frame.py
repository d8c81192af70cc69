"""A frame: the graph after an event, with the state of each node, tensor and edge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from .values import ZEROS, Value, code, gradient_said

if TYPE_CHECKING:
    from .facts import Argument, Cut, Hook, Phase, SourceLine, Tangent, TensorSeen
    from .forward_records import LevelEntered, NodeCreated, OperationRan, TangentPushed


PlaceState = Literal["idle", "pending", "ready", "running", "done", "error"]
EdgeKind = Literal["gradient", "constant", "cut", "seed"]


class Key(NamedTuple):
    """What can change in a frame, and its id: of a "tangent" that of its tensor, and none of "levels".

    "focus" is whether the node of this id is in focus.
    """

    kind: Literal["node", "tensor", "operation", "tangent", "edge", "focus", "levels"]
    id: str


LEVELS = Key("levels", "")

_MOST_ARGUMENTS = 12  # tensors of a call that are all told
_FIRST = 3  # of more so many
_CUTS = 3  # places whose gradient paths end at one tensor that are all shown
DROPOUT_MASK = "dropout mask"  # what a tensor is called that no expression of the user's gave


@dataclass(slots=True, kw_only=True)
class Place:
    """Where gradients arrive: a node, or a leaf with the AccumulateGrad node that fills its `.grad`."""

    state: PlaceState = "idle"
    received: tuple[Value | None, ...] = ()  # one gradient per output, as the place was started with
    waiting: int = 0  # gradients still to come in this backward
    came: dict[str, dict[str, None]] = field(default_factory=dict)  # backward, the last to bring something -> edges
    error: str = ""
    hooks: tuple[Hook, ...] = ()
    hooked: tuple[str, ...] = ()  # what they did in this backward


@dataclass(slots=True, kw_only=True)
class NodeState(Place):
    """A node of the graph."""

    made: NodeCreated
    outputs: dict[int, tuple[str, Value]] = field(default_factory=dict)  # tensor, and its value when made
    given: tuple[Value | None, ...] = ()  # the values of its arguments when it was made, of those that are tensors
    saved: tuple[Value | None, ...] = ()
    freed: bool = False
    gone: bool = False  # nothing holds it any more
    run_by: str | None = None  # the node that runs it: of a write through a view the one that its base got by that
    during: tuple[str, int] | None = None  # the backward it was born in, and the order of derivative it belongs to
    tangent_of: str | None = None  # the tensor whose tangent it computed

    @property
    def keeps(self) -> bool:
        """Return True if it still has what it saved."""
        return not (self.freed or self.gone)


@dataclass(slots=True, kw_only=True)
class OperationState:
    """An operation without a node."""

    made: OperationRan
    during: tuple[str, int] | None = None


@dataclass(slots=True, kw_only=True)
class TensorState(Place):
    """A tensor as it is now; `role` says what it is in the graph if it has its own box there."""

    id: str
    name: str | None
    value: Value
    requires_grad: bool
    node: str | None
    output_nr: int
    grad: Value | None
    level: str | None = None
    below: str | None = None  # what it stands for, one or more levels below
    base: str | None = None  # what it is a view of, or was detached from
    cut: Cut | None = None  # where the way of its gradient ends
    taken: str = ""  # the user's expression for it, if a line tells that: `x[t]`, which took it of its base
    grad_before: Value | None = None  # what the last accumulation was added to
    brought: dict[str, None] = field(default_factory=dict)  # the edges whose gradients `grad` is the sum of
    rest: Value | None = None  # what `grad` was before the first of these, if that is known
    # Of the gradients in `grad` those that a hook changed: in which backward, and what it made of what.
    remade: tuple[tuple[str, Value | None, Value | None], ...] = ()
    cleared: bool = False  # whether a gradient that it had was ever taken away
    role: Literal["leaf", "constant"] | None = None
    held: bool = False  # whether only a module or an optimizer has it, as far as is known


@dataclass(slots=True)
class EdgeState:
    """A path from what made a value (`source`) to the node that used it; a gradient goes in the opposite direction.

    Only edges of the kind "gradient" are in `next_functions`. A "constant" brings data without a gradient path, a "cut"
    leads to such data from where the gradient path ends, and the "seed" of a backward pass comes from outside (`target`
    None) to the node it starts at.

    `kept` are the gradients that it brought to a leaf and that are part of the leaf's `.grad` now, the last one perhaps
    the edge's own; `lost` says why that isn't one of them.
    """

    source: str
    target: str | None
    output_nr: int
    kind: EdgeKind = "gradient"
    state: Literal["idle", "flowing", "done"] = "idle"
    grad: Value | None = None
    kept: tuple[Value, ...] = ()
    lost: str = ""
    task: str = ""  # the backward pass that its gradient is of

    @property
    def differentiable(self) -> bool:
        """Return True if a gradient can travel it."""
        return self.kind in ("gradient", "seed")


NONE: Mapping[str, str] = MappingProxyType({})


class Frame:
    """Nodes, tensors, edges and where the engine is; `touched` is what changed since it was last emptied.

    Ids are those of nodes (`n1`), of operations without one (`o1`), of tensors (`t1`), which a tangent has too, and of
    edges: `n1.0` is the first edge of node n1, `n1.c0` brings it the constant that is its first argument, `n1.seed0` a
    seed to its first output; `t1.cut` is the cut before a constant. What comes into focus or leaves it is touched if
    what draws the frame `follows` that.

    Sentences call a node by what its picture calls it, in `names`, with code in backticks; elsewhere by its own name.
    """

    def __init__(self, names: Mapping[str, str] = NONE, follows: bool = True) -> None:
        self.nodes: dict[str, NodeState] = {}
        self.tensors: dict[str, TensorState] = {}
        self.edges: dict[str, EdgeState] = {}
        self.cursor: SourceLine | None = None
        self.touched: dict[Key, None] = {}  # in order, so that pictures are the same each time
        self._focus: Key | None = None
        self.operations: dict[str, OperationState] = {}
        self.results: dict[str, str] = {}  # tensor -> the operation without a node that it is a result of
        self.tangents: dict[str, tuple[Tangent, TangentPushed | None]] = {}  # by tensor; None: they were given
        self.levels: dict[str, LevelEntered] = {}
        self.stack: tuple[str, ...] = ()  # the levels in force, the innermost last
        self.strip: list[str] = []  # the last level at each depth
        self.tasks: dict[str, str | None] = {}  # backward -> the level it runs at
        # Node or leaf -> output -> the pass that last gave the caller its gradient, and that gradient.
        self.handed: dict[str, dict[int, tuple[str, Value | None]]] = {}
        self._orders: dict[str, int] = {}  # backward -> the highest order of derivative among the nodes it ran
        self._needed: dict[str, set[str] | None] = {}  # backward -> the places it runs (None: all)
        self._versions: dict[str, int] = {}  # of memory, by the tensor that owns it
        self._owners: dict[str, str] = {}  # of memory whose own tensor is unknown: the first view of it
        self._keepers: dict[str, dict[str, int]] = {}  # tensor -> nodes that may still keep it, and from which version
        self._savers: dict[str, dict[str, int]] = {}  # the same for memory
        self._inner: set[str] = set()  # tensors that an operation has saved and was not given
        self._names, self._follows = names, follows
        self._running: Key | None = None
        self._flowing: list[str] = []

    @property
    def focus(self) -> Key | None:
        """Return what the last event was about; to be in focus, or no longer, is a change of a node."""
        return self._focus

    @focus.setter
    def focus(self, key: Key | None) -> None:
        if key != self._focus and self._follows:
            self.touch(*[Key("focus", each.id) for each in (self._focus, key) if each and each.kind == "node"])
        self._focus = key

    def key(self, id: str) -> Key:
        """Return the key of the node or tensor with this id."""
        return Key("node" if id in self.nodes else "tensor", id)

    def place(self, id: str) -> Place:
        """Return the node or tensor with this id."""
        return self.nodes[id] if id in self.nodes else self.tensors[id]

    def variable(self, id: str | None) -> str | None:
        """Return the variable that holds a tensor, if both are known."""
        if id is None:
            return None
        tensor = self.tensors[id]
        if tensor.name is None and tensor.node is not None:
            # Two tensors may be the same output: the engine keeps what an in-place operation writes over.
            return self.tensors[self.nodes[tensor.node].outputs[tensor.output_nr][0]].name
        return tensor.name

    def viewed(self, id: str | None) -> str | None:
        """Return what an unnamed tensor is called: by the variable whose memory it shows, or the line that gave it.

        `view of x`, or `(e - z).detach()`, or `dropout mask`.
        """
        base = None if id is None else self.variable(self.tensors[id].base)
        if base is not None or id is None:
            return None if base is None else f"view of {base}"
        return self.tensors[id].taken or None

    def view_told(self, id: str | None) -> str | None:
        """Return what a sentence calls it."""
        if (view := self.viewed(id)) is None or view == DROPOUT_MASK:
            return view if view is None else f"the {view}"
        return f"a view of {code(view[8:])}" if view.startswith("view of ") else code(view)

    def call(self, name: str, custom: bool, args: Iterable[Argument]) -> str:
        """Return an operation or a Function as it was called; of very many tensors, only the first and last."""
        args = list(args)
        words = {a.tensor: self.called(a.tensor) for a in args if a.tensor is not None}
        texts = [a.text if a.tensor is None else (a.text or "{}").replace("{}", words[a.tensor]) for a in args]
        if len(words) > _MOST_ARGUMENTS:
            last = max([at for at, arg in enumerate(args) if arg.tensor is not None])
            texts[_FIRST:last] = ["…"]
        return f"{name}{'.apply' if custom else ''}({', '.join(texts)})"

    @property
    def inside(self) -> str:
        """Return the levels in force: `grad (level 1) › vmap of 5 (level 2)`."""
        return " › ".join(self.levels[level].title for level in self.stack)

    @property
    def between(self) -> Phase:
        """Return the phase of changes to leaves: before the first backward pass, they aren't updates from gradients."""
        return "backward" if self.working is not None else "update" if self.tasks else "forward"

    @property
    def working(self) -> tuple[str, int] | None:
        """Return the innermost backward pass in progress, and the order of derivative that it computes."""
        task = next(reversed(self._orders), None)
        return None if task is None else (task, self._orders[task] + 1)

    def called(self, id: str) -> str:
        """Return the same as `told` for a label or a heading: without backticks."""
        return self.describe(id).replace("`", "")

    def describe(self, id: str) -> str:
        """Return what a sentence calls a node, an operation or a tensor: the title of its box, or its variable."""
        if id in self._names:
            return self._names[id]
        if id in self.nodes:
            return self.nodes[id].made.name
        if id in self.operations:
            return self.operations[id].made.name
        if (name := self.variable(id)) is not None:
            return code(name)
        tensor = self.tensors[id]
        if (maker := tensor.node or self.results.get(id)) is not None:
            made = self.nodes[maker].made.operation if maker in self.nodes else self.operations[maker].made.name
            told = self._names.get(maker, made)
            return f"the result of {told if '`' in told else made}"
        if tensor.below is not None:
            return self.describe(tensor.below)
        leaf = tensor.role == "leaf"
        if not leaf and (view := self.view_told(id)) is not None:  # perhaps one whose node is not known
            return view
        if leaf or tensor.requires_grad:
            return "an unnamed leaf"
        if tensor.role is None and id in self._inner:
            return "a tensor from inside forward"
        return "a constant" if tensor.level is None else "an input"

    def grad_of(self, id: str) -> str:
        """Return what a sentence calls a tensor's gradient: `w.grad` in backticks, or `an unnamed leaf's grad`."""
        told = self.describe(id)
        return code(f"{told.strip('`')}.grad") if told.startswith("`") else f"{told}'s grad"

    def introduced(self, id: str) -> str:
        """Return the same with the name that PyTorch has for the node, for the first time that a sentence tells it."""
        told = self.describe(id)
        own = self.nodes[id].made.name if id in self.nodes else ""
        return f"{told} ({own})" if own and own not in told else told

    def arrived(self, id: str, nr: int, grad: Value | None) -> str:
        """Describe the gradient that arrived for an output, or say that none did, and what its node gets then."""
        gets_zeros = grad is None and id in self.nodes and nr in self.nodes[id].made.zeros
        return ZEROS if gets_zeros else gradient_said(grad)

    def receiver(self, edge: EdgeState) -> str:
        """Return where a gradient goes, and for which output of a node that has several."""
        which = f" (output {edge.output_nr})" if len(getattr(self.place(edge.source), "outputs", ())) > 1 else ""
        return self.describe(edge.source) + which

    def scope(self, id: str) -> str | None:
        """Return the scope that a node was made in; a leaf belongs to none."""
        return self.nodes[id].made.scope if id in self.nodes else None

    def output(self, id: str, nr: int) -> str:
        """Return what a sentence calls a node's output, or a leaf."""
        outputs = self.nodes[id].outputs if id in self.nodes else {}
        name = self.variable(outputs[nr][0]) if nr in outputs else None
        return self.describe(id) if name is None else code(name)

    def stale(self, node: str, index: int) -> bool:
        """Return True if the node's saved tensor was written after it was saved."""
        saved = self.nodes[node].made.saved[index]
        return saved.tensor is not None and self.version(saved.tensor) > saved.version

    def stale_holders(self, tensor: str) -> list[str]:
        """Return the nodes that saved a tensor, or one that shares its memory, and still hold it after a write."""
        owner = self.owner(tensor)
        keeping = self._keeping(self._savers.get(owner, {}))
        stale = [node for node, version in keeping.items() if version < self._versions[owner]]
        return [node for node in stale if self.nodes[node].run_by is None]

    def owner(self, tensor: str) -> str:
        """Return the first tensor with the same memory: the one that isn't a view, if it is known."""
        return self.tensors[tensor].base or tensor

    def version(self, tensor: str) -> int:
        """Return how often a tensor, or another one with the same memory, was written."""
        return self._versions[self.owner(tensor)]

    # What records do to a frame.

    def touch(self, *keys: Key) -> None:
        """Mark these as changed."""
        touched = self.touched
        for key in keys:
            touched[key] = None

    def see(self, seen: TensorSeen) -> None:
        """Store a tensor as it is now; it may be new or known."""
        base = seen.base
        if base is not None and base not in self.tensors:
            base = self._owners.setdefault(base, seen.id)
        base = None if base == seen.id else base
        if base is not None and base in self.tensors:
            self.tensors[base].held = False
        self._versions[base or seen.id] = seen.version
        state = self.tensors.get(seen.id)
        if state is None:
            self.tensors[seen.id] = TensorState(
                id=seen.id,
                name=seen.name,
                value=seen.value,
                requires_grad=seen.requires_grad,
                node=seen.node,
                output_nr=seen.output_nr,
                grad=seen.grad,
                level=seen.level,
                below=seen.below,
                base=base,
                cut=seen.cut,
            )
        else:
            state.held = False
            if state.node != seen.node:
                self.touch_tensor(seen.id)  # which another node has made until now
            state.name, state.value, state.requires_grad = seen.name, seen.value, seen.requires_grad
            state.node, state.output_nr, state.grad = seen.node, seen.output_nr, seen.grad
            state.level, state.below, state.base, state.cut = seen.level, seen.below, base, seen.cut
        if seen.node is not None:
            self.nodes[seen.node].outputs.setdefault(seen.output_nr, (seen.id, seen.value))
        self.touch_tensor(seen.id)

    def touch_tensor(self, id: str) -> None:
        """Mark a tensor as changed, and the nodes that made it or still save it, because they show it."""
        self.touched[Key("tensor", id)] = None
        if (keepers := self._keepers.get(id)) is not None:
            self._touch_nodes(self._keeping(keepers))
        if (node := self.tensors[id].node) is not None:
            self.touched[Key("node", node)] = None

    def _touch_nodes(self, ids: Iterable[str]) -> None:
        self.touch(*[Key("node", id) for id in ids])

    def touch_edges(self, ids: Iterable[str]) -> None:
        """Mark these edges as changed."""
        self.touch(*[Key("edge", id) for id in ids])

    def count_write(self, tensor: str, version: int) -> None:
        """Count a write to a tensor and to all that share its memory: what nodes saved of them is out of date."""
        owner = self.owner(tensor)
        self._versions[owner] = version
        self.touch_tensor(tensor)
        self._touch_nodes(self._keeping(self._savers.get(owner, {})))

    def hold(self, node: str, tensor: str, version: int, inner: bool) -> None:
        """Store that a node saved a tensor at a version; an `inner` tensor wasn't one of its inputs."""
        for keepers in (self._keepers.setdefault(tensor, {}), self._savers.setdefault(self.owner(tensor), {})):
            keepers[node] = min(version, keepers.get(node, version))
        if inner:
            self._inner.add(tensor)

    def _keeping(self, keepers: dict[str, int]) -> dict[str, int]:
        """Return the nodes among these that still hold what they saved; the others are visited once."""
        for node in [node for node in keepers if not self.nodes[node].keeps]:
            del keepers[node]
        return keepers

    def play_part(self, tensor: str, role: Literal["leaf", "constant"]) -> None:
        """Let a tensor have its own box in the graph; once it is a leaf, it stays a leaf."""
        state = self.tensors[tensor]
        state.held = False
        if state.role != "leaf":
            state.role = role
        self.touch(Key("tensor", tensor))
        cut = state.cut
        if cut is None or cut.node is None or state.role != "constant":
            return
        few = cut.others if len(cut.others) < _CUTS else ()  # of a whole model, one of its parameters stands for all
        for at, end in enumerate((cut.node, *few)):
            leaf = self.tensors.get(end)
            if end in self.nodes or (leaf is not None and not leaf.held):
                key, nr = (f"{tensor}.cut{at}", 0) if at else (f"{tensor}.cut", cut.output_nr)
                self.add_edge(key, EdgeState(end, tensor, nr, "cut"))

    def enter(self, level: str) -> None:
        """Put a level on top."""
        self.strip[len(self.stack) :] = [level]
        self.stack += (level,)
        self.touch(LEVELS)

    def leave(self, level: str) -> None:
        """Remove a level and all above it."""
        self.stack = self.stack[: self.stack.index(level)] if level in self.stack else self.stack
        self.touch(LEVELS)

    def add_edge(self, key: str, edge: EdgeState) -> None:
        """Add an edge, or another seed instead of the earlier one."""
        self.edges[key] = edge
        self.touch(Key("edge", key))

    def begin(self, task: str, roots: Iterable[str], targets: Iterable[str] | None) -> None:
        """Begin a backward pass: reset everything it can reach, and count what each place waits for."""
        self.settle()
        self._orders[task] = 0
        start = next(iter(roots))
        made = self.nodes[start].outputs.values() if start in self.nodes else ()
        self.tasks[task] = next((self.tensors[id].level for id, _ in made), None)
        reached = dict.fromkeys(roots)
        stack = list(reached)
        uses: dict[str, list[str]] = {}
        nodes, touched = self.nodes, self.touched
        while stack:
            id = stack.pop()
            place = self.place(id)
            self.touch_last(place)
            place.state, place.received, place.error, place.waiting, place.hooked = "idle", (), "", 0, ()
            if len(self._orders) == 1:  # another, inside of which this one runs, goes on after it
                place.came = {}
            touched[self.key(id)] = None
            if id not in nodes:
                continue
            for key, edge in self.edges_of(id):
                edge.state, edge.grad, edge.lost = "idle", None, ""
                touched[Key("edge", key)] = None
                uses.setdefault(edge.source, []).append(id)
                if edge.source not in reached:
                    reached[edge.source] = None
                    stack.append(edge.source)
        for id, users in uses.items():
            self.place(id).waiting = len(users)
        needed = None
        if targets is not None:
            needed = set(targets)
            stack = list(needed)
            while stack:
                for user in uses.get(stack.pop(), ()):
                    if user not in needed:
                        needed.add(user)
                        stack.append(user)
        self._needed[task] = needed

    def arrivals(self, id: str) -> list[EdgeState]:
        """Return the edges that brought gradients to a place in its last backward pass, in order of arrival."""
        return [self.edges[key] for key in self.came_to(id)][::-1]

    def came_to(self, id: str) -> Iterator[str]:
        """Yield the keys of these edges, the last one first: a caller who wants few needn't look at very many."""
        for keys in reversed(self.place(id).came.values()):
            came = False
            for key in reversed(keys):
                if self.edges[key].state != "idle":
                    came = True
                    yield key
            if came:
                return

    def touch_last(self, place: Place) -> None:
        """Mark the last edge to a place as changed, because it shows the sum of all that arrived there."""
        if not place.came:
            return
        last = next((next(reversed(keys)) for keys in reversed(place.came.values()) if keys), None)
        if last is not None:
            self.touched[Key("edge", last)] = None

    def edges_of(self, node: str) -> list[tuple[str, EdgeState]]:
        """Return the differentiable edges of a node with their keys, in the order of `next_functions`."""
        edges = self.edges
        keys = [f"{node}.{at}" for at, edge in enumerate(self.nodes[node].made.edges) if edge.target is not None]
        return [(key, edges[key]) for key in keys if key in edges]

    def flow(self, task: str, key: str, grad: Value | None) -> None:
        """Send a gradient along an edge, unless this backward pass doesn't need anything beyond it."""
        edge = self.edges[key]
        needed = self._needed.get(task)  # None, too, where the start of the backward was lost
        if needed is not None and edge.source not in needed:
            return
        place = self.place(edge.source)
        if edge.target is not None:
            place.waiting -= 1
        place.state = "pending" if place.waiting > 0 else "ready"
        self.touch_last(place)
        came = place.came.pop(task, {})
        came.pop(key, None)
        came[key] = None
        place.came[task] = came
        edge.grad, edge.state, edge.lost, edge.task = grad, "flowing", "", task
        self._flowing.append(key)
        self.touched[Key("edge", key)] = self.touched[self.key(edge.source)] = None

    def add_up(self, task: str, leaf: str, grad: Value | None) -> None:
        """Set a leaf's `.grad` to its new value, after a gradient from this backward pass was added."""
        tensor = self.tensors[leaf]
        if not tensor.brought:
            tensor.rest = tensor.grad
        for key in tensor.came.get(task, ()):
            edge = self.edges[key]
            if edge.grad is not None and edge.target is not None:
                edge.kept += (edge.grad,)
                tensor.brought[key] = None
        tensor.grad_before, tensor.grad = tensor.grad, grad
        self.touch_tensor(leaf)

    def replace_grad(self, leaf: str, grad: Value | None, why: str) -> None:
        """Set a leaf's `.grad` to a value that is no longer the sum of what arrived."""
        tensor = self.tensors[leaf]
        for key in tensor.brought:
            edge = self.edges[key]
            edge.kept, edge.lost = (), edge.lost or why
        self.touch_edges(tensor.brought)
        tensor.brought, tensor.remade = {}, ()
        tensor.grad_before, tensor.grad = tensor.grad, grad
        self.touch_tensor(leaf)

    def hand_out(self, task: str, id: str) -> None:
        """Give what arrived at a leaf in this backward pass to the caller, not to its `.grad`."""
        if id in self.tensors:
            tensor = self.tensors[id]
            tensor.remade = tuple([each for each in tensor.remade if each[0] != task])
            came = tensor.came.get(task, {})
            for key in came:
                self.edges[key].lost = "handed to the caller"
            self.touch_edges(came)

    def start(self, id: str) -> None:
        """Mark a place as the one that the engine is working on."""
        self.settle()
        node = self.nodes.get(id)
        if node is not None and self._orders:
            task, order = next(reversed(self._orders)), 1 if node.during is None else node.during[1]
            self._orders[task] = max(self._orders[task], order)
        place = self.tensors[id] if node is None else node
        place.state = "running"
        self.touch_last(place)
        self._running = self.focus = key = self.key(id)
        self.touched[key] = None

    def finish(self, task: str | None) -> None:
        """End a backward pass."""
        self.settle()
        if task is not None:
            self._orders.pop(task, None)

    def settle(self) -> None:
        """Mark what was just happening as done."""
        for key in self._flowing:
            self.edges[key].state = "done"
            self.touched[Key("edge", key)] = None
        self._flowing = []
        if self._running is not None:
            place = self.place(self._running.id)
            if place.state == "running":
                place.state = "done"
            self.touched[self._running] = None
        self._running = None
