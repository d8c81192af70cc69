"""Texts that are kept whole in a folder golden/ beside their tests, and written again by `WORKBENCH_WRITE_GOLDEN=1`."""

from __future__ import annotations

import math
import os
import re
from difflib import unified_diff
from pathlib import Path

import pytest

WRITING = os.environ.get("WORKBENCH_WRITE_GOLDEN") == "1"
LINE = re.compile(r"((?:line\s|\.py:)\s*)\d+")  # of a program in a file, which moves
MOST = 60  # lines of what differs
NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]\d+)?")


def check_golden(path: Path, texts: dict[str, str]) -> None:
    """Compare texts, each below its name, with the file, but for line numbers and for last digits."""
    now = LINE.sub(r"\1N", "\n".join([f"=== {name}\n{text}\n" for name, text in texts.items()]))
    if WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    then = path.read_text(encoding="utf-8")
    if NUMBER.sub("0", now) != NUMBER.sub("0", then):
        news = [*unified_diff(then.splitlines(), now.splitlines(), "kept", "now", n=2, lineterm="")]
        pytest.fail("\n".join([f"{path.name}: the text differs from the file", *news[:MOST]]), pytrace=False)
    pairs = zip(NUMBER.findall(now), NUMBER.findall(then), strict=True)
    assert [pair for pair in pairs if not alike(*pair)] == []


def programs(path: Path) -> dict[str, str]:
    """Return the programs in such a file, by their names: the lines that begin with `> `."""
    entries = re.split(r"^=== (.*)\n", path.read_text(encoding="utf-8"), flags=re.M)[1:]
    return {
        name: "\n".join([line[2:] for line in text.splitlines() if line[:2] == "> "])
        for name, text in zip(entries[::2], entries[1::2], strict=True)
    }


def quoted(program: str) -> str:
    """Return the lines of a program as `programs` finds them."""
    return "\n".join([f"> {line}" for line in program.splitlines()])


def alike(one: str, other: str) -> bool:
    """Return whether two numbers are the same but for last digits, which depend on the machine."""
    measured = not (one.isdigit() and other.isdigit())
    return one == other or measured and math.isclose(float(one), float(other), rel_tol=0.01, abs_tol=1e-4)
