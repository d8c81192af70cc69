"""Programs as text: one line of a table each, whose names and lines a picture has as those of a file."""

from __future__ import annotations

import linecache
from textwrap import indent
from typing import Any

from trace_samples import leaf

import workbench as torch
from workbench.recording import Trace, record


def recorded(text: str, **names: Any) -> Trace:
    """Record a program that has `torch`, `leaf` and these names."""
    text = "with record() as trace:\n" + indent(text, "    ")
    file = f"<{text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"torch": torch, "leaf": leaf, "record": record, **names}
    exec(compile(text, file, "exec"), space)
    return space["trace"]
