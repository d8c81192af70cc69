"""How a gradient becomes a leaf's `.grad`: kept as it came where nobody else holds it, copied, or added in place."""

from __future__ import annotations

from typing import Any

import pytest
from functions import function
from oracle import entries

import workbench
from workbench.autograd import node

RETURNED = {
    "fresh": lambda keep, ctx, g: (g * 2,),
    "kept by a name": lambda keep, ctx, g: (keep(g * 2),),
    "kept on ctx": lambda keep, ctx, g: (keep_on(ctx, g * 2),),
    "a view of a fresh one": lambda keep, ctx, g: ((g * 2).view(2, 3),),
    "part of a fresh one": lambda keep, ctx, g: ((g * 2).view(3, 2).view(6)[0:6].view(2, 3),),
    "columns of a fresh one": lambda keep, ctx, g: (g.new_ones(4, 4)[1:3, :3],),
    "the gradient that came": lambda keep, ctx, g: (g,),
    "what is saved": lambda keep, ctx, g: (ctx.saved_tensors[0],),
    "expanded": lambda keep, ctx, g: (g.new_ones(1, 1).expand(2, 3),),
    "transposed": lambda keep, ctx, g: (g.new_ones(3, 2).t(),),
    "another dtype": lambda keep, ctx, g: ((g * 2).double(),),
    "to be summed": lambda keep, ctx, g: (g.new_ones(4, 2, 3),),
    "one for two leaves": lambda keep, ctx, g: twice(g * 2),
    "one for two leaves, kept": lambda keep, ctx, g: twice(keep(g * 2)),
    "a view for the second leaf": lambda keep, ctx, g: with_view(g * 2),
    "two fresh ones": lambda keep, ctx, g: (g * 2, g * 3),
}


def keep_on(ctx: Any, t: Any) -> Any:
    ctx.kept = t
    return t


def twice(t: Any) -> Any:
    return t, t


def with_view(t: Any) -> Any:
    return t, t.view(2, 3)


@pytest.mark.parametrize("returned", RETURNED)
def test_what_a_backward_returned_becomes_the_gradient_if_nobody_else_holds_it(torch: Any, returned: str) -> Any:
    pointers: list[int] = []
    kept: list[Any] = []

    def keep(t: Any) -> Any:
        kept.append(t)
        return t

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            ctx.save_for_backward(*args)
            return args[0] * 2

        @staticmethod
        def backward(ctx, g):
            grads = RETURNED[returned](keep, ctx, g)
            pointers.extend(each.data_ptr() for each in grads)
            return grads + (None,) * (2 - len(grads))

    leaves = [torch.ones(2, 3, requires_grad=True) for _ in range(2)]
    seed = torch.ones(2, 3)
    F.apply(*leaves).backward(seed)
    grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
    own = [g.data_ptr() == p for g, p in zip(grads, pointers[: len(grads)], strict=True)]
    facts = [(g._version, g._is_view(), g.stride(), g.data_ptr() == seed.data_ptr()) for g in grads]
    places = [g.data_ptr() for g in grads]
    F.apply(*leaves).backward(seed)
    after = [
        (leaf.grad is g, g.data_ptr() == p, g._version)
        for leaf, g, p in zip(leaves[: len(grads)], grads, places, strict=True)
    ]
    return own, facts, after, len(set(places)), grads, seed, [t.sum() for t in kept]


OPERATIONS = entries(
    """
    x * 2 | x + y | x - y | x * y | x * x | x + x | x * 2 + x * 3 | x * 2 + x * 3 + x * 4 | x.clone() | x.t() | x.sum()
    x.mean() | -x | x.relu() | x @ x.t() | torch.where(x > 0, x, y) | x.permute(1, 0) | x + 1 | x / y | x.exp() | x[0]
    (x + y) * x | x.view(6) + x.view(6) | torch.zeros(2, 3).copy_(x) | x.sum(0) | x.unbind(0)[0] | (x.relu() * y).tanh()
    x.expand(4, 2, 3) | x.double() | x * y * y * y | x.masked_fill(x > 5, 0.0) | x + y[:1] | x.view(6) | x.unsqueeze(0)
    """
)


@pytest.mark.parametrize("expression", OPERATIONS)
def test_how_often_the_gradient_of_an_operation_was_written(torch: Any, expression: str) -> Any:
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    seen = []
    for _ in range(2):
        out = eval(expression, {"torch": torch, "x": x, "y": y})
        out.backward(torch.ones(tuple(out.shape), dtype=out.dtype))
        grads = [leaf.grad for leaf in (x, y) if leaf.grad is not None]
        seen.append([(g._version, g.stride(), g.data_ptr()) for g in grads])
    return [[(a[0], b[0], a[1], a[2] == b[2]) for a, b in zip(*seen, strict=True)], [g.tolist() for g in grads]]


HOOKS = ["none", "tensor", "tensor, kept", "tensor, replaced", "before", "before, kept", "after", "accumulated"]


@pytest.mark.parametrize("how", ["plain", "inputs", "create_graph"])
@pytest.mark.parametrize("kind", HOOKS)
def test_which_memory_the_hooks_of_a_leaf_see(torch: Any, kind: str, how: str) -> Any:
    def backward(ctx, g):
        grad = g * 2
        made.append(grad.data_ptr())
        return grad

    F = function(torch, lambda ctx, x: x * 2, backward)
    made: list[int] = []
    kept: list[Any] = []
    seen: list[Any] = []

    def keep(given: Any) -> None:
        kept.append(given)

    x = torch.ones(2, 3, requires_grad=True)
    out = F.apply(x)
    node = out.grad_fn.next_functions[0][0]
    if kind == "tensor":
        x.register_hook(lambda g: seen.append(g.data_ptr() == made[-1]))
    elif kind == "tensor, kept":
        x.register_hook(keep)
    elif kind == "tensor, replaced":
        x.register_hook(lambda g: kept.append(g) or g * 1)
    elif kind == "before":
        node.register_prehook(lambda grads: seen.append(grads[0].data_ptr() == made[-1]))
    elif kind == "before, kept":
        node.register_prehook(keep)
    elif kind == "after":
        node.register_hook(lambda _, grads: seen.append((grads[0].data_ptr() == x.grad.data_ptr(), x.grad._version)))
    elif kind == "accumulated":
        x.register_post_accumulate_grad_hook(
            lambda leaf: seen.append((leaf.grad.data_ptr() == made[-1], leaf.grad._version))
        )
    options = {"plain": {}, "inputs": {"inputs": [x]}, "create_graph": {"create_graph": True}}[how]
    F.apply(x).backward(torch.ones(2, 3), **options)
    first, place = x.grad, x.grad.data_ptr()
    seen.append((place == made[-1], first._version))
    F.apply(x).backward(torch.ones(2, 3), **options)
    seen.append((x.grad is first, x.grad.data_ptr() == place, x.grad._version))
    return seen, x.grad, first


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "leaf",
    entries(
        """
        torch.ones(3, 2).t() | torch.ones(2, 3, 4).permute(2, 0, 1) | torch.ones(4, 4)[:2, :2] | torch.ones(()).clone()
        torch.ones(2, 3, 4).transpose(0, 1) | torch.ones(0, 3) | torch.ones(6)[::2] | torch.ones(1).expand(3)
        """
    ),
)
def test_a_gradient_lies_in_memory_as_its_leaf_does(torch: Any, leaf: str, create_graph: bool) -> Any:
    seen = []
    for expression in ("x * 2", "x.clone()", "x.reshape(-1)", "x.sum()"):
        x = eval(leaf, {"torch": torch}).detach().requires_grad_()
        for _ in range(1 if create_graph else 2):
            out = eval(expression, {"x": x})
            out.backward(torch.ones(tuple(out.shape)), create_graph=create_graph)
            seen.append(x.grad.stride())
    return seen


def test_a_leaf_that_is_the_root(torch):
    x = torch.tensor(2.0, requires_grad=True)
    seen = []
    for _ in range(2):
        x.backward()
        seen.append((x.grad.item(), x.grad._version))
    return seen


def test_a_gradient_of_the_users_own_is_added_to_in_place(torch):
    x = torch.ones(3, requires_grad=True)
    own = torch.full((3,), 5.0)
    part = own[:2]
    x.grad = own
    (x * 2).sum().backward()
    return x.grad is own, own, part, own._version


SHARED = entries("x.view(6) + y.view(6) | x.unsqueeze(0) + y.unsqueeze(0) | torch.cat([x, y]).view(-1) | x.view_as(x)")


@pytest.mark.parametrize("expression", SHARED)
def test_no_gradient_shares_its_memory_with_another_tensor(expression: str) -> None:
    """In PyTorch 2.13 views of one gradient become two leaves' `.grad`, and a second backward counts too much."""
    x, y = workbench.ones(2, 3, requires_grad=True), workbench.ones(2, 3, requires_grad=True)
    out = eval(expression, {"torch": workbench, "x": x, "y": y})
    seed = workbench.ones(tuple(out.shape))
    for _ in range(3):
        out = eval(expression, {"torch": workbench, "x": x, "y": y})
        out.backward(seed)
    grads = [leaf.grad for leaf in (x, y) if leaf.grad is not None]
    assert all(g.tolist() == [[3.0] * 3] * 2 for g in grads)
    assert seed.sum().item() == seed.numel()
    assert len({g.data_ptr() for g in grads}) == len(grads)


def test_a_gradient_of_which_somebody_kept_a_part_is_copied() -> None:
    kept = []
    for keep in (lambda g: g.detach(), lambda g: g[:1], lambda g: g.numpy(), lambda g: g.data, lambda g: g.t()):
        x = workbench.ones(2, 3, requires_grad=True)
        x.register_hook(lambda g, keep=keep: kept.append(keep(g)))
        (x * 2).backward(workbench.ones(2, 3))
        x.grad.zero_()
        assert float(workbench.as_tensor(kept[-1]).sum()) in (6.0, 12.0)


def test_what_is_counted_is_right_on_this_python() -> None:
    """A gradient that nobody holds is kept; one more reference, and it is copied."""
    assert node.REFERENCES_IF_HANDED_ON <= 3
    assert node.REFERENCES_IF_HELD_ONCE <= 3
    probe = node._Probe()
    assert probe.hand_on() == node.REFERENCES_IF_HANDED_ON
    assert probe.hold() == node.REFERENCES_IF_HELD_ONCE


# `x` requires grad; what is read is `seen`.
REPLACED = {
    "a leaf's": "z = (x * x).sum(); x.data = x.data.double(); z.backward(); seen = x.grad, x",
    "a leaf's, of a product with a number": "z = (x * 3).sum(); x.data = x.data.double(); z.backward(); seen = x.grad",
    "a leaf's, at once": "x.data = x.data.double(); (x * x).sum().backward(); seen = x.grad",
    "a leaf's, before and after": "y = x * 2; x.data = x.data.double(); (x * x + y).sum().backward(); seen = x.grad",
    "a leaf's, of a Function": "y = Twice.apply(x); x.data = x.data.double(); y.sum().backward(); seen = x.grad",
    "a result's": "y = x * 2; y.data = y.data.double(); seen = grad((y * y).sum(), y)",
    "a result's, retained": "y = x * 2; y.data = y.data.double(); y.retain_grad(); (y * y).sum().backward()\n"
    "seen = y.grad, x.grad",
    "a result's, with a hook": "y = x * 2; y.register_hook(heard.append); y.data = y.data.double()\n"
    "(y * y).sum().backward(); seen = heard, x.grad",
    "a result's, seen by a Function": "y = Twice.apply(x); y.data = y.data.double(); (y * y).sum().backward()\n"
    "seen = heard, x.grad",
    "a result's, twice": "y = x * 2; y.data = y.data.double(); y.data = y.data.half(); seen = grad((y * y).sum(), y)",
    "one result of several": "a, b = x.unbind(); a.data = a.data.double(); a.register_hook(heard.append)\n"
    "b.register_hook(heard.append); (a * a + b).backward(); seen = heard, x.grad",
    "a graph of gradients": "y = x * 2; y.data = y.data.double()\nseen = grad((y * y).sum(), x, create_graph=True)",
    "a leaf's, with grad_dtype": "x.grad_dtype = torch.float64; z = (x * x).sum(); x.data = x.data.half()\n"
    "z.backward(); seen = x.grad",
    "a leaf's, with hooks": "x.register_hook(heard.append); z = (x * x).sum(); x.data = x.data.double()\n"
    "(z + x.sum()).backward(); seen = heard, x.grad",
}


@pytest.mark.parametrize("what", REPLACED)
def test_a_gradient_has_the_dtype_that_the_data_had_when_it_was_used(torch: Any, what: str) -> Any:
    heard: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        heard.append(g)
        return g * 2

    Twice = function(torch, lambda ctx, x: x * 2, backward, name="Twice")
    known = {"torch": torch, "grad": torch.autograd.grad, "heard": heard, "Twice": Twice}
    known["x"] = torch.tensor([1.0, 2.0], requires_grad=True)
    exec(REPLACED[what], known)
    return known["seen"]


# What a number's gradient is summed from; `w` has two elements.
NUMBERS = """
x * x | x * x + x | x * x * x | x + x | x - x | x * 2 + x + x | x + x.exp() | x.exp() + x + x + x | x.view(1) + x
x.exp() + x.sin() + x.cos() | x + torch.stack([x, x]).sum() | x**2 + 3 * x + 1 | x.sum() + x.mean() + x.clone()
x.max() + x.prod() + x.tanh() | ((w * x - 1) ** 2).sum() | ((w * x + x - 1) ** 2).sum() | x * 3 | x.exp() | -x | x
"""


@pytest.mark.parametrize("text", entries(NUMBERS))
def test_the_version_of_a_numbers_gradient(torch: Any, text: str) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    versions = []
    for _ in range(2):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        eval(text, {"torch": torch, "x": x, "w": w}).sum().backward()
        versions += [x.grad._version, w.grad is not None and w.grad._version]
    return versions, x.grad


def test_a_hook_after_accumulation_runs_without_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    seen = []

    def step(leaf):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: seen.append("over"))
        seen.append(torch.is_grad_enabled())
        leaf.sub_(leaf.grad)
        leaf.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    with torch.no_grad():
        y = x.detach().clone()
    return seen, x, x.grad, y


def test_leaves_that_share_a_gradient_beside_one_with_a_hook(torch: Any) -> Any:
    def versions(program: Any, hooked: int) -> Any:
        leaves = [torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True) for _ in range(3)]
        leaves[hooked].register_hook(lambda grad: None)
        program(*leaves).backward(torch.ones(2, dtype=torch.float64))
        return [None if each.grad is None else (each.grad.tolist(), each.grad._version) for each in leaves]

    return (
        versions(lambda a, b, c: ((a + b) + (b + c)) * 2, 2),
        versions(lambda a, b, c: (a + b) * 2, 0),
        versions(lambda a, b, c: (a + b) * 2, 1),
        versions(lambda a, b, c: ((a + b) + (b + c)).sin() * a, 1),
    )
