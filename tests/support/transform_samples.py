"""Programs that use function transforms, whose traces the tests look at."""

from __future__ import annotations

import workbench as torch
from workbench.autograd import forward_ad
from workbench.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vmap
from workbench.pictures.recording import Trace, record


class Cube(torch.Function):
    """x ** 3 with a jvp, and a vmap made of its methods."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x * x * tangent


def values(*numbers):
    """A float64 tensor."""
    return torch.tensor(list(numbers), dtype=torch.float64)


def pushed() -> Trace:
    """jvp of sin(x) * x."""
    with record() as trace:
        jvp(lambda x: x.sin() * x, (values(0.0, 1.0),), (values(1.0, 2.0),))
    return trace


def forward_over_reverse() -> Trace:
    """jvp of a gradient: the product of a Hessian and a vector."""
    with record() as trace:
        jvp(grad(lambda x: (x.sin() * x).sum()), (values(0.0, 1.0),), (values(1.0, 2.0),))
    return trace


def per_sample() -> Trace:
    """The gradient of a loss for each of five samples at once."""
    weights, inputs = values(1.0, 2.0, 3.0), torch.arange(15.0, dtype=torch.float64).reshape(5, 3)

    def loss(w, x):
        product = w * x
        return product.tanh().sum()

    with record() as trace:
        vmap(grad(loss), in_dims=(None, 0))(weights, inputs)
    return trace


def twice() -> Trace:
    """The gradient of a gradient."""
    with record() as trace:
        grad(lambda x: grad(lambda y: (y**3).sum())(x).sum())(values(1.0, 2.0))
    return trace


def double_backward() -> Trace:
    """A backward through a backward, without a transform."""
    with record() as trace:
        x = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(x**3, x, create_graph=True)
        g.backward()
    return trace


def duals() -> Trace:
    """Dual tensors that require grad: the tangents have a graph of their own."""
    x = values(1.0, 2.0).requires_grad_()
    with record() as trace, forward_ad.dual_level():
        dual = forward_ad.make_dual(x, values(1.0, 1.0))
        forward_ad.unpack_dual((dual * dual).sin())
    return trace


def custom() -> Trace:
    """jvp of a custom Function."""
    with record() as trace:
        jvp(lambda x: Cube.apply(x).sum(), (values(1.0, 2.0),), (values(1.0, 2.0),))
    return trace


def batch() -> Trace:
    """vmap alone: no gradient anywhere."""
    with record() as trace:
        vmap(lambda x: (x * 2).exp())(torch.ones(4, 2, dtype=torch.float64))
    return trace


def many() -> Trace:
    """Everything else, one after the other."""
    x = values(0.5, 1.5)

    def f(x):
        return (x.sin() * x).sum()

    with record() as trace:
        jacfwd(jacrev(f))(x)
        hessian(f)(x)
        grad(lambda x: grad(lambda x: grad(f)(x).sum())(x).sum())(x)
        grad(lambda x: jvp(f, (x,), (x,))[1])(x)
        vmap(vmap(torch.sin))(torch.ones(2, 3, 4))
        vmap(lambda x: jvp(grad(f), (x,), (x,))[1])(torch.ones(3, 2, dtype=torch.float64))
        jvp(lambda x: jvp(f, (x,), (x,))[1], (x,), (x,))
        linearize(f, x)[1](x)
        vmap(Cube.apply)(x)
        vmap(grad(lambda x: Cube.apply(x)))(x)
        torch.autograd.functional.hessian(f, x, vectorize=True)
    return trace


PROGRAMS = (
    pushed,
    forward_over_reverse,
    per_sample,
    twice,
    double_backward,
    duals,
    custom,
    batch,
    many,
)
