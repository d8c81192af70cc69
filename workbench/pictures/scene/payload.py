"""What the browser gets: the library that `tests/write_player.py` builds from scripts and styles, and packed stories.

A page has the library once for each version, in any order: the stylesheet is limited to the version's class.
"""

from __future__ import annotations

import base64
import gzip
from functools import cache
from importlib.resources import files


def _made(name: str) -> tuple[str, str]:
    """Return the version and the text of a file built for the browser."""
    # Asking for the package workbench.pictures.widgets itself would import it, and Jupyter's widgets with it.
    text = files("workbench").joinpath("pictures", "widgets", "static", name).read_text(encoding="utf-8")
    head, _, script = text.partition("\n")
    return head.split()[1], script.rstrip("\n")


@cache
def library() -> tuple[str, str]:
    """Return the library's version, and a script that loads it once per page."""
    return _made("player.min.js")


@cache
def inline() -> str:
    """Return the function that plays a picture in the notebook's page, as text."""
    return _made("inline.min.js")[1]


@cache
def viewing() -> tuple[str, str]:
    """Return the library's name with what saved pages and overlays need besides, and a script that loads it."""
    version, script = library()
    return f"{version}-viewing", f"{script}\n{_made('viewing.min.js')[1]}"


def in_page(name: str) -> str:
    """Return where a page that has read the library finds this part of it."""
    return f'globalThis.workbenchLibraries["{library()[0]}"].{name}'


def compressed(text: str) -> str:
    """Return a text compressed and in base64, for a script to unpack: nothing in it can end the script element."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
