"""Each example of the page Findings, in a small program, gives the finding that it stands for."""

from __future__ import annotations

import linecache
import re
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from textwrap import dedent, indent
from typing import Any

import absent
import pytest
from lab import CHECKOUT

import workbench

PAGE = (CHECKOUT / "assets" / "docs" / "manual" / "findings.md").read_text("utf-8")
EXAMPLES = {
    rule: example
    for rule, entry in re.findall(r"^### `(.+?)`$(.*?)(?=^##|\Z)", PAGE, flags=re.M | re.S)
    for example in re.findall(r"^```python\n(.*?)^```$", entry, flags=re.M | re.S)
}

# An example is one of the lines `EXAMPLE`, or its last line is `LAST` and the lines above it are `FIRST`.
BEGINNING = """
import copy
import math

F = torch.nn.functional
_ = torch.manual_seed(0)
x, y = torch.randn(16, 4), torch.randn(16, 1)
classes = torch.arange(16) % 3


def mlp(wide=8, out=1):
    return nn.Sequential(nn.Linear(4, wide), nn.Tanh(), nn.Linear(wide, out))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.body(x).tanh())
"""
TRAINED = """
with workbench.record(torch) as trace:
    for step in range(4):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""
LOSS = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with workbench.record(torch) as trace:
    for step in range(4):
        optimizer.zero_grad()
        EXAMPLE
        loss.backward()
        optimizer.step()
"""
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
CLASSES = f"model, y = mlp(out=3), classes\n{LOSS}"
PARTS = f"""
encoder = backbone = mlp(out=4)
head = nn.Linear(4, 1)
model = nn.Sequential(encoder, head)
{LOSS}"""

PROGRAMS = {
    "no gradient": PARTS,
    "loss depends on no weight": f"""
model = mlp()
{OPTIMIZER}
with workbench.record(torch) as trace:
    for step in range(4):
        optimizer.zero_grad()
        EXAMPLE
        optimizer.step()
""",
    "under no_grad": PARTS,
    "frozen": f"""
class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(14))
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)

model = Blocks()
EXAMPLE
{OPTIMIZER}{TRAINED}""",
    "never used": f"""
class Normed(Net):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)

    EXAMPLE

model = Normed()
{OPTIMIZER}{TRAINED}""",
    "zero gradient": f"model = mlp()\n{LOSS}",
    "dead units": f"""
layer = nn.Linear(4, 8)
model = nn.Sequential(layer, nn.ReLU(), nn.Linear(8, 1))
EXAMPLE
{OPTIMIZER}{TRAINED}""",
    "not in the optimizer": f"model = Net()\nEXAMPLE\n{TRAINED}",
    "optimizer of another model": f"model = mlp()\nEXAMPLE\n{TRAINED}",
    "target trained": """
q, reward, x_next = mlp(), y, torch.randn(16, 4)
FIRST
with workbench.record(torch) as trace:
    for step in range(4):
        optimizer.zero_grad()
        LAST
        loss.backward()
        optimizer.step()
""",
    "twice in the optimizer": f"model = Net()\nEXAMPLE\n{TRAINED}",
    "two optimizers": """
model = Net()
EXAMPLE
with workbench.record(torch) as trace:
    for step in range(4):
        a.zero_grad()
        b.zero_grad()
        F.mse_loss(model(x), y).backward()
        a.step()
        b.step()
""",
    "no updates": f"""
model = mlp()
{OPTIMIZER}
with workbench.record(torch) as trace:
    for step in range(4):
        loss = F.mse_loss(model(x), y)
        EXAMPLE
""",
    "new optimizer": """
model = mlp()
with workbench.record(torch) as trace:
    EXAMPLE
""",
    "step changes nothing": f"model = mlp()\nEXAMPLE\n{TRAINED}",
    "step taken back": f"""
model = mlp()
{OPTIMIZER}
averages = [p.detach().clone() for p in model.parameters()]
with workbench.record(torch) as trace:
    for step in range(4):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        EXAMPLE
        for p, average in zip(model.parameters(), averages):
            average.mul_(0.99).add_(p.detach(), alpha=0.01)
""",
    "change not used": """
model = mlp()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with workbench.record(torch) as trace:
    for step in range(4):
        EXAMPLE
        loss.backward()
        optimizer.step()
""",
    "target not detached": """
model, after, reward = mlp(out=2), torch.randn(16, 4), torch.randn(16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with workbench.record(torch) as trace:
    for step in range(4):
        EXAMPLE
        loss = F.mse_loss(model(x)[:, 0], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "large update": f"model = nn.Linear(4, 1)\nEXAMPLE\n{TRAINED}",
    "loss grows": """
w, x = torch.zeros(3, requires_grad=True), 3 * torch.randn(16, 3)
y = x @ torch.tensor([1.0, 2.0, 3.0])
with workbench.record(torch) as trace:
    for step in range(6):
        (x @ w - y).square().mean().backward()
        EXAMPLE
""",
    "gradients not cleared": f"""
model, data = mlp(), [(x, y)] * 4
{OPTIMIZER}
with workbench.record(torch) as trace:
    EXAMPLE
""",
    "graph grows": """
cell, state, data = nn.RNNCell(4, 8), torch.zeros(16, 8), [x] * 4
with workbench.record(torch) as trace:
    EXAMPLE
""",
    "graphs kept": f"""
model, total = mlp(), 0.0
{OPTIMIZER}
with workbench.record(torch) as trace:
    for step in range(6):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        EXAMPLE
""",
    "stopped": """
model = mlp()
with workbench.record(torch) as trace:
    loss = F.mse_loss(model(x), y)
    EXAMPLE
""",
    "eval while training": f"""
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
{OPTIMIZER}

def validate(model):
    with torch.no_grad():
        return F.mse_loss(model(x), y)

def train(model):
    for step in range(4):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()

with workbench.record(torch) as trace:
    train(model)
    EXAMPLE
""",
    "train mode without gradients": f"""
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
{OPTIMIZER}

def evaluate(model):
    return F.mse_loss(model(x), y).item()

with workbench.record(torch) as trace:
    for epoch in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        EXAMPLE
""",
    "not finite": """
layer = nn.Linear(4, 4)
b = layer(x).detach()
b[1:] += 1.0
with workbench.record(torch) as trace:
    a = layer(x)
    EXAMPLE
    distance.mean().backward()
""",
    "vanishing": f"EXAMPLE\nmodel = nn.Sequential(nn.Linear(4, 8), *layers, nn.Linear(8, 1))\n{OPTIMIZER}{TRAINED}",
    "exploding": """
w = torch.eye(4).requires_grad_()
x = torch.randn(20, 16, 4)
with workbench.record(torch) as trace:
    for step in range(3):
        h = torch.zeros(16, 4)
        for t in range(20):
            EXAMPLE
        h.mean().backward()
        with torch.no_grad():
            w -= 1e-15 * w.grad
        w.grad = None
""",
    "explodes once": """
layer, head = nn.Linear(4, 4), nn.Linear(4, 1)
nn.init.zeros_(layer.weight)
nn.init.zeros_(layer.bias)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
with workbench.record(torch) as trace:
    for step in range(4):
        optimizer.zero_grad()
        EXAMPLE
        F.mse_loss(head(direction), y).backward()
        optimizer.step()
""",
    "values grow": f"""
class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.ModuleList(nn.Linear(4, 4) for _ in range(9)), nn.Linear(4, 1)
        for block in self.blocks:
            nn.init.eye_(block.weight)
            block.weight.data.mul_(2)

    def forward(self, x):
        blocks = self.blocks
        EXAMPLE
        return self.head(x / 2**9)

model = Blocks()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
{TRAINED}""",
    "underflow": """
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(20_000, 4)
y = model(x).detach() + 0.0005
FIRST
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with workbench.record(torch) as trace:
    for step in range(3):
        optimizer.zero_grad()
        LAST
        optimizer.step()
""",
    "clipped while scaled": f"""
model = mlp()
{OPTIMIZER}scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
with workbench.record(torch) as trace:
    for step in range(3):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        EXAMPLE
        scaler.update()
""",
    "equal units": f"""
model = mlp()
layer = model[0]
nn.init.zeros_(layer.bias)
nn.init.constant_(model[2].weight, 0.1)
EXAMPLE
{OPTIMIZER}{TRAINED}""",
    "broadcast": f"model, y = mlp(), y.squeeze(1)\n{LOSS}",
    "softmax twice": CLASSES,
    "sigmoid twice": f"model, y = mlp(), (y > 0).float()\n{LOSS}",
    "no logarithm": CLASSES,
    "softmax over the batch": CLASSES,
    "no minus": CLASSES,
    "constant term": f"model, inputs = mlp(), torch.randn(16, 4, requires_grad=True)\n{LOSS}",
    "padding in the loss": """
words = torch.tensor([[1, 2, 3, 0, 0], [4, 1, 0, 0, 0]])
embedding, out = nn.Embedding(5, 8, padding_idx=0), nn.Linear(8, 5)
optimizer = torch.optim.SGD([*embedding.parameters(), *out.parameters()], lr=0.1)
with workbench.record(torch) as trace:
    for step in range(4):
        optimizer.zero_grad()
        logits, targets = out(embedding(words[:, :-1])).flatten(0, 1), words[:, 1:].flatten()
        EXAMPLE
        loss.backward()
        optimizer.step()
""",
    "loss is a sum": f"model = mlp()\n{LOSS.replace('lr=0.1', 'lr=1.0')}",
    "scaled loss": f"""
model = mlp()
{OPTIMIZER}
with workbench.record(torch) as trace:
    for step in range(4):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        EXAMPLE
""",
    "broken tie": f"""
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(5, 8), nn.Linear(8, 5, bias=False)
        EXAMPLE

    def forward(self, words):
        return self.out(self.embedding(words))

model, x, y = Words(), torch.arange(16) % 5, (torch.arange(16) + 1) % 5
{LOSS.replace("EXAMPLE", "loss = F.cross_entropy(model(x), y)")}""",
    "not the derivative": f"""
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    EXAMPLE

body, head = nn.Linear(4, 8), nn.Linear(8, 1)
model = nn.Sequential(body, head)
{LOSS.replace("EXAMPLE", "loss = F.mse_loss(head(Square.apply(body(x))), y)").replace("lr=0.1", "lr=0.01")}""",
    "second derivative lost": """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    EXAMPLE

x = torch.randn(4, requires_grad=True)
with workbench.record(torch) as trace:
    (grad,) = torch.autograd.grad((Cube.apply(x) * x).sum(), x, create_graph=True)
    grad.square().sum().backward()
""",
    "flag without effect": f"""
backbone, head = nn.Linear(4, 4), nn.Linear(4, 1)
model = nn.Sequential(backbone, head)
EXAMPLE
{LOSS.replace("EXAMPLE", "loss = F.mse_loss(model(x), y)")}""",
    "saved memory written": """
x = torch.randn(4, requires_grad=True)
with workbench.record(torch) as trace:
    EXAMPLE
    out.sum().backward()
""",
    "gradient written": """
class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    EXAMPLE

x = torch.randn(4, requires_grad=True)
with workbench.record(torch) as trace:
    for step in range(3):
        (x * x + Halved.apply(x)).square().sum().backward()
""",
    "saved tensors": """
points = torch.randn(1200, 16, requires_grad=True)
with workbench.record(torch) as trace:
    EXAMPLE
    distances.mean().backward()
""",
}
WITH_TORCH = {"underflow", "clipped while scaled"}  # the workbench has neither autocast nor a scaler


def program(rule: str) -> str:
    """Return a program that contains the example of a rule."""
    lines = EXAMPLES[rule].splitlines()
    parts = {"EXAMPLE": lines, "FIRST": lines[:-1], "LAST": lines[-1:]}

    def put(found: re.Match[str]) -> str:
        return indent("\n".join(parts[found[2]]), found[1])

    return BEGINNING + re.sub(r"^( *)(EXAMPLE|FIRST|LAST)$", put, dedent(PROGRAMS[rule]), flags=re.M)


def found(rule: str, torch: Any) -> dict[str, str]:
    """Run the program of a rule with an engine, and return what is found by rule."""
    text = program(rule)
    file = f"<the example of {rule}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = {"workbench": workbench, "torch": torch, "nn": torch.nn}
    with suppress(*(RuntimeError,) * (rule == "stopped")):
        exec(compile(text, file, "exec"), names)
    return {each.rule: each.sentence for each in names["trace"].findings()}


def test_every_example_of_the_page_has_its_program() -> None:
    assert sorted(PROGRAMS) == sorted(EXAMPLES)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, marks=[pytest.mark.slow] * (rule == "saved tensors"))  # a lot of memory takes time
        for rule in PROGRAMS
        if rule not in WITH_TORCH
    ],
)
def test_an_example_gives_its_finding(rule: str) -> None:
    assert rule in found(rule, workbench)


@pytest.mark.oracle
@pytest.mark.parametrize("rule", PROGRAMS)
def test_an_example_gives_its_finding_with_pytorch(rule: str) -> None:
    if find_spec("torch") is None:
        pytest.skip(absent.TORCH)
    assert rule in found(rule, import_module("torch"))
