"""Where warnings point: at the user's line, from however deep inside they come."""

from __future__ import annotations

import textwrap
import warnings
from importlib import import_module

import numpy as np
import pytest

import workbench as torch

FUNCTION = """
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        {forward}

    @staticmethod
    def backward(ctx, grad):
        {backward}
"""


def function(forward: str = "return x * 2", backward: str = "return grad") -> str:
    """The text of a Function, with its use after it."""
    return FUNCTION.format(forward=forward, backward=backward) + "Keep.apply(x).sum().backward()"


PROGRAMS = {
    "grad_variables": "torch.autograd.backward(x, grad_variables=torch.ones(3))",
    "create_graph": "x.sum().backward(create_graph=True)",
    "create_graph of the function": "torch.autograd.backward(x.sum(), create_graph=True)",
    "only_inputs": "torch.autograd.grad(x.sum(), x, only_inputs=False)",
    "grad of a non-leaf": "(x * 2).grad",
    "float of what requires grad": "float(x.sum())",
    "a tensor of a tensor": "torch.tensor(x)",
    "a read-only array": "a = np.ones(2); a.flags.writeable = False; torch.from_numpy(a)",
    "a mask of bytes": "x[torch.ones(3, dtype=torch.uint8)]",
    "where by bytes": "torch.where(torch.ones(3, dtype=torch.uint8), x, x)",
    "a list of lists": "torch.ones(3, 3)[[[0, 2], [1, 1]]]",
    "T of one dimension": "x.T",
    "mse_loss of two shapes": "torch.nn.functional.mse_loss(x, torch.ones(2, 3))",
    "softmax without dim": "torch.nn.functional.softmax(x)",
    "Softmax without dim": "torch.nn.Softmax()(x)",
    "LogSoftmax without dim": "torch.nn.LogSoftmax()(x)",
    "Linear of nothing": "torch.nn.Linear(0, 2)",
    "anomaly mode": "torch.autograd.detect_anomaly()",
    "checkpoint without a kind": "torch.utils.checkpoint.checkpoint(lambda t: t * 2, x)",
    "checkpoint_sequential": "torch.utils.checkpoint.checkpoint_sequential([torch.sin], 1, x)",
    "std of one": "torch.ones(1).std()",
    "gradcheck in single precision": "torch.autograd.gradcheck(torch.sin, x, raise_exception=False)",
    "a Function called": "torch.autograd.Function()",
    "saved_variables": function("ctx.save_for_backward(x); return x * 2", "ctx.saved_variables; return grad"),
    "mark_shared_storage": function("ctx.mark_shared_storage((x, x)); return x * 2"),
    "dirty, but no input": function("y = x.clone(); ctx.mark_dirty(y); return y"),
    "a decorated class": "@torch.no_grad()\nclass Some: ...",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_warning_points_at_the_user_s_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("workbench.autograd.backward"), "_warned_create_graph", False)
    program = compile(textwrap.dedent(PROGRAMS[name]), "the user's file", "exec")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(program, {"torch": torch, "np": np, "__name__": "user", "x": torch.ones(3, requires_grad=True)})
    assert {warning.filename for warning in caught} == {"the user's file"}
