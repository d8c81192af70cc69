"""Modules for the tests of modules, made under PyTorch or the workbench; weights are set by hand."""

from __future__ import annotations

from typing import Any


def filled(torch: Any, module: Any) -> Any:
    """A module whose parameters are certain numbers: random ones would be others than PyTorch's."""
    with torch.no_grad():
        for place, parameter in enumerate(module.parameters(), 1):
            count = parameter.numel()
            numbers = [((7 * place + 5 * i) % 11 - 5) / 8 for i in range(count)]
            parameter.copy_(torch.tensor(numbers).reshape(parameter.shape))
    return module


def linear(torch: Any, *sizes: int, **options: Any) -> Any:
    return filled(torch, torch.nn.Linear(*sizes, **options))


def mlp(torch: Any) -> Any:
    """Two layers held in a Sequential, a third beside it, and a buffer."""

    class MLP(torch.nn.Module):
        def __init__(self, hidden):
            super().__init__()
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(2, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, hidden), torch.nn.ReLU()
            )
            self.head = torch.nn.Linear(hidden, 2, bias=False)
            self.register_buffer("scale", torch.tensor(2.0))

        def forward(self, x):
            return self.head(self.layers(x)) * self.scale

    return filled(torch, MLP(3))


def batch(torch: Any) -> Any:
    return torch.tensor([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]])


def held(module: Any) -> list[Any]:
    """All that a module holds, by name."""
    return [
        list(module.named_parameters()),
        list(module.named_buffers()),
        [name for name, _ in module.named_modules()],
        module.training,
    ]
