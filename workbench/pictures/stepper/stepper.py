"""The stepper: a real backward pass that the user drives, and its position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import index
from typing import Any

import numpy as np

from ... import errors
from ...autograd.engine import GraphTask, pop_ready
from ...autograd.node import AccumulateGrad, Node
from ...autograd.scopes import scope_of
from ...autograd.snapshot import Snapshot, kinds_of_hooks, place_of, runs_user_code
from ...autograd.tensor import Tensor
from ...events import LAST, Event, failed, listeners, tag
from ..scene.displays import display_of
from ..trace.call_records import HookRan
from ..trace.recorder import Recorder
from .steps import (
    COUNT,
    FAILED,
    GRAD_REPLACED,
    HOOK_STAYS,
    INPUT_NR,
    NO_BRANCH,
    NO_HISTORY,
    NO_SCOPE,
    NO_SUCH_PLACE,
    NOT_A_PLACE,
    NOT_IN_TASK,
    NOT_WATCHED,
    NOTHING_WAITS,
    RECORDED,
    SEVERAL_WAIT,
    TOO_FAR_BACK,
    Branch,
    Breakpoint,
    Difference,
    Place,
    Step,
    Waiting,
    are_equal,
    are_same,
    at_output,
    branch_differences,
    breakpoint_at,
    counted,
    describe,
    gradient_tensor,
    gradient_text,
    in_place_of,
    is_called,
    is_in_scope,
    leaf_called,
    node_called,
    node_name,
    recorded,
)


@dataclass(frozen=True, slots=True)
class Undo:
    """What undoes a step: the engine's state, the edits before it, and the leaf's gradient that it replaced.

    If the backward pass records a graph, `known` is the part of the graph that was known before.
    """

    snapshot: Snapshot
    edits: dict[Place, tuple[Any, Any]]
    left: tuple[Tensor | None, int]
    known: tuple[set[int], set[int]] | None


def gradient_of(node: Node) -> tuple[Tensor | None, int]:
    """Return a leaf's current gradient, and its version, which reveals writes into it."""
    grad = node.variable.grad if type(node) is AccumulateGrad else None
    # One made in inference mode has no version of its own.
    return grad, 0 if grad is None or grad.is_inference() else grad._version


class PausedBackward:
    """A backward pass between two of its steps."""

    def __init__(self, task: GraphTask, inputs: Sequence[Any] | None, graph: Recorder) -> None:
        self._task, self._inputs, self._graph = task, inputs, graph
        self._audience: list[Callable[[], None]] = []  # told after every change
        names = graph._names  # as the picture has them
        self._leaf_names: dict[Node, str] = {
            n: names[serial] for n in self._leaves() if (serial := tag(n.variable)) in names
        }
        numbers: list[Any] = [getattr(t, "_tag", None) for t in inputs or ()]
        self._input_names = [names.get(number) for number in numbers]
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
        """The number of steps taken."""
        return len(self._undo)

    @property
    def steps(self) -> list[Step]:
        """The steps taken."""
        return self._branch.steps[: self.position]

    @property
    def branch(self) -> Branch:
        """The current branch."""
        return self._branch

    @property
    def error(self) -> BaseException | None:
        """The error of the last step, without its traceback, which would keep this stepper alive."""
        return self._branch.steps[self.position - 1].error if self.position else None

    @property
    def done(self) -> bool:
        """True if every node has run."""
        return not self._task._ready and self.error is None

    @property
    def current(self) -> Node | None:
        """The node that runs next; None when all have run, and after an error."""
        return self._task._ready[0] if self._task._ready and self.error is None else None

    @property
    def ready(self) -> list[Node]:
        """The nodes that may run now, in the order in which the engine takes them."""
        heap = self._task._ready.copy()
        return [pop_ready(heap) for _ in range(len(heap))]

    @property
    def pending(self) -> list[Waiting]:
        """The gradients that wait at nodes, each with its number of missing contributions; first those that can run."""
        task, ready = self._task, self.ready
        age = {node: place for place, node in enumerate(task._waiting)}
        others = sorted(task._buffers.keys() - set(ready), key=lambda node: (-node.seq, age[node]))
        counts = dict.fromkeys(ready, 0) | {node: task._waiting[node] for node in others}
        return [
            Waiting(
                node,
                nr,
                gradient_tensor(self._carried(node, nr)),
                missing,
                at_output(node_called(self, node), node, nr),
            )
            for node, missing in counts.items()
            if node in task._buffers
            for nr in range(node.outputs if node.multi else 1)
        ]

    @property
    def grads(self) -> dict[Any, Tensor | None]:
        """The gradients so far: each leaf's `.grad`, or with `inputs` the gradient of each input."""
        if self._inputs is None:
            return {node.variable: node.variable.grad for node in self._leaves()}
        return dict(zip(self._inputs, map(gradient_tensor, self._task.captured), strict=True))

    def watch(self, tensor: Tensor) -> list[tuple[int, Tensor | None]]:
        """Return each step that changed the gradient of `tensor`, as pairs (step number, gradient after this step)."""
        if not isinstance(tensor, Tensor):
            raise TypeError(NOT_WATCHED.format(type(tensor).__name__))
        node, nr = place_of(tensor)
        if node is None:
            raise ValueError(NO_HISTORY)
        if node not in self._task._waiting:
            raise ValueError(NOT_IN_TASK.format(node_name(node)))
        return [(number, gradient_tensor(value)) for number, value in self._arrivals((node, nr))]

    def _arrivals(self, place: Place) -> list[tuple[int, Any]]:
        """Return the gradients that waited at a place, as the engine carries them, each with the step from which on."""
        found = [(0, self._seeds[place])] if place in self._seeds else []
        for step in self.steps:
            found += [(step.number - 1, step.edits[place])] if place in step.edits else []
            found += [(step.number, step.arrived[place])] if place in step.arrived else []
            ran = step.incoming if step.node is place[0] else ()
            if ran and ran[place[1]] is not None and not (found and are_equal(ran[place[1]], found[-1][1])):
                found.append((step.number, ran[place[1]]))  # hooks changed it
        return found + ([(self.position, self._edits[place][1])] if place in self._edits else [])

    def __repr__(self) -> str:
        return describe(self)

    def _line_told(self) -> list[str]:
        """Return the line that created the next node, for another engine; or that it isn't known."""
        return []

    def _tell(self) -> None:
        for each in tuple(self._audience):
            each()

    # What the nodes of this backward are called.

    def _checked(self, stop: Breakpoint) -> Breakpoint:
        """Return the breakpoint with the names of the leaves.

        Raises:
            ValueError: if no node fits it.
        """
        nodes, leaves = self._to_run(), self._leaf_names
        if isinstance(stop.place, str) and not any(is_called(node, stop.place, leaves) for node in nodes):
            names = ", ".join(sorted({node_name(node) for node in nodes})) or "none"
            known = ", ".join(sorted(leaves.values())) or "none with a name"
            raise ValueError(NO_SUCH_PLACE.format(stop.place, names, known, self._known_scopes()))
        if isinstance(stop.place, Node) and stop.place not in self._task._waiting:
            raise ValueError(NOT_IN_TASK.format(node_name(stop.place)))
        return replace(stop, names=leaves)

    def _to_run(self) -> list[Node]:
        """Return all nodes of this backward pass, run or not."""
        needed = self._task._needed
        return [node for node in self._task._waiting if needed is None or node in needed]

    def _leaves(self) -> list[AccumulateGrad]:
        return [node for node in self._to_run() if type(node) is AccumulateGrad]

    def _known_scopes(self) -> str:
        scopes = {scope_of(node) for node in self._to_run()}
        return ", ".join(sorted([scope for scope in scopes if scope is not None])) or "none"

    def _found(self, place: Any) -> Node:
        if isinstance(place, str):
            waiting = [w.node for w in self.pending if is_called(w.node, place, self._leaf_names)]
            found = list(dict.fromkeys(waiting))
            if len(found) > 1:
                raise ValueError(SEVERAL_WAIT.format(len(found), place))
            place = found[0] if found else self._first_called(place)
        elif isinstance(place, Tensor):
            place = place_of(place)[0]
            if place is None:
                raise ValueError(NO_HISTORY)
        if not isinstance(place, Node):
            raise TypeError(NOT_A_PLACE.format(type(place).__name__))
        if place not in self._task._waiting:
            raise ValueError(NOT_IN_TASK.format(node_name(place)))
        return place

    def _first_called(self, text: str) -> Node:
        self._checked(Breakpoint(text))
        return next(node for node in self._to_run() if is_called(node, text, self._leaf_names))

    def _named(self, branch: Branch | str) -> Branch:
        found = [each for each in self.branches if branch in (each, each.name)]
        if not found:
            name = branch.name if isinstance(branch, Branch) else branch
            raise ValueError(NO_BRANCH.format(name, ", ".join([each.name for each in self.branches])))
        return found[0]

    # What is remembered.

    def _kept(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return gradients to store: copies if the user's code may write into them later."""
        return tuple([g.copy() if self._copies and isinstance(g, np.ndarray) else g for g in gradients])

    def _waiting_at(self, places: set[Place]) -> dict[Place, Any]:
        """Return the gradients that wait at some places now."""
        found = {place: self._carried(*place) for place in places}
        return {place: self._kept((g,))[0] for place, g in found.items() if g is not None}

    def _carried(self, node: Node, nr: int) -> Any:
        """Return the gradient that waits at a place, as the engine carries it; None if there is none."""
        have = self._task._buffers.get(node)
        gradients = have if type(have) is list else [have]
        return gradients[nr] if 0 <= nr < len(gradients) else None


class _Heard:
    """The events of one step of a task: incoming and outgoing gradients, hooks, and new nodes."""

    def __init__(self, task: GraphTask, incoming: tuple[Any, ...], graph: Recorder) -> None:
        self.task, self.incoming, self.outgoing, self.captured = task, incoming, (), False
        self.graph, self.hooked, self.made = graph, [], []

    def __call__(self, event: Event) -> None:
        if event[0] == "created" and self.task.create_graph:
            self.made += self.graph.records_without_keeping(event)
        if event[1] is not self.task:
            return
        if event[0] in ("asks", "asked", "accumulated") or (event[0] == "run" and event[2].extra is not None):
            self.hooked += [each for each in self.graph.records_without_keeping(event) if isinstance(each, HookRan)]
        if event[0] == "run":
            self.incoming = tuple(event[3] or ())
        elif event[0] == "ran":
            self.outgoing = tuple(event[3] or ())
        elif event[0] == "captured":
            self.captured = True


class Stepper(PausedBackward):
    """A backward pass that runs one node at a time, forward and back; `workbench.step(loss)` creates it.

    Between two steps, you see the engine's real state: leaves have the gradients that have arrived so far, and
    saved tensors that the engine has freed are freed. `back()` restores the earlier state. Other effects of your
    code, such as output and random numbers, aren't undone; `warnings` lists hooks for which this matters. A Stepper
    holds every gradient and saved tensor of its steps in memory.

    `steps` lists the steps taken, `current` is the node that runs next, `pending` lists the gradients that wait at
    nodes, and `grads` has the gradients so far. `done` is True if every node has run.
    """

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        show = display_of(Stepper)
        return {"text/plain": repr(self)} if show is None else show(self)

    # Going forwards.

    def step(self, n: int = 1) -> Stepper:
        """Run the next `n` nodes, or all that are left if there are fewer.

        Raises:
            RuntimeError: after an error, until you go back.
        """
        self.reason = None
        try:
            for _ in range(_count(n, "step")):
                if self.done:
                    break
                self._run_next()
        finally:
            self._tell()
        return self

    def run(self, until: Any = None) -> Stepper:
        """Run until a place or condition, until the next breakpoint, or to the end.

        Args:
            until: Where to stop. Given a node, a tensor, a scope or an operation ("mul", "MulBackward0"), `run` stops
                before that node runs. Given a condition ("not finite", "norm > 10"), it stops after the first step that
                meets it. You can also give a function that gets each step after it was taken, and returns True to stop.
        """
        stops = list(self.breakpoints)
        if until is not None:
            stops.append(self._checked(breakpoint_at(until)))
        return self._go(stops, lambda: False)

    def over(self, scope: str) -> Stepper:
        """Run until all nodes that were created in this scope have run, or until a breakpoint."""
        left = {node for node in self._to_run() if is_in_scope(node, scope)}
        if not left:
            raise ValueError(NO_SCOPE.format(scope, self._known_scopes()))
        left -= {step.node for step in self.steps}

        def is_over() -> bool:
            if self.position:
                left.discard(self._branch.steps[self.position - 1].node)
            return not left

        return self._go(list(self.breakpoints), is_over)

    def _go(self, stops: list[Breakpoint], is_over: Callable[[], bool]) -> Stepper:
        # Whoever stands before a node at which a run stopped goes on; only at the very beginning nothing has stopped.
        looks_first = not self.position and self.reason is None
        try:
            while not self.done and not is_over():
                if not looks_first:
                    self.reason = None
                    self._run_next()
                looks_first = False
                last = self._branch.steps[self.position - 1] if self.position else None
                found = [s for s in stops if s.stops_before(self.current) or (last is not None and s.stops_after(last))]
                if found:
                    self.reason = str(found[0])
                    break
        finally:
            self._tell()
        return self

    def _run_next(self) -> None:
        if self.error is not None:
            raise RuntimeError(FAILED.format(self.steps[-1].name, self.position))
        task = self._task
        node = task._ready[0]
        hooks = tuple(kinds_of_hooks(node))
        self._copies = self._copies or runs_user_code(node)
        have = task._buffers.get(node)
        heard = _Heard(task, tuple(have) if type(have) is list else (have,), self._graph)
        snapshot, known = Snapshot(task), self._graph.known() if task.create_graph else None
        error = None
        hear = snapshot.hear
        listeners[LAST] = [heard, hear]
        try:
            task.step()
        except BaseException as raised:
            error = _like(raised)
            self._graph.forget(task)
            raise
        finally:
            try:
                listeners.remove(heard)
            finally:
                listeners.remove(hear)
            edges = zip(node.edges(), heard.outgoing, strict=False)
            given = {(to, nr) for (to, nr), g in edges if to is not None and g is not None}
            left = gradient_of(node)
            step = Step(
                number=self.position + 1,
                node=node,
                scope=scope_of(node),
                captured=heard.captured,
                hooks=hooks,
                error=error,
                edits={place: new for place, (_, new) in self._edits.items()},
                replaced={place: old for place, (old, _) in self._edits.items()},
                incoming=self._kept(heard.incoming),
                outgoing=self._kept(heard.outgoing),
                arrived={} if error is not None else self._waiting_at(given),
                hooked=tuple(heard.hooked),
                made=tuple(heard.made),
                left=recorded(left[0]),
            )
            self._append(step)
            self._undo.append(Undo(snapshot, self._edits, left, known))
            self._edits = {}
        self._refuse_unused()

    def _refuse_unused(self) -> None:
        """Raise the error of `autograd.grad` for an input without a gradient."""
        if self._outputs is None or not self.done:
            return
        for i, (tensor, gradient) in enumerate(zip(self._inputs or (), self._task.captured, strict=True)):
            if gradient is None:
                raise failed(RuntimeError(errors.UNUSED_INPUT.format(i)), tensor, *self._outputs)

    def _append(self, step: Step) -> None:
        """Add a step to the branch that continued the same from here before, or to a new one."""
        at, here = self.position, self._branch.steps
        for branch in (self._branch, *self.branches):
            shares = not at or (len(branch.steps) > at and branch.steps[at - 1] is here[at - 1])
            if shares and len(branch.steps) > at and are_same(branch.steps[at].edits, step.edits):
                old = branch.steps[at]
                for other in self.branches:
                    if len(other.steps) > at and other.steps[at] is old:
                        other.steps[at] = step
                self._branch = branch
                return
        if len(here) > at:
            self._branch = Branch(f"branch {len(self.branches)}", at, here[:at])
            self.branches.append(self._branch)
        self._branch.steps.append(step)

    # Going back, and sideways.

    def back(self, n: int = 1) -> Stepper:
        """Undo the last `n` steps and any edits after them."""
        if _count(n, "back") > self.position:
            raise ValueError(TOO_FAR_BACK.format(counted(n, "step"), counted(self.position, "step")))
        self.reason = None
        self._take_back(self._edits)
        self._edits = {}
        for _ in range(n):
            step, undo = self._branch.steps[self.position - 1], self._undo.pop()
            node = step.node
            name = leaf_called(self, node) if type(node) is AccumulateGrad else step.name
            said = [HOOK_STAYS.format(step.number, kind, name) for kind in step.hooks]
            left, now = undo.left, gradient_of(node)
            undo.snapshot.restore()
            if undo.known is not None:
                self._graph.forget_all_but(undo.known)
            self._take_back(undo.edits)
            if type(node) is AccumulateGrad and (left[0] is not now[0] or left[1] != now[1]):
                grad = "None" if node.variable.grad is None else gradient_text(node.variable.grad)
                said.append(GRAD_REPLACED.format(name, step.number, grad))
            said += [RECORDED] if self._is_recorded() else []
            self.warnings += [sentence for sentence in said if sentence not in self.warnings]
        self._tell()
        return self

    def switch(self, branch: Branch | str) -> Stepper:
        """Continue on another branch, at the step where you left that branch.

        The Stepper goes back to the step at which the two branches separate, and replays the gradients of the other
        branch.
        """
        branch = self._named(branch)
        course = list(branch.steps)
        shared = 0
        while shared < min(self.position, len(course)) and self._branch.steps[shared] is course[shared]:
            shared += 1
        self.back(self.position - shared)
        self._branch = branch
        for step in course[shared:]:
            for (node, nr), value in step.edits.items():
                self.edit(node, nr, gradient_tensor(value))
            self.step()
        return self

    def _is_recorded(self) -> bool:
        """Return True if an active recording contains this backward pass; events can't be removed from it."""
        return any(isinstance(each, Recorder) and each.id_of(tag(self._task)) is not None for each in listeners)

    def _take_back(self, edits: dict[Place, tuple[Any, Any]]) -> None:
        for (node, nr), (old, _) in edits.items():
            self._put(node, nr, old)

    def edit(self, node: Any, input_nr: int, value: Any) -> Stepper:
        """Change a gradient that waits at a node, before the node runs.

        If you edit after going back, the next step starts a new branch. `compare` then shows how the new branch differs
        from the old one.

        Args:
            node: A node, a tensor whose gradient waits, or a name such as "MulBackward0" or "mul", if only one node of
                this name has a waiting gradient.
            input_nr: Which of the node's incoming gradients to change, counted from 0.
            value: A number, or an array or tensor in the gradient's shape.

        Raises:
            TypeError: if `value` is anything else, or has another dtype.
            ValueError: if the shape differs, or no gradient waits there.
        """
        node, input_nr = self._found(node), _index(input_nr)
        have = self._carried(node, input_nr)
        if have is None:
            places = [
                f"{node_called(self, w.node)} (input_nr {w.input_nr})" for w in self.pending if w.grad is not None
            ]
            known = ", ".join(places) or "no node"
            raise ValueError(NOTHING_WAITS.format(node_called(self, node), input_nr, known))
        new = in_place_of(have, value, node_called(self, node))
        old, _ = self._edits.get((node, input_nr), (have, None))
        self._edits[node, input_nr] = (old, new)
        self._put(node, input_nr, new)
        self._tell()
        return self

    def _put(self, node: Node, nr: int, gradient: Any) -> None:
        if node.multi:
            self._task._buffers[node][nr] = gradient
        else:
            self._task._buffers[node] = gradient

    def compare(self, first: Branch | str, second: Branch | str | None = None) -> list[Difference]:
        """Return the gradients that differ between two branches; the second is the current branch by default."""
        other = self._branch if second is None else self._named(second)
        return branch_differences(self._named(first), other, partial(node_called, self))

    # Places.

    def breakpoint(
        self, place: Any = None, *, nonfinite: bool = False, over: float | None = None, under: float | None = None
    ) -> Breakpoint:
        """Add a breakpoint: every `run()` stops before a place, or after a step with the described gradients.

        Remove it with `s.breakpoints.remove(...)`.

        Args:
            place: Where to stop: an operation, a scope, a node, a tensor, or a function that gets each step after it
                was taken, and returns True to stop.
            nonfinite: If True, stop after a step whose incoming or outgoing gradients contain nan or infinity. With
                `place`, only steps there count.
            over: Stop after a step with a gradient whose norm is larger than this.
            under: Stop after a step with a gradient whose norm is smaller than this.
        """
        found = self._checked(breakpoint_at(place, nonfinite=nonfinite, over=over, under=under))
        self.breakpoints.append(found)
        self._tell()
        return found


def _count(n: Any, method: str) -> int:
    if not isinstance(n, int) or n < 0:
        raise ValueError(COUNT.format(method, n))
    return n


def _index(input_nr: Any) -> int:
    try:
        return index(input_nr)
    except TypeError:
        raise TypeError(INPUT_NR.format(input_nr)) from None


def _like(error: BaseException) -> BaseException:
    """Return an exception like this one, but without its traceback, whose frames keep the stepper alive."""
    try:
        twin = type(error).__new__(type(error), *error.args)
    except TypeError:  # a class that makes its exceptions in a way of its own
        return RuntimeError(str(error))
    twin.args = error.args
    twin.__dict__.update(error.__dict__)
    return twin
