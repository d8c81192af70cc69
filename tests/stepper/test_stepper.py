"""Stepping a real backward: at every step everything is as PyTorch's engine has it there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from oracle import compare, same
from trace_samples import nodes_of

import workbench as w


def leaf(torch: Any, *numbers: float) -> Any:
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


def saved(node: Any) -> list[str]:
    """Which saved tensors a node has, and which it had."""
    told = []
    for name in ("saved_tensors", "_saved_self", "_saved_other", "_saved_result", "_saved_mat2"):
        try:
            getattr(node, name)
            told.append(name)
        except AttributeError:
            pass
        except RuntimeError:
            told.append(f"{name} freed")
    return told


def course(torch: Any, loss: Any, *leaves: Any, **options: Any) -> list[Any]:
    """Before each node: its name, the leaves' gradients, what is saved and freed. PyTorch is asked by hooks."""
    seen: list[Any] = []
    nodes, before = nodes_of(loss), [t.grad for t in leaves]

    def look(node: Any) -> None:
        grads = [None if t.grad is None else t.grad.detach().tolist() for t in leaves]
        # A first gradient's version is PyTorch's own affair: what it summed up on the way, it wrote in place.
        versions = [None if g is None else (g is t.grad, g._version) for t, g in zip(leaves, before, strict=True)]
        seen.append((node.name(), grads, versions, [saved(n) for n in nodes], torch.is_grad_enabled()))

    if torch is w:
        s = w.step(loss, **options)
        while not s.done:
            with w.set_grad_enabled(options.get("create_graph", False)):  # as it is in a hook
                look(s.current)
            s.step()
    else:
        for node in nodes:
            node.register_prehook(lambda grads, node=node: look(node))
        loss.backward(**options)
    return [*seen, [t.grad for t in leaves]]


def tree(torch: Any) -> Any:
    x, y = leaf(torch, 0.5, -1.5), leaf(torch, 1.0, 2.0)
    a = (x * y).exp()
    return (a * x.sin() + a / y + (a + x).tanh()).sum(), x, y


def shared(torch: Any) -> Any:
    x = leaf(torch, 0.5, -1.5)
    y = x
    for _ in range(3):
        y = y * y + x
    return y.sum(), x


def parts(torch: Any) -> Any:
    x, y = leaf(torch, 1.0, 2.0, 3.0), leaf(torch, 4.0, 5.0, 6.0)
    first, second, third = torch.stack([x * y, y, x]).unbind()
    return (first[1:] * second[:2] + third[0]).mean(), x, y


def written(torch: Any) -> Any:
    x, y = leaf(torch, 1.0, 2.0, 3.0), leaf(torch, 4.0, 5.0, 6.0)
    z = x * 1
    z[1:] *= y[:2]
    z.add_(y.exp())
    return (z * x).sum(), x, y


def own(torch: Any) -> Any:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y, x + y

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * y + h, g * x + h

    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    product, total = Both.apply(x, y)
    return (product.exp() * 0.1 + total).sum(), x, y


def used_before(torch: Any) -> Any:
    loss, x, y = tree(torch)
    x.grad, y.grad = torch.ones_like(x), torch.ones_like(y)
    return loss, x, y


PROGRAMS = [tree, shared, parts, written, own, used_before]


@pytest.mark.parametrize("options", [{}, {"retain_graph": True}], ids=["freed", "retained"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_step_finds_what_pytorch_has_there(program: Any, options: Any) -> None:
    compare(lambda torch: course(torch, *program(torch), **options))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_recorded_backward_steps_the_same_way(program: Any) -> None:
    def run(torch: Any) -> Any:
        seen = course(torch, *program(torch), create_graph=True)
        return [step[0::4] for step in seen[:-1]], [g.detach() for g in seen[-1]]

    compare(run)


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("create_graph", [True, False])
def test_the_cells_grad_mode_is_left_as_it_was(on: bool, create_graph: bool) -> None:
    loss, x, _ = tree(w)
    with w.set_grad_enabled(on):
        s = w.step(loss, create_graph=create_graph)
        while not s.done:
            s.step()
            assert w.is_grad_enabled() is on
        s.back(3)
        assert w.is_grad_enabled() is on
        s.run()
    assert x.grad.requires_grad is create_graph


@same
def test_second_derivatives_through_what_was_stepped(torch: Any) -> Any:
    loss, x, y = tree(torch)
    if torch is w:
        first = w.step(loss, [x, y], create_graph=True).run().grads
        second = w.step(first[x].sum(), x).run().grads
        return first[x], first[y].detach(), second[x]
    gx, gy = torch.autograd.grad(loss, [x, y], create_graph=True)
    return gx, gy.detach(), torch.autograd.grad(gx.sum(), x)[0]


@same
def test_inputs_take_their_gradients_and_leaves_get_none(torch: Any) -> Any:
    x, y = leaf(torch, 0.5, -1.5), leaf(torch, 1.0, 2.0)
    middle = x.exp()
    loss = (middle * middle * y).sum()
    wanted = [middle, x]
    if torch is w:
        s = w.step(loss, wanted)
        assert list(s.grads.values()) == [None, None]
        return list(s.run().grads.values()), x.grad, y.grad
    return list(torch.autograd.grad(loss, wanted)), x.grad, y.grad


@same
def test_losses_that_are_not_scalar_begin_with_the_gradient_given(torch: Any) -> Any:
    x = leaf(torch, 0.5, -1.5)
    y, z = x.exp(), x.sin()
    seeds = [torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([3.0, 4.0], dtype=torch.float64)]
    if torch is w:
        w.step(y, grad=seeds[0], retain_graph=True).run()
        w.step([y, z], grad=seeds).run()
    else:
        y.backward(seeds[0], retain_graph=True)
        torch.autograd.backward([y, z], seeds)
    return x.grad


REFUSED = [
    (lambda x, torch: (x.exp(), None), "grad can be implicitly created only for scalar outputs"),
    (lambda x, torch: (x.detach().sum(), None), "does not require grad"),
    (lambda x, torch: (x.exp(), torch.ones(3)), "Mismatch in shape"),
]


@pytest.mark.parametrize(("wrong", "sentence"), REFUSED)
def test_what_backward_refuses_is_refused_with_the_same_words(wrong: Any, sentence: str) -> None:
    def run(torch: Any) -> Any:
        loss, grad = wrong(leaf(torch, 1.0, 2.0), torch)
        loss.backward(grad) if torch is not w else w.step(loss, grad=grad)

    compare(run)
    with pytest.raises(RuntimeError, match=sentence):
        run(w)


def test_a_transform_steps_no_backward() -> None:
    with pytest.raises(RuntimeError, match="inside a functorch transform"):
        w.func.grad(lambda x: w.step(x.sum()) and x.sum())(w.ones(2))


def test_importing_the_package_does_not_load_the_stepper() -> None:
    code = "import sys, workbench; print([n for n in sys.modules if 'stepper' in n or 'scopes' in n])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
