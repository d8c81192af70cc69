"""The course page: what it says of the lessons in a folder, what it survives, and the picture that opens lesson 0."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from workbench.classroom import show_slope
from workbench.classroom.checks import FILE
from workbench.classroom.course import PAGE, course_in
from workbench.cli.course_page import course_page, with_opening, write_course_page
from workbench.cli.lab import MARK, fingerprint
from workbench.cli.notebooks import read

EXERCISES = "from workbench.classroom import exercise\n"


def write(folder: Path, name: str, title: str, *exercises: str, ran: bool = False, minutes: int = 30) -> None:
    """A lesson with these exercises, and its exercise file."""
    first = f"# {title}\n\n**Time:** about {minutes} minutes\n\n**Afterward you can** do `this`."
    sources = ["1 + 1", *[f"# exercise: {each}\nanswer = ..." for each in exercises]]
    cells = [new_code_cell(source, execution_count=1 if ran else None) for source in sources]
    nbformat.write(new_notebook(cells=[new_markdown_cell(first), *cells]), folder / f"{name}.ipynb")
    lines = [f"exercise({each!r}, '?', 3)\n" for each in exercises]
    (folder / f"{name}.exercises.py").write_text(EXERCISES + "".join(lines))


def reach(folder: Path, **points: float) -> None:
    done = {name.replace("_", "-"): each for name, each in points.items()}
    (folder / FILE).write_text(json.dumps({"exercises": done}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(("a", "b", "c")):
        write(tmp_path, f"0{number}-{name}", f"{number} · Lesson {name}", f"{name}-one", f"{name}-two")
    return tmp_path


def test_nothing_done_begins_with_the_first_lesson(folder: Path) -> None:
    page = course_in(folder)
    assert repr(page).splitlines() == [
        "Begin with lesson 0 · Lesson a.",
        *[f"○ {n} · Lesson {name} (0 of 2, 30 minutes, not begun)" for n, name in enumerate("abc")],
    ]
    html = page._repr_html_()
    assert html.count('href="00-a.ipynb"') == 2 and "About 30 minutes. Afterward you can do this." in html
    assert "0 of 6 exercises right" in html


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ({"a_one": 1.0}, "Go on with lesson 0 · Lesson a"),
        ({"a_one": 1.0, "a_two": 1.0}, "Go on with lesson 1 · Lesson b"),
        ({"b_one": 0.0}, "Go on with lesson 1 · Lesson b"),
        ({"b_one": 1.0, "b_two": 1.0}, "Go on with lesson 2 · Lesson c"),
        ({"c_one": 1.0, "c_two": 1.0}, "Go on with lesson 0 · Lesson a"),
        (dict.fromkeys(["a_one", "a_two", "b_one", "b_two", "c_one", "c_two"], 1.0), "You've done every exercise"),
        ({"another-course": 1.0}, "Begin with lesson 0 · Lesson a"),
    ],
)
def test_it_goes_on_where_the_reader_stopped(folder: Path, points: dict[str, float], says: str) -> None:
    reach(folder, **points)
    assert course_in(folder).says.startswith(says)


def test_a_lesson_that_only_ran_is_begun(folder: Path) -> None:
    write(folder, "01-b", "1 · Lesson b", "b-one", ran=True)
    page = course_in(folder)
    assert page.says == "Go on with lesson 1 · Lesson b" and [each.begun for each in page.lessons] == [0, 1, 0]


def test_a_renamed_lesson_keeps_its_place_and_points_and_a_deleted_one_is_left_out(folder: Path) -> None:
    reach(folder, b_one=1.0)
    (folder / "01-b.ipynb").rename(folder / "my work.ipynb")
    (folder / "02-c.ipynb").unlink()
    page = course_in(folder)
    assert [(each.notebook, each.right) for each in page.lessons] == [("00-a.ipynb", 0), ("my work.ipynb", 1)]
    assert 'href="my%20work.ipynb"' in page._repr_html_()


def test_what_is_damaged_or_no_lesson_does_no_harm(folder: Path) -> None:
    (folder / FILE).write_text('{"exercises": {"a-one": 1, ')
    (folder / "00-a.exercises.py").write_text("raise SystemExit")
    (folder / "01-b.ipynb").write_text('{"cells": [')
    (folder / "02-c.ipynb").write_text('{"cells": [{"source": 3}]}')
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), folder / "Untitled.ipynb")
    nbformat.write(new_notebook(), folder / "empty.ipynb")
    (folder / "gone.ipynb").symlink_to(folder / "nowhere")
    (folder / "folder.ipynb").mkdir()
    page = course_in(folder)
    assert [(each.title, each.asked) for each in page.lessons] == [("0 · Lesson a", 0), ("01-b", 2), ("02-c", 2)]
    assert course_in(folder / "nowhere").says == "There are no lessons in this folder"


def test_what_a_lesson_says_is_text_on_the_page(folder: Path) -> None:
    write(folder, '03-"><img src=x>', "3 · <script>alert(1)</script>")
    html = course_in(folder)._repr_html_()
    assert "<script" not in html and "<img" not in html and "&lt;script&gt;" in html


def page_of(folder: Path) -> nbformat.NotebookNode:
    return nbformat.read(folder / PAGE, as_version=4)


def test_the_page_is_written_again_unless_it_is_the_readers(folder: Path) -> None:
    assert write_course_page(folder, MARK, fingerprint) == PAGE
    assert "Begin with lesson 0" in str(page_of(folder).cells[1].outputs)
    reach(folder, a_one=1.0, a_two=1.0)
    assert write_course_page(folder, MARK, fingerprint) == PAGE
    assert "Go on with lesson 1" in str(page_of(folder).cells[1].outputs)
    mine = page_of(folder)
    mine.cells.append(new_markdown_cell("My plan"))
    nbformat.write(mine, folder / PAGE)
    before = (folder / PAGE).read_bytes()
    assert write_course_page(folder, MARK, fingerprint) == PAGE and (folder / PAGE).read_bytes() == before
    for other in (json.dumps(new_notebook()), "not a notebook"):  # the reader's own, which ours doesn't replace
        (folder / PAGE).write_text(other)
        assert write_course_page(folder, MARK, fingerprint) is None and (folder / PAGE).read_text() == other


def test_the_page_is_a_sound_notebook_and_not_a_lesson(folder: Path) -> None:
    nbformat.validate(course_page(folder))
    write_course_page(folder, MARK, fingerprint)
    assert PAGE not in {each.notebook for each in course_in(folder).lessons}


def test_the_lessons_of_the_course_all_say_what_the_page_shows() -> None:
    lessons = course_in(CHECKOUT / "notebooks").lessons
    assert [each.number for each in lessons] == list(range(len(lessons)))
    assert all(each.minutes and each.can and each.asked for each in lessons)


def test_lesson_0_opens_with_a_picture_that_needs_no_kernel() -> None:
    lesson = with_opening(read(min((CHECKOUT / "notebooks").glob("*.ipynb"))))
    (shown,) = [cell.outputs for cell in lesson.cells if "opening" in cell.metadata.get("tags", [])][0]
    html = shown.data["text/html"]
    assert re.fullmatch(r'<div class="wb-play-[0-9a-f]{16}"><img [^>]*></div><script>[^<]*</script>', html)
    assert len(html) < 12_000


def test_a_slope_picture_has_the_slope_at_each_place_and_refuses_what_it_cannot_draw() -> None:
    picture = show_slope(lambda x: x * x, -2, 2)
    assert picture.points[0] == (-2.0, 4.0, -4.0) and picture.points[-1] == (2.0, 4.0, 4.0)
    assert show_slope(lambda x: x.log(), -1, 1).low > 0  # where f has no value there's no curve
    with pytest.raises(ValueError, match="Expected low < high"):
        show_slope(lambda x: x, 1, 1)
    with pytest.raises(ValueError, match="no finite value"):
        show_slope(lambda x: x.log(), -2, -1)
