"""The browser's scripts: plain ES modules in `widgets/static`, put together to the one that a page or a widget loads.

Each name is unique across the modules, so joining them is leaving out their imports and exports, and what only a
reader of the source needs: comments, white space where a sign parts words as well, and long names.

A name that the script declares becomes one and the same short one wherever it stands for a variable, so no scope has to
be known. Properties, and names that the script does not declare, stay as they are.
"""

from __future__ import annotations

import base64
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise, product
from string import ascii_letters

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

    Those that they import may be left out `without` which they do.
    """
    exported = " ".join(each for name in names for each in _EXPORTED.findall(asset(name)))
    return with_short_names(joined_modules(*names, without=without), re.findall(r"\w+", exported))


def joined_modules(*names: str, without: tuple[str, ...] = ()) -> str:
    """Modules with those that they import, as one text without imports and exports."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in found and name not in without:
            text = asset(name)
            for each in _IMPORTED.findall(text):
                add(each)
            found[name] = text

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
    told: dict[str, Callable[[str], str]] = {
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
