"""What checkpoints keep for a backward: their arguments, and for a while what they have computed again."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Record, Saved, TensorSeen
from .frame import Frame


@dataclass(frozen=True, slots=True)
class CheckpointKept(Record):
    """A checkpoint keeps tensors that no node has saved: its arguments, or what it computed `again`."""

    checkpoint: str
    tensors: tuple[TensorSeen, ...]
    saved: tuple[Saved, ...]
    again: bool

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it: it belongs to the step of a node."""
        return True

    def apply(self, frame: Frame) -> None:
        """Note the tensors."""
        for seen in self.tensors:
            frame.see(seen)


@dataclass(frozen=True, slots=True)
class CheckpointDropped(Record):
    """A checkpoint lets go of one of the tensors it kept, or of everything."""

    checkpoint: str
    name: str | None

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it: it belongs to the step of a node."""
        return True

    def apply(self, frame: Frame) -> None:
        """Nothing in the graph changes."""
