"""The records of calls: hooks, the methods of a custom Function line by line, and function transforms."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Annotated, Any

from .formulas import formula_of, methods_of, name_of
from .frame import Frame, Key, OperationState
from .listing import Spot, read_spot
from .records import Located, NodeCreated
from .schema import Argument, Building, Code, Known, Record, SourceLine, TensorSeen, asks, by, kind_of_event
from .source import file_of, source, source_lines
from .values import Value, read, said, series

if TYPE_CHECKING:
    from .reader import Reader


Held = tuple[str, Any, str]  # a variable's name, the copy of an array, or a text
Level = Annotated[str, asks("id", "l")]
Call = Annotated[str, asks("id", "m")]


@dataclass(frozen=True, slots=True)
class Hook:
    """A function of the user's: of what kind, on which output of a node, its name, and the line it is defined in.

    It is called with a "tensor"'s gradient, "before" or "after" its node runs, or once a leaf has "accumulated";
    "retained" is what retain_grad keeps.
    """

    kind: str
    output_nr: int
    name: str
    source: SourceLine | None

    @property
    def title(self) -> str:
        """What it is, as PyTorch's own names say it."""
        return {
            "tensor": f"hook {self.name}",
            "before": f"pre-hook {self.name}",
            "after": f"post-hook {self.name}",
            "accumulated": f"post-accumulate hook {self.name}",
        }.get(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class Hooked:
    """The hooks at one place: a node, or a leaf."""

    node: str
    hooks: tuple[Hook, ...]


def _hook(hook: tuple[Any, ...]) -> Hook:
    kind, output_nr, name, line = hook
    return Hook(kind, output_nr, name, source(line))


def _hooked(at: Reader, places: tuple[Any, ...]) -> tuple[Hooked, ...]:
    return tuple([Hooked(at.ids[place], tuple([_hook(each) for each in hooks])) for place, hooks in places])


@kind_of_event
@dataclass(frozen=True, slots=True)
class HooksFound(Record):
    """Hooks that were registered, or removed, since they were last looked for."""

    places: Annotated[tuple[Hooked, ...], _hooked]

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Each place has these hooks, and no others."""
        for hooked in self.places:
            frame.place(hooked.node).hooks = hooked.hooks
            frame.touch(frame.key(hooked.node))


@kind_of_event
@dataclass(frozen=True, slots=True)
class HookRan(Record):
    """A hook was called: what it was given, and what went on in the place of that."""

    task: Known
    node: Known
    hook: Annotated[Hook, by(_hook)]
    before: tuple[Value | None, ...]
    after: tuple[Value | None, ...]

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it: it is told with the run of its node."""
        return True

    @property
    def late(self) -> bool:
        """Whether it came after its node had run."""
        return self.hook.kind in ("after", "accumulated")

    @property
    def changed(self) -> bool:
        """Whether it changed anything; nan is equal to nan."""
        return self.before != self.after and repr(self.before) != repr(self.after)

    def apply(self, frame: Frame) -> None:
        """Note what it did; after an accumulation it may have changed the leaf's `.grad`."""
        place = frame.place(self.node)
        if self.hook.kind == "accumulated" and self.node in frame.tensors:
            frame.tensors[self.node].grad = self.after[0] if self.after else None
            frame.touch_tensor(self.node)
        if self.changed and self.node in frame.tensors:
            made = zip(self.before[:1], self.after[:1], strict=False)
            frame.tensors[self.node].remade += tuple([(self.task, *each) for each in made])
        place.hooked += (self.sentence(frame),)
        frame.touch(frame.key(self.node))

    def sentence(self, frame: Frame) -> str:
        """Which hook made what of it."""
        kind, who = self.hook.kind, frame.output(self.node, self.hook.output_nr)
        before, after = (series([said(each) for each in grads]) or "nothing" for grads in (self.before, self.after))
        at = frame.told(self.node)
        what = {"tensor": f"on {who}", "before": f"of {at}", "after": f"of {at}"}.get(kind, f"of {who}")
        if kind == "retained":
            return f"{who}.grad keeps {after}"
        got = f"{who}'s grad " if kind == "accumulated" else ""
        if self.changed:
            return f"{self.hook.title} {what} made {got}{before} into {after}"
        return f"{self.hook.title} {what} saw {got}{before}"


@dataclass(frozen=True, slots=True)
class Variable:
    """What a variable, or a part of `ctx`, holds: an array's value, or the text of anything else."""

    name: str
    value: Value | None
    text: str = ""


def _variables(held: tuple[Held, ...] | None) -> tuple[Variable, ...] | None:
    if held is None:
        return None
    return tuple([Variable(name, None if copy is None else read(copy), text) for name, copy, text in held])


Variables = Annotated[tuple[Variable, ...], by(_variables)]
Contents = Annotated[tuple[Variable, ...] | None, by(_variables)]


class Inside(Record):
    """An event that only the card of a Function tells."""

    __slots__ = ()

    @property
    def quiet(self) -> bool:
        """Whether other players do not stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """The graph stays as it is."""


@kind_of_event
@dataclass(frozen=True, slots=True)
class MethodCalled(Inside):
    """A method of a Function begins, with this source, whose first line is the file's line `first`.

    `ctx` is the one it works with (None: it sees none), `node` the node that this is, once it is in the graph.
    """

    call: str
    function: str
    method: str
    ctx: str | None
    node: str | None
    file: str
    first: int
    code: Code

    @classmethod
    def read(
        cls, at: Reader, call: int, function: str, method: str, ctx: int | None, node: int | None, code: CodeType
    ) -> MethodCalled:
        """The record, with the source of the method."""
        try:
            lines, first = source_lines(code)
        except OSError:  # typed at a prompt, or made by exec
            lines, first = [], code.co_firstlineno
        id, own = at.id(call, "m"), None if ctx is None else at.id(ctx, "c")
        text = Code(method, textwrap.dedent("".join(lines)).rstrip())
        return cls(id, function, method, own, at.place(node), file_of(code.co_filename), first, text)


@kind_of_event
@dataclass(frozen=True, slots=True)
class LineReached(Inside):
    """A line is about to run: which variables are new or changed since the line before, and which are gone.

    `ctx` is all that it holds, None where nothing of it has changed.
    """

    call: Call
    line: int
    variables: Variables
    gone: tuple[str, ...]
    ctx: Contents


@kind_of_event
@dataclass(frozen=True, slots=True)
class MethodEnded(Inside):
    """A method is over: it returned a value, or an `error` left it."""

    call: Call
    variables: Variables
    ctx: Contents
    returned: Variables
    error: str = ""


@kind_of_event
@dataclass(frozen=True, slots=True)
class LevelEntered(Building):
    """A transform begins: "grad", "jvp" or "vmap" with the size of its batch; `found` if nobody listened then."""

    level: Level
    transform: str
    number: int
    size: int | None
    found: bool
    source: Located

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


@kind_of_event
@dataclass(frozen=True, slots=True)
class LevelLeft(Building):
    """A transform is over."""

    level: Known

    def apply(self, frame: Frame) -> None:
        """It is no longer in force."""
        frame.leave(self.level)

    def sentence(self, frame: Frame) -> str:
        """That it is over."""
        return f"{frame.levels[self.level].title} is over"


@kind_of_event
@dataclass(frozen=True, slots=True)
class OperationRan(Building):
    """An operation that no node tells of ran where a transform heard of it; `op` is its id, `text` the expression."""

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
        """What was computed from what."""
        results = [frame.tensors[output] for output in self.outputs]
        given = series([f"{each.name} = " * bool(each.name) + said(each.value) for each in results])
        sizes = results[0].value.shape[: results[0].value.batch] if results else ()
        batch = f" for a batch of {' x '.join(map(str, sizes))} at once" if sizes else ""
        return f"{frame.call(self.name, self.custom, self.args)} gives {given or 'its result'}{batch}"

    @classmethod
    def read(
        cls,
        at: Reader,
        op: int,
        what: Any,
        args: tuple[Any, ...],
        tensors: tuple[Any, ...],
        outputs: tuple[int, ...],
        spot: Spot,
    ) -> OperationRan:
        """The record, with the formula of the operation, or the methods of the Function."""
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
            frame.touch(Key("tangent", output.tensor))
            if output.node is not None:
                frame.nodes[output.node].tangent_of = output.tensor
                frame.touch(Key("node", output.node))
        frame.focus = Key("tangent", self.outputs[0].tensor)

    def sentence(self, frame: Frame) -> str:
        """What they are, and what they come from."""
        moved = series([frame.called(operand.tensor) for operand in self.operands])
        found = series([said(output.value) for output in self.outputs])
        return f"the tangent of {frame.called(self.outputs[0].tensor)} is {found}, from that of {moved}"

    @classmethod
    def read(
        cls,
        at: Reader,
        what: Any,
        level: int | None,
        tensors: tuple[Any, ...],
        outputs: tuple[Any, ...],
        operands: tuple[Any, ...],
    ) -> TangentPushed:
        """The record, with how the tangent is computed."""
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


def outputs_of(event: Record) -> tuple[str, ...]:
    """The results that an operation without a node gave, or got tangents for."""
    if isinstance(event, OperationRan):
        return event.outputs
    return tuple(output.tensor for output in event.outputs) if isinstance(event, TangentPushed) else ()


def above(events: Iterable[Record]) -> dict[str, str]:
    """Of results of one level, the node or operation that tells of the same operation at a level above."""
    found: dict[str, str] = {}
    for event in events:
        if type(event) is NodeCreated:
            for seen in event.tensors:
                if seen.below and seen.node == event.node:
                    found[seen.below] = event.node
        elif type(event) is OperationRan:
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
