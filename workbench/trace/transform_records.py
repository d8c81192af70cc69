"""What function transforms do: levels begin and end, tangents are pushed forward, a batch is run at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .frame import Frame, OperationState
from .records import NodeCreated
from .schema import Argument, Building, Code, Record, SourceLine, TensorSeen, kind_of_event
from .source import Line, formula_of, methods_of, name_of, source
from .values import Value, read, said, series

if TYPE_CHECKING:
    from .reader import Reader


@kind_of_event
@dataclass(frozen=True, slots=True)
class LevelEntered(Building):
    """A transform begins: "grad", "jvp" or "vmap" with the size of its batch; `found` if nobody listened then."""

    level: str
    transform: str
    number: int
    size: int | None
    found: bool
    source: SourceLine | None

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it."""
        return self.found

    @property
    def title(self) -> str:
        """What the level is called: `vmap of 5 (level 2)`."""
        batch = "" if self.size is None else f" of {self.size}"
        return f"{self.transform}{batch} (level {self.number})"

    def apply(self, frame: Frame) -> None:
        """It is on top."""
        frame.levels[self.level] = self
        if not self.found:
            frame.enter(self.level)
            frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """That it begins."""
        return f"{self.title} begins" if not self.found else ""

    class Raw(NamedTuple):
        """It as it is put down."""

        level: int
        transform: str
        number: int
        size: int | None
        heard: bool
        line: Line

        def read(self, at: Reader) -> LevelEntered:
            """The record."""
            id, line = at.id(self.level, "l"), source(self.line)
            return LevelEntered(id, self.transform, self.number, self.size, not self.heard, line)


@kind_of_event
@dataclass(frozen=True, slots=True)
class LevelLeft(Building):
    """A transform is over."""

    level: str

    def apply(self, frame: Frame) -> None:
        """It is no longer in force."""
        frame.leave(self.level)

    def sentence(self, frame: Frame) -> str:
        """That it is over."""
        return f"{frame.levels[self.level].title} is over"

    class Raw(NamedTuple):
        """It as it is put down."""

        level: int

        def read(self, at: Reader) -> LevelLeft:
            """The record."""
            return LevelLeft(at.ids[self.level])


@kind_of_event
@dataclass(frozen=True, slots=True)
class OperationRan(Building):
    """An operation that no node tells of ran where a transform heard of it; `op` is its id."""

    op: str
    name: str
    custom: bool
    args: tuple[Argument, ...]
    tensors: tuple[TensorSeen, ...]
    outputs: tuple[str, ...]
    code: tuple[Code, ...]
    source: SourceLine | None

    def apply(self, frame: Frame) -> None:
        """Note its results."""
        for seen in self.tensors:
            frame.see(seen)
        frame.operations[self.op] = OperationState(made=self, during=frame.working)
        frame.results.update(dict.fromkeys(self.outputs, self.op))
        frame.touch(self.op)
        frame.focus = self.op
        frame.cursor = self.source or frame.cursor

    def sentence(self, frame: Frame) -> str:
        """What was computed from what."""
        results = [frame.tensors[output] for output in self.outputs]
        given = series([f"{each.name} = " * bool(each.name) + said(each.value) for each in results])
        sizes = results[0].value.shape[: results[0].value.batch] if results else ()
        batch = f" for a batch of {' x '.join(map(str, sizes))} at once" if sizes else ""
        return f"{frame.call(self.name, self.args)} gives {given or 'its result'}{batch}"

    class Raw(NamedTuple):
        """It as it is put down."""

        op: int
        what: Any
        args: tuple[Any, ...]
        tensors: tuple[Any, ...]
        outputs: tuple[int, ...]
        line: Line

        def read(self, at: Reader) -> OperationRan:
            """The record."""
            seen, what = at.seen(self.tensors), self.what
            return OperationRan(
                op=at.id(self.op, "o"),
                name=name_of(what),
                custom=isinstance(what, type),
                args=tuple([at.argument(arg) for arg in self.args]),
                tensors=seen,
                outputs=tuple([at.ids[output] for output in self.outputs]),
                code=methods_of(what) if isinstance(what, type) else (Code("forward", what.shown),),
                source=source(self.line),
            )


@dataclass(frozen=True, slots=True)
class Tangent:
    """A tensor and its tangent; `node` computed the tangent, if it was recorded."""

    tensor: str
    value: Value
    node: str | None = None


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
            frame.touch(f"{output.tensor}.tangent")
            if output.node is not None:
                frame.nodes[output.node].tangent_of = output.tensor
                frame.touch(output.node)
        frame.focus = f"{self.outputs[0].tensor}.tangent"

    def sentence(self, frame: Frame) -> str:
        """What they are, and what they come from."""
        moved = series([frame.called(operand.tensor) for operand in self.operands])
        found = series([said(output.value) for output in self.outputs])
        return f"the tangent of {frame.called(self.outputs[0].tensor)} is {found}, from that of {moved}"

    class Raw(NamedTuple):
        """It as it is put down."""

        what: Any
        level: int | None
        tensors: tuple[Any, ...]
        outputs: tuple[Any, ...]
        operands: tuple[Any, ...]

        def read(self, at: Reader) -> TangentPushed:
            """The record."""
            seen, what = at.seen(self.tensors), self.what
            custom = isinstance(what, type)
            methods = [each for each in methods_of(what) if each.name == "jvp"] if custom else []
            return TangentPushed(
                name=name_of(what),
                level=at.place(self.level),
                tensors=seen,
                outputs=tuple([Tangent(at.ids[t], read(copy), at.place(node)) for t, copy, node in self.outputs]),
                operands=tuple([Tangent(at.ids[t], read(copy)) for t, copy in self.operands]),
                code=tuple(methods) if custom else (Code("tangent", formula_of(what)),),
            )


def outputs_of(event: Record) -> tuple[str, ...]:
    """The results that an operation without a node gave, or got tangents for."""
    if isinstance(event, OperationRan):
        return event.outputs
    return tuple(output.tensor for output in event.outputs) if isinstance(event, TangentPushed) else ()


def above(events: Iterable[Record]) -> dict[str, str]:
    """Of results of one level, the node or operation that tells of the same operation at a level above."""
    found = {}
    for event in events:
        if isinstance(event, NodeCreated):
            found.update({seen.below: event.node for seen in event.tensors if seen.node == event.node and seen.below})
        elif isinstance(event, OperationRan):
            found.update({seen.below: event.op for seen in event.tensors if seen.id in event.outputs and seen.below})
    return found


@kind_of_event
@dataclass(frozen=True, slots=True)
class OperationsUnseen(Building):
    """Inside of a function transform so many operations ran of which its engine shows nothing."""

    transform: str
    count: int

    def apply(self, frame: Frame) -> None:
        """Nothing of them is known."""

    def sentence(self, frame: Frame) -> str:
        """How many."""
        several = f"{self.count:,} operations run" if self.count > 1 else "1 operation runs"
        return f"{several} inside of {self.transform}, which cannot be seen there"

    class Raw(NamedTuple):
        """It as it is put down."""

        transform: str
        count: int

        def read(self, at: Reader) -> OperationsUnseen:
            """The record."""
            return OperationsUnseen(*self)
