"""The records of what is kept and let go: by checkpoints, by nodes that have run, and with nodes that are gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from .facts import Saved, as_kept, is_slot, tensor_of
from .frame import Frame, Key
from .schema import Building, Known, Reading, Record, Tensors, kind_of_event, via_reader
from .values import series

Checkpoint = Annotated[str, via_reader("id", "k")]


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
        kept = series([as_kept(saved, frame.describe(known) if known else "a tensor") for saved, known in names])
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
class NodesGone(Building):
    """Nodes that were freed with what they saved because nothing refers to them: a variable was reassigned, say."""

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
            return "" if not self.nodes else f"{frame.describe(self.nodes[0])} was freed: nothing references it"
        return f"{len(self.nodes):,} nodes were freed: nothing references them"

    @classmethod
    def read(cls, at: Reading, nodes: tuple[int, ...]) -> NodesGone:
        """Return the record, without the nodes that no record has."""
        return cls(tuple([at.ids[node] for node in nodes if node in at.ids]))
