"""Small programs, each written once: `torch` is PyTorch or the workbench."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from functions import function

NUMBERS = {"x": [0.5, 1.5, 2.0], "y": [1.5, 0.25, 3.0], "a": [[0.5, 1.0, 2.0], [3.0, 0.25, 0.75]]}

# Each is the result whose sum gets a backward.
EXPRESSIONS = """
x * y | x + y | x - y | x / y | x * 3 | 3 * x | x + 1 | 1 + x | x - 2 | 2 - x | x / 2 | -x | x ** 2 | x ** 3
x.exp() | x.log() | x.sqrt() | x.tanh() | x.sigmoid() | x.sin() | x.cos() | x.relu() | x.abs() | x.square()
torch.exp(x) | torch.tanh(x) | torch.mul(x, y) | torch.add(x, y) | torch.maximum(x, y) | torch.minimum(x, y)
x.sum() | x.mean() | a.sum(0) | a.mean(1) | x.clone() | x.clamp(0.6, 1.8) | x.reciprocal() | x.rsqrt() | x.expm1()
x.log1p() | a.t() | a.transpose(0, 1) | x.unsqueeze(0) | a.reshape(3, 2) | a.view(6) | x @ y | a @ x
a @ a.t() | x.dot(y)
torch.where(x > 1, x, y) | a.sum() | x.prod() | x.cumsum(0) | x * x | x * x + x | (x * y).exp() | x.softmax(0)
x.log_softmax(0) | x.detach() * y | x.logsumexp(0) | x.amax() | a.max() | x.norm()
torch.stack([x, y]) | torch.cat([x, y])
"""


def expressions() -> list[str]:
    """One after the other."""
    return [each.strip() for line in EXPRESSIONS.strip().splitlines() for each in line.split("|")]


def leaves(torch: Any) -> dict[str, Any]:
    """The leaves that programs are about."""
    return {name: torch.tensor(numbers, requires_grad=True) for name, numbers in NUMBERS.items()}


def refused() -> Any:
    """Let errors pass that a program means to get."""
    return contextlib.suppress(RuntimeError, ValueError, TypeError)


def square_of(torch: Any) -> Any:
    """Make a Function of the user's."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.factor = 2
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return ctx.factor * x * grad

    return Square


def fail(*given: Any) -> Any:
    raise ValueError("not today")


def look(*given: Any) -> None:
    pass


def double(grad: Any) -> Any:
    return (grad[0] * 2,) if isinstance(grad, tuple) else grad * 2


def triple(sent: Any, came: Any) -> Any:
    return (sent[0] * 3, *sent[1:])


class Programs:
    """Each is given the engine and a leaf."""

    def custom(torch, x):
        y = square_of(torch).apply(x)
        y.sum().backward()

    def descent(torch, x):
        """Two steps, the gradient cleared between them."""
        for _ in range(2):
            loss = (x * x).sum()
            loss.backward()
            with torch.no_grad():
                x -= 0.25 * x.grad
            x.grad = None

    def twice(torch, x):
        """Two backwards through one graph."""
        e = (x * x).sum()
        e.backward(retain_graph=True)
        e.backward()

    def asked(torch, x):
        """A gradient for the caller."""
        y = (x * x).sum()
        torch.autograd.grad(y, x)

    def written(torch, x):
        """A result is written in place, and all is well."""
        y = x * 2
        y.mul_(3)
        y.sum().backward()

    def broken(torch, x):
        """A saved tensor is written in place; the backward refuses."""
        y = x * 2
        z = y * y
        y.add_(1)
        with refused():
            z.sum().backward()

    def freed(torch, x):
        """A second backward through a graph that is freed."""
        loss = (x * x).sum()
        loss.backward()
        with refused():
            loss.backward()

    def own_error(torch, x):
        """An error of the user's own backward."""
        loss = function(torch, lambda ctx, x: x * 1, fail).apply(x).sum()
        with refused():
            loss.backward()

    def untracked(torch, x):
        """A part without gradients."""
        with torch.no_grad():
            c = x * 2
        (x * c).sum().backward()

    def loop(torch, x):
        """A state that goes through rounds of a loop."""
        h = torch.tensor([1.0, 1.0])
        for _ in range(3):
            h = (h * x).tanh()
        h.sum().backward()

    def two_uses(torch, x):
        """Gradients that meet."""
        y = x * 2
        z = y * y + y
        z.sum().backward()

    def hooked(torch, x):
        """Hooks that see a gradient, change it, keep it, and change what has been accumulated."""

        def clip(leaf):
            leaf.grad.clamp_(max=10.0)

        y = x * 3
        y.register_hook(double)
        y.register_hook(look)
        y.retain_grad()
        x.register_hook(double)
        x.register_post_accumulate_grad_hook(clip)
        for _ in range(2):
            (y * 3).sum().backward(retain_graph=True)

    def gone(torch, x):
        """A hook that is removed between two backwards, and one that fails in the second."""
        y = x * 2
        handle = y.register_hook(double)
        y.sum().backward(retain_graph=True)
        handle.remove()
        y.register_hook(fail)
        with refused():
            y.sum().backward()

    def on_nodes(torch, x):
        """Hooks on a node, beside those on its tensor: some change what comes or goes, some only look."""
        y = x * 3
        for hook in (look, double):
            y.grad_fn.register_prehook(hook)
        for hook in (triple, look):
            y.grad_fn.register_hook(hook)
        y.register_hook(look)
        y.retain_grad()
        for _ in range(2):
            (y * 3).sum().backward(retain_graph=True)

    def on_leaf_nodes(torch, x):
        """Hooks on the node that takes a leaf's gradient, beside those of the leaf."""

        def clip(leaf):
            leaf.grad.clamp_(max=1.0)

        y = x * 3
        leaf = y.grad_fn.next_functions[0][0]
        leaf.register_prehook(double)
        leaf.register_hook(look)
        x.register_hook(look)
        x.register_post_accumulate_grad_hook(clip)
        y.sum().backward()

    def on_functions(torch, x):
        """Hooks on the node of a Function of the user's."""
        y = square_of(torch).apply(x)
        y.grad_fn.register_prehook(lambda grads: (grads[0] + 1,))
        y.grad_fn.register_hook(lambda sent, came: (sent[0] - 1,))
        y.sum().backward()

    def once(torch, x):
        """Hooks that remove themselves."""
        handles = []

        def gone_first(hook):
            return lambda *given: [handles.pop().remove(), hook(*given)][1]

        y = x * 3
        loss = y.sum()
        handles.append(y.grad_fn.register_hook(gone_first(triple)))
        handles.append(y.grad_fn.register_prehook(gone_first(double)))
        handles.append(y.register_hook(gone_first(double)))
        for _ in range(2):
            loss.backward(retain_graph=True)

    def fails(torch, x):
        """Hooks that fail: before a node, after one, after that of a leaf, and after the accumulation."""
        for register in (
            lambda y: y.grad_fn.register_prehook,
            lambda y: y.grad_fn.register_hook,
            lambda y: y.grad_fn.next_functions[0][0].register_hook,
            lambda y: x.register_post_accumulate_grad_hook,
        ):
            y = x * 3
            register(y)(look)
            handle = register(y)(fail)
            with refused():
                y.sum().backward()
            handle.remove()

    def misfits(torch, x):
        """Hooks that return what does not fit."""
        for register in (
            lambda y: y.register_hook(lambda grad: "text"),
            lambda y: y.grad_fn.register_prehook(lambda grads: ()),
            lambda y: y.grad_fn.register_hook(lambda sent, came: (sent[0], sent[0], sent[0])),
        ):
            y = x * 3
            register(y)
            with refused():
                y.sum().backward()

    def outlived(torch, x):
        """A hook on a tensor that is gone when the backward comes."""

        def triple(x):
            y = x * 2
            y.register_hook(lambda grad: grad * 2)
            return y * 3

        triple(x).sum().backward()

    def not_run(torch, x):
        """The hook of a node whose gradient is asked for, and which does not run."""
        y = x * 3
        y.grad_fn.register_prehook(double)
        torch.autograd.grad(y.sum(), y)

    def not_cut(torch, w):
        """Nothing is cut where nothing takes gradients."""
        x = torch.ones(2)
        loss = (w * x.detach() * (x + 1)).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad

    def complex_numbers(torch, x):
        """Gradients with two parts, and the real part of one."""
        z = x * torch.tensor([1 + 2j, -0.5j])
        (z * z * 2j).abs().sum().backward()

    def not_asked(torch, x):
        """Backwards that are refused before anything runs."""
        c = torch.ones(2)
        loss = (x * 2).sum()
        for backward in (
            c.sum().backward,
            (x * 2).backward,
            lambda: torch.autograd.backward([c.sum()]),
            lambda: torch.autograd.grad(loss, [x, c]),
        ):
            with refused():
                backward()


def _with_leaf(program: Callable[[Any, Any], None]) -> Callable[[Any], None]:
    return lambda torch: program(torch, torch.tensor([1.0, 2.0], requires_grad=True))


PROGRAMS = {name: _with_leaf(each) for name, each in vars(Programs).items() if not name.startswith("_")}
