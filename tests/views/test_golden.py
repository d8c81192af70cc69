"""What every view says of a few programs is kept whole in golden/, and no box or arrow of theirs is out of place.

`WORKBENCH_WRITE_GOLDEN=1 pytest tests/views/test_golden.py` writes these files again: read what changed in the diff.
`test_program_tree.py` writes the outlines of programs, `test_view_checking.py` what tools draw, and `test_stories.py`
what pictures say step by step.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from boxes import check_graph, check_inside
from golden import check_golden
from golden_programs import PAIRS, TAGS
from view_names import ALONE, CHARTS

from workbench import compare

FOLDER = Path(__file__).parent / "golden"


def test_every_view_is_kept() -> None:
    assert {*TAGS} == {*ALONE}  # and those that compare
    kept = {path.stem for path in FOLDER.glob("*.txt")}
    assert {name for name in kept if not name.startswith("story_")} == {*TAGS, "compare", "tools", "tree"}


@pytest.mark.parametrize("view", [*TAGS, "compare"])
def test_a_view_says_what_it_said(view: str) -> None:
    if view == "compare":
        pictures = {name: compare(*make()) for name, make in PAIRS.items()}
    else:
        pictures = {program.__name__: program().show(view) for program in TAGS[view]}
    check_golden(FOLDER / f"{view}.txt", {name: str(picture) for name, picture in pictures.items()})


@pytest.mark.parametrize(("view", "program"), [(view, each) for view, several in TAGS.items() for each in several])
def test_nothing_is_out_of_place(view: str, program) -> None:
    board, _ = program().show(view).storyboard.shown()
    steps = range(-1, len(board.steps))
    for k in steps:
        check_inside(board.at(k), board.layout)
    if view not in CHARTS:
        check_graph(board, steps)
