"""The browser's scripts: plain ES modules in `widgets/static`, put together to the one that a page or a widget loads.

Each name is unique across the modules, so joining them is leaving out their imports and exports, and what only a
reader of the source needs: comments, white space where a sign parts words as well, and long names.
"""

from __future__ import annotations

import base64
import gzip
import re
from functools import cache
from importlib.resources import files

from .shortnames import with_short_names

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
    return with_short_names(joined(*names, without=without), re.findall(r"\w+", exported))


def joined(*names: str, without: tuple[str, ...] = ()) -> str:
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


def packed(text: str) -> str:
    """A text as its compressed bytes in base64, for a script to unpack: nothing in it can end the script's element."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def dense(text: str) -> str:
    """A text as its compressed bytes, four of them in five signs that no script, page or notebook has to escape."""
    return base64.b85encode(gzip.compress(text.encode(), mtime=0)).translate(_B85).decode()
