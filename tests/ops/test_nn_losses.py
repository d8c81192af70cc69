"""Losses beside PyTorch's: values, gradients of both sides, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

LOSSES = """
n.L1Loss()(x, t) | n.L1Loss(reduction="sum")(x, t) | n.L1Loss(reduction="none")(x, t) | n.L1Loss()(x, t[:1])
n.L1Loss()(x, x) | n.SmoothL1Loss()(x, t) | n.SmoothL1Loss(beta=0.25)(x, t) | n.SmoothL1Loss(beta=0.0)(x, t)
n.SmoothL1Loss(reduction="sum", beta=2.0)(x, t) | n.HuberLoss()(x, t) | n.HuberLoss(delta=0.25)(x, t)
n.HuberLoss("none", 2.0)(x, t) | n.HuberLoss(delta=0)(x, t) | n.SmoothL1Loss(beta=-1)(x, t) | n.BCELoss()(p, t)
n.BCELoss(reduction="sum")(p, t) | n.BCELoss(weight=d + 1)(p, t) | n.BCELoss(weight=d[0] + 1, reduction="none")(p, t)
n.BCELoss()(x, t) | n.BCELoss()(p, x) | n.BCELoss()(p, t[:1]) | n.BCELoss()(e, b) | n.BCELoss(reduction="no")(p, t)
n.BCELoss(False)(p, t) | n.BCEWithLogitsLoss()(x, t) | n.BCEWithLogitsLoss(reduction="sum")(x * 100, t)
n.BCEWithLogitsLoss(pos_weight=d[0] + 2)(x, t) | n.BCEWithLogitsLoss(d + 1, reduction="none", pos_weight=d[0])(x, t)
n.BCEWithLogitsLoss()(x, t[0]) | n.BCEWithLogitsLoss(reduce=False)(x, t) | F.binary_cross_entropy(p, b)
F.binary_cross_entropy_with_logits(x, b) | F.l1_loss(x, t, reduction="x") | F.huber_loss(x, t[0], "sum", 0.5)
F.smooth_l1_loss(x, t, reduction="none") | F.l1_loss(x, t, reduce=False)
n.BCEWithLogitsLoss(pos_weight=t[0]).state_dict() | n.L1Loss() | n.HuberLoss() | n.BCELoss()
n.SmoothL1Loss(reduction="sum").reduction | n.BCEWithLogitsLoss(t[0]).state_dict()
"""


@pytest.mark.parametrize("text", entries(LOSSES))
def test_a_loss(text: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([[0.5, -1.25, 2.0], [0.0, 0.25, -0.75]], dtype=torch.float64, requires_grad=True)
        t = torch.tensor([[0.75, 0.25, 1.0], [0.0, 0.25, 0.5]], dtype=torch.float64, requires_grad=True)
        known = {"n": torch.nn, "F": torch.nn.functional, "x": x, "t": t, "p": x.sigmoid(), "b": (t > 0.4).double()}
        known["d"] = t.detach()
        out = eval(text, known | {"e": known["b"] * (x > 0)})
        if isinstance(out, torch.Tensor) and out.requires_grad:
            (out * out).sum().backward()
        return out if isinstance(out, (torch.Tensor, dict, str)) else repr(out), x.grad, t.grad

    compare(program)
