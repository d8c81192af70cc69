"""Programs that others wrote, small: each makes what it needs, and gives a function that computes and runs a backward.

The function returns the loss and what got gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Program = Callable[[], tuple[Any, list[Any]]]


class Block(nn.Module):
    """A residual block of ResNet-18."""

    def __init__(self, wide: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(wide, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.down = None
        if stride != 1 or wide != out:
            self.down = nn.Sequential(nn.Conv2d(wide, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + (x if self.down is None else self.down(x)))


class ResNet18(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks, wide = [], 64
        for out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [Block(wide, out, stride), Block(out, out, 1)]
            wide = out
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(512, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        return self.fc(F.adaptive_avg_pool2d(self.blocks(x), 1).flatten(1))


def resnet() -> Program:
    """ResNet-18 by hand."""
    model, x, y = ResNet18(), torch.randn(2, 3, 64, 64), torch.tensor([1, 3])

    def run():
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss, list(model.parameters())

    return run


def encoder(layers: int = 1) -> Program:
    """nn.TransformerEncoderLayer, so many."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    model = layer if layers == 1 else nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    x = torch.randn(2, 5, 16)

    def run():
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss, list(model.parameters())

    return run


def encoders() -> Program:
    """Six of them."""
    return encoder(6)


def attention() -> Program:
    """nn.MultiheadAttention."""
    model, x = nn.MultiheadAttention(16, 4, batch_first=True), torch.randn(2, 5, 16)

    def run():
        out, weights = model(x, x, x)
        loss = out.sum() + weights.sum()
        loss.backward()
        return loss, list(model.parameters())

    return run


def lstm() -> Program:
    """nn.LSTM."""
    model, x = nn.LSTM(4, 8, num_layers=2), torch.randn(6, 2, 4)

    def run():
        out, (h, c) = model(x)
        loss = out.sum() + h.sum() + c.sum()
        loss.backward()
        return loss, list(model.parameters())

    return run


def cells() -> Program:
    """A loop over an LSTMCell."""
    cell, x = nn.LSTMCell(4, 8), torch.randn(12, 2, 4)

    def run():
        h = c = torch.zeros(2, 8)
        for each in x:
            h, c = cell(each, (h, c))
        loss = h.pow(2).sum()
        loss.backward()
        return loss, list(cell.parameters())

    return run


def gan() -> Program:
    """A step of a GAN's critic with gradient penalty."""
    critic, maker = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Linear(2, 4)
    real, noise, mix = torch.randn(5, 4), torch.randn(5, 2), torch.rand(5, 1)

    def run():
        fake = maker(noise)
        between = (mix * real + (1 - mix) * fake).detach().requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).pow(2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        loss.backward()
        return loss, [*critic.parameters(), *maker.parameters()]

    return run


def training() -> Program:
    """A step of training with Adam, after clip_grad_norm_."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    adam = torch.optim.Adam(model.parameters(), lr=0.01)

    def run():
        adam.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        return loss, list(model.parameters())

    return run


def autocast() -> Program:
    """Mixed precision on the CPU."""
    model, x = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), torch.randn(3, 8)

    def run():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x).float().pow(2).mean()
        loss.backward()
        return loss, list(model.parameters())

    return run


MODELS: dict[str, Callable[[], Program]] = {
    each.__name__: each for each in (resnet, encoder, encoders, attention, lstm, cells, gan, training, autocast)
}


def made(name: str) -> Program:
    """The program of this name, the same each time."""
    torch.manual_seed(0)
    return MODELS[name]()


def nodes_behind(loss: Any) -> list[Any]:
    """The nodes that the backward of a loss can run, but for those of leaves."""
    met, todo = {loss.grad_fn: None}, [loss.grad_fn]
    while todo:
        for to, _ in todo.pop().next_functions:
            if to is not None and to not in met:
                met[to] = None
                todo.append(to)
    return [node for node in met if not node.name().endswith("AccumulateGrad")]
