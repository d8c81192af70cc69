"""vmap: a function written for one sample, run once for a whole batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import errors
from ..autograd.levels import Level, Lifted, as_given, at, batched, below, entered
from ..autograd.pytree import LEAF, TreeSpec, broadcast_prefix, tree_flatten, tree_unflatten
from ..autograd.tensor import Tensor
from ..ops.core.checks import dim_index
from ..ops.join_split import cat
from ..ops.random import get_rng_state, set_rng_state

Dims = Any  # an int or None, or a tree of these


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that runs `func` for every sample of a batch at once (torch.func.vmap).

    `in_dims` says which dimension of each positional argument is the batch (None: the argument is the same for all
    samples), `out_dims` where the batch goes in each output; either may be a tree like what it speaks of. An output
    that is the same for all samples is repeated, wherever its batch goes; PyTorch 2.13 does so in front alone. Random
    numbers are refused, "different" for each sample, or the "same" for all, as `randomness` says. At most
    `chunk_size` samples run at once.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(errors.FUNC_RANDOMNESS.format(randomness))
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(errors.FUNC_CHUNK.format(chunk_size))

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(out_dims, func)
        leaves, structure = tree_flatten(args)
        dims, size = _placed(func, in_dims, args, leaves, structure)

        def run(leaves: list[Any], size: int) -> Any:
            with entered("vmap", size, randomness) as level:
                pairs = zip(leaves, dims, strict=True)
                lifted = [t if d is None else batched(t, d, level) for t, d in pairs]
                return _lowered(func(*tree_unflatten(lifted, structure), **kwargs), out_dims, level, func)

        if chunk_size is None:
            return run(leaves, size)
        before = get_rng_state() if randomness == "same" else None
        runs, first = [], 0
        for count in [chunk_size] * (size // chunk_size) + [size % chunk_size]:
            if not count:
                break
            if before is not None:
                set_rng_state(before)
            parts = [t if d is None else t.narrow(d, first, count) for t, d in zip(leaves, dims, strict=True)]
            runs.append(tree_flatten(run(parts, count)))
            first += count
        if not runs:
            raise AssertionError(errors.FUNC_NO_CHUNKS)
        structure = runs[0][1]
        columns = zip(*[outputs for outputs, _ in runs], strict=True)
        along: Any = broadcast_prefix(out_dims, structure)  # fits, as every run has checked
        return tree_unflatten([cat(list(c), d) for c, d in zip(columns, along, strict=True)], structure)

    return wrapped


def _name(func: Any) -> str:
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({_name(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _check_out_dims(out_dims: Dims, func: Any) -> None:
    for dim in tree_flatten(out_dims)[0]:
        if not (dim is None or isinstance(dim, int)):
            raise ValueError(errors.FUNC_OUT_DIMS_KIND.format(_name(func), out_dims))


def _placed(
    func: Any, in_dims: Dims, args: tuple[Any, ...], leaves: list[Any], structure: TreeSpec
) -> tuple[list[int | None], int]:
    """Which dimension of each leaf is the batch, and its size; ValueError where `in_dims` does not fit."""
    said = _name(func), in_dims
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(errors.FUNC_IN_DIMS_KIND.format(*said, type(in_dims)))
    if not args:
        raise ValueError(errors.FUNC_NO_INPUTS.format(said[0]))
    dims = broadcast_prefix(in_dims, structure)
    if dims is None:
        raise ValueError(errors.FUNC_IN_DIMS_STRUCTURE.format(*said, tree_flatten(in_dims)[1], structure))
    for i, (t, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(errors.FUNC_IN_DIM_KIND.format(*said, dim))
        if not isinstance(t, Tensor):
            raise ValueError(errors.FUNC_IN_DIM_INPUT.format(*said, dim, type(t)))
        if not -t.ndim <= dim < t.ndim:
            raise ValueError(errors.FUNC_IN_DIM_RANGE.format(*said, dim, ndim=t.ndim))
        if dim < 0:
            dims[i] = dim % t.ndim
    sizes = [t.size(dim) for t, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError(errors.FUNC_NOTHING_MAPPED)
    if len(set(sizes)) > 1:
        raise ValueError(errors.FUNC_SIZES.format(sizes))
    return dims, sizes[0]


def _lowered(returned: Any, out_dims: Dims, level: Level, func: Any) -> Any:
    """What the function returned as it is one level below, with the batch where `out_dims` puts it."""
    outputs, structure = tree_flatten(returned)
    if structure == LEAF and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = broadcast_prefix(out_dims, structure)
    if dims is None:
        raise ValueError(
            errors.FUNC_OUT_DIMS_STRUCTURE.format(_name(func), out_dims, tree_flatten(out_dims)[1], structure)
        )
    return tree_unflatten([_placed_back(t, dim, level, func) for t, dim in zip(outputs, dims, strict=True)], structure)


def _placed_back(t: Any, dim: int | None, level: Level, func: Any) -> Any:
    if dim is None:
        t = at(t, level) if isinstance(t, Tensor) else t
        if type(t) is Lifted and t._level.kind == "vmap":
            raise ValueError(errors.FUNC_BATCHED_OUTPUT.format(name=_name(func)))
        return t
    if not isinstance(t, Tensor):
        raise ValueError(errors.FUNC_OUTPUT_NOT_TENSOR.format(name=_name(func), kind=type(t)))
    place = dim_index(dim, t.ndim + 1)
    t = at(t, level)
    if type(t) is not Lifted or t._level is not level:
        with below(level):
            return (t.unsqueeze(place) if place else t).expand(*t.shape[:place], level.size, *t.shape[place:])
    value, dim = as_given(t)
    if dim == place:
        return value
    with below(level):
        return t._value.permute(*range(1, place + 1), 0, *range(place + 1, t.ndim + 1)) if place else t._value
