"""Decoders and whole transformers beside PyTorch's: values, gradients, masks, names and what they refuse."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from oracle import compare, entries

USES = """
T(8, 2, 1, 1, 12, 0.0)(a, b) | T(8, 2, 1, 2, 12, 0.0, batch_first=True, norm_first=True, activation="gelu")(a, b)
T(8, 2, 1, 1, 12, 0.0)(a, b, tgt_mask=T.generate_square_subsequent_mask(3, dtype=t.float64), tgt_is_causal=True)
T(8, 2, 1, 1, 12, 0.0)(a, b, src_key_padding_mask=p, memory_key_padding_mask=p, tgt_mask=m)
T(8, 2, 1, 1, 12, 0.0)(a[0], b[0]) | T(8, 2, 1, 1, 12, 0.0, bias=False)(a, b) | T(8, 2, 1, 1)(a[:, :1], b)
T(8, 2, 1, 1, batch_first=True)(a[:1], b) | T(6, 2, 1, 1)(a, b) | T(8, 2, 1, 1, activation="tanh")
D(L(8, 2, 12, 0.0), 2)(b, a) | D(L(8, 2, 12, 0.0), 1, n.LayerNorm(8))(b, a, m) | L(8, 2, 12, 0.0)(b, a, memory_mask=q)
T(8, 2, custom_encoder=n.Identity(), num_decoder_layers=1, dim_feedforward=4)
"""


@pytest.mark.parametrize("text", entries(USES))
def test_a_decoder(text: str) -> None:
    def program(torch: Any) -> Any:
        n = torch.nn
        torch.set_default_dtype(torch.float64)
        try:
            a, b = (torch.sin(torch.arange(3.0 * 3 * 8) * step).reshape(3, 3, 8).requires_grad_() for step in (1, 0.7))
            m, p = torch.ones(3, 3).triu(1) > 0, torch.arange(9).reshape(3, 3) % 9 == 8
            names = {"t": torch, "n": n, "a": a, "b": b, "m": m, "p": p, "q": m.T, "Module": n.Module}
            call, dot, rest = text.rpartition(")(")
            names |= {"T": n.Transformer, "D": n.TransformerDecoder, "L": n.TransformerDecoderLayer}
            with warnings.catch_warnings():  # PyTorch hints at nested tensors
                warnings.simplefilter("ignore")
                net = eval(call + ")" if dot else text, names)
            for at, parameter in enumerate(net.parameters()):
                with torch.no_grad():
                    parameter.copy_(
                        torch.cos(torch.arange(parameter.numel()) * (0.3 + at)).reshape(parameter.shape) / 3
                    )
            told = [str(net), [(name, tuple(each.shape)) for name, each in net.named_parameters()]]
            if not dot:
                return told
            out = eval(f"net({rest}", names | {"net": net})
            (out * torch.cos(torch.arange(out.numel())).reshape(out.shape)).sum().backward()
            return *told, out, a.grad, b.grad, [each.grad for each in net.parameters()]
        finally:
            torch.set_default_dtype(torch.float32)

    compare(program)
