"""The records of user code that was called: hooks, and the methods of a custom Function line by line."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from .frame import Frame
from .schema import Code, Record, SourceLine, kind_of_event
from .source import Line, file_of, source, source_lines
from .values import Value, read, said, series, values

if TYPE_CHECKING:
    from .reader import Reader

Held = tuple[str, Any, str]  # a variable's name, the copy of an array, or a text


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


@kind_of_event
@dataclass(frozen=True, slots=True)
class HooksFound(Record):
    """Hooks that were registered, or removed, since they were last looked for."""

    places: tuple[Hooked, ...]

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it."""
        return True

    def apply(self, frame: Frame) -> None:
        """Each place has these hooks, and no others."""
        for hooked in self.places:
            frame.place(hooked.node).hooks = hooked.hooks
            frame.touch(hooked.node)

    class Raw(NamedTuple):
        """It as it is put down."""

        places: tuple[Any, ...]

        def read(self, at: Reader) -> HooksFound:
            """The record."""
            found = [(at.ids[place], tuple([_hook(*each) for each in hooks])) for place, hooks in self.places]
            return HooksFound(tuple([Hooked(*each) for each in found]))


@kind_of_event
@dataclass(frozen=True, slots=True)
class HookRan(Record):
    """A hook was called: what it was given, and what went on in the place of that."""

    task: str
    node: str
    hook: Hook
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
        frame.touch(self.node)

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

    class Raw(NamedTuple):
        """It as it is put down."""

        task: int
        node: int
        hook: tuple[Any, ...]
        before: tuple[Any, ...]
        after: tuple[Any, ...]

        def read(self, at: Reader) -> HookRan:
            """The record."""
            task, node = at.ids[self.task], at.ids[self.node]
            return HookRan(task, node, _hook(*self.hook), values(self.before), values(self.after))


@dataclass(frozen=True, slots=True)
class Variable:
    """What a variable, or a part of `ctx`, holds: an array's value, or the text of anything else."""

    name: str
    value: Value | None
    text: str = ""


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

    class Raw(NamedTuple):
        """It as it is put down."""

        call: int
        function: str
        method: str
        ctx: int | None
        node: int | None
        code: CodeType

        def read(self, at: Reader) -> MethodCalled:
            """The record."""
            try:
                lines, first = source_lines(self.code)
            except OSError:  # typed at a prompt, or made by exec
                lines, first = [], self.code.co_firstlineno
            return MethodCalled(
                call=at.id(self.call, "m"),
                function=self.function,
                method=self.method,
                ctx=None if self.ctx is None else at.id(self.ctx, "c"),
                node=at.place(self.node),
                file=file_of(self.code.co_filename),
                first=first,
                code=Code(self.method, textwrap.dedent("".join(lines)).rstrip()),
            )


@kind_of_event
@dataclass(frozen=True, slots=True)
class LineReached(Inside):
    """A line is about to run: which variables are new or changed since the line before, and which are gone.

    `ctx` is all that it holds, None where nothing of it has changed.
    """

    call: str
    line: int
    variables: tuple[Variable, ...]
    gone: tuple[str, ...]
    ctx: tuple[Variable, ...] | None

    class Raw(NamedTuple):
        """It as it is put down."""

        call: int
        line: int
        variables: tuple[Held, ...]
        gone: tuple[str, ...]
        ctx: tuple[Held, ...] | None

        def read(self, at: Reader) -> LineReached:
            """The record."""
            ctx = None if self.ctx is None else _variables(self.ctx)
            return LineReached(at.id(self.call, "m"), self.line, _variables(self.variables), self.gone, ctx)


@kind_of_event
@dataclass(frozen=True, slots=True)
class MethodEnded(Inside):
    """A method is over: it returned a value, or an `error` left it."""

    call: str
    variables: tuple[Variable, ...]
    ctx: tuple[Variable, ...] | None
    returned: tuple[Variable, ...]
    error: str = ""

    class Raw(NamedTuple):
        """It as it is put down."""

        call: int
        variables: tuple[Held, ...]
        ctx: tuple[Held, ...] | None
        returned: tuple[Held, ...]
        error: str

        def read(self, at: Reader) -> MethodEnded:
            """The record."""
            ctx = None if self.ctx is None else _variables(self.ctx)
            id, held, returned = at.id(self.call, "m"), _variables(self.variables), _variables(self.returned)
            return MethodEnded(id, held, ctx, returned, self.error)


def _hook(kind: str, output_nr: int, name: str, line: Line) -> Hook:
    """A hook, with the text of the line it is defined in."""
    return Hook(kind, output_nr, name, source(line))


def _variables(held: tuple[Held, ...]) -> tuple[Variable, ...]:
    return tuple([Variable(name, None if copy is None else read(copy), text) for name, copy, text in held])
