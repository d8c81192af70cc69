"""A trace as JSON: every kind of record by name, written and read, and refused if it cannot have happened.

A record is a dict of its fields and the `kind`; NaN and infinities are strings. A field that has a default is left out
where it has that value: files from before it was there can be read. The parts of the program that nodes were made in
stand in a table, each with the number of the one that it lies in; a node has the number of its innermost.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from math import inf
from typing import Any, Protocol

from .call_records import LevelEntered, LineReached, MethodCalled, MethodEnded, OperationRan, TangentPushed
from .frame import Frame
from .records import BackwardStarted, NodeCreated, NodeFinished
from .schema import RECORDS, Part, Record
from .source import METHODS
from .values import Value

# More than any recording has: what is longer was made to take long.
_MOST = 2**63 - 1  # of a whole number: a count, a size, a version
_LONGEST_TEXT = 1_000_000  # characters: of a line, of a method
_LONGEST_LIST = 10_000  # edges, arguments, saved tensors, gradients of one event
_MOST_VALUES = 10_000_000  # of one array
_MOST_DIMENSIONS = 64  # as NumPy has it
_LENGTHS = {"values": _MOST_VALUES, "shape": _MOST_DIMENSIONS}
_LONGEST_TITLE = 1_000  # characters: more than an expression is kept with
_DEEPEST = 100  # parts inside each other
_KINDS = typing.get_args(typing.get_type_hints(Part)["kind"])


class PartsWritten:
    """The table of the parts that nodes were made in, as it is written."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []  # the number of the part around, the kind, the title, the number of a round
        self._numbers: dict[int, int] = {}  # of the rows by the keys of the parts

    def number(self, path: tuple[Part, ...]) -> int | None:
        """The row of the innermost part of a path; those it lies in have rows before it."""
        around = None
        for part in path:
            if part.key not in self._numbers:
                self._numbers[part.key] = len(self.rows)
                self.rows.append([around, part.kind, part.title, part.number])
            around = self._numbers[part.key]
        return around


class PartsRead:
    """The same table as it is read; a ValueError says what is wrong with it."""

    def __init__(self, rows: Any) -> None:
        if not isinstance(rows, list):
            raise ValueError("This trace has no list of parts.")
        self._parts: list[Part] = []
        self._around: list[tuple[int | None, int]] = []  # of each the part around, and how many it lies in
        for at, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != 4:
                raise ValueError(f"Part {at} of this trace has not the four fields of a part.")
            around, kind, title, number = row
            if around is not None and not (type(around) is int and 0 <= around < at):
                raise ValueError(f"Part {at} of this trace lies in no part before it.")
            depth = 0 if around is None else self._around[around][1] + 1
            if depth >= _DEEPEST:
                raise ValueError(f"Part {at} of this trace lies in {_DEEPEST} others.")
            if kind not in _KINDS or type(title) is not str or len(title) > _LONGEST_TITLE:
                raise ValueError(f"Part {at} of this trace has a wrong kind or title.")
            if type(number) is not int or not 0 <= number <= _MOST:
                raise ValueError(f"Part {at} of this trace has a wrong number.")
            self._parts.append(Part(kind, at + 1, title, number))
            self._around.append((around, depth))

    def path(self, row: Any) -> tuple[Part, ...]:
        """The parts down to one of them."""
        if type(row) is not int or not 0 <= row < len(self._parts):
            raise ValueError("speaks of an unknown part")
        found = []
        at: int | None = row
        while at is not None:
            found.append(self._parts[at])
            at = self._around[at][0]
        return tuple(found[::-1])


def encode(fact: Any, parts: PartsWritten) -> Any:
    """A record as what JSON can say; the parts that a node was made in are put into the table."""
    if isinstance(fact, NodeCreated) and fact.path:
        return _written(dataclasses.replace(fact, path=())) | {"path": parts.number(fact.path)}
    return _written(fact)


def _written(fact: Any) -> Any:
    """A record, or anything in it, as what JSON can say."""
    if dataclasses.is_dataclass(fact):
        kind: dict[str, Any] = {"kind": type(fact).__name__} if isinstance(fact, Record) else {}
        fields = [(each, getattr(fact, each.name)) for each in dataclasses.fields(fact)]
        return kind | {each.name: _written(value) for each, value in fields if value != each.default}
    if isinstance(fact, tuple):
        return [_written(each) for each in fact]
    if isinstance(fact, float) and not math.isfinite(fact):
        return str(fact)
    return fact


def brief(text: str) -> str:
    """A text that may hold much of a file, short enough for a sentence."""
    return text if len(text) <= 150 else f"{text[:100]} … {text[-40:]}"


def decode(data: Any, parts: PartsRead) -> Record:
    """The record a dict tells of; a ValueError says what is wrong with it."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise ValueError("is no object with a kind")
    if data["kind"] not in RECORDS:
        raise ValueError(f"is of the unknown kind {data['kind']!r}")
    fields = {name: value for name, value in data.items() if name != "kind"}
    path = parts.path(fields.pop("path")) if data["kind"] == "NodeCreated" and "path" in fields else ()
    record: Any = read_as(RECORDS[data["kind"]], fields, data["kind"])
    made: Record = dataclasses.replace(record, path=path) if path else record
    return made


def read_as(kind: Any, data: Any, where: str) -> Any:
    """Data as the type says, or a ValueError naming the place."""
    try:
        return _reading(kind, "")(data)
    except (_Wrong, TypeError, ValueError, KeyError):
        return _read_slowly(kind, data, where)


class _Wrong(Exception):
    """Data of another type."""


@functools.cache
def _reading(kind: Any, name: str) -> Callable[[Any], Any]:
    """What reads data of a type, in a field of this name."""
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        one, others = _reading(options[0], name), frozenset(options[1:])
        return lambda data: data if type(data) in others else one(data)
    if origin is tuple:
        each, most = _reading(options[0], name), _LENGTHS.get(name, _LONGEST_LIST)

        def several(data: Any) -> Any:
            if type(data) is not list or len(data) > most:
                raise _Wrong
            return tuple([each(item) for item in data])

        return several
    if dataclasses.is_dataclass(kind):
        return _reading_fields(kind)

    def plain(data: Any) -> Any:
        if type(data) is not kind or (kind is str and len(data) > _LONGEST_TEXT) or kind is int and abs(data) > _MOST:
            raise _Wrong
        return data

    def real(data: Any) -> Any:
        if type(data) is not float or not abs(data) <= sys.float_info.max:
            raise _Wrong
        return data

    return real if kind is float else plain


def _reading_fields(kind: Any) -> Callable[[Any], Any]:
    """What makes a fact of a dictionary: a call written out, as there are many of them."""
    hints = _types(kind)
    bound: dict[str, Any] = {"kind": kind, "Wrong": _Wrong}
    given, needed = [], 0
    for at, each in enumerate(dataclasses.fields(kind)):
        bound[f"r{at}"], bound[f"d{at}"] = _reading(hints[each.name], each.name), each.default
        if each.default is dataclasses.MISSING:
            needed += 1
            given.append(f"r{at}(data[{each.name!r}])")
        else:
            given.append(f"r{at}(data[{each.name!r}]) if {each.name!r} in data else d{at}")
    optional = [each.name for each in dataclasses.fields(kind) if each.default is not dataclasses.MISSING]
    count = " + ".join([str(needed), *[f"({name!r} in data)" for name in optional]])
    lines = f"def read(data):\n if type(data) is not dict or len(data) != {count}: raise Wrong\n return kind("
    exec(f"{lines}{', '.join(given)})", bound)  # noqa: S102  nothing of the file's is in it
    made: Callable[[Any], Any] = bound["read"]
    return made


def _read_slowly(kind: Any, data: Any, where: str) -> Any:
    """The same, a piece at a time: a ValueError names the place."""
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        other = type(data) in options[1:]  # None, or a truth value in place of a number
        return data if other else _read_slowly(options[0], data, where)
    if isinstance(data, list) and len(data) > (most := _LENGTHS.get(where.rpartition(".")[2], _LONGEST_LIST)):
        raise ValueError(f"has a {where} of {len(data):,} items, and at most {most:,} are read")
    if isinstance(data, str) and len(data) > _LONGEST_TEXT:
        raise ValueError(f"has a {where} of {len(data):,} characters, and at most {_LONGEST_TEXT:,} are read")
    if origin is tuple and isinstance(data, list):
        return tuple(_read_slowly(options[0], each, f"{where}[{index}]") for index, each in enumerate(data))
    if dataclasses.is_dataclass(kind) and isinstance(data, dict):
        fact: Any = kind
        hints = _types(fact)
        for name in sorted((hints.keys() ^ data.keys()) - (_optional(fact) - data.keys())):
            raise ValueError(f"has a {where} {'without' if name in hints else 'with an unknown'} {name!r}")
        return fact(**{name: _read_slowly(hints[name], each, f"{where}.{name}") for name, each in data.items()})
    if kind is float:
        if data in ("nan", "inf", "-inf"):
            return float(data)
        if type(data) is float and abs(data) <= sys.float_info.max:  # 1e400 is read as infinity
            return data
    elif type(data) is kind and kind is not int:
        return data
    if type(data) is int and kind in (int, float) and abs(data) <= _MOST:
        return data
    raise ValueError(f"has a wrong {where}")


@functools.cache
def _types(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {each.name: hints[each.name] for each in dataclasses.fields(cls)}


@functools.cache
def _optional(cls: Any) -> frozenset[str]:
    return frozenset(each.name for each in dataclasses.fields(cls) if each.default is not dataclasses.MISSING)


_MOST_OUTPUTS = 1_000_000  # of one node
_LONGEST_NAME = 20_000  # characters: sentences repeat it
_LONGEST_DTYPE = 100  # characters: each box repeats it
_DEEPEST_NESTING = 100  # scopes and levels inside each other, and tensors of levels below each other
_CHANGES, _EACH = 3_000_000, 100  # that all events together make, and so many more for each of them
_BEGINNING = 10  # what a change counts that a backward makes as it begins: it is found on the way through the graph
PLACES = {  # what of a frame the ids in a field are of, by its name
    "tensor": ("tensors",),
    "below": ("tensors",),
    "outputs": ("tensors",),
    "level": ("levels",),
    "pushing": ("levels",),
    "node": ("nodes", "tensors"),
    "nodes": ("nodes",),
    "runs": ("nodes",),
    "slices": ("nodes",),
    "target": ("nodes", "tensors"),
    "targets": ("nodes", "tensors"),
}


class Form(Protocol):
    """What makes a record of a row of numbers."""

    make: Callable[[list[int]], Record]
    length: int
    weight: int
    played: bool

    def check(self, row: list[int], frame: Frame) -> None:
        """Whether the ids of a row are those of something; a ValueError says which is not."""


class Played:
    """A frame that records read from a file change one by one, as far as all of them together do not change too much.

    Each view goes through all changes: a graph that every event changes as a whole would take minutes to show.
    """

    def __init__(self) -> None:
        self._frame = Frame()
        self._room = _CHANGES

    def play_all(
        self, told: list[Any], parts: PartsRead, forms: Sequence[Form] = (), most: float = inf
    ) -> list[Record]:
        """All records; a ValueError says which cannot have happened, or not be shown, and why."""
        events: list[Record] = []
        told.reverse()  # what is read is let go at once: all of it can take more room than the records
        for number in range(1, len(told) + 1):
            each = told.pop()
            try:
                if type(each) is list:
                    form = _form_of(each, forms)
                    most -= form.weight
                    if most < 0:
                        raise ValueError("repeats more than a recording does")
                    event = form.make(each)
                    self._count(event, form, each)
                else:
                    event = decode(each, parts)
                    self._count(event)
            except (ValueError, IndexError) as error:
                raise ValueError(f"Event {number} of this trace {brief(_reason(error))}.") from None
            events.append(event)
        return events

    def _count(self, record: Record, form: Form | None = None, row: list[int] | None = None) -> None:
        """Have the record change the frame."""
        frame = self._frame
        frame.touched = {}
        if form is None or row is None or not form.played:
            play(record, frame)
        else:  # what all of a form have in common was sound in the first
            _happen(record, frame)
            form.check(row, frame)
        if form is not None:
            form.played = True
        if isinstance(record, NodeFinished) and record.node not in frame.nodes:
            raise ValueError(f"speaks of an unknown node {record.node!r}")
        weight = _BEGINNING if isinstance(record, BackwardStarted) else 1
        self._room += _EACH - weight * len(frame.touched)
        if self._room < 0:
            raise ValueError("makes more changes, with those before it, than a recording does")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "speaks of an unknown value"


def _form_of(row: list[Any], forms: Sequence[Form]) -> Form:
    if not row or {*map(type, row)} != {int} or min(row) < 0 or max(row) > _MOST or row[0] >= len(forms):
        raise ValueError("is no row of a form")
    form: Form = forms[row[0]]
    if len(row) != form.length + 1:
        raise ValueError(f"has {len(row) - 1} numbers for a form of {form.length}")
    return form


def check_value(value: Value) -> None:
    """A ValueError says what of a value cannot be."""
    if min((*value.shape, value.batch, value.nonfinite)) < 0 or value.batch > len(value.shape):
        raise ValueError(f"has a value of the shape {value.shape}")
    if len(value.dtype) > _LONGEST_DTYPE:
        raise ValueError(f"has a dtype of {len(value.dtype):,} characters")
    if value.norm < 0 or (not value.is_known and (value.values, value.min, value.max) != (None,) * 3):
        raise ValueError("has a value without a norm")


def play(record: Record, frame: Frame) -> None:
    """Have the record change the frame; a ValueError says why it cannot have happened."""
    if isinstance(record, MethodCalled) and record.method not in METHODS:
        raise ValueError(f"is of the unknown method {record.method!r}")
    if isinstance(record, NodeCreated) and (record.scope or "").count("/") >= _DEEPEST_NESTING:
        raise ValueError(f"is made inside more than {_DEEPEST_NESTING} scopes")
    parts = list(_parts(record))
    for name, value in parts:
        if isinstance(value, Value):
            check_value(value)
        elif name == "name" and isinstance(value, str) and len(value) > _LONGEST_NAME:
            raise ValueError(f"has a name of {len(value):,} characters")
        elif name == "text" and len(value) > _LONGEST_NAME and isinstance(record, LineReached | MethodEnded):
            raise ValueError(f"has a variable with a text of {len(value):,} characters")
        elif name == "output_nr" and not 0 <= value < _MOST_OUTPUTS:
            raise ValueError(f"speaks of the output {value}")
    _happen(record, frame)
    for name, value in parts:
        if name in PLACES:
            check_id(name, value, frame)
    if isinstance(record, OperationRan) and not record.outputs:
        raise ValueError("computes nothing")
    if isinstance(record, TangentPushed) and not record.operands:
        raise ValueError("pushes no tangent")


def _happen(record: Record, frame: Frame) -> None:
    """Have the record change the frame, as far as it fits those before it."""
    if isinstance(record, NodeCreated) and record.node in frame.nodes:
        raise ValueError(f"makes {record.node!r} again")
    if isinstance(record, LevelEntered) and record.level in frame.levels:
        raise ValueError(f"enters {record.level!r} again")
    try:
        record.apply(frame)
    except LookupError as error:
        raise ValueError(f"speaks of an unknown {error}") from None
    except Exception:  # whatever a changed file can lead to
        raise ValueError("cannot have happened after those before it") from None
    if len(frame.stack) > _DEEPEST_NESTING:
        raise ValueError(f"enters more than {_DEEPEST_NESTING} levels inside each other")


def check_id(name: str, id: str, frame: Frame) -> None:
    """Whether what a field of this name speaks of is there, once the record has changed the frame."""
    for kind in PLACES[name]:
        if id in getattr(frame, kind):
            break
    else:
        if name != "pushing" or id != "dual":
            raise ValueError(f"speaks of an unknown {'level ' * (name == 'pushing')}{id!r}")
    if name == "below":
        _end(frame, id)


def _end(frame: Frame, tensor: str | None) -> None:
    """A tensor stands for one below it, and so on, but not for itself."""
    seen: set[str] = set()
    while tensor is not None:
        if tensor in seen:
            raise ValueError(f"has {tensor!r} stand below itself")
        if len(seen) > _DEEPEST_NESTING:
            raise ValueError(f"has {tensor!r} stand below more than {_DEEPEST_NESTING} others")
        seen.add(tensor)
        tensor = frame.tensors[tensor].below


def _parts(fact: Any) -> Iterator[tuple[str, Any]]:
    """The values, ids and numbers of outputs in a record, each by the name of its field."""
    kind: Any = type(fact)
    for name in _names(kind):
        value = getattr(fact, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Value) or (each is not None and not is_dataclass(each)):
                yield name, each
            elif each is not None:
                yield from _parts(each)


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple([each.name for each in fields(kind) if is_checked(kind, each.name)])


def is_checked(kind: type, name: str) -> bool:
    """Whether a field's ids must be known: methods may be told of nodes that are not there yet."""
    return name != "node" or kind not in (MethodCalled, LineReached, MethodEnded)
