"""Whether a record that was read from a file can have happened: a damaged one is refused before anybody draws it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from .backward import BackwardStarted, NodeFinished
from .building import NodeCreated
from .facts import Record
from .frame import Frame
from .inside import METHODS
from .levels import LevelEntered, OperationRan, TangentPushed
from .methods import LineReached, MethodCalled, MethodEnded
from .values import Value

_MOST_OUTPUTS = 1_000_000  # of one node
_LONGEST_NAME = 20_000  # characters: sentences repeat it
_LONGEST_DTYPE = 100  # characters: each box repeats it
_DEEPEST = 100  # scopes and levels inside each other, and tensors of levels below each other
_CHANGES, _EACH = 3_000_000, 100  # that all events together make, and so many more for each of them
_BEGINNING = 10  # what a change counts that a backward makes as it begins: it is found on the way through the graph
_PLACES = {  # what of a frame the ids in a field are of, by its name
    "tensor": ("tensors",),
    "below": ("tensors",),
    "outputs": ("tensors",),
    "level": ("levels",),
    "node": ("nodes", "tensors"),
    "nodes": ("nodes",),
    "runs": ("nodes",),
    "slices": ("nodes",),
    "target": ("nodes", "tensors"),
    "targets": ("nodes", "tensors"),
}


class Played:
    """A frame that records read from a file change one by one, as far as all of them together do not change too much.

    Each view goes through all changes: a graph that every event changes as a whole would take minutes to show.
    """

    def __init__(self) -> None:
        self._frame = Frame()
        self._room = _CHANGES

    def play(self, record: Record) -> None:
        """Have the record change the frame; a ValueError says why it cannot have happened, or not be shown."""
        self._frame.touched = {}
        play(record, self._frame)
        weight = _BEGINNING if isinstance(record, BackwardStarted) else 1
        self._room += _EACH - weight * len(self._frame.touched)
        if self._room < 0:
            raise ValueError("makes more changes, with those before it, than a recording does")


def play(record: Record, frame: Frame) -> None:
    """Have the record change the frame; a ValueError says why it cannot have happened."""
    if isinstance(record, NodeCreated) and record.node in frame.nodes:
        raise ValueError(f"makes {record.node!r} again")
    if isinstance(record, MethodCalled) and record.method not in METHODS:
        raise ValueError(f"is of the unknown method {record.method!r}")
    if isinstance(record, LevelEntered) and record.level in frame.levels:
        raise ValueError(f"enters {record.level!r} again")
    if isinstance(record, NodeCreated) and (record.scope or "").count("/") >= _DEEPEST:
        raise ValueError(f"is made inside more than {_DEEPEST} scopes")
    parts = list(_parts(record))
    for name, value in parts:
        if isinstance(value, Value):
            if min((*value.shape, value.batch, value.nonfinite)) < 0 or value.batch > len(value.shape):
                raise ValueError(f"has a value of the shape {value.shape}")
            if len(value.dtype) > _LONGEST_DTYPE:
                raise ValueError(f"has a dtype of {len(value.dtype):,} characters")
            if value.norm < 0 or (not value.is_known and (value.values, value.min, value.max) != (None,) * 3):
                raise ValueError("has a value without a norm")
        elif name == "name" and isinstance(value, str) and len(value) > _LONGEST_NAME:
            raise ValueError(f"has a name of {len(value):,} characters")
        elif name == "text" and len(value) > _LONGEST_NAME and isinstance(record, LineReached | MethodEnded):
            raise ValueError(f"has a variable with a text of {len(value):,} characters")
        elif name == "output_nr" and not 0 <= value < _MOST_OUTPUTS:
            raise ValueError(f"speaks of the output {value}")
    try:
        record.apply(frame)
    except LookupError as error:
        raise ValueError(f"speaks of an unknown {error}") from None
    except Exception:  # whatever a changed file can lead to
        raise ValueError("cannot have happened after those before it") from None
    for name, value in parts:
        if name in _PLACES and not any(value in getattr(frame, kind) for kind in _PLACES[name]):
            raise ValueError(f"speaks of an unknown {value!r}")
        if name == "pushing" and value != "dual" and value not in frame.levels:
            raise ValueError(f"speaks of an unknown level {value!r}")
        if name == "below":
            _end(frame, value)
    if len(frame.stack) > _DEEPEST:
        raise ValueError(f"enters more than {_DEEPEST} levels inside each other")
    if isinstance(record, NodeFinished) and record.node not in frame.nodes:
        raise ValueError(f"speaks of an unknown node {record.node!r}")
    if isinstance(record, OperationRan) and not record.outputs:
        raise ValueError("computes nothing")
    if isinstance(record, TangentPushed) and not record.operands:
        raise ValueError("pushes no tangent")


def _end(frame: Frame, tensor: str | None) -> None:
    """A tensor stands for one below it, and so on, but not for itself."""
    seen: set[str] = set()
    while tensor is not None:
        if tensor in seen:
            raise ValueError(f"has {tensor!r} stand below itself")
        if len(seen) > _DEEPEST:
            raise ValueError(f"has {tensor!r} stand below more than {_DEEPEST} others")
        seen.add(tensor)
        tensor = frame.tensors[tensor].below


def _parts(fact: Any) -> Iterator[tuple[str, Any]]:
    """The values, ids and numbers of outputs in a record, each by the name of its field."""
    for name in _names(type(fact)):
        value = getattr(fact, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Value) or (each is not None and not is_dataclass(each)):
                yield name, each
            elif each is not None:
                yield from _parts(each)


@cache
def _names(kind: type) -> tuple[str, ...]:
    # Methods may be told of nodes that are not there yet.
    left = {"node"} if kind in (MethodCalled, LineReached, MethodEnded) else set()
    return tuple(each.name for each in fields(kind) if each.name not in left)
