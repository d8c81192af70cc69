"""A trace as a file: JSON, an event a line, compressed if it is large.

Reading runs no code of a file, and takes no more than a plain limit of bytes and events.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any

from .event_checks import brief, played
from .gc_paused import gc_paused
from .json_records import decode, encode
from .parts_table import PartsRead, PartsWritten
from .schema import RECORDS, Record

FORMAT = "workbench-trace"
VERSION = 1
_SHORTENED = 2  # the version of files that had what events share once, which nothing writes any more
_LARGE = 1_000_000  # bytes: more are compressed
_MOST_BYTES = 2**28  # of the text of a file
_MOST_EVENTS = 1_000_000


def to_dict(events: Sequence[Record]) -> dict[str, Any]:
    """Return a trace in JSON's own types."""
    parts = PartsWritten()
    rows = [encode(event, parts) for event in events]
    return {"format": FORMAT, "version": VERSION, "parts": parts.rows, "events": rows}


def to_text(events: Sequence[Record], picture: Mapping[str, str] | None = None) -> str:
    """Return a trace as JSON text, with one event per line, and with its `picture`, which only browsers read."""
    parts = PartsWritten()
    lines = ",\n".join([json.dumps(encode(event, parts), allow_nan=False) for event in events])
    head = json.dumps({"format": FORMAT, "version": VERSION, "parts": parts.rows})
    more = f', "picture": {json.dumps(picture)}' if picture else ""
    return f'{head.removesuffix("}")}, "events": [\n{lines}\n]{more}}}\n'


def to_bytes(events: Sequence[Record], picture: Mapping[str, str] | None = None) -> bytes:
    """Return the text as a file holds it, compressed if it is large; ValueError if it is too large to be read again."""
    content = to_text(events, picture).encode()
    if len(events) > _MOST_EVENTS or len(content) > _MOST_BYTES:
        raise ValueError(
            f"This trace has {len(events):,} events in {len(content):,} bytes, but a file may have at most "
            f"{_MOST_EVENTS:,} in {_MOST_BYTES:,}. Record fewer events with `last`, or fewer values per array with "
            "`limit`."
        )
    return gzip.compress(content, 6, mtime=0) if len(content) > _LARGE else content


def from_file(path: str | PathLike[str]) -> list[Record]:
    """Return the events of a file; ValueError says what is wrong with it."""
    with gc_paused():
        try:
            data = json.loads(_text_of(path), object_hook=_at_once)
        except (ValueError, RecursionError, zlib.error) as error:
            raise ValueError(f"{brief(str(path))} isn't a trace saved by the workbench: {brief(str(error))}.") from None
        return from_dict(data)


def _text_of(path: str | PathLike[str]) -> str:
    """Return the text of a file, compressed or not; no more of it is in memory than is read."""
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if content.startswith(b"\x1f\x8b"):
        unpacking = zlib.decompressobj(wbits=31)
        content = unpacking.decompress(content, _MOST_BYTES + 1)
        if not unpacking.eof and len(content) <= _MOST_BYTES:
            raise ValueError("the file ends too early")
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES:,} bytes, the maximum")
    return content.decode("utf-8-sig")  # some editors begin a file with a mark


def _at_once(data: dict[str, Any]) -> Any:
    """Return an event's record as soon as it is parsed: all events as dicts take ten times the memory."""
    if data.get("kind").__class__ is str and data["kind"] in RECORDS:
        with suppress(ValueError):  # it is refused in its turn
            return decode(data)
    return data


def from_dict(data: Any) -> list[Record]:
    """Return the events of a trace given in JSON's own types; ValueError says what is wrong."""
    if data.__class__ is not dict or data.get("format") != FORMAT:
        raise ValueError(f"This isn't a trace: its format isn't {FORMAT!r}.")
    version = data.get("version")
    if version.__class__ is int and version == _SHORTENED:
        raise ValueError(
            f"This trace has version {_SHORTENED}, which is no longer supported. Record the program and save it again."
        )
    if version.__class__ is not int or version != VERSION:
        raise ValueError(f"This trace has version {brief(repr(version))}, but this workbench reads version {VERSION}.")
    if data.get("events").__class__ is not list:
        raise ValueError("This trace has no list of events.")
    if len(data["events"]) > _MOST_EVENTS:
        raise ValueError(f"This trace has {len(data['events']):,} events, but at most {_MOST_EVENTS:,} are read.")
    return played(data["events"], PartsRead(data.get("parts", [])))
