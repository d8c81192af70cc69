"""Every operation of the registry under vmap: a batch at once is its samples one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_samples import arguments, each_sample, samples_of

import workbench as w
from workbench.autograd.tensor import Tensor
from workbench.func import grad, jvp, vmap
from workbench.ops import REGISTRY, report
from workbench.ops.core.dispatch import dispatch
from workbench.ops.core.registry import SEVERAL

SIZE = 3
WITHOUT_SAMPLES = {  # each sample's result has a shape of its own, and PyTorch refuses; values in test_ops_vmap.py
    ("masked_select", 1): "vmap: Attempted to vmap over `mask`"
}
OPS = [*REGISTRY.values(), *SEVERAL.values()]


def tensors_of(args: list[Any]) -> list[Tensor]:
    """All tensors among arguments, those in lists too."""
    flat = [a for arg in args for a in (arg if isinstance(arg, (list, tuple)) else [arg])]
    return [a for a in flat if isinstance(a, Tensor)]


def function_of(op: Any, args: list[Any]) -> Callable[..., tuple[Tensor, ...]]:
    """The op as a function of its tensors alone; all its outputs."""

    def function(*tensors: Tensor) -> tuple[Tensor, ...]:
        left = iter(tensors)

        def put(arg: Any) -> Any:
            if isinstance(arg, (list, tuple)):
                return type(arg)([put(a) for a in arg])
            return next(left) if isinstance(arg, Tensor) else arg

        out = dispatch(op, tuple([put(arg) for arg in args]))
        return out if isinstance(out, tuple) else (out,)

    return function


def batches(op: Any, args: list[Any]) -> list[set[int]]:
    """Which of the tensors are batched: each alone, and all."""
    places = range(len(tensors_of(args)))
    able = [i for i in places if (op.name, i) not in WITHOUT_SAMPLES]
    return [{i} for i in able] + ([set(able)] if len(able) > 1 else [])


def varied(t: Tensor, seed: int) -> np.ndarray:
    """Another sample like the tensor: as large, of other numbers; integers and masks in another order."""
    random = np.random.default_rng(seed)
    if t.is_floating_point():
        return t.detach().numpy() * random.uniform(0.6, 1.4, t.shape)
    return random.permutation(t.numpy().ravel()).reshape(t.shape)


def given(tensors: list[Tensor], batched: set[int], size: int) -> list[Tensor]:
    """The tensors, with a batch of samples for those that are batched."""
    return [
        w.from_numpy(np.array([varied(t, seed) for seed in range(size)], t._array.dtype).reshape(size, *t.shape))
        if i in batched
        else t.detach()
        for i, t in enumerate(tensors)
    ]


def mapped(function: Any, batched: set[int], tensors: list[Tensor]) -> Any:
    """The function run for all samples at once."""
    return vmap(function, in_dims=tuple([0 if i in batched else None for i in range(len(tensors))]))(*tensors)


def one_by_one(function: Any, batched: set[int], tensors: list[Tensor], size: int) -> list[tuple[Tensor, ...]]:
    """The function run for one sample after another: for each output its results."""
    rows = [function(*[t[k] if i in batched else t for i, t in enumerate(tensors)]) for k in range(size)]
    return list(zip(*rows, strict=True))


def check(together: Any, apart: list[tuple[Tensor, ...]]) -> None:
    assert len(together) == len(apart)
    for out, rows in zip(together, apart, strict=True):
        assert out.dtype is rows[0].dtype
        assert out.shape == (len(rows), *rows[0].shape)
        np.testing.assert_allclose(out.numpy(), np.array([row.numpy() for row in rows]), rtol=1e-12, atol=1e-12)


def loss_of(function: Any) -> Callable[..., Tensor]:
    """One number made of all outputs."""
    return lambda *tensors: sum((out * out).sum() for out in function(*tensors))


@pytest.mark.parametrize("size", [1, SIZE])
@each_sample(OPS)
def test_a_batch_is_its_samples(op: Any, text: str, size: int) -> None:
    args = arguments(op, text)
    function, tensors = function_of(op, args), tensors_of(args)
    for batched in batches(op, args):
        batch = given(tensors, batched, size)
        check(mapped(function, batched, batch), one_by_one(function, batched, batch, size))


@each_sample(OPS)
def test_a_batch_of_none_has_no_samples(op: Any, text: str) -> None:
    args = arguments(op, text)
    function, tensors = function_of(op, args), tensors_of(args)
    shapes = [out.shape for out in function(*tensors)]
    for batched in batches(op, args):
        outs = mapped(function, batched, given(tensors, batched, 0))
        if op.name != "masked_select":  # as long as its mask has true elements
            assert [out.shape for out in outs] == [(0, *shape) for shape in shapes]


@pytest.mark.slow
@each_sample(OPS)
def test_gradients_of_a_batch(op: Any, text: str) -> None:
    args = arguments(op, text)
    function, tensors = function_of(op, args), tensors_of(args)
    by = tuple(i for i, t in enumerate(tensors) if t.requires_grad)
    if not op.formulas or not by:
        return
    for batched in batches(op, args):
        batch = given(tensors, batched, SIZE)
        slopes = grad(loss_of(function), argnums=by)
        apart = one_by_one(slopes, batched, batch, SIZE)
        check(mapped(slopes, batched, batch), apart)
        whole = grad(loss_of(lambda *t, batched=batched: mapped(function, batched, list(t))), argnums=by)(*batch)
        for i, got, rows in zip(by, whole, apart, strict=True):
            want = np.array([row.numpy() for row in rows])
            assert got.shape == batch[i].shape
            np.testing.assert_allclose(got.numpy(), want if i in batched else want.sum(0), rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@each_sample(OPS)
def test_tangents_of_a_batch(op: Any, text: str) -> None:
    args = arguments(op, text)
    function, tensors = function_of(op, args), tensors_of(args)
    by = [i for i, t in enumerate(tensors) if t.requires_grad]
    if not op.formulas or not by:
        return

    def pushed(run: Any, tensors: list[Tensor]) -> Any:
        def moving(*primals: Tensor) -> Any:
            known = dict(zip(by, primals, strict=True))
            return run(*[known.get(i, t) for i, t in enumerate(tensors)])

        primals = tuple([tensors[i] for i in by])
        return jvp(moving, primals, tuple([p * 0.5 + 1 for p in primals]))[1]

    for batched in batches(op, args):
        batch = given(tensors, batched, SIZE)

        def each(*samples: Tensor) -> Any:
            return pushed(function, list(samples))

        def together(*batch: Tensor, batched: set[int] = batched) -> Any:
            return mapped(function, batched, list(batch))

        apart = one_by_one(each, batched, batch, SIZE)
        check(mapped(each, batched, batch), apart)
        check(pushed(together, batch), apart)


@each_sample(OPS)
def test_a_batch_of_batches(op: Any, text: str) -> None:
    args = arguments(op, text)
    function, tensors = function_of(op, args), tensors_of(args)
    everywhere = batches(op, args)[-1]
    inner = given(tensors, everywhere, 2)
    outer = given(inner, everywhere, 2) if all(t.is_floating_point() for t in tensors) else None
    if outer is None:  # the same places in every batch, as their order is what counts
        outer = [w.stack([t, t]) if i in everywhere else t for i, t in enumerate(inner)]

    def twice(*batch: Tensor) -> Any:
        return mapped(function, everywhere, list(batch))

    check(mapped(twice, everywhere, outer), one_by_one(twice, everywhere, outer, 2))


@pytest.mark.parametrize("name, place", WITHOUT_SAMPLES)
def test_what_cannot_be_batched_says_so(name: str, place: int) -> None:
    op = REGISTRY[name]
    args = arguments(op, samples_of(op)[0])
    tensors = tensors_of(args)
    with pytest.raises(RuntimeError, match=WITHOUT_SAMPLES[name, place]):
        mapped(function_of(op, args), {place}, given(tensors, {place}, 2))


def test_no_operation_runs_sample_by_sample() -> None:
    assert report().loops == []


def test_the_report_tells_each_operation_once() -> None:
    told = report()
    assert [row.op for row in told] == [*REGISTRY, *SEVERAL]
    assert repr(told).count("\n") == len(told) + 1
    rows = {row.op: row[1:] for row in told}
    assert rows["tanh"] == ("pointwise", "pointwise")
    assert rows["sum_all"] == ("linear", "as sum_dim")
    assert rows["mm"] == ("multilinear", "own rule")
    assert rows["argmax"] == ("none", "own rule")
    assert repr(told).endswith("run sample by sample: none")
