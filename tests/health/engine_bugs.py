"""Trainings on the workbench's own engine with one planted fault each.

A fault is in the line that ends in `# planted: <name>`, or that line is the first that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from planted_entries import NO_GRADIENT, NOT_FINITE, planted, take_step

import workbench as torch
import workbench.nn.functional as F
from workbench import Tensor, nn
from workbench.utils.data import DataLoader, TensorDataset


def count_up(batches: int, size: int, length: int, vocabulary: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Tokens that count up from somewhere, and those that follow them."""
    for _ in range(batches):
        tokens = (torch.randint(0, vocabulary, (size, 1)) + torch.arange(length + 1)) % vocabulary
        yield tokens[:, :-1], tokens[:, 1:]


# Language models: attention, recurrence


class SelfAttention(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Linear(wide, wide), nn.Linear(wide, wide), nn.Linear(wide, wide)
        self.scale = wide**-0.5

    def forward(self, x, padding):
        scores = self.query(x) @ self.key(x).transpose(1, 2) * self.scale
        scores = scores.masked_fill(padding[:, None, :], -math.inf)
        return torch.softmax(scores, dim=-1) @ self.value(x)  # planted: sentence_of_padding_alone


class TinyEncoder(nn.Module):
    def __init__(self, vocabulary: int = 12, wide: int = 12) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, wide, padding_idx=0)
        self.attention, self.norm = SelfAttention(wide), nn.LayerNorm(wide)
        self.out = nn.Linear(wide, 2)

    def forward(self, tokens):
        padding = tokens == 0
        x = self.embedding(tokens)
        x = self.norm(x + self.attention(x, padding))
        return self.out(x.mean(1))


@planted(*NOT_FINITE, places=("softmax", "attention", "mask"))
def sentence_of_padding_alone():
    """A batch has an empty sentence: all its scores are masked by -inf, and the softmax of that is nan."""
    torch.manual_seed(35)
    model = TinyEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    yield
    for step in range(3):
        tokens = torch.randint(1, 12, (6, 7))
        for row, length in enumerate([7, 5, 3, 6, 0 if step == 2 else 2, 4]):
            tokens[row, length:] = 0
        labels = (tokens[:, 0] > 5).long()
        take_step(optimizer, F.cross_entropy(model(tokens), labels))


class CausalBlock(nn.Module):
    def __init__(self, wide: int, heads: int, length: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(wide, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.mlp = nn.Sequential(nn.Linear(wide, 2 * wide), nn.GELU(), nn.Linear(2 * wide, wide))
        self.register_buffer("mask", torch.triu(torch.full((length, length), -math.inf), diagonal=1))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, attn_mask=self.mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class MiniGPT(nn.Module):
    def __init__(self, vocabulary: int = 12, wide: int = 12, length: int = 6) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, wide), nn.Embedding(length, wide)
        self.block = CausalBlock(wide, 2, length)
        self.head = nn.Linear(wide, vocabulary)

    def forward(self, idx):
        x = self.token(idx)
        x = self.position(torch.arange(idx.shape[1])).expand(len(idx), -1, -1)  # planted: tokens_never_used
        return self.head(self.block(x))


@planted("not used", "unused", "never used", "nothing use", *NO_GRADIENT, places=("token", "idx", "input"))
def tokens_never_used() -> None:
    """The embedding of the tokens is overwritten by that of their positions: the loss does not depend on the text."""
    torch.manual_seed(36)
    model = MiniGPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for x, y in count_up(3, 6, 6, 12):
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, 12), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def softmax_by_hand(logits):
    e = torch.exp(logits)  # planted: exponential_overflows
    return e / e.sum(-1, keepdim=True)


class GRUModel(nn.Module):
    def __init__(self, vocabulary: int = 12, wide: int = 16, temperature: float = 1.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, wide)
        self.gru = nn.GRU(wide, wide, batch_first=True)
        self.out = nn.Linear(wide, vocabulary)
        self.temperature = temperature

    def forward(self, tokens):
        hidden, _ = self.gru(self.embedding(tokens))
        return self.out(hidden) / self.temperature


@planted(*NOT_FINITE, "overflow", places=("exp", "softmax_by_hand"))
def exponential_overflows():
    """A softmax is written without taking off the largest logit, and at a low temperature its exponentials overflow."""
    torch.manual_seed(37)
    model = GRUModel(temperature=0.004)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    yield
    for x, y in count_up(3, 4, 5, 12):
        probabilities = softmax_by_hand(model(x))
        take_step(optimizer, -(probabilities.gather(2, y[..., None]) + 1e-9).log().mean())


class GatedCell(nn.Module):
    """A recurrent cell by hand."""

    def __init__(self, inputs: int, wide: int) -> None:
        super().__init__()
        self.gate, self.candidate = nn.Linear(inputs + wide, wide), nn.Linear(inputs + wide, wide)

    def forward(self, x, h):
        both = torch.cat([x, h], dim=1)
        gate = torch.sigmoid(self.gate(both))
        update = gate * torch.tanh(self.candidate(both))
        gate.mul_(-1).add_(1)  # planted: gate_changed_in_place
        return gate * h + update


@planted("in place", "in-place", "inplace", "modified", "changed since", "written over", "version", raises=RuntimeError)
def gate_changed_in_place() -> None:
    """The gate is turned into 1 - gate in place, but the product before it needs the old one for its backward."""
    torch.manual_seed(38)
    cell, readout = GatedCell(1, 8), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*cell.parameters(), *readout.parameters()], lr=1e-2)
    for _ in range(3):
        series = torch.rand(8, 6, 1)
        h = torch.zeros(8, 8)
        for t in range(series.shape[1]):
            h = cell(series[:, t], h)
        take_step(optimizer, F.mse_loss(readout(h), series.sum(1)))


# Regressions


def houses(count: int = 64) -> TensorDataset:
    """Size in square feet, age in years, distance in centimetres; the price in thousands."""
    area, age, distance = 500 + 2500 * torch.rand(count), 80 * torch.rand(count), 2e6 * torch.rand(count)
    price = 0.1 * area - 0.5 * age - 3e-5 * distance + 5 * torch.randn(count)
    return TensorDataset(torch.stack([area, age, distance], dim=1), price)


class PriceModel(nn.Module):
    def __init__(self, activation: type[nn.Module] = nn.Tanh) -> None:
        super().__init__()
        self.hidden, self.activation, self.out = nn.Linear(3, 16), activation(), nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.activation(self.hidden(x)))


@planted(
    "saturat",
    "vanish",
    "exactly zero",
    "is zero",
    "all zero",
    "but 0",
    "exactly 0",
    "is 0",
    places=("tanh", "hidden", "activation"),
)
def features_not_scaled() -> None:
    """The features are not scaled, so every tanh is saturated and the first layer gets no gradient but 0."""
    torch.manual_seed(40)
    model = PriceModel()  # planted: features_not_scaled
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for x, y in DataLoader(houses(), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x).squeeze(1), y / 100)
        loss.backward()
        optimizer.step()


@planted("leaf", "requires_grad", "require grad", "requires no grad", "no longer", "new tensor", raises=RuntimeError)
def update_makes_a_new_tensor() -> None:
    """The step by hand binds `w` to a new tensor, made under no_grad, instead of writing into the old one."""
    torch.manual_seed(41)
    w, b = torch.randn(3, requires_grad=True), torch.zeros(1, requires_grad=True)
    lr = 0.1
    for _ in range(4):
        x = torch.rand(16, 3)
        y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w, b = w - lr * w.grad, b - lr * b.grad  # planted: update_makes_a_new_tensor


# A graph network


def normalized(adjacency):
    degree = adjacency.sum(1)
    inverse_root = degree**-0.5  # planted: node_without_neighbours
    return inverse_root[:, None] * adjacency * inverse_root[None, :]


class GCN(nn.Module):
    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(features, hidden), nn.Linear(hidden, classes)

    def forward(self, x, adjacency):
        a = normalized(adjacency)
        x = F.relu(a @ self.lin1(x))
        return a @ self.lin2(x)


@planted(*NOT_FINITE, places=("degree", "normalized", "pow", "inverse_root", "adjacency", "mul"))
def node_without_neighbours() -> None:
    """A node of the graph has no neighbours: the root of its degree is divided by, and 0 times infinity is nan."""
    torch.manual_seed(43)
    x, y = torch.randn(10, 5), torch.randint(0, 3, (10,))
    adjacency = (torch.rand(10, 10) > 0.5).float()
    adjacency = torch.maximum(adjacency, adjacency.T)
    adjacency[4, :] = 0
    adjacency[:, 4] = 0
    model = GCN(5, 8, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
    for _epoch in range(3):
        take_step(optimizer, F.cross_entropy(model(x, adjacency), y))


# A GAN, and an autoencoder


class AdversarialTrainer:
    def __init__(self) -> None:
        self.generator = nn.Sequential(nn.Linear(3, 12), nn.LeakyReLU(0.2), nn.Linear(12, 2))
        self.critic = nn.Sequential(nn.Linear(2, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1))
        self.opt_g = torch.optim.Adam(self.generator.parameters(), lr=1e-3)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.bce = nn.BCEWithLogitsLoss()

    def fake(self, size: int) -> Tensor:
        return self.generator(torch.randn(size, 3)).detach()  # planted: fakes_always_detached

    def critic_step(self, real) -> float:
        self.opt_c.zero_grad()
        right, wrong = self.critic(real), self.critic(self.fake(len(real)))
        loss = self.bce(right, torch.ones_like(right)) + self.bce(wrong, torch.zeros_like(wrong))
        loss.backward()
        self.opt_c.step()
        return loss.item()

    def generator_step(self, size: int) -> float:
        self.opt_g.zero_grad()
        judged = self.critic(self.fake(size))
        loss = self.bce(judged, torch.ones_like(judged))
        loss.backward()
        self.opt_g.step()
        return loss.item()


@planted("detach", places=("generator", "fake"))
def fakes_always_detached() -> None:
    """The generator's results are detached for its own step, too, and not only for the critic's."""
    torch.manual_seed(44)
    trainer = AdversarialTrainer()
    for _ in range(3):
        real = torch.randn(12, 2) * 0.5 + 1
        trainer.critic_step(real)
        trainer.generator_step(12)
