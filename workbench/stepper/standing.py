"""Where a stepped backward stands: what ran, what is ready, what waits, and what is called how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..autograd.engine import GraphTask, pop_ready
from ..autograd.node import AccumulateGrad, Node
from ..autograd.scopes import scope_of
from ..autograd.snapshot import Snapshot, place_of, runs_user_code
from ..autograd.tensor import Tensor
from ..events import tag
from ..trace.recorder import Recorder
from . import refusals
from .moments import Branch, Place, Step, Waiting, are_equal, as_tensor, at_output, is_called, name_of
from .stops import Breakpoint
from .telling import called, told


@dataclass(frozen=True, slots=True)
class Undo:
    """What takes a step back: the engine's state, what was edited before it, and the leaf's gradient that it left.

    Where the backward records what it computes, `known` is what the stepper's graph had told of before.
    """

    snapshot: Snapshot
    edits: dict[Place, tuple[Any, Any]]
    left: tuple[Tensor | None, int]
    known: tuple[set[int], set[int]] | None


def gradient_of(node: Node) -> tuple[Tensor | None, int]:
    """The gradient that is at a leaf now, and its version, by which writing into it is seen."""
    grad = node.variable.grad if type(node) is AccumulateGrad else None
    # One made in inference mode has no version of its own.
    return grad, 0 if grad is None or grad.is_inference() else grad._version


class Standing:
    """A backward between two of its steps."""

    def __init__(self, task: GraphTask, inputs: Sequence[Any] | None, graph: Recorder) -> None:
        self._task, self._inputs, self._graph = task, inputs, graph
        self._audience: list[Callable[[], None]] = []  # told after every change
        names = graph._names  # as the picture has them
        self._leaf_names = {n: names[serial] for n in self._leaves() if (serial := tag(n.variable)) in names}
        self._input_names = [names.get(getattr(t, "_tag", None)) for t in inputs or ()]
        self._outputs: tuple[Any, ...] | None = None  # whose gradients they are, where each of the inputs must get one
        self._branch = Branch("main")
        self.branches = [self._branch]
        self.breakpoints: list[Breakpoint] = []
        self.warnings: list[str] = []
        self.reason: str | None = None  # why a run stopped
        self._undo: list[Undo] = []
        self._edits: dict[Place, tuple[Any, Any]] = {}  # since the last step: the old gradient and the new
        self._copies = any(runs_user_code(node) for node in task._waiting)
        task.begin()
        self._seeds = self._waiting_at(set(task.roots))
        if not task._ready:
            task.run(0)  # over before it began

    @property
    def position(self) -> int:
        """How many steps were taken."""
        return len(self._undo)

    @property
    def steps(self) -> list[Step]:
        """The steps taken."""
        return self._branch.steps[: self.position]

    @property
    def branch(self) -> Branch:
        """The branch it is on."""
        return self._branch

    @property
    def error(self) -> BaseException | None:
        """What the last step raised, without the traceback, which would keep this stepper alive."""
        return self._branch.steps[self.position - 1].error if self.position else None

    @property
    def done(self) -> bool:
        """Whether every node has run."""
        return not self._task._ready and self.error is None

    @property
    def current(self) -> Node | None:
        """The node that runs next; None when all have run, and after an error."""
        return self._task._ready[0] if self._task._ready and self.error is None else None

    @property
    def ready(self) -> list[Node]:
        """The nodes that may run now, in the order in which the engine will take them."""
        heap = self._task._ready.copy()
        return [pop_ready(heap) for _ in range(len(heap))]

    @property
    def pending(self) -> list[Waiting]:
        """The gradients that wait, first those of nodes that may run, and how many deliveries each still waits for."""
        task, ready = self._task, self.ready
        age = {node: place for place, node in enumerate(task._waiting)}
        others = sorted(task._buffers.keys() - set(ready), key=lambda node: (-node.seq, age[node]))
        counts = dict.fromkeys(ready, 0) | {node: task._waiting[node] for node in others}
        return [
            Waiting(node, nr, as_tensor(self._carried(node, nr)), missing, at_output(called(self, node), node, nr))
            for node, missing in counts.items()
            if node in task._buffers
            for nr in range(node.outputs if node.multi else 1)
        ]

    @property
    def grads(self) -> dict[Any, Tensor | None]:
        """The gradients so far: each leaf's `.grad`, or of each of the `inputs` asked for what arrived there."""
        if self._inputs is None:
            return {node.variable: node.variable.grad for node in self._leaves()}
        return dict(zip(self._inputs, map(as_tensor, self._task.captured), strict=True))

    def watch(self, tensor: Tensor) -> list[tuple[int, Tensor | None]]:
        """How the gradient of a tensor came about: (number of the step, its value from then on), node by node."""
        if not isinstance(tensor, Tensor):
            raise TypeError(refusals.NOT_WATCHED.format(type(tensor).__name__))
        place = place_of(tensor)
        if place[0] is None:
            raise ValueError(refusals.NO_HISTORY)
        if place[0] not in self._task._waiting:
            raise ValueError(refusals.NOT_IN_TASK.format(name_of(place[0])))
        return [(number, as_tensor(value)) for number, value in self._arrivals(place)]

    def _arrivals(self, place: Place) -> list[tuple[int, Any]]:
        """What has waited at a place, and from which step on, as the engine carries it."""
        found = [(0, self._seeds[place])] if place in self._seeds else []
        for step in self.steps:
            found += [(step.number - 1, step.edits[place])] if place in step.edits else []
            found += [(step.number, step.arrived[place])] if place in step.arrived else []
            ran = step.incoming if step.node is place[0] else ()
            if ran and ran[place[1]] is not None and not (found and are_equal(ran[place[1]], found[-1][1])):
                found.append((step.number, ran[place[1]]))  # hooks changed it
        return found + ([(self.position, self._edits[place][1])] if place in self._edits else [])

    def __repr__(self) -> str:
        return told(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        from ..living import shown  # from above: only who shows a stepper needs what draws it

        return shown(self)

    def _tell(self) -> None:
        for each in tuple(self._audience):
            each()

    # What the nodes of this backward are called.

    def _checked(self, stop: Breakpoint) -> Breakpoint:
        """The same, which now knows what the leaves are called; ValueError where no node is like that."""
        nodes, leaves = self._to_run(), self._leaf_names
        if isinstance(stop.place, str) and not any(is_called(node, stop.place, leaves) for node in nodes):
            names = ", ".join(sorted({name_of(node) for node in nodes})) or "none"
            known = ", ".join(sorted(leaves.values())) or "none with a name"
            raise ValueError(refusals.NO_SUCH_PLACE.format(stop.place, names, known, self._known_scopes()))
        if isinstance(stop.place, Node) and stop.place not in self._task._waiting:
            raise ValueError(refusals.NOT_IN_TASK.format(name_of(stop.place)))
        return replace(stop, names=leaves)

    def _to_run(self) -> list[Node]:
        """The nodes that run in this backward, whether or not they have."""
        needed = self._task._needed
        return [node for node in self._task._waiting if needed is None or node in needed]

    def _leaves(self) -> list[AccumulateGrad]:
        return [node for node in self._to_run() if type(node) is AccumulateGrad]

    def _known_scopes(self) -> str:
        return ", ".join(sorted({scope_of(node) for node in self._to_run()} - {None})) or "none"

    def _found(self, place: Any) -> Node:
        if isinstance(place, str):
            waiting = [w.node for w in self.pending if is_called(w.node, place, self._leaf_names)]
            found = list(dict.fromkeys(waiting))
            if len(found) > 1:
                raise ValueError(refusals.SEVERAL_WAIT.format(len(found), place))
            place = found[0] if found else self._first_called(place)
        elif isinstance(place, Tensor):
            place = place_of(place)[0]
            if place is None:
                raise ValueError(refusals.NO_HISTORY)
        if not isinstance(place, Node):
            raise TypeError(refusals.NOT_A_PLACE.format(type(place).__name__))
        if place not in self._task._waiting:
            raise ValueError(refusals.NOT_IN_TASK.format(name_of(place)))
        return place

    def _first_called(self, text: str) -> Node:
        self._checked(Breakpoint(text))
        return next(node for node in self._to_run() if is_called(node, text, self._leaf_names))

    def _named(self, branch: Branch | str) -> Branch:
        found = [each for each in self.branches if branch in (each, each.name)]
        if not found:
            name = branch.name if isinstance(branch, Branch) else branch
            raise ValueError(refusals.NO_BRANCH.format(name, ", ".join([each.name for each in self.branches])))
        return found[0]

    # What is remembered.

    def _kept(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gradients to be remembered: copies where code of the user's may write into them later."""
        return tuple([g.copy() if self._copies and isinstance(g, np.ndarray) else g for g in gradients])

    def _waiting_at(self, places: set[Place]) -> dict[Place, Any]:
        """The gradients that wait at some places now."""
        found = {place: self._carried(*place) for place in places}
        return {place: self._kept((g,))[0] for place, g in found.items() if g is not None}

    def _carried(self, node: Node, nr: int) -> Any:
        """The gradient that waits at a place, as the engine carries it; None where there is none."""
        have = self._task._buffers.get(node)
        gradients = have if type(have) is list else [have]
        return gradients[nr] if 0 <= nr < len(gradients) else None
