"""Attention and transformer layers beside PyTorch's, with the same state: outputs, weights and gradients."""

from __future__ import annotations

from typing import Any

import pytest
from module_samples import filled
from oracle import compare, entries

import workbench as w


def known(torch: Any) -> dict[str, Any]:
    """Sequences of three, two batches, four numbers; masks of both kinds."""

    def numbers(*shape: int) -> Any:
        count = torch.ones(shape).numel()
        return ((torch.arange(count, dtype=torch.float64) * 5 % 9) / 4 - 1).reshape(shape).requires_grad_()

    causal = torch.ones(3, 3, dtype=torch.bool).triu(1)
    padding = torch.tensor([[False, False, True], [False, True, True]])
    return {
        "torch": torch,
        "x": numbers(3, 2, 4),
        "y": numbers(5, 2, 4),
        "z": numbers(5, 2, 3),
        "causal": causal,
        "padding": padding,
        "added": causal * -1.5 if torch is w else causal.double() * -1.5,
        "inf": float("inf"),
    }


def seen(torch: Any, out: Any, named: dict[str, Any], params: Any = ()) -> Any:
    tensors = [t for t in (out if isinstance(out, tuple) else (out,)) if t is not None]
    marks = [torch.arange(1, t.numel() + 1, dtype=torch.float64).reshape(t.shape) for t in tensors]
    sum((t * t * m).sum() for t, m in zip(tensors, marks, strict=True)).backward()
    return (
        [t.detach() for t in tensors],
        [named[name].grad for name in "xyz"],
        [p.grad.sum() + (p.grad * p.grad).sum() for p in params],
    )


ATTENTION = """
(q, k, v) | (q, k, v, causal) | (q, k, v, ~causal) | (q, k, v, added.double()) | (q, k, v, is_causal=True)
(q, k, v, scale=0.1) | (q, y, y) | (q, y, y, is_causal=True) | (q[0], k[0], v[0]) | (q, k, v, ~causal, is_causal=True)
(q[0, 0], k[0], v[0]) | (q, k, v, causal & False) | (q, k, v, causal[0]) | (q, k, v, dropout_p=1.0)
(q, k, v, torch.full((3, 3), -inf, dtype=torch.float64)) | (q, y, z)
"""


@pytest.mark.parametrize("text", entries(ATTENTION))
def test_attention(text: str) -> None:
    def program(torch: Any) -> Any:
        named = known(torch)
        q, k, v, y, z = (named[name].transpose(0, 1) for name in "xxxyz")
        call = {"q": q, "k": k * 0.5, "v": v + 1, "y": y, "z": z}
        out = eval(f"torch.nn.functional.scaled_dot_product_attention{text}", named | call)
        return seen(torch, out, named)

    compare(program)


HEADS = """
(4, 2)(x, x, x) | (4, 1)(x, x, x) | (4, 2, bias=False)(x, x, x) | (4, 2)(x, y, y) | (4, 2)(x, y, y * 2)
(4, 2)(x[:, 0], x[:, 0], x[:, 0]) | (4, 2, batch_first=True)(x, x, x) | (4, 2, batch_first=True)(x, y[:3], y[:3])
(4, 2, batch_first=True)(x[0], x[0], x[0]) | (4, 2, add_bias_kv=True)(x, x, x) | (4, 2, add_zero_attn=True)(x, x, x)
(4, 2, vdim=3)(x, y, z) | (4, 2, kdim=3, bias=False)(x, z, y) | (4, 2)(x, x, x, need_weights=False)
(4, 2)(x, x, x, average_attn_weights=False) | (4, 2)(x, x, x, attn_mask=causal) | (4, 2)(x, x, x, attn_mask=added)
(4, 2)(x, x, x, attn_mask=causal, need_weights=False)
(4, 2)(x, x, x, attn_mask=causal, is_causal=True, need_weights=False) | (4, 2)(x, x, x, padding)
(4, 2)(x, x, x, padding, False) | (4, 2)(x, x, x, padding, attn_mask=causal) | (4, 2)(x, x, x, padding, attn_mask=added)
(4, 2, add_bias_kv=True, add_zero_attn=True)(x, x, x, padding, attn_mask=causal)
(4, 2)(x, x, x, attn_mask=causal.expand(4, 3, 3)) | (4, 2)(x[:, 0], x[:, 0], x[:, 0], padding[0])
(4, 2)(x[:, 0], x[:, 0], x[:, 0], attn_mask=causal.expand(2, 3, 3), need_weights=False)
(4, 2, dropout=1.0)(x, x, x, need_weights=False) | (4, 3)(x, x, x) | (0, 2)(x, x, x) | (4, 2)(x, x, x, is_causal=True)
(4, 2)(x[0, 0], x, x) | (4, 2)(x, x[0], x) | (4, 2)(x[0], x, x) | (4, 2)(x, x, x, padding[0])
(4, 2)(x, x, x, attn_mask=causal[0]) | (4, 2)(x, x, x, attn_mask=causal[:2]) | (4, 2)(x, x, x, attn_mask=causal[None])
(4, 2)(x, x, x, attn_mask=causal.long()) | (4, 2)(x, x, x, padding.long()) | (4, 2)(x, x, x, padding[:1])
(4, 2)(x, x, x, padding[:, :2])
"""


@pytest.mark.parametrize("text", entries(HEADS))
def test_attention_of_several_heads(text: str) -> None:
    made, _, call = text.partition(")(")

    def program(torch: Any) -> Any:
        named = known(torch)
        named["added"] = named["added"].double()
        layer = filled(torch, eval(f"torch.nn.MultiheadAttention{made})", {"torch": torch}).double())
        return seen(torch, eval(f"layer({call}", named | {"layer": layer}), named, layer.parameters())

    compare(program)


TRANSFORMERS = """
(4, 2, 6, 0.0)(x) | (4, 2, 6, 0.0, "gelu")(x) | (4, 2, 6, 0.0, norm_first=True)(x)
(4, 2, 6, 0.0, "gelu", batch_first=True, bias=False)(x) | (4, 2, 6, 0.0, torch.tanh, 0.1)(x) | (4, 2, 6).eval()(x)
(4, 2, 6, 0.0)(x, causal) | (4, 2, 6, 0.0)(x, causal, padding) | (4, 2, 6, 0.0)(x[0])
(4, 2, 6, 0.0)(x, causal, is_causal=True) | (4, 2, 6, 0.0, torch.nn.GELU())(x, added) | (4, 2, 6, 0.0, "sin")(x)
(4, 3)(x) | (4, 2, 6, 0.0)(x, added, padding)
"""


@pytest.mark.parametrize("text", entries(TRANSFORMERS))
def test_a_transformer_layer(text: str) -> None:
    made, _, call = text.partition(")(")
    made, eval_mode, _ = made.partition(").eval(")
    if text.startswith("(4, 2, 6, 0.0, torch.nn.GELU())"):
        made, call = text[:31].removesuffix(")"), text[32:]

    def program(torch: Any) -> Any:
        named = known(torch)
        named["added"] = named["added"].double()
        layer = filled(torch, eval(f"torch.nn.TransformerEncoderLayer{made})", {"torch": torch}).double())
        out = eval(f"layer({call}", named | {"layer": layer.eval() if eval_mode else layer})
        return *seen(torch, out, named, layer.parameters()), list(layer.state_dict())

    compare(program)


@pytest.mark.parametrize("text", ["None", "torch.nn.LayerNorm(4)"])
def test_layers_after_each_other(text: str) -> None:
    def program(torch: Any) -> Any:
        named, norm = known(torch), eval(text, {"torch": torch})
        layer = torch.nn.TransformerEncoderLayer(4, 2, 3, 0.0)
        model = torch.nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
        filled(torch, model).double()
        out = model(named["x"], named["causal"], named["padding"])
        return *seen(torch, out, named, model.parameters()), len(model.state_dict()), repr(model)[:300]

    compare(program)


REPRS = """
MultiheadAttention(4, 2) | MultiheadAttention(4, 2, bias=False, add_bias_kv=True, vdim=3)
TransformerEncoderLayer(4, 2, 8) | TransformerEncoderLayer(4, 2, 8, activation=torch.nn.GELU())
MultiheadAttention(4, 2, kdim=2)
"""


@pytest.mark.parametrize("text", entries(REPRS))
def test_what_a_layer_is_printed_as_and_holds(text: str) -> None:
    def program(torch: Any) -> Any:
        layer = eval(f"torch.nn.{text}", {"torch": torch})
        return repr(layer), {name: tuple(t.shape) for name, t in layer.state_dict().items()}

    compare(program)


def test_weights_begin_between_pytorchs_bounds() -> None:
    w.manual_seed(1)
    layer = w.nn.MultiheadAttention(24, 2, add_bias_kv=True)
    bound = (6 / (4 * 24)) ** 0.5
    assert bound * 0.98 < layer.in_proj_weight.abs().max().item() <= bound
    assert layer.in_proj_bias.abs().sum().item() == layer.out_proj.bias.abs().sum().item() == 0
    keys = w.cat([layer.bias_k, layer.bias_v]).flatten()  # normal numbers
    assert keys.std().item() == pytest.approx((2 / (24 + 24)) ** 0.5, rel=0.3)
    assert 0.95 < layer.out_proj.weight.abs().max().item() * 24**0.5 <= 1


def test_dropout_hides_weights_in_training_alone() -> None:
    layer, x = w.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.5), w.ones(3, 1, 4)
    assert not w.equal(layer(x), layer(x))
    assert w.equal(layer.eval()(x), layer(x))
