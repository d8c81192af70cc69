"""Raw events read as records: what was put down of each thing gets an id, a name and its place in the program."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from .records import BackwardStarted
from .schema import Argument, Code, Packing, Part, Raw, Record, Saved, SourceLine, TensorSeen
from .source import OWN, Listing, Loop, Stack, code_of, is_users, listing, source, text_of
from .values import read, value

_MOST = 64  # parts of one path: of a deeper recursion the calls further in are left out
# Whose frames are those of the listening.
_OURS = tuple([f"{OWN[0]}{name}" for name in ("events.py", "trace", "bridges")])


class _Frame:
    """One call of a function: where it is, and the rounds of the loops it is in, by their first instruction."""

    __slots__ = ("listing", "at", "offset", "rounds", "number")

    def __init__(self, point: _Point, number: int) -> None:
        self.listing, self.at, self.offset = point
        self.number = number
        self.rounds: dict[int, int] = {}


_Point = tuple[Listing, int, int]  # of a frame: its instructions, the one that says how far it is, and the one it is at
Marks = Sequence[tuple[int, dict[str, int]]]  # of the frames in loops, what the loops' variables hold
_Entered = tuple[str, int, int, int | None]  # a scope's name and serial, the frame that entered it, and where that was


class Paths:
    """Fed with stacks in the order of events, gives the path of each node: scopes, rounds of loops, calls, expressions.

    A recorder keeps of each node the stack of frames, as codes and instructions; all else is read off them here. The
    instructions of one frame only go back by a loop. Two stacks in succession are compared from outside: where they
    first differ, an instruction further back begins a new round of the innermost loop around both; without such a loop
    there, the function was called anew, which makes it a round of a loop around its caller, or so on. Frames of
    libraries take part in that, and make no parts of their own.
    """

    def __init__(self) -> None:
        self._frames: list[_Frame] = []
        self._serials: tuple[int, ...] = ()  # of the scopes that the last node was made in
        self._places: dict[int, tuple[int, int | None]] = {}  # where each scope was entered
        self._points: dict[tuple[int, int], _Point] = {}
        self._known: list[tuple[Any, ...]] = []  # what tells the parts of the last path
        self._path: tuple[Part, ...] = ()
        self._keys = self._numbers = 0
        self._backward: tuple[list[tuple[Listing, int]], Marks] = [], ()  # where the last one was
        self._last: Stack | None = None  # of one operation all that it does has this same one
        self._turn: tuple[int, Loop] | None = None  # the frame and the loop that has another round by the next

    def path(self, stack: Stack | None, entry: Any) -> tuple[Part, ...]:
        """The path of a node that was made at this stack, in this entry of a scope."""
        if stack is None:
            return ()
        if stack is self._last:
            return self._path
        entered = self._entered(stack, entry)
        self._go(stack, entered)
        self._last = stack
        return self._parts(entered)

    def see(self, stack: Stack) -> None:
        """Something else happened at this stack."""
        if stack is not self._last:
            self._go(stack, None)

    def expect(self, now: Marks, then: Marks | None) -> None:
        """At a backward: what the variables of loops hold, and what they hold at the next one, if that is known."""
        self._backward = [(frame.listing, frame.at) for frame in self._frames], now
        self._turn = None if then is None else self._turned_by(then)

    def missed(self, then: Marks) -> bool:
        """Whether what is known only now of the backward after the last one would have made another path."""
        return self._turned_by(then) is not None

    def _turned_by(self, then: Marks) -> tuple[int, Loop] | None:
        """The outermost loop around the last backward whose variable holds something else at the next."""
        frames, now = self._backward
        for (place, held), (other, later) in zip(now, then, strict=False):
            if place != other or place >= len(frames):
                break
            told, at = frames[place]
            for loop in told.loops:
                if loop.has(at) and any([name in held and held[name] != later.get(name) for name in loop.variables]):
                    return place, loop
        return None

    # Stacks.

    def _read(self, stack: Stack) -> list[_Point]:
        """The frames, the outermost first, each with the instruction it is at."""
        codes = stack[1]
        found: list[_Point] = []
        for at in range(0, len(codes), 2):
            code, lasti = codes[at], codes[at + 1]
            key = id(code), lasti
            point = self._points.get(key)
            if point is None or point[0].code is not code:
                told = listing(code)
                offset = told.start(lasti)
                point = self._points[key] = told, told.settled(offset), offset
            found.append(point)
        while found and found[0][0].code.co_filename.startswith(_OURS):
            del found[0]
        return found[::-1]

    def _entered(self, stack: Stack, entry: Any) -> list[_Entered]:
        """The scopes that are open, the outermost first, and which frame entered each."""
        below, codes = stack
        scopes: list[Any] = []
        while entry is not None:
            scopes.append(entry)
            entry = entry.outer
        found: list[_Entered] = []
        for scope in reversed(scopes):
            if scope.serial not in self._places:
                self._places[scope.serial] = self._place(scope, codes[-2::-2], scope.depth - 1 - below)
            found.append((scope.name, scope.serial, *self._places[scope.serial]))
        return found

    @staticmethod
    def _place(scope: Any, codes: Sequence[CodeType], place: int) -> tuple[int, int | None]:
        """The frame that entered a scope and still runs; -1 if it is outside of what was recorded."""
        for at in range(0, len(scope.frames), 2):
            if 0 <= place < len(codes) and codes[place] is scope.frames[at]:
                return place, scope.frames[at + 1]
            place -= 1
        return -1, None

    def _go(self, stack: Stack, entered: list[_Entered] | None) -> None:
        """Follow the program to another stack."""
        points, frames = self._read(stack), self._frames
        if not points:
            return
        kept, begun = self._compare(points, entered)
        if entered is not None:
            self._serials = tuple([serial for _, serial, _, _ in entered])
        del frames[kept:]
        for place, frame in enumerate(frames):
            _, at, frame.offset = points[place]
            if at != frame.at:
                frame.at = at
                frame.rounds = {first: n for first, n in frame.rounds.items() if _around(frame.listing, first, at)}
        if begun is not None:
            loop, frame = begun, frames[-1]
            count = frame.rounds.get(loop.first, 1) + 1
            frame.rounds = {first: n for first, n in frame.rounds.items() if not loop.has(first)} | {loop.first: count}
        for point in points[len(frames) :]:
            self._numbers += 1
            frames.append(_Frame(point, self._numbers))

    def _compare(self, points: list[_Point], entered: list[_Entered] | None) -> tuple[int, Loop | None]:
        """How many frames are the same calls as before, and the loop of the last of them that begins another round."""
        frames = self._frames
        most = min(len(frames), len(points))
        differs = most
        for place, (frame, (told, _, offset)) in enumerate(zip(frames, points, strict=False)):
            if frame.offset != offset or frame.listing is not told:
                differs = place
                break
        outermost = differs  # the frame from which on we look out for a loop
        same = differs < most and frames[differs].listing is points[differs][0]
        onward = same and points[differs][0].follows(frames[differs].offset, points[differs][2])
        anew = self._anew(entered)
        within: list[int] = []  # instructions that the loop has too
        if anew is not None and 0 <= anew[0] <= differs:
            place, lasti = anew
            if lasti is None or place >= most or not points[place][0].users:  # a call
                onward, same, outermost = False, False, place
            else:
                entry = points[place][0].start(lasti)
                if entry <= frames[place].at:
                    onward, same, outermost, within = False, frames[place].listing is points[place][0], place, [entry]
        if onward:
            return differs + 1, None
        begun, kept = None, outermost
        for place in range(outermost if same else outermost - 1, -1, -1):
            told, at, offset = points[place]
            if place < differs and told.calls_many(offset):  # the same call still goes on
                kept = place + 1
                break
            begun = told.around(frames[place].at, at, *(within if place == outermost else ()))
            if begun is not None:
                kept = place + 1
                break
        return self._turned(kept, begun)

    def _anew(self, entered: list[_Entered] | None) -> tuple[int, int | None] | None:
        """Where the outermost scope was entered that the last node was not in."""
        for at, (_, serial, place, lasti) in enumerate(entered or ()):
            if at >= len(self._serials) or self._serials[at] != serial:
                return place, lasti
        return None

    def _turned(self, kept: int, begun: Loop | None) -> tuple[int, Loop | None]:
        """The round that begins: of a loop outside of the one found, if its variable will have changed."""
        if begun is None or self._turn is None:
            return kept, begun
        (place, outer), then = self._turn, self._backward[0]
        # Loops after the backward, of the same round, are no reason: that begins another where the backward was in one.
        told, at = then[kept - 1] if kept <= len(then) else (None, 0)
        if self._frames[kept - 1].listing is not told or not begun.has(at):
            return kept, begun
        self._turn = None
        inside = place < kept - 1 or (place == kept - 1 and outer is not begun and outer.has(begun.first))
        return (place + 1, outer) if inside else (kept, begun)

    # Parts.

    def _parts(self, entered: list[_Entered]) -> tuple[Part, ...]:
        """The path to where the program is."""
        told = self._told(entered)
        if len(told) > _MOST:
            told = [*told[: _MOST - 1], told[-1]]
        same = 0
        for one, other in zip(told, self._known, strict=False):
            if one[:3] != other[:3]:
                break
            same += 1
        parts = list(self._path[:same])
        for kind, *_, title, number in told[same:]:
            self._keys += 1
            parts.append(Part(kind, self._keys, title, number))
        self._known, self._path = told, tuple(parts)
        return self._path

    def _told(self, entered: list[_Entered]) -> list[tuple[Any, ...]]:
        """Of each part its kind and what tells it from others, then its title and number."""
        frames = self._frames
        users = [place for place, frame in enumerate(frames) if frame.listing.users]
        waiting = list(entered)
        told = [("scope", serial, 0, name, 0) for name, serial, place, _ in waiting if not users or place < users[0]]
        waiting = waiting[len(told) :]
        for place, after in zip(users, [*users[1:], len(frames)], strict=False):
            frame = frames[place]
            source, number = frame.listing, frame.number
            loops = [loop for loop in source.loops if loop.has(frame.at)]
            forward = False
            while waiting and waiting[0][2] < after:
                name, serial, inside, lasti = waiting.pop(0)
                forward |= inside > place
                while loops and (inside > place or (lasti is not None and loops[0].has(lasti))):
                    told += _round(frame, loops.pop(0))
                told.append(("scope", serial, 0, name, 0))
            for loop in loops:
                told += _round(frame, loop)
            if after == len(frames):
                told.append(("expression", number, frame.offset, source.text(frame.offset), 0))
            elif not (forward or frames[after].listing.comprehends):
                title = source.text(frame.offset) or f"{frames[after].listing.code.co_name}()"
                told.append(("call", number, frame.offset, title, 0))
        return told


def _round(frame: _Frame, loop: Loop) -> list[tuple[Any, ...]]:
    count = frame.rounds.setdefault(loop.first, 1)
    around = ("loop", frame.number, loop.first, loop.title, 0)
    return [around, ("round", (frame.number, loop.first), count, f"round {count:,}", count)]


def _around(listing: Listing, first: int, at: int) -> bool:
    return next(loop.has(at) for loop in listing.loops if loop.first == first)


def line_in(stack: Stack) -> tuple[str, int] | None:
    """The file and the line of the user's code; in a thread that runs nothing of the user's, of a library's."""
    found = None
    codes = stack[1]
    for at in range(0, len(codes), 2):
        file = codes[at].co_filename
        if is_users(file):
            found = at
            break
        if found is None and not file.startswith(OWN):
            found = at
    if found is None:
        return None
    told = listing(codes[found])
    return codes[found].co_filename, told.line(told.start(codes[found + 1]))


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
        news: list[TensorSeen] = []
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
        if arg.__class__ is tuple:
            return Argument(self.ids[arg[0]], *arg[1:] or ("",))
        return Argument(None, text_of(arg))
