"""The command `workbench progress`: a class on one page, from the notebooks that were handed in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_page import open_page, require_chromium
from classroom_submissions import LESSON, SUBMISSIONS
from lab import CHECKOUT
from nbformat.v4 import new_code_cell, new_notebook
from run_here import grade_here

from workbench.classroom.judging import Verdict
from workbench.cli import main
from workbench.cli.class_page import STATES, page_of, state_of, student_of
from workbench.cli.grading import Graded
from workbench.cli.handed_in import NOT_RUN, Assignment

EXERCISES = [*SUBMISSIONS["right"]]
SOURCE = CHECKOUT / "notebooks"
HOSTILE = "<img src=x onerror=alert(1)>\"'&\u202e\x1b[2J"
ALLOWED = {
    *"html head meta title style body main section h1 h2 h3 h4 p ul ol li b small bdi div details summary".split()
}
ALLOWED |= {*"table thead tbody tfoot tr th td".split()}


class Read(HTMLParser):
    """The tables of a page, and all that it says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.words, self.rows = set[str](), "", list[list[str]]()
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.words += data
        if self._in_cell:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def lesson() -> Assignment:
    path = SOURCE / f"{LESSON}.ipynb"
    return Assignment.of(nbformat.read(path, as_version=4), path, path.with_name(f"{LESSON}.exercises.py"))


def given(lesson: Assignment, *misconceptions: str | None) -> list[Verdict]:
    """Verdicts on the exercises of the lesson: of a misconception, or right."""
    made = []
    for exercise, named in zip(lesson.exercises.values(), misconceptions, strict=True):
        found = [each.answer for each in exercise.misconceptions if each.name == named] or [exercise.solution]
        made.append(exercise.judge(found[0]))
    return made


# A lesson of a teacher's own, and what four students have written: each cell is run as it stands.
OWN = """
from workbench.classroom import Misconception, exercise, gradients, results

exercise("a-slope", "The slope of 3 * x + 2.", 3, misconceptions=[Misconception("the value", "how steep is it?", 5)])
exercise(
    "the-double",
    "A function that doubles.",
    lambda x: 2 * x,
    {"the value": results([2.0]), "the gradient": gradients([2.0])},
    [Misconception("the square", "try it at 3.", lambda x: x**2)],
    points=2,
)
"""
ASKED = {
    "a-slope": "slope = ...",
    "the-double": "def double(x):\n    ...",
}
CHECKED = {"a-slope": "slope", "the-double": "double"}
WRITTEN = {
    "ada": ("slope = 3", "def double(x):\n    return x + x"),
    "bo": ("slope = 5", "def double(x):\n    return x + 2"),  # the value is right at 2, and the gradient is not
    "cy": ("slope = 5", "def double(x):\n    return x * x"),
    "dee": ("slope = 1 / 0", ASKED["the-double"]),
    "eve": ("slope = (3", "def double(x):\n    return twice(x)"),
}


def own_notebook(answers: Sequence[str], place: Path) -> None:
    """Write a notebook of the lesson with these answers."""
    cells = ["from workbench.classroom import check"]
    for (name, checked), answer in zip(CHECKED.items(), answers, strict=True):
        cells.append(f'# exercise: {name}\n{answer}\ncheck("{name}", {checked})')
    place.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), place)


def test_a_class_is_seen_on_one_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    grade_here(monkeypatch)
    lessons, folder, output = tmp_path / "lessons", tmp_path / "in", tmp_path / "class.html"
    own_notebook([*ASKED.values()], lessons / "own.ipynb")
    (lessons / "own.exercises.py").write_text(OWN)
    for name, answers in WRITTEN.items():
        own_notebook(answers, folder / name / "own (1).ipynb")
    (folder / "torn.ipynb").write_text("{")
    assert main(["progress", str(folder), "--lessons", str(lessons), "-o", str(output)]) == 1
    assert "1 of 6 notebooks couldn't be graded" in capsys.readouterr().err
    page = Read(output.read_text(encoding="utf-8"))
    assert page.rows == [
        ["student", "a-slope", "the-double", "points"],
        ["ada", "● full", "● full", "3 of 3"],
        ["bo", "○ wrong", "◐ part", "0 of 3"],
        ["cy", "○ wrong", "◐ part", "0 of 3"],
        ["dee", "○ wrong", "– not tried", "0 of 3"],
        [
            "eve",
            "○ wrongSyntaxError: '(' was never closed, in line 2",
            "○ wrongNameError: name 'twice' is not defined",
            "0 of 3",
        ],
        ["torn", "× not read", "–"],
        ["right", "1 of 5", "1 of 5", ""],
    ]
    before, slope, double, after = re.split("a-slopeThe slope|the-doubleA function|Couldn't be graded", page.words)
    assert before.count("own") == 1 and "6 notebooks, 1 lesson." in before
    often = "2 × The value: how steep is it? (a-slope)1 × The square: try it at 3. (the-double)"
    assert f"Most common misconceptions{often}" in before
    stopped = slope.index("1 × The cell stopped with ZeroDivisionError: division by zero")
    assert slope.index("2 × The value: how steep is it?Whobo, cy") < stopped
    assert "● full: 1 · ◐ part: 2 · ○ wrong: 1 · – not tried: 1" in double
    assert "1 × The square: try it at 3.Whocy" in double and "1 × Right: the value. Not right: the gradient." in double
    assert after.strip() == f"torn.ipynb: {folder / 'torn.ipynb'} isn't a notebook."
    assert page.tags <= ALLOWED


def test_the_most_frequent_misconception_stands_first(lesson: Assignment) -> None:
    fork, three, bias = lesson.exercises.values()
    rare, often = (each.name for each in fork.misconceptions[:2])
    found = [
        Graded(f"{n}/a.ipynb", lesson, given(lesson, named, None, None)) for n, named in enumerate([rare, often, often])
    ]
    page = Read(page_of(found, "in"))
    first, second = (
        page.words.index(f"{n} × {each.in_words}") for n, each in zip((2, 1), fork.misconceptions[1::-1], strict=True)
    )
    assert first < second
    assert "Who1, 2" in page.words and [row[1] for row in page.rows[1:4]] == ["○ wrong"] * 3
    assert "○ wrong: 3" in page.words and "● full: 3" in page.words


def test_names_and_sentences_from_outside_are_text_alone(lesson: Assignment) -> None:
    three = given(lesson, None, None, None)
    three[0] = Verdict(EXERCISES[0], 0, 1, f"Not yet (0 of 1 point). {HOSTILE}")
    three[1] = replace(three[1], points=0, says=f"The cell stopped with SyntaxError: {HOSTILE}")
    found = [Graded(f"{HOSTILE}/{HOSTILE}.ipynb", lesson, three), Graded(f"{HOSTILE}.ipynb", refused=HOSTILE)]
    text = page_of(found, HOSTILE)
    page = Read(text)
    shown = HOSTILE.replace("\u202e", r"\u202e").replace("\x1b", r"\x1b")
    assert page.tags <= ALLOWED and page.words.count(shown) == 2 + 1 + 1 + 1 + 2 + 4
    assert all(each.isprintable() or each == "\n" for each in text)
    assert "default-src 'none'" in text and "<script" not in text


def test_how_far_an_answer_is(lesson: Assignment) -> None:
    verdicts = {
        "full": Verdict("a-b", 2, 2, ""),
        "part": Verdict("a-b", 0, 2, "", partly=True),
        "wrong": Verdict("a-b", 0, 2, ""),
        "not tried": Verdict("a-b", 0, 2, "", None, False),
        "not run": Verdict("a-b", 0, 2, NOT_RUN.format("2 points"), None, False),
    }
    assert {name: state_of(each) for name, each in verdicts.items()} == {name: name for name in verdicts}
    assert [*STATES] == [*verdicts, "not read"]
    three = given(lesson, None, None, None)
    three[2] = replace(three[2], points=0, says=NOT_RUN.format("2 points"), answered=False)
    page = Read(page_of([Graded("a.ipynb", lesson, three)], ""))
    assert f"a.ipynb, {EXERCISES[2]}: The kernel crashed" in page.words


def test_a_notebook_that_could_not_be_read_has_a_row(lesson: Assignment) -> None:
    right = given(lesson, None, None, None)
    other = replace(lesson, name="own")
    found = [
        Graded("ada/a.ipynb", lesson, right),
        Graded("bo/a.ipynb", other, right),
        Graded(f"cy/{LESSON} (1).ipynb", refused="torn"),
        Graded("dee/b.ipynb", refused="torn"),
        Graded("ada/own.ipynb", refused="torn"),
        Graded("bo/own.ipynb", refused="torn"),
    ]
    page = Read(page_of(found, ""))
    unread = [row for row in page.rows if "× not read" in row]
    assert unread == [[name, "× not read", "–"] for name in ("cy", "ada", "bo/own.ipynb", "dee")]
    assert "No matching lesson" in page.words and "No matching lesson" not in Read(page_of(found[:3], "")).words
    alone = Read(page_of(found[3:4], "in"))
    assert alone.rows == [["student", "answers", "points"], ["dee", "× not read", "–"]]


def test_whose_a_notebook_is(lesson: Assignment) -> None:
    assert student_of("ada/02/lesson.ipynb") == student_of("ada.ipynb") == "ada"
    # Two that seem to be one student's may be two students': each has a row.
    right = given(lesson, None, None, None)
    page = Read(
        page_of([Graded(f"ada/{n}.ipynb", lesson, right) for n in (1, 2)] + [Graded("bo.ipynb", lesson, right)], "")
    )
    assert [row[0] for row in page.rows[1:4]] == ["ada/1.ipynb", "ada/2.ipynb", "bo"]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_page(lesson: Assignment, scheme: Any, tmp_path: Path) -> None:
    require_chromium()
    often = lesson.exercises[EXERCISES[0]].misconceptions[0].name
    found = [Graded("ada.ipynb", lesson, given(lesson, often, None, None)), Graded("bo.ipynb", refused="torn")]
    (tmp_path / "class.html").write_text(page_of(found, "in"), encoding="utf-8")
    with open_page(offline=True) as page:
        page.emulate_media(color_scheme=scheme)
        page.goto((tmp_path / "class.html").as_uri())
        assert page.get_by_role("row").count() == 4 and page.get_by_text("Who").count() == 1
        assert [each["id"] for each in Axe().run(page).response["violations"]] == []
        assert page.requests_outside == [] and page.console_errors == []  # type: ignore[attr-defined]
