"""Convolutions, pools, embeddings and normalisations beside PyTorch's: outputs, gradients and buffers."""

from __future__ import annotations

from typing import Any

import pytest
from module_samples import filled
from oracle import compare, entries, same

import workbench as w
from workbench.func import functional_call, grad, vmap
from workbench.nn import functional as F
from workbench.ops import convolution


def numbers(torch: Any, *shape: int) -> Any:
    """Certain numbers of both signs, of which no two are alike."""
    count = 1
    for n in shape:
        count *= n
    return (
        (torch.arange(count, dtype=torch.float64) * 7 + 3).remainder(11) / 4 - 1.25 + torch.arange(count) / 64
    ).reshape(shape)


LAYERS = """
n.Conv2d(2, 3, 2)(x) | n.Conv2d(2, 4, (2, 3), stride=(2, 1), padding=1, dilation=(1, 2), groups=2)(x)
n.Conv2d(2, 3, 3, padding="same", bias=False)(x) | n.Conv2d(2, 3, 2, padding="valid")(x) | n.Conv2d(2, 1, 2)(x[0])
n.Conv2d(3, 3, 2)(x) | n.Conv2d(2, 3, 9)(x) | n.Conv2d(2, 3, 2, groups=0)(x) | n.Conv2d(3, 4, 2, groups=2)(x)
n.Conv2d(4, 3, 2, groups=2)(x) | n.Conv2d(2, 3, 2, 2, "same")(x) | n.MaxPool2d(2)(x) | n.MaxPool2d(2, 1)(x)
n.MaxPool2d((3, 2), padding=(1, 0))(x) | n.MaxPool2d(2, dilation=2)(x[0]) | n.MaxPool2d(3, 2, ceil_mode=True)(x)
n.MaxPool2d(2, return_indices=True)(x) | n.MaxPool2d(9)(x) | n.MaxPool2d(2)(x[0, 0])
n.MaxPool2d(3, 2, 1, 1, True, True)(x) | n.MaxPool2d(2, padding=2)(x) | n.MaxPool2d(2, 0)(x)
n.MaxPool2d(2, 3, ceil_mode=True)(x) | n.AvgPool2d(2)(x) | n.AvgPool2d(2, 1)(x) | n.AvgPool2d((3, 2), padding=(1, 0))(x)
n.AvgPool2d(3, 2, ceil_mode=True)(x) | n.AvgPool2d(3, 2, 1, count_include_pad=False)(x) | n.AvgPool2d(3, 2, 1, True)(x)
n.AvgPool2d(3, 2, 1, True, False)(x) | n.AvgPool2d(2, divisor_override=3)(x[0]) | n.AvgPool2d(9)(x)
n.AvgPool2d(2, divisor_override=0)(x) | n.AvgPool2d(2, padding=2)(x) | n.Embedding(5, 3)(i)
n.Embedding(5, 3, padding_idx=-1)(i) | n.Embedding(5, 2, 0)(i[0, 0]) | n.Embedding(5, 3, max_norm=1.0)(i)
n.Embedding(5, 3, max_norm=1.0, norm_type=1)(i) | n.Embedding(4, 3)(i) | n.Embedding(5, 3)(i - 1) | n.Embedding(5, 3)(x)
n.Embedding(5, 3, 9)(i) | n.Embedding.from_pretrained(x[0, 0])(i[:1] // 3)
n.Embedding.from_pretrained(x[0, 0], False, 1)(i[:1] // 3) | n.Embedding.from_pretrained(x)(i) | n.LayerNorm(5)(x)
n.LayerNorm((4, 5), eps=0.1)(x) | n.LayerNorm([5], elementwise_affine=False)(x) | n.LayerNorm(5, bias=False)(x)
n.LayerNorm(4)(x) | n.BatchNorm2d(2)(x) | n.BatchNorm2d(2, 0.1, 0.5)(x) | n.BatchNorm2d(2, affine=False)(x)
n.BatchNorm2d(2, momentum=None)(x) | n.BatchNorm2d(2, track_running_stats=False)(x) | n.BatchNorm2d(2).eval()(x)
n.BatchNorm2d(2, track_running_stats=False).eval()(x) | n.BatchNorm1d(4)(x[:, 0]) | n.BatchNorm1d(5)(x[:, 0, 0])
n.BatchNorm1d(2)(x) | n.BatchNorm2d(2)(x[0]) | n.BatchNorm2d(3)(x) | n.BatchNorm2d(2, bias=False)(x) | n.SiLU()(x)
n.SiLU(True)(x) | n.ELU()(x) | n.ELU(0.5, inplace=True)(x) | n.Softplus(2.0, 1.0)(x) | n.LogSigmoid()(x)
n.Softplus()(x)
"""


@pytest.mark.parametrize("text", entries(LAYERS))
def test_a_layer(text: str) -> None:
    made, _, call = text.partition(")(")

    def program(torch: Any) -> Any:
        x = numbers(torch, 2, 2, 4, 5).requires_grad_()
        known = {"torch": torch, "n": torch.nn, "x": x * 1, "i": torch.tensor([[0, 4, 1], [1, 1, 3]])}
        layer = eval(f"{made})", known).double()
        if "from_pretrained" not in text:
            filled(torch, layer)
        seen = []
        for _ in range(2):
            out = eval(f"layer({call}", known | {"layer": layer})
            first = out[0] if isinstance(out, tuple) else out
            if first.requires_grad:
                (first * first * numbers(torch, *first.shape)).sum().backward()
            seen += [
                out[1:] if isinstance(out, tuple) else (),
                first.sum(),
                (first * numbers(torch, *first.shape)).sum(),
                first.shape,
            ]
        named = first.grad_fn and first.grad_fn.name()
        return (
            seen,
            named,
            x.grad,
            [p.grad for p in layer.parameters()],
            list(layer.buffers()),
            list(layer.state_dict()),
        )

    compare(program)


REPRS = """
Conv2d(1, 2, 3) | Conv2d(2, 4, (1, 2), 2, (1, 0), 3, 2, False) | Conv2d(1, 1, 2, padding="same")
Conv2d(1, 1, 2, [1, 2], padding=[0, 0]) | MaxPool2d(2) | MaxPool2d((1, 2), 3, 1, 2, ceil_mode=True) | AvgPool2d(2)
AvgPool2d(2, (1, 2), 1) | Embedding(2, 3) | Embedding(4, 3, -1, 2.0, 1.5) | LayerNorm(3) | LayerNorm((2, 3), 0.1, False)
LayerNorm(2, bias=False) | BatchNorm1d(3) | BatchNorm2d(3, 0.1, None, False, False) | BatchNorm1d(3, bias=False) | ELU()
ELU(0.5, True) | SiLU() | SiLU(True) | Softplus(2) | Softplus() | LogSigmoid()
"""


@pytest.mark.parametrize("text", entries(REPRS))
def test_what_a_layer_is_printed_as_and_holds(text: str) -> None:
    def program(torch: Any) -> Any:
        layer = eval(f"torch.nn.{text}", {"torch": torch})
        state = layer.state_dict()
        return repr(layer), {name: (tuple(t.shape), str(t.dtype)) for name, t in state.items()}

    compare(program)


@same
def test_running_statistics_over_several_batches_and_their_evaluation(torch):
    seen = []
    for momentum in (0.1, 0.3, None):
        layer = torch.nn.BatchNorm1d(3, momentum=momentum).double()
        for k in range(3):
            layer(numbers(torch, 4, 3) * (k + 1) + k)
        seen += [layer.running_mean, layer.running_var, layer.num_batches_tracked]
        seen += [layer.eval()(numbers(torch, 2, 3)), layer.num_batches_tracked]
        layer.reset_running_stats()
        seen += [layer.running_mean, layer.num_batches_tracked, str(layer.num_batches_tracked.dtype)]
    return seen


@same
def test_a_state_from_before_batches_were_counted(torch):
    layer = torch.nn.BatchNorm1d(2)
    old = {name: t + 1 for name, t in layer.state_dict().items() if name != "num_batches_tracked"}
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    return [
        str(layer.load_state_dict(old)),
        list(layer.state_dict().values()),
        str(model.load_state_dict({f"0.{name}": t for name, t in old.items()})),
    ]


BOUNDS = {
    "Conv2d(4, 100, 5)": {"weight": 0.1, "bias": 0.1},
    "Conv2d(8, 200, 5, groups=2)": {"weight": 0.1, "bias": 0.1},
}


@pytest.mark.parametrize("text", BOUNDS)
def test_weights_begin_evenly_between_pytorchs_bounds(text: str) -> None:
    w.manual_seed(1)
    for name, parameter in eval(f"w.nn.{text}").named_parameters():
        assert BOUNDS[text][name] * 0.95 < parameter.abs().max().item() <= BOUNDS[text][name], name


def test_an_embedding_begins_with_normal_numbers_and_zeros_for_padding() -> None:
    w.manual_seed(1)
    layer = w.nn.Embedding(100, 50, padding_idx=3)
    assert layer.weight[3].abs().max().item() == 0
    assert abs(layer.weight.std().item() - 1) < 0.05 and layer.weight.abs().max().item() > 2.5


CLASSES = """
F.one_hot(i) | F.one_hot(i, 4) | F.one_hot(i, 2) | F.one_hot(i - 1, 2) | F.one_hot(i.float(), 3) | F.one_hot(i[:0])
F.one_hot(i[:0], 3) | F.one_hot(i[0]) | F.normalize(x[:, 0]) | F.normalize(x, dim=-1, p=1.0)
F.normalize(x * 0, eps=0.5) | F.normalize(x, 3, (1, 2)) | F.embedding(i, x[0, 0]) | F.embedding(i, x[0, 0], -1)
F.embedding(i, x[0, 0], 7) | F.embedding(i, x) | F.embedding([1], x[0, 0]) | F.embedding(i, x[0, 0], 1, 1.0, 1.0)
"""


@pytest.mark.parametrize("text", entries(CLASSES))
def test_a_function(text: str) -> None:
    def program(torch: Any) -> Any:
        x = numbers(torch, 2, 2, 4, 5).requires_grad_()
        out = eval(text, {"F": torch.nn.functional, "i": torch.tensor([2, 0, 2]), "x": x * 1})
        if out.requires_grad:
            (out * out * numbers(torch, *out.shape)).sum().backward()
        return out.sum(), (out * numbers(torch, *out.shape)).sum(), out.dtype, x.grad

    compare(program)


POOLS = ["max_pool2d(x, 2)", "max_pool2d(x, 3, 1, 1)", "avg_pool2d(x, 2, 1)", "avg_pool2d(x, 3, 2, 1, True, False)"]


@pytest.mark.parametrize("text", POOLS)
def test_derivatives_of_pools(text: str) -> None:
    def pool(x: w.Tensor) -> w.Tensor:
        return eval(f"w.nn.functional.{text}", {"w": w, "x": x})

    x = numbers(w, 1, 2, 4, 5).requires_grad_()
    assert w.autograd.gradcheck(pool, (x,), check_forward_ad=True, check_batched_grad=True)
    assert w.autograd.gradgradcheck(pool, (x,))


def test_gradients_of_each_sample_of_a_small_network() -> None:
    layers = [w.nn.Conv2d(1, 2, 2), w.nn.MaxPool2d(2), w.nn.LayerNorm((1, 2)), w.nn.Flatten(0), w.nn.Linear(4, 1)]
    net = filled(w, w.nn.Sequential(*layers)).double()
    x, params = numbers(w, 3, 1, 3, 5), {name: p.detach() for name, p in net.named_parameters()}

    def loss(params: Any, x: w.Tensor) -> w.Tensor:
        return functional_call(net, params, (x,)).square().sum()

    together = vmap(grad(loss), (None, 0))(params, x)
    for k in range(3):
        for name, each in grad(loss)(params, x[k]).items():
            assert w.allclose(together[name][k], each), name


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 0)])
def test_gradients_of_embeddings_in_batches(padding: int | None, dims: tuple[int | None, int | None]) -> None:
    weight, indices = numbers(w, 3, 4, 2), w.tensor([[0, 1, 3], [1, 1, 2], [3, 0, 1]])
    given = [t if d == 0 else t[0] for t, d in zip((weight, indices), dims, strict=True)]

    def loss(weight: w.Tensor, indices: w.Tensor) -> w.Tensor:
        return w.nn.functional.embedding(indices, weight, padding).pow(3).sum()

    for derivative in (grad(loss), lambda weight, indices: grad(lambda x: grad(loss)(x, indices).sum())(weight)):
        together = vmap(derivative, dims)(*given)
        for k in range(3):
            one = [t[k] if d == 0 else t for t, d in zip(given, dims, strict=True)]
            assert w.allclose(together[k], derivative(*one))


@pytest.mark.parametrize("how", [{}, {"stride": 2, "padding": 1}, {"dilation": (2, 1), "groups": 2}])
def test_a_convolution_of_few_elements_is_that_of_many(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its windows are looked up and not sliced: the values and the gradients are the same, to the last bit."""

    def results() -> list[Any]:
        w.manual_seed(1)
        images = w.randn(2, 4, 7, 6).requires_grad_()
        kernel = w.randn(4, 4 // how.get("groups", 1), 3, 2).requires_grad_()
        out = F.conv2d(images, kernel, **how)
        (out * w.randn(*out.shape)).sum().backward()
        return [out.tolist(), images.grad.tolist(), kernel.grad.tolist()]

    few = results()
    monkeypatch.setattr(convolution, "FEW_SEEN", 0)
    assert results() == few
