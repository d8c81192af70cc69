"""First values of parameters: where they lie, how they are spread, what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracle import chain, entries

import workbench
from workbench.nn import init

ANSWERS = """
init.constant_(w, 2.5) | init.ones_(w) | init.zeros_(w) | init.eye_(w) | init.eye_(k) | init.eye_(w) is w | init.eye(w)
init.constant(w, 1) | init.dirac_(k) | init.dirac_(k, 2) | init.dirac_(k, 3) | init.dirac_(w) | init.dirac(k)
init.dirac_(torch.empty(3, 2, 1)) | init.dirac_(torch.empty(2, 2, 1, 2, 1)) | init.ones_(leaf) | init.ones_(leaf * 1)
init.calculate_gain('relu') | init.calculate_gain('tanh') | init.calculate_gain('sigmoid') | init.calculate_gain('selu')
init.calculate_gain('leaky_relu') | init.calculate_gain('leaky_relu', 0.2) | init.calculate_gain('leaky_relu', True)
init.calculate_gain('leaky_relu', 'a') | init.calculate_gain('linear') | init.calculate_gain('conv_transpose2d')
init.calculate_gain('gelu') | init.xavier_uniform_(w[0]) | init.xavier_normal_(w[0]) | init.kaiming_uniform_(w[0])
init.kaiming_uniform_(w, mode='fan') | init.kaiming_normal_(w, nonlinearity='gelu') | init.kaiming_normal_(w[:0])
init.kaiming_uniform_(w[:0]) | init.orthogonal_(w[0]) | init.orthogonal_(w[:0]) | init.sparse_(k, 0.5)
init._calculate_fan_in_and_fan_out(w) | init._calculate_fan_in_and_fan_out(k)
init._calculate_correct_fan(k, 'FAN_OUT')
init.uniform_(w, 2, 1) | init.normal_(w, 0, -1) | init.uniform_(w, 3, 3) | init.normal_(w, 3, 0) | w.normal_(2, 0)
init.uniform(w, 3, 3) | init.normal(w, 3, 0) | w.uniform_(1, 1) | (leaf * 1).normal_(2, 0) | (leaf * 1).uniform_(2, 2)
leaf.normal_() | init.trunc_normal_(w, 9, 1).shape | init.trunc_normal_(w, 0, 1, 0, 0.01).shape | w.uniform_(2, 1)
"""


@pytest.mark.parametrize("text", entries(ANSWERS))
def test_an_answer(torch: Any, text: str) -> Any:
    leaf = torch.zeros(2, requires_grad=True)
    known = {"torch": torch, "init": torch.nn.init, "leaf": leaf, "w": torch.zeros(2, 3)}
    out = eval(text, known | {"k": torch.zeros(4, 2, 3, 2)})
    return (out, chain(out.grad_fn), out._version) if isinstance(out, torch.Tensor) else out


def spread(name: str, shape: tuple[int, ...], *how: Any, **options: Any) -> np.ndarray:
    """Many first values."""
    workbench.manual_seed(3)
    t = workbench.empty(*shape, dtype=workbench.float64, requires_grad=True)
    out = getattr(init, name)(t, *how, **options)
    assert out is t and t.is_leaf
    assert t._version == 1
    return t.detach().numpy()


@pytest.mark.parametrize(
    ("name", "how", "std", "bound"),
    [
        ("uniform_", (-3.0, 3.0), 3 / math.sqrt(3), 3),
        ("normal_", (0.0, 0.5), 0.5, None),
        ("xavier_uniform_", (2.0,), 2 * math.sqrt(2 / 700), 2 * math.sqrt(6 / 700)),
        ("xavier_normal_", (), math.sqrt(2 / 700), None),
        ("kaiming_uniform_", (0, "fan_in", "relu"), math.sqrt(2 / 300), math.sqrt(6 / 300)),
        ("kaiming_normal_", (1.0, "fan_out"), math.sqrt(1 / 400), None),
        ("trunc_normal_", (0.0, 1.0, -2.0, 2.0), 0.8796, 2),
        ("trunc_normal_", (0.0, 1.0, -0.1, 0.1), 0.0577, 0.1),
    ],
)
def test_the_spread(name: str, how: tuple[Any, ...], std: float, bound: float | None) -> None:
    values = spread(name, (400, 300), *how)
    assert values.std() == pytest.approx(std, rel=0.02)
    assert abs(values.mean()) < 0.02 * std
    assert bound is None or 0.99 * bound < np.abs(values).max() <= bound


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (3, 2, 2)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    values = spread("orthogonal_", shape, gain=2.0).reshape(shape[0], -1)
    product = values @ values.T if values.shape[0] <= values.shape[1] else values.T @ values
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)


def test_sparse_columns() -> None:
    values = spread("sparse_", (10, 6), 0.25, 0.1)
    assert ((values == 0).sum(0) == 3).all()


def test_a_generator_of_ones_own_and_the_seed() -> None:
    random = [np.random.default_rng(5) for _ in range(2)]
    first, second = (init.normal_(workbench.empty(4), generator=each) for each in random)
    assert first.tolist() == second.tolist()
    assert (spread("normal_", (3, 3)) == spread("normal_", (3, 3))).all()
