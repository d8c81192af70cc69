"""Views and writes: how a write through one tensor reaches the history of all that share its memory.

A view is defined by its base and its geometry, which is how NumPy sees it inside the base's memory. A recorded write
through a view gives the *base* a new history, the node `CopySlices`; every view of it, including the written one,
rebuilds its `grad_fn` from the base on the next access.
"""

from __future__ import annotations

import weakref
from collections.abc import Container
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import errors, events
from . import state
from .anomaly_mode import remember
from .node import Node, edge_of, extra_of, note_scope, run_by_hand, sequence
from .state import scope_threads
from .tensor import Tensor, cached_grad_fn, wrap

Shape = tuple[int, ...]
# Shape, strides in bytes, offset in bytes; then "c" for complex numbers seen in real ones, or "f" for their parts.
Geometry = tuple[Any, ...]

regenerate: Any = None  # (base, geometry, layout) -> Node: makes AsStridedBackward0; the ops supply it


def layout_of(base: np.ndarray) -> Geometry:
    """Return an array's own geometry."""
    return base.shape, base.strides, 0


def geometry_of(view: np.ndarray, base: np.ndarray) -> Geometry:
    """Return the geometry of a view in its base's memory."""
    offset = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    if view.dtype is base.dtype or (kind := view.dtype.kind) == base.dtype.kind or "c" not in kind + base.dtype.kind:
        return view.shape, view.strides, offset
    return view.shape, view.strides, offset, kind


def _other_kind(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the parts of complex numbers, or of the complex numbers that have these parts."""
    return np.dtype(f"f{dtype.itemsize // 2}" if dtype.kind == "c" else f"c{2 * dtype.itemsize}")


def blank(layout: Geometry, dtype: Any, batch: Shape = ()) -> np.ndarray:
    """Zeros laid out in memory as `layout` says, or a batch of such."""
    shape, strides, _ = layout
    span = 1 - -_reach(shape, strides) // dtype.itemsize  # rounded up: another dtype's steps may not divide
    memory = np.zeros((*batch, max(span, 1)), dtype)
    return _lying(memory, (*batch, *shape), (*memory.strides[:-1], *strides))


def _lying(memory: np.ndarray, shape: Shape, strides: Shape, offset: int = 0, dtype: Any = None) -> np.ndarray:
    """Return an array of this shape and these strides over an array's memory."""
    try:
        return np.ndarray(shape, dtype or memory.dtype, memory, offset, strides)  # as_strided takes ten times as long
    except ValueError:  # memory with gaps, or strides that lead back
        if dtype is not None and dtype is not memory.dtype:
            memory = as_strided(memory, (max(1, dtype.itemsize // memory.itemsize),), (memory.itemsize,)).view(dtype)
        ahead, step = offset // memory.itemsize, memory.itemsize
        return as_strided(as_strided(memory, (1 + ahead,), (step,))[ahead:], shape, strides)


def _reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return the distance in bytes from the first element to the last."""
    return sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])


def reach(array: np.ndarray) -> int:
    """Return the number of bytes from an array's first element to the end of its last."""
    return _reach(array.shape, array.strides) + array.itemsize if array.size else 0


def strided(array: np.ndarray, geometry: Geometry) -> np.ndarray:
    """Return the part of an array's memory that `geometry` names; RuntimeError if it reaches outside."""
    dtype, room = array.dtype, 0
    if len(geometry) == 3:
        shape, strides, offset = geometry
    else:
        shape, strides, offset, _ = geometry
        dtype = _other_kind(dtype) if dtype.kind in "fc" else dtype
        room = array.itemsize - dtype.itemsize
    if not _is_inside(shape, strides, offset, array.shape, array.strides, dtype.itemsize, room):
        raise RuntimeError("A view's gradient has another dtype than the view, or the view has left its base's memory.")
    return _lying(array, shape, strides, offset, dtype)


@lru_cache(1000)
def _is_inside(shape: Shape, strides: Shape, offset: int, whole: Shape, steps: Shape, itemsize: int, room: int) -> bool:
    outside = offset < 0 or offset + _reach(shape, strides) > max(0, _reach(whole, steps)) + room
    return not ((outside and 0 not in shape) or offset % itemsize)


def scatter_strided(grad: np.ndarray, geometry: Geometry, layout: Geometry) -> np.ndarray:
    """Zeros laid out as the base, with a view's gradient in its place; repeated elements add up."""
    out = blank(layout, _other_kind(grad.dtype) if geometry[3:] else grad.dtype)
    repeated = tuple(i for i, (n, s) in enumerate(zip(*geometry[:2], strict=True)) if s == 0 and n > 1)
    if repeated:
        grad = np.add.reduce(grad, axis=repeated, keepdims=True)
        geometry = (grad.shape, *geometry[1:])
    part = strided(out, geometry)
    if overlaps(*geometry[:2]):
        np.add.at(part, tuple(np.indices(grad.shape)), grad)
    else:
        part[...] = grad
    return out


def overlaps(shape: Shape, strides: Shape) -> bool:
    """Return True if a step along one dimension may reach an element that others reach too."""
    reach, found = 0, False
    for step, n in sorted([(abs(s), n) for n, s in zip(shape, strides, strict=True) if n > 1]):
        found, reach = found or step <= reach, reach + step * (n - 1)
    return found


def gather_strided(array: np.ndarray, geometry: Geometry, layout: Geometry) -> np.ndarray:
    """Return a copy of the elements that a view with this geometry would show of a base with this layout."""
    out = blank(layout, array.dtype)
    out[...] = array
    return strided(out, geometry).copy()


def check_distinct(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Raise RuntimeError if elements to be written share memory."""
    if 0 in strides and 0 not in shape and any([n > 1 and not s for n, s in zip(shape, strides, strict=True)]):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


class CopySlices(Node):
    """A write through a view, as its base sees it: the written part goes through the write's node, the rest past it."""

    __slots__ = ("fn", "view", "geometry", "layout", "parents", "__weakref__")

    arity = -1
    __call__ = run_by_hand

    def __init__(self, base: Tensor, fn: Node, view: Tensor) -> None:
        self.seq, self.extra, self.fn, self.view = next(sequence), None, fn, weakref.ref(view)
        self.geometry, self.layout = geometry_of(view._array, base._array), layout_of(base._array)
        self.parents = ((edge_of(base), base._nr) if base.requires_grad else (None, 0), *fn.edges()[1:])
        extra_of(fn).slices = weakref.ref(self)
        if state.anomaly:
            remember(self)

    def name(self) -> str:
        """Return the node's name, as PyTorch gives it."""
        return "torch::autograd::CopySlices"

    def edges(self) -> tuple[tuple[Node | None, int], ...]:
        """Return the edges to the base before the write, then to the written tensors."""
        return self.parents

    @property
    def built_in(self) -> bool:
        """True if it runs no user code."""
        return self.fn is not None and self.fn.built_in

    @property
    def saved_names(self) -> tuple[str, ...]:
        """Return the names of what the write's node saved."""
        return () if self.fn is None else self.fn.saved_names

    def saved_items(self) -> list[tuple[str, Any, int]]:
        """Return what the write's node saved."""
        return [] if self.fn is None else self.fn.saved_items()

    def release(self) -> bool:
        """Drop the write's node and free what it saved; whether there was any."""
        fn, self.fn = self.fn, None
        return fn is not None and fn.release()

    def is_freed(self) -> bool:
        """Return True if the write's node has been dropped."""
        return self.fn is None

    def vjp(self, grad: Any, needed: Container[Node] | None = None) -> list[Any]:
        """Return the base's gradient, with its written part replaced by the result of the write's node."""
        if type(grad) is np.ndarray and grad.strides == self.layout[1] and grad.flags.c_contiguous:
            result = grad.copy()
        else:
            result = blank(self.layout, np.asarray(grad).dtype)
            result[...] = grad
        part = strided(result, self.geometry)
        first, *others = self._through("vjp", part.copy(), needed)
        if first is None or not self._leads_on(needed):
            return [None, *others]
        part[...] = first
        return [result, *others]

    def vjp_tensors(self, grad: Any, needed: Container[Node] | None = None) -> list[Any]:
        """Return the same on tensors: take the part out, run it through the node, write the result over zeros."""
        part = grad.strided_copy(self.geometry, self.layout)
        first, *others = self._through("vjp_tensors", part, needed)
        if first is None or not self._leads_on(needed):
            return [None, *others]
        if self.geometry[3:]:  # of a complex number only one part may be written
            rest = grad - part.strided_scatter(self.geometry, self.layout)
        else:
            written = blank(self.layout, np.dtype(bool))
            strided(written, self.geometry)[...] = True
            rest = grad.masked_fill(wrap(written), 0.0)
        return [rest + first.strided_scatter(self.geometry, self.layout), *others]

    def _leads_on(self, needed: Container[Node] | None) -> bool:
        """Return True if the gradient of the base before the write is wanted."""
        before = self.parents[0][0]
        return before is not None and (needed is None or before in needed)

    def _through(self, method: str, grad: Any, needed: Container[Node] | None) -> list[Any]:
        """Return the gradients that the write's node gives: for the view before the write, and for what was written."""
        if self.fn is None:
            raise RuntimeError(errors.SECOND_BACKWARD)
        arrived = [grad] if self.fn.multi else grad
        if needed is not None and self._leads_on(needed):  # then so does the view, which no edge leads to now
            needed = _AndOne(needed, self.fn.edges()[0][0])
        out = getattr(self.fn, method)(arrived, needed)
        outs = [out] if self.fn.arity == 1 else list(out)
        if outs[0] is not None:
            check_distinct(*self.geometry[:2])
        return outs


class _AndOne:
    """Some nodes and one more, without a copy."""

    __slots__ = ("nodes", "one")

    def __init__(self, nodes: Container[Node], one: Node | None) -> None:
        self.nodes, self.one = nodes, one

    def __contains__(self, node: Any) -> bool:
        return node is self.one or node in self.nodes


def own_fn(node: Node, version: int) -> Node:
    """Return the grad_fn of a node's output at that version: a view's, if the view still has it, else the node."""
    slices = node.extra.slices() if node.keeps_result and node.extra and node.extra.slices else None
    view = None if slices is None else slices.view()
    return node if view is None or view._meta.attr_version != version else view._meta.view_fn


def history_of_result(node: Node, nr: int, array: np.ndarray) -> tuple[Node, int]:
    """Return where the gradient of a node's own output goes: to the node, or to the base if a view was written."""
    slices = None if node.extra is None or node.extra.slices is None else node.extra.slices()
    if slices is None:
        return node, nr
    base = wrap(array, requires_grad=True)
    base._fn = slices
    return regenerate(base, slices.geometry, slices.layout), 0


def view_grad_fn(t: Tensor) -> Node | None:
    """Return a view's grad_fn, rebuilt from its base if the base was written since."""
    meta = t._meta
    if meta.view_fn is None and not meta.base.requires_grad:
        return None
    version = t._version
    if meta.attr_version != version:
        if meta.creation != "default":
            raise forbidden(t, "its base or another view of its base has been")
        base = meta.base
        _make_again(t, geometry_of(t._array, base._array), layout_of(base._array))
    return meta.view_fn


def _make_again(t: Tensor, geometry: Geometry, layout: Geometry) -> Node:
    """Give a view the node that says how it lies in its base as that is now."""
    meta, old, old_nr = t._meta, t._meta.view_fn, t._nr
    made = meta.view_fn = regenerate(meta.base, geometry, layout)
    meta.attr_version, t._nr = t._version, 0
    _keep_retaining(t, old, old_nr, made)
    return made


def grad_fn(t: Tensor) -> Node | None:
    """Return the node that made this tensor; None for leaves."""
    if t._fn is None and t._meta is not None and t._meta.base is not None:
        return view_grad_fn(t)
    return t._fn


setattr(Tensor, grad_fn.__name__, property(grad_fn, doc=grad_fn.__doc__))


def forbidden(t: Tensor, what: str) -> RuntimeError:
    """Return the error for a write that would break the history of the view `t`."""
    meta = t._meta
    name = None if meta.view_fn is None else meta.view_fn.name().removesuffix("0").removesuffix("Backward")
    begin = (
        "A view was created in"
        if name is None
        else f"Output {t._nr} of {name} is a view of a view which was created in"
    )
    if meta.creation == "inference":
        begin += f" inference mode and {what} modified inplace in normal mode."
    elif meta.creation == "no_grad" or name is None:
        begin += f" no_grad mode and {what} modified inplace with grad mode enabled."
    else:
        begin = f"Output {t._nr} of {name} is a view and {what} modified inplace."
    return events.failed(RuntimeError(begin + errors.VIEW_REASONS[meta.creation]), t, meta.base)


def check_write(t: Tensor) -> None:
    """Raise RuntimeError if a recorded write to `t` would lose its gradient, or break another tensor's."""
    meta = t._meta
    base = None if meta is None else meta.base
    if meta is not None and base is not None:
        if meta.creation != "default":
            raise forbidden(t, "is being")
        if t.requires_grad and cached_grad_fn(base) is None:
            raise events.failed(RuntimeError(errors.VIEW_OF_LEAF_IN_PLACE), t, base)
    if t._fn is None and t.requires_grad and cached_grad_fn(t) is None:
        raise events.failed(RuntimeError(errors.LEAF_IN_PLACE), t)


def rebase(t: Tensor, fn: Node, nr: int) -> None:
    """Give a written tensor its new history; a view hands it to its base. Hooks stay with the old history."""
    base = None if t._meta is None else t._meta.base
    if base is None:
        _move(t, fn, nr)
        return
    slices = CopySlices(base, fn, t)
    _move(base, slices, 0)
    t._rg = True
    made = _make_again(t, slices.geometry, slices.layout)  # now, while it is known that this write was allowed
    if scope_threads:
        note_scope(slices)
        note_scope(made)


def _move(t: Tensor, fn: Node, nr: int) -> None:
    old, old_nr = t._fn, t._nr
    t._fn, t._nr, t._rg = fn, nr, True
    _keep_retaining(t, old, old_nr, fn)


def _keep_retaining(t: Tensor, old: Node | None, old_nr: int, fn: Node) -> None:
    """Move what retains a tensor's gradient to the tensor's new history."""
    if t._meta is not None and t._meta.retains_grad:
        extra_of(fn).retainers = {t._nr: old.extra.retainers.pop(old_nr)}
