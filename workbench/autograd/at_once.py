"""Whole Jacobians in one go: all rows by one backward, or all columns by one run of dual tensors, under vmap.

Both return, for every output, a list with the part for every input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .basis import bases
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
        wrap(t.detach()._array * 0).expand(sum(sizes), *t.shape) if g is None else g
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
            columns.permute(*range(1, columns.ndim), 0).reshape(out.primal.shape + t.shape)
            for columns, t in zip(all_columns.split(sizes), inputs, strict=True)
        ]
        for all_columns, out in zip(found, pairs, strict=True)
    ]
