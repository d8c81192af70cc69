"""Rows 21.2 to 21.6: what a function sees inside a transform, and what is left of it outside."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import entries, plain, raised

import workbench


def numbers(torch: Any, **options: Any) -> Any:
    return torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, **options)


def test_21_2_inputs_look_like_leaves(torch):
    x, seen = numbers(torch), []

    def f(x: Any, y: Any) -> Any:
        seen.append([(t.requires_grad, t.is_leaf, t.grad_fn is None, (t * 2).requires_grad) for t in (x, y)])
        return (x * y).sum()

    for outer in (x, numbers(torch, requires_grad=True)):
        torch.func.grad(f)(outer, outer)
        torch.func.grad(f, argnums=(0, 1))(outer, x)
        torch.func.vjp(f, outer, x)
        torch.func.jvp(f, (outer, x), (x, x))
        torch.func.jacrev(f, argnums=1)(x, outer)
        torch.func.vmap(f)(outer, x)
        torch.func.vmap(torch.func.grad(f), in_dims=(0, None))(torch.stack([outer, x]), outer)
    return seen


def test_21_2_outer_no_grad_does_not_disable_and_inner_does(torch):
    func = torch.func

    def f(x: Any) -> Any:
        with torch.no_grad():
            c = x**2
        return (x * c).sum()

    def measured(x: Any) -> Any:
        found = [func.grad(f)(x), func.vjp(f, x)[1](torch.ones((), dtype=torch.float64))[0]]
        found.append(func.grad(lambda x: func.grad(f)(x).sum())(x))
        found.append(func.grad(lambda x: (func.grad(f)(x) * x).sum())(x))
        found += [func.jvp(f, (x,), (x,))[1], func.jacrev(lambda x: x * f(x))(x), func.hessian(f)(x)]
        return [(t.detach(), t.requires_grad) for t in found]

    inside = []
    for x in (numbers(torch), numbers(torch, requires_grad=True)):
        with torch.no_grad():
            inside.append(measured(x))
        inside.append(measured(x))
    with torch.no_grad():
        _, pull = func.vjp(lambda x: (x**3).sum(), x)
        without = pull(torch.ones((), dtype=torch.float64))[0]
    return inside, without, pull(torch.ones((), dtype=torch.float64))[0].requires_grad


PERTURBED = entries("""
grad(lambda x: x * grad(lambda y: x + y)(two))(x) | grad(lambda x: x * grad(lambda y: x * y)(two))(x)
derivative(lambda x: x * derivative(lambda y: x + y, one), x) | grad(lambda x: grad(lambda y: x)(x) + x)(x)
derivative(lambda x: x * derivative(lambda y: x * y, one), x)
grad(lambda x: x * derivative(lambda y: x * y * y, x))(x) | derivative(lambda x: x * grad(lambda y: x * y * y)(x), x)
grad(lambda x: grad(lambda y: grad(lambda z: x * y * z)(y))(x))(x)
""")


@pytest.mark.parametrize("text", PERTURBED)
def test_21_3_perturbations_are_not_confused(torch, text):
    def derivative(f: Any, x: Any) -> Any:
        return torch.func.jvp(f, (x,), (torch.tensor(1.0),))[1]

    names = {"grad": torch.func.grad, "derivative": derivative, "x": torch.tensor(3.0)}
    return eval(text, names | {"one": torch.tensor(1.0), "two": torch.tensor(2.0)})


TAKING_PART = entries("""
grad(f)(x) | vjp(f, x)[1](one)[0] | jvp(f, (x,), (ones,))[1] | jvp(f, (x,), (ones,))[0] | vjp(f, x)[0] | jacrev(f)(x)
jacfwd(f)(x) | hessian(f)(x) | vmap(f)(x[None] * x[:, None]) | vmap(grad(f))(x[None] * x[:, None])
vmap(lambda t: jvp(f, (x,), (t,))[1])(eye)
""")


@pytest.mark.parametrize("text", TAKING_PART)
def test_21_3_results_take_part_in_autograd(torch, text):
    x, w = numbers(torch, requires_grad=True), numbers(torch, requires_grad=True)
    names = vars(torch.func) | {"f": lambda x: (x**3 * w).sum(), "x": x, "one": torch.ones((), dtype=torch.float64)}
    out = eval(text, names | {"ones": torch.ones_like(x), "eye": torch.eye(3, dtype=torch.float64)})
    out.sum().backward(create_graph=True)
    again = torch.autograd.grad(x.grad.sum(), [x, w], allow_unused=True)
    shown = out.requires_grad, out.detach(), x.grad.detach(), w.grad.detach()
    return shown, [None if g is None else g.detach() for g in again]


def test_21_4_pull_can_be_called_again(torch):
    x = numbers(torch)
    out, pull = torch.func.vjp(lambda x: x.sin() * x, x)
    once, again = pull(x), pull(x * 2)
    kept = raised(pull, x, retain_graph=False), raised(pull, x)
    return out, once, again, kept, torch.func.vmap(pull)(torch.eye(3, dtype=torch.float64))


def test_21_4_what_is_returned_as_it_is(torch):
    x = numbers(torch)
    out, pull = torch.func.vjp(lambda x: x, x)
    value, tangent = torch.func.jvp(lambda x: x, (x,), (x * 2,))
    return out, pull(x)[0] is x, value, tangent, torch.func.vmap(lambda x: x)(x)


def test_21_6_jvp_of_jvp_to_any_order(torch):
    x = torch.tensor(0.75, dtype=torch.float64)

    def derivative(f: Any) -> Any:
        return lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]

    f, seen = torch.sin, []
    for _ in range(5):
        f = derivative(f)
        seen.append(f(x))
    g = torch.exp
    for _ in range(4):
        g = torch.func.grad(g)
        seen.append(g(x))
    return seen


def test_a_tensor_that_outlives_its_level_is_its_value(torch):
    kept = []

    def f(x: Any) -> Any:
        kept.extend([x, x.sin()])
        return x.sum()

    torch.func.grad(f)(numbers(torch))
    torch.func.jvp(f, (numbers(torch),), (numbers(torch),))
    torch.func.grad(lambda x: torch.func.grad(f)(x).sum())(numbers(torch))
    later = [(t + 1, (t + 1).requires_grad, t.tolist(), repr(t)) for t in kept]
    later.append(torch.func.grad(lambda x: (x * kept[1] * kept[3]).sum())(numbers(torch)))
    return later, torch.func.vmap(lambda y: y * kept[1])(torch.eye(3, dtype=torch.float64))


def test_a_result_that_its_node_saved_has_its_history_inside_a_transform(torch):
    seen = []

    def second(x):
        z = x * 1
        (g,) = torch.autograd.grad(z.exp(), z, create_graph=True)
        return torch.autograd.grad(g, z, create_graph=True)[0]

    def noted(x):
        y = x.exp()
        saved = y.grad_fn._saved_result
        seen.append((saved.requires_grad, saved.grad_fn is y.grad_fn, saved.is_leaf))
        return y

    x = torch.tensor(0.5, dtype=torch.float64)
    return torch.func.grad(second)(x), torch.func.grad(noted)(x), seen


@pytest.mark.parametrize("how", ["grad", "vmap", "jvp"])
def test_one_of_several_views_is_not_written_inside_a_transform(torch, how):
    def first(x: Any) -> Any:
        one, _ = (x * 2).unbind()
        one.mul_(3)
        return one.sum()

    x = torch.ones(4, 2, 3, requires_grad=True)
    if how == "jvp":
        return raised(torch.func.jvp, first, (x[0].clone(),), (torch.ones(2, 3),))
    return raised(torch.func.vmap(first), x) if how == "vmap" else raised(torch.func.grad(first), x[0].detach())


def test_hooks_on_saved_tensors_are_refused(torch):
    x, hooks = numbers(torch), torch.autograd.graph.saved_tensors_hooks

    def hooked(x: Any) -> Any:
        with hooks(lambda t: t, lambda t: t):
            return (x * x).sum()

    func = torch.func
    calls = [lambda f, t=t: t(f)(x) for t in (func.grad, func.grad_and_value, func.jacrev, func.hessian)]
    calls.append(lambda f: func.vjp(f, x))
    inside = [raised(call, hooked) for call in calls]
    with hooks(lambda t: t, lambda t: t):
        outside = [raised(call, lambda x: (x * x).sum()) for call in calls]
        jvp = func.jvp(lambda x: (x * x).sum(), (x,), (x,))
    return inside, outside, jvp, func.vmap(hooked)(torch.stack([x, x]))


def test_linearize_does_not_run_the_function_again(torch):
    import warnings

    runs, x = [], numbers(torch)

    def f(x: Any) -> Any:
        runs.append(1)
        return x * x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, push = torch.func.linearize(f, x)
        return push(x), push(x * 2), len(runs)


def test_gradients_of_each_sample(torch):
    func = torch.func
    w, b = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4), torch.linspace(0, 1, 4, dtype=torch.float64)
    data, labels = torch.linspace(-2, 2, 15, dtype=torch.float64).reshape(5, 3), torch.tensor([0, 3, 1, 1, 2])

    def loss(params: Any, x: Any, label: Any) -> Any:
        hidden = (x @ params["w"] + params["b"]).tanh()
        return torch.nn.functional.cross_entropy(hidden, label)

    return func.vmap(func.grad_and_value(loss), in_dims=(None, 0, 0))({"w": w, "b": b}, data, labels)


@pytest.mark.parametrize("how", ["jacfwd of jacrev", "jacrev of jacfwd", "jacfwd of jacfwd", "jacrev of jacrev"])
def test_the_hessian_four_ways(torch, how):
    outer, inner = how.split(" of ")
    func = torch.func
    return getattr(func, outer)(getattr(func, inner)(lambda x: (x[0] * x).exp().sum() * x.prod()))(numbers(torch))


def test_linearize_takes_part_in_outer_transforms() -> None:
    """PyTorch 2.13's does not: what it compiled is a constant to them."""
    func, x = workbench.func, workbench.tensor([0.5, 2.0])
    gradient = func.grad(lambda x: func.linearize(lambda z: (z**3).sum(), x)[1](x))(x)
    assert plain(gradient) == plain(9 * x**2)
