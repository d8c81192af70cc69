"""The user's code: which lines run, what variables hold, what the instructions say, and the path to each of them."""

from __future__ import annotations

import ast
import bisect
import contextlib
import dis
import inspect
import io
import linecache
import ntpath
import os
import re
import sys
import textwrap
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from types import CodeType, FrameType
from typing import Any, cast

from .messages import NO_SOURCE
from .schema import Code, Part, SourceLine
from .values import number

# The files of this package, and what the code it generates is said to come from.
OWN = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "<workbench ")
_LAYERS = os.path.join(OWN[0], "nn", "modules") + os.sep
# Those of the standard library: of it the user's code is called, a `with` block or a repr goes through it.
_LIBRARY = (os.path.dirname(os.path.abspath(contextlib.__file__)) + os.sep, "<frozen ")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")  # may lie in the library's folder
# What calls a widget's handlers: a button that is pressed is no part of the program.
_HOSTS = frozenset(
    "IPython anywidget comm ipykernel ipykernel_launcher.py ipywidgets jupyter_client psygnal tornado "
    "traitlets zmq".split()
)

# What Python calls the text of any exec() or `python -c`: a source of that name may be another one's.
_NAMELESS = ("<string>", "<stdin>")


_frame_at = sys._getframe  # pyright: ignore[reportPrivateUsage]  inspect has nothing as fast

_engines: tuple[str, ...] = ()  # the folders of other engines that are recorded


def leave_out(folder: str) -> None:
    """From now on what lies in this folder is no code of the user's."""
    global _engines
    if folder not in _engines:
        _engines += (folder,)
        is_users.cache_clear()


@cache
def is_users(file: str) -> bool:
    """Whether code is neither the workbench's own, nor the standard library's, Jupyter's or a recorded engine's."""
    installed = next((file.partition(folder)[2] for folder in _INSTALLED if folder in file), None)
    library = file.startswith(_LIBRARY) if installed is None else installed.partition(os.sep)[0] in _HOSTS
    return not library and not file.startswith(OWN) and not file.startswith(_engines)


def line_text(file: str, number: int) -> str:
    """A line of the source; empty where that is not known."""
    return "" if file in _NAMELESS else linecache.getline(file, number)


def source_lines(code: Any) -> tuple[list[str], int]:
    """The lines of a function or its code, and the number of the first.

    Errors: OSError where they are not known, TypeError for what is not written in Python.
    """
    if inspect.getfile(inspect.unwrap(code) if callable(code) else code) in _NAMELESS:
        raise OSError(NO_SOURCE)
    return inspect.getsourcelines(code)


def user_frame() -> FrameType | None:
    """The innermost frame of the user's code; of a thread that runs nothing of the user's, that of the library."""
    frame: FrameType | None = _frame_at(1)
    library = None
    while frame is not None and not is_users(frame.f_code.co_filename):
        if library is None and not frame.f_code.co_filename.startswith(OWN):
            library = frame
        frame = frame.f_back
    return frame or library


def user_frames() -> Iterator[FrameType]:
    """All frames of the user's code, the innermost first."""
    frame: FrameType | None = _frame_at(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


# A stack as it was: how many frames were left out at its bottom, then of each frame its code and the instruction it was
# at, the innermost first, then what the variables of loops held. Nothing of the frames themselves, which hold tensors.
Mark = tuple[int, tuple[str, ...], tuple[int, ...]]  # of a frame in loops: its place from outside, their variables
Marks = tuple[Mark, ...]
Stack = tuple[int, tuple[Any, ...], Marks]
Line = tuple[str, int] | None  # a file, and the number of a line


class Outlook:
    """Takes down the stack of frames, down to the one in which the recording began, if that is on it."""

    __slots__ = ("_code", "_address", "_below")

    def __init__(self) -> None:
        self._code: CodeType | None = None
        self._address = self._below = 0

    def begin(self, frame: FrameType) -> None:
        """This is where the recording begins: what called it is of no interest."""
        self._code, self._address, self._below = frame.f_code, id(frame), 0
        while (outer := frame.f_back) is not None:
            frame = outer
            self._below += 1

    def stack(self, up: int = 3) -> Stack:
        """The stack, without those of the listener who asks: from the frame so many `up`."""
        frame: FrameType | None = _frame_at(up)
        outermost, address, below = self._code, self._address, 0
        found: list[Any] = []
        looping: list[Mark] = []
        add = found.append
        while frame is not None:
            code, lasti = frame.f_code, frame.f_lasti
            if (told := (_looping.get(id(code)) or _remembered(code))[1]) is not None and (names := told[lasti]):
                looping.append((len(found), names, _held(frame, names)))
            add(code)
            add(lasti)
            if code is outermost and id(frame) == address:
                below = self._below
                break
            frame = frame.f_back
        last = len(found) - 2
        return below, tuple(found), tuple([((last - at) // 2, names, held) for at, names, held in looping])


def variables(frame: FrameType) -> list[tuple[str, Any]]:
    """A frame's variables, the local ones first."""
    return [*local_variables(frame), *frame.f_globals.items()]


def local_variables(frame: FrameType) -> list[tuple[str, Any]]:
    """The local variables of a frame."""
    local = frame.f_locals
    found = [*local.items()]
    # Before Python 3.13 a function's f_locals is a copy that its frame keeps: it would keep every tensor alive.
    # It is nobody else's if it has no reference but the frame's, ours and the counting's own.
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(local) <= 3:
        local.clear()
    return found


def _held(frame: FrameType, names: tuple[str, ...]) -> tuple[int, ...]:
    """What tells the round of a loop from the one before: the number that a variable holds, or another thing's address.

    All that counts is whether it changes.
    """
    local = frame.f_locals
    held = tuple([each if type(each) is int else id(each) for each in map(local.get, names)])
    if _COPIES and frame.f_code.co_flags & _OPTIMIZED and sys.getrefcount(local) <= 3:
        local.clear()  # as above
    return held


_OPTIMIZED = inspect.CO_OPTIMIZED
_COPIES = sys.version_info < (3, 13)


class _Around(dict[int, tuple[str, ...]]):
    """By an instruction of one code, the variables of the `for` loops that it is in."""

    def __init__(self, loops: list[tuple[int, int, tuple[str, ...]]]) -> None:
        self.loops = loops

    def __missing__(self, lasti: int) -> tuple[str, ...]:
        self[lasti] = found = tuple([n for first, last, names in self.loops if first <= lasti < last for n in names])
        return found


def loop_variables(code: CodeType) -> set[str]:
    """The variables that a `for` of this code sets."""
    told = (_looping.get(id(code)) or _remembered(code))[1]
    return {name for _, _, names in (told.loops if told is not None else ()) for name in names}


def _loops_of(code: CodeType) -> list[tuple[int, int, tuple[str, ...]]]:
    """Of each `for` of this code its first instruction, the one behind it, and the variables that it sets."""
    found: list[tuple[int, int, tuple[str, ...]]] = []
    stores = 0  # still to come after FOR_ITER
    for step in dis.get_instructions(code):
        if step.opname == "FOR_ITER":
            stores = 1
            found.append((step.offset, step.argval, ()))
        elif stores and step.opname.startswith("UNPACK"):
            stores += (step.arg or 1) - 1 if step.opname == "UNPACK_SEQUENCE" else 1
        elif stores and step.opname.startswith("STORE_"):
            first, last, before = found[-1]
            found[-1] = first, last, (*before, *_names(step)[:stores])
            stores -= len(_names(step))
        elif stores:
            stores = 0
    return found


# By the address of a code that is kept, as a code's hash takes long.
_looping: dict[int, tuple[CodeType, _Around | None]] = {}
_CODES = 5_000  # whose loops are remembered


def _remembered(code: CodeType) -> tuple[CodeType, _Around | None]:
    """A code with its loops, if it has any that make rounds."""
    if len(_looping) >= _CODES:
        _looping.clear()
    users = is_users(code.co_filename) or code.co_filename.startswith(_LAYERS)
    loops = _loops_of(code) if users else []
    found = _looping[id(code)] = code, _Around(loops) if loops else None
    return found


def line_of(frame: FrameType | None) -> Line:
    """The file and the line that a frame is at."""
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


Spot = tuple[CodeType, int] | None  # what a frame runs, and the instruction that it is at


def spot_of(frame: FrameType | None) -> Spot:
    """Where a frame is, without what the frame holds."""
    return None if frame is None else (frame.f_code, frame.f_lasti)


def read_spot(spot: Spot) -> tuple[SourceLine | None, str]:
    """The line of code at a spot, and the expression that is computed there."""
    if spot is None:
        return None, ""
    told = listing(spot[0])
    offset = told.start(spot[1])
    return source((spot[0].co_filename, told.line(offset))), told.text(offset)


_CELLS, _ASSIGNED = 50, 200  # cells of a notebook that are read, the last ones; assignments that are kept


def assignments(frame: FrameType, names: Collection[str]) -> tuple[tuple[str, str], ...]:
    """What the file or the notebook of a frame, and its function, assign to variables of these names, in order."""
    code, cells = frame.f_code, cast("Any", frame.f_globals.get("In"))
    if cells.__class__ is list:
        texts = [re.sub("(?m)^[%!].*", "", str(cell)) for cell in cells[-_CELLS:]]
    else:
        texts = [] if code.co_filename in _NAMELESS else ["".join(linecache.getlines(code.co_filename))]
    found = [pair for text in texts for pair in _assigned(text, False)]
    if code.co_name != "<module>":
        with contextlib.suppress(OSError, TypeError):
            found += _assigned(textwrap.dedent("".join(source_lines(code)[0])), True)
    return tuple(dict.fromkeys([pair for pair in found if pair[0] in names]))[-_ASSIGNED:]


@lru_cache(1_000)
def _assigned(text: str, in_function: bool) -> tuple[tuple[str, str], ...]:
    """The variables that a piece of source assigns outside of functions, or its function does, each with the text."""
    try:
        todo: list[ast.AST] = [*ast.parse(text).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    if in_function:
        todo = [*getattr(todo[0], "body", ())] if todo else []
    todo.reverse()
    found: list[tuple[str, str]] = []
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            told = _joined(ast.get_source_segment(text, node.value) or "")
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if 0 < len(told) <= _LONGEST:
                found += [(each.id, told) for each in targets if isinstance(each, ast.Name)]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            todo += [*ast.iter_child_nodes(node)][::-1]
    return tuple(found)


# What every step of an optimiser goes through, in the workbench and in PyTorch; its `self` is the optimiser.
_STEPS = frozenset({"_hooked.<locals>.hooked", "Optimizer.profile_hook_step.<locals>.wrapper"})


def stepping() -> str | None:
    """The class of the optimiser whose step is running, if one is."""
    frame: FrameType | None = _frame_at(1)
    while frame is not None:
        code = frame.f_code
        if code.co_qualname in _STEPS and not is_users(code.co_filename):
            return type(dict(local_variables(frame)).get("self")).__name__
        frame = frame.f_back
    return None


METHODS = ("forward", "setup_context", "backward", "vjp", "jvp")


def source(line: Line) -> SourceLine | None:
    """A line of code, by the name of the file it is in."""
    if line is None:
        return None
    path, number = line
    text = line_text(path, number).strip()
    return SourceLine(file_of(path), number, text)


def file_of(path: str) -> str:
    """A file by its base name; a notebook's cells are all called `cell`."""
    cell = "ipykernel_" in path or path.startswith("<ipython-input")
    return "cell" if cell else ntpath.basename(path)


def text_of(arg: Any) -> str:
    """A plain argument, or the name of the type that stands for another."""
    return arg.__name__ if isinstance(arg, type) else number(arg)


def code_of(cls: type) -> tuple[Code, ...]:
    """What a node computes: the user's methods where a Function made it, else the operation's formulas."""
    function = getattr(cls, "_forward_cls", None)
    if function is None:
        formulas = [(name, getattr(cls, f"{name}_text", "")) for name in ("forward", "backward")]
        return tuple(Code(name, text) for name, text in formulas if text)
    return methods_of(function)


def methods_of(function: type) -> tuple[Code, ...]:
    """The methods that the user wrote of a Function."""
    code: list[Code] = []
    for name in METHODS:
        owner = next((each for each in function.__mro__ if name in vars(each)), object)
        if owner is object or owner.__module__.partition(".")[0] in (__name__.partition(".")[0], "torch"):
            continue  # not written by the user
        try:
            lines, _ = source_lines(getattr(owner, name))
        except (OSError, TypeError):  # typed at a prompt, or made by exec
            continue
        code.append(Code(name, textwrap.dedent("".join(lines)).rstrip()))
    return tuple(code)


def name_of(what: Any) -> str:
    """What an operation is called, or a Function."""
    return what.__name__ if isinstance(what, type) else what.shown.partition("(")[0]


def formula_of(op: Any) -> str:
    """How an operation's tangent comes from those of its operands, `x_t` being that of x."""
    if op.tangent in ("linear", "multilinear"):
        together = [op.tensors] if op.tangent == "linear" else [[name] for name in op.tensors]
        return " + ".join(re.sub(rf"(?<=[(, ])({'|'.join(names)})\b", r"\1_t", op.shown) for names in together)
    terms = {name: re.sub(r"\bgrad\b", f"{name}_t", text) for name, text in op.formulas.items()}
    if op.tangent == "transposed":
        return "the formula of backward, transposed"
    if op.tangent in ("pointwise", "reduction"):
        total = " + ".join(terms.values())
        return total if op.tangent == "pointwise" else f"sum of {total}"
    return op.tangent or ""


Span = tuple[int, int, int, int]  # first and last line, first column, the column after the last

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_LEAVES = {"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS"}  # nothing after these is reached from them
_ALWAYS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
_WAITS = "JUMP_BACKWARD_NO_INTERRUPT"  # of `await` and `yield from`: no loop of the user's
_STATEMENTS = ("STORE_", "DELETE_", "UNPACK_")  # their columns are those of what is written to
_LONGEST = 300  # characters of an expression that are kept
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
        self.layers = code.co_filename.startswith(_LAYERS)
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
            return shortened(_without_comment(line_text(self.code.co_filename, self.line(offset))).strip())
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
        text = text if first == last else _joined(text)
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
        stored = Counter([name for step in inside if step.opname.startswith("STORE_") for name in _names(step)])
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
            yield from _names(step)[:stores]
            stores -= len(_names(step))
        else:
            return


def _names(step: dis.Instruction) -> tuple[str, ...]:
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
        return shortened(_joined(lines[0]).removesuffix(":"))
    for at, character in enumerate(text):
        if character == ":":
            head = text[:at]
            within = f"async def f():\n {head}: pass" if head.startswith("async ") else f"{head}: pass"
            try:
                ast.parse(within)
            except (SyntaxError, ValueError):
                continue
            return shortened(_joined(head))
    return ""


def _joined(text: str) -> str:
    """Several lines as one, without comments, and with no more between brackets than on one line."""
    one = " ".join(_without_comment(text).split())
    return re.sub(r",? ([)\]}])", r"\1", re.sub(r"([(\[{]) ", r"\1", one))


def _without_comment(text: str) -> str:
    """A piece of source without its comments."""
    if "#" not in text:
        return text
    lines = text.splitlines(keepends=True)
    try:
        # In brackets a piece of any statement is a whole.
        for token in tokenize.generate_tokens(io.StringIO(f"(\n{text}\n)").readline):
            if token.type == tokenize.COMMENT:
                row = token.start[0] - 2
                lines[row] = lines[row][: token.start[1]] + "\n" * lines[row].endswith("\n")
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass
    return "".join(lines)


def shortened(text: str) -> str:
    """A text of a bearable length: its beginning and its end."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST * 2 // 3]} … {text[-_LONGEST // 4 :]}"


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


_MOST_PARTS = 64  # parts of one path: of a deeper recursion the calls further in are left out
# Whose frames are those of the listening.
_OURS = tuple([f"{OWN[0]}{name}" for name in ("events.py", "trace", "bridges")])


class _Frame:
    """One call of a function: where it is, and the rounds of the loops it is in, by their first instruction."""

    __slots__ = ("listing", "at", "offset", "rounds", "number", "held")

    def __init__(self, point: _Point, number: int) -> None:
        self.listing, self.at, self.offset = point
        self.number = number
        self.rounds: dict[int, int] = {}
        self.held: dict[str, int] = {}  # by the variables of its loops


_Point = tuple[Listing, int, int]  # of a frame: its instructions, the one that says how far it is, and the one it is at
# A scope's title and serial, the frame that entered it and where that was; of a module also whether it has no name but
# its class's, its class and its numbers.
_Entered = tuple[str, int, int, int | None, bool, str, str]
_CALLED = re.compile(r"""([^\W\d][\w.]*(?:\[(?:-?\w+|'[^']*'|"[^"]*")\][\w.]*)*)\(""")  # the variable of a call
_CALLS = frozenset(("__call__", "_wrapped_call_impl", "_call_impl", "inner"))  # of a module, before its forward


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
        self._last: Stack | None = None  # of one operation all that it does has this same one
        self._waiting: dict[str, int] = {}  # backward that runs -> how many frames wait for it

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

    def begin(self, task: str) -> None:
        """A backward begins where the program is: until it ends, the frames around it wait, and their loops too."""
        self._waiting[task] = len(self._frames)

    def end(self, task: str | None) -> None:
        """A backward is over."""
        self._waiting.pop(task or "", None)

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
        below, codes, _ = stack
        scopes: list[Any] = []
        while entry is not None:
            scopes.append(entry)
            entry = entry.outer
        found: list[_Entered] = []
        for scope in reversed(scopes):
            if scope.serial not in self._places:
                self._places[scope.serial] = self._place(scope, codes[-2::-2], scope.depth - 1 - below)
            title, unnamed = scope_title(scope.name, scope.kind), scope.name == scope.kind
            found.append((title, scope.serial, *self._places[scope.serial], unnamed, scope.kind, scope.settings))
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
        held = {place: dict(zip(names, now, strict=True)) for place, names, now in stack[2]}
        kept, begun = self._turned(points, held) or self._compare(points, entered)
        if entered is not None:
            self._serials = tuple([serial for _, serial, *_ in entered])
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
        for place, now in held.items():
            frames[place].held = now

    def _turned(self, points: list[_Point], held: dict[int, dict[str, int]]) -> tuple[int, Loop | None] | None:
        """How many frames are the same calls as before, and the outermost loop whose variable holds something else.

        Where that begins anew, a loop around it has another round, or its function was called again.
        """
        around: tuple[int, Loop] | None = None  # the innermost loop outside
        for place, (frame, (told, at, offset)) in enumerate(zip(self._frames, points, strict=False)):
            if frame.listing is not told:
                break
            before, now = frame.held, held.get(place, {})
            for loop in told.loops:
                if not (loop.has(frame.at) and loop.has(at)):
                    continue
                # What a loop goes through may compute too: then its variable has the value of the round before.
                known = bool(now) and (frame.at == loop.first) == (at == loop.first)
                if known and any([before.get(name) != now.get(name) for name in loop.variables]):
                    return around if around is not None and loop.begins_anew(before, now) else (place + 1, loop)
                around = place + 1, loop
            if frame.offset != offset:
                break
        return None

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
        waiting = max([count for count in self._waiting.values() if count <= outermost], default=0)
        for place in range(outermost if same else outermost - 1, waiting - 1, -1):
            told, at, offset = points[place]
            if place < differs and told.calls_many(offset):  # the same call still goes on
                kept = place + 1
                break
            begun = told.around(frames[place].at, at, *(within if place == outermost else ()))
            if begun is not None:
                kept = place + 1
                break
        return kept, begun

    def _anew(self, entered: list[_Entered] | None) -> tuple[int, int | None] | None:
        """Where the outermost scope was entered that the last node was not in."""
        for at, (_, serial, place, lasti, *_) in enumerate(entered or ()):
            if at >= len(self._serials) or self._serials[at] != serial:
                return place, lasti
        return None

    # Parts.

    def _parts(self, entered: list[_Entered]) -> tuple[Part, ...]:
        """The path to where the program is."""
        told = self._told(entered)
        if len(told) > _MOST_PARTS:
            told = [*told[: _MOST_PARTS - 1], told[-1]]
        same = 0
        for one, other in zip(told, self._known, strict=False):
            if one[:3] != other[:3]:
                break
            same += 1
        parts = list(self._path[:same])
        for kind, _, _, title, *more in told[same:]:
            self._keys += 1
            parts.append(Part(kind, self._keys, title, *more))
        self._known, self._path = told, tuple(parts)
        return self._path

    def _told(self, entered: list[_Entered]) -> list[tuple[Any, ...]]:
        """Of each part its kind and what tells it from others, then its title, number and what modules have more."""
        frames = self._frames
        users = [place for place, frame in enumerate(frames) if frame.listing.users]
        waiting = list(entered)
        outside = [each for each in waiting if not users or each[2] < users[0]]
        told: list[tuple[Any, ...]] = [("scope", each[1], 0, each[0], 0, "", *each[-2:]) for each in outside]
        waiting = waiting[len(told) :]
        for place, after in zip(users, [*users[1:], len(frames)], strict=False):
            frame = frames[place]
            source, number = frame.listing, frame.number
            loops = [loop for loop in source.loops if loop.has(frame.at)]
            forward = False
            while waiting and waiting[0][2] < after:
                scope, serial, inside, lasti, unnamed, *module = waiting.pop(0)
                calls = [each.listing.code.co_name for each in frames[place + 1 : inside + 1]]
                unnamed = unnamed and not forward and bool(calls) and _CALLS.issuperset(calls)
                forward |= inside > place
                while loops and (inside > place or (lasti is not None and loops[0].has(lasti))):
                    told += _round(frame, loops.pop(0))
                called = _CALLED.match(source.text(frame.offset)) if unnamed else None
                told.append(("scope", serial, 0, scope, 0, called[1] if called else "", *module))
            for loop in loops:
                told += _round(frame, loop)
            if after == len(frames):
                told.append(("expression", number, frame.offset, source.text(frame.offset), 0))
                told += self._in_layer(max([place, *[scope[2] for scope in entered]]))
            elif not (forward or frames[after].listing.comprehends):
                title = source.text(frame.offset) or f"{frames[after].listing.code.co_name}()"
                told.append(("call", number, frame.offset, title, 0))
        return told

    def _in_layer(self, place: int) -> list[tuple[Any, ...]]:
        """In a layer of this package that a frame calls: the rounds of its loops, and the expression in them."""
        told: list[tuple[Any, ...]] = []
        within = [each for each in self._frames[place + 1 :] if each.listing.layers]
        for frame in within:
            for loop in frame.listing.loops:
                if loop.statement and loop.has(frame.at):
                    (*around, _, number), turn = _round(frame, loop)
                    told += [(*around, "", number), turn]
        if not told:
            return []
        inner = within[-1]
        return [*told, ("expression", inner.number, inner.offset, inner.listing.text(inner.offset), 0)]


@lru_cache(10_000)
def taken_of(text: str, variable: str) -> str:
    """The one operand of an expression that is a part or another shape of a variable: `x[t]` in `x[t] @ w`; or ""."""
    try:
        whole = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    operands: list[ast.expr] = []
    if isinstance(whole, ast.BinOp):
        operands = [whole.left, whole.right]
    elif isinstance(whole, ast.Call):
        operands = [*whole.args, *([whole.func.value] if isinstance(whole.func, ast.Attribute) else [])]
    found: list[str] = []
    for operand in operands:
        inner: ast.expr = operand
        while isinstance(inner, ast.Subscript | ast.Attribute | ast.Call):
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
            if ast.get_source_segment(text, inner) == variable:
                found.append(ast.get_source_segment(text, operand) or "")
                break
    return found[0] if len(found) == 1 else ""


def scope_title(name: str, module: str) -> str:
    """What a picture calls a scope: of a layer that has only a number its class too, as in `0 › Linear`."""
    return f"{name} › {module}" if module and name.isdigit() else name


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
