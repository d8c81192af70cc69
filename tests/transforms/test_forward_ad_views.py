"""Dual tensors made of a view: what has the tangent, and where a write goes."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

VIEWS = entries("b[0] | b[1:] | b[:, 0] | b.t() | b.view(-1) | b[0].expand(2, 3) | b[:] | b.detach()[0] | b[:, ::2]")
THEN = entries("""
fw.unpack_dual(v) | fw.unpack_dual(b) | fw.unpack_dual(b[0]) | fw.unpack_dual(d[0]) | fw.unpack_dual(d * 2)
(t is fw.unpack_dual(d).tangent, fw.unpack_dual(d).tangent.stride(), d._base is b, d._base is v)
(t.mul_(5), fw.unpack_dual(d).tangent) | (d.mul_(2), fw.unpack_dual(b), fw.unpack_dual(v)) | fw.make_dual(d, t)
(v.mul_(2), fw.unpack_dual(d), fw.unpack_dual(b)) | fw.unpack_dual(fw.make_dual(b, torch.ones(b.shape))).tangent
(fw.make_dual(v, t * 3), fw.unpack_dual(d), fw.unpack_dual(v)) | (d.fill_(1.0), fw.unpack_dual(d), fw.unpack_dual(b))
(v.copy_(d * 2), fw.unpack_dual(v), fw.unpack_dual(b), fw.unpack_dual(d)) | fw.unpack_dual(d.view(-1)[1:])
""")


@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("view", VIEWS)
def test_a_dual_of_a_view(view: str, then: str) -> None:
    def program(torch: Any) -> Any:
        fw = torch.autograd.forward_ad
        names = {"torch": torch, "fw": fw, "b": torch.arange(6.0).reshape(2, 3) + 1}
        with fw.dual_level():
            v = names["v"] = eval(view, names)
            t = names["t"] = torch.arange(float(v.numel())).reshape(v.shape)
            d = names["d"] = fw.make_dual(v, t)
            return tuple(fw.unpack_dual(d)), eval(then, names)

    compare(program)
