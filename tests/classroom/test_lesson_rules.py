"""What holds for every lesson: its frame, length, language and exercises, and that no picture answers its questions."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from lab import CHECKOUT
from refresh_notebooks import METADATA, WIDGET

from workbench.classroom.handout import name_of
from workbench.classroom.registry import file_of, lessons, registered

NOTEBOOKS = sorted((CHECKOUT / "notebooks").glob("*.ipynb"))
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|tmp|usr|opt|work|var|Users|private)/|\b[A-Z]:\\\\?Users")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
MOST_CODE_CELLS = 25
STOP = re.compile(r"^> \*\*A good place to stop\.\*\* Part 1 ends here\. Part 2 takes about (\d\d) minutes\.", re.M)
MOST_LINES = 40  # of a cell that isn't folded
FOLDED = "(The code of the next cell is folded. Click its bar to open it.)"
LEAST_EXERCISES = 3
STORIES = (0, 7, 12, 22)  # their readers make a page at the end, to send
MOST_MINUTES = 50  # at one sitting
MOST_BEFORE_A_QUESTION = 2400  # characters
# What a reader whose first language is another one may not know, or takes literally.
IDIOMS = """
    all the same, at a glance, at one glance, at the price of, behind the scenes, big picture, blink, boils down,
    best left alone, by heart, comes down to, culprit, end up, ends up,
    engine's back, even so, far and wide, figure out, figures out,
    for ever, for free, for good, for the price of, from scratch, get away with, gets rid, hand in hand, hence,
    in a nutshell, in disguise, in mind, in its stead, in the head, in the wild, in vain, let go, lets go, lest,
    make do, none the wiser, on its sleeve, on the fly, out of the blue, out of the box, piece of cake, rule of thumb,
    settle down, settles down, shall, so to speak, the hard way, the trick, the very, thereby, tip of the iceberg,
    turns out, under the hood, upon, whence, wherein, whilst, works like a charm
"""
IDIOM = re.compile(r"\b(?:" + "|".join(re.escape(" ".join(each.split())) for each in IDIOMS.split(",")) + r")\b", re.I)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def cells(path: Path) -> list[Any]:
    return nbformat.read(path, as_version=4).cells


def code(cells: list[Any]) -> list[Any]:
    """The code cells that hold code."""
    return [cell for cell in cells if cell.cell_type == "code" and cell.source.strip()]


def test_numbers_are_contiguous_and_each_lesson_has_its_exercises() -> None:
    assert [int(path.name.partition("-")[0]) for path in NOTEBOOKS] == list(range(len(NOTEBOOKS)))
    assert [path.stem for path in NOTEBOOKS] == list(lessons(CHECKOUT / "notebooks"))
    assert all(re.fullmatch(r"\d\d(-[a-z0-9]+)+\.ipynb", path.name) for path in NOTEBOOKS)


def test_a_name_that_an_exercise_checks_is_no_other_cells(cells: list[Any]) -> None:
    # Where the exercise's cell fails, what another cell calls so would be judged.
    trees = [(name_of(cell), ast.parse(re.sub(r"^[%!].*", "", cell.source, flags=re.M))) for cell in code(cells)]
    checked = {
        (name, read.id)
        for name, tree in trees
        if name
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "check"
        for read in ast.walk(call.args[-1])
        if isinstance(read, ast.Name)
    }
    for name, tree in trees:
        made = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.ClassDef)}
        made |= {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        assert not [(other, each) for other, each in checked if other != name and each in made], name


def test_a_lesson_says_what_it_needs_and_leads_to_the_lessons_beside_it(path: Path, cells: list[Any]) -> None:
    def link(lesson: Path) -> str:
        title = nbformat.read(lesson, as_version=4).cells[0].source.splitlines()[0]
        return f"[{title.removeprefix('# ')}]({lesson.name})"

    place, said = NOTEBOOKS.index(path), "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    title, _, header = cells[0].source.splitlines()[:3]
    assert title.startswith(f"# {int(path.stem[:2])} · ")
    before = f"**Before:** {link(NOTEBOOKS[place - 1])} · " if place else ""
    assert header.startswith(f"{before}**You need:** ")
    (time,) = re.findall(r"· \*\*Time:\*\* about (\d\d minutes(?:, in two parts: \d\d and \d\d)?)$", header)
    whole, *parts = map(int, re.findall(r"\d\d", time))
    assert max(parts or [whole]) <= MOST_MINUTES and (sum(parts) == whole or not parts)
    assert [*map(int, STOP.findall(said))] == parts[1:]
    assert all(int(number) < place for number in re.findall(r"lessons? (\d+)", header))
    assert [f"**Next:** {link(lesson)}" in cells[-1].source for lesson in NOTEBOOKS[place + 1 :][:1]] in ([], [True])


def test_a_lesson_asks_a_question_and_says_what_one_can_do_afterwards(cells: list[Any]) -> None:
    first, last = cells[0].source, cells[-1].source
    assert re.search(r"^\*\*The question of this lesson:\*\* .*\?", first, re.M)
    assert re.search(r"^\*\*Afterward you can\*\* [^\n]+\.$", first, re.M)  # the course page has this line, too
    said = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    promised = said.partition("In this lesson you will\n\n")[2].partition("\n\n")[0].splitlines()
    assert len(promised) >= 3 and all(line.startswith("- ") for line in promised)
    assert last.startswith("**You saw:** ")


def test_a_lesson_begins_with_something_to_do(cells: list[Any]) -> None:
    # At 1024 x 768 the first screen has room for about this much before a question to the reader.
    before: list[str] = []
    for cell in cells:
        before.append(cell.source)
        if re.search(r"\*\*(Predict|Drag|Before you)\b", cell.source):
            break
    assert len(before) <= 4 and len("".join(before)) < MOST_BEFORE_A_QUESTION


def test_what_a_story_makes_can_be_sent(path: Path, cells: list[Any]) -> None:
    told = re.findall(r"\*\*Something to send\.\*\*[^\n]*?`([a-z-]+\.html)`", "\n".join(cell.source for cell in cells))
    saved = re.findall(r"\.save\(\"([a-z-]+\.html)\"\)", "\n".join(cell.source for cell in code(cells)))
    assert told == saved and len(told) == (int(path.stem[:2]) in STORIES)


def test_a_lesson_has_a_moving_picture(cells: list[Any]) -> None:
    shown = [str(output.get("data", {}).get("text/plain", "")) for cell in code(cells) for output in cell.outputs]
    assert [text for text in shown if re.search(r"^\d+ steps", text, re.M)]


def test_a_lesson_is_short(cells: list[Any]) -> None:
    assert len(code(cells)) <= MOST_CODE_CELLS
    seen = [cell for cell in code(cells) if not cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert max(len(cell.source.splitlines()) for cell in seen) <= MOST_LINES
    # What is folded has a line above it that says so, and the site folds it by its tag.
    for above, cell in zip(cells, cells[1:], strict=False):
        if cell.cell_type == "code" and cell not in seen:
            assert above.source.endswith(FOLDED) and "hide-input" in cell.metadata.tags


def test_a_lesson_has_three_exercises_one_of_them_code_that_gradcheck_runs(path: Path, cells: list[Any]) -> None:
    known = registered(file_of(path))
    asked = [known[name] for cell in cells if (name := name_of(cell))]
    assert asked == list(known.values()) and len(asked) >= LEAST_EXERCISES
    assert [exercise for exercise in asked if exercise.is_code and "gradcheck" in exercise.probes]
    assert all(len(exercise.misconceptions) >= 2 for exercise in asked)


def test_a_lesson_uses_no_idiom(path: Path, cells: list[Any]) -> None:
    said = [cell.source for cell in cells if cell.cell_type == "markdown"]
    said += [line.partition("#")[2] for cell in code(cells) for line in cell.source.splitlines()]
    for exercise in registered(file_of(path)).values():
        said += [exercise.asks, *(text for wrong in exercise.misconceptions for text in (wrong.name, wrong.hint))]
    around = [text[max(0, found.start() - 40) : found.end() + 20] for text in said for found in IDIOM.finditer(text)]
    assert around == []


def test_no_picture_gives_a_prediction_away(cells: list[Any]) -> None:
    awaited = False
    for cell in code(cells):
        awaited = awaited or bool(re.search(r"^\w+ = None", cell.source, re.MULTILINE))
        if awaited:
            for output in cell.outputs:
                said = output.get("data", {}).get("text/plain", "")
                # A picture that opens before its story ends does not show how it ends.
                shown = re.search(r"^(\d+) steps.*; the \w+ is shown after step (\d+):$", said, re.MULTILINE)
                assert "image/svg" not in str(output) or (shown and int(shown[2]) < int(shown[1])), cell.source
        awaited = awaited and "check(" not in cell.source


def test_every_code_cell_was_run_once_from_top_to_bottom(cells: list[Any]) -> None:
    run = code(cells)
    assert [cell.execution_count for cell in run] == list(range(1, len(run) + 1))


def test_an_error_is_shown_only_where_the_lesson_wants_it(cells: list[Any]) -> None:
    for cell in code(cells):
        failed = any(output.output_type == "error" for output in cell.outputs)
        assert failed == ("raises-exception" in cell.metadata.get("tags", [])), cell.source


def test_no_cell_is_kept_from_being_compared(cells: list[Any]) -> None:
    for cell in code(cells):
        assert not re.search(r"^\s*#\s*(NBVAL|PYTEST_VALIDATE)_", cell.source, re.MULTILINE), cell.source
        assert not [tag for tag in cell.metadata.get("tags", []) if tag.startswith("nbval-")], cell.source


def test_no_state_of_a_kernel_or_a_machine_is_kept(path: Path) -> None:
    lesson = nbformat.read(path, as_version=4)
    assert lesson.metadata == METADATA
    for output in [output for cell in code(lesson.cells) for output in cell.outputs]:
        assert WIDGET not in output.get("data", {})
        assert not re.search("<script|wb-(live|play)-", output.get("data", {}).get("text/html", ""))
        said = str({key: value for key, value in output.get("data", output).items() if "image/" not in key})
        assert (MACHINE_PATH.findall(said), ADDRESS.findall(said)) == ([], [])
