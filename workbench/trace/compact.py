"""The compact form of a large trace: what many events have in common is written once.

`kinds` lists the dtypes, shapes and batches of values; `values` has each value once, as the number of its kind and its
numbers, and where these do not tell them its norm, least, largest, mean and how many are not finite. A form of `forms`
is an event as a plain trace has it, with holes: `{"n": 2}` stands for the id n7 if item 2 of a row is 7, `{"value": 1}`
for the value of that number, `{"part": 3}` for a path, `{"number": 1}` for the number itself. An event is such a row,
whose item 0 is the number of the form; one like no other is written in full.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from .frame import Frame
from .json import PLACES, PartsRead, PartsWritten, Played, check_id, check_value, encode, is_checked, read_as
from .records import NodeCreated
from .schema import RECORDS, Part, Record
from .values import Value

LARGE = 5_000  # events: of fewer the plain form is short enough, and easier to read
_IDS = {*PLACES, "base", "id", "task", "op", "ctx", "call", "checkpoint"}  # fields that name something
_LETTERS = frozenset("ntblokcm")
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

    def text(self, events: typing.Sequence[Record], **head: Any) -> str | None:
        """The events as a JSON text, an event a line; None where they have more in common than is read."""
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
        lines = []
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
                    several = [_id_of(each, holes) for each in (thing if type(thing) is tuple else (thing,))]
                    told[name] = several if type(thing) is tuple else several[0]
                else:
                    told[name] = self._written(thing, holes)
            return told
        return [self._written(each, holes) for each in fact] if type(fact) is tuple else fact


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
    kind: Any = type(fact)
    found: list[Any] = [kind]
    add = found.append
    for name, action, _ in _plan(kind):
        thing = getattr(fact, name)
        if thing is None or action == "as it is":
            add(thing)
        elif action == "id":
            for each in thing if type(thing) is tuple else (thing,):
                hole = _split(each)
                add(each if hole is None else (hole[0], holes.setdefault(hole, len(holes))))
            add(len(thing) if type(thing) is tuple else None)
        elif action == "value":
            add(holes.setdefault(("value", writer.value(thing)), len(holes)))
        elif action == "path":
            add(bool(thing) and holes.setdefault(("part", writer.parts.number(thing) or 0), len(holes)))
        elif action == "version":
            add(holes.setdefault(("number", thing), len(holes)))
        elif type(thing) is tuple:
            for each in thing:
                if type(each) is Value:
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
    plan = []
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

    def __init__(self, data: Any, bound: typing.Mapping[str, Any] = MappingProxyType({})) -> None:
        if not isinstance(data, dict) or type(data.get("kind")) is not str or data["kind"] not in RECORDS:
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
            made = self._constant(read_as(kind, fields, data["kind"]))
        self.make: Callable[[list[int]], Record] = eval(f"lambda row: {made}", self._bound)  # noqa: S307  names alone
        checked = [hole for hole in self.holes if hole[0] in PLACES and is_checked(kind, hole[0])]
        self._checks = [(name, bound.get(letter, {}), at) for name, letter, at in checked]
        self.played = False

    def check(self, row: list[int], frame: Frame) -> None:
        """Whether the ids of a row are those of something; a ValueError says which is not."""
        for name, ids, at in self._checks:
            check_id(name, ids[row[at]], frame)

    def _constant(self, thing: Any) -> str:
        name = f"c{len(self._bound)}"
        self._bound[name] = thing
        return name

    def _of(self, kind: Any, data: Any, where: str) -> str | None:
        """The expression for data with holes; None where it has none."""
        if type(data) is dict and len(data) == 1 and type(next(iter(data.values()))) is int:
            ((hole, at),) = data.items()
            if (made := self._hole(_inner(kind), hole, at, where)) is not None:
                return made
        self.weight += 1
        origin, options = typing.get_origin(kind), typing.get_args(kind)
        if origin is types.UnionType:
            return None if data is None else self._of(options[0], data, where)
        if origin is tuple and type(data) is list:
            several = [self._of(options[0], each, where) for each in data]
            if not any(several):
                return None
            told = [
                one or self._constant(read_as(options[0], it, where)) for one, it in zip(several, data, strict=True)
            ]
            return f"({', '.join(told)},)"
        if not dataclasses.is_dataclass(kind) or type(data) is not dict:
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
        args = []
        for name, _, default in plan:
            if name in data:
                part = inside[name] or self._constant(read_as(hints[name], data[name], f"{where}.{name}"))
            elif default is dataclasses.MISSING:
                raise ValueError(f"has a {where} without {name!r}")
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
        if not isinstance(data.get(name), list):
            raise ValueError(f"This trace has no list of {name}.")
    if max(len(data["events"]), len(data["values"]), len(data["forms"])) > _most(size, _OF_EVENT):
        raise ValueError("This trace has more events or values than a recording of its size.")
    parts = PartsRead(data.get("parts", []))
    values = _values(data["kinds"], data.pop("values"))
    bound: dict[str, Any] = {letter: _Ids(letter) for letter in _LETTERS}
    bound |= {"values": values, "part": cache(parts.path)}
    forms = []
    for number, each in enumerate(data["forms"]):
        try:
            forms.append(Form(each, bound))
        except ValueError as error:
            raise ValueError(f"Form {number} of this trace {str(error)[:200]}.") from None
    return Played().play_all(data.pop("events"), parts, forms, _most(size, _OF_PART))


def _values(kinds: list[Any], rows: list[Any]) -> list[Value]:
    known: list[tuple[Any, ...]] = []
    for at, kind in enumerate(kinds):
        try:
            dtype, shape, batch = kind
            blank = {"norm": 0.0, "min": None, "max": None, "mean": None, "nonfinite": 0, "values": None}
            sound = read_as(Value, {"dtype": dtype, "shape": shape, "batch": batch, **blank}, "kind")
            check_value(sound)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Kind {at} of this trace is wrong: {str(error)[:200]}.") from None
        known.append((dtype, sound.shape, batch))
    with np.errstate(all="ignore"):
        return [_value(at, row, known) for at, row in enumerate(rows)]


def _value(at: int, row: Any, known: list[tuple[Any, ...]]) -> Value:
    """One value of the table."""
    try:
        number, numbers, *more = row
        if type(number) is not int or number < 0:
            raise ValueError("has no kind")
        dtype, shape, batch = known[number]
        if more or not numbers:
            norm, least, largest, mean, nonfinite = more
            told = {"norm": norm, "min": least, "max": largest, "mean": mean, "nonfinite": nonfinite}
            told |= {"dtype": dtype, "shape": list(shape), "batch": batch, "values": numbers}
            value: Any = read_as(Value, told, "value")
            check_value(value)
        else:
            if type(numbers) is not list or not {*map(type, numbers)} <= {int, float, bool}:
                raise ValueError("has numbers that are none")
            if len(numbers) != math.prod(shape):
                raise ValueError(f"has {len(numbers)} numbers for the shape {shape}")
            value = _derived(numbers, dtype, shape, batch)
            if value is None or value.nonfinite:
                raise ValueError("has numbers of another dtype")
    except (TypeError, IndexError, ValueError) as error:
        problem = str(error) if type(error) is ValueError else "is none"
        raise ValueError(f"Value {at} of this trace {problem[:200]}.") from None
    made: Value = value
    return made
