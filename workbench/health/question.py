"""A question about a gradient: its loss and its backward pass in the records, and phrases for both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ..trace.frame import Frame
from ..trace.values import series
from .backwards import RecordedBackward
from .inquiry import Asked, Inquiry, LiveGraph
from .training_run import TrainingRun

NAMED = 6  # places of a way, leaves, or backwards, that a sentence names
_RECORD = "To find the exact line, record the step (`with workbench.record({}) as trace:`) and call trace.why({})."


class GradientQuestion:
    """A tensor, the loss or backward pass of the question, and the places that gradients can reach from there."""

    def __init__(self, inquiry: Inquiry, graph: TrainingRun, frame: Frame, package: str) -> None:
        self.graph, self.frame, self.package = graph, frame, package
        self.asked, self.loss = inquiry.asked, inquiry.loss
        self.live, self.recorded = inquiry.live or LiveGraph(), inquiry.live is None
        self.place = self._place_of(self.asked)
        self.backward = self._asked_backward()
        self.roots = self._roots()
        self.found = self.graph.reached(self.roots)
        self.users = self._users()

    def _place_of(self, asked: Asked) -> str | None:
        return None if asked.id is None else self.graph.places[asked.id]

    def _asked_backward(self) -> RecordedBackward | None:
        """Return the backward pass asked about: the loss's, else the last that leads to the tensor, else the last."""
        graph, backwards = self.graph, self.graph.backwards
        if self.loss is not None:
            start = self._place_of(self.loss)
            return next((backward for backward in reversed(backwards) if start in backward.starts), None)
        found = None if self.place is None else graph.backward_to(self.place)
        return found or (backwards[-1] if backwards else None)

    def _roots(self) -> list[str]:
        if self.loss is not None:
            return [start] if (start := self._place_of(self.loss)) is not None else []
        return [] if self.backward is None else self.backward.starts

    def _users(self) -> list[str]:
        """Return the nodes whose gradients go to the tensor, not those that go to another output of the same node."""
        if self.place is None:
            return []
        if self.place not in self.graph.nodes or self.asked.id is None:
            return self.graph.users.get(self.place, [])
        return self.graph.users_of(self.place, self.graph.tensors[self.asked.id].output_nr)

    @property
    def reaches(self) -> bool:
        """True if gradients can go from the loss to the tensor."""
        if self.place is None or self.place not in self.found:
            return False
        if self.place in self.roots or self.place not in self.graph.nodes:
            return True
        return any(user in self.found for user in self.users)

    def _before(self) -> dict[str, None]:
        """Return the tensor's place, and those from which gradients can reach it."""
        return {} if self.place is None else {self.place: None, **self.graph.before(*self.users)}

    # Words.

    def _at(self, place: str | None) -> str:
        """Return where a node was created: ` (train.py, line 3: h = x @ w)`."""
        at = self.graph.source(place)
        return "" if at is None else f" ({at.file}, line {at.line}: {at.text})"

    def _called(self, place: str) -> str:
        if self.asked.name and place == self.place and place not in self.graph.nodes:
            return self.asked.name
        return self.frame.told(place)

    def _described(self, place: str) -> str:
        return self._called(place) + self._at(place)

    def _listed(self, things: Iterable[str]) -> str:
        names = list(dict.fromkeys(things))
        more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED + 1 else []
        return series([*names[:NAMED], *more] if more else names)

    @property
    def _end(self) -> str:
        """Return the start of the path, in words."""
        if self.loss is not None:
            return self.loss.name or "this loss"
        if not self.roots:
            return "the loss"
        root = (self.backward or self.graph.backwards[-1]).roots[0]
        return self.frame.output(root.node, root.output_nr)

    @property
    def _end_first(self) -> str:
        """Return the start of the path at the start of a sentence; a variable keeps its name."""
        return begun(self._end) if self._end.startswith(("this ", "the ", "an ")) else self._end

    def _path_words(self, way: Sequence[str]) -> str:
        groups = [(name, len(list(several))) for name, several in groupby(map(self._called, way))]
        names = [name if count == 1 else f"{count:,} × {name}" for name, count in groups]
        if len(names) > 2 * NAMED + 1:
            names = [*names[:NAMED], f"{len(names) - 2 * NAMED:,} more", *names[-NAMED:]]
        return " → ".join(names)

    def _pass_words(self, backward: RecordedBackward) -> str:
        at = backward.source
        return "the backward pass" if at is None else f"the backward pass at line {at.line} ({at.file}: {at.text})"

    def _record(self) -> str:
        """Return what a recording would add."""
        if self.recorded:
            return ""
        return _RECORD.format(self.package, self.asked.name or "tensor")

    def _ask_with_loss(self) -> str:
        if self.loss is not None:
            return f"There's no path from {self._end} to it: ask with the loss that its backward pass started from."
        return f"Call why({self.asked.name or 'tensor'}, loss) to see which path it took."


def begun(text: str) -> str:
    """Return a text with a capital first letter, for the start of a sentence."""
    return text[:1].upper() + text[1:]
