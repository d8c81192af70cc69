"""Small programs whose pictures are kept as text, each with the views that show something of it."""

from __future__ import annotations

from collections.abc import Callable

import trace_samples as samples
import transform_samples as transforms
from trace_samples import leaf

import workbench as torch
from workbench.pictures.recording import Trace, record
from workbench.utils.checkpoint import checkpoint

KEPT: list[object] = []  # what a program does not let go of


class Careless(torch.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x, ctx.twice = x, 2 * x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return ctx.twice * grad


def exp_of_product() -> Trace:
    with record() as trace:
        x, y = leaf(1.0, 2.0, 3.0), leaf(1.0, 2.0, 3.0)
        total = (x * y + 1).exp().sum()
        total.backward()
    return trace


def part(t):
    return (t.sin() * 2).exp()


def checkpointed() -> Trace:
    with record() as trace:
        x = leaf(1.0, 2.0)
        checkpoint(part, x, use_reentrant=False).sum().backward()
    return trace


def packed() -> Trace:
    def half(t):
        return t.to(torch.float16)

    with record() as trace:
        x = leaf(1.0, 2.0)
        with torch.autograd.graph.saved_tensors_hooks(half, lambda t: t.to(torch.float64)):
            y = x.exp() * x
        y.sum().backward()
    return trace


def scopes() -> Trace:
    with record() as trace:
        x = leaf(1.0, 2.0)
        with torch.scope("outer"):
            with torch.scope("inner"):
                y = (x * 2.0).exp()
            z = (y * 3.0).sum()
        z.backward()
    return trace


def retained() -> Trace:
    with record() as trace:
        x = leaf(2.0)
        grown = x.exp()
        grown.backward(retain_graph=True)
        grown.backward()
    return trace


def many_leaves() -> Trace:
    many = [leaf(1.0, 2.0) for _ in range(100)]
    with record() as trace:
        total = torch.stack(many).sum()
        total.backward()
    return trace


class Scaled(torch.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        y = x * x
        ctx.k = k
        return y * k

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        g = 2 * x * grad
        return g * ctx.k, None


def scaled() -> Trace:
    """A Function of which every line was recorded."""
    with record(lines=True) as trace:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        Scaled.apply(x, 3).sum().backward()
    return trace


def hooked() -> Trace:
    """Hooks of every kind, and what each makes of a gradient."""

    def double(grad):
        return grad * 2

    def look(grad):
        pass

    def halve(ins, outs):
        return tuple(each / 2 for each in ins)

    def clip(tensor):
        tensor.grad = tensor.grad.clamp(max=1.0)

    with record() as trace:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        y = x * w
        y.register_hook(double)
        y.register_hook(look)
        y.retain_grad()
        y.grad_fn.register_prehook(lambda grads: (grads[0] + 2,))
        y.grad_fn.register_hook(halve)
        x.register_hook(lambda grad: grad.mul_(3))
        w.register_post_accumulate_grad_hook(clip)
        torch.autograd.graph.register_multi_grad_hook([x], look)
        y.sum().backward()
    return trace


def careless() -> Trace:
    """A Function keeps tensors as attributes of ctx, which nothing frees."""
    with record() as trace:
        x = leaf(1.0, 2.0)
        loss = Careless.apply(x).sum()
        loss.backward()
    return trace


def let_go() -> Trace:
    """Graphs of which no backward runs, and what holds each of them goes."""
    x = torch.ones(1000, requires_grad=True)
    with record() as trace:
        for _ in range(3):
            KEPT[:] = [(x * x).exp().sum()]
    return trace


def kept_by_two() -> Trace:
    """A result that two nodes keep, and rows that do not keep their most at the same time."""
    with record() as trace:
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        h = (x * w).sigmoid()
        (h * w).sum().backward()
        w.exp().sum().backward()
    return trace


def begun_before() -> Trace:
    before = leaf(1.0, 2.0).sigmoid()
    with record() as trace:
        KEPT[:] = [before.exp()]
    return trace


def written_through_views() -> Trace:
    with record() as trace:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 1
        y[1:].mul_(2)
        (y * x).sum().backward()
    return trace


def checkpoint_in_checkpoint() -> Trace:
    def outer(t):
        return checkpoint(part, t * 2, use_reentrant=False).log()

    with record() as trace:
        x = leaf(0.5, 0.25)
        checkpoint(outer, x, use_reentrant=False).sum().backward()
    return trace


def losing(steps: int = 3) -> Trace:
    """A training loop that clears its gradients."""
    w, x = leaf(2.0), torch.tensor([1.0, 3.0], dtype=torch.float64)
    with record() as trace:
        for _ in range(steps):
            w.grad = None
            loss = ((w * x) ** 2).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.01 * w.grad
    return trace


def run(function, *values: float, **options) -> Trace:
    """Record the sum of what a function makes of some values, and its backward pass."""
    x = torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)
    with record() as trace:
        loss = function(x).sum()
        loss.backward(**options)
    return trace


def squared(x):
    return x * x


# What is compared: two programs that differ in one thing.
PAIRS: dict[str, Callable[[], tuple[Trace, Trace]]] = {
    "the same": lambda: (run(squared), run(squared)),
    "another operation with another gradient": lambda: (run(squared), run(samples.Halved.apply)),
    "other values": lambda: (run(torch.exp), run(torch.exp, 1.0, 0.0)),
    "only the second has one more": lambda: (run(lambda x: x * 2), run(lambda x: (x * 2).relu())),
    "what is saved is still there": lambda: (run(squared), run(squared, retain_graph=True)),
    "a checkpoint": lambda: (run(torch.exp), run(lambda x: checkpoint(torch.exp, x, use_reentrant=False))),
    "a reentrant checkpoint": lambda: (run(torch.exp), run(lambda x: checkpoint(torch.exp, x, use_reentrant=True))),
}

# The programs, by tags: which views show something of them.
TAGS: dict[str, list[Callable[[], Trace]]] = {
    "graph": [
        samples.square_line,
        exp_of_product,
        scopes,
        many_leaves,
        samples.double_backward,
        transforms.pushed,
        losing,
        hooked,
        samples.two_outputs,
        samples.one_target,
        samples.descent,
    ],
    "flow": [exp_of_product, samples.twice, many_leaves, transforms.per_sample],
    "memory": [
        *(exp_of_product, packed, checkpointed, retained, careless, let_go, kept_by_two, begun_before),
        *(written_through_views, checkpoint_in_checkpoint),
    ],
    "saved": [exp_of_product, packed, checkpointed, careless],
    "versions": [samples.written, samples.descent],
    "function": [samples.square_line, samples.two_outputs, scaled],
    "health": [samples.descent, samples.twice],
    "error": [samples.written, samples.twice],
}
