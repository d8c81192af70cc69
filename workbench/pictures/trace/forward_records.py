"""The records of what a program computes: nodes, tensors from before, and the operations of function transforms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from .assignments import function_of, operand_of, taken_of
from .facts import Argument, Attribute, Code, Edge, Part, Saved, SourceLine, Tangent, TensorSeen, as_kept, tensor_of
from .formulas import formula_of, methods_of, name_of, text_of
from .frame import DROPOUT_MASK, EdgeState, Frame, Key, NodeState, OperationState
from .listing import Spot, read_spot
from .schema import Building, Located, Reading, Tensors, by, kind_of_event, via_reader
from .source import Line, source
from .stacks import Stack
from .values import Value, code, format_value, read, series, value

COMPILED = " (compiled)"  # how the name of a scope ends whose operations torch.compile made
_DROPPING = re.compile(r"\w*Dropout\d?d?|MultiheadAttention|RNN|LSTM|GRU")  # layers that multiply by such a mask
_OPERAND = 32  # characters of an expression that names a tensor
Texts = Annotated[tuple[Code, ...], by(lambda texts: tuple([Code(*each) for each in texts]))]
Level = Annotated[str, via_reader("id", "l")]


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
        told = frame.describe(self.node)
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


@cache
def _operation(name: str, custom: bool) -> str:
    if custom:
        return re.sub("(?<=.)(Generated)?Backward$", "", name)
    words = re.findall("[A-Z](?:[a-z]|[0-9]+(?:[A-Z](?![a-z]))?)*", re.sub(r"Backward(s|\d*)$", "", name))
    return "_".join(words).lower() or name


def results_said(told: str, name: str | None, value: Value) -> str:
    """Return a result with its variable, unless that is the beginning of what its operation is `told` as."""
    return (
        format_value(value) if not name or told.startswith(f"`{name} = ") else f"{code(name)} = {format_value(value)}"
    )


def _saved_said(frame: Frame, node: str, saved: Saved) -> str:
    """Return what a node saved: the variable that holds it, what computed it, or what the node calls it."""
    known = tensor_of(saved)
    if known is None or frame.variable(known) is not None:
        return code(frame.variable(known) or saved.name)
    if (view := frame.view_told(known)) is not None:
        return view
    if frame.tensors[known].node == node:
        return "its result"
    told = frame.describe(known)
    return told if told.startswith("the result") else code(saved.name)


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
        given = series([results_said(frame.describe(self.op), each.name, each.value) for each in results])
        sizes = results[0].value.shape[: results[0].value.batch] if results else ()
        batch = f" for a batch of {' x '.join(map(str, sizes))} at once" if sizes else ""
        told = frame.describe(self.op)
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
        moved = series([frame.describe(operand.tensor) for operand in self.operands])
        found = series([format_value(output.value) for output in self.outputs])
        return f"the tangent of {frame.describe(self.outputs[0].tensor)} is {found}, from that of {moved}"

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
