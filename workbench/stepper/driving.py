"""The stepper: a real backward that the user drives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import index
from typing import Any

from .. import errors
from ..autograd.engine import GraphTask
from ..autograd.node import Node
from ..autograd.scopes import scope_of
from ..autograd.snapshot import Snapshot, hooks_of, runs_user_code
from ..events import Event, failed, listeners, tag
from ..trace.call_records import HookRan
from ..trace.recorder import Recorder
from . import refusals
from .edits import are_same, in_place_of
from .moments import Branch, Difference, Place, Step, as_tensor, counted, differences, is_in_scope, value_of
from .standing import Standing, Undo, gradient_of
from .stops import Breakpoint, breakpoint_at
from .telling import called, leaf_called


class _Heard:
    """What the engine says of one step of a task: gradients that came in and went out, what hooks did, what it made."""

    def __init__(self, task: GraphTask, incoming: tuple[Any, ...], graph: Recorder) -> None:
        self.task, self.incoming, self.outgoing, self.captured = task, incoming, (), False
        self.graph, self.hooked, self.made = graph, [], []

    def __call__(self, event: Event) -> None:
        if event[0] == "created" and self.task.create_graph:
            self.made += self.graph.aside(event)
        if event[1] is not self.task:
            return
        if event[0] in ("asks", "asked", "accumulated") or (event[0] == "run" and event[2].extra is not None):
            self.hooked += [each for each in self.graph.aside(event) if isinstance(each, HookRan)]
        if event[0] == "run":
            self.incoming = tuple(event[3] or ())
        elif event[0] == "ran":
            self.outgoing = tuple(event[3] or ())
        elif event[0] == "captured":
            self.captured = True


class Stepper(Standing):
    """A backward that runs node by node, forwards and back, over the engine's own graph task.

    Between steps everything is as the engine has it there: leaves' `.grad`, what is saved and what is freed. Going
    back restores that; what code of yours did besides (prints, random numbers it drew) stays done, and `warnings` says
    so of hooks. It keeps every gradient and every saved tensor it has seen for as long as it lives itself.
    """

    # Going forwards.

    def step(self, n: int = 1) -> Stepper:
        """Run the next `n` nodes, or those that are left. RuntimeError after an error, until you go back."""
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
        """Run to the end, or to the next breakpoint, or until a place or condition such as `breakpoint` takes.

        A node, tensor, operation ("mul", "MulBackward0") or scope is stopped at before it runs; a function of the
        step just taken right after the step for which it is true.
        """
        stops = list(self.breakpoints)
        if until is not None:
            stops.append(self._checked(breakpoint_at(until)))
        return self._go(stops, lambda: False)

    def over(self, scope: str) -> Stepper:
        """Run until all nodes made in a scope have run (or to a breakpoint)."""
        left = {node for node in self._to_run() if is_in_scope(node, scope)}
        if not left:
            raise ValueError(refusals.NO_SCOPE.format(scope, self._known_scopes()))
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
            raise RuntimeError(refusals.FAILED.format(self.steps[-1].name, self.position))
        task = self._task
        node = task._ready[0]
        hooks = tuple(hooks_of(node))
        self._copies = self._copies or runs_user_code(node)
        have = task._buffers.get(node)
        heard = _Heard(task, tuple(have) if type(have) is list else (have,), self._graph)
        snapshot, known = Snapshot(task), self._graph.known() if task.create_graph else None
        error = None
        hear = snapshot.hear
        listeners[len(listeners) :] = [heard, hear]  # by no call, after which an interrupt could come
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
            given = {edge for edge, g in zip(node.edges(), heard.outgoing, strict=False) if g is not None}
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
            )
            self._append(step)
            self._undo.append(Undo(snapshot, self._edits, gradient_of(node), known))
            self._edits = {}
        self._refuse_unused()

    def _refuse_unused(self) -> None:
        """What `autograd.grad` raises in the end for an input that got no gradient."""
        if self._outputs is None or not self.done:
            return
        for i, (tensor, gradient) in enumerate(zip(self._inputs or (), self._task.captured, strict=True)):
            if gradient is None:
                raise failed(RuntimeError(errors.UNUSED_INPUT.format(i)), tensor, *self._outputs)

    def _append(self, step: Step) -> None:
        """Put a step down on the branch that went on like this from here before, or on a new one."""
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
        """Undo the last `n` steps, and what was edited since: all is as it was on arriving there."""
        if _count(n, "back") > self.position:
            raise ValueError(refusals.TOO_FAR_BACK.format(counted(n, "step"), counted(self.position, "step")))
        self.reason = None
        self._take_back(self._edits)
        self._edits = {}
        for _ in range(n):
            step, undo = self._branch.steps[self.position - 1], self._undo.pop()
            name = step.name if step.leaf is None else leaf_called(self, step.node)
            said = [refusals.HOOK_STAYS.format(step.number, kind, name) for kind in step.hooks]
            left, now = undo.left, gradient_of(step.node)
            undo.snapshot.restore()
            if undo.known is not None:
                self._graph.unlearn(undo.known)
            self._take_back(undo.edits)
            if left[0] is not now[0] or left[1] != now[1]:
                leaf = leaf_called(self, step.node)
                grad = "None" if step.leaf.grad is None else value_of(step.leaf.grad)
                said.append(refusals.GRAD_REPLACED.format(leaf, step.number, grad))
            said += [refusals.RECORDED] if self._is_recorded() else []
            self.warnings += [sentence for sentence in said if sentence not in self.warnings]
        self._tell()
        return self

    def switch(self, branch: Branch | str) -> Stepper:
        """Go over to another branch, to where it had come: back to where they part, and on with its gradients."""
        branch = self._named(branch)
        course = list(branch.steps)
        shared = 0
        while shared < min(self.position, len(course)) and self._branch.steps[shared] is course[shared]:
            shared += 1
        self.back(self.position - shared)
        self._branch = branch
        for step in course[shared:]:
            for (node, nr), value in step.edits.items():
                self.edit(node, nr, as_tensor(value))
            self.step()
        return self

    def _is_recorded(self) -> bool:
        """Whether a recording that is on hears this backward; what is taken back it has heard for good."""
        return any(isinstance(each, Recorder) and each.id_of(tag(self._task)) is not None for each in listeners)

    def _take_back(self, edits: dict[Place, tuple[Any, Any]]) -> None:
        for (node, nr), (old, _) in edits.items():
            self._put(node, nr, old)

    def edit(self, node: Any, input_nr: int, value: Any) -> Stepper:
        """Change the gradient that waits at a node, before the node runs.

        `node` is a node, a tensor (whose gradient it then is), or the name or operation of the only such node at
        which a gradient waits. `value` is a number, or an array or tensor of the gradient's shape.
        """
        node, input_nr = self._found(node), _index(input_nr)
        have = self._carried(node, input_nr)
        if have is None:
            places = [f"{called(self, w.node)} (input_nr {w.input_nr})" for w in self.pending if w.grad is not None]
            known = ", ".join(places) or "no node"
            raise ValueError(refusals.NOTHING_WAITS.format(called(self, node), input_nr, known))
        new = in_place_of(have, value, called(self, node))
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
        """The gradients that came out differently in two branches (the second is by default the one it is on)."""
        other = self._branch if second is None else self._named(second)
        return differences(self._named(first), other, partial(called, self))

    # Places.

    def breakpoint(
        self, place: Any = None, *, nonfinite: bool = False, over: float | None = None, under: float | None = None
    ) -> Breakpoint:
        """Stop every run before a place (operation, scope, node, tensor), or right after a step with such gradients.

        `place` may also be a function of the step just taken. `nonfinite`, `over` and `under` (bounds of the norm)
        look at the gradients that came in and went out, at that place alone if there is one. Take it off again with
        `s.breakpoints.remove(...)`.
        """
        found = self._checked(breakpoint_at(place, nonfinite=nonfinite, over=over, under=under))
        self.breakpoints.append(found)
        self._tell()
        return found


def _count(n: Any, method: str) -> int:
    if not isinstance(n, int) or n < 0:
        raise ValueError(refusals.COUNT.format(method, n))
    return n


def _index(input_nr: Any) -> int:
    try:
        return index(input_nr)
    except TypeError:
        raise TypeError(refusals.INPUT_NR.format(input_nr)) from None


def _like(error: BaseException) -> BaseException:
    """An exception like this one, but without its traceback, whose frames hold the stepper."""
    try:
        twin = type(error).__new__(type(error), *error.args)
    except TypeError:  # a class that makes its exceptions in a way of its own
        return RuntimeError(str(error))
    twin.args = error.args
    twin.__dict__.update(error.__dict__)
    return twin
