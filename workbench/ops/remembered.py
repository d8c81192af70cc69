"""PyTorch's further names of what nodes keep: told from what ours keep, and ours that PyTorch does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.builtin_node import FURTHER, read_tensor
from ..autograd.tensor import Size, wrap


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda node: value


def _of_saved(name: str, fact: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A fact of something that the node saved; AttributeError if it did not have to."""

    def tell(node: Any) -> Any:
        saved = read_tensor(node, name)
        if saved is None:
            raise AttributeError(f"'{type(node).__name__}' object has not saved {name!r}, which nothing reads here")
        return fact(saved)

    return tell


def _matrices(node: str, *names: str) -> None:
    for name in names:
        FURTHER[f"{node}._saved_{name}_sym_sizes"] = _of_saved(name, lambda t: tuple(t.shape))
        FURTHER[f"{node}._saved_{name}_sym_strides"] = _of_saved(name, lambda t: t.stride())


for _node in ("AddBackward0", "SubBackward0", "RsubBackward1"):
    FURTHER[f"{_node}._saved_alpha"] = lambda node: getattr(node, "a_alpha", 1)
for _node in ("MeanBackward0", "MeanBackward1"):
    FURTHER[f"{_node}._saved_self_sym_numel"] = lambda node: Size(node.z_self).numel()
_matrices("MmBackward0", "self", "mat2")
_matrices("AddmmBackward0", "mat1", "mat2")
FURTHER |= {
    "GatherBackward0._saved_sparse_grad": _constant(False),
    "IndexAddBackward0._saved_source_dim": _of_saved("source", lambda t: t.ndim),
    "EluBackward0._saved_scale": _constant(1),
    "EluBackward0._saved_input_scale": _constant(1),
    "LogSigmoidBackward0._saved_buffer": _of_saved("self", lambda t: (-wrap(t._array).abs()).exp()),
    "NllLossBackward0._saved_ignore_index": lambda node: node.a_ignore_index % 2**64,
    "ConvolutionBackward0._saved_transposed": _constant(False),
    "ConvolutionBackward0._saved_output_padding": _constant((0, 0)),
}
for _name in (
    "ProdBackward1._saved_self_sym_sizes",
    "AddmmBackward0._saved_self_sym_sizes",
    "UnbindBackward0._saved_self_sym_sizes",
    "ScatterBackward0._saved_src_sym_sizes",
    "ScatterAddBackward0._saved_src_sym_sizes",
    "ToCopyBackward0._saved_dtype",
    "NativeLayerNormBackward0._saved_eps",
    "MseLossBackward0._saved_self_sym_sizes",
    "ConvolutionBackward0._saved_input_sym_sizes",
    "ConvolutionBackward0._saved_weight_sym_sizes",
):
    FURTHER[_name] = None
