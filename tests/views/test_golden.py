"""What every view says of a few programs is kept whole in golden/, and no box or arrow of theirs is out of place.

`WORKBENCH_WRITE_GOLDEN=1 pytest tests/views/test_golden.py` writes these files again: read what changed in the diff.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import pytest
from boxes import check_graph, check_inside
from golden_programs import PAIRS, TAGS
from view_names import ALONE, CHARTS

from workbench import compare

FOLDER = Path(__file__).parent / "golden"
WRITING = os.environ.get("WORKBENCH_WRITE_GOLDEN") == "1"
LINE = re.compile(r"(line\s+)\d+")  # of a program in a file, which moves
NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]\d+)?")


def alike(one: str, other: str) -> bool:
    """Return whether two numbers are the same but for last digits, which depend on the machine."""
    measured = not (one.isdigit() and other.isdigit())
    return one == other or measured and math.isclose(float(one), float(other), rel_tol=0.01, abs_tol=1e-4)


def test_every_view_is_kept() -> None:
    assert {*TAGS} == {*ALONE}  # and those that compare
    assert {path.stem for path in FOLDER.glob("*.txt")} == {*TAGS, "compare"}


@pytest.mark.parametrize("view", [*TAGS, "compare"])
def test_a_view_says_what_it_said(view: str) -> None:
    if view == "compare":
        pictures = {name: compare(*make()) for name, make in PAIRS.items()}
    else:
        pictures = {program.__name__: program().show(view) for program in TAGS[view]}
    parts = [f"=== {name}\n{picture}\n" for name, picture in pictures.items()]
    now, path = LINE.sub(r"\1N", "\n".join(parts)), FOLDER / f"{view}.txt"
    if WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    then = path.read_text(encoding="utf-8")
    assert NUMBER.sub("0", now) == NUMBER.sub("0", then)
    assert [pair for pair in zip(NUMBER.findall(now), NUMBER.findall(then), strict=True) if not alike(*pair)] == []


@pytest.mark.parametrize(("view", "program"), [(view, each) for view, several in TAGS.items() for each in several])
def test_nothing_is_out_of_place(view: str, program) -> None:
    board, _ = program().show(view).storyboard.shown()
    steps = range(-1, len(board.steps))
    for k in steps:
        check_inside(board.at(k), board.layout)
    if view not in CHARTS:
        check_graph(board, steps)
