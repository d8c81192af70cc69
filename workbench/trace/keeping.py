"""What is kept for a backward in place of a tensor, and by checkpoints: arguments, and what was computed again."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Record, Saved, TensorSeen
from .frame import Frame
from .values import series


def is_slot(saved: Saved) -> bool:
    """Whether nothing is kept, as a checkpoint will compute it again."""
    return saved.packed is not None and saved.packed.kept == "_Slot"


def tensor_of(saved: Saved) -> str | None:
    """The tensor that was to be saved, whatever is kept in its place, if the trace knows it."""
    return saved.tensor or (saved.packed.tensor if saved.packed else None)


def as_kept(saved: Saved, name: str) -> str:
    """What is kept of what has this name: `x`, `a slot for x`, or `x packed by pack`."""
    if saved.packed is None:
        return name
    return f"a slot for {name}" if is_slot(saved) else f"{name} packed by {saved.packed.hook}"


@dataclass(frozen=True, slots=True)
class CheckpointKept(Record):
    """A checkpoint keeps tensors that no node has saved: its arguments, or what it computed `again`."""

    checkpoint: str
    tensors: tuple[TensorSeen, ...]
    saved: tuple[Saved, ...]
    again: bool

    @property
    def repeated(self) -> bool:
        """Whether it is what was computed again; else it is arguments, maybe those of a checkpoint in such a run."""
        return self.again and all(saved.name.isdigit() for saved in self.saved)

    @property
    def quiet(self) -> bool:
        """Whether a player does not stop for it: it belongs to the step of a node."""
        return True

    def apply(self, frame: Frame) -> None:
        """Note the tensors."""
        for seen in self.tensors:
            frame.see(seen)

    def sentence(self, frame: Frame) -> str:
        """What it does; several tensors of one run are told in the same words."""
        who = checkpoint_said(self.checkpoint)
        if self.again:
            return f"{who} runs its part again" if self.repeated else f"inside of that, {who} keeps its arguments"
        names = [(saved, tensor_of(saved)) for saved in self.saved]
        kept = series([as_kept(saved, frame.called(known) if known else "a tensor") for saved, known in names])
        return f"{who.capitalize()} keeps its arguments: {kept}" if kept else ""


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

    def sentence(self, frame: Frame) -> str:
        """That a node has what it needs; the end of a checkpoint belongs to no step."""
        return "" if self.name is None else f"{checkpoint_said(self.checkpoint)} hands out what it computed again"


def checkpoint_said(id: str) -> str:
    """`checkpoint 1`."""
    return f"checkpoint {id.removeprefix('k')}"
