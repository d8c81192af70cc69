"""Discrete Fourier transforms (torch.fft): three ops, of complex to complex, real to complex and complex to real.

Their formulas are PyTorch's: the gradient of a transform is the transform the other way, with the same scale.
`normalization` is 0 for no scale, 1 for one over the root of the number of points, 2 for one over that number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import errors
from ...autograd import dtypes
from ...autograd.tensor import Tensor, wrap
from ...errors import kind_of
from ..complex import conj, own
from ..core.checks import check_tensor, dim_index, dims_of, is_int, named, number_of
from ..core.op import dispatch_complex
from ..core.registry import in_formulas
from ..core.results import into, placed
from ..creation import kind_for, leaf
from .padding import pad
from .rearranging import roll

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
    "rfftn",
]  # fmt: skip
FORWARD: Any = "backward", "ortho", "forward"  # NumPy's words, by the number
INVERSE: Any = FORWARD[::-1]


def _c2c(a: np.ndarray, dim: tuple[int, ...], normalization: int, inverse: bool) -> np.ndarray:
    transform, words = (np.fft.ifftn, INVERSE) if inverse else (np.fft.fftn, FORWARD)
    return transform(a, axes=dim, norm=words[normalization]).astype(a.dtype, copy=False)


def _r2c(a: np.ndarray, dim: tuple[int, ...], normalization: int, onesided: bool) -> np.ndarray:
    transform = np.fft.rfftn if onesided else np.fft.fftn
    return transform(a, axes=dim, norm=FORWARD[normalization]).astype(f"c{2 * a.itemsize}", copy=False)


def _c2r(a: np.ndarray, dim: tuple[int, ...], normalization: int, last_dim_size: int) -> np.ndarray:
    sizes = [*(a.shape[d] for d in dim[:-1]), last_dim_size]
    found = np.fft.irfftn(a, sizes, dim, norm=INVERSE[normalization])
    return found.astype(f"f{a.itemsize // 2}", copy=False)


def _longer(words: str) -> Callable[..., Any]:
    """Return zeros put behind along a dimension, up to a size: on arrays or on tensors."""

    def longer(x: Any, dim: int, size: int) -> Any:
        missing, place = size - x.shape[dim], dim % x.ndim
        if not missing:
            return x
        if words == "arrays":
            return np.pad(x, [(0, missing if d == place else 0) for d in range(x.ndim)])
        return pad(x, [*[0, 0] * (x.ndim - 1 - place), 0, missing])

    return longer


def _doubled_inside(x: Any, dim: int, size: int) -> Any:
    """Return the gradient of the half that is kept: what stands for two frequencies counts twice."""
    twice = size - x.shape[dim]
    factors = np.ones([x.shape[dim] if d == dim % x.ndim else 1 for d in range(x.ndim)])
    factors.reshape(-1)[1 : 1 + twice] = 2
    kind = f"f{x.dtype.itemsize // 2}"
    return x * (wrap(factors.astype(kind)) if isinstance(x, Tensor) else factors.astype(kind))


in_formulas("zeros_behind", _longer("arrays"), _longer("tensors"))
in_formulas("doubled_inside", _doubled_inside)
C2C = own(
    "fft_c2c",
    "fft_c2c(Tensor self, dim, normalization, inverse)",
    _c2c,
    node="FftC2CBackward0",
    self="fft_c2c(grad, dim, normalization, not inverse)",
    tangent="linear",
)
R2C = own(
    "fft_r2c",
    "fft_r2c(Tensor self, dim, normalization, onesided)",
    _r2c,
    node="FftR2CBackward0",
    self="real_part(fft_c2c(zeros_behind(grad, dim[-1], self.shape[dim[-1]]), dim, normalization, True))",
    tangent="linear",
)
C2R = own(
    "fft_c2r",
    "fft_c2r(Tensor self, dim, normalization, last_dim_size)",
    _c2r,
    node="FftC2RBackward0",
    self="doubled_inside(fft_r2c(grad, dim, normalization, True), dim[-1], last_dim_size)",
    tangent="linear",
)


def _mode(norm: str | None, forward: bool) -> int:
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return 1 if norm == "ortho" else 0 if (norm == "forward") != forward else 2


def _numbers(input: Tensor, is_complex: bool) -> Tensor:
    """Return the input in the dtype in which it is transformed."""
    kind = input.dtype
    if kind is dtypes.float16:
        raise RuntimeError("Unsupported dtype Half")
    kind = kind if kind.rank > 1 else dtypes.get_default_dtype()
    return input.to(kind.to_complex() if is_complex else kind)


def _resized(x: Tensor, dims: tuple[int, ...], sizes: list[int]) -> Tensor:
    """Return the input cut, or with zeros behind, to these sizes."""
    widths = [0] * (2 * x._array.ndim)
    for d, size in zip(dims, sizes, strict=True):
        have = x._array.shape[d]
        if size < have:
            x = x.narrow(d, 0, size)
        elif size > have:
            widths[2 * (x._array.ndim - 1 - d) + 1] = size - have
    return pad(x, widths) if any(widths) else x


def _check_count(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _places(x: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int], list[int | None]]:
    """Return the dimensions of a transform over several, their sizes, and the sizes that were asked for."""
    ndim, shape = x._array.ndim, x._array.shape
    s = s if s is None else (s,) if is_int(s) else tuple(s)
    dims = tuple(range(0 if s is None else ndim - len(s), ndim))
    if dim is not None:
        dims = tuple([dim_index(d, ndim) for d in ((dim,) if is_int(dim) else dim)])
        if len({*dims}) < len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is not None:
        if dim is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
    wanted = [None if n == -1 else n for n in s or [-1] * len(dims)]
    sizes = [shape[d] if n is None else n for d, n in zip(dims, wanted, strict=True)]
    for n in sizes:
        _check_count(n)
    return dims, sizes, wanted


def _transformed(name: str, x: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
    """Return one of the transforms over several dimensions."""
    forward, of_reals = not name.startswith("i"), name in ("rfft", "ihfft")
    if of_reals and x.is_complex():
        raise RuntimeError(
            f"rfftn expects a real-valued input tensor, but got {x.dtype.word}"
            if forward
            else f"Only supports floating-point dtypes, but found: {x.dtype.word}"
        )
    x = _numbers(x, not of_reals)
    dims, sizes, wanted = _places(x, s, dim)
    mode = _mode(norm, forward)
    if not dims:
        if name in ("fft", "ifft"):
            return x.clone()
        raise RuntimeError(f"{name}n must transform at least one axis")
    if name in ("irfft", "hfft"):  # half of the frequencies along the last dimension
        last = 2 * (x._array.shape[dims[-1]] - 1) if wanted[-1] is None else wanted[-1]
        _check_count(last)
        sizes[-1] = last // 2 + 1
    x, others = _resized(x, dims, sizes), dims[:-1]
    if name in ("fft", "ifft"):
        return dispatch_complex(C2C, (x, dims, mode, not forward))
    if name == "rfft":
        return dispatch_complex(R2C, (x, dims, mode, True))
    if name == "irfft":
        return dispatch_complex(C2R, (x, dims, mode, last))
    if name == "ihfft":
        x = conj(dispatch_complex(R2C, (x, dims[-1:], mode, True)))
        return dispatch_complex(C2C, (x, others, mode, True)) if others else x
    x = dispatch_complex(C2C, (x, others, mode, False)) if others else x
    return dispatch_complex(C2R, (conj(x), dims[-1:], mode, last))


def _along_one(name: str) -> Any:
    def transform(
        input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        if out is not None:
            return into(f"fft_{name}", out, transform, input, n, dim, norm)
        check_tensor(f"fft_{name}", "input", 0, input)
        if n is not None and not is_int(n):
            raise TypeError(f"fft_{name}(): argument 'n' (position 2) must be int, not {kind_of(n)}")
        if input.is_complex() and name in ("rfft", "ihfft"):
            raise RuntimeError(f"{name} expects a real input tensor, but got {input.dtype.word}")
        x = _numbers(input, False)
        if not x._array.ndim:
            raise IndexError(errors.NO_DIMS.format(dim))
        places = (dim_index(dim, x._array.ndim),)
        size = x._array.shape[places[0]] if n is None else n
        if n is not None or name not in ("irfft", "hfft"):
            _check_count(size)
        if x.is_complex() or name not in ("fft", "ifft"):
            return _transformed(name, x, n, places, norm)
        x = dispatch_complex(R2C, (_resized(x, places, [size]), places, _mode(norm, name == "fft"), False))
        return x if name == "fft" else conj(x)

    return _described(transform, name, KINDS[name], "along `dim`")


def _along_several(name: str, end: str, usual: Any) -> Any:
    def transform(
        input: Tensor, s: Any = None, dim: Any = usual, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        if out is not None:
            return into(f"fft_{name}{end}", out, transform, input, s, dim, norm)
        check_tensor(f"fft_{name}{end}", "input", 0, input)
        return _transformed(name, input, s, dim, norm)

    over = "over the last two dimensions, or those in `dim`" if end == "2" else "over all dimensions, or those in `dim`"
    return _described(transform, f"{name}{end}", f"transform of `{name}`", over)


def _described(transform: Any, name: str, what: str, where: str) -> Any:
    size = "s" if name[-1] in "2n" else "n"
    transform.__doc__ = (
        f"Return the {what} {where}.\n\nArgs:\n"
        f"    {size}: Cut the input to {'these sizes' if size == 's' else 'this size'} first, or put zeros behind it.\n"
        '    norm: Where to divide by the number of points: "backward" (the default) in inverse transforms, "forward"\n'
        '        in the others, "ortho" by its square root in both.'
    )
    named(transform, name)
    return transform


KINDS = {
    "fft": "Fourier transform",
    "ifft": "inverse Fourier transform",
    "rfft": "half that isn't redundant of the Fourier transform of real numbers",
    "irfft": "inverse of `rfft`, real numbers,",
    "hfft": "real Fourier transform of half of a Hermitian signal",
    "ihfft": "inverse of `hfft`, half of a Hermitian signal,",
}
fft, ifft, rfft, irfft, hfft, ihfft = map(_along_one, KINDS)
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = [_along_several(name, "2", (-2, -1)) for name in KINDS]
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = [_along_several(name, "n", None) for name in KINDS]


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Return the input with the frequency 0 moved to the middle, along all dimensions or those in `dim`."""
    dims = dims_of(dim, input._array.ndim)
    return roll(input, [input._array.shape[d] // 2 for d in dims], dims)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Undo `fftshift`."""
    dims = dims_of(dim, input._array.ndim)
    return roll(input, [(input._array.shape[d] + 1) // 2 for d in dims], dims)


def _frequencies(name: str, n: int, d: float, dtype: Any, requires_grad: bool) -> Tensor:
    d = number_of(f"fft_{name}", "d", 1, d)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    places = np.arange(n // 2 + 1) if name == "rfftfreq" else (np.arange(n) + n // 2) % max(n, 1) - n // 2
    kind = kind_for(f"fft_{name}", dtype)
    return leaf(places.astype(kind) * kind.type(1 / (n * d) if n * d else math.inf), requires_grad)


@placed(out=True)
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return the frequencies of the n results of `fft`, for samples that are `d` apart."""
    return _frequencies("fftfreq", n, d, dtype, requires_grad)


@placed(out=True)
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return the frequencies of the results of `rfft` on n samples that are `d` apart."""
    return _frequencies("rfftfreq", n, d, dtype, requires_grad)
