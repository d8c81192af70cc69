"""Every operation of the registry where memory matters: in every order in memory, without dimensions, without elements.

An operation alone may give the right numbers and lie wrongly in memory, or give a NumPy scalar that the next one cannot
write: so another operation follows each, and all derivatives go through both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from op_samples import DIFFERENTIABLE, arguments, samples_of, slopes, weighted, weights

import workbench as w
from workbench.autograd.tensor import Tensor
from workbench.ops.core.registry import DIMS, SEVERAL, SIZES, TENSORS

OPS = [*DIFFERENTIABLE, *SEVERAL.values()]
STRIDED = ("as_strided", "strided_copy", "strided_scatter")  # whose arguments say how their tensor lies in memory
RANDOM = re.compile(r"\b(r|p|b)\((.*?)\)")
SIZED = ("", "1", "0", "0, 3", "2, 0")
FULL = ("mean_all", "mean_all_as", "max_all", "min_all", "median_all")  # which have no result without elements
SHAPED = ("shape", "repeats", "reduction")  # arguments that fit samples of one number of dimensions


def turned(t: Tensor) -> Tensor:
    """Column by column in memory."""
    order = list(reversed(range(t.ndim)))
    return t.permute(*order).contiguous().permute(*order) if order else t


def sliced(t: Tensor) -> Tensor:
    """Every second element of larger memory."""
    return t[..., None].repeat(*[1] * t.ndim, 2)[..., 1]


def in_a_row(t: Tensor) -> Tensor:
    """A part of larger memory, not from its beginning on."""
    return w.stack([t * 0, t])[1]


ORDERS: list[Callable[[Tensor], Tensor]] = [turned, sliced, in_a_row]


def _written_in_place(t: Tensor) -> Tensor:
    out = t * 1.0
    return out.mul_(t).add_(1.0)


def _viewed_then_written(t: Tensor) -> Tensor:
    base = w.zeros_like(t)
    seen = base.transpose(0, -1) if t.ndim else base.view(1)
    base.copy_(t)
    return seen * 2.0


def _written_through_a_view(t: Tensor) -> Tensor:
    out = t.contiguous().clone()
    out.view(-1)[:1].mul_(3.0)
    return out


def _filled(t: Tensor) -> Tensor:
    return t.masked_fill(t.detach() > 0.75, 0.5) * t


NEXT: list[Callable[[Tensor], Tensor]] = [
    lambda t: t * (t.transpose(0, -1).contiguous().transpose(0, -1) if t.ndim else t),
    _written_in_place,
    _viewed_then_written,
    lambda t: (t * 0.5).sin().reshape(-1),
    _written_through_a_view,
    lambda t: t.unsqueeze(0).expand(2, *t.shape) * 0.5,
    _filled,
    lambda t: w.cat([t.reshape(-1), t.reshape(-1)]).exp() if t.numel() else t,
]


def _flat(outs: Any) -> list[Tensor]:
    return [t for t in (outs if isinstance(outs, (tuple, list)) else (outs,)) if t.is_floating_point()]


def with_leaves(op: Any, text: str, function: Callable[[Tensor], Any]) -> tuple[Callable[..., list[Tensor]], list[Any]]:
    """The op and the one after it as a function of what is differentiated; and these."""
    args = arguments(op, text)
    follow = NEXT[len(op.name) % len(NEXT)]
    leaves: list[Tensor] = []

    def found(a: Any) -> Any:
        if isinstance(a, list):
            return [found(e) for e in a]
        if isinstance(a, Tensor) and a.requires_grad:
            leaves.append(function(a.detach()))
            return len(leaves) - 1, leaves
        return a

    places = [found(a) for a in args]

    def put(a: Any, given: tuple[Tensor, ...]) -> Any:
        if isinstance(a, tuple) and len(a) == 2 and a[1] is leaves:
            return given[a[0]]
        return [put(e, given) for e in a] if isinstance(a, list) else a

    def run(*given: Tensor) -> list[Tensor]:
        return [follow(out) for out in _flat(TENSORS[op.name](*[put(a, given) for a in places]))]

    return run, leaves


def derivatives(run: Callable[..., list[Tensor]], leaves: list[Tensor]) -> dict[str, list[np.ndarray]]:
    """The value of a program, and its derivatives in every way."""
    needing = [t.detach().requires_grad_() for t in leaves]
    along = [turned(weights(t, 3)) for t in leaves]

    def one(*given: Tensor) -> Tensor:
        return sum([weighted(out, weights(out)) for out in run(*given)], w.zeros((), dtype=w.float64))

    outs = run(*needing)
    seeds = [weights(out) for out in outs]
    if not any(out.requires_grad for out in outs):
        return {"value": [out.numpy() for out in outs]}
    grads = w.autograd.grad(outs, needing, seeds, create_graph=True, materialize_grads=True)
    total = sum([weighted(g * g, weights(g, 5)) + weighted(g, weights(g, 9)) for g in grads])
    seconds = w.autograd.grad(total, needing, materialize_grads=True) if total.requires_grad else []
    plain = w.autograd.grad(run(*needing), needing, seeds, materialize_grads=True)
    everything = tuple(range(len(leaves)))
    value, tangent = w.func.jvp(lambda *given: tuple(run(*given)), tuple(leaves), tuple(along))
    with w.autograd.forward_ad.dual_level():
        duals = [w.autograd.forward_ad.make_dual(t, m) for t, m in zip(leaves, along, strict=True)]
        moved = [w.autograd.forward_ad.unpack_dual(out).tangent for out in run(*duals)]
    _, twice = w.func.jvp(w.func.grad(one, argnums=everything), tuple(leaves), tuple(along))
    found = {
        "value": outs,
        "gradient": plain,
        "gradient that is recorded": grads,
        "second gradient": seconds,
        "value of jvp": value,
        "tangent": tangent,
        "tangent of dual tensors": [w.zeros_like(t) if m is None else m for m, t in zip(moved, tangent, strict=True)],
        "tangent of the gradient": twice,
        "func.grad": w.func.grad(one, argnums=everything)(*leaves),
    }
    return {name: [t.detach().numpy() for t in several] for name, several in found.items()}


def check_themselves(found: dict[str, list[np.ndarray]], leaves: list[Tensor], where: str) -> None:
    """Both modes agree with each other, and with themselves in other surroundings."""
    if len(found) == 1:
        return
    along = [weights(t, 3).numpy() for t in leaves]
    pulled = sum([(g * m).sum() for g, m in zip(found["gradient"], along, strict=True)])
    pushed = sum([(t * weights(w.tensor(t)).numpy()).sum() for t in found["tangent"]])
    np.testing.assert_allclose(pushed, pulled, rtol=1e-9, atol=1e-12, err_msg=f"tangent: {where}")
    for name, like in (
        ("gradient that is recorded", "gradient"),
        ("func.grad", "gradient"),
        ("value of jvp", "value"),
        ("tangent of dual tensors", "tangent"),
    ):
        for one, other in zip(found[name], found[like], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14, strict=True, err_msg=f"{name}: {where}")


def check_batch(run: Callable[..., list[Tensor]], leaves: list[Tensor], where: str) -> None:
    """A batch is its samples, one after the other, wherever its dimension is."""
    batch = [w.stack([t, t * 0.875, t], t.ndim) for t in leaves]
    last = tuple([t.ndim for t in leaves])
    together = w.func.vmap(lambda *given: tuple(run(*given)), in_dims=last)(*batch)
    for i in (0, 1):
        alone = run(*[t.select(d, i) for t, d in zip(batch, last, strict=True)])
        for several, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(
                several[i].numpy(), one.numpy(), rtol=1e-12, atol=1e-14, strict=True, err_msg=f"vmap: {where}"
            )


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_an_order_in_memory_changes_no_number(op: Any) -> None:
    if op.name in STRIDED:
        return
    for text in samples_of(op):
        run, leaves = with_leaves(op, text, lambda t: t)
        expected = derivatives(run, leaves)
        check_themselves(expected, leaves, text)
        check_batch(run, leaves, text)
        for order in ORDERS:
            where = f"{op.name}({text}), {order.__name__}"
            run, leaves = with_leaves(op, text, order)
            found = derivatives(run, leaves)
            for name, several in expected.items():
                for one, other in zip(found[name], several, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13, err_msg=f"{name}: {where}")


def smaller(op: Any) -> Iterator[str]:
    """The op's samples without dimensions, with one element, and without elements.

    Of those that name dimensions or places only what the declaration has.
    """
    sizes = SIZED[:2] if op.name in FULL else SIZED[1:3] if op.name in ("dot", "vdot") else SIZED
    for text in samples_of(op):
        shapes = {found[2] for found in RANDOM.finditer(text)}
        plain = not re.search(r"ones|tensor|\b(inv|sym|tri)\(", text) and not {*DIMS, *SIZES, *SHAPED} & {*op.order}
        if plain and shapes <= {"3", ""}:
            yield from [RANDOM.sub(lambda found, size=size: f"{found[1]}({size})", text) for size in sizes]
        elif shapes == {""}:
            yield text


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_without_dimensions_and_without_elements(op: Any) -> None:
    if op.name in STRIDED:
        return
    for text in dict.fromkeys(smaller(op)):
        where = f"{op.name}({text})"
        run, leaves = with_leaves(op, text, lambda t: t)
        found = derivatives(run, leaves)
        check_themselves(found, leaves, where)
        check_batch(run, leaves, where)
        if "gradient" not in found:
            continue
        at = [t.detach() for t in leaves]

        def one(run: Any = run, at: Any = at) -> float:
            return sum([weighted(out, weights(out)).item() for out in run(*at)])

        for t, grad in zip(at, found["gradient"], strict=True):
            slope = slopes(one, t)
            np.testing.assert_allclose(grad, slope, rtol=1e-5, atol=1e-7, err_msg=f"gradient: {where}")


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_a_numpy_scalar_is_as_good_as_an_array(op: Any) -> None:
    """NumPy makes scalars of results without dimensions, and a formula hands them on to the next operation."""
    for text in dict.fromkeys(smaller(op)):
        given = [np.array(a) if isinstance(a, float) and op.promotes else a for a in arguments(op, text)]
        args = [a._array if isinstance(a, Tensor) else a for a in given]
        scalars = [a[()] if isinstance(a, np.ndarray) else a for a in args]  # of another shape the array itself
        for one, other in zip(np.atleast_1d(op.forward(*scalars)), np.atleast_1d(op.forward(*args)), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"{op.name}({text})")
