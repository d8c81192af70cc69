"""What index tensors name: what is refused of them and in which order, bytes as masks, nothing at all."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries, names

# `u` is a mask of bytes, `f` an empty index, `o` one index, `k` one that names nothing, `v` a matrix of indices.
ADDED = """
x.index_add(0, i, n) | x.index_add(0, i, y.float()) | x.index_add(0, u, y) | x.index_add(0, m, y)
x.index_add(0, x, y) | x.index_add(0, k, y[:1]) | a.index_add(0, k, a[:1]) | a.index_add(1, k, a[:, :1], alpha=2)
A.index_add(1, k, A[:, :1]) | A.index_add(2, k, A[:, :, :1]) | s.index_add(0, k, s) | x.index_add(0, -i, y)
x.index_add(0, o, y[0]) | x.index_add(0, o, y[:1]) | s.index_add(0, i[:1], s) | s.index_add(0, i[:1], y[:1])
s.index_add(0, i[:2], y[:2]) | x.index_add(0, i, y[:2]) | x.index_add(0, v, y) | x.index_add(0, v.double(), y)
a.index_add(0, i[:1], x) | a.index_add(1, i[:1], a[:1, :1]) | a.index_add(0, i[:1], a) | a.index_add(1, i, x)
n.index_add(0, i, n, alpha=2.5) | m.index_add(0, i, m) | x.index_add(0, i, y, alpha=2.5) | x.index_add(0, 3, y)
x.index_add(0, i, y, alpha="a") | (x * 1).index_add_(0, i, n)
x.index_add(0, f, e)
"""
SELECTED = """
x.index_select(0, m) | x.index_select(0, u) | x.index_select(0, x) | x.index_select(0, i.int()) | x.index_select(0, k)
x.index_select(0, -i) | x.index_select(0, o) | x.index_select(0, o + 3) | a.index_select(0, o) | a.index_select(1, o)
a.index_select(1, k) | a.index_select(0, k) | a.t().index_select(1, k) | A.index_select(1, k) | A.index_select(2, k)
s.index_select(0, i[1:2]) | s.index_select(0, o - o) | s.index_select(0, k) | s.index_select(0, i)
s.index_select(0, f)
x.index_select(0, e) | x.index_select(0, v) | x.index_select(0, v.double()) | x.index_select(0, 1)
e.index_select(0, o)
a[:0].index_select(0, o) | a[:0].index_select(1, o) | a[:, :0].index_select(0, o) | a[:, :0].index_select(1, o)
a[:0].index_select(1, k) | a[:, :0].index_select(0, k) | m.index_select(0, k) | x.index_select(0, f)
"""
BYTES = """
x[u] | x[u[:2]] | a[u[:2]] | a[:, u] | a[u[:2], u] | a[(a > 0).to(torch.uint8)] | a[u] | x[u[0]] | x[u[1]] | x[u[None]]
x[np.array([1, 0, 1], np.uint8)] | x[np.array(1, np.uint8)] | x[np.uint8(1)] | x[[1, 0, 1]] | x[[]] | x[f] | x[e]
x.index_put((u,), y[0]) | (x * 1).index_put_((u,), y[:2]) | (x * 1).index_put_((u,), y[:1], accumulate=True)
(x * 1).__setitem__(u, 2.0) | (x * 1).__setitem__(u[0], y) | (a * 1).__setitem__((0, u), 2.0)
(a * 1).__setitem__((i[1:2], u), 2.0) | x.masked_fill(u, 1.0) | x.masked_fill(n.int(), 1.0) | x.masked_select(u)
"""
NOTHING = """
x.gather(0, f) | x.gather(0, e) | a.gather(0, f) | a.gather(1, f) | a.gather(5, f) | s.gather(0, f) | a.gather(0, 3)
a.gather(1, torch.zeros(0, 3, dtype=torch.int64)) | a.gather(1, torch.zeros(2, 0)) | a.scatter(0, f, 2.0)
a.scatter(0, f, a) | a.scatter(0, f, x) | a.scatter(0, e, x) | a.scatter(0, f, x.float()) | a.scatter_add(0, f, a)
a.scatter_add(0, f, x) | a.scatter_add(0, e, x) | a.scatter_add(0, e, x.float())
"""
PUT = """
x.index_put((i,), n) | x.index_put((i,), n[:2]) | x.index_put((k,), n[:2]) | x.index_put((k,), y[:2])
x.index_put((k,), y[:1]) | x.index_put((k,), n[:1]) | x.index_put((k,), y[:1], accumulate=True) | x.index_put((e,), e)
x.index_put((v.double(),), y) | x.index_put((i, i), y) | x.index_put((m, m), y) | x.index_put((m, i), n)
x.index_put((m[:2],), n) | x.index_put((m,), y) | x.index_put((m,), n) | x.index_put((m,), n[0])
x.index_put((m,), n[:1], accumulate=True) | a.index_put((i[:2], i), n) | a.index_put((i[:2], i), x)
a.index_put((m,), y)
a.index_put((i,), a) | a.index_put((j[:2],), a[None]) | a.index_put((j[:2],), a[None].float()) | s.index_put((i,), s)
a.index_put((j[:2],), a[:, :1]) | a.index_put((f,), a[:, :1]) | a.index_put((f,), a[:1]) | x.index_put(i, y)
x.index_put((2,), y) | x.index_put((i,), 2.0) | (a * 1).index_put_((None, i), x) | (x * 1).index_put_(7, y)
(x * 1).__setitem__(k, y[:2]) | (x * 1).__setitem__(k, n[:2]) | (x * 1).__setitem__(i, n) | (a * 1).__setitem__(i, a)
"""


@pytest.mark.parametrize("text", entries(ADDED + SELECTED + BYTES + NOTHING + PUT))
def test_an_index(text: str) -> None:
    def program(torch: Any) -> Any:
        named = names(torch)
        named["u"] = named["m"].to(torch.uint8)
        named["f"], named["o"] = torch.tensor([], dtype=torch.int64), torch.tensor(1)
        named["k"], named["v"] = torch.tensor([5]), named["i"][None]
        out = eval(text, named)
        if isinstance(out, torch.Tensor) and out.requires_grad:
            out.sum().backward()
        return out, [leaf.grad for leaf in named.values() if isinstance(leaf, torch.Tensor) and leaf.is_leaf]

    compare(program)


MASKS = """
a[z[:, None] > 0] | a[z > 0] | a[:, z > 0] | a[(z > 0)[:, None].expand(0, 3)] | a[(z > 0)[None].expand(2, 0)]
a[None, z > 0] | a.index_put((z > 0,), z) | a.index_put((z > 0,), z, accumulate=True)
(a * 1).__setitem__(z > 0, 2.0) | (a * 1).__setitem__((0, z > 0), z) | z[z > 0] | z.index_put((z > 0,), z)
"""


@pytest.mark.parametrize("text", entries(MASKS))
def test_a_mask_of_no_elements_has_the_shape_of_what_it_picks_from(text: str) -> None:
    def program(torch: Any) -> Any:
        named = {"a": torch.arange(6.0).reshape(2, 3), "z": torch.zeros(0)}
        return eval(text, named), named["a"]

    compare(program)
