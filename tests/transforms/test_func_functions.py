"""Custom Functions under function transforms beside PyTorch (sections 20 and 21.9 of the semantic map).

The Functions are of the kinds that PyTorch's page on extending torch.func tells of: a forward on NumPy arrays with
places as an output that is not differentiable, a derivative that is an output itself, a jvp, a vmap staticmethod, and
a generated rule.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from functions import function, save_inputs, saved, wide
from oracle import compare, entries

import workbench


def cube(torch: Any) -> Any:
    """The third power. Its derivative is an output, so that it need not be computed again; the jvp uses it too."""

    def setup_context(ctx, inputs, outputs):
        save_inputs(ctx, (inputs[0], outputs[1]), outputs)

    slope = saved(lambda g, of_slope, x, slope: g * slope + of_slope * 6 * x)
    members = {"setup_context": setup_context, "jvp": saved(lambda t, x, slope: (t * slope, t * 6 * x))}
    return function(torch, lambda x: (x**3, 3 * x**2), slope, **members, generate_vmap_rule=True)


def along(torch: Any) -> Any:
    """What takes elements in an order."""

    class Along(torch.autograd.Function):
        """Takes elements in an order along the last dimension; knows how to go back."""

        @staticmethod
        def forward(x, order, back):
            return torch.tensor(np.take_along_axis(x.numpy(), order.numpy(), -1))

        @staticmethod
        def setup_context(ctx, inputs, output):
            _, order, back = inputs
            ctx.save_for_backward(order, back)
            ctx.save_for_forward(order, back)

        @staticmethod
        def backward(ctx, g):
            order, back = ctx.saved_tensors
            return Along.apply(g, back, order), None, None

        @staticmethod
        def jvp(ctx, t, _order, _back):
            order, back = ctx.saved_tensors
            return Along.apply(t, order, back)

        @staticmethod
        def vmap(info, in_dims, x, order, back):
            def in_front(t, dim):
                return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)

            return Along.apply(*[in_front(t, d) for t, d in zip((x, order, back), in_dims, strict=True)]), 0

    return Along


def sorting(torch: Any) -> Any:
    """What sorts with NumPy."""
    Along = along(torch)

    class Sorted(torch.autograd.Function):
        """Sorts the last dimension with NumPy; also gives the places and the way back, which have no derivative."""

        @staticmethod
        def forward(x):
            order = np.argsort(x.numpy(), -1, kind="stable")
            back = np.argsort(order, -1, kind="stable")
            return torch.tensor(np.take_along_axis(x.numpy(), order, -1)), torch.tensor(order), torch.tensor(back)

        @staticmethod
        def setup_context(ctx, inputs, outputs):
            _, order, back = outputs
            ctx.mark_non_differentiable(order, back)
            ctx.save_for_backward(order, back)
            ctx.save_for_forward(order, back)

        @staticmethod
        def backward(ctx, g, _order, _back):
            order, back = ctx.saved_tensors
            return Along.apply(g, back, order)

        @staticmethod
        def jvp(ctx, t):
            return Along.apply(t, *ctx.saved_tensors), None, None

        @staticmethod
        def vmap(info, in_dims, x):
            return Sorted.apply(x.movedim(in_dims[0], 0)), (0, 0, 0)

    return Sorted


def scaled(torch: Any) -> Any:
    """A product with a number that is no tensor."""

    def setup_context(ctx, inputs, output):
        x, w, ctx.factor = inputs
        save_inputs(ctx, (x, w), output)

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w * ctx.factor, g * x * ctx.factor, None

    def jvp(ctx, t, s, _factor):
        x, w = ctx.saved_tensors
        return (t * w + x * s) * ctx.factor

    members = {"setup_context": setup_context, "jvp": jvp, "generate_vmap_rule": True}
    return function(torch, lambda x, w, factor: x * w * factor, backward, **members)


def functions(torch: Any) -> SimpleNamespace:
    """The Functions, each as one likes to call it."""
    Cube, Sorted, Scaled = cube(torch), sorting(torch), scaled(torch)
    return SimpleNamespace(
        cube=lambda x: Cube.apply(x)[0],
        both=Cube.apply,
        sort=lambda x: Sorted.apply(x)[0],
        sorted=Sorted.apply,
        scaled=Scaled.apply,
    )


PROGRAMS = entries("""
grad(lambda x: {f}(x).sin().sum())(x) | grad(lambda x: grad(lambda x: ({f}(x) ** 2).sum())(x).cos().sum())(x)
vjp({f}, x)[1](one) | vjp({f}, x)[0] | jvp({f}, (x,), (one,)) | jvp(grad(lambda x: ({f}(x) ** 2).sum()), (x,), (one,))
grad(lambda x: jvp(lambda x: {f}(x).sin(), (x,), (one,))[1].sum())(x) | vmap({f})(rows) | vmap({f}, 1, 1)(rows)
vmap(vmap({f}))(block) | vmap(vmap({f}, 1, 1))(block) | vmap(grad(lambda x: {f}(x).sin().sum()))(rows)
grad(lambda x: vmap({f})(x).sin().sum())(rows) | vmap(lambda t: jvp({f}, (x,), (t,))[1])(rows)
vmap(lambda x: jvp({f}, (x,), (one,)))(rows) | jvp(vmap({f}), (rows,), (rows,)) | jacrev({f})(x) | jacfwd({f})(x)
hessian(lambda x: ({f}(x) ** 2).sum())(x) | jacrev(jacrev(lambda x: ({f}(x) ** 2).sum()))(x)
jacfwd(jacrev(lambda x: {f}(x).sin()))(x) | jacrev(jacfwd(lambda x: {f}(x).sin()))(x) | vmap(jacrev({f}))(rows)
vmap(hessian(lambda x: ({f}(x) ** 2).sum()))(rows) | jacrev(vmap({f}))(rows) | jacfwd(vmap({f}))(rows)
vmap(grad(lambda x: grad(lambda x: ({f}(x) ** 2).sum())(x).cos().sum()))(rows) | vmap(vjp({f}, x)[1])(rows)
grad(lambda x: vmap(lambda y: {f}(x * y).sum())(rows).sum())(x) | vmap(lambda x: {f}(one) * x)(rows)
grad(lambda y: ({f}(x) * y).sum())(x)
torch.autograd.grad(vmap({f})(rows.requires_grad_()).sin().sum(), rows)
torch.autograd.grad(grad(lambda x: ({f}(x) ** 2).sum())(x.requires_grad_()).sin().sum(), x)
torch.autograd.functional.jacobian({f}, x, vectorize=True)
torch.autograd.functional.jacobian({f}, x, vectorize=True, strategy="forward-mode")
""")


def run(torch: Any, text: str) -> Any:
    """An expression of transforms, Functions and a few tensors."""
    names = {name: getattr(torch.func, name) for name in ("grad", "vjp", "jvp", "vmap", "jacrev", "jacfwd", "hessian")}
    names |= {"x": wide(torch, [3.0, 1.0, 2.0]), "one": wide(torch, [1.0, 0.5, -1.0]), "torch": torch}
    names["rows"] = wide(torch, [[3.0, 1.0, 2.0], [-1.0, 0.5, -2.0]])
    names["block"] = wide(torch, [[[3.0, 1.0], [2.0, 4.0]], [[0.5, -1.0], [1.0, 0.25]], [[1.5, 1.25], [-3.0, 2.0]]])
    return eval(text, names | vars(functions(torch)))


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("function", ["cube", "sort"])
def test_20_8_compositions(function: str, text: str) -> None:
    compare(run, text.format(f=function))


OUTPUTS = entries("""
vmap(both)(rows) | jvp(both, (x,), (one,)) | vjp(both, x)[1]((one, one)) | jacrev(both)(x) | jacfwd(both)(x)
vmap(sorted)(rows) | vmap(sorted, 1)(rows) | vmap(sorted, out_dims=(0, 1, None))(rows[:1]) | sorted(x)
grad(lambda x: both(x)[1].sum())(x) | grad(lambda x: (both(x)[0] * both(x)[1]).sum())(x)
vmap(lambda x, w: scaled(x, w, 2.0), (0, None))(rows, x) | vmap(lambda x: scaled(x, x, 2.0))(rows)
grad(lambda w: vmap(lambda x: scaled(x, w, 2.0))(rows).sum())(x)
grad(lambda w: vmap(lambda x, w: scaled(x, w, 2.0), (0, None))(rows, w).sin().sum())(x)
vmap(grad(lambda w, x: scaled(x, w, 2.0).sum()), (None, 0))(x, rows)
jvp(lambda w: vmap(lambda x: scaled(x, w, 2.0))(rows), (x,), (one,))
vmap(lambda t: jvp(lambda w: scaled(w, x, 2.0), (x,), (t,))[1])(rows)
vmap(lambda x: scaled(x.sum(), one, 2.0))(rows) | grad(lambda w: vmap(lambda x: scaled(x.sum(), w, 2.0))(rows).sum())(x)
grad(lambda w: vmap(lambda x: scaled(x, w, 2.0))(rows).sum())(x.sum())
vmap(vmap(lambda x, w: scaled(x, w, 3), (0, None)), (None, 0))(x, rows)
hessian(lambda x: scaled(x, x, 2.0).sum())(x) | jacrev(lambda w: scaled(w, x, 2.0), argnums=0)(x)
vmap(lambda x: sorted(x)[0] + sorted(x)[1])(rows) | torch.func.grad_and_value(lambda x: (cube(x) * sort(x)).sum())(x)
""")


@pytest.mark.parametrize("text", OUTPUTS)
def test_20_7_several_outputs_and_inputs(text: str) -> None:
    compare(run, text)


@pytest.mark.parametrize("f", ["cube", "sort", "lambda x: sort(cube(x))"])
def test_21_7_jvp_of_jvp_is_the_second_derivative(f: str) -> None:
    """PyTorch 2.13 loses the outer tangent in the user's jvp; what stands here are differences."""
    square = f"lambda x: ({f})(x) ** 2"
    found = run(workbench, f"jvp(lambda x: jvp({square}, (x,), (one,))[1], (x,), (one,))[1]").numpy()
    steps = [run(workbench, f"jvp({square}, (x + {h} * one,), (one,))[1]").numpy() for h in (-1e-5, 1e-5)]
    assert np.allclose(found, (steps[1] - steps[0]) / 2e-5, rtol=1e-6)
    nested = run(workbench, f"jacfwd(jacfwd({square}))(x)")
    assert np.allclose(nested.numpy(), run(workbench, f"jacrev(jacrev({square}))(x)").numpy())


MOVES = entries("""
B.movedim(2, 0) | B.movedim(0, -1) | B.movedim((0, 1), (1, 2)) | B.movedim([2, 0], [0, 1]) | torch.movedim(B, -1, 0)
B.movedim(3, 0) | B.movedim(0, 5) | B.movedim((0, 0), (1, 2)) | B.movedim((0, 1), (0,)) | B.movedim((0, 1), (1, 1))
B.movedim((), ()) | vmap(lambda b: b.movedim(1, 0))(B) | vmap(lambda b: b.movedim(0, -1), 1)(B)
""")


@pytest.mark.parametrize("text", MOVES)
def test_dimensions_move(torch, text):
    block = torch.arange(24.0, dtype=torch.float64).view(2, 3, 4).requires_grad_()
    moved = eval(text, {"B": block, "torch": torch, "vmap": torch.func.vmap})
    return moved, moved._is_view(), torch.autograd.grad((moved * moved).sum(), block)


WITHOUT_DERIVATIVE = entries("""
x.argmax() | x.argmin(0) | x.max(0)[1] | x.max(0)[0] | x.min(1)[0] | x.sort(1)[1] | x.sort(0)[0] | x.argsort(1)
x.topk(2)[0] | x.topk(2)[1] | x.isnan() | x.isinf() | torch.isclose(x, x) | x.all() | (x > 0).any(1) | x > 1 | ~(x > 1)
torch.logical_not(x > 1) | (x > 0) & (x < 1) | x[x[0].argsort()[:2].clamp(max=1)] | x.round() | x.sign() | x == x
""")


@pytest.mark.parametrize("text", WITHOUT_DERIVATIVE)
def test_jvp_through_what_has_no_derivative(torch, text):
    x = torch.tensor([[0.75, 1.25, -0.5], [1.5, 0.5, 2.0]], dtype=torch.float64)
    return torch.func.jvp(lambda x: eval(text, {"torch": torch, "x": x}), (x,), (x * 2,))
