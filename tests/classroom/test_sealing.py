"""What is handed out judges every answer as the teacher's file does, and no solution can be read in it."""

from __future__ import annotations

import re
import shutil
import textwrap
from dataclasses import replace
from pathlib import Path

import answers
import pytest
from lab import CHECKOUT

from workbench.classroom.registry import exercises, find, registered, run
from workbench.classroom.sealing import NotSealed, seal_folder, sealed

NOTEBOOKS = CHECKOUT / "notebooks"
FILES = sorted(NOTEBOOKS.glob("*.exercises.py"))
HEAD = "import workbench as torch\nfrom workbench.classroom import Misconception, exercise, gradients, results\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of the course as students get them."""
    place = tmp_path_factory.mktemp("sealed")
    seal_folder(NOTEBOOKS, place)
    return place


def made(text: str) -> str:
    return sealed(HEAD + textwrap.dedent(text), Path("cube.exercises.py"))


def found_in(text: str) -> dict:
    return dict(run(text, Path("cube.exercises.py"))[0])


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.scheduled)], ids=["some", "every"])
@pytest.mark.parametrize("name", answers.WRONG)
def test_an_answer_is_judged_as_by_the_teachers_file(
    name: str, every: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(NOTEBOOKS)  # a cell may import what lies there
    wrong, right = answers.WRONG[name], [written for each, written in answers.RIGHT if each == name]
    if not every:
        wrong, right = {shown: (written, shown) for written, shown in wrong}.values(), right[:1]
    asked = [answers.solution_of(name), *(written for written, _ in wrong), *right]
    said = []
    for place in (NOTEBOOKS, folder):
        monkeypatch.chdir(place)
        verdicts = [answers.verdict_of(name, written) for written in asked]
        # An error may name an object by where it lies in memory.
        said.append([replace(each, says=re.sub("0x[0-9a-f]+", "0x…", each.says)) for each in verdicts])
    assert said[0] == said[1] and said[0][0].right
    monkeypatch.chdir(folder)
    for empty in (None, ...):
        assert find(name).judge(empty) == answers.EXERCISES[name].judge(empty)


def test_no_solution_is_in_a_file(tmp_path: Path) -> None:
    (tmp_path / FILES[0].name).write_text(sealed(FILES[0].read_text("utf-8"), FILES[0]), "utf-8")
    no_solution_is_in(FILES[0], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_no_solution_is_in_the_file(file: Path, folder: Path) -> None:
    no_solution_is_in(file, folder)


def no_solution_is_in(file: Path, folder: Path) -> None:
    """Compare a teacher's file with its sealed copy in a folder, and look for solutions in the copy."""
    teachers, students = registered(file), registered(folder / file.name)
    assert [(each.name, each.asks, each.points, each.probes.keys()) for each in teachers.values()] == [
        (each.name, each.asks, each.points, each.probes.keys()) for each in students.values()
    ]
    _, names = run((folder / file.name).read_text("utf-8"), folder / file.name)
    own = [each for each in names.values() if getattr(each, "__module__", "") == names["__name__"] and callable(each)]
    for name, exercise in students.items():
        with pytest.raises(LookupError, match=f"The solution of '{name}' isn't in this file"):
            assert exercise.solution
        assert exercise.is_code == teachers[name].is_code
        assert [each for each in own if exercise.judge(each).right] == [], "another function of the file solves it"
        assert [each.in_words for each in exercise.misconceptions] == [
            each.in_words for each in teachers[name].misconceptions
        ]


@pytest.mark.slow
def test_the_same_file_makes_the_same_copy(folder: Path, tmp_path: Path) -> None:
    (some := tmp_path / "some").mkdir()
    (again := tmp_path / "again").mkdir()
    for file in FILES[::8]:
        shutil.copy(file, some)
    seal_folder(some, tmp_path)
    seal_folder(tmp_path, again)  # what is sealed stays so
    for file in FILES[::8]:
        once = (tmp_path / file.name).read_bytes()
        assert once == (folder / file.name).read_bytes() == (again / file.name).read_bytes()
    assert exercises(again).keys() == exercises(some).keys()
    assert exercises(folder).keys() == exercises(NOTEBOOKS).keys()


def test_what_only_solutions_use_goes_and_what_probes_use_stays() -> None:
    text = made("""
        import math
        _TWO = 2.0
        _OF_THE_SOLUTION = math.e - math.e
        def _kept(x): return x * _TWO
        def _gone(x): return _gone_too(x)
        def _gone_too(x): return x * 2 + _OF_THE_SOLUTION
        _gone.note = "a comment"
        def _probe(answer): return [answer(3.0), _kept(1.0)]
        # The answer is twice x.
        exercise("twice-x", "Twice x.", _gone, {"the value": _probe},
                 [Misconception("a square", "try 3.", lambda x: x * x, (lambda x: x ** 2,))])
    """)
    assert "_kept" in text and "_TWO" in text
    for gone in ("_gone", "math", "gradients", "_OF_THE_SOLUTION", "answer is twice", "x ** 2", "torch"):
        assert gone not in text, gone
    found = found_in(text)["twice-x"]
    assert found.judge(lambda x: x + x).right and found.judge(lambda x: x**2).misconception == "a square"


def test_exercises_may_be_registered_by_a_function_of_the_file() -> None:
    text = made("""
        def _puzzle(name, solution, wrong):
            exercise(name, "A puzzle.", solution, {"the value": results([3.0])},
                     [Misconception("too much", "try 3.", wrong)])
        def _double(x): return x * 2
        _puzzle("first-puzzle", _double, lambda x: x * 3)
        _puzzle("second-puzzle", lambda x: x - 1, lambda x: x + 1)
        for _name, _solution in (("third-puzzle", lambda x: x + 5), ("fourth-puzzle", lambda x: x + 6)):
            _puzzle(_name, _solution, lambda x: x)
    """)
    assert not [each for each in ("_double", "x * 3", "x - 1", "x + 1", "x + 5", "x + 6") if each in text]
    found = found_in(text)
    assert found["first-puzzle"].judge(lambda x: 2 * x).right
    assert found["third-puzzle"].judge(lambda x: x + 5).right and found["fourth-puzzle"].judge(lambda x: x + 6).right
    assert found["second-puzzle"].judge(lambda x: x + 1).misconception == "too much"


def test_a_wrong_answer_that_a_probe_compares_with_stays() -> None:
    text = made("""
        from workbench.classroom import slopes_of
        def _double(x): return x * 2
        _PROBES = {"the value": results([1.5, 2.0], [2.0, 3.0]), "gradcheck": slopes_of(_double, [2.0])}
        exercise("twice-back", "?", lambda grad_output, x: grad_output * 2, _PROBES,
                 [Misconception("forward", "that is forward.", lambda grad_output, x: _double(x)),
                  Misconception("forward alone", "that is forward.", _double)])
    """)
    assert "def _double" in text and "grad_output" not in text
    found = found_in(text)["twice-back"]
    assert found.judge(lambda grad_output, x: 2 * grad_output).right
    assert found.judge(lambda grad_output, x: x + x).misconception == "forward"


REFUSED = {
    "chance": (
        'exercise("by-chance", "?", lambda x: x, {"the value": lambda answer: answer(torch.rand(2))})',
        "the probe for 'the value' gives varying results for the solution of 'by-chance': they depend on chance",
    ),
    "chance in a wrong one": (
        'exercise("by-chance", "?", lambda x: x, {"the value": results([1.0])},\n'
        '         [Misconception("a new mask", "?", lambda x: x * torch.rand(1))])',
        "the probe for 'the value' gives varying results for the misconception 'a new mask' of 'by-chance'",
    ),
    "no outcome": (
        'exercise("no-outcome", "?", lambda x: x, {"the value": lambda answer: object})',
        "the probe for 'the value' returns a result for the solution of 'no-outcome' that can't be saved: a func",
    ),
    "keys": (
        'exercise("odd-keys", "?", lambda x: x, {"the value": lambda answer: {(1, 2): 3}})',
        "the probe for 'the value' returns a result for the solution of 'odd-keys' that can't be saved: a dict w",
    ),
    "used by a probe": (
        "def right(x): return x\ndef probe(answer): return answer(1.0) - right(1.0)\n"
        'exercise("used-twice", "?", right, {"the value": probe})',
        "the solution of 'used-twice' would remain in the released file, because probe uses it",
    ),
    "a value used by a probe": (
        '_RIGHT = 3.0\nexercise("used-twice", "?", _RIGHT, {"the value": lambda answer: answer == _RIGHT})',
        "the solution of 'used-twice' would remain in the released file, because a probe uses it",
    ),
    "values in a loop": (
        'for name, value in (("first-value", 1), ("second-value", 2)):\n    exercise(name, "?", value)',
        "the solution of 'first-value' is a value that couldn't be removed. Call exercise(...) outside functions",
    ),
    "a star": (
        'exercise(*("by-star", "?", 3))',
        "a call of exercise passes its arguments with a star",
    ),
    "more than probes": (
        'class _Wrong: number = 3\nexercise("needs-more", "?", lambda x: x,\n'
        '         {"the value": lambda answer: answer(globals()["_Wrong"].number)})',
        "without its solution 'needs-more' is judged differently: the probe for 'the value' gives another result",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_handed_out_without_its_solution_is_refused_in_a_sentence(case: str) -> None:
    written, said = REFUSED[case]
    with pytest.raises(NotSealed) as refused:
        made(f"\n{written}\n")
    assert str(refused.value).startswith(said), str(refused.value)


def test_a_sealed_file_that_was_changed_says_so() -> None:
    text = made('\nexercise("a-value", "?", 3, None, [Misconception("less", "?", 2)])\n')
    assert found_in(text)["a-value"].judge(3).right
    for changed in (text.replace("a-value", "another-value"), text.replace(", SEALED)]", ", SEALED)] * 2")):
        with pytest.raises(ValueError, match="has changed since its file was sealed"):
            found_in(changed)
