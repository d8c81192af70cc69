"""Compare two traces: the first operation and the first gradient that differ, and where in the program."""

from __future__ import annotations

import inspect
from os import PathLike, fspath
from pathlib import Path
from typing import Any, overload

from ...autograd.tensor import Tensor
from ...ops.library.composed import diff as diff_of_tensor
from ...pictures.recording import load
from ...pictures.trace.gc_paused import gc_paused
from ...pictures.trace.timeline import Timeline
from .backward import Origins
from .closeness import Tolerance
from .report import Diff, DiffEntry, DiffReport
from .run import RecordedRun

__all__ = ["Diff", "DiffEntry", "diff"]

NO_TRACE = "diff() compares two traces from record(), or the paths of saved ones, but got {}."
BAD_TOLERANCE = "diff() needs {} to be a number that isn't negative, but got {!r}."
NOTHING = (
    "These traces have nothing to compare: {} {} no operation. Record a forward pass, with `with record() as trace:`."
)
NOTHING_IN_COMMON = (
    "These traces have nothing in common: no operation of {} ({}) is one of {} ({}). Record the same program twice."
)


def _diff(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> Diff:
    """Compare two traces, and return the first operation and the first gradient that differ.

    The traces are aligned by structure, so they may come from two processes, two commits, PyTorch and this engine, or
    runs in two dtypes. What differs only because something before it does is counted, not listed.

    With a tensor, it is PyTorch's `torch.diff(input, n=1, dim=-1, prepend=None, append=None)`: the differences between
    neighbors along `dim`.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with workbench.record() as a:
        ...     (x * x).sum().backward()
        >>> with workbench.record() as b:
        ...     (x * x).mean().backward()
        >>> diff = workbench.diff(a, b)
        >>> diff.same, diff.forward.kind
        (False, 'replaced')

    Args:
        a: A trace, or the path of one that `trace.save` wrote.
        b: The trace to compare with.
        rtol: The relative tolerance; by default that of the dtype with the lower precision, such as 1e-5 for float32.
        atol: The absolute tolerance; by default `rtol` times the largest value of the two arrays. With `rtol=0` and
            `atol=0`, only equal values are equal; nan equals nan.

    Raises:
        TypeError: if `a` or `b` is neither a trace nor a path.
        ValueError: if a file isn't a saved trace, or the programs have no operation in common.
    """
    for name, given in (("rtol", rtol), ("atol", atol)):
        if given is not None and not (isinstance(given, int | float) and 0 <= given < float("inf")):
            raise ValueError(BAD_TOLERANCE.format(name, given))
    traces = [_trace(each) for each in (a, b)]
    names = _names(a, b)
    tolerance = Tolerance(rtol, 0.0 if rtol == 0 and atol is None else atol)
    with gc_paused():
        runs = [RecordedRun(each) for each in traces]
    empty = [name for name, run in zip(names, runs, strict=True) if not run.operations]
    if empty:
        raise ValueError(NOTHING.format(" and ".join(empty), "has" if len(empty) == 1 else "have"))
    if not {*runs[0].names.values()} & {*runs[1].names.values()}:
        some = [", ".join(list(dict.fromkeys(run.names.values()))[:3]) for run in runs]
        raise ValueError(NOTHING_IN_COMMON.format(names[0], some[0], names[1], some[1]))
    return DiffReport(Origins(runs[0], runs[1], tolerance), names).diff()


_Trace = Timeline | str | PathLike[str]
_TRACES = Timeline, str, PathLike


@overload
def diff(a: _Trace, b: _Trace, rtol: float | None = None, atol: float | None = None) -> Diff: ...
@overload
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor: ...
def diff(*args: Any, **kwargs: Any) -> Any:
    """Compare two traces, or do what `torch.diff` does; see `_diff`."""
    given = args[0] if args else kwargs.get("a", kwargs.get("input"))
    if isinstance(given, _TRACES) or "a" in kwargs or (len(args) > 1 and isinstance(args[1], _TRACES)):
        return _diff(*args, **kwargs)
    return diff_of_tensor(*args, **kwargs)


diff.__doc__, diff.__signature__ = _diff.__doc__, inspect.signature(_diff)  # type: ignore[attr-defined]


def _trace(given: Any) -> Timeline:
    if isinstance(given, Timeline):
        return given.snapshot()
    if isinstance(given, str | PathLike):
        return load(given)
    raise TypeError(NO_TRACE.format(type(given).__name__))


def _names(a: Any, b: Any) -> tuple[str, str]:
    """Return what the traces are called: by their files, with the folder if the files have the same name."""
    if isinstance(a, Timeline) or isinstance(b, Timeline):
        return "first", "second"
    one, two = Path(fspath(a)), Path(fspath(b))
    return (one.name, two.name) if one.name != two.name else (str(one), str(two))
