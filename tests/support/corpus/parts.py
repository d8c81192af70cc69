"""What programs of the corpus are made of: nets, data and a training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def mlp(torch: Any, *sizes: int, between: str = "Tanh", last: tuple[str, ...] = ()) -> Any:
    """Return linear layers with an activation between them, and other modules after the last."""
    nn = torch.nn
    layers = []
    for size, following in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(size, following), getattr(nn, between)()]
    return nn.Sequential(*layers[:-1], *[getattr(nn, each)() for each in last])


def classes(torch: Any, features: int = 6, samples: int = 12, count: int = 3) -> tuple[Any, Any]:
    """Return random features, and classes in turn."""
    return torch.randn(samples, features), torch.arange(samples) % count


def weights(*modules: Any) -> list[Any]:
    """Return the parameters of several modules."""
    return [each for module in modules for each in module.parameters()]


def filled(torch: Any, parameter: Any, number: float) -> None:
    """Fill a parameter with a number."""
    with torch.no_grad():
        parameter.fill_(number)


def freeze(*modules: Any) -> None:
    """Let modules take no gradients."""
    for each in weights(*modules):
        each.requires_grad_(False)


def train(
    torch: Any,
    net: Any,
    x: Any = None,
    y: Any = None,
    lr: float = 0.1,
    rounds: int = 4,
    kind: str = "SGD",
    *,
    loss_of: Callable[[], Any] | None = None,
    given: Any = None,
    begin: Callable[[int, Any], None] | None = None,
    end: Callable[[Any], None] | None = None,
) -> Callable[[], None]:
    """Return a training loop as it is written in any tutorial.

    What may differ is what computes the loss (`loss_of`), which parameters the optimizer is `given`, and what comes
    first and last in a round: `begin` gets its number and the optimizer, `end` the optimizer.
    """
    optimizer = getattr(torch.optim, kind)(net.parameters() if given is None else given, lr=lr)
    losses = torch.nn.functional

    def run() -> None:
        for at in range(rounds):
            if begin is not None:
                begin(at, optimizer)
            if loss_of is not None:
                loss = loss_of()
            elif y.dtype is torch.int64:
                loss = losses.cross_entropy(net(x), y)
            else:
                loss = losses.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if end is not None:
                end(optimizer)

    return run
