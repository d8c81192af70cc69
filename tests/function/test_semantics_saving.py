"""save_for_backward (row 1.x of the semantics), each program under both engines."""

from __future__ import annotations

from typing import Any

from oracle import keeping, raised, same, warned


@same
def test_1_1_the_last_call_counts_and_packing_waits_until_forward_is_over(torch: Any) -> None:
    told = []

    def pick(ctx, x, result):
        ctx.save_for_backward(x)
        told.append((ctx.to_save[0] is x, ctx.saved_tensors))
        ctx.save_for_backward(result, x)
        told.append(len(ctx.to_save))
        return result, x

    x = torch.ones(2, requires_grad=True)
    Keep = keeping(torch, pick)
    y = Keep.apply(x)
    told.append(y.grad_fn.to_save)
    y.sum().backward()
    return told, Keep.seen


@same
def test_1_2_saved_tensors_is_a_tuple_in_order(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    Keep, Nothing = keeping(torch, lambda ctx, x, r: (r, x, r)), keeping(torch, lambda ctx, x, r: ())
    for F in (Keep, Nothing):
        F.apply(x).sum().backward()
    return type(Keep.seen[0]).__name__, Keep.seen, Nothing.seen


@same
def test_1_2_never_called(torch: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * (1 + len(ctx.saved_tensors))

    x = torch.ones(2, requires_grad=True)
    y = F.apply(x)
    before = y.grad_fn.saved_tensors
    y.sum().backward()
    return before, x.grad


@same
def test_1_3_none_keeps_its_place(torch: Any) -> None:
    Keep = keeping(torch, lambda ctx, x, r: (None, x, None))
    Keep.apply(torch.ones(2, requires_grad=True)).sum().backward()
    return Keep.seen


@same
def test_1_4_what_is_no_tensor(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    picks = [(x, 3), (3,), (x, None, [x]), ("a",), (x, 2.5, 3), ((x,),)]
    refused = [raised(keeping(torch, lambda ctx, x, r, p=p: p).apply, x) for p in picks]
    unchecked = [keeping(torch, lambda ctx, x, r, p=p: p).apply(x.detach()) for p in picks]
    with torch.no_grad():
        quiet = [keeping(torch, lambda ctx, x, r, p=p: p).apply(x) for p in picks]
    return refused, unchecked, quiet


@same
def test_1_5_reading_in_forward(torch: Any) -> None:
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            seen.append(ctx.saved_tensors)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    F.apply(torch.ones(2, requires_grad=True))
    return seen


@same
def test_1_6_a_saved_input_is_the_argument_itself(torch: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            return sum(x * 1 for x in xs)

        @staticmethod
        def backward(ctx, g):
            same = [a is b for a, b in zip(ctx.saved_tensors, xs, strict=True)]
            seen.append((same, [(t.requires_grad, t.is_leaf) for t in ctx.saved_tensors]))
            return (g,) * len(xs)

    seen: list[Any] = []
    leaf = torch.ones(2, requires_grad=True)
    xs = (leaf, leaf * 2, torch.ones(2), torch.arange(2.0), leaf.detach(), leaf[0])
    F.apply(*xs).sum().backward()
    return seen


@same
def test_1_7_a_saved_output_is_a_new_tensor_with_its_history(torch: Any) -> None:
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result, other = x.exp(), x + 1
            ctx.save_for_backward(result, other)
            return result, other

        @staticmethod
        def backward(ctx, g, h):
            result, other = ctx.saved_tensors
            seen.append((result is y, result.requires_grad, result.grad_fn is ctx, result.output_nr, result))
            seen.append((other.grad_fn is ctx, other.output_nr, other, other.is_leaf))
            return g * result + h

    y, z = F.apply(torch.ones(2, requires_grad=True))
    with torch.no_grad():
        shared = y.grad_fn.saved_tensors[0]
        before = shared.tolist()
    (y + z).sum().backward()
    return seen, before


@same
def test_1_8_a_saved_intermediate_has_no_history(torch: Any) -> None:
    Keep = keeping(torch, lambda ctx, x, r: (x + 1, r * 2))
    Keep.apply(torch.ones(2, requires_grad=True)).sum().backward()
    return Keep.seen


@same
def test_1_9_a_captured_tensor_stays_differentiable(torch: Any) -> None:
    w = torch.tensor([3.0], requires_grad=True)
    seen = []

    def backward(ctx, g):
        (kept,) = ctx.saved_tensors
        seen.append(kept is w)
        return g * kept

    x = torch.ones(1, requires_grad=True)
    y = keeping(torch, lambda ctx, x, r: (w,), backward).apply(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return seen, g, torch.autograd.grad(g, w)


@same
def test_1_10_forward_gets_the_callers_tensors_with_grad_mode_off(torch: Any) -> None:
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            seen.append((a is x, b is y, a.requires_grad, b.requires_grad, torch.is_grad_enabled()))
            seen.append(((a * 2).requires_grad, (a * 2).grad_fn))
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    return F.apply(x, y), seen


@same
def test_1_11_the_same_tensor_again_and_again(torch: Any) -> None:
    def backward(ctx, g):
        a, b, c = ctx.saved_tensors
        return g * a * b * c

    x = torch.tensor([3.0], requires_grad=True)
    y = keeping(torch, lambda ctx, x, r: (x, x, x), backward).apply(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g, torch.autograd.grad(g, x)


@same
def test_1_12_saved_variables(torch: Any) -> None:
    y = keeping(torch, lambda ctx, x, r: (x, r)).apply(torch.ones(2, requires_grad=True))
    return warned(lambda: y.grad_fn.saved_variables), y.grad_fn.saved_variables


@same
def test_2_10_a_saved_tensor_is_detached_in_place(torch: Any) -> None:
    told = []
    for pick in (lambda ctx, x, r: (x,), lambda ctx, x, r: (r,)):
        for which in ("input", "output", "leaf"):
            leaf = torch.tensor([1.0, 2.0], requires_grad=True)
            x = leaf if which == "leaf" else leaf * 1
            Keep = keeping(torch, pick)
            y = Keep.apply(x)
            node = y.grad_fn
            (y if which == "output" else x).detach_()
            told.append(raised(lambda node=node: node.saved_tensors))
            told.append(raised(torch.autograd.grad, y * 1 if which != "output" else leaf.sum(), leaf, torch.ones(2)))
            told.append(Keep.seen)
    return told


@same
def test_2_10_in_built_in_operations(torch: Any) -> None:
    told = []
    for how in (torch.sin, torch.exp, lambda t: t * t, lambda t: t[torch.tensor([0])]):
        x = torch.tensor([1.0, 2.0], requires_grad=True) * 1
        y = how(x)
        x.detach_()
        told.append(raised(y.sum().backward))
    y = torch.tensor([1.0, 2.0], requires_grad=True).exp()
    node = y.grad_fn
    y.detach_()
    return told, node._saved_result, node(torch.ones(2))
