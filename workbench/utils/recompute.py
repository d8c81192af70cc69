"""Saved tensors that are made again instead of kept: what checkpoint(use_reentrant=False) stands on.

While a region's function runs, every tensor that its nodes save leaves only a slot. The first slot read in a backward
runs the function again, up to the last tensor it had saved, and fills all slots that are still in use; each may then
be taken once in that backward.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Generator, Sequence
from typing import Any

from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad
from ..autograd.graph import saved_tensors_hooks
from ..autograd.state import local
from ..autograd.tensor import Tensor
from ..events import emit, listeners
from ..ops.random import get_rng_state, set_rng_state
from . import refusals
from .operators import Operators


class CheckpointError(RuntimeError):
    """A recomputation that is not what it repeats, or that is asked for too much."""


TENSOR = object()  # stands where a tensor was among arguments


def apart(args: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
    """The tensors among arguments, and the arguments with TENSOR in their places."""
    return [a for a in args if isinstance(a, Tensor)], [TENSOR if isinstance(a, Tensor) else a for a in args]


def together(tensors: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
    """What `apart` took apart."""
    following = iter(tensors)
    return [next(following) if a is TENSOR else a for a in rest]


@contextlib.contextmanager
def random_numbers_from(state: Tensor | None) -> Generator[None, None, None]:
    """Draw random numbers from a state (from where they are if None), and go on outside as if none had been drawn."""
    if state is None:
        yield
        return
    outside = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(outside)


def shape_and_dtype(t: Tensor) -> str:
    """What must be the same of a tensor and the one recomputed for it."""
    return f"{{'shape': {t.shape}, 'dtype': {t.dtype}, 'device': device(type='cpu')}}"


class _Arguments(Function):
    """Its node, which belongs to no graph, keeps a region's tensor arguments as any node keeps what it saves."""


class _Slot:
    """Stands where a tensor would have been saved."""

    __slots__ = ("number", "__weakref__")

    def __init__(self, number: int) -> None:
        self.number = number


class Region:
    """One checkpointed call: its arguments, its slots, and how it is run again."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        random_state: Tensor | None,
        contexts: tuple[Any, Any],
        describe: Callable[[Tensor], Any] | None,
        early_stop: bool,
    ) -> None:
        self.function, self.kwargs, self.random_state = function, kwargs, random_state
        self.arguments: Any = None  # until they are known: what follows may refuse them
        self.context, self.context_again = contexts
        self.describe, self.early_stop = describe, early_stop
        tensors, self.rest = apart(args)
        self.arguments = _Arguments._backward_cls()
        self.arguments.saved_for_forward = None
        self.arguments._pack(tuple(tensors))
        self.slots: list[weakref.ref[_Slot]] = []
        self.described: list[Any] = []
        self.is_over = False  # the forward; until then a backward inside it may find fewer slots than there will be

    def run(self, args: Sequence[Any]) -> Any:
        """The forward: the function's result, in whose graph slots stand for saved tensors."""
        if listeners:
            emit(("keeps", self.arguments, self.arguments.saved_items()))
        with saved_tensors_hooks(self._leave_slot, self._take), self.context:
            output = self.function(*args, **self.kwargs)
        self.is_over = True
        return output

    def __del__(self) -> None:
        if listeners and self.arguments is not None:
            emit(("drops", self.arguments, None))

    def _leave_slot(self, t: Tensor) -> _Slot:
        slot = _Slot(len(self.slots))
        self.slots.append(weakref.ref(slot))
        if self.describe is not None:
            self.described.append(self.describe(t))
        return slot

    def _take(self, slot: _Slot) -> Tensor:
        try:
            return self._recomputed(slot)
        except CheckpointError as error:
            first, again = self.context, self.context_again
            if not isinstance(first, Operators):
                raise
            lines = ["\n".join(run.lines) for run in (first, again)]
            log = refusals.LOG.format(first.traces("original"), again.traces("recompute"), *lines)
            raise CheckpointError(log) from error

    def _recomputed(self, slot: _Slot) -> Tensor:
        task = local.modes.task
        filling = None if task is None else task.kept.get(self)
        if filling is None:
            filling = _Recomputation(self).run()
            if task is not None:
                task.kept[self] = filling
        if slot.number not in filling:
            raise CheckpointError(refusals.TWICE)
        if listeners:
            emit(("drops", self.arguments, slot.number))
        return filling.pop(slot.number)


class _Enough(BaseException):
    """Ends a recomputation that has filled every slot; no `except Exception` on its way may hold it up."""


@contextlib.contextmanager
def _told(region: Region) -> Generator[None, None, None]:
    if listeners:
        emit(("repeats", region.arguments, True))
    try:
        yield
    finally:
        if listeners:
            emit(("repeats", region.arguments, False))


class _Recomputation:
    """One run of a region again, which fills its slots."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.count = 0
        self.filling: dict[int, Tensor] = {}
        self.different: list[str] = []
        self.may_differ = False

    def run(self) -> dict[int, Tensor]:
        """The tensors by number of slot; CheckpointError where they are not what the forward had saved."""
        region = self.region
        args = together(region.arguments.saved_tensors, region.rest)
        with contextlib.suppress(_Enough), _told(region), saved_tensors_hooks(self._fill, lambda t: t), enable_grad():
            with random_numbers_from(region.random_state), region.context_again:
                region.function(*args, **region.kwargs)
        if self.count != len(region.slots) and not self.may_differ:
            counts = refusals.COUNTS.format(len(region.slots), self.count)
            raise CheckpointError(counts + refusals.TIP)
        if self.different and not self.may_differ:
            raise CheckpointError(refusals.METADATA.format("".join(self.different)) + refusals.TIP)
        return self.filling

    def _fill(self, t: Tensor) -> Tensor:
        region, number = self.region, self.count
        t = t.detach() if t.requires_grad else t
        self.count += 1
        if number < len(region.slots):
            if region.slots[number]() is not None:
                self.filling[number] = t
                if listeners:
                    emit(("keeps", region.arguments, [(number, t, 0)]))
                self._compare(number, t)
        elif region.is_over:
            raise CheckpointError(refusals.MORE + refusals.TIP)
        else:
            self.may_differ = True
        if region.early_stop and self.count == len(region.slots):
            raise _Enough
        return t

    def _compare(self, number: int, t: Tensor) -> None:
        describe = self.region.describe
        if describe is None:
            return
        before, now = self.region.described[number], describe(t)
        if before != now:
            self.different.append(refusals.DIFFERENT.format(number, before, now))
