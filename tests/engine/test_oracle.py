"""The oracle itself: it sees differences, and recorded answers stand in for a PyTorch that is not installed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import oracle
import pytest
import recorded

import workbench

LONG = [1.0 / (number + 1) for number in range(3)] + ["word"] * 400


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder of answers, beside this file alone, in a session that has asked nothing."""
    (tmp_path / "test_oracle.py").touch()
    monkeypatch.setattr(recorded, "FOLDER", tmp_path / "recorded")
    monkeypatch.setattr(recorded, "ran", {"test_oracle"})
    forget(monkeypatch)
    return tmp_path / "recorded"


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin another session."""
    monkeypatch.setattr(recorded, "_answers", {})
    monkeypatch.setattr(recorded, "_asked", {})


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Callable[[Any], None]:
    """A function that records what PyTorch answers to the next question, and then takes PyTorch away."""

    def answer(value: Any) -> None:
        recorded.keep([oracle.plain(value), None, []])
        recorded.write()
        forget(monkeypatch)
        monkeypatch.setattr(oracle, "torch", None)

    return answer


def written(folder: Path) -> str:
    return (folder / "test_oracle.json").read_text(encoding="utf-8")


def test_a_recorded_answer_is_compared(answered) -> None:
    answered(workbench.tensor([2.0, math.nan]))
    oracle.compare(lambda torch: torch.tensor([1.0, math.nan]) * 2)


def test_another_answer_is_a_failure(answered) -> None:
    answered(3.0)
    with pytest.raises(AssertionError, match="torch has\n3.0"):
        oracle.compare(lambda torch: 2.0)


def test_of_a_long_answer_the_numbers_and_a_digest_are_compared(answered, folder) -> None:
    answered(LONG)
    assert len(written(folder)) < recorded.LONGEST
    oracle.compare(lambda torch: [item * (1 + 1e-9) if isinstance(item, float) else item for item in LONG])


@pytest.mark.parametrize("other", [[2.0, *LONG[1:]], [*LONG[:-1], "ward"], [1, *LONG[1:]], LONG[:-1]])
def test_another_long_answer_is_a_failure(answered, other: list[Any]) -> None:
    answered(LONG)
    with pytest.raises(AssertionError, match="value"):
        oracle.compare(lambda torch: other)


def test_floats_are_compared_to_the_digits_of_their_dtype(answered) -> None:
    near = workbench.tensor([1.0 + 1e-8], dtype=workbench.float64)
    answered(near)
    with pytest.raises(AssertionError, match="the workbench has\n1.0"):
        oracle.compare(lambda torch: torch.tensor([1.0], dtype=torch.float64))


def test_a_question_without_an_answer_is_a_failure_that_says_what_to_do(monkeypatch, folder) -> None:
    monkeypatch.setattr(oracle, "torch", None)
    with pytest.raises(AssertionError, match=r"WORKBENCH_RECORD_ORACLE=1 python -m pytest tests/\*/test_oracle.py"):
        oracle.compare(lambda torch: 2.0)


def test_recording_again_changes_nothing_that_differs_by_rounding(monkeypatch, folder) -> None:
    recorded.keep([[0.1, 2.0], None, []])
    recorded.write()
    first = written(folder)
    for second, same in ((0.1 + 1e-16, True), (0.2, False)):
        forget(monkeypatch)
        recorded.keep([[second, 2.0], None, []])
        recorded.write()
        assert (written(folder) == first) == same


def test_recording_removes_what_no_test_asks_any_more(monkeypatch, folder) -> None:
    recorded.keep([1.0, None, []])
    recorded.keep([2.0, None, []])
    recorded.write()
    (folder / "test_of_another_time.json").write_text("{}")
    forget(monkeypatch)
    recorded.keep([1.0, None, []])
    recorded.write()
    assert list(json.loads(written(folder)).values()) == [[1.0, None, []]]
    assert [path.name for path in folder.iterdir()] == ["test_oracle.json"]
    forget(monkeypatch)
    recorded.write()
    assert list(folder.iterdir()) == []


def test_the_answers_of_a_file_that_did_not_run_stay(monkeypatch, folder) -> None:
    recorded.keep([1.0, None, []])
    recorded.write()
    forget(monkeypatch)
    monkeypatch.setattr(recorded, "ran", set())
    recorded.write()
    assert "test_the_answers_of_a_file_that_did_not_run_stay 1" in written(folder)


def test_of_a_test_that_draws_its_questions_nothing_is_kept(folder) -> None:
    for _ in range(recorded.MOST + 2):
        recorded.keep([1.0, None, []])
    recorded.write()
    assert not (folder / "test_oracle.json").exists()
