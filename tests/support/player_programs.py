"""Programs whose pictures are looked at in a browser, from one number to a training."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import workbench as torch
from workbench import nn
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.views import storyboard


@cache
def recorded(program: Callable[[], None]) -> torch.Trace:
    """What a program does, recorded once for all tests; one that fails ends there."""
    torch.manual_seed(0)
    with torch.record() as trace:
        try:
            program()
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
    return trace


def board_of(program: Callable[[], None], view: str | None = None, **options: Any) -> Storyboard:
    return storyboard(recorded(program), *([view] if view else []), **options)


def story_of(program: Callable[[], None], view: str | None = None, **options: Any) -> dict[str, Any]:
    return board_of(program, view, **options).to_dict()


class MLP(nn.Module):
    """Three layers, which stand closed in a small window."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class Block(nn.Module):
    """Two layers and a way past them."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(x + self.two(torch.tanh(self.one(x))))


def one_number():
    w, x, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0, 1.0))
    loss = ((w * x + b) - 7) ** 2
    loss.backward()


def scalars():
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    c = a * b
    d = c + a**2
    e = d / (b - 1)
    loss = e.exp() + c
    loss.backward()


def twelve_nodes():
    """A chain of numbers with twelve operations: 20 boxes and more."""
    x, y = torch.tensor(0.5, requires_grad=True), torch.tensor(1.5, requires_grad=True)
    a = x * y
    b = (a.sin().exp() * x + y).log() * a
    out = (b.tanh() * 3) ** 2
    out.backward()


def long_chain():
    x = torch.tensor(0.5, requires_grad=True)
    y = x
    for k in range(40):
        y = y.sin() if k % 2 else y * 1.1
    y.backward()


def rounds():
    w, h = torch.randn(3, 3, requires_grad=True), torch.zeros(2, 3)
    for x in torch.randn(5, 2, 3):
        h = torch.tanh(h @ w + x)
    h.sum().backward()


def second_order():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (slope * x.exp()).sum().backward()


def network():
    """Two layers in scopes, whose saved tensors are views of what they are made from."""
    w, x = torch.ones(3, 3, requires_grad=True), torch.ones(2, 3)
    for name in ("one", "two"):
        with torch.scope(name):
            x = (x @ w.t()).tanh()
    x.sum().backward()


def two_blocks():
    nn.Sequential(Block(), Block())(torch.ones(2, 4, requires_grad=True)).sum().backward()


def three_layers():
    net, x, y = MLP(), torch.ones(5, 4), torch.zeros(5, 3)
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()


def five_steps():
    """A training whose gradients nobody clears."""
    w, b = torch.tensor(0.5, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 4.0, 6.0])
    optimizer = torch.optim.SGD([w, b], lr=0.05)
    for _ in range(5):
        loss = ((w * x + b - y) ** 2).mean()
        loss.backward()
        optimizer.step()


def many_steps():
    """A training whose storages have more rows, and more turns, than a window shows."""
    net, x, y = MLP(), torch.ones(5, 4), torch.zeros(5, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()


def spoiled_at_once():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).exp()
    y.add_(1)
    y.sum().backward()


def spoiled_state():
    """A loop's state that a node saved and a later line writes over, with more around it than a window shows."""
    x = torch.tensor([[0.1, 0.2, 0.3]])
    w1, w2 = torch.ones(3, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    h = torch.sigmoid(x @ w1)
    for _ in range(4):
        x = torch.tanh(h * 2) @ w1
    h += 1
    out = ((x @ w2) ** 2).sum() + h.sum()
    out.backward()
