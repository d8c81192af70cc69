"""Means over windows and interpolation beside PyTorch's: values, derivatives, layers and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

# x is (1, 2, 5, 4), s a sequence of it (1, 2, 5), v a volume (1, 2, 3, 4, 2), i whole numbers like s
CALLS = """
F.avg_pool1d(s, 2) | F.avg_pool1d(s, 3, 2, 1) | F.avg_pool1d(s, (3,), 2, 1, True, False) | F.avg_pool1d(s[0], 2)
F.avg_pool1d(s, 2, padding=2) | F.avg_pool1d(s, 7) | F.avg_pool1d(x, 2) | F.avg_pool1d(s, 2, 0) | F.avg_pool1d(i, 2)
F.avg_pool2d(i[..., None], (2, 1)) | F.avg_pool2d(x[:0], 2) | F.avg_pool3d(v, 2)
F.avg_pool3d(v, (2, 3, 1), 1, (0, 1, 0)) | F.avg_pool3d(v, 2, 1, 1, True, False)
F.avg_pool3d(v, 2, divisor_override=3) | F.avg_pool3d(v, 2, divisor_override=0) | F.avg_pool3d(v, 4)
F.avg_pool3d(v, 2, padding=2) | F.avg_pool3d(s[0], 2) | F.adaptive_avg_pool1d(s, 3) | F.adaptive_avg_pool1d(s, (1,))
F.adaptive_avg_pool1d(s, (2, 2)) | F.adaptive_avg_pool1d(x, 2) | F.adaptive_avg_pool1d(i, 2)
F.adaptive_avg_pool2d(x, 2) | F.adaptive_avg_pool2d(x, (7, None)) | F.adaptive_avg_pool2d(x, 1)
F.adaptive_avg_pool2d(x[0], 3) | F.adaptive_avg_pool2d(x, (2,)) | F.adaptive_avg_pool2d(x, -1)
F.adaptive_avg_pool2d(x.detach(), 0) | F.adaptive_avg_pool2d(s[0], 2) | F.adaptive_avg_pool2d(x[:, :, :0], 2)
F.adaptive_avg_pool2d(x[:0], 2) | F.adaptive_avg_pool3d(v, (2, 3, 1)) | F.adaptive_avg_pool3d(v, 1)
F.adaptive_avg_pool3d(s[0], 2) | F.interpolate(s, scale_factor=2) | F.interpolate(x, 3)
F.interpolate(x, scale_factor=(1.7, 0.6)) | F.interpolate(v, size=(2, 5, 3)) | F.interpolate(x, 7, mode="nearest-exact")
F.interpolate(s, scale_factor=1.3, mode="nearest-exact") | F.interpolate(v, scale_factor=1.7, mode="nearest-exact")
F.interpolate(s, scale_factor=1.7, mode="linear") | F.interpolate(s, 8, None, "linear", True)
F.interpolate(x, scale_factor=2, mode="bilinear") | F.interpolate(x, scale_factor=1.7, mode="bilinear")
F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
F.interpolate(x, 3, None, "bilinear", True) | F.interpolate(x, 1, None, "bilinear", True)
F.interpolate(x, (5, 9), None, "bicubic") | F.interpolate(x, 3, None, "bicubic", True)
F.interpolate(v, scale_factor=1.5, mode="trilinear") | F.interpolate(v, 4, None, "trilinear", True)
F.interpolate(x, 3, mode="area") | F.interpolate(s, 2, mode="area") | F.interpolate(v, 2, mode="area")
F.interpolate(x[:0], 3, mode="bilinear") | F.interpolate(s) | F.interpolate(s, 3, 2) | F.interpolate(s, (3, 3))
F.interpolate(s, scale_factor=(2, 2)) | F.interpolate(s[0], 3) | F.interpolate(s, 3, mode="bilinear")
F.interpolate(x, 3, mode="linear") | F.interpolate(x, 3, mode="other") | F.interpolate(x, 3, align_corners=True)
F.interpolate(x, 0) | F.interpolate(x, 3, antialias=True) | F.interpolate(x, 3, recompute_scale_factor=True)
F.interpolate(i, 4, mode="linear") | F.interpolate(i, 4) | n.AvgPool1d(2)(s) | n.AvgPool1d(3, 1, 1)(s)
n.AvgPool3d(2, 1)(v) | n.AdaptiveAvgPool1d(2)(s) | F.max_pool1d(s, 2) | F.max_pool1d(s, 3, 2, 1, 2)
F.max_pool1d(s[0], 2, ceil_mode=True) | F.max_pool1d(s, 2, 0) | F.max_pool1d(s, 2, padding=2) | F.max_pool1d(s, 7)
F.max_pool1d(s, (2, 2)) | F.max_pool1d(x, 2) | n.MaxPool1d(2, 1)(s) | F.max_pool1d(s[:0], 2)
F.max_pool1d(s.detach(), 2, return_indices=True) | F.max_pool2d(x[:0], 2) | n.AdaptiveAvgPool2d((3, None))(x)
n.AdaptiveAvgPool3d(2)(v) | n.Upsample(scale_factor=2)(x) | n.Upsample((7, 7), mode="bilinear")(x)
n.UpsamplingNearest2d(3)(x) | n.UpsamplingBilinear2d(scale_factor=2)(x)
"""


@pytest.mark.parametrize("text", entries(CALLS))
def test_a_call(text: str) -> None:
    def program(torch: Any) -> Any:
        shapes = {"x": (1, 2, 5, 4), "s": (1, 2, 5), "v": (1, 2, 3, 4, 2)}
        leaves = {}
        for name, shape in shapes.items():
            count = torch.arange(torch.zeros(shape).numel(), dtype=torch.float64)
            leaves[name] = ((count * 7 + 3).remainder(11) / 4 - 1.25).reshape(shape).requires_grad_()
        whole = (torch.arange(10) * 7 % 11).reshape(1, 2, 5)
        out = eval(text, {"F": torch.nn.functional, "n": torch.nn, "i": whole, **leaves})
        if isinstance(out, tuple) or not out.requires_grad:
            return out
        given = list(leaves.values())
        first = torch.autograd.grad((out**3).sum(), given, create_graph=True, allow_unused=True)
        again = torch.autograd.grad(sum((g * g).sum() for g in first if g is not None), given, allow_unused=True)
        return out.grad_fn.name(), out.detach(), [g is not None and g.detach() for g in first], again

    compare(program)


REPRS = """
MaxPool1d(2) | AvgPool1d(2) | AvgPool1d(2, 1, 1) | AvgPool3d(2) | AvgPool3d((1, 2, 2), 1) | AdaptiveAvgPool1d(3)
AdaptiveAvgPool2d((1, None)) | AdaptiveAvgPool3d(1) | Upsample(3) | Upsample(scale_factor=2)
Upsample(scale_factor=(2, 3), mode="bilinear") | UpsamplingNearest2d((3, 4)) | UpsamplingBilinear2d(scale_factor=1.5)
"""


@pytest.mark.parametrize("text", entries(REPRS))
def test_what_a_layer_is_printed_as(text: str) -> None:
    compare(lambda torch: repr(eval(f"torch.nn.{text}", {"torch": torch})))


def test_infinity_stays_in_the_windows_that_see_it() -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([[1.0, 2.0, float("inf"), 3.0, 4.0]], dtype=torch.float64, requires_grad=True)
        means = torch.nn.functional.adaptive_avg_pool1d(x, 3)
        (g,) = torch.autograd.grad(means, x, torch.tensor([[1.0, float("inf"), 2.0]], dtype=torch.float64))
        return means, torch.nn.functional.avg_pool1d(x, 2, 1, 1), g

    compare(program)
