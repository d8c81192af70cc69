"""Checkpointing trades time for memory: a function's saved tensors are recomputed in backward (torch.utils.checkpoint).

There are two kinds. The reentrant kind is a Function: its backward runs the function again with recording, and then a
whole backward pass inside the current one. The other kind leaves the function's own nodes in the graph. While the
function runs, its nodes save an empty placeholder (a slot) instead of each tensor. When a backward pass reads the first
slot, the function runs again, up to the last tensor it saved, and fills all slots that are still in use. Each can then
be read once in that pass.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .. import errors
from ..autograd.backward import backward
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad
from ..autograd.graph import saved_tensors_hooks
from ..autograd.state import local
from ..autograd.tensor import Tensor
from ..errors import users_frames, warn
from ..events import LAST, Event, emit, listeners
from ..ops.creation import get_rng_state, set_rng_state


class Operators:
    """A log of the operators that this thread records inside, in the innermost of its `with` blocks.

    Tensors are numbered in the order of their first use. A tensor that was modified in place keeps its number.
    """

    def __enter__(self) -> None:
        self.lines: list[str] = []
        self._frames: list[str] = []
        self._numbers: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        self._met = 0
        self._last: tuple[Any, ...] | None = None  # not a line yet: a write may follow that makes it an in-place one
        self._modes = local.modes
        note = self._note
        listeners[LAST] = [note]

    def __exit__(self, *exc: object) -> None:
        listeners.remove(self._note)
        self._write_last()

    def traces(self, run: str) -> str:
        """Return every line with the frames that led to it."""
        several, count = enumerate(zip(self.lines, self._frames, strict=True), 1), len(self.lines)
        return "".join([f"{line}   ({i} of {count} in {run})\n\n{at}\n\n" for i, (line, at) in several])

    def _note(self, event: Event) -> None:
        if local.modes is not self._modes:
            return
        if event[0] == "created":
            self._write_last()
            _, node, args, outputs = event
            frames = [(f.f_code.co_filename, f.f_lineno, f.f_code.co_name) for f in users_frames()]
            told = "".join(["{}:{}:{}\n".format(*frame) for frame in frames])
            self._last = node, _name(node), args, outputs, told
        elif event[0] == "wrote" and self._last is not None and event[3:] == (self._last[0],):
            node, _, args, _, frames = self._last
            self._last = node, _aten(event[2], node.op), (event[1], *args[1:]), (event[1],), frames

    def _write_last(self) -> None:
        if self._last is None:
            return
        _, name, args, outputs, frames = self._last
        self._last = None
        said = ", ".join([str(self._as_text(arg)) for arg in args])
        made = [
            f"{self._as_text(t)}: {t._array.dtype.kind}{t._array.itemsize * 8}{list(t._array.shape)}" for t in outputs
        ]
        self.lines.append(f"{made[0] if len(made) == 1 else made} = {name}({said})")
        self._frames.append(frames)

    def _as_text(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._as_text(each) for each in value]
        return f"${self._number(value)}" if isinstance(value, Tensor) else repr(value)

    def _number(self, t: Tensor) -> int:
        known, number = self._numbers.get(id(t), (None, 0))
        if known is None or known() is not t:
            number = self._met
            self._met += 1
            self._numbers[id(t)] = weakref.ref(t), number
        return number


def _name(node: Any) -> str:
    function = getattr(node, "_forward_cls", None)
    if function is not None:
        return f"{function.__name__}.apply"
    return _aten(node.op.shown[: node.op.shown.index("(")], node.op)


def _aten(name: str, op: Any) -> str:
    return f"torch._ops.aten.{name}.{'Tensor' if op.numbers else 'default'}"


class CheckpointError(RuntimeError):
    """The error that a checkpoint raises if its second run differs from the first, or a tensor is read twice."""


TENSOR = object()  # the placeholder of a tensor among arguments


def apart(args: Sequence[Any]) -> tuple[list[Tensor], list[Any]]:
    """Return the tensors among the arguments, and the arguments with TENSOR in their places."""
    return [a for a in args if isinstance(a, Tensor)], [TENSOR if isinstance(a, Tensor) else a for a in args]


def together(tensors: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
    """Return the arguments that `apart` separated."""
    following = iter(tensors)
    return [next(following) if a is TENSOR else a for a in rest]


@contextlib.contextmanager
def random_numbers_from(state: Tensor | None) -> Generator[None, None, None]:
    """Draw random numbers from a state (None: the current one), and restore the generator afterward."""
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
    """Return what a recomputed tensor must have in common with the first one."""
    return f"{{'shape': {t.shape}, 'dtype': {t.dtype}, 'device': device(type='cpu')}}"


class _Arguments(Function):
    """A region's tensor arguments, saved by a node of no graph as any node saves its tensors."""


class _Slot:
    """The placeholder of a saved tensor."""

    __slots__ = ("number", "__weakref__")

    def __init__(self, number: int) -> None:
        self.number = number


class Region:
    """One checkpointed call: its arguments, its slots, and how to run it again."""

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
        self.is_over = False  # the forward; until then, a backward pass inside it may find only some of the slots

    def run(self, args: Sequence[Any]) -> Any:
        """Run the forward, and return the result, whose graph has slots for saved tensors."""
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
            log = (
                " An error happened while unpacking tensors; dumping logs of latest computation\n"
                "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\nScroll "
                "all the way down for guidance on how to navigate these logs.\n\n"
                "+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+\n"
                "|        1. Stack traces of the operators that ran in the original forward     |\n"
                "+------------------------------------------------------------------------------+\n\n"
                "{}\n"
                "+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+\n"
                "|        2. Stack traces of the operators that ran during recomputation        |\n"
                "+------------------------------------------------------------------------------+\n\n"
                "{}\n"
                "+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+\n"
                "|       3. Log of operators in the original forward and recomputation          |\n"
                "+------------------------------------------------------------------------------+\n"
                "(Scroll up to correlate stack traces with each operation listed below. This\n "
                'helps identify their source in the code.)\n\nIMPORTANT: Differences in "detach" '
                "calls between the original forward and the\n           recomputation are expected. "
                "They are introduced by the checkpointing\n           mechanism and can be "
                "ignored.\n\nOperations executed during the original forward:\n\n{}\n\nOperations "
                "executed during recomputation:\n\n{}\n\n"
                "+------------------------------------------------------------------------------+\n "
                "ERROR: Detected non-determinism while running activation checkpointing\n\n You are "
                "seeing this error because you passed `debug=True` to checkpoint and\n tensors to "
                "be saved during the original forward and differ between those saved\n during "
                "recomputation. This can happen if different operators were ran in the\n original "
                "forward and in the recomputation.\n\n To identify where the mismatch may be coming "
                "from, you can do the following:\n\n 1) Compare the operators ran during original "
                "forward and recomputation to\n    see where they differ. These operators are "
                "printed above in the order they\n    were executed.\n\n 2) Review the stack trace "
                "for each operator to locate its invocation source.\n    Each operator's stack "
                "trace is printed in their execution order.\n\n Note that the logs can be quite "
                "long. Here's how they are structured:\n (Tip: you can Ctrl-f for these headers)\n\n "
                "1. Stack traces of the operators that ran in the original forward\n 2. Stack "
                "traces of the operators that ran during recomputation\n 3. Log of operators in the "
                "original forward and recomputation\n 4. Error "
                "message                                             <--- You are here\n"
                "--------------------------------------------------------------------------------\n"
            ).format(first.traces("original"), again.traces("recompute"), *lines)
            raise CheckpointError(log) from error

    def _recomputed(self, slot: _Slot) -> Tensor:
        task = local.modes.task
        filling = None if task is None else task.kept.get(self)
        if filling is None:
            filling = _Recomputation(self).run()
            if task is not None:
                task.kept[self] = filling
        if slot.number not in filling:
            raise CheckpointError(errors.CHECKPOINT_READ_TWICE)
        if listeners:
            emit(("drops", self.arguments, slot.number))
        return filling.pop(slot.number)


class _Enough(BaseException):
    """Ends a recomputation that has filled every slot; `except Exception` doesn't catch it."""


@contextlib.contextmanager
def _reporting(region: Region) -> Generator[None, None, None]:
    if listeners:
        emit(("repeats", region.arguments, True))
    try:
        yield
    finally:
        if listeners:
            emit(("repeats", region.arguments, False))


class _Recomputation:
    """One recomputation of a region, which fills its slots."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.count = 0
        self.filling: dict[int, Tensor] = {}
        self.different: list[str] = []
        self.may_differ = False

    def run(self) -> dict[int, Tensor]:
        """Return the tensors by slot number.

        Raises:
            CheckpointError: if they differ from those that the forward saved.
        """
        region = self.region
        args = together(region.arguments.saved_tensors, region.rest)
        with (
            contextlib.suppress(_Enough),
            _reporting(region),
            saved_tensors_hooks(self._fill, lambda t: t),
            enable_grad(),
        ):
            with random_numbers_from(region.random_state), region.context_again:
                region.function(*args, **region.kwargs)
        if self.count != len(region.slots) and not self.may_differ:
            counts = errors.CHECKPOINT_FEWER.format(len(region.slots), self.count)
            raise CheckpointError(counts + errors.CHECKPOINT_TIP)
        if self.different and not self.may_differ:
            others = errors.CHECKPOINT_OTHERS.format("".join(self.different))
            raise CheckpointError(others + errors.CHECKPOINT_TIP)
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
            raise CheckpointError(errors.CHECKPOINT_MORE + errors.CHECKPOINT_TIP)
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
            self.different.append(
                f"tensor at position {number}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
            )


__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

DETERMINISM_CHECKS: dict[str, Callable[[Tensor], Any] | None] = {"default": shape_and_dtype, "none": None}
_overrides: dict[str, bool | None] = {"early_stop": None, "debug": None}  # None: each call decides for itself


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return two contexts that do nothing: the default of `checkpoint`'s `context_fn`."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def _overriding(name: str, value: bool | None) -> Generator[None, None, None]:
    before, _overrides[name] = _overrides[name], value
    try:
        yield
    finally:
        _overrides[name] = before


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Choose, for all checkpoints inside a `with` block, whether recomputation stops once nothing more is needed.

    The choice `enable`, True or False, overrides the argument `early_stop` of the checkpoints.
    """
    return _overriding("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Choose, for all checkpoints inside a `with` block, whether they log operators.

    This choice overrides the argument `debug` of the checkpoints, unless `enabled` is None.
    """
    return _overriding("debug", enabled)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tuple `inputs` with each tensor replaced by a detached one, which has the same `requires_grad`."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([i.detach().requires_grad_(i.requires_grad) if isinstance(i, Tensor) else i for i in inputs])


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return two empty lists: the GPUs that hold these tensors, and their random number states."""
    return [], []


def set_device_states(devices: list[int], states: list[Tensor], *, device_type: str | None = None) -> None:
    """Do nothing: there is no GPU whose state could be restored.

    PyTorch sets the random number states `states` of the GPUs `devices`, which are of the kind `device_type`.
    """


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if none of the `inputs` requires grad."""
    if not any(isinstance(i, Tensor) and i.requires_grad for i in inputs):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class CheckpointFunction(Function):
    """The Function behind `checkpoint(..., use_reentrant=True)`: its backward runs the function again."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function without recording."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = get_rng_state() if preserve_rng_state else None
        tensors, ctx.rest = apart(args)
        ctx.save_for_backward(*tensors)
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run the function with recording, and then a backward pass through it."""
        task = local.modes.task
        while task is not None:
            if task.targets is not None:
                raise RuntimeError(errors.CHECKPOINT_INPUTS)
            task = task.outer
        inputs = detach_variable(tuple(together(ctx.saved_tensors, ctx.rest)))
        with random_numbers_from(ctx.random_state), enable_grad():
            outputs = ctx.run_function(*inputs)
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        wanted = [i for i, o in enumerate(several) if isinstance(o, Tensor) and o.requires_grad]
        if not wanted:
            raise RuntimeError(errors.CHECKPOINT_NOTHING)
        backward([several[i] for i in wanted], [grads[i] for i in wanted])
        return None, None, *[i.grad if isinstance(i, Tensor) else None for i in inputs]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)` without saving its intermediate tensors. Backward runs the function again.

    This saves memory, but costs a second forward pass. PyTorch: torch.utils.checkpoint.checkpoint.

    Example:
        >>> x = torch.ones(3, requires_grad=True)
        >>> y = torch.utils.checkpoint.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
        >>> y.sum().backward()  # computes x.exp() again; the sine isn't needed
        >>> x.grad
        tensor([-2.4784, -2.4784, -2.4784])

    Args:
        function: A function that gives the same result every time it's called with the same arguments.
        args: The arguments of the function.
        use_reentrant: Pass False, which is recommended. True chooses the old kind of checkpoint, which has no
            `context_fn`, `determinism_check`, `debug` and `early_stop`, and takes no keyword arguments for `function`.
        context_fn: A function that returns two context managers. The first run of `function` happens inside the first
            one, and each run during backward inside the second.
        determinism_check: "default" raises an error if the second run computes tensors of another shape or dtype.
            "none" doesn't check.
        debug: If True, the error for runs that differ lists the operators of both runs, with the lines that called
            them.
        early_stop: If True, the second run stops as soon as it has recomputed all tensors that backward needs.
        kwargs: The keyword arguments of the function. `preserve_rng_state=False` is for `checkpoint` itself: the second
            run may then draw other random numbers than the first.

    Raises:
        CheckpointError: in backward, if the second run differs.
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        _refuse(kwargs)
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {list(DETERMINISM_CHECKS)}, but got {determinism_check}")
    debug, early_stop = [
        given if forced is None else forced
        for given, forced in ((debug, _overrides["debug"]), (early_stop, _overrides["early_stop"]))
    ]
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    contexts = (Operators(), Operators()) if debug else context_fn()
    if not local.modes.grad:
        return function(*args, **kwargs)
    state = get_rng_state() if preserve else None
    describe = DETERMINISM_CHECKS[determinism_check]
    return Region(function, args, kwargs, state, contexts, describe, early_stop).run(args)


def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Apply functions or layers one after the other, divided into parts whose intermediate tensors aren't saved.

    Each part except the last one runs under `checkpoint`. PyTorch: torch.utils.checkpoint.checkpoint_sequential.

    Args:
        functions: A list of functions or layers, or an nn.Sequential. Each one gets the result of the one before it.
        segments: The number of parts into which to divide the functions.
        input: The argument of the first function.
        use_reentrant: Pass False, which is recommended.
        kwargs: `preserve_rng_state`, as for `checkpoint`. No other keyword is accepted.
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should "
            "be passed explicitly. In version 2.9 we will raise an exception if use_reentrant "
            "is not passed. use_reentrant=False is recommended, but if you need to preserve "
            "the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    _refuse(kwargs)
    size = len(functions) // segments
    last = 0
    for start in range(0, size * (segments - 1), size):
        last = start + size
        input = checkpoint(
            _composed(functions[start:last]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return _composed(functions[last:])(input)


def _refuse(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError("Unexpected keyword arguments: {}".format(",".join(kwargs)))


def _composed(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def all_of_them(input: Any) -> Any:
        for function in functions:
            input = function(input)
        return input

    return all_of_them
