"""The browser's scripts: plain ES modules in `widgets/static`, put together to the one that a page or a widget loads.

Each name is unique across the modules, so joining them is leaving out their imports and exports, and what only a
reader of the source needs: indentation, and lines that are comments.
"""

from __future__ import annotations

import re
from importlib.resources import files

_LEFT_OUT = re.compile(
    r"""^/\*\*.*?\*/[^\S\n]*$      # a comment that begins a line
    | (?:^|[^\S\n])//\s[^\n]*$  # and one that ends a line: no string has a space on both sides of //
    | ^import\s[^;]*;$
    | ^export\s+default[^;]*;$
    | ^export\s+(?=const|function)
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_PARTS = ("drawing.js", "window.js", "easel.js")


def asset(name: str) -> str:
    """One of the files that the browser loads."""
    # Asking for the package workbench.widgets itself would import it, and Jupyter's widgets with it.
    return files("workbench").joinpath("widgets", "static", name).read_text(encoding="utf-8")


def script(name: str) -> str:
    """A module with those it is built on, as one text without imports and exports."""
    text = "\n".join(re.sub(r"^[^\S\n]+", "", asset(part), flags=re.MULTILINE) for part in (*_PARTS, name))
    return re.sub(r"\n{2,}", "\n", _LEFT_OUT.sub("", text)).strip() + "\n"
