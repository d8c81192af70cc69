"""Tensors among NumPy arrays, copies, pickles and Python's own protocols, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from oracle import compare, entries, names, raised, same

import workbench as w

SCALARS = """
x * np.float64(2) | np.float64(2) * x | np.float32(2) * x | np.int64(2) * x | x * np.int64(2) | x + np.float32(1)
x - np.float64(1) | np.float64(1) - x | np.float32(1) - x | np.int64(1) - x | np.float64(1) / x | np.int64(1) / x
x / np.float64(2) | x ** np.float64(2) | x ** np.int64(2) | np.float64(2) ** x | np.int64(2) ** x | np.float32(2) ** x
x > np.float64(0) | np.float64(0) < x | x == np.float64(0.5) | n * np.float64(2) | np.float64(2) * n | np.float32(1) - n
np.bool_(True) * x | torch.add(x, np.float64(2)) | x.clamp(np.float64(0), np.float64(1)) | torch.pow(x, np.float64(2))
torch.pow(np.float64(2), x) | x.add(np.int64(1)) | torch.where(m, x, np.float64(1)) | torch.full((2,), np.float64(2))
torch.full((2,), np.int64(2)) | x.sum(np.int64(0)) | x.reshape(np.int64(3), 1) | x[np.int64(1)] | x[np.array([1, 0])]
a[np.array([True, False])] | a[:, np.int64(1)] | torch.zeros(np.int64(2)) | a.transpose(np.int64(0), np.int64(1))
a.sum((np.int64(0),)) | x.masked_fill(m, np.float64(2)) | a.unsqueeze(np.int64(0)) | x.pow(np.float64(2))
x.clone().add_(np.float64(1)) | x.clone().fill_(np.float64(3)) | a.norm(np.float64(3)) | x * np.array(2.0)
x + np.array([1.0, 2.0, 3.0]) | np.array([1.0, 2.0, 3.0]) * x | np.array([1.0, 2.0, 3.0]) + x.detach() | x @ np.ones(3)
torch.mul(x, np.array([1, 2, 3])) | torch.exp(np.float64(2)) | np.sin(x) | np.asarray(x)
2 in n | 7 in n | x[0] in x | np.int64(3) in n | 'a' in x | [1] in n | None in x
f"{s}" | f"{s:.3f}" | f"{x}" | f"{x:.2f}" | f"{n[0]:d}" | format(s) | list(n) | len(a)
[1, 2, 3][n[2]] | np.ones(3)[n[2]]
max([x[0], x[1]]).item() | sorted([x[0], x[1]])[0].item() | np.stack([x.detach(), y.detach()]).tolist() | float(s)
"""


@pytest.mark.parametrize("text", entries(SCALARS))
def test_numpy_beside_a_tensor(text: str) -> None:
    def program(torch: Any) -> Any:
        named = names(torch)
        named |= {name: named[name].detach().float().requires_grad_() for name in ("a", "x", "s")}
        return eval(text, named)

    compare(program)


MADE = """
torch.eye(2, 3) | torch.eye(2, dtype=torch.int64) | torch.eye(2, requires_grad=True) | torch.eye(-1) | torch.eye(2, -1)
torch.empty(2, 3, dtype=torch.int64).shape | torch.empty_like(a).requires_grad | torch.empty_like(2)
torch.full_like(a, 3) | torch.full_like(n, 2.5) | torch.full_like(a, 3, dtype=torch.int64) | torch.full_like(n, True)
torch.linspace(0, 1, 5) | torch.linspace(0, 1, 1) | torch.linspace(0, 5, 4, dtype=torch.int64) | torch.linspace(0, 1, 0)
torch.linspace(3, 1, 5, dtype=torch.float64) | torch.linspace(-5, 5, 6, dtype=torch.int64) | torch.linspace(0, 1, -1)
torch.randint(5, (2,)).dtype | torch.randint(1, 3, (2, 2)).shape | torch.randint(3, 3, (2,)) | torch.randperm(4).dtype
torch.randint(2, 5, size=(3,)).shape | torch.randint(high=5, size=(3,)).shape
torch.randint(0, 5, (2,), requires_grad=True)
torch.randn_like(a).shape | torch.rand_like(a, dtype=torch.float32).dtype | torch.randn_like(n) | torch.rand_like(n)
torch.randn(2, dtype=torch.int64) | x.new_zeros(2, 3) | x.new_zeros((2,), dtype=torch.int64) | n.new_ones(2)
x.new_ones(2, requires_grad=True) | x.new_full((2,), 1.5) | n.new_full((2,), 1.5) | x.new_tensor([1, 2])
n.new_tensor([1.5, 2]) | x.new_empty(2).dtype | torch.from_numpy(np.arange(3)) | torch.from_numpy([1, 2])
torch.from_numpy(np.array(3.0)) | torch.from_numpy(np.float64(3.0)) | torch.from_numpy(np.arange(3)[::-1])
torch.as_tensor([1, 2.0]) | torch.as_tensor(np.float64(2)) | torch.asarray([1, 2]) | torch.as_tensor(x) is x
torch.asarray(np.arange(3), dtype=torch.float32) | torch.asarray(x).requires_grad
torch.asarray([1.0], requires_grad=True) | torch.asarray(x, requires_grad=False) | torch.asarray(x * 2)
torch.asarray(x, copy=True) | torch.asarray(x, dtype=torch.float32) | torch.asarray(x.detach(), requires_grad=True)
"""


@pytest.mark.parametrize("text", entries(MADE))
def test_a_way_to_make_a_tensor(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))


@same
def test_memory_is_shared_with_numpy(torch: Any) -> Any:
    a = np.arange(3.0)
    t = torch.from_numpy(a)
    a[0] = 7
    t[1] = 8
    seen = [t.tolist(), a.tolist(), t._version, np.shares_memory(t.numpy(), a)]
    t.numpy()[2] = 9
    asked = torch.as_tensor(a)
    a[0] = 1
    return [*seen, t, asked, torch.as_tensor(t) is t, np.shares_memory(np.asarray(t), a), torch.asarray(a)]


@same
def test_an_array_that_may_not_be_written_is_warned_of(torch: Any) -> Any:
    a = np.arange(3.0)
    a.flags.writeable = False
    return torch.from_numpy(a)


@same
def test_a_deep_copy_of_a_leaf_has_its_own_memory_gradient_and_attributes(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.note = ["kept"]
    y = copy.deepcopy(x)
    y.data[0] = 5
    y.grad[0] = 7
    twice = copy.deepcopy([x, x])
    return [y, y.grad, x, x.grad, y.note, y.note is x.note, twice[0] is twice[1], raised(copy.deepcopy, x * 2)]


@same
def test_a_shallow_copy_shares_memory(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    y = copy.copy(x)
    y[0] = 5
    return x, y, copy.copy(x.requires_grad_())


@same
def test_what_was_pickled_is_computed_with(torch: Any) -> Any:
    x = pickle.loads(pickle.dumps(torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)))
    y = torch.ones(2, 2)
    (x @ y + torch.cat([x, y])[:2]).sum().backward()
    return x, x.grad, x.dtype is y.dtype


@same
def test_a_pickle_keeps_elements_attributes_and_whether_it_requires_grad(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x.sum().backward()
    x.note = "kept"
    found = [pickle.loads(pickle.dumps(t)) for t in (x, x * 2, x.detach().t(), torch.tensor([True]))]
    return [*found, found[0].note, found[0].grad, found[1].grad_fn]


def test_a_numpy_function_of_a_tensor_is_a_tensor() -> None:
    x = w.tensor([1.0, 2.0])
    for out in (np.add(x, 1), x + np.array([1.0, 1.0], dtype=np.float32)):
        assert isinstance(out, w.Tensor)
        assert out.tolist() == [2.0, 3.0]
    assert np.isnan(x).dtype is w.uint8


def test_an_array_of_another_dtype_is_refused_in_a_sentence() -> None:
    with pytest.raises(TypeError, match="the workbench has no tensors of dtype complex128"):
        w.from_numpy(np.ones(2, complex))


def test_random_tensors_repeat_after_the_same_seed() -> None:
    def drawn() -> list[Any]:
        w.manual_seed(3)
        x = w.zeros(2, 3)
        made = (w.randn_like(x), w.rand_like(x), w.randint(2, 5, (4,)), w.randperm(5))
        return [t.tolist() for t in made]

    first = drawn()
    assert first == drawn()
    assert set(first[2]) <= {2, 3, 4}
    assert sorted(first[3]) == [0, 1, 2, 3, 4]
