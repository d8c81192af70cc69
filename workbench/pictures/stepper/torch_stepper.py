"""Stepping PyTorch's engine: the same stepper, over a mirror of the graph that a real backward pass drives."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch

from ...autograd.backward import make_task, seeds_of
from ...autograd.engine import GraphTask
from ...autograd.node import AccumulateGrad, Node, extra_of
from ...autograd.tensor import wrap
from ...bridges.torch.driver import Driver, array_of
from ...bridges.torch.driver import numbers_of as real_numbers
from ...bridges.torch.found_scopes import FRAMES, found_out
from ...bridges.torch.operations import unobserved
from ...events import tag
from ..trace.facts import SourceLine
from ..trace.recorder import Recorder
from ..trace.source import Line, source
from ..trace.stacks import user_frame, user_frames
from .stepper import Stepper
from .steps import NO_HISTORY, NOT_IN_TASK, Breakpoint, are_equal, node_name, numbers_of

NO_RECORDING = "A stepped backward pass of PyTorch doesn't record a graph, so don't pass create_graph=True."
RUN_AGAIN = (
    "To go back, PyTorch's backward pass was stopped and run again up to here: hooks and Functions' backward ran again."
)
NO_WAY_BACK = (
    "Going back runs PyTorch's backward pass again, but code from torch.compile reuses the memory that it would "
    "need. Set torch._functorch.config.donated_buffer = False before you compile."
)
NO_NUMBERS_SHOWN = "Tensors whose values can't be read are shown as nan."
NO_LINES = "unknown: record the forward pass with workbench.record(torch), or run it in anomaly mode"
NO_LINE = "unknown for {}"
KEEPS_GRAPH = (
    "A stepper keeps the graph so that it can go back. For code from torch.compile, set "
    "torch._functorch.config.donated_buffer = False before you step."
)


class _MirrorRecorder(Recorder):
    """A recorder of the mirror of a graph, with the lines that created the real nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[Node, Line] = {}

    def _put_found(self, node: Any, *told: Any) -> None:
        super()._put_found(node, *told, line=self.lines.get(node))


class TorchStepper(Stepper):
    """A PyTorch backward pass that runs node by node, held in a thread of its own.

    Going back stops it and runs it again up to there. For this the graph is kept regardless of `retain_graph`, and
    hooks and your Functions' backward run again. Deleting the stepper ends the thread; the leaves keep the gradients so
    far.
    """

    def __init__(self, task: GraphTask, inputs: Sequence[Any] | None, graph: _MirrorRecorder, driver: Driver) -> None:
        self._driver, self._lines = driver, graph.lines
        self._wanted: tuple[Any, ...] | None = None  # the real inputs, if gradients are handed to the caller
        super().__init__(task, inputs, graph)
        self.warnings += [NO_NUMBERS_SHOWN] * driver.has_unknown
        weakref.finalize(self, driver.stop)
        driver.begin()

    @property
    def grads(self) -> dict[Any, Any]:
        """The gradients so far: each leaf's `.grad`, or what arrived at each of the `inputs`."""
        if self._wanted is None:
            return {leaf: leaf.grad for leaf in self._driver.leaves}
        if self._driver.result is not None:
            return dict(zip(self._wanted, self._driver.result, strict=True))
        so_far = zip(self._wanted, self._task.captured, strict=True)
        return {
            wanted: None if found is None else torch.from_numpy(numbers_of(found).copy()) for wanted, found in so_far
        }

    def _run_next(self) -> None:
        node = None
        if self.error is None:
            node = self._task._ready[0]
            edits = {nr: new for (at, nr), (_, new) in self._edits.items() if at is node}
            if not edits:  # hooks that run before the node may have made others of the gradients
                for nr, came in enumerate(self._driver.came(node)):
                    if came is not None and not are_equal(self._carried(node, nr), came):
                        self._put(node, nr, came)
            self._driver.take(node, edits)
        try:
            super()._run_next()
        finally:
            if "donated_buffer" in str(self.error) and KEEPS_GRAPH not in self.warnings:
                self.warnings.append(KEEPS_GRAPH)
        if node is not None:
            self._driver.settle(node)

    def back(self, n: int = 1) -> Stepper:
        """Undo the last `n` steps, by running the backward pass again up to there."""
        if n and self._driver.gives_away:
            raise RuntimeError(NO_WAY_BACK)
        super().back(n)
        if n:
            self._driver.again([(step.node, _of(step.node, step.edits)) for step in self.steps])
            if RUN_AGAIN not in self.warnings:
                self.warnings.append(RUN_AGAIN)
            self._tell()
        return self

    def watch(self, tensor: Any) -> list[tuple[int, Any]]:
        """Return how the gradient of a tensor came about: (number of the step, value from then on), node by node."""
        return super().watch(self._own(tensor))

    def run(self, until: Any = None) -> Stepper:
        """Run to the end, to the next breakpoint, or until a place or condition that `breakpoint` takes."""
        return super().run(self._own(until))

    def breakpoint(self, place: Any = None, **about: Any) -> Breakpoint:
        """Stop every run before a place, or directly after a step with such gradients."""
        return super().breakpoint(self._own(place), **about)

    def edit(self, node: Any, input_nr: int, value: Any) -> Stepper:
        """Change the gradient that waits at a node, before the node runs."""
        if isinstance(value, torch.Tensor):
            value = wrap(real_numbers(value))
        return super().edit(self._own(node), input_nr, value)

    def line(self, place: Any = None) -> SourceLine | None:
        """Return the line that created the next node, a given node or a tensor, if it is known.

        A recording around the forward knows it, or anomaly mode.
        """
        node = self.current if place is None else self._found(self._own(place))
        return None if node is None else source(self._lines.get(node))

    def _line_told(self) -> list[str]:
        node = self.current
        if node is None or type(node) is AccumulateGrad:
            return []
        if (line := self.line()) is not None:
            return [f"{node_name(node)} was created at {line.file}:{line.line}: {line.text}"]
        return [NO_LINE.format(node_name(node)) if self._lines else NO_LINES]

    def _own(self, place: Any) -> Any:
        """Return the mirror of a PyTorch tensor or node."""
        if isinstance(place, torch.Tensor):
            if not place.requires_grad:
                raise ValueError(NO_HISTORY)
            found = self._driver.tensor(place)
            if found is None:
                raise ValueError(NOT_IN_TASK.format("This tensor's node"))
            return found
        if isinstance(place, torch.autograd.graph.Node):
            return self._driver.mirrors.get(place, place)
        return place


def _of(node: Any, edits: dict[Any, Any]) -> dict[int, Any]:
    return {nr: value for (at, nr), value in edits.items() if at is node}


def step_torch(
    loss: Any, inputs: Any, grad: Any, create_graph: bool, retain_graph: bool | None, allow_unused: bool | None
) -> TorchStepper:
    """Return a Stepper for PyTorch tensors."""
    if create_graph:
        raise ValueError(NO_RECORDING)
    outputs = (loss,) if isinstance(loss, torch.Tensor) else tuple(loss)
    grads = (grad,) if grad is None or isinstance(grad, torch.Tensor) else tuple(grad)
    grads = (None,) * len(outputs) if grads == (None,) else grads
    wanted = None if inputs is None else (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    seeds_given = [None if each is None else wrap(array_of(each)) for each in grads]

    def whole() -> Any:
        if wanted is None:
            return torch.autograd.backward(outputs, grads, retain_graph=keeps)
        return torch.autograd.grad(outputs, wanted, grads, retain_graph=keeps, allow_unused=True)

    for each in outputs:
        if not each.requires_grad:
            torch.autograd.backward(outputs, grads)  # raises what it has to say
    with unobserved():
        driver = Driver(outputs, whole)
        keeps = not driver.gives_away or bool(retain_graph)
        mirrored = [driver.tensor(each) for each in outputs]
        targets = None if wanted is None else [_target(driver, each) for each in wanted]
        task = make_task(mirrored, seeds_of(mirrored, seeds_given), True, False, targets)
        frame = user_frame()
        found = found_out(list(driver.mirrors), [*islice(user_frames(), FRAMES)])
        graph = _MirrorRecorder()
        for real, (line, scope) in found.places.items():
            mirror = driver.mirrors[real]
            if scope is not None:
                extra_of(mirror).scope = scope
            if line is not None:
                graph.lines[mirror] = line
        graph(("backward", task))
        held = [(name, driver.tensor(thing)) for name, thing in found.named if thing.requires_grad]
        known = [(name, tensor) for name, tensor in held if tensor is not None]
        graph.name({tag(tensor): name for name, tensor in reversed(known)})
        graph._learn(known)
        if frame is not None:
            graph._read(frame)
    s = TorchStepper(task, targets, graph, driver)
    s._wanted = wanted
    if wanted is not None and not allow_unused:
        s._outputs = tuple(mirrored)
        s._refuse_unused()
    return s


def _target(driver: Driver, tensor: torch.Tensor) -> Any:
    own = driver.tensor(tensor)
    return wrap(array_of(tensor), True) if own is None else own  # no gradient will come to that
