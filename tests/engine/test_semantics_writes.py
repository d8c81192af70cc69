"""Semantics of writes through views and of what views show; each test is named after its row in the map."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import chain, entries, raised


def test_4_8_writing_through_a_view(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1
    one, other, view_of_view = base[:2], base[1:], base[:2][1:]
    names = [t.grad_fn.name() for t in (base, one, other, view_of_view)]
    one.mul_(torch.tensor([5.0, 7.0], requires_grad=True))
    names += [t.grad_fn.name() for t in (base, one, other, view_of_view)]
    numbers = ([t.output_nr for t in (base, one, other)], [t._version for t in (base, one, other, view_of_view)])
    grads = torch.autograd.grad([other.sum(), (base * base).sum(), view_of_view.sum()], x)
    return names, numbers, grads, base, other, view_of_view


def test_4_8_the_rest_keeps_its_path(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.tensor([10.0], requires_grad=True)
    base = x * 2
    base[1:2] = y
    base[2] = 7.0
    facts = (chain(base.grad_fn), base._version)
    (base * base).sum().backward()
    return facts, x.grad, y.grad


@pytest.mark.parametrize(
    "write",
    [
        lambda v: v.zero_(),
        lambda v: v.fill_(2.0),
        lambda v: v.exp_(),
        lambda v: v.pow_(2),
        lambda v: v.sqrt_(),
        lambda v: v.neg_(),
        lambda v: v.relu_(),
        lambda v: v.clamp_(1.5, 2.5),
        lambda v: v.div_(3),
        lambda v: v.__setitem__(0, 4.0),
        lambda v: v.copy_(v.detach() * 2),
        lambda v: v.mul_(v),
    ],
)
@pytest.mark.parametrize(
    "view",
    [
        lambda b: b,
        lambda b: b[1],
        lambda b: b[:, 1:],
        lambda b: b.t(),
        lambda b: b.view(-1)[1:4],
        lambda b: b[:, ::2].transpose(0, 1),
        lambda b: b.unsqueeze(0).permute(2, 0, 1)[1],
        lambda b: b[None, 1, ..., 0:1],
    ],
)
def test_4_8_each_write_through_each_view(torch: Any, write: Any, view: Any) -> Any:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64, requires_grad=True)
    base = x * 1
    v = view(base)
    write(v)
    names = (chain(base.grad_fn), v.grad_fn.name(), base._version, v._version)
    weights = torch.tensor([[1.0, -2.0, 3.0], [0.5, 1.5, -1.0]], dtype=torch.float64)
    (first,) = torch.autograd.grad((base * base * weights).sum(), x, create_graph=True)
    (through,) = torch.autograd.grad((v * v).sum(), x, retain_graph=True)
    return names, base, v, first, through, torch.autograd.grad((first * first).sum(), x)


def test_4_9_writing_the_base(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1
    view = base[1:]
    kept = view.grad_fn
    base.mul_(2)
    facts = (kept.name(), view.grad_fn.name(), kept is view.grad_fn, chain(view.grad_fn), view)
    return facts, view.grad_fn is view.grad_fn, torch.autograd.grad(view.sum(), x)


def test_4_9_a_written_base_and_a_view_whose_node_was_taken_before(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = x * 1
    view = base[1:]
    before = view * 3
    base.exp_()
    after = view * 3
    return torch.autograd.grad([before.sum(), after.sum()], x), chain(before.grad_fn), chain(after.grad_fn)


def test_4_10_a_plain_base_takes_a_differentiable_value(torch: Any) -> Any:
    base = torch.zeros(3)
    y = torch.tensor([1.0, 2.0], requires_grad=True)
    other = base[:1]
    base[1:] = y * 2
    facts = (base.requires_grad, base.is_leaf, chain(base.grad_fn), other.requires_grad, other.grad_fn.name())
    (base * base).sum().backward()
    return facts, y.grad


def test_4_10_writing_with_an_index(torch: Any) -> Any:
    base = torch.zeros(3)
    y = torch.tensor([1.0, 2.0], requires_grad=True)
    base[torch.tensor([0, 2])] = y
    facts = (chain(base.grad_fn), base._version)
    (base * base).sum().backward()
    return facts, y.grad


def test_4_10_an_older_view_of_such_a_base_beside_another_tensor(torch: Any) -> Any:
    y, matrix = torch.tensor([2.0, 3.0], requires_grad=True), torch.ones(2, 2, requires_grad=True)
    base = torch.zeros(4)
    older, square = base[:2], base.view(2, 2)
    base[:2] = y
    products = y * older, older * y, matrix @ square, square @ matrix, torch.cat([y, older]), older * 2
    return [chain(p.grad_fn) for p in products], [torch.autograd.grad(p.sum(), y, allow_unused=True) for p in products]


PLACES = (0, ..., slice(None), (0, 1), (slice(None), 0), (None, 0), slice(0, 1), (0, slice(1, None)), "rows", "mask")
VALUES = ("2.0", "True", "torch.tensor(3)") + tuple(
    f"torch.ones({shape}, dtype=torch.{kind}, requires_grad=True)"
    for shape in ("()", "1", "3", "1, 2, 3", "2, 3")
    for kind in ("float32", "float64")
)


@pytest.mark.parametrize("place", PLACES)
def test_4_10_what_is_written_where(torch: Any, place: Any) -> Any:
    index = {"rows": torch.tensor([1, 0]), "mask": torch.tensor([[True, False, True], [False] * 3])}
    where = index[place] if isinstance(place, str) else place
    seen = []
    for text in VALUES:
        base = torch.ones(2, 3, requires_grad=True) * 1
        value = eval(text, {"torch": torch})
        what = raised(base.__setitem__, where, value)
        # Of a wrong shape and a wrong dtype PyTorch names the shape, the workbench the dtype.
        seen.append((text, what if what == "nothing was raised" else what[0], chain(base.grad_fn), base))
        if "float32" in text:
            seen.append(what)
    return seen


@pytest.mark.parametrize("value", ["2.0", "torch.tensor(2)", "torch.ones((), requires_grad=True)", "torch.ones(1)"])
def test_4_10_filling_with_a_tensor(torch: Any, value: str) -> Any:
    base, given = torch.ones(2, 3, requires_grad=True) * 1, eval(value, {"torch": torch})
    base.fill_(given)
    (base * 3).sum().backward()
    return chain(base.grad_fn), base, getattr(given, "grad", None)


OVERLAPS = """
a.copy_(a[0]) | a[...] = a[0] | a[0] = a[1] | a[0] = a[0] | a[:, 0] = a[0, 0] | a.add_(a[0]) | a.mul_(a[0, 0])
a.fill_(a[1, 1]) | a[...] = a[1, 1] | a.t().copy_(a) | a[...] = a.t() | a.view(-1)[1:].copy_(a.view(-1)[:-1])
a[1].add_(a.view(-1)[:3])
e.add_(1) | e.zero_() | e.fill_(2.0) | e[0] = 5.0 | e.copy_(a) | a.copy_(e) | e.exp_() | e[0].mul_(2)
e.copy_(e) | e[...] = e | e[...] = 2.0 | e.fill_(a[0, 1]) | e.mul_(e) | a.copy_(a) | a.mul_(a) | a[:, 0].copy_(a[:, 0])
a[None].add_(a) | a[None] += a | a[None] = a | a[None][...] = a | a.view(1, 9).copy_(a.view(9)) | a[0] = a[:1]
(a > 2)[None].masked_fill_(a > 3, True) | m[None].masked_fill_(m, True) | m.masked_fill_(m, False)
m[None][m[None]] = True
"""


@pytest.mark.parametrize("text", entries(OVERLAPS))
def test_4_8_what_is_read_and_written_at_once(torch: Any, text: str) -> Any:
    scope = {"torch": torch, "a": torch.arange(9.0).reshape(3, 3), "e": torch.ones(3).expand(3, 3)}
    scope["m"] = scope["a"] > 4
    return raised(exec, text, scope), scope["a"], scope["e"], scope["m"]


def test_4_10_a_view_that_has_not_looked_at_its_base(torch: Any) -> Any:
    y = torch.ones(2, requires_grad=True)
    base = torch.zeros(3)
    first, second = base[1:], base[1:]
    base[1:] = y
    # Whoever has not asked for its grad_fn yet counts as a leaf.
    refused = raised(first.mul_, 2), raised(first.requires_grad_, False), raised(setattr, first, "requires_grad", True)
    names = first.grad_fn.name(), second.grad_fn.name()
    first.mul_(2)
    return refused, names, chain(base.grad_fn), torch.autograd.grad(base.sum(), y)


@pytest.mark.parametrize("write", ["zero_()", "fill_(2.0)", "mul_(2.0)"])
def test_4_8_a_base_written_through_a_repeated_view(torch: Any, write: str) -> Any:
    x = torch.ones(3, requires_grad=True)
    base = x * 1
    view = base.expand(2, 3)
    refused = raised(eval, "view." + write, {"view": view})
    return refused, view.grad_fn.name(), raised(view.sum().backward), x.grad


@pytest.mark.parametrize("write", ["t[True] += 1", "t[True] = y", "t[True] = 5.0", "t[False] += 1", "t[None] += 1"])
def test_4_9_a_write_under_one_truth_value(torch: Any, write: str) -> Any:
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([5.0, 6.0], requires_grad=True)
    t = x * 1
    exec(write, {"t": t, "y": y})
    made = chain(t.grad_fn)
    t.sum().backward()
    return t, made, x.grad, y.grad


# `v` was computed from `x`; what is written reads `v`, or does not.
READERS = """
v.pow_(2) | v.pow_(y) | v.mul_(y) | v.mul_(2) | v.div_(y) | v.sin_() | v.exp_() | v.sigmoid_() | v.log_() | v.abs_()
v.clamp_(0, 1) | v.square_() | v.add_(y) | v.log1p_() | v.erf_() | v.remainder_(y) | v.cumprod_(0) | v.copy_(y)
v[:1].pow_(2) | v[:1].mul_(y) | v.t_().pow_(2) | v.detach_().mul_(y)
"""


@pytest.mark.parametrize("text", entries(READERS))
def test_what_a_write_saved_of_the_tensor_is_a_recorded_clone(torch: Any, text: str) -> Any:
    def chain(node: Any, depth: int = 4) -> Any:
        if node is None or not depth:
            return None
        saved = getattr(node, "_saved_self", None)
        told = saved is not None and (saved.grad_fn and chain(saved.grad_fn, depth - 1), saved._version)
        return node.name(), told, [chain(each, depth - 1) for each, _ in node.next_functions]

    x = torch.tensor([0.3, 0.5], requires_grad=True)
    y = torch.tensor([0.4, 0.6], requires_grad=True)
    v = x * 2
    eval(text, {"v": v, "y": y})
    graph = chain(v.grad_fn)
    (grad,) = torch.autograd.grad(v.sum(), y if "detach" in text else x, create_graph=True, allow_unused=True)
    again = grad.requires_grad and torch.autograd.grad(grad.sum(), x, allow_unused=True)[0]
    return graph, grad.detach(), again
