"""Every operation beside PyTorch's, on its samples: each dtype, layout and shape, and numbers at the edges of a dtype.

Compared are dtype, shape, value and the sentence of an error; for floats the gradients too; the twin that writes in
place and `out=` where an operation has them. An operation that is added is swept by that alone. What differs is in
`KNOWN` with its reason, and a line that is no longer needed fails.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import absent
import numpy as np
import pytest
from op_samples import arguments, samples_of
from oracle import sentence, torch

import workbench
from workbench.ops import REGISTRY
from workbench.ops.core.registry import SEVERAL, VARIANTS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(torch is None, reason=absent.TORCH)]
OPS = {op.name: op for op in [*REGISTRY.values(), *SEVERAL.values()]}

# How a user calls an operation whose name is not its own in PyTorch: an expression in the names of its arguments.
CALLS = {
    "addmm": "torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha)",
    "add_scaled": "torch.add(self, other, alpha=alpha)",
    "addbmm": "torch.addbmm(self, batch1, batch2, beta=beta, alpha=alpha)",
    "addcdiv": "torch.addcdiv(self, tensor1, tensor2, value=value)",
    "addcmul": "torch.addcmul(self, tensor1, tensor2, value=value)",
    "addmv": "torch.addmv(self, mat, vec, beta=beta, alpha=alpha)",
    "addr": "torch.addr(self, vec1, vec2, beta=beta, alpha=alpha)",
    "all": "torch.all(self) if dim is None else torch.all(self, dim, keepdim)",
    "any": "torch.any(self) if dim is None else torch.any(self, dim, keepdim)",
    "binary_cross_entropy": "F.binary_cross_entropy(self, target, weight, reduction=how[reduction])",
    "binary_cross_entropy_with_logits": (
        "F.binary_cross_entropy_with_logits(self, target, weight, None, None, how[reduction], pos_weight)"
    ),
    "cat": "torch.cat(tensors, dim)",
    "clone": "torch.clone(self)",
    "baddbmm": "torch.baddbmm(self, batch1, batch2, beta=beta, alpha=alpha)",
    "clamp_max_alone": "torch.clamp(self, max=max)",
    "clamp_max_number": "torch.clamp_max(self, max)",
    "clamp_max_tensors": "torch.clamp_max(self, max)",
    "clamp_min_alone": "torch.clamp(self, min=min)",
    "clamp_min_number": "torch.clamp_min(self, min)",
    "clamp_min_tensors": "torch.clamp_min(self, min)",
    "clamp_tensors": "torch.clamp(self, min, max)",
    "contiguous_clone": "self.contiguous()",
    "convolution": (
        "getattr(F, f'conv_transpose{len(stride)}d')(input, weight, bias, stride, padding, output_padding, groups, "
        "dilation) if transposed else "
        "getattr(F, f'conv{len(stride)}d')(input, weight, bias, stride, padding, dilation, groups)"
    ),
    "copy": "torch.clone(self).copy_(src)",
    "cumprod_as": "torch.cumprod(self, dim, dtype=dtype)",
    "cumsum_as": "torch.cumsum(self, dim, dtype=dtype)",
    "diagonal_copied": "torch.diag(self, offset)",
    "div_number": "torch.div(self, other)",
    "div_to_floor": "torch.div(self, other, rounding_mode='floor')",
    "div_to_zero": "torch.div(self, other, rounding_mode='trunc')",
    "elu": "F.elu(self, alpha)",
    "elu_": "F.elu(torch.clone(self), alpha, inplace=True)",
    "embedding": "F.embedding(indices, weight, padding_idx)",
    "fill": "torch.clone(self).fill_(value)",
    "fill_with": "torch.clone(self).fill_(value)",
    "fmod_number": "torch.fmod(self, number)",
    "fmod_tensors": "torch.fmod(self, other)",
    "gelu": "F.gelu(self, approximate=approximate)",
    "huber_loss": "F.huber_loss(self, target, how[reduction], delta)",
    "index": "self[indices]",
    "index_add": "torch.index_add(self, dim, index, source, alpha=alpha)",
    "index_put": "torch.index_put(self, indices, values, accumulate)",
    "index_put_impl": "torch.clone(self).index_put_(indices, values, accumulate)",
    "celu_": "F.celu(torch.clone(self), alpha, inplace=True)",
    "prelu_kernel": "F.prelu(self, weight)",
    "threshold_": "F.threshold(torch.clone(self), threshold, value, inplace=True)",
    "cholesky_factor": "torch.cholesky(self, upper)",
    "linalg_cholesky_ex": "torch.linalg.cholesky(self, upper=upper)",
    "linalg_inv_ex": "torch.linalg.inv(A)",
    "linalg_solve_ex": "torch.linalg.solve(A, B, left=left)",
    "leaky_relu": "F.leaky_relu(self, negative_slope)",
    "leaky_relu_": "F.leaky_relu(torch.clone(self), negative_slope, True)",
    "lerp_number": "torch.lerp(self, end, weight)",
    "masked_fill_number": "torch.masked_fill(self, mask, value)",
    "max_all": "torch.max(self)",
    "max_dim": "torch.max(self, dim, keepdim)",
    "max_pool2d": "F.max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode)",
    "mean_all": "torch.mean(self)",
    "mean_all_as": "torch.mean(self, dtype=dtype)",
    "mean_dim": "torch.mean(self, dim, keepdim)",
    "mean_dim_as": "torch.mean(self, dim, keepdim, dtype=dtype)",
    "median_all": "torch.median(self)",
    "median_dim": "torch.median(torch.clone(self), dim, keepdim)",
    "min_all": "torch.min(self)",
    "min_dim": "torch.min(self, dim, keepdim)",
    "mse_loss": "F.mse_loss(self, target, reduction=how[reduction])",
    "mul_number": "torch.mul(self, other)",
    "native_batch_norm": "F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)",
    "native_group_norm": "F.group_norm(input, group, weight, bias, eps)",
    "native_layer_norm": "F.layer_norm(input, normalized_shape, weight, bias, eps)",
    "nll_loss": "F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=how[reduction])",
    "nll_loss2d": "F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=how[reduction])",
    "pixel_shuffle": "F.pixel_shuffle(self, upscale_factor)",
    "pixel_unshuffle": "F.pixel_unshuffle(self, downscale_factor)",
    "pow_base": "torch.pow(self, exponent)",
    "pow_number": "torch.pow(self, exponent)",
    "prod_all": "torch.prod(self)",
    "prod_all_as": "torch.prod(self, dtype=dtype)",
    "prod_dim": "torch.prod(self, dim, keepdim)",
    "prod_dim_as": "torch.prod(self, dim, keepdim, dtype=dtype)",
    "remainder_number": "torch.remainder(self, number)",
    "remainder_tensors": "torch.remainder(self, other)",
    "reshape_alias": "torch.reshape(self, size)",
    "round_to": "torch.round(self, decimals=decimals)",
    "rsub": "number - self",
    "rsub_tensors": "self.__rsub__(other)",
    "scatter_number": "torch.scatter(self, dim, index, value)",
    "slice": "self[(slice(None),) * dim + (slice(start, end, step),)]",
    "soft_margin_loss": "F.soft_margin_loss(self, target, reduction=how[reduction])",
    "smooth_l1_loss": "F.smooth_l1_loss(self, target, reduction=how[reduction], beta=beta)",
    "softplus": "F.softplus(self, beta, threshold)",
    "sorted_values": "torch.sort(self, dim)",
    "split_with_sizes": "torch.split(self, split_sizes, dim)",
    "squeeze__all": "torch.clone(self).squeeze_()",
    "squeeze__dims": "torch.clone(self).squeeze_(dim)",
    "squeeze_all": "torch.squeeze(self)",
    "squeeze_dims": "torch.squeeze(self, dim)",
    "std": "torch.std(self, dim, correction=1 if correction is None else correction, keepdim=keepdim)",
    "sub_scaled": "torch.sub(self, other, alpha=alpha)",
    "sum_all": "torch.sum(self)",
    "sum_all_as": "torch.sum(self, dtype=dtype)",
    "sum_dim": "torch.sum(self, dim, keepdim)",
    "sum_dim_as": "torch.sum(self, dim, keepdim, dtype=dtype)",
    "trace_of": "self.trace()",
    "to_copy": "self.to(dtype)",
    "top_values": "torch.topk(self, k, dim)",
    "vector_norm": "torch.norm(self, ord, dim, keepdim)",
    "var": "torch.var(self, dim, correction=1 if correction is None else correction, keepdim=keepdim)",
    "zero": "torch.clone(self).zero_()",
}
WRITING = {"floor_divide_": "other", "t_": "", "transpose_": "dim0, dim1", "unsqueeze_": "dim", "squeeze_": "dim"}
CALLS |= {name: f"torch.clone(self).{name}({arguments})" for name, arguments in WRITING.items()}

for _mode, _word, _dims in (
    ("nearest", "nearest", (1, 2, 3)),
    ("nearest-exact", "nearestexact", (1, 2, 3)),
    ("linear", "linear", (1,)),
    ("bilinear", "bilinear", (2,)),
    ("trilinear", "trilinear", (3,)),
    ("bicubic", "bicubic", (2,)),
):
    corners = "None" if _mode.startswith("nearest") else "align_corners"
    CALLS |= {
        f"upsample_{_word}{d}d": f"F.interpolate(self, output_size, mode='{_mode}', align_corners={corners})"
        for d in _dims
    }
CALLS["constant_pad"] = "F.pad(self, pad, value=value)"
CALLS |= {
    "col2im": "F.fold(self, output_size, kernel_size, dilation, padding, stride)",
    "adaptive_max_pool2d": "F.adaptive_max_pool2d(self, output_size)",
    "index_fill_number": "torch.index_fill(self, dim, index, value)",
    "put_at": "torch.put(self, index, source, accumulate)",
    "kthvalue": "torch.kthvalue(self, k, dim, keepdim)",
    "channel_shuffle": "F.channel_shuffle(self, groups)",
    "im2col": "F.unfold(self, kernel_size, dilation, padding, stride)",
    "unfold": "self.unfold(dim, length, step)",
}
for _mode, _word in (("reflect", "reflection"), ("replicate", "replication")):
    CALLS |= {f"{_word}_pad{d}d": f"F.pad(self, padding, mode='{_mode}')" for d in (1, 2, 3)}

# What no call names: others are made of it, and sweep it. So do gradients the operations of derivatives.
INNER = """
alias identity to_copy_ordered unsafe_view squeeze_own strided_copy strided_scatter remainder_of_number where_median
foremost max_pool2d_indices adaptive_max_pool2d_indices as_strided conv_input conv_weight uniform normal exponential
cauchy log_normal geometric random_between random_below random_whole bernoulli_number bernoulli_tensor bernoulli_draw
poisson_draw places_of isin_of rrelu_with_noise rrelu_with_noise_ cummax_places cummax_values cummin_places
cummin_values copysign_tensors copysign_number
""".split()

# Samples of operations without derivatives, which name none.
SAMPLES = {
    **dict.fromkeys("all any argmax argmin".split(), "r(2, 3), None, False; r(2, 3), 1, True; r(), 0, False"),
    "argsort": "r(2, 3), 1, False; r(2, 3), 0, True",
    "floor_divide": "r(3), p(3); r(2, 3), 0.7",
    "floor_divide_": "r(3), p(3); r(2, 3), 0.7",
    "binary_cross_entropy": "p(3) / 2.5, p(3) / 2.5, None, 1; p(2, 3) / 2.5, p(2, 3) / 2.5, p(3).detach(), 0",
    "isclose": "r(3), r(3), 0.1, 0.5, True; r(3), r(3), 0.1, 0.5, False",
}

# Functions that users call and that are no operations of the registry: the call, and its samples.
COMPOSED = {
    "F.avg_pool2d(self, 2)": "r(1, 2, 4, 4)",
    "F.cross_entropy(self, other)": "r(2, 3), w.tensor([0, 2]); r(2, 3), p(2, 3)",
    "F.l1_loss(self, other)": "r(3), r(3)",
    "F.margin_ranking_loss(self, other, third)": "r(3), r(3), r(3)",
    "F.poisson_nll_loss(self, other)": "r(3), p(3)",
    "F.linear(self, other, third)": "r(2, 3), r(4, 3), r(4); r(3), r(2, 3), r(2)",
    "F.normalize(self)": "r(2, 3)",
    "F.scaled_dot_product_attention(self, other, third)": "r(1, 2, 3), r(1, 4, 3), r(1, 4, 3)",
    "allclose(self, other)": "r(3), r(3)",
    "F.kl_div(self, other)": "r(3), p(3)",
    "broadcast_tensors(self, other)": "r(3), r(2, 1)",
    "meshgrid(self, other, indexing='ij')": "r(3), r(2)",
    "repeat_interleave(self, 2, 0)": "r(3); r(2, 3)",
    "atleast_1d(self)": "r(); r(3)",
    "atleast_2d(self)": "r(); r(3)",
    "atleast_3d(self)": "r(); r(3); r(2, 3)",
    "broadcast_to(self, size)": "r(3), (2, 3)",
    "copysign(self, other)": "r(3), r(3); r(2, 3), r(3); r(3), -2",
    "cummax(self, dim)": "r(3), 0; r(2, 3), 1",
    "cummin(self, dim)": "r(3), 0; r(2, 3), -1",
    "chunk(self, count, dim)": "r(4), 2, 0; r(2, 3), 2, 1",
    "column_stack([self, other])": "r(3), r(3); r(3), r(3, 2)",
    "detach(self)": "r(3)",
    "dstack([self, other])": "r(3), r(3)",
    "einsum('ij,j->i', self, other)": "r(2, 3), r(3)",
    "equal(self, other)": "r(3), r(3)",
    "diagflat(self)": "r(2, 3); r()",
    "flatten(self)": "r(2, 3); r()",
    "hstack([self, other])": "r(3), r(2); r(2, 1), r(2, 3)",
    "is_nonzero(self)": "r(); r(1); r(2)",
    **{f"is_{kind}(self)": "r(); r(2)" for kind in ("complex", "conj", "distributed", "neg", "signed")},
    "is_same_size(self, other)": "r(2), r(2); r(2), r(2, 1)",
    "matmul(self, other)": "r(3), r(3); r(2, 3), r(3, 4); r(2, 2, 3), r(3); r(2, 1, 2, 3), r(3, 3, 2)",
    "movedim(self, 0, 1)": "r(2, 3)",
    "nanmean(self)": "r(3); r(2, 3)",
    "narrow(self, 1, 1, 2)": "r(2, 3)",
    "nonzero(self)": "r(2, 3); r()",
    "outer(self, other)": "r(3), r(2)",
    "ravel(self)": "r(2, 3); r()",
    "square(self)": "r(3)",
    "topk(self, 2, 0, False)": "r(4)",
    "unflatten(self, 0, (2, 2))": "r(4)",
    "vstack([self, other])": "r(3), r(3)",
    "argwhere(self)": "r(2, 3); r()",
    "bincount(self)": "w.tensor([0, 2, 2])",
    "bucketize(self, other)": "r(2, 3), w.tensor([-1.0, 0.0, 1.0])",
    "cartesian_prod(self, other)": "r(2), r(3)",
    "cdist(self, other)": "r(2, 3), r(4, 3)",
    "count_nonzero(self)": "r(2, 3); r()",
    "cumulative_trapezoid(self)": "r(4); r(2, 3)",
    "diff(self)": "r(4); r(2, 3)",
    "fliplr(self)": "r(2, 3)",
    "flipud(self)": "r(2, 3)",
    "inner(self, other)": "r(3), r(3); r(2, 3), r(4, 3)",
    "isin(self, other)": "r(3), r(2)",
    "kron(self, other)": "r(2, 2), r(2, 3); r(3), r(2)",
    "msort(self)": "r(3, 2)",
    "searchsorted(self, other)": "w.tensor([-1.0, 0.0, 1.0]), r(2, 3)",
    "std_mean(self)": "r(2, 3)",
    "take_along_dim(self, index, 1)": "r(2, 3), w.tensor([[0], [2]])",
    "tensordot(self, other, 1)": "r(2, 3), r(3, 4)",
    "tile(self, (2, 2))": "r(2, 3)",
    "trapezoid(self)": "r(4); r(2, 3)",
    "unique(self)": "r(4)",
    "var_mean(self)": "r(2, 3)",
}

# Where a matrix has no full rank, LAPACK and its version decide which factors come out: these may differ, and need not.
FACTORS = "Factors of matrices"
# Processors that compute with half floats themselves round sums of products more often.
HALVES = "Sums of half floats"
# Vector instructions give nan where others give the limit.
PROCESSORS = "gelu at infinity"

# What differs: why, and in which cases of which operations, `*` standing for anything; mostly a row of DIFFERENCES.md.
# Not compared are the sign of a zero, which may depend on where an element lies, and the words of a TypeError.
KNOWN: dict[str, dict[str, str]] = {
    "Powers at minus infinity and minus zero": {"float??, *: *gradient's value": "pow_number"},
    PROCESSORS: {"float32, *: value": "gelu", "float??, *: second gradient's value": "gelu"},
    "Piecewise functions at nan and zero": {
        "float??, *: *gradient's value": "elu elu_ celu celu_ prelu_kernel",
        "float??, all edges: gradient's value": "hardtanh hardswish hardshrink softshrink",
    },
    "Ties": {
        "expanded: *value": "top_values topk kthvalue",
        "float??, *edges: *value": "top_values topk kthvalue",
        "int??: value": "kthvalue",
        "float??, all edges: *value": "sorted_values",
        "uint8: value": "topk",
    },
    "Derivatives at no elements and at zeros": {
        "float??, *: second gradient's value": "xlogy",
        "float??, *edges: *gradient's value": "hypot",
        "float??, one *: *gradient's value": "hypot",
        "float??, *: *gradient's value": "cumprod cumprod_as prod_all prod_all_as huber_loss smooth_l1_loss "
        "soft_margin_loss",
    },
    HALVES: {"float16: *value": "convolution"},
    FACTORS: {
        "*: steps": (
            "linalg_solve_ex cholesky_factor cholesky_inverse cholesky_solve linalg_eigh linalg_svd linalg_lstsq"
        ),
        "*: flag": "linalg_lstsq",
        "float??, *: error": (
            "linalg_inv_ex linalg_solve_ex linalg_cholesky_ex cholesky_factor cholesky_inverse linalg_det linalg_eigh "
            "linalg_slogdet linalg_lstsq linalg_svd"
        ),
        "float??, *: *value": (
            "linalg_inv_ex linalg_solve_ex cholesky_inverse cholesky_solve linalg_det linalg_qr linalg_eigh linalg_svd "
            "linalg_slogdet linalg_lstsq"
        ),
        "float??: *value": "linalg_svd",
        "turned: *value": "linalg_svd",
        "gaps: *value": "linalg_svd",
        "expanded: *value": "linalg_qr linalg_svd",
        "expanded: error": "linalg_det linalg_slogdet cholesky_inverse",
        "out=*: error": "cholesky_factor cholesky_inverse cholesky_solve",
        "empty: error": "cholesky_factor",
    },
    "Floats among integers": {"*int64 with float32: error": "masked_fill fill_with index_fill"},
    "Numbers near the limits of a dtype": {
        "float??, one *largest: value": "addmm smooth_l1_loss native_layer_norm native_batch_norm addr addbmm lerp",
        "float??, one *largest: *gradient's value": "mse_loss native_layer_norm native_batch_norm prod_dim cdist",
        "float??, one -largest: *value": "F.scaled_dot_product_attention",
        "float32, one *largest: *value": "std prod_dim_as",
        "float32, edges: *gradient's value": "std",
        "float??, all edges: value": (
            "add_scaled sub_scaled remainder_tensors fmod_tensors remainder_number fmod_number lerp"
        ),
        "float??, all edges: second gradient's value": "prod_dim prod_dim_as",
        "float??, *: second gradient's value": "mish glu native_group_norm asinh atanh",
        "float??, one *largest: *value": "native_group_norm glu",
        "float32, one *large: *value": "native_layer_norm",
        "float16: gradient's value": "native_group_norm",
    },
    "Images of bytes, and of no channels": {
        "uint8: error": (
            "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_nearestexact1d upsample_nearestexact2d "
            "upsample_nearestexact3d upsample_bilinear2d upsample_bicubic2d"
        ),
        "empty: error": "avg_pool2d avg_pool3d",
        "0-d: error": "avg_pool2d",
    },
    "Infinite weights and targets": {
        "float??, one *inf: value": "upsample_trilinear3d native_batch_norm",
        "float??, edges: value": "upsample_trilinear3d",
        "float32, edges: value": "upsample_bilinear2d",
        "float32, one *large*: value": "upsample_bicubic2d",
        "float??, one *inf: *gradient's value": "native_layer_norm native_batch_norm",
        "float??, edges: *value": "native_batch_norm native_group_norm",
        "float??, one *inf: *value": "native_group_norm",
        "float32, *: *value": "convolution",
        "float??, *: *gradient's value": "binary_cross_entropy_with_logits",
    },
    "PyTorch's 1e-12 is a float32": {"float??, one *: *gradient's value": "binary_cross_entropy"},
    "Two dtypes in a loss": {"* with *: error": "huber_loss binary_cross_entropy nll_loss"},
    "Convolutions of integers and of two dtypes": {"*: error": "convolution"},
    "Two faults at once": {
        "float??, *edges: error": "binary_cross_entropy",
        "empty: error": "binary_cross_entropy rsub_tensors native_batch_norm pixel_shuffle pixel_unshuffle",
        "in place, empty: error": "masked_fill masked_fill_number masked_scatter",
        "in place, 0-d: error": "masked_scatter",
        "*empty: error": "index_fill index_fill_number",
        "in place, bool: error": "addmm addmv addcmul baddbmm",
        "in place, *: error": "lerp lerp_number addr addbmm",
        "*0-d: error": "baddbmm addbmm index_add mv embedding unflatten permute F.avg_pool2d F.cross_entropy",
        "out=bool, *: error": "add_scaled sub_scaled hypot logaddexp logaddexp2",
        "in place, bool with int32: error": "add_scaled hypot",
        "out=*, bool: error": "abs floor ceil trunc mm dot mv bmm matmul",
        "bool with int32: error": "bmm einsum matmul",
        "bool*: error": "F.scaled_dot_product_attention",
    },
    "`out=`": {
        "out=*: error": "frac sum_all sum_all_as mean_all mean_all_as mean_dim max_all min_all cumsum cumprod vdot"
    },
    "Running sums of masks in place": {"in place, bool: error": "cumsum cumprod"},
    "Running sums in another dtype in place": {"in place, *: error": "cumsum_as cumprod_as"},
    "What only PyTorch refuses": {
        "turned: error": "nll_loss2d",
        "*: second gradient's kind": "native_layer_norm hardsigmoid",
        "*: error": "native_group_norm",
        "in place, *: error": "asinh acosh atanh",
    },
    "The order in memory": {"turned: steps": "tril triu addr kron", "*: steps": "nonzero argwhere"},
    "Functions made of others": {
        "*: error": "cdist inner tensordot var_mean std_mean bucketize searchsorted cumulative_trapezoid",
        "*: second gradient's kind": "cdist",
    },
    "Boundaries that do not rise": {"float??, *: value": "bucketize searchsorted"},
    "Means of infinities": {"float??, *: *value": "var_mean std_mean"},
    "PyTorch names a type as C++ does": {"in place, *: error": "clamp clamp_min_number clamp_max_number"},
}

DTYPES = "float64 float32 float16 int64 int32 uint8 bool".split()
FLOATS = DTYPES[:3]
EDGES = {
    "nan": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "0": 0.0,
    "-0": -0.0,
    "subnormal": {"float64": 3e-310, "float32": 1e-40},
    "-subnormal": {"float64": -3e-310, "float32": -1e-40},
    "largest": {"float64": 1.7e308, "float32": 3.4e38},
    "-largest": {"float64": -1.7e308, "float32": -3.4e38},
    "large": 1000.0,
    "-large": -1000.0,
    "1": 1.0,
    "-1": -1.0,
}
MIXED = [("float32", "float64"), ("int64", "float32"), ("float32", "int64"), ("bool", "int32")]
HOW = ("none", "mean", "sum")
TOLERANCE = {"float64": 1e-11, "float32": 2e-6, "float16": 2e-3}


class Numbers:
    """A tensor of a sample: its numbers, and whether other dtypes and shapes may stand for them."""

    def __init__(self, array: np.ndarray, free: bool, leaf: bool, layout: str = "") -> None:
        self.array, self.free, self.leaf, self.layout = array, free, leaf, layout

    def like(self, array: np.ndarray, layout: str = "") -> Numbers:
        """Another tensor for its place."""
        return Numbers(np.asarray(array), self.free, self.leaf, layout)

    def tensor(self, module: Any) -> Any:
        """The tensor under a module, a leaf that requires grad where it can."""
        a, layout = self.array, self.layout
        if layout == "turned":
            t = module.tensor(a.T.copy()).permute(tuple(range(a.ndim))[::-1])
        elif layout == "gaps" and a.ndim:
            t = module.tensor(np.repeat(a, 2, -1))[..., ::2]
        elif layout == "expanded" and a.ndim and len(a):
            t = module.tensor(a[:1]).expand(a.shape)
        else:
            t = module.tensor(a)
        return t.requires_grad_() if self.leaf and a.dtype.kind == "f" else t


def numbers_of(arg: Any) -> Any:
    """A sample's argument with the numbers of its tensors."""
    if isinstance(arg, (list, tuple)):
        return type(arg)([numbers_of(a) for a in arg])
    if isinstance(arg, workbench.Tensor):
        array = arg.detach().numpy()
        return Numbers(array, array.dtype.kind == "f", arg.requires_grad)
    return arg


def changed(arg: Any, change: Any) -> Any:
    """An argument with other numbers wherever these are free."""
    if isinstance(arg, (list, tuple)):
        return type(arg)([changed(a, change) for a in arg])
    return change(arg) if isinstance(arg, Numbers) and arg.free else arg


def under(arg: Any, module: Any, leaves: list[Any]) -> Any:
    """An argument as a module has it; what is differentiated by is put down."""
    if isinstance(arg, (list, tuple)):
        return type(arg)([under(a, module, leaves) for a in arg])
    if isinstance(arg, Numbers):
        t = arg.tensor(module)
        leaves += [t] if t.requires_grad else []
        return t
    return getattr(module, str(arg).partition(".")[2]) if isinstance(arg, type(workbench.float64)) else arg


def as_dtype(dtype: str) -> Any:
    """A change of dtype; integers are a few small numbers, with and without sign."""

    def change(n: Numbers) -> Numbers:
        a = n.array if dtype in FLOATS else n.array > 0 if dtype == "bool" else np.round(n.array * 3)
        return n.like(np.asarray(np.abs(a) if dtype == "uint8" else a).astype(dtype))

    return change


def free_in(args: Any) -> list[Numbers]:
    """The numbers among arguments that are free."""
    found: list[Numbers] = []
    changed(args, found.append)
    return found


def cases(args: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The arguments of a sample in all their forms, each with its name."""
    for dtype in DTYPES:
        yield dtype, changed(args, as_dtype(dtype))
    count = len(free_in(args))
    for one, two in MIXED if count > 1 else ():
        turns = itertools.chain([one], itertools.repeat(two))
        yield f"{one} with {two}", changed(args, lambda n, turns=turns: as_dtype(next(turns))(n))
    for layout in ("turned", "gaps", "expanded"):
        yield layout, changed(args, lambda n, layout=layout: n.like(n.array, layout))
    yield "0-d", changed(args, lambda n: n.like(n.array.ravel()[0] if n.array.size else 1.0))
    yield "empty", changed(args, lambda n: n.like(n.array[:0] if n.array.ndim else n.array))
    for dtype in FLOATS[:2]:
        edges = {name: e[dtype] if isinstance(e, dict) else e for name, e in EDGES.items()}
        for (place, (name, edge)), which in itertools.product(enumerate(edges.items()), range(count)):
            yield f"{dtype}, one {name}", with_one(args, dtype, edge, place, which)
        several = [edge for name, edge in edges.items() if "largest" not in name]  # whose sums depend on their order
        for turn in range(len(several)):
            yield f"{dtype}, edges", with_edges(args, dtype, several, turn)
        if len({n.array.shape for n in free_in(args)}) == 1 and free_in(args)[0].array.ndim == 1:
            yield f"{dtype}, all edges", with_pairs(args, dtype, list(edges.values()))


def with_one(args: list[Any], dtype: str, edge: float, place: int, which: int) -> list[Any]:
    """The arguments with one element of one tensor at an edge."""
    left = itertools.count(-which)

    def change(n: Numbers) -> Numbers:
        a = n.array.astype(dtype)
        if next(left) == 0 and a.size:
            a.reshape(-1)[place % a.size] = edge
        return n.like(a)

    return changed(args, change)


def with_edges(args: list[Any], dtype: str, edges: list[float], turn: int) -> list[Any]:
    """The arguments with every number at an edge, each tensor's others than the one's before."""
    steps = itertools.count(1)

    def change(n: Numbers) -> Numbers:
        step = next(steps)
        several = [edges[(turn * step + i) % len(edges)] for i in range(n.array.size)]
        return n.like(np.array(several, dtype).reshape(n.array.shape))

    return changed(args, change)


def with_pairs(args: list[Any], dtype: str, edges: list[float]) -> list[Any]:
    """The arguments with every pair of edges, so many that PyTorch computes several at once."""
    several = itertools.cycle([np.tile(edges, len(edges)), np.repeat(edges, len(edges))])
    return changed(args, lambda n: n.like(next(several).astype(dtype)))


def call_of(name: str) -> str | None:
    """How a user calls an operation, in the names of its arguments; None if nobody does."""
    if name in CALLS:
        return CALLS[name]
    if name in INNER or name.endswith("_backward"):
        return None
    arguments = ", ".join(OPS[name].caller_args)
    places = {"torch": workbench, "F": workbench.nn.functional, "torch.linalg": getattr(workbench, "linalg", None)}
    for place, module in places.items():
        own = name.removeprefix("linalg_") if place == "torch.linalg" else name
        if callable(getattr(module, own, None)):
            return f"{place}.{own}({arguments})"
    return f"self.{name}({arguments.partition(', ')[2]})" if name in vars(workbench.Tensor) else None


def swept(name: str) -> tuple[str | None, list[str], list[str]]:
    """A call, the names of its arguments, and its samples."""
    if name in COMPOSED:
        words = re.findall(r"\b(?:self|other|third|size|count|dim)\b", name)
        return name if name.startswith("F.") else f"torch.{name}", list(dict.fromkeys(words)), COMPOSED[name].split(";")
    op = OPS[name]
    own = SAMPLES.get(name) or "; ".join(samples_of(op)) or ", ".join(["r(2, 3)"] * len(op.tensors))
    return call_of(name), op.order, [text for text in own.split(";") if text.strip()]


def variants(call: str) -> Iterator[tuple[str, str]]:
    """The call's twin that writes in place, and its forms with `out`, each with the beginning of its name."""
    found = re.fullmatch(r"torch\.(\w+)\(self(?:, )?(.*)\)", call)
    known = VARIANTS.get(found[1]) if found else None
    if known and known.in_place:
        yield "in place, ", f"torch.clone(self).{found[1]}_({found[2]})"
    for dtype in ("float64", "float32", "int64", "bool") if known and known.out else ():
        yield f"out={dtype}, ", f"{call[:-1]}, out=torch.empty(0, dtype=torch.{dtype}))"


def calls(call: str, args: list[Any], first: bool) -> Iterator[tuple[str, str, list[Any]]]:
    """All that is called with a sample: its case, the call, and the arguments."""
    forms = list(variants(call))
    for case, given in cases(args):
        yield case, call, given
        for start, form in forms:
            if start.startswith("out") and case in DTYPES and first:
                yield start + case, form, changed(given, lambda n: Numbers(n.array, True, False))
            elif start == "in place, " and "," not in case:
                yield start + case, form, given


class Seen:
    """What one call showed under one module: what it raised, or its results, their gradients and those of these."""

    def __init__(self, module: Any, call: str, named: dict[str, Any], leaves: list[Any]) -> None:
        self.module, self.error, self.facts = module, "", []
        try:
            outs = self.flat(eval(call, named | {"torch": module, "F": module.nn.functional, "how": HOW}))
            self.facts = [[self.fact(out) for out in outs], *self.gradients(outs, leaves)]
        except Exception as error:
            self.error = f"{type(error).__name__}: {sentence(str(error))}"

    def flat(self, out: Any) -> list[Any]:
        """The parts of a result."""
        return list(out) if isinstance(out, (list, tuple)) else [out]

    def fact(self, out: Any, how_it_lies: bool = True) -> Any:
        """What is compared of a tensor, and of what is none; the memory of a gradient is not."""
        if not isinstance(out, self.module.Tensor):
            return out
        steps = [step for n, step in zip(out.shape, out.stride(), strict=True) if n > 1]
        steps = steps if how_it_lies and out.numel() else []
        if getattr(out, "_is_zerotensor", bool)():  # PyTorch's zeros without memory
            out = self.module.zeros(out.shape, dtype=out.dtype)
        return str(out.dtype).partition(".")[2], tuple(out.shape), out.requires_grad, steps, out.detach().numpy()

    def gradients(self, outs: list[Any], leaves: list[Any]) -> list[list[Any]]:
        """The gradients by the leaves, each seed another number, and the gradients of their squares."""
        outs = [out for out in outs if isinstance(out, self.module.Tensor) and out.requires_grad]
        outs = [out for out in outs if "NotImplemented" not in out.grad_fn.name()] if leaves else []
        if not outs:
            return []
        grad = self.module.autograd.grad
        seeds = [(self.module.arange(1, 1 + o.numel(), dtype=o.dtype) / 4).reshape(o.shape) for o in outs]
        found = grad(outs, leaves, seeds, allow_unused=True, create_graph=True)
        return [[g if g is None else self.fact(g.detach(), False) for g in found], self.second(found, leaves)]

    def second(self, grads: list[Any], leaves: list[Any]) -> list[Any]:
        """The gradients of the sum of the gradients' squares, or the error that there is."""
        total = sum([(g * g).sum() for g in grads if g is not None and g.requires_grad])
        found = [None] * len(leaves)
        if isinstance(total, self.module.Tensor):
            try:
                found = self.module.autograd.grad(total, leaves, allow_unused=True)
            except RuntimeError as error:
                return [sentence(str(error))]
        several = zip(found, leaves, strict=True)
        return [self.fact(self.module.zeros_like(t) if g is None else g.detach(), False) for g, t in several]


def seen(call: str, order: list[str], args: list[Any]) -> tuple[Seen, Seen]:
    """What a call showed under the workbench and under PyTorch."""
    both = []
    for module in (workbench, torch):
        leaves: list[Any] = []
        given = [under(a, module, leaves) for a in args]
        both.append(Seen(module, call, dict(zip(order, given, strict=False)), leaves))
    return both[0], both[1]


def unlike(ours: Any, theirs: Any, narrowest: str, times: int) -> str:
    """In what two facts differ; nothing where they do not."""
    if not isinstance(ours, tuple):
        return "" if ours == theirs else "value"
    for word, a, b in zip(("dtype", "shape", "flag"), ours, theirs, strict=False):
        if a != b:
            return word
    a, b = ours[4], theirs[4]
    limit = TOLERANCE[narrowest or ours[0]] * times if a.dtype.kind == "f" else 0
    if not np.isclose(a, b, limit, limit, equal_nan=True).all():
        return "value"
    return "" if ours[3] == theirs[3] else "steps"


def narrowest(case: str) -> str:
    """The dtype whose rounding a case may show: the narrowest in its name."""
    several = "with" in case or "out=" in case
    return "float16" if "float16" in case else "float32" if several else ""


def differences(ours: Seen, theirs: Seen, narrowest: str) -> Iterator[str]:
    """In what two answers differ."""
    if ours.error or theirs.error:
        wrong_call = ours.error.startswith("TypeError:") and theirs.error.startswith("TypeError:")
        if ours.error != theirs.error and not wrong_call:
            yield "error"
        return
    for word, a, b in zip(("", "gradient's ", "second gradient's "), ours.facts, theirs.facts, strict=False):
        if len(a) != len(b) or [type(one) for one in a] != [type(two) for two in b]:
            yield f"{word}kind"
            continue
        for one, two in zip(a, b, strict=True):
            if what := unlike(one, two, narrowest, 10 if word.startswith("second") else 1):
                yield f"{word}{what}"


@pytest.mark.parametrize("name", [*OPS, *COMPOSED])
def test_an_operation_beside_pytorch(name: str) -> None:
    call, order, samples = swept(name)
    if call is None:
        assert name in INNER or name.endswith("_backward")
        return
    found: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in samples:
            known = arguments(OPS.get(name) or SimpleNamespace(name=name), text)
            for case, form, args in calls(call, [numbers_of(a) for a in known], text is samples[0]):
                ours, theirs = seen(form, order, args)
                for what in differences(ours, theirs, narrowest(case)):
                    found.setdefault(f"{case}: {what}", told(text, args, ours, theirs))
    patterns = [pattern for cases in KNOWN.values() for pattern, names in cases.items() if named(name) in names.split()]
    unknown = [case for case in found if not any(fnmatchcase(case, pattern) for pattern in patterns)]
    shown = "\n".join([f"{case!r}, {found[case]}" for case in unknown[:3]])
    assert not unknown, f"{name} differs in {len(unknown)} cases: {unknown}\n{shown}"
    strict = [
        pattern
        for reason, cases in KNOWN.items()
        if reason not in (FACTORS, HALVES, PROCESSORS)
        for pattern, names in cases.items()
        if named(name) in names.split()
    ]
    unneeded = [pattern for pattern in strict if not any(fnmatchcase(case, pattern) for case in found)]
    assert not unneeded, f"{name} differs no more in {unneeded}: take it out of KNOWN"


def named(name: str) -> str:
    """An operation's name, of a call the function's."""
    return name.partition("(")[0]


def told(text: str, args: list[Any], ours: Seen, theirs: Seen) -> str:
    """The arguments of a call, and what both sides made of them."""
    given = changed(args, lambda n: n.array.tolist())
    return f"sample {text.strip()}: {given}" + "".join([f"\n  {str(x.error or x.facts)[:400]}" for x in (ours, theirs)])


# Which draw, are made of operations on matrices, or refuse another dtype of `out` in words of their own: expressions.py
# has these.
UNSWEPT = "bernoulli multinomial inverse logdet matrix_power pinverse renorm".split()
# What makes complex numbers and takes them apart: test_complex.py has it.
OF_COMPLEX = (
    "adjoint angle complex conj conj_physical conj_physical_ imag isreal polar real resolve_conj resolve_neg sgn "
    "view_as_complex view_as_real"
).split()


def test_every_operation_can_be_called_or_is_part_of_others() -> None:
    assert [name for name in OPS if call_of(name) is None and name not in INNER and "_backward" not in name] == []
    called = {word for name in OPS for word in re.findall(r"\.(\w+)\(", call_of(name) or "")}
    assert {*VARIANTS} - called - {*INNER} - {*map(named, COMPOSED)} == {"detach_", *UNSWEPT, *OF_COMPLEX}


def test_what_is_known_is_of_operations_that_are_there() -> None:
    names = {name for cases in KNOWN.values() for several in cases.values() for name in several.split()}
    assert names <= {*OPS, *map(named, COMPOSED)}
    assert {*SAMPLES, *INNER} <= {*OPS}
    page = (Path(workbench.__file__).parent / "DIFFERENCES.md").read_text(encoding="utf-8")
    assert [reason for reason in KNOWN if f"\n| {reason} |" not in page] == []
