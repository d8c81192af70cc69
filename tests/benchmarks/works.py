"""The works that are timed: plain source, the same under every contestant.

A work is a generator. Between two yields lies a part that is measured; before the first everything is prepared, and
after the last the work returns its numbers, which must be the same under all. `m` is the contestant's module with the
few names on which they differ (see contestant.py): `m.leaf` and `m.constant` make tensors, `m.run(f, *leaves)` gives
f's output and its pullback.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

Steps = Generator[None, None, list[np.ndarray]]


@dataclass(frozen=True)
class Work:
    """One work: what its parts are called, what is asked of them, and how it is measured."""

    name: str
    title: str
    steps: Callable[..., Steps]
    sizes: tuple[tuple[Any, ...], tuple[Any, ...]]  # the arguments after `m`: in earnest, and small for a test
    parts: tuple[str, ...]
    bounds: tuple[float | None, ...]  # at most so many times `against`
    unit: str = "ns"
    meter: str = "clock"  # "clock", "resident" or "peak": the last two in fresh processes
    per: int = 1  # how many units of work in earnest: the table says what one costs
    against: str = "torch"
    rounds: int = 25


WORKS: dict[str, Work] = {}
X, C, SEED = np.array([[0.1, -0.2, 0.3, 0.4], [0.9, 1.1, 0.8, 1.2], [1.0, 0.5, -1.0, 2.0]])


def work(name: str, title: str, **facts: Any) -> Callable[..., Any]:
    """Decorator: put a work into the registry; of several above each other the lowest comes first."""

    def register(steps: Callable[..., Steps]) -> Callable[..., Steps]:
        WORKS[name] = Work(name, title, steps, **facts)
        return steps

    return register


def elementwise_chain(m: Any, ops: int) -> Callable[[Any], Any]:
    c, sin = m.constant(C), m.sin

    def chain(y: Any) -> Any:
        for _ in range(ops // 4):
            y = sin(y * c + 0.5) * 0.9
        return y

    return chain


@work(
    "elementwise",
    "1,000 elementwise ops",
    sizes=((1000,), (8,)),
    parts=("forward", "backward"),
    bounds=(0.75, 0.75),
    per=1000,
)
def elementwise(m: Any, ops: int) -> Steps:
    """y * c, y + 0.5, sin(y), y * 0.9, over and over."""
    x, seed, chain = m.leaf(X), m.constant(SEED), elementwise_chain(m, ops)
    yield
    y, pull = m.run(chain, x)
    yield
    (grad,) = pull(seed)
    yield
    return m.numbers(y, grad)


@work(
    "setup",
    "1,000 custom Functions with setup_context",
    sizes=((1000, "setup_context"), (5, "setup_context")),
    parts=("forward", "backward"),
    bounds=(0.25, None),
    per=1000,
)
@work(
    "custom",
    "1,000 custom Functions saving one tensor",
    sizes=((1000, "forward(ctx, x)"), (5, "forward(ctx, x)")),
    parts=("forward", "backward"),
    bounds=(0.70, 0.50),
    per=1000,
)
def custom(m: Any, ops: int, kind: str) -> Steps:
    """A Function of the user's: one multiplication each way, x saved and read again."""
    x, seed, scale = m.leaf(X), m.constant(SEED), m.custom(kind)

    def chain(y: Any) -> Any:
        for _ in range(ops):
            y = scale(y)
        return y

    yield
    y, pull = m.run(chain, x)
    yield
    (grad,) = pull(seed)
    yield
    return m.numbers(y, grad)


@work(
    "mlp1024x10",
    "ten steps in a row, batch 1,024, per step",
    sizes=((1024, (64, 128, 128, 10), 10, 0), (6, (3, 4, 4, 2), 2, 0)),
    parts=("",),
    bounds=(None,),
    per=10,
)
@work(
    "mlp32x10",
    "ten steps in a row, batch 32, per step",
    sizes=((32, (64, 128, 128, 10), 10, 0), (4, (3, 4, 4, 2), 2, 0)),
    parts=("",),
    bounds=(None,),
    per=10,
    rounds=40,
)
@work(
    "mlp1024",
    "MLP 64-128-128-10, a training step, batch 1,024",
    sizes=((1024, (64, 128, 128, 10), 1, 0), (6, (3, 4, 4, 2), 1, 0)),
    parts=("",),
    bounds=(0.80,),
    rounds=80,
)
@work(
    "mlp32",
    "MLP 64-128-128-10, a training step, batch 32",
    sizes=((32, (64, 128, 128, 10), 1, 0), (4, (3, 4, 4, 2), 1, 0)),
    parts=("",),
    bounds=(0.90,),
    rounds=100,
)
@work(
    "mlp32warm",
    "the same after 100 steps, per step",
    sizes=((32, (64, 128, 128, 10), 20, 100), (4, (3, 4, 4, 2), 2, 1)),
    parts=("",),
    bounds=(0.90,),
    per=20,
)
def mlp(m: Any, batch: int, widths: tuple[int, ...], steps: int, before: int) -> Steps:
    """Cross-entropy, composed; plain gradient descent. `before` steps are made before what is measured."""
    rng = np.random.default_rng(0)
    inputs = m.constant(rng.normal(size=(batch, widths[0])))
    labels = m.constant(np.eye(widths[-1])[rng.integers(widths[-1], size=batch)])
    parameters = []
    for fan_in, fan_out in zip(widths, widths[1:], strict=False):
        parameters.append(m.leaf(rng.normal(size=(fan_in, fan_out)) / np.sqrt(fan_in)))
        parameters.append(m.leaf(np.zeros(fan_out)))

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        hidden = m.relu(inputs @ w1 + b1)
        hidden = m.relu(hidden @ w2 + b2)
        scores = hidden @ w3 + b3
        return m.mean(m.log(m.sum(m.exp(scores), 1)) - m.sum(scores * labels, 1))

    def go(steps: int) -> Any:
        nonlocal parameters
        value = None
        for _ in range(steps):
            value, pull = m.run(loss, *parameters)
            parameters = m.descend(parameters, pull(None), 0.1)
        return value

    go(before)
    yield
    value = go(steps)
    yield
    return m.numbers(value, *parameters)


@work(
    "modules",
    "the MLP of nn.Linear, cross_entropy and an optimizer, batch 32, per step",
    sizes=((32, (64, 128, 128, 10), 20, 100), (4, (3, 4, 4, 2), 2, 1)),
    parts=("",),
    bounds=(0.95,),
    per=20,
)
def modules(m: Any, batch: int, widths: tuple[int, ...], steps: int, before: int) -> Steps:
    """The same step as it is usually written."""
    library = m.library
    nn, rng = library.nn, np.random.default_rng(0)
    inputs = m.constant(rng.normal(size=(batch, widths[0])))
    labels = library.tensor(rng.integers(widths[-1], size=batch).tolist())
    layers = []
    for fan_in, fan_out in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(fan_in, fan_out, dtype=library.float64), nn.ReLU()]
    model, loss = nn.Sequential(*layers[:-1]), nn.CrossEntropyLoss()
    with library.no_grad():
        for p in model.parameters():
            p.copy_(m.constant(rng.normal(size=tuple(p.shape)) / np.sqrt(p.shape[-1])))
    optimizer = library.optim.SGD(model.parameters(), lr=0.1)

    def go(steps: int) -> Any:
        value = None
        for _ in range(steps):
            optimizer.zero_grad()
            value = loss(model(inputs), labels)
            value.backward()
            optimizer.step()
        return value

    go(before)
    yield
    value = go(steps)
    yield
    return m.numbers(value, *model.parameters())


@work(
    "products",
    "the matrix products of that step alone, batch 1,024",
    sizes=((1024, (64, 128, 128, 10)), (6, (3, 4, 4, 2))),
    parts=("",),
    bounds=(None,),
    rounds=80,
)
def products(m: Any, batch: int, widths: tuple[int, ...]) -> Steps:
    """How much of the step is the BLAS that NumPy and PyTorch bring along: no engine can be faster than this."""
    rng = np.random.default_rng(0)
    pairs = []
    for i, (fan_in, fan_out) in enumerate(zip(widths, widths[1:], strict=False)):
        x, w, g = (rng.normal(size=size) for size in ((batch, fan_in), (fan_in, fan_out), (batch, fan_out)))
        pairs += [(x, w), (x.T, g), *([(g, w.T)] if i else [])]
    pairs = [(m.constant(a), m.constant(b)) for a, b in pairs]
    yield
    found = [a @ b for a, b in pairs]
    yield
    return m.numbers(*found)


@work(
    "fan",
    "one leaf used 10,000 times",
    sizes=((10_000,), (6,)),
    parts=("forward", "backward"),
    bounds=(1.0, 0.75),
    per=10_000,
    rounds=15,
)
def fan(m: Any, uses: int) -> Steps:
    """y + x, over and over: the leaf's gradient is the sum of all that arrive."""
    x, seed = m.leaf(X), m.constant(SEED)

    def add_up(x: Any) -> Any:
        y = x * 1.0
        for _ in range(uses - 1):
            y = y + x
        return y

    yield
    y, pull = m.run(add_up, x)
    yield
    (grad,) = pull(seed)
    yield
    return m.numbers(y, grad)


@work("secondwarm", "the same after 20 times", sizes=((50, 20), (3, 1)), parts=("",), bounds=(0.90,), rounds=60)
@work("second", "grad of grad of 50 tanh", sizes=((50, 0), (3, 0)), parts=("",), bounds=(1.0,), rounds=60)
def second(m: Any, depth: int, before: int) -> Steps:
    """The gradient with create_graph, and its gradient."""
    x, seed, tanh = m.leaf(X), m.constant(SEED), m.tanh

    def chain(y: Any) -> Any:
        for _ in range(depth):
            y = tanh(y)
        return y

    for _ in range(before):
        m.grad_of_grad(chain, x, seed)
    yield
    first, then = m.grad_of_grad(chain, x, seed)
    yield
    return m.numbers(first, then)


@work(
    "million",
    "a chain of 1,000,000 nodes: forward, backward, freed",
    sizes=((1_000_000,), (8,)),
    parts=("per node",),
    bounds=(1.0,),
    per=1_000_000,
    rounds=3,
)
def million(m: Any, ops: int) -> Steps:
    """The elementwise chain at its longest, all in all."""
    x, seed, chain = m.leaf(X), m.constant(SEED), elementwise_chain(m, ops)
    yield
    y, pull = m.run(chain, x)
    (grad,) = pull(seed)
    value = m.numbers(y)
    del y, pull
    yield
    return value + m.numbers(grad)
