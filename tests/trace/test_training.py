"""Small models that learn as PyTorch's: losses, parameters, running statistics and optimizers' states of each step."""

from __future__ import annotations

from typing import Any

import pytest
from module_samples import filled
from oracle import compare
from test_module_scopes import scopes

import workbench as w
from workbench.func import functional_call, grad, vmap


def moons(torch: Any) -> tuple[Any, Any, Any]:
    """An MLP that separates two curves."""
    n = torch.nn
    net = n.Sequential(n.Linear(2, 5), n.Tanh(), n.Linear(5, 5), n.SiLU(), n.Linear(5, 1), n.Flatten(0))
    t = torch.linspace(0, 3, 6, dtype=torch.float64)
    x = torch.cat([torch.stack([t.cos(), t.sin()], 1), torch.stack([1 - t.cos(), 0.5 - t.sin()], 1)])
    y = (torch.arange(12) < 6).double()
    return net, x, lambda out: n.functional.binary_cross_entropy_with_logits(out, y)


def images(torch: Any) -> tuple[Any, Any, Any]:
    """A convolutional net with normalization, which would take a bias away again, for three classes."""
    n = torch.nn
    net = n.Sequential(
        n.Conv2d(1, 3, 3, padding=1, bias=False), n.BatchNorm2d(3), n.GELU(), n.MaxPool2d(2), n.AvgPool2d(2, 1),
        n.Flatten(), n.BatchNorm1d(6), n.Linear(6, 3),
    )  # fmt: skip
    x = (torch.arange(120, dtype=torch.float64) ** 2 % 101 / 50 - 1).reshape(5, 1, 4, 6)  # no two maxima are equal
    y = torch.tensor([0, 2, 1, 1, 0])
    return net, x, lambda out: n.functional.cross_entropy(out, y)


def characters(torch: Any) -> tuple[Any, Any, Any]:
    """A character model: each letter of a text told from those before it."""
    n = torch.nn

    class Model(n.Module):
        def __init__(self):
            super().__init__()
            self.letters = n.Embedding(5, 3)
            self.memory = n.GRU(3, 4, batch_first=True)
            self.head = n.Linear(4, 5)

        def forward(self, x):
            return self.head(self.memory(self.letters(x))[0])

    text = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2], [4, 3, 2, 1, 0, 4, 3, 2]])
    return Model(), text[:, :-1], lambda out: n.functional.cross_entropy(out.flatten(0, 1), text[:, 1:].flatten())


def sequences(torch: Any) -> tuple[Any, Any, Any]:
    """A small transformer with a causal mask."""
    n = torch.nn

    class Model(n.Module):
        def __init__(self):
            super().__init__()
            layer = n.TransformerEncoderLayer(4, 2, 6, 0.0, "gelu", batch_first=True, norm_first=True)
            self.encoder = n.TransformerEncoder(layer, 2, n.LayerNorm(4), enable_nested_tensor=False)
            self.head = n.Linear(4, 2)

        def forward(self, x):
            return self.head(self.encoder(x, torch.ones(3, 3, dtype=torch.bool).triu(1)))

    x = ((torch.arange(24, dtype=torch.float64) * 5) % 11 / 4 - 1).reshape(2, 3, 4)
    return Model(), x, lambda out: (out - torch.tensor([1.0, -1.0])).square().mean()


MODELS = {each.__name__: each for each in (moons, images, characters, sequences)}
OPTIMIZERS = {
    "moons": "SGD(p, 0.5, 0.9, nesterov=True, weight_decay=0.01)",
    "images": "AdamW(p, 0.02, weight_decay=0.1)",
    "characters": "Adam(p, 0.02, amsgrad=True)",
    "sequences": "SGD([{'params': p[:5]}, {'params': p[5:], 'lr': 0.1}], 0.05, 0.5, 0.25)",
}


def added_up(torch: Any, tensors: Any) -> list[Any]:
    """A number for each tensor, in which no two elements count the same."""
    marks = [torch.arange(1, t.numel() + 1, dtype=torch.float64).sqrt().reshape(t.shape) for t in tensors]
    return [(t * mark).sum().detach() for t, mark in zip(tensors, marks, strict=True)]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_learns_as_pytorchs(name: str) -> None:
    def program(torch: Any) -> Any:
        net, x, loss_of = MODELS[name](torch)
        filled(torch, net).double()
        p, losses = list(net.parameters()), []
        optimizer = eval(f"torch.optim.{OPTIMIZERS[name]}", {"torch": torch, "p": p})
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        for _ in range(5):
            optimizer.zero_grad()
            loss = loss_of(net(x))
            loss.backward()
            losses += [loss.item(), torch.nn.utils.clip_grad_norm_(p, 0.5).item()]
            optimizer.step()
            schedule.step()
        state = [t for kept in optimizer.state_dict()["state"].values() for t in kept.values()]
        after = net.eval()(x).sum().detach()
        return losses, after, added_up(torch, p), added_up(torch, [*net.buffers()]), added_up(torch, state)

    compare(program)


def test_scopes_nest_as_the_modules_of_a_transformer_do() -> None:
    net, x, _ = sequences(w)
    inside = [f"Model/encoder/layers/{k}" for k in range(2)]
    each = ["", "/norm1", "/norm2", "/self_attn", "/self_attn/out_proj", "/linear1", "/linear2"]
    wanted = {layer + part for layer in inside for part in each} | {"Model/encoder/norm", "Model/head"}
    assert {*scopes(net.double()(x))} == wanted


@pytest.mark.parametrize("name", ["characters", "sequences"])
def test_gradients_of_each_sample(name: str) -> None:
    net, x, _ = MODELS[name](w)
    filled(w, net).double()
    params = {key: p.detach() for key, p in net.named_parameters()}

    def loss(params: Any, x: w.Tensor) -> w.Tensor:
        return functional_call(net, params, (x.unsqueeze(0),)).pow(2).sum()

    together = vmap(grad(loss), (None, 0))(params, x)
    for k in range(2):
        for key, one in grad(loss)(params, x[k]).items():
            assert w.allclose(together[key][k], one) and one.abs().sum() > 0, key
