"""What the records of a recording are made of: tensors, nodes and arguments as they are at the moment.

Array copies and serial numbers are kept, never a Tensor, a Node or a task, so that what the engine lets go is freed
although somebody listens.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..events import tag
from .reading import in_brackets
from .values import LIMIT, Value

ACCUMULATE = "torch::autograd::AccumulateGrad"
_PLAIN = (int, float, bool, str, type(None))


class Describer:
    """Puts down what it is shown, each thing under its serial number, in tuples that `reading` makes facts of."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._raw: list[tuple[Any, ...]] = []
        self._nodes: set[int] = set()
        self._tensors: set[int] = set()
        self._levels: set[int] = set()
        # Where the outputs came from that take no gradient: they do not know their node.
        self._unlinked: dict[int, tuple[int, int]] = {}

    def _copy(self, thing: Any) -> Any:
        if type(thing) is np.ndarray:
            array = thing
        elif thing is None:
            return None
        else:
            array = getattr(thing, "_array", thing)
            if hasattr(thing, "_level"):
                return self._whole(thing)
        return array.copy() if array.size <= self._limit else Value.of(array, self._limit)

    def _whole(self, tensor: Any) -> Value:
        """The value of a tensor that a transform looks into: of a batched one, of all samples."""
        batch = 0
        while hasattr(tensor, "_level"):
            batch += tensor._level.size is not None
            tensor = tensor._value
        return Value.of(tensor._array, self._limit, batch)

    def _level(self, level: Any, heard: bool = False, line: tuple[str, int] | None = None) -> int:
        """The serial number of a level, which is put down when it is first heard of."""
        serial = tag(level)
        if serial not in self._levels:
            self._levels.add(serial)
            self._raw.append(("entered", serial, level.kind, level.number, level.size, heard, line))
        return serial

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
        level = below = None
        if hasattr(tensor, "_level"):
            level, under = self._level(tensor._level), tensor._value
            while hasattr(under, "_level") and tag(under) not in self._tensors:
                under = under._value
            below = tag(under) if tag(under) in self._tensors else None
        found[serial] = (
            serial,
            self._copy(tensor),
            tensor._version,
            tensor.requires_grad,
            node,
            nr,
            grad,
            level,
            below,
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
                self._raw.append(("created", node._tag, node.name(), type(node), True, edges, (), tensors, saved, None))
            elif tag(node) not in self._nodes:
                self._nodes.add(node._tag)
                stack.append((node, True))
                stack += [
                    (to, False) for to, _ in reversed(node.next_functions) if to is not None and to.name() != ACCUMULATE
                ]

    def _serial(self, node: Any) -> int:
        """The serial number under which a node is known: the leaf's for its AccumulateGrad."""
        serial = tag(node)
        return serial if serial in self._nodes or node.name() != ACCUMULATE else tag(node.variable)
