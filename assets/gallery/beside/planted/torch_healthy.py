"""Training runs under PyTorch that are as their authors mean them; most hold something that looks like a fault."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from planted_entries import healthy, take_step
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


def clusters(count: int, size: int, features: int = 8, classes: int = 3) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of points around a center for each class."""
    centers = torch.randn(classes, features)
    for _ in range(count):
        y = torch.randint(classes, (size,))
        yield centers[y] + 0.5 * torch.randn(size, features), y


def stripes(count: int, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of small images with stripes; the class is their direction."""
    for _ in range(count):
        y = torch.randint(2, (size,))
        wave = torch.sin(torch.arange(8) * 1.6)
        both = torch.stack([wave[:, None].expand(8, 8), wave[None, :].expand(8, 8)])
        yield both[y][:, None] + 0.3 * torch.randn(size, 1, 8, 8), y


def songs(count: int, size: int, length: int, vocabulary: int = 16) -> Iterator[Tensor]:
    """Batches of tokens that go up by one or by two."""
    for _ in range(count):
        pace = torch.randint(1, 3, (size, 1))
        yield (torch.randint(vocabulary, (size, 1)) + pace * torch.arange(length)) % vocabulary


def mlp(*sizes: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(before, after), activation()]
    return nn.Sequential(*layers[:-1])


# Plain ones


@healthy()
def mlp_classifier() -> None:
    torch.manual_seed(51)
    model = mlp(8, 32, 32, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _epoch in range(2):
        model.train()
        for x, y in clusters(2, 32):
            take_step(optimizer, F.cross_entropy(model(x), y))
        model.eval()
        with torch.no_grad():
            for x, y in clusters(1, 32):
                (model(x).argmax(1) == y).float().mean().item()


class WordModel(nn.Module):
    def __init__(self, vocabulary: int = 16, wide: int = 24) -> None:
        super().__init__()
        self.embedding, self.drop = nn.Embedding(vocabulary, wide), nn.Dropout(0.1)
        self.gru, self.out = nn.GRU(wide, wide, batch_first=True), nn.Linear(wide, vocabulary)

    def forward(self, tokens):
        hidden, _ = self.gru(self.drop(self.embedding(tokens)))
        return self.out(self.drop(hidden))


@healthy()
def gru_language_model():
    torch.manual_seed(52)
    model = WordModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    yield
    for tokens in songs(4, 8, 11):
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


class VariationalAutoEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = mlp(12, 32, 8), mlp(4, 32, 12)

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        return self.decoder(z), mean, logvar


@healthy()
def variational_autoencoder() -> None:
    torch.manual_seed(53)
    vae = VariationalAutoEncoder()
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
    for x, _ in clusters(4, 32, features=12):
        reconstruction, mean, logvar = vae(x)
        error = F.mse_loss(reconstruction, x, reduction="none").sum(1).mean()
        kl = -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum(1).mean()
        optimizer.zero_grad()
        (error + kl).backward()
        optimizer.step()


# What is frozen, averaged or reversed, and meant


class Backbone(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )


class FineTuned(nn.Module):
    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = backbone, nn.Linear(16, 2)
        for parameter in self.backbone.parameters():
            parameter.requires_grad = False

    def train(self, mode: bool = True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


@healthy("the backbone is frozen, with its batch norm in eval mode")
def frozen_backbone() -> None:
    torch.manual_seed(54)
    model = FineTuned(Backbone()).train()
    optimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-2)
    for x, y in stripes(4, 16):
        take_step(optimizer, F.cross_entropy(model(x), y))


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int = 2, alpha: float = 4.0) -> None:
        super().__init__()
        self.base, self.scaling = base.requires_grad_(False), alpha / rank
        self.lora_A = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


@healthy("low-rank adapters on frozen layers: B begins at zero, so the first gradient of A is zero")
def lora_adapters():
    torch.manual_seed(55)
    model = mlp(8, 24, 24, 3, activation=nn.GELU)
    for index, layer in enumerate(model):
        if isinstance(layer, nn.Linear):
            model[index] = LoRALinear(layer)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    yield
    for x, y in clusters(4, 32):
        take_step(optimizer, F.cross_entropy(model(x), y))


class BYOL(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.online, self.predictor = mlp(8, 24, 8), mlp(8, 16, 8)
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    @torch.no_grad()
    def update_target(self, tau: float = 0.99) -> None:
        for slow, fast in zip(self.target.parameters(), self.online.parameters(), strict=True):
            slow.lerp_(fast, 1 - tau)

    def forward(self, one, two):
        return (self.half(one, two) + self.half(two, one)) / 2

    def half(self, one, two):
        prediction = self.predictor(self.online(one))
        with torch.no_grad():
            target = self.target(two)
        return 2 - 2 * F.cosine_similarity(prediction, target, dim=1).mean()


@healthy("the target network is an average that gets no gradient, and its result is not differentiated")
def byol() -> None:
    torch.manual_seed(56)
    model = BYOL()
    optimizer = torch.optim.SGD([*model.online.parameters(), *model.predictor.parameters()], lr=0.05, momentum=0.9)
    for x, _ in clusters(4, 32):
        take_step(optimizer, model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)))
        model.update_target()


class ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


class DomainAdversarial(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 24), nn.Tanh())
        self.label, self.domain = nn.Linear(24, 3), mlp(24, 16, 2)

    def forward(self, x, strength: float):
        features = self.features(x)
        return self.label(features), self.domain(ReverseGradient.apply(features, strength))


@healthy("a custom Function whose backward turns the gradient's sign on purpose")
def gradient_reversal() -> None:
    torch.manual_seed(57)
    model = DomainAdversarial()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step, (x, y) in enumerate(clusters(4, 32)):
        domain = torch.randint(2, (32,))
        labels, domains = model(x + domain[:, None], strength=0.1 + 0.1 * step)
        source = domain == 0
        take_step(optimizer, F.cross_entropy(labels[source], y[source]) + F.cross_entropy(domains, domain))


# Steps that come late, begin with nothing, or are taken in turn


@healthy("gradients of four small batches are added up before each step")
def gradient_accumulation():
    torch.manual_seed(58)
    model, every = mlp(8, 24, 24, 3, activation=nn.Tanh), 4
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    yield
    optimizer.zero_grad()
    for index, (x, y) in enumerate(clusters(12, 8)):
        loss = F.cross_entropy(model(x), y) / every
        loss.backward()
        if (index + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()


@healthy("the learning rate warms up from 0, so the first step changes nothing")
def warm_up_from_zero() -> None:
    torch.manual_seed(59)
    model = mlp(8, 32, 3, activation=nn.GELU)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 4))
    for x, y in clusters(6, 16):
        take_step(optimizer, F.cross_entropy(model(x), y))
        scheduler.step()


@healthy("two networks step in turn; the discriminator gets gradients in the generator's step and drops them")
def gan_in_turns() -> None:
    torch.manual_seed(60)
    generator, discriminator = mlp(4, 24, 2), mlp(2, 24, 1, activation=nn.Tanh)
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    for real, _ in clusters(3, 32, features=2):
        fake = generator(torch.randn(32, 4))
        d_optimizer.zero_grad()
        d_loss = bce(discriminator(real), torch.ones(32, 1)) + bce(discriminator(fake.detach()), torch.zeros(32, 1))
        d_loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        g_loss = bce(discriminator(fake), torch.ones(32, 1))
        g_loss.backward()
        g_optimizer.step()


@healthy("L-BFGS calls its closure several times a step, and clears the gradients in it")
def l_bfgs_regression() -> None:
    torch.manual_seed(61)
    model = mlp(1, 12, 1, activation=nn.Tanh)
    x = torch.linspace(-2, 2, 40)[:, None]
    y = torch.sin(2 * x)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)


# Physics, and what begins at zero


@healthy("derivatives of the network by its inputs are part of the loss, with create_graph")
def heat_equation():
    torch.manual_seed(62)
    net = mlp(2, 20, 20, 1, activation=nn.Tanh)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)

    def derivative(u: Tensor, by: Tensor) -> Tensor:
        return torch.autograd.grad(u.sum(), by, create_graph=True)[0]

    yield
    for _ in range(4):
        t, x = (torch.rand(32, 1, requires_grad=True) for _ in range(2))
        u = net(torch.cat([t, x], dim=1))
        residual = derivative(u, t) - 0.1 * derivative(derivative(u, x), x)
        start = torch.rand(32, 1)
        at_start = net(torch.cat([torch.zeros_like(start), start], dim=1))
        take_step(optimizer, residual.pow(2).mean() + F.mse_loss(at_start, torch.sin(math.pi * start)))


class ReZeroBlock(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.layer, self.gate = nn.Linear(wide, wide), nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gate * F.gelu(self.layer(x))


class ReZeroNet(nn.Module):
    def __init__(self, wide: int = 24, depth: int = 4) -> None:
        super().__init__()
        self.stem = nn.Linear(8, wide)
        self.blocks = nn.Sequential(*[ReZeroBlock(wide) for _ in range(depth)])
        self.head = nn.Linear(wide, 3)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


@healthy("residual gates and the head begin at zero, so first gradients of most layers are exactly zero")
def gates_from_zero() -> None:
    torch.manual_seed(63)
    model = ReZeroNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for x, y in clusters(5, 32):
        take_step(optimizer, F.cross_entropy(model(x), y))


# Transformers


class DecoderLayer(nn.Module):
    def __init__(self, wide: int, heads: int = 2) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(wide, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.mlp = mlp(wide, 2 * wide, wide, activation=nn.GELU)

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, vocabulary: int = 16, wide: int = 16, length: int = 12, remember: bool = True) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, wide), nn.Embedding(length, wide)
        self.layers = nn.ModuleList(DecoderLayer(wide) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(wide), nn.Linear(wide, vocabulary, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)
        self.head.weight = self.tokens.weight
        self.remember = remember

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = torch.full((length, length), -math.inf).triu(1)
        x = self.tokens(tokens) + self.positions.weight[:length]
        for layer in self.layers:
            x = layer(x, mask) if self.remember else checkpoint(layer, x, mask, use_reentrant=False)
        return self.head(self.norm(x))


def decay_groups(model: nn.Module) -> list[dict[str, Any]]:
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]


@healthy("the head shares the embedding's weight, and the future is masked by -inf")
def tied_transformer() -> None:
    torch.manual_seed(64)
    model = Decoder()
    optimizer = torch.optim.AdamW(decay_groups(model), lr=1e-3)
    for tokens in songs(3, 8, 9):
        loss = F.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@healthy("layers are checkpointed, so their forward runs again in the backward")
def checkpointed_transformer():
    torch.manual_seed(65)
    model = Decoder(remember=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    yield
    for tokens in songs(3, 4, 8):
        take_step(optimizer, F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()))


# Sequences, and embeddings


class Copier(nn.Module):
    def __init__(self, symbols: int = 8, wide: int = 32) -> None:
        super().__init__()
        self.embedding, self.rnn = nn.Embedding(symbols + 2, wide), nn.LSTM(wide, wide, batch_first=True)
        self.out = nn.Linear(wide, symbols)

    def forward(self, tokens):
        return self.out(self.rnn(self.embedding(tokens))[0])


@healthy("a copying task: most positions are blank and count for nothing in the loss, targets are the input")
def copying_task() -> None:
    torch.manual_seed(66)
    model, blank, go, wait = Copier(), 8, 9, 12
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for _ in range(3):
        secret = torch.randint(8, (16, 3))
        tokens = torch.full((16, 3 + wait + 3), blank)
        tokens[:, :3], tokens[:, 3 + wait - 1] = secret, go
        targets = torch.full_like(tokens, -100)
        targets[:, -3:] = secret
        loss = F.cross_entropy(model(tokens).transpose(1, 2), targets, ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()


class SkipGram(nn.Module):
    def __init__(self, vocabulary: int = 200, wide: int = 12) -> None:
        super().__init__()
        self.word = nn.Embedding(vocabulary, wide, sparse=True)
        self.context = nn.Embedding(vocabulary, wide, sparse=True)
        nn.init.uniform_(self.word.weight, -0.5, 0.5)
        nn.init.zeros_(self.context.weight)

    def forward(self, words, contexts):
        return torch.einsum("bd,bnd->bn", self.word(words), self.context(contexts))


@healthy("embeddings with sparse gradients, of which most rows get none; one begins at zero")
def sparse_embeddings() -> None:
    torch.manual_seed(67)
    model = SkipGram()
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=1e-2)
    for _ in range(4):
        words = torch.randint(200, (16,))
        contexts = torch.cat([(words[:, None] + 1) % 200, torch.randint(200, (16, 4))], dim=1)
        labels = torch.zeros(16, 5)
        labels[:, 0] = 1
        take_step(optimizer, F.binary_cross_entropy_with_logits(model(words, contexts), labels))


# Reinforcement learning, experts, mixed precision


class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.actor, self.critic = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, x):
        hidden = self.trunk(x)
        return torch.distributions.Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


@healthy("actions are drawn under no_grad, and advantages are detached")
def actor_critic() -> None:
    torch.manual_seed(68)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        observations = torch.randn(24, 4)
        with torch.no_grad():
            actions = model(observations)[0].sample()
        rewards = (actions == observations[:, :3].argmax(1)).float()
        policy, values = model(observations)
        advantages = (rewards - values).detach()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = -(policy.log_prob(actions) * advantages).mean()
        loss = policy_loss + 0.5 * F.mse_loss(values, rewards) - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()


class SwitchLayer(nn.Module):
    """Each row goes to the expert that the router, with some noise, prefers."""

    def __init__(self, wide: int = 16, experts: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(wide, experts)
        self.experts = nn.ModuleList(mlp(wide, wide, wide, activation=nn.GELU) for _ in range(experts))

    def forward(self, x):
        logits = self.router(x)
        share, chosen = F.softmax(logits + 0.5 * torch.randn_like(logits), dim=-1).max(dim=-1)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            rows = (chosen == index).nonzero().squeeze(1)
            if len(rows):
                out = out.index_add(0, rows, share[rows, None] * expert(x[rows]))
        return x + out


@healthy("a mixture of experts: in a small batch some experts are not used and get no gradient")
def switch_transformer():
    torch.manual_seed(64)
    model = nn.Sequential(nn.Linear(8, 16), SwitchLayer(), nn.LayerNorm(16), nn.Linear(16, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    yield
    for x, y in clusters(5, 6):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@healthy("bfloat16 autocast; the loss is scaled by 65,536, and gradients are unscaled before they are clipped")
def mixed_precision() -> None:
    torch.manual_seed(70)
    model = nn.Sequential(Backbone(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu")
    for x, y in stripes(4, 16):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
