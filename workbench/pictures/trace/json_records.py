"""Records as JSON's own types, written and read by the types of their fields.

A record is a dict of its fields and the `kind`; NaN and infinities are strings. A field that has a default is left out
where it has that value: files from before it was there can be read. A node has the number of the innermost part it was
made in, and not its path.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from math import isfinite, prod
from typing import Any

from .facts import Part
from .forward_records import NodeCreated
from .parts_table import PartsRead, PartsWritten, shortened
from .schema import RECORDS, Record
from .values import Value

# The most that a field may have, by its name: what is longer was made to take long, or is written shorter.
_LONGEST = {"name": 20_000, "dtype": 100}  # characters: sentences and boxes repeat them
_LONGEST_TEXT = 1_000_000  # characters of any other
_LARGEST = {"output_nr": 1_000_000}  # whole numbers
_LARGEST_NUMBER = 2**63 - 1  # any other: a count, a size, a version
_MOST_DIMENSIONS = 64  # as NumPy has it
_MOST_ELEMENTS = 2**60  # of one array, whether its values are there or not

_LONGEST_COMPLEX = 60  # characters of a number with all its digits
_NOT_FINITE = ("nan", "inf", "-inf")
_PATH = tuple[Part, ...]
_NUMBERS = frozenset((float, bool))


# Writing.


def encode(record: Record, parts: PartsWritten) -> dict[str, Any]:
    """Return a record in JSON's types; the parts that a node was made in go into the table."""
    data: dict[str, Any] = {"kind": type(record).__name__} | _written(record)
    if isinstance(record, NodeCreated) and record.path:
        data["path"] = parts.number(record.path)
    return data


def _written(fact: Any) -> Any:
    """Return a record, or anything in it, in JSON's types."""
    if fact.__class__ is tuple:
        return [_written(each) for each in fact]
    if fact.__class__ is float:
        return fact if isfinite(fact) else str(fact)
    if fact.__class__ is complex:
        return str(fact)
    if not hasattr(fact, "__dataclass_fields__"):
        return fact
    data: dict[str, Any] = {}
    for name, default, most in _plan(fact.__class__):
        value = getattr(fact, name)
        if value != default:
            data[name] = shortened(value, most) if value.__class__ is str else _written(value)
    return data


@cache
def _plan(kind: type[Any]) -> list[tuple[str, Any, int]]:
    """Return name, default and maximum text length of each field that is written with its fact."""
    fields = [each for each in dataclasses.fields(kind) if (kind, each.name) != (NodeCreated, "path")]
    return [(each.name, each.default, _LONGEST.get(each.name, _LONGEST_TEXT)) for each in fields]


# Reading.


class _Wrong(Exception):
    """Data are not as their type says; the place is put together on the way out."""

    def __init__(self, what: str = "wrong ", why: str = "") -> None:
        super().__init__()
        self.what, self.place, self.why = what, "", why


def decode(data: Any) -> Record:
    """Return the record that a dict describes, without its path; ValueError says what is wrong with it."""
    kind = data.get("kind") if data.__class__ is dict else None
    if kind.__class__ is not str:
        raise ValueError("isn't an object with a kind")
    if kind not in RECORDS:
        raise ValueError(f"has the unknown kind {kind!r}")
    try:
        made: Record = _reader(RECORDS[kind], kind)(data)
    except _Wrong as wrong:
        raise ValueError(f"has a {wrong.what}{kind}{wrong.place}{wrong.why}") from None
    return made


def find_path(record: Record, parts: PartsRead) -> None:
    """Give a record that was just decoded the path of which it has the number."""
    row: Any = record.path if isinstance(record, NodeCreated) else ()
    if row.__class__ is not tuple:
        object.__setattr__(record, "path", parts.path(row))  # a copy takes much longer; nothing else refers to it


@cache
def _reader(hint: Any, name: str) -> Callable[[Any], Any]:
    """Return the function that reads data of a type, in a field of this name."""
    others: frozenset[type] = frozenset()
    if typing.get_origin(hint) is types.UnionType:  # with None, or a number with a truth value
        hint, *more = typing.get_args(hint)
        others = frozenset(more)
    if hint == _PATH:
        return lambda row: row  # `find_path` looks at it
    if typing.get_origin(hint) is tuple:
        return _several(_reader(typing.get_args(hint)[0], name), name, others)
    if dataclasses.is_dataclass(hint):
        return _fact(hint, others)
    if hint is float:
        return _number(others)
    if hint is complex:
        return _complex_number
    if hint is int:
        return _whole_number(_LARGEST.get(name, _LARGEST_NUMBER), others)
    return _text(_LONGEST.get(name, _LONGEST_TEXT), others) if hint is str else _one_of(others | {hint})


def _one_of(kinds: frozenset[type]) -> Callable[[Any], Any]:
    def one(data: Any) -> Any:
        if data.__class__ in kinds:
            return data
        raise _Wrong

    return one


def _text(most: int, others: frozenset[type]) -> Callable[[Any], Any]:
    def text(data: Any) -> Any:
        if data.__class__ is str and len(data) <= most:
            return data
        if data.__class__ in others:
            return data
        if data.__class__ is str:
            raise _Wrong("", f" of {len(data):,} characters, but at most {most:,} are read")
        raise _Wrong

    return text


def _several(each: Callable[[Any], Any], name: str, others: frozenset[type]) -> Callable[[Any], Any]:
    def several(data: Any) -> Any:
        if data.__class__ is not list:
            if data.__class__ in others:
                return data
            raise _Wrong
        if name == "values" and {*map(type, data)} <= _NUMBERS and isfinite(sum(data)):  # nearly all are
            return tuple(data)
        if name == "shape" and len(data) > _MOST_DIMENSIONS:
            raise _Wrong("", f" of {len(data):,} items, but at most {_MOST_DIMENSIONS:,} are read")
        found: list[Any] = []
        try:
            for item in data:
                found.append(each(item))
        except _Wrong as wrong:
            wrong.place = f"[{len(found)}]{wrong.place}"
            raise
        return tuple(found)

    return several


def _fact(kind: Any, others: frozenset[type]) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    fields = [(each.name, _reader(hints[each.name], each.name), each.default) for each in dataclasses.fields(kind)]
    besides = int(issubclass(kind, Record))  # its kind
    names = hints.keys() | ({"kind"} if besides else ())

    def fact(data: Any) -> Any:
        if data.__class__ is not dict:
            if data.__class__ in others:
                return data
            raise _Wrong
        found: list[Any] = []
        known, name = besides, ""
        try:
            for name, read, default in fields:
                if name in data:
                    found.append(read(data[name]))
                    known += 1
                elif default is not dataclasses.MISSING:
                    found.append(default)
                else:
                    raise KeyError(name)
        except KeyError as missing:
            raise _Wrong("", f" without {missing}") from None
        except _Wrong as wrong:
            wrong.place = f".{name}{wrong.place}"
            raise
        if known != len(data):
            raise _Wrong("", f" with an unknown {next(each for each in data if each not in names)!r}")
        if kind is Value:
            return _checked(*found)
        return kind(*found)

    return fact


def _whole_number(most: int, others: frozenset[type]) -> Callable[[Any], Any]:
    def whole(data: Any) -> Any:
        if (data.__class__ is int and 0 <= data <= most) or data.__class__ in others:
            return data
        raise _Wrong

    return whole


def _number(others: frozenset[type]) -> Callable[[Any], Any]:
    def number(data: Any) -> Any:
        if data.__class__ is float and isfinite(data):  # 1e400 is read as infinity
            return data
        if (data.__class__ is int and abs(data) <= _LARGEST_NUMBER) or data.__class__ in others:
            return data
        if data.__class__ is str and data in _NOT_FINITE:
            return float(data)
        raise _Wrong

    return number


def _complex_number(data: Any) -> Any:
    if data.__class__ is str and len(data) <= _LONGEST_COMPLEX:
        with suppress(ValueError):
            return complex(data)
    raise _Wrong


def _checked(*fields: Any) -> Value:
    """Return a value; ValueError if no array can be like that."""
    value = Value(*fields)
    shape, norm = value.shape, value.norm
    if value.batch > len(shape):
        raise ValueError(f"has a value of shape {shape} with {value.batch} batch dimensions")
    if value.values is None and prod(shape) >= _MOST_ELEMENTS:
        raise ValueError("has a value with more elements than an array can have")
    if max(value.zeros or 0, value.off or 0) > prod(shape):
        raise ValueError("has a value with more zeros than elements")
    if value.complex_values is not None and len(value.complex_values) != prod(shape):
        raise ValueError(f"has {len(value.complex_values)} complex numbers for the shape {shape}")
    if norm < 0 or (norm != norm and not value.is_known and (value.values, value.min, value.max) != (None,) * 3):
        raise ValueError("has a value without a norm")
    return value
