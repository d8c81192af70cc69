"""Habits of people who train: by hand, in parts, with several models and optimizers; nothing is wrong with any."""

from __future__ import annotations

import copy
import math

from .parts import classes, mlp, weights
from .practice import stepped, whole


@whole
def growing_examples(torch):
    x = torch.arange(4.0, requires_grad=True)
    for n in range(1, 5):
        y = x
        for _ in range(n):
            y = y * x
        y.sum().backward()
        str(x.grad)
        x.grad = None


@whole
def newton(torch):
    x = torch.tensor(2.0, requires_grad=True)
    for _ in range(5):
        f = x**3 - 2
        (df,) = torch.autograd.grad(f, x)
        with torch.no_grad():
            x -= f / df


@whole
def element_update(torch):
    w = torch.ones(3, requires_grad=True)
    for i in range(3):
        (w**2).sum().backward()
        with torch.no_grad():
            w[i] -= 0.1 * w.grad[i]
        w.grad.zero_()


@whole
def gradient_descent_rebinding(torch):
    w = torch.ones(3, requires_grad=True)
    x, y = (torch.randn(8, 3), torch.randn(8))
    for _ in range(4):
        loss = (x @ w - y).pow(2).mean()
        loss.backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_(True)


@whole
def functional_steps(torch):
    params = [torch.randn(3, 4, requires_grad=True), torch.zeros(4, requires_grad=True)]
    x, y = (torch.randn(8, 3), torch.randn(8, 4))
    for _ in range(4):
        g = torch.autograd.grad((x @ params[0] + params[1] - y).pow(2).mean(), params)
        params = [(p - 0.1 * d).detach().requires_grad_() for p, d in zip(params, g, strict=True)]


@whole
def log_losses(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    history = []
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        history.append(loss.item())
        stepped(optimizer, loss)


@whole
def keep_losses_tensors_detached(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    history = []
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        history.append(loss.detach())
        stepped(optimizer, loss)
    torch.stack(history).mean()


@whole
def caught_errors_teaching(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as e:
        str(e)
    x.grad = None
    try:
        x.add_(1)
    except RuntimeError as e:
        str(e)
    (x * 3).exp().sum().backward()


@whole
def only_part_used(torch):

    class Net(torch.nn.Module):
        def __init__(s):
            super().__init__()
            s.a = torch.nn.Linear(6, 6)
            s.b = torch.nn.Linear(6, 3)

        def forward(s, x):
            return s.b(s.a(x).relu())

    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    x, y = classes(torch)
    net(x).sum()
    for _ in range(3):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))


@whole
def linear_probe(torch):
    body = mlp(torch, 6, 8, 8)
    head = torch.nn.Linear(8, 3)
    optimizer = torch.optim.Adam(head.parameters())
    x, y = classes(torch)
    with torch.no_grad():
        features = body(x)
    for _ in range(3):
        stepped(optimizer, torch.nn.functional.cross_entropy(head(features), y))


@whole
def linear_probe_detach(torch):
    body = mlp(torch, 6, 8, 8)
    head = torch.nn.Linear(8, 3)
    optimizer = torch.optim.Adam(head.parameters())
    x, y = classes(torch)
    for _ in range(3):
        stepped(optimizer, torch.nn.functional.cross_entropy(head(body(x).detach()), y))


@whole
def stochastic_depth(torch):
    blocks = torch.nn.ModuleList([mlp(torch, 6, 8, 6) for _ in range(3)])
    head = torch.nn.Linear(6, 3)
    optimizer = torch.optim.SGD(weights(blocks, head), lr=0.05)
    x, y = classes(torch)
    for step in range(6):
        h = x
        for i, b in enumerate(blocks):
            if (step + i) % 3:
                h = h + b(h)
        stepped(optimizer, torch.nn.functional.cross_entropy(head(h), y))


@whole
def scheduled_one_cycle(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.0001)
    s = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    x, y = classes(torch)
    for _ in range(6):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))
        s.step()


@whole
def two_optimizers_one_backward(torch):
    a, b = (mlp(torch, 6, 8, 6), mlp(torch, 6, 8, 3))
    oa, ob = (torch.optim.SGD(a.parameters(), lr=0.05), torch.optim.Adam(b.parameters(), lr=0.001))
    x, y = classes(torch)
    for _ in range(4):
        oa.zero_grad()
        ob.zero_grad()
        torch.nn.functional.cross_entropy(b(a(x)), y).backward()
        oa.step()
        ob.step()


@whole
def ensemble(torch):
    nets = [mlp(torch, 6, 8, 3) for _ in range(3)]
    os = [torch.optim.SGD(n.parameters(), lr=0.05) for n in nets]
    x, y = classes(torch)
    for _ in range(3):
        for n, optimizer in zip(nets, os, strict=True):
            stepped(optimizer, torch.nn.functional.cross_entropy(n(x), y))
    with torch.no_grad():
        sum(n(x).softmax(1) for n in nets) / 3


@whole
def k_fold(torch):
    x, y = classes(torch)
    for fold in range(3):
        net = mlp(torch, 6, 8, 3)
        optimizer = torch.optim.Adam(net.parameters())
        rows = torch.arange(12) % 3 != fold
        for _ in range(3):
            stepped(optimizer, torch.nn.functional.cross_entropy(net(x[rows]), y[rows]))
        with torch.no_grad():
            net(x[~rows]).argmax(1)


@whole
def padded_language_model(torch):
    nn = torch.nn
    emb, rnn, out = (nn.Embedding(9, 6, padding_idx=0), nn.GRU(6, 8, batch_first=True), nn.Linear(8, 9))
    optimizer = torch.optim.Adam(weights(emb, rnn, out), lr=0.001)
    t = torch.randint(1, 9, (4, 7))
    t[0, 4:] = 0
    for _ in range(3):
        s = out(rnn(emb(t[:, :-1]))[0])
        stepped(optimizer, nn.functional.cross_entropy(s.reshape(-1, 9), t[:, 1:].reshape(-1), ignore_index=0))


@whole
def lstm_last_state(torch):
    nn = torch.nn
    rnn, out = (nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(weights(rnn, out), lr=0.001)
    for _ in range(3):
        x = torch.randn(6, 5, 3)
        _, (h, c) = rnn(x)
        stepped(optimizer, nn.functional.cross_entropy(out(h[-1]), (x.sum((1, 2)) > 0).long()))


@whole
def seq2seq(torch):
    nn = torch.nn
    emb, enc, dec, out = (nn.Embedding(8, 6), nn.GRUCell(6, 8), nn.GRUCell(6, 8), nn.Linear(8, 8))
    optimizer = torch.optim.Adam(weights(emb, enc, dec, out), lr=0.001)
    src = torch.randint(0, 8, (4, 4))
    for _ in range(3):
        h = torch.zeros(4, 8)
        for t in range(4):
            h = enc(emb(src[:, t]), h)
        tok, loss = (torch.zeros(4, dtype=torch.int64), 0)
        for t in range(4):
            h = dec(emb(tok), h)
            s = out(h)
            loss = loss + nn.functional.cross_entropy(s, src[:, 3 - t])
            tok = s.argmax(1)
        stepped(optimizer, loss / 4)


@whole
def reinforce(torch):
    pi = mlp(torch, 4, 8, 3)
    optimizer = torch.optim.Adam(pi.parameters(), lr=0.001)
    base = 0.0
    for _ in range(4):
        s = torch.randn(10, 4)
        lp = pi(s).log_softmax(1)
        with torch.no_grad():
            a = torch.multinomial(lp.exp(), 1)
            r = s.gather(1, a)[:, 0]
        base = 0.9 * base + 0.1 * r.mean().item()
        stepped(optimizer, -(lp.gather(1, a)[:, 0] * (r - base)).mean())


@whole
def gumbel(torch):
    net, dec = (mlp(torch, 6, 8, 4), mlp(torch, 4, 8, 6))
    optimizer = torch.optim.Adam(weights(net, dec), lr=0.001)
    x = torch.randn(8, 6)
    for _ in range(3):
        g = -(-torch.rand(8, 4).clamp(1e-06, 1 - 1e-06).log()).log()
        soft = ((net(x).log_softmax(1) + g) / 0.8).softmax(1)
        hard = torch.zeros_like(soft).scatter(1, soft.argmax(1, keepdim=True), 1.0)
        stepped(optimizer, (dec(hard - soft.detach() + soft) - x).pow(2).mean())


@whole
def neural_ode_euler(torch):
    f = mlp(torch, 2, 8, 2)
    optimizer = torch.optim.Adam(f.parameters(), lr=0.01)
    y0 = torch.randn(6, 2)
    for _ in range(3):
        y = y0
        for _ in range(8):
            y = y + 0.1 * f(y)
        stepped(optimizer, (y - torch.stack([y0[:, 1], -y0[:, 0]], 1)).pow(2).mean())


@whole
def normalizing_flow(torch):
    s, t = (mlp(torch, 1, 8, 1), mlp(torch, 1, 8, 1))
    optimizer = torch.optim.Adam(weights(s, t), lr=0.001)
    for _ in range(3):
        x = torch.randn(16, 2) * 2
        a, b = (x[:, :1], x[:, 1:])
        k = s(a).tanh()
        z = torch.cat([a, b * k.exp() + t(a)], 1)
        stepped(optimizer, (0.5 * z.pow(2).sum(1) - k.sum(1)).mean())


@whole
def energy_langevin(torch):
    e = mlp(torch, 2, 8, 1)
    optimizer = torch.optim.Adam(e.parameters(), lr=0.001)
    for _ in range(3):
        x = torch.randn(8, 2)
        for _ in range(3):
            x = x.detach().requires_grad_(True)
            (g,) = torch.autograd.grad(e(x).sum(), x)
            x = x - 0.1 * g + 0.05 * torch.randn_like(x)
        stepped(optimizer, e(torch.randn(8, 2) + 1).mean() - e(x.detach()).mean())


@whole
def word2vec(torch):
    nn = torch.nn
    c, w = (nn.Embedding(12, 6), nn.Embedding(12, 6))
    optimizer = torch.optim.SGD(weights(c, w), lr=0.1)
    for _ in range(4):
        i, j, n = (torch.randint(0, 12, (8,)), torch.randint(0, 12, (8,)), torch.randint(0, 12, (8, 3)))
        p = nn.functional.logsigmoid((c(i) * w(j)).sum(1))
        q = nn.functional.logsigmoid(-(w(n) @ c(i)[:, :, None])[..., 0]).sum(1)
        stepped(optimizer, -(p + q).mean())


@whole
def zero_init_residual(torch):

    class Residual(torch.nn.Module):
        def __init__(s):
            super().__init__()
            s.f = mlp(torch, 6, 8, 6)
            s.g = torch.nn.Parameter(torch.zeros(1))

        def forward(s, x):
            return x + s.g * s.f(x)

    net = torch.nn.Sequential(Residual(), Residual(), torch.nn.Linear(6, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    x, y = classes(torch)
    for _ in range(4):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))


@whole
def relu_head_regression(torch):
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1), torch.nn.Softplus())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(4):
        x = torch.randn(16, 4)
        stepped(optimizer, (net(x) - x.pow(2).sum(1, keepdim=True)).abs().mean())


@whole
def save_and_resume(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    x, y = classes(torch)
    for _ in range(2):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))
    state, ostate = (copy.deepcopy(net.state_dict()), copy.deepcopy(optimizer.state_dict()))
    net2 = mlp(torch, 6, 8, 3)
    net2.load_state_dict(state)
    o2 = torch.optim.Adam(net2.parameters(), lr=0.001)
    o2.load_state_dict(ostate)
    for _ in range(3):
        stepped(o2, torch.nn.functional.cross_entropy(net2(x), y))


@whole
def generator_in_loop(torch):

    def batches():
        for _ in range(4):
            x = torch.randn(8, 6)
            yield (x, x.sum(1, keepdim=True))

    net = mlp(torch, 6, 8, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    for x, y in batches():
        stepped(optimizer, torch.nn.functional.mse_loss(net(x), y))


TEXT = """
net = mlp(torch, 3, 4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(5, 3)).pow(2).mean().backward()
    optimizer.step()
"""


@whole
def executed_text(torch):
    exec(TEXT, {"torch": torch, "mlp": mlp})


@whole
def retain_and_two_losses(torch):
    net = mlp(torch, 6, 8, 8)
    a, b = (torch.nn.Linear(8, 3), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(weights(net, a, b), lr=0.05)
    x, y = classes(torch)
    for _ in range(3):
        h = net(x)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(a(h), y).backward(retain_graph=True)
        b(h).pow(2).mean().backward()
        optimizer.step()


@whole
def evaluation_first(torch):
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    net.eval()
    with torch.no_grad():
        net(x)
    net.train()
    for _ in range(3):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y))
    net.eval()
    with torch.inference_mode():
        net(x)


@whole
def regularized(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for _ in range(3):
        stepped(
            optimizer,
            torch.nn.functional.cross_entropy(net(x), y) + 0.001 * sum(p.abs().sum() for p in net.parameters()),
        )


@whole
def jacobian_rows(torch):
    net = mlp(torch, 3, 6, 2)
    x = torch.randn(3, requires_grad=True)
    y = net(x)
    [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(2)]
    net(x).sum().backward()


@whole
def triplet_of_critics(torch):
    net = mlp(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(3):
        a, b = (torch.randn(8, 4), torch.randn(8, 4))
        stepped(optimizer, torch.nn.functional.softplus(net(b) - net(a)).mean())


@whole
def class_weights(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    w = torch.tensor([1.0, 2.0, 0.5])
    for _ in range(3):
        stepped(optimizer, torch.nn.functional.cross_entropy(net(x), y, weight=w, label_smoothing=0.1))


@whole
def skip_nonfinite(torch):
    net = mlp(torch, 6, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = classes(torch)
    for _ in range(5):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        if not math.isfinite(loss.item()):
            continue
        stepped(optimizer, loss)
