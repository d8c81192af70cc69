"""The oracle itself: it sees differences, and recorded answers stand in for a PyTorch that is not installed."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import oracle
import pytest
import questions
import recorded

import workbench

LONG = [1.0 / (number + 1) for number in range(3)] + ["word"] * 400
Answered = Callable[[Callable[[Any], Any], Any], None]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Yield an empty folder of answers, in a session that has asked nothing."""
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    monkeypatch.setattr(recorded, "_asked", {})
    recorded.on_file.cache_clear()
    yield tmp_path
    recorded.on_file.cache_clear()


def written(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "engine.json").read_text(encoding="utf-8"))


def record(answers: dict[str, Any], whole: tuple[str, ...] = ()) -> None:
    """Record answers as a session does that asks for these alone."""
    recorded._asked.clear()
    for key, answer in answers.items():
        recorded.keep(key, [answer, None, []])
    recorded.write(recorded.noted(), {*whole})


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Answered:
    """Return what compares a program with an answer that PyTorch gave it, and then was taken away."""

    def compare(program: Callable[[Any], Any], answer: Any) -> None:
        record({questions.key(program): oracle.plain(answer)})
        monkeypatch.setattr(oracle, "torch", None)
        oracle.compare(program)

    return compare


def test_a_recorded_answer_is_compared(compared: Answered) -> None:
    compared(lambda torch: torch.tensor([1.0, math.nan]) * 2, workbench.tensor([2.0, math.nan]))


def test_another_answer_is_a_failure(compared: Answered) -> None:
    with pytest.raises(AssertionError, match="torch has\n3.0"):
        compared(lambda torch: 2.0, 3.0)


def test_of_a_long_answer_the_numbers_and_a_digest_are_compared(compared: Answered, folder: Path) -> None:
    compared(lambda torch: [item * (1 + 1e-9) if isinstance(item, float) else item for item in LONG], LONG)
    assert len(str(written(folder))) < recorded.LONGEST


@pytest.mark.parametrize("other", [[2.0, *LONG[1:]], [*LONG[:-1], "ward"], [1, *LONG[1:]], LONG[:-1]])
def test_another_long_answer_is_a_failure(compared: Answered, other: list[Any]) -> None:
    with pytest.raises(AssertionError, match="value"):
        compared(lambda torch: other, LONG)


def test_floats_are_compared_to_the_digits_of_their_dtype(compared: Answered) -> None:
    with pytest.raises(AssertionError, match="the workbench has\n1.0"):
        near = workbench.tensor([1.0 + 1e-8], dtype=workbench.float64)
        compared(lambda torch: torch.tensor([1.0], dtype=torch.float64), near)


def test_a_question_without_an_answer_is_a_failure_that_says_what_to_do(monkeypatch, folder: Path) -> None:
    monkeypatch.setattr(oracle, "torch", None)
    with pytest.raises(AssertionError, match=r"WORKBENCH_RECORD_ORACLE=1 python -m pytest tests/engine/test_oracle.py"):
        oracle.compare(lambda torch: 2.0)


def test_recording_again_changes_nothing_that_differs_by_rounding(folder: Path) -> None:
    record({"a": [0.1, 2.0]})
    first = written(folder)
    record({"a": [0.1 + 1e-16, 2.0]})
    assert written(folder) == first
    record({"a": [0.2, 2.0]})
    assert written(folder) != first


def test_what_no_test_asks_any_more_is_removed_where_the_whole_part_ran(folder: Path) -> None:
    record({"a": 1.0, "b": 2.0})
    record({"c": 3.0})
    assert [*written(folder)] == ["a", "b", "c"]
    record({"a": 1.0}, whole=("engine",))
    assert [*written(folder)] == ["a"]
    record({}, whole=("engine",))
    assert not any(folder.glob("engine*"))


def test_two_answers_to_one_question_are_an_error(folder: Path) -> None:
    recorded.keep("a", [1.0, None, []])
    recorded.keep("a", [1.0, None, []])
    with pytest.raises(AssertionError, match="two answers to one question"):
        recorded.keep("a", [2.0, None, []])


def test_of_a_test_that_draws_its_questions_nothing_is_kept(folder: Path) -> None:
    record({str(number): 1.0 for number in range(recorded.MOST + 2)})
    assert not any(folder.glob("engine*"))


def test_a_large_part_is_in_several_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "LARGEST", 10)
    record({"one a": 1.0, "two b": 2.0})
    assert sorted(path.name for path in folder.iterdir()) == ["engine-a.json", "engine-b.json"]
    assert recorded.recall("two b") == [2.0, None, []]


PROGRAM = """
    from workbench import nn

    SIZE = 3

    def helper(torch):
        return torch.ones(SIZE)

    def program(torch):
        return helper(torch) * 2
"""


@pytest.fixture
def key_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """Return what gives the key of `program` in a file of this text."""
    monkeypatch.setattr(questions, "TESTS", tmp_path)

    def key(text: str, name: str = "program") -> str:
        path = tmp_path / f"written_{len([*tmp_path.iterdir()])}.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return questions.key(getattr(module, name))

    return key


MOVED = {
    "a docstring": ("return helper(torch) * 2", '"""Say so."""\n        return helper(torch) * 2'),
    "a comment": ("return helper(torch) * 2", "return helper(torch) * 2  # so"),
    "an annotation": ("def program(torch)", "def program(torch: object) -> None"),
    "what it does not name": ("from workbench import nn", "from workbench import optim"),
    "another line": ("    SIZE = 3", "\n\n\n    SIZE = 3"),
}


@pytest.mark.parametrize("change", MOVED)
def test_a_program_that_moves_has_the_same_key(key_in: Callable[..., str], change: str) -> None:
    assert key_in(PROGRAM.replace(*MOVED[change])) == key_in(PROGRAM)


def test_the_name_of_a_program_is_not_in_its_key(key_in: Callable[..., str]) -> None:
    assert key_in(PROGRAM.replace("def program", "def other"), "other") == key_in(PROGRAM)


CHANGED = {
    "itself": ("* 2", "* 3"),
    "a function that it calls": ("torch.ones", "torch.zeros"),
    "a number that this names": ("SIZE = 3", "SIZE = 4"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_program_that_changes_has_another_key(key_in: Callable[..., str], change: str) -> None:
    assert key_in(PROGRAM.replace(*CHANGED[change])) != key_in(PROGRAM)


def test_what_a_program_is_given_is_in_its_key() -> None:
    def made(number: int) -> Callable[[Any], Any]:
        return lambda torch: torch.ones(number)

    assert questions.key(made(2)) == questions.key(made(2)) != questions.key(made(3))
    assert questions.key(max, "x + y", 1) != questions.key(max, "x + y", 2)
    assert questions.key(max, "x + y").startswith("x + y ")
