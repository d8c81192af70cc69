"""Text that is kept whole in a file, but for the digits that depend on the machine."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

WRITING = os.environ.get("WORKBENCH_WRITE_GOLDEN") == "1"
LINE = re.compile(r"(line\s+)\d+")  # of a program in a file, which moves
NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]\d+)?")


def _alike(one: str, other: str) -> bool:
    """Return whether two numbers are the same but for last digits, which depend on the machine."""
    measured = not (one.isdigit() and other.isdigit())
    return one == other or measured and math.isclose(float(one), float(other), rel_tol=0.01, abs_tol=1e-4)


def check_golden(path: Path, texts: dict[str, str]) -> None:
    """Check that a file holds these texts, each below its name; write it where that is asked for."""
    now = LINE.sub(r"\1N", "\n".join([f"=== {name}\n{text}\n" for name, text in texts.items()]))
    if WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    then = path.read_text(encoding="utf-8")
    assert NUMBER.sub("0", now) == NUMBER.sub("0", then)
    assert [pair for pair in zip(NUMBER.findall(now), NUMBER.findall(then), strict=True) if not _alike(*pair)] == []
