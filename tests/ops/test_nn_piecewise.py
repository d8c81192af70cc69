"""Activations that are made of pieces, and gates, beside PyTorch's: values, derivatives, layers and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

import workbench as w
from workbench.nn import functional as F

CALLS = """
F.hardtanh(x) | F.hardtanh(x, -2, 0.5) | F.hardtanh(b, inplace=True) | F.relu6(x * 4) | F.relu6(b, True)
F.hardsigmoid(x) | F.hardsigmoid(b, True) | F.hardswish(x) | F.hardswish(b, True) | F.hardshrink(x)
F.hardshrink(x, 1.25) | F.softshrink(x) | F.softshrink(x, 1) | F.threshold(x, 0.1, 2.0) | F.threshold(b, 1, 20, True)
F.mish(x) | F.mish(b, True) | F.celu(x) | F.celu(x, 1.5) | F.celu(b, 1.5, True) | F.celu(b, -1.5, True) | F.selu(x)
F.selu(b, True) | F.glu(x) | F.glu(x, 0) | F.prelu(x, y) | F.prelu(x, y[:1]) | F.prelu(x, y[0]) | F.softsign(x)
F.tanhshrink(x) | F.softmin(x, 0) | F.softmin(x) | F.rrelu(x) | F.rrelu(x, 0.5, 0.75) | F.rrelu(x, 0.5, 0.5, True)
F.rrelu(b, 0.5, 0.5, True, True) | F.glu(x[:0]) | F.hardtanh(x, 3, 0) | F.hardtanh(n) | F.hardtanh(n > 0) | F.relu6(n)
F.hardswish(n) | F.hardsigmoid(n) | F.hardshrink(n) | F.softshrink(n) | F.softshrink(x, -1) | F.threshold(n, 2, 20)
F.threshold(n, 2, 2.5) | F.mish(n) | F.celu(n) | F.selu(n) | F.celu(x, 0.0) | F.glu(n) | F.glu(x[:, :3])
F.glu(x[0, 0]) | F.glu(x, 5) | F.prelu(n, n[0, :1]) | F.prelu(x, y[:2]) | F.prelu(x, y[:, None]) | F.prelu(x, y.float())
F.prelu(x[0, 0], y) | F.prelu(x[0], y) | F.softsign(n) | F.tanhshrink(n) | F.rrelu(n) | F.rrelu(x, 0.5, 0.1)
F.hardtanh([1]) | F.mish([1]) | F.mish(x * e) | F.celu(x * e, 1.5) | F.hardtanh(x * e) | F.hardswish(x * e)
F.hardsigmoid(x * e) | F.hardshrink(x * e) | F.softshrink(x * e) | F.threshold(x * e, 1.0, 2.0) | F.selu(x * e)
n_.Hardtanh(2, 1)(x) | n_.Softmax2d()(x) | n_.Softmax2d()(x[None]) | n_.PReLU(4).double()(x)
n_.PReLU(init=0.5).double()(x) | n_.GLU(0)(x) | n_.Softmin(1)(x) | n_.ReLU6()(x) | n_.Hardtanh()(x)
n_.Hardsigmoid()(x) | n_.Hardswish(True)(b) | n_.Hardshrink(1.0)(x) | n_.Softshrink()(x) | n_.Threshold(1, 2)(x)
n_.Mish()(x) | n_.CELU(2.0)(x) | n_.SELU(True)(b) | n_.Softsign()(x) | n_.Tanhshrink()(x) | n_.RReLU().eval()(x)
"""


@pytest.mark.parametrize("text", entries(CALLS))
def test_a_call(text: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([[0.5, -1.5, 2.0, -0.25], [3.5, -3.5, 0.75, -0.75]], dtype=torch.float64, requires_grad=True)
        y = torch.tensor([0.25, -0.5, 1.5, 0.75], dtype=torch.float64, requires_grad=True)
        edge = torch.tensor([[float("inf"), -float("inf"), 0.0, 1.0], [float("nan"), 1.0, 0.0, 1.0]])
        known = {"F": torch.nn.functional, "n_": torch.nn, "x": x, "y": y, "b": x * 1, "e": edge.double()}
        known["n"] = torch.tensor([[1, 5, -3, 2], [7, 0, 2, -9]])
        out = eval(text, known)
        if not out.requires_grad:
            return out
        v = torch.arange(out.numel(), dtype=out.dtype).reshape(out.shape) + 1
        first = torch.autograd.grad((out * v).sum(), [x, y], create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None)
        # PyTorch has no second derivative of hardsigmoid, and at infinity it says nan for some zeros
        if "ardsigmoid" in text or "e)" in text or "e, " in text:
            total = total.detach()
        again = torch.autograd.grad(total, [x, y], allow_unused=True) if total.requires_grad else (None, None)
        # of a piece that is flat PyTorch's second derivative is None or zeros; what is zero counts as None
        again = [None if g is None or not g.abs().sum() else g for g in again]
        return out.grad_fn.name(), out.detach(), [g is not None and g.detach() for g in first], again

    compare(program)


REPRS = """
ReLU6() | ReLU6(True) | Hardtanh(-2, 2) | Hardtanh(inplace=True) | Hardsigmoid(True) | Hardswish() | Hardshrink()
Softshrink(1) | Threshold(1, 2) | Threshold(1, 2, True) | Mish() | Mish(True) | CELU() | CELU(2.0, True) | SELU(True)
GLU() | PReLU(3) | Softsign() | Tanhshrink() | RReLU() | RReLU(0.1, 0.2, True) | Softmin(1) | Softmax2d()
"""


@pytest.mark.parametrize("text", entries(REPRS))
def test_what_a_layer_is_printed_as(text: str) -> None:
    def program(torch: Any) -> Any:
        layer = eval(f"torch.nn.{text}", {"torch": torch})
        return repr(layer), {name: t for name, t in layer.state_dict().items()}

    compare(program)


def test_rrelu_in_training_takes_parts_between_its_bounds() -> None:
    w.manual_seed(0)
    out = F.rrelu(-w.ones(1000), 0.25, 0.5, training=True)
    assert -0.5 <= out.min() < -0.45 and -0.3 < out.max() <= -0.25
