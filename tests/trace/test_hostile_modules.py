"""Modules whose classes compare, hash or print their objects as they like: nothing of a recording is lost."""

from __future__ import annotations

import warnings
from typing import Any

import corpus
import pytest
from corpus import each_engine

import workbench


def _refuse(*_: Any) -> Any:
    raise RuntimeError("refused")


HOSTILE = {
    "refuses to compare": {"__eq__": _refuse, "__hash__": object.__hash__},
    "compares to a list": {"__eq__": lambda self, other: [self, other], "__hash__": object.__hash__},
    "equals all": {"__eq__": lambda self, other: True, "__hash__": lambda self: 1},
    "has no hash": {"__eq__": lambda self, other: self is other, "__hash__": None},
    "has no truth": {"__bool__": _refuse, "__len__": _refuse, "__repr__": _refuse},
}


@each_engine
@pytest.mark.parametrize("how", HOSTILE)
def test_modules_are_told_apart_by_identity(engine: str, how: str) -> None:
    torch = corpus.engine_named(engine)
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    kind: Any = type("Block", (Block,), HOSTILE[how])

    class Net(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = kind(), kind()

        def forward(self, x: Any) -> Any:
            return self.last(self.first(x).tanh())

    net = Net()
    weights = [each for part in (net.first, net.last) for each in (part.layer.weight, part.layer.bias)]
    optimizer = torch.optim.SGD(weights, lr=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with workbench.record() if engine == "workbench" else workbench.record(torch) as trace:
            for _ in range(3):
                optimizer.zero_grad()
                net(torch.ones(2, 3)).square().mean().backward()
                optimizer.step()
    assert not trace.findings() and str(trace.show()) and str(trace.show("health"))
    scopes = {each.scope for each in trace.events if getattr(each, "scope", None)}
    assert {scope.partition("/")[2] for scope in scopes} == {"", "first/layer", "last/layer"}
    names = {each.name for each in trace.frame(len(trace.events)).tensors.values()}
    assert {name.partition(".")[2] for name in names if name} >= {"first.layer.weight", "last.layer.bias"}
