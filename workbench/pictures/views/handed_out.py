"""What the program gets back from `autograd.grad` and from function transforms: a box with the name it gives that."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from ..scene.model import Arrow, Box
from ..trace.backward_records import BackwardStarted, GradCaptured
from ..trace.call_records import LevelLeft
from ..trace.facts import SourceLine
from ..trace.forward_records import LevelEntered, TangentPushed
from ..trace.frame import Frame
from ..trace.schema import Record
from ..trace.source import parsed
from ..trace.timeline import Timeline
from ..trace.values import Value
from .value_display import FormatCache, left_out, lines_of, value_detail
from .written import made_by, name_of

_ABOUT = frozenset({BackwardStarted, GradCaptured, LevelEntered, LevelLeft, TangentPushed})
_PULLS = frozenset({"grad", "jacrev"})  # transforms that return gradients as they come to the inputs
_PUSHES = frozenset({"hessian", "jacfwd"})  # and those that return the last tangent
_RETURNED = ".returned"  # behind the id of a tensor whose tangent it is
_GRAD = "grad("
_TOLD = "returned"  # of what has no name


class HandedOut:
    """The gradients that backward passes hand to the program, and the tangents that transforms return."""

    def __init__(self, events: Iterable[Record]) -> None:
        self._names: dict[tuple[str, str, int], str] = {}  # pass, place, output -> what the program calls it
        self._tangents: dict[str, str] = {}  # tensor -> what the program calls its tangent
        started: dict[str, BackwardStarted] = {}
        captured: list[GradCaptured] = []
        run: dict[SourceLine, list[GradCaptured]] = {}  # by transforms that are no levels: what the last pass gave
        pushed: TangentPushed | None = None
        depth, line = 0, ""
        for event in [event for event in events if event.__class__ in _ABOUT]:
            if isinstance(event, BackwardStarted):
                started[event.task] = event
                captured = [] if depth else captured
            elif isinstance(event, GradCaptured) and depth:
                captured.append(event)
            elif isinstance(event, GradCaptured) and (start := started.get(event.task)) is not None:
                if start.create_graph and start.source is not None:
                    before = run.get(start.source, [])
                    run[start.source] = [*[each for each in before if each.task == event.task], event]
                self._note_grad(event, start)
            elif isinstance(event, TangentPushed):
                pushed = event
            elif isinstance(event, LevelEntered) and not event.found:
                line = line if depth else event.source.text if event.source is not None else ""
                depth += 1
            elif isinstance(event, LevelLeft) and depth:
                depth -= 1
                if not depth:
                    self._note_result(line, captured, pushed)
                    captured, pushed = [], None
        for at, last in run.items():
            self._note_result(at.text, last, None)

    def _note_grad(self, event: GradCaptured, start: BackwardStarted) -> None:
        """Note a gradient that `autograd.grad` returns, unless it is the result of a node in the graph."""
        if start.create_graph or not start.targets:
            return
        line = start.source.text if start.source is not None else ""
        if _GRAD not in line:  # what a library's function does with it isn't known
            return
        names = _names_of(line, start.targets)
        self._names[event.task, event.node, event.output_nr] = names.get(event.node) or _TOLD

    def _note_result(self, line: str, captured: Sequence[GradCaptured], pushed: TangentPushed | None) -> None:
        """Note what the outermost transform returns, if the program's line tells what that is."""
        target, value = _assignment(line) or (None, None)
        if not isinstance(value, ast.Call):
            return
        names = [each.id for each in _each(target) if isinstance(each, ast.Name)]
        if len(names) == 2 and name_of(value.func) == "jvp":
            own = "jvp"
        elif len(names) == 1:
            own = next((each for each in made_by(value) if each != "vmap"), "")
        else:
            own = ""
        if own in (*_PUSHES, "jvp") and pushed is not None:
            columns = "columns of " if own == "jacfwd" else ""  # one for each direction
            self._tangents[pushed.outputs[-1].tensor] = columns + names[-1]
        elif own in _PULLS:
            title = names[0] if len(captured) == 1 else f"part of {names[0]}"
            self._names |= {(each.task, each.node, each.output_nr): title for each in captured}

    def drawn(self, say: FormatCache, frame: Frame, id: str) -> tuple[list[Box], list[Arrow]]:
        """Return the boxes of the gradients that were handed out for this node or leaf, and lines to them."""
        boxes: list[Box] = []
        arrows: list[Arrow] = []
        for nr, (task, grad) in frame.handed[id].items():
            if (name := self._names.get((task, id, nr))) is not None and grad is not None:
                boxes.append(_box(say, f"{id}.handed{nr}", name, grad, f"the gradient of {frame.called(id)}"))
                arrows.append(Arrow(f"{id}.handed{nr}.beside", id, f"{id}.handed{nr}", "beside"))
        return boxes, arrows

    def stop(self, trace: Timeline) -> int | None:
        """Return the stop at which the last tangent that the program gets is there."""
        if not self._tangents:
            return None
        found = [
            stop
            for stop, (begin, end) in enumerate(pairwise([0, *trace.steps]))
            for event in trace.events[begin:end]
            if isinstance(event, TangentPushed) and event.outputs[-1].tensor in self._tangents
        ]
        return max(found, default=None)

    def beside(self, id: str, box: str) -> list[Arrow]:
        """Return the line from this box, that of a tensor, to what the program calls its tangent."""
        return [Arrow(f"{id}{_RETURNED}.beside", box, f"{id}{_RETURNED}", "beside")] if id in self._tangents else []

    def tangent(self, say: FormatCache, frame: Frame, box: str) -> Box | None:
        """Return the box of a tangent that the program gets, if it is one."""
        name = self._tangents.get(id := box.removesuffix(_RETURNED)) if box.endswith(_RETURNED) else None
        if name is None or id not in frame.tangents:
            return None
        return _box(say, box, name, frame.tangents[id][0].value, "the tangent")


def _box(say: FormatCache, id: str, name: str, value: Value, what: str) -> Box:
    lines = tuple(say(lines_of, value))
    details = (say(value_detail, "Value", name, value),)
    return Box(id, "returned", name, lines, details=details, note=what, unsaid=left_out(value))


def _each(target: ast.expr | None) -> list[ast.expr]:
    """Return what an assignment assigns to, one by one."""
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [] if target is None else [target]


@lru_cache(1_000)
def _assignment(line: str) -> tuple[ast.expr, ast.expr] | None:
    """Return what a line assigns to, and what it assigns."""
    tree = parsed(line.strip())
    first = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    if not isinstance(first, ast.Assign) or len(first.targets) != 1:
        return None
    return first.targets[0], first.value


def _names_of(line: str, targets: Sequence[str]) -> dict[str, str]:
    """Return what a line that calls `autograd.grad` calls the gradient of each of these inputs."""
    found = _assignment(line)
    if found is None:
        return {}
    target, value = found
    taken = value if isinstance(value, ast.Subscript) else None
    value = value if taken is None else taken.value
    if not (isinstance(value, ast.Call) and name_of(value.func) == "grad"):
        return {}
    if taken is not None:
        if not (isinstance(taken.slice, ast.Constant) and isinstance(at := taken.slice.value, int)):
            return {}
        targets = targets[at : at + 1]
    elif isinstance(target, ast.Name):
        return {each: f"{target.id}[{n}]" for n, each in enumerate(targets)}
    return {each: name.id for each, name in zip(targets, _each(target), strict=False) if isinstance(name, ast.Name)}
