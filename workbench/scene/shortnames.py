"""Short names for what a browser's script declares, as a page needs no long ones.

A name becomes one and the same other wherever it stands for a variable, so no scope has to be known. Properties, and
names that the script does not declare, stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import pairwise, product
from string import ascii_letters

# Names of the page and of JavaScript; a script may not declare them.
GIVEN = frozenset(
    """Array Blob Boolean CSS DOMMatrix DOMPoint DataView DecompressionStream Element Error Infinity
    IntersectionObserver JSON Map Math MutationObserver NaN Node Number Object Promise ResizeObserver Response Set
    String TypeError Uint32Array Uint8Array WeakMap WeakRef WeakSet addEventListener atob cancelAnimationFrame
    clearInterval clearTimeout console crypto document getComputedStyle history innerHeight innerWidth isFinite
    isNaN localStorage location matchMedia parseFloat parseInt performance queueMicrotask removeEventListener
    requestAnimationFrame sessionStorage setInterval setTimeout structuredClone window""".split()
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
_PART = re.compile(r"(\$\{(?:[^{}]|\{[^{}]*\})*\})")  # what a template puts in
_BEFORE_OBJECT = frozenset("( , = : [ ? & | ... return const let".split())


def short_names(script: str, kept: Collection[str] = ()) -> dict[str, str]:
    """The name that each variable of a script is to have, where that makes it shorter; those `kept` stay."""
    uses = Counter(found for found in _roles(script) if found[0] in ("variable", "both"))
    names = {name for _, name in uses}
    taken = names | GIVEN | _WORDS
    free = ("".join(signs) for length in (1, 2) for signs in product(ascii_letters, repeat=length))
    unused = (name for name in free if name not in taken)
    gain = {
        name: uses["variable", name] * (len(name) - 2) - 3 * uses["both", name]
        for name in sorted(names - GIVEN - _WORDS - {*kept})
    }
    ordered = sorted((name for name in gain if gain[name] > 0), key=lambda name: -gain[name])
    return dict(zip(ordered, unused, strict=False))


def with_short_names(script: str, kept: Collection[str] = ()) -> str:
    """A script whose variables have short names, and no more signs than it needs; those names that are `kept` stay."""
    return tight(renamed(script, short_names(script, kept)))


def tight(script: str) -> str:
    """A script without the spaces that part no words, constants declared in a row declared together.

    Each of its statements ends with a semicolon, a brace or a line.
    """
    told = [";"]
    declares = [False]  # of each bracket that is open: whether the statement in it declares constants
    tokens = [*_tokens(script), ("other", ";")]
    for (kind, token), (_, after) in pairwise(tokens):
        if kind == "other" and token.isspace():
            declares[-1] = declares[-1] and "\n" not in token
            if "\n" in token or _parts(told[-1][-1], after[0]):
                told.append(token)
            continue
        if token == "const" and told[-1][-1] in ";{}\n":
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


def _parts(before: str, after: str) -> bool:
    """Whether a space between these signs keeps two words or operators apart."""
    return before + after in ("++", "--", "//", "/*") or all(each.isalnum() or each in "$_" for each in (before, after))


def renamed(script: str, names: dict[str, str]) -> str:
    """A script with other names for its variables."""
    told = {
        "variable": lambda name: names.get(name, name),
        "both": lambda name: f"{name}:{names[name]}" if name in names else name,
        "other": str,
    }
    return "".join(told[role](token) for role, token in _roles(script))


@lru_cache(maxsize=1)
def _roles(script: str) -> tuple[tuple[str, str], ...]:
    """What `_read` gives, read once for finding the names and for writing them."""
    return tuple(_read(script))


def _read(script: str) -> Iterator[tuple[str, str]]:
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
                yield "text", part
