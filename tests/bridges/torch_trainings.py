"""Forty small trainings, as many kinds of programs as there are: each gives a model, an optimizer, and one step.

A step computes what its gradients come from and calls the `backward` that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from functions import function, saved
from torch import nn
from torch.func import functional_call, grad, jacrev, vmap
from torch.utils.checkpoint import checkpoint

Backward = Callable[[Any], None]


class Training(NamedTuple):
    """What is trained, and by which steps."""

    model: Any
    optimizer: Any
    step: Callable[[Backward], None]


TRAININGS: dict[str, Callable[[], Training]] = {}


def of(model: Any, loss: Callable[[], Any], optimizer: Any = None) -> Training:
    """A training that clears its gradients, and computes one loss."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9) if optimizer is None else optimizer

    def step(backward: Backward) -> None:
        optimizer.zero_grad()
        backward(loss())
        optimizer.step()

    return Training(model, optimizer, step)


def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def data() -> tuple[Any, Any]:
    return torch.randn(6, 4), torch.randint(0, 3, (6,))


def classifier(make: Callable[[Any], Any], middle: Any = None) -> Training:
    """An MLP, with an optimizer of its parameters."""
    model, (x, y) = middle or mlp(), data()
    return of(model, lambda: F.cross_entropy(model(x), y), make(model.parameters()))


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1),
    "nesterov": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, 0.01),
    "adam_loop": lambda p: torch.optim.Adam(p, 0.01, foreach=False, amsgrad=True),
    "adamw_fused": lambda p: torch.optim.AdamW(p, 0.01, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, 0.1),
    "adamax": lambda p: torch.optim.Adamax(p, 0.01),
    "nadam": lambda p: torch.optim.NAdam(p, 0.01),
}
TRAININGS.update({name: lambda make=make: classifier(make) for name, make in OPTIMIZERS.items()})

MIDDLES: dict[str, Callable[[], Any]] = {
    "batch_norm": lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)),
    "layer_norm": lambda: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)),
    "dropout": lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.SiLU(), nn.Linear(8, 3)),
    "weight_norm": lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 8)), nn.Linear(8, 3)),
    "spectral_norm": lambda: nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 8)), nn.Linear(8, 3)),
    "frozen": lambda: nn.Sequential(nn.Linear(4, 8).requires_grad_(False), nn.ReLU(), nn.Linear(8, 3)),
    "prelu": lambda: nn.Sequential(nn.Linear(4, 8), nn.PReLU(8), nn.Linear(8, 3)),
}
TRAININGS.update({name: lambda make=make: classifier(OPTIMIZERS["sgd"], make()) for name, make in MIDDLES.items()})


def _checkpointed(reentrant: bool) -> Training:
    model, x = mlp(), torch.randn(6, 4, requires_grad=True)
    return of(model, lambda: checkpoint(model, x, use_reentrant=reentrant).square().mean())


TRAININGS["checkpoint"] = lambda: _checkpointed(False)
TRAININGS["checkpoint_reentrant"] = lambda: _checkpointed(True)


Cube = function(torch, lambda ctx, x: x**3, saved(lambda grad, x: 3 * x * x * grad), saves=True)


class Others:
    """Trainings of several statements."""

    def convolutions() -> Training:
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3))
        x, y = torch.randn(2, 1, 8, 8), torch.tensor([0, 2])
        return of(model, lambda: F.cross_entropy(model(x), y))

    def lstm() -> Training:
        model, x = nn.LSTM(3, 4, batch_first=True), torch.randn(2, 5, 3)

        def loss() -> Any:
            out, (h, c) = model(x)
            return out.square().mean() + h.sum() + c.sum()

        return of(model, loss)

    def gru_cells() -> Training:
        model, x = nn.GRUCell(3, 4), torch.randn(5, 2, 3)

        def loss() -> Any:
            h = torch.zeros(2, 4)
            for each in x:
                h = model(each, h)
            return h.square().sum()

        return of(model, loss)

    def attention() -> Training:
        model, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(2, 4, 8)
        return of(model, lambda: sum(each.square().mean() for each in model(x, x, x)))

    def encoder() -> Training:
        model, x = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.randn(2, 4, 8)
        return of(model, lambda: model(x).square().mean())

    def embedding_sparse() -> Training:
        model, ids = nn.Embedding(10, 4, sparse=True), torch.tensor([1, 3, 3, 7])
        return of(model, lambda: model(ids).square().sum(), torch.optim.SGD(model.parameters(), 0.1))

    def tied() -> Training:
        model, ids = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)), torch.tensor([1, 3, 3, 5])
        model[1].weight = model[0].weight
        return of(model, lambda: F.cross_entropy(model(ids), ids.roll(1)))

    def autocast() -> Training:
        model, (x, y) = mlp(), data()

        def loss() -> Any:
            with torch.autocast("cpu", torch.bfloat16):
                return F.cross_entropy(model(x), y)

        return of(model, loss)

    def scaled() -> Training:
        model, (x, y) = mlp(), data()
        optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu", init_scale=64.0)

        def step(backward: Backward) -> None:
            optimizer.zero_grad()
            backward(scaler.scale(F.cross_entropy(model(x), y)))
            scaler.step(optimizer)
            scaler.update()

        return Training(model, optimizer, step)

    def accumulation() -> Training:
        model, optimizer = mlp(), None
        optimizer = torch.optim.AdamW(model.parameters(), 0.01)
        batches = [data() for _ in range(3)]

        def step(backward: Backward) -> None:
            optimizer.zero_grad()
            for x, y in batches:
                backward(F.cross_entropy(model(x), y) / len(batches))
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()

        return Training(model, optimizer, step)

    def lbfgs() -> Training:
        model, (x, y) = mlp(), data()
        optimizer = torch.optim.LBFGS(model.parameters(), 0.1, max_iter=3)

        def step(backward: Backward) -> None:
            def closure() -> Any:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                backward(loss)
                return loss

            optimizer.step(closure)

        return Training(model, optimizer, step)

    def hooks() -> Training:
        model, (x, y) = mlp(), data()
        model[0].weight.register_hook(lambda grad: grad.clamp(-0.01, 0.01))
        model[2].register_full_backward_hook(lambda module, sent, came: (sent[0] * 0.5,))
        return of(model, lambda: F.cross_entropy(model(x), y))

    def step_in_backward() -> Training:
        model, (x, y) = mlp(), data()
        rest = torch.optim.SGD(model[:2].parameters(), 0.1)
        last = torch.optim.SGD([model[2].weight], 0.1)

        def update(leaf: Any) -> None:
            last.step()
            last.zero_grad()

        model[2].weight.register_post_accumulate_grad_hook(update)
        return of(model, lambda: F.cross_entropy(model(x), y), rest)

    def double_backward() -> Training:
        model, x = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)), torch.randn(5, 2, requires_grad=True)

        def loss() -> Any:
            (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
            return (slope.norm(dim=1) - 1).square().mean()

        return of(model, loss)

    def vmap_of_grad() -> Training:
        model, (x, y) = mlp(), data()

        def loss(parameters: Any, x: Any, y: Any) -> Any:
            return F.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])

        def penalty() -> Any:
            each = vmap(grad(loss), (None, 0, 0))(dict(model.named_parameters()), x, y)
            return F.cross_entropy(model(x), y) + sum(part.square().sum() for part in each.values())

        return of(model, penalty)

    def jacobian() -> Training:
        model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), torch.randn(3)
        return of(model, lambda: jacrev(model)(x).square().sum())

    def complex_numbers() -> Training:
        model = nn.ParameterList([nn.Parameter(torch.randn(4, dtype=torch.complex64))])
        x = torch.randn(4)
        return of(model, lambda: (torch.fft.fft(x) * model[0]).abs().square().sum(), torch.optim.SGD(model, 0.01))

    def custom_function() -> Training:
        model, (x, y) = mlp(), data()
        return of(model, lambda: F.cross_entropy(model[2](Cube.apply(model[0](x))), y))

    def written_in_place() -> Training:
        model, (x, y) = mlp(), data()

        def loss() -> Any:
            out = model(x).clone()
            out[:, 0] *= 2
            out[1:].add_(1)
            return F.cross_entropy(out, y)

        return of(model, loss)

    def gan() -> Training:
        maker, judge = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(), nn.Linear(4, 1))
        both = nn.ModuleList([maker, judge])
        first, second = torch.optim.Adam(judge.parameters(), 0.01), torch.optim.Adam(maker.parameters(), 0.01)
        real, noise = torch.randn(5, 3), torch.randn(5, 2)

        def step(backward: Backward) -> None:
            first.zero_grad()
            backward(F.softplus(-judge(real)).mean() + F.softplus(judge(maker(noise).detach())).mean())
            first.step()
            second.zero_grad()
            backward(F.softplus(-judge(maker(noise))).mean())
            second.step()

        return Training(both, second, step)

    def vae() -> Training:
        model, x = nn.ModuleList([nn.Linear(4, 4), nn.Linear(2, 4)]), torch.rand(5, 4)

        def loss() -> Any:
            mean, log = model[0](x).chunk(2, 1)
            z = mean + torch.randn_like(mean) * (log / 2).exp()
            return F.mse_loss(model[1](z), x) - (1 + log - mean.square() - log.exp()).mean() / 2

        return of(model, loss)

    def compiled() -> Training:
        model, (x, y) = mlp(), data()
        run = torch.compile(model, backend="aot_eager")
        return of(model, lambda: F.cross_entropy(run(x), y))

    def double_precision() -> Training:
        model, x = mlp().double(), torch.randn(6, 4, dtype=torch.float64)
        return of(model, lambda: F.huber_loss(model(x), torch.zeros(6, 3, dtype=torch.float64)))

    def graph_convolution() -> Training:
        model, x = nn.Linear(3, 3), torch.randn(5, 3)
        to, source = torch.tensor([0, 1, 2, 2, 4]), torch.tensor([1, 2, 0, 3, 0])
        return of(model, lambda: torch.zeros(5, 3).index_add(0, to, model(x)[source]).relu().square().sum())


TRAININGS.update({name: each for name, each in vars(Others).items() if not name.startswith("_")})
