"""`why` has an answer for what hard PyTorch programs leave, and the programs give the same after it."""

from __future__ import annotations

import absent
import pytest
from oracle import torch

import workbench

if torch is None:
    pytest.skip(absent.TORCH, allow_module_level=True)

from torch_hard import HARD  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def tensors_in(thing):
    if isinstance(thing, torch.Tensor):
        return [thing]
    return [each for part in thing for each in tensors_in(part)] if isinstance(thing, list | tuple) else []


@pytest.mark.parametrize("name", HARD)
def test_hard_programs_can_be_asked(name):
    with workbench.record(torch) as trace:
        left = tensors_in(HARD[name]())[:4]
    for each in left:
        assert workbench.why(each).sentences and workbench.why(left[0], each).sentences
        assert trace.why(each).sentences
    names = {seen.name for event in trace.events for seen in getattr(event, "tensors", ()) if seen.name}
    for called in names:
        assert trace.why(called).sentences
