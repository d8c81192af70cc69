"""What changes where a tensor is complex: one rule for all ops that have a complex meaning.

PyTorch's gradient of a real loss L with respect to z is the direction in which L grows fastest: dL/dx + 1j * dL/dy. For
an op that is holomorphic (differentiable as a function of complex numbers), it is

    conj(formula(conj(grad), inputs))

that is, the formula for real numbers between two conjugations; an input that is real gets the real part. `HOLOMORPHIC`
lists these ops; linear ones are among them, whose formulas read nothing, so that the conjugations cancel. An op of
another kind has a second declaration, for complex numbers, in `ops/complex.py`, with the formula that PyTorch uses.
All others refuse complex numbers in PyTorch's words.

Before the first complex tensor of a program exists, nothing here runs; after that, dispatch asks once per call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd import dtypes
from ...autograd.complex_tensor import is_complex
from ...autograd.tensor import Tensor
from .registry import ARRAYS, TENSORS

HOLOMORPHIC = frozenset(
    """
    exp logsumexp log sin cos tanh tanh_backward sqrt sigmoid sigmoid_backward rsqrt log1p expm1 tan asin acos atan
    sinh cosh asinh acosh atanh exp2 log2 log10 reciprocal pow_number add add_scaled sub sub_scaled rsub
    rsub_tensors mul neg div mul_number div_number addcmul addcdiv lerp_number lerp clone contiguous_clone alias
    identity masked_fill_number masked_fill index index_put index_put_impl view unsafe_view reshape_alias expand
    unsqueeze squeeze squeeze_dims squeeze_all squeeze_own select select_backward slice slice_backward where eq ne
    logical_and logical_or logical_xor logical_not isnan isinf isfinite all any isclose fill fill_with zero copy
    to_copy to_copy_ordered transpose t permute sum_all sum_dim mean_all mean_dim sum_all_as sum_dim_as mean_all_as
    mean_dim_as gather scatter_add scatter scatter_number t_ transpose_ unsqueeze_ squeeze__all squeeze_
    squeeze__dims diagonal diagonal_backward diagonal_copied trace_of diag_embed cat stack mm dot mv bmm addmm addmv
    addr baddbmm addbmm as_strided strided_copy strided_scatter linalg_inv_ex linalg_solve_ex
    linalg_solve_triangular linalg_det linalg_cross index_add index_select masked_select index_fill_number
    index_fill index_copy masked_scatter masked_scatter_backward take put_at constant_pad reflection_pad1d
    reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward reflection_pad3d reflection_pad3d_backward
    replication_pad1d replication_pad1d_backward replication_pad2d replication_pad2d_backward replication_pad3d
    replication_pad3d_backward convolution conv_input conv_weight im2col col2im pixel_shuffle pixel_unshuffle
    channel_shuffle flip roll repeat tril triu cumsum cumprod prod_all prod_dim cumsum_as cumprod_as prod_all_as
    prod_dim_as unfold unfold_backward split split_with_sizes unbind places_of acosh_of_complex sinc
    """.split()
)
CLAMP = "N:clamp is not supported for complex types"
NO_GRADIENT = "does not support automatic differentiation for outputs with complex dtype."
NO_COMPLEX = "R:{}(): does not support complex input"
# How PyTorch refuses others: N: NotImplementedError, R: RuntimeError; a word is the kernel's, alone.
REFUSED = {
    **dict.fromkeys("relu clamp clamp_tensors clamp_min_number clamp_max_number clamp_min_tensors".split(), CLAMP),
    **dict.fromkeys("clamp_min_alone clamp_max_tensors clamp_max_alone threshold_backward".split(), CLAMP),
    "sign": "N:Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
    **{name: f"R:{name} not implemented for complex tensors." for name in ("maximum", "minimum")},
    **{name: f"R:{name} is not supported for complex tensors." for name in ("deg2rad", "rad2deg")},
    **{name: f"N:{name} is not supported for complex inputs" for name in ("floor", "ceil", "trunc")},
    **{name: NO_COMPLEX.format(name) for name in ("argmax", "argmin")},
    "argsort": "R: Sort does not support complex dtypes on CPU",
    "isin_of": "R:Unsupported input type encountered for isin(): {}",
    "max_all": "max_all",
    "min_all": "min_all",
    "amax": "max_values_cpu",
    "amin": "min_values_cpu",
    **dict.fromkeys(("remainder_tensors", "remainder_number", "remainder_of_number"), "remainder_cpu"),
    **dict.fromkeys(("fmod_tensors", "fmod_number"), "fmod_cpu"),
    **dict.fromkeys(("div_to_floor", "floor_divide", "floor_divide_"), "div_floor_cpu"),
    "div_to_zero": "div_trunc_cpu",
    "erf": "erf_vml_cpu",
    "erfc": "erfc_vml_cpu",
    "round": "round_vml_cpu",
    "round_to": "round_cpu",
    "softmax": "softmax_kernel_impl",
    "log_softmax": "log_softmax_kernel_impl",
    "logsigmoid": "log_sigmoid_cpu",
    "gelu": "GeluKernelImpl",
    "median_all": "median_cpu",
    "where_median": "median_out",
    "hardtanh": CLAMP,
    "celu": "elu_cpu",
    "prelu_kernel": "prelu_cpu",
    "max_pool2d_indices": "max_pool2d",
    "bernoulli_tensor": "bernoulli_tensor_cpu_self_",
    "upsample_nearest1d": "compute_indices_weights_nearest",
    "upsample_nearest2d": "upsample_nearest2d_channels_last",
    "upsample_bilinear2d": "upsample_bilinear2d_channels_last",
    **{name: f"R:{name} {NO_GRADIENT}" for name in ("embedding", "silu")},
    "mse_loss": "mse_cpu",
    "huber_loss": "huber_cpu",
    "smooth_l1_loss": "smooth_l1_cpu",
    "binary_cross_entropy_with_logits": "log_sigmoid_cpu",
    "bernoulli_number": "bernoulli_scalar_cpu_",
    "bernoulli_draw": "bernoulli_tensor_cpu_self_",
    "poisson_draw": "poisson_cpu",
    **dict.fromkeys(("random_between", "random_below", "random_whole"), "random_kernel_cpu"),
    **dict.fromkeys(("copysign_tensors", "copysign_number"), "copysign_cpu"),
    **dict.fromkeys(("cummax_places", "cummax_values"), "cummax_cpu"),
    **dict.fromkeys(("cummin_places", "cummin_values"), "cummin_cpu"),
}
# Those that PyTorch computes for complex numbers and the workbench does not (yet).
MISSING = frozenset("nan_to_num logaddexp uniform normal".split())
OWN: dict[str, Any] = {}  # the ops that replace others for complex tensors, by the others' names


def only_real(said: str, *tensors: Tensor) -> None:
    """Raise PyTorch's error, as a line of `REFUSED` says it, if a tensor is complex."""
    for t in tensors:
        if t._array.dtype.kind == "c":
            raise _refused(said, t.dtype.word)


def for_complex(op: Any, args: tuple[Any, ...]) -> Any:
    """Return the op that runs on these arguments; raise an error if it has no complex meaning."""
    if not any([is_complex(arg) for arg in args]):
        return op
    if op.name in OWN or op.name in HOLOMORPHIC or op in OWN.values():
        return OWN.get(op.name, op)
    if op.name in MISSING:
        raise NotImplementedError(f"the workbench doesn't compute {op.name} of complex numbers.")
    word = next((a.dtype.word for a in args if isinstance(a, Tensor) and a.is_complex()), "ComplexFloat")
    raise _refused(REFUSED.get(op.name, f"{op.name}_cpu"), word)


def _refused(said: str, word: str) -> Exception:
    kind, colon, sentence = said.partition(":")
    if colon:
        return (NotImplementedError if kind == "N" else RuntimeError)(sentence.format(word))
    return NotImplementedError(f"\"{said}\" not implemented for '{word}'")


def node_for(op: Any, operands: list[Any], outs: tuple[Tensor, ...]) -> Any:
    """Return a new node for one call: if the output is complex, of the class that conjugates."""
    if not is_complex(outs):
        return op.node()
    kind = op.__dict__.get("conjugating") or op.__dict__.setdefault("conjugating", _conjugating(op))
    node = kind()
    node.kinds = tuple([t._array.dtype if isinstance(t, Tensor) and not is_complex(t) else None for t in operands])
    return node


def _conjugating(op: Any) -> type:
    """Return the class of an op's nodes whose formulas run between two conjugations, unless they are PyTorch's own."""
    as_written, base = op.name not in HOLOMORPHIC, op.node

    def conjugated(node: Any, value: Any, words: dict[str, Any]) -> Any:
        if as_written or not (node.saved_names or any([type(getattr(node, f"arg_{a}")) is complex for a in arguments])):
            return value  # a linear op's formula gives the same without
        if isinstance(value, (list, tuple)):
            return [conjugated(node, each, words) for each in value]
        return words["conj"](value) if is_complex(value) else value

    def between(method: str, words: dict[str, Any]) -> Any:
        def run(node: Any, grad: Any, needed: Any = None) -> Any:
            found = getattr(base, method)(node, conjugated(node, grad, words), needed)
            found = [found] if node.arity == 1 else found
            real = [
                g if g is None or kind is None else words["real_as"](g, kind)
                for g, kind in zip(conjugated(node, found, words), node.kinds, strict=True)
            ]
            return real[0] if node.arity == 1 else real

        return run

    arguments = base.argument_names
    body = {"__slots__": ("kinds",), "__module__": __name__}
    body |= {"vjp": between("vjp", ARRAYS), "vjp_tensors": between("vjp_tensors", TENSORS)}
    return type(base.__name__, (base,), body)


def _real_tensor_as(t: Tensor, kind: np.dtype) -> Tensor:
    t = TENSORS["real_part"](t)
    return t if t._array.dtype == kind else t.to(dtypes.named(kind.name))


ARRAYS["real_as"] = lambda a, kind: np.array(np.real(a), kind)
TENSORS["real_as"] = _real_tensor_as
