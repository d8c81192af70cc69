"""Stepping an engine that you wrote: the same stepper, over a mirror of its graph.

Each step runs the engine's own node; a leaf's step is the engine's own accumulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ... import errors
from ...autograd.backward import make_task, seeds_of
from ...autograd.engine import GraphTask
from ...autograd.node import AccumulateGrad, Node, meta_of
from ...autograd.tensor import wrap
from ...bridges.own_engine import NO_RECORDING, OwnEngine, OwnNode, drivers
from ...events import failed
from ..trace.recorder import Recorder
from .stepper import Stepper, gradient_of
from .steps import Breakpoint, are_equal, recorded


class OwnStepper(Stepper):
    """A backward pass of your own engine, in which every step runs one node.

    Between steps the engine's leaves have the gradients so far; going back removes them again.
    """

    def __init__(self, task: GraphTask, inputs: Sequence[Any] | None, graph: Recorder, driver: OwnEngine) -> None:
        self._driver = driver
        self._wanted: tuple[Any, ...] | None = None  # the engine's own, if gradients are handed to the caller
        # What each step has changed of a node or a leaf: that, what it had, and the numbers of a gradient.
        self._changed: list[tuple[Any, Any, Any]] = []
        super().__init__(task, inputs, graph)

    @property
    def grads(self) -> dict[Any, Any]:
        """The gradients so far: each leaf's `.grad`, or what arrived at each of the `inputs`."""
        if self._wanted is None:
            return {leaf: leaf.grad for leaf in map(self._driver.own_leaf, self._leaves())}
        found = [None if each is None else self._driver.new(each) for each in self._task.captured]
        return dict(zip(self._wanted, found, strict=True))

    def _run_next(self) -> None:
        node = self.current
        if node is not None:
            before = self._before(node)
        try:
            super()._run_next()
            if type(node) is AccumulateGrad and not self.steps[-1].captured:
                self._accumulate(node)
        finally:
            if node is not None and self.position > len(self._changed):
                self._changed.append(before)

    def _before(self, node: Node) -> tuple[Any, Any, Any]:
        """Return the state that a step is about to change, with new numbers for a leaf's mirror to add to."""
        if isinstance(node, OwnNode):
            keeper = getattr(node.real, "node", node.real)  # of a write through a view: what the write has saved
            return keeper, getattr(keeper, "saved", None), None
        leaf = self._driver.own_leaf(node)
        grad = leaf.grad
        values = None if grad is None else self._driver.array(grad).copy()
        meta_of(node.variable).grad = None if values is None else wrap(values.copy())
        return leaf, grad, values

    def _accumulate(self, node: AccumulateGrad) -> None:
        """Let the engine add the gradient to its leaf's, and show the result."""
        step, mirror = self.steps[-1], meta_of(node.variable)
        if step.incoming and step.incoming[0] is not None:
            self._driver.accumulate(node, step.incoming[0])
        grad = self._driver.own_leaf(node).grad
        if grad is None or mirror.grad is None:
            return
        if not are_equal(mirror.grad, self._driver.array(grad)):
            self._branch.steps[self.position - 1] = replace(step, left=recorded(self._driver.array(grad)))
        self._driver.link(grad, mirror.grad)
        self._undo[-1] = replace(self._undo[-1], left=gradient_of(node))

    def back(self, n: int = 1) -> Stepper:
        """Undo the last `n` steps, and restore the state from before them."""
        super().back(n)
        for _ in range(n):
            thing, had, values = self._changed.pop()
            if not self._driver.is_tensor(thing):
                if hasattr(thing, "saved"):
                    thing.saved = had
                continue
            thing.grad = had
            if had is not None:
                had.data[...] = values
                mirror = self._driver.tensor(thing).grad
                if mirror is not None:
                    self._driver.link(had, mirror)
        if n:
            self._tell()
        return self

    def watch(self, tensor: Any) -> list[tuple[int, Any]]:
        """Return how the gradient of a tensor came about: (number of the step, value from then on), node by node."""
        return super().watch(self._driver.mirror(tensor))

    def run(self, until: Any = None) -> Stepper:
        """Run to the end, to the next breakpoint, or until a place or condition that `breakpoint` takes."""
        return super().run(self._driver.mirror(until))

    def breakpoint(self, place: Any = None, **about: Any) -> Breakpoint:
        """Stop every run before a place, or directly after a step with such gradients."""
        return super().breakpoint(self._driver.mirror(place), **about)

    def edit(self, node: Any, input_nr: int, value: Any) -> Stepper:
        """Change the gradient that waits at a node, before the node runs."""
        value = np.array(self._driver.array(value)) if self._driver.is_tensor(value) else value
        return super().edit(self._driver.mirror(node), input_nr, value)


def step_own(
    loss: Any, inputs: Any, grad: Any, create_graph: bool, retain_graph: bool | None, allow_unused: bool | None
) -> OwnStepper:
    """Return a Stepper for tensors of an engine passed to `drive`."""
    outputs = tuple(loss) if isinstance(loss, tuple | list) else (loss,)
    driver = drivers[type(outputs[0])]
    if create_graph:
        raise ValueError(NO_RECORDING)
    given = (None,) * len(outputs) if grad is None else tuple(grad) if isinstance(grad, tuple | list) else (grad,)
    wanted = None if inputs is None else tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    for each in (*outputs, *(wanted or ())):
        each.grad_fn  # noqa: B018  reading it builds the history of a view whose memory was written
    mirrored = [driver.tensor(each) for each in outputs]
    seeds = seeds_of(mirrored, [None if each is None else driver.tensor(each) for each in given])
    targets = None if wanted is None else [driver.tensor(each) for each in wanted]
    task = make_task(mirrored, seeds, bool(retain_graph), False, targets)
    if freed := [node for node in task._waiting if node.is_freed()]:
        raise failed(RuntimeError(errors.SECOND_BACKWARD), task=task, node=max(freed, key=lambda node: node.seq))
    graph = Recorder()
    graph(("backward", task))
    s = OwnStepper(task, targets, graph, driver)
    s._wanted = wanted
    if wanted is not None and not allow_unused:
        s._outputs = tuple(mirrored)
        s._refuse_unused()
    return s
