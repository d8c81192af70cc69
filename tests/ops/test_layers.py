"""Layers: first values, statistics, draws, and what they give for batches and under transforms."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from expressions import distinct
from module_samples import filled
from oracle import chain, entries

import workbench as w
from workbench.autograd.scopes import scope_of
from workbench.func import functional_call, grad, jvp, vmap
from workbench.nn import functional as F
from workbench.ops.library import convolution

# Parameters begin evenly between bounds: how large the largest of each is, at most and at least.
BOUNDS = {
    **dict.fromkeys(["Conv2d(4, 100, 5)", "Conv2d(8, 200, 5, groups=2)"], (0.1, 0.095)),
    **dict.fromkeys(["LSTM(2, 16)", "GRU(2, 16, 2, bidirectional=True)", "RNNCell(2, 16)"], (0.25, 0.17)),
}


@pytest.mark.parametrize("text", BOUNDS)
def test_weights_begin_evenly_between_pytorchs_bounds(text: str) -> None:
    w.manual_seed(1)
    most, least = BOUNDS[text]
    for name, parameter in eval(f"w.nn.{text}").named_parameters():
        assert least < parameter.abs().max().item() <= most, name


def test_attention_begins_with_pytorchs_numbers() -> None:
    w.manual_seed(1)
    layer = w.nn.MultiheadAttention(24, 2, add_bias_kv=True)
    bound = (6 / (4 * 24)) ** 0.5
    assert bound * 0.98 < layer.in_proj_weight.abs().max().item() <= bound
    assert layer.in_proj_bias.abs().sum().item() == layer.out_proj.bias.abs().sum().item() == 0
    keys = w.cat([layer.bias_k, layer.bias_v]).flatten()  # normal numbers
    assert keys.std().item() == pytest.approx((2 / (24 + 24)) ** 0.5, rel=0.3)
    assert 0.95 < layer.out_proj.weight.abs().max().item() * 24**0.5 <= 1


def test_an_embedding_begins_with_normal_numbers_and_zeros_for_padding() -> None:
    w.manual_seed(1)
    layer = w.nn.Embedding(100, 50, padding_idx=3)
    assert layer.weight[3].abs().max().item() == 0
    assert abs(layer.weight.std().item() - 1) < 0.05 and layer.weight.abs().max().item() > 2.5


def test_layers_begin_with_pytorchs_numbers_in_pytorchs_shapes(torch):
    torch.manual_seed(1)
    layers = [torch.nn.Conv1d(4, 2, 3), torch.nn.ConvTranspose2d(2, 6, 3, groups=2), torch.nn.Conv3d(1, 2, 2)]
    return [(tuple(p.shape), p.abs().max() < 0.75) for layer in layers for p in layer.parameters()]


def test_running_statistics_over_several_batches_and_their_evaluation(torch):
    seen = []
    for momentum in (0.1, 0.3, None):
        layer = torch.nn.BatchNorm1d(3, momentum=momentum).double()
        for k in range(3):
            layer(distinct(torch, 4, 3) * (k + 1) + k)
        seen += [layer.running_mean, layer.running_var, layer.num_batches_tracked]
        seen += [layer.eval()(distinct(torch, 2, 3)), layer.num_batches_tracked]
        layer.reset_running_stats()
        seen += [layer.running_mean, layer.num_batches_tracked, str(layer.num_batches_tracked.dtype)]
    return seen


def test_a_state_from_before_batches_were_counted(torch):
    layer = torch.nn.BatchNorm1d(2)
    old = {name: t + 1 for name, t in layer.state_dict().items() if name != "num_batches_tracked"}
    told, model = str(layer.load_state_dict(old)), torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    inner = model.load_state_dict({f"0.{name}": t for name, t in old.items()})
    return told, list(layer.state_dict().values()), str(inner)


def test_what_is_held_is_trained(torch):
    held = torch.nn.ModuleDict({"w": torch.nn.ParameterList([torch.ones(2), torch.ones(2)])})
    held["b"] = torch.nn.ParameterDict({"b": torch.zeros(2)})
    held["w"][1] = torch.full((2,), 2.0)
    optimizer = torch.optim.SGD(held.parameters(), 0.5)
    (held["w"][0] * held["w"][1] + held["b"]["b"]).sum().backward()
    optimizer.step()
    del held["b"]
    return [(name, p, p.grad) for name, p in held.named_parameters()], list(held.state_dict())


def test_the_nodes_of_a_layer_lie_in_its_scope() -> None:
    class Model(w.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.memory, self.head = w.nn.LSTM(2, 3), w.nn.Linear(3, 1)

        def forward(self, x: w.Tensor) -> w.Tensor:
            return self.head(self.memory(x)[0])

    found, waiting = set(), [Model()(w.ones(2, 1, 2)).grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and "Accumulate" not in node.name():
            found.add(scope_of(node))
            waiting += [parent for parent, _ in node.next_functions]
    assert found == {"Model/memory", "Model/head"}


def test_dropout_keeps_the_mean_and_drops_as_often_as_told() -> None:
    w.manual_seed(0)
    x = w.ones(100, 100, requires_grad=True)
    out = F.dropout(x, 0.25)
    assert set(np.unique(out.detach().numpy())) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(out.mean().item() - 1) < 0.02
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), out.detach().numpy())


def test_dropout_in_place_writes_into_its_input() -> None:
    x = w.ones(10)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert x._version == 1


def test_dropout_hides_weights_in_training_alone() -> None:
    layer, x = w.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.5), w.ones(3, 1, 4)
    assert not w.equal(layer(x), layer(x))
    assert w.equal(layer.eval()(x), layer(x))


def test_rrelu_in_training_takes_parts_between_its_bounds() -> None:
    w.manual_seed(0)
    out = F.rrelu(-w.ones(1000), 0.25, 0.5, training=True)
    assert -0.5 <= out.min() < -0.45 and -0.3 < out.max() <= -0.25


@pytest.mark.parametrize("name", ["dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("inplace", [False, True])
def test_what_dropouts_draw(torch: Any, name: str, inplace: bool) -> Any:
    """Which values there are, whether channels go as a whole, and what the graph is made of."""
    torch.manual_seed(0)
    shape = {"dropout1d": (30, 20, 2), "dropout3d": (30, 20, 2, 1, 1)}.get(name, (30, 20, 2, 1))
    x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
    out = getattr(torch.nn.functional, name)(x * 1, 0.25, True, inplace)
    out.sum().backward()
    values, slopes = (sorted({round(n, 12) for n in t.detach().flatten().tolist()}) for t in (out, x.grad))
    flat = out.detach().reshape(30, 20, 2)
    often = (flat == flat.max()).double().mean().item()
    whole = bool((flat[..., 0] == flat[..., 1]).all())
    return values, slopes, whole, abs(often - 0.75) < 0.06, chain(out.grad_fn)


def test_a_small_network_learns() -> None:
    w.manual_seed(1)
    images = w.randn(20, 1, 6, 6)
    classes = (images[:, 0, :3].mean((1, 2)) > images[:, 0, 3:].mean((1, 2))).long()
    kernel, head = w.randn(4, 1, 3, 3, requires_grad=True), w.randn(2, 64, requires_grad=True)
    losses = []
    for _ in range(60):
        hidden = F.layer_norm(F.gelu(F.conv2d(images, kernel)), (4, 4))
        loss = F.cross_entropy(F.linear(hidden.reshape(20, 64), head), classes)
        for t, g in zip((kernel, head), w.autograd.grad(loss, (kernel, head)), strict=True):
            t.data.sub_(0.1 * g)
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10


def test_infinity_stays_in_the_windows_that_see_it(torch):
    x = torch.tensor([[1.0, 2.0, float("inf"), 3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    means = torch.nn.functional.adaptive_avg_pool1d(x, 3)
    (g,) = torch.autograd.grad(means, x, torch.tensor([[1.0, float("inf"), 2.0]], dtype=torch.float64))
    return means, torch.nn.functional.avg_pool1d(x, 2, 1, 1), g


def test_windows_are_a_view(torch):
    x = torch.arange(6.0)
    windows = x.unfold(0, 2, 2)
    windows[1] = 9.0
    x[0] = -1.0
    y = torch.ones(6, requires_grad=True)
    z = y * 1
    z.unfold(0, 2, 2)[0].mul_(3.0)
    z.sum().backward()
    return x, windows, windows.stride(), y.grad, z.grad_fn.name()


POOLS = ["max_pool2d(x, 2)", "max_pool2d(x, 3, 1, 1)", "avg_pool2d(x, 2, 1)", "avg_pool2d(x, 3, 2, 1, True, False)"]


@pytest.mark.parametrize("text", POOLS)
def test_derivatives_of_pools(text: str) -> None:
    def pool(x: w.Tensor) -> w.Tensor:
        return eval(f"w.nn.functional.{text}", {"w": w, "x": x})

    x = distinct(w, 1, 2, 4, 5).requires_grad_()
    assert w.autograd.gradcheck(pool, (x,), check_forward_ad=True, check_batched_grad=True)
    assert w.autograd.gradgradcheck(pool, (x,))


# Of images, one of them, a sequence or a row.
TRANSFORMED = """
F.unfold(t, 2) | F.unfold(t, (2, 1), stride=(1, 2), padding=1) | F.fold(F.unfold(t, 2), (3, 4), 2) | t.unfold(2, 2, 1)
F.adaptive_max_pool2d(t, (2, 3)) | F.adaptive_max_pool1d(t[0], 3) | t.unfold(0, 1, 1) | t[0, 0, 0].unfold(0, 1, 1)
F.pad(t[0], (2, 1)) | F.pad(t[0], (2, 1), "reflect") | F.pad(t[0], (2, 1), "replicate")
F.pad(t[0], (2, 1), "circular")
"""


@pytest.mark.parametrize("text", entries(TRANSFORMED))
def test_transforms(torch: Any, text: str) -> Any:
    """Tangents, batches on either side, and a batch of gradients."""
    x = (torch.arange(48, dtype=torch.float64) * 7 % 11).reshape(2, 2, 3, 4)

    def called(t: Any) -> Any:
        return eval(text, {"F": torch.nn.functional, "torch": torch, "t": t})

    several, func = x.unsqueeze(1), torch.func
    with warnings.catch_warnings():  # PyTorch has a loop where the workbench has a rule
        warnings.simplefilter("ignore")
        grads = func.vmap(func.grad(lambda t: (called(t) ** 2).sum()))(several)
        last = func.vmap(called, in_dims=4)(several.permute(1, 2, 3, 4, 0).contiguous())
    return func.jvp(called, (x,), (x * x,)), func.vmap(called)(several), last, grads


def one_by_one(function: Any, dims: tuple[int | None, ...], given: Any) -> Any:
    """What the function gives for each sample."""
    return w.stack([function(*[t if d is None else t[k] for t, d in zip(given, dims, strict=True)]) for k in range(3)])


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
def test_a_batch_is_its_samples_one_by_one(dims: tuple[int | None, int | None]) -> None:
    x, kernel, weight = distinct(w, 3, 2, 4, 3), distinct(w, 3, 4, 2, 2), distinct(w, 3, 4)

    def slope(x: Any, k: Any) -> Any:
        return grad(lambda k: (F.conv_transpose1d(x, k, stride=2) ** 2).sum())(k)

    def moved(x: Any, k: Any) -> Any:
        return jvp(lambda x, k: F.group_norm(x, 2, k, k * 2), (x, k), (x * x, k + 1))[1]

    for function, *several in ((slope, x, kernel), (moved, x, weight)):
        given = [t if d == 0 else t[0] for t, d in zip(several, dims, strict=True)]
        assert w.allclose(vmap(function, dims)(*given), one_by_one(function, dims, given))


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 0)])
def test_gradients_of_embeddings_in_batches(padding: int | None, dims: tuple[int | None, int | None]) -> None:
    several = distinct(w, 3, 4, 2), w.tensor([[0, 1, 3], [1, 1, 2], [3, 0, 1]])
    given = [t if d == 0 else t[0] for t, d in zip(several, dims, strict=True)]

    def loss(weight: w.Tensor, indices: w.Tensor) -> w.Tensor:
        return w.nn.functional.embedding(indices, weight, padding).pow(3).sum()

    for derivative in (grad(loss), lambda weight, indices: grad(lambda x: grad(loss)(x, indices).sum())(weight)):
        assert w.allclose(vmap(derivative, dims)(*given), one_by_one(derivative, dims, given))


def test_gradients_of_each_sample_of_a_small_network() -> None:
    layers = [w.nn.Conv2d(1, 2, 2), w.nn.MaxPool2d(2), w.nn.LayerNorm((1, 2)), w.nn.Flatten(0), w.nn.Linear(4, 1)]
    net = filled(w, w.nn.Sequential(*layers)).double()
    x, params = distinct(w, 3, 1, 3, 5), {name: p.detach() for name, p in net.named_parameters()}

    def loss(params: Any, x: w.Tensor) -> w.Tensor:
        return functional_call(net, params, (x,)).square().sum()

    together = vmap(grad(loss), (None, 0))(params, x)
    for k in range(3):
        for name, each in grad(loss)(params, x[k]).items():
            assert w.allclose(together[name][k], each), name


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


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("inplace", [False, True])
def test_rrelu_saves_its_operand_or_in_place_its_result(training: bool, inplace: bool) -> None:
    x = w.tensor([-1.0, 2.0], requires_grad=True)
    operand = x * 1
    result = F.rrelu(operand, 0.25, 0.25, training, inplace)
    total = result.sum()
    with w.no_grad():
        (result if inplace else operand).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_renorm_writes_into_its_own_dtype_only() -> None:
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double instead"):
        w.renorm(w.ones(2, 3), 2, 0, 1.0, out=w.empty(2, 3, dtype=w.float64))
