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


def on_nodes(torch: Any) -> None:
    """Hooks on a node, beside those on its tensor: some change what comes or goes, some only look."""

    def look(*given):
        pass

    def double(grads):
        return (grads[0] * 2,)

    def triple(sent, came):
        return (sent[0] * 3, *sent[1:])

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    for hook in (look, double):
        y.grad_fn.register_prehook(hook)
    for hook in (triple, look):
        y.grad_fn.register_hook(hook)
    y.register_hook(look)
    y.retain_grad()
    for _ in range(2):
        (y * 3).sum().backward(retain_graph=True)


def on_leaf_nodes(torch: Any) -> None:
    """Hooks on the node that takes a leaf's gradient, beside those of the leaf."""

    def halve(grads):
        return (grads[0] / 2,)

    def look(*given):
        pass

    def clip(leaf):
        leaf.grad.clamp_(max=1.0)

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    leaf = y.grad_fn.next_functions[0][0]
    leaf.register_prehook(halve)
    leaf.register_hook(look)
    x.register_hook(look)
    x.register_post_accumulate_grad_hook(clip)
    y.sum().backward()


def on_functions(torch: Any) -> None:
    """Hooks on the node of a Function of the user's."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Square.apply(x)
    y.grad_fn.register_prehook(lambda grads: (grads[0] + 1,))
    y.grad_fn.register_hook(lambda sent, came: (sent[0] - 1,))
    y.sum().backward()


def once(torch: Any) -> None:
    """Hooks that remove themselves."""
    handles = []

    def double(grads):
        handles.pop().remove()
        return (grads[0] * 2,)

    def half(sent, came):
        handles.pop().remove()
        return (sent[0] / 2, *sent[1:])

    def negate(grad):
        handles.pop().remove()
        return -grad

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    loss = y.sum()
    handles.append(y.grad_fn.register_hook(half))
    handles.append(y.grad_fn.register_prehook(double))
    handles.append(y.register_hook(negate))
    for _ in range(2):
        loss.backward(retain_graph=True)


def _failing(torch: Any, register: Callable[[Any], Any]) -> None:
    def fail(*given):
        raise ValueError("not today")

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    register(y)(lambda *given: None)
    register(y)(fail)
    try:
        y.sum().backward()
    except ValueError:
        pass


def fails_before(torch: Any) -> None:
    """A hook before a node that fails."""
    _failing(torch, lambda y: y.grad_fn.register_prehook)


def fails_after(torch: Any) -> None:
    """A hook after a node that fails."""
    _failing(torch, lambda y: y.grad_fn.register_hook)


def fails_at_leaf(torch: Any) -> None:
    """A hook after the node of a leaf that fails."""
    _failing(torch, lambda y: y.grad_fn.next_functions[0][0].register_hook)


def misfits(torch: Any) -> None:
    """Hooks that return what does not fit."""
    for register in (
        lambda y: y.register_hook(lambda grad: "text"),
        lambda y: y.grad_fn.register_prehook(lambda grads: ()),
        lambda y: y.grad_fn.register_hook(lambda sent, came: (sent[0], sent[0], sent[0])),
    ):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        register(y)
        try:
            y.sum().backward()
        except (RuntimeError, TypeError):
            pass


def outlived(torch: Any) -> None:
    """A hook on a tensor that is gone when the backward comes."""

    def triple(x):
        y = x * 2
        y.register_hook(lambda grad: grad * 2)
        return y * 3

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    triple(x).sum().backward()


def not_run(torch: Any) -> None:
    """The hook of a node whose gradient is asked for, and which does not run."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    torch.autograd.grad(y.sum(), y)


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
        *(on_nodes, on_leaf_nodes, on_functions, once, fails_before, fails_after, fails_at_leaf, not_run),
        *(misfits, outlived),
    )
}
