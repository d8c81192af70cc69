"""An expression of the program in as many columns as there are: what has a box of its own is left out of it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ..scene.metric import columns, cut

UNKNOWN = "…"  # stands for what is left out, or not known
SENTENCE_CHARACTERS = 40  # of an expression that a sentence tells, at most
_NAMES = re.compile(r"[^\W\d]")
_OPERAND = re.compile(r"(?<![\w.])[^\W\d][\w.]*(?![\w.(])")  # a variable or an attribute that is not called
_LEAD = re.compile(r"([^\W\d][\w.]*)\(")  # the name of what is called
_SUMS = (ast.Add, ast.Sub)
_TARGET = re.compile(r"[^\W\d]\w*(, [^\W\d]\w*)* = ")
_LONG_CALL = re.compile(r"(?:[^\W\d]\w*\.)*([^\W\d]\w*)(\(.*\))")
_PACKAGE = re.compile(r"(?<![\w.])(?:torch|workbench|wb|nn|F)\.(?:\w+\.)*(?=\w+\()")


def cut_in_sentence(text: str) -> str:
    """Return an expression for a sentence, no longer than the sentence has room for."""
    return text if len(text) <= SENTENCE_CHARACTERS else f"{text[: SENTENCE_CHARACTERS - 1]}…"


class _Place(NamedTuple):
    """Where a part of a text begins and ends, in bytes, and what may replace it."""

    begin: int
    end: int
    words: str

    def lies_in(self, other: _Place) -> bool:
        """Return True if it is a part of another."""
        return other.begin <= self.begin and self.end <= other.end and self is not other


@lru_cache(10_000)
def fitted_text(text: str, own: frozenset[tuple[str, str]], room: int) -> str:
    """Return an expression in `room` columns; the innermost expressions in it are left out, long ones first.

    These are its `own`, which have boxes; any of them if otherwise no operand or no room would be left.
    """
    if columns(text) <= room:
        return text
    if (target := _TARGET.match(text)) and columns(target[0]) < room // 2:
        return target[0] + fitted_text(text[target.end() :], own, room - columns(target[0]))
    if (chain := _fitted_chain(text, room)) is not None:
        return chain
    known, places = dict(own), _places(text)
    own_places = [each._replace(words=known[each.words]) for each in places if each.words in known]
    told = _leave_out(text, own_places, room)
    if columns(told) <= room and _OPERAND.search(told):
        return _begun(text, room) or told if told.startswith(UNKNOWN) else told
    more = _leave_out(text, [each._replace(words=known.get(each.words, UNKNOWN)) for each in places], room)
    told = more if _OPERAND.search(more) or columns(told) > room else told
    if columns(told) > room or not _NAMES.search(told):
        return _renamed(text, room) or _begun(text, room) or cut(told, room)
    return (told.startswith(UNKNOWN) and _begun(text, room)) or told


def _leave_out(text: str, places: Iterable[_Place], room: int) -> str:
    """Return an expression without as many of these parts as necessary; the rest always names something.

    Packages go first and stay away. Parts go from the inside out, as the outermost is what the box itself computes; the
    longest of the innermost go first, so that few have to.
    """
    source, cuts = text.encode(), _packages(text)
    outer = _nested([each for each in places if len(each.words) + 1 < each.end - each.begin])
    inside = Counter(outer.values())  # how many parts of one are still there
    ready = [each for each in outer if not inside[each]]  # the innermost
    empty: _Place | None = None  # one like `… + …`, which is no more than `…`: it goes before all others
    while ready and columns(_without(source, cuts)) > room:
        place = empty or max(ready, key=lambda each: (each.end - each.begin, -each.begin))
        ready.remove(place)
        # What was cut in it goes with it. Without a name the text would tell nothing: then it stays, as if it were cut,
        # and what is around it has its turn.
        more = [*[each for each in cuts if not each.lies_in(place)], place]
        cuts = more if _NAMES.search(_without(source, more)) else cuts
        around, empty = outer[place], None
        inside[around] -= 1
        if around is not None and not inside[around]:
            ready.append(around)
            empty = None if re.search(r"\w", _without(source, cuts, around)) else around
    # Of what is left out the name that it begins with says most: `loss(out…, y)`.
    for at, each in enumerate(cuts):
        words = _lead(source[each.begin : each.end].decode(errors="replace")) if each.words == UNKNOWN else ""
        more = [*cuts[:at], each._replace(words=words), *cuts[at + 1 :]]
        cuts = more if words and columns(_without(source, more)) <= room else cuts
    # A short part that went early may have room again, since a long one went after it.
    for each in [each for each in cuts if each.words]:
        fewer = [other for other in cuts if other is not each]
        cuts = fewer if columns(_without(source, fewer)) <= room else cuts
    return _without(source, cuts)


def _lead(text: str) -> str:
    """Return what a call may be shortened to: `self.encode(…)`, or `x…` for `x.mean(0)`."""
    lead = _LEAD.match(_PACKAGE.sub("", text))
    if lead is None or not isinstance(_value_of(text), ast.Call):
        return ""
    root, dot, _ = lead[1].partition(".")
    return f"{root}{UNKNOWN}" if dot and root != "self" else f"{lead[1]}({UNKNOWN})"


def _fitted_chain(text: str, room: int) -> str | None:
    """Return a chain of methods without their arguments, or without the last ones: `w(x).view(…).mean()`.

    It is None for what is no chain, or begins with too long an expression.
    """
    node = _value_of(text)
    links: list[tuple[str, str]] = []  # from the last method on: its name, and its arguments
    base = text.encode()
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        call, method = node, node.func
        node = method.value
        if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and not links):
            break
        end = method.end_col_offset or 0
        links.append((f".{method.attr}", base[end + 1 : call.end_col_offset or 0][:-1].decode()))
        base = base[: end - len(method.attr.encode()) - 1]
    begin, whole = base.decode(), list(links)
    for at in sorted(range(len(links)), key=lambda at: -len(links[at][1])):
        if columns(_chained(begin, links)) > room:
            links[at] = links[at][0], min(links[at][1], UNKNOWN, key=len)
    if links and columns(_chained(begin, links)) <= room:
        return _chained(begin, links)
    for first in range(1, len(links)):
        for kept in (whole[first:], links[first:]):
            if columns(told := _chained(begin, kept) + UNKNOWN) <= room:
                return told
    return None


def _renamed(text: str, room: int) -> str | None:
    """Return a call with the beginning of its long name: `binary_cross…(out, y)`."""
    if (call := _LONG_CALL.fullmatch(text)) is None:
        return None
    given = next((each for each in (call[2], f"({UNKNOWN})") if columns(each) <= room // 2), "")
    return f"{call[1][: room - columns(given) - 1]}{UNKNOWN}{given}"


def _begun(text: str, room: int) -> str | None:
    """Return a sum, or another operation with two sides, without what is right: `critic(fake).mean() - …`."""
    node = _value_of(text)
    source = text.encode()
    sums = isinstance(node, ast.BinOp) and isinstance(node.op, _SUMS)
    while isinstance(node, ast.BinOp) and isinstance(node.op, _SUMS) == sums:
        begin = source[: node.left.end_col_offset].decode()
        sign = re.match(r"\)*\s*[-+*/@%&|^<>]+", source[node.left.end_col_offset or 0 :].decode())
        told = f"{begin}{sign[0] if sign else ''} {UNKNOWN}"
        if columns(told) <= room and told.count("(") == told.count(")"):
            return told
        node = node.left if sums else None  # what a box computes is the outermost
    return None


def _chained(begin: str, links: Iterable[tuple[str, str]]) -> str:
    return begin + "".join([f"{name}({given})" for name, given in [*links][::-1]])


def _nested(places: Iterable[_Place]) -> dict[_Place, _Place | None]:
    """Return, for each part, the next larger one around it."""
    outer: dict[_Place, _Place | None] = {}
    around: list[_Place] = []
    for place in sorted(places, key=lambda each: (each.begin, -each.end)):
        while around and not place.lies_in(around[-1]):
            around.pop()
        outer[place] = around[-1] if around else None
        around.append(place)
    return outer


def _packages(text: str) -> list[_Place]:
    """Return where an expression names the packages of functions: a long `torch.tanh(x)` becomes `tanh(x)`."""
    spans = [(len(text[: found.start()].encode()), found[0]) for found in _PACKAGE.finditer(text)]
    return [_Place(begin, begin + len(found.encode()), "") for begin, found in spans]


def _tree_of(text: str) -> ast.Module | None:
    if "\\" in text:  # what is no escape sequence would be warned of
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _value_of(text: str) -> ast.expr | None:
    """Return an expression's tree."""
    tree = _tree_of(text)
    return getattr(tree.body[0], "value", None) if tree is not None and len(tree.body) == 1 else None


def _places(text: str) -> list[_Place]:
    """Return the parts of an expression that may be left out, each with its words."""
    tree = _tree_of(text)
    nodes = [] if tree is None else [*ast.walk(tree)]
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
    places = [_Place(*span, source[slice(*span)].decode(errors="replace")) for span in spans]
    return [each for each in places if each.words != text]


def _without(source: bytes, cuts: Iterable[_Place], within: _Place | None = None) -> str:
    """Return an expression, or a part of it, with replacements for the parts left out."""
    at, end = (0, len(source)) if within is None else (within.begin, within.end)
    told: list[str] = []
    for each in sorted(cuts):
        if at <= each.begin and each.end <= end:
            told += [source[at : each.begin].decode(errors="replace"), each.words]
            at = each.end
    told.append(source[at:end].decode(errors="replace"))
    # Parentheses around `…` alone tell nothing; those of a call stay.
    return re.sub(r"(?<![\w)\]])\(…\)", "…", "".join(told))
