"""What happened to each storage: its writes, and the saves and reads of its tensors, with the versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ..trace.backward_records import Failed, NodeStarted
from ..trace.facts import Phase, Saved, SourceLine
from ..trace.forward_records import NodeCreated
from ..trace.frame import Frame
from ..trace.schema import Record
from ..trace.tensor_records import UNREPORTED, TensorWritten
from ..trace.values import series


@dataclass(slots=True)
class Mark:
    """One write, save or read; a write's version is the one it makes, the others' the one that was saved."""

    kind: Literal["write", "save", "read"]
    version: int
    moment: int  # which column it is in
    who: str
    sentence: str
    cause: Mark | None = None  # of a read that fails: the write
    spoiled: list[str] = field(default_factory=list)  # of a write: who fails for it


@dataclass(slots=True)
class Memory:
    """One storage, or several in one row: its tensor, the other tensors over it, and its marks."""

    id: str
    name: str
    kind: str
    before: int = 0  # the version it had when it was first seen
    ids: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """True if reading it failed."""
        return any(mark.cause for mark in self.marks)

    @property
    def written(self) -> bool:
        """True if it was written during the recording."""
        return any(mark.kind == "write" for mark in self.marks)


@dataclass(slots=True)
class Moment:
    """An event with marks."""

    phase: Phase
    source: SourceLine | None
    sentences: list[str] = field(default_factory=list)


class Histories:
    """Collect from a trace's events what concerns versions."""

    def __init__(self, events: Iterable[Record]) -> None:
        self.moments: list[Moment] = []
        self.memories: dict[str, Memory] = {}
        self._frame = Frame()
        self._open: Moment | None = None
        self._late: list[NodeCreated] = []  # what they save they have only by a write that is still to come
        for event in events:
            event.apply(self._frame)
            self._open = None
            if isinstance(event, NodeCreated):
                self._saves(event)
            elif isinstance(event, TensorWritten):
                self._writes(event)
                self._save_late(event)
            elif isinstance(event, NodeStarted) and event.node in self._frame.nodes:
                self._reads(event.node)
            elif isinstance(event, Failed) and event.node in self._frame.nodes:
                self._fails(event.node)
        others: dict[str, dict[str, None]] = {}
        for id, tensor in self._frame.tensors.items():
            if tensor.name and (owner := self._frame.owner(id)) != id:
                others.setdefault(owner, {})[tensor.name] = None
        for memory in self.memories.values():
            memory.others = list(others.get(memory.id, ()))

    def unwritable(self) -> str:
        """Return a note on nodes that save only memory that nothing else can write; else nothing."""
        kept = [node.made for node in self._frame.nodes.values() if node.made.saved and node.run_by is None]
        if not kept:
            return ""
        packed = all(saved.packed for made in kept for saved in made.saved)
        clauses = [f"{made.name} saved {series(list(dict.fromkeys(_bare(made.saved))))}" for made in kept[:2]]
        clauses += [f"{len(kept) - 2} more nodes did so"] if len(kept) > 2 else []
        how = "as hooks packed it" if packed else "a number or a private copy"
        return f"{series(clauses)}, {how}: no other code can write into it, so there is no version to follow."

    def _put(self, tensor: str, mark: Mark, phase: Phase, source: SourceLine | None, name: str = "") -> None:
        frame = self._frame
        owner = frame.owner(tensor)
        memory = self.memories.get(owner)
        if memory is None:
            state = frame.tensors[owner]
            before = frame.version(owner) - (mark.kind == "write" and mark.who != UNREPORTED)
            name = name or self._name(owner)
            memory = self.memories[owner] = Memory(owner, name, state.value.kind, before, [owner])
        if self._open is None:
            self._open = Moment(phase, source)
            self.moments.append(self._open)
        mark.moment = len(self.moments) - 1
        self._open.sentences.append(mark.sentence)
        memory.marks.append(mark)

    def _name(self, id: str) -> str:
        """Return a tensor's name; an in-place operation computes with a copy of what it overwrites."""
        state = self._frame.tensors[id]
        if state.node is not None and state.name is None:
            first = self._frame.nodes[state.node].outputs.get(state.output_nr)
            if first is not None and first[0] != id:
                return f"{self._frame.called(id)} before a write"
        return self._frame.called(id)

    def _row_name(self, owner: str) -> str:
        """Return the name of a tensor's row; a write in place makes it the result of another operation."""
        return self.memories[owner].name if owner in self.memories else self._name(owner)

    def _since(self, owner: str, version: int) -> str:
        """Return whether what was saved at this version is still as it was."""
        marks = self.memories[owner].marks if owner in self.memories else ()
        unseen = any(mark.who == UNREPORTED and mark.version == version for mark in marks)
        return f"{UNREPORTED} has changed it" if unseen else "unchanged"

    def _saved(self, node: str) -> dict[str, tuple[str, int, int]]:
        """Return what a node saved, each storage once: its owner -> (tensor, version, position)."""
        made = self._frame.nodes[node].made
        found: dict[str, tuple[str, int, int]] = {}
        for index, saved in enumerate(made.saved):
            if saved.tensor is not None:
                found.setdefault(self._frame.owner(saved.tensor), (saved.tensor, saved.version, index))
        return found

    def _saves(self, made: NodeCreated) -> None:
        if made.runs is not None:  # the one that it runs has saved it
            return
        saved = self._saved(made.node)
        late = {owner for owner, (_, version, _) in saved.items() if self._frame.version(owner) < version}
        self._late += [made] * bool(late)
        for owner in [owner for owner in saved if owner not in late]:
            self._save(made, owner)

    def _save(self, made: NodeCreated, owner: str) -> None:
        tensor, version, _ = self._saved(made.node)[owner]
        said = f"{made.name} saves {self._row_name(owner)} at version {version}"
        self._put(tensor, Mark("save", version, 0, made.name, said), made.phase(self._frame), made.source)

    def _save_late(self, event: TensorWritten) -> None:
        """Note that what was saved exists now."""
        owner = self._frame.owner(event.tensor)
        for made in [made for made in self._late if owner in self._saved(made.node)]:
            if event.version >= self._saved(made.node)[owner][1]:
                self._open = None
                self._save(made, owner)
                self._late.remove(made)

    def _writes(self, event: TensorWritten) -> None:
        frame = self._frame
        owner = frame.owner(event.tensor)
        through = "" if owner == event.tensor else f", through {frame.variable(event.tensor) or 'a view of it'}"
        name = event.target(frame).replace("`", "") if owner == event.tensor else self._name(owner)
        name = self.memories[owner].name if owner in self.memories else name
        now = "still" if event.name == UNREPORTED else "now"
        said = f"{event.writes} {name}{through}: {now} version {event.version}"
        if late := frame.stale_holders(event.tensor):
            who = series([frame.called(node) for node in late]) if len(late) < 3 else f"{len(late)} nodes"
            said += f", but {who} saved it before that"
        mark = Mark("write", event.version, 0, event.name, said)
        self._put(event.tensor, mark, event.phase(frame), event.source, name)

    def _who(self, node: str) -> tuple[str, str]:
        """Return the name under which a node saved something, and what it is called when it runs."""
        made = self._frame.nodes[node].made
        if made.runs is None:
            return made.name, made.name
        name = self._frame.called(made.runs)
        return name, f"{name}, which {made.name} runs,"

    def _reads(self, node: str) -> None:
        state, (who, called) = self._frame.nodes[node], self._who(node)
        if state.freed:
            return
        for owner, (tensor, version, index) in self._saved(node).items():
            if not self._frame.stale(node, index):  # of one that is out of date it is not known yet whether it is read
                said = (
                    f"{called} reads {self._row_name(owner)}, saved at version {version}: {self._since(owner, version)}"
                )
                self._put(tensor, Mark("read", version, 0, who, said), "backward", self._frame.cursor)

    def _fails(self, node: str) -> None:
        name, called = self._who(node)
        for owner, (tensor, version, index) in self._saved(node).items():
            if self._frame.nodes[node].freed or not self._frame.stale(node, index):
                continue
            marks = self.memories[owner].marks if owner in self.memories else ()
            writes = [mark for mark in marks if mark.kind == "write" and mark.version > version]
            cause = min(writes, key=lambda mark: mark.version, default=None)
            said = f"{called} needs {self._row_name(owner)} as it was at version {version}"
            if cause is None:  # it wasn't recorded
                said += f", but it is at version {self._frame.version(owner)}: backward fails"
            else:
                source = self.moments[cause.moment].source
                line = f" ({line_said(source)})" if source else ""
                said += f", but {cause.who}{line} made it version {cause.version}: backward fails"
                cause.spoiled.append(name)
            self._put(tensor, Mark("read", version, 0, name, said, cause), "backward", self._frame.cursor)


def _bare(saved: Iterable[Saved]) -> list[str]:
    return [each.name.replace("saved_tensors", "saved") for each in saved]


def line_said(source: SourceLine) -> str:
    """Return a line of code in a sentence, without its comment."""
    code = source.text.partition("  #")[0]
    return f"line {source.line}: {code}" if code else f"line {source.line}"
