"""`step()`: a backward pass that hasn't run yet, for the engine of its tensors."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...autograd.backward import make_task, seeds_of
from ...autograd.engine import GraphTask
from ...autograd.node import Node
from ...autograd.state import local
from ...autograd.tensor import Tensor
from ...bridges import is_of_torch
from ...events import failed
from ..trace.names import stands_for
from ..trace.recorder import Recorder
from .stepper import Stepper
from .steps import NOT_A_TENSOR


def step(
    loss: Any,
    inputs: Any = None,
    grad: Any = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    allow_unused: bool | None = None,
) -> Stepper:
    """Return a Stepper, which runs the backward pass of `loss` one node at a time.

    In a notebook, the Stepper shows the graph with buttons. In code, call its methods `step()`, `back()` and `run()`.
    Running all steps does the same as `loss.backward()`, and raises the same errors. With `inputs`, running all steps
    does the same as `autograd.grad`: the `.grad` attributes stay as they are, and the gradients are in `stepper.grads`.
    If the loss doesn't depend on an input, the error is raised only after the last node has run.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> loss = (x * x).sum()
        >>> stepper = workbench.step(loss)
        >>> stepper.step()
        Stepper on main: 1 of 3 nodes run
        ran:     SumBackward0
        ready:   MulBackward0
        no grad: x
        >>> _ = stepper.run()
        >>> x.grad
        tensor([2., 4.])

    Args:
        loss: The tensor at which the backward pass starts, or several tensors.
        inputs: The tensors to compute gradients for. With None, gradients are added to the `.grad` of all leaves.
        grad: The gradient to start with, in the shape of `loss`. You can omit it if `loss` has a single element.
        create_graph: If True, record this backward pass too, so that you can differentiate the gradients again.
        retain_graph: If True, keep the graph and its saved tensors for another backward pass.
        allow_unused: If True, `inputs` may contain a tensor that the loss doesn't depend on.
    """
    first = loss[0] if isinstance(loss, tuple | list) and loss else loss
    if is_of_torch(first):
        from .torch_stepper import step_torch

        return step_torch(loss, inputs, grad, create_graph, retain_graph, allow_unused)
    if type(first) in stands_for:
        from .own_stepper import step_own

        return step_own(loss, inputs, grad, create_graph, retain_graph, allow_unused)
    if local.modes.levels:
        raise RuntimeError(errors.BACKWARD_IN_TRANSFORM)
    outputs = (loss,) if isinstance(loss, Tensor) else loss
    if not isinstance(outputs, tuple | list) or not outputs:
        raise TypeError(NOT_A_TENSOR.format(type(loss).__name__))
    given = (grad,) if isinstance(grad, Tensor) else grad
    seeds = seeds_of(outputs, (None,) * len(outputs) if given is None else given)
    wanted = None
    if inputs is not None:
        wanted = (inputs,) if isinstance(inputs, Tensor) or hasattr(inputs, "output_nr") else tuple(inputs)
        if not wanted:
            raise RuntimeError(errors.EMPTY_INPUTS.format("grad"))
    keep = create_graph if retain_graph is None else retain_graph
    task = make_task(outputs, seeds, keep, create_graph, wanted)
    if freed := [node for node in task._waiting if node.is_freed() and _runs_whole(task, node)]:
        raise failed(RuntimeError(errors.SECOND_BACKWARD), task=task, node=max(freed, key=lambda node: node.seq))
    graph = Recorder()
    graph(("backward", task))  # the graph as it stands now, for who wants to see it
    s = Stepper(task, wanted, graph)
    if wanted is not None and not allow_unused:
        s._outputs = tuple(outputs)
        s._refuse_unused()
    return s


def _runs_whole(task: GraphTask, node: Node) -> bool:
    """Return True if all of a node's gradients are wanted; otherwise it may not read everything it saved."""
    needed = task._needed
    return needed is None or (node in needed and all(to in needed for to, _ in node.edges() if to is not None))
