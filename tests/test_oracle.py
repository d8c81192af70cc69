"""The oracle itself: it sees differences, and recorded answers stand in for a PyTorch that is not installed."""

from __future__ import annotations

import json

import oracle
import pytest
import recorded

import workbench


@pytest.fixture
def without_torch(monkeypatch, tmp_path):
    """No PyTorch, and a folder of answers of one's own: a function that notes one for this test."""
    monkeypatch.setattr(oracle, "torch", None)
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    monkeypatch.setattr(recorded, "_answers", {})
    monkeypatch.setattr(recorded, "_asked", {})

    def note(key, answer):
        (tmp_path / "test_oracle.json").write_text(json.dumps({key: answer}))

    return note


def test_a_recorded_answer_is_compared(without_torch):
    value = json.loads(json.dumps(oracle.run(lambda torch: torch.tensor([1.0, 2.0]) * 2, workbench).value))
    without_torch("test_a_recorded_answer_is_compared 1", [value, None, []])
    oracle.compare(lambda torch: torch.tensor([1.0, 2.0]) * 2)


def test_another_answer_is_a_failure(without_torch):
    without_torch("test_another_answer_is_a_failure 1", [3.0, None, []])
    with pytest.raises(AssertionError, match="torch has\n3.0"):
        oracle.compare(lambda torch: 2.0)


def test_without_an_answer_the_test_is_skipped_with_a_sentence(without_torch):
    with pytest.raises(pytest.skip.Exception, match="torch is not installed"):
        oracle.compare(lambda torch: 2.0)


def test_answers_are_written_and_read_again(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    monkeypatch.setattr(recorded, "_answers", {})
    monkeypatch.setattr(recorded, "_asked", {})
    recorded.keep([["tensor", [1.0, float("nan")]], None, []])
    recorded.write()
    monkeypatch.setattr(recorded, "_answers", {})
    monkeypatch.setattr(recorded, "_asked", {})
    value, raised, warned = recorded.recall()
    assert oracle.difference(value, ("tensor", (1.0, float("nan"))), "value") is None
    assert (raised, warned) == (None, [])
