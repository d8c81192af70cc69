"""PyTorch's names of what built-in nodes keep, where ours keep it in other words (row 15.12)."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries, names, raised, same

KEPT = """
x + y; alpha, self, other | x + 2; alpha | torch.add(x, y, alpha=2); alpha | x - y; alpha
torch.sub(x, y, alpha=2); alpha
2 - x; alpha | a.mean(); self_sym_numel, self_sym_sizes | a.mean(1); self_sym_numel, dim, keepdim
a @ M; self, mat2, self_sym_sizes, self_sym_strides, mat2_sym_sizes, mat2_sym_strides
a @ a.t(); mat2_sym_sizes, mat2_sym_strides, self_sym_strides
torch.addmm(c, a, M); mat1, mat1_sym_sizes, mat1_sym_strides, mat2_sym_sizes, self_sym_sizes, alpha, beta
a.prod(1); self_sym_sizes, dim, keepdim, result | a.unbind()[0]; self_sym_sizes, dim
x.gather(0, i); sparse_grad, dim, index, self | x.scatter(0, i, y); src_sym_sizes, index
x.scatter_add(0, i, y); src_sym_sizes, index | x.index_add(0, i, y); source_dim, alpha, dim, source
x.float(); dtype | torch.nn.functional.elu(x); scale, input_scale, alpha, is_result
torch.nn.functional.logsigmoid(x); buffer, self | torch.nn.functional.layer_norm(a, (3,)); eps, normalized_shape
torch.nn.functional.mse_loss(x, y); self_sym_sizes, reduction
torch.nn.functional.nll_loss(a, j[:2]); ignore_index, reduction, weight
torch.nn.functional.conv2d(A[None], A[None, :, :1, :1]); transposed, output_padding, stride, input_sym_sizes
"""


@pytest.mark.parametrize("text", entries(KEPT))
def test_15_12_names_of_what_is_kept(text: str) -> None:
    op, asked = text.split("; ")

    def program(torch: Any) -> Any:
        node = eval(op, names(torch)).grad_fn
        told = []
        for name in asked.split(", "):
            known = hasattr(node, f"_saved_{name}")
            told.append((name, known, getattr(node, f"_saved_{name}") if known else None))
        return told

    compare(program)


@pytest.mark.parametrize("name", ["self", "self_sym_sizes"])
@same
def test_15_12_when_it_is_freed(torch, name):
    node = names(torch)["x"].exp().sum().grad_fn.next_functions[0][0]
    node(torch.ones(3, dtype=torch.float64))
    return raised(lambda: getattr(node, f"_saved_{name}"))[0]


NUMBERS = """
x * 2.0 | x * 2 | x * 0.1 | x * True | 2.0 * x | x / 3.0 | x / 3 | x.float() * 0.1 | x.float() / 3
x.mul(2.0) | x.clone().mul_(0.1) | x.clone().div_(2) | x.float() * torch.tensor(2.0, dtype=torch.float64)
"""


@pytest.mark.parametrize("text", entries(NUMBERS))
@same
def test_15_12_a_number_is_kept_in_a_dtype_of_its_own(torch, text):
    kept = eval(text, names(torch)).grad_fn._saved_other
    return kept, str(kept.dtype), kept.item()
