"""Every operation in the registry, tried on its own samples: its derivative, twice, on both of its paths."""

from __future__ import annotations

import copy
import itertools
import math
import re
import subprocess
import sys
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from expressions import Expression
from functions import function
from op_arguments import SAMPLES
from op_samples import (
    DIFFERENTIABLE,
    arguments,
    each_sample,
    error_inputs,
    has_a_tie,
    leaves,
    replaced,
    samples_of,
    slopes,
    weighted,
    weights,
)

import workbench as w
from workbench.autograd.gradcheck import GradcheckError
from workbench.autograd.tensor import Tensor
from workbench.ops import REGISTRY
from workbench.ops.core.dispatch import dispatch
from workbench.ops.core.registry import SEVERAL, TENSORS
from workbench.ops.library import _LATER
from workbench.ops.sums import summed, sums

CASTS = ("to_copy", "strided", "_as(")  # whose arguments name a dtype


def test_every_differentiable_op_has_samples() -> None:
    assert [op.name for op in DIFFERENTIABLE if not samples_of(op)] == []
    assert SAMPLES.keys() - {*REGISTRY, *SEVERAL} == set()


def test_a_formula_belongs_to_a_tensor_argument() -> None:
    assert [op.name for op in REGISTRY.values() if not set(op.formulas) <= set(op.tensors)] == []


UNKNOWN = """
import builtins, re, sys, workbench
from importlib import import_module
from workbench.ops.core.registry import ABBREVIATIONS, ARRAYS, REGISTRY
import_module(f"workbench.ops{sys.argv[1]}")
texts = [text for op in REGISTRY.values() for text in (*op.formulas.values(), op.tangent or "")]
texts += [text for _, text in ABBREVIATIONS.values()]
print({word for text in texts for word in re.findall(r"\\w+(?=\\()", text)} - {*ARRAYS, *dir(builtins)})
"""


@pytest.mark.parametrize("file", ["", ".library", *(f".library.{each}" for each in _LATER)])
def test_what_loads_on_first_use_knows_the_words_of_its_formulas(file: str) -> None:
    found = subprocess.run([sys.executable, "-c", UNKNOWN, file], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


# Samples whose gradients jump where they are: `gradgradcheck` looks a step to each side.
KINKS = {
    **dict.fromkeys([("max_all", "tie()"), ("min_all", "tie()")], "the slope is shared where elements tie"),
    **dict.fromkeys([("amax", "tie(), (), False"), ("amin", "tie(), (), False")], "the slope is shared as well"),
}


@each_sample([*DIFFERENTIABLE, *SEVERAL.values()], skipping=lambda op, text: text != samples_of(op)[0])
def test_gradcheck(op: Any, text: str) -> None:
    """Both modes of one sample against differences."""
    function, args = by_differences(op, text)
    assert w.autograd.gradcheck(function, leaves(args), check_forward_ad=True)


@pytest.mark.slow
@each_sample([*DIFFERENTIABLE, *SEVERAL.values()])
def test_gradcheck_and_gradgradcheck(op: Any, text: str) -> None:
    """Both modes of every sample, one over the other, and batches of gradients, against differences."""
    function, args = by_differences(op, text)
    forward = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert w.autograd.gradcheck(function, leaves(args), **forward, check_batched_grad=True)
    with pytest.raises(GradcheckError) if (op.name, text) in KINKS else nullcontext():
        over = {"check_fwd_over_rev": True, "check_rev_over_rev": True}
        assert w.autograd.gradgradcheck(function, leaves(args), **over, check_batched_grad=True)


def by_differences(op: Any, text: str) -> tuple[Any, Any]:
    """The operation as a function of its tensors alone, and its arguments."""
    args = arguments(op, text)

    def function(*inputs: Tensor) -> Any:
        if "sym(" in text:  # a step to one side would leave what is symmetric
            inputs = tuple([(t + t.mT) / 2 for t in inputs])
        if "tri(" in text:
            inputs = tuple([t.tril() if t.shape[-1] == t.shape[-2] else t for t in inputs])
        return TENSORS[op.name](*replaced(args, list(inputs)))

    return function, args


def test_every_kink_is_a_sample() -> None:
    assert {(op.name, text) for op in DIFFERENTIABLE for text in samples_of(op)} >= KINKS.keys()


@each_sample(DIFFERENTIABLE)
def test_arrays_and_tensors_give_one_gradient(op: Any, text: str) -> None:
    args = arguments(op, text)
    inputs = leaves(args)
    out = TENSORS[op.name](*args)
    v = weights(out)
    on_arrays = w.autograd.grad(out, inputs, v, retain_graph=True, allow_unused=True)
    on_tensors = w.autograd.grad(out, inputs, v, create_graph=True, allow_unused=True)
    for t, a, b in zip(inputs, on_arrays, on_tensors, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape == t.shape
            assert a.dtype is b.dtype is t.dtype
            # NumPy's loops over arrays of another layout may round the last bit otherwise.
            np.testing.assert_array_max_ulp(a.numpy(), b.detach().numpy(), 2)


def anatomy(node: Any) -> dict[str, Any]:
    """What a node is made of, except when it was made."""
    slots = {s for c in type(node).__mro__ for s in getattr(c, "__slots__", ())}
    return {s: getattr(node, s, None) for s in sorted(slots - {"seq", "_tag", "__weakref__"})}


@each_sample(DIFFERENTIABLE)
def test_the_straight_path_and_the_door_make_the_same_node(op: Any, text: str) -> None:
    args = arguments(op, text)
    straight, through_door = TENSORS[op.name](*args), dispatch(op, tuple(args))
    for out in (straight, through_door):
        assert out.requires_grad and out.output_nr == 0
    np.testing.assert_array_equal(straight._array, through_door._array, strict=True)
    assert straight._base is through_door._base
    assert type(straight.grad_fn) is type(through_door.grad_fn) is op.node
    assert_same_parts(anatomy(straight.grad_fn), anatomy(through_door.grad_fn))
    ours, others = straight.grad_fn.saved_items(), through_door.grad_fn.saved_items()
    assert [(name, version) for name, _, version in ours] == [(name, version) for name, _, version in others]


def assert_same_parts(ours: dict[str, Any], others: dict[str, Any]) -> None:
    """Equal arrays, the very same objects otherwise; what forward returned beside its result is new each time."""
    assert ours.keys() == others.keys()
    for name, one in ours.items():
        other = others[name]
        if re.fullmatch(r"saved_result\d", name):
            one, other = (t if t is None else t._array for t in (one, other))
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other, strict=True)
        else:
            assert one is other or one == other, name


@pytest.mark.parametrize("dtype", [w.float32, w.float16], ids=str)
# A geometry counts bytes: what the samples name would lie outside the memory of narrower numbers.
@each_sample(DIFFERENTIABLE, skipping=lambda op, text: any(word in f"{op.name}({text})" for word in CASTS))
def test_narrow_floats_stay_narrow(op: Any, text: str, dtype: Any) -> None:
    def narrow(a: Any) -> Any:
        if isinstance(a, list):
            return [narrow(e) for e in a]
        floating = isinstance(a, Tensor) and a.dtype.is_floating_point
        return a.detach().to(dtype).requires_grad_() if floating else a

    args = [narrow(a) for a in arguments(op, text)]
    out = TENSORS[op.name](*args)
    assert out.dtype is dispatch(op, tuple(args)).dtype is dtype
    v = weights(out).to(dtype)
    for create_graph in (False, True):
        inputs = leaves(args)
        grads = w.autograd.grad(out, inputs, v, True, create_graph, allow_unused=True)
        assert all(g is None or g.dtype is dtype for g in grads)


PAIRS = [
    op for op in DIFFERENTIABLE if op.kind in ("pointwise", "float") and op.order == op.tensors and len(op.order) == 2
]


@pytest.mark.parametrize("shapes", [((2, 1, 3), (4, 1)), ((), (2, 3)), ((3,), (2, 1)), ((0, 3), (3,))], ids=str)
@pytest.mark.parametrize("op", PAIRS, ids=lambda op: op.name)
def test_gradients_are_summed_over_broadcast_dimensions(op: Any, shapes: tuple[Any, ...]) -> None:
    random = np.random.default_rng(3)
    small = [w.tensor(np.asarray(random.uniform(0.5, 2.0, s)), requires_grad=True) for s in shapes]
    common = np.broadcast_shapes(*shapes)
    large = [w.tensor(np.broadcast_to(t.detach().numpy(), common).copy(), requires_grad=True) for t in small]
    out, expected = TENSORS[op.name](*small), TENSORS[op.name](*large)
    np.testing.assert_array_equal(out.detach().numpy(), expected.detach().numpy())
    v = weights(out)
    got = w.autograd.grad(out, small, v)
    for t, g, full in zip(small, got, w.autograd.grad(expected, large, v), strict=True):
        np.testing.assert_allclose(g.numpy(), full.sum_to_size(t.shape).numpy(), rtol=1e-12)


def test_erf_is_right_to_the_last_digits() -> None:
    x = np.concatenate([np.linspace(-7, 7, 20001), np.logspace(-300, 1, 2000), [0.0, math.inf, -math.inf]])
    ours, exact = w.erf(w.from_numpy(x)).numpy(), np.array([math.erf(v) for v in x])
    np.testing.assert_allclose(ours, exact, rtol=1e-15, atol=0)
    assert math.isnan(w.erf(w.tensor(math.nan)).item())
    assert np.signbit(w.erf(w.tensor(-0.0)).item())


def parts(op: Any, args: list[Any]) -> Any:
    """One number made of all but one of an op's outputs: the last one's gradient is missing."""
    outs = TENSORS[op.name](*args)
    return sum(weighted(o, weights(o, seed=i)) for i, o in enumerate(outs[:-1]))


@each_sample(SEVERAL.values(), skipping=has_a_tie)
def test_the_gradient_of_several_outputs_is_the_slope(op: Any, text: str) -> None:
    args = arguments(op, text)
    for t in leaves(args):
        (on_arrays,) = w.autograd.grad(parts(op, args), t, materialize_grads=True)
        half_square = parts(op, args) ** 2 / 2
        (on_tensors,) = w.autograd.grad(half_square, t, create_graph=True, materialize_grads=True)
        expected = slopes(lambda: parts(op, args).item(), t)
        np.testing.assert_allclose(on_arrays.numpy(), expected, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(on_tensors.detach().numpy(), expected * parts(op, args).item(), rtol=1e-5, atol=1e-7)
        assert on_tensors.requires_grad or not expected.any()


def test_several_outputs_share_one_node() -> None:
    x = w.ones(4, requires_grad=True)
    first, second = x.split(2)
    assert first.grad_fn is second.grad_fn
    assert (first.output_nr, second.output_nr) == (0, 1)
    assert first._base is x


def test_gradients_that_never_arrive_stay_away() -> None:
    Nothing = function(w, lambda ctx, x: x.clone(), lambda ctx, grad: None, name="Nothing")
    x = w.ones(4, requires_grad=True)
    sum(Nothing.apply(part).sum() for part in x.split(2)).backward()
    assert x.grad is None


def test_a_node_says_what_the_abbreviations_in_its_formula_stand_for() -> None:
    told_by = w.nn.functional.gelu(w.ones(2, requires_grad=True)).grad_fn.backward_text.splitlines()
    assert told_by[0].startswith("self: grad * (gelu_slope(self)")
    assert "normal_pdf(x) = exp(-0.5 * x * x) / (2 * pi) ** 0.5" in told_by
    assert len(told_by) == len(set(told_by))


def test_a_pair_of_values_and_indices_is_copied_as_one() -> None:
    pair = w.tensor([[1.0, 3.0], [4.0, 2.0]]).max(1)
    for again in (copy.copy(pair), copy.deepcopy(pair)):
        assert type(again) is type(pair)
        assert again.values.tolist() == [3.0, 4.0] and again.indices.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [0.1, 1.9, 2.1, 10.0, 29.9, 30.1, 40.0])
def test_softmax_loses_no_digits(size: float, dtype: str) -> None:
    """Of small numbers the exponentials are taken as they are, of others after the largest was subtracted."""
    rows = np.array([[size, -size, -size], [size, size * 0.9, 0.0], [-size, -size, -size * 0.5]], dtype)
    exact = rows.astype(np.longdouble)
    logs = exact - exact.max(1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(1, keepdims=True))
    eps = np.finfo(dtype).eps
    found = w.log_softmax(w.tensor(rows), 1).numpy()
    assert (np.abs(found - logs) <= 2 * eps * (1 + np.abs(logs))).all()
    found = w.softmax(w.tensor(rows), 1).numpy()
    assert (np.abs(found - np.exp(logs)) <= 8 * eps * (1 + np.abs(logs)) * np.exp(logs)).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (0, 3), (2, 3, 4), (20, 4)])
def test_sums_of_few_and_many_elements(shape, dtype):
    a = (np.arange(math.prod(shape)).reshape(shape) % 7).astype(dtype)
    for array in (a, a.T, a[..., ::-1] if shape else a):
        dims = [None, *[d for n in range(1, a.ndim + 1) for d in itertools.combinations(range(a.ndim), n)]]
        for dim, keepdim in itertools.product(dims, (False, True)):
            expected = np.sum(array, axis=dim, keepdims=keepdim, dtype=np.int64 if a.dtype.kind in "ib" else None)
            found = summed(array, dim, keepdim)
            assert (found.shape, found.dtype, found.tolist()) == (expected.shape, expected.dtype, expected.tolist())
            assert found.flags.c_contiguous
            if a.dtype.kind == "f" and dim is not None and keepdim:
                assert (np.zeros(array.shape) + sums(array, dim) == expected).all()


@pytest.mark.parametrize("x", [-1.0, -40.0, -700.0, 40.0])
def test_a_sigmoid_is_as_exact_where_it_is_very_small(x: float) -> None:
    y = w.tensor(x, dtype=w.float64).sigmoid().item()
    assert y == pytest.approx(1 / (1 + math.exp(-x)), rel=1e-14, abs=0)


def refuses(text: Expression) -> bool:
    """Whether an expression is refused; then no tensor may be changed."""
    named = text.world(w)
    tensors = [t for t in named.values() if isinstance(t, Tensor)]
    before = [(t._array.copy(), t._version) for t in tensors]
    try:
        eval(text, named)
    except Exception:
        for t, (array, version) in zip(tensors, before, strict=True):
            assert t._version == version, text
            np.testing.assert_array_equal(t._array, array, err_msg=text)
        return True
    return False


@pytest.mark.filterwarnings("ignore")
def test_every_operation_refuses_something_and_then_changes_no_tensor() -> None:
    refused = {name.rstrip("_") for name, texts in error_inputs().items() if sum(map(refuses, texts))}
    public = {op.name for op in REGISTRY.values() if hasattr(w, op.name) and not op.name.endswith("_")}
    assert sorted(public - refused) == []
