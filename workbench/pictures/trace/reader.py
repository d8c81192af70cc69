"""The reader: it makes records of raw events, and gives ids to what these know by serial numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .cuts import Way
from .facts import Argument, Code, Cut, Packing, Saved, SourceLine, Storage, TensorSeen
from .fitting import fitted
from .formulas import code_of, text_of
from .gap_records import EventLost
from .gc_paused import gc_paused
from .paths import Paths
from .schema import Raw, Record
from .source import Line, source
from .stacks import Stack, line_in
from .values import read, value


class _Ids(dict[int, str]):
    """Ids by serial number; one without a record gets an unused id, which is noted."""

    missed = False

    def __missing__(self, serial: int) -> str:
        self.missed = True
        return f"?{serial}"


class Reader:
    """Reads a growing list of raw events; `names` gives the variable of a tensor's serial number."""

    def __init__(self, names: dict[int, str]) -> None:
        self._names = names
        self._records: list[Record] = []
        self.ids = _Ids()
        self._counts = {"n": 0, "t": 0, "b": 0, "l": 0, "o": 0, "k": 0, "c": 0, "m": 0, "s": 0}
        self._storages: dict[int, str] = {}  # those that no tensor has told of
        self._last: dict[str, TensorSeen] = {}
        self._code: dict[type, tuple[Code, ...]] = {}
        self.paths = Paths()

    def read(self, raw: Sequence[Raw]) -> list[Record]:
        """Return the records of all raw events so far."""
        news = raw[len(self._records) :]
        with gc_paused():
            self._records += [self._read(each) for each in news]
            if news and self.ids.missed:
                self._records = fitted(self._records)
        return self._records

    def _read(self, raw: Raw) -> Record:
        """Return the record of a raw event; one that can't be read is lost, and no other."""
        try:
            return self.record(raw)
        except Exception:
            self.ids.missed = True
            return EventLost(raw[0].__name__)

    def record(self, raw: Raw) -> Record:
        """Return the record of a raw event, after all before it have been read."""
        read: Callable[..., Record] = raw[0].read
        return read(self, *raw[1:])

    @property
    def read_already(self) -> int:
        """Return the number of raw events it has read."""
        return len(self._records)

    def forget_all_but(self, tensors: set[int]) -> None:
        """Describe all tensors again, except for these."""
        known = {self.ids.get(serial) for serial in tensors}
        self._last = {id: seen for id, seen in self._last.items() if id in known}

    # What raw events ask as they are read.

    def id(self, serial: int, kind: str) -> str:
        """Return the id of a serial number; a new one of this kind if no record has it."""
        if serial not in self.ids:
            self._counts[kind] += 1
            self.ids[serial] = f"{kind}{self._counts[kind]}"
        return self.ids[serial]

    def id_of(self, serial: int) -> str | None:
        """Return the id of a serial number, if a record has it."""
        return self.ids.get(serial)

    def place(self, serial: int | None) -> str | None:
        """Return the id of a recorded thing, if there is one."""
        return None if serial is None else self.ids[serial]

    def code(self, cls: type) -> tuple[Code, ...]:
        """Return the code of a node of this class."""
        if cls not in self._code:
            self._code[cls] = code_of(cls)
        return self._code[cls]

    def source(self, stack: Stack | None) -> SourceLine | None:
        """Return the user's line at a stack."""
        return None if stack is None else source(line_in(stack))

    def seen_at(self, stack: Stack) -> SourceLine | None:
        """Return the line of an event without a node, which shows how far the program is."""
        self.paths.see(stack)
        return self.source(stack)

    def saved(
        self,
        slot: str,
        own: int | None,
        copy: Any,
        at: int,
        packed: tuple[Any, ...] | None = None,
        storage: tuple[int, int] | None = None,
    ) -> Saved:
        """Return what a node or a checkpoint saves."""
        shown = None if storage is None else self._storage(*storage)
        if packed is None:
            return Saved(slot, self.place(own), value(copy), at, storage=shown)
        hook, line, kept, of = packed
        return Saved(slot, None, value(copy), at, Packing(hook, source(line), kept, self.place(of)), shown)

    def _storage(self, serial: int, size: int) -> Storage:
        """Return the storage with its owner's serial number, or a storage of its own."""
        id = self.ids.get(serial) or self._storages.get(serial)
        if id is None:
            self._counts["s"] += 1
            id = self._storages[serial] = f"s{self._counts['s']}"
        return Storage(id, size)

    def changed(self, tensor: int) -> str:
        """Return the id of a tensor that has changed since it was last seen."""
        id = self.ids[tensor]
        self._last.pop(id, None)
        return id

    def seen(self, tensors: tuple[Any, ...]) -> tuple[TensorSeen, ...]:
        """Return the tensors that are new, or changed since they were last seen."""
        news: list[TensorSeen] = []
        for each in tensors:  # a cut may be of one that comes later
            self.id(each[0], "t")
        for serial, copy, version, requires_grad, node, output_nr, grad, level, below, base, *cut in tensors:
            seen = TensorSeen(
                id=self.id(serial, "t"),
                name=self._names.get(serial),
                value=read(copy),
                version=version,
                requires_grad=requires_grad,
                node=None if node is None else self.ids.get(node),
                output_nr=output_nr,
                grad=value(grad),
                level=self.place(level),
                below=self.ids.get(below),
                base=self.ids.get(base),
                cut=self.cut(*cut[0]) if cut else None,
            )
            if self._last.get(seen.id) != seen:
                self._last[seen.id] = seen
                news.append(seen)
        return tuple(news)

    def cut(self, way: Way, word: str, line: Line, operation: str = "", others: tuple[int, ...] = ()) -> Cut:
        """Return where a gradient would have gone, as far as the records show it."""
        known = [self.ids[each] for each in others if each in self.ids]
        own = None if way.place is None else self.ids.get(way.place)
        return Cut(own, way.output_nr, word, source(line), operation, tuple(known))

    def argument(self, arg: Any) -> Argument:
        """Return an argument of an operation."""
        if arg.__class__ is tuple:
            return Argument(self.ids[arg[0]], *arg[1:] or ("",))
        return Argument(None, text_of(arg))
