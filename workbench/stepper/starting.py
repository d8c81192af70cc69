"""`step()`: a backward that has not run yet."""

from __future__ import annotations

from typing import Any

from .. import errors
from ..autograd.differentiate import make_task, seeds_of
from ..autograd.state import local
from ..autograd.tensor import Tensor
from ..trace.recorder import Recorder
from . import refusals
from .driving import Stepper


def step(
    loss: Any,
    inputs: Any = None,
    grad: Any = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    allow_unused: bool | None = None,
) -> Stepper:
    """A backward of `loss` that has not run yet, to be driven node by node.

    `loss` is a tensor, or several; `grad` the gradient to begin with, not needed for a single element. The steps do
    what `loss.backward()` does, or, with `inputs`, what `autograd.grad` does: nothing is accumulated, and the
    gradients are in `.grads`. Errors are those of these two; that one of the `inputs` is not used (unless
    `allow_unused`) is raised when no node is left to run.
    """
    if local.modes.levels:
        raise RuntimeError(errors.BACKWARD_IN_TRANSFORM)
    outputs = (loss,) if isinstance(loss, Tensor) else loss
    if not isinstance(outputs, tuple | list) or not outputs:
        raise TypeError(refusals.NOT_A_TENSOR.format(type(loss).__name__))
    given = (grad,) if isinstance(grad, Tensor) else grad
    seeds = seeds_of(outputs, (None,) * len(outputs) if given is None else given)
    wanted = None
    if inputs is not None:
        wanted = (inputs,) if isinstance(inputs, Tensor) or hasattr(inputs, "output_nr") else tuple(inputs)
        if not wanted:
            raise RuntimeError(errors.EMPTY_INPUTS.format("grad"))
    keep = create_graph if retain_graph is None else retain_graph
    task = make_task(outputs, seeds, keep, create_graph, wanted)
    graph = Recorder()
    graph(("backward", task))  # the graph as it stands now, for who wants to see it
    s = Stepper(task, wanted, graph)
    if wanted is not None and not allow_unused:
        s._outputs = tuple(outputs)
        s._refuse_unused()
    return s
