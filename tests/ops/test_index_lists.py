"""An index made of lists: which sequences count as a tuple, what is looked up in them, what may be written there."""

from __future__ import annotations

import array
import collections
from typing import Any

import pytest
from oracle import chain, compare, entries, names


class Pair:
    """A sequence of its own kind."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        return [0, 1][i]


class One:
    """A number of its own kind."""

    def __index__(self) -> int:
        return 1


# Of a matrix of 3 x 4. `tt` makes a tensor.
INDICES = """
[0, 1] | [[0, 2], [1, 1]] | [[0, 2]] | [0, 2], [1, 1] | [] | [[]] | [[], []] | [True, False, True] | [True, False]
[[True, False, True, False]] * 3 | [slice(None), 0] | [slice(None), [0, 1]] | [None, 0] | [..., 0] | [...] | [None]
[0, tt([1, 2])] | [0, tt(1)] | [tt(0), tt(1)] | [tt([0, 1])] | [tt([True, False, True])] | [0, (1, 2)] | ((0, 1),)
[(0, 1), (1, 2)] | [0, [1, 2]] | (slice(1, None), [0, 2]) | ([0, 2], slice(1, None)) | [slice(1, 2)] | [()] | ()
([[0, 2], [1, 0]], slice(1, None)) | (slice(None), [[0, 2], [1, 0]]) | ([0, 2], None) | (..., [0, 2]) | ([], 1)
(1, []) | (slice(None), []) | ([True, False, True], 1) | (1, [True, False, True, False]) | [0, True] | [0.5, 1]
['a'] | 'a' | b'ab' | 1.0 | (1.5, 0) | [0, 5] | [0, -3] | [0, -4] | [[0, 1], [2]] | [[0, 1, 2], [0, 1]]
[[[0, 1], [1, 0]]] | [[0], [1], [2]] | [[0, 1]] * 40 | [0, 1] * 20 | range(2) | (range(2), 1) | [range(2)] | {0}
[[tt(0), tt(1)]] | ([tt(0), 1], 1) | np.array([0.5, 2.0]) | [np.array([0, 2]), np.array([1, 1])] | np.array(1)
np.array([True, False, True]) | np.array([[0, 2], [1, 1]]) | [np.int64(1), np.int64(0)] | np.int64(1) | {0: 1}
([1.0, 0.0], [2, 1]) | ([0, 1], [[0], [1, 2]]) | ([0, 1], [0, 'a']) | ([0, 1], [None, 1]) | bytearray(2)
array.array('i', [0, 1]) | collections.deque([0, 1]) | Pair() | One() | (slice(One(), None), One()) | [One(), One()]
slice(None, None, 0) | slice(None, None, -1) | slice([0, 1], None) | [2**70] | 2**70 | ([0, 1], []) | ([], [])
"""
VALUES = "3 | True | None | [1, 2, 3, 4] | (1, 2) | 'a' | np.float32(3) | np.float64(3) | np.int64(3) | np.ones(4)"


def words(torch: Any) -> dict[str, Any]:
    """The names that a test's text may use."""
    named = names(torch)
    return named | {"tt": torch.tensor, "array": array, "collections": collections, "Pair": Pair, "One": One}


@pytest.mark.parametrize("text", entries(INDICES))
def test_reading(text: str) -> None:
    def program(torch: Any) -> Any:
        named = words(torch)
        out = named["M"][eval(text, named)]
        out.sum().backward()
        return out, chain(out.grad_fn), named["M"].grad

    compare(program)


@pytest.mark.parametrize("text", entries(INDICES))
def test_writing(text: str) -> None:
    def program(torch: Any) -> Any:
        named = words(torch)
        t = named["M"] * 1
        t[eval(text, named)] = named["s"]
        t.sum().backward()
        return t, chain(t.grad_fn), named["M"].grad, named["s"].grad

    compare(program)


@pytest.mark.parametrize("kind", ["float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("text", entries(VALUES))
def test_what_is_written(kind: str, text: str) -> None:
    def program(torch: Any) -> Any:
        t = torch.zeros(4, dtype=getattr(torch, kind))
        t[[0, 2]] = eval(text, words(torch))
        t[1] = eval(text, words(torch))
        return t

    compare(program)


@pytest.mark.parametrize("level", ["vmap", "grad"])
def test_under_a_transform(level: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
        if level == "vmap":
            return torch.func.vmap(lambda row: row[[[0, 2]]])(x)
        return torch.func.grad(lambda x: x[[[0, 1], [1, 2]]].sum())(x)

    compare(program)


@pytest.mark.parametrize("index", [True, False, (True, slice(None)), (slice(None), True), None])
def test_gradients_of_what_is_looked_up_where_there_are_no_elements(index: Any) -> None:
    def program(torch: Any) -> Any:
        x = torch.zeros(0, 3, requires_grad=True)
        y = x[index]
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        return y.shape, g.shape, torch.autograd.grad(g.sum(), x)[0].shape

    compare(program)
