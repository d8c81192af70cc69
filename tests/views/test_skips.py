"""A closed group says how many skip connections are in it."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as torch
from workbench import nn


class Residual(nn.Module):
    def __init__(self, project: bool) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(4, 4) for _ in range(3))
        self.project = nn.Linear(4, 4) if project else None

    def forward(self, x: Any) -> Any:
        out = self.third(torch.relu(self.second(torch.relu(self.first(x)))))
        return torch.relu(out + (x if self.project is None else self.project(x)))


class PreNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend, self.norm, self.grow = nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        x = x + torch.relu(self.attend(x))
        return x + torch.relu(self.grow(self.norm(x)))


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.left(x).relu() + self.right(x).relu()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Residual(False), "operations with a skip"),
        (lambda: Residual(True), "operations with a skip"),
        (PreNorm, "operations with 2 skips"),
        (Plain, "operations,"),
    ],
)
def test_a_closed_module_says_its_skips(make: Any, said: str) -> None:
    model = nn.Sequential(make(), make())
    with torch.record() as trace:
        model(torch.randn(3, 4, requires_grad=True)).sum().backward()
    scene = trace.show(depth=1).storyboard.at()
    blocks = [box for box in scene.boxes.values() if box.kind == "group" and make().__class__.__name__ in box.title]
    assert len(blocks) == 2 and all(any(said in line for line in box.lines) for box in blocks)
