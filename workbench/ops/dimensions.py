"""Views with the dimensions in another order: transpose, permute, movedim."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..autograd.tensor import Tensor
from ..errors import warn
from .copies import _alias
from .core.checks import dim_index, ints_of
from .core.op import define, operation
from .core.registry import in_formulas

_transpose = define(
    "transpose(Tensor self, dim0, dim1)",
    lambda a, dim0, dim1: a.swapaxes(dim0, dim1) if a.ndim else a[...],
    kind="view",
    self="transpose(grad, dim0, dim1)",
)
_t = define("t(Tensor self)", lambda a: a.T, kind="view", self="t(grad)")
_permute = define(
    "permute(Tensor self, dims)", lambda a, dims: a.transpose(dims), kind="view", self="permute(grad, inverse(dims))"
)
in_formulas("inverse", lambda dims: tuple(sorted(range(len(dims)), key=dims.__getitem__)))


@operation(also=("swapaxes", "swapdims"))
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view of the tensor with the dimensions `dim0` and `dim1` exchanged."""
    ndim = self._array.ndim
    return _transpose(self, dim_index(dim0, ndim), dim_index(dim1, ndim))


@operation()
def t(self: Tensor) -> Tensor:
    """Return a view of a matrix with rows and columns exchanged.

    A tensor with fewer than two dimensions is returned as it is.
    """
    check_t(self, "t")
    return _t(self)


def check_t(self: Tensor, name: str) -> None:
    """Raise RuntimeError for more than two dimensions."""
    if self._array.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {self._array.ndim}D")


@operation()
def permute(self: Tensor, *given: Any, dims: Any = None) -> Tensor:
    """Return a view of the tensor with its dimensions in another order.

    Pass ints or one tuple, called `dims`: with `permute(2, 0, 1)`, dimension 2 becomes the first.

    Example:
        >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
        torch.Size([4, 2, 3])
    """
    return _permute(self, _order(self._array.ndim, *ints_of("permute", "dims", given, dims)))


@lru_cache(1000, typed=True)
def _order(ndim: int, *dims: int) -> tuple[int, ...]:
    """Return the dimensions counted from the front; RuntimeError where they are not every one once."""
    order = tuple([dim_index(d, ndim) for d in dims])
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(order)}"
        )
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return order


def _reversed(self: Tensor) -> Tensor:
    """Return a view of a matrix with its dimensions exchanged."""
    if self._array.ndim != 2:
        warn(
            (
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
                "deprecated and it will throw an error in a future release. Consider `x.mT` to "
                "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
                "to reverse the dimensions of a tensor."
            )
            if self._array.ndim
            else ("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
        )
        return permute(self, tuple(range(self._array.ndim))[::-1])
    return _permute(self, (1, 0))


def _transposed(self: Tensor) -> Tensor:
    """Return a view with the last two dimensions exchanged."""
    if not self._array.ndim:
        warn("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return self
    if self._array.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(self, -2, -1)


for _name, _getter in (("T", _reversed), ("mT", _transposed)):
    setattr(Tensor, _name, property(_getter))


@operation(also=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Return a view with the dimensions `source` moved to the positions `destination`.

    The other dimensions keep their order.

    Args:
        source: A dimension, or a tuple of dimensions.
        destination: The position of each of them in the result: an int, or a tuple of as many.

    Example:
        >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
        torch.Size([3, 4, 2])
    """
    ndim = input._array.ndim
    if not ndim:
        _order_of_dims.__wrapped__(ndim, source, destination)
        return _alias(input)
    settled = _order_of_dims if type(source) is type(destination) is int else _order_of_dims.__wrapped__
    return _permute(input, settled(ndim, source, destination))


@lru_cache(1000)
def _order_of_dims(ndim: int, source: Any, destination: Any) -> tuple[int, ...]:
    """Return the dimensions in the order that brings `source` where `destination` says."""
    named = (("source", source), ("destination", destination))
    given = [list(ints_of("movedim", name, (dims,), position=i)) for i, (name, dims) in enumerate(named, 1)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            (
                "movedim: Invalid source or destination dims: source ({} dims) should contain the "
                "same number of dims as destination ({} dims)"
            ).format(*given)
        )
    places = [[dim_index(d, ndim) for d in dims] for dims in given]
    for name, dims, as_given in zip(("source", "destination"), places, given, strict=True):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({as_given})")
    order = [d for d in range(ndim) if d not in places[0]]
    for place, dim in sorted(zip(places[1], places[0], strict=True)):
        order.insert(place, dim)
    return tuple(order[:ndim])
