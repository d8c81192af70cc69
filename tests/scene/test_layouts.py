"""How results lie in memory: as their operands do, or row by row."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

# Matrices that lie in rows, in columns, with gaps, and one row for all; `b` and `d` three-dimensional.
RESULTS = """
F + 1 | F * F | S + F | E + E | F + row | row + F | F ** 2 | 2 ** F | 2 / F | F.exp() | S.exp() | E.exp() | E.float()
F.float() | S.float() | F.clone() | S.clone() | E.clone() | torch.zeros_like(F) | F > 1 | F.softmax(1) | F.sum(0)
F.sort(0)[0] | F.sort(0)[1] | F.sort(1)[1] | F.argsort(0) | F.argsort(1) | S.argsort(1) | F.topk(2, 1)[1] | F.cumsum(0)
F.index_add(0, k, C) | F.index_put((k,), C) | F.index_put((k,), C, accumulate=True) | F.index_select(0, k)
F.gather(0, k[None]) | F[k] | F.masked_fill(F > 2, 0.0) | F.scatter(0, k[None], 1.0) | F.flip(0) | F.tril()
torch.nn.functional.logsigmoid(F) | torch.nn.functional.softplus(F) | torch.nn.functional.elu(F)
torch.einsum("ij,jk->ik", C, C.t()) | torch.einsum("ij,jk->ki", C, C.t()) | torch.einsum("ij,kj->ki", C, F)
torch.einsum("bij,bjk->kib", b, d) | torch.einsum("bij,bjk->bki", b, d) | torch.einsum("bij,bjk->kbi", b, d)
torch.einsum("bij,bjk->bik", b, d) | torch.einsum("ij,jkl->kil", C, d.transpose(0, 1)) | torch.einsum("ij->ji", C)
torch.einsum("ij,jkl->kli", C, d.transpose(0, 1)) | torch.einsum("ijl,jk->kil", d, b[0].t()[:4].contiguous().t()[:, :2])
F @ C.t() | C @ F.t() | torch.cat([F, F], 1) | torch.stack([F, F]) | F.contiguous() | P + P | P.exp() | P.sum(1) | P * 2
"""


@pytest.mark.parametrize("text", entries(RESULTS))
def test_a_result(text: str) -> None:
    def program(torch: Any) -> Any:
        def numbers(*shape: int) -> Any:
            size = 1
            for n in shape:
                size *= n
            return (torch.arange(size, dtype=torch.float64) * 0.25 + 0.5).reshape(shape)

        named = {"torch": torch, "C": numbers(2, 3), "F": numbers(3, 2).t(), "S": numbers(2, 6)[:, ::2]}
        named |= {"E": numbers(3).expand(2, 3), "row": numbers(1, 3), "k": torch.tensor([1, 0])}
        named |= {"b": numbers(2, 3, 4), "d": numbers(2, 4, 3), "P": numbers(4, 2, 3).permute(1, 2, 0)}
        out = eval(text, named)
        return out, out.stride(), out.is_contiguous()

    compare(program)
