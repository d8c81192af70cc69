"""Many gradients in one go, under vmap, up to whole Jacobians.

Their rows come from one backward, or their columns from one run of dual tensors: for every output a list with the part
for every input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import errors
from .basis import bases
from .differentiate import gradients
from .forward_ad import dual_level, make_dual, unpack_dual
from .levels import AUTOGRAD, entered, full, lift
from .tensor import Tensor, wrap

Parts = list[list[Tensor]]


def rows_at_once(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], pull: Callable[..., Sequence[Tensor | None]]
) -> Parts:
    """The Jacobian row by row; `pull(flat outputs, seeds)` runs a backward for a batch of seeds."""
    if not outputs:
        raise AssertionError("Expected at least one tensor")
    flat = [out.reshape(-1) for out in outputs]
    (seeds,) = bases(flat)
    sizes = [t.numel() for t in flat]
    found = [
        wrap(np.zeros_like(t._array)).expand(sum(sizes), *t.shape) if g is None else g
        for g, t in zip(pull(flat, seeds), inputs, strict=True)
    ]
    parts = zip(*[rows.split(sizes) for rows in found], strict=True)
    return [
        [rows.view(out.shape + t.shape) for rows, t in zip(row, inputs, strict=True)]
        for row, out in zip(parts, outputs, strict=True)
    ]


def columns_at_once(run: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor]) -> Parts:
    """The Jacobian column by column; `run` gives the outputs for dual tensors."""
    (basis,) = bases(inputs)
    sizes = [t.numel() for t in inputs]
    with entered("vmap", sum(sizes), AUTOGRAD) as level:
        with dual_level():
            duals = [make_dual(t, lift(columns, level)) for t, columns in zip(inputs, basis, strict=True)]
            pairs = [unpack_dual(out) for out in run(*duals)]
            moved = [primal.new_zeros(primal.shape) if t is None else t for primal, t in pairs]
        found = [full(t, level) for t in moved]
    return [
        [
            columns.permute((*range(1, columns.ndim), 0)).reshape(out.primal.shape + t.shape)
            for columns, t in zip(all_columns.split(sizes), inputs, strict=True)
        ]
        for all_columns, out in zip(found, pairs, strict=True)
    ]


def batch(
    outputs: Sequence[Any], inputs: Sequence[Any], seeds: Sequence[Tensor], keep_graph: bool, create_graph: bool
) -> list[Tensor | None]:
    """The gradients for each row of the seeds, by one backward for them all; each has the rows in front."""
    sizes = [len(seed._array) for seed in seeds]
    if len(set(sizes)) > 1:
        raise ValueError(errors.BATCH_SIZES.format(sizes))
    if 0 in sizes:
        raise IndexError(errors.BATCH_EMPTY)
    with entered("vmap", sizes[0], AUTOGRAD) as level:
        found = gradients(outputs, inputs, [lift(seed, level) for seed in seeds], keep_graph, create_graph)
    return [None if g is None else full(g, level) for g in found]
