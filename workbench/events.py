"""What the engine says while it works: bare tuples to whoever listens, nothing when nobody does.

The engine writes `if listeners: emit((kind, ...))` with its live objects, in the order of the fields that the schema
below gives an event of this kind; `read(event)` gives them their names. A tuple costs the hot path a tenth of what a
readable record does; `workbench.trace` makes the records when they are read.
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
    """An event with the names of its fields, in their order; what a class gives a value may be left out.

    No NamedTuple, which takes ten times as long to make: a twentieth of `import workbench` for all of them.
    """

    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.fields = tuple(cls.__annotations__)

    def __init__(self, *values: Any) -> None:
        vars(self).update(zip(self.fields, values, strict=False))


class Created(EventFields):
    """A graph node was born; `args` are as given, `outputs` its Tensors."""

    node: Any
    args: tuple[Any, ...]
    outputs: tuple[Any, ...]


class Backward(EventFields):
    """A graph task begins, with `.roots`, `.seeds`, `.keep_graph`, `.create_graph`."""

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
    """`variable.grad` is new."""

    task: Any
    node: Any
    variable: Any


class Regraded(EventFields):
    """`tensor.grad` is another tensor, or None: somebody set it."""

    tensor: Any


class Captured(EventFields):
    """`grad()` took this gradient."""

    task: Any
    node: Any
    output_nr: int
    grad: Any


class Finished(EventFields):
    """The task is over."""

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
    """The operation `name` gave `outputs` without a node: no gradient goes through it, whatever `args` ask for."""

    name: str
    args: tuple[Any, ...]
    outputs: tuple[Any, ...]


class Returned(EventFields):
    """A module that no other one calls was called, and has returned; `grad` is whether operations are recorded."""

    module: Any
    grad: bool


class Stepping(EventFields):
    """An optimiser begins a step."""

    optimizer: Any


class Stepped(EventFields):
    """It has done so."""

    optimizer: Any


class Keeps(EventFields):
    """A checkpoint keeps (name, tensor, version) for backward, with `node` in no graph."""

    node: Any
    items: Any


class Drops(EventFields):
    """It frees the one of this name; all, if that is None."""

    node: Any
    name: Any


class Repeats(EventFields):
    """It runs its function again, or has done so; what that makes is in no graph."""

    node: Any
    begins: bool


class Entered(EventFields):
    """A function transform begins, with `.kind`, `.number` and the `.size` of its batch."""

    level: Any


class Left(EventFields):
    """It is over."""

    level: Any


class Pushing(EventFields):
    """Tangents of `outputs` are about to be computed (no level: of dual tensors)."""

    op: Any
    args: tuple[Any, ...]
    outputs: tuple[Any, ...]
    level: Any


class Pushed(EventFields):
    """They are; `moved` are the tangents of `operands`."""

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
    """It returned."""

    task: Any
    node: Any
    given: Any
    returned: Any


class Failed(EventFields):
    """An error leaves the engine, at a task and a node or at None; it is about `tensors`, the first before all."""

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


def modes_now() -> Any:
    """What this thread records: its `.grad` and `.inference`."""
    return local.modes


def read(event: Event) -> Any:
    """An event with the names of its fields."""
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
    """An error about to leave the engine, after listeners and who explains it were told; its words stay as they are."""
    if listeners:
        emit(("failed", task, node, error, tensors))
    if explain is not None:
        try:
            explain(error, task, node, tensors)
        except Exception as problem:
            _lost(("failed",), problem)
    return error


def tag(thing: Any) -> int:
    """The serial number of a Tensor, Node or task, given at first asking and, unlike `id()`, never reused."""
    try:
        return thing._tag  # type: ignore[no-any-return]
    except AttributeError:
        thing._tag = serial = next_tag()
        return serial


def tag_of_new(thing: Any) -> int:
    """The same of what is likely to have none: in half the time then, and in twice the time if it has one."""
    serial: int | None = getattr(thing, "_tag", None)
    if serial is None:
        thing._tag = serial = next_tag()
    return serial
