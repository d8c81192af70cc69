"""Tensors among NumPy arrays, copies, pickles and Python's own protocols, beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from oracle import raised

import workbench as w


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


def test_a_deep_copy_of_a_leaf_has_its_own_memory_gradient_and_attributes(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.note = ["kept"]
    y = copy.deepcopy(x)
    y.data[0] = 5
    y.grad[0] = 7
    twice = copy.deepcopy([x, x])
    return [y, y.grad, x, x.grad, y.note, y.note is x.note, twice[0] is twice[1], raised(copy.deepcopy, x * 2)]


def test_a_shallow_copy_shares_memory(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    y = copy.copy(x)
    y[0] = 5
    return x, y, copy.copy(x.requires_grad_())


def test_what_was_pickled_is_computed_with(torch: Any) -> Any:
    x = pickle.loads(pickle.dumps(torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)))
    y = torch.ones(2, 2)
    (x @ y + torch.cat([x, y])[:2]).sum().backward()
    return x, x.grad, x.dtype is y.dtype


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
    with pytest.raises(TypeError, match="the workbench has no tensors of dtype int16"):
        w.from_numpy(np.ones(2, "int16"))


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
