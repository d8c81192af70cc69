"""A trace as JSON: every kind of record by name, written and read, and refused if it cannot have happened.

A record is a dict of its fields and the `kind`; NaN and infinities are strings. A field that has a default is left out
where it has that value: files from before it was there can be read. The parts of the program that nodes were made in
stand in a table, each with the number of the one that it lies in; a node has the number of its innermost.

Of a large trace what many events have in common is written once. `kinds` lists the dtypes, shapes and batches of
values; `values` has each value once, as the number of its kind and its numbers, and where these do not tell them its
norm, least, largest, mean and how many are not finite. A form of `forms` is an event as a plain trace has it, with
holes: `{"n": 2}` stands for the id n7 if item 2 of a row is 7, `{"value": 1}` for the value of that number,
`{"part": 3}` for a path, `{"number": 1}` for the number itself. An event is such a row, whose item 0 is the number of
the form; one like no other is written in full.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from .call_records import LevelEntered, LineReached, MethodCalled, MethodEnded, OperationRan, TangentPushed, above
from .formulas import METHODS
from .frame import Frame
from .messages import (
    AGAIN,
    BELOW_ITSELF,
    CHANGES,
    CHARACTERS,
    FIELD,
    IN_TRACE,
    NO_LIST,
    NUMBERS,
    PART_WRONG,
    TOO_LONG,
    UNKNOWN,
    UNKNOWN_KIND,
    WRONG,
)
from .records import BackwardStarted, NodeCreated, NodeFinished
from .schema import RECORDS, Part, Record
from .values import Value

# More than any recording has: what is longer was made to take long.
_MOST = 2**63 - 1  # of a whole number: a count, a size, a version
_LONGEST_TEXT = 1_000_000  # characters: of a line, of a method
_LONGEST_LIST = 1_000_000  # edges, arguments, saved tensors, gradients of one event: `stack` takes any number
_MOST_VALUES = 10_000_000  # of one array
_MOST_DIMENSIONS = 64  # as NumPy has it
_MOST_ELEMENTS = 2**60  # of one array, whether its values are there or not
_LENGTHS = {"values": _MOST_VALUES, "shape": _MOST_DIMENSIONS}
_LONGEST_TITLE = 1_000  # characters: more than an expression is kept with
_DEEPEST = 100  # parts inside each other
_KINDS = typing.get_args(typing.get_type_hints(Part)["kind"])


def _is(data: Any, kind: type) -> bool:
    """Whether data are of a type; the data stay `Any` to a type checker."""
    return isinstance(data, kind)


class PartsWritten:
    """The table of the parts that nodes were made in, as it is written."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []  # the number of the part around, then its fields but the key
        self._numbers: dict[int, int] = {}  # of the rows by the keys of the parts

    def number(self, path: tuple[Part, ...]) -> int | None:
        """The row of the innermost part of a path; those it lies in have rows before it."""
        around = None
        for part in path:
            if part.key not in self._numbers:
                self._numbers[part.key] = len(self.rows)
                more = [part.variable, part.module, part.settings]
                while more and not more[-1]:
                    del more[-1]
                title, *texts = [_cut(text, _LONGEST_TITLE) for text in (part.title, *more)]
                self.rows.append([around, part.kind, title, part.number, *texts])
            around = self._numbers[part.key]
        return around


class PartsRead:
    """The same table as it is read; a ValueError says what is wrong with it."""

    def __init__(self, rows: Any) -> None:
        if not _is(rows, list):
            raise ValueError(NO_LIST.format("parts"))
        self._parts: list[Part] = []
        self._around: list[tuple[int | None, int]] = []  # of each the part around, and how many it lies in
        for at, row in enumerate(rows):
            if not _is(row, list) or not 4 <= len(row) <= 7:
                raise ValueError(f"Part {at} of this trace has not the four to seven fields of a part.")
            around, kind, title, number, *more = cast("list[Any]", row)
            if around is not None and not (around.__class__ is int and 0 <= around < at):
                raise ValueError(f"Part {at} of this trace lies in no part before it.")
            depth: int = 0 if around is None else self._around[int(around)][1] + 1
            if depth >= _DEEPEST:
                raise ValueError(f"Part {at} of this trace lies in {_DEEPEST} others.")
            texts = [title, *more]
            wrong = kind not in _KINDS or any([text.__class__ is not str for text in texts])
            if wrong or max(map(len, texts)) > _LONGEST_TITLE:
                raise ValueError(PART_WRONG.format(at, "kind or text"))
            if number.__class__ is not int or not 0 <= number <= _MOST:
                raise ValueError(PART_WRONG.format(at, "number"))
            self._parts.append(Part(kind, at + 1, title, number, *more))
            self._around.append((around, depth))

    def path(self, row: Any) -> tuple[Part, ...]:
        """The parts down to one of them."""
        if row.__class__ is not int or not 0 <= row < len(self._parts):
            raise ValueError(UNKNOWN.format("part"))
        found: list[Part] = []
        at: int | None = row
        while at is not None:
            found.append(self._parts[at])
            at = self._around[at][0]
        return tuple(found[::-1])


def encode(fact: Any, parts: PartsWritten) -> Any:
    """A record as what JSON can say; the parts that a node was made in are put into the table."""
    fact = readable(fact)
    if isinstance(fact, NodeCreated) and fact.path:
        return _written(dataclasses.replace(fact, path=())) | {"path": parts.number(fact.path)}
    return _written(fact)


def readable(fact: Any, record: type | None = None) -> Any:
    """A record, or a fact in it, without what is longer or deeper than a file may say: it can be read again."""
    record, changes = record or fact.__class__, dict[str, Any]()
    for name in _names_of_texts(fact.__class__):
        value = getattr(fact, name)
        if value.__class__ is str:
            short = name == "name" or (name == "text" and record in (LineReached, MethodEnded))
            text = _cut(value, _LONGEST_NAME if short else _LONGEST_TEXT)
            if name == "scope" and text.count("/") >= _DEEPEST_NESTING:
                names = text.split("/")
                text = "/".join([*names[: _DEEPEST_NESTING - 1], names[-1]])
            if text is not value:
                changes[name] = text
        elif value.__class__ is tuple:
            several = tuple([readable(each, record) for each in value])
            if any([one is not other for one, other in zip(value, several, strict=True)]):
                changes[name] = several
        elif value is not None and (other := readable(value, record)) is not value:
            changes[name] = other
    return dataclasses.replace(fact, **changes) if changes else fact


@cache
def _names_of_texts(kind: type) -> tuple[str, ...]:
    """The fields that are texts, or facts that have some."""
    if not dataclasses.is_dataclass(kind) or kind in (Value, Part):
        return ()
    return tuple([name for name, hint in _types(kind).items() if hint not in (bool, int, float) and name != "path"])


def _cut(text: str, most: int) -> str:
    """A text that is not too long, or its beginning and its end."""
    return text if len(text) <= most else f"{text[: most * 3 // 4]} … {text[-(most // 5) :]}"


def _written(fact: Any) -> Any:
    """A record, or anything in it, as what JSON can say."""
    if dataclasses.is_dataclass(fact):
        kind: dict[str, Any] = {"kind": type(fact).__name__} if isinstance(fact, Record) else {}
        fields = [(each, getattr(fact, each.name)) for each in dataclasses.fields(fact)]
        return kind | {each.name: _written(value) for each, value in fields if value != each.default}
    if _is(fact, tuple):
        return [_written(each) for each in fact]
    if isinstance(fact, float) and not math.isfinite(fact):
        return str(fact)
    return fact


def brief(text: str) -> str:
    """A text that may hold much of a file, short enough for a sentence."""
    return text if len(text) <= 150 else f"{text[:100]} … {text[-40:]}"


def _decode(data: Any, parts: PartsRead) -> Record:
    """The record a dict tells of; a ValueError says what is wrong with it."""
    if not _is(data, dict) or not _is(data.get("kind"), str):
        raise ValueError("is no object with a kind")
    if data["kind"] not in RECORDS:
        raise ValueError(UNKNOWN_KIND.format("kind", data["kind"]))
    fields = {name: value for name, value in data.items() if name != "kind"}
    path = parts.path(fields.pop("path")) if data["kind"] == "NodeCreated" and "path" in fields else ()
    record: Any = _read_as(RECORDS[data["kind"]], fields, data["kind"])
    made: Record = dataclasses.replace(record, path=path) if path else record
    return made


def _read_as(kind: Any, data: Any, where: str) -> Any:
    """Data as the type says, or a ValueError naming the place."""
    try:
        return _reading(kind, "")(data)
    except (_Wrong, TypeError, ValueError, KeyError):
        return _read_slowly(kind, data, where)


class _Wrong(Exception):
    """Data of another type."""


@cache
def _reading(kind: Any, name: str) -> Callable[[Any], Any]:
    """What reads data of a type, in a field of this name."""
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        one, others = _reading(options[0], name), frozenset(options[1:])
        return lambda data: data if type(data) in others else one(data)
    if origin is tuple:
        each, most = _reading(options[0], name), _LENGTHS.get(name, _LONGEST_LIST)

        def several(data: Any) -> Any:
            if data.__class__ is not list or len(data) > most:
                raise _Wrong
            return tuple([each(item) for item in data])

        return several
    if dataclasses.is_dataclass(kind):
        return _reading_fields(kind)

    def plain(data: Any) -> Any:
        if data.__class__ is not kind:
            raise _Wrong
        if (kind is str and len(data) > _LONGEST_TEXT) or (kind is int and abs(data) > _MOST):
            raise _Wrong
        return data

    def real(data: Any) -> Any:
        if data.__class__ is not float or not abs(data) <= sys.float_info.max:
            raise _Wrong
        return data

    return real if kind is float else plain


def _reading_fields(kind: Any) -> Callable[[Any], Any]:
    """What makes a fact of a dictionary: a call written out, as there are many of them."""
    hints = _types(kind)
    bound: dict[str, Any] = {"kind": kind, "Wrong": _Wrong}
    given: list[str] = []
    needed = 0
    for at, each in enumerate(dataclasses.fields(kind)):
        bound[f"r{at}"], bound[f"d{at}"] = _reading(hints[each.name], each.name), each.default
        if each.default is dataclasses.MISSING:
            needed += 1
            given.append(f"r{at}(data[{each.name!r}])")
        else:
            given.append(f"r{at}(data[{each.name!r}]) if {each.name!r} in data else d{at}")
    optional = [each.name for each in dataclasses.fields(kind) if each.default is not dataclasses.MISSING]
    count = " + ".join([str(needed), *[f"({name!r} in data)" for name in optional]])
    lines = f"def read(data):\n if data.__class__ is not dict or len(data) != {count}: raise Wrong\n return kind("
    exec(f"{lines}{', '.join(given)})", bound)  # noqa: S102  nothing of the file's is in it
    made: Callable[[Any], Any] = bound["read"]
    return made


def _read_slowly(kind: Any, data: Any, where: str) -> Any:
    """The same, a piece at a time: a ValueError names the place."""
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        other = type(data) in options[1:]  # None, or a truth value in place of a number
        return data if other else _read_slowly(options[0], data, where)
    if _is(data, list) and len(data) > (most := _LENGTHS.get(where.rpartition(".")[2], _LONGEST_LIST)):
        raise ValueError(TOO_LONG.format(where, len(data), "items", most))
    if _is(data, str) and len(data) > _LONGEST_TEXT:
        raise ValueError(TOO_LONG.format(where, len(data), "characters", _LONGEST_TEXT))
    if origin is tuple and _is(data, list):
        return tuple(_read_slowly(options[0], each, f"{where}[{index}]") for index, each in enumerate(data))
    if dataclasses.is_dataclass(kind) and _is(data, dict):
        fact: Any = kind
        hints = _types(fact)
        for name in sorted((hints.keys() ^ data.keys()) - (_optional(fact) - data.keys())):
            raise ValueError(FIELD.format(where, "without" if name in hints else "with an unknown", name))
        return fact(**{name: _read_slowly(hints[name], each, f"{where}.{name}") for name, each in data.items()})
    if kind is float:
        if data in ("nan", "inf", "-inf"):
            return float(data)
        if data.__class__ is float and abs(data) <= sys.float_info.max:  # 1e400 is read as infinity
            return data
    elif data.__class__ is kind and kind is not int:
        return data
    if data.__class__ is int and kind in (int, float) and abs(data) <= _MOST:
        return data
    raise ValueError(WRONG.format(where))


@cache
def _types(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {each.name: hints[each.name] for each in dataclasses.fields(cls)}


@cache
def _optional(cls: Any) -> frozenset[str]:
    return frozenset(each.name for each in dataclasses.fields(cls) if each.default is not dataclasses.MISSING)


_MOST_OUTPUTS = 1_000_000  # of one node
_LONGEST_NAME = 20_000  # characters: sentences repeat it
_LONGEST_DTYPE = 100  # characters: each box repeats it
_DEEPEST_NESTING = 100  # scopes and levels inside each other, and tensors of levels below each other
_CHANGES, _EACH = 3_000_000, 100  # that all events together make, and so many more for each of them
_BEGINNING = 10  # what a change counts that a backward makes as it begins: it is found on the way through the graph
_PLACES = {  # what of a frame the ids in a field are of, by its name
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


class Played:
    """A frame that records read from a file change one by one, as far as all of them together do not change too much.

    Each view goes through all changes: a graph that every event changes as a whole would take minutes to show.
    """

    def __init__(self) -> None:
        self._frame = Frame()
        self._room = _CHANGES

    def play_all(
        self, told: list[Any], parts: PartsRead, forms: Sequence[Form] = (), most: float = math.inf
    ) -> list[Record]:
        """All records; a ValueError says which cannot have happened, or not be shown, and why."""
        events: list[Record] = []
        told.reverse()  # what is read is let go at once: all of it can take more room than the records
        for number in range(1, len(told) + 1):
            each = told.pop()
            try:
                if each.__class__ is list:
                    form = _form_of(each, forms)
                    most -= form.weight
                    if most < 0:
                        raise ValueError("repeats more than a recording does")
                    event = form.make(each)
                    self._count(event, form, each)
                else:
                    event = _decode(each, parts)
                    self._count(event)
            except (ValueError, IndexError) as error:
                raise ValueError(IN_TRACE.format("Event", number, brief(_reason(error)))) from None
            events.append(event)
        _check_above(events)
        return events

    def _count(self, record: Record, form: Form | None = None, row: list[int] | None = None) -> None:
        """Have the record change the frame."""
        frame = self._frame
        frame.touched = {}
        if form is None or row is None or not form.played:
            _play(record, frame)
        else:  # what all of a form have in common was sound in the first
            _happen(record, frame)
            form.check(row, frame)
        if form is not None:
            form.played = True
        if isinstance(record, NodeFinished) and record.node not in frame.nodes:
            raise ValueError(UNKNOWN.format(f"node {record.node!r}"))
        weight = _BEGINNING if isinstance(record, BackwardStarted) else 1
        self._room += _EACH - weight * len(frame.touched)
        if self._room < 0:
            raise ValueError(CHANGES)


def _check_above(events: Sequence[Record]) -> None:
    """Levels have the same operation above each other, and none above itself."""
    outputs = {event.op: event.outputs for event in events if isinstance(event, OperationRan)}
    higher, settled = above(events) if outputs else {}, set[str]()
    for number, event in enumerate(events, 1) if higher else ():
        seen, made = set[str](), event.op if isinstance(event, OperationRan) else ""
        while made in outputs and made not in settled:
            if made in seen:
                raise ValueError(IN_TRACE.format("Event", number, BELOW_ITSELF.format(made)))
            seen.add(made)
            made = next((higher[output] for output in outputs[made] if output in higher), "")
        settled |= seen


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else UNKNOWN.format("value")


def _form_of(row: Any, forms: Sequence[Form]) -> Form:
    if not row or {*map(type, row)} != {int} or min(row) < 0 or max(row) > _MOST or row[0] >= len(forms):
        raise ValueError("is no row of a form")
    form = forms[int(row[0])]
    if len(row) != form.length + 1:
        raise ValueError(f"has {len(row) - 1} numbers for a form of {form.length}")
    return form


def _check_value(value: Value) -> None:
    """A ValueError says what of a value cannot be."""
    if min((*value.shape, value.batch, value.nonfinite)) < 0 or value.batch > len(value.shape):
        raise ValueError(f"has a value of the shape {value.shape}")
    if math.prod(value.shape) >= _MOST_ELEMENTS:
        raise ValueError("has a value of more elements than an array can have")
    if len(value.dtype) > _LONGEST_DTYPE:
        raise ValueError(CHARACTERS.format("dtype", len(value.dtype)))
    if value.norm < 0 or (not value.is_known and (value.values, value.min, value.max) != (None,) * 3):
        raise ValueError("has a value without a norm")


def _play(record: Record, frame: Frame) -> None:
    """Have the record change the frame; a ValueError says why it cannot have happened."""
    if isinstance(record, MethodCalled) and record.method not in METHODS:
        raise ValueError(UNKNOWN_KIND.format("method", record.method))
    if isinstance(record, NodeCreated) and (record.scope or "").count("/") >= _DEEPEST_NESTING:
        raise ValueError(f"is made inside more than {_DEEPEST_NESTING} scopes")
    parts = list(_parts(record))
    for name, value in parts:
        if isinstance(value, Value):
            _check_value(value)
        elif name == "name" and _is(value, str) and len(value) > _LONGEST_NAME:
            raise ValueError(CHARACTERS.format("name", len(value)))
        elif name == "text" and len(value) > _LONGEST_NAME and isinstance(record, LineReached | MethodEnded):
            raise ValueError(CHARACTERS.format("variable with a text", len(value)))
        elif name == "output_nr" and not 0 <= value < _MOST_OUTPUTS:
            raise ValueError(f"speaks of the output {value}")
    _happen(record, frame)
    for name, value in parts:
        if name in _PLACES:
            _check_id(name, value, frame)
    if isinstance(record, OperationRan) and not record.outputs:
        raise ValueError("computes nothing")
    if isinstance(record, TangentPushed) and not record.operands:
        raise ValueError("pushes no tangent")


def _happen(record: Record, frame: Frame) -> None:
    """Have the record change the frame, as far as it fits those before it."""
    if isinstance(record, NodeCreated) and record.node in frame.nodes:
        raise ValueError(AGAIN.format("makes", record.node))
    if isinstance(record, LevelEntered) and record.level in frame.levels:
        raise ValueError(AGAIN.format("enters", record.level))
    try:
        record.apply(frame)
    except LookupError as error:
        raise ValueError(UNKNOWN.format(error)) from None
    except Exception:  # whatever a changed file can lead to
        raise ValueError("cannot have happened after those before it") from None
    if len(frame.stack) > _DEEPEST_NESTING:
        raise ValueError(f"enters more than {_DEEPEST_NESTING} levels inside each other")


def _check_id(name: str, id: str, frame: Frame) -> None:
    """Whether what a field of this name speaks of is there, once the record has changed the frame."""
    for kind in _PLACES[name]:
        if id in getattr(frame, kind):
            break
    else:
        if name != "pushing" or id != "dual":
            raise ValueError(UNKNOWN.format(f"{'level ' * (name == 'pushing')}{id!r}"))
    if name == "below":
        _end(frame, id)


def _end(frame: Frame, tensor: str | None) -> None:
    """A tensor stands for one below it, and so on, but not for itself."""
    seen: set[str] = set()
    while tensor is not None:
        if tensor in seen:
            raise ValueError(BELOW_ITSELF.format(tensor))
        if len(seen) > _DEEPEST_NESTING:
            raise ValueError(f"has {tensor!r} stand below more than {_DEEPEST_NESTING} others")
        seen.add(tensor)
        tensor = frame.tensors[tensor].below


def _parts(fact: Any) -> Iterator[tuple[str, Any]]:
    """The values, ids and numbers of outputs in a record, each by the name of its field."""
    for name in _names(fact.__class__):
        value = getattr(fact, name)
        for each in value if _is(value, tuple) else (value,):
            if isinstance(each, Value) or (each is not None and not dataclasses.is_dataclass(each)):
                yield name, each
            elif each is not None:
                yield from _parts(each)


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple([each.name for each in dataclasses.fields(kind) if _is_checked(kind, each.name)])


def _is_checked(kind: type, name: str) -> bool:
    """Whether a field's ids must be known: methods may be told of nodes that are not there yet."""
    return name != "node" or kind not in (MethodCalled, LineReached, MethodEnded)


LARGE = 5_000  # events: of fewer the plain form is short enough, and easier to read
_IDS = {*_PLACES, "base", "id", "task", "op", "ctx", "call", "checkpoint"}  # fields that name something
_LETTERS = frozenset("ntblokcms")
_MOST_HOLES, _MOST_PARTS = 100, 1_000  # of one form
_PLAIN = frozenset("bool float16 float32 float64 int16 int32 int64 int8 uint8".split())  # can be summed up again
_SHORT = {"float32": np.float32, "float16": np.float16}  # their numbers are written with the digits that tell them
# So many events or values, and parts of events, a file may have, and one more for so many of its characters: what says
# more in fewer is written plain.
_LEAST, _OF_EVENT, _OF_PART = 20_000, 48, 2
_NODE = 60  # parts that a node counts for besides its own: a picture does so much with it

_Hole = tuple[str, int]


class Writer:
    """Puts events into rows, and says what is common to them."""

    def __init__(self) -> None:
        self.parts = PartsWritten()
        self._forms: dict[Any, int] = {}
        self._first: list[Record] = []  # of each form
        self._uses: list[int] = []
        self._kinds: dict[tuple[Any, ...], int] = {}
        self._values: dict[str, int] = {}  # by their text
        self._known: dict[int, tuple[Value, int]] = {}  # those met, by their identity

    def text(self, events: Sequence[Record], **head: Any) -> str | None:
        """The events as a JSON text, an event a line; None where they have more in common than is read."""
        events = [readable(event) for event in events]
        rows = [self._row(event) for event in events]
        places: dict[int, int] = {}
        forms: list[Any] = []
        weight = 0
        for number, (first, uses) in enumerate(zip(self._first, self._uses, strict=True)):
            holes: dict[_Hole, int] = {}
            _template(first, holes, self)
            if uses < 2 or len(holes) > _MOST_HOLES:
                continue
            form = self._written(first, {hole: at for at, hole in enumerate(holes, 1)})
            with suppress(ValueError):  # of more parts than are read
                weight += uses * Form(form).weight
                places[number] = len(forms)
                forms.append(form)
        lines: list[str] = []
        for event, (number, *row) in zip(events, rows, strict=True):
            if number in places:
                lines.append(json.dumps([places[number], *row], separators=(",", ":")))
            else:
                lines.append(json.dumps(encode(event, self.parts), allow_nan=False))
        shared = {"parts": self.parts.rows, "kinds": [list(kind) for kind in self._kinds], "forms": forms}
        before = json.dumps(head | shared, allow_nan=False).removesuffix("}")
        told = ",\n".join(self._values), ",\n".join(lines)
        text = f'{before}, "values": [\n{told[0]}\n], "events": [\n{told[1]}\n]}}\n'
        fits = max(len(events), len(self._values)) <= _most(len(text), _OF_EVENT) and weight <= _most(
            len(text), _OF_PART
        )
        return text if fits else None

    def _row(self, event: Record) -> list[int]:
        holes: dict[_Hole, int] = {}
        template = _template(event, holes, self)
        form = self._forms.get(template)
        if form is None:
            form = self._forms[template] = len(self._first)
            self._first.append(event)
            self._uses.append(1)
        else:
            self._uses[form] += 1
        return [form, *[number for _, number in holes]]

    def value(self, value: Value) -> int:
        """The number of a value."""
        known = self._known.get(id(value))
        if known is None:
            text = json.dumps(self._of(value), allow_nan=False, separators=(",", ":"))
            number = self._values.setdefault(text, len(self._values))
            self._known[id(value)] = known = value, number
        return known[1]

    def _of(self, value: Value) -> list[Any]:
        kind = value.dtype, value.shape, value.batch
        row: list[Any] = [self._kinds.setdefault(kind, len(self._kinds))]
        if value.values and not value.nonfinite:
            numbers = _shortened(value.values, value.dtype)
            if repr(_derived(numbers, *kind)) == repr(value):
                return [*row, numbers]
        told = None if value.values is None else [_finite(each) for each in value.values]
        return [*row, told, *map(_finite, (value.norm, value.min, value.max, value.mean)), value.nonfinite]

    def _written(self, fact: Any, holes: dict[_Hole, int]) -> Any:
        """A form."""
        if isinstance(fact, Value):
            return {"value": holes["value", self.value(fact)]}
        if dataclasses.is_dataclass(fact):
            told: dict[str, Any] = {"kind": type(fact).__name__} if isinstance(fact, Record) else {}
            kind: Any = type(fact)
            for name, action, default in _plan(kind):
                thing = getattr(fact, name)
                if thing == default and not (action in ("version", "path") and thing):
                    continue
                if action == "path":
                    told[name] = {"part": holes["part", self.parts.number(thing)]}  # type: ignore[index]
                elif action == "version":
                    told[name] = {"number": holes["number", thing]}
                elif action == "id" and thing is not None:
                    several = [_id_of(each, holes) for each in (thing if thing.__class__ is tuple else (thing,))]
                    told[name] = several if thing.__class__ is tuple else several[0]
                else:
                    told[name] = self._written(thing, holes)
            return told
        return [self._written(each, holes) for each in fact] if fact.__class__ is tuple else fact


def _id_of(id: str, holes: dict[_Hole, int]) -> Any:
    hole = _split(id)
    return id if hole is None else {hole[0]: holes[hole]}


def _split(id: str) -> _Hole | None:
    """The letter and the number of an id, if it has these."""
    number = id[1:]
    if id[:1] in _LETTERS and number.isascii() and number.isdigit() and len(number) < 15 and (number[0] != "0"):
        return id[0], int(number)
    return None


def _template(fact: Any, holes: dict[_Hole, int], writer: Writer) -> Any:
    """What is equal of all events of one form; the holes are noted in their order."""
    kind = fact.__class__
    found: list[Any] = [kind]
    add = found.append
    for name, action, _ in _plan(kind):
        thing = getattr(fact, name)
        if thing is None or action == "as it is":
            add(thing)
        elif action == "id":
            for each in thing if thing.__class__ is tuple else (thing,):
                hole = _split(each)
                add(each if hole is None else (hole[0], holes.setdefault(hole, len(holes))))
            add(len(thing) if thing.__class__ is tuple else None)
        elif action == "value":
            add(holes.setdefault(("value", writer.value(thing)), len(holes)))
        elif action == "path":
            add(bool(thing) and holes.setdefault(("part", writer.parts.number(thing) or 0), len(holes)))
        elif action == "version":
            add(holes.setdefault(("number", thing), len(holes)))
        elif thing.__class__ is tuple:
            for each in thing:
                if each.__class__ is Value:
                    add(holes.setdefault(("value", writer.value(each)), len(holes)))
                else:
                    add(each if each is None else _template(each, holes, writer))
            add(len(thing))
        else:
            add(_template(thing, holes, writer))
    return tuple(found)


@cache
def _plan(kind: Any) -> list[tuple[str, str, Any]]:
    """Of each field its name, what becomes of it, and its default."""
    hints = typing.get_type_hints(kind)
    plan: list[tuple[str, str, Any]] = []
    for each in dataclasses.fields(kind):
        hint, name = hints[each.name], each.name
        inner: Any = _inner(hint)
        if name == "path" and kind is NodeCreated:
            action = "path"
        elif inner is Value:
            action = "values" if typing.get_origin(hint) is tuple else "value"
        elif inner is str and name in _IDS:
            action = "id"
        elif name == "version" and hint is int:
            action = "version"
        else:
            nested = dataclasses.is_dataclass(inner)
            action = "each" if nested and _holds(inner) else "as it is"
        plan.append((name, action, each.default))
    return plan


@cache
def _holds(kind: Any) -> bool:
    """Whether anything in a fact can be a hole."""
    return any([action != "as it is" for _, action, _ in _plan(kind)])


def _inner(hint: Any) -> Any:
    """The type of a field, without None and what holds several."""
    options = [each for each in typing.get_args(hint) if each not in (type(None), Ellipsis)]
    return _inner(options[0]) if typing.get_origin(hint) in (tuple, types.UnionType) and options else hint


def _finite(number: Any) -> Any:
    return str(number) if isinstance(number, float) and not math.isfinite(number) else number


def _shortened(numbers: tuple[float | bool, ...], dtype: str) -> list[Any]:
    kind = _SHORT.get(dtype)
    return list(numbers) if kind is None else [float(str(kind(each))) for each in numbers]


def _derived(numbers: list[Any], dtype: str, shape: tuple[int, ...], batch: int) -> Value | None:
    """The value of these numbers, as it is summed up when it is recorded."""
    if dtype not in _PLAIN:
        return None
    try:
        array = np.array(numbers, dtype).reshape(shape)
    except (TypeError, ValueError, OverflowError):
        return None
    return Value.of(array, array.size, batch)


# Reading.


class _Ids(dict[int, str]):
    """The ids of one letter, each made once."""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self._letter = letter

    def __missing__(self, number: int) -> str:
        self[number] = id = f"{self._letter}{number}"
        return id


def _most(size: int | None, each: int) -> float:
    """How many events, or parts of these, are read of a file of so many characters."""
    return math.inf if size is None else _LEAST + size // each


class Form:
    """A form, as what makes a record of a row."""

    def __init__(self, data: Any, bound: Mapping[str, Any] = MappingProxyType({})) -> None:
        if not _is(data, dict) or data.get("kind").__class__ is not str or data["kind"] not in RECORDS:
            raise ValueError("is of no known kind")
        self.holes: dict[tuple[str, str, int], None] = {}  # the field, the letter and the place of each
        self.weight = self.length = 0
        self._bound = dict(bound)
        self.weight += _NODE * (data["kind"] == NodeCreated.__name__)
        kind, fields = RECORDS[data["kind"]], {name: it for name, it in data.items() if name != "kind"}
        made = self._of(kind, fields, data["kind"])
        if self.weight > _MOST_PARTS + _NODE:
            raise ValueError(f"has more than {_MOST_PARTS:,} parts")
        if made is None:
            made = self._constant(_read_as(kind, fields, data["kind"]))
        self.make: Callable[[list[int]], Record] = eval(f"lambda row: {made}", self._bound)  # noqa: S307  names alone
        checked = [hole for hole in self.holes if hole[0] in _PLACES and _is_checked(kind, hole[0])]
        self._checks = [(name, bound.get(letter, {}), at) for name, letter, at in checked]
        self.played = False

    def check(self, row: list[int], frame: Frame) -> None:
        """Whether the ids of a row are those of something; a ValueError says which is not."""
        for name, ids, at in self._checks:
            _check_id(name, ids[row[at]], frame)

    def _constant(self, thing: Any) -> str:
        name = f"c{len(self._bound)}"
        self._bound[name] = thing
        return name

    def _of(self, kind: Any, data: Any, where: str) -> str | None:
        """The expression for data with holes; None where it has none."""
        if data.__class__ is dict and len(data) == 1 and next(iter(data.values())).__class__ is int:
            ((hole, at),) = data.items()
            if (made := self._hole(_inner(kind), hole, at, where)) is not None:
                return made
        self.weight += 1
        origin, options = typing.get_origin(kind), typing.get_args(kind)
        if origin is types.UnionType:
            return None if data is None else self._of(options[0], data, where)
        if origin is tuple and data.__class__ is list:
            several = [self._of(options[0], each, where) for each in data]
            if not any(several):
                return None
            told = [
                one or self._constant(_read_as(options[0], it, where)) for one, it in zip(several, data, strict=True)
            ]
            return f"({', '.join(told)},)"
        if not dataclasses.is_dataclass(kind) or data.__class__ is not dict:
            return None
        fact: Any = kind
        hints, plan = typing.get_type_hints(fact), _plan(fact)
        if data.keys() - hints.keys():
            raise ValueError(f"has a {where} with an unknown field")
        before = self.weight
        inside = {name: self._of(hints[name], data[name], name) for name, *_ in plan if name in data}
        if not any(inside.values()):
            self.weight = before  # one thing, shared by all
            return None
        args: list[str] = []
        for name, _, default in plan:
            if name in data:
                part = inside[name] or self._constant(_read_as(hints[name], data[name], f"{where}.{name}"))
            elif default is dataclasses.MISSING:
                raise ValueError(FIELD.format(where, "without", name))
            else:
                part = self._constant(default)
            args.append(part)
        return f"{self._constant(fact)}({', '.join(args)})"

    def _hole(self, kind: Any, hole: str, at: int, where: str) -> str | None:
        fits = (
            (kind is Value and hole == "value")
            or (kind is Part and hole == "part" and where == "path")
            or (kind is int and hole == "number" and where == "version")
            or (kind is str and hole in _LETTERS and where in _IDS)
        )
        if not fits:
            return None
        if not 1 <= at <= _MOST_HOLES:
            raise ValueError("has a hole that no row fills")
        self.length = max(self.length, at)
        self.weight += 1
        if hole in _LETTERS:
            self.holes[where, hole, at] = None
        return {"value": f"values[row[{at}]]", "part": f"part(row[{at}])", "number": f"row[{at}]"}.get(
            hole, f"{hole}[row[{at}]]"
        )


def read_compact(data: dict[str, Any], size: int | None) -> list[Record]:
    """The events of a compact trace, of a file of so many characters; a ValueError says what is wrong with it."""
    for name in ("kinds", "values", "forms", "events"):
        if not _is(data.get(name), list):
            raise ValueError(NO_LIST.format(name))
    if max(len(data["events"]), len(data["values"]), len(data["forms"])) > _most(size, _OF_EVENT):
        raise ValueError("This trace has more events or values than a recording of its size.")
    parts = PartsRead(data.get("parts", []))
    values = _values(data["kinds"], data.pop("values"))
    bound: dict[str, Any] = {letter: _Ids(letter) for letter in _LETTERS}
    bound |= {"values": values, "part": cache(parts.path)}
    forms: list[Form] = []
    for number, each in enumerate(data["forms"]):
        try:
            forms.append(Form(each, bound))
        except ValueError as error:
            raise ValueError(IN_TRACE.format("Form", number, str(error)[:200])) from None
    return Played().play_all(data.pop("events"), parts, forms, _most(size, _OF_PART))


def _values(kinds: list[Any], rows: list[Any]) -> list[Value]:
    known: list[tuple[str, tuple[int, ...], int]] = []
    for at, kind in enumerate(kinds):
        try:
            dtype, shape, batch = kind
            blank = {"norm": 0.0, "min": None, "max": None, "mean": None, "nonfinite": 0, "values": None}
            sound = _read_as(Value, {"dtype": dtype, "shape": shape, "batch": batch, **blank}, "kind")
            _check_value(sound)
        except (TypeError, ValueError) as error:
            raise ValueError(IN_TRACE.format("Kind", at, f"is wrong: {str(error)[:200]}")) from None
        known.append((dtype, sound.shape, batch))
    with np.errstate(all="ignore"):
        return [_value(at, row, known) for at, row in enumerate(rows)]


def _value(at: int, row: Any, known: list[tuple[str, tuple[int, ...], int]]) -> Value:
    """One value of the table."""
    try:
        number, numbers, *more = cast("list[Any]", row)
        if number.__class__ is not int or number < 0:
            raise ValueError("has no kind")
        dtype, shape, batch = known[int(number)]
        if more or not numbers:
            norm, least, largest, mean, nonfinite = more
            told = {"norm": norm, "min": least, "max": largest, "mean": mean, "nonfinite": nonfinite}
            told |= {"dtype": dtype, "shape": list(shape), "batch": batch, "values": numbers}
            value: Any = _read_as(Value, told, "value")
            _check_value(value)
        else:
            if numbers.__class__ is not list or not {*map(type, numbers)} <= {int, float, bool}:
                raise ValueError("has numbers that are none")
            if len(numbers) != math.prod(shape):
                raise ValueError(NUMBERS.format(len(numbers), shape))
            value = _derived(numbers, dtype, shape, batch)
            if value is None or value.nonfinite:
                raise ValueError("has numbers of another dtype")
    except (TypeError, IndexError, ValueError) as error:
        problem = str(error) if type(error) is ValueError else "is none"
        raise ValueError(IN_TRACE.format("Value", at, problem[:200])) from None
    made: Value = value
    return made
