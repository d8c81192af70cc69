"""Small programs, each written once: `torch` is PyTorch or the workbench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def custom(torch: Any) -> None:
    """A Function of the user's."""

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

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = Square.apply(x)
    y.sum().backward()


def descent(torch: Any) -> None:
    """Two steps, the gradient cleared between them."""
    w = torch.tensor([3.0], requires_grad=True)
    for _ in range(2):
        loss = (w * w).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.25 * w.grad
        w.grad = None


def twice(torch: Any) -> None:
    """Two backwards through one graph."""
    c = torch.tensor([2.0], requires_grad=True)
    e = (c * c).sum()
    e.backward(retain_graph=True)
    e.backward()


def asked(torch: Any) -> None:
    """A gradient for the caller."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    torch.autograd.grad(y, x)


def written(torch: Any) -> None:
    """A result is written in place, and all is well."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.mul_(3)
    y.sum().backward()


def broken(torch: Any) -> None:
    """A saved tensor is written in place; the backward refuses."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * y
    y.add_(1)
    try:
        z.sum().backward()
    except RuntimeError:
        pass


def freed(torch: Any) -> None:
    """A second backward through a graph that is freed."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    try:
        loss.backward()
    except RuntimeError:
        pass


def own_error(torch: Any) -> None:
    """An error of the user's own backward."""

    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("not today")

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = Bad.apply(x).sum()
    try:
        loss.backward()
    except ValueError:
        pass


def untracked(torch: Any) -> None:
    """A part without gradients."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        c = x * 2
    (x * c).sum().backward()


def loop(torch: Any) -> None:
    """A state that goes through rounds of a loop."""
    w = torch.tensor([0.5, 0.25], requires_grad=True)
    h = torch.tensor([1.0, 1.0])
    for _ in range(3):
        h = (h * w).tanh()
    h.sum().backward()


def two_uses(torch: Any) -> None:
    """Gradients that meet."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * y + y
    z.sum().backward()


def hooked(torch: Any) -> None:
    """Hooks that see a gradient, change it, keep it, and change what has been accumulated."""

    def double(grad):
        return grad * 2

    def look(grad):
        pass

    def clip(leaf):
        leaf.grad.clamp_(max=10.0)

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.register_hook(double)
    y.register_hook(look)
    y.retain_grad()
    x.register_hook(double)
    x.register_post_accumulate_grad_hook(clip)
    for _ in range(2):
        (y * 3).sum().backward(retain_graph=True)


def gone(torch: Any) -> None:
    """A hook that is removed between two backwards, and one that fails in the second."""

    def half(grad):
        return grad / 2

    def fail(grad):
        raise ValueError("not today")

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    handle = y.register_hook(half)
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.register_hook(fail)
    try:
        y.sum().backward()
    except ValueError:
        pass


def refused(torch: Any) -> None:
    """A hook that fails after the accumulation."""

    def fail(leaf):
        raise ValueError("not today")

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    x.register_post_accumulate_grad_hook(fail)
    try:
        (x * 2).sum().backward()
    except ValueError:
        pass


def not_asked(torch: Any) -> None:
    """Backwards that are refused before anything runs."""
    c, x = torch.ones(2), torch.tensor([1.0, 2.0], requires_grad=True)
    for backward in (c.sum().backward, (x * 2).backward, lambda: torch.autograd.backward([c.sum()])):
        try:
            backward()
        except RuntimeError:
            pass
    loss = (x * 2).sum()
    try:
        torch.autograd.grad(loss, [x, c])
    except RuntimeError:
        pass


PROGRAMS: dict[str, Callable[[Any], None]] = {
    each.__name__: each
    for each in (
        *(custom, descent, twice, asked, written, broken, freed, own_error, untracked, loop, two_uses),
        *(hooked, gone, refused, not_asked),
    )
}
