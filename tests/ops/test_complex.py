"""Operations on complex tensors beside PyTorch: results, gradients, second gradients, and what is refused.

Every operation of the registry is here that users can call, in both complex dtypes.
"""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from oracle import entries

import workbench
from workbench.ops import REGISTRY
from workbench.ops.core.complex_rule import HOLOMORPHIC, MISSING, OWN, REFUSED
from workbench.ops.core.registry import SEVERAL

TABLE = """
z.exp() | z.log() | z.sin() | z.cos() | z.tanh() | z.sqrt() | z.sigmoid() | z.relu() | z.abs() | z.sign() | z.sgn()
z.angle() | z.conj() | z.real | z.imag | z + y | torch.add(z, y, alpha=2) | torch.add(z, y, alpha=2j) | z - y
torch.sub(z, y, alpha=0.5j) | 2 - z | (1+2j) - z | r - z | z * y | z * 2j | z * r | r * 1j | -z | z.clone()
z.T.contiguous() | z.masked_fill(c, 2.0) | z.masked_fill(c, 1j) | z.masked_fill(c, v[0].detach()) | z[i[:2] * 0]
z[0] | z[:, 1:] | z[c] | torch.index_put(z, (i[:1],), v) | z.view(3, 2) | z.expand(2, 2, 3) | z.unsqueeze(0)
z.squeeze() | torch.maximum(z, y) | torch.minimum(z, y) | torch.where(c, z, y) | torch.where(c, z, r) | z.clamp(0, 1)
z.clamp(min=0) | z.clamp(max=r) | z == y | z != y | z < y | z <= 1 | z > y | z & y | ~z | torch.logical_and(z, y)
torch.logical_not(z) | torch.isnan(z) | torch.isinf(z) | torch.isfinite(z) | torch.all(z) | torch.any(z)
torch.isclose(z, z) | torch.allclose(z, z) | z / y | z / 2j | 1 / z | z.reciprocal() | torch.remainder(z, y)
torch.fmod(z, y) | torch.div(z, y, rounding_mode='floor') | torch.div(z, y, rounding_mode='trunc') | z // y | z % 2
z ** 2 | z ** 3 | z ** 0.5 | z ** 1j | z ** y | 2 ** z | 2j ** z | r ** z | z.detach().fill_(2j) | z.detach().zero_()
z.to(torch.complex128) | z.to(torch.float32) | r.to(torch.complex64) | z.sum() | z.sum(0) | z.mean() | z.mean(0)
z.sum(dtype=torch.complex128) | r.sum(dtype=torch.complex128) | z.max() | z.min() | z.max(0) | z.argmax() | z.amax()
z.amin(0) | z.gather(1, i[None]) | torch.scatter_add(z, 1, i[None], y) | torch.scatter(z, 1, i[None], y)
torch.scatter(z, 1, i[None], 2j) | m.diagonal() | torch.diag(v) | torch.diag_embed(v) | m.trace() | torch.cat([z, y])
torch.cat([z, r]) | torch.stack([z, y]) | m.mm(n) | m @ n | z @ v | torch.dot(v, v) | torch.mv(z, v) | b.bmm(b)
torch.addmm(m, m, n) | torch.addmm(m, m, n, beta=2j, alpha=1j) | torch.addmv(v[:2], z, v)
torch.addr(m, v[:2], v[1:]) | torch.baddbmm(b, b, b) | torch.addbmm(m, b, b) | F.linear(z, y) | F.linear(z, y, v[:2])
z.as_strided((2, 2), (1, 2)) | z.rsqrt() | z.log1p() | z.expm1() | z.tan() | z.asin() | z.acos() | z.atan() | z.sinh()
z.cosh() | z.asinh() | z.acosh() | z.atanh() | z.erf() | z.erfc() | z.exp2() | z.log2() | z.log10() | z.frac()
z.deg2rad() | z.rad2deg() | torch.atan2(z, y) | torch.hypot(z, y) | torch.logaddexp2(z, y) | torch.copysign(z, y)
z.softmax(0) | z.log_softmax(0) | z.logsumexp(0) | F.leaky_relu(z) | F.elu(z) | F.softplus(z) | F.logsigmoid(z)
F.gelu(z) | F.hardtanh(z) | F.mish(z) | F.relu6(z) | F.softmin(z, 0) | F.softsign(z) | F.tanhshrink(z)
F.hardsigmoid(z) | F.hardswish(z) | F.normalize(z) | F.cosine_similarity(z, y) | torch.linalg.inv(m)
torch.linalg.solve(m, n) | torch.linalg.det(m) | torch.linalg.matrix_power(m, 3) | torch.linalg.matrix_norm(m)
torch.linalg.multi_dot([m, n, m]) | torch.linalg.cross(z, y) | torch.vdot(v, v) | torch.linalg.vecdot(z, y)
torch.inner(z, y) | torch.outer(v, v) | torch.kron(m, n) | torch.einsum('ij,kj->ik', z, y)
torch.tensordot(z, y.T, 1) | z.norm() | z.norm(1) | z.norm(float('inf')) | z.norm(3) | z.norm(2, 0)
torch.linalg.vector_norm(z) | torch.linalg.norm(z) | z.sort() | z.argsort() | z.median() | z.median(0) | z.kthvalue(1)
z.topk(1) | z.unique() | z.std() | z.var() | z.var(0) | z.std(0) | torch.var_mean(z) | z.nonzero() | torch.isin(z, y)
F.mse_loss(z, y) | F.l1_loss(z, y) | F.huber_loss(z, y) | F.smooth_l1_loss(z, y) | F.binary_cross_entropy(z, y)
F.soft_margin_loss(z, y) | F.nll_loss(z, i[:2]) | F.cross_entropy(z, i[:2]) | F.kl_div(z, y)
F.hinge_embedding_loss(z, y) | F.cosine_embedding_loss(z, y, i[:2]) | F.margin_ranking_loss(z, y, z)
torch.xlogy(z, y) | torch.index_add(z, 0, i[:2], y) | torch.index_select(z, 0, i) | torch.masked_select(z, c)
torch.poisson(z) | torch.multinomial(z, 1) | torch.addcmul(z, z, y) | torch.addcmul(z, z, y, value=1j)
torch.addcdiv(z, z, y) | torch.lerp(z, y, 0.3) | torch.lerp(z, y, y) | torch.lerp(z, y, 0.3j) | torch.nansum(z)
torch.nanmean(z) | torch.index_fill(z, 0, i[:1], 2j) | torch.index_copy(z, 0, i[:2], y)
torch.masked_scatter(z, c, y) | torch.take(z, i) | z.put(i, v) | z.flip(0) | z.roll(1, 0) | z.repeat(2, 1) | z.tile(2)
z.tril() | z.triu() | z.floor() | z.ceil() | z.trunc() | z.round() | z.round(decimals=1) | z.cumsum(0) | z.cumprod(0)
z.prod() | z.prod(0) | z.cummax(0) | z.cummin(0) | z.unfold(1, 2, 1) | z.split(1)[0] | z.unbind()[0] | z.chunk(2)[0]
z.transpose(0, 1) | z.permute(1, 0) | z.t() | z.H | m.mH | m.adjoint() | z.movedim(0, 1) | z.flatten() | z.reshape(6)
z.square() | z.pow(2) | z.isreal() | z.diff() | F.pad(z, (1, 1)) | F.pad(z[None], (1, 1), mode='reflect')
F.pad(z[None], (1, 1), mode='replicate') | F.pad(z[None], (1, 1), mode='circular')
F.conv1d(z[None], y[None].transpose(0, 1)[:, :, :2]) | F.conv2d(b[:, None], b[:1, None]) | F.max_pool1d(z[None], 2)
F.avg_pool1d(z[None], 2) | F.avg_pool2d(b, 2) | F.adaptive_avg_pool1d(z[None], 1) | F.adaptive_max_pool1d(z[None], 1)
F.max_pool2d(b, 2) | F.interpolate(z[None], scale_factor=2) | F.interpolate(b[None], scale_factor=2, mode='bilinear')
F.unfold(b[:, None], 1) | F.layer_norm(z, (3,)) | F.batch_norm(z, None, None, training=True) | F.group_norm(b, 1)
F.instance_norm(b) | F.embedding(i, z) | F.pixel_shuffle(b.reshape(1, 4, 1, 2), 2)
F.scaled_dot_product_attention(b, b, b) | F.one_hot(z) | F.pairwise_distance(z, y) | F.glu(z.T) | F.threshold(z, 0, 0)
F.celu(z) | F.selu(z) | F.hardshrink(z) | F.softshrink(z) | F.prelu(z, v[:1]) | torch.cdist(z, y) | torch.bincount(z)
torch.searchsorted(v, v) | torch.bucketize(v, v) | torch.count_nonzero(z) | torch.complex(r, r) | torch.polar(r, r)
torch.view_as_real(z) | torch.view_as_complex(r[:, :2].contiguous()) | torch.zeros(2, dtype=torch.complex64)
torch.arange(3, dtype=torch.complex64) | torch.linspace(0, 1, 3, dtype=torch.complex64)
torch.eye(2, dtype=torch.complex64) | torch.full((2,), 1j) | torch.full_like(r, 1j) | torch.ones_like(z)
torch.trapezoid(z) | torch.renorm(z, 2, 0, 1) | torch.baddbmm(b, b, b, beta=0.5) | torch.meshgrid(v, v)
torch.floor_divide(z, y) | torch.clip(z, 0, 1) | torch.det(m) | torch.inverse(m)
torch.nn.functional.gumbel_softmax(z) | F.conv1d(z[None], y[None].transpose(0, 1).expand(2, 2, 3)[:, :, :2])
F.conv2d(b[:, None], b[:1, None], padding=1) | F.conv_transpose1d(z[None], b) | F.conv1d(z[None], b, v[:2])
torch.max(z, y) | z.isnan().any() | torch.is_nonzero(z[0, 0]) | z.cumsum(1) | z.var(1, keepdim=True)
z.std(correction=0) | z.norm(2, 1) | z.norm(0.5) | z.norm(0) | z.norm(-1) | torch.linalg.vector_norm(z, 3, 0)
z.abs() ** 2 | (z * z.conj()).real | z.real ** 2 + z.imag ** 2 | torch.view_as_real(z).sum(-1)
torch.view_as_complex(torch.view_as_real(z) * 2) | torch.complex(r, r * 2) | torch.polar(r.abs(), r) | z.conj().conj()
z.mT | z.T @ y | torch.outer(v, v.conj()) | z.sgn() * z.abs() | z.angle() * 2 | r.angle() | r.conj() | r.real
torch.real(r) | r.sgn() | r * (1 + 1j) | r + 2j | z - r | r / z | z / r | 2j / z | 2j * r
r.to(torch.complex128) * 1j | z.to(torch.complex64) | z.cdouble() | z.cfloat() | r.cdouble() | z.double()
z.expand(3, 2, 3).sum(0) | torch.where(z.abs() > 1, z, y) | torch.where(c, z, 0.0) | z.mean(1, keepdim=True)
z.rsub(2) | z.add(y, alpha=0.5) | z.sub(y, alpha=2j) | z.mul(0.5) | torch.dot(v, v.conj()) | torch.vdot(v, v * 2j)
torch.einsum('ij,ij->', z, y.conj()) | torch.einsum('bij,bjk->bik', b, b) | torch.linalg.inv(b)
torch.linalg.solve(m, v[:2]) | torch.linalg.det(b) | torch.linalg.matrix_power(m, -2)
torch.addcmul(z, z, y, value=2) | torch.addcdiv(z, z, y, value=1j) | torch.stack([z, y], -1).sum(-1)
z.index_select(1, i[:2]) | z.masked_fill(c, 0) | z.gather(1, i[None]).sum() | z.prod(1) | z.cumprod(1)
z.tanh() * z.sigmoid() | torch.exp(1j * r) | torch.exp(1j * r).real | torch.cos(r) + 1j * torch.sin(r)
(z @ y.mH).diagonal().real | z.log().imag | z.pow(2).sum().abs() | torch.isclose(z, y) | z.eq(y)
z.T.contiguous().view(6) | z.unfold(1, 2, 1).sum(-1) | z.tril() + z.triu(1) | z.diag() | z.tan().atan()
z.sin().asin() | z.clone().fill_(1j) | F.normalize(z, dim=1) | F.pad(z, (0, 1)) | F.dropout(z, 0.0)
F.dropout(z, 0.5, training=False) | F.mse_loss(z.real, y.real) | (z - y).abs().pow(2).mean()
torch.trapezoid(z, dx=2) | torch.cumulative_trapezoid(z) | torch.diff(z) | torch.tensordot(z, y, 2)
torch.cartesian_prod(v, v) | torch.allclose(z, y) | torch.equal(z, z) | z.numel() | z.is_floating_point()
z.is_complex() | torch.nn.functional.tanh(z) | torch.clamp(z.abs(), 0, 1) | z.new_zeros(2) | z.flatten()[1:].sum()
z.ravel() | z.unflatten(1, (3, 1)) | z.swapaxes(0, 1) | z[..., None] | z[:, [0, 2]] | z[c.T.T].abs().sum()
torch.atleast_3d(z) | torch.hstack([z, y]) | torch.column_stack([v, v]) | z.split([1, 2], 1)[1]
torch.linalg.norm(m, 'fro') | torch.linalg.norm(v) | torch.nanmean(r) | torch.logical_xor(z, y)
z.sum(0, dtype=torch.complex64) | r.mean(dtype=torch.complex64) | z.take(i) | torch.scatter(z, 0, i[None], y)
z.put(i[:2], v[:2]) | torch.repeat_interleave(z, 2) | z.exp().log() | z.expm1().log1p() | z.cosh().acosh()
z.sinh().asinh() | z.tanh().atanh() | z.reciprocal() * z | z ** (2 + 1j) | z ** r | r.abs() ** z | (-2.0) ** z
0 ** z | z ** 0 | z ** -1 | z ** -0.5 | torch.fft.fft(z) | torch.fft.fft(r) | torch.fft.fft(r, 5)
torch.fft.fft(z, 2, 0) | torch.fft.fft(z, norm='ortho') | torch.fft.fft(z, norm='forward') | torch.fft.ifft(z)
torch.fft.ifft(r) | torch.fft.ifft(z, norm='forward') | torch.fft.ifft(z, 5, norm='ortho') | torch.fft.rfft(r)
torch.fft.rfft(r, 4) | torch.fft.rfft(r, 2, 0, norm='ortho') | torch.fft.rfft(z) | torch.fft.irfft(z)
torch.fft.irfft(z, 5) | torch.fft.irfft(z, 3, 0) | torch.fft.irfft(r) | torch.fft.irfft(z, norm='forward')
torch.fft.irfft(z, 6, norm='ortho') | torch.fft.hfft(z) | torch.fft.hfft(r) | torch.fft.hfft(z, 5, norm='ortho')
torch.fft.ihfft(r) | torch.fft.ihfft(r, 5, norm='ortho') | torch.fft.ihfft(z) | torch.fft.fft2(z) | torch.fft.fft2(r)
torch.fft.fft2(b, norm='forward') | torch.fft.ifft2(z, norm='ortho') | torch.fft.rfft2(r) | torch.fft.irfft2(z)
torch.fft.irfft2(z, (2, 3)) | torch.fft.hfft2(z) | torch.fft.ihfft2(r) | torch.fft.ihfft2(z) | torch.fft.fftn(b)
torch.fft.fftn(b, (3, -1), (0, 2)) | torch.fft.fftn(z, dim=()) | torch.fft.fftn(z, dim=(0, 0))
torch.fft.fftn(z, s=(3, 2, 1)) | torch.fft.fftn(z, s=(3, 2), dim=(0,)) | torch.fft.ifftn(b) | torch.fft.rfftn(r)
torch.fft.rfftn(z) | torch.fft.rfftn(r, dim=()) | torch.fft.irfftn(b) | torch.fft.irfftn(b, (2, 3), (1, 2))
torch.fft.irfftn(z, dim=()) | torch.fft.hfftn(b) | torch.fft.ihfftn(r) | torch.fft.fftshift(z)
torch.fft.fftshift(z, 1) | torch.fft.ifftshift(b, (0, 1)) | torch.fft.fftfreq(5) | torch.fft.fftfreq(4, 0.5)
torch.fft.rfftfreq(5) | torch.fft.rfftfreq(4, 2.0) | torch.fft.fftfreq(-1) | torch.fft.fft(i) | torch.fft.fft(c)
torch.fft.fft(z, 0) | torch.fft.fft(z, dim=2) | torch.fft.fft(z, norm='bad') | torch.fft.fft(z.real.sum())
torch.fft.fft(3) | torch.fft.fft(z, 2.5) | torch.fft.irfft(z[:, :1]) | torch.fft.fft(r.half()) | torch.fft.fft2(r[0])
"""
# Factors: what of them doesn't depend on phases, which are arbitrary; a loss that depends on them is refused.
FACTORS = """
torch.linalg.svdvals(m) | torch.linalg.svd(m)[0].abs() | torch.linalg.svd(z)[2].abs() | torch.linalg.svd(z.T)[0].abs()
(lambda u, s, v: (u * s * s) @ v)(*torch.linalg.svd(z, False)) | torch.linalg.eigvalsh(m + m.mH) | m.svd()[2].abs()
(lambda u, s, v: (u * s.sqrt()) @ v)(*torch.linalg.svd(z.T, False)) | torch.linalg.eigh(m + m.mH)[1].abs()
(lambda w, v: (v * w.sin()) @ v.mH)(*torch.linalg.eigh(m @ m.mH)) | (lambda q, r: q @ r * r.abs())(*torch.linalg.qr(m))
torch.linalg.eigvalsh(m @ m.mH, 'U') | (lambda q, r: q @ r.sin())(*torch.linalg.qr(z.T)) | torch.linalg.qr(z)[0].abs()
(lambda q, r: q.abs() @ r)(*torch.linalg.qr(z)) | torch.linalg.qr(m)[1].abs()
torch.linalg.qr(z.T, 'complete')[0].abs() | torch.linalg.cholesky(m @ m.mH)
torch.linalg.cholesky(m @ m.mH, upper=True) | torch.linalg.cholesky(m + m.mH)
torch.cholesky_solve(n, torch.linalg.cholesky(m @ m.mH)) | torch.cholesky_inverse(torch.linalg.cholesky(m @ m.mH))
torch.cholesky_solve(n, torch.linalg.cholesky(m @ m.mH, upper=True), True)
torch.cholesky_inverse(torch.linalg.cholesky(m @ m.mH, upper=True), True)
torch.linalg.slogdet(m)[0] | torch.linalg.slogdet(m)[1] | torch.logdet(m) | torch.slogdet(b)[1] | torch.linalg.pinv(m)
torch.linalg.pinv(z) | torch.linalg.pinv(z.T) | torch.linalg.pinv(m @ m.mH, hermitian=True)
torch.linalg.lstsq(m, n)[0] | torch.linalg.lstsq(z.T, v)[0]
torch.linalg.lstsq(z.T, y.T, driver='gelsd')[1] | torch.linalg.matrix_rank(z)
torch.linalg.solve_triangular(m, n, upper=True) | torch.linalg.solve_triangular(m, n, upper=False, left=False)
torch.linalg.cond(m) | torch.linalg.matrix_norm(m, 2) | torch.linalg.det(m - m) | torch.linalg.inv(m - m)
torch.linalg.svd(m)[0] | torch.linalg.eigh(m + m.mH)[1] | torch.linalg.svd(z, False)[2] | F.silu(z) | z.sinc()
"""
# What PyTorch computes and the workbench refuses by a sentence of its own.
ABSENT = """
torch.nan_to_num(z) | torch.logaddexp(z, y)
"""
# Where both compute, or both refuse, and something else differs: why.
DIFFERENT = {
    **dict.fromkeys(
        entries("""
F.conv2d(b[:, None], b[:1, None]) | F.conv2d(b[:, None], b[:1, None], padding=1) | F.conv_transpose1d(z[None], b)
F.conv1d(z[None], b, v[:2]) | F.conv1d(z[None], y[None].transpose(0, 1).expand(2, 2, 3)[:, :, :2])
"""),
        "PyTorch computes three real convolutions, so the last node adds",
    ),
    **dict.fromkeys(
        entries("""
torch.var_mean(z) | F.pairwise_distance(z, y) | torch.trapezoid(z) | torch.trapezoid(z, dx=2) | torch.renorm(z, 2, 0, 1)
torch.fft.fftn(z, dim=()) | r.sgn()
"""),
        "the last node has another name",
    ),
    **dict.fromkeys(
        entries("""
torch.where(c, z, r) | r.sum(dtype=torch.complex128) | r.mean(dtype=torch.complex64)
"""),
        "PyTorch doesn't take the real part of the gradient, and refuses it",
    ),
    **dict.fromkeys(
        entries("""
F.pad(z[None], (1, 1), mode='reflect') | F.pad(z[None], (1, 1), mode='replicate')
"""),
        "PyTorch's derivative of a derivative that depends on nothing requires grad",
    ),
    "0 ** z": "powers of 0 are nan in other places",
    "F.cross_entropy(z, i[:2])": "PyTorch names another kernel, for a softmax along the last dimension",
    "F.scaled_dot_product_attention(b, b, b)": "PyTorch names another kernel, for a softmax along the last dimension",
    "F.max_pool1d(z[None], 2)": "PyTorch names the kernel of max_pool2d",
}


def world(torch: Any, kind: str) -> dict[str, Any]:
    """The tensors of the table: matrices `z`, `y` and `r`, a real one, square ones `m` and `n`, `b` of two of them."""
    dtype, real = (getattr(torch, kind), torch.float32 if kind == "complex64" else torch.float64)

    def leaf(numbers: Any) -> Any:
        return torch.tensor(numbers, dtype=dtype, requires_grad=True)

    return {
        "torch": torch,
        "F": torch.nn.functional,
        "z": leaf([[1 + 2j, -0.5 + 0.25j, 0.75 - 1j], [2 - 0.5j, -1 - 1j, 0.25j]]),
        "y": leaf([[0.5 - 1j, 2 + 1j, -1 + 0.5j], [1j, 0.75 + 0.5j, 1.5 - 2j]]),
        "m": leaf([[2 + 1j, 0.5 - 0.25j], [-1j, 1.5 + 1j]]),
        "n": leaf([[1 - 1j, 2 + 0.5j], [0.5j, 1 - 1j]]),
        "v": leaf([1 + 1j, -2 + 0.5j, 0.5 - 1j]),
        "b": leaf([[[1 + 1j, 2], [1j, 3 - 1j]], [[0.5j, 1 - 1j], [2 + 2j, -1j]]]),
        "c": torch.tensor([[True, False, True], [False, True, True]]),
        "i": torch.tensor([1, 0, 1]),
        "r": torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], dtype=real, requires_grad=True),
    }


def parts(torch: Any, value: Any) -> Any:
    """A tensor as its dtype and its real numbers: JSON has no others."""
    if value is None:
        return None
    value = value.detach()
    kind = str(value.dtype)
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    numbers = value.resolve_neg() if hasattr(value, "resolve_neg") else value
    return (
        kind,
        tuple(value.shape),
        [n + 0.0 if math.isfinite(n) else str(n) for n in numbers.reshape(-1).double().tolist()],
    )


def first(torch: Any, found: Any) -> Any:
    return found if not isinstance(found, tuple | list) else next(t for t in found if isinstance(t, torch.Tensor))


def gradients(torch: Any, text: str, kind: str) -> list[Any]:
    """What an expression gives, its gradients, and those of a real number made of these."""
    named = world(torch, kind)
    out = first(torch, eval(text, named))
    if not isinstance(out, torch.Tensor):
        return [str(out)]
    shown = [parts(torch, out), None if out.grad_fn is None else out.grad_fn.name()]
    leaves = [named[name] for name in "zymnvbr"]
    if not out.requires_grad:
        return shown
    count = torch.arange(out.numel(), dtype=torch.float64).cos().reshape(tuple(out.shape))
    weights = (count * (1 + 0.5j) if out.is_complex() else count).to(out.dtype)
    grads = torch.autograd.grad(out, leaves, weights, create_graph=True, allow_unused=True)
    shown += [parts(torch, g) for g in grads]
    moving = [g for g in grads if g is not None and g.requires_grad]
    if moving:
        whole = sum([(g * g.conj() * 0.5 + g * g * (0.3 - 0.2j)).sum().real for g in moving])
        if whole.requires_grad:
            second = [parts(torch, g) for g in torch.autograd.grad(whole, leaves, allow_unused=True)]
            if kind == "complex64":  # how these are rounded depends on the machine's linear algebra
                second = [None if each is None else each[:2] for each in second]
            shown += second
    return shown


KINDS = ("complex64", "complex128")
ASKED = [(text, kind) for text in entries(TABLE) + entries(FACTORS) for kind in KINDS]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "kind"), [(text, kind) for text, kind in ASKED if text not in DIFFERENT])
def test_an_operation(torch: Any, text: str, kind: str) -> Any:
    return gradients(torch, text, kind)


@pytest.mark.parametrize("text", entries(ABSENT))
def test_what_is_not_computed_yet_is_refused(text: str) -> None:
    with pytest.raises((NotImplementedError, RuntimeError)):
        eval(text, world(workbench, "complex128"))


FORWARD = """
z * y | z / y | z ** y | z.exp() | z.abs() | z.sgn() | z.angle() | z.conj() | z.real | z.log() | z @ v | torch.dot(v, v)
torch.vdot(v, v * 2j) | torch.linalg.inv(m) | torch.linalg.det(m) | torch.linalg.solve(m, n) | z.norm() | z.var()
torch.complex(r, r * r) | torch.polar(r.abs(), r) | torch.view_as_real(z) | z.prod() | z.cumsum(0) | z.mean(0)
torch.fft.fft(z) | torch.fft.fft(r) | torch.fft.rfft(r, 5) | torch.fft.irfft(z, 5) | torch.fft.hfft(z)
torch.fft.fft2(z) | torch.fft.ihfft(r) | z.acosh() | z.logsumexp(0) | torch.where(c, z, y) | 2j ** z | z ** 1j
z.tanh() | F.normalize(z) | torch.linalg.pinv(z) | torch.linalg.svdvals(z) | torch.linalg.cholesky(m @ m.mH)
torch.linalg.slogdet(m)[1] | torch.linalg.qr(m)[1].abs() | torch.linalg.eigvalsh(m + m.mH)
"""


@pytest.mark.parametrize("text", entries(FORWARD))
def test_gradcheck_in_both_modes_and_of_second_derivatives(text: str) -> None:
    named = world(workbench, "complex128")
    used = [name for name in "zymnvbr" if name in re.findall(r"\w+", text)]

    def function(*given: Any) -> Any:
        return eval(text, named | dict(zip(used, given, strict=True)))

    given = tuple([named[name] for name in used])
    check = workbench.autograd.gradcheck
    assert check(function, given, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
    assert workbench.autograd.gradgradcheck(function, given)


@pytest.mark.parametrize("text", entries(FORWARD))
def test_a_batch_is_what_its_samples_are(text: str) -> None:
    named = world(workbench, "complex128")
    used = [name for name in "zymnvbr" if name in re.findall(r"\w+", text)]
    stacks = [workbench.stack([t, t * 0.5]) for t in [named[name].detach() for name in used]]

    def function(*given: Any) -> Any:
        return eval(text, named | dict(zip(used, given, strict=True)))

    both = workbench.func.vmap(function)(*stacks)
    each = workbench.stack([function(*[stack[i] for stack in stacks]) for i in range(2)])
    assert workbench.allclose(both, each)


def test_every_rule_names_an_operation() -> None:
    known = {*REGISTRY, *SEVERAL} | {op.name for op in OWN.values()}
    assert {*HOLOMORPHIC, *MISSING} - known == set()
    assert {*REFUSED} - known == set()
    assert not HOLOMORPHIC & MISSING and not HOLOMORPHIC & {*REFUSED} and not MISSING & {*REFUSED}
