"""Small programs whose pictures are kept as text, each with the views that show something of it."""

from __future__ import annotations

from collections.abc import Callable

import trace_samples as samples
import transform_samples as transforms
from trace_samples import leaf

import workbench as torch
from workbench.recording import Trace, record
from workbench.utils.checkpoint import checkpoint


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
        samples.descent,
    ],
    "flow": [exp_of_product, samples.twice, many_leaves, transforms.per_sample],
    "memory": [exp_of_product, packed, checkpointed, retained],
    "saved": [exp_of_product, packed, checkpointed],
    "versions": [samples.written, samples.descent],
    "function": [samples.square_line, samples.two_outputs],
    "health": [samples.descent, samples.twice],
    "error": [samples.written, samples.twice],
}
