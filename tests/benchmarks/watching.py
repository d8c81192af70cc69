"""Works that ask for memory, and for what it costs to be listened to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from works import SEED, Steps, X, elementwise_chain, work


@work(
    "bytes",
    "memory per node of a chain",
    sizes=((100_000,), (8,)),
    parts=("",),
    bounds=(0.40,),
    unit="bytes",
    meter="resident",
    per=100_000,
    rounds=3,
)
def memory_per_node(m: Any, ops: int) -> Steps:
    """The elementwise chain, with what it saved."""
    x, chain = m.leaf(X), elementwise_chain(m, ops)
    yield
    y, pull = m.run(chain, x)
    yield
    del pull
    return m.numbers(y)


@work(
    "peak",
    "peak memory of 50 tanh on 1 MiB arrays",
    sizes=((50, 131_072), (3, 4)),
    parts=("",),
    bounds=(1.05,),
    unit="KiB",
    meter="peak",
    per=1024,
    against="by hand",
    rounds=3,
)
def peak(m: Any, depth: int, length: int) -> Steps:
    """Forward and backward; the result is held to the end."""
    x, seed, tanh = m.leaf(np.linspace(-1, 1, length)), m.constant(np.ones(length)), m.tanh

    def chain(y: Any) -> Any:
        for _ in range(depth):
            y = tanh(y)
        return y

    yield
    y, pull = m.run(chain, x)
    (grad,) = pull(seed)
    yield
    return m.numbers(y, grad)


def peak_by_hand(_: Any, depth: int, length: int) -> Steps:
    """The same in plain NumPy, each result forgotten as soon as its derivative is taken."""
    x, grad = np.linspace(-1, 1, length), np.ones(length)
    yield
    kept, y = [], x
    for _ in range(depth):
        y = np.tanh(y)
        kept.append(y)
    while kept:
        result = kept.pop()
        grad = grad * (1 - result * result)
    yield
    return [y, grad]


def _heard(m: Any, ops: int, listener: Callable[[], Any]) -> Steps:
    x, seed, chain = m.leaf(X), m.constant(SEED), elementwise_chain(m, ops)
    yield
    y, pull = m.run(chain, x)
    yield
    pull(seed)
    yield
    count: list[str] = []
    m.listeners.append(lambda event: count.append(event[0]))
    m.run(chain, x)[1](seed)
    m.listeners[:] = [listener()]
    try:
        yield
        y, pull = m.run(chain, x)
        yield
        pull(seed)
        yield
    finally:
        m.listeners.clear()
    forward = count.index("backward")
    return [np.array([forward, len(count) - forward])]


# One part is nothing but the change of listeners; what an event costs is the second pair less the first.
QUIET_AND_HEARD = ("quiet forward", "quiet backward", "", "heard forward", "heard backward")


@work(
    "listener",
    "a listener that does nothing, per event",
    sizes=((1000,), (8,)),
    parts=QUIET_AND_HEARD,
    bounds=(150, 150),
    against="ns",
)
def listener(m: Any, ops: int) -> Steps:
    """What the elementwise chain costs more when somebody listens, by the number of events."""
    return _heard(m, ops, lambda: lambda event: None)


@work(
    "recorder",
    "a recorded event of a small array",
    sizes=((1000,), (8,)),
    parts=QUIET_AND_HEARD,
    bounds=(600, 600),
    against="ns",
)
def recorder(m: Any, ops: int) -> Steps:
    """The same with what `record()` listens with."""
    return _heard(m, ops, m.recorder)
