"""Tangents of views whose base is written: every view, every write, tangents in every order in memory.

A program makes zeros, takes a view of them, writes, and returns the view. Its tangent is the slope of the same program
on plain tensors, and what PyTorch says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import absent
import numpy as np
import pytest
from oracle import difference as differs
from oracle import plain, torch

import workbench

SHAPE = (2, 2, 3)
VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda b: b,
    "select": lambda b: b.select(2, 1),
    "first": lambda b: b[0],
    "slice": lambda b: b[:, :, ::2],
    "transpose": lambda b: b.transpose(0, 2),
    "permute": lambda b: b.permute(2, 0, 1),
    "diagonal": lambda b: b.diagonal(0, 0, 2),
    "expand": lambda b: b[:, :1].expand(2, 4, 3),
    "view": lambda b: b.view(4, 3),
    "flat": lambda b: b.view(-1),
    "reshape": lambda b: b.reshape(2, 6),
    "unsqueeze": lambda b: b.unsqueeze(1),
    "squeeze": lambda b: b[:1].squeeze(0),
    "split": lambda b: b.split(2, 2)[0],
    "unbind": lambda b: b.unbind(1)[1],
    "narrow": lambda b: b.narrow(2, 1, 2),
    "alias": lambda b: b[...],
    "transposed row": lambda b: b.transpose(0, 2)[1],
    "row transposed": lambda b: b[1].t(),
    "flat slice": lambda b: b.view(-1)[1::3],
    "part of a part": lambda b: b[:, 1][:, 1:],
}


def _through_a_view(m: Any, b: Any, y: Any) -> None:
    b.transpose(0, 2).copy_(y.transpose(0, 2))


def _through_two(m: Any, b: Any, y: Any) -> None:
    b[0].copy_(y[1])
    b.view(-1)[2:7].mul_(y.reshape(-1)[1:6])


def _set_with_a_mask(m: Any, b: Any, y: Any) -> None:
    b[m.tensor([True, False])] = y[:1]


def _set_with_a_list(m: Any, b: Any, y: Any) -> None:
    b[:, :, [0, 2]] = y[:, :, 1:]


def _set_numbers(m: Any, b: Any, y: Any) -> None:
    b[:] = y
    b[0] = 2.0
    b[..., 1] = y[..., 0]


def _masked_with_a_number(m: Any, b: Any, y: Any) -> None:
    b.copy_(y).masked_fill_(m.tensor([[True, False, True], [False, False, True]]), 0.5)


def _put(m: Any, b: Any, y: Any) -> None:
    b.index_put_((m.tensor([1, 0]), m.tensor([0, 1])), y[0])


def _put_adding(m: Any, b: Any, y: Any) -> None:
    b.index_put_((m.tensor([1, 1]),), y, accumulate=True)


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "copy_": lambda m, b, y: b.copy_(y),
    "copy_ of an operation": lambda m, b, y: b.copy_(y * y),
    "copy_ of a row": lambda m, b, y: b.copy_(y[0, 1]),
    "add_": lambda m, b, y: b.add_(y),
    "add_ twice": lambda m, b, y: b.add_(y).add_(y, alpha=2.0),
    "mul_": lambda m, b, y: b.add_(1.5).mul_(y),
    "add_ a number": lambda m, b, y: b.copy_(y).add_(2.0),
    "mul_ a number": lambda m, b, y: b.add_(y).mul_(3.0),
    "fill_": lambda m, b, y: b.fill_(y[1, 0, 2]),
    "fill_ a number": lambda m, b, y: b.copy_(y).fill_(2.0),
    "zero_": lambda m, b, y: b.copy_(y).zero_(),
    "tanh_": lambda m, b, y: b.sub_(y).tanh_(),
    "set an int": lambda m, b, y: b.__setitem__(1, y[0]),
    "set a slice": lambda m, b, y: b.__setitem__((slice(None), slice(1, 2)), y[:, :1]),
    "set a mask": _set_with_a_mask,
    "set a list": _set_with_a_list,
    "set numbers": _set_numbers,
    "masked_fill_": lambda m, b, y: b.masked_fill_(m.tensor([True, False, True]), y[1, 1, 1]),
    "masked_fill_ a number": _masked_with_a_number,
    "scatter_": lambda m, b, y: b.scatter_(2, m.tensor([[[2, 0, 1], [0, 1, 2]], [[1, 2, 0], [1, 0, 2]]]), y),
    "scatter_add_": lambda m, b, y: b.scatter_add_(0, m.tensor([[[1, 0, 1], [0, 0, 1]]]), y[:1]),
    "index_add_": lambda m, b, y: b.index_add_(2, m.tensor([2, 0]), y[:, :, :2]),
    "index_put_": _put,
    "index_put_ adding": _put_adding,
    "through a view": _through_a_view,
    "through two views": _through_two,
}

LAYOUTS: dict[str, Callable[[Any], Any]] = {  # of a tensor with the same elements
    "in rows": lambda t: t.clone(),
    "turned": lambda t: t.permute(2, 1, 0).contiguous().permute(2, 1, 0),
    "sliced": lambda t: t[..., None].repeat(1, 1, 1, 2)[..., 1],
    "expanded": lambda t: t[:, :1, :1].expand(SHAPE),
}


def program(m: Any, view: str, write: str) -> Callable[[Any], Any]:
    """The view of zeros that are written from what is given."""

    def run(y: Any) -> Any:
        base = m.zeros(SHAPE, dtype=m.float64)
        seen = VIEWS[view](base)
        WRITES[write](m, base, y)
        return seen * 1

    return run


def numbers(m: Any, seed: int) -> Any:
    """Random numbers, the same for both."""
    return m.tensor(np.random.default_rng(seed).uniform(0.5, 1.5, SHAPE).tolist(), dtype=m.float64)


def cases(write: str) -> list[tuple[str, str]]:
    """Every view, each with one order of the tangent in memory; with the next write it is another."""
    orders, at = list(LAYOUTS), list(WRITES).index(write)
    return [(view, orders[(i + at) % len(orders)]) for i, view in enumerate(VIEWS)]


def tangents(m: Any, view: str, write: str, layout: str) -> dict[str, Any]:
    """The tangent of the program's result, and of what contains it, by every way that there is.

    PyTorch refuses to write one tangent of a batch into all elements.
    """
    f, x, t = program(m, view, write), numbers(m, 1), LAYOUTS[layout](numbers(m, 2))
    fwAD = m.autograd.forward_ad
    with fwAD.dual_level():
        dual = fwAD.unpack_dual(f(fwAD.make_dual(x, t))).tangent
    found = {
        "jvp": m.func.jvp(f, (x,), (t,))[1],
        "dual": m.zeros_like(f(x)) if dual is None else dual,
        "jvp of jvp": m.func.jvp(lambda y: m.func.jvp(f, (y * y,), (t,))[1], (x,), (t,))[1],
    }
    if m is workbench or write != "fill_":
        batch = m.stack([t, t + 1], 1)
        found["vmap of jvp"] = m.func.vmap(lambda s: m.func.jvp(f, (x,), (s,))[1], in_dims=1)(batch)[0]
    if view not in ("split", "unbind"):  # of which a recorded write is refused
        found["jvp of grad"] = m.func.jvp(m.func.grad(lambda y: (f(y) ** 2).sum()), (x,), (t,))[1]
    return found


@pytest.mark.parametrize("write", WRITES)
def test_the_tangent_is_the_slope(write: str) -> None:
    step = 1e-6
    for view, layout in cases(write):
        f, x = program(workbench, view, write), numbers(workbench, 1)
        t = LAYOUTS[layout](numbers(workbench, 2))
        slope = (f(x + t * step) - f(x - t * step)).numpy() / (2 * step)
        found = tangents(workbench, view, write, layout)
        for way in ("jvp", "dual", "vmap of jvp"):
            np.testing.assert_allclose(
                found[way].numpy(), slope, atol=1e-8, err_msg=f"{way}: {view}, {write}, tangent {layout}"
            )


@pytest.mark.oracle
@pytest.mark.skipif(torch is None, reason=absent.TORCH)
@pytest.mark.parametrize("write", WRITES)
def test_the_tangent_is_pytorch_s(write: str) -> None:
    for view, layout in cases(write):
        ours, theirs = (tangents(m, view, write, layout) for m in (workbench, torch))
        for way, expected in theirs.items():
            where = f"{way}: {view}, {write}, tangent {layout}"
            said = differs(plain(ours[way].detach()), plain(expected.detach()), where)
            assert said is None, said
