"""Convolutions of all dimensions, their transposes, and normalisations of groups and instances beside PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
from module_samples import filled
from oracle import compare, entries, same

import workbench as w
from workbench.func import grad, jvp, vmap
from workbench.nn import functional as F


def numbers(torch: Any, *shape: int) -> Any:
    """Certain numbers of both signs, of which no two are alike."""
    count = 1
    for n in shape:
        count *= n
    whole = torch.arange(count, dtype=torch.float64)
    return ((whole * 7 + 3).remainder(11) / 4 - 1.25 + whole / 64).reshape(shape)


# x is (2, 4, 5, 3), s a sequence of it (2, 4, 5), v a volume (2, 4, 2, 3, 3), o one image without a batch
LAYERS = """
n.Conv1d(4, 2, 3)(s) | n.Conv1d(4, 4, 2, 2, 1, 2, 2)(s) | n.Conv1d(4, 3, 3, padding="same")(s)
n.Conv1d(4, 3, 2, padding="same", dilation=3, bias=False)(s) | n.Conv1d(4, 3, 2, padding="valid")(s[0])
n.Conv1d(3, 3, 2)(s) | n.Conv1d(4, 3, 9)(s) | n.Conv1d(4, 3, 2)(x) | n.Conv1d(4, 3, (2, 2))(s)
n.Conv1d(4, 3, 2)(s[:0]) | n.Conv3d(4, 2, 2)(v) | n.Conv3d(4, 2, (1, 2, 3), (2, 1, 1), (1, 0, 1), (1, 2, 1), 2)(v)
n.Conv3d(4, 2, 3)(v) | n.Conv3d(4, 1, 3, padding="same")(v) | n.Conv3d(4, 1, 1)(v[0]) | n.Conv3d(4, 1, 1)(x)
n.Conv3d(4, 1, 1, (1, 2))(v) | n.Conv3d(4, 3, 1, groups=2)(v) | n.Conv3d(4, 2, 1, 2, "same")(v)
n.ConvTranspose1d(4, 3, 3)(s)
n.ConvTranspose1d(4, 4, 2, 3, 1, 2, 2, dilation=2)(s) | n.ConvTranspose1d(4, 3, 2)(s[0])
n.ConvTranspose1d(4, 3, 2, 2)(s, output_size=[11]) | n.ConvTranspose1d(4, 3, 2, 2)(s, output_size=[12])
n.ConvTranspose1d(4, 3, 2, output_padding=1)(s) | n.ConvTranspose1d(3, 3, 2)(s) | n.ConvTranspose1d(4, 3, 2)(s[:0])
n.ConvTranspose2d(4, 3, 2)(x) | n.ConvTranspose2d(4, 2, (3, 2), (2, 1), (1, 0), (1, 0), 2)(x)
n.ConvTranspose2d(4, 3, 2)(o) | n.ConvTranspose2d(4, 3, 3, 2, 1)(x, output_size=(10, 6))
n.ConvTranspose2d(4, 3, 2, 2)(x, output_size=(2, 3, 11, 7)) | n.ConvTranspose2d(4, 3, 2, 2)(x, output_size=(11,))
n.ConvTranspose2d(4, 3, 2, padding=-1)(x) | n.ConvTranspose2d(4, 3, 2, output_padding=-1)(x)
n.ConvTranspose2d(4, 3, 2, 2, 0, (1, 2))(x) | n.ConvTranspose2d(4, 3, 2)(s[..., None][:, :, :0])
n.ConvTranspose2d(4, 3, 2, padding_mode="circular")(x) | n.ConvTranspose2d(4, 3, 2, groups=3)(x)
n.ConvTranspose2d(4, 3, 2, groups=2)(x) | n.ConvTranspose2d(4, 3, 2)(x[0, 0])
n.ConvTranspose2d(4, 2, 2, bias=False)(x) | n.ConvTranspose3d(4, 2, 2)(v)
n.ConvTranspose3d(4, 2, (1, 2, 2), 2, (0, 1, 1), 1, 2, True, 2)(v) | n.ConvTranspose3d(4, 2, 2, output_padding=1)(v)
n.ConvTranspose3d(4, 3, 1)(v[0]) | n.ConvTranspose3d(4, 3, 1)(x) | n.GroupNorm(2, 4)(x) | n.GroupNorm(4, 4)(s)
n.GroupNorm(1, 4, 0.1)(v) | n.GroupNorm(2, 4, affine=False)(s) | n.GroupNorm(2, 4, bias=False)(x)
n.GroupNorm(2, 4)(s[:, :, 0]) | n.GroupNorm(4, 4)(s[:1, :, 0]) | n.GroupNorm(2, 4)(s[:0])
n.GroupNorm(2, 4, affine=False)(s[:, :, :0]) | n.GroupNorm(3, 4)(x) | n.GroupNorm(1, 3)(x) | n.GroupNorm(2, 6)(x)
n.GroupNorm(2, 4)(s[0, 0]) | n.GroupNorm(2, 4)(s.float()) | n.GroupNorm(2, 4, affine=False)(s.long())
n.InstanceNorm1d(4)(s) | n.InstanceNorm1d(4, affine=True)(s) | n.InstanceNorm1d(4, 0.1, 0.3, True, True)(s)
n.InstanceNorm1d(4, track_running_stats=True).eval()(s) | n.InstanceNorm1d(4, affine=True)(s[0])
n.InstanceNorm1d(3)(s) | n.InstanceNorm1d(4, momentum=None, track_running_stats=True)(s)
n.InstanceNorm1d(3, affine=True)(s) | n.InstanceNorm1d(4)(x) | n.InstanceNorm1d(4)(s[:, :, :1])
n.InstanceNorm1d(4)(s[:0]) | n.InstanceNorm2d(4, affine=True)(x) | n.InstanceNorm2d(4)(o)
n.InstanceNorm2d(4, track_running_stats=True)(x) | n.InstanceNorm2d(4)(s[0]) | n.InstanceNorm2d(4)(v)
n.InstanceNorm3d(4, affine=True, track_running_stats=True)(v) | n.InstanceNorm3d(4)(s)
n.InstanceNorm3d(4, affine=True)(v[0]) | n.BatchNorm3d(4)(v) | n.BatchNorm3d(4, affine=False)(v) | n.BatchNorm3d(4)(x)
"""


@pytest.mark.parametrize("text", entries(LAYERS))
def test_a_layer(text: str) -> None:
    made, _, call = text.partition(")(")

    def program(torch: Any) -> Any:
        leaves = [numbers(torch, *shape).requires_grad_() for shape in ((2, 4, 5, 3), (2, 4, 5), (2, 4, 2, 3, 3))]
        x, s, v = (leaf * 1 for leaf in leaves)
        known = {"torch": torch, "n": torch.nn, "x": x, "s": s, "v": v, "o": x[0]}
        layer = eval(f"{made})", known).double()
        filled(torch, layer)
        out = eval(f"layer({call}", known | {"layer": layer})
        if out.requires_grad:
            (out * out * numbers(torch, *out.shape)).sum().backward()
        return (
            (out * numbers(torch, *out.shape)).sum(),
            out.shape,
            str(out.dtype),
            out.grad_fn and out.grad_fn.name(),
            [leaf.grad for leaf in leaves],
            [p.grad for p in layer.parameters()],
            list(layer.buffers()),
            list(layer.state_dict()),
        )

    compare(program)


REPRS = """
Conv1d(1, 2, 3) | Conv3d(2, 4, (1, 2, 3), 2, (1, 0, 0), 3, 2, False) | Conv1d(1, 1, 2, padding="same")
Conv1d(2, 3, 2, padding=1, padding_mode="circular") | Conv3d(2, 3, (1, 2, 3), padding="same", padding_mode="reflect")
ConvTranspose1d(2, 3, 2, 2, 1, 1, 1, False, 2) | ConvTranspose2d(2, 4, 3, groups=2) | ConvTranspose3d(1, 2, (1, 2, 3))
GroupNorm(2, 4) | GroupNorm(2, 4, 0.1, False) | GroupNorm(2, 4, bias=False) | InstanceNorm1d(4)
InstanceNorm2d(4, affine=True) | InstanceNorm3d(4, 0.1, None, True, True) | InstanceNorm2d(4, affine=True, bias=False)
BatchNorm3d(2)
"""


@pytest.mark.parametrize("text", entries(REPRS))
def test_what_a_layer_is_printed_as_and_holds(text: str) -> None:
    def program(torch: Any) -> Any:
        layer = eval(f"torch.nn.{text}", {"torch": torch})
        return repr(layer), {name: (tuple(t.shape), str(t.dtype)) for name, t in layer.state_dict().items()}

    compare(program)


def twice(function: str) -> Any:
    """A test: the function's gradients and theirs, with the names of the nodes."""

    @same
    def program(torch):
        known = {"F": torch.nn.functional, "a": (2, 4, 5), "k": (4, 2, 3), "b": (4,)}
        leaves = {
            name: numbers(torch, *shape).requires_grad_() for name, shape in known.items() if isinstance(shape, tuple)
        }
        out = eval(function, known | leaves)
        used = list(leaves.values())
        first = torch.autograd.grad((out**3).sum(), used, create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None)
        names = [g is not None and g.grad_fn.name() for g in first[:2]]
        again = torch.autograd.grad(total, used, allow_unused=True)
        return names, [g is not None and g.detach() for g in first], again

    return program


test_conv1d_differentiated_twice = twice("F.conv1d(a, k, b, 2, 1, 1, 2)")
test_conv_transpose_differentiated_twice = twice("F.conv_transpose1d(a, k, b[:2], 2, 1, 1)")
test_group_norm_differentiated_twice = twice("F.group_norm(a, 2, b + 1, b)")
test_instance_norm_differentiated_twice = twice("F.instance_norm(a, None, None, b + 1, b)")


@same
def test_layers_begin_with_pytorchs_numbers_in_pytorchs_shapes(torch):
    torch.manual_seed(1)
    layers = [torch.nn.Conv1d(4, 2, 3), torch.nn.ConvTranspose2d(2, 6, 3, groups=2), torch.nn.Conv3d(1, 2, 2)]
    return [(tuple(p.shape), p.abs().max() < 0.75) for layer in layers for p in layer.parameters()]


def each_alone(function: Any, *batched: Any) -> Any:
    """What the function gives for each sample, one by one."""
    return w.stack([function(*each) for each in zip(*batched, strict=True)])


def test_a_batch_of_transposed_convolutions_is_its_samples_one_by_one() -> None:
    x, k = numbers(w, 3, 2, 4, 3), numbers(w, 3, 4, 2, 2)

    def slope(x: Any, k: Any) -> Any:
        return grad(lambda k: (F.conv_transpose1d(x, k, stride=2) ** 2).sum())(k)

    assert w.allclose(vmap(slope)(x, k), each_alone(slope, x, k))
    assert w.allclose(vmap(slope, (0, None))(x, k[0]), each_alone(lambda x: slope(x, k[0]), x))


def test_a_batch_of_group_norms_is_its_samples_one_by_one() -> None:
    x, k = numbers(w, 3, 2, 4, 3), numbers(w, 3, 4)

    def moved(x: Any, k: Any) -> Any:
        return jvp(lambda x, k: F.group_norm(x, 2, k, k * 2), (x, k), (x * x, k + 1))[1]

    assert w.allclose(vmap(moved)(x, k), each_alone(moved, x, k))
    assert w.allclose(vmap(moved, (None, 0))(x[0], k), each_alone(lambda k: moved(x[0], k), k))
