"""What describes an engine to a trace, whatever engine that is: raw events, and the records that are read of them."""

from __future__ import annotations

from typing import Any

from .cuts import Cuts
from .reader import Reader
from .records import TensorsFound
from .schema import Raw, Record
from .stacks import Outlook


class Describer:
    """Puts down what it is shown, each thing under its serial number, in raw events that a Reader makes records of."""

    _reading: type[Reader] = Reader

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.outlook = Outlook()
        self._raw: list[Raw] = []
        self._gone = 0  # records that were let go
        self._tensors: set[int] = set()
        self._names: dict[int, str] = {}  # tensor -> the first variable found that holds it
        self._detached: dict[int, int] = {}  # tensor -> the one that it was detached from
        self._cuts = Cuts()
        self._read_anew()

    # What a trace asks for.

    def records(self, count: int | None = None) -> list[Record]:
        """Everything put down so far, or up to when `count` was this number."""
        self._bury()
        if len(self._names) != self._named:  # a name belongs to its tensor from the beginning
            self._read_anew()
        records = self._reader.read(self._raw)
        if count is None:
            return records
        left = count - self._gone
        return records[: left + bool(self._gone)] if left > 0 else []

    @property
    def count(self) -> int:
        """How many records there were so far."""
        return self._gone + len(self._raw) - bool(self._gone)  # the first then tells of those that are gone

    def id_of(self, serial: int) -> str | None:
        """The id by which the records speak of a node or a tensor, if they do."""
        self.records()
        return self._reader.id_of(serial)

    def _read_anew(self) -> None:
        self._reader, self._named = self._reading(self._names), len(self._names)

    def _changed(self, at: int) -> None:
        """The raw event there is no longer what it was."""
        if self._reader.read_already > at:
            self._read_anew()

    def _bury(self) -> None:
        """Put down the nodes that were let go since the last event."""
        raise NotImplementedError

    # What is put down.

    def _tell(self, found: dict[int, Any]) -> None:
        """Put down tensors as they are, if there are any."""
        if found:
            self._raw.append((TensorsFound, tuple(found.values())))
