"""Dotted names through which programs import: modules that the workbench has no file for, and what is in them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from oracle import compare, entries

import workbench
from workbench.compat.absent import names

IMPORTS = """
from torch.nn.modules.activation import ELU, MultiheadAttention | from torch.nn.modules.batchnorm import BatchNorm1d
from torch.nn.modules.batchnorm import _BatchNorm | from torch.nn.modules.container import Sequential, ParameterDict
from torch.nn.modules.conv import _ConvNd, Conv3d | from torch.nn.modules.dropout import Dropout
from torch.nn.modules.instancenorm import InstanceNorm2d | from torch.nn.modules.linear import Linear, Identity
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from torch.nn.modules.loss import _Loss, MSELoss | from torch.nn.modules.loss import _WeightedLoss
from torch.nn.modules.module import Module | from torch.nn.modules.normalization import LayerNorm, GroupNorm
from torch.nn.modules.pooling import _MaxPoolNd, MaxPool2d | from torch.nn.modules.padding import ZeroPad2d
from torch.nn.modules.rnn import RNNBase, RNNCellBase, LSTM | from torch.nn.modules.sparse import Embedding
from torch.nn.modules.transformer import Transformer, TransformerDecoder
from torch.nn.modules.upsampling import Upsample
from torch.nn.modules.distance import CosineSimilarity | from torch.nn.modules.flatten import Flatten
from torch.nn.modules.pixelshuffle import PixelShuffle
from torch.nn.modules.utils import _single, _pair, _triple, _ntuple
from torch.functional import einsum, norm, split | from torch.nn.parallel import DataParallel
from torch.optim.optimizer import Optimizer | from torch.optim.adam import Adam | from torch.optim.sgd import SGD
from torch.optim.adamw import AdamW | from torch.optim.rmsprop import RMSprop | from torch.optim.lbfgs import LBFGS
from torch.optim.lr_scheduler import _LRScheduler, LRScheduler | from torch.nn.utils.rnn import pad_sequence
from torch.nn.utils.clip_grad import clip_grad_norm_ | import torch.nn.modules.activation | import torch.functional
from torch.nn.utils.convert_parameters import parameters_to_vector | import torch.nn.modules.conv as conv
from torch.nn.modules import conv, loss | from torch.nn.modules.conv import * | from torch.nn.modules.rnn import *
"""
ABSENT = {
    "from torch.nn.modules.conv import LazyConv1d": "the workbench doesn't implement torch.nn.modules.conv.LazyConv1d.",
    "from torch.nn.modules.loss import CTCLoss": "the workbench doesn't implement torch.nn.modules.loss.CTCLoss.",
    "from torch.nn.parallel import DistributedDataParallel": "the workbench doesn't implement "
    "torch.nn.parallel.DistributedDataParallel; tensors are always in the computer's own memory: call the module "
    "itself.",
    "from torch.nn.utils.rnn import pack_padded_sequence": "the workbench doesn't implement "
    "torch.nn.utils.rnn.pack_padded_sequence; there are pad_sequence and a mask of what is padding.",
    "from torch.optim.adam import adam": "the workbench doesn't implement torch.optim.adam.adam.",
    "from torch.nn.modules.pooling import LPPool2d": "the workbench doesn't implement "
    "torch.nn.modules.pooling.LPPool2d.",
}


@pytest.mark.parametrize("text", entries(IMPORTS))
def test_an_import(text: str) -> None:
    def program(torch: Any) -> Any:
        known: dict[str, Any] = {}
        exec(text.replace("torch", torch.__name__), known)
        del known["__builtins__"]
        kinds = [name for name, what in known.items() if isinstance(what, type)]
        public = [name for name in kinds if name in workbench.nn.__all__]
        return [name for name in known if name != torch.__name__], [
            getattr(torch.nn, name) is known[name] for name in public
        ]

    if "*" in text:
        known: dict[str, Any] = {}
        exec(text.replace("torch", "workbench"), known)
        assert len(known) > 4
        return
    compare(program)


@pytest.mark.parametrize("text", ABSENT)
def test_an_import_of_what_is_not_there(text: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(text.replace("torch", "workbench"), {})
    assert str(caught.value).endswith(ABSENT[text])


def test_a_module_without_a_file() -> None:
    conv = workbench.nn.modules.conv
    assert conv is sys.modules["workbench.nn.modules.conv"] and conv.Conv1d is workbench.nn.Conv1d
    assert "Conv1d" in conv.__all__ and "LazyConv1d" not in conv.__all__ and "torch.nn.modules.conv" in conv.__doc__
    with pytest.raises(AttributeError, match="module 'workbench.nn.modules.conv' has no attribute 'nonsense'$"):
        conv.nonsense  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        exec("import workbench.nn.modules.nonsense")
    with pytest.raises(ModuleNotFoundError):
        exec("import workbench.Tensor")
    for place in names():
        if place.startswith(("torch.nn.modules.", "torch.optim.")):
            exec(f"import {place.replace('torch', 'workbench', 1)}")


def test_kinds_of_modules(torch: Any) -> Any:
    m = torch.nn.modules
    parts = [torch.nn.Conv2d(1, 1, 1), torch.nn.ConvTranspose1d(1, 1, 1), torch.nn.BatchNorm1d(1), torch.nn.MSELoss()]
    parts += [torch.nn.NLLLoss(), torch.nn.MaxPool1d(2), torch.nn.AvgPool2d(2), torch.nn.InstanceNorm1d(1)]
    parts += [torch.nn.AdaptiveAvgPool1d(2), torch.nn.GRUCell(1, 1), torch.nn.CircularPad1d(1)]
    kinds = [m.conv._ConvNd, m.conv._ConvTransposeNd, m.batchnorm._BatchNorm, m.batchnorm._NormBase, m.loss._Loss]
    kinds += [m.loss._WeightedLoss, m.pooling._MaxPoolNd, m.pooling._AvgPoolNd, m.instancenorm._InstanceNorm]
    kinds += [m.pooling._AdaptiveAvgPoolNd, m.rnn.RNNCellBase, m.padding._CircularPadNd]
    loaded = torch.nn.Linear(1, 1).load_state_dict({}, strict=False)
    return [[isinstance(part, kind) for kind in kinds] for part in parts], isinstance(
        loaded, m.module._IncompatibleKeys
    )


CALLS = """
u._pair(3) | u._pair((1, 2)) | u._triple([1, 2]) | u._single("ab") | u._ntuple(5)(0) | u._quadruple.__name__
u._ntuple(2, "two").__name__ | u._ntuple(2).__name__ | strip({"module.a": 1, "b": 2}) | strip(p.state_dict())
list(p.state_dict()) | p(x) | repr(p) | p.device_ids | r.pad_sequence([a, b]) | r.pad_sequence([a, b], True)
r.pad_sequence((a, b), padding_value=9.0) | r.pad_sequence([a, b], True, -1.0, "left")
r.pad_sequence([a, b], padding_side="left")
r.pad_sequence([]) | r.pad_sequence(3) | r.pad_sequence([a, b], padding_side="up") | r.pad_sequence([a, a[:, :1]])
r.pad_sequence([a, torch.ones(3)]) | r.pad_sequence(x) | r.pad_sequence([a, b.float()]).dtype
r.pad_sequence([i, i[:2]])
r.unpad_sequence(r.pad_sequence([a, b]), torch.tensor([3, 1]))
r.unpad_sequence(r.pad_sequence([a, b], True), torch.tensor([3, 1]), True) | r.invert_permutation(i)
r.invert_permutation(None) | r.pad_sequence([a[:0], b])
r.unpad_sequence(r.pad_sequence([a, b]).detach(), torch.tensor([3])) | torch.nn.DataParallel(torch.nn.ReLU())(x)
"""


@pytest.mark.parametrize("text", entries(CALLS))
def test_a_call(torch: Any, text: str) -> Any:
    def strip(state: Any) -> Any:
        torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return list(state), list(getattr(state, "_metadata", {}))

    a = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[7.0, 8.0]], dtype=torch.float64, requires_grad=True)
    p = torch.nn.DataParallel(torch.nn.Linear(2, 1))
    p.module.load_state_dict({"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([3.0])})
    known = {"torch": torch, "u": torch.nn.modules.utils, "r": torch.nn.utils.rnn, "strip": strip, "p": p}
    out = eval(text, known | {"a": a, "b": b, "x": torch.ones(3, 2), "i": torch.tensor([2, 0, 1])})
    if isinstance(out, torch.Tensor) and out.requires_grad:
        (out * out).sum().backward()
        return out.detach(), out.grad_fn.name(), a.grad, b.grad
    return out
