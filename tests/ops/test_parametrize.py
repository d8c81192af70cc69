"""Parameters that are computed of others: registered, read, set, removed; weights as norm and direction."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from oracle import entries, raised


def layer(torch: Any, inputs: int = 2, outputs: int = 2) -> Any:
    """A linear layer of certain numbers."""
    made = torch.nn.Linear(inputs, outputs)
    with torch.no_grad():
        made.weight.copy_(torch.arange(1.0 * inputs * outputs).reshape(outputs, inputs))
        made.bias.zero_()
    return made


def modules(torch: Any) -> Any:
    """A symmetric matrix of its upper triangle, a sum of two, one that has no inverse, one of another shape."""

    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    class Sum(torch.nn.Module):
        def forward(self, x, y):
            return x + y

        def right_inverse(self, x):
            return x * 0.25, x * 0.75

    class Double(torch.nn.Module):
        def forward(self, x):
            return x * 2

    class Total(torch.nn.Module):
        def forward(self, x):
            return x.sum()

    return Symmetric, Sum, Double, Total


def state(module: Any) -> Any:
    """What a module holds, under which names, and what it is printed as."""
    return repr(module), type(module).__name__, [(name, p, p.grad) for name, p in module.named_parameters()]


def test_a_parameter_is_computed_set_and_put_back(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    Symmetric, Sum, _, _ = modules(torch)
    m = layer(torch)
    kept = m.weight
    told = [P.register_parametrization(m, "weight", Symmetric()) is m, m.parametrizations.weight.original is kept]
    m(torch.ones(1, 2)).sum().backward()
    told += [state(m), m.weight.grad_fn.name(), P.is_parametrized(m), P.is_parametrized(m, "bias")]
    with torch.no_grad():
        m.weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with P.cached():
        told += [m.weight is m.weight]
    P.register_parametrization(m, "bias", Sum())
    told += [m.weight is m.weight, m.weight, state(m), list(m.state_dict())]
    told += [raised(P.remove_parametrizations, m, "bias", leave_parametrized=False)]
    P.remove_parametrizations(m, "weight")
    told += [state(m), P.type_before_parametrizations(m) is torch.nn.Linear]
    return told, state(P.remove_parametrizations(m, "bias"))


def test_what_is_refused_and_several_in_a_row(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    Symmetric, _, Double, Total = modules(torch)
    m = P.register_parametrization(layer(torch), "weight", Double())
    told = [raised(setattr, m, "weight", torch.ones(2, 2))]
    P.register_parametrization(m, "weight", Symmetric())
    told += [m.weight, state(m)]
    told += [raised(P.register_parametrization, layer(torch), "weight", Total())]
    told += [raised(P.register_parametrization, layer(torch), "w", Double())]
    told += [raised(P.remove_parametrizations, layer(torch), "weight")]
    return told, P.register_parametrization(layer(torch), "weight", Total(), unsafe=True).weight


WEIGHTS = """
N.weight_norm(m) | N.weight_norm(m, dim=1) | N.weight_norm(m, dim=None) | N.weight_norm(m, "bias")
N.weight_norm(m, "w") | N.spectral_norm(m, "bias") | N.spectral_norm(m, n_power_iterations=0) | N.spectral_norm(m, "w")
"""


@pytest.mark.parametrize("call", entries(WEIGHTS))
def test_weights_as_norm_and_direction(torch: Any, call: str) -> Any:
    m = eval(call, {"N": torch.nn.utils.parametrizations, "m": layer(torch)})
    m(torch.ones(1, 2)).pow(2).sum().backward()
    optimizer = torch.optim.SGD(m.parameters(), 0.01)
    told = state(m)
    optimizer.step()
    return told, m.weight.detach(), m.bias.detach(), repr(copy.deepcopy(m))


def test_a_spectral_norm_is_one(torch: Any) -> Any:
    N = torch.nn.utils.parametrizations
    m = N.spectral_norm(layer(torch, 3), n_power_iterations=20)
    largest = torch.linalg.matrix_norm(m.weight, 2)
    m.eval()
    m(torch.ones(1, 3)).sum().backward()
    turned = N.spectral_norm(torch.nn.ConvTranspose2d(2, 3, 2))
    return (
        largest,
        list(m.state_dict()),
        m.parametrizations.weight.original.grad,
        turned.parametrizations.weight[0]._u.shape,
    )
