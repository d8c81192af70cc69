"""Views made in place: the tensor itself takes another shape, and its place in the graph and its version with it."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import chain, entries, raised

CALLS = """
    t_() | transpose_(0, 1) | swapaxes_(0, -1) | swapdims_(1, 0) | unsqueeze_(0) | unsqueeze_(-1) | squeeze_()
    squeeze_(0) | squeeze_(1) | squeeze_((0, 1)) | unsqueeze_(7) | transpose_(0, 5) | squeeze_(4) | squeeze_(())
"""


def shown(*tensors: Any) -> list[Any]:
    return [(tuple(t.shape), t._version, t._is_view(), t.is_leaf, chain(t.grad_fn), t.tolist()) for t in tensors]


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (3,), ()])
@pytest.mark.parametrize("call", entries(CALLS))
def test_a_view_made_in_place(torch: Any, call: str, shape: tuple[int, ...]) -> Any:
    told = []
    for make in (lambda t: t * 2, lambda t: (t * 2)[...], lambda t: t, lambda t: t.detach().clone()):
        x = torch.arange(1.0, 1.0 + torch.Size(shape).numel()).reshape(shape).requires_grad_()
        y = make(x)
        error = raised(eval, f"y.{call}.numel()", {"y": y})
        if y.requires_grad and not y.is_leaf:
            (y * torch.arange(1.0, 1.0 + y.numel()).reshape(y.shape)).sum().backward()
        told += [error, shown(y), x.grad]
    return told


def test_views_of_it_follow(torch: Any) -> Any:
    y = torch.ones(2, 3, requires_grad=True) * 2
    row = y[0]
    y.t_()
    part = y[1:]
    part.t_()
    before = shown(y, row, part)
    part.mul_(2)
    return before, shown(y, row, part)


def test_writes_are_counted_and_leaves_refused(torch: Any) -> Any:
    leaf = torch.ones(2, 3, requires_grad=True)
    told = [raised(leaf.t_), raised(leaf[0:1].unsqueeze_, 0), raised((leaf * 1).unbind()[0].unsqueeze_, 0)]
    y = leaf * 2
    z = y * y
    y.t_()
    told += [raised(z.sum().backward)]
    other = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        other.t_()
    other.sum().backward()
    return told, shown(other), other.grad.tolist()


def test_hooks_and_retained_gradients_stay_with_the_shape_before(torch: Any) -> Any:
    seen = []
    y = torch.ones(2, 3, requires_grad=True) * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(tuple(g.shape)))
    y.t_()
    (y * 3).sum().backward()
    return seen, y.grad, y.retains_grad


def test_tangents_and_transforms(torch: Any) -> Any:
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3))
        x.t_()
        tangent = torch.autograd.forward_ad.unpack_dual(x).tangent.tolist()
    batch = torch.func.vmap(lambda t: t.clone().t_())(torch.arange(12.0).reshape(2, 2, 3))
    slope = torch.func.grad(lambda t: (t.clone().unsqueeze_(0) * 2).sum())(torch.ones(2))
    moved = torch.func.jvp(lambda t: t.clone().transpose_(0, 1), (torch.ones(1, 2),), (torch.ones(1, 2),))
    return tangent, batch.tolist(), slope, [t.tolist() for t in moved]


def test_a_write_into_what_a_transform_captured_is_named_with_its_overload(torch: Any) -> Any:
    x, w = torch.ones(2, 3), torch.ones(2, 3)
    mask, where = w > 0, torch.zeros(2, 3, dtype=torch.int64)
    one = torch.tensor(1.0)
    writes = (
        *(lambda: w.add_(1), lambda: w.mul_(w), lambda: w.pow_(2), lambda: w.pow_(w), lambda: w.exp_()),
        *(lambda: w.fill_(2), lambda: w.fill_(one), lambda: w.clamp_(0, 1), lambda: w.clamp_(w, w), lambda: w.t_()),
        *(lambda: w.masked_fill_(mask, 1.0), lambda: w.masked_fill_(mask, one), lambda: w.scatter_(0, where, 1.0)),
        *(lambda: w.scatter_(0, where, one.expand(2, 3)), lambda: w.copy_(x), lambda: w.zero_(), lambda: w.squeeze_()),
    )
    texts = [raised(torch.func.grad(lambda t, write=write: (write(), t.sum())[1]), x)[1] for write in writes]
    return [text.partition("(aten::")[2].partition(")")[0] for text in texts]
