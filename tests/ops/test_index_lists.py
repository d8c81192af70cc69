"""An index made of lists: which sequences count as a tuple, what is looked up in them, what may be written there."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import entries, names

VALUES = "3 | True | None | [1, 2, 3, 4] | (1, 2) | 'a' | np.float32(3) | np.float64(3) | np.int64(3) | np.ones(4)"


@pytest.mark.parametrize("kind", ["float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("text", entries(VALUES))
def test_what_is_written(torch: Any, kind: str, text: str) -> Any:
    t = torch.zeros(4, dtype=getattr(torch, kind))
    t[[0, 2]] = eval(text, names(torch))
    t[1] = eval(text, names(torch))
    return t


@pytest.mark.parametrize("level", ["vmap", "grad"])
def test_under_a_transform(torch: Any, level: str) -> Any:
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    if level == "vmap":
        return torch.func.vmap(lambda row: row[[[0, 2]]])(x)
    return torch.func.grad(lambda x: x[[[0, 1], [1, 2]]].sum())(x)


@pytest.mark.parametrize("index", [True, False, (True, slice(None)), (slice(None), True), None])
def test_gradients_of_what_is_looked_up_where_there_are_no_elements(torch: Any, index: Any) -> Any:
    x = torch.zeros(0, 3, requires_grad=True)
    y = x[index]
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    return y.shape, g.shape, torch.autograd.grad(g.sum(), x)[0].shape
