"""Eight programs in plain PyTorch, each a cell that can be pasted into a notebook.

The last paragraph of a cell, what follows its last blank line, is what runs. Those above it make what it needs.
"""
# ruff: noqa: E402

# %% scalar
import torch

a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)

c = a * b
d = c + a**2
e = d / (b - 1)
loss = e.exp() + c
loss.backward()

# %% MLP
import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 4)

    def forward(self, x):
        h = torch.relu(self.fc1(x))
        h = torch.relu(self.fc2(h))
        return self.fc3(h)


net = MLP()
x, y = torch.randn(8, 16), torch.randint(4, (8,))

loss = F.cross_entropy(net(x), y)
loss.backward()

# %% ResNet
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.down = None
        if stride > 1:
            self.down = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        out = torch.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.down is not None:
            x = self.down(x)
        return torch.relu(out + x)


class ResNet18(nn.Module):
    def __init__(self, n, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, n, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(n)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Block(n, n, 1), Block(n, n, 1))
        self.layer2 = nn.Sequential(Block(n, 2 * n, 2), Block(2 * n, 2 * n, 1))
        self.layer3 = nn.Sequential(Block(2 * n, 4 * n, 2), Block(4 * n, 4 * n, 1))
        self.layer4 = nn.Sequential(Block(4 * n, 8 * n, 2), Block(8 * n, 8 * n, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8 * n, classes)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


net = ResNet18(16, 10)
x, y = torch.randn(2, 3, 64, 64), torch.randint(10, (2,))

loss = F.cross_entropy(net(x), y)
loss.backward()

# %% attention
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, heads):
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


net = Attention(16, 4)
x = torch.randn(2, 6, 16)

loss = (net(x) ** 2).mean()
loss.backward()

# %% RNN
import torch
import torch.nn.functional as F
from torch import nn


class RNN(nn.Module):
    def __init__(self, n, hidden):
        super().__init__()
        self.hidden = hidden
        self.ih = nn.Linear(n, hidden)
        self.hh = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, 2)

    def forward(self, xs):
        h = torch.zeros(xs.shape[1], self.hidden)
        for x in xs:
            h = torch.tanh(self.ih(x) + self.hh(h))
        return self.head(h)


net = RNN(3, 8)
xs, y = torch.randn(20, 4, 3), torch.randint(2, (4,))

loss = F.cross_entropy(net(xs), y)
loss.backward()

# %% VAE
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, n, hidden, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n, hidden), nn.ReLU())
        self.to_mu = nn.Linear(hidden, latent)
        self.to_logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, n), nn.Sigmoid())

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.to_mu(h), self.to_logvar(h)
        z = mu + torch.randn(mu.shape) * (logvar / 2).exp()
        return self.decoder(z), mu, logvar


net = VAE(64, 32, 4)
x = torch.rand(8, 64)

decoded, mu, logvar = net(x)
reconstruction = F.binary_cross_entropy(decoded, x)
kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).mean()
loss = reconstruction + kl
loss.backward()

# %% gradient penalty
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
real, fake = torch.randn(8, 2), torch.randn(8, 2)
t = torch.rand(8, 1)

between = (t * real + (1 - t) * fake).requires_grad_()
score = critic(between)
(slope,) = torch.autograd.grad(score.sum(), between, create_graph=True)
penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
loss.backward()

# %% ten training steps
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(32, 4), torch.randint(3, (32,))

for _ in range(10):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
