"""The user's hooks on gradients: where they are, and what each made of the gradients it was given."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Record, SourceLine
from .frame import Frame
from .values import Value, said, series


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
