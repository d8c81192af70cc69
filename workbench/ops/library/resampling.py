"""Means over windows and interpolation: sequences, images and volumes in other sizes.

Each is linear and works along one dimension after the other. Along one dimension it is a table: which elements, with
which weights, make each new element. Reading the table in the other direction gives the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ...autograd.tensor import Tensor
from ..core.checks import only_floats, tensors_only
from ..core.op import define

Ints = tuple[int, ...]
ONE_SIZE = "{}() argument 'output_size' should contain one int (got {})"
INPUT_DIMENSION = "Input dimension should be at least {}"
Row = list[tuple[int, float]]  # the elements, each with its weight


class _Table:
    """What a function does along one dimension."""

    __slots__ = ("taps", "weights", "before", "after", "padded", "count")

    def __init__(self, rows: list[Row], count: int, dtype: np.dtype, before: Any = None, after: Any = None) -> None:
        width = max([len(row) for row in rows], default=0)
        full = [row + [(count, 0.0)] * (width - len(row)) for row in rows]
        found = np.array([[i for i, _ in row] for row in full], np.int64).reshape(len(rows), width)
        self.taps, self.count, self.padded = found.T, count, bool((found == count).any())
        weights = np.array([[w for _, w in row] for row in full], np.float64).reshape(len(rows), width).T
        self.weights = None if all(w == 1 for row in rows for _, w in row) else weights.astype(dtype)
        self.before, self.after = before, after  # divisors of old elements, and of new ones

    def along(self, a: np.ndarray, axis: int) -> np.ndarray:
        """Return the new elements; a dimension has so many after it."""
        shape = (-1,) + (1,) * (a.ndim - axis - 1)
        if self.before is not None:
            a = a / self.before.astype(a.dtype).reshape(shape)
        if self.padded:  # an element more, of which what has fewer elements is made: a zero
            a = np.concatenate([a, np.zeros_like(a, shape=(*a.shape[:axis], 1, *a.shape[axis + 1 :]))], axis)
        out = None
        for i, tap in enumerate(self.taps):
            part = a.take(tap, axis)
            if self.weights is not None:
                part *= self.weights[i].reshape(shape)
            out = part if out is None else np.add(out, part, out=out)
        if out is None:
            out = np.zeros_like(a, shape=(*a.shape[:axis], self.taps.shape[1], *a.shape[axis + 1 :]))
        if self.after is not None:
            out /= self.after.astype(a.dtype).reshape(shape)
        return out


def _pair_of(rows: list[Row], count: int, dtype: np.dtype, divisors: Any = None) -> tuple[_Table, _Table]:
    """Return the table, and the same read in the other direction."""
    back: list[Row] = [[] for _ in range(count)]
    for new, row in enumerate(rows):
        for old, weight in row:
            back[old].append((new, weight))
    return _Table(rows, count, dtype, None, divisors), _Table(back, len(rows), dtype, divisors)


def _resampled(a: np.ndarray, tables: list[tuple[_Table, _Table]], which: int) -> np.ndarray:
    for axis in range(a.ndim - 1, a.ndim - 1 - len(tables), -1):
        a = tables[axis - a.ndim][which].along(a, axis)
    return a


@lru_cache(1000)
def _adaptive(size: int, output: int, dtype: np.dtype) -> tuple[_Table, _Table]:
    windows = [(o * size // output, -(-(o + 1) * size // output)) for o in range(output)]
    rows: list[Row] = [[(i, 1.0) for i in range(start, end)] for start, end in windows]
    return _pair_of(rows, size, dtype, np.array([end - start for start, end in windows]))


@lru_cache(1000)
def _windowed(
    size: int, kernel: int, stride: int, padding: int, ceil_mode: bool, inside: bool, divisor: float | None, dtype: Any
) -> tuple[_Table, _Table]:
    """Means over windows of one size, by the elements `inside` the image or by those in its padding too."""
    count = outputs(size, kernel, stride, padding, 1, ceil_mode)
    rows: list[Row] = []
    divisors = []
    for start in range(-padding, -padding + count * stride, stride):
        end = min(start + kernel, size + padding)
        seen = range(max(start, 0), min(end, size))
        rows.append([(i, 1.0) for i in seen])
        divisors.append(divisor or (len(seen) if inside else end - start))
    return _pair_of(rows, size, dtype, np.array(divisors))


def outputs(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Return how many windows there are; with `ceil_mode` one more that reaches over the far side."""
    count = (n + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    return count - (ceil_mode and (count - 1) * stride >= n + padding)  # no window begins outside the image


@lru_cache(1000)
def _interpolated(
    size: int, output: int, mode: str, align_corners: bool, scale: float | None, dtype: Any
) -> tuple[_Table, _Table]:
    kind = np.float32 if "nearest" in mode or dtype.itemsize < 8 else np.float64
    return _pair_of([*_mixed(size, output, mode, align_corners, scale, kind)], size, dtype)


def _mixed(size: int, output: int, mode: str, align_corners: bool, scale: float | None, kind: Any) -> Iterator[Row]:
    """Return the elements that each new one is made of; `kind` is the dtype PyTorch computes positions in."""
    step = kind(1 / scale) if scale else kind(size) / kind(output)
    if align_corners:
        step = kind(size - 1) / kind(output - 1) if output > 1 else kind(0)
    for o in range(output):
        if mode == "nearest":
            at = o if output == size else o // 2 if output == 2 * size else int(kind(o) * step)
            yield [(min(at, size - 1), 1.0)]
            continue
        if mode == "nearest-exact":
            yield [(min(int((kind(o) + kind(0.5)) * step), size - 1), 1.0)]
            continue
        place = step * kind(o) if align_corners else step * (kind(o) + kind(0.5)) - kind(0.5)
        if mode == "cubic":
            first = math.floor(place)
            t = float(place - kind(first))
            yield [(min(max(first + i - 1, 0), size - 1), w) for i, w in enumerate(_cubic(t))]
            continue
        place = kind(o) if output == size else max(place, kind(0))
        first = min(int(place), size - 1)
        t = float(min(max(place - kind(first), kind(0)), kind(1)))
        yield [(first, 1 - t), (min(first + 1, size - 1), t)]


def _cubic(t: float, a: float = -0.75) -> list[float]:
    """Return the weights of the four elements around a place (Keys, 1981)."""

    def near(x: float) -> float:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: float) -> float:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _family(name: str, facts: str, tables: Callable[..., Any], node: str = "") -> Callable[..., Tensor]:
    """Declare such an operation and its derivative, which is linear too."""
    function = define(
        f"{name}(Tensor self, {facts})",
        lambda a, *how: _resampled(a, tables(a.shape, a.dtype, *how), 0),
        node=node and f"{node}Backward0",
        batch="in front",
        self=f"{name}_backward(grad, self.shape, {facts})",
        tangent="linear",
    )
    define(
        f"{name}_backward(Tensor grad_output, shape, {facts})",
        lambda g, shape, *how: _resampled(g, tables(shape, g.dtype, *how), 1),
        node=node and f"{node}BackwardBackward0",
        batch="in front",
        grad_output=f"{name}(grad, {facts})",
        tangent="linear",
    )
    return function


def _adaptive_tables(shape: Ints, dtype: np.dtype, output_size: Ints) -> list[Any]:
    sizes = zip(shape[-len(output_size) :], output_size, strict=True)
    return [_adaptive(n, o, dtype) for n, o in sizes]


def _window_tables(
    shape: Ints,
    dtype: np.dtype,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> list[Any]:
    facts = zip(shape[-len(kernel_size) :], kernel_size, stride, padding, strict=True)
    divisors = [divisor_override] + [divisor_override and 1] * (len(kernel_size) - 1)
    return [
        _windowed(n, k, s, p, ceil_mode, not count_include_pad, by, dtype)
        for (n, k, s, p), by in zip(facts, divisors, strict=True)
    ]


def _tables_of(mode: str) -> Callable[..., list[Any]]:
    def tables(shape: Ints, dtype: np.dtype, output_size: Ints, align_corners: bool, scales: Any) -> list[Any]:
        facts = zip(shape[-len(output_size) :], output_size, scales, strict=True)
        return [_interpolated(n, o, mode, align_corners, s, dtype) for n, o, s in facts]

    return tables


_MEANS = "kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override"
avg_pool2d_op = _family("avg_pool2d", _MEANS, _window_tables)
avg_pool3d_op = _family("avg_pool3d", _MEANS, _window_tables)
adaptive_2d_op, adaptive_3d_op = (_family(f"adaptive_avg_pool{d}d", "output_size", _adaptive_tables) for d in (2, 3))
RESIZED = {  # by the mode, and the number of dimensions
    (mode, d): _family(
        f"upsample_{mode.replace('-', '')}{d}d",
        "output_size, align_corners, scales",
        _tables_of(kind),
        f"UpsampleNearestExact{d}D" * (mode == "nearest-exact"),
    )
    for mode, kind, dims in (
        ("nearest", "nearest", (1, 2, 3)),
        ("nearest-exact", "nearest-exact", (1, 2, 3)),
        ("linear", "linear", (1,)),
        ("bilinear", "linear", (2,)),
        ("trilinear", "linear", (3,)),
        ("bicubic", "cubic", (2,)),
    )
    for d in dims
}


def check_ndim(name: str, input: Tensor, dims: int) -> None:
    """Raise RuntimeError unless the input has `dims` dimensions, with a batch or without, and elements in all."""
    shape = list(input.shape)
    if dims == 1 and len(shape) not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {shape}")


def _adaptive_size(name: str, input: Tensor, given: Any, dims: int) -> Ints:
    """Return the size for each dimension; None is the input's own."""
    sizes = (given,) * dims if given is None or isinstance(given, int) else tuple(given)
    if len(sizes) != dims:
        raise RuntimeError(f"{name}: output_size must be {dims}")
    found = tuple(n if size is None else size for size, n in zip(sizes, input.shape[-dims:], strict=True))
    if min(found) < 0:
        told = ", ".join(map(str, found))
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{told}}}"
        )
    return found


@tensors_only()
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Divide sequences into `output_size` windows, and return the mean of each window.

    The result has the shape (n, channels, output_size). Window i begins at
    `floor(i * length / output_size)` and ends before `ceil((i + 1) * length / output_size)`. The
    windows overlap where `output_size` doesn't divide the length.
    """
    check_ndim("adaptive_avg_pool1d", input, 1)
    sizes = (output_size,) if isinstance(output_size, int) else tuple(output_size)
    if len(sizes) != 1:
        raise RuntimeError(ONE_SIZE.format("adaptive_avg_pool1d", len(sizes)))
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, *sizes)).squeeze(-2)


@tensors_only()
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Divide images into a grid of windows, and return the mean of each window.

    The result has the shape (n, channels, *output_size). The rows and the columns are divided as in
    `adaptive_avg_pool1d`, so windows overlap where a size isn't a multiple of the number of
    windows. An `output_size` of 1 gives the mean of each channel.
    """
    return _adaptive_means(input, output_size, 2, adaptive_2d_op)


@tensors_only()
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Divide volumes into a grid of windows, and return the mean of each window.

    The result has the shape (n, channels, *output_size). Each dimension is divided as in
    `adaptive_avg_pool1d`, so windows overlap where a size isn't a multiple of the number of
    windows.
    """
    return _adaptive_means(input, output_size, 3, adaptive_3d_op)


def check_windows(name: str, input: Tensor, dims: Iterable[int]) -> None:
    """Raise RuntimeError if one of these dimensions is empty."""
    for d in dims:
        if not input.shape[d]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {d} being empty"
            )


def _adaptive_means(input: Tensor, output_size: Any, dims: int, op: Callable[..., Tensor]) -> Tensor:
    name = f"adaptive_avg_pool{dims}d"
    if isinstance(output_size, (tuple, list)) and input.dim() <= len(output_size):
        raise ValueError(INPUT_DIMENSION.format(len(output_size) + 1))
    if input.dim() >= dims:
        size = _adaptive_size(name, input, output_size, dims)
    check_ndim(name, input, dims)
    check_windows(name, input, [input.dim() - d for d in range(1, dims + 1)])
    if size == (1,) * dims:
        return input.mean(tuple(range(-dims, 0)), keepdim=True)
    only_floats(f"{name}{'_cpu' if dims == 3 else ''}")((input,))
    return op(input, size)


_DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


@tensors_only()
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize a batch of sequences, images or volumes, of shape (n, channels, ...).

    Pass either `size` or `scale_factor`.

    Args:
        size: The new size of each dimension after the channels, or one number for all of them.
        scale_factor: The factor by which each of these dimensions grows, or one number for all.
        mode: "nearest" and "nearest-exact" copy the nearest element. "linear" (sequences),
            "bilinear" (images) and "trilinear" (volumes) interpolate linearly between neighbors.
            "bicubic" (images) interpolates with cubic curves. "area" averages windows, like
            `adaptive_avg_pool2d`.
        align_corners: For the linear and cubic modes. If True, the centers of the corner elements
            stay in place. If False (the default), the outer edges of the grid do.
        recompute_scale_factor: The new size is rounded down to an integer. If True, interpolate
            with the factor (new size / old size), otherwise with `scale_factor` as given.
        antialias: Must be False.

    Raises:
        NotImplementedError: for `antialias`, or if the mode doesn't fit the number of dimensions.

    Example:
        >>> F.interpolate(torch.ones(1, 3, 8, 8), scale_factor=2, mode="bilinear").shape
        torch.Size([1, 3, 16, 16])
        >>> F.interpolate(torch.tensor([[[1.0, 2.0]]]), size=4)
        tensor([[[1., 1., 2., 2.]]])
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
    ndim, corners = input.dim(), bool(align_corners)
    dims = ndim - 2
    sizes, scales = _sizes(input, size, scale_factor, recompute_scale_factor)
    if antialias:
        if mode not in ("bilinear", "bicubic", "lanczos") or ndim != 4:
            raise ValueError(
                "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as "
                "input"
            )
        raise NotImplementedError("the workbench interpolates without antialias")
    if ndim in (3, 4, 5) and mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[dims - 1](input, sizes)
    if ndim in (3, 4, 5) and _DIMS.get(mode, ndim) != ndim:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_DIMS[mode]}D input")
    if (mode, dims) not in RESIZED:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if min(*input.shape[2:], *sizes) <= 0:
        before, after = (
            ", ".join(f"{letter}: {n}" for letter, n in zip("DHW"[-dims:], each, strict=True))
            for each in (input.shape[2:], sizes)
        )
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({before}) output ({after})"
        )
    kind = mode if mode.startswith("bi") else next(k for k in ("nearest", "linear", "cubic") if k in mode)
    usual = dims == 2 and mode != "bicubic"  # of these PyTorch has a kernel, all else it computes by indices
    name = f"upsample_{kind}2d_channels_last" if usual else f"compute_indices_weights_{kind.removeprefix('bi')}"
    only_floats(name)((input,))
    return RESIZED[mode, dims](input, sizes, corners, scales)


def _sizes(input: Tensor, size: Any, scale_factor: Any, recompute: bool | None) -> tuple[Ints, tuple[Any, ...]]:
    """Return the requested sizes, and the scales if those were requested; ValueError if they don't fit."""
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given: Any = scale_factor if size is None else size
    each: Any = tuple(given) if isinstance(given, (tuple, list)) else (given,) * dims
    if len(each) != dims:
        spatial = list(input.shape[2:])
        raise ValueError(
            f"Input and {'output' if size is not None else 'scale_factor'} must have the same number of spatial "
            f"dimensions, but got input with spatial dimensions of {spatial} and "
            + (
                f"output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size "
                "in (o1, o2, ...,oK) format."
                if size is not None
                else f"scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                "format and scale_factor in (s1, s2, ...,sK) format."
            )
        )
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return each, (None,) * dims
    sizes = tuple(math.floor(n * float(s)) for n, s in zip(input.shape[2:], each, strict=True))
    return sizes, (None,) * dims if recompute else tuple(float(s) for s in each)
