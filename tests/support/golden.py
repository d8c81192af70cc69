"""Texts that are kept whole in a folder golden/ beside their tests, and written again by `WORKBENCH_WRITE_GOLDEN=1`."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

WRITING = os.environ.get("WORKBENCH_WRITE_GOLDEN") == "1"
LINE = re.compile(r"((?:line\s|\.py:)\s*)\d+")  # of a program in a file, which moves
NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]\d+)?")


def check_golden(path: Path, texts: dict[str, str]) -> None:
    """Compare texts, each below its name, with the file, but for line numbers and for last digits."""
    now = LINE.sub(r"\1N", "\n".join([f"=== {name}\n{text}\n" for name, text in texts.items()]))
    if WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    then = path.read_text(encoding="utf-8")
    assert NUMBER.sub("0", now) == NUMBER.sub("0", then)
    pairs = zip(NUMBER.findall(now), NUMBER.findall(then), strict=True)
    assert [pair for pair in pairs if not alike(*pair)] == []


def alike(one: str, other: str) -> bool:
    """Return whether two numbers are the same but for last digits, which depend on the machine."""
    measured = not (one.isdigit() and other.isdigit())
    return one == other or measured and math.isclose(float(one), float(other), rel_tol=0.01, abs_tol=1e-4)
