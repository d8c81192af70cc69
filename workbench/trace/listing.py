"""The instructions of one code: the text that each computes, and the loops that it is in."""

from __future__ import annotations

import ast
import bisect
import dis
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import CodeType

from .schema import SourceLine
from .source import LAYERS, is_users, joined, line_text, shortened, source, without_comment

Span = tuple[int, int, int, int]  # first and last line, first column, the column after the last

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_LEAVES = {"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS"}  # nothing after these is reached from them
_ALWAYS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
_WAITS = "JUMP_BACKWARD_NO_INTERRUPT"  # of `await` and `yield from`: no loop of the user's
_STATEMENTS = ("STORE_", "DELETE_", "UNPACK_")  # their columns are those of what is written to
_HEADER = 6  # lines that the head of a loop may take
# Calls of what is not written in Python, and calls the user's functions many times.
_MANY = re.compile(
    r"(builtins\.|functools\.|itertools\.|math\.)?"
    r"(all|any|dict|filter|list|map|max|min|prod|reduce|set|sorted|starmap|sum|tuple|zip)\("
)
_WITHIN = {"<listcomp>", "<setcomp>", "<dictcomp>"}  # functions of their own before Python 3.12


_GROWS = re.compile(r" in (range|enumerate)\([^-]*$")  # a loop that counts: its first variable only grows


def calls_many(text: str) -> bool:
    """Whether an expression is the call of a builtin that calls others many times."""
    return _MANY.match(text) is not None


class Loop:
    """The instructions of one loop, from the first to the jump back, and the variables that only its `for` sets.

    It is a statement, or else a comprehension.
    """

    __slots__ = ("first", "last", "title", "variables", "statement")

    def __init__(self, first: int, last: int, title: str, variables: tuple[str, ...], statement: bool) -> None:
        self.first, self.last, self.title, self.variables = first, last, title, variables
        self.statement = statement

    def begins_anew(self, before: Mapping[str, int], now: Mapping[str, int]) -> bool:
        """Whether its variable only grows, and holds less than before."""
        name = self.variables[0]
        was, count = before.get(name), now.get(name)
        return was is not None and count is not None and count < was and _GROWS.search(self.title) is not None

    def has(self, offset: int) -> bool:
        """Whether an instruction is part of it."""
        return self.first <= offset <= self.last


class Listing:
    """The instructions of one code: which text of the source each is, and which of them are a loop.

    An instruction is told by its offset in the code. CPython 3.11 to 3.14 differ in their instructions, and agree in
    what is asked here: where jumps lead, which columns of the source an instruction has (in bytes of UTF-8; none with
    `python -X no_debug_ranges`), and what an exception handler guards.
    """

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.users = is_users(code.co_filename)
        self.layers = code.co_filename.startswith(LAYERS)
        self.comprehends = code.co_name in _WITHIN
        self._texts: dict[int, str] = {}
        self._follows: dict[tuple[int, int], bool] = {}

    @cached_property
    def _steps(self) -> list[dis.Instruction]:
        return [step for step in dis.get_instructions(self.code) if step.opname != "EXTENDED_ARG"]

    def _target(self, step: dis.Instruction) -> int | None:
        """Where an instruction jumps to, if it does: of one with a long argument to itself, not to that."""
        if step.opcode not in _JUMPS or type(step.argval) is not int:
            return None
        at = bisect.bisect_left(self._offsets, step.argval)
        return self._offsets[at] if at < len(self._offsets) else None

    @cached_property
    def _offsets(self) -> list[int]:
        return [step.offset for step in self._steps]

    @cached_property
    def _positions(self) -> list[tuple[int | None, ...]]:
        return list(self.code.co_positions())

    def start(self, lasti: int) -> int:
        """The instruction that a frame is at: `f_lasti` may point into the cache behind it, anywhere for one call."""
        return self._offsets[max(0, bisect.bisect_right(self._offsets, lasti) - 1)]

    def _step(self, offset: int) -> int:
        return bisect.bisect_left(self._offsets, offset)

    # The source.

    def line(self, offset: int) -> int:
        """The line an instruction is on, as the frame would tell it."""
        found = self._positions[offset // 2][0] if self._positions else None
        return self.code.co_firstlineno if found is None else found

    def text(self, offset: int) -> str:
        """The expression or the statement that an instruction computes, on one line; "" where there is no source."""
        if offset not in self._texts:
            self._texts[offset] = self._read(offset)
        return self._texts[offset]

    def _read(self, offset: int) -> str:
        name = self._steps[self._step(offset)].opname
        span = self._span(offset)
        if name in ("GET_ITER", "FOR_ITER"):  # a tensor, or a generator that computes
            found = next((loop for loop in reversed(self.loops) if 0 <= loop.first - offset <= 24), None)
            if found is not None and found.title:
                return found.title
        if span is None or name.startswith(_STATEMENTS):
            return shortened(without_comment(line_text(self.code.co_filename, self.line(offset))).strip())
        return shortened(self._between(span))

    def calls_many(self, offset: int) -> bool:
        """Whether an instruction is the call of a builtin that calls others many times: `sum(parts)`."""
        called = self._steps[self._step(offset)].opname.startswith(("CALL", "PRECALL"))
        return called and calls_many(self.text(offset))

    def _span(self, offset: int) -> Span | None:
        """The place of an instruction in the source; None without columns."""
        first, last, begin, end = self._positions[offset // 2]
        return None if first is None or last is None or begin is None or end is None else (first, last, begin, end)

    def _between(self, span: Span) -> str:
        first, last, begin, end = span
        lines = [line_text(self.code.co_filename, number).encode() for number in range(first, last + 1)]
        if not all(lines):
            return ""
        before = lines[0]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][begin:]
        text = "".join([line.decode(errors="replace") for line in lines])
        text = text if first == last else joined(text)
        # Of a method's call over several lines the columns begin at the method's name.
        return f"….{text}" if begin and before[:begin].rstrip().endswith(b".") else text

    # Loops.

    @cached_property
    def _ways(self) -> dict[int, tuple[list[int], list[int]]]:
        """For each instruction that is reached without an error, those that may come next: further on, and before it.

        Handlers stand behind everything, and jump back to it as well; what is only reached by an error is left out.
        """
        steps, places = self._steps, {offset: place for place, offset in enumerate(self._offsets)}
        found: dict[int, tuple[list[int], list[int]]] = {}
        todo = [0]
        while todo:
            place = todo.pop()
            step = steps[place] if place < len(steps) else None
            if step is None or step.offset in found:
                continue
            onward: list[int] = []
            back: list[int] = []
            if (target := self._target(step)) is not None:
                todo.append(places[target])
                (back if target <= step.offset else onward).append(target)
            if step.opname not in _LEAVES | _ALWAYS and place + 1 < len(steps):
                todo.append(place + 1)
                onward.append(steps[place + 1].offset)
            found[step.offset] = onward, back
        return found

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loops: where normal flow jumps back; outer ones first.

        The test of a `while` is there twice, and `continue` jumps to the first: these are one loop.
        """
        found: list[Loop] = []
        for first, last in sorted(self._jumps_back.items()):
            loop = Loop(first, last, *self._head(first, last))
            same = [each for each in found if each.first < first <= each.last < last and each.title == loop.title]
            if same and loop.title.startswith("while "):
                same[0].last = last
            else:
                found.append(loop)
        return tuple(sorted(found, key=lambda loop: loop.first - loop.last))

    @cached_property
    def _jumps_back(self) -> dict[int, int]:
        """Where normal flow jumps back to, and the last instruction that does."""
        lasts: dict[int, int] = {}
        for offset, (_, back) in self._ways.items():
            for first in back if self._steps[self._step(offset)].opname != _WAITS else ():
                lasts[first] = max(lasts.get(first, 0), offset)
        return lasts

    def _head(self, first: int, last: int) -> tuple[str, tuple[str, ...], bool]:
        """How a loop begins in the source, the variables that nothing else in it sets, whether it is a statement."""
        place = self._step(first)
        if self._steps[place].opname != "FOR_ITER":
            test = self.line(last)  # perhaps the last line of several
            near = [test, self.line(self._steps[max(0, place - 1)].offset), self.line(first)]
            titles = [self._header(number) for number in (*near, *range(test - 1, test - _HEADER, -1))]
            return next((title for title in titles if title.startswith(("while ", "async for "))), ""), (), True
        target = self._steps[place + 1]
        inside = self._steps[place + 1 : self._step(last)]
        stored = Counter([name for step in inside if step.opname.startswith("STORE_") for name in names_stored(step)])
        variables = tuple([name for name in _variables(inside) if stored[name] == 1])
        number = self.line(target.offset)
        title = self._header(number)
        span = self._span(target.offset)
        statement = title.startswith(("for ", "async for "))
        if statement or span is None:
            return title if statement else "", variables, statement
        # A comprehension: from the variable to the end of what it goes through.
        asked = next((at for at in range(place, 0, -1) if self._steps[at].opname == "GET_ITER"), 0)
        end = self._span(self._steps[asked - 1].offset) if asked else None
        if end is None or end[:2] < span[:2]:  # given by the function around
            end = self._span(first)
            if end is None:
                return "", variables, False
            if (end[0], end[2]) <= (span[0], span[2]):  # all of the comprehension, with its bracket
                end = (*end[:3], end[3] - 1)
        text = self._between((span[0], end[1], span[2], end[3])).strip()
        return shortened(f"for {text}") if text else "", variables, False

    def _header(self, number: int) -> str:
        """The head of a compound statement that begins on a line: `for x in xs`."""
        return _header(self.code.co_filename, number)

    def around(self, *offsets: int) -> Loop | None:
        """The innermost loop that all of these instructions are part of."""
        return next((loop for loop in reversed(self.loops) if all([loop.has(offset) for offset in offsets])), None)

    def follows(self, here: int, there: int) -> bool:
        """Whether the flow can come from one instruction to another without another round: not between two branches.

        An error leads from what is guarded to the handler, and that on to what comes after.
        """
        key = here, there
        if key not in self._follows:
            todo, seen = [here], set[int]()
            while todo and there not in seen:
                offset = todo.pop()
                if offset not in seen and (offset <= there or self._handlers):
                    seen.add(offset)
                    todo += self._onward(offset)
            self._follows[key] = there in seen
        return self._follows[key]

    def _onward(self, offset: int) -> list[int]:
        """What may come after an instruction, but for another round; a loop is left by its head."""
        place = self._step(offset)
        step, heads = self._steps[place], self._heads
        target = self._target(step)
        onward = [] if target is None else [target]
        if step.opname not in _LEAVES | _ALWAYS and place + 1 < len(self._steps):
            onward.append(self._offsets[place + 1])
        onward += [handler for handler, begin, end in self._guards if begin <= offset < end]
        rounds = [at for at in onward if at in heads and at <= offset]
        return [at for at in onward if at not in rounds] + [at for head in rounds for at in self._leaving(head)]

    @cached_property
    def _heads(self) -> frozenset[int]:
        return frozenset(self._jumps_back)

    def _leaving(self, head: int) -> list[int]:
        step = self._steps[self._step(head)]
        target = self._target(step) if step.opname == "FOR_ITER" else None
        return [] if target is None else [target]

    def settled(self, offset: int) -> int:
        """An instruction of normal flow: for a handler's the last that it guards, as handlers stand at the end."""
        while offset not in self._ways:
            guarded = [(target, end) for target, end in self._handlers if target <= offset and end <= offset]
            if not guarded:
                break
            offset = self.start(max(guarded)[1] - 2)
        return offset

    @cached_property
    def _handlers(self) -> list[tuple[int, int]]:
        """Where each handler begins, and where what it guards ends."""
        return [(handler, end) for handler, _, end in self._guards]

    @cached_property
    def _guards(self) -> list[tuple[int, int, int]]:
        """Where each handler begins, and where what it guards begins and ends."""
        table = iter(self.code.co_exceptiontable)
        found: list[tuple[int, int, int]] = []
        for byte in table:
            start, length, target, _ = [_number(byte if field == 0 else next(table), table) for field in range(4)]
            found.append((2 * target, 2 * start, 2 * (start + length)))
        return found


def _number(byte: int, more: Iterator[int]) -> int:
    """A number of the exception table: six bits a byte, and one that says that more follow."""
    value = byte & 63
    while byte & 64:
        byte = next(more)
        value = value << 6 | byte & 63
    return value


def _variables(steps: list[dis.Instruction]) -> Iterator[str]:
    """The names that are stored first: those of a `for`."""
    stores = 1
    for step in steps:
        if step.opname == "UNPACK_SEQUENCE":
            stores += (step.arg or 1) - 1
        elif step.opname.startswith("STORE_") and stores > 0:
            yield from names_stored(step)[:stores]
            stores -= len(names_stored(step))
        else:
            return


def names_stored(step: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction stores, or stores and loads."""
    names = step.argval
    return names if names.__class__ is tuple else (names,) if names.__class__ is str else ()


def _header(file: str, number: int) -> str:
    """The head of the loop that begins on a line, without its colon."""
    lines = [line_text(file, at) for at in range(number, number + _HEADER)]
    if not lines[0].lstrip().startswith(("for ", "while ", "async for ")):
        return ""
    text = "".join(lines).lstrip()
    if "\\" in text:  # what is no escape sequence would be warned of
        return shortened(joined(lines[0]).removesuffix(":"))
    for at, character in enumerate(text):
        if character == ":":
            head = text[:at]
            within = f"async def f():\n {head}: pass" if head.startswith("async ") else f"{head}: pass"
            try:
                ast.parse(within)
            except (SyntaxError, ValueError):
                continue
            return shortened(joined(head))
    return ""


_listings: dict[int, Listing] = {}
_MOST_LISTINGS = 5_000  # listings that are kept


def listing(code: CodeType) -> Listing:
    """The listing of a code, made once. By its address: a code's hash takes longer than anything that is asked here."""
    found = _listings.get(id(code))
    if found is None:
        if len(_listings) >= _MOST_LISTINGS:
            _listings.clear()
        found = _listings[id(code)] = Listing(code)
    return found


Spot = tuple[CodeType, int] | None  # what a frame runs, and the instruction that it is at


def read_spot(spot: Spot) -> tuple[SourceLine | None, str]:
    """The line of code at a spot, and the expression that is computed there."""
    if spot is None:
        return None, ""
    told = listing(spot[0])
    offset = told.start(spot[1])
    return source((spot[0].co_filename, told.line(offset))), told.text(offset)
