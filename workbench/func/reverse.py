"""Transforms that differentiate backwards: grad, vjp, jacrev.

The function runs at a level of its own, which records; the backward then runs below that level, so that what it
computes with is what the surroundings see: they can record it, push tangents through it or batch it in turn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from ..autograd.backward import gradients, seeds_of, unit_vectors
from ..autograd.graph import disable_saved_tensors_hooks
from ..autograd.levels import Level, Lifted, below, entered, lift
from ..autograd.pytree import tree_flatten, tree_map, tree_unflatten
from ..autograd.state import local, unusual
from ..autograd.tensor import Tensor, wrap
from ..events import failed
from ..ops.join_split import cat
from . import messages
from .arguments import check_output, chosen_arguments, lifted, lowered, with_aux
from .vectorize import vmap

Argnums = int | tuple[int, ...]
ALL = object()  # in place of argnums: all arguments


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of `func`, which returns a scalar tensor (torch.func.grad).

    The gradient is with respect to the argument that `argnums` names, a tuple of them for a tuple, zeros where `func`
    does not depend on it. With `has_aux`, `func` returns `(output, aux)` and the new function `(gradient, aux)`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes `(gradient, value)` of `func`; see grad (torch.func.grad_and_value).

    With `has_aux` it returns `(gradient, (value, aux))`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return wrapper


def _grad_and_value(func: Any, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, Any]:
    with disable_saved_tensors_hooks(messages.SAVED_HOOKS), entered("grad") as level:
        args, leaves, structure = _watched(args, argnums, level)
        output = func(*args, **lifted(kwargs, level))
        aux = None
        if has_aux:
            output, aux = with_aux(output, messages.GRAD)
        if not isinstance(output, Tensor):
            raise failed(RuntimeError(messages.GRAD_KIND.format(type(output))))
        if output.ndim:
            raise failed(RuntimeError(messages.GRAD_SCALAR.format(output.ndim)))
        with below(level):
            seed = wrap(np.ones((), output._array.dtype))
            gradient = tree_unflatten(pulled([output], leaves, [seed], True, _looked_into([output], [seed])), structure)
        value = lowered(output, level)
        return gradient, (value, lowered(aux, level)) if has_aux else value


def _watched(args: tuple[Any, ...], argnums: Any, level: Level) -> tuple[tuple[Any, ...], list[Tensor], Any]:
    """The arguments at the level, where those to differentiate by require grad; these as leaves, and their structure.

    An argument that is not to be differentiated by may be anything.
    """
    places = range(len(args)) if argnums is ALL else chosen_arguments(args, argnums)
    watch = functools.partial(_leaf, level=level)
    args = tuple([tree_map(watch, a) if i in places else lifted(a, level) for i, a in enumerate(args)])
    return args, *tree_flatten(args if argnums is ALL else _picked(args, argnums))


def _picked(args: tuple[Any, ...], argnums: Any) -> Any:
    """The argument that `argnums` names, or a tuple of those that it does."""
    places = chosen_arguments(args, argnums)
    return args[places[0]] if isinstance(argnums, int) else tuple([args[i] for i in places])


def _leaf(t: Any, level: Level) -> Tensor:
    if not isinstance(t, Tensor):
        raise ValueError(messages.INPUT_KIND.format(type(t)))
    if not t.is_floating_point():
        raise RuntimeError(errors.ONLY_FLOATS_METHOD)
    return lift(t, level, requires_grad=True)


def pulled(outputs: list[Tensor], inputs: list[Tensor], seeds: Any, keep_graph: bool, create_graph: bool) -> Any:
    """The gradients of the inputs, zeros where outputs do not depend on them."""
    pairs = [(out, seed) for out, seed in zip(outputs, seeds, strict=False) if out.requires_grad]
    found: list[Tensor | None] = [None] * len(inputs)
    if pairs and inputs:
        outs = [out for out, _ in pairs]
        checked = seeds_of(outs, [seed for _, seed in pairs])
        before = ("pulled", local.modes) in unusual
        unusual["pulled", local.modes] = True  # the graph holds tensors of a level that is over
        try:
            found = gradients(outs, inputs, checked, keep_graph, create_graph)
        finally:
            if not before:
                del unusual["pulled", local.modes]
    return [wrap(np.zeros_like(t._array)) if g is None else g for t, g in zip(inputs, found, strict=True)]


def _looked_into(outputs: list[Tensor], seeds: list[Any]) -> bool:
    """Whether the surroundings may want to differentiate a backward that runs now: other levels, or a graph outside."""
    if local.modes.levels or not local.modes.grad:
        return local.modes.grad
    values = [t._value if type(t) is Lifted else t for t in (*outputs, *seeds)]
    return any([isinstance(t, Tensor) and t.requires_grad for t in values])


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`(output, pull)`: what `func` returns, and the function that pulls cotangents back to its arguments.

    `pull` takes a tree like the output and returns a tuple with a gradient for each of `primals`; it can be called
    again. With `has_aux`, `func` returns `(output, aux)` and vjp `(output, pull, aux)` (torch.func.vjp).
    """
    return _vjp(func, primals, ALL, has_aux)


def _vjp(func: Callable[..., Any], primals: tuple[Any, ...], argnums: Any, has_aux: bool) -> Any:
    """The same with respect to some of the arguments."""
    with disable_saved_tensors_hooks(messages.SAVED_HOOKS), entered("grad") as level:
        args, leaves, structure = _watched(primals, argnums, level)
        output = func(*args)
        aux = None
        if has_aux:
            output, aux = with_aux(output, messages.VJP)
            aux = lowered(aux, level)
        outputs, out_structure = tree_flatten(output)
        check_output(outputs, messages.VJP)
        value = lowered(output, level)
        for out in outputs:
            if not out.is_floating_point():
                raise RuntimeError(messages.VJP_FLOATS.format(out.dtype))

    def wrapper(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds, got = tree_flatten(cotangents)
        if got != out_structure:
            raise RuntimeError(messages.COTANGENTS.format(got.pretty(), out_structure.pretty()))
        if create_graph is None:
            create_graph = _looked_into(outputs, seeds) if level.outer_grad else local.modes.grad
        return tree_unflatten(pulled(outputs, leaves, seeds, retain_graph, create_graph), structure)

    return (value, wrapper, aux) if has_aux else (value, wrapper)


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` backwards, a row for each element of the output.

    Each leaf of the output becomes a tree like the arguments that `argnums` names, of tensors of the output's shape
    followed by the argument's. At most `chunk_size` rows are computed at once (torch.func.jacrev).
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(messages.JACREV_CHUNK)

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        output, pull, *aux = _vjp(func, args, argnums, has_aux)
        outputs, out_structure = tree_flatten(output)
        primals, structure = tree_flatten(_picked(args, argnums))
        runs = []
        for basis in unit_vectors(outputs, chunk_size):
            if chunk_size == 1:
                pulled_back = pull(tree_unflatten([b[0] for b in basis], out_structure))
                runs.append([g.unsqueeze(0) for g in tree_flatten(pulled_back)[0]])
            else:
                runs.append(tree_flatten(vmap(pull)(tree_unflatten(basis, out_structure)))[0])
        columns = [run[0] if len(run) == 1 else cat(run, 0) for run in zip(*runs, strict=True)]
        sizes = [out._array.size for out in outputs]
        rows = [column.split(sizes, 0) for column in columns]
        blocks = [
            tree_unflatten(
                [row[k].reshape(out.shape + t.shape) for row, t in zip(rows, primals, strict=True)], structure
            )
            for k, out in enumerate(outputs)
        ]
        jacobian = tree_unflatten(blocks, out_structure)
        return (jacobian, *aux) if has_aux else jacobian

    return wrapper
