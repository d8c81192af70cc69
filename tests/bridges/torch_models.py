"""Programs that others wrote: a ResNet, and trainings of many kinds; each computes a loss and runs its backward.

The function returns the loss and what got gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch_trainings import TRAININGS, Training, of

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


def resnet() -> Training:
    """ResNet-18 by hand."""
    model, x, y = ResNet18(), torch.randn(2, 3, 64, 64), torch.tensor([1, 3])
    return of(model, lambda: F.cross_entropy(model(x), y))


def encoders() -> Training:
    """Six layers."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    model, x = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), torch.randn(2, 5, 16)
    return of(model, lambda: model(x).square().mean())


SMALL = ("encoder", "attention", "lstm", "gru_cells", "double_backward", "adam", "autocast")
MODELS: dict[str, Callable[[], Training]] = {"resnet": resnet, "encoders": encoders}
MODELS.update({name: TRAININGS[name] for name in SMALL})


def made(name: str) -> Program:
    """The program of this name, the same each time."""
    torch.manual_seed(0)
    training, losses = MODELS[name](), []

    def backward(loss: Any) -> None:
        losses.append(loss)
        loss.backward()

    def run() -> tuple[Any, list[Any]]:
        torch.manual_seed(0)
        training.step(backward)
        return losses.pop(), list(training.model.parameters())

    return run


def nodes_behind(loss: Any) -> list[Any]:
    """The nodes that the backward of a loss can run, but for those of leaves."""
    met, todo = {loss.grad_fn: None}, [loss.grad_fn]
    while todo:
        for to, _ in todo.pop().next_functions:
            if to is not None and to not in met:
                met[to] = None
                todo.append(to)
    return [node for node in met if not node.name().endswith("AccumulateGrad")]


def gradients(parameters: list[Any]) -> list[Any]:
    return [None if each.grad is None else each.grad.clone() for each in parameters]


def are_equal(one: list[Any], other: list[Any]) -> bool:
    """Bit by bit."""
    return all((a is None and b is None) or torch.equal(a, b) for a, b in zip(one, other, strict=True))
