"""`backward` and `grad`: from tensors to a graph task (torch.autograd)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from .. import errors, events
from ..errors import warn
from . import dtypes, state
from .engine import GraphTask, carries_tensors
from .levels import AUTOGRAD, entered, lift, with_batch
from .node import Node, edge_of, target_of
from .plain_backward import ran_without_task
from .state import local
from .tensor import Tensor, tensor_method, wrap

_warned_create_graph = False


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if type(value) is tuple else (value,) if isinstance(value, Tensor) or _is_edge(value) else tuple(value)


def _is_edge(value: Any) -> bool:
    from .graph import GradientEdge  # a small program needs nothing of that module

    return isinstance(value, GradientEdge)


def _inputs_in_tuple(inputs: Any, function: str) -> tuple[Any, ...]:
    """Return the inputs as a tuple; of a dict, the values."""
    if isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. "
                "Other Mapping types are not supported."
            )
        inputs = inputs.values()
    wanted = _tuple(inputs)
    if not wanted:
        raise events.failed(RuntimeError(errors.EMPTY_INPUTS.format(function)))
    return wanted


def _facts(output: Any) -> tuple[Any, Any]:
    """Return an output's shape and dtype, (None, None) if an edge doesn't know them."""
    if isinstance(output, Tensor):
        return output._array.shape, output._array.dtype
    if not _is_edge(output):
        raise AssertionError("Expected output to be a torch.Tensor")
    shapes = output.node.extra.shapes if output.node.extra is not None else None
    return (shapes or {}).get(output.output_nr, (None, None))


def seeds_of(outputs: Sequence[Any], grads: Sequence[Any], batched: bool = False) -> list[Tensor | None]:
    """Return the initial gradient of each output, in its dtype: the given one, or 1 for a single element."""
    seeds: list[Tensor | None] = []
    for i, (out, grad) in enumerate(zip(outputs, grads, strict=False)):
        shape, dtype = _facts(out)
        if isinstance(grad, Tensor):
            got = grad._array.shape
            if batched and not got:
                raise events.failed(IndexError(errors.INDEX_0D), out)
            if shape is not None and got[batched:] != shape:
                sentence, got = (errors.BATCHED_SEED_SHAPE, got[2:]) if batched else (errors.SEED_SHAPE, got)
                error = RuntimeError(sentence.format(i=i, got=list(got), want=list(shape)))  # [2:]: as PyTorch says it
                raise events.failed(error, out)
            if dtype is not None and (dtype.kind == "c") != (grad._array.dtype.kind == "c"):
                error = RuntimeError(errors.SEED_KIND.format(i, grad.dtype, dtypes.named(dtype.name)))
                raise events.failed(error, out)
            seeds.append(grad if dtype is None or grad._array.dtype == dtype else grad.to(dtypes.named(dtype.name)))
        elif grad is not None:
            raise events.failed(
                TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}"), out
            )
        elif isinstance(out, Tensor) and not out.requires_grad:
            seeds.append(None)
        else:
            if shape is None:
                raise RuntimeError(
                    "this GradientEdge does not know the shape of its tensor: make it with "
                    "get_gradient_edge, or pass the gradient to begin with as grad_outputs."
                )
            if prod(shape) != 1:
                raise events.failed(RuntimeError(errors.ONLY_SCALAR_SEED), out)
            if dtype.kind == "c":
                raise events.failed(RuntimeError(errors.ONLY_REAL_SEED.format(dtypes.named(dtype.name))), out)
            if batched:
                raise events.failed(
                    ValueError(
                        "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input "
                        "is a Tensor of dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
                    ),
                    out,
                )
            seeds.append(wrap(np.ones(shape, dtype)))
    return seeds


def _target(t: Any, accumulate: bool) -> tuple[Node, int]:
    """Return where an input's gradient arrives."""
    if isinstance(t, Tensor):
        if accumulate:
            t.retain_grad()
        elif not t.requires_grad:
            raise events.failed(RuntimeError(errors.INPUT_WITHOUT_GRAD), t)
        return target_of(t), t._nr
    if not isinstance(t, tuple):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    if not isinstance(t[0], Node):
        raise RuntimeError(f"GradientEdge's first object must be an autograd.graph.Node but got {type(t[0]).__name__}")
    return t[0], t[1]


def make_task(
    outputs: Sequence[Any],
    seeds: Sequence[Tensor | None],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Any] | None = None,
    accumulate: bool = False,
) -> GraphTask:
    """Return a graph task for tensors or edges; a seed of None is an undefined gradient.

    An output or an input without history raises RuntimeError.
    """
    if len(seeds) < len(outputs):
        raise events.failed(RuntimeError(errors.SEED_COUNT.format(len(outputs), len(seeds))), *outputs)
    roots = []
    for i, out in enumerate(outputs):
        root = (edge_of(out), out._nr) if isinstance(out, Tensor) else (out.node, out.output_nr)
        if isinstance(out, Tensor) and not out.requires_grad or root[0] is None:
            raise events.failed(RuntimeError(errors.NO_GRAD_FN.format(i)), out)
        roots.append(root)
    tensors = carries_tensors(create_graph)
    grads = [seed if tensors or seed is None else seed._array for seed in seeds[: len(roots)]]
    targets = None if inputs is None else [_target(t, accumulate) for t in inputs]
    return GraphTask(roots, grads, keep_graph, create_graph, targets, accumulate)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradient of `tensors` with respect to every leaf they depend on, and add it to the leaf's `.grad`.

    The gradients of several tensors are summed. Unlike in PyTorch, every `.grad` has its own memory.

    Args:
        tensors: One or more tensors that require grad, such as a loss.
        grad_tensors: For each tensor, the gradient to start with, in the tensor's shape. If omitted, the gradient is 1;
            each tensor must then have a single element.
        retain_graph: If True, keep the graph for another backward pass. The default is the value of `create_graph`.
        create_graph: If True, record the backward pass too, so that you can differentiate the gradients again.
        grad_variables: Deprecated; use `grad_tensors`.
        inputs: The tensors (or gradient edges) that get a gradient, leaves or not; all others get none. May be a dict.

    Raises:
        RuntimeError: if a tensor doesn't require grad, if the graph was already freed, or if a tensor has several
            elements and no gradient to start with.
    """
    usual = inputs is grad_variables is None and create_graph is False
    if usual and _ran_from_one(tensors, grad_tensors, retain_graph):
        return
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    _run_task(tensors, grad_tensors, retain_graph, create_graph, inputs)


def _flags(retain_graph: Any, create_graph: Any) -> tuple[bool, bool]:
    """Return whether to keep the graph, and whether to record one; raise TypeError for anything but bool and int."""
    create = bool(index(create_graph))
    return create if retain_graph is None else bool(index(retain_graph)), create


def _ran_from_one(output: Any, gradient: Any, retain_graph: Any) -> bool:
    """Run a backward pass from one tensor; return False for arguments that need a closer look (`_run_task`)."""
    if type(output) is not Tensor or not (retain_graph is None or type(retain_graph) is bool):
        return False
    if local.modes.levels or state.dual is not None:
        return False
    seed, keep_graph = _plain_seed(output, gradient), bool(retain_graph)
    if seed is None or (root := edge_of(output)) is None:
        return False
    if not ran_without_task(root, output._nr, seed, keep_graph):
        GraphTask([(root, output._nr)], [seed], keep_graph, False).run()
    return True


def _plain_seed(output: Tensor, gradient: Any) -> np.ndarray | None:
    """Return the array that a backward pass from one tensor begins with; None if it needs a closer look."""
    array = output._array
    if type(gradient) is Tensor:
        seed = gradient._array
        return seed if seed.dtype is array.dtype and seed.shape == array.shape else None
    if gradient is not None or array.size != 1:
        return None
    seed = np.empty(array.shape, array.dtype)
    seed.fill(1)
    return seed


def _run_task(tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    global _warned_create_graph
    wanted = None if inputs is None else _inputs_in_tuple(inputs, "backward")
    outputs = _tuple(tensors)
    seeds = seeds_of(outputs, (None,) * len(outputs) if grad_tensors is None else _tuple(grad_tensors))
    keep, create_graph = _flags(retain_graph, create_graph)
    if create_graph and not _warned_create_graph:
        _warned_create_graph = True
        warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this. If you have to use this "
            "function, make sure to reset the .grad fields of your parameters to None after "
            "use to break the cycle and avoid the leak."
        )
    make_task(outputs, seeds, keep, create_graph, wanted, accumulate=wanted is not None).run()


@tensor_method("backward")
def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradient of this tensor with respect to every leaf it depends on, and add it to the leaf's `.grad`.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])

    Args:
        gradient: The gradient to start with, in this tensor's shape. For a single element, the default is 1.
        retain_graph: If True, keep the graph for another backward pass. The default is the value of `create_graph`.
        create_graph: If True, record the backward pass too, so that you can differentiate the gradients again.
        inputs: The tensors (or gradient edges) that get a gradient, leaves or not; all others get none. May be a dict.

    Raises:
        RuntimeError: if this tensor doesn't require grad, its graph is freed, or `gradient` is needed but missing.
    """
    usual = inputs is None and create_graph is False
    if usual and _ran_from_one(self, gradient, retain_graph):
        return
    if local.modes.levels:
        raise events.failed(RuntimeError(errors.BACKWARD_IN_TRANSFORM), self)
    _run_task(self, gradient, retain_graph, create_graph, inputs)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of `outputs` with respect to `inputs`, without changing any `.grad`.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> torch.autograd.grad(x * x, x)
        (tensor(6.),)

    Args:
        outputs: One or more tensors that require grad. The gradients of several outputs are summed.
        inputs: The tensors (or gradient edges) to differentiate with respect to. May be a dict.
        grad_outputs: For each output, the gradient to start with, in the output's shape. If omitted, the gradient is 1;
            each output must then have a single element.
        retain_graph: If True, keep the graph for another backward pass. The default is the value of `create_graph`.
        create_graph: If True, record the backward pass too, so that you can differentiate the results again.
        only_inputs: Deprecated; it has no effect.
        allow_unused: If True, an input that no output depends on gets None. If False, it raises RuntimeError.
        is_grads_batched: If True, `grad_outputs` and the results have an additional first dimension. One backward pass
            computes the gradients for all rows of this dimension.
        materialize_grads: If True, the result contains zeros for an input that no output depends on.

    Returns:
        A tuple in the order of `inputs`, or a dict with its keys; each gradient has the shape and dtype of its input.
    """
    if not only_inputs:
        warn(
            (
                "only_inputs argument is deprecated and is ignored now (defaults to True). To "
                "accumulate gradient for other parts of the graph, please use "
                "torch.autograd.backward."
            ),
            FutureWarning,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    wanted = _inputs_in_tuple(inputs, "grad")
    outs = _tuple(outputs)
    batched = bool(is_grads_batched)
    seeds = seeds_of(outs, (None,) * len(outs) if grad_outputs is None else _tuple(grad_outputs), batched)
    (keep, create_graph), allow_unused = _flags(retain_graph, create_graph), bool(index(allow_unused))
    if batched:
        results = gradients_batched(outs, wanted, seeds, keep, create_graph)
    else:
        results = gradients(outs, wanted, seeds, keep, create_graph)
    if events.listeners and not create_graph:
        events.emit(("unrecorded", "grad", outs, tuple([g for g in results if g is not None])))
    for i, (t, g) in enumerate(zip(wanted, results, strict=True)):
        if g is None and not allow_unused:
            raise events.failed(RuntimeError(errors.UNUSED_INPUT.format(i)), t, *outs)
        if g is None and materialize_grads and _is_edge(t):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        if g is None and materialize_grads:
            results[i] = wrap(np.zeros_like(t._array), requires_grad=create_graph)
    return dict(zip(inputs, results, strict=True)) if isinstance(inputs, dict) else tuple(results)


def gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], seeds: Sequence[Tensor | None], keep_graph: bool, create_graph: bool
) -> list[Tensor | None]:
    """Return the gradient of each input, None if none arrived; an unchanged one stays the same tensor."""
    task = make_task(outputs, seeds, keep_graph, create_graph, inputs)
    task.run()
    if task.tensors:
        return task.captured
    known = {id(seed._array): seed for seed in seeds if seed is not None}
    for g in task.captured:
        if g is not None and id(g) not in known:
            known[id(g)] = wrap(g)
    return [None if g is None else known[id(g)] for g in task.captured]


def gradients_batched(
    outputs: Sequence[Any], inputs: Sequence[Any], seeds: Sequence[Any], keep_graph: bool, create_graph: bool
) -> list[Tensor | None]:
    """Return the gradients for each row of the seeds, by one backward pass; the rows come first in each result."""
    sizes = [len(seed._array) for seed in seeds]
    if len(set(sizes)) > 1:
        raise ValueError(errors.BATCH_SIZES.format(sizes))
    if 0 in sizes:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0")
    with entered("vmap", sizes[0], AUTOGRAD) as level:
        found = gradients(outputs, inputs, [lift(seed, level) for seed in seeds], keep_graph, create_graph)
    return [None if g is None else with_batch(g, level) for g in found]
