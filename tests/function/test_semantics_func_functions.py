"""Rows 20.7, 21.9 and 21.11: the methods of custom Functions under transforms; each test is named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from functions import attempt, doubling, function, save_inputs, saved, wide
from oracle import entries


def test_20_7_a_generated_rule_runs_the_methods_on_samples(torch):
    def note(method, ctx, *tensors):
        seen.append((method, [t.shape for t in tensors], getattr(ctx, "needs_input_grad", None)))

    def forward(x, w, n):
        note("forward", None, x, w)
        return x * w * n

    def setup_context(ctx, inputs, output):
        x, w, ctx.n = inputs
        note("setup", ctx, x, w, output)
        save_inputs(ctx, (x, w), output)

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        note("backward", ctx, g, x, w)
        return g * w * ctx.n, g * x * ctx.n, None

    def jvp(ctx, t, s, _):
        x, w = ctx.saved_tensors
        note("jvp", None, t, s, x, w)
        return (t * w + x * s) * ctx.n

    seen: list[Any] = []
    members = {"setup_context": setup_context, "jvp": jvp, "generate_vmap_rule": True}
    apply, func = function(torch, forward, backward, **members).apply, torch.func
    rows, w = wide(torch, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), wide(torch, [1.0, 2.0, 3.0])
    return [
        func.vmap(apply, in_dims=(0, None, None))(rows, w, 2),
        func.grad(lambda w: func.vmap(apply, in_dims=(0, None, None))(rows, w, 2).sum())(w),
        func.grad(lambda r: func.vmap(apply, in_dims=(0, None, None))(r, w, 2).sum())(rows),
        func.vmap(func.grad(lambda w, x: apply(x, w, 2).sum()), in_dims=(None, 0))(w, rows),
        func.jvp(lambda w: func.vmap(apply, in_dims=(0, None, None))(rows, w, 2), (w,), (w,)),
        func.vmap(lambda x: func.jvp(lambda w: apply(x, w, 2), (w,), (w,)))(rows),
    ], seen


NEEDS = entries("""
grad(f, 0)(x, y) | grad(f, 1)(x, y) | grad(f, (0, 1))(x, y) | grad(lambda x: grad(f, 1)(x, y).sum())(x)
grad(lambda y: grad(f, 0)(x, y).sum())(y) | jvp(f, (x, y), (x, y)) | vmap(grad(f, 1), (None, 0))(x, rows)
vjp(f, x, y)[0]
torch.autograd.grad(grad(f, 1)(x.requires_grad_(), y).sum(), x) | jvp(grad(f), (x, y), (x, y)) | vmap(f)(rows, rows)
""")


@pytest.mark.parametrize("materialize", [True, False])
@pytest.mark.parametrize("text", NEEDS)
def test_21_9_needs_and_missing_gradients(torch, text, materialize):
    seen = []

    def setup_context(ctx, inputs, outputs):
        ctx.set_materialize_grads(materialize)
        save_inputs(ctx, inputs, outputs)
        seen.append(ctx.needs_input_grad)

    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        seen.append((ctx.needs_input_grad, h is None, None if h is None else h.shape))
        return g * y, g * x

    def push(t, s, x, y):
        seen.append((t is None, s is None))
        of_x = y * 0 if t is None else t * y
        return of_x if s is None else of_x + x * s, y * 0 if t is None else t * 2

    members = {"setup_context": setup_context, "jvp": saved(push), "generate_vmap_rule": True}
    own = function(torch, lambda x, y: (x * y, x * 2), backward, **members).apply
    names = {name: getattr(torch.func, name) for name in ("grad", "vjp", "jvp", "vmap")}
    names |= {"x": wide(torch, [1.0, 2.0]), "y": wide(torch, [3.0, 4.0]), "torch": torch}
    names |= {"rows": wide(torch, [[1.0, 2.0], [3.0, 5.0]]), "f": lambda x, y: own(x, y)[0].sum()}
    return eval(text, names), seen


def test_21_9_marked_dirty_stays_the_same_tensor(torch: Any) -> Any:
    def f(x):
        y = x.clone()
        z = doubling(torch, **members).apply(y)
        seen.append(z is y)
        return z * y

    members: Any = {"forward": lambda x: x.mul_(2), "jvp": lambda ctx, t: t.mul_(2)}
    members["setup_context"] = lambda ctx, inputs, output: ctx.mark_dirty(inputs[0])
    func, x, seen = torch.func, wide(torch, [1.0, 2.0]), []
    return func.grad(lambda x: f(x).sum())(x), func.jvp(f, (x,), (x,)), seen, x


def test_21_9_once_differentiable(torch: Any) -> Any:
    backward = torch.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    f, grad, x = doubling(torch, backward=backward).apply, torch.func.grad, wide(torch, [1.0, 2.0])
    twice = lambda x: grad(lambda x: (f(x) ** 2).sum())(x).sum()  # noqa: E731
    return grad(lambda x: f(x).sum())(x), grad(twice)(x)


FAILING: dict[str, Any] = {
    "forward": lambda x: 1 / 0,
    "setup_context": lambda ctx, inputs, output: 1 / 0,
    "backward": lambda ctx, g: 1 / 0,
    "jvp": lambda ctx, t: 1 / 0,
}
CALLS = entries("grad(lambda x: f(x).sum())(x) | jvp(f, (x,), (x,)) | vmap(grad(lambda x: f(x).sum()))(x)")


@pytest.mark.parametrize("method", FAILING)
@pytest.mark.parametrize("call", CALLS)
def test_21_11_a_failing_method_leaves_no_level(torch, call, method):
    members = {"generate_vmap_rule": True, "jvp": lambda ctx, t: t} | {method: FAILING[method]}
    names = vars(torch.func) | {"f": doubling(torch, **members).apply, "x": wide(torch, [1.0, 2.0])}
    x = wide(torch, [3.0])
    return attempt(eval, call, names), torch.func.grad(lambda x: (x * x).sum())(x), torch.is_grad_enabled(), x


def test_20_8_a_backward_that_applies_a_function_later(torch: Any) -> Any:
    """What was saved at a level reaches it when that level is over."""

    slope, setup = saved(lambda h, g, x: (h * x, h * g)), {"setup_context": save_inputs}
    later = function(torch, lambda g, x: g * x, slope, **setup).apply
    half = function(torch, lambda x: x * x / 2, saved(lambda g, x: later(g, x)), **setup).apply
    grad, x, w = torch.func.grad, wide(torch, [1.0, 2.0]), wide(torch, [1.5, -0.5]).requires_grad_()
    out, pull = torch.func.vjp(half, w)
    (late,) = pull(wide(torch, [1.0, 1.0]))
    once = grad(lambda x: (half(x) ** 2).sum())(w)
    beside = grad(lambda y: half(y * w).sum())(x)
    return [
        out.detach(),
        late.detach(),
        torch.autograd.grad((late * late).sum(), w),
        torch.autograd.grad((once * once).sum(), w),
        torch.autograd.grad(beside.sum(), w),
        grad(lambda z: (grad(lambda y: half(y * z).sum())(x) ** 2).sum())(x),
    ]


def test_15_3_names_of_nodes_at_levels(torch: Any) -> Any:
    names = []

    def prepare(ctx, inputs, output):
        names.append(type(ctx).__name__)

    f = doubling(torch, setup_context=prepare, jvp=lambda ctx, t: t * 2).apply
    g = doubling(torch, generate_vmap_rule=True).apply
    x, rows = wide(torch, [1.0, 2.0]), torch.ones(2, 2, requires_grad=True)

    def loss(x):
        out = f(x)
        names.append((out.grad_fn.name(), torch.func.vmap(g)(out[None]).grad_fn.name()))
        return out.sum()

    torch.func.grad(loss)(x)
    torch.func.jvp(f, (x,), (x,))
    return names, f(rows).grad_fn.name(), torch.func.vmap(g)(rows).grad_fn.name()


def test_20_7_a_tensor_kept_on_ctx_under_a_generated_rule(torch: Any) -> Any:
    def prepare(ctx, inputs, output):
        ctx.x, ctx.twice = inputs[0], output

    members = {"setup_context": prepare, "jvp": lambda ctx, t: t * ctx.x, "generate_vmap_rule": True}
    f = doubling(torch, backward=lambda ctx, g: g * ctx.x * ctx.twice, **members).apply
    func, rows = torch.func, wide(torch, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    tracked = rows.clone().requires_grad_()
    func.vmap(f)(tracked).sum().backward()
    return [
        tracked.grad,
        func.grad(lambda rows: func.vmap(f)(rows).sum())(rows),
        func.vmap(func.grad(lambda x: f(x).sum()))(rows),
        func.jvp(func.vmap(f), (rows,), (rows,))[1],
    ]


def test_11_6_transforms_see_vjp() -> None:
    """PyTorch 2.13 does not: it says that backward is missing."""
    import workbench as torch

    members = {"setup_context": save_inputs, "generate_vmap_rule": True}
    f = function(torch, lambda x: x**2, vjp=saved(lambda g, x: 2 * x * g), **members).apply
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    func, x = torch.func, torch.tensor([1.0, 2.0])
    assert func.grad(lambda x: f(x).sum())(x).tolist() == [2.0, 4.0]
    assert func.vjp(f, x)[1](x)[0].tolist() == [2.0, 8.0]
    assert func.jacrev(f)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert func.vmap(func.grad(lambda x: f(x).sum()))(rows).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert torch.autograd.grad(func.vmap(f)(rows).sum(), rows)[0].tolist() == [[2.0, 4.0], [6.0, 8.0]]
