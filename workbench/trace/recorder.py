"""The listener: keeps what the engine says as small raw tuples, which `reading` makes records of.

It keeps array copies and serial numbers, never a Tensor, a Node or a task, so that what the engine lets go is
freed although somebody listens. Tuples, because a readable record would cost ten times as much meanwhile.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

import numpy as np

from ..events import Event, listeners, next_tag, tag
from .caller import line_of, user_frame, variables
from .reading import Reader, in_brackets
from .records import Record
from .values import LIMIT, Value

ACCUMULATE = "torch::autograd::AccumulateGrad"
_OF_A_TASK = frozenset(("run", "ran", "accumulated", "captured", "finished"))
_PLAIN = (int, float, bool, str, type(None))


class Recorder:
    """Call it with every event; `records()` gives what it heard."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._raw: list[tuple[Any, ...]] = []
        self._names: dict[int, str] = {}  # tensor -> variable
        self._nodes: set[int] = set()
        self._tensors: set[int] = set()
        self._tasks: set[int] = set()
        # Where the outputs came from that take no gradient: they do not know their node.
        self._unlinked: dict[int, tuple[int, int]] = {}
        self._reader = Reader(self._names)
        self._named = 0
        self._hear = {
            "created": self._created,
            "backward": self._backward,
            "run": self._run,
            "ran": self._ran,
            "freed": self._freed,
            "accumulated": self._accumulated,
            "captured": self._captured,
            "finished": self._finished,
            "wrote": self._wrote,
            "failed": self._failed,
        }

    def __call__(self, event: Event) -> None:
        kind = event[0]
        # A task that began before anybody listened stays unheard: its graph is not known.
        if kind not in _OF_A_TASK or getattr(event[1], "_tag", None) in self._tasks:
            self._hear[kind](*event[1:])

    def records(self) -> list[Record]:
        """Everything heard so far."""
        if len(self._names) != self._named:  # a name belongs to its tensor from the beginning
            self._reader, self._named = Reader(self._names), len(self._names)
        return self._reader.read(self._raw)

    def look_up(self, frame: FrameType | None) -> None:
        """Learn which of a frame's variables hold tensors; one tensor keeps the first name found."""
        if frame is None:
            return
        found: dict[int, tuple[Any, ...]] = {}
        for name, thing in variables(frame):
            if name.startswith("_") or not hasattr(type(thing), "_array"):
                continue
            serial = tag(thing)
            self._names.setdefault(serial, name)
            maker = thing.grad_fn
            if serial not in self._tensors and maker is not None and tag(maker) in self._nodes:
                self._describe(thing, found)
        if found:
            self._raw.append(("found", tuple(found.values())))

    def show(self, tensor: Any, frame: FrameType | None) -> None:
        """Note the graph that made a tensor, as it is."""
        maker = tensor.grad_fn
        if maker is not None:
            self._find(maker)
        self.look_up(frame)
        found: dict[int, tuple[Any, ...]] = {}
        self._describe(tensor, found)
        self._raw.append(("found", tuple(found.values())))
        self._raw.append(("shown", tensor._tag, line_of(frame)))

    # One method for each event.

    def _created(self, node: Any, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        found: dict[int, tuple[Any, ...]] = {}
        edges = self._edges(node, found)
        given: list[Any] = []
        tensors: list[Any] = []
        for arg in args:
            self._note(arg, given, tensors, found)
        if len(listeners) == 1:  # nobody else can have given it a number: finding that out takes longer than all else
            node._tag = next_tag()
        self._nodes.add(tag(node))
        for nr, output in enumerate(outputs):
            if output.grad_fn is not node:
                self._unlinked[tag(output)] = (node._tag, nr)
            self._describe(output, found)
        saved = self._saved(node, [*tensors, *outputs], found)
        self._raw.append(
            (
                "created",
                node._tag,
                node.name(),
                type(node),
                False,
                edges,
                tuple(given),
                tuple(found.values()),
                saved,
                line_of(user_frame()),
            )
        )

    def _backward(self, task: Any) -> None:
        self._tasks.add(tag(task))
        found: dict[int, tuple[Any, ...]] = {}
        roots = tuple(
            (self._place(node, found), nr, self._copy(seed))
            for (node, nr), seed in zip(task.roots, task.seeds, strict=True)
        )
        targets = getattr(task, "targets", None)
        if targets is not None:
            targets = tuple(self._place(node, found) for node, _ in targets)
        frame = user_frame()
        self.look_up(frame)
        if found:
            self._raw.append(("found", tuple(found.values())))
        self._raw.append(
            ("backward", tag(task), roots, targets, task.keep_graph, task.create_graph, line_of(frame))
        )

    def _run(self, task: Any, node: Any, grads: Any) -> None:
        self._raw.append(("run", task._tag, self._serial(node), self._copies(grads or ())))

    def _ran(self, task: Any, node: Any, grads: Any) -> None:
        self._raw.append(("ran", task._tag, node._tag, self._copies(grads)))

    def _freed(self, node: Any) -> None:
        if tag(node) in self._nodes:
            self._raw.append(("freed", node._tag))

    def _accumulated(self, task: Any, node: Any, variable: Any) -> None:
        self._raw.append(("accumulated", tag(task), variable._tag, self._copy(variable.grad)))

    def _captured(self, task: Any, node: Any, output_nr: int, grad: Any) -> None:
        self._raw.append(("captured", tag(task), self._serial(node), output_nr, self._copy(grad)))

    def _finished(self, task: Any) -> None:
        self._raw.append(("finished", tag(task)))

    def _wrote(self, tensor: Any, name: str) -> None:
        if tag(tensor) not in self._tensors:  # no part of the graph yet
            return
        maker = tensor.grad_fn
        serial = tag(maker) if maker is not None and tag(maker) in self._nodes else None
        now = self._copy(tensor)
        self._raw.append(("wrote", tensor._tag, name, tensor._version, now, serial, tensor.output_nr))

    def _failed(self, task: Any, node: Any, error: BaseException) -> None:
        serial = None if node is None else self._serial(node)
        if serial not in self._nodes and serial not in self._tensors:
            serial = None
        # The words alone: the exception's traceback would keep every tensor of the failed call.
        words = (type(error).__name__, str(error))
        heard = task is not None and tag(task) in self._tasks
        self._raw.append(("failed", task._tag if heard else None, serial, *words))

    # What they are made of.

    def _copy(self, thing: Any) -> Any:
        if type(thing) is np.ndarray:
            array = thing
        elif thing is None:
            return None
        else:
            array = getattr(thing, "_array", thing)
        return array.copy() if array.size <= self._limit else Value.of(array, self._limit)

    def _copies(self, grads: Any) -> tuple[Any, ...]:
        if len(grads) == 1:
            return (self._copy(grads[0]),)
        return tuple([self._copy(grad) for grad in grads])

    def _describe(self, tensor: Any, found: dict[int, Any]) -> int:
        """Put down a tensor as it is now."""
        serial = tag(tensor)
        self._tensors.add(serial)
        maker = tensor.grad_fn
        if maker is not None:
            node, nr, grad = tag(maker), tensor.output_nr, None
        else:
            node, nr = self._unlinked.get(serial, (None, 0))
            grad = self._copy(tensor.grad)
        found[serial] = (
            serial,
            self._copy(tensor),
            tensor._version,
            tensor.requires_grad,
            node,
            nr,
            grad,
        )
        return serial

    def _note(self, arg: Any, given: list[Any], tensors: list[Any], found: dict[int, Any]) -> None:
        """Put down an argument: a tensor's serial number, or what can be said of anything else."""
        if hasattr(type(arg), "_array"):
            tensors.append(arg)
            serial = tag(arg)
            # A leaf is looked at each time: `x.grad = None` and `x.data` change it without a word.
            if serial not in found and (serial not in self._tensors or arg.grad_fn is None):
                self._describe(arg, found)
            given.append((serial,))
        elif isinstance(arg, list | tuple):
            several: list[Any] = []
            for each in arg:
                self._note(each, several, tensors, found)
            given += several if len(several) < 2 else in_brackets(several)
        elif type(arg).__name__ == "dtype":
            given.append(str(arg))
        else:
            given.append(arg if isinstance(arg, _PLAIN) else type(arg))

    def _place(self, node: Any, found: dict[int, Any]) -> int:
        """The serial number of where a gradient goes: the node's, or the leaf's for its AccumulateGrad."""
        serial = tag(node)
        if serial in self._nodes:
            return serial
        if node.name() == ACCUMULATE:
            variable = node.variable
            return tag(variable) if tag(variable) in found else self._describe(variable, found)
        self._find(node)
        return serial

    def _edges(self, node: Any, found: dict[int, Any]) -> tuple[Any, ...]:
        return tuple([(None if to is None else self._place(to, found), nr) for to, nr in node.next_functions])

    def _saved(self, node: Any, tensors: list[Any], found: dict[int, Any]) -> tuple[Any, ...]:
        """What a node has saved: a tensor by its number, as is an array of one of `tensors`; others by value."""
        saved = []
        for name, thing, version in node.saved_items():
            array = thing if type(thing) is np.ndarray else getattr(thing, "_array", thing)
            if not hasattr(array, "size"):  # nothing saved there, or freed
                continue
            known = None
            for tensor in tensors:
                if tensor._array is array:
                    known = tensor._tag
                    break
            if known is None and array is not thing:
                known = tag(thing)
                if known not in self._tensors:
                    self._describe(thing, found)
            saved.append((name, known, self._copy(array) if known is None else None, version))
        return tuple(saved)

    def _find(self, node: Any) -> None:
        """Put down a node that was born unheard, after all it came from."""
        stack = [(node, False)]
        while stack:
            node, after = stack.pop()
            if after:
                found: dict[int, Any] = {}
                edges = self._edges(node, found)
                saved = self._saved(node, [], found)
                tensors = tuple(found.values())
                self._raw.append(
                    ("created", node._tag, node.name(), type(node), True, edges, (), tensors, saved, None)
                )
            elif tag(node) not in self._nodes:
                self._nodes.add(node._tag)
                stack.append((node, True))
                stack += [
                    (to, False)
                    for to, _ in reversed(node.next_functions)
                    if to is not None and to.name() != ACCUMULATE
                ]

    def _serial(self, node: Any) -> int:
        """The serial number under which a node is known: the leaf's for its AccumulateGrad."""
        serial = tag(node)
        return serial if serial in self._nodes or node.name() != ACCUMULATE else tag(node.variable)
