"""What the engine says while it works: bare tuples to whoever listens, nothing when nobody does.

The engine writes `if listeners: emit((kind, ...))` with its live objects:

| event | meaning |
|---|---|
| `("created", node, args, outputs)` | a graph node was born; `args` as given, `outputs` its Tensors |
| `("backward", task)` | a graph task begins, with `.roots`, `.seeds`, `.keep_graph`, `.create_graph` |
| `("run", task, node, grads)` | a node is taken from the ready queue; `grads`: one per output of the node |
| `("ran", task, node, grads)` | the node returned; `grads`: one per edge in `next_functions` |
| `("freed", node)` | what the node had saved was let go |
| `("accumulated", task, node, variable)` | `variable.grad` is new |
| `("regraded", tensor)` | `tensor.grad` is another tensor, or None: somebody set it |
| `("captured", task, node, output_nr, grad)` | `grad()` took this gradient |
| `("finished", task)` | the task is over |
| `("wrote", tensor, name[, node])` | the in-place operation `name` wrote into `tensor`, and `node` recorded that |
| `("shares", tensor, source)` | `tensor` was detached from `source`: the same memory, another history |
| `("keeps", node, items)` | a checkpoint keeps (name, tensor, version) for backward, with `node` in no graph |
| `("drops", node, name)` | it lets that one go; all, if name is None |
| `("repeats", node, begins)` | it runs its function again, or has done so; what that makes is in no graph |
| `("entered", level)` | a function transform begins, with `.kind`, `.number` and the `.size` of its batch |
| `("left", level)` | it is over |
| `("pushing", op, args, outputs, level)` | tangents of `outputs` are about to be computed (no level: of dual tensors) |
| `("pushed", op, outputs, tangents, operands, moved, level)` | they are; `moved`: the tangents of `operands` |
| `("batched", op, args, outputs, level)` | an operation was run for the whole batch of `level` at once |
| `("asks", task, node, kind, output_nr, hook, given)` | a hook is about to be called with `given` |
| `("asked", task, node, given, returned)` | it returned |
| `("failed", task or None, node or None, exception)` | an error leaves the engine |

A tuple costs the hot path a tenth of what a readable record does; `workbench.trace` makes the records when
they are read.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

Event = tuple[Any, ...]

listeners: list[Callable[[Event], None]] = []
labels: Callable[[Event], None] | None = None  # the listener, if any, that reads no arguments of a "created" event
# Gives an error on its way out of the engine what explains it: called with the error, task, node and tensors.
explain: Callable[[BaseException, Any, Any, tuple[Any, ...]], None] | None = None

next_tag = itertools.count(1).__next__


def emit(event: Event) -> None:
    """Tell every listener; one that raises loses this event, with a warning, and never breaks the engine."""
    if len(listeners) > 1:  # most of the time there is but one, and going through a copy would take half as long again
        for listener in tuple(listeners):
            _tell(listener, event)
        return
    try:
        listeners[0](event)
    except Exception as error:
        if listeners:  # else the last one has just left, in another thread
            _lost(event, error)


def ask(kind: str, task: Any, node: Any, output_nr: int, hook: Callable[..., Any], *args: Any) -> Any:
    """What a hook returns, listeners being told of it before and after.

    It is on a "tensor" (the gradient of output `output_nr`), "before" or "after" the node, or on an "accumulated" leaf.
    """
    emit(("asks", task, node, kind, output_nr, hook, args[0]))
    returned = hook(*args)
    emit(("asked", task, node, args[0], returned))
    return returned


def _tell(listener: Callable[[Event], None], event: Event) -> None:
    try:
        listener(event)
    except Exception as error:
        _lost(event, error)


def _lost(event: Event, error: Exception) -> None:
    warnings.warn(
        f"A listener lost the event {event[0]!r}: it raised {type(error).__name__}: {error}",
        RuntimeWarning,
        stacklevel=3,
    )


def failed(error: BaseException, *tensors: Any, task: Any = None, node: Any = None) -> BaseException:
    """An error about to leave the engine, after listeners and who explains it were told; its words stay as they are."""
    if listeners:
        emit(("failed", task, node, error))
    if explain is not None:
        try:
            explain(error, task, node, tensors)
        except Exception as problem:
            _lost(("failed",), problem)
    return error


def tag(thing: Any) -> int:
    """The serial number of a Tensor, Node or task, given at first asking and, unlike `id()`, never reused."""
    try:
        return thing._tag
    except AttributeError:
        thing._tag = serial = next_tag()
        return serial
