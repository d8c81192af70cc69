"""Networks of the kinds that lectures draw: each program records its forward and its backward."""

from __future__ import annotations

import workbench as torch
from workbench import nn
from workbench.nn import functional as F
from workbench.pictures.recording import Trace, record


class Norm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, x):
        mean = x.mean(0)
        spread = ((x - mean) ** 2).mean(0)
        return (x - mean) / torch.sqrt(spread + 1e-5) * self.gain + self.bias


class Block(nn.Module):
    """Two layers and what goes past them."""

    def __init__(self, size: int, norm: bool = False, down: bool = False) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Linear(size, size), nn.Linear(size, size)
        self.norm1, self.norm2 = (Norm(size), Norm(size)) if norm else (nn.Identity(), nn.Identity())
        self.down = nn.Linear(size, size) if down else nn.Identity()

    def forward(self, x):
        inner = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(inner)) + self.down(x))


class Attention(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(size, size) for _ in range(4))

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = (
            layer(x).reshape(batch, length, self.heads, size // self.heads).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        weights = torch.softmax(q @ k.transpose(-2, -1) / (size // self.heads) ** 0.5, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, size))


class Cell(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.ih, self.hh = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x, h):
        return torch.tanh(self.ih(x) + self.hh(h))


class Recurrent(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.cell, self.head = Cell(size), nn.Linear(size, 1)

    def forward(self, xs):
        h = torch.zeros(1, 3)
        for x in xs:
            h = self.cell(x, h)
        return self.head(h)


def _backward(net: nn.Module, x) -> Trace:
    with record() as trace:
        (net(x) ** 2).mean().backward()
    return trace


def mlp() -> Trace:
    layers = (nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    return _backward(nn.Sequential(*layers), torch.randn(5, 4))


def two_blocks() -> Trace:
    blocks = Block(4, norm=True), Block(4, norm=True, down=True)
    return _backward(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), *blocks, nn.Linear(4, 2)), torch.randn(5, 4))


def resnet18() -> Trace:
    layers = [nn.Sequential(Block(4, down=n > 0), Block(4)) for n in range(4)]
    net, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), *layers, nn.Linear(4, 3)), torch.randn(5, 4)
    with record() as trace:
        F.cross_entropy(net(x), torch.tensor([0, 1, 2, 0, 1])).backward()
    return trace


def attention() -> Trace:
    return _backward(Attention(8, 2), torch.randn(2, 3, 8))


def rnn20() -> Trace:
    return _backward(Recurrent(3), [torch.randn(1, 3) for _ in range(20)])


PROGRAMS = (mlp, two_blocks, resnet18, attention, rnn20)
