"""Training loops and cells as people write them at work, of several steps each: nothing is wrong with any of them."""

from __future__ import annotations

import copy
import math
from functools import partial, wraps

from . import healthy
from .parts import classes, mlp, weights


def whole(program):
    """Enter a program that is recorded from its first line on."""

    @wraps(program)
    def begun(torch):
        return partial(program, torch)

    return healthy()(begun)


def stepped(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@whole
def cells_without_an_optimizer(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x**2).sum().backward()
    x.grad = None
    (x**3).sum().backward()
    x.grad.zero_()
    y = x.sin() * x.cos()
    y.backward(torch.ones(3))
    (g,) = torch.autograd.grad((x.exp() * 2).sum(), x)
    z = (g * x).sum()
    assert z.requires_grad


@whole
def gan_with_toggled_parameters(torch):
    G, D = mlp(torch, 3, 8, 4), mlp(torch, 4, 8, 1)
    oG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
    oD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
    criterion = torch.nn.BCEWithLogitsLoss()
    for _ in range(4):
        for p in D.parameters():
            p.requires_grad_(True)
        real, fake = torch.randn(8, 4) + 1, G(torch.randn(8, 3)).detach()
        stepped(oD, criterion(D(real), torch.ones(8, 1)) + criterion(D(fake), torch.zeros(8, 1)))
        for p in D.parameters():
            p.requires_grad_(False)
        stepped(oG, criterion(D(G(torch.randn(8, 3))), torch.ones(8, 1)))


@whole
def cycle_of_two_generators(torch):
    A, B, D = mlp(torch, 4, 6, 4), mlp(torch, 4, 6, 4), mlp(torch, 4, 6, 1)
    oG, oD = torch.optim.Adam(weights(A, B), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
    for _ in range(3):
        x, y = torch.randn(6, 4), torch.randn(6, 4) + 1
        D.requires_grad_(False)
        fake = A(x)
        loss = (D(fake) - 1).pow(2).mean() + (B(fake) - x).abs().mean() + (A(B(y)) - y).abs().mean()
        stepped(oG, loss)
        D.requires_grad_(True)
        stepped(oD, (D(y) - 1).pow(2).mean() + D(fake.detach()).pow(2).mean())


@whole
def lora(torch):
    nn = torch.nn

    class Adapted(nn.Module):
        def __init__(self, base, rank=2):
            super().__init__()
            self.base = base.requires_grad_(False)
            self.A = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
            self.B = nn.Parameter(torch.zeros(base.out_features, rank))

        def forward(self, x):
            return self.base(x) + x @ self.A.T @ self.B.T

    net = nn.Sequential(Adapted(nn.Linear(6, 8)), nn.ReLU(), Adapted(nn.Linear(8, 3)))
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3)
    x, y = classes(torch)
    for _ in range(4):
        stepped(optimizer, nn.functional.cross_entropy(net(x), y))


@whole
def frozen_batch_norm(torch):
    nn = torch.nn
    body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
    head = nn.Linear(8, 3)
    body[1].eval()
    body[1].requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in weights(body, head) if p.requires_grad], lr=0.01)
    x, y = classes(torch)
    for _ in range(3):
        stepped(optimizer, nn.functional.cross_entropy(head(body(x)), y))


@whole
def warm_up_and_cosine(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x, y = classes(torch)
    for step in range(6):
        factor = min(1, step / 2) * 0.5 * (1 + math.cos(math.pi * step / 6))
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * factor
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))


@whole
def ppo(torch):
    F = torch.nn.functional
    actor, critic = mlp(torch, 4, 8, 2), mlp(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(weights(actor, critic), lr=1e-3)
    for _ in range(2):
        states, returns = torch.randn(10, 4), torch.randn(10)
        with torch.no_grad():
            old = F.log_softmax(actor(states), dim=-1)
            actions = old.exp().argmax(dim=-1)
            old = old.gather(1, actions[:, None]).squeeze(1)
            advantage = returns - critic(states).squeeze(1)
        for _epoch in range(3):
            logits = F.log_softmax(actor(states), dim=-1)
            ratio = (logits.gather(1, actions[:, None]).squeeze(1) - old).exp()
            clipped = ratio.clamp(0.8, 1.2)
            gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
            value = F.mse_loss(critic(states).squeeze(1), returns)
            entropy = -(logits.exp() * logits).sum(dim=-1).mean()
            optimizer.zero_grad()
            (-gain + 0.5 * value - 0.01 * entropy).backward()
            torch.nn.utils.clip_grad_norm_(weights(actor, critic), 0.5)
            optimizer.step()


@whole
def contrastive(torch):
    F = torch.nn.functional
    encoder, projector = mlp(torch, 6, 8, 8), mlp(torch, 8, 8, 4)
    optimizer = torch.optim.Adam(weights(encoder, projector), lr=1e-3)
    x = torch.randn(6, 6)
    for _ in range(3):
        views = torch.cat([x + 0.1 * torch.randn(6, 6), x + 0.1 * torch.randn(6, 6)])
        z = F.normalize(projector(encoder(views)), dim=1)
        scores = z @ z.T / 0.5
        scores = scores.masked_fill(torch.eye(12) > 0, float("-inf"))
        stepped(optimizer, F.cross_entropy(scores, (torch.arange(12) + 6) % 12))


@whole
def accumulation_over_micro_batches(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for step in range(8):
        part = slice(step % 4 * 3, step % 4 * 3 + 3)
        (torch.nn.functional.cross_entropy(net(x[part]), y[part]) / 4).backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


@whole
def moving_average_of_weights(torch):
    net = mlp(torch, 6, 8, 3)
    teacher = copy.deepcopy(net)
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    F = torch.nn.functional
    for _ in range(4):
        with torch.no_grad():
            target = teacher(x).softmax(dim=1)
        out = net(x)
        stepped(optimizer, F.cross_entropy(out, y) + (out.softmax(dim=1) - target).pow(2).mean())
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), net.parameters(), strict=True):
                slow.mul_(0.99).add_(fast, alpha=0.01)


@whole
def checkpointed_blocks(torch):
    checkpoint = __import__(f"{torch.__name__}.utils.checkpoint", fromlist=["checkpoint"]).checkpoint
    blocks = torch.nn.ModuleList([mlp(torch, 6, 12, 6) for _ in range(3)])
    head = torch.nn.Linear(6, 3)
    optimizer = torch.optim.Adam(weights(blocks, head), lr=1e-3)
    x, y = classes(torch)
    for _ in range(3):
        h = x
        for block in blocks:
            h = h + checkpoint(block, h, use_reentrant=False)
        stepped(optimizer, torch.nn.functional.cross_entropy(head(h), y))


@whole
def loss_scaled_by_hand(torch):
    net, scale = mlp(torch, 6, 8, 3), 1024.0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for _ in range(4):
        optimizer.zero_grad()
        (torch.nn.functional.cross_entropy(net(x), y) * scale).backward()
        for p in net.parameters():
            p.grad.div_(scale)
        optimizer.step()


@whole
def truncated_backpropagation(torch):
    nn = torch.nn
    cell, head = nn.GRUCell(2, 6), nn.Linear(6, 1)
    optimizer = torch.optim.Adam(weights(cell, head), lr=1e-3)
    x = torch.randn(12, 4, 2)
    h = torch.zeros(4, 6)
    for begin in range(0, 12, 4):
        h = h.detach()
        loss = 0.0
        for t in range(begin, begin + 4):
            h = cell(x[t], h)
            loss = loss + (head(h) - x[t].sum(dim=1, keepdim=True)).pow(2).mean()
        stepped(optimizer, loss)


@whole
def tied_weights(torch):
    nn = torch.nn

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(9, 6), nn.Linear(6, 9, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, tokens):
            return self.out(self.embed(tokens).cumsum(dim=1))

    net = Tied()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    tokens = torch.randint(0, 9, (4, 6))
    for _ in range(3):
        scores = net(tokens[:, :-1])
        stepped(optimizer, nn.functional.cross_entropy(scores.reshape(-1, 9), tokens[:, 1:].reshape(-1)))


@whole
def clipped_by_value(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = classes(torch)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        torch.nn.utils.clip_grad_value_(net.parameters(), 0.05)
        optimizer.step()


@whole
def lbfgs(torch):
    w = torch.tensor([-1.0, 1.5], requires_grad=True)
    optimizer = torch.optim.LBFGS([w], lr=0.5, max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = (1 - w[0]) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)


@whole
def meta_learning(torch):
    w = torch.randn(3, 1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.05)
    for _ in range(3):
        total = 0.0
        for _task in range(2):
            x, truth = torch.randn(6, 3), torch.randn(3, 1)
            inner = (x @ w - x @ truth).pow(2).mean()
            (g,) = torch.autograd.grad(inner, w, create_graph=True)
            fast = w - 0.1 * g
            total = total + (x @ fast - x @ truth).pow(2).mean()
        stepped(optimizer, total / 2)


@whole
def wasserstein_with_penalty(torch):
    G, D = mlp(torch, 3, 8, 4), mlp(torch, 4, 8, 1)
    oG, oD = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
    for step in range(4):
        real = torch.randn(6, 4) + 1
        fake = G(torch.randn(6, 3)).detach()
        part = torch.rand(6, 1)
        mixed = (part * real + (1 - part) * fake).requires_grad_(True)
        (slope,) = torch.autograd.grad(D(mixed).sum(), mixed, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).pow(2).mean()
        stepped(oD, D(fake).mean() - D(real).mean() + 10 * penalty)
        if step % 2:
            D.requires_grad_(False)
            stepped(oG, -D(G(torch.randn(6, 3))).mean())
            D.requires_grad_(True)


@whole
def hessian_vector_products(torch):
    net = mlp(torch, 3, 6, 1)
    parameters = weights(net)
    x = torch.randn(8, 3)
    direction = [torch.randn_like(p) for p in parameters]
    for _ in range(3):
        loss = net(x).pow(2).mean()
        slopes = torch.autograd.grad(loss, parameters, create_graph=True)
        dot = sum((s * d).sum() for s, d in zip(slopes, direction, strict=True))
        products = torch.autograd.grad(dot, parameters, allow_unused=True)
        direction = [torch.zeros_like(p) if h is None else h for p, h in zip(parameters, products, strict=True)]
        norm = sum(d.pow(2).sum() for d in direction).sqrt()
        direction = [d / (norm + 1e-8) for d in direction]


@whole
def several_tasks(torch):
    F = torch.nn.functional
    body, one, two = mlp(torch, 6, 8, 8), torch.nn.Linear(8, 3), torch.nn.Linear(8, 1)
    spread = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([*weights(body, one, two), spread], lr=1e-3)
    x, y = classes(torch)
    for _ in range(4):
        h = body(x).relu()
        losses = torch.stack([F.cross_entropy(one(h), y), F.mse_loss(two(h), x[:, :1])])
        stepped(optimizer, (losses * (-spread).exp() + spread).sum())


@whole
def tasks_in_turn(torch):
    F = torch.nn.functional
    body, one, two = mlp(torch, 6, 8, 8), torch.nn.Linear(8, 3), torch.nn.Linear(8, 1)
    optimizer = torch.optim.Adam(weights(body, one, two), lr=1e-3)
    x, y = classes(torch)
    for step in range(6):
        h = body(x)
        stepped(optimizer, F.mse_loss(two(h), x[:, :1]) if step % 2 else F.cross_entropy(one(h), y))


@whole
def dropout_and_evaluation(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, y = classes(torch)
    best = math.inf
    for _ in range(3):
        net.train()
        for part in (slice(0, 6), slice(6, 12)):
            stepped(optimizer, nn.functional.cross_entropy(net(x[part]), y[part]))
        net.eval()
        with torch.no_grad():
            best = min(best, nn.functional.cross_entropy(net(x), y).item())


@whole
def distillation(torch):
    F = torch.nn.functional
    teacher, student = mlp(torch, 6, 16, 3), mlp(torch, 6, 4, 3)
    teacher.eval()
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
    x, y = classes(torch)
    for _ in range(3):
        with torch.no_grad():
            soft = (teacher(x) / 2).softmax(dim=1)
        out = student(x)
        told = F.kl_div((out / 2).log_softmax(dim=1), soft, reduction="batchmean") * 4
        stepped(optimizer, 0.5 * told + 0.5 * F.cross_entropy(out, y))


@whole
def q_learning(torch):
    F = torch.nn.functional
    online = mlp(torch, 4, 8, 2)
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    for step in range(6):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        action = torch.randint(0, 2, (8, 1))
        with torch.no_grad():
            goal = reward + 0.9 * target(after).max(dim=1).values
        stepped(optimizer, F.smooth_l1_loss(online(state).gather(1, action).squeeze(1), goal))
        if step % 3 == 2:
            target.load_state_dict(online.state_dict())


@whole
def actor_and_critic_with_two_optimizers(torch):
    actor, critic = mlp(torch, 3, 8, 1), mlp(torch, 4, 8, 1)
    oa, oc = torch.optim.Adam(actor.parameters(), lr=1e-3), torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(4):
        s, a, r = torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1)
        stepped(oc, (critic(torch.cat([s, a], dim=1)) - r).pow(2).mean())
        oa.zero_grad()
        (-critic(torch.cat([s, actor(s)], dim=1)).mean()).backward()
        oa.step()


@whole
def variational(torch):
    F = torch.nn.functional
    encoder, decoder = mlp(torch, 6, 8, 4), mlp(torch, 2, 8, 6)
    optimizer = torch.optim.Adam(weights(encoder, decoder), lr=1e-3)
    x = torch.rand(8, 6)
    for _ in range(3):
        mean, spread = encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        rebuilt = F.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") / 8
        kl = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum(dim=1).mean()
        stepped(optimizer, rebuilt + kl)


@whole
def quantized_codes(torch):
    encoder, decoder = mlp(torch, 6, 8, 4), mlp(torch, 4, 8, 6)
    codes = torch.nn.Parameter(torch.randn(5, 4) * 0.5)
    optimizer = torch.optim.Adam([*weights(encoder, decoder), codes], lr=1e-3)
    x = torch.randn(8, 6)
    for _ in range(3):
        z = encoder(x)
        nearest = (z[:, None] - codes[None]).pow(2).sum(dim=2).argmin(dim=1)
        chosen = codes[nearest]
        through = z + (chosen - z).detach()
        loss = (decoder(through) - x).pow(2).mean()
        loss = loss + (chosen - z.detach()).pow(2).mean() + 0.25 * (z - chosen.detach()).pow(2).mean()
        stepped(optimizer, loss)


@whole
def denoising(torch):
    net = mlp(torch, 3, 16, 2)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    kept = torch.cumprod(1 - torch.linspace(1e-3, 0.2, 10), dim=0)
    for _ in range(4):
        x, t, noise = torch.randn(16, 2), torch.randint(0, 10, (16,)), torch.randn(16, 2)
        noisy = kept[t].sqrt()[:, None] * x + (1 - kept[t]).sqrt()[:, None] * noise
        stepped(optimizer, (net(torch.cat([noisy, t[:, None] / 10], dim=1)) - noise).pow(2).mean())


@whole
def causal_attention(torch):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.norm = nn.LayerNorm(width)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            mask = torch.triu(torch.ones(x.shape[1], x.shape[1]), diagonal=1) > 0
            return x + self.out(scores.masked_fill(mask, float("-inf")).softmax(dim=-1) @ v)

    net = nn.Sequential(nn.Embedding(9, 8), Block(8), Block(8), nn.Linear(8, 9))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    tokens = torch.randint(0, 9, (4, 7))
    for _ in range(3):
        scores = net(tokens[:, :-1])
        stepped(optimizer, F.cross_entropy(scores.reshape(-1, 9), tokens[:, 1:].reshape(-1)))


@whole
def curriculum(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for step in range(4):
        losses = torch.nn.functional.cross_entropy(net(x), y, reduction="none")
        easy = losses.detach().argsort()[: 4 + 2 * step]
        stepped(optimizer, losses[easy].mean())


@whole
def averaged_weights(torch):
    net = mlp(torch, 6, 8, 3)
    mean = [p.detach().clone() for p in net.parameters()]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for step in range(4):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))
        for kept, p in zip(mean, net.parameters(), strict=True):
            kept += (p.detach() - kept) / (step + 2)
    with torch.no_grad():
        for kept, p in zip(mean, net.parameters(), strict=True):
            p.copy_(kept)


@whole
def reversed_gradient(torch):
    F = torch.nn.functional

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return -grad

    body, label, domain = mlp(torch, 6, 8, 8), torch.nn.Linear(8, 3), torch.nn.Linear(8, 2)
    optimizer = torch.optim.Adam(weights(body, label, domain), lr=1e-3)
    x, y = classes(torch)
    for _ in range(3):
        h = body(x)
        stepped(optimizer, F.cross_entropy(label(h), y) + F.cross_entropy(domain(Reverse.apply(h)), y % 2))


@whole
def hooks_that_scale(torch):
    net = mlp(torch, 6, 8, 3)
    net[0].weight.register_hook(lambda grad: grad * 0.5)
    net[2].weight.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for _ in range(3):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))


@whole
def siamese(torch):
    F = torch.nn.functional
    net = mlp(torch, 6, 8, 4)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(3):
        anchor, near, far = torch.randn(6, 6), torch.randn(6, 6), torch.randn(6, 6)
        a, p, n = net(anchor), net(near), net(far)
        stepped(optimizer, F.relu((a - p).pow(2).sum(dim=1) - (a - n).pow(2).sum(dim=1) + 5.0).mean())


@whole
def stopped_branch(torch):
    F = torch.nn.functional
    net, predictor = mlp(torch, 6, 8, 4), mlp(torch, 4, 8, 4)
    optimizer = torch.optim.SGD(weights(net, predictor), lr=0.05)
    x = torch.randn(8, 6)
    for _ in range(3):
        one, two = net(x + 0.1 * torch.randn(8, 6)), net(x + 0.1 * torch.randn(8, 6))
        loss = -F.cosine_similarity(predictor(one), two.detach(), dim=1).mean()
        stepped(optimizer, loss - F.cosine_similarity(predictor(two), one.detach(), dim=1).mean())


@whole
def learned_beginning(torch):
    cell, head = torch.nn.RNNCell(2, 6), torch.nn.Linear(6, 1)
    begin = torch.nn.Parameter(torch.zeros(1, 6))
    optimizer = torch.optim.Adam([*weights(cell, head), begin], lr=1e-3)
    x = torch.randn(5, 4, 2)
    for _ in range(3):
        h = begin.expand(4, 6)
        for t in range(5):
            h = cell(x[t], h)
        stepped(optimizer, (head(h) - x.sum(dim=(0, 2))[:, None]).pow(2).mean())


@whole
def pruned(torch):
    net = mlp(torch, 6, 12, 3)
    mask = (net[0].weight.detach().abs() > 0.15).float()
    with torch.no_grad():
        net[0].weight.mul_(mask)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        net[0].weight.grad.mul_(mask)
        optimizer.step()


@whole
def groups_of_parameters(torch):
    body, head = mlp(torch, 6, 8, 8), torch.nn.Linear(8, 3)
    optimizer = torch.optim.SGD([{"params": body.parameters(), "lr": 1e-3}, {"params": head.parameters()}], lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    x, y = classes(torch)
    for _ in range(4):
        stepped(optimizer, torch.nn.functional.cross_entropy(head(body(x)), y))
        scheduler.step()


@whole
def unfrozen_by_and_by(torch):
    net = torch.nn.Sequential(*[mlp(torch, 6, 8, 6) for _ in range(2)], torch.nn.Linear(6, 3))
    for p in weights(net[0], net[1]):
        p.requires_grad_(False)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, y = classes(torch)
    for epoch in range(3):
        if epoch:
            for p in net[2 - epoch].parameters():
                p.requires_grad_(True)
        for _ in range(2):
            stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))


@whole
def sharpness_aware(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            norm = sum(p.grad.pow(2).sum() for p in net.parameters()).sqrt()
            moved = [0.05 * p.grad / norm for p in net.parameters()]
            for p, m in zip(net.parameters(), moved, strict=True):
                p.add_(m)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            for p, m in zip(net.parameters(), moved, strict=True):
                p.sub_(m)
        optimizer.step()


@whole
def adversarial_examples(torch):
    F = torch.nn.functional
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for _ in range(3):
        attacked = x.clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(F.cross_entropy(net(attacked), y), attacked)
        stepped(optimizer, F.cross_entropy(net((attacked + 0.1 * slope.sign()).detach()), y))


@whole
def style_of_an_image(torch):
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(3, 3, 3))
    for p in net.parameters():
        p.requires_grad_(False)
    image = torch.rand(1, 1, 8, 8).requires_grad_(True)
    with torch.no_grad():
        goal = net(torch.rand(1, 1, 8, 8))
    optimizer = torch.optim.Adam([image], lr=0.02)
    for _ in range(4):
        stepped(optimizer, (net(image) - goal).pow(2).mean())
        with torch.no_grad():
            image.clamp_(0, 1)


@whole
def early_stopping(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, y = classes(torch)
    best, kept, waited = math.inf, None, 0
    for _ in range(5):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x[:8]), y[:8]))
        with torch.no_grad():
            value = torch.nn.functional.cross_entropy(net(x[8:]), y[8:]).item()
        if value < best:
            best, kept, waited = value, copy.deepcopy(net.state_dict()), 0
        else:
            waited += 1
        if waited == 2:
            break
    net.load_state_dict(kept)


@whole
def gradients_of_each_layer(torch):
    net = mlp(torch, 6, 8, 8, 3)
    x, y = classes(torch)
    outs = []
    h = x
    for layer in net:
        h = layer(h)
        h.retain_grad()
        outs.append(h)
    torch.nn.functional.cross_entropy(h, y).backward()
    assert all(each.grad is not None for each in outs)


@whole
def sparse_experts(torch):
    experts = torch.nn.ModuleList([mlp(torch, 6, 8, 3) for _ in range(3)])
    router = torch.nn.Linear(6, 3)
    optimizer = torch.optim.Adam(weights(experts, router), lr=1e-3)
    x, y = classes(torch, samples=24)
    for _ in range(3):
        share = router(x).softmax(dim=1)
        top, index = share.topk(2, dim=1)
        out = torch.zeros(24, 3)
        for number, expert in enumerate(experts):
            rows, place = torch.nonzero(index == number, as_tuple=True)
            if len(rows):
                out = out.index_add(0, rows, expert(x[rows]) * top[rows, place][:, None])
        balance = 3 * (share.mean(dim=0) ** 2).sum()
        stepped(optimizer, torch.nn.functional.cross_entropy(out, y) + 0.01 * balance)


@whole
def hinge_of_triplets(torch):
    """Triplets that are far enough apart give exactly zero."""
    embed = mlp(torch, 6, 24, 4)
    optimizer = torch.optim.SGD(embed.parameters(), lr=0.01, momentum=0.9)
    centers = 0.5 * torch.randn(2, 6)
    for _ in range(4):
        anchor, positive = (embed(centers[0] + 0.5 * torch.randn(16, 6)) for _ in range(2))
        negative = embed(centers[1] + 0.5 * torch.randn(16, 6))
        near, far = (anchor - positive).square().sum(1), (anchor - negative).square().sum(1)
        stepped(optimizer, torch.relu(near - far + 0.5).mean())
