"""Where things stand: in the groups of the program that made them, and in what function transforms add to a graph.

What may stand as one box is a scope, a loop, its rounds, a call, an expression, what repeats, stretches of a long row.
`program_tree` groups nodes as the program made them. Neighbours in order of creation that were made in the same part of
the program stand in one group: a module that is called twice is two groups, and no arrow goes back from a later group
to an earlier one. Function transforms add operations without a node, tangents beside values, and parts of the picture
for levels and for what a backward computes: `Lanes` tells of them, and such a part is the outermost group.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from ..scene.labels import TITLE_COLUMNS, columns, cut
from ..scene.model import WITHIN, Arrow, Box, Detail
from ..trace.call_records import LevelEntered, OperationRan, TangentPushed, above
from ..trace.frame import Frame, NodeState, OperationState
from ..trace.records import BackwardFinished, BackwardStarted, Failed, NodeCreated, TensorsFound
from ..trace.schema import Code, Part, Record, SourceLine, TensorSeen
from ..trace.source import calls_many, scope_title
from ..trace.values import Value
from .value_display import BOX_COLUMNS, Sayings, behind_head, brief_of, head_of, left_out, lines_of, value_detail
from .written import SIGNS, Spelled, computes, transforms, tree_of

MOST = 40  # things side by side: more are divided into stretches
_STRETCH, _PARTS = 20, 20  # how long such a stretch is, or how many there are of a very long row
_LONGEST_PATTERN, _WORK = 256, 4_000_000  # nodes of a pattern; comparisons made to find one, roughly


@dataclass(slots=True)
class Group:
    """Things that may stand as one box: nodes by their ids, and groups; `names` are what a user may call it by.

    Its `kind` is that of the part of the program ("scope", "loop", "round", "call", "expression"), "part" for one that
    a function transform adds to the picture, "line" for what one line computes, "run" for small things between large
    ones, "more" for those between the first and the last of what repeats, and "stretch" for a stretch of a long row; a
    round has a `number`.
    Groups of the same structure have the same `symbol`. Sentences tell of a group by what it is `told` by.

    What function transforms add stands in parts of the picture of their own: a group in one has that as its `part`.
    """

    title: str
    items: list[str | Group]
    names: tuple[str, ...] = ()
    id: str = ""
    parent: Group | None = field(default=None, repr=False)
    part: Box | None = None
    kind: str = ""
    number: int = 0
    symbol: int = 0
    told: str = ""
    scope: str = ""  # of a module with all that it lies in
    single: bool = False  # a module of one operation, whatever that reshapes: a Linear
    layer: bool = False  # a module that one line of the program is all of: an LSTM

    @property
    def path(self) -> list[Group]:
        """The group after all that it lies in, the outermost first."""
        path: list[Group] = [self]
        outer = self.parent
        while outer is not None:
            path.append(outer)
            outer = outer.parent
        return path[::-1]

    @property
    def called(self) -> str:
        """The title of what repeats or is a stretch, else the scope with all it lies in."""
        return self.told or (self.title if " × " in self.title or not self.names else self.names[0])

    def nodes(self) -> list[str]:
        """All nodes inside, in order."""
        found: list[str] = []
        for item in self.items:
            if isinstance(item, Group):
                found += item.nodes()
            else:
                found.append(item)
        return found

    def groups(self) -> list[Group]:
        """All groups inside, outer ones first."""
        found: list[Group] = []
        for item in self.items:
            if isinstance(item, Group):
                found.append(item)
                found += item.groups()
        return found


@dataclass(slots=True)
class Program(Group):
    """The whole graph: `titles` are the words on each node's box, and `words` those of sentences, the shortest first.

    `node_names` stand below the titles of nodes that nobody recorded, and are what sentences call these by; `scopes`
    are what sentences call those of nodes.
    """

    titles: dict[str, str] = field(default_factory=dict, repr=False)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    node_names: dict[str, str] = field(default_factory=dict, repr=False)
    scopes: dict[str, str] = field(default_factory=dict, repr=False)


def repetitions(symbols: Sequence[object], least: int, covered: int) -> list[tuple[int, int, int]]:
    """Where a row repeats at least so often, over so many items in all: where, the length of a pattern, how often."""
    count = len(symbols)
    longest = min(count // least, _LONGEST_PATTERN, max(8, _WORK // max(1, count)))
    if count < covered or longest < 1:
        return []
    numbers: dict[object, int] = {}
    row = np.array([numbers.setdefault(symbol, len(numbers)) for symbol in symbols])
    covers = np.zeros((longest, count), dtype=np.int64)  # by a pattern of this length that begins here
    for period in range(1, longest + 1):
        differs = np.flatnonzero(row[:-period] != row[period:])
        ends = np.append(differs, count - period)
        agree = ends[np.searchsorted(ends, np.arange(count - period))] - np.arange(count - period)
        times = agree // period + 1
        covers[period - 1, : count - period] = np.where(times >= least, times * period, 0)
    best, lengths = covers.argmax(axis=0), covers.max(axis=0)
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < count:
        length, period = int(lengths[at]), int(best[at]) + 1
        if length < covered:
            at += 1
            continue
        found.append((at, period, length // period))
        at += length
    return found


def divided(items: list[str | Group]) -> list[str | Group]:
    """A row that is not too long, or its stretches."""
    count = len(items)
    if count <= MOST:
        return items
    each = max(_STRETCH, -(-count // _PARTS))
    parts: list[str | Group] = []
    for start in range(0, count, each):
        part = items[start : start + each]
        if len(part) == 1:
            parts += part
        else:
            end = start + len(part)
            title = f"part {start // each + 1} ({start + 1:,} to {end:,})"
            parts.append(Group(title, divided(part), kind="stretch"))
    return parts


_ROUNDS = 5  # what repeats so often is told by its first and its last
_FEW = 20  # things in a frame that need no group
_LEAVES = 12  # that one node takes; with more of them it is a group
_LONGEST, _SHORT = 40, 16  # characters of an expression that a sentence tells; of an operand in what is pieced together
_SURE = TITLE_COLUMNS // 2  # columns of an expression that has room behind a variable and a round, whatever these are
_WRITES = re.compile(r"\s*(\*\*|//|<<|>>|[-+*/@%&|^])=[^=]|\.\w+_\(")  # after the name of what is written into
_FOLDED = 8  # nodes between the first and the last of what repeats that are worth a group
_PLACES = 4  # that a sentence has for a node
_RESHAPING = {"t", "view", "reshape", "unsafe_view", "transpose", "expand", "clone", "permute", "as_strided"}
_CROWDED = 12  # nodes: of more of them those of one line stand in one box
_SMALL = 4  # nodes of what may be part of a line or a run; what has more of them stands for itself
_RUN, _BESIDE = 3, 6  # small things in a row that may stand as one box, in a row of so many things
RAN = "recorded while a backward ran"
_TARGETS = re.compile(r"[\w.,()\s]+")  # of an assignment to variables
_DIGITS = re.compile(r"\d+(,\d{3})*")
_NAMES = re.compile(r"[^\W\d]")
_OPERAND = re.compile(r"(?<![\w.])[^\W\d][\w.]*(?![\w.(])")  # a variable or an attribute that is not called
_PACKAGE = re.compile(r"(?<![\w.])(?:torch|workbench|wb|nn|F)\.(?:\w+\.)*(?=\w+\()")
_LAYER = re.compile(r"^(\d+) › .*")  # the class of a layer that has only a number
_NUMBERED = {"scope": " call", "call": " call"}


@dataclass(slots=True)
class _Item:
    """A part of the program with what was made in it, or (without a kind) a node."""

    kind: str
    title: str
    key: object = None
    number: int = 0
    node: str = ""
    name: str = ""  # of the node, without "Backward0"
    operation: str = ""  # of the node
    leaves: int = 0  # that the node takes
    parameters: int = 0  # of modules, that the node takes
    used: frozenset[str] = frozenset()  # the nodes that the node takes something from
    ran: bool = False  # whether a backward recorded the node
    items: list[_Item] = field(default_factory=list)
    text: str = ""  # of an expression or a call, in full
    variable: str = ""  # which holds its result, or those that do: "out, h"
    line: str = ""  # of the program, that computed a node
    at: tuple[str, int] = ("", 0)  # the file of that line, and its number
    turn: str = ""  # the round of a loop that it is all of
    scope: str = ""  # its name; of several inside each other the names joined by "/"
    held: str = ""  # of a module the variable that the program calls it by
    called: str = ""  # and its words for that
    module: str = ""  # its class
    settings: str = ""  # and its numbers
    inner: frozenset[tuple[str, str]] = frozenset()  # of a text what has a box of its own in it, and what stands for it
    framed: int = 0  # so many things or more in it are in a frame anyway: a backward recorded them, or it is CopySlices
    found: str = ""  # what is known of the expression of a node that nobody recorded
    which: str = ""  # ", 2nd call" of those at one place with the same title
    symbol: int = 0  # equal for what repeats: the same structure, with the same titles but for digits
    part: Box | None = None  # of the picture, which a function transform adds


def program_tree(events: Iterable[Record], lanes: Lanes | None = None) -> Program:
    """All nodes of a trace in groups of the parts of the program that made them; `titles` has the words for each node.

    With `lanes` there are operations without a node too, and the parts that transforms add to the picture. A group
    around one thing is that thing, unless very many leaves lie in it too, or the parameters of a module. What repeats
    is its first, one group for those between, and its last. An expression that several nodes compute is a group; where
    a backward recorded them, it is a group only of many. In a crowded row each line of the program is one.
    """
    whole = _made(events, lanes)
    _tell_apart(whole)
    _shorten(whole)
    items = [each for item in whole.items for each in _simplified(item)]
    while len(items) == 1 and items[0].kind == "call":  # the program's own beginning
        items = items[0].items
    whole.items = items
    _gather(whole)
    _mark(whole, {})
    root = Program("graph", [])
    root.items = _grouped(whole, "", root, []).items
    for number, group in enumerate(root.groups(), 1):
        group.id = f"g{number}"
        for item in group.items:
            if isinstance(item, Group):
                item.parent, item.part = group, item.part or group.part
    if lanes is not None:  # at several levels one expression has several nodes
        root.titles, root.words, root.scopes = lanes.titles, {}, {}
    return root


def _made(events: Iterable[Record], lanes: Lanes | None) -> _Item:
    """All nodes in the parts that they were made in."""
    events = list(events)
    found = _found_expressions(events)
    owned = _parameters(events)
    whole = _Item("graph", "graph")
    homes: dict[str, _Item] = {} if lanes is None else _homes(events, lanes, whole)
    there: set[str] = set()
    going: list[str] = []  # backwards
    before = known = 0  # the last part that there was when the outermost of them began, and that there is
    for event in events:
        if isinstance(event, BackwardStarted):
            before = before if going else known
            going.append(event.task)
        elif going and isinstance(event, BackwardFinished | Failed) and event.task in going:
            going.remove(event.task)
        if isinstance(event, OperationRan) and event.op in homes:
            homes[event.op].items.append(_without_node(event))
        if not isinstance(event, NodeCreated) or event.node in there:  # it is told again of what was there before
            continue
        there.add(event.node)
        home = at = homes.get(event.node, whole)
        ran, outermost = bool(going) and not event.found, True
        for part in event.path or _from_scope(event, bool(going)):
            if event.pushing is not None and part.kind == "expression":  # its words are those of what is pushed
                continue
            last = at.items[-1] if at.items else None
            if last is None or last.key != part.key:
                last = _Item(part.kind, part.title, part.key, part.number)
                if part.kind == "scope":
                    _describe(last, part)
                last.text = part.title if part.kind in ("expression", "call") else ""
                if ran and part.kind == "expression":
                    last.kind = "call"
                known = max(known, part.key) if event.path else known
                if ran and (part.title == RAN if not event.path else last.text and part.key > before):
                    last.framed = 1 if outermost else 2  # a part inside has its own words if it is one
                at.items.append(last)
            outermost = outermost and not last.framed
            at = last
        while at is home or at.kind in ("loop", "round", "call"):
            inner = at.items[-1] if at.items else at
            if not event.found or event.path or event.scope or inner.kind not in ("loop", "round", "call"):
                break
            at = inner  # one that was there before stands where it is first seen
        at.framed = 1 if event.runs is not None else at.framed
        name = event.name.removesuffix("Backward0")
        item = _Item("", event.name, node=event.node, name=name, operation=event.operation, variable=_variable(event))
        item.leaves = len({edge.target for edge in event.edges if edge.target is not None} - there)
        item.found = found.get(event.node, "")
        used = {edge.target for edge in event.edges} | {arg.tensor for arg in event.args}
        item.parameters = len(owned & used)
        item.ran = ran
        item.used = frozenset([edge.target for edge in event.edges if edge.target in there])
        _note_line(item, event.source)
        at.items.append(item)
    whole.items += {id(home): home for home in homes.values() if home is not whole}.values()
    return whole


def _homes(events: Sequence[Record], lanes: Lanes, whole: _Item) -> dict[str, _Item]:
    """The part of the picture, or the `whole`, that each node stands in, and each operation without one."""
    parts: dict[str, _Item] = {}
    homes: dict[str, _Item] = {}
    for id, part in lanes.places(events).items():
        if part is not None and part.id not in parts:
            title = part.title.partition(" while ")[0]  # a box has less room than a frame
            parts[part.id] = _Item("part", title, part.id, part=part)
        homes[id] = whole if part is None else parts[part.id]
    return homes


def _without_node(event: OperationRan) -> _Item:
    item = _Item("", event.name, node=event.op, name=event.name, operation=event.name)
    _note_line(item, event.source)
    return item


def _note_line(item: _Item, source: SourceLine | None) -> None:
    """Note the line of the program that computed it."""
    if source is not None:
        item.line, item.at = source.text, (source.file, source.line)


def _parameters(events: Iterable[Record]) -> set[str | None]:
    """The parameters and buffers of modules: their names have a dot, `fc.weight`."""
    building = (event for event in events if isinstance(event, NodeCreated | TensorsFound))
    return {each.id for event in building for each in event.tensors if each.node is None and "." in (each.name or "")}


def _describe(item: _Item, part: Part) -> None:
    """Give a scope its words: of a module the variable or attribute that holds it comes first, then its class."""
    item.scope, item.settings = _LAYER.sub(r"\1", part.title), part.settings
    # A module that is called where it is made, as in `nn.Linear(2, 2)(x)`, is held by nothing.
    held = "" if part.variable.rpartition(".")[2] in (part.module, part.title) else part.variable
    item.held, item.called = held, held.removeprefix("self.") or item.scope.replace("/", ".")
    item.module = part.module or (part.title if held else "")
    item.title = part.title if item.called == item.scope and not item.module else _entitled(item.called, item.module)


def _entitled(called: str, module: str) -> str:
    """`layer1 › Sequential`; a module that has no name but its class's is that."""
    return f"{called}{WITHIN}{module}" if module and called.partition(" ")[0] != module else called


def _variable(event: NodeCreated) -> str:
    """The variable that holds the only output of a node."""
    made = [seen.name for seen in event.tensors if seen.node == event.node]
    return made[0] or "" if len(made) == 1 and event.output_count == 1 else ""


def _holding(item: _Item) -> str:
    """The variables that hold the results of an expression, in the order of its line: `out, h` of `out, h = rnn(x)`."""
    nodes: list[_Item] = []
    todo = [item]
    while todo:
        each = todo.pop()
        nodes += [] if each.kind else [each]
        todo += each.items
    last = item.items[-1]
    targets = last.line.partition("=")[0].strip()
    names = re.findall(r"[\w.]+", targets) if _TARGETS.fullmatch(targets) else []
    held = {node.variable.partition("[")[0] for node in nodes if node.line == last.line}
    said = [name for name in names if name in held]
    if len(said) > 1:
        return targets if said == names else ", ".join(said)
    whole = len(nodes) > 1 and said == [targets] and last.variable.startswith(f"{targets}[")
    return targets if whole else last.variable


def _from_scope(event: NodeCreated, running: bool) -> list[Part]:
    """Parts for a node of which no more than its scope is known."""
    names = [RAN] if running and not event.found else []
    names += event.scope.split("/") if event.scope else []
    told = [*names[:-1], scope_title(names[-1], event.module)] if event.scope else names
    return [Part("scope", "/".join(names[: at + 1]), title) for at, title in enumerate(told)]  # type: ignore[arg-type]


# The words.


def _tell_apart(whole: _Item) -> None:
    """Modules of one class that are called by several variables are told by these in sentences too."""
    variables: dict[str, set[str]] = {}
    modules: list[_Item] = []
    todo = [whole]
    while todo:
        item = todo.pop()
        todo += item.items
        if item.scope == item.module and item.called != item.scope:
            modules.append(item)
            variables.setdefault(item.scope, set()).add(item.called)
    for item in modules:
        if len(variables[item.scope]) > 1:
            item.scope = item.called


def _shorten(item: _Item) -> None:
    """Titles of expressions: of those that are too long, what has a box of its own inside them is left out."""
    own: frozenset[tuple[str, str]] | None = None
    for each in item.items:
        if each.items:
            _shorten(each)
        if not each.text:
            continue
        if len(each.text) > _SURE:
            if own is None:
                own = frozenset([pair for one in item.items for pair in _own(one)])
            each.inner, each.title = own, _fitted(each.text, own, TITLE_COLUMNS)
        else:
            each.title = each.text


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _own(item: _Item) -> list[tuple[str, str]]:
    """The text of an expression or a call, and what stands for it in others; of a scope the text that called it."""
    inner = item
    while inner.kind == "scope":
        inner = inner.items[0]
    return [(inner.text, item.called or _UNKNOWN)] if inner.text else []


class _Place(NamedTuple):
    """Where a part of a text begins and ends, in bytes, and what may stand for it."""

    begin: int
    end: int
    words: str

    def lies_in(self, other: _Place) -> bool:
        """Whether it is a part of another."""
        return other.begin <= self.begin and self.end <= other.end and self is not other


@lru_cache(10_000)
def _fitted(text: str, own: frozenset[tuple[str, str]], room: int) -> str:
    """An expression in so many columns: of the expressions in it the innermost are left out, long ones first.

    Those are its `own`, which have boxes; where nothing would be told that it takes, or no room be left, any of them.
    """
    if columns(text) <= room:
        return text
    known, places = dict(own), _places(text)
    own_places = [each._replace(words=known[each.words]) for each in places if each.words in known]
    told = _leave_out(text, own_places, room)
    if columns(told) <= room and _OPERAND.search(told):
        return told
    more = _leave_out(text, [each._replace(words=known.get(each.words, _UNKNOWN)) for each in places], room)
    return cut(more if _OPERAND.search(more) or columns(told) > room else told, room)


def _leave_out(text: str, places: Iterable[_Place], room: int) -> str:
    """An expression without as many of these parts as it takes; what is left always names something."""
    source, cuts = text.encode(), _packages(text)
    outer = _nested([each for each in places if len(each.words) + 1 < each.end - each.begin])
    inside = Counter(outer.values())  # how many parts of one are still there
    ready, empty = [each for each in outer if not inside[each]], None  # one like `… + …` is no more than `…`
    while ready and columns(_without(source, cuts)) > room:
        place = empty or max(ready, key=lambda each: (each.end - each.begin, -each.begin))
        ready.remove(place)
        more = [*[each for each in cuts if not each.lies_in(place)], place]
        cuts = more if _NAMES.search(_without(source, more)) else cuts
        around, empty = outer[place], None
        inside[around] -= 1
        if around is not None and not inside[around]:
            ready.append(around)
            empty = None if re.search(r"\w", _without(source, cuts, around)) else around
    for each in [each for each in cuts if each.words]:  # what was left out early may have room again
        fewer = [other for other in cuts if other is not each]
        cuts = fewer if columns(_without(source, fewer)) <= room else cuts
    return _without(source, cuts)


def _nested(places: Iterable[_Place]) -> dict[_Place, _Place | None]:
    """Of each part the next larger one that it lies in."""
    outer: dict[_Place, _Place | None] = {}
    around: list[_Place] = []
    for place in sorted(places, key=lambda each: (each.begin, -each.end)):
        while around and not place.lies_in(around[-1]):
            around.pop()
        outer[place] = around[-1] if around else None
        around.append(place)
    return outer


def _packages(text: str) -> list[_Place]:
    """Where an expression names the packages of functions: what is too long is `tanh(x)` for `torch.tanh(x)`."""
    spans = [(len(text[: found.start()].encode()), found[0]) for found in _PACKAGE.finditer(text)]
    return [_Place(begin, begin + len(found.encode()), "") for begin, found in spans]


def _places(text: str) -> list[_Place]:
    """The parts of an expression that may be left out, each with its words."""
    if "\\" in text:  # what is no escape sequence would be warned of
        return []
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = {id(node.func) for node in nodes if isinstance(node, ast.Call)}  # `tanh` of `tanh(x)`, `self` of `self.w`
    names |= {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
    names |= {id(node) for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)}  # `y` of `y = x * 2`
    source = text.encode()
    spans: dict[tuple[int, int], None] = {}
    for node in nodes:
        if isinstance(node, ast.expr) and node.end_col_offset is not None and id(node) not in names:
            spans[node.col_offset, node.end_col_offset] = None
        if isinstance(node, ast.Call) and (given := [*node.args, *node.keywords]):  # all that it is given together
            spans[given[0].col_offset, given[-1].end_col_offset or 0] = None
    told = [_Place(*span, source[slice(*span)].decode(errors="replace")) for span in spans]
    return [each for each in told if each.words != text]


def _without(source: bytes, cuts: Iterable[_Place], within: _Place | None = None) -> str:
    """An expression, or a part of it, with what stands for them in place of the parts left out."""
    at, end = (0, len(source)) if within is None else (within.begin, within.end)
    told: list[str] = []
    for each in sorted(cuts):
        if at <= each.begin and each.end <= end:
            told += [source[at : each.begin].decode(errors="replace"), each.words]
            at = each.end
    told.append(source[at:end].decode(errors="replace"))
    return re.sub(r"(?<![\w)\]])\(…\)", "…", "".join(told))


# The words for nodes that nobody recorded: what their edges, their saved tensors and the variables' names tell.

_UNKNOWN = "…"
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how closely an operator binds
# By how many edges there are: the operands, what binds them, and how closely.
_INFIX = {
    "add": ("+", _SUM),
    "sub": ("-", _SUM),
    "mul": ("*", _PRODUCT),
    "div": ("/", _PRODUCT),
    "mm": ("@", _PRODUCT),
    "mv": ("@", _PRODUCT),
    "bmm": ("@", _PRODUCT),
    "dot": ("@", _PRODUCT),
    "pow": ("**", _POWER),
    "rsub": ("-", _SUM),
}
# PyTorch's nodes do not tell what else was given: these take nothing else.
_UNARY = frozenset(
    "abs ceil cos cosh erf exp exp2 expm1 floor log log10 log1p log2 reciprocal relu rsqrt sigmoid sign silu sin sinh "
    "sqrt square tan tanh".split()
)
_WRITTEN = {"to_copy": "to", "linalg_vector_norm": "norm"}  # an operation -> what a program calls it

_Expression = tuple[str, int]  # its text, and how closely the operator in it binds


def _found_expressions(events: Iterable[Record]) -> dict[str, str]:
    """By node the expression of each that was there before anybody listened; `…` stands for what is not known.

    One of which too little is known is left out.
    """
    made: dict[str, NodeCreated] = {}
    tensors: dict[str, str] = {}
    names: dict[tuple[str, int], str] = {}  # (node or leaf, output) -> variable
    assigned: dict[str, list[str]] = {}
    needed: set[str] = set()  # the names of what gradients go to
    for event in events:
        for each in event.assigned if isinstance(event, TensorsFound) else ():
            assigned.setdefault(each.name, []).append(each.text)
        if isinstance(event, NodeCreated | TensorsFound):
            for seen in event.tensors:
                if seen.name:
                    tensors[seen.id] = names[seen.node or seen.id, seen.output_nr] = seen.name
                    needed |= {seen.name} if seen.requires_grad else set()
        if isinstance(event, NodeCreated) and event.found and not event.path:
            made.setdefault(event.node, event)
    known: dict[str, _Expression] = {}
    told: dict[str, str] = {}
    scopes = {id: node.scope for id, node in made.items()}
    spelled = Spelled(made, names, needed).read(assigned)
    own = frozenset([(text, _UNKNOWN) for text in spelled.values()])
    for id, node in made.items():
        variable = names.get((id, 0)) if (id, 1) not in names else None
        begin = f"{variable} = " if variable else ""
        if id in spelled:
            text = spelled[id]
            known[id], told[id] = (text, _binds(text)), begin + _fitted(text, own, TITLE_COLUMNS - columns(begin))
            continue
        full = [_operand(node, nr, names, tensors, known, scopes) for nr in range(len(node.edges))]
        short = [each if len(each[0]) <= _SHORT else (_UNKNOWN, _ATOM) for each in full]
        for operands in (full, short):
            text, _ = known[id] = _expression(node, operands)
            gaps = 1 + any(operand != _UNKNOWN for operand, _ in operands)  # with which it tells more than a name
            if text.count(_UNKNOWN) <= gaps and len(begin) + len(text) <= TITLE_COLUMNS:
                break
        if text.count(_UNKNOWN) <= gaps and not text.startswith(f"{_UNKNOWN}."):
            told[id] = begin + text
    return told


def _binds(text: str) -> int:
    """How closely the operator of an expression binds."""
    tree = tree_of(text)
    if isinstance(tree, ast.BinOp):
        return next((binds for sign, binds in _INFIX.values() if sign == SIGNS.get(type(tree.op))), _SUM)
    return _PRODUCT if isinstance(tree, ast.UnaryOp) else _ATOM


@dataclass(frozen=True, slots=True)
class _Signature:
    """What the operation is called in a program, the one that ran for that, and its parameters where they are known."""

    name: str
    ran: str
    parameters: list[str] = field(default_factory=list)
    derived: list[str] = field(default_factory=list)  # those with a formula for backward


@lru_cache(1_000)
def _signature(name: str, custom: bool, code: tuple[Code, ...]) -> _Signature:
    texts = {each.name: each.text for each in code}
    forward = texts.get("forward", "")
    if custom:
        return _Signature(f"{name}.apply", name, _arguments(forward, "setup_context" in texts))
    if (found := re.match(r"(\w+)\((.*)\)", forward)) is None:
        return _Signature(_WRITTEN.get(name, name), name)
    ran, parameters = found[1], [each.partition("=")[0].strip() for each in found[2].split(",")]
    same = ran.replace("_", "") == name.replace("_", "")  # but for where the words of a node's name begin
    called = ran if same else name
    derived = re.findall(r"^(\w+):", texts.get("backward", ""), re.MULTILINE)
    return _Signature(_WRITTEN.get(called, called), ran, parameters, derived)


def _arguments(forward: str, without_ctx: bool) -> list[str]:
    """What a Function's `apply` takes, if its `forward` can be read and takes just so many."""
    try:
        made = ast.parse(forward).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return []
    if not isinstance(made, ast.FunctionDef) or made.args.vararg is not None:
        return []
    names = [each.arg for each in (*made.args.posonlyargs, *made.args.args)]
    return names if without_ctx else names[1:]


def _operand(
    node: NodeCreated,
    nr: int,
    names: dict[tuple[str, int], str],
    tensors: dict[str, str],
    known: dict[str, _Expression],
    scopes: dict[str, str | None],
) -> _Expression:
    """What comes in at an edge: a variable, a scope's result, an expression, a constant that is saved."""
    edge = node.edges[nr]
    if edge.target is not None:
        if named := names.get((edge.target, edge.output_nr)):
            return named, _ATOM
        if scope := _scope_left(scopes.get(edge.target), node.scope):
            return scope, _ATOM
        text, binds = known.get(edge.target, (_UNKNOWN, _ATOM))
        return (text, binds) if not edge.output_nr else (_UNKNOWN, _ATOM)
    parameters = _signature(node.operation, node.custom, node.code).parameters
    for saved in node.saved:
        if nr < len(parameters) and saved.name == parameters[nr]:
            if saved.tensor is not None:
                return tensors.get(saved.tensor, _UNKNOWN), _ATOM
            return (_number(saved.value), _ATOM) if saved.value is not None else (_UNKNOWN, _ATOM)
    return _UNKNOWN, _ATOM


def _scope_left(scope: str | None, here: str | None) -> str:
    """The outermost scope that something was made in, but nothing here is."""
    parts, around = (scope or "").split("/"), (here or "").split("/")
    while parts and around and parts[0] == around[0]:
        parts, around = parts[1:], around[1:]
    return parts[0] if parts else ""


def _number(value: Value) -> str:
    return _UNKNOWN if value.shape else value.brief(_SHORT)


def _expression(node: NodeCreated, operands: list[_Expression]) -> _Expression:
    called = _signature(node.operation, node.custom, node.code)
    parameters, texts = called.parameters, [text for text, _ in operands]
    if called.ran in _INFIX and len(parameters) in (0, 2) and 1 <= len(operands) <= 2:
        sign, binds = _INFIX[called.ran]
        left, right = (*operands, (_UNKNOWN, _ATOM))[:2]
        if called.ran == "rsub" or (len(operands) == 1 and called.derived and called.derived == parameters[1:]):
            left, right = right, left
        first, second = _within(left, binds + (binds == _POWER)), _within(right, binds + (binds != _POWER))
        return f"{first} {sign} {second}", binds
    if called.ran == "neg" and len(operands) == 1:
        return f"-{_within(operands[0], _POWER)}", _PRODUCT
    if called.ran == "t" and len(operands) == 1:
        return f"{_within(operands[0], _ATOM)}.T", _ATOM
    # An argument may have no edge: only where the tensors come first is it known which operand is which.
    if node.custom:
        inner = ", ".join(texts) if len(parameters) <= len(texts) else _UNKNOWN
    elif not parameters and len(texts) == 1:  # PyTorch does not say which
        inner = ", ".join([*texts, *([] if called.name in _UNARY else [_UNKNOWN])])
    elif parameters[:1] in (["self"], ["input"]) and len(texts) <= len(parameters):
        more = len(parameters) > len(texts) or called.ran != called.name
        inner = ", ".join([*texts, *([_UNKNOWN] if more else [])])
    else:
        inner = _UNKNOWN
    told = f"{called.name}({inner})"
    return (told if len(told) <= _LONGEST else f"{called.name}({_UNKNOWN})"), _ATOM


def _within(operand: _Expression, binds: int) -> str:
    text, own = operand
    return text if own >= binds else f"({text})"


# What is one thing.


def _simplified(item: _Item, calls: tuple[str, ...] = ()) -> list[_Item]:
    """The item without groups of one thing in it, or what it is the only one around; nothing, if it has no words.

    `calls` is how the calls of the modules begin that it lies in: `net(`.
    """
    if not item.kind:
        return [item]
    items: list[_Item] = []
    calls = (*calls, f"{item.held}(") if item.held else calls
    for inner in item.items:
        if inner.kind:
            items += _simplified(inner, calls)
        else:
            items.append(inner)
    item.items = items
    if item.kind == "scope":  # the text of one call is that of none of the modules that it led to
        texts = Counter(inner.text for inner in items if inner.scope)
        for inner in items:
            inner.text = "" if inner.scope and texts[inner.text] > 1 else inner.text
    if item.kind == "loop":
        return _loop(item)
    if item.kind in ("expression", "call") and (not item.title or transforms(tree_of(item.text))):
        return item.items  # without a source; or all that a transform does
    if 0 < item.framed <= len(item.items) <= _FEW:
        return item.items
    if len(item.items) > 1 or item.kind == "round":
        return [item]
    only = item.items[0]
    if item.kind == "part":
        item.items = only.items if only.kind else item.items
        return [item if only.kind else only]
    if item.kind == "expression" and only.leaves > _LEAVES:
        return [item]
    if item.kind == "scope" and not only.kind and only.parameters:  # a module of one operation, with what it holds
        only.text = "" if only.text.startswith(calls) else only.text  # the words of the module's own call tell nothing
        return [item]
    if item.kind == "scope":
        _join_words(item, only)
        only.scope = f"{item.scope}/{only.scope}" if only.scope else item.scope
        only.kind = "scope" if only.kind == "call" else only.kind
    elif item.kind in ("expression", "call") and only.kind in ("", "expression", "call"):
        if not (only.text and calls_many(item.text)):  # that of all calls together is not the words of one
            only.text, only.inner = item.text, item.inner
            if not item.text.startswith(calls):
                only.title = item.title
    return [only]


def _join_words(outer: _Item, inner: _Item) -> None:
    """The words for what is the only thing in a scope: for a module in a module `model.net › Sequential`."""
    if not inner.scope:
        numbered = outer.title.isdigit() and inner.name
        inner.title = f"{outer.title}{WITHIN}{inner.name}" if numbered else outer.title
        inner.called, inner.module, inner.settings = outer.called, outer.module, outer.settings
    elif outer.module and inner.module and outer.called != outer.module:
        inner.called = f"{outer.called}.{inner.called}"
        inner.title = _entitled(inner.called, inner.module)
    else:
        inner.title = f"{outer.title}{WITHIN}{inner.title}"


def _loop(loop: _Item) -> list[_Item]:
    """A loop and its rounds; one with a single round is what happened in that, in a group only if its line is known."""
    if len(loop.items) == 1:
        loop.items = loop.items[0].items
        return [loop] if len(loop.items) > 1 and loop.title else loop.items
    for at, turn in enumerate(loop.items):
        if len(turn.items) == 1:
            only = turn.items[0]
            only.turn, only.number = turn.title, turn.number
            only.kind = only.kind if only.kind in ("", "expression") else "round"
            loop.items[at] = only
    loop.title = f"{loop.title or 'loop'} × {len(loop.items):,}"
    return [loop]


def _nodes(item: _Item) -> list[_Item]:
    """All nodes in an item, in order."""
    return [node for each in item.items for node in _nodes(each)] if item.kind else [item]


def _gather(item: _Item) -> None:
    """In a crowded row, what one line computed becomes one item, and so do small things between large ones."""
    for each in item.items:
        if each.kind:
            _gather(each)
    if item.kind in ("graph", "part", "scope", "call", "round") and len(_nodes(item)) > _CROWDED:
        item.items = _lines(item.items)
        item.items = _runs(item.items)


def _lines(items: list[_Item]) -> list[_Item]:
    """A row with several things that one line computed as one item, if none of them is a large module."""
    row: list[_Item] = []
    for at, several in groupby(items, key=_line_of):
        run = list(several)
        line = _nodes(run[0])[0].line.strip()
        if at is None or not line or len(run) == 1 or len(run) == len(items) or not _are_joined(run):
            row += run
            continue
        modules = [each.called for each in run if each.scope]
        title, text = (f"{modules[0]} … {modules[-1]}", "") if len(modules) > 1 else (_cut(line), line)
        row.append(_Item("line", title, ("line", at, len(row)), items=run, text=text))
    return row


def _line_of(item: _Item) -> tuple[str, int] | None:
    """The line that computed all of an item; None if it was several, or the item is a large module."""
    nodes = _nodes(item)
    lines = {node.at for node in nodes}
    is_large = len(nodes) > (_SMALL if item.kind == "scope" else 2 * _SMALL)
    return lines.pop() if len(lines) == 1 and ("", 0) not in lines and not is_large and not item.turn else None


def _are_joined(items: Sequence[_Item]) -> bool:
    """Whether what these compute is one thing: in `mu, logvar = f(h), g(h)` nothing goes from one to the other.

    What a backward recorded is: it is joined by gradients that have no node.
    """
    if any([node.ran for item in items for node in _nodes(item)]):
        return True
    pieces: list[tuple[set[str], set[str]]] = []  # nodes, and what they use
    for item in items:
        nodes = _nodes(item)
        made, used = {node.node for node in nodes}, {each for node in nodes for each in node.used}
        for piece in [piece for piece in pieces if piece[0] & used or piece[1] & made]:
            pieces.remove(piece)
            made, used = made | piece[0], used | piece[1]
        pieces.append((made, used))
    return len(pieces) == 1


def _runs(items: list[_Item]) -> list[_Item]:
    """A row with the small things between large ones as one item: `conv1 … maxpool`."""

    def is_small(item: _Item) -> bool:
        return item.kind in ("", "scope", "expression") and len(_nodes(item)) <= _SMALL and not item.turn

    if len(items) < _BESIDE or all(map(is_small, items)):
        return items
    row: list[_Item] = []
    for small, several in groupby(items, key=is_small):
        for run in _chains(list(several)) if small else [list(several)]:
            names = [each.title if each.called.isdigit() else each.called for each in run if each.scope]
            if not small or len(run) < _RUN or not names:
                row += run
                continue
            title = f"{names[0]} … {names[-1]}" if len(names) > 1 else f"{names[0]} and {len(run) - 1} more"
            row.append(_Item("run", title, ("run", len(row)), items=run))
    return row


def _chains(items: list[_Item]) -> list[list[_Item]]:
    """A row in pieces, in each of which every item goes on from the one before."""
    pieces: list[list[_Item]] = []
    before: set[str] = set()  # the nodes of the last item
    for item in items:
        nodes = _nodes(item)
        if pieces and any(not before.isdisjoint(node.used) for node in nodes):
            pieces[-1].append(item)
        else:
            pieces.append([item])
        before = {node.node for node in nodes}
    return pieces


def _mark(item: _Item, symbols: dict[object, int]) -> None:
    """Give the item and all in it their symbols, and number those at one place that have the same words."""
    for each in item.items:
        if each.kind:
            _mark(each, symbols)
        else:
            each.symbol = symbols.setdefault(("", _undigited(each.title)), len(symbols))
    words = _DIGITS.sub("#", item.title) if item.kind != "loop" else ""
    symbol = item.kind, words, *[each.symbol for each in item.items]
    item.symbol = symbols.setdefault(symbol, len(symbols))
    seen: dict[str, int] = {}
    for each in item.items if len(item.items) > 1 else ():
        if each.turn:
            continue
        seen[each.title] = seen.get(each.title, 0) + 1
        if seen[each.title] > 1:
            kind = "scope" if each.kind and each.scope else each.kind
            each.which = f", {_ordinal(seen[each.title])}{_NUMBERED.get(kind, '')}"


@lru_cache(10_000)
def _undigited(title: str) -> str:
    return _DIGITS.sub("#", title)


def _ordinal(number: int) -> str:
    """2nd, 3rd, 4th …"""
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return f"{number:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


# Groups.


def _grouped(item: _Item, around: str, root: Program, places: Sequence[str]) -> Group:
    """An item as a group, what repeats in it as the first, those between and the last, and long rows divided.

    It lies in the scope `around`, and in groups that sentences tell of as `places`, the innermost first.
    """
    path = f"{around}/{item.scope}".strip("/") if item.scope else around
    own = item.title + item.which
    told, names = own if item.kind == "round" and not item.turn else f"`{item.title}`{item.which}", [own]
    if item.scope:
        told, names = path + item.which, [path + item.which, path, *names, item.scope]
    elif item.text:
        names = [item.text + item.which, item.text, *names]
    elif item.part is not None:
        names = [*names, item.part.title]
    turn = [item.turn] if item.turn else []
    if item.kind not in ("graph", "loop", "line", "run"):
        outer = [place for place in places if not path.startswith(f"{place}/")]  # scopes that its own tells
        places = [told, *turn, *outer][:_PLACES]
    if item.kind == "expression":
        item.variable = _holding(item)
    inner: list[str | Group] = []
    for each in item.items:
        if each.kind:
            inner.append(_grouped(each, path, root, places))
        else:
            is_found = each.found and not each.scope and not each.turn
            if is_found:
                root.node_names[each.node] = each.title + each.which
            root.titles[each.node] = each.found if is_found else _title(each)
            root.words[each.node] = tuple(_words(each, places))
            root.scopes[each.node] = f"{path}/{each.scope}".strip("/") if each.scope else path
            inner.append(each.node)
    row = _row(item.items, inner, item.kind == "loop" and bool(item.items[0].number))
    group = Group(_title(item), row, kind=item.kind, number=item.number, symbol=item.symbol, part=item.part)
    group.names, group.told = tuple(dict.fromkeys([*names, group.title])), " in ".join([told, *turn])
    if item.scope:
        group.scope = path
        group.single = all(not each.kind for each in item.items) and _computes_once(item.items)
        group.layer = not _holds_modules(item) and len({node.at for node in _nodes(item)}) == 1
    return group


def _holds_modules(item: _Item) -> bool:
    return any([bool(each.scope) or _holds_modules(each) for each in item.items])


def _computes_once(nodes: Sequence[_Item]) -> bool:
    return sum(node.operation.removeprefix("_") not in _RESHAPING for node in nodes) == 1


def _title(item: _Item) -> str:
    """The words on a box: `round 2: y = x @ w`, `conv1 › Conv2d stride 2`."""
    begin = f"{item.turn}: " if item.turn else ""
    if item.variable and (item.text or item.scope) and item.title != item.variable:
        written = item.title.startswith(item.variable) and _WRITES.match(item.title[len(item.variable) :])
        begin += "" if written else f"{item.variable} = "
    title = item.title
    told = f"{begin}{title}{item.which}"
    if not item.settings and len(told) <= _SURE:
        return told
    room = TITLE_COLUMNS - columns(begin + item.which)
    if item.text and not item.scope:
        title = _fitted(item.text, item.inner, room)
    between = " "
    for setting in item.settings.split(", ") if item.settings else ():
        if columns(more := f"{title}{between}{setting}") <= room:
            title, between = more, ", "
    return f"{begin}{title}{item.which}"


def _words(item: _Item, places: Sequence[str]) -> list[str]:
    """What a sentence may tell a node by: `x @ w`, that in its round, in the call that this is in, and so on."""
    title = item.text if item.scope else item.title
    told = [f"`{_cut(title)}`{item.which}" if item.text else item.title + item.which]
    own = [place for place in (item.scope if item.text else "", item.turn) if place]  # a title tells the scope
    for place in (*own, *places) if own else places:
        told.append(f"{told[-1]} in {place}")
    return told


def _row(items: Sequence[_Item], groups: list[str | Group], rounds: bool) -> list[str | Group]:
    """A row in which what repeats stands as the first, those between, and the last."""
    row: list[str | Group] = []
    at = 0
    repeated = repetitions([item.symbol for item in items], _ROUNDS, _ROUNDS) if len(items) >= _ROUNDS else []
    for start, period, times in repeated:
        row += groups[at:start]
        at = start + period * times
        between = groups[start + period : at - period]
        if sum(1 if isinstance(each, str) else len(each.nodes()) for each in between) < _FOLDED:
            row += groups[start:at]
            continue
        words = _between(items[start + period : at - period], period, rounds)
        row += groups[start : start + period]
        inner = _stretches(between, rounds, start + period)
        row.append(Group(words, inner, (words,), kind="more", told=f"`{words}`"))
        row += groups[at - period : at]
    row += groups[at:]
    return _stretches(row, rounds, 0) if rounds else divided(row)


def _between(items: Sequence[_Item], period: int, rounds: bool) -> str:
    """How many there are between the first and the last of what repeats, and which."""
    count = len(items) // period
    if rounds:
        return f"{len(items):,} more rounds ({items[0].number:,} to {items[-1].number:,})"
    first, again, last = items[0], items[-period], items[-1]
    if first.title != again.title and (first.kind or first.scope):  # layers
        one, _, kind = first.title.partition(" › ")
        begin = one if kind and last.title.endswith(f" › {kind}") else first.title  # the class is told once
        return f"{count:,} more ({begin} to {last.title})"
    several = items[:period]
    words = [each.title if each.kind or each.text or each.scope else each.operation for each in several]
    return f"{count:,} more of {_cut(', '.join(dict.fromkeys(words)))}"


def _stretches(row: list[str | Group], rounds: bool, before: int) -> list[str | Group]:
    """A row that is not too long, or groups of ten, a hundred … of it."""
    if len(row) <= MOST:
        return row
    each = 10
    while len(row) > each * MOST:
        each *= 10
    parts: list[str | Group] = []
    for start in range(0, len(row), each):
        part = row[start : start + each]
        first, last = before + start + 1, before + start + len(part)
        title = f"{'rounds' if rounds else 'items'} {first:,} to {last:,}"
        inner = _stretches(part, rounds, before + start)
        parts += [Group(title, inner, (title,), kind="stretch")] if len(part) > 1 else part
    return parts


# What function transforms add.

TANGENT = ".tangent"  # behind a tensor's id
_ORDERS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}


def wholes(seen: Iterable[TensorSeen]) -> dict[str, str]:
    """Of data that a program reshaped without a name, the variable that they are of: view -> tensor."""
    known = {each.id: each for each in seen}
    found = {}
    for view in known.values():
        base = known.get(view.base or "")
        if base is None or base.name is None or view.name is not None or view.level is not None:
            continue
        plain = not any(each.requires_grad or each.node for each in (view, base))
        if plain and math.prod(view.value.shape) == math.prod(base.value.shape):
            found[view.id] = base.id
    return found


_SEEING = NodeCreated | TensorsFound | OperationRan | TangentPushed  # records with tensors


def _written(events: Iterable[Record], known: Mapping[str, TensorSeen]) -> dict[str, _Item]:
    """The words of the program for nodes and operations: for those that compute an expression, or all that ran of one.

    What a backward ran has the text of the line that asked for it, which is none of its own.
    """
    items: dict[str, _Item] = {}
    runs: list[tuple[object, list[str]]] = []  # of one expression at one level
    going: list[str] = []
    for event in events:
        if isinstance(event, BackwardStarted):
            going.append(event.task)
        elif isinstance(event, BackwardFinished | Failed) and event.task in going:
            going.remove(event.task)
        elif isinstance(event, NodeCreated | OperationRan):
            id, item, place = _computed(event)
            seen = known.get(item.node)
            if not item.text or transforms(tree_of(item.text)):
                continue
            item.variable = seen.name or "" if seen is not None else ""
            if not going or computes(tree_of(item.text), item.operation):
                items[id] = item
            key = item.text, place, seen and seen.level
            if not runs or runs[-1][0] != key:
                runs.append((key, []))
            runs[-1][1].append(id)
    for _, several in runs:
        for id in several if len(several) > 1 else ():
            if id in items and not computes(tree_of(items[id].text), items[id].operation):
                del items[id]
    own = frozenset([(item.text, _UNKNOWN) for item in items.values()])
    for item in items.values():
        item.inner, item.title = own, _fitted(item.text, own, TITLE_COLUMNS)
    return items


def _computed(event: NodeCreated | OperationRan) -> tuple[str, _Item, object]:
    """A node or an operation, its expression with the only tensor it gives, and what tells that from others."""
    if isinstance(event, OperationRan):
        output = event.outputs[0] if len(event.outputs) == 1 else ""
        return event.op, _Item("", "", node=output, operation=event.name, text=event.text), event.source
    outputs = [seen.id for seen in event.tensors if seen.node == event.node]
    output = outputs[0] if len(outputs) == 1 else ""
    part = event.path[-1] if event.path and event.path[-1].kind == "expression" else None
    text = part.title if part is not None else ""
    return event.node, _Item("", "", node=output, operation=event.operation, text=text), part and part.key


class Lanes:
    """Where things stand that exist at several levels: each operation once, in the box of its node if it has one."""

    def __init__(self, events: Iterable[Record], say: Sayings) -> None:
        events = list(events)
        self._say = say
        self._above = above(events)
        self._maker: dict[str, str] = {}  # tensor -> node or operation
        self._seen: dict[str, TensorSeen] = {}
        self._leaf_above: dict[str, str] = {}
        for event in events:
            if isinstance(event, _SEEING):
                for seen in event.tensors:
                    self._seen[seen.id] = seen
                    if seen.node is not None:
                        self._maker[seen.id] = seen.node
                    elif seen.requires_grad and seen.below is not None:
                        self._leaf_above.setdefault(seen.below, seen.id)
            if isinstance(event, OperationRan):
                self._maker.update(dict.fromkeys(event.outputs, event.op))
        self.wholes = wholes(self._seen.values())
        self.data = {*self.wholes.values()}  # what is drawn although no operation was given just this tensor
        number = {event.level: event.number for event in events if isinstance(event, LevelEntered)}
        levels = [self._seen[id].level for id, made in self._maker.items() if made.startswith("n")]
        recorded = {0 if level is None else number.get(level, 0) for level in levels}
        # Several levels may have a graph of the same function: the lowest stands free, the others are framed.
        self._framed = {level for level, n in number.items() if recorded and n > min(recorded)}
        self._outputs = {event.op: event.outputs for event in events if isinstance(event, OperationRan)}
        self._events = events

    @cached_property
    def _written(self) -> dict[str, _Item]:
        return _written(self._events, self._seen)

    @cached_property
    def titles(self) -> dict[str, str]:
        """The words of the program on the boxes of nodes and operations."""
        return {id: _title(item) for id, item in self._written.items()}

    def is_cut(self, event: Record) -> bool:
        """Whether a node is given a tensor behind a cut, of which the trace knows the other side."""
        given = [self._seen.get(arg.tensor or "") for arg in event.args] if isinstance(event, NodeCreated) else []
        return any([seen is not None and seen.cut is not None and seen.cut.node is not None for seen in given])

    def place(self, id: str) -> str:
        """The box that a tensor stands in: that of what made it, or its own."""
        while id in self._seen:
            if id in self._maker:
                return self._highest(self._maker[id])
            seen = self._seen[id]
            if seen.requires_grad:
                return id
            if id in self._leaf_above:
                return self._leaf_above[id]
            if seen.below is None and id not in self.wholes:
                return id
            id = seen.below or self.wholes[id]
        return id

    def _highest(self, made: str) -> str:
        """The node, or else the operation at the highest level, that tells of this operation."""
        while made in self._outputs:
            higher = next((self._above[output] for output in self._outputs[made] if output in self._above), None)
            if higher is None:
                break
            made = higher
        return made

    def places(self, events: Iterable[Record]) -> dict[str, Box | None]:
        """Nodes and operations with a box, in order, and the part of the picture that each stands in."""
        frame = Frame()
        found: dict[str, Box | None] = {}
        for event in events:
            event.apply(frame)
            if isinstance(event, NodeCreated):
                node = frame.nodes[event.node]
                output = node.outputs[0][0] if 0 in node.outputs else ""
                found[event.node] = self.region(frame, node, output, "recorded")
            elif isinstance(event, OperationRan) and self._highest(event.op) == event.op:
                state = frame.operations[event.op]
                found[event.op] = self.region(frame, state, event.outputs[0], "computed")
        return found

    def framed(self, id: str) -> bool:
        """Whether a leaf stands in the part of the picture with what its level recorded."""
        return id in self._seen and self._seen[id].level in self._framed

    def operation(self, frame: Frame, id: str) -> tuple[list[Box], list[Arrow]]:
        """An operation without a node and what it was computed from."""
        if self._highest(id) != id:
            return [], []
        state = frame.operations[id]
        made = state.made
        region = self.region(frame, state, made.outputs[0], "computed")
        boxes = [region] if region else []
        ways = self.ways(frame, id)
        boxes += [box for way in ways for box in self.input(frame, way.source)]
        details = [Detail(code.name.capitalize(), "code", code.text) for code in made.code]
        if made.source is not None:
            line = f"{made.source.file}, line {made.source.line}: {made.source.text}"
            details.append(Detail("Made at", "text", line))
        title = self.titles.get(id, made.name)
        lines: list[str] = []
        for output in made.outputs:
            tensor = frame.tensors[output]
            lines += self._say(lines_of, tensor.value, made.name if title != made.name else tensor.name or "")
            details.append(self._say(value_detail, "Output", tensor.name or made.name, tensor.value))
        details += self.level_details(frame, made.outputs[0])
        details.append(Detail("Graph", "text", "It has no node: nothing at its level asks for gradients."))
        kind = "function" if made.custom else "plain"
        box = Box(id, kind, title, tuple(lines), region=region.id if region else None, details=tuple(details))
        box.unsaid = left_out(*[frame.tensors[output].value for output in made.outputs])
        return [*boxes, box], ways

    def ways(self, frame: Frame, key: str) -> list[Arrow]:
        """What leads to an operation without a node, or to a tangent."""
        if key in frame.operations:
            if self._highest(key) != key:
                return []
            args = enumerate(frame.operations[key].made.args)
            return [Arrow(f"{key}.{nr}", self.place(arg.tensor), key) for nr, arg in args if arg.tensor is not None]
        id = key.removesuffix(TANGENT)
        tangent, pushed = frame.tangents[id]
        own = self.place(id)
        if tangent.node is not None:
            return [Arrow(f"{id}.beside", own, tangent.node, "beside")]
        ways = [Arrow(f"{id}.beside", own, key, "beside")]
        for index, operand in enumerate(pushed.operands if pushed else ()):
            node = frame.tangents[operand.tensor][0].node
            ways.append(Arrow(f"{key}.{index}", node or f"{operand.tensor}{TANGENT}", key, "tangent"))
        return ways

    def input(self, frame: Frame, id: str) -> list[Box]:
        """The box of a place that nobody else draws: a tensor that a transform was given, or a constant."""
        if id not in frame.tensors or frame.tensors[id].role is not None:
            return []
        tensor = frame.tensors[id]
        lines = tuple(self._say(lines_of, tensor.value))
        details = (self._say(value_detail, "Value", tensor.name or "", tensor.value), *self.level_details(frame, id))
        kind = "constant" if tensor.level is None else "input"
        name = frame.variable(id) or frame.viewed(id) or kind
        return [Box(id, kind, name, lines, details=details, unsaid=left_out(tensor.value))]

    def tangent(self, frame: Frame, id: str) -> tuple[list[Box], list[Arrow]]:
        """The tangents of one operation's results, beside the box of its values, and those they come from."""
        tangent, pushed = frame.tangents[id]
        own = self.place(id)
        arrows = self.ways(frame, f"{id}{TANGENT}")
        if tangent.node is not None:
            return [], arrows
        what = frame.variable(id) or (pushed.name if pushed else "input")
        if id in self._maker and (item := self._written.get(self._maker[id])) is not None and not item.variable:
            what = _fitted(item.text, item.inner, TITLE_COLUMNS - len("tangent of "))
        details = [Detail(code.name.capitalize(), "code", code.text) for code in pushed.code] if pushed else []
        details.append(self._say(value_detail, "Tangent", f"of {what}", tangent.value))
        details += self.level_details(frame, id, tangent=True)
        formula = [code.text for code in pushed.code if code.name == "tangent"] if pushed else []
        norm = f"‖{tangent.value.norm:.3g}‖"
        text = self._say(brief_of, tangent.value, BOX_COLUMNS - len(norm) - 2)
        text = f"{text}  {norm}" if tangent.value.shape else text
        lines = (*formula, *behind_head(head_of(tangent.value), text))
        region = self._region_of(frame, own)
        box = Box(f"{id}{TANGENT}", "tangent", f"tangent of {what}", lines, region=region, details=tuple(details))
        box.unsaid = left_out(tangent.value)
        boxes = [*self.input(frame, own), box]
        for operand in pushed.operands if pushed else ():
            if frame.tangents[operand.tensor][1] is None:  # it was given
                more = self.tangent(frame, operand.tensor)
                boxes, arrows = [*more[0], *boxes], [*more[1], *arrows]
        return boxes, arrows

    def _region_of(self, frame: Frame, place: str) -> str | None:
        if place in frame.nodes:
            region = self.region(frame, frame.nodes[place], frame.nodes[place].outputs[0][0], "")
        elif place in frame.operations:
            region = self.region(frame, frame.operations[place], frame.operations[place].made.outputs[0], "")
        else:
            return None
        return region.id if region else None

    def region(self, frame: Frame, state: NodeState | OperationState, output: str, verb: str) -> Box | None:
        """The part of the picture that a node or operation stands in, if it has a heading of its own."""
        level = self._seen[output].level if output in self._seen else None
        pushing = getattr(state.made, "pushing", None)
        if pushing is not None:
            of = "dual tensors" if pushing == "dual" else frame.levels[pushing].title
            about = "These nodes compute tangents, so that a backward can go through forward mode."
            return Box(f"r.{pushing}", "region", f"tangents of {of}", details=(Detail("What it is", "text", about),))
        if state.during is None:
            return self.level_region(frame, output) if isinstance(state, NodeState) else None
        task, order = state.during
        word = _ORDERS.get(order, f"{order}th")
        ran = frame.tasks[task]
        ran = "backward" if ran is None else f"the backward of level {frame.levels[ran].number}"
        where = f"at level {frame.levels[level].number} " if self._framed and level is not None else ""
        title = f"{word} order: {verb} {where}while {ran} ran"
        about = "What stands here computes a derivative: to go backward through it differentiates once more."
        return Box(f"r.{task}.{level}", "region", title, details=(Detail("What it is", "text", about),))

    def level_region(self, frame: Frame, id: str) -> Box | None:
        """The part of the picture with what a tensor's level recorded, where several did."""
        level = self._seen[id].level if id in self._seen else None
        if level not in self._framed:
            return None
        about = "Operations are recorded once for each level that differentiates: here as this level sees them."
        title = f"the graph of {frame.levels[level].title}"
        return Box(f"r.{level}", "region", title, details=(Detail("What it is", "text", about),))

    def shown(self, frame: Frame, key: str) -> str:
        """The box that stands for an operation without a node, or for a tensor's tangent."""
        if key in frame.operations:
            return self._highest(key)
        return frame.tangents[key][0].node or f"{key}.tangent"

    def levels(self, frame: Frame) -> list[Box]:
        """The strip of labels: the levels in force, and those that were there before, dashed."""
        boxes = []
        for depth, id in enumerate(frame.strip):
            level = frame.levels[id]
            over = id not in frame.stack
            title = f"{'› ' if depth else ''}{level.title}{', over' if over else ''}"
            about = {
                "grad": "It records what its function computes, and runs a backward through that.",
                "jvp": "It pushes tangents forward beside the values.",
                "vmap": f"It runs each operation once for all {level.size} samples.",
            }.get(level.transform, "")
            details = (Detail("What it does", "text", about),)
            boxes.append(Box(f"level{depth + 1}", "level", title, state="over" if over else "idle", details=details))
        return boxes

    def level_details(self, frame: Frame, id: str, tangent: bool = False) -> list[Detail]:
        """Which level a tensor belongs to, and how many samples it has."""
        seen = self._seen.get(id)
        if seen is None or seen.level is None:
            return []
        text = f"{frame.levels[seen.level].title}; its tangent is one level below." if tangent else ""
        details = [Detail("Level", "text", text or frame.levels[seen.level].title)]
        if seen.value.batch:
            details.append(Detail("Batch", "text", f"{seen.value.kind}; one operation computes all of them."))
        return details
