"""PyTorch's public names, and what to say of one that the workbench does not have.

`absent.txt` lists the names of PyTorch 2.13, a section for each module; nothing of PyTorch is needed to read it.
"""

from __future__ import annotations

import functools
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

ONE_DEVICE = "tensors are always in the computer's own memory"
KINDS = "there are bool, uint8, int32, int64, float16, float32 and float64"
REAL = "give real and imaginary parts as two tensors"
AS_IT_IS = "call the function itself: there is nothing to compile"
LOOP = "there is nn.Linear, and a loop in forward"
INSTEAD = {
    "torch.compile": AS_IT_IS,
    "torch.jit": AS_IT_IS,
    "torch.cuda": ONE_DEVICE,
    "torch.mps": ONE_DEVICE,
    "torch.xpu": ONE_DEVICE,
    "torch.Tensor.pin_memory": ONE_DEVICE,
    **dict.fromkeys([f"torch.{kind}" for kind in ("complex32", "complex64", "complex128", "cfloat", "cdouble")], REAL),
    "torch.complex": REAL,
    **dict.fromkeys([f"torch.{kind}" for kind in ("bfloat16", "int8", "int16", "short", "uint16", "uint32")], KINDS),
    **dict.fromkeys([f"torch.Tensor.{kind}" for kind in ("bfloat16", "short", "char")], KINDS),
    "torch.optim": "subtract the gradients from the parameters under torch.no_grad()",
    "torch.linalg": "there are matmul and norm",
    "torch.tile": "there is Tensor.repeat",
    "torch.Tensor.tile": "there is Tensor.repeat",
    "torch.lerp": "write start + weight * (end - start)",
    "torch.addcmul": "write input + value * a * b",
    "torch.addcdiv": "write input + value * a / b",
    "torch.count_nonzero": "write (input != 0).sum()",
    "torch.Tensor.count_nonzero": "write (x != 0).sum()",
    "torch.nn.Conv2d": "there is nn.functional.conv2d",
    **dict.fromkeys([f"torch.nn.BatchNorm{n}d" for n in (1, 2, 3)], "there is nn.functional.batch_norm"),
    "torch.nn.LayerNorm": "there is nn.functional.layer_norm",
    "torch.nn.Embedding": "index a Parameter: weight[indices]",
    "torch.nn.ELU": "there is nn.functional.elu",
    "torch.nn.SiLU": "there is nn.functional.silu",
    "torch.nn.Softplus": "there is nn.functional.softplus",
    "torch.nn.LogSigmoid": "there is nn.functional.logsigmoid",
    "torch.nn.L1Loss": "write (input - target).abs().mean()",
    "torch.nn.functional.l1_loss": "write (input - target).abs().mean()",
    "torch.nn.ModuleDict": "there are nn.ModuleList and plain attributes",
    "torch.nn.ParameterList": "register each Parameter as an attribute",
    **dict.fromkeys([f"torch.nn.{name}" for name in ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")], LOOP),
    "torch.nn.MultiheadAttention": "write (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1) @ v",
    "torch.nn.functional.scaled_dot_product_attention": "write (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1) @ v",
    "torch.nn.functional.embedding": "index the matrix: weight[indices]",
    "torch.nn.functional.one_hot": "write torch.eye(classes, dtype=torch.int64)[indices]",
    "torch.nn.Module.half": "write .to(torch.float16)",
    "torch.nn.Module.bfloat16": KINDS,
    "torch.nn.Module.cuda": ONE_DEVICE,
    "torch.nn.Module.compile": AS_IT_IS,
    "torch.nn.Module.register_backward_hook": "there is register_full_backward_hook",
    "torch.utils.data": "index a tensor in a loop: x[i : i + size]",
    "torch.autograd.profiler": "there is workbench.record",
}


@functools.cache
def names() -> dict[str, tuple[str, ...]]:
    """The public names of PyTorch's modules and of its tensors, by where they are."""
    sections = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").removeprefix("[").split("\n[")
    return {place: tuple(listed.split()) for place, _, listed in [section.partition("]") for section in sections]}


def refusal(owner: str, place: str, name: str) -> AttributeError:
    """The error for an attribute that is not there; it says so where PyTorch has it, and what there is instead."""
    said = _said(place, name)
    return AttributeError(f"{owner} has no attribute {name!r}" + (said and f": {said}"), name=name)


def _said(place: str, name: str) -> str:
    """The sentence about a name that PyTorch has at a place; nothing if it has not."""
    if name not in names().get(place, ()):
        return ""
    instead = INSTEAD.get(f"{place}.{name}")
    return f"PyTorch has {place}.{name}, the workbench has not" + (f"; {instead}." if instead else ".")


class AbsentModules(MetaPathFinder):
    """Refuses the import of what only PyTorch has: `from workbench import optim`, `import workbench.linalg`.

    Python asks for a module before it says that a name cannot be imported, and it asks this finder after all others,
    so it is never asked for a module that exists. A plain ImportError passes through `from ... import`, which would
    hide a ModuleNotFoundError.
    """

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> None:
        place, _, name = fullname.rpartition(".")
        package, _, rest = place.partition(".")
        said = _said(f"torch.{rest}".rstrip("."), name) if package == __package__ else ""
        if said and not hasattr(sys.modules.get(place), name):
            raise ImportError(f"cannot import name {name!r} from {place!r}: {said}", name=fullname)


if AbsentModules not in sys.meta_path:
    sys.meta_path.append(AbsentModules)


class Absent:
    """A place in a class for a name that PyTorch has and the workbench has not."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        whose = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        raise refusal(whose, "torch.Tensor", self.name)
