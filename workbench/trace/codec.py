"""Records as JSON and back: a dict of the fields and the `kind`; NaN and infinities are strings.

A field that has a default is left out where it has that value: files from before it was there can be read.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from typing import Any

from .facts import Record
from .records import RECORDS


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
    if origin is tuple and isinstance(data, list):
        return tuple(_read(options[0], each, f"{where}[{index}]") for index, each in enumerate(data))
    if dataclasses.is_dataclass(kind) and isinstance(data, dict):
        hints = _types(kind)
        for name in sorted((hints.keys() ^ data.keys()) - (_optional(kind) - data.keys())):
            raise ValueError(f"has a {where} {'without' if name in hints else 'with an unknown'} {name!r}")
        return kind(**{name: _read(hints[name], each, f"{where}.{name}") for name, each in data.items()})
    if kind is float and data in ("nan", "inf", "-inf"):
        return float(data)
    if kind is float and isinstance(data, int | float) or type(data) is kind:
        return data
    raise ValueError(f"has a wrong {where}")


@functools.cache
def _types(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {each.name: hints[each.name] for each in dataclasses.fields(cls)}


@functools.cache
def _optional(cls: Any) -> frozenset[str]:
    return frozenset(each.name for each in dataclasses.fields(cls) if each.default is not dataclasses.MISSING)
