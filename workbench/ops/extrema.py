"""The largest and the smallest elements, and where they are: max, min, argmax, argmin, amax, amin."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..autograd import dtypes
from ..autograd.state import local
from ..autograd.tensor import Tensor, wrap
from .comparison import maximum, minimum
from .core.checks import bool_of, dim_index, dims_of, named, numpy_names
from .core.complex_rule import only_real
from .core.op import define, operation
from .core.registry import abbreviation, in_formulas
from .core.results import as_int64, in_rows, into, into_each, pair, places_along
from .reduction import _over

max_result, min_result = pair("max"), pair("min")
abbreviation("attains(x, extremum)", "(x == extremum) | (x != x)")  # nan, if there is one, is both extremes
abbreviation("evenly(g, mask)", "where(mask, g / count(mask), 0)")
_max_all = define(
    "max_all(Tensor self)",
    lambda a: a.ravel()[a.argmax()],
    node="MaxBackward1",
    batch="amax",
    self="evenly(grad, attains(self, result))",
    tangent="reduction",
)
_min_all = define(
    "min_all(Tensor self)",
    lambda a: a.ravel()[a.argmin()],
    node="MinBackward1",
    batch="amin",
    self="evenly(grad, attains(self, result))",
    tangent="reduction",
)


def pick(a: np.ndarray, dim: int, keepdim: bool, indices: np.ndarray) -> np.ndarray:
    """Return the elements at `indices` along one dimension, which goes away unless kept."""
    if not a.ndim:
        return a.copy()
    return a[places_along(indices, dim, keepdim)]


def _put(grad: np.ndarray, shape: tuple[int, ...], dim: int, keepdim: bool, indices: np.ndarray) -> np.ndarray:
    """Return the other way: zeros of `shape` with `grad` at `indices`."""
    out = np.zeros(shape, grad.dtype)
    out[places_along(indices, dim, keepdim) if shape else ...] = grad
    return out


def _put_tensor(grad: Tensor, shape: tuple[int, ...], dim: int, keepdim: bool, indices: Tensor) -> Tensor:
    if shape and not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return wrap(np.zeros(shape, grad._array.dtype)).scatter(dim, indices, grad)


_max_dim, _min_dim = (
    define(
        f"{name}_dim(Tensor self, dim, keepdim; Kept indices)",
        pick,
        node=f"{name.title()}Backward0",
        self="put(grad, self.shape, dim, keepdim, indices)",
    )
    for name in ("max", "min")
)
in_formulas("put", _put, _put_tensor)
in_formulas(
    "count",
    lambda mask: int(np.count_nonzero(mask)),
    lambda mask: mask.sum() if local.modes.levels else int(np.count_nonzero(mask._array)),
)
_arg = {
    name: define(
        f"{name}(Tensor self, dim, keepdim)",
        lambda a, dim, keepdim, name=name: (
            as_int64(getattr(a, name)(dim, None, keepdims=keepdim)) if a.ndim else np.zeros((), np.int64)
        ),
    )
    for name in ("argmax", "argmin")
}


FOUND = {
    "max": "(tensor(5.), tensor([5., 4.]), tensor([1, 0]))",
    "min": "(tensor(1.), tensor([1., 2.]), tensor([0, 1]))",
}
EXTREMUM = """Return the {0}imum: of all elements, along one dimension, or of each pair of elements.

`{0}(t)` returns the {0}imum of all elements. If several elements equal the {0}imum, they share
the gradient evenly.

`{0}(t, dim)` returns a pair (values, indices): the {0}ima along `dim`, and their positions.
Only the elements at the returned indices receive a gradient. If several elements equal the
{0}imum, the first one is chosen.

`{0}(t, other)` compares two tensors element by element, like `{0}imum`. The element that was
chosen receives the gradient. Two equal elements receive half of the gradient each.

If one of the elements is nan, the result is nan.

Args:
    dim: The dimension to reduce. It is removed from the results unless `keepdim` is True.
    keepdim: Keep this dimension in the results, with size 1.
    other: A tensor to compare with.

Example:
    >>> t = torch.tensor([[1.0, 5.0], [4.0, 2.0]])
    >>> values, indices = torch.{0}(t, dim=1)
    >>> torch.{0}(t), values, indices
    {1}
"""


def _extremum(name: str, everything: Any, along: Any, between: Any, best: Any, result: Any) -> Any:
    def extremum(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
        self = input
        if isinstance(dim, Tensor) or other is not None:
            return between(self, dim if other is None else other, out=out)
        if out is not None:
            return (into if dim is None else into_each)(name, out, extremum, self, dim, keepdim)
        if dim is None:
            if not self._array.size:
                raise RuntimeError(errors.EMPTY_ALL.format(name))
            return everything(self)
        only_real(f"R:{name}(): does not support complex input", self)
        dim = dim_index(dim, self._array.ndim)
        if not self._array.size and not self._array.shape[dim]:
            raise IndexError(errors.EMPTY_DIM.format(name, dim))
        indices = best(self, dim, bool_of(name, "keepdim", 2, keepdim))
        return result(along(self, dim, keepdim, indices), indices)

    named(extremum, name)
    extremum.__doc__ = EXTREMUM.format(name, FOUND[name])
    return operation(checked=False)(numpy_names(extremum))


max = _extremum("max", _max_all, _max_dim, maximum, _arg["argmax"], max_result)
min = _extremum("min", _min_all, _min_dim, minimum, _arg["argmin"], min_result)


def _where_extreme(name: str, word: str) -> Any:
    def where_extreme(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        shape = self._array.shape
        if self.dtype is dtypes.bool_:
            raise RuntimeError(f"{name}(): does not support bool input")
        if dim is None and not self._array.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if dim is not None:
            index = dim_index(dim, len(shape))  # also of a number, which has one dimension to name
            dim = index if shape else None
        if dim is not None and not shape[dim]:
            raise IndexError(errors.EMPTY_DIM.format(name, dim))
        return _arg[name](self, dim, bool_of(name, "keepdim", 2, keepdim))

    named(where_extreme, name)
    where_extreme.__doc__ = (
        f"Return the index of the {word} element, or with `dim` the indices along `dim`, as int64.\n\n"
        f"Without `dim`, the index is a position in the flattened tensor. If there are several {word}\n"
        "elements, the first one is chosen. The dimension `dim` is removed from the result unless\n"
        "`keepdim` is True. Indices have no gradient."
    )
    return operation()(numpy_names(where_extreme))


argmax, argmin = _where_extreme("argmax", "largest"), _where_extreme("argmin", "smallest")
abbreviation("as_many(x, g)", "zeros_like(x) + g")
abbreviation(
    "shared(g, mask, x, dim)", "where(mask, g, 0) / sum_dim(where(mask, as_many(x, 1), 0), over(x.shape, dim), True)"
)
_amax, _amin = (
    define(
        f"{name}(Tensor self, dim, keepdim)",
        in_rows(lambda a, dim, keepdim, best=best: best.reduce(a, axis=_over(a.shape, dim), keepdims=keepdim)),
        self="shared(restored(grad, self, dim, keepdim), self == restored(result, self, dim, keepdim), self, dim)",
        tangent="reduction",
    )
    for name, best in (("amax", np.maximum), ("amin", np.minimum))
)


def _extreme(name: str, op: Any) -> Any:
    def extreme(self: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        dims = dims_of(dim, self._array.ndim)
        empty = [d for d in dims if not self._array.shape[d]]
        if empty and dim == ():
            raise RuntimeError(errors.EMPTY_ALL.format(name))
        if empty:
            raise IndexError(errors.EMPTY_DIM.format(name, empty[0]))
        return op(self, () if dim == () else dims, bool_of(name, "keepdim", 2, keepdim))

    named(extreme, name)
    extreme.__doc__ = (
        f"Return the {name[1:]}imum over one or several dimensions `dim`, by default over all elements.\n\n"
        f"Unlike `{name[1:]}` with `dim`, it returns no indices, and elements equal to the {name[1:]}imum share the\n"
        "gradient evenly. The dimensions are removed from the result unless `keepdim` is True."
    )
    return operation()(numpy_names(extreme))


amax, amin = _extreme("amax", _amax), _extreme("amin", _amin)
