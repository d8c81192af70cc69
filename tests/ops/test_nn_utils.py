"""Clipping gradients, and parameters as one vector, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from module_samples import batch, mlp
from oracle import entries, raised

CLIPS = """
clip_grad_norm_(p, 1.0) | clip_grad_norm_(p, 1000) | clip_grad_norm_(p, 0.5, 1) | clip_grad_norm_(p, 0.5, norm_type=3.0)
clip_grad_norm_(p, 0.5, float("inf")) | clip_grad_norm_(p[0], 0.1) | clip_grad_norm_(m.parameters(), 1.0, foreach=True)
clip_grad_norm_([], 1.0) | clip_grad_norm_((x for x in []), 1.0) | clip_grad_norm_(p, 0.5, "inf") | get_total_norm(p)
clip_grad_value_(p, 0.1) | clip_grad_value_(p[0], 2) | clip_grad_value_(m.parameters(), 0.5, foreach=True)
get_total_norm([x.grad for x in p], 1) | clip_grads_with_norm_(p, 1.0, torch.tensor(4.0))
clip_grad_norm_([m.scale], 1.0) | get_total_norm([torch.tensor([1.0, float("nan")])], error_if_nonfinite=True)
get_total_norm([]) | get_total_norm(torch.tensor(float("inf")), 3, True) | parameters_to_vector(p)
parameters_to_vector(p[:1]) | parameters_to_vector([]) | vector_to_parameters([1.0], p)
vector_to_parameters(torch.ones(3), p) | vector_to_parameters(torch.arange(30.0), p)
"""


@pytest.mark.parametrize("text", entries(CLIPS))
def test_a_function_of_all_parameters(torch: Any, text: str) -> Any:
    model = mlp(torch)
    model(batch(torch)).square().sum().backward()
    params = list(model.parameters())
    versions = [p.grad._version for p in params]
    out = eval(f"u.{text}", {"torch": torch, "u": torch.nn.utils, "m": model, "p": params})
    writes = [p.grad._version - before for p, before in zip(params, versions, strict=True)]
    return out, [p.grad for p in params], [p._version for p in params], writes


def test_a_vector_and_back(torch):
    model, other = mlp(torch), mlp(torch)
    to_vector, to_parameters = torch.nn.utils.parameters_to_vector, torch.nn.utils.vector_to_parameters
    vector = to_vector(model.parameters())
    (vector * vector).sum().backward()
    seen = [model.head.weight.grad]
    wanted = vector.detach() / 2
    to_parameters(wanted, other.parameters())
    wanted.zero_()
    return [*seen, to_vector(other.parameters()).abs().max(), raised(to_vector, [model.head.weight.t()])]
