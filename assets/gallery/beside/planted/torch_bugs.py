"""Training runs under PyTorch with one planted fault each.

A fault is in the line that ends in `# planted: <name>`, or that line is the first that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from planted_entries import NO_GRADIENT, NOT_FINITE, NOT_THE_DERIVATIVE, NOT_UPDATED, planted, take_step
from torch import Tensor, nn


def blobs(count: int, size: int, features: int = 8, classes: int = 3) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of points around a center for each class."""
    centers = torch.randn(classes, features) * 2
    for _ in range(count):
        y = torch.randint(classes, (size,))
        yield centers[y] + 0.3 * torch.randn(size, features), y


def images(count: int, size: int, classes: int = 3) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of small images; each class is bright somewhere else."""
    for _ in range(count):
        y = torch.randint(classes, (size,))
        x = 0.3 * torch.randn(size, 1, 8, 8)
        for at, label in enumerate(y.tolist()):
            x[at, 0, 2 * label : 2 * label + 3] += 1.0
        yield x, y


def sentences(count: int, size: int, length: int, vocabulary: int) -> Iterator[Tensor]:
    """Batches of tokens that count up from somewhere."""
    for _ in range(count):
        yield (torch.randint(vocabulary, (size, 1)) + torch.arange(length)) % vocabulary


# An MLP classifier, and a trainer


class Classifier(nn.Module):
    def __init__(self, inputs: int = 8, hidden: int = 32, classes: int = 3) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
        )

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, model: nn.Module, config: dict[str, Any]) -> None:
        self.model, self.config = model, config
        self.optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=config["momentum"])
        self.history: list[float] = []

    def fit(self, batches) -> None:
        self.model.train()
        self.optimizer.zero_grad()
        for x, y in batches:
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()  # planted: cleared_before_the_loop
            self.optimizer.step()
            self.history.append(loss.item())


@planted("clear", "zero_grad", "accumulat", "add up", "adds up", "added up", "added to")
def cleared_before_the_loop() -> None:
    """The trainer clears the gradients once, before the loop, so each step adds to the gradients of earlier steps."""
    torch.manual_seed(1)
    Trainer(Classifier(), {"lr": 0.05, "momentum": 0.9}).fit(blobs(5, 16))


# A conv net with batch norm


class ConvBlock(nn.Sequential):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class ImageNet(nn.Module):
    """Features, and a head that scores them."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.features = nn.Sequential(ConvBlock(1, 8), nn.MaxPool2d(2), ConvBlock(8, 16))
        self.head = nn.Linear(16, classes)

    def embed(self, x):
        return self.features(x).mean(dim=(2, 3))

    def forward(self, x):
        return self.head(self.embed(x))


class PlottedNet(ImageNet):
    def embed(self, x):
        """Also for the plot of the embedding."""
        return super().embed(x).detach()  # planted: features_detached


@planted("detach", places=("embed", "features", "conv", "mean"))
def features_detached():
    """`embed()` was written for a plot and detaches the features, so no conv layer trains."""
    torch.manual_seed(2)
    model = PlottedNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    yield
    for x, y in images(4, 12):
        take_step(optimizer, F.cross_entropy(model(x), y))


def accuracy_of(model: nn.Module, batches) -> float:
    model.eval()  # planted: still_in_eval_mode
    right, total = 0, 0
    with torch.no_grad():
        for x, y in batches:
            right += int((model(x).argmax(1) == y).sum())
            total += len(y)
    return right / total


@planted("eval mode", "eval()", ".eval", "evaluation mode", "training mode", ".train()", "running mean", "running stat")
def still_in_eval_mode() -> None:
    """The validation before the first epoch puts the model into eval mode, and nothing ends this mode for training."""
    torch.manual_seed(3)
    model = ImageNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    best = accuracy_of(model, images(1, 12))
    for _epoch in range(2):
        for x, y in images(2, 12):
            take_step(optimizer, F.cross_entropy(model(x), y))
        best = max(best, accuracy_of(model, images(1, 12)))


class PlainConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(16 * 4 * 4, 32), nn.Linear(32, 3)
        self.reset()

    def reset(self) -> None:
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.constant_(parameter, -4.0 if name.startswith("fc1") else 0.0)  # planted: bias_far_below_zero

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


@planted(
    *("dead", "always zero", "never active", "all zero", "only zero", "zero for ever", "nothing but zero", "died"),
    *("outputs zero", "zeros only", "output of 0", "outputs 0", "never above 0", "is zero"),
    places=("fc1", "relu"),
)
def bias_far_below_zero():
    """The biases of `fc1` start at -4, so every unit of its ReLU is dead and no layer before it trains."""
    torch.manual_seed(4)
    model = PlainConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    yield
    for x, y in images(4, 12):
        take_step(optimizer, criterion(model(x), y))


# Residual blocks, of which some are frozen


class ResidualMLP(nn.Module):
    def __init__(self, wide: int = 16, depth: int = 12) -> None:
        super().__init__()
        self.stem = nn.Linear(8, wide)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(wide), nn.Linear(wide, wide)) for _ in range(depth))
        self.head = nn.Linear(wide, 3)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + F.gelu(block(x))
        return self.head(x)


def freeze(model: nn.Module, prefixes: tuple[str, ...]) -> None:
    for name, parameter in model.named_parameters():
        if name.startswith(prefixes):
            parameter.requires_grad = False  # planted: prefix_freezes_too_much


@planted("frozen", "freez", "requires_grad", "require grad", "require a grad", "require no", places=("blocks.1",))
def prefix_freezes_too_much() -> None:
    """Prefixes should freeze `blocks.0` and `blocks.1`, but `blocks.10` and `blocks.11` start with `blocks.1` too."""
    torch.manual_seed(5)
    model = ResidualMLP()
    freeze(model, ("stem", "blocks.0", "blocks.1"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for x, y in blobs(3, 16):
        take_step(optimizer, F.cross_entropy(model(x), y))


# Transformers


@dataclass
class TransformerConfig:
    vocabulary: int = 20
    length: int = 8
    wide: int = 16
    heads: int = 2
    layers: int = 2
    classes: int = 2


class SentenceClassifier(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.wide)
        self.position = nn.Parameter(0.1 * torch.randn(config.length, config.wide))
        layer = nn.TransformerEncoderLayer(config.wide, config.heads, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
        self.classifier = nn.Linear(config.wide, config.classes)

    def encode(self, tokens):
        return self.encoder(self.embedding(tokens) + self.position[: tokens.shape[1]])

    def forward(self, tokens):
        with torch.no_grad():  # planted: encoder_without_grad
            hidden = self.encode(tokens)
        return self.classifier(hidden.mean(1))


@planted("no_grad", "grad mode", "gradients off", "gradients were off", "without grad", places=("encode", "embedding"))
def encoder_without_grad() -> None:
    """The encoder still runs under no_grad, as it did when its features were cached: only the classifier learns."""
    torch.manual_seed(6)
    config = TransformerConfig()
    model = SentenceClassifier(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for tokens in sentences(4, 8, config.length, config.vocabulary):
        labels = (tokens[:, 0] > 9).long()
        loss = F.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


class Block(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.norm1, self.norm2 = nn.LayerNorm(config.wide), nn.LayerNorm(config.wide)
        self.qkv = nn.Linear(config.wide, 3 * config.wide)
        self.out = nn.Linear(config.wide, config.wide)
        self.mlp = nn.Sequential(nn.Linear(config.wide, 32), nn.GELU(), nn.Linear(32, config.wide))

    def attend(self, x):
        q, k, v = (each.unflatten(2, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=2))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class LanguageModel(nn.Module):
    def __init__(self, config: TransformerConfig, tied: bool = True) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocabulary, config.wide)
        self.wpe = nn.Embedding(config.length, config.wide)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.ln = nn.LayerNorm(config.wide)
        self.lm_head = nn.Linear(config.wide, config.vocabulary, bias=False)
        nn.init.normal_(self.wte.weight, std=0.02)
        if tied:
            self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone())  # planted: tied_by_a_copy

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln(x))


@planted(
    " tie", "untied", "tying", "same values", "equal values", "not shared", "two leaves", "were equal", "a copy of"
)
def tied_by_a_copy() -> None:
    """The output layer should be tied to the embedding's weight, but gets a copy of it, and the two drift apart."""
    torch.manual_seed(7)
    config = TransformerConfig()
    model = LanguageModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    for tokens in sentences(3, 8, config.length, config.vocabulary):
        logits = model(tokens[:, :-1])
        take_step(optimizer, F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()))


# Recurrent language models


class RecurrentModel(nn.Module):
    def __init__(self, cell: type[nn.Module], vocabulary: int = 16, wide: int = 24) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, wide)
        self.rnn = cell(wide, wide, batch_first=True)
        self.decoder = nn.Linear(wide, vocabulary)

    def forward(self, tokens, state=None):
        out, state = self.rnn(self.embedding(tokens), state)
        return self.decoder(out), state


@planted(
    *("rate is 0", "rate of 0", "rate 0", "rate was 0", "rate of zero", "rate is zero", "rate was zero", "zero rate"),
    *("lr=0", "lr is 0", "lr of 0", "lr 0", "changes nothing", "change nothing", "changed nothing", "did not change"),
    *("does not change", "no parameter change", "unchanged", "has no effect", "exactly the same"),
)
def warm_up_divides_integers():
    """The warm-up divides with `//`, so the learning rate is 0 in every step, not only in the first."""
    torch.manual_seed(8)
    warmup = 100
    model = RecurrentModel(nn.LSTM)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, step // warmup))
    yield
    for tokens in sentences(5, 8, 10, 16):
        optimizer.zero_grad()
        logits, _ = model(tokens[:, :-1])
        F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:]).backward()
        optimizer.step()  # planted: warm_up_divides_integers
        scheduler.step()


class LanguageLoss(nn.Module):
    """Of the next token."""

    def forward(self, logits, targets):
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")  # planted: loss_is_a_sum


@planted(
    "reduction",
    "summed",
    "sum of",
    "a sum",
    "sum over",
    "averaged",
    "not divided",
    "instead of a mean",
    "instead of the mean",
)
def loss_is_a_sum() -> None:
    """The loss is the sum over all tokens of the batch, with a learning rate that was chosen for the mean."""
    torch.manual_seed(9)
    model, criterion = RecurrentModel(nn.GRU), LanguageLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for tokens in sentences(4, 16, 12, 16):
        logits, _ = model(tokens[:, :-1])
        loss = criterion(logits, tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@planted(
    *("detach", "second time", "earlier step", "previous step", "step before", "last step", "freed"),
    raises=RuntimeError,
)
def state_carried_with_its_graph():
    """The state of the LSTM is carried into the next piece of text without being detached from the previous graph."""
    torch.manual_seed(10)
    model = RecurrentModel(nn.LSTM)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    text = next(sentences(1, 4, 41, 16))
    yield
    state = None
    for start in range(0, 40, 10):
        x, y = text[:, start : start + 10], text[:, start + 1 : start + 11]
        logits, state = model(x, state)  # planted: state_carried_with_its_graph
        take_step(optimizer, F.cross_entropy(logits.flatten(0, 1), y.flatten()))


class AddingNet(nn.Module):
    """Sums what it sees; a ReLU network with one recurrent matrix."""

    def __init__(self, wide: int = 32) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.randn(wide, wide) * 0.5)
        self.U = nn.Parameter(torch.randn(wide, 2) * 0.5)
        self.readout = nn.Linear(wide, 1)

    def forward(self, series):
        h = series.new_zeros(len(series), self.W.shape[0])
        for x in series.unbind(1):
            h = torch.relu(h @ self.W.T + x @ self.U.T)  # planted: recurrence_that_doubles
        return self.readout(h).squeeze(1)


@planted("explod", "grow", "clip", "times larger", "times as large", "larger in each", "larger each", "blow")
def recurrence_that_doubles() -> None:
    """The recurrent matrix starts far too large and nothing is clipped, so the gradient doubles in each time step."""
    torch.manual_seed(11)
    model = AddingNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        series = torch.rand(8, 30, 2)
        target = series[:, :, 0].sum(1)
        take_step(optimizer, F.mse_loss(model(series), target))


# A VAE


class VAE(nn.Module):
    def __init__(self, inputs: int = 16, latent: int = 4) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU())
        self.to_mean, self.to_logvar = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, inputs))

    def forward(self, x):
        hidden = self.encoder(x)
        mean, logvar = self.to_mean(hidden), self.to_logvar(hidden)
        z = mean + (0.5 * logvar).exp() * torch.randn_like(mean)
        return self.decoder(z), mean, logvar


def elbo(reconstruction, x, mean, logvar, beta: float) -> tuple[Tensor, dict[str, float]]:
    error = F.mse_loss(reconstruction, x, reduction="none").sum(1).mean().item()  # planted: reconstruction_as_a_number
    kl = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
    return error + beta * kl, {"error": error, "kl": kl.item()}


@planted(".item", "item()", "python number", "plain number", *NO_GRADIENT, places=("decoder", ".item", "item()"))
def reconstruction_as_a_number() -> None:
    """`.item()`, meant for the log, turns the reconstruction error into a number, so only the KL term trains."""
    torch.manual_seed(12)
    vae = VAE()
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
    log = []
    for x, _ in blobs(4, 16, features=16):
        reconstruction, mean, logvar = vae(x)
        loss, numbers = elbo(reconstruction, x, mean, logvar, beta=0.5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append(numbers)


# A GAN


def generator() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))


def discriminator() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))


@planted(*NOT_UPDATED, "two optimi", "both optimi", "more than one optimi")
def optimizer_of_the_wrong_network() -> None:
    """The discriminator's optimizer has the generator's parameters, so the discriminator is never updated."""
    torch.manual_seed(13)
    netG, netD = generator(), discriminator()
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optD = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))  # planted: optimizer_of_the_wrong_network
    criterion = nn.BCEWithLogitsLoss()
    for real, _ in blobs(4, 16, features=2):
        ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
        netD.zero_grad()
        fake = netG(torch.randn(16, 4)).detach()
        lossD = criterion(netD(real), ones) + criterion(netD(fake), zeros)
        lossD.backward()
        optD.step()
        netG.zero_grad()
        lossG = criterion(netD(netG(torch.randn(16, 4))), ones)
        lossG.backward()
        optG.step()


# Contrastive and siamese networks


class ClipLike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = nn.Linear(12, 8), nn.Linear(10, 8)

    def forward(self, image, text):
        if not hasattr(self, "logit_scale"):
            self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))  # planted: temperature_made_late
        image, text = F.normalize(self.image(image), dim=1), F.normalize(self.text(text), dim=1)
        return self.logit_scale.exp() * image @ text.T


@planted(*NOT_UPDATED, places=("logit_scale",))
def temperature_made_late() -> None:
    """`logit_scale` is created in the first forward pass, so it's not in the optimizer, which was created before."""
    torch.manual_seed(14)
    model = ClipLike()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    mix = torch.randn(12, 10)
    for _ in range(4):
        image = torch.randn(16, 12)
        text = image @ mix + 0.1 * torch.randn(16, 10)
        logits, labels = model(image, text), torch.arange(16)
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
        model.zero_grad()
        loss.backward()
        optimizer.step()


class Siamese(nn.Module):
    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        self.margin = margin
        self.body = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, left, right, same):
        difference = self.body(left) - self.body(right)
        distance = difference.pow(2).sum(1).sqrt()  # planted: distance_of_a_twin
        return (same * distance.pow(2) + (1 - same) * F.relu(self.margin - distance).pow(2)).mean()


@planted(*NOT_FINITE, places=("sqrt", "distance"))
def distance_of_a_twin():
    """A pair contains the same point twice: their distance is the root of 0, and its gradient is 0 times infinity."""
    torch.manual_seed(15)
    model = Siamese()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = list(blobs(4, 16))
    yield
    for step, (x, y) in enumerate(batches):
        pair = torch.randperm(16).roll(1)
        if step == 1:
            pair[3] = 3
        take_step(optimizer, model(x, x[pair], (y == y[pair]).float()))


# A policy gradient


class Policy(nn.Module):
    def __init__(self, observations: int = 4, actions: int = 5) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(observations, 24), nn.Tanh())
        self.actor, self.critic = nn.Linear(24, actions), nn.Linear(24, 1)

    def forward(self, observation, allowed):
        hidden = self.trunk(observation)
        probs = F.softmax(self.actor(hidden), dim=-1) * allowed
        return probs / probs.sum(-1, keepdim=True), self.critic(hidden).squeeze(-1)


@planted(*NOT_FINITE, places=("log", "entropy", "probs"), raises=RuntimeError)
def log_of_a_forbidden_action() -> None:
    """A forbidden action has a probability of exactly 0, its logarithm is -inf, and the entropy becomes nan."""
    torch.manual_seed(16)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for _episode in range(3):
        observations, allowed = torch.randn(12, 4), torch.ones(12, 5)
        allowed[torch.arange(12), torch.randint(5, (12,))] = 0
        probs, values = policy(observations, allowed)
        log_probs = probs.log()  # planted: log_of_a_forbidden_action
        entropy = -(probs * log_probs).sum(-1).mean()
        actions = torch.multinomial(probs.detach(), 1)
        returns = torch.rand(12)
        advantages = (returns - values).detach()
        actor_loss = -(log_probs.gather(1, actions).squeeze(1) * advantages).mean()
        take_step(optimizer, actor_loss + 0.5 * F.mse_loss(values, returns) - 0.01 * entropy)


# Regressions


class Regressor(nn.Module):
    def __init__(self, depth: int = 1, activation: type[nn.Module] = nn.Tanh) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(2, 16), activation()]
        for _ in range(depth):
            layers += [nn.Linear(16, 16), activation()]
        self.body, self.head = nn.Sequential(*layers), nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


def surface(count: int, size: int = 32) -> Iterator[tuple[Tensor, Tensor]]:
    for _ in range(count):
        x = 2 * torch.rand(size, 2) - 1
        yield x, torch.sin(3 * x[:, 0]) + x[:, 1] ** 2


@planted("twice", "two optimi", "both optimi", "more than one optimi", "second optimi", places=("head",))
def head_in_two_optimizers() -> None:
    """A second optimizer has the head, with its own rate, but the first still has all parameters of the model."""
    torch.manual_seed(17)
    model = Regressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    head_optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-3)  # planted: head_in_two_optimizers
    for x, y in surface(4):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        head_optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        head_optimizer.step()


@planted("vanish", "shrink", "times smaller", "fade", "smaller in each", "smaller each", "becomes smaller", "saturat")
def ten_sigmoids() -> None:
    """In ten layers with sigmoids, the gradient vanishes: each shrinks it, and the first get a millionth of it."""
    torch.manual_seed(18)
    model = Regressor(depth=9, activation=nn.Sigmoid)  # planted: ten_sigmoids
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in surface(4):
        take_step(optimizer, F.mse_loss(model(x), y))


class MixtureOfExperts(nn.Module):
    def __init__(self, experts: int = 3) -> None:
        super().__init__()
        self.gate = nn.Linear(2, experts)
        self.experts = [Regressor(depth=0) for _ in range(experts)]  # planted: experts_in_a_list

    def forward(self, x):
        weights = F.softmax(self.gate(x), dim=-1)
        return (weights * torch.stack([expert(x) for expert in self.experts], dim=-1)).sum(-1)


@planted(*NOT_UPDATED, "regist", "modulelist")
def experts_in_a_list():
    """The experts are in a Python list, so the model doesn't register them, and the optimizer only has the gate."""
    torch.manual_seed(19)
    model = MixtureOfExperts()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    yield
    for x, y in surface(4):
        take_step(optimizer, F.smooth_l1_loss(model(x), y))


class ExactSwish(torch.autograd.Function):
    """x * sigmoid(x), which keeps only x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        sigmoid = torch.sigmoid(x)
        return grad_output * (sigmoid - x * sigmoid * (1 - sigmoid))  # planted: swish_with_a_wrong_sign


class Swish(nn.Module):
    def forward(self, x):
        return ExactSwish.apply(x)


@planted(*NOT_THE_DERIVATIVE, places=("ExactSwish",))
def swish_with_a_wrong_sign() -> None:
    """The backward of a custom Function disagrees with differences: it subtracts a term that it should add."""
    torch.manual_seed(20)
    model = Regressor(activation=Swish)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for x, y in surface(4):
        take_step(optimizer, F.mse_loss(model(x), y))


@planted("requires_grad", "require grad", "require a gradient", "does not require", "require no", raises=RuntimeError)
def time_that_needs_no_gradient() -> None:
    """A physics-informed network differentiates with respect to its input, which does not require grad."""
    torch.manual_seed(21)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def residual(t):
        u = net(t)
        du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]  # planted: time_that_needs_no_gradient
        return du + u

    start = torch.zeros(1, 1)
    for _ in range(3):
        collocation = torch.rand(32, 1)
        take_step(optimizer, residual(collocation).pow(2).mean() + (net(start) - 1).pow(2).mean())


# Autoencoders


class AutoEncoder(nn.Module):
    def __init__(self, inputs: int = 16, code: int = 4) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, code))
        self.decoder = nn.Sequential(nn.Linear(code, 24), nn.ReLU(), nn.Linear(24, inputs))

    def forward(self, x):
        return self.decoder(self.encoder(x))


@planted(
    *("larger than", "too large", "too high", "times its weight", "times the weight", "diverg", "times as large"),
    *("smaller learning rate", "lower learning rate", "smaller rate", "rate of 30", "rate is 30", "lr=30"),
)
def rate_with_a_wrong_exponent() -> None:
    """The learning rate is 3e1 instead of 3e-1: the first step makes the weights many times as large."""
    torch.manual_seed(22)
    model = AutoEncoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=3e1)
    for x, _ in blobs(3, 16, features=16):
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # planted: rate_with_a_wrong_exponent


class VectorQuantized(AutoEncoder):
    def __init__(self, codes: int = 8, code: int = 4) -> None:
        super().__init__(code=code)
        self.codebook = nn.Embedding(codes, code)

    def quantize(self, z):
        nearest = torch.cdist(z, self.codebook.weight).argmin(dim=1)  # planted: nearest_code_cuts_the_encoder
        return self.codebook(nearest)

    def forward(self, x):
        return self.decoder(self.quantize(self.encoder(x)))


@planted(
    "argmin", "integer", "its index", "an index", "indices", *NO_GRADIENT, places=("encoder", "argmin", "quantize")
)
def nearest_code_cuts_the_encoder() -> None:
    """The decoder picks the nearest code by its index, which passes no gradient on, so the encoder has none."""
    torch.manual_seed(23)
    model = VectorQuantized()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, _ in blobs(4, 16, features=16):
        take_step(optimizer, F.mse_loss(model(x), x))


# Mixed precision


@planted("underflow", "float16", "half precision", "too small for", "loss scal", "gradscaler", "scale the loss")
def half_without_a_scaler() -> None:
    """The model is in float16 and the loss isn't scaled, so gradients below 6e-8 become 0, and most are below."""
    torch.manual_seed(24)
    model = nn.Sequential(*[part for _ in range(5) for part in (nn.Linear(16, 16), nn.Tanh())], nn.Linear(16, 1))
    model.half()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(3):
        x = torch.randn(256, 16).half()
        target = 1e-3 * torch.sin(x[:, :1])
        loss = 1e-4 * F.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()  # planted: half_without_a_scaler
        optimizer.step()


@planted("unscale", "clip")
def clipped_before_unscaling():
    """The gradients are clipped while they are still scaled by 65,536, so almost nothing is left of them."""
    torch.manual_seed(25)
    model = Classifier(hidden=24)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    yield
    for x, y in blobs(4, 16):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)  # planted: clipped_before_unscaling
        scaler.step(optimizer)
        scaler.update()
