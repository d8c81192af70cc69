"""Borders around tensors beside PyTorch's: values, derivatives, graphs, layers and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import compare, entries

# x is (1, 2, 3, 4), s a sequence of it (2, 3, 4), v a volume (1, 2, 3, 4, 2), i whole numbers like s, b masks
CALLS = """
F.pad(s, (1, 2)) | F.pad(s, [1, 2, 0, 1, 2, 0], value=1.5) | F.pad(s, (-1, 3)) | F.pad(s, (-2, -1)) | F.pad(s, ())
F.pad(s, (-2, -2)) | F.pad(s, (-2, -3)) | F.pad(s, (5, -5)) | F.pad(s, (1,)) | F.pad(s, (1,) * 8) | F.pad(s, 1)
F.pad(s, (1.0, 1)) | F.pad(s, (1, 1), "other") | F.pad(s, (1, 1), value="a") | F.pad([1], (1, 1)) | F.pad(o, ())
F.pad(o, (1, 1)) | F.pad(i, (1, 1), value=2.5) | F.pad(i, (1, -1), value=2) | F.pad(b, (1, 1))
F.pad(b, (1, 1), value=1) | F.pad(s[:0], (1, 1)) | F.pad(s.float(), (1, 1), value=0.1) | F.pad(s, (0, 0))
F.pad(s, (1, 1), MODE) | F.pad(s, (1, 2), mode=MODE) | F.pad(s[0], (2, 1), mode=MODE)
F.pad(x, (2, 1, 0, 1), mode=MODE) | F.pad(x[0], (2, 1, 1, 1), mode=MODE) | F.pad(v, (1, 0, 1, 2, 1, 1), mode=MODE)
F.pad(v[0], (1,) * 6, mode=MODE) | F.pad(s, (-1, 2), mode=MODE)
F.pad(x, (-1, 1, 2, -1), mode=MODE) | F.pad(v, (0, -1, 1, 0, -1, 1), mode=MODE)
F.pad(s, (4, 1), mode=MODE) | F.pad(s, (1, 5), mode=MODE) | F.pad(x, (0, 0, 3, 0), mode=MODE)
F.pad(v, (0, 0, 0, 0, 3, 0), mode=MODE) | F.pad(s, (1,), mode=MODE) | F.pad(s, (1, 1, 1), mode=MODE)
F.pad(s, (-3, -3), mode=MODE) | F.pad(s, (-2, -2), mode=MODE) | F.pad(s[:0], (1, 1), mode=MODE)
F.pad(s[:, :0], (1, 1), mode=MODE) | F.pad(s[..., :0], (1, 1), mode=MODE) | F.pad(x[..., :0], (1,) * 4, mode=MODE)
F.pad(s[0], (1,) * 4, mode=MODE) | F.pad(s[0, 0], (1, 1), mode=MODE) | F.pad(s, (), mode=MODE)
F.pad(s, (0, 0), mode=MODE) | F.pad(s, (1, 1), mode=MODE, value=1.0) | F.pad(s, (1, 1), mode=MODE, value=0.0)
F.pad(i, (1, 2), mode=MODE) | F.pad(b, (1, 2), mode=MODE) | F.pad(s.float(), (1, 2), mode=MODE)
n.ConstantPad1d((1, 2), 3.5)(s) | n.ConstantPad2d(1, -1)(x) | n.ConstantPad3d((1, 0, 2, 0, 0, 1), 2)(v)
n.ZeroPad1d(2)(s) | n.ZeroPad2d((1, 0, -1, 2))(x) | n.ZeroPad3d(1)(v) | n.ReflectionPad1d(2)(s)
n.ReflectionPad2d((1, 0, 2, 1))(x) | n.ReflectionPad3d(1)(v) | n.ReplicationPad1d((1, 5))(s) | n.ReplicationPad2d(2)(x)
n.ReplicationPad3d(1)(v) | n.CircularPad1d(2)(s) | n.CircularPad2d((1, 2, 0, 1))(x) | n.CircularPad3d(1)(v)
n.ReflectionPad1d((1, 1))(x) | n.ReflectionPad2d(1)(s[0]) | n.CircularPad1d(1)(v)
"""
TEXTS = [
    text.replace("MODE", repr(mode))
    for text in entries(CALLS)
    for mode in (("reflect", "replicate", "circular") if "MODE" in text else ("",))
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_call(text: str) -> None:
    def program(torch: Any) -> Any:
        leaves = {}
        for name, shape in {"x": (1, 2, 3, 4), "s": (2, 3, 4), "v": (1, 2, 3, 4, 2), "o": ()}.items():
            count = torch.arange(torch.zeros(shape).numel(), dtype=torch.float64)
            leaves[name] = ((count * 7 + 3).remainder(11) / 4 - 1.25).reshape(shape).requires_grad_()
        whole = (torch.arange(24) * 7 % 11).reshape(2, 3, 4)
        out = eval(text, {"F": torch.nn.functional, "n": torch.nn, "i": whole, "b": whole > 5, **leaves})
        if not out.requires_grad:
            return out
        given = list(leaves.values())
        first = torch.autograd.grad((out**3).sum(), given, create_graph=True, allow_unused=True)
        again = torch.autograd.grad(sum((g * g).sum() for g in first if g is not None), given, allow_unused=True)
        circular = "CopySlices" in out.grad_fn.name()  # its gradient is made of other nodes than PyTorch's
        names = [g.grad_fn.name() for g in first if g is not None and not circular]
        return out.grad_fn.name(), names, out.detach(), [g is not None and g.detach() for g in first], again

    compare(program)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_transforms(mode: str) -> None:
    """Tangents, a batch, and a batch of gradients."""

    def program(torch: Any) -> Any:
        x = (torch.arange(24, dtype=torch.float64) * 7 % 11).reshape(2, 3, 4)

        def padded(t: Any) -> Any:
            return torch.nn.functional.pad(t, (2, 1), mode=mode)

        several = x.unsqueeze(1)
        batch = torch.func.vmap(padded)(several), torch.func.vmap(padded, in_dims=2)(several[..., :2].mT.contiguous())
        grads = torch.func.vmap(torch.func.grad(lambda t: (padded(t) ** 2).sum()))(several)
        return torch.func.jvp(padded, (x,), (x * x,)), batch, grads

    compare(program)


REPRS = """
ConstantPad1d((1, 2), 3.5) | ConstantPad2d(1, 0) | ZeroPad1d(1) | ZeroPad2d(2) | ZeroPad3d((1, 2, 3, 4, 5, 6))
ReflectionPad1d(1) | ReflectionPad3d(1) | ReplicationPad2d((1, 2, 3, 4)) | CircularPad2d(1) | CircularPad3d(2)
Conv2d(1, 2, 3, padding=1, padding_mode="reflect")
"""


@pytest.mark.parametrize("text", entries(REPRS))
def test_what_a_layer_is_printed_as(text: str) -> None:
    compare(lambda torch: repr(eval(text, vars(torch.nn))))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [1, "same", "valid", 9])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions_whose_borders_are_made_of_the_input(dims: int, padding: Any, mode: str) -> None:
    def program(torch: Any) -> Any:
        layer = getattr(torch.nn, f"Conv{dims}d")(1, 1, 3 if padding == 1 else 2, padding=padding, padding_mode=mode)
        layer = layer.double()
        with torch.no_grad():
            for p in layer.parameters():
                p.copy_((torch.arange(p.numel(), dtype=torch.float64) / 8 - 0.5).reshape(p.shape))
        x = (torch.arange(4**dims, dtype=torch.float64) * 7 % 11).reshape(1, 1, *[4] * dims).requires_grad_()
        out = layer(x)
        (out**2).sum().backward()
        return out.detach(), x.grad, layer.weight.grad

    compare(program)
