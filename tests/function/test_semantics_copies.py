"""Deep copies of tensors that share memory; values of another dtype written by a mask or by places."""

from __future__ import annotations

import copy

import pytest
from oracle import entries, raised

PAIRS = entries(
    """
    b, b[:2] | b[:2], b | b[1:3], b[2:] | b, b.view(2, 2).t() | b, b.detach() | b, b.data[1:] | b, b | b, b.clone()
    b[1:], b[1:] | b[0], b | leaf, leaf.detach()[:2] | leaf.detach()[1:], leaf
    """
)


@pytest.mark.parametrize("pair", PAIRS)
def test_what_shares_memory_shares_it_with_its_deep_copy(torch, pair):
    named = {"b": torch.arange(4.0), "leaf": torch.ones(4, requires_grad=True)}
    given = eval(pair, named)
    made = copy.deepcopy({"first": given[0], "inside": [given[1]]})
    first, second = made["first"], made["inside"][0]
    versions = first._version, second._version
    with torch.no_grad():
        second.fill_(7)
    facts = [(t.storage_offset(), t.stride(), t._is_view(), t._base is None) for t in (first, second)]
    return first, second, first is second, versions, (first._version, second._version), facts, named["b"]


def test_a_gradient_that_is_copied_with_a_part_of_it(torch):
    x = torch.ones(4, requires_grad=True)
    x.grad = torch.ones(4)
    made, part = copy.deepcopy((x, x.grad[:2]))
    part.fill_(9)
    return made.grad, part, x.grad, copy.copy(x.grad)._version


def test_copies_of_whatever_lies_in_memory_in_another_order(torch):
    odd = (torch.ones(2, 3, 4).permute(2, 0, 1), torch.ones(0, 3), torch.ones(()), torch.ones(1).expand(3))
    return [(made.stride(), made.sum().item()) for made in map(copy.deepcopy, odd)]


VALUES = entries(
    """
    torch.tensor([1, 2]) | torch.tensor([1.5, 2.5]) | torch.tensor([1.5, 2.5], dtype=torch.float64) | torch.tensor(3)
    torch.tensor(2.5, dtype=torch.float64) | torch.tensor([True, True]) | 2.5 | 3 | True | torch.tensor([1])
    """
)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("value", VALUES)
def test_values_of_another_dtype_are_written(torch, value, dtype):
    seen = []
    places = (torch.tensor([True, False, True]), torch.tensor([0, 2]), slice(0, 2), [0, 2])
    for where in places:
        x = torch.zeros(3, dtype=getattr(torch, dtype))
        seen.append(raised(x.__setitem__, where, eval(value, {"torch": torch})))
        seen.append((x.tolist(), x._version))
    return str(seen).replace("Index put requires the source and destination dtypes match, got", "")
