"""The records of calls: hooks, the methods of a custom Function line by line, and function transforms."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Annotated, Any

from .facts import Code, Hook
from .forward_records import NodeCreated, OperationRan, TangentPushed
from .frame import Frame
from .schema import Building, Known, Reading, Record, by, kind_of_event, via_reader
from .source import file_of, source, source_lines
from .values import Value, format_value, read, series

Held = tuple[str, Any, str]  # a variable's name, the copy of an array, or a text
Call = Annotated[str, via_reader("id", "m")]


@dataclass(frozen=True, slots=True)
class Hooked:
    """The hooks at one place: a node, or a leaf."""

    node: str
    hooks: tuple[Hook, ...]


def _hook(hook: tuple[Any, ...]) -> Hook:
    kind, output_nr, name, line = hook
    return Hook(kind, output_nr, name, source(line))


def _hooked(at: Reading, places: tuple[Any, ...]) -> tuple[Hooked, ...]:
    return tuple([Hooked(at.ids[place], tuple([_hook(each) for each in hooks])) for place, hooks in places])


@kind_of_event
@dataclass(frozen=True, slots=True)
class HooksFound(Record):
    """Hooks that were registered, or removed, since they were last looked for."""

    places: Annotated[tuple[Hooked, ...], _hooked]

    @property
    def quiet(self) -> bool:
        """True if a player doesn't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Give each place these hooks, and no others."""
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
        """True if a player doesn't stop for it: it is shown with the run of its node."""
        return True

    @property
    def late(self) -> bool:
        """True if it came after its node had run."""
        return self.hook.kind in ("after", "accumulated")

    @property
    def changed(self) -> bool:
        """True if it changed anything; nan equals nan."""
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
        """Say which hook made what of it."""
        kind, who = self.hook.kind, frame.output(self.node, self.hook.output_nr)
        before, after = (
            series([format_value(each) for each in grads]) or "nothing" for grads in (self.before, self.after)
        )
        at, title = frame.describe(self.node), self.hook.title
        node = frame.nodes.get(self.node)
        if kind == "after" and node is not None and node.made.operation == MODULE_HOOKS:
            at, title = node.made.scope or "a module", f"full backward hook {self.hook.name}"
        what = {"tensor": f"on {who}", "before": f"of {at}", "after": f"of {at}"}.get(kind, f"of {who}")
        if kind == "retained":
            return f"the grad of {who} retains {after}"
        got = f"{frame.grad_of(self.node)} " if kind == "accumulated" else ""
        if self.changed:
            return f"{title} {what} changed {got}{before} to {after}"
        return f"{title} {what} saw {got}{before}"


MODULE_HOOKS = "BackwardHookFunction"  # the operation of the nodes around a module that has hooks


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
    """An event that only the card of a Function shows."""

    __slots__ = ()

    @property
    def quiet(self) -> bool:
        """True if other players don't stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is."""


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
        cls, at: Reading, call: int, function: str, method: str, ctx: int | None, node: int | None, code: CodeType
    ) -> MethodCalled:
        """Return the record, with the method's source."""
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
class LevelLeft(Building):
    """A transform is over."""

    level: Known

    def apply(self, frame: Frame) -> None:
        """Remove it from those in force."""
        frame.leave(self.level)

    def sentence(self, frame: Frame) -> str:
        """Say that it has ended."""
        return f"{frame.levels[self.level].title} ends"


def outputs_of(event: Record) -> tuple[str, ...]:
    """Return the results of an operation without a node, or those that it gave tangents to."""
    if isinstance(event, OperationRan):
        return event.outputs
    return tuple(output.tensor for output in event.outputs) if isinstance(event, TangentPushed) else ()


def above(events: Iterable[Record]) -> dict[str, str]:
    """Return, for results of one level, the node or operation that shows the same operation at a level above."""
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
    """This many operations ran inside a function transform whose engine shows nothing of them."""

    transform: str
    count: int

    def apply(self, frame: Frame) -> None:
        """Leave the graph as it is: nothing is known of them."""

    def sentence(self, frame: Frame) -> str:
        """Say how many there were."""
        several = f"{self.count:,} operations run" if self.count > 1 else "1 operation runs"
        return f"{several} inside {self.transform}, where the recording can't see them"
