"""Raw events read as records: what was put down of each thing gets an id, a name and its place in the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .paths import Paths, line_in
from .records import BackwardStarted
from .schema import Argument, Code, Packing, Raw, Record, Saved, SourceLine, TensorSeen
from .source import Stack, code_of, source, text_of
from .values import read, value


class Reader:
    """Reads a growing list of raw events; `names` gives the variable of a tensor's serial number."""

    def __init__(self, names: dict[int, str]) -> None:
        self._names = names
        self._records: list[Record] = []
        self.ids: dict[int, str] = {}
        self._counts = {"n": 0, "t": 0, "b": 0, "l": 0, "o": 0, "k": 0, "c": 0, "m": 0}
        self._last: dict[str, TensorSeen] = {}
        self._code: dict[type, tuple[Code, ...]] = {}
        self.paths = Paths()
        self._later: list[Any] = []  # of the backwards still to be read, the last first: what loops' variables hold

    def read(self, raw: Sequence[Raw]) -> list[Record]:
        """The records of all raw events so far."""
        news = raw[len(self._records) :]
        self._later = [each.loops for each in reversed(news) if isinstance(each, BackwardStarted.Raw)]
        if self._records and self._later and self.paths.missed(self._later[-1]):
            self.__init__(self._names)  # type: ignore[misc]
            return self.read(raw)
        self._records += [each.read(self) for each in news]
        return self._records

    @property
    def read_already(self) -> int:
        """How many raw events it has read."""
        return len(self._records)

    def unlearn(self, tensors: set[int]) -> None:
        """Tell anew of all tensors but these."""
        known = {self.ids.get(serial) for serial in tensors}
        self._last = {id: seen for id, seen in self._last.items() if id in known}

    # What raw events ask as they are read.

    def id(self, serial: int, kind: str) -> str:
        """The id of a serial number, a new one of this kind if no record has told of it."""
        if serial not in self.ids:
            self._counts[kind] += 1
            self.ids[serial] = f"{kind}{self._counts[kind]}"
        return self.ids[serial]

    def id_of(self, serial: int) -> str | None:
        """The id of a serial number, if a record has told of it."""
        return self.ids.get(serial)

    def place(self, serial: int | None) -> str | None:
        """The id of what a record has told of, if there is such a thing."""
        return None if serial is None else self.ids[serial]

    def code(self, cls: type) -> tuple[Code, ...]:
        """What a node of this class computes."""
        if cls not in self._code:
            self._code[cls] = code_of(cls)
        return self._code[cls]

    def source(self, stack: Stack | None) -> SourceLine | None:
        """The user's line at a stack."""
        return None if stack is None else source(line_in(stack))

    def seen_at(self, stack: Stack) -> SourceLine | None:
        """The line of what makes no node, which tells how far the program is."""
        self.paths.see(stack)
        return self.source(stack)

    def begin(self, loops: Any) -> None:
        """A backward begins where the loops' variables hold this."""
        if self._later:
            self._later.pop()
        self.paths.expect(loops, self._later[-1] if self._later else None)

    def saved(self, slot: str, own: int | None, copy: Any, at: int, packed: tuple[Any, ...] | None = None) -> Saved:
        """What a node, or a checkpoint, keeps."""
        if packed is None:
            return Saved(slot, self.place(own), value(copy), at)
        hook, line, kept, of = packed
        return Saved(slot, None, value(copy), at, Packing(hook, source(line), kept, self.place(of)))

    def changed(self, tensor: int) -> str:
        """The id of a tensor that is not as it was when last seen."""
        id = self.ids[tensor]
        self._last.pop(id, None)
        return id

    def seen(self, tensors: tuple[Any, ...]) -> tuple[TensorSeen, ...]:
        """The tensors that are new, or not as they were when last seen."""
        news = []
        for serial, copy, version, requires_grad, node, output_nr, grad, level, below, base in tensors:
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
            )
            if self._last.get(seen.id) != seen:
                self._last[seen.id] = seen
                news.append(seen)
        return tuple(news)

    def argument(self, arg: Any) -> Argument:
        """What an operation was called with."""
        if isinstance(arg, tuple):
            return Argument(self.ids[arg[0]], *arg[1:] or ("",))
        return Argument(None, text_of(arg))
