"""A question about a gradient: its loss and its backward pass in the records, and phrases for both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ...pictures.trace.frame import Frame
from ...pictures.trace.values import begun, code, series
from .backwards import RecordedBackward
from .finding import at_line, expression_of, in_brackets, operation_of, result_of
from .inquiry import Asked, Inquiry, LiveGraph
from .training_run import TrainingRun

NAMED = 6  # places of a way, leaves, or backwards, that a sentence names
_RECORD = "To find the exact line, record the step (`with workbench.record({}) as trace:`) and call `trace.why({})`."


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

    def _called(self, place: str) -> str:
        """Return a leaf by its name, and a node by the user's expression, else by its operation."""
        if (node := self.graph.nodes.get(place)) is not None:
            return expression_of(self.graph, node) or operation_of(node)
        return code(self._box(place))

    def _box(self, place: str) -> str:
        """Return the title of a place in pictures."""
        if self.asked.name and place == self.place and place not in self.graph.nodes:
            return self.asked.name
        return self.frame.describe(place)

    def _described(self, place: str) -> str:
        """Return the same with its line."""
        return self._called(place) + in_brackets(self.graph.source(place))

    def _output(self, place: str, nr: int) -> str:
        """Return an output of a node by its variable, else by what gave it; or a leaf."""
        node = self.graph.nodes.get(place)
        return self._called(place) if node is None else result_of(self.graph, node, nr)

    def _listed(self, things: Iterable[str]) -> str:
        names = list(dict.fromkeys(things))
        more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED + 1 else []
        return series([*names[:NAMED], *more] if more else names)

    @property
    def _end(self) -> str:
        """Return the start of the path, in words."""
        if self.loss is not None:
            return code(self.loss.name or "this loss")
        if not self.roots:
            return "the loss"
        root = (self.backward or self.graph.backwards[-1]).roots[0]
        return self._output(root.node, root.output_nr)

    @property
    def _end_first(self) -> str:
        """Return the start of the path at the start of a sentence."""
        return begun(self._end)

    def _path_words(self, way: Sequence[str]) -> str:
        names = [(name, len(list(several))) for name, several in groupby(map(self._box, way))]
        names[-1:] = [(code(name), count) for name, count in names[-1:]]
        names = [name if count == 1 else f"{count:,} × {name}" for name, count in names]
        if len(names) > 2 * NAMED + 1:
            names = [*names[:NAMED], f"{len(names) - 2 * NAMED:,} more", *names[-NAMED:]]
        return " → ".join(names)

    def _pass_words(self, backward: RecordedBackward) -> str:
        return f"the backward pass{at_line(backward.source)}"

    def _record(self) -> str:
        """Return what a recording would add."""
        if self.recorded:
            return ""
        return _RECORD.format(self.package, self.asked.typed)

    def _ask_with_loss(self) -> str:
        if self.loss is not None:
            return f"There's no path from {self._end} to it: ask with the loss that its backward pass started from."
        return f"Call `why({self.asked.typed}, loss)` to see which path it took."
