"""`backward` and `grad`: from tensors to a graph task (torch.autograd)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from .node import Node, edge_of
from .task import GraphTask
from .tensor import Tensor, meta_of, wrap

_warned_create_graph = False


def _tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, Tensor) else tuple(value)


def seeds_of(outputs: Sequence[Tensor], grads: Sequence[Any]) -> list[Tensor | None]:
    """The gradient to begin with at each output: the one given, or 1 for a single element."""
    if len(outputs) != len(grads):
        raise RuntimeError(errors.SEED_COUNT.format(len(outputs), len(grads)))
    seeds: list[Tensor | None] = []
    for i, (out, grad) in enumerate(zip(outputs, grads, strict=True)):
        if isinstance(grad, Tensor):
            if grad._array.shape != out._array.shape:
                raise RuntimeError(errors.SEED_SHAPE.format(i=i, got=list(grad.shape), want=list(out.shape)))
            seeds.append(grad)
        elif grad is None:
            if out.requires_grad and out._array.size != 1:
                raise RuntimeError(errors.ONLY_SCALAR_SEED)
            seeds.append(wrap(np.ones(out._array.shape, out._array.dtype)) if out.requires_grad else None)
        else:
            raise TypeError(errors.SEED_KIND.format(type(grad).__name__))
    return seeds


def make_task(
    outputs: Sequence[Tensor],
    seeds: Sequence[Tensor | None],
    keep_graph: bool,
    create_graph: bool,
    targets: list[tuple[Node, int]] | None = None,
) -> GraphTask:
    """A graph task from tensors; RuntimeError for an output without history."""
    roots, grads = [], []
    for i, (out, seed) in enumerate(zip(outputs, seeds, strict=True)):
        if not out.requires_grad:
            raise RuntimeError(errors.NO_GRAD_FN.format(i))
        if seed is not None and seed._array.dtype != out._array.dtype:
            seed = seed.to(out.dtype)
        roots.append((edge_of(out), out._nr))
        grads.append(seed if create_graph or seed is None else seed._array)
    return GraphTask(roots, grads, keep_graph, create_graph, targets)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradients of `tensors` and add them to the leaves' `.grad` (torch.autograd.backward).

    `grad_tensors` has the shapes of `tensors`, and may be left out for single elements. The graph is freed unless
    `retain_graph` (by default: unless `create_graph`). With `inputs`, only those receive a gradient.
    """
    global _warned_create_graph
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    if inputs is not None and not isinstance(inputs, Tensor) and len(inputs) == 0:
        raise RuntimeError(errors.EMPTY_INPUTS.format("backward"))
    outputs = _tuple(tensors)
    grads = (None,) * len(outputs) if grad_tensors is None else _tuple(grad_tensors)
    seeds = seeds_of(outputs, grads)
    if create_graph and not _warned_create_graph:
        _warned_create_graph = True
        warnings.warn(errors.BACKWARD_CREATE_GRAPH, UserWarning, stacklevel=3)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        make_task(outputs, seeds, keep, create_graph).run()
        return
    wanted = _tuple(inputs)
    edges = [(edge_of(t), t._nr) for t in wanted]
    task = make_task(outputs, seeds, keep, create_graph, edges)
    task.run()
    for t, g in zip(wanted, task.captured, strict=True):
        if g is not None:
            meta, new = meta_of(t), g if create_graph else wrap(np.array(g, order="C"))
            meta.grad = new if meta.grad is None else meta.grad + new


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of `outputs` with respect to `inputs`, touching no `.grad` (torch.autograd.grad).

    A tuple in the order of `inputs`, or a dict with its keys; each has its input's shape and dtype.
    """
    if not only_inputs:
        warnings.warn(errors.ONLY_INPUTS, FutureWarning, stacklevel=2)
    if materialize_grads and allow_unused is False:
        raise ValueError(errors.MATERIALIZE_NEEDS_UNUSED)
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    keys = list(inputs) if isinstance(inputs, dict) else None
    wanted = _tuple(inputs.values()) if keys is not None else _tuple(inputs)
    if not wanted:
        raise RuntimeError(errors.EMPTY_INPUTS.format("grad"))
    outs = _tuple(outputs)
    grads = (None,) * len(outs) if grad_outputs is None else _tuple(grad_outputs)
    seeds = seeds_of(outs, grads)
    for t in wanted:
        if not t.requires_grad:
            raise RuntimeError(errors.INPUT_WITHOUT_GRAD)
    keep = create_graph if retain_graph is None else retain_graph
    task = make_task(outs, seeds, keep, create_graph, [(edge_of(t), t._nr) for t in wanted])
    task.run()
    results = []
    for i, (t, g) in enumerate(zip(wanted, task.captured, strict=True)):
        if g is None:
            if not allow_unused:
                raise RuntimeError(errors.UNUSED_INPUT.format(i))
            g = wrap(np.zeros_like(t._array), requires_grad=create_graph) if materialize_grads else None
        elif not create_graph:
            g = wrap(np.array(g, order="C"))
        results.append(g)
    return tuple(results) if keys is None else dict(zip(keys, results, strict=True))
