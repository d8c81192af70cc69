"""What is pushed forward through dual tensors: writes, views, history, printing, threads (SEMANTICS.md, section 7)."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
from oracle import raised

import workbench as w
from workbench.autograd import forward_ad as fwAD


def test_7_7_no_grad_does_not_stop_and_inference_mode_does(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        with torch.no_grad():
            product, part = dual * 2, dual[1:]
        with torch.inference_mode():
            still, made = dual * 2, fw.make_dual(torch.ones(2), torch.ones(2))
            seen = fw.unpack_dual(dual).tangent
        return seen, [fw.unpack_dual(t).tangent for t in (product, part, still, made, dual)]


def test_7_8_writing_into_a_dual(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        given = torch.tensor([1.0, 2.0, 3.0])
        dual = fw.make_dual(torch.ones(3), given)
        part = dual[1:]
        part.mul_(3)
        through_view = fw.unpack_dual(dual).tangent.clone()
        dual.add_(1)
        added = fw.unpack_dual(part)
        dual.zero_()
        return through_view, added, fw.unpack_dual(part), fw.unpack_dual(dual).tangent is given, given


def test_7_8_writing_a_dual_into_a_plain_tensor(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.tensor([2.0, 3.0]), torch.tensor([5.0, 6.0]))
        base = torch.zeros(4)
        view = base[:2]
        view.copy_(dual)
        item, whole, tracked = torch.ones(2), torch.ones(2), torch.zeros(3, requires_grad=True) * 1
        item[0] = dual[0]
        whole += dual
        tracked[1:] = dual
        results = [base, view, base[1:3], item, whole, tracked, tracked[2]]
        return [fw.unpack_dual(t).tangent for t in results], tracked.grad_fn.name()


def test_7_8_results_share_no_tangent(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        for result in (torch.ones(2) + dual, dual - 0, dual * 1, dual.clone(), torch.ones(3, 2) + dual, dual.flip(0)):
            result.mul_(5)
        shared = dual.reshape(1, 2)
        before = fw.unpack_dual(dual).tangent.clone()
        shared.mul_(5)
        return before, fw.unpack_dual(dual).tangent


def test_7_9_tangents_have_history(torch):
    fw = torch.autograd.forward_ad
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    with fw.dual_level():
        tangent = fw.unpack_dual(fw.make_dual(x, v).sin().prod()).tangent
    return tangent.requires_grad, torch.autograd.grad(tangent, (x, v))


def test_7_9_gradients_have_tangents(torch):
    fw = torch.autograd.forward_ad
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, torch.tensor([1.0, 2.0], dtype=torch.float64))
        first = torch.autograd.grad((dual**3).sum(), dual)[0]
        second = torch.autograd.grad((dual.exp() * dual.sin()).sum(), x)[0]
        seed = fw.make_dual(torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
        third = torch.autograd.grad(x.tanh(), x, seed)[0]
        return [fw.unpack_dual(g).tangent for g in (first, second, third)]


def test_7_9_accumulated_gradients_have_none(torch):
    fw = torch.autograd.forward_ad
    x = torch.ones(2, requires_grad=True)
    with fw.dual_level():
        (fw.make_dual(x, torch.ones(2)) ** 3).sum().backward()
        return x.grad, fw.unpack_dual(x.grad).tangent


def test_7_10_a_level_decorates(torch):
    fw = torch.autograd.forward_ad

    @fw.dual_level()
    def twice(x):
        """Its tangent."""
        return fw.unpack_dual(fw.make_dual(x, x) * 2).tangent

    caught = raised(twice, 3)
    return twice(torch.ones(2)), twice.__name__, twice.__doc__, caught, twice(torch.ones(1))


def test_views_of_duals_have_views_of_tangents(torch):
    fw = torch.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(torch.arange(6.0).reshape(2, 3), torch.ones(2, 3))
        given = fw.unpack_dual(dual).tangent
        views = [dual.t(), dual[1], dual[:, 1:], dual.view(6), dual.expand(2, 2, 3), *dual.split(2, 1), *dual.unbind()]
        tangents = [fw.unpack_dual(view).tangent for view in views]
        given.mul_(torch.tensor([1.0, 2.0, 3.0]))
        return [t._base is given for t in tangents], tangents


def test_all_threads_see_the_level(torch):
    import threading as threads

    fw = torch.autograd.forward_ad
    seen = []

    def work():
        made = fw.make_dual(torch.ones(1), torch.ones(1))
        seen.extend([fw.unpack_dual(made * 3).tangent, fw.unpack_dual(dual * 2).tangent, raised(fw.enter_dual_level)])

    with fw.dual_level():
        dual = fw.make_dual(torch.ones(2), torch.ones(2))
        thread = threads.Thread(target=work)
        thread.start()
        thread.join()
    return seen


def test_a_level_keeps_nothing_alive() -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(w.ones(2), w.ones(2))
        result = (dual * 2).sin()
        references = [weakref.ref(t) for t in (dual, result, fwAD.unpack_dual(result).tangent)]
        del dual, result
        assert [reference() for reference in references] == [None] * 3


def test_after_the_level_a_tangent_is_freed() -> None:
    x = w.ones(2, requires_grad=True)
    with fwAD.dual_level():
        y = fwAD.make_dual(x, w.ones(2)).exp()
        tangent = weakref.ref(fwAD.unpack_dual(y).tangent)
        assert tangent() is not None
    gc.collect()
    assert tangent() is None
    np.testing.assert_allclose(w.autograd.grad(y.sum(), x)[0].numpy(), np.exp([1, 1]), rtol=1e-6)


def test_threads_may_push_at_the_same_time() -> None:
    found = []

    def work(n: int) -> None:
        dual = fwAD.make_dual(w.tensor([float(n)]), w.ones(1))
        for _ in range(50):
            dual = dual * 1 + 0
        found.append((dual * dual).item() == n * n and fwAD.unpack_dual(dual * dual).tangent.item() == 2 * n)

    with fwAD.dual_level():
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [True] * 4
