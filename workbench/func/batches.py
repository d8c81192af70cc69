"""vmap: run a function that is written for one sample once for a whole batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import errors
from ..autograd.levels import Level, Lifted, as_given, batched, below, entered, without_finished_levels
from ..autograd.pytree import LEAF, TreeSpec, broadcast_prefix, tree_flatten, tree_unflatten
from ..autograd.tensor import Tensor
from ..ops.core.checks import dim_index
from ..ops.creation import get_rng_state, set_rng_state
from ..ops.join_split import cat

Dims = Any  # an int or None, or a tree of these


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that applies `func` to all samples of a batch at once.

    Write `func` for one sample. The returned function takes a batch, and each output gets a batch dimension. An output
    that is the same for all samples is repeated along the dimension `out_dims`. PyTorch: torch.func.vmap, which repeats
    such an output along the first dimension, whatever `out_dims` is.

    Example:
        >>> rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.func.vmap(torch.dot)(rows, rows)  # torch.dot takes two vectors
        tensor([ 5., 25.])

    Args:
        func: A function written for one sample.
        in_dims: The batch dimension of each positional argument, or None for an argument that all samples share. If an
            argument is a dict, list or tuple of tensors, give a dict, list or tuple of dimensions with the same
            structure.
        out_dims: The position of the batch dimension in each output.
        randomness: "error" raises an error if `func` draws random numbers, "different" draws separate numbers for each
            sample, and "same" uses the same numbers for all samples.
        chunk_size: The maximum number of samples that are computed at once. None computes all samples at once.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

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
            raise AssertionError("arg_spec must not be None")
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
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should "
                "appear."
            )


def _placed(
    func: Any, in_dims: Dims, args: tuple[Any, ...], leaves: list[Any], structure: TreeSpec
) -> tuple[list[int | None], int]:
    """Return the batch dimension of each leaf, and the size of the batch.

    Raises:
        ValueError: if `in_dims` doesn't fit the arguments.
    """
    said = _name(func), in_dims
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            (
                "vmap({}, in_dims={}, ...)(<inputs>): expected `in_dims` to be int or a "
                "(potentially nested) tuple matching the structure of inputs, got: {}."
            ).format(*said, type(in_dims))
        )
    if not args:
        raise ValueError(
            f"vmap({said[0]})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    dims = broadcast_prefix(in_dims, structure)
    if dims is None:
        raise ValueError(
            (
                "vmap({}, in_dims={}, ...)(<inputs>): in_dims is not compatible with the structure "
                "of `inputs`. in_dims has structure {} but inputs has structure {}."
            ).format(*said, tree_flatten(in_dims)[1], structure)
        )
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
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(errors.BATCH_SIZES.format(sizes))
    return dims, sizes[0]


def _lowered(returned: Any, out_dims: Dims, level: Level, func: Any) -> Any:
    """Return an output as it is one level below, with the batch where `out_dims` puts it."""
    outputs, structure = tree_flatten(returned)
    if structure == LEAF and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    dims = broadcast_prefix(out_dims, structure)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs "
            f"has structure {structure}."
        )
    return tree_unflatten([_placed_back(t, dim, level, func) for t, dim in zip(outputs, dims, strict=True)], structure)


def _placed_back(t: Any, dim: int | None, level: Level, func: Any) -> Any:
    if dim is None:
        t = without_finished_levels(t, level) if isinstance(t, Tensor) else t
        if type(t) is Lifted and t._level.kind == "vmap":
            raise ValueError(
                ("vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None").format(
                    name=_name(func)
                )
            )
        return t
    if not isinstance(t, Tensor):
        raise ValueError(
            (
                "vmap({name}, ...): `{name}` must only return Tensors, got type {kind}. Did you "
                "mean to set out_dims= to None for output?"
            ).format(name=_name(func), kind=type(t))
        )
    place = dim_index(dim, t.ndim + 1)
    t = without_finished_levels(t, level)
    if type(t) is not Lifted or t._level is not level:
        with below(level):
            return (t.unsqueeze(place) if place else t).expand(*t.shape[:place], level.size, *t.shape[place:])
    value, dim = as_given(t)
    if dim == place:
        return value
    with below(level):
        return t._value.permute(*range(1, place + 1), 0, *range(place + 1, t.ndim + 1)) if place else t._value
