"""Windows as columns and back, and the functions beside them: values, derivatives, graphs and refusals as PyTorch's."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
from oracle import compare, entries

# x is images (2, 3, 4, 5), c columns (2, 12, 12), s a sequence (2, 6), v a vector (4), o a number, i indices, m a mask
CALLS = """
F.unfold(x, 2) | F.unfold(x[0], 2) | F.unfold(x[0, 0], 2) | F.unfold(x[0, 0, 0], 2) | F.unfold(o, 2)
F.unfold(x[None], 2)
F.unfold(x, (2, 2, 2)) | F.unfold(x, (2,)) | F.unfold(x, [2, 3], padding=(1,)) | F.unfold(x, 2.0)
F.unfold(x, (2, 3), (2, 1), (1, 0), (2, 1)) | F.unfold(x, 0) | F.unfold(x, 2, 0) | F.unfold(x, 2, 1, -1)
F.unfold(x, 2, 1, 0, 0) | F.unfold(x, 7) | F.unfold(x, (5, 1)) | F.unfold(x[:0], 2) | F.unfold(x[:, :0], 2)
F.unfold(x[:, :, :0], 2, 1, 2) | F.unfold(x.long(), 2) | F.unfold(x > 0, 2) | F.unfold([1], 2) | F.unfold(x.float(), 3)
F.unfold(x, 2, 0, -1, 0) | F.unfold(x, 2, 1, -1, 0) | F.unfold(x, (2, 2.0)) | F.unfold(x, "a")
F.unfold(x.transpose(1, 2), 2) | n.Unfold((2, 3), padding=1, stride=2)(x) | F.unfold(x, (4, 5))
F.fold(c, (4, 5), 2) | F.fold(c[0], (4, 5), 2) | F.fold(c[0, 0], (4, 5), 2) | F.fold(c[:, :11], (4, 5), 2)
F.fold(c[:, :, :11], (4, 5), 2) | F.fold(c[0][:, :11], (4, 5), 2) | F.fold(c, (4, 5, 1), 2) | F.fold(c, (4,), 2)
F.fold(c, 4, 2) | F.fold(c, (4, 5), 0) | F.fold(c, (4, 5), 2, 0) | F.fold(c, (4, 5), 2, 1, -1)
F.fold(c, (4, 5), 2, 1, 0, 0) | F.fold(c, (4, 5), 7) | F.fold(c, (1, 1), 2) | F.fold(c, (0, 5), 2)
F.fold(c[:0], (4, 5), 2) | F.fold(c[:, :0], (4, 5), 2) | F.fold(c[:, :, :0], (4, 5), 2) | F.fold(c.long(), (4, 5), 2)
F.fold(c > 0, (4, 5), 2) | F.fold([1], (4, 5), 2) | F.fold(c, None, 2) | F.fold(c.mT, (4, 5), 2)
F.fold(c[..., :6], (3, 5), (2, 3), (1, 1), 1, (2, 2)) | n.Fold((4, 5), (2, 2))(c) | F.fold(F.unfold(x, 3), (4, 5), 3)
x.unfold(2, 2, 1) | x.unfold(-1, 5, 2) | x.unfold(0, 3, 1) | x.unfold(0, -1, 1) | x.unfold(0, 0, 1) | x.unfold(0, 1, 0)
x.unfold(4, 1, 1) | o.unfold(0, 1, 1) | o.unfold(0, 0, 1) | o.unfold(0, 2, 1) | o.unfold(1, 2, 1) | x.unfold(0, 1.0, 1)
x.unfold(dimension=0, size=1, step=1) | s.unfold(1, 3, 1) | s.unfold(1, 2, 3) | s.unfold(1, 4, 2)
s.t().unfold(0, 3, 2) | s.unfold(1, 3, 1).unfold(1, 2, 1) | s[:, ::2].unfold(1, 2, 1) | s[:0].unfold(1, 2, 1)
(s > 0).unfold(1, 3, 1)
F.dropout2d(x, 0.0) | F.dropout2d(x, 1.0) | F.dropout2d(x, 0.5, False) | F.dropout1d(x[0, 0], 0.0)
F.dropout1d(x[0, 0], 1.0) | F.dropout1d(x, 0.5) | F.dropout2d(s[0], 0.5) | F.dropout2d(s, 1.0) | F.dropout2d(x[0], 1.0)
F.dropout3d(x, 1.0) | F.dropout3d(x[0], 0.0) | F.dropout3d(s, 1.0) | F.dropout3d(x[None], 1.0)
F.dropout2d(x[:0], 0.5) | F.dropout2d(x.long(), 0.5) | F.dropout2d(x.long(), 0.0) | F.dropout2d(x.long(), 1.0)
F.dropout2d(x, 1.5) | F.dropout2d(x * 1, 1.0, True, True) | F.dropout1d(x[0, 0] * 1, 1.0, True, True)
F.alpha_dropout(x, 0.5) | F.alpha_dropout(x, 0.0, True) | F.alpha_dropout(x, 1.0, True) | F.alpha_dropout(x, -1)
F.alpha_dropout(x[:0], 0.5, True) | F.alpha_dropout(x.long(), 0.5, True) | F.alpha_dropout(x.long(), 1.0, True)
F.alpha_dropout(x * 1, 1.0, True, True) | F.feature_alpha_dropout(s[0], 0.5, True) | F.alpha_dropout([1], 0.5, True)
F.feature_alpha_dropout(x, 1.0, True) | F.feature_alpha_dropout([1], 0.5, True) | F.dropout2d(o, 0.5)
n.Dropout2d(1.5) | n.Dropout1d(1.0)(s) | n.Dropout2d(1.0)(x) | n.Dropout3d(1.0)(x) | n.AlphaDropout(1.0)(x)
n.FeatureAlphaDropout(1.0)(x) | n.AlphaDropout(0.5).eval()(x)
F.adaptive_max_pool2d(x, 2) | F.adaptive_max_pool2d(x, (2, None)) | F.adaptive_max_pool2d(x, (2,))
F.adaptive_max_pool2d(x, [3, 7], True) | F.adaptive_max_pool2d(x[0], 2) | F.adaptive_max_pool2d(x[0, 0], 2)
F.adaptive_max_pool2d(x.detach(), 0) | F.adaptive_max_pool2d(x, -1) | F.adaptive_max_pool2d(x[:0], 2)
F.adaptive_max_pool2d(x[:, :0], 2) | F.adaptive_max_pool2d(x[:, :, :0], 2) | F.adaptive_max_pool2d(x.long(), 2)
F.adaptive_max_pool2d(x > 0, 2) | F.adaptive_max_pool2d(x, (2, 2, 2)) | F.adaptive_max_pool2d(x[0, 0], (2, 2))
F.adaptive_max_pool2d(x.log(), 2, True)[1] | F.adaptive_max_pool2d(x.float(), 3) | F.adaptive_max_pool2d(x[0][:0], 2)
F.adaptive_max_pool1d(x[0], 2, True) | F.adaptive_max_pool1d(s, 4) | F.adaptive_max_pool1d(x[0], (2,))
F.adaptive_max_pool1d(x[0], (2, 2)) | F.adaptive_max_pool1d(x[0], None) | F.adaptive_max_pool1d(x, 2)
F.adaptive_max_pool1d(s[0], 2) | F.adaptive_max_pool1d(x[0].detach(), 0) | F.adaptive_max_pool1d(x[0, :, :0], 2)
F.adaptive_max_pool1d(x[:0, 0], 2) | F.adaptive_max_pool1d(x[0].long(), 2) | F.adaptive_max_pool1d([1], 2)
F.adaptive_max_pool1d(x[0], 2.0) | F.adaptive_max_pool1d(x[0], -1) | n.AdaptiveMaxPool1d(2)(s)
n.AdaptiveMaxPool2d((2, None), return_indices=True)(x) | n.AdaptiveMaxPool2d(2)(x)
s.index_fill(1, i, 2.0) | s.index_fill(1, i, o) | s.index_fill(1, i, v) | s.index_fill(0, i, 1.0)
s.index_fill(1, i.int(), 1.0) | s.index_fill(1, i[None], 1.0) | s.index_fill(1, i[0], 1.0) | s.index_fill(1, -i, 1.0)
o.index_fill(0, i[:1], 1.0) | s.index_fill(2, i, 1.0) | s.long().index_fill(1, i, 1.5) | s.index_fill(1, i, True)
s.index_fill(1, m, 1.0) | (s * 1).index_fill_(1, i, 2.0) | (s * 1).index_fill_(1, i, o) | s.index_fill_(1, i, o)
torch.index_fill(s, 1, i, 0.5) | torch.index_copy(s, 1, i, s[:, 1:3])
s.index_copy(1, i, s[:, :2]) | s.index_copy(1, i, s) | s.index_copy(1, i, o) | s.index_copy(1, i[0], o)
s.index_copy(1, i[:1], v[:2]) | s.index_copy(0, i, s[:, :2].T) | s.index_copy(0, i, s)
s.index_copy(1, i.int(), s[:, :2]) | s.index_copy(1, i, s[:, :2].float()) | s.index_copy(1, i[None], s[:, :2])
s.index_copy(1, i - 5, s[:, :2]) | o.index_copy(0, i[:1], o) | o.index_copy(0, i[:1], v[:1])
s.index_copy(1, i[:0], s[:, :0]) | (s * 1).index_copy_(1, i, s[:, :2]) | (s * 1).index_copy_(1, i, s)
v.masked_scatter(m, s) | s.T.masked_scatter(m[:2], v) | v.masked_scatter(m, s[0, :2]) | v.masked_scatter(m, s.float())
v.masked_scatter(m.long(), s) | s.masked_scatter(m, v) | v.masked_scatter(m, 2.0) | v.masked_scatter([True], s)
o.masked_scatter(m[0], v) | o.masked_scatter(m, v) | (v * 1).masked_scatter_(m, s) | v[:3].masked_scatter(m, s)
v.take(i) | s.take(torch.tensor([[0, 5], [-1, 2]])) | s.take(torch.tensor(19)) | s.take(i.int()) | s.take(i.double())
s[:0].take(i) | s[:0].take(i[:0]) | o.take(i[:1]) | s.take([0]) | torch.take(s.T, i) | s.take(torch.tensor(1))
(s * 1).put_(i, v[:2]) | (s * 1).put_(i, v[:2], True) | s.put(i, v[:2]) | s.put(i, v) | s.put(i.int(), v[:2])
s.put(i + 15, v[:2]) | s.put(i, v[:2].float()) | s.put(i, o) | s[:0].put(i, v[:2]) | s.T.put(i, v[:2])
w.nansum() | w.nansum(0) | w.nansum((0, 1), True) | w.nansum(None) | w.nansum(2)
w.detach().nansum(dtype=torch.float32) | w.detach().nansum(0, dtype=torch.float32)
s.long().nansum() | (s > 0).nansum() | w[:0].nansum(0) | w.nanmean()
w.nanmean(1, True) | s.long().nanmean() | w.detach().nanmean(0, dtype=torch.float32) | w.nanmean(dtype=torch.int64)
w.nansum(keepdim=True) | torch.nansum(s, 1) | torch.nanmean(s, dim=0)
w.kthvalue(1) | w.kthvalue(2, 0, True) | w.kthvalue(0) | w.kthvalue(4) | w.kthvalue(2.0) | w.kthvalue(2, 3)
(s > 0).kthvalue(1) | s.long().kthvalue(1)[0] | o.kthvalue(1) | o.kthvalue(2) | s[:, :0].kthvalue(1) | s[:0].kthvalue(1)
torch.kthvalue(s, 3, 1) | w.sinc() | s.long().sinc() | s.sinc() | s.erfc() | s.long().erfc() | (s * 4).erfc()
F.channel_shuffle(x, 3) | F.channel_shuffle(x, 2) | F.channel_shuffle(x, 0) | F.channel_shuffle(x, -1)
F.channel_shuffle(x[0, 0], 2) | F.channel_shuffle(x[0].mT, 5) | F.channel_shuffle(x[:0], 3) | F.channel_shuffle(x, 2.0)
F.channel_shuffle([1], 2) | F.channel_shuffle(c, 4) | F.channel_shuffle(c.long(), 6) | n.ChannelShuffle(2)(c)
F.upsample(x, 3) | F.upsample(x, scale_factor=2, mode="bilinear", align_corners=True)
(s * 1).sinc_() | (s * 1).erfc_() | o.sinc()
torch.put(s, i, v[:2], accumulate=True) | (s * 1).T.put_(i, v[:2])
"""


def run(torch: Any, text: str) -> Any:
    """The value of a call, the names of the graph's nodes, and the first and second derivatives."""
    leaves = {}
    for name, shape in {"x": (2, 3, 4, 5), "c": (2, 12, 12), "s": (2, 6), "o": ()}.items():
        count = torch.arange(torch.zeros(shape).numel(), dtype=torch.float64)
        leaves[name] = ((count * 7 + 3).remainder(11) / 4 - 1.25).reshape(shape).requires_grad_()
    leaves["v"] = torch.tensor([0.5, -1.5, 2.0, 0.75], dtype=torch.float64, requires_grad=True)
    leaves["w"] = torch.tensor([[0.5, math.nan, 2.0], [0.0, 1.5, -1.0]], dtype=torch.float64, requires_grad=True)
    given = list(leaves.values())
    leaves |= {"i": torch.tensor([0, 2]), "m": torch.tensor([True, False, True, True])}
    out = eval(text, {"F": torch.nn.functional, "n": torch.nn, "torch": torch, **leaves})
    several = out if isinstance(out, tuple) else (out,)
    out = several[0]
    if not out.requires_grad:
        return several
    first = torch.autograd.grad((out**3).sum(), given, create_graph=True, allow_unused=True)
    again = torch.autograd.grad(sum((g * g).sum() for g in first if g is not None), given, allow_unused=True)
    names = [g.grad_fn.name() for g in first if g is not None]
    found = [t.detach() for t in several]
    return out.grad_fn.name(), names, found, [g is not None and g.detach() for g in first], again


@pytest.mark.parametrize("text", entries(CALLS))
def test_a_call(text: str) -> None:
    compare(lambda torch: run(torch, text))


TRANSFORMED = """
F.unfold(t, 2) | F.unfold(t, (2, 1), stride=(1, 2), padding=1) | F.fold(F.unfold(t, 2), (3, 4), 2) | t.unfold(2, 2, 1)
F.adaptive_max_pool2d(t, (2, 3)) | F.adaptive_max_pool1d(t[0], 3) | t.unfold(0, 1, 1) | t[0, 0, 0].unfold(0, 1, 1)
"""


@pytest.mark.parametrize("text", entries(TRANSFORMED))
def test_transforms(text: str) -> None:
    """Tangents, a batch, and a batch of gradients."""

    def program(torch: Any) -> Any:
        x = (torch.arange(48, dtype=torch.float64) * 7 % 11).reshape(2, 2, 3, 4)

        def called(t: Any) -> Any:
            return eval(text, {"F": torch.nn.functional, "torch": torch, "t": t})

        several = x.unsqueeze(1)
        with warnings.catch_warnings():  # PyTorch has a loop where the workbench has a rule
            warnings.simplefilter("ignore")
            grads = torch.func.vmap(torch.func.grad(lambda t: (called(t) ** 2).sum()))(several)
        return torch.func.jvp(called, (x,), (x * x,)), torch.func.vmap(called)(several), grads

    compare(program)


REPRS = """
Dropout1d() | Dropout2d(0.2, True) | Dropout3d(0.1) | AlphaDropout(0.2, True) | FeatureAlphaDropout()
ChannelShuffle(3)
AdaptiveMaxPool1d(2, return_indices=True) | AdaptiveMaxPool2d((2, None)) | Unfold((2, 3), padding=1)
Fold(4, (2, 3), stride=2)
"""


@pytest.mark.parametrize("text", entries(REPRS))
def test_what_a_layer_is_printed_as(text: str) -> None:
    compare(lambda torch: repr(eval(text, vars(torch.nn))))


def test_windows_are_a_view() -> None:
    def program(torch: Any) -> Any:
        x = torch.arange(6.0)
        windows = x.unfold(0, 2, 2)
        windows[1] = 9.0
        x[0] = -1.0
        y = torch.ones(6, requires_grad=True)
        z = y * 1
        z.unfold(0, 2, 2)[0].mul_(3.0)
        z.sum().backward()
        return x, windows, windows.stride(), y.grad, z.grad_fn.name()

    compare(program)


@pytest.mark.parametrize("name", ["dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("inplace", [False, True])
def test_what_dropouts_draw(name: str, inplace: bool) -> None:
    """Which values there are, whether channels go as a whole, and what the graph is made of."""

    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        shape = {"dropout1d": (30, 20, 2), "dropout3d": (30, 20, 2, 1, 1)}.get(name, (30, 20, 2, 1))
        x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
        out = getattr(torch.nn.functional, name)(x * 1, 0.25, True, inplace)
        out.sum().backward()
        values = sorted({round(n, 12) for n in out.detach().flatten().tolist()})
        slopes = sorted({round(n, 12) for n in x.grad.flatten().tolist()})
        flat = out.detach().reshape(30, 20, 2)
        often = (flat == flat.max()).double().mean().item()
        nodes, node = [], out.grad_fn
        while node is not None:
            nodes.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        return values, slopes, bool((flat[..., 0] == flat[..., 1]).all()), abs(often - 0.75) < 0.06, nodes

    compare(program)
