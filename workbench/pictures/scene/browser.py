"""Graphviz in a browser, where Python starts no program: its WebAssembly build, which a site's own package carries.

The package `workbench_graphviz` has one file of JavaScript. Its value is a function: the text of a graph in DOT goes
in, Graphviz's JSON comes out, at once and not as a promise, because a picture is drawn while its cell still runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

PACKAGE = "workbench_graphviz"
FILE = "graphviz.js"


def answer(dot: str) -> str | None:
    """Graphviz's JSON for a graph; None where Python is not in a browser, or the site has no Graphviz.

    Errors: what JavaScript raises.
    """
    if sys.platform != "emscripten":
        return None
    try:
        lay_out = _graphviz()
    except ModuleNotFoundError:
        return None
    try:
        return lay_out(dot)
    except Exception:
        _graphviz.cache_clear()  # after a crash its memory is not to be trusted; a new one is there in a second
        raise


@cache
def _graphviz() -> Callable[[str], str]:
    text = files(PACKAGE).joinpath(FILE).read_text("utf-8")
    code: Any = import_module("pyodide.code")  # which only a browser has
    return code.run_js(text)
