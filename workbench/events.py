"""The engine's events: bare tuples for its listeners, and nothing if there are none.

The engine writes `if listeners: emit((kind, ...))` with its live objects, in the order of the fields that the schema
below defines for this kind; `read(event)` adds their names. A tuple costs the hot path a tenth of what a readable
record does; `workbench.pictures.trace` makes the records when they are read.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

Error = TypeVar("Error", bound=BaseException)
Event = tuple[Any, ...]  # its kind, and what the schema says of that


class EventFields:
    """An event with named fields, in their order; a field with a default value may be omitted.

    It isn't a NamedTuple, which takes ten times as long to create: a twentieth of `import workbench` for all events.
    """

    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.fields = tuple(cls.__annotations__)

    def __init__(self, *values: Any) -> None:
        vars(self).update(zip(self.fields, values, strict=False))


class Created(EventFields):
    """A graph node was created; `args` are as given, `outputs` its Tensors."""

    node: Any
    args: tuple[Any, ...]
    outputs: tuple[Any, ...]


class Backward(EventFields):
    """A graph task starts, with `.roots`, `.seeds`, `.keep_graph`, `.create_graph`."""

    task: Any


class Run(EventFields):
    """A node is taken from the ready queue; `grads` has one gradient per output of the node."""

    task: Any
    node: Any
    grads: Any


class Ran(EventFields):
    """The node returned; `grads` has one gradient per edge in `next_functions`."""

    task: Any
    node: Any
    grads: Any


class Freed(EventFields):
    """The saved tensors of the node were freed."""

    node: Any


class Accumulated(EventFields):
    """`variable.grad` has a new value."""

    task: Any
    node: Any
    variable: Any


class Regraded(EventFields):
    """`tensor.grad` was set to another tensor, or None."""

    tensor: Any


class Captured(EventFields):
    """`grad()` took this gradient."""

    task: Any
    node: Any
    output_nr: int
    grad: Any


class Finished(EventFields):
    """The task has finished."""

    task: Any


class Wrote(EventFields):
    """The in-place operation `name` wrote into `tensor`, and `node`, if any, recorded that."""

    tensor: Any
    name: str
    node: Any = None


class Shares(EventFields):
    """`tensor` was detached from `source`: the same memory, another history."""

    tensor: Any
    source: Any


class Unrecorded(EventFields):
    """The operation `name` returned `outputs` without a node: no gradient passes it, whatever `args` require."""

    name: str
    args: tuple[Any, ...]
    outputs: tuple[Any, ...]


class Returned(EventFields):
    """A module that no other module called has returned; `grad` is whether operations are recorded."""

    module: Any
    grad: bool


class Stepping(EventFields):
    """An optimizer starts a step."""

    optimizer: Any


class Stepped(EventFields):
    """The optimizer has finished the step."""

    optimizer: Any


class Keeps(EventFields):
    """A checkpoint saves (name, tensor, version) for backward, with `node` in no graph."""

    node: Any
    items: Any


class Drops(EventFields):
    """The checkpoint frees the tensor of this name; all, if that is None."""

    node: Any
    name: Any


class Repeats(EventFields):
    """The checkpoint runs its function again, or has done so; the nodes created then are in no graph."""

    node: Any
    begins: bool


class Entered(EventFields):
    """A function transform starts, with `.kind`, `.number` and the `.size` of its batch."""

    level: Any


class Left(EventFields):
    """The function transform has finished."""

    level: Any


class Pushing(EventFields):
    """Tangents of `outputs` are about to be computed (without a level: of dual tensors)."""

    op: Any
    args: tuple[Any, ...]
    outputs: tuple[Any, ...]
    level: Any


class Pushed(EventFields):
    """The tangents are computed; `moved` are the tangents of `operands`."""

    op: Any
    outputs: tuple[Any, ...]
    tangents: Any
    operands: Any
    moved: Any
    level: Any


class Batched(EventFields):
    """An operation was run for the whole batch of `level` at once."""

    op: Any
    args: tuple[Any, ...]
    outputs: tuple[Any, ...]
    level: Any


class Asks(EventFields):
    """A hook is about to be called with `given`."""

    task: Any
    node: Any
    kind: str
    output_nr: int
    hook: Any
    given: Any


class Asked(EventFields):
    """The hook returned."""

    task: Any
    node: Any
    given: Any
    returned: Any


class Failed(EventFields):
    """An error leaves the engine, at a task and a node or at None; it is about `tensors`, most about the first."""

    task: Any
    node: Any
    error: BaseException
    tensors: tuple[Any, ...] = ()


# The fields of each kind; a listener tells the events apart by the first item of their tuples.
SCHEMA: dict[str, type[EventFields]] = {each.__name__.lower(): each for each in EventFields.__subclasses__()}

listeners: list[Callable[[Event], None]] = []
# `listeners[LAST] = [one]` adds a listener by no call, after which an interrupt could come, and in one instruction:
# between two, another thread could add its own, which would be overwritten.
LAST = slice(sys.maxsize, None)
# Gives an error on its way out of the engine what explains it: called with the error, task, node and tensors.
explain: Callable[[BaseException, Any, Any, tuple[Any, ...]], None] | None = None

local: Any = None  # whose `modes` say what each thread records

next_tag = itertools.count(1).__next__


def emit(event: Event) -> None:
    """Call every listener; one that raises misses this event, with a warning, and never breaks the engine."""
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
    """Return the result of a hook, and notify listeners before and after.

    The hook is on a "tensor" (the gradient of output `output_nr`), "before" or "after" the node, or on an "accumulated"
    leaf.
    """
    emit(("asks", task, node, kind, output_nr, hook, args[0]))
    returned = hook(*args)
    emit(("asked", task, node, args[0], returned))
    return returned


def modes_now() -> Any:
    """Return whether this thread records, as `.grad` and `.inference`."""
    return local.modes


def read(event: Event) -> Any:
    """Return an event with its named fields."""
    return SCHEMA[event[0]](*event[1:])


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


def failed(error: Error, *tensors: Any, task: Any = None, node: Any = None) -> Error:
    """Return an error about to leave the engine, after notifying listeners; its message stays the same."""
    if listeners:
        emit(("failed", task, node, error, tensors))
    if explain is not None:
        try:
            explain(error, task, node, tensors)
        except Exception as problem:
            _lost(("failed",), problem)
    return error


def tag(thing: Any) -> int:
    """Return the serial number of a Tensor, node or task, assigned on first use and, unlike `id()`, never reused."""
    try:
        return thing._tag  # type: ignore[no-any-return]
    except AttributeError:
        thing._tag = serial = next_tag()
        return serial


def tag_of_new(thing: Any) -> int:
    """Return the serial number of an object that probably has none: faster then, and slower if it has one."""
    serial: int | None = getattr(thing, "_tag", None)
    if serial is None:
        thing._tag = serial = next_tag()
    return serial
