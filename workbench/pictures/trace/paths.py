"""The path to each node through the program: the scopes, loops, iterations, calls and expressions around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from types import CodeType
from typing import Any

from .facts import Part
from .forward_records import COMPILED
from .listing import GENERATOR, Listing, Loop, listing
from .source import OWN, line_text, without_comment
from .stacks import Stack

_MOST_PARTS = 64  # parts of one path: of a deeper recursion the calls further in are left out
# What runs a checkpointed part again in backward, in either engine.
_AGAIN = ("recompute_fn", "CheckpointFunction.backward")
# Whose frames are those of the listening.
_OURS = tuple([f"{OWN[0]}{name}" for name in ("events.py", "trace", "bridges")])


class _Frame:
    """One call of a function: where it is, and the iterations of the loops it is in."""

    __slots__ = ("listing", "offset", "rounds", "number", "held", "suspended")

    def __init__(self, point: _Point, number: int) -> None:
        self.listing, self.offset = point
        self.number = number
        self.rounds: dict[Loop, int] = {}
        self.held: dict[str, int] = {}  # by the variables of its loops
        # Generators that it has called and will call again: by what tells each, the call, and the frames that wait.
        self.suspended: dict[_Generator, tuple[Any, list[_Frame]]] = {}

    @property
    def generator(self) -> _Generator:
        """What tells a generator from others: its code, and its frame where that is known."""
        return self.listing.code, self.held.get(GENERATOR, 0)

    def call(self) -> tuple[Any, ...]:
        """Return what is equal whenever this frame goes on with the same generator.

        A `for` loop goes on with one generator in all of its iterations, and `next(it)` with one in all iterations that
        don't set `it`. Any other call gets a new generator.
        """
        place = self.listing.place(self.offset)
        loops = [*place.loops]
        call: Any = self.offset
        if place.asks is not None:
            call, loops = place.asks, [loop for loop in loops if loop is not place.asks]
        elif found := _NEXT.match(self.listing.text(self.offset)):
            call = None
            while loops and found[1] not in loops[-1].sets:
                loops.pop()
        return call, *[(loop, self.rounds.get(loop, 1)) for loop in loops]


_Generator = tuple[CodeType, int]
_Point = tuple[Listing, int]  # of a frame: its instructions, and the one it is at
# A scope's title and serial, the frame that entered it and where that was; of a module also whether none holds it, its
# class and its numbers.
_Entered = tuple[str, int, int, int | None, bool, str, str]
_CALLED = re.compile(r"""([^\W\d][\w.]*(?:\[(?:-?\w+|'[^']*'|"[^"]*")\][\w.]*)*)\(""")  # the variable of a call
_GIVEN = re.compile(r"(?:\w+\.)*checkpoint\(([^\W\d][\w.]*),")  # the variable of what a checkpoint runs
_NEXT = re.compile(r"next\((\w+)[,)]")
_SEVERAL = re.compile(r"\bzip(_longest)?\(")  # which calls several generators in one iteration
_MOST_SUSPENDED = 16  # generators that one frame will go on with
_CALLS = frozenset(("__call__", "_wrapped_call_impl", "_call_impl", "inner"))  # of a module, before its forward


class Paths:
    """Turn stacks, in the order of events, into the path of each node: scopes, loop iterations, calls, expressions.

    A recorder keeps the stack of frames of each node, as codes and instructions; everything else is derived here. The
    instructions of one frame only go back in a loop. Two successive stacks are compared from outside: where they first
    differ, an earlier instruction begins a new iteration of the innermost loop around both. Without such a loop there,
    the function was called again, which is an iteration of a loop around its caller, and so on. Library frames take
    part in this, but aren't parts themselves.
    """

    def __init__(self) -> None:
        self._frames: list[_Frame] = []
        self._serials: tuple[int, ...] = ()  # of the scopes that the last node was made in
        self._places: dict[int, tuple[int, int | None]] = {}  # where each scope was entered
        self._points: dict[tuple[int, int], _Point] = {}
        self._known: list[tuple[Any, ...]] = []  # what tells the parts of the last path
        self._path: tuple[Part, ...] = ()
        self._keys = self._numbers = 0
        self._statements: dict[tuple[str, int], int] = {}  # the numbers of statements, by file and line
        self._last: Stack | None = None  # of one operation all that it does has this same one
        self._waiting: dict[str, int] = {}  # backward that runs -> how many frames wait for it

    def path(self, stack: Stack | None, entry: Any) -> tuple[Part, ...]:
        """Return the path of a node that was made at this stack, in this scope entry."""
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

    def begin(self, task: str) -> None:
        """Begin a backward pass where the program is: until it ends, the frames around it wait, and their loops too."""
        self._waiting[task] = len(self._frames)

    def end(self, task: str | None) -> None:
        """End a backward pass."""
        self._waiting.pop(task or "", None)

    # Stacks.

    def _read(self, stack: Stack) -> list[_Point]:
        """Return the frames, the outermost first, each with its current instruction."""
        codes = stack[1]
        found: list[_Point] = []
        for at in range(0, len(codes), 2):
            code, lasti = codes[at], codes[at + 1]
            key = id(code), lasti
            point = self._points.get(key)
            if point is None or point[0].code is not code:
                code_listing = listing(code)
                point = self._points[key] = code_listing, code_listing.start(lasti)
            found.append(point)
        while found and found[0][0].code.co_filename.startswith(_OURS):
            del found[0]
        return found[::-1]

    def _entered(self, stack: Stack, entry: Any) -> list[_Entered]:
        """Return the open scopes, the outermost first, and the frame that entered each."""
        below, codes, _ = stack
        scopes: list[Any] = []
        while entry is not None:
            scopes.append(entry)
            entry = entry.outer
        found: list[_Entered] = []
        for scope in reversed(scopes):
            if scope.serial not in self._places:
                self._places[scope.serial] = self._place(scope, codes[-2::-2], scope.depth - 1 - below)
            outermost = scope.outer is None and scope.kind and not scope.name.endswith(COMPILED)
            title, unnamed = scope_title(scope.name, scope.kind), bool(outermost) or scope.name == scope.kind
            found.append((title, scope.serial, *self._places[scope.serial], unnamed, scope.kind, scope.settings))
        return found

    @staticmethod
    def _place(scope: Any, codes: Sequence[CodeType], place: int) -> tuple[int, int | None]:
        """Return the frame that entered a scope and still runs; -1 if it is outside the recording."""
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
        held = {place: dict(zip(names, now, strict=True)) for place, names, now in stack[2]}
        self._move(frames, points, held, self._turned(frames, points, held) or self._compare(points, held, entered))
        if entered is not None:
            self._serials = tuple([serial for _, serial, *_ in entered])
        while (at := len(frames)) < len(points):
            inner = {place - at: now for place, now in held.items() if place >= at}
            frames += self._resumed(points[at:], inner) or [self._called(points[at])]
        for place, now in held.items():
            frames[place].held = now

    def _called(self, point: _Point) -> _Frame:
        self._numbers += 1
        return _Frame(point, self._numbers)

    def _resumed(self, points: list[_Point], held: dict[int, dict[str, int]]) -> list[_Frame]:
        """Return the frames of generators that the innermost frame goes on with, moved to where they are now."""
        if not self._frames or not points[0][0].waits:
            return []
        caller = self._frames[-1]
        key = points[0][0].code, held.get(0, {}).get(GENERATOR, 0)
        call, frames = caller.suspended.pop(key, (None, []))
        if call != caller.call():
            return []
        turned = self._turned(frames, points, held)
        self._move(frames, points, held, turned or _earlier(frames, points))
        return frames

    @staticmethod
    def _move(
        frames: list[_Frame], points: list[_Point], held: dict[int, dict[str, int]], step: tuple[int, Loop | None]
    ) -> None:
        """Move frames to other instructions; the last one kept may begin another iteration of a loop."""
        kept, begun = step
        _suspend(frames, kept)
        del frames[kept:]
        for place, frame in enumerate(frames):
            offset = points[place][1]
            if offset != frame.offset:
                frame.offset = offset
                around = frame.listing.place(offset).loops
                frame.rounds = {loop: n for loop, n in frame.rounds.items() if loop in around}
        if begun is not None:
            frame = frames[-1]
            around = frame.listing.place(frame.offset).loops
            outside = around[: around.index(begun)]
            count = frame.rounds.get(begun, 1) + 1
            frame.rounds = {loop: n for loop, n in frame.rounds.items() if loop in outside} | {begun: count}

    @staticmethod
    def _turned(
        frames: list[_Frame], points: list[_Point], held: dict[int, dict[str, int]]
    ) -> tuple[int, Loop | None] | None:
        """Return the number of frames from the same calls as before, and the outermost loop whose variable changed.

        If that loop starts over, a loop around it has another iteration, or its function was called again.
        """
        around: tuple[int, Loop] | None = None  # the innermost loop outside
        for place, (frame, (told, offset)) in enumerate(zip(frames, points, strict=False)):
            before, now = frame.held, held.get(place, {})
            if frame.listing is not told or before.get(GENERATOR) != now.get(GENERATOR):
                break
            was, at = told.place(frame.offset), told.place(offset)
            for loop, other in zip(was.loops, at.loops, strict=False):
                if loop is not other:
                    break
                # What a loop goes through may compute too: then its variable has the value of the round before.
                known = bool(now) and (was.asks is loop) == (at.asks is loop)
                if known and any([before.get(name) != now.get(name) for name in loop.variables]):
                    return around if around is not None and loop.begins_anew(before, now) else (place + 1, loop)
                around = place + 1, loop
            if frame.offset != offset:
                break
        return None

    def _compare(
        self, points: list[_Point], held: dict[int, dict[str, int]], entered: list[_Entered] | None
    ) -> tuple[int, Loop | None]:
        """Return how many frames are the same calls as before, and the last one's loop that has another iteration."""
        frames = self._frames
        most = min(len(frames), len(points))
        differs, other = most, False  # `other`: another generator
        for place, (frame, (told, offset)) in enumerate(zip(frames, points, strict=False)):
            other = frame.held.get(GENERATOR) != held.get(place, {}).get(GENERATOR)
            if other and place and _SEVERAL.search(points[place - 1][0].text(points[place - 1][1])):
                return place, None
            if other or frame.offset != offset or frame.listing is not told:
                differs = place
                break
        outermost = differs  # the frame from which on we look out for a loop
        same = not other and differs < most and frames[differs].listing is points[differs][0]
        onward = same and points[differs][0].follows(frames[differs].offset, points[differs][1])
        anew = self._anew(entered)
        within: list[int] = []  # instructions that the loop has too
        if anew is not None and 0 <= anew[0] <= differs:
            place, lasti = anew
            if lasti is None or place >= most or not points[place][0].users:  # a call
                onward, same, outermost = False, False, place
            elif (told := frames[place].listing) is points[place][0]:
                entry = told.start(lasti)
                here, now = frames[place].offset, points[place][1]
                # What enters a scope may have computed before: a `with` of a function that does both.
                if not told.follows(here, entry) and (here != entry or now == entry):
                    onward, same, outermost, within = False, True, place, [entry]
        if onward:
            return differs + 1, None
        begun, kept = None, outermost
        waiting = max([count for count in self._waiting.values() if count <= outermost], default=0)
        for place in range(outermost if same else outermost - 1, waiting - 1, -1):
            told, offset = points[place]
            if place < differs and told.calls_many(offset):  # the same call still goes on
                kept = place + 1
                break
            begun = told.around(frames[place].offset, offset, *(within if place == outermost else ()))
            if begun is not None:
                kept = place + 1
                break
        return kept, begun

    def _anew(self, entered: list[_Entered] | None) -> tuple[int, int | None] | None:
        """Return where the outermost scope was entered that the last node wasn't in."""
        for at, (_, serial, place, lasti, *_) in enumerate(entered or ()):
            if at >= len(self._serials) or self._serials[at] != serial:
                return place, lasti
        return None

    # Parts.

    def _parts(self, entered: list[_Entered]) -> tuple[Part, ...]:
        """Return the path to where the program is."""
        rows = self._told(entered)
        if len(rows) > _MOST_PARTS:
            rows = [*rows[: _MOST_PARTS - 1], rows[-1]]
        same = 0
        for one, other in zip(rows, self._known, strict=False):
            if one[:3] != other[:3]:
                break
            same += 1
        parts = list(self._path[:same])
        for kind, _, _, title, *more in rows[same:]:
            self._keys += 1
            parts.append(Part(kind, self._keys, title, *more))
        self._known, self._path = rows, tuple(parts)
        return self._path

    def _told(self, entered: list[_Entered]) -> list[tuple[Any, ...]]:
        """Return each part's kind and key, then its title, its number and modules' further facts."""
        frames = self._frames
        users = [place for place, frame in enumerate(frames) if frame.listing.users]
        waiting = list(entered)
        outside = [each for each in waiting if not users or each[2] < users[0]]
        rows: list[tuple[Any, ...]] = [("scope", each[1], 0, each[0], 0, "", *each[-2:]) for each in outside]
        waiting = waiting[len(rows) :]
        for place, after in zip(users, [*users[1:], len(frames)], strict=False):
            frame = frames[place]
            source, number = frame.listing, frame.number
            loops = [*source.place(frame.offset).loops]
            forward, again = False, next((at for at in range(place + 1, after) if _runs_again(frames[at])), None)
            entered_here = ""  # the innermost module that this frame's call has entered
            checkpoint = next((at for at in range(place + 1, after) if _keeps_inputs(frames[at])), None)
            while waiting and waiting[0][2] < after:
                scope, serial, inside, lasti, unnamed, *module = waiting.pop(0)
                calls = [each.listing.code.co_name for each in frames[place + 1 : inside + 1]]
                unnamed = unnamed and not forward and bool(calls) and _CALLS.issuperset(calls)
                forward |= inside > place
                entered_here = (module[0] or scope) if inside > place else entered_here
                entry = () if inside > place or lasti is None else source.place(source.start(lasti)).loops
                while loops and (inside > place or loops[0] in entry):
                    rows += _round(frame, loops.pop(0))
                if again is not None and inside > again:
                    rows.append(_checkpoint(frames[again]))
                    again = None
                if checkpoint is not None and inside > checkpoint:
                    kept = frames[checkpoint].number
                    rows.append(("call", kept, 0, source.text(frame.offset), *self._statement(frame)))
                    unnamed, checkpoint = module[0] == scope, None
                    called = _GIVEN.match(source.text(frame.offset)) if unnamed else None
                else:
                    called = _CALLED.match(source.text(frame.offset)) if unnamed else None
                scope = module[0] if called else scope  # a call tells best what it calls
                statement = self._statement(frame)[0] if inside > place else 0
                rows.append(("scope", serial, 0, scope, statement, called[1] if called else "", *module))
            for loop in loops:
                rows += _round(frame, loop)
            if again is not None:
                rows.append(_checkpoint(frames[again]))
            if after == len(frames):
                text = source.text(frame.offset)
                rows.append(("expression", number, frame.offset, text, *self._statement(frame), entered_here))
                rows += self._in_layer(max([place, *[scope[2] for scope in entered]]))
            elif not (forward or frames[after].listing.comprehends):
                title = source.text(frame.offset) or f"{frames[after].listing.code.co_name}()"
                rows.append(("call", number, frame.offset, title, *self._assigning(frame, title)))
        return rows

    def _statement(self, frame: _Frame) -> tuple[int, str]:
        """Return the number of a frame's current statement, and its text if it has several lines."""
        line, text = frame.listing.statement(frame.offset)
        place = frame.listing.file, line
        return self._statements.setdefault(place, len(self._statements) + 1), text

    def _assigning(self, frame: _Frame, call: str) -> tuple[int, str]:
        """Return a statement's number, and its text if it assigns what a call gives, or has several lines."""
        number, text = self._statement(frame)
        if not text:
            line = without_comment(line_text(frame.listing.file, frame.listing.line(frame.offset))).strip()
            text = line if call in line.partition(" = ")[2] else ""
        return number, text

    def _in_layer(self, place: int) -> list[tuple[Any, ...]]:
        """Return the loop iterations and the expression inside a layer of this package that a frame calls."""
        rows: list[tuple[Any, ...]] = []
        within = [each for each in self._frames[place + 1 :] if each.listing.layers]
        for frame in within:
            for loop in frame.listing.place(frame.offset).loops:
                if loop.statement:
                    (*around, _, number), turn = _round(frame, loop)
                    rows += [(*around, "", number), turn]
        if not rows:
            return []
        inner = within[-1]
        return [*rows, ("expression", inner.number, inner.offset, inner.listing.text(inner.offset), 0)]


def _suspend(frames: list[_Frame], kept: int) -> None:
    """Let the innermost frame that is kept remember the generators that it has called, of the frames that are not."""
    waiting = [*takewhile(lambda frame: frame.listing.waits, frames[kept:])]
    if not (kept and waiting):
        return
    caller = frames[kept - 1]
    suspended = caller.suspended
    suspended.pop(waiting[0].generator, None)
    suspended[waiting[0].generator] = caller.call(), waiting
    if len(suspended) > _MOST_SUSPENDED:
        del suspended[next(iter(suspended))]


def _earlier(frames: list[_Frame], points: list[_Point]) -> tuple[int, Loop | None]:
    """Return how many generators go on, and the last one's loop that has another iteration, by their instructions."""
    for place, (frame, (told, offset)) in enumerate(zip(frames, points, strict=False)):
        if frame.listing is not told:
            return place, None
        if frame.offset != offset or place == len(frames) - 1 or place == len(points) - 1:
            if told.follows(frame.offset, offset):
                return place + 1, None
            begun = told.around(frame.offset, offset)
            return place + (begun is not None), begun
    return 0, None


def scope_title(name: str, module: str) -> str:
    """Return a scope's title in pictures; a layer named by a number gets its class too, as in `0 › Linear`."""
    return f"{name} › {module}" if module and name.isdigit() else name


def _round(frame: _Frame, loop: Loop) -> list[tuple[Any, ...]]:
    count = frame.rounds.setdefault(loop, 1)
    around = ("loop", frame.number, loop, loop.title, 0)
    return [around, ("round", (frame.number, loop), count, f"iteration {count:,}", count)]


def _runs_again(frame: _Frame) -> bool:
    name = frame.listing.code.co_qualname.rpartition("<locals>.")[2]
    return name in _AGAIN and _is_in_checkpoint(frame)


def _keeps_inputs(frame: _Frame) -> bool:
    """Return True for the call of a checkpoint, which keeps the inputs of what it runs alone."""
    return frame.listing.code.co_qualname == "checkpoint" and _is_in_checkpoint(frame)


def _is_in_checkpoint(frame: _Frame) -> bool:
    return frame.listing.code.co_filename.replace("\\", "/").endswith("/utils/checkpoint.py")


def _checkpoint(frame: _Frame) -> tuple[Any, ...]:
    """Return the scope of what a checkpoint runs again."""
    return "scope", -frame.number, 0, "checkpoint", 0, "", "", ""
