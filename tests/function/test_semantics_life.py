"""Life of ctx, freeing, second and double backward (rows 16.x and 18.x of the semantics)."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from oracle import chain, keeping, raised, same


def leaf(torch: Any, *values: float) -> Any:
    """A leaf that requires grad."""
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def reading(torch: Any) -> type:
    """A Function that saves its input and reads it in backward."""
    return keeping(torch, lambda ctx, x, r: (x,), lambda ctx, g: g * ctx.saved_tensors[0])


def cubing(torch: Any, form: str) -> type:
    """x ** 3 with a backward through what was saved: input, output, intermediate, another Function."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            square = x * x
            result = square * x
            ctx.save_for_backward(*{"input": (x,), "output": (x, result), "between": (square,), "other": (x,)}[form])
            return result

        @staticmethod
        def backward(ctx, g):
            if form == "input":
                return g * 3 * ctx.saved_tensors[0] * ctx.saved_tensors[0]
            if form == "output":
                return g * 3 * ctx.saved_tensors[1] / ctx.saved_tensors[0]
            return g * 3 * (ctx.saved_tensors[0] if form == "between" else Square.apply(ctx.saved_tensors[0]))

    return Cube


@same
def test_16_1_a_second_backward(torch: Any) -> None:
    told = []
    x = leaf(torch)
    made = [reading(torch).apply(x), x * x, x.exp(), x.sin(), x @ x, x / 2, 2 / x, x**2, x.max(), x.sort()[0]]
    made += [x.clamp(0, 1), torch.maximum(x, x * 2), x.sigmoid(), torch.where(x > 1, x, x * 2)]
    for out in made:
        out.sum().backward()
        told.append(raised(out.sum().backward))
    return told, x.grad


@same
def test_16_2_nothing_saved_may_run_again(torch: Any) -> None:
    x = leaf(torch)
    made = [keeping(torch, lambda ctx, x, r: ()).apply(x) for _ in range(1)]
    made += [x + x, x - 1, -x, x.reshape(2, 1), x[0], x.clone(), x.expand(2, 2), x.unsqueeze(0), x.mean(), 3 - x]
    told = []
    for out in made:
        out.sum().backward()
        told.append(raised(out.sum().backward))
    return told, x.grad


@same
def test_16_2_what_is_not_read_may_be_freed(torch: Any) -> None:
    class Unread(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(torch)
    y = Unread.apply(x)
    y.sum().backward()
    y.sum().backward()
    return x.grad


@same
def test_16_3_reading_after_the_free(torch: Any) -> None:
    told = []
    for pick in (lambda ctx, x, r: (x,), lambda ctx, x, r: ()):
        y = keeping(torch, pick).apply(leaf(torch))
        y.sum().backward()
        told.append(raised(lambda y=y: y.grad_fn.saved_tensors))
    z = leaf(torch).exp()
    z.sum().backward()
    return told, raised(lambda: z.grad_fn._saved_result)


@same
def test_16_4_what_frees(torch: Any) -> None:
    def frees(**kwargs):
        x, y = leaf(torch), leaf(torch)
        a, b = reading(torch).apply(x), reading(torch).apply(y)
        torch.autograd.grad((a + b).sum(), [x], **kwargs)
        return [raised(lambda t=t: t.grad_fn.saved_tensors) != "nothing was raised" for t in (a, b)]

    def frees_backward(**kwargs):
        a = reading(torch).apply(leaf(torch))
        a.sum().backward(**kwargs)
        return raised(lambda: a.grad_fn.saved_tensors) != "nothing was raised"

    options = [
        {},
        {"retain_graph": True},
        {"retain_graph": False},
        {"create_graph": True},
        {"create_graph": True, "retain_graph": False},
        {"create_graph": False, "retain_graph": None},
    ]
    return [frees(**o) for o in options], [frees_backward(**o) for o in options]


@same
def test_16_5_attributes_stay_and_may_be_changed(torch: Any) -> None:
    class Counts(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.runs, ctx.kept = 0, x
            return x * 1

        @staticmethod
        def backward(ctx, g):
            ctx.runs += 1
            return g * ctx.runs * ctx.kept

    x = leaf(torch)
    y = Counts.apply(x)
    y.sum().backward()
    y.sum().backward()
    return x.grad, y.grad_fn.runs, y.grad_fn.kept is x


@same
def test_16_6_a_failed_node_keeps_what_it_saved(torch: Any) -> None:
    class Fails(torch.autograd.Function):
        fail = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if Fails.fail:
                raise ValueError("once")
            return g * x

    x = leaf(torch)
    later = Fails.apply(x)
    out = (later * 3).sum()
    first = raised(out.backward)
    Fails.fail = False
    return first, raised(out.backward), x.grad


@same
def test_16_7_saved_tensors_die_with_the_backward_or_the_graph(torch: Any) -> None:
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
            if end == "backward":
                y.backward()
            elif end == "del":
                del y
            else:
                y.backward(retain_graph=True)
            alive.append(ref() is not None)
    finally:
        gc.enable()
    return alive


@same
def test_16_8_ctx_outlives_the_graph(torch: Any) -> None:
    x = leaf(torch)
    y = reading(torch).apply(x)
    ctx = y.grad_fn
    y.sum().backward(retain_graph=True)
    del y
    return ctx.saved_tensors[0] is x, ctx.name()


@same
def test_18_1_from_saved_inputs_and_outputs(torch: Any) -> None:
    told = []
    for form in ("input", "output", "other"):
        x = leaf(torch, 2.0, 3.0)
        y = cubing(torch, form).apply(x)
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
        (third,) = torch.autograd.grad(second.sum(), x, create_graph=True)
        told.append((y.detach(), first.detach(), second.detach(), third.detach(), first.requires_grad))
    return told


@same
def test_18_2_an_intermediate_is_silently_disconnected(torch: Any) -> None:
    x = leaf(torch, 2.0)
    (first,) = torch.autograd.grad(cubing(torch, "between").apply(x).sum(), x, create_graph=True)
    return first, raised(torch.autograd.grad, first.sum(), x)


@same
def test_18_3_an_intermediate_returned_as_an_output(torch: Any) -> None:
    class Sinh(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            up, down = x.exp(), (-x).exp()
            ctx.save_for_backward(up, down)
            return (up - down) / 2, up, down

        @staticmethod
        def backward(ctx, g, g_up, g_down):
            up, down = ctx.saved_tensors
            return g * (up + down) / 2 + (g_up * up - g_down * down) * counts

    told = []
    for counts in (1, 0):  # noqa: B007  backward reads it
        x = leaf(torch, 0.5)
        y = Sinh.apply(x)[0]
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first, x)
        told.append((first.detach(), second))
    return told


@same
def test_18_4_grad_mode_in_backward(torch: Any) -> None:
    class Mode(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            seen.append(torch.is_grad_enabled())
            with torch.enable_grad():
                return g * 2 * ctx.saved_tensors[0]

    seen: list[bool] = []
    grads = []
    for mode in (True, False):
        for create_graph in (True, False):
            x = leaf(torch)
            y = Mode.apply(x).sum()
            with torch.set_grad_enabled(mode):
                y.backward(create_graph=create_graph)
                seen.append(torch.is_grad_enabled())
            grads.append((x.grad.requires_grad, x.grad.detach()))
    return seen, grads


@same
def test_18_5_linear_functions_have_a_gradient_without_history(torch: Any) -> None:
    x = leaf(torch)
    (g,) = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
    y = (x * 3 + x * x).sum()
    (h,) = torch.autograd.grad(y, x, create_graph=True)
    return g, raised(torch.autograd.grad, g.sum(), x), torch.autograd.grad(h.sum(), x), chain(h.grad_fn)[0]
