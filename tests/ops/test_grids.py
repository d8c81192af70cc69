"""Grids, broadcasting together and repeated elements beside PyTorch's: values, graphs and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

CALLS = """
t.meshgrid(x, y, indexing="ij") | t.meshgrid(x, y, indexing="xy") | t.meshgrid([x, y, x], indexing="xy")
t.meshgrid(x.sum(), y, indexing="ij") | t.meshgrid(x, indexing="xy") | t.meshgrid() | t.meshgrid(x, y, indexing="zz")
t.meshgrid(x, x.double(), indexing="ij") | t.meshgrid(x[:0], y, indexing="ij")
t.broadcast_tensors(x, a) | t.broadcast_tensors() | t.broadcast_tensors(x, y) | t.broadcast_tensors(x, x.sum())
t.broadcast_tensors(a[:, :1], a[:1]) | x.repeat_interleave(2) | a.repeat_interleave(2) | a.repeat_interleave(2, dim=1)
a.repeat_interleave(0, 0) | a.repeat_interleave(t.tensor([1, 2, 0]), dim=1) | x.repeat_interleave(t.tensor([1, 2, 0]))
t.repeat_interleave(t.tensor([1, 2, 0])) | x.repeat_interleave(-1) | x.repeat_interleave(t.tensor([1, 2]))
a.repeat_interleave(t.tensor([2]), dim=0) | x.repeat_interleave(t.tensor([1.0, 2.0, 0.0]))
x.sum().repeat_interleave(3)
x.repeat_interleave(2, output_size=6) | x.repeat_interleave(t.tensor([1, -2, 0])) | a.repeat_interleave(2, -1)
x.repeat_interleave(t.ones(2, 2, dtype=t.int64)) | x.repeat_interleave(t.tensor(2)) | t.repeat_interleave(a, 3, dim=0)
x.repeat_interleave(t.tensor([1, 2, 0]), output_size=3) | x.is_sparse | t.arange(3).repeat_interleave(2)
"""


@pytest.mark.parametrize("text", entries(CALLS))
def test_a_call(text: str) -> None:
    def program(torch: Any) -> Any:
        x, y = (torch.tensor(values, requires_grad=True) for values in ([0.5, -1.0, 2.0], [3.0, 4.0]))
        a = torch.arange(6.0).reshape(2, 3).requires_grad_()
        made = eval(text, {"t": torch, "x": x, "y": y, "a": a})
        if isinstance(made, bool):
            return made
        outs = [made] if isinstance(made, torch.Tensor) else list(made)
        chains = []
        for out in outs:
            node, names = out.grad_fn, []
            while node is not None:
                names.append(node.name().replace("torch::autograd::", ""))
                node = node.next_functions[0][0] if node.next_functions else None
            chains.append(names)
        if any(out.requires_grad for out in outs):
            sum((out * torch.arange(out.numel()).reshape(out.shape)).sum() for out in outs).backward()
        return outs, chains, x.grad, y.grad, a.grad

    compare(program)


def test_a_grid_whose_order_is_not_said_warns() -> None:
    import workbench

    with pytest.warns(UserWarning, match="it will be required to pass the indexing argument"):
        assert workbench.meshgrid(workbench.ones(2), workbench.ones(3))[0].shape == (2, 3)
