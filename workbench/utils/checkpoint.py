"""Trading time for memory: a function whose saved tensors are made again in backward (torch.utils.checkpoint).

There are two kinds. The reentrant one is a Function: its backward runs the function again with recording, and then a
whole backward inside the one that is going on. The other leaves the function's own nodes in the graph; it is told in
recompute.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..autograd.backward import backward
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad
from ..autograd.state import local
from ..autograd.tensor import Tensor
from ..autograd.warnings import warn
from ..ops.random import get_rng_state
from . import refusals
from .operators import Operators
from .recompute import CheckpointError, Region, apart, random_numbers_from, shape_and_dtype, together

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

DETERMINISM_CHECKS: dict[str, Callable[[Tensor], Any] | None] = {"default": shape_and_dtype, "none": None}
_overrides: dict[str, bool | None] = {"early_stop": None, "debug": None}  # None: each call decides for itself


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts that do nothing: for the forward, and for running it again."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def _overriding(name: str, value: bool | None) -> Generator[None, None, None]:
    before, _overrides[name] = _overrides[name], value
    try:
        yield
    finally:
        _overrides[name] = before


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Whether checkpoints made inside stop running again as soon as nothing more is needed, whatever they are told."""
    return _overriding("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Whether checkpoints made inside log what they run, whatever they are told; None leaves it to each."""
    return _overriding("debug", enabled)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple as leaves that require grad as before; the rest as it is."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(refusals.ONLY_TUPLE.format(type(inputs).__name__))
    return tuple([i.detach().requires_grad_(i.requires_grad) if isinstance(i, Tensor) else i for i in inputs])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among the inputs requires grad."""
    if not any(isinstance(i, Tensor) and i.requires_grad for i in inputs):
        warn(refusals.WITHOUT_GRAD)


class CheckpointFunction(Function):
    """The reentrant kind: keeps the inputs alone, and runs the function again in backward."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function unrecorded."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = get_rng_state() if preserve_rng_state else None
        tensors, ctx.rest = apart(args)
        ctx.save_for_backward(*tensors)
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Run the function recorded, and through what was recorded a backward of its own."""
        task = local.modes.task
        while task is not None:
            if task.targets is not None:
                raise RuntimeError(refusals.INCOMPATIBLE)
            task = task.outer
        inputs = detach_variable(tuple(together(ctx.saved_tensors, ctx.rest)))
        with random_numbers_from(ctx.random_state), enable_grad():
            outputs = ctx.run_function(*inputs)
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        wanted = [i for i, o in enumerate(several) if isinstance(o, Tensor) and o.requires_grad]
        if not wanted:
            raise RuntimeError(refusals.NOT_NECESSARY)
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
    """`function(*args, **kwargs)`, keeping none of its intermediates: backward runs it again to have them back.

    `preserve_rng_state=False` among the keywords lets the second run draw other random numbers. What follows is for
    `use_reentrant=False`. `context_fn` returns two contexts, for the first run and for the others;
    `determinism_check="none"` accepts other shapes and dtypes the second time; `early_stop=False` runs to the end;
    `debug` lists the operators of both runs where they differ, with the lines that called them.
    """
    if use_reentrant is None:
        warn(refusals.KIND)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        _refuse(kwargs)
        if context_fn is not noop_context_fn or debug:
            raise ValueError(refusals.ONLY_RECOMPUTED)
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in DETERMINISM_CHECKS:
        raise ValueError(refusals.DETERMINISM.format(list(DETERMINISM_CHECKS), determinism_check))
    debug, early_stop = [
        given if forced is None else forced
        for given, forced in ((debug, _overrides["debug"]), (early_stop, _overrides["early_stop"]))
    ]
    if debug and context_fn is not noop_context_fn:
        raise ValueError(refusals.DEBUG_CONTEXT)
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
    """Apply functions one after the other, in so many checkpointed segments; the last one is kept as it is."""
    if use_reentrant is None:
        warn(refusals.SEQUENTIAL_KIND)
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
        raise ValueError(refusals.KEYWORDS.format(",".join(kwargs)))


def _composed(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def all_of_them(input: Any) -> Any:
        for function in functions:
            input = function(input)
        return input

    return all_of_them
