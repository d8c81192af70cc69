"""The instructions of one code: the text that each computes, and where in the loops of the source it is."""

from __future__ import annotations

import ast
import dis
import inspect
import re
import sys
from collections.abc import Iterable
from functools import cached_property, lru_cache
from types import CodeType, FrameType

from .facts import SourceLine
from .loops import CodePlace, Loop, LoopNode, Position, find, follows, loop_of
from .run_texts import place_of
from .source import LAYERS, is_users, joined, line_text, shortened, source, text_between, tree_of, without_comment

_STATEMENTS = ("STORE_", "DELETE_", "UNPACK_")  # their columns are those of what is written to
_CALLS = ("CALL", "PRECALL")
# Calls of what is not written in Python, and calls the user's functions many times.
_MANY = re.compile(
    r"(builtins\.|functools\.|itertools\.|math\.)?"
    r"(all|any|dict|filter|list|map|max|min|prod|reduce|set|sorted|starmap|sum|tuple|zip)\("
)
_WITHIN = {"<listcomp>", "<setcomp>", "<dictcomp>"}  # functions of their own before Python 3.12
_WAITS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR  # whose frames are entered again
GENERATOR = "the frame itself"  # no variable's name: what tells one generator from another of the same code
_NEAR = 26  # bytes of code in which a loop begins after it got its iterator


def calls_many(text: str) -> bool:
    """Return True if an expression is the call of a builtin that calls others many times."""
    return _MANY.match(text) is not None


@lru_cache(100)
def _statements(tree: ast.Module) -> dict[int, ast.stmt]:
    """Return, by line, the statement there that has no body of its own."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    return {line: node for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


class Listing:
    """The instructions of one code, each identified by its offset.

    CPython 3.11 to 3.14 differ in their instructions. All that is used here is the source lines and columns of an
    instruction (columns in bytes of UTF-8; none with `python -X no_debug_ranges`); the source gives the rest. The names
    of a few instructions are used too, mainly of those that get a loop's next item, because their columns differ.
    Without a source, loops are what the code jumps back over.
    """

    def __init__(self, code: CodeType, around: Iterable[FrameType] = ()) -> None:
        self.code = code
        self.users = is_users(code.co_filename)
        self.file, self._shift = place_of(code, around) if self.users else (code.co_filename, 0)
        self.layers = code.co_filename.startswith(LAYERS)
        self.comprehends = code.co_name in _WITHIN
        self._texts: dict[int, str] = {}
        self._places: dict[int, CodePlace] = {}
        self._loops: dict[LoopNode, Loop] = {}
        self.waits = code.co_flags & _WAITS != 0
        watched = (self.users or self.layers) and (self.waits or self.loop_names)
        self.watched = _Watched(self) if watched else None

    def start(self, lasti: int) -> int:
        """Return the instruction that a frame is at; `f_lasti` may point into the cache after it."""
        at = max(lasti, 0)
        while at and not self._bytes[at]:
            at -= 2
        return at

    def _name(self, offset: int) -> str:
        return dis.opname[self._bytes[offset]] if 0 <= offset < len(self._bytes) else ""

    @cached_property
    def _bytes(self) -> bytes:
        return self.code.co_code

    @cached_property
    def _positions(self) -> list[Position]:
        here = self.code.co_positions()
        return [*map(self._shifted, here)] if self._shift else list(here)

    def at(self, number: int) -> tuple[str, int]:
        """Return a line of the code, in the file or the text that holds its source."""
        return self.file, number + self._shift

    def _shifted(self, position: Position) -> Position:
        first, last, begin, end = position
        shift = self._shift
        return None if first is None else first + shift, None if last is None else last + shift, begin, end

    # The text.

    def line(self, offset: int) -> int:
        """Return the line of an instruction, as the frame would report it."""
        found = self._positions[offset // 2][0] if self._positions else None
        return self.code.co_firstlineno + self._shift if found is None else found

    def text(self, offset: int) -> str:
        """Return the expression or statement that an instruction computes, on one line; "" without source."""
        if offset not in self._texts:
            self._texts[offset] = self._read(offset)
        return self._texts[offset]

    def _read(self, offset: int) -> str:
        asks = self.place(offset).asks
        if asks is not None and asks.title:  # a tensor, or a generator that computes
            return asks.title
        first, last, begin, end = self._positions[offset // 2]
        if first is None or last is None or begin is None or end is None or self._name(offset).startswith(_STATEMENTS):
            return shortened(without_comment(line_text(self.file, self.line(offset))).strip())
        text = text_between(self.file, (first, begin), (last, end))
        text = text if first == last else joined(text)
        # Of a method's call over several lines the columns begin at the method's name.
        before = line_text(self.file, first).encode()[:begin].rstrip()
        return shortened(f"….{text}" if text and before.endswith(b".") else text)

    def statement(self, offset: int) -> tuple[int, str]:
        """Return the line where an instruction's statement begins, and its text if it has several lines."""
        line, file = self.line(offset), self.file
        node = None if self._tree is None else _statements(self._tree).get(line)
        if node is None or node.end_lineno is None or node.end_col_offset is None or node.end_lineno == node.lineno:
            return line, ""
        text = text_between(file, (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        return node.lineno, shortened(joined(text))

    def raises(self, offset: int) -> bool:
        """Return True if an instruction is that of `raise` or `assert`."""
        return self._name(offset) in ("RAISE_VARARGS", "RERAISE")

    def calls_many(self, offset: int) -> bool:
        """Return True if an instruction is the call of a builtin that calls others many times: `sum(parts)`."""
        return self._name(offset).startswith(_CALLS) and calls_many(self.text(offset))

    # The place in the source.

    @cached_property
    def _tree(self) -> ast.Module | None:
        return tree_of(self.file)

    @cached_property
    def _unseen(self) -> list[tuple[tuple[int, int], Loop]]:
        """Return the loops of a code without a source, from its backward jumps, outer ones first, without variables."""
        lasts = {
            step.argval: step.offset
            for step in dis.get_instructions(self.code)
            if "JUMP_BACKWARD" in step.opname and step.opname != "JUMP_BACKWARD_NO_INTERRUPT"  # which waits
        }
        return [(each, Loop()) for each in sorted(lasts.items(), key=lambda each: each[0] - each[1])]

    @cached_property
    def loop_names(self) -> frozenset[str]:
        """Return the variables that its `for` loops set."""
        asking = [at for at in range(0, len(self._bytes), 2) if self._name(at) in ("FOR_ITER", "GET_ANEXT")]
        asked = [self.place(at).asks for at in asking]
        return frozenset([name for loop in asked if loop is not None for name in loop.names])

    def place(self, offset: int) -> CodePlace:
        """Return where an instruction is in the source, as far as that is known."""
        found = self._places.get(offset)
        if found is None:
            found = self._places[offset] = self._find(offset)
        return found

    def _find(self, offset: int) -> CodePlace:
        target = self._target(offset)
        position = self._positions[(offset if target is None else target) // 2]
        # By its line alone a function inside of an expression is not told from what is around it.
        is_told = position[2] is not None or not self.code.co_name.startswith("<") or self.code.co_name == "<module>"
        if self._tree is None:
            return CodePlace(offset, tuple([loop for (first, last), loop in self._unseen if first <= offset <= last]))
        if position[0] is None or not is_told:
            return CodePlace(offset)
        nodes, steps = find(self._tree, position, sys.version_info < (3, 12) or self.comprehends)
        loops, asks = [self._loop(node) for node in nodes], None
        if target is not None and loops:
            asks = loops.pop() if self._name(offset) == "GET_ITER" else loops[-1]
        return CodePlace(offset, tuple(loops), asks, tuple(steps))

    def _loop(self, node: LoopNode) -> Loop:
        if node not in self._loops:
            self._loops[node] = loop_of(node, self.file)
        return self._loops[node]

    def _target(self, offset: int) -> int | None:
        """Return the instruction that stores in the variable what this one gets, a loop's iterator or next item."""
        name = self._name(offset)
        if name == "GET_ITER":
            for at in range(offset + 2, min(offset + _NEAR, len(self._bytes)), 2):
                if self._name(at).startswith(_CALLS):  # of a generator's expression
                    return None
                if self._name(at) == "FOR_ITER":
                    return self._target(at)
            return None
        if name not in ("FOR_ITER", "GET_ANEXT") and (name != "SEND" or self._name(offset - 4) != "GET_ANEXT"):
            return None
        here = self._positions[offset // 2]
        after = enumerate(self._positions[offset // 2 :], offset // 2)
        return next((2 * at for at, each in after if each != here and each[0] is not None), None)

    def around(self, *offsets: int) -> Loop | None:
        """Return the innermost loop that contains all of these instructions."""
        together = zip(*[self.place(offset).loops for offset in offsets], strict=False)
        return next((loops[0] for loops in reversed([*together]) if len({*loops}) == 1), None)

    def follows(self, here: int, there: int) -> bool:
        """Return True if control can flow between two instructions without another iteration of a loop around both."""
        return follows(self.place(here), self.place(there))


class _Watched(dict[int, tuple[str, ...]]):
    """By an instruction of one code, the variables that tell the rounds of the loops that it is in.

    In a generator the last one is `GENERATOR`.
    """

    def __init__(self, told: Listing) -> None:
        self.told = told

    def __missing__(self, lasti: int) -> tuple[str, ...]:
        loops = self.told.place(self.told.start(lasti)).loops
        names = [name for loop in loops for name in loop.variables]
        if self.told.waits:
            names.append(GENERATOR)
        self[lasti] = found = tuple(dict.fromkeys(names))
        return found


listings: dict[int, Listing] = {}  # by the address of a code, as its hash takes long
_MOST_LISTINGS = 5_000  # listings that are kept


def listing(code: CodeType, around: Iterable[FrameType] = ()) -> Listing:
    """Return a code's listing, made once; the frames around it, inner ones first, lead to text that isn't in a file."""
    found = listings.get(id(code))
    if found is None:
        if len(listings) >= _MOST_LISTINGS:
            listings.clear()
        found = listings[id(code)] = Listing(code, around)
    return found


def begin_of(code: CodeType) -> tuple[str, int]:
    """Return the line on which a function begins."""
    return listing(code).at(code.co_firstlineno)


Spot = tuple[CodeType, int] | None  # what a frame runs, and the instruction that it is at


def read_spot(spot: Spot) -> tuple[SourceLine | None, str]:
    """Return the line of code at a spot, and the expression computed there."""
    if spot is None:
        return None, ""
    code_listing = listing(spot[0])
    offset = code_listing.start(spot[1])
    return source((code_listing.file, code_listing.line(offset))), code_listing.text(offset)
