"""Dual tensors: values that carry tangents while a level is open (SEMANTICS.md, section 7)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from oracle import entries, raised

import workbench
from workbench.autograd import state


def names(torch: Any) -> dict[str, Any]:
    """What expressions inside a level are about."""
    fw = torch.autograd.forward_ad

    def tangents(*duals: Any) -> list[Any]:
        return [fw.unpack_dual(each).tangent for each in duals]

    known = {"torch": torch, "fw": fw, "make": fw.make_dual, "tangents": tangents, "raised": raised, "copy": copy}
    known |= {
        "pickle": pickle,
        "one": torch.ones(2),
        "zero": torch.zeros(2),
        "x": fw.make_dual(torch.tensor([1.0, -2.5]), torch.ones(2)),
    }
    known |= {"wide": torch.ones(2, dtype=torch.float64), "ints": torch.tensor([1, 2])}
    return known | {"a": fw.make_dual(torch.tensor([[3.0, 1.0], [2.0, 5.0]]), torch.arange(4.0).reshape(2, 2))}


INSIDE = """
7.4 the level that is left: raised(fw.exit_dual_level, level=1), raised(fw.exit_dual_level, level=-1)
7.4 a level that is not open: raised(make, one, one, level=1), raised(make, one, one, level=-1)
7.4 unpacked elsewhere: raised(fw.unpack_dual, x, level=1), fw.unpack_dual(x, level=-1).primal is x
7.4 unpacked below: fw.unpack_dual(x, level=-1).tangent, fw.unpack_dual(x, level=0).tangent
7.4 no tensors: raised(fw.unpack_dual, 3), raised(make, 3, one)
7.6 of integers: make(ints, one)
7.6 with a tangent of integers: make(one, ints)
7.6 with a tangent of another size: make(one, torch.ones(3))
7.6 of a dual: make(x, one)
7.6 with a dual as a tangent: make(one, x)
7.6 a wide tangent: [tangents(d, d.sin(), d.neg(), d.sum(), d.exp()) for d in [make(zero, wide)]]
7.6 a narrow tangent: [tangents(d, d.sin(), d.neg(), d.sum(), d.exp()) for d in [make(zero.double(), one)]]
7.6 mixed dtypes: tangents(x + wide, x * wide, x / wide, x.abs() ** wide, x.double(), x.half(), ints * x)
7.6 a wide number: [tangents(s * x, x * s) for s in [make(torch.tensor(2.0).double(), torch.tensor(1.0).double())]]
7.6 dtypes: [str(t.dtype) for t in (x + wide, x * wide, wide ** x, ints * x, make(one, wide) * 2)]
7.6 without a derivative: tangents(x > 0, x == x, x != 1, x.argmax(), x.long(), x.isnan(), x.max(0)[1], x.sort()[1])
7.7 detached: tangents(x.detach(), x.data, (x * 2).detach_(), x.detach()[:1], torch.zeros_like(x))
7.7 flat operations: tangents(x.floor(), x.sign(), torch.round(x), x**0)
7.8 values and indices: tangents(a.max(1)[0], a.min(0)[0], a.sort(1)[0], a.topk(1)[0], a.max(1)[1]), a.sort(1)[1]
7.8 copies: tangents(copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x)))
7.8 as numbers: x.tolist(), x.numpy().tolist(), x[0].item()
7.8 no elements: [tangents(d.sin(), d.sum(), d.sum(1), d.mean()) for d in [make(*torch.zeros(2, 0, 3).unbind())]]
7.8 no dimensions: [tangents(d * d, d.softmax(0), d.cumsum(0)) for d in [make(torch.tensor(2.0), torch.tensor(2.0))]]
7.10 a dual as text: repr(x), repr(x[0]), f"{x * 2}", str(x.max(0)), repr(fw.unpack_dual(x)), repr(a)
7.10 of other dtypes and sizes: repr(make(wide, wide)), repr(make(torch.arange(30.0), torch.arange(30.0)))
7.10 with a history: repr(make(one.clone().requires_grad_(), one)), repr(make(one, one.clone().requires_grad_()))
7.10 of no elements: repr(make(torch.ones(0), torch.ones(0)))
"""


@pytest.mark.parametrize("row", INSIDE.strip().splitlines())
def test_inside_a_level(torch, row):
    with torch.autograd.forward_ad.dual_level():
        return eval(row.partition(": ")[2], names(torch))


def test_7_1_a_dual_is_a_view_and_its_tangent_the_given_object(torch):
    fw = torch.autograd.forward_ad
    x, t = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        unpacked = fw.unpack_dual(dual)
        kept = type(unpacked).__name__, unpacked._fields, unpacked[1] is unpacked.tangent
        same_memory = dual.data_ptr() == x.data_ptr() == unpacked.primal.data_ptr()
        bases = dual._base is x, unpacked.primal._base is x, unpacked.tangent is t, unpacked.primal is dual
        y = torch.ones(2)
        leaf = fw.make_dual(y, t)
        y.mul_(2)
        return kept, same_memory, bases, dual, unpacked.primal, leaf.is_leaf, leaf._version, leaf


def test_7_1_a_tangent_lies_in_memory_as_its_primal_does(torch):
    fw = torch.autograd.forward_ad
    turned, straight = torch.ones(2, 2).t(), torch.arange(4.0).reshape(2, 2)
    with fw.dual_level():
        one = fw.unpack_dual(fw.make_dual(turned, straight)).tangent
        two = fw.unpack_dual(fw.make_dual(torch.ones(2, 2), straight.t())).tangent
        return one, one.stride(), two, two.stride(), fw.unpack_dual(fw.make_dual(straight, straight)).tangent


def test_7_2_outside_a_level(torch):
    fw, x = torch.autograd.forward_ad, torch.ones(2)
    unpacked = fw.unpack_dual(x)
    found = [raised(fw.make_dual, x, x, level=level) for level in (None, 0, 1, -1)]
    found += [unpacked.primal is x, unpacked.tangent, raised(fw.exit_dual_level)]
    with fw.dual_level():
        return found, fw.unpack_dual(x, level=1).tangent, fw.unpack_dual(x).tangent


def test_7_3_levels_do_not_nest(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level() as number:
        again = raised(fw.enter_dual_level)
    entered = fw.enter_dual_level()
    fw.exit_dual_level(level=entered)
    return number, again, entered


def test_7_3_after_a_level_operations_run_as_before():
    fw = workbench.autograd.forward_ad
    fw.enter_dual_level()
    assert "dual" in state.slow_path_reasons
    fw.exit_dual_level()
    assert "dual" not in state.slow_path_reasons


def test_7_3_a_result_that_its_node_saved_has_its_history_inside_a_level(torch):
    fw = torch.autograd.forward_ad
    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    with fw.dual_level():
        y = fw.make_dual(x, torch.ones_like(x)).exp()
        saved = y.grad_fn._saved_result
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        return saved.requires_grad, saved.grad_fn is y.grad_fn, g, h, fw.unpack_dual(g).tangent


def test_7_5_after_the_level_all_tangents_are_gone(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        product, view = dual * 2, dual[1:]
    after = [fw.unpack_dual(t).tangent for t in (dual, product, view, dual * 2)]
    with fw.dual_level():
        return after, [fw.unpack_dual(t).tangent for t in (dual, product, view, dual * 2)], repr(dual)


VIEWS = entries("b[0] | b[1:] | b[:, 0] | b.t() | b.view(-1) | b[0].expand(2, 3) | b[:] | b.detach()[0] | b[:, ::2]")
THEN = entries("""
fw.unpack_dual(v) | fw.unpack_dual(b) | fw.unpack_dual(b[0]) | fw.unpack_dual(d[0]) | fw.unpack_dual(d * 2)
(t is fw.unpack_dual(d).tangent, fw.unpack_dual(d).tangent.stride(), d._base is b, d._base is v)
(t.mul_(5), fw.unpack_dual(d).tangent) | (d.mul_(2), fw.unpack_dual(b), fw.unpack_dual(v)) | fw.make_dual(d, t)
(v.mul_(2), fw.unpack_dual(d), fw.unpack_dual(b)) | fw.unpack_dual(fw.make_dual(b, torch.ones(b.shape))).tangent
(fw.make_dual(v, t * 3), fw.unpack_dual(d), fw.unpack_dual(v)) | (d.fill_(1.0), fw.unpack_dual(d), fw.unpack_dual(b))
(v.copy_(d * 2), fw.unpack_dual(v), fw.unpack_dual(b), fw.unpack_dual(d)) | fw.unpack_dual(d.view(-1)[1:])
""")


@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("view", VIEWS)
def test_a_dual_of_a_view(torch, view, then):
    fw = torch.autograd.forward_ad
    names = {"torch": torch, "fw": fw, "b": torch.arange(6.0).reshape(2, 3) + 1}
    with fw.dual_level():
        v = names["v"] = eval(view, names)
        t = names["t"] = torch.arange(float(v.numel())).reshape(v.shape)
        d = names["d"] = fw.make_dual(v, t)
        return tuple(fw.unpack_dual(d)), eval(then, names)
