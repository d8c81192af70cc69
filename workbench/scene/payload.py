"""What goes to the browser, made small: the scripts of the player, and a storyboard as a notebook keeps it.

The scripts are plain ES modules in `widgets/static`, put together to the one that a page or a widget loads. Each name
is unique across the modules, so joining them is leaving out their imports and exports, and what only a reader of the
source needs: comments, white space where a sign parts words as well, and long names. A name that the script declares
becomes one and the same short one wherever it stands for a variable, so no scope has to be known. Properties, and names
that the script does not declare, stay as they are.

A storyboard is shortened where it is too long, and told in columns. What a click shows goes first, then parts in the
middle of a film, then what opens, then middle steps. In columns it has a third of its size before it is compressed,
half of it after. `widgets/static/unpacking.js` makes the storyboard of it again, to a tenth of a px. What is alike
stands together, what follows from something else is left out, and numbers are told as differences.
"""

from __future__ import annotations

import base64
import gzip
import re
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise, product
from math import inf, log
from string import ascii_letters
from typing import Any, cast

from .labels import WAYS, arrow_said, box_said, bundle_size
from .model import Box, Detail, Folding, Scene, Step, changed, with_changes
from .storyboard import Storyboard, stops

_LEFT_OUT = re.compile(
    r"""^/\*\*.*?\*/[^\S\n]*$      # a comment that begins a line
    | (?:^|[^\S\n])//\s[^\n]*$  # and one that ends a line: no string has a space on both sides of //
    | ^import\s[^;]*;$
    | ^export\s+default[^;]*;$
    | ^export\s+(?=const|function)
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
# A string, a template (none of its parts holds another), a pattern; or what may end a block; or a sign with the white
# space that it needs not.
_TIGHT = re.compile(
    r"""("(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | `(?:[^`\\]|\\.)*`
      | (?:(?<=[(=,:])|(?<=[(=,:]\s))/(?:[^/\\\n]|\\.)+/)
    | \s*[;,]\s*(?=\})
    | \s*([={}()\[\],;:?&|<>*!] | (?<![+\s-])\s*[+-](?!\s*[+-]) | \n(?=\.))\s*""",
    re.VERBOSE,
)
# The 85 signs of dense(), none of which means anything to a page, to the notebook's JSON or to Markdown's templates.
_B85 = bytes.maketrans(b"<>&$`{}", b",./:[]'")
_EXPORTED = re.compile(r"^export\s+(?:const\s|function\s|default\s*\{)([^=({};]+)", re.MULTILINE)
_IMPORTED = re.compile(r'^import\s[^;]*from "\./([^"]+)";$', re.MULTILINE)


def asset(name: str) -> str:
    """One of the files that the browser loads."""
    # Asking for the package workbench.widgets itself would import it, and Jupyter's widgets with it.
    return files("workbench").joinpath("widgets", "static", name).read_text(encoding="utf-8")


@cache
def script(*names: str, without: tuple[str, ...] = ()) -> str:
    """Modules with those that they import, as one text without imports; what they themselves export keeps its name.

    Those that they import may be left out `without` which they do; what these export gives back what it gets first.
    """
    exported = " ".join(each for name in names for each in _EXPORTED.findall(asset(name)))
    return with_short_names(joined_modules(*names, without=without), re.findall(r"\w+", exported))


@cache
def sent(*names: str) -> str:
    """Modules as one text, as `script` gives it, that is sent as it is: a text that it repeats stands in it once."""
    return tight(with_texts_once(script(*names)))


def joined_modules(*names: str, without: tuple[str, ...] = ()) -> str:
    """Modules with those that they import, as one text without imports and exports."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in found and name not in without:
            text = asset(name)
            for each in _IMPORTED.findall(text):
                add(each)
            found[name] = text
        elif name in without:
            found[name] = "".join(f"const {each} = (first) => first;\n" for each in _EXPORTED.findall(asset(name)))

    for name in names:
        add(name)
    return bare("\n".join(found.values()))


def bare(text: str) -> str:
    """A script as a browser needs it."""
    text = re.sub(r"^[^\S\n]+", "", text, flags=re.MULTILINE)
    left = re.sub(r"\n{2,}", "\n", _LEFT_OUT.sub("", text)).strip() + "\n"
    tight = _TIGHT.sub(lambda found: found[1] or (found[2] or "").strip(), left)
    return re.sub(r"(?<=[=(,?:&|])\((\w+)\)(?==>)", r"\1", tight)  # the one parameter of an arrow


def bare_css(text: str) -> str:
    """A stylesheet as a browser needs it; no string in it may hold a brace or a semicolon."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"\s+", " ", text)).replace(";}", "}").strip()


def compressed(text: str) -> str:
    """A text as its compressed bytes in base64, for a script to unpack: nothing in it can end the script's element."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def dense(text: str) -> str:
    """A text as its compressed bytes, four of them in five signs that no script, page or notebook has to escape."""
    packed = min((_gzip(text.encode(), memory) for memory in (4, 6, 9)), key=len)
    return base64.b85encode(packed).translate(_B85).decode()


def _gzip(data: bytes, memory: int) -> bytes:
    """The bytes compressed, and a sum to check them by. With less memory each block is shorter and has its own code."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16, memory)
    return packer.compress(data) + packer.flush()


# Names of the page and of JavaScript; a script may not declare them.
GIVEN = frozenset(
    """Array Blob Boolean CSS DOMMatrix DOMPoint DataView DecompressionStream Element Error Infinity
    IntersectionObserver JSON Map Math MouseEvent MutationObserver NaN Node Number Object Promise ResizeObserver
    Response Set String TypeError Uint32Array Uint8Array WeakMap WeakRef WeakSet addEventListener atob
    cancelAnimationFrame clearInterval clearTimeout console crypto document getComputedStyle history innerHeight
    innerWidth isFinite isNaN localStorage location matchMedia parseFloat parseInt performance queueMicrotask
    removeEventListener requestAnimationFrame sessionStorage setInterval setTimeout structuredClone window""".split()
)
_WORDS = frozenset(
    """arguments async await break case catch class const continue default delete do else export extends false finally
    for from function get if import in instanceof let new null of return set static super switch this throw true try
    typeof undefined var void while with yield""".split()
)
_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
        | (?:(?<=[(=,:&|?![])|(?<=[(=,:&|?!]\s))/(?:[^/\\\n]|\\.)+/\w*)
      | (?P<template>`(?:[^`\\]|\\.)*`)
      | (?P<name>[A-Za-z_$][\w$]*)
      | (?P<other>\d[\w.]* | \s+ | \?\.(?!\d) | \.\.\. | => | .)""",
    re.VERBOSE | re.DOTALL,
)
# Nobody assigns to a constant, and no property has one of these names.
_SHORTER = {"const": "let", "true": "!0", "false": "!1", "undefined": "void 0", "Infinity": "1/0"}
_PART = re.compile(r"(\$\{(?:[^{}]|\{[^{}]*\})*\})")  # what a template puts in
_BEFORE_OBJECT = frozenset("( , = : [ ? & | ... return const let".split())


def short_names(script: str, kept: Collection[str] = ()) -> dict[str, str]:
    """The name that each variable of a script is to have, where that makes it shorter; those `kept` stay."""
    uses = Counter(found for found in _roles(script) if found[0] in ("variable", "both"))
    names = {name for _, name in uses}
    gain = {
        name: uses["variable", name] * (len(name) - 2) - 3 * uses["both", name]
        for name in sorted(names - GIVEN - _WORDS - {*kept})
    }
    ordered = sorted((name for name in gain if gain[name] > 0), key=lambda name: -gain[name])
    return dict(zip(ordered, _unused(names), strict=False))


def with_short_names(script: str, kept: Collection[str] = ()) -> str:
    """A script whose variables have short names, and no more signs than it needs; those names that are `kept` stay."""
    return tight(renamed(script, short_names(script, kept)))


def with_texts_once(script: str) -> str:
    """Statements in which each text that they have several times stands once, under a name, where that is shorter."""
    tokens = [("", ""), *_tokens(script), ("", "")]
    uses = Counter(token for kind, token in tokens if kind == "text" and token[0] in "\"'")
    words = [token for _, token in tokens if not token.isspace()]
    threes = zip(words, words[1:], words[2:], strict=False)
    keys = Counter(text for before, text, after in threes if _is_key(before, after))
    gain = {text: uses[text] * (len(text) - 2) - 2 * keys[text] - len(text) - 4 for text in uses}
    ordered = sorted((text for text in gain if gain[text] > 0), key=lambda text: -gain[text])
    names = dict(zip(ordered, _unused({token for kind, token in tokens if kind == "name"}), strict=False))
    told = [f"let {','.join(f'{name}={text}' for text, name in names.items())};"] if names else []
    before = ""
    for (kind, token), (_, after) in pairwise(tokens):
        name = names.get(token) if kind == "text" else None
        told.append(token if name is None else f"[{name}]" if _is_key(before, after) else f" {name} ")
        before = before if token.isspace() else token
    return "".join(told)


def _is_key(before: str, after: str) -> bool:
    """Whether a text between these is the name of a property."""
    return before in ("{", ",") and after == ":"


def _unused(taken: Collection[str]) -> Iterator[str]:
    """Names that a script does not have yet, the short ones first."""
    free = ("".join(signs) for length in (1, 2) for signs in product(ascii_letters, repeat=length))
    return (name for name in free if name not in taken and name not in GIVEN and name not in _WORDS)


def tight(script: str) -> str:
    """A script without the spaces that part no words, what is declared in a row declared together, in short words.

    Each of its statements ends with a semicolon, a brace or a line.
    """
    told = [";"]
    declares = [False]  # of each bracket that is open: whether the statement in it declares variables
    tokens = [(kind, _SHORTER.get(token, token) if kind == "name" else token) for kind, token in _tokens(script)]
    for (kind, token), (_, after) in pairwise([*tokens, ("other", ";")]):
        if kind == "other" and token.isspace():
            declares[-1] = declares[-1] and "\n" not in token
            if "\n" in token or _keeps_apart(told[-1][-1], after[0]):
                told.append(token)
            continue
        if token == "let" and told[-1][-1] in ";{}\n":
            if declares[-1] and told[-1] == ";":
                told[-1] = ","
                continue
            declares[-1] = True
        elif told[-1] == ";":
            declares[-1] = False
        if kind == "other" and token in ("{", "${", "(", "["):
            declares.append(False)
        elif kind == "other" and token in ("}", ")", "]"):
            declares.pop()
        told.append(token)
    return "".join(told[1:])


def _keeps_apart(before: str, after: str) -> bool:
    """Whether a space between these signs keeps two words or operators apart."""
    return before + after in ("++", "--", "//", "/*") or all(each.isalnum() or each in "$_" for each in (before, after))


def renamed(script: str, names: dict[str, str]) -> str:
    """A script with other names for its variables."""
    told: dict[str, Callable[[str], str]] = {
        "variable": lambda name: names.get(name, name),
        "both": lambda name: f"{name}:{names[name]}" if name in names else name,
        "other": str,
    }
    return "".join(told[role](token) for role, token in _roles(script))


@lru_cache(maxsize=1)
def _roles(script: str) -> tuple[tuple[str, str], ...]:
    """What `_with_roles` gives, read once for finding the names and for writing them."""
    return tuple(_with_roles(script))


def _with_roles(script: str) -> Iterator[tuple[str, str]]:
    """Each token with its role: a "variable", "both" a property and a variable that is called as it is, or "other"."""
    tokens = [*_tokens(script), ("other", ";")]
    held: list[str] = []  # the brackets that are open; that of an object or a pattern is "object"
    before = ";"
    for (kind, token), (_, space), (_, other) in zip(tokens, tokens[1:], [*tokens[2:], tokens[-1]], strict=False):
        after = other if space.isspace() else space
        role = "other"
        if token in ("{", "${", "(", "["):
            held.append("object" if token == "{" and before in _BEFORE_OBJECT else token)
        elif token in ("}", ")", "]"):
            held.pop()
        elif kind == "name" and before not in (".", "?."):
            own = held and held[-1] == "object" and before in ("{", ",")
            role = "variable" if not own else "both" if after in (",", "}", "=") else "other"
        yield role, token
        before = before if token.isspace() else token


def _tokens(script: str) -> Iterator[tuple[str, str]]:
    for found in _TOKEN.finditer(script):
        kind, token = found.lastgroup or "other", found[0]
        if kind != "template":
            yield kind, token
            continue
        for part in _PART.split(token):
            if part.startswith("${"):
                yield "other", "${"
                yield from _tokens(part[2:-1])
                yield "other", "}"
            else:
                yield "template", part


HOW = 'picture.save("picture.html") keeps all of it'
LEFT_OUT = f"Left out of this notebook, to keep it small: {HOW}."
_CHAPTERS = tuple(range(11, 2, -1))  # parts of a film that are kept
_MANY = 20_000  # changes in all steps: a story of more is never told whole
_CROWD = 1_000  # boxes: so many never fit
_NEARLY = 0.9  # of the room: then no more is tried
_CHANGE = 50  # characters that are as long, once they are compressed, as a change
_BRIEF = 7  # times the room: a story of less bulk may fit whole
_GROWTH = 0.5  # at least: a story of n times the bulk is n to the power of this times as long


@dataclass(frozen=True, slots=True)
class Plan:
    """What is kept: values and other texts in details of so many characters (of texts below 0: no details at all), so
    many steps at each end and around the one that a player opens at, this part of the groups that open, boxes that come
    in steps which are left out, and of a film so many parts at both ends, with the one that a player opens at.
    """

    values: float = inf
    texts: float = inf
    ends: float = inf
    groups: float = 1.0
    crowd: bool = True
    parts: float = inf


_DETAILS = [Plan(values) for values in (400, 200, 100, 50, 0)] + [Plan(0, texts) for texts in (400, 200, 100, 50, 0)]
_PARTS = (0.75, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.06, 0.03, 0.0)
_FEW = 20  # steps at each end: before there are no more, boxes that come in between go
_ENDS = (400, 280, 200, 140, 100, 70, 50, 35, 24, 16, 11, 8, 5, 3)


def shortened(board: Storyboard, tell: Callable[[Storyboard], str | int], room: int) -> str | None:
    """The storyboard as `tell` tells it, or as much of it as there is room for; None if not even its ends fit.

    Of what is too long, it may tell about how long it is alone.
    Details go first, the longest values before the others; then parts in the middle of a film; then what is in closed
    groups; then steps in the middle; then boxes that only come in the steps left out. What is gone is said where it
    was.
    """
    stages = _stages(board)
    told: dict[int, tuple[int, str | int]] = {}  # by stage the bulk and the text of what its last plan keeps

    def fits(n: int) -> bool:
        plan = stages[n][-1]
        short = board if plan == Plan() else cut(board, plan)
        told[n] = _bulk(short), tell(short)
        return _length(told[n][1]) <= room

    def before(n: int) -> tuple[int, float]:
        """The bulk and the length of what the stage before keeps at least, told or expected."""
        if n - 1 in told:
            return told[n - 1][0], _length(told[n - 1][1])
        bulk, (own, text) = _bulk(board, details=n < 2), told[n]
        return bulk, _length(text) * (bulk / max(own, 1)) ** _GROWTH  # boxes alone have no bulk

    # It takes long to tell all of a long story: what is told first leaves out steps or boxes, and says if more can fit.
    brief = _bulk(board) <= _BRIEF * room
    at = next(n for n, plans in enumerate(stages) if brief or replace(plans[-1], values=inf, texts=inf) != Plan())
    while not fits(at):
        at += 1
        if at == len(stages):
            return None
    while at and before(at)[1] <= room and fits(at - 1):
        at -= 1
    bulk, text = told[at]
    return _most_of(board, stages[at], tell, room, before(at), (bulk, str(text)))


def _length(told: str | int) -> int:
    return told if isinstance(told, int) else len(told)


def _stages(board: Storyboard) -> list[list[Plan]]:
    """Plans that leave out more and more; those of one stage leave out the same kind of thing."""
    light, film = _weight(board) <= _MANY, any(step.chapter for step in board.steps)
    closed, folded = board.folding.groups.difference(board.opened), cut(board, Plan(groups=0.0))
    stages = [
        _DETAILS if light else [],
        [Plan(0, 0, inf, part) for part in _PARTS] if closed and _weight(folded) <= _MANY else [],
        [Plan(0, 0, ends, 0.0) for ends in _ENDS if ends > _FEW] if len(folded.scene.boxes) <= _CROWD else [],
        [Plan(0, 0, ends, 0.0, False) for ends in _ENDS],
    ]
    if film:
        stages[1:] = [[replace(plan, texts=-1, parts=_CHAPTERS[-1]) for plan in plans] for plans in stages[1:]]
        stages.insert(1, [Plan(0, -1, parts=parts) for parts in (inf, *_CHAPTERS)] if light else [])
    return [[Plan()]] * light + [plans for plans in stages if plans]


def _most_of(
    board: Storyboard,
    plans: Sequence[Plan],
    tell: Callable[[Storyboard], str | int],
    room: int,
    over: tuple[int, float],
    best: tuple[int, str],
) -> str:
    """What these plans keep, each less than the one before, as far as there is room for it.

    `over` are the bulk and the length of what is too long, `best` the bulk and the text of what the last plan keeps. It
    takes long to tell: the plan to try is found by bulk, and a text that nearly fills the room is taken.
    """

    @cache
    def tried(n: int) -> tuple[int, Storyboard]:
        short = cut(board, plans[n])
        return _bulk(short), short

    low, high = 0, len(plans) - 1
    while low < high:
        power = log(over[0] / best[0]) / log(over[1] / len(best[1]))
        expected = best[0] * (room / len(best[1])) ** power
        n = bisect_left(range(high - 1), -expected, low, key=lambda n: -tried(n)[0])
        bulk, short = tried(n)
        text = tell(short)
        if not isinstance(text, int) and len(text) <= room:
            high, best = n, (bulk, text)
            if len(text) > _NEARLY * room:
                break
        else:
            low, over = n + 1, (bulk, _length(text))
    return best[1]


def cut(board: Storyboard, plan: Plan) -> Storyboard:
    """As much of a storyboard as the plan keeps; all that it keeps stands where it stood."""
    return _Cutting(board, plan).storyboard()


class _Cutting:
    """What goes, and where the steps that stay have come to."""

    def __init__(self, board: Storyboard, plan: Plan) -> None:
        closed = [id for id in board.scene.boxes if id in board.folding.groups and id not in board.opened]
        self._lost = set(closed[round(plan.groups * len(closed)) :])
        self._board, self._plan = board, plan = shut(board, self._lost) if self._lost else board, plan
        self._runs = _runs(board, plan.ends, plan.parts)
        self._place = {old: new for new, run in enumerate(self._runs) for old in run}
        boxes, arrows = board.scene.boxes, board.scene.arrows
        crowd = set[str]() if plan.crowd else _crowd(board, self._runs)
        self._hidden = crowd | {id for id, box in boxes.items() if box.holder in crowd}
        self._arrows = {id: arrow for id, arrow in arrows.items() if not {arrow.source, arrow.target} & self._hidden}
        self._details: dict[int, Detail] = {}  # by identity: what is the same stays so

    def storyboard(self) -> Storyboard:
        board = self._board
        boxes: dict[str, Box] = {}
        for id, box in board.scene.boxes.items():
            if id not in self._hidden:
                fields = self._fields({"details": box.details, "goto": box.goto}, id)
                boxes[id] = with_changes(box, {"region": None if box.region in self._hidden else box.region, **fields})
        steps = [self._step(run) for run in self._runs]
        scene, start = Scene(board.title, boxes, self._arrows), self._place.get(board.start)
        runs = {
            group: [(self._place[first], self._place[last], said) for first, last, said in told]
            for group, told in board.runs.items()
            if group not in self._hidden
        }
        opened = board.opened - self._hidden
        short = Storyboard(scene, steps, board.title, start, legend=board.legend, opened=opened, runs=runs)
        short.stand_as_in(board)
        return short

    def _step(self, run: range) -> Step:
        steps = self._board.steps
        step = replace(steps[run[-1]], boxes={}, arrows={})
        for old in run:
            for id, fields in steps[old].boxes.items():
                if id not in self._hidden:
                    step.boxes[id] = step.boxes.get(id, {}) | self._fields(fields, id)
            for id, fields in steps[old].arrows.items():
                if id in self._arrows:
                    step.arrows[id] = step.arrows.get(id, {}) | fields
        if len(run) > 1:
            step.caption, step.cursor, step.stands = self._gap(run), None, len(run)
            step.place, step.chapter = None, self._begun(run)
        if len(run) > 1 or step.focus in self._hidden:
            step.focus = None
        if step.place in self._hidden:
            step.place = None
        return step

    def _gap(self, run: range) -> str:
        """What is left out: whole parts of a film, or steps."""
        hidden = len(self._hidden)
        begun = [chapter for old in run if (chapter := self._board.steps[old].chapter)]
        which = f"{begun[0][:1].upper()}{begun[0][1:]}" if begun else f"Steps {run[0] + 1:,} to {run[-1] + 1:,} are"
        which += f" to {begun[-1]} are" if len(begun) > 1 else " is" if begun else ""
        few = "1 box that comes" if hidden == 1 else f"{hidden:,} boxes that come"
        more = f", and {few} in between" if hidden else ""
        return f"{which} left out of this notebook, to keep it small{more}: {HOW}."

    def _begun(self, run: range) -> str:
        """The part of a film that begins in these steps, if there is more of it after them."""
        after = self._board.steps[run[-1] + 1 : run[-1] + 2]
        begun = [chapter for old in run if (chapter := self._board.steps[old].chapter)]
        return begun[-1] if begun and after and not after[0].chapter else ""

    def _fields(self, fields: dict[str, Any], owner: str) -> dict[str, Any]:
        """The fields of a box, as they are now."""
        told = dict(fields)
        if self._plan.texts < 0:
            told |= {"details": (_NO_DETAILS,)} if told.get("details") else {}
        elif "details" in told:
            details = tuple([self._detail(each) for each in told["details"]])
            told["details"] = (*details, _INSIDE) if owner in self._lost else details
        if told.get("goto") is not None:
            told["goto"] = self._place[told["goto"]]
        return told

    def _detail(self, detail: Detail) -> Detail:
        """A section of what a click shows, as it is now."""
        key = id(detail)
        if key not in self._details:
            self._details[key] = _detail(detail, self._plan)
        return self._details[key]


_INSIDE = Detail("Inside", "text", LEFT_OUT)
_NO_DETAILS = Detail("Details", "text", LEFT_OUT)


def _detail(detail: Detail, plan: Plan) -> Detail:
    """A section of what a click shows; what is too long is left out, and says so."""
    if detail.kind != "value":
        return detail if len(str(detail.body)) <= plan.texts else Detail(detail.heading, "text", LEFT_OUT)
    body = detail.body
    return detail if len(str(body.get("text"))) <= plan.values else replace(detail, body={**body, "text": LEFT_OUT})


def _runs(board: Storyboard, ends: float, parts: float) -> list[range]:
    """The steps that are kept, and between them those that are left out as one."""
    count = len(board.steps)
    kept = _of_parts(board, parts)
    if ends * 2 < count:
        near = int(ends)
        around = {*range(max(0, board.start - near // 2), min(count, board.start + near // 2 + 1))}
        kept &= {*range(near), *range(count - near, count)} | around
    marks = sorted(kept)
    runs = [range(mark, mark + 1) for mark in marks[:1]]
    for before, mark in pairwise(marks):
        runs += [range(before + 1, mark)] * (mark > before + 1) + [range(mark, mark + 1)]
    return runs


def _of_parts(board: Storyboard, parts: float) -> set[int]:
    """The steps in so many parts of a film at both ends, and in the one that a player opens at."""
    begins = [at for at, step in enumerate(board.steps) if step.chapter]
    if len(begins) <= parts:
        return {*range(len(board.steps))}
    numbers = {*range(-(-int(parts) // 2)), *range(len(begins) - int(parts) // 2, len(begins))}
    numbers |= {max([n for n, begin in enumerate(begins) if begin <= board.start], default=0)}
    spans = list(zip([0, *begins[1:]], [*begins[1:], len(board.steps)], strict=True))
    return {at for n in numbers for at in range(*spans[n])}


def _crowd(board: Storyboard, runs: Iterable[range]) -> set[str]:
    """The boxes that come in steps which are left out, of which nothing is told later, and not where it opens."""
    there = {id for k in (-1, board.start) for id, box in board.at(k).boxes.items() if box.state != "future"}
    coming: set[str] = set()
    for run in runs:
        changes = [(id, fields) for old in run for id, fields in board.steps[old].boxes.items()]
        if len(run) == 1:
            coming -= {id for id, _ in changes}
            there |= {id for id, _ in changes}
        else:
            coming |= {id for id, _ in changes} - there
    regions = {box.region for id, box in board.scene.boxes.items() if id not in coming}
    return coming - regions


def _weight(board: Storyboard) -> int:
    """How many changes there are in all steps."""
    return sum(len(step.boxes) + len(step.arrows) for step in board.steps)


def _bulk(board: Storyboard, details: bool = True) -> int:
    """What is told of all steps, with all that clicks show or without it: the more, the longer the storyboard is."""
    size = sum(len(step.caption) for step in board.steps) + _CHANGE * _weight(board)
    if not details:
        return size
    shown = [box.details for box in board.scene.boxes.values()]
    shown += [fields.get("details", ()) for step in board.steps for fields in step.boxes.values()]
    bodies: dict[int, dict[str, Any] | str] = {id(each): each.body for several in shown for each in several}
    texts = [body.get("text") if isinstance(body, dict) else body for body in bodies.values()]
    return size + sum(len(str(text)) for text in texts if text != LEFT_OUT)


def shut(board: Storyboard, groups: Collection[str]) -> Storyboard:
    """The storyboard without what is in these groups, which are closed in it: each is one box that does not open."""
    folding = Folding(board.scene, board.folding.groups.difference(groups))
    members = {id: one for one, several in folding.members.items() for id in several}
    now = Scene(board.title, dict(board.scene.boxes), dict(board.scene.arrows))
    boxes = {id: box for id, box in now.boxes.items() if folding.stands[id] == id}
    scene = Scene(board.title, boxes, dict(folding.seen(now).arrows))
    drawn = dict(scene.arrows)
    steps: list[Step] = []
    place: dict[int, int] = {}
    for first, last, said in stops(board.steps, folding, board.runs):
        step = replace(board.steps[last], caption=said, boxes={}, arrows={})
        step.chapter = next((each.chapter for each in board.steps[first : last + 1] if each.chapter), "")
        for old in range(first, last + 1):
            place[old] = len(steps)
            for id, fields in board.steps[old].boxes.items():
                if id in boxes:
                    step.boxes[id] = step.boxes.get(id, {}) | fields
            for id, fields in board.steps[old].arrows.items():
                now.arrows[id] = with_changes(now.arrows[id], fields)
        moved = {members[old] for n in range(first, last + 1) for old in board.steps[n].arrows if old in members}
        for id in [id for id in scene.arrows if id in moved]:
            looks = folding.arrow(now, id)
            step.arrows[id] = changed(drawn[id], looks)
            drawn[id] = looks
        for name in ("focus", "place"):
            if getattr(step, name) in now.boxes:
                setattr(step, name, folding.stands[getattr(step, name)])
        steps.append(step)
    runs = {
        group: [(place[first], place[last], said) for first, last, said in told]
        for group, told in board.runs.items()
        if group in boxes and group not in groups
    }
    start = place.get(board.start)
    short = Storyboard(scene, steps, board.title, start, legend=board.legend, opened=board.opened, runs=runs)
    labels = board.sizes[1]
    several = {id: ids for id, ids in folding.members.items() if len(ids) > 1}
    sizes = {id: bundle_size(max(labels[each] for each in ids), len(ids)) for id, ids in several.items()}
    short.stand_as_in(board, sizes)
    return short


_COLUMNS = ("boxes", "arrows", "steps", "details", "levels")
_HOLE = "\0"  # no cleaned text has it
Told = dict[str, Any]  # what Storyboard.to_dict gives, and the parts of that


def packed_story(told: Told) -> Told:
    """What is told of a storyboard, in columns."""
    levels = {"levels": packed_levels(told, told["levels"])} if "levels" in told else {}
    return _Packing(told).story() | levels | {"ways": WAYS}


def packed_levels(told: Told, levels: Told) -> list[Any]:
    """These levels of the storyboard by places in its lists of boxes and arrows, one more than they are: 0 is none."""
    box = {each["id"]: place + 1 for place, each in enumerate(told["boxes"])} | {None: 0, "": 0}
    arrow = {each["id"]: place + 1 for place, each in enumerate(told["arrows"])} | {None: 0}
    return [_level(frame, level, box, arrow) for frame, level in levels.items()]


def _level(frame: str, level: Told, box: dict[str | None, int], arrow: dict[str | None, int]) -> list[Any]:
    wires = [
        [box[start], box[end], box[value], arrow[ended], len(steps), *steps, *label]
        for start, end, value, ended, steps, *label in level["wires"]
    ]
    spots = ([[box[value], x] for value, x in level[side].items()] for side in ("in", "out"))
    places = [[box[id], *corner] for id, corner in level["boxes"].items()]
    return [box[frame], level["w"], level["h"], places, wires, *spots]


class _Packing:
    """Goes through a story once; an item is known by its place in the list."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._boxes: dict[str, Told] = {box["id"]: dict(box) for box in told["boxes"]}  # as they are by now
        self._arrows: dict[str, Told] = {arrow["id"]: dict(arrow) for arrow in told["arrows"]}
        self._box_at = {id: place for place, id in enumerate(self._boxes)}
        self._arrow_at = {id: place for place, id in enumerate(self._arrows)}
        self._details: dict[str, list[int]] = {}
        self._next = 0  # the first number of a detail that no item had yet

    def story(self) -> Told:
        told = self._told
        story = {name: value for name, value in told.items() if name not in _COLUMNS}
        boxes, arrows = list(map(self._box, self._boxes.values())), list(map(self._arrow, self._arrows.values()))
        _differences(boxes, ("x", "y"))
        _differences(arrows, ("target",))
        moved: dict[str, list[Told]] = {"boxes": [], "arrows": []}
        steps = [self._step(step, moved) for step in told["steps"]]
        _differences([step for step in steps if isinstance(step["focus"], int)], ("focus",))
        _differences([step for step in steps if "when" in step], ("when",))
        for moves in moved.values():
            _differences(moves, ("item",))
        tables = {"boxes": boxes, "arrows": arrows, "steps": steps, "details": map(_packed_detail, told["details"])}
        story |= {name: _table(rows) for name, rows in tables.items()}
        story["moves"] = [_table(moves) for moves in moved.values()]
        if "runs" in told:
            story["runs"] = [*told["runs"].items()]
        if any([step.get("chapter") for step in told["steps"]]):
            _set_numbers_apart(story)
        return story

    def _box(self, box: Told) -> Told:
        row: Told = box | {name: _tenths(box[name]) for name in "xywh"} | {"details": self._listed(box)}
        holder = row.pop("holder")
        if holder is not None:
            row["holder"] = self._box_at[box["id"]] - self._box_at[holder]
            _shorten(row, holder)
        return self._said(box, row)

    def _arrow(self, arrow: Told) -> Told:
        source, target = self._boxes[arrow["source"]], self._box_at[arrow["target"]]
        row: Told = arrow | {"source": target - self._box_at[arrow["source"]], "target": target}
        _shorten(row, arrow["target"])
        x, y, w, h = (_tenths(source[name]) for name in "xywh")
        for name, start in (("lx", x), ("ly", y), ("lw", 0), ("lh", 0)):
            row[name] = _tenths(arrow[name]) - start
        points = _points(arrow["d"], x + w // 2, y + h)
        row["d"] = arrow["d"] if points is None else points
        return self._said(arrow, {name: value for name, value in row.items() if value or name not in _EMPTY})

    def _step(self, step: Told, moved: dict[str, list[Told]]) -> Told:
        """The step, with how many of each it changes; the changes themselves join those that are moved."""
        for id, change in step["boxes"].items():
            box = self._boxes[id]
            box.update(change)
            row = change | ({"details": self._listed(box)} if "details" in change else {})
            moved["boxes"].append(self._said(box, row) | {"item": self._box_at[id]})
        for id, change in step["arrows"].items():
            arrow = self._arrows[id]
            arrow.update(change)
            moved["arrows"].append(self._said(arrow, dict(change)) | {"item": self._arrow_at[id]})
        focus = self._box_at[step["focus"]] if step["focus"] in self._boxes else step["focus"]
        told = step | {"focus": focus, "boxes": len(step["boxes"]), "arrows": len(step["arrows"])}
        if "place" in step:  # mostly where the focus is
            told["place"] = self._box_at[step["place"]] - (focus if isinstance(focus, int) else 0)
        return told

    def _listed(self, box: Told) -> list[int]:
        """A box's details: how many of those that it had stay at the beginning, then the others, mostly new ones."""
        before, now = self._details.get(box["id"], []), box["details"]
        same = next((n for n, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), None)
        same = min(len(before), len(now)) if same is None else same
        numbers = [same]
        for number in now[same:]:
            numbers.append(number - self._next)
            self._next = max(self._next, number + 1)
        self._details[box["id"]] = now
        return numbers

    def _said(self, item: Told, row: Told) -> Told:
        """The row with the words of the item as it is by now: a note, if they are made from it and what is drawn."""
        before = item.get("note", "")
        words = self._arrow_words(item) if "source" in item else _box_words(item)
        item["note"] = note = _note(item["alt"], words)  # None: they are not made so
        if note is not None:
            row.pop("alt", None)
            return row if note == before else row | {"note": note}
        return row | {"alt": item["alt"]} if before is not None else row

    def _arrow_words(self, arrow: Told) -> Callable[[str], str]:
        upper, lower = self._boxes[arrow["source"]]["title"], self._boxes[arrow["target"]]["title"]
        return lambda note: arrow_said(upper, lower, arrow["kind"], arrow["label"], note, arrow["state"])


_EMPTY = ("label", "tone", "weight", "together")  # of an arrow: mostly there is none


def _box_words(box: Told) -> Callable[[str], str]:
    return lambda note: box_said(box["title"], box["kind"], note, box["lines"], box["state"])


def _note(said: str, words: Callable[[str], str]) -> str | None:
    """The note with which the words are what is said, or None."""
    if said == words(""):
        return ""
    begin, hole, end = words(_HOLE).partition(_HOLE)
    found = said[len(begin) : len(said) - len(end)]
    return found if hole and found and words(found) == said else None


def _shorten(row: Told, longer: str) -> None:
    """An id that continues another is told by its end."""
    if row["id"].startswith(longer):
        row["end"] = row.pop("id")[len(longer) :]


def _tenths(number: float) -> int:
    return round(number * 10)


def _points(d: str, x: int, y: int) -> list[int] | None:
    """The numbers of a path, each point from the one before, the first from that place; None for another path."""
    texts = d.removeprefix("M").replace(" C", " ").replace(",", " ").split(" ")
    try:
        numbers = [_tenths(float(text)) for text in texts]
    except ValueError:
        return None
    pairs = [f"{x / 10:g},{y / 10:g}" for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
    if d != f"M{pairs[0]} C{' '.join(pairs[1:])}" or "e" in d:
        return None
    return [number - before for number, before in zip(numbers, [x, y, *numbers], strict=False)]


def _packed_detail(detail: Told) -> Told:
    """A section of what a click shows; a value's numbers stand in several under other names."""
    body: dict[str, Any] | str = detail["body"]
    if not isinstance(body, dict) or list(body) != ["name", "shape", "dtype", "text", "norm"]:
        return detail
    row = {name: value for name, value in detail.items() if name != "body"}
    return row | {"name": body["name"], "value": [body[name] for name in ("shape", "dtype", "text", "norm")]}


def _differences(rows: Sequence[Told], names: Iterable[str]) -> None:
    """Have each row tell these numbers from those of the row before."""
    for name in names:
        before = 0
        for row in rows:
            before, row[name] = row[name], row[name] - before


def _table(rows: Iterable[Told]) -> list[Any]:
    """How many rows there are, and their columns by name; one that not all rows have tells how far apart they are."""
    columns: dict[str, list[tuple[int, Any]]] = {}
    count = 0
    for count, row in enumerate(rows, 1):
        for name, value in row.items():
            columns.setdefault(name, []).append((count - 1, value))
    table: dict[str, Any] = {}
    for name, cells in columns.items():
        table[name] = _column([value for _, value in cells])
        if len(cells) < count:
            places = [place for place, _ in cells]
            table[name]["at"] = [place - before for place, before in zip(places, [0, *places], strict=False)]
    return [count, table]


_NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")
_GAP = "\x7f"  # where a number was; no cleaned text has it
_SAID = ("lines", "label", "caption")
_RECENT, _SIGN = 90, 35  # numbers that are found again; the sign of a new one, then of the last, the last but one …


def _set_numbers_apart(story: Told) -> None:
    """Take the numbers out of what is said: the steps of a film differ in little else, and tell most numbers often.

    Each is told once, with a sign for every place: how many others were told since it was told last.
    """
    recent: list[str] = []
    new: list[str] = []
    signs: list[str] = []

    def gap(found: re.Match[str]) -> str:
        number = found[0]
        if number in recent:
            signs.append(chr(_SIGN + 1 + recent.index(number)))
            recent.remove(number)
        else:
            signs.append(chr(_SIGN))
            new.append(number)
        recent.insert(0, number)
        del recent[_RECENT:]
        return _GAP

    def apart(said: object) -> Any:
        if isinstance(said, str):
            return _NUMBER.sub(gap, said)
        return [apart(each) for each in cast("Sequence[object]", said)] if isinstance(said, list | tuple) else said

    for _, table in (story["boxes"], story["arrows"], *story["moves"], story["steps"]):
        for name in [name for name in table if name in _SAID]:
            column = table[name]
            said = column["is"] if "is" in column else [column["of"][at] for at in column["by"]]
            places = {"at": column["at"]} if "at" in column else {}
            table[name] = _column([apart(each) for each in said]) | places
    story["runs"] = apart(story.get("runs", []))
    story["numbers"] = [new, "".join(signs)]


def _column(values: list[Any]) -> dict[str, Any]:
    """The values; or, where they are often the same, those that there are, and which of them each is."""
    texts = [repr(value) for value in values]  # in a tenth of the time of JSON
    kinds = {text: value for text, value in zip(texts, values, strict=True)}
    if 2 * len(kinds) > len(values) or all(len(text) < 3 for text in kinds):
        return {"is": values}
    number = {text: n for n, text in enumerate(kinds)}
    return {"of": list(kinds.values()), "by": [number[text] for text in texts]}
