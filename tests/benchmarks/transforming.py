"""Works for function transforms: jvp, Hessian, per-sample gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from works import Steps, work


def _mlp_loss(m: Any, batch: int, widths: tuple[int, ...]) -> tuple[Any, list[Any], Any, Any]:
    """The loss of `mlp` as a function of its parameters, of inputs and of labels."""
    rng = np.random.default_rng(0)
    inputs = m.constant(rng.normal(size=(batch, widths[0])))
    labels = m.constant(np.eye(widths[-1])[rng.integers(widths[-1], size=batch)])
    parameters = []
    for fan_in, fan_out in zip(widths, widths[1:], strict=False):
        parameters += [m.constant(rng.normal(size=(fan_in, fan_out)) / np.sqrt(fan_in)), m.constant(np.zeros(fan_out))]

    def loss(parameters: Any, inputs: Any, labels: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        hidden = m.relu(inputs @ w1 + b1)
        hidden = m.relu(hidden @ w2 + b2)
        scores = hidden @ w3 + b3
        return m.mean(m.log(m.sum(m.exp(scores), -1)) - m.sum(scores * labels, -1))

    return loss, parameters, inputs, labels


@work(
    "jvp",
    "jvp of the MLP loss, batch 32",
    sizes=((32, (64, 128, 128, 10)), (4, (3, 4, 4, 2))),
    parts=("",),
    bounds=(0.75,),
    rounds=60,
)
def jvp(m: Any, batch: int, widths: tuple[int, ...]) -> Steps:
    """The loss and its derivative along one direction, pushed forward."""
    func = m.func
    loss, parameters, inputs, labels = _mlp_loss(m, batch, widths)
    along = [p * 0.5 + 0.1 for p in parameters]
    yield
    value, slope = func.jvp(lambda p: loss(p, inputs, labels), (parameters,), (along,))
    yield
    return m.numbers(value, slope)


@work(
    "duals",
    "the same by forward_ad's dual tensors",
    sizes=((32, (64, 128, 128, 10)), (4, (3, 4, 4, 2))),
    parts=("",),
    bounds=(0.75,),
    rounds=60,
)
def duals(m: Any, batch: int, widths: tuple[int, ...]) -> Steps:
    """The loss and its derivative along one direction, pushed forward by hand."""
    forward_ad = m.library.autograd.forward_ad
    loss, parameters, inputs, labels = _mlp_loss(m, batch, widths)
    along = [p * 0.5 + 0.1 for p in parameters]
    yield
    with forward_ad.dual_level():
        made = [forward_ad.make_dual(p, t) for p, t in zip(parameters, along, strict=True)]
        value, slope = forward_ad.unpack_dual(loss(made, inputs, labels))
    yield
    return m.numbers(value, slope)


@work(
    "functional",
    "autograd.functional of tanh(A @ u) ** 2, 10 variables",
    sizes=((10,), (3,)),
    parts=("hessian", "jacobian"),
    bounds=(1.0, 1.0),
    rounds=60,
)
def functional(m: Any, variables: int) -> Steps:
    """The Hessian of the sum, and the Jacobian."""
    rng, functional = np.random.default_rng(0), m.library.autograd.functional
    matrix, u = m.constant(rng.normal(size=(variables, variables))), m.constant(rng.normal(size=variables))

    def squares(u: Any) -> Any:
        return m.tanh(matrix @ u) ** 2

    yield
    second = functional.hessian(lambda u: m.sum(squares(u)), u)
    yield
    first = functional.jacobian(squares, u)
    yield
    return m.numbers(second, first)


@work(
    "hessian",
    "Hessian of a function of 10 variables by jacfwd(jacrev)",
    sizes=((10,), (3,)),
    parts=("",),
    bounds=(1.0,),
    rounds=60,
)
def hessian(m: Any, variables: int) -> Steps:
    """Rosenbrock's function."""
    func, x = m.func, m.constant(np.linspace(-1, 1, variables))

    def valley(x: Any) -> Any:
        return m.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    yield
    found = func.jacfwd(func.jacrev(valley))(x)
    yield
    return m.numbers(found)


@work(
    "persample",
    "per-sample gradients of the MLP, batch 1,024",
    sizes=((1024, (64, 128, 128, 10)), (5, (3, 4, 4, 2))),
    parts=("",),
    bounds=(1.0,),
    rounds=12,
)
def persample(m: Any, batch: int, widths: tuple[int, ...]) -> Steps:
    """vmap(grad(loss)) over the batch."""
    func = m.func
    loss, parameters, inputs, labels = _mlp_loss(m, batch, widths)
    each = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
    yield
    found = each(parameters, inputs, labels)
    yield
    return m.numbers(*found)
