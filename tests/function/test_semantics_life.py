"""Life of ctx, freeing, second and double backward (rows 16.x and 18.x of the semantics)."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from functions import function, leaf, saved
from oracle import chain, entries, keeping, raised


def reading(torch: Any) -> type:
    """A Function that saves its input and reads it in backward."""
    return keeping(torch, lambda ctx, x, r: (x,), saved(lambda g, x: g * x))


def cubing(torch: Any, form: str) -> Any:
    """x ** 3 with a backward through what was saved: input, output, intermediate, another Function."""
    square = function(torch, lambda ctx, x: x * x, saved(lambda g, x: g * 2 * x), saves=True).apply
    saves, slope = {
        "input": (lambda x, out: (x,), lambda g, x: g * 3 * x * x),
        "output": (lambda x, out: (x, out), lambda g, x, out: g * 3 * out / x),
        "between": (lambda x, out: (x * x,), lambda g, between: g * 3 * between),
        "other": (lambda x, out: (x,), lambda g, x: g * 3 * square(x)),
    }[form]
    return function(torch, lambda ctx, x: x * x * x, saved(slope), saves=saves)


AGAIN = entries("""
reading(x) | x * x | x.exp() | x.sin() | x @ x | x / 2 | 2 / x | x**2 | x.max() | x.sort()[0] | x.clamp(0, 1)
x.sigmoid() | torch.maximum(x, x * 2) | torch.where(x > 1, x, x * 2) | linear(x) | x + x | x - 1 | -x
x.reshape(2, 1) | x[0] | x.clone() | x.expand(2, 2) | x.unsqueeze(0) | x.mean() | 3 - x | unread(x)
""")


@pytest.mark.parametrize("how", AGAIN)
def test_16_1_and_16_2_a_second_backward(torch, how):
    x = leaf(torch)
    unread = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2, saves=True).apply
    names = {"torch": torch, "x": x, "reading": reading(torch).apply, "unread": unread}
    out = eval(how, names | {"linear": keeping(torch, lambda ctx, x, r: ()).apply})
    out.sum().backward()
    return raised(out.sum().backward), x.grad


def test_16_3_reading_after_the_free(torch):
    told = []
    for pick in (lambda ctx, x, r: (x,), lambda ctx, x, r: ()):
        y = keeping(torch, pick).apply(leaf(torch))
        y.sum().backward()
        told.append(raised(lambda y=y: y.grad_fn.saved_tensors))
    z = leaf(torch).exp()
    z.sum().backward()
    return told, raised(lambda: z.grad_fn._saved_result)


FREEING: tuple[dict[str, Any], ...] = (
    *({}, {"retain_graph": True}, {"retain_graph": False}, {"create_graph": True}),
    *({"create_graph": True, "retain_graph": False}, {"create_graph": False, "retain_graph": None}),
)


@pytest.mark.parametrize("options", FREEING, ids=str)
def test_16_4_what_frees(torch, options):
    def freed(t):
        return raised(lambda: t.grad_fn.saved_tensors) != "nothing was raised"

    x, y = leaf(torch), leaf(torch)
    a, b, c = reading(torch).apply(x), reading(torch).apply(y), reading(torch).apply(y)
    torch.autograd.grad((a + b).sum(), [x], **options)
    c.sum().backward(**options)
    return freed(a), freed(b), freed(c)


def test_16_5_attributes_stay_and_may_be_changed(torch):
    def forward(ctx, x):
        ctx.runs, ctx.kept = 0, x
        return x * 1

    def backward(ctx, g):
        ctx.runs += 1
        return g * ctx.runs * ctx.kept

    x = leaf(torch)
    y = function(torch, forward, backward).apply(x)
    y.sum().backward()
    y.sum().backward()
    return x.grad, y.grad_fn.runs, y.grad_fn.kept is x


def test_16_6_a_failed_node_keeps_what_it_saved(torch):
    def slope(g, x):
        if fails:
            raise ValueError("once")
        return g * x

    x, fails = leaf(torch), [True]
    out = (function(torch, lambda ctx, x: x * 2, saved(slope), saves=True).apply(x) * 3).sum()
    first = raised(out.backward)
    fails.clear()
    return first, raised(out.backward), x.grad


def test_16_7_saved_tensors_die_with_the_backward_or_the_graph(torch):
    alive = []
    gc.collect()
    gc.disable()
    try:
        for end in ("backward", "del", "keep"):
            between = leaf(torch) * 2
            ref = weakref.ref(between)
            y = reading(torch).apply(between).sum()
            del between
            alive.append(ref() is not None)
            if end == "del":
                del y
            else:
                y.backward(retain_graph=end == "keep")
            alive.append(ref() is not None)
    finally:
        gc.enable()
    return alive


def test_16_8_ctx_outlives_the_graph(torch):
    x = leaf(torch)
    y = reading(torch).apply(x)
    ctx = y.grad_fn
    y.sum().backward(retain_graph=True)
    del y
    return ctx.saved_tensors[0] is x, ctx.name()


@pytest.mark.parametrize("form", ["input", "output", "other"])
def test_18_1_from_saved_inputs_and_outputs(torch, form):
    x = leaf(torch, 2.0, 3.0)
    told = [cubing(torch, form).apply(x)]
    for _ in range(3):
        told += torch.autograd.grad(told[-1].sum(), x, create_graph=True)
    return [t.detach() for t in told], told[1].requires_grad


def test_18_2_an_intermediate_is_silently_disconnected(torch):
    x = leaf(torch, 2.0)
    (first,) = torch.autograd.grad(cubing(torch, "between").apply(x).sum(), x, create_graph=True)
    return first, raised(torch.autograd.grad, first.sum(), x)


@pytest.mark.parametrize("counts", [1, 0])
def test_18_3_an_intermediate_returned_as_an_output(torch, counts):
    def forward(ctx, x):
        up, down = x.exp(), (-x).exp()
        ctx.save_for_backward(up, down)
        return (up - down) / 2, up, down

    def slope(g, g_up, g_down, up, down):
        return g * (up + down) / 2 + (g_up * up - g_down * down) * counts

    x = leaf(torch, 0.5)
    (first,) = torch.autograd.grad(function(torch, forward, saved(slope)).apply(x)[0], x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    return first.detach(), second


def test_18_4_grad_mode_in_backward(torch):
    def slope(g, x):
        seen.append(torch.is_grad_enabled())
        with torch.enable_grad():
            return g * 2 * x

    seen: list[Any] = []
    for mode in (True, False):
        for create_graph in (True, False):
            x = leaf(torch)
            y = function(torch, lambda ctx, x: x * x, saved(slope), saves=True).apply(x).sum()
            with torch.set_grad_enabled(mode):
                y.backward(create_graph=create_graph)
                seen += [torch.is_grad_enabled(), x.grad.requires_grad, x.grad.detach()]
    return seen


def test_18_5_linear_functions_have_a_gradient_without_history(torch):
    x = leaf(torch)
    (g,) = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((x * 3 + x * x).sum(), x, create_graph=True)
    return g, raised(torch.autograd.grad, g.sum(), x), torch.autograd.grad(h.sum(), x), chain(h.grad_fn)[0]
