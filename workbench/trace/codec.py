"""Records as JSON and back: a dict of the fields and the `kind`; NaN and infinities are strings.

A field that has a default is left out where it has that value: files from before it was there can be read.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
import types
import typing
from typing import Any

from .facts import Record
from .records import RECORDS

# More than any recording has: what is longer was made to take long.
_MOST = 2**63 - 1  # of a whole number: a count, a size, a version
_LONGEST_TEXT = 1_000_000  # characters: of a line, of a method
_LONGEST_LIST = 10_000  # edges, arguments, saved tensors, gradients of one event
_MOST_VALUES = 10_000_000  # of one array
_MOST_DIMENSIONS = 64  # as NumPy has it
_LENGTHS = {"values": _MOST_VALUES, "shape": _MOST_DIMENSIONS}


def encode(fact: Any) -> Any:
    """A record, or anything in it, as what JSON can say."""
    if dataclasses.is_dataclass(fact):
        kind = {"kind": type(fact).__name__} if isinstance(fact, Record) else {}
        fields = [(each, getattr(fact, each.name)) for each in dataclasses.fields(fact)]
        return kind | {each.name: encode(value) for each, value in fields if value != each.default}
    if isinstance(fact, tuple):
        return [encode(each) for each in fact]
    if isinstance(fact, float) and not math.isfinite(fact):
        return str(fact)
    return fact


def brief(text: str) -> str:
    """A text that may hold much of a file, short enough for a sentence."""
    return text if len(text) <= 150 else f"{text[:100]} … {text[-40:]}"


def decode(data: Any) -> Record:
    """The record a dict tells of; a ValueError says what is wrong with it."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise ValueError("is no object with a kind")
    if data["kind"] not in RECORDS:
        raise ValueError(f"is of the unknown kind {data['kind']!r}")
    fields = {name: value for name, value in data.items() if name != "kind"}
    return _read(RECORDS[data["kind"]], fields, data["kind"])


def _read(kind: Any, data: Any, where: str) -> Any:
    """Data as the type says, or a ValueError naming the place."""
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if data is None else _read(options[0], data, where)
    if isinstance(data, list) and len(data) > (most := _LENGTHS.get(where.rpartition(".")[2], _LONGEST_LIST)):
        raise ValueError(f"has a {where} of {len(data):,} items, and at most {most:,} are read")
    if isinstance(data, str) and len(data) > _LONGEST_TEXT:
        raise ValueError(f"has a {where} of {len(data):,} characters, and at most {_LONGEST_TEXT:,} are read")
    if origin is tuple and isinstance(data, list):
        return tuple(_read(options[0], each, f"{where}[{index}]") for index, each in enumerate(data))
    if dataclasses.is_dataclass(kind) and isinstance(data, dict):
        hints = _types(kind)
        for name in sorted((hints.keys() ^ data.keys()) - (_optional(kind) - data.keys())):
            raise ValueError(f"has a {where} {'without' if name in hints else 'with an unknown'} {name!r}")
        return kind(**{name: _read(hints[name], each, f"{where}.{name}") for name, each in data.items()})
    if kind is float:
        if data in ("nan", "inf", "-inf"):
            return float(data)
        if type(data) in (int, float) and abs(data) <= sys.float_info.max:  # 1e400 is read as infinity
            return data
    elif type(data) is kind and (kind is not int or abs(data) <= _MOST):
        return data
    raise ValueError(f"has a wrong {where}")


@functools.cache
def _types(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {each.name: hints[each.name] for each in dataclasses.fields(cls)}


@functools.cache
def _optional(cls: Any) -> frozenset[str]:
    return frozenset(each.name for each in dataclasses.fields(cls) if each.default is not dataclasses.MISSING)
