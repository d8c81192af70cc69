"""Semantics of hooks on saved tensors, and of what they unpack; each test is named after its row in the map."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function, saved, saving_four, wide
from oracle import entries, raised


def noting(torch: Any, seen: list[Any], name: str = "") -> Any:
    """A pair of hooks that note what they are given and pass it on."""

    def pack(t):
        seen.append((name + "pack", t, torch.is_grad_enabled()))
        return t.detach()

    def unpack(t):
        seen.append((name + "unpack", t, torch.is_grad_enabled()))
        return t

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def test_22_1_what_is_packed_and_in_which_order(torch: Any) -> Any:
    seen: list[Any] = []
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    plain = torch.tensor([5.0, 6.0])
    with noting(torch, seen):
        out = (x * y + x * plain).exp().sum() + saving_four(torch).apply(x).sum() + (x**2).sum() + (plain * plain).sum()
        with torch.no_grad():
            x.exp()
        (x * 3).relu()
    packed = list(seen)
    out.backward()
    return packed, seen[len(packed) :], x.grad, y.grad


def test_22_1_pairs_count_when_the_tensor_is_saved(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([1.0], requires_grad=True)
    before = x.exp()
    with noting(torch, seen, "outer "):
        outer = x.sin()
        with noting(torch, seen, "inner "):
            inner = x.cos()
        again = x.log()
    after = x * x
    (before + outer + inner + again + after).backward()
    return seen, x.grad


def test_22_2_each_read_unpacks(torch: Any) -> Any:
    seen: list[Any] = []
    x = torch.tensor([2.0], requires_grad=True)
    with noting(torch, seen):
        out, built_in = saving_four(torch).apply(x), x.sin()
    seen.clear()
    first, second = out.grad_fn.saved_tensors, out.grad_fn.saved_tensors
    reads = len(seen)
    kept = built_in.grad_fn._saved_self
    out.backward(retain_graph=True)
    out.backward()
    return reads, len(seen), first[0] is second[0], first[0] is x, first, kept


def test_22_3_the_packed_value_may_be_anything(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: {"numbers": t.tolist()}, lambda d: torch.tensor(d["numbers"])):
        y = x.exp() * x
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x, create_graph=True)
    return g, h, torch.autograd.grad(h, x)


def test_22_3_backward_sees_what_unpack_returns(torch: Any) -> Any:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        out = saving_four(torch).apply(x) + x * x
    (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    saved = out.grad_fn.next_functions[0][0].saved_tensors
    return g, [s and (s is x, s) for s in saved if s is not None], torch.autograd.grad(g.sum(), x)


def test_22_3_history_of_the_unpacked(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 3
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t.clone()):
        out = saving_four(torch).apply(y)
    saved = out.grad_fn.saved_tensors
    return [s if s is None else (s.grad_fn is y.grad_fn, s.grad_fn is out.grad_fn, s) for s in saved]


@pytest.mark.parametrize("custom", [True, False])
def test_22_4_pack_writes_into_its_input(torch, custom):
    x = torch.tensor([2.0], requires_grad=True)
    f = saving_four(torch).apply if custom else torch.exp
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        what = raised(f, x * 1)
    return what, f(x * 1)


@pytest.mark.parametrize("returned", [5, None, "text"])
def test_22_4_unpack_gives_no_tensor(torch, returned):
    x = torch.tensor([2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: returned):
        a, b = saving_four(torch).apply(x), x.exp()
    return raised(a.backward), raised(b.backward), raised(lambda: a.grad_fn.saved_tensors)


def test_22_4_errors_of_the_hooks_themselves(torch: Any) -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    seen: list[Any] = []

    def fail(t):
        raise ValueError("no")

    def packing():
        with torch.autograd.graph.saved_tensors_hooks(fail, lambda t: t):
            x.exp()

    with noting(torch, seen):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
            y = x.exp()
        failed = raised(packing), raised(y.backward)
        x.sin()
    return failed, [name for name, *_ in seen]


def test_22_5_save_on_cpu(torch: Any) -> Any:
    graph = torch.autograd.graph
    x = torch.tensor([2.0], requires_grad=True)
    with graph.save_on_cpu():
        y = x.exp() * x
    y.backward()
    return issubclass(graph.save_on_cpu, graph.saved_tensors_hooks), x.grad


def test_22_6_hooks_disabled(torch: Any) -> Any:
    graph = torch.autograd.graph

    def enter(manager):
        with manager:
            return "entered"

    pair = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with graph.disable_saved_tensors_hooks("outer"):
        first = raised(enter, pair)
        with graph.disable_saved_tensors_hooks("inner"):
            second = raised(enter, pair)
        third = raised(enter, pair)
        plain = torch.ones(1, requires_grad=True).exp()
    with pair:
        fourth = raised(enter, graph.disable_saved_tensors_hooks("no"))
        fifth = torch.ones(1, requires_grad=True).exp()
    return first, second, third, plain, fourth, fifth, enter(pair)


@pytest.mark.parametrize("write", ["input", "output", "intermediate"])
def test_2_12_what_was_packed_is_not_checked(torch, write):
    kept = {}

    def forward(ctx, x):
        between = x * 3
        result = between + 1
        kept["intermediate"] = between
        ctx.save_for_backward(x, between, result)
        return result

    Keep = function(torch, forward, saved(lambda g, x, between, result: g * x + between + result))
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    told = []
    for pack in (lambda t: t, lambda t: t.detach(), lambda t: t.clone()):
        kept["input"] = leaf * 1
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            kept["output"] = Keep.apply(kept["input"])
            built_in = kept["input"].sin() + kept["input"].exp()
        out = kept["output"] * 1 + built_in
        with torch.no_grad():
            kept[write].mul_(2)
        told.append((raised(torch.autograd.grad, out.sum(), leaf, retain_graph=True), out))
        told.append(torch.autograd.grad(out.sum(), leaf)[0])
    return told


def test_what_has_no_gradient_comes_back_as_the_unpack_hook_returned_it(torch):
    seen: list[Any] = []

    def backward(ctx, g):
        seen.append(ctx.saved_tensors)
        return g * seen[-1][1], None

    F = function(torch, lambda ctx, x, c: x * c, backward, saves=True)
    x, c = torch.ones(2, requires_grad=True), torch.ones(2)
    made: list[Any] = []

    def again(numbers: Any) -> Any:
        made.append(torch.tensor(numbers))
        return made[-1]

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        product, out = x * c, F.apply(x, c)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), again):
        other = F.apply(x, c)
    node = product.grad_fn
    (out + other).sum().backward()
    same_object = [[a is b for a, b in zip(each, (x, c), strict=True)] for each in seen]
    rebuilt = [a is b for a, b in zip(seen[0], made, strict=True)]
    return node._saved_other is c, node._saved_other is node._saved_other, node._saved_self, same_object, rebuilt


@pytest.mark.parametrize("kind", ["saved_tensors_hooks", "save_on_cpu"])
def test_hooks_that_are_left_more_often_than_entered(torch, kind):
    hooks = getattr(torch.autograd.graph, kind)
    own = hooks(lambda t: t, lambda t: t) if kind == "saved_tensors_hooks" else hooks()
    never = raised(own.__exit__)
    own.__enter__()
    own.__exit__(None, None, None)
    twice = raised(own.__exit__, None, None, None)
    own.__enter__()
    own.__exit__()
    x = torch.ones(2, requires_grad=True)
    x.exp().sum().backward()
    return never, twice, x.grad


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(
    "expression",
    entries(
        """
        x * 2.0 | 2.0 * x | x * 2 | x * True | x / 2 | 2 / x | x ** 2 | x ** 3.0 | x ** 0 | 2 ** x
        x + 1 | 3 - x | x % 2 | (x * 1).mul_(3.0) | (x + 1).div_(3.0) | torch.pow(x, 3)
        torch.div(x, 3, rounding_mode="floor") | x.clamp(min=2.5) | torch.where(x > 2, x, 2.0)
        x.masked_fill(x > 2, 1.0) | torch.sub(x, x, alpha=2)
        x * torch.tensor(2.0) | torch.tensor(2.0) ** x
        """
    ),
)
def test_numbers_are_not_packed(torch, expression, kind):
    seen: list[Any] = []
    x = torch.tensor([2.0, 3.0], dtype=getattr(torch, kind), requires_grad=True)
    with noting(torch, seen):
        y = eval(expression, {"x": x, "torch": torch})
    y.sum().backward()
    return seen


@pytest.mark.parametrize("expression", entries("x.relu() | x.tanh() | x * x | x.abs() | x ** 3 | x.clamp(min=0)"))
def test_a_hook_that_unpacks_another_dtype(torch, expression):
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.double()):
        y = eval(expression, {"x": x, "torch": torch})
    y.sum().backward()
    return x.grad


OPS = entries("x * y | x * x | x.exp() | x.sin() | x**2 | x[i] | x * x[:1]")
UNPACK = entries("t[..., None] | ones | t.max() | t.float() | t.half() | t.long() | t.bool()")


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("how", UNPACK)
@pytest.mark.parametrize("op", OPS)
def test_22_3_something_else_is_unpacked(torch, op, how, create_graph):
    x, y, ones = wide(torch, [0.5, -1.5, 2.0], True), wide(torch, [1.0, 2.0, 3.0], True), wide(torch, [1.0] * 4)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: eval(how, {"t": t, "ones": ones})):
        out = eval(op, {"x": x, "y": y, "i": torch.tensor([2, 0, 1])})
    (g,) = torch.autograd.grad(out.sum(), x, create_graph=create_graph)
    return [round(v, 6) for v in g.tolist()]


def test_22_3_a_mask_packed_as_another_dtype(torch: Any) -> Any:
    x = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    m = torch.tensor([True, False, True])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.to(torch.float16), lambda t: t.to(torch.bool)):
        kept = torch.where(m, x, 2 * x) + x.masked_fill(m, 1.0)
    (g,) = torch.autograd.grad(kept.sum(), x)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.long(), lambda t: t):
        out = x[m.to(torch.int32)]
    return g, torch.autograd.grad(out.sum(), x)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("shape", [(5, 4), (4,), (2, 3, 4)])
def test_22_3_a_gradient_that_fits_no_input(torch, shape, create_graph):
    a, m = (torch.ones(*size, dtype=torch.float64, requires_grad=True) for size in ((2, 3), (3, 4)))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: torch.ones(*shape, dtype=t.dtype)):
        out = torch.mm(a, m) if len(shape) < 3 else a * a
    (g,) = torch.autograd.grad(out.sum(), a, create_graph=create_graph)
    return g.detach()


def test_22_3_a_hook_is_asked_once_for_each_read(torch: Any) -> Any:
    x = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
    asked = []

    def unpack(t):
        asked.append(tuple(t.shape))
        return t.float() if len(asked) == 1 else t

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        out = x * x.detach() + x.sin()
    (g,) = torch.autograd.grad(out.sum(), x)
    return asked, [round(v, 5) for v in g.tolist()]


LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy")


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_22_3_gradients_of_a_reduced_loss_keep_the_shapes_of_its_inputs(torch, loss, create_graph):
    x = torch.tensor([[0.5, 0.25], [0.75, 0.125]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.25, 0.5], dtype=torch.float64).expand(2, 2).clone()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        out = getattr(torch.nn.functional, loss)(x, y, reduction="mean")
    (g,) = torch.autograd.grad(out, x, create_graph=create_graph)
    again = create_graph and loss not in ("l1_loss", "binary_cross_entropy")  # one has no slope, one is rounded
    return g.tolist(), torch.autograd.grad((g * g).sum(), x)[0] if again else None
