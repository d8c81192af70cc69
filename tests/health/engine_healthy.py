"""Trainings on the workbench's own engine that are as their authors mean them; some look like a fault."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planted_entries import healthy, take_step

import workbench as torch
import workbench.nn.functional as F
from workbench import Tensor, nn


def ring(count: int) -> Tensor:
    angle = 2 * math.pi * torch.rand(count)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(count, 2)


def rising(batches: int, size: int, length: int, vocabulary: int) -> Iterator[Tensor]:
    for _ in range(batches):
        yield (torch.randint(0, vocabulary, (size, 1)) + torch.arange(length)) % vocabulary


# Plain ones


class GraphConvolution(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, adjacency):
        with_loops = adjacency + torch.eye(len(adjacency))
        root = with_loops.sum(1).rsqrt()
        return root[:, None] * with_loops @ (root[:, None] * self.linear(x))


@healthy()
def graph_network() -> None:
    torch.manual_seed(84)
    group = torch.arange(16) % 3
    adjacency = ((group[:, None] == group) & (torch.rand(16, 16) > 0.4)).float()
    adjacency = torch.maximum(adjacency, adjacency.T) * (1 - torch.eye(16))
    x, labelled = torch.randn(16, 6), torch.arange(6)
    first, second = GraphConvolution(6, 12), GraphConvolution(12, 3)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2, weight_decay=5e-4)
    for _epoch in range(4):
        scores = second(F.relu(first(x, adjacency)), adjacency)
        take_step(optimizer, F.cross_entropy(scores[labelled], group[labelled]))


# What looks like a fault and is meant


class CharLSTM(nn.Module):
    def __init__(self, vocabulary: int = 10, wide: int = 16) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(vocabulary, wide), nn.LSTM(wide, wide, batch_first=True)
        self.out = nn.Linear(wide, vocabulary)

    def forward(self, tokens, state):
        hidden, state = self.lstm(self.embedding(tokens), state)
        return self.out(hidden), state


@healthy("a long text in pieces: the state goes on, detached from the piece before")
def truncated_backward():
    torch.manual_seed(86)
    model = CharLSTM()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    text = next(rising(1, 4, 25, 10))
    yield
    state = None
    for start in range(0, 24, 6):
        if state is not None:
            state = tuple(part.detach() for part in state)
        logits, state = model(text[:, start : start + 6], state)
        loss = F.cross_entropy(logits.reshape(-1, 10), text[:, start + 1 : start + 7].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


class MaskedAttention(nn.Module):
    def __init__(self, vocabulary: int = 10, wide: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, wide, padding_idx=0)
        self.qkv, self.out = nn.Linear(wide, 3 * wide), nn.Linear(wide, 2)

    def forward(self, tokens):
        q, k, v = self.qkv(self.embedding(tokens)).chunk(3, dim=-1)
        padded = tokens == 0
        scores = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).masked_fill(padded[:, None, :], -math.inf)
        mixed = (torch.softmax(scores, dim=-1) @ v).masked_fill(padded[..., None], 0.0)
        return self.out(mixed.sum(1) / (~padded).sum(1, keepdim=True))


@healthy("padding is masked by -inf, and the embedding of the padding gets no gradient but zero")
def masked_attention() -> None:
    torch.manual_seed(87)
    model = MaskedAttention()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(4):
        tokens = torch.randint(1, 10, (8, 6))
        for row, length in enumerate([6, 4, 2, 5, 1, 3, 6, 4]):
            tokens[row, length:] = 0
        labels = (tokens[:, 0] > 5).long()
        loss = F.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@healthy("a penalty on the norm of the critic's gradient, differentiated through with create_graph")
def gradient_penalty():
    torch.manual_seed(88)
    generator = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))

    def penalty(real: Tensor, fake: Tensor) -> Tensor:
        share = torch.rand(len(real), 1)
        between = (share * real + (1 - share) * fake).requires_grad_()
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        return ((slope.norm(dim=1) - 1) ** 2).mean()

    yield
    for step in range(4):
        real, fake = ring(16), generator(torch.randn(16, 3)).detach()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
        c_optimizer.zero_grad()
        loss.backward()
        c_optimizer.step()
        if step % 2:
            g_optimizer.zero_grad()
            (-critic(generator(torch.randn(16, 3))).mean()).backward()
            g_optimizer.step()


@healthy("a hinge: triplets that are far enough apart give exactly zero")
def triplet_margin() -> None:
    torch.manual_seed(89)
    embed = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 4))
    optimizer = torch.optim.SGD(embed.parameters(), lr=0.01, momentum=0.9)
    centres = 0.5 * torch.randn(2, 6)
    for _ in range(4):
        anchor, positive = (embed(centres[0] + 0.5 * torch.randn(16, 6)) for _ in range(2))
        negative = embed(centres[1] + 0.5 * torch.randn(16, 6))
        near = (anchor - positive).square().sum(1)
        far = (anchor - negative).square().sum(1)
        take_step(optimizer, F.relu(near - far + 0.5).mean())


class StraightThroughVQ(nn.Module):
    def __init__(self, codes: int = 6, wide: int = 3) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, wide))
        self.decoder = nn.Sequential(nn.Linear(wide, 16), nn.GELU(), nn.Linear(16, 8))
        self.codebook = nn.Parameter(torch.randn(codes, wide))

    def forward(self, x):
        z = self.encoder(x)
        with torch.no_grad():
            nearest = (z[:, None] - self.codebook).square().sum(2).argmin(dim=1)
        code = self.codebook[nearest]
        commitment = F.mse_loss(code, z.detach()) + 0.25 * F.mse_loss(z, code.detach())
        return self.decoder(z + (code - z).detach()), commitment


@healthy("a straight-through estimator: the gradient passes an argmin by what is detached around it")
def straight_through_codes() -> None:
    torch.manual_seed(90)
    model = StraightThroughVQ()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    mix = torch.randn(3, 8)
    for _ in range(4):
        x = torch.randn(24, 3) @ mix
        reconstruction, commitment = model(x)
        take_step(optimizer, F.mse_loss(reconstruction, x) + commitment)
