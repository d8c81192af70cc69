"""Draw the gallery, eight programs that anyone would try first: `python assets/gallery/draw.py`."""

from contextlib import suppress
from pathlib import Path

import workbench
import workbench as torch
import workbench.nn.functional as F
from workbench import nn


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 3)

    def forward(self, x):
        h = torch.relu(self.fc1(x))
        h = torch.relu(self.fc2(h))
        return self.fc3(h)


class Block(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(n, n)
        self.fc2 = nn.Linear(n, n)

    def forward(self, x):
        out = torch.relu(F.layer_norm(self.fc1(x), x.shape[-1:]))
        out = F.layer_norm(self.fc2(out), x.shape[-1:])
        return torch.relu(out + x)


class Attention(nn.Module):
    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.out = nn.Linear(d, d)

    def split(self, y):
        batch, length, d = y.shape
        return y.reshape(batch, length, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        weights = torch.softmax(scores, -1)
        mixed = (weights @ v).transpose(1, 2).reshape(x.shape)
        return self.out(mixed)


class Cell(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.ih = nn.Linear(n, n)
        self.hh = nn.Linear(n, n)

    def forward(self, x, h):
        return torch.tanh(self.ih(x) + self.hh(h))


class RNN(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.cell = Cell(n)
        self.head = nn.Linear(n, 1)

    def forward(self, xs):
        h = torch.zeros(1, 3)
        for x in xs:
            h = self.cell(x, h)
        return self.head(h)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


def mlp() -> None:
    net, x, y = MLP(), torch.randn(5, 4), torch.randn(5, 3)
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()


def residual() -> None:
    net, x = Block(4), torch.randn(5, 4, requires_grad=True)
    loss = net(x).sum()
    loss.backward()


def attention() -> None:
    net, x = Attention(8, 2), torch.randn(2, 3, 8)
    loss = (net(x) ** 2).mean()
    loss.backward()


def rnn() -> None:
    net, xs = RNN(3), torch.randn(20, 1, 3)
    loss = (net(xs) ** 2).sum()
    loss.backward()


def training() -> None:
    w = torch.zeros(4, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(3):
        w.grad = b.grad = None
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad


def double() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    slope.backward()


def function() -> None:
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    w = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    y = Square.apply(x)
    loss = (y * w).sum()
    loss.backward()


def error() -> None:
    w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    h = torch.sigmoid(w)
    loss = (h * h).sum()
    h.mul_(2.0)
    with suppress(RuntimeError):
        loss.backward()


# Each with what its picture is to show.
GALLERY = {
    mlp: {"view": "flow"},
    residual: {"view": "graph"},
    attention: {"view": "graph"},
    rnn: {"view": "graph"},
    training: {"view": "flow", "step": 2},
    double: {"view": "flow"},
    function: {"view": "graph"},
    error: {"view": "error"},
}


def draw(folder: Path) -> None:
    """Write a picture of each program into the folder, under its name."""
    for program, options in GALLERY.items():
        torch.manual_seed(0)
        with workbench.record() as trace:
            program()
        picture = trace.show(**options).to_svg()
        (folder / f"{program.__name__}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    draw(Path(__file__).parent)
