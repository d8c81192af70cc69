"""Writes in place and other things that reach into a tensor, inside function transforms."""

from __future__ import annotations

from typing import Any

import pytest
from functions import attempt, function, save_inputs, saved, square
from oracle import entries, raised

X = [1.0, 2.0, 3.0]


CAPTURED: dict[Any, Any] = {}
PROGRAMS: dict[str, Any] = {
    "of a captured tensor": lambda torch, x: (CAPTURED[torch].add_(x), x.sum())[1],
    "of a captured tensor by a number": lambda torch, x: (CAPTURED[torch].add_(1.0), x.sum())[1],
    "detached": lambda torch, x: (x.detach() * x).sum(),
    "data": lambda torch, x: (x.data * x).sum(),
    "item": lambda torch, x: x[0].item() * x.sum(),
    "numpy": lambda torch, x: torch.tensor(x.numpy()).sum(),
    "asking for gradients": lambda torch, x: (torch.ones(3).requires_grad_() * x).sum(),
    "running backward": lambda torch, x: ((x * x).sum().backward(), x.sum())[1],
    "differentiating": lambda torch, x: torch.autograd.grad((x * x * x).sum(), x, create_graph=True)[0].sum(),
    "of the input": lambda torch, x: (x.mul_(2) ** 2).sum(),
}


def program(function: Any) -> Any:
    """Decorator: put a program among those that run inside a transform, by its name."""
    PROGRAMS[function.__name__.replace("_", " ")] = function
    return function


@program
def on_a_copy(torch: Any, x: Any) -> Any:
    y = x.clone()
    y.mul_(2)
    y[0] = 5 * x[1]
    return (y**2).sum()


@program
def through_a_view(torch: Any, x: Any) -> Any:
    y = x * 2
    y[1:].mul_(3)
    return (y**2).sum()


@program
def into_a_new_tensor(torch: Any, x: Any) -> Any:
    y = torch.zeros(3)
    y[1] = x[0]
    z = torch.zeros_like(x)
    z.copy_(x)
    return (y * z).sum() + (y * y).sum()


@program
def of_a_saved_tensor(torch: Any, x: Any) -> Any:
    x = x.clone()
    y = x.sin()
    x.add_(1)
    return y.sum()


TRANSFORMS = {
    "grad": lambda f, func, torch, x: func.grad(f)(x),
    "grad of grad": lambda f, func, torch, x: func.grad(lambda x: (func.grad(f)(x) * x).sum())(x),
    "jvp": lambda f, func, torch, x: func.jvp(f, (x,), (torch.ones(3),)),
    "vmap of grad": lambda f, func, torch, x: func.vmap(func.grad(f))(torch.stack([x, x + 1])),
    "grad of vmap": lambda f, func, torch, x: func.grad(lambda x: func.vmap(f)(x).sum())(torch.stack([x, x + 1])),
}
# Where PyTorch's answer is no rule: it refuses what has an answer, or names the fallback it happened to take.
UNCOMPARED = {("jvp", "differentiating"), ("jvp", "item"), ("vmap of grad", "item"), ("grad of vmap", "item")}
UNCOMPARED |= {("grad of vmap", "into a new tensor"), ("grad of vmap", "of a saved tensor")}
COMPARED = [(how, name) for name in PROGRAMS for how in TRANSFORMS if (how, name) not in UNCOMPARED]


@pytest.mark.parametrize(("how", "name"), COMPARED)
def test_inside_a_transform(torch, how, name):
    CAPTURED[torch] = torch.zeros(3)
    x = torch.tensor(X)
    out = attempt(TRANSFORMS[how], lambda x: PROGRAMS[name](torch, x), torch.func, torch, x)
    return out, x, CAPTURED[torch], torch.is_grad_enabled()


FILLING: list[Any] = []


def filling(function: Any) -> Any:
    """Decorator: put a program among those that fill a new tensor."""
    FILLING.append(function)
    return function


@filling
def filled(torch: Any, y: Any) -> Any:
    z = torch.zeros(3)
    z[0] = y.sum()
    z[1:] = y[:2] * y[1:]
    return z * y


@filling
def filled_as_columns(torch: Any, y: Any) -> Any:
    z = torch.zeros(2, 3).t().clone()
    z.t()[1] = y * y
    return z.sum(1)


@filling
def written_by_numbers_first(torch: Any, y: Any) -> Any:
    z = torch.ones(3)
    z.mul_(3.0)
    z[1:].mul_(y[1:])
    return z.exp_()


@filling
def into_a_clone_of_what_is_captured(torch: Any, y: Any) -> Any:
    z = CAPTURED[torch].clone()
    z[0] = y.sum()
    return z.add_(y * y)


@filling
def into_a_product_of_what_is_captured(torch: Any, y: Any) -> Any:
    z = CAPTURED[torch] * 2
    z += y
    return z.mul_(y)


@filling
def into_a_view_of_what_is_captured(torch: Any, y: Any) -> Any:
    CAPTURED[torch].view(3)[1:].mul_(2.0)
    return y * 2


@filling
def added_up(torch: Any, y: Any) -> Any:
    z = torch.zeros(())
    for element in y.unbind():
        z += element * element
    return z * y


@filling
def in_a_list_of_places(torch: Any, y: Any) -> Any:
    z = torch.zeros(4)
    z[torch.tensor([3, 0, 1])] = y
    z[z > 2] = 0.0
    return z


JACOBIANS = {
    "jacfwd": lambda f, func, x: func.jacfwd(f)(x),
    "jacrev": lambda f, func, x: func.jacrev(f)(x),
    "hessian": lambda f, func, x: func.hessian(lambda x: (f(x) ** 2).sum())(x),
    "jvp": lambda f, func, x: func.jvp(f, (x,), (x + 1,)),
    "vmap": lambda f, func, x: func.vmap(f)(x.expand(2, 3)),
    "grad of jvp": lambda f, func, x: func.grad(lambda x: func.jvp(f, (x,), (x * x,))[1].sum())(x),
    "jacfwd of grad": lambda f, func, x: func.jacfwd(func.grad(lambda x: f(x).sum()))(x),
}


@pytest.mark.parametrize("how", JACOBIANS)
@pytest.mark.parametrize("program", FILLING)
def test_filling_a_new_tensor(torch, program, how):
    CAPTURED[torch] = torch.ones(3)
    return attempt(JACOBIANS[how], lambda x: program(torch, x), torch.func, torch.tensor(X)), CAPTURED[torch]


@pytest.mark.parametrize("made", ["g.new_zeros(3)", "torch.zeros(3)", "torch.zeros_like(x)", "torch.zeros_like(x) * g"])
@pytest.mark.parametrize("how", ["grad", "jacrev", "vmap of grad", "jacrev of grad"])
def test_filling_a_new_tensor_in_backward(torch, made, how):
    def slope(g, x):
        out = eval(made, {"torch": torch, "g": g, "x": x})
        out[1] = g * 2
        return out

    def f(x: Any) -> Any:
        return second(x) ** 2

    members = {"setup_context": save_inputs, "generate_vmap_rule": True}
    second = function(torch, lambda x: x[1] * 2, saved(slope), **members).apply
    func, x = torch.func, torch.tensor(X)
    return {
        "grad": lambda: func.grad(f)(x),
        "jacrev": lambda: func.jacrev(lambda x: torch.stack([f(x), second(x)]))(x),
        "vmap of grad": lambda: func.vmap(func.grad(f))(torch.stack([x, x + 1])),
        "jacrev of grad": lambda: func.jacrev(func.grad(f))(x),
    }[how]()


WRITING = entries("""
y.add_(x) | y.sub_(1) | y.mul_(x) | y.div_(2) | y.pow_(2) | y.exp_() | y.clamp_(0) | y.masked_fill_(m, 2) | y.zero_()
y.index_add_(0, i, x) | y.scatter_add_(0, i, x) | y.fill_(1) | y.fill_(x.sum()) | y.copy_(x) | y.index_put_((i,), x)
y.__setitem__(0, 1.0) | y.__setitem__(slice(2), 1.0) | y.__setitem__(0, x.sum()) | y.__setitem__(i, x)
y.__setitem__(m, 2.0) | y.__setitem__(m, x.sum()) | y.masked_fill_(m & (x > 0), 2) | y.__setitem__(m & (x > 0), 2.0)
y.__setitem__(i + (x * 0).long(), 2.0) | y.sub_(x) | y.cumsum_(0) | y.__isub__(x) | y.scatter_(0, i, 2.0)
""")


@pytest.mark.parametrize("how", ["grad", "vmap"])
@pytest.mark.parametrize("text", WRITING)
def test_how_a_write_into_a_captured_tensor_is_refused(torch, text, how):
    names = {"y": torch.ones(3), "i": torch.tensor([2, 1, 0]), "m": torch.tensor([True, False, True])}

    def f(x: Any) -> Any:
        eval(text, names | {"x": x})
        return x.sum()

    return raised(getattr(torch.func, how)(f), torch.ones(3) if how == "grad" else torch.ones(2, 3)), names["y"]


@pytest.mark.parametrize("text", ["x", "x * 2", "leaf", "made", "plain", "x.detach()"])
@pytest.mark.parametrize("how", ["grad", "jvp", "vmap", "vmap of grad"])
def test_retain_grad_is_refused(torch, text, how):
    leaf = torch.ones(3, requires_grad=True)
    names = {"leaf": leaf, "made": leaf * 2, "plain": torch.ones(3)}

    def f(x: Any) -> Any:
        eval(text, names | {"x": x}).retain_grad()
        return x.sum()

    def vmapped(f: Any, func: Any, torch: Any, x: Any) -> Any:
        return func.vmap(f)(torch.stack([x, x]))

    return raised(TRANSFORMS.get(how, vmapped), f, torch.func, torch, leaf * 1)


def test_data_is_not_replaced(torch):
    def own(x: Any) -> Any:
        x.data = x * 2
        return x.sum()

    def own_by_a_plain_one(x: Any) -> Any:
        x.data = torch.ones(3)
        return x.sum()

    def captured(x: Any) -> Any:
        kept.data = torch.ones(3) if kept is plain else x
        return (kept * x).sum()

    func, x, plain = torch.func, torch.tensor(X), torch.zeros(3)
    seen = []
    for f in (own, own_by_a_plain_one):
        seen += [raised(func.grad(f), x), raised(func.jvp, f, (x,), (x,)), raised(func.vmap(f), x[None])]
        seen += [raised(func.vmap(func.grad(f)), x[None])]
    kept = torch.zeros(3)
    seen.append(raised(func.vmap(captured), x[None]))
    return seen


def test_what_is_made_after_a_generated_rule_ran_below(torch):
    """A level that is entered below others leaves them running."""

    def f(x: Any) -> Any:
        y = square(torch).apply(x)
        z = kept.clone()
        z[0] = 5.0
        return y * z

    func, kept, x = torch.func, torch.ones(3), torch.tensor(X)
    rows = torch.stack([x, x + 1])
    return func.vmap(func.jacfwd(f))(rows), func.vmap(func.grad(lambda x: f(x).sum()))(rows), kept


WRITES = ("x[m] = 0.5", "x[-1:] = b", "x[0] = b", "x[:, 1] = 0.25", "x.mul_(2).add_(1)", "x.copy_(m)")


@pytest.mark.parametrize("slope", ["(t > 0.3).sum()", "(t - b).sum()", "(t * b).sum()", "t[:2].sum()"])
@pytest.mark.parametrize("write", WRITES)
def test_the_gradients_of_samples_share_no_memory(torch, write, slope):
    a, b = torch.tensor([[0.5, -1.5, 0.25], [1.0, 0.75, -0.5]]), torch.tensor([1.5, -0.25, 0.5])
    m = torch.tensor([[True, False, True], [False, True, True]])
    x = torch.func.vmap(torch.func.grad(eval(f"lambda t: {slope}", {"b": b})))(a)
    scope = {"x": x, "m": m, "b": b}
    exec(write, scope)
    twice = torch.func.vmap(torch.func.grad(lambda t: torch.func.grad(lambda u: u.sum())(t).sum()))(a)
    return x, twice.shape, twice.requires_grad
