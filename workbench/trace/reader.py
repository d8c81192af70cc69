"""Raw events read as records, and what is read of hooks and of the lines of methods."""

from __future__ import annotations

import ntpath
import re
import textwrap
from collections.abc import Sequence
from types import CodeType
from typing import Any

from .call_records import Hook, Hooked, HookRan, HooksFound, LineReached, MethodCalled, MethodEnded, Variable
from .paths import Paths, line_in
from .records import (
    BackwardFinished,
    BackwardStarted,
    CheckpointDropped,
    CheckpointKept,
    EventsLetGo,
    Failed,
    GradAccumulated,
    GradCaptured,
    GradChanged,
    NodeCreated,
    NodeFinished,
    NodesGone,
    NodeStarted,
    SavedFreed,
    TensorsFound,
    TensorShown,
    TensorWritten,
)
from .schema import Argument, Attribute, Code, Edge, Packing, Record, Root, Saved, SourceLine, TensorSeen
from .source import Stack, line_text, source_lines
from .transform_records import LevelEntered, LevelLeft, OperationRan, Tangent, TangentPushed
from .values import Value, number, read

METHODS = ("forward", "setup_context", "backward", "vjp", "jvp")

Held = tuple[str, Any, str]  # a variable's name, the copy of an array, or a text


class InsideReader:
    """The part of the reader that makes records of calls, lines and hooks."""

    def _called(
        self, call: int, function: str, method: str, ctx: int | None, node: int | None, code: CodeType
    ) -> MethodCalled:
        try:
            lines, first = source_lines(code)
        except OSError:  # typed at a prompt, or made by exec
            lines, first = [], code.co_firstlineno
        return MethodCalled(
            call=self._id(call, "m"),
            function=function,
            method=method,
            ctx=None if ctx is None else self._id(ctx, "c"),
            node=None if node is None else self._place(node),
            file=file_of(code.co_filename),
            first=first,
            code=Code(method, textwrap.dedent("".join(lines)).rstrip()),
        )

    def _reached(
        self, call: int, line: int, variables: tuple[Held, ...], gone: tuple[str, ...], ctx: tuple[Held, ...] | None
    ) -> LineReached:
        return LineReached(self._id(call, "m"), line, _variables(variables), gone, _ctx(ctx))

    def _ended(
        self,
        call: int,
        variables: tuple[Held, ...],
        ctx: tuple[Held, ...] | None,
        returned: tuple[Held, ...],
        error: str,
    ) -> MethodEnded:
        return MethodEnded(self._id(call, "m"), _variables(variables), _ctx(ctx), _variables(returned), error)

    def _hooks(self, places: tuple[Any, ...]) -> HooksFound:
        return HooksFound(tuple(Hooked(self._ids[at], tuple(hook(*each) for each in hooks)) for at, hooks in places))

    def _hook(self, task: int, node: int, which: Any, before: tuple[Any, ...], after: tuple[Any, ...]) -> HookRan:
        return HookRan(self._ids[task], self._ids[node], hook(*which), _values(before), _values(after))


def hook(kind: str, output_nr: int, name: str, line: tuple[str, int] | None) -> Hook:
    """A hook, with the text of the line it is defined in."""
    return Hook(kind, output_nr, name, source(line))


def source(line: tuple[str, int] | None) -> SourceLine | None:
    """A line of code, by the name of the file it is in."""
    if line is None:
        return None
    path, number = line
    text = line_text(path, number).strip()
    return SourceLine(file_of(path), number, text)


def file_of(path: str) -> str:
    """A file by its base name; a notebook's cells are all called `cell`."""
    cell = "ipykernel_" in path or path.startswith("<ipython-input")
    return "cell" if cell else ntpath.basename(path)


def _variables(held: tuple[Held, ...]) -> tuple[Variable, ...]:
    return tuple([Variable(name, None if copy is None else read(copy), text) for name, copy, text in held])


def _ctx(held: tuple[Held, ...] | None) -> tuple[Variable, ...] | None:
    return None if held is None else _variables(held)


def _values(copies: tuple[Any, ...]) -> tuple[Value | None, ...]:
    return tuple([None if copy is None else read(copy) for copy in copies])


class Reader(InsideReader):
    """Reads a growing list of raw tuples; `names` gives the variable of a tensor's serial number."""

    def __init__(self, names: dict[int, str]) -> None:
        self._names = names
        self._records: list[Record] = []
        self._ids: dict[int, str] = {}
        self._counts = {"n": 0, "t": 0, "b": 0, "l": 0, "o": 0, "k": 0, "c": 0, "m": 0}
        self._last: dict[str, TensorSeen] = {}
        self._code: dict[type, tuple[Code, ...]] = {}
        self._paths = Paths()
        self._later: list[Any] = []  # of the backwards still to be read, the last first: what loops' variables hold

    def read(self, raw: Sequence[tuple[Any, ...]]) -> list[Record]:
        """The records of all tuples so far."""
        news = raw[len(self._records) :]
        self._later = [each[-1] for each in reversed(news) if each[0] == "backward"]
        if self._records and self._later and self._paths.missed(self._later[-1]):
            self.__init__(self._names)  # type: ignore[misc]
            return self.read(raw)
        self._records += [self.record(each) for each in news]
        return self._records

    @property
    def read_already(self) -> int:
        """How many tuples it has read."""
        return len(self._records)

    def unlearn(self, tensors: set[int]) -> None:
        """Tell anew of all tensors but these."""
        known = {self._ids.get(serial) for serial in tensors}
        self._last = {id: seen for id, seen in self._last.items() if id in known}

    def record(self, raw: tuple[Any, ...]) -> Record:
        """The record of one tuple, those before it having been read."""
        kind, *rest = raw
        record: Record = getattr(self, f"_{kind}")(*rest)
        return record

    def _created(
        self,
        node: int,
        name: str,
        cls: type,
        found: bool,
        edges: tuple[Any, ...],
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
    ) -> NodeCreated | TensorsFound:
        if found and node in self._ids:  # an earlier chapter has told of it
            return self._found(tensors)
        id = self._id(node, "n")
        seen = self._seen(tensors)
        if cls not in self._code:
            self._code[cls] = code_of(cls)
        return NodeCreated(
            node=id,
            name=name.rpartition("::")[2],  # as grad_fn is printed, without its C++ namespace
            custom=hasattr(cls, "_forward_cls"),
            found=found,
            edges=tuple(Edge(None if to is None else self._ids[to], nr) for to, nr in edges),
            args=tuple(self._argument(arg) for arg in args),
            tensors=seen,
            saved=tuple(self._saved(*each) for each in saved),
            code=self._code[cls],
            source=self._source(stack),
            pushing="dual" if pushing == 0 else self._place(pushing),
            attributes=tuple(
                Attribute(name, text_of(thing), self._place(own), value(copy)) for name, thing, own, copy in attributes
            ),
            scope=None if entry is None else entry.path,
            output_count=outputs,
            runs=self._place(runs),
            zeros=zeros,
            path=() if stack is None else self._paths.path(stack, entry),
        )

    def _source(self, stack: Stack | None) -> SourceLine | None:
        return None if stack is None else source(line_in(stack))

    def _seen_at(self, stack: Stack) -> SourceLine | None:
        """The line of what makes no node, which tells how far the program is."""
        self._paths.see(stack)
        return self._source(stack)

    def _saved(self, slot: str, own: int | None, copy: Any, at: int, packed: tuple[Any, ...] | None = None) -> Saved:
        if packed is None:
            return Saved(slot, self._place(own), value(copy), at)
        hook, line, kept, of = packed
        return Saved(slot, None, value(copy), at, Packing(hook, source(line), kept, self._place(of)))

    def _gone(self, count: int) -> EventsLetGo:
        return EventsLetGo(count)

    def _found(self, tensors: tuple[Any, ...]) -> TensorsFound:
        return TensorsFound(self._seen(tensors))

    def _shown(self, tensor: int, line: tuple[str, int] | None) -> TensorShown:
        return TensorShown(self._ids[tensor], source(line))

    def _backward(
        self,
        task: int,
        roots: tuple[Any, ...],
        targets: tuple[int, ...] | None,
        keep_graph: bool,
        create_graph: bool,
        stack: Stack,
        loops: Any,
    ) -> BackwardStarted:
        line = self._seen_at(stack)
        if self._later:
            self._later.pop()
        self._paths.expect(loops, self._later[-1] if self._later else None)
        return BackwardStarted(
            task=self._id(task, "b"),
            roots=tuple(Root(self._ids[node], nr, value(seed)) for node, nr, seed in roots),
            targets=None if targets is None else tuple(self._ids[each] for each in targets),
            keep_graph=bool(keep_graph),
            create_graph=bool(create_graph),
            source=line,
        )

    def _run(self, task: int, node: int, grads: tuple[Any, ...]) -> NodeStarted:
        return NodeStarted(self._ids[task], self._ids[node], tuple(value(grad) for grad in grads))

    def _ran(self, task: int, node: int, grads: tuple[Any, ...]) -> NodeFinished:
        return NodeFinished(self._ids[task], self._ids[node], tuple(value(grad) for grad in grads))

    def _freed(self, node: int) -> SavedFreed:
        return SavedFreed(self._ids[node])

    def _accumulated(self, task: int, tensor: int, grad: Any) -> GradAccumulated:
        self._last.pop(self._ids[tensor], None)
        return GradAccumulated(self._ids[task], self._ids[tensor], value(grad))

    def _regraded(self, tensor: int, grad: Any, name: str, stack: Stack) -> GradChanged:
        self._last.pop(self._ids[tensor], None)
        return GradChanged(self._ids[tensor], value(grad), name, self._seen_at(stack))

    def _died(self, nodes: tuple[int, ...]) -> NodesGone:
        return NodesGone(tuple([self._ids[node] for node in nodes if node in self._ids]))

    def _captured(self, task: int, node: int, output_nr: int, grad: Any) -> GradCaptured:
        return GradCaptured(self._ids[task], self._ids[node], output_nr, value(grad))

    def _finished(self, task: int) -> BackwardFinished:
        return BackwardFinished(self._ids[task])

    def _wrote(
        self, tensor: int, name: str, version: int, copy: Any, node: int | None, nr: int, at: Stack, slices: int | None
    ) -> TensorWritten:
        id, maker = self._ids[tensor], self._place(node)
        self._last.pop(id, None)
        return TensorWritten(id, name, version, read(copy), maker, nr, self._seen_at(at), self._place(slices))

    def _failed(self, task: int | None, node: int | None, error: str, message: str) -> Failed:
        return Failed(None if task is None else self._id(task, "b"), self._place(node), error, message)

    def _keeps(self, node: int, saved: tuple[Any, ...], tensors: tuple[Any, ...], again: bool) -> CheckpointKept:
        seen = self._seen(tensors)
        return CheckpointKept(self._id(node, "k"), seen, tuple(self._saved(str(s[0]), *s[1:]) for s in saved), again)

    def _drops(self, node: int, name: int | None) -> CheckpointDropped:
        return CheckpointDropped(self._id(node, "k"), None if name is None else str(name))

    def _entered(
        self, level: int, transform: str, number: int, size: int | None, heard: bool, line: tuple[str, int] | None
    ) -> LevelEntered:
        return LevelEntered(self._id(level, "l"), transform, number, size, not heard, source(line))

    def _left(self, level: int) -> LevelLeft:
        return LevelLeft(self._ids[level])

    def _operated(
        self, op: int, what: Any, args: tuple[Any, ...], tensors: tuple[Any, ...], outputs: tuple[int, ...], line: Any
    ) -> OperationRan:
        seen = self._seen(tensors)
        return OperationRan(
            op=self._id(op, "o"),
            name=name_of(what),
            custom=isinstance(what, type),
            args=tuple(self._argument(arg) for arg in args),
            tensors=seen,
            outputs=tuple(self._ids[output] for output in outputs),
            code=methods_of(what) if isinstance(what, type) else (Code("forward", what.shown),),
            source=source(line),
        )

    def _pushed(
        self, what: Any, level: int | None, tensors: tuple[Any, ...], outputs: tuple[Any, ...], operands: Any
    ) -> TangentPushed:
        seen = self._seen(tensors)
        return TangentPushed(
            name=name_of(what),
            level=self._place(level),
            tensors=seen,
            outputs=tuple(Tangent(self._ids[t], value(copy), self._place(node)) for t, copy, node in outputs),
            operands=tuple(Tangent(self._ids[t], value(copy)) for t, copy in operands),
            code=tuple(each for each in methods_of(what) if each.name == "jvp")
            if isinstance(what, type)
            else (Code("tangent", formula_of(what)),),
        )

    def _id(self, serial: int, kind: str) -> str:
        if serial not in self._ids:
            self._counts[kind] += 1
            self._ids[serial] = f"{kind}{self._counts[kind]}"
        return self._ids[serial]

    def id_of(self, serial: int) -> str | None:
        """The id of a serial number, if a record has told of it."""
        return self._ids.get(serial)

    def _place(self, serial: int | None) -> str | None:
        return None if serial is None else self._ids[serial]

    def _seen(self, tensors: tuple[Any, ...]) -> tuple[TensorSeen, ...]:
        """The tensors that are new, or not as they were when last seen."""
        news = []
        for serial, copy, version, requires_grad, node, output_nr, grad, level, below, base in tensors:
            seen = TensorSeen(
                id=self._id(serial, "t"),
                name=self._names.get(serial),
                value=read(copy),
                version=version,
                requires_grad=requires_grad,
                node=None if node is None else self._ids.get(node),
                output_nr=output_nr,
                grad=value(grad),
                level=self._place(level),
                below=self._ids.get(below),
                base=self._ids.get(base),
            )
            if self._last.get(seen.id) != seen:
                self._last[seen.id] = seen
                news.append(seen)
        return tuple(news)

    def _argument(self, arg: Any) -> Argument:
        if isinstance(arg, tuple):
            return Argument(self._ids[arg[0]], *arg[1:] or ("",))
        return Argument(None, text_of(arg))


def text_of(arg: Any) -> str:
    """A plain argument, or the name of the type that stands for another."""
    return arg.__name__ if isinstance(arg, type) else number(arg)


def value(copy: Any) -> Value | None:
    """The value of what was kept of an array; None is a gradient that was not there."""
    return None if copy is None else read(copy)


def code_of(cls: type) -> tuple[Code, ...]:
    """What a node computes: the user's methods where a Function made it, else the operation's formulas."""
    function = getattr(cls, "_forward_cls", None)
    if function is None:
        formulas = [(name, getattr(cls, f"{name}_text", "")) for name in ("forward", "backward")]
        return tuple(Code(name, text) for name, text in formulas if text)
    return methods_of(function)


def methods_of(function: type) -> tuple[Code, ...]:
    """The methods that the user wrote of a Function."""
    code = []
    for name in METHODS:
        owner = next((each for each in function.__mro__ if name in vars(each)), object)
        if owner is object or owner.__module__.partition(".")[0] in (__name__.partition(".")[0], "torch"):
            continue  # not written by the user
        try:
            lines, _ = source_lines(getattr(owner, name))
        except (OSError, TypeError):  # typed at a prompt, or made by exec
            continue
        code.append(Code(name, textwrap.dedent("".join(lines)).rstrip()))
    return tuple(code)


def name_of(what: Any) -> str:
    """What an operation is called, or a Function."""
    return what.__name__ if isinstance(what, type) else what.shown.partition("(")[0]


def formula_of(op: Any) -> str:
    """How an operation's tangent comes from those of its operands, `x_t` being that of x."""
    if op.tangent in ("linear", "multilinear"):
        together = [op.tensors] if op.tangent == "linear" else [[name] for name in op.tensors]
        return " + ".join(re.sub(rf"(?<=[(, ])({'|'.join(names)})\b", r"\1_t", op.shown) for names in together)
    terms = {name: re.sub(r"\bgrad\b", f"{name}_t", text) for name, text in op.formulas.items()}
    if op.tangent == "transposed":
        return "the formula of backward, transposed"
    if op.tangent in ("pointwise", "reduction"):
        total = " + ".join(terms.values())
        return total if op.tangent == "pointwise" else f"sum of {total}"
    return op.tangent or ""
