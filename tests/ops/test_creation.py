"""Making tensors, beside PyTorch: the values, the dtype that follows from the data, the shape, warnings."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from oracle import compare, entries, names

CREATED = """
torch.tensor([1.0, 2], requires_grad=True) | torch.tensor([x[0], 2.0]) | torch.tensor(x)
torch.tensor(x[0]) | torch.tensor(range(3))
torch.tensor(collections.deque([1.0, 2])) | torch.tensor([collections.deque([1]), range(2, 3)])
 torch.tensor(()) | torch.tensor([]) | torch.tensor([[]])
torch.tensor([[], []]) | torch.tensor(3) | torch.tensor(2**40) | torch.tensor(True) | torch.tensor([1, 2.5])
torch.tensor([True, 2]) | torch.tensor([True, 2.5]) | torch.tensor(1e400)
torch.tensor(-1, dtype=torch.uint8) | torch.tensor(1.7, dtype=torch.int64)
torch.tensor([1.7, -1.7], dtype=torch.int32) | torch.tensor(2, dtype=torch.bool)
torch.tensor(1.5, dtype=float) | torch.ones(2, dtype=float) | torch.ones(2, dtype=int)
torch.ones(2, dtype=bool) | torch.ones(2).to(int) | torch.ones(()) | torch.ones([2, 3]) | torch.ones((2,))
torch.ones(2, 3) | torch.ones(0) | torch.zeros(2, requires_grad=True) | torch.full((2,), 1.5)
torch.full((2,), 1) | torch.full((2,), True) | torch.full((2,), 3, dtype=torch.float64)
torch.full([2, 2], 3.0, requires_grad=True) | torch.arange(5) | torch.arange(1, 5) | torch.arange(1, 5, 2)
torch.arange(5, 1, -1) | torch.arange(0, 1, 0.25) | torch.arange(3.0) | torch.arange(1, 2.5)
torch.arange(3, dtype=torch.float64) | torch.arange(3.0, requires_grad=True)
torch.zeros_like(x, dtype=torch.float32) | torch.ones_like(x, requires_grad=True) | torch.is_tensor(3)
torch.tensor([np.float64(1.5)]) | torch.tensor([np.float64(1.5), 2.0])
torch.tensor([2.0, np.float64(1.5)]) | torch.tensor([np.float32(1.5)]) | torch.tensor(np.float32(1.5))
torch.tensor([np.int32(1)]) | torch.tensor([np.int64(1), 2.5]) | torch.tensor([np.bool_(True)])
torch.tensor([torch.tensor(1., dtype=torch.float64), 2.0])
torch.tensor([2.0, torch.tensor(1., dtype=torch.float64)]) | torch.tensor([torch.tensor(1), 2.0])
torch.tensor([torch.tensor(1, dtype=torch.int32), 2]) | torch.tensor([torch.tensor([1.]), 2.0])
torch.tensor([torch.tensor([1.]), torch.tensor([2.])])
torch.tensor([[torch.tensor(1.)], [torch.tensor(2.)]]) | torch.tensor([range(3)]) | torch.tensor((1, (2)))
torch.tensor(((1, 2), (3, 4))) | torch.tensor(np.array([1, 2]))
torch.tensor(np.array([1, 2], dtype=np.float32), dtype=torch.float64)
torch.tensor(np.array([1., 2.]), requires_grad=True) | torch.tensor([], dtype=torch.int64)
torch.tensor([1.5], dtype=float) | torch.tensor([1.5], dtype=int) | torch.tensor([1.5], dtype=bool)
torch.tensor([1.5], dtype=torch.int64) | torch.tensor([1, 2], dtype=torch.float16)
torch.tensor(x, requires_grad=True) | torch.tensor(x, dtype=torch.float32)
torch.tensor([x[0].detach(), 2.0]) | torch.zeros(2, dtype=int) | torch.full((2,), 1, dtype=float)
torch.full((), 2.5) | torch.arange(3, dtype=float) | torch.ones_like(x, dtype=int)
torch.zeros_like(x, dtype=float) | torch.ones(2).to(float) | torch.ones(2).to(bool) | torch.arange(3.5)
torch.arange(1, 2, 0.1).shape | torch.arange(0.0, 3) | torch.arange(True) | torch.ones(x.shape)
torch.ones(*x.shape) | torch.ones(2, 0) | torch.ones((2, 3), requires_grad=True)
torch.full(size=(2,), fill_value=1.5) | torch.full((2,), fill_value=1.5)
torch.full((2,), torch.tensor(1.5)) | torch.randn(2, 3).shape | torch.randn((2, 3)).shape
torch.randn(2, requires_grad=True).requires_grad | torch.rand(2).dtype
torch.randn(2, dtype=torch.float64).dtype | torch.manual_seed(0) is not None
torch.is_tensor(x), torch.is_tensor(2) | torch.get_default_dtype()
torch.float64.itemsize, torch.bool.itemsize, torch.float16.is_floating_point
torch.float is torch.float32, torch.long is torch.int64
torch.double is torch.float64, torch.int is torch.int32, torch.half is torch.float16
torch.Size([2, 3]), torch.Size([2, 3]).numel(), x.shape == (3,), x.shape + (2,), torch.Size((2,)) == torch.Size([2])
torch.tensor(3.0).size(), torch.tensor(3.0).numel()
"""
# What the class itself makes, and `Tensor.new` of another.
CONSTRUCTED = """
torch.Tensor() | torch.Tensor(2, 3).shape | torch.Tensor(3).shape | torch.Tensor(2, 0).shape | torch.Tensor((2, 3))
torch.Tensor(torch.Size([2, 3])).shape | torch.Tensor(size=(2, 3)).shape | torch.Tensor(np.int64(3), 2).shape
torch.Tensor(torch.tensor(3), 2).shape | torch.Tensor(torch.tensor(3)) | torch.Tensor(-1) | torch.Tensor(2, -3)
torch.Tensor([1, 2]) | torch.Tensor([[1.0, 2], [3, 4]]) | torch.Tensor([]) | torch.Tensor([[]]) | torch.Tensor([True])
torch.Tensor(range(3)) | torch.Tensor(data=[1, 2]) | torch.Tensor([torch.tensor(1.0), torch.tensor(2)])
torch.Tensor(np.array([1, 2])) | torch.Tensor(np.ones(2)).dtype | torch.Tensor(np.array(2.0))
torch.Tensor([[1, 2], [3]])
torch.Tensor(1.5) | torch.Tensor(None) | torch.Tensor('a') | torch.Tensor(True) | torch.Tensor({1, 2})
torch.Tensor(["a"])
torch.Tensor(np.float64(3)) | torch.Tensor(2, 3.0) | torch.Tensor(2, None) | torch.Tensor([1], device='cpu')
torch.Tensor(2, device='cuda') | torch.Tensor(1, device='meta')
torch.Tensor(x) | torch.Tensor(other=n) | torch.Tensor(n).data_ptr() == n.data_ptr()
torch.Tensor(x * 2).sum().backward()
type(torch.Tensor([1])) is torch.Tensor | torch.nn.Parameter(torch.Tensor(2, 3)).shape
x.new(np.ones(2, int)) | x.new('a') | x.new(2, -3) | x.new(True) | x.new(torch.tensor(3), 2).shape | x.new()
"""
# What else a tensor can be asked.
ASKED = """
x == None | x != None | x == 'a' | e.mean() | a.t().t().view(6) | torch.add(1, x) | torch.mul(2, x) | m + m
n ** 2.0 | n ** 0.5 | m * 2 | m + 1 | s.item() | n.numpy().tolist() | x.T.T | hash(x) == hash(x) | x in [x]
x.size(-1) | x.dim() | setattr(x, 'requires_grad', False) | setattr(x, 'grad', None) | n.copy_(x)
x.shape[0:1], x.shape[-1], tuple(x.shape), len(x.shape), [*a.shape]
isinstance(x, torch.Tensor), type(x).__name__
"""


@pytest.mark.parametrize("text", entries(CREATED))
def test_a_tensor_made(text: str) -> None:
    compare(lambda torch: eval(text, names(torch) | {"collections": collections}))


@pytest.mark.parametrize("text", entries(CONSTRUCTED))
def test_a_tensor_constructed(text: str) -> None:
    compare(lambda torch: eval(text, names(torch) | {"np": np}))


@pytest.mark.parametrize("text", entries(ASKED))
def test_a_tensor_asked(text: str) -> None:
    compare(lambda torch: eval(text, names(torch)))
