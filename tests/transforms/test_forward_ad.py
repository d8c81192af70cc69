"""Dual tensors: values that carry tangents while a level is open (SEMANTICS.md, section 7)."""

from __future__ import annotations

import pytest
from oracle import compare, raised, same

import workbench
from workbench.autograd import state


@same
def test_7_1_a_dual_is_a_view_and_its_tangent_the_given_object(torch):
    fw = torch.autograd.forward_ad
    x, t = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        unpacked = fw.unpack_dual(dual)
        kept = type(unpacked).__name__, unpacked._fields, unpacked[1] is unpacked.tangent
        same_memory = dual.data_ptr() == x.data_ptr() == unpacked.primal.data_ptr()
        bases = dual._base is x, unpacked.primal._base is x, unpacked.tangent is t, unpacked.primal is dual
        names = dual.grad_fn.name(), unpacked.primal.grad_fn.name()
        y = torch.ones(2)
        leaf = fw.make_dual(y, t)
        y.mul_(2)
        return kept, same_memory, bases, names, dual, unpacked.primal, leaf.is_leaf, leaf._version, leaf


@same
def test_7_1_a_tangent_lies_in_memory_as_its_primal_does(torch):
    fw = torch.autograd.forward_ad
    turned, straight = torch.ones(2, 2).t(), torch.arange(4.0).reshape(2, 2)
    with fw.dual_level():
        one = fw.unpack_dual(fw.make_dual(turned, straight)).tangent
        two = fw.unpack_dual(fw.make_dual(torch.ones(2, 2), straight.t())).tangent
        return one, one.stride(), two, two.stride(), fw.unpack_dual(fw.make_dual(straight, straight)).tangent


@same
def test_7_2_outside_a_level(torch):
    fw = torch.autograd.forward_ad
    x = torch.ones(2)
    unpacked = fw.unpack_dual(x)
    return raised(fw.make_dual, x, x), unpacked.primal is x, unpacked.tangent, raised(fw.exit_dual_level)


@same
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
    assert "dual" in state.unusual
    fw.exit_dual_level()
    assert not state.unusual


@same
def test_7_3_a_result_that_its_node_saved_has_its_history_inside_a_level(torch):
    fw = torch.autograd.forward_ad
    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    with fw.dual_level():
        y = fw.make_dual(x, torch.ones_like(x)).exp()
        saved = y.grad_fn._saved_result
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        return saved.requires_grad, saved.grad_fn is y.grad_fn, g, h, fw.unpack_dual(g).tangent


@same
def test_7_4_the_level_that_is_left_is_the_one_entered(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        return raised(fw.exit_dual_level, level=1), raised(fw.exit_dual_level, level=-1)


@same
def test_7_4_levels_named_where_tensors_are_made(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = torch.ones(2)
        dual = fw.make_dual(x, x, level=0)
        below = fw.unpack_dual(dual, level=-1)
        calls = [
            raised(fw.make_dual, x, x, level=1),
            raised(fw.make_dual, x, x, level=-1),
            raised(fw.unpack_dual, dual, level=1),
            raised(fw.unpack_dual, 3),
            raised(fw.make_dual, 3, x),
        ]
        return calls, fw.unpack_dual(dual, level=0).tangent, below.primal is dual, below.tangent


@same
def test_7_5_after_the_level_all_tangents_are_gone(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        product, view = dual * 2, dual[1:]
    after = [fw.unpack_dual(t).tangent for t in (dual, product, view, dual * 2)]
    with fw.dual_level():
        return after, [fw.unpack_dual(t).tangent for t in (dual, product, view, dual * 2)], repr(dual)


@pytest.mark.parametrize("kind", ["primal", "tangent", "size", "dual primal", "dual tangent"])
def test_7_6_what_a_dual_is_not_made_of(kind: str) -> None:
    compare(refused, kind)


def refused(torch, kind):
    """What `make_dual` says of two things that do not fit."""
    fw = torch.autograd.forward_ad
    x, ints = torch.ones(2), torch.tensor([1, 2])
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        pairs = {
            "primal": (ints, x),
            "tangent": (x, ints),
            "size": (x, torch.ones(3)),
            "dual primal": (dual, x),
            "dual tangent": (x, dual),
        }
        return fw.make_dual(*pairs[kind])


@same
def test_7_2_a_named_level_that_is_not_open(torch):
    fw = torch.autograd.forward_ad
    x = torch.ones(2)
    found = [raised(fw.make_dual, x, x, level=level) for level in (0, 1, -1)]
    with fw.dual_level():
        return found, fw.unpack_dual(x, level=1).tangent, fw.unpack_dual(x).tangent


@same
def test_7_6_the_dtype_of_a_tangent_is_not_checked(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        wide = fw.make_dual(torch.zeros(2), torch.ones(2, dtype=torch.float64))
        narrow = fw.make_dual(torch.zeros(2, dtype=torch.float64), torch.ones(2))
        results = [f(x) for x in (wide, narrow) for f in (lambda x: x, torch.sin, torch.neg, torch.sum, torch.exp)]
        return [fw.unpack_dual(t).tangent for t in results]


@same
def test_7_6_mixed_dtypes(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x, y = fw.make_dual(torch.ones(2), torch.ones(2)), torch.tensor([2.0, 3.0], dtype=torch.float64)
        scalar = fw.make_dual(torch.tensor(2.0, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64))
        results = [x + y, x * y, x / y, x**y, x.double(), x.half(), scalar * x, torch.tensor([1, 2]) * x, x * scalar]
        return [(str(t.dtype), fw.unpack_dual(t).tangent) for t in results]


@same
def test_7_6_what_has_no_derivative_has_no_tangent(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(torch.tensor([1.0, -2.0]), torch.ones(2))
        results = [x > 0, x == x, x != 1, x.argmax(), x.long(), x.isnan(), x.max(0).indices, x.sort().indices]
        return [fw.unpack_dual(t).tangent for t in results]
