"""Questions from a recording: what is called right is so, what is called wrong isn't, and every format has them all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

import workbench
import workbench as torch
from workbench.classroom.quiz import QuizQuestion, questions
from workbench.classroom.registry import registered
from workbench.cli import main
from workbench.cli.quiz import FORMATS, gift, page
from workbench.pictures.trace.values import format_value, read


def a_model() -> tuple[Any, dict[str, Any]]:
    torch.manual_seed(0)
    x, w = torch.tensor([2.0, -1.0]), torch.tensor([3.0, 0.5], requires_grad=True)
    b, unused = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    with workbench.record() as trace:
        side = unused * 2
        h = w * x
        loss = ((h + b) ** 2).sum() + (w * w).sum()
        loss.backward()
    return trace, {"w": w, "b": b, "x": x, "unused": unused, "side": side, "h": h, "loss": loss}


TRACE, TENSORS = a_model()
ALL = questions(TRACE, 100)


def test_there_is_every_kind_and_the_same_seed_gives_the_same_questions() -> None:
    assert {each.kind for each in ALL} == {"next", "gradient", "freed", "none"}
    assert questions(TRACE, 6, 3) == questions(TRACE, 6, 3) != questions(TRACE, 6, 4)
    assert [len(questions(TRACE, most)) for most in (1, 5)] == [1, 5]


def test_the_right_gradient_is_the_engines_and_no_wrong_one_is() -> None:
    found = [each for each in ALL if each.kind == "gradient"]
    assert {name_in(each) for each in found} == {"w", "b"}
    for each in found:
        grad = TENSORS[name_in(each)].grad.numpy()
        assert each.right == format_value(read(np.asarray(grad)))
        assert each.right not in [text for text, _ in each.wrong]
    (w,) = [each for each in found if name_in(each) == "w"]
    assert [why for _, why in w.wrong].count("Gradients that arrive are added. This is only one of them.") >= 2


def test_a_missing_gradient_has_one_true_reason() -> None:
    reasons = {name_in(each): each.right for each in ALL if each.kind == "none"}
    assert reasons == {
        "x": "It doesn't require a gradient",
        "unused": "The loss doesn't depend on it",
        "h": "It's the result of an operation",
        "loss": "It's the result of an operation",
    }, "nothing about `side`, of which two reasons are true"


def test_only_a_missing_gradient_is_asked_for_and_a_cut_path_is_no_independence() -> None:
    p, cut = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    with workbench.record() as trace:
        h = p * p
        h.retain_grad()
        scale = (cut * 2).detach()
        loss = h * scale
        loss.backward()
    assert h.grad is not None
    assert {name_in(each) for each in questions(trace, 100) if each.kind == "none"} == {"scale", "loss"}


def test_zero_with_a_sign_is_no_wrong_answer() -> None:
    x, y = torch.tensor(-0.0), torch.tensor(-2.0, requires_grad=True)
    with workbench.record() as trace:
        (x * y).backward()
    (right,) = [each for each in questions(trace, 100) if "y.grad" in each.asks]
    assert str(y.grad) == "tensor(-0.)"
    assert (right.right, [text for text, _ in right.wrong]) == ("0.0", ["-2.0", "1.0"])


def test_gradients_of_two_passes_are_counted_as_arrivals() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    with workbench.record() as trace:
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
    (asked,) = [each for each in questions(trace, 100) if each.kind == "gradient"]
    assert (asked.right, asked.why) == ("12.0", "The recording shows it. It's the sum of the 4 gradients that arrived.")


@pytest.mark.parametrize("keep", [True, False])
def test_saved_tensors_are_freed_unless_the_graph_is_kept(keep: bool) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with workbench.record() as trace:
        y = x.exp()
        y.backward(retain_graph=keep)
    (asked,) = [each for each in questions(trace) if each.kind == "freed"]
    assert asked.right.startswith("Yes" if keep else "No")


def test_the_node_that_runs_next_is_the_one_that_ran() -> None:
    order = [event.node for event in TRACE.events if type(event).__name__ == "NodeStarted"]
    asked = [each for each in ALL if each.kind == "next"]
    assert asked and len(asked) < len(order)
    for each in asked:
        assert len({each.right, *(text for text, _ in each.wrong)}) == len(each.wrong) + 1


def name_in(asked: QuizQuestion) -> str:
    found = re.search(r"`(\w+)\.grad`", asked.asks)
    assert found
    return found[1]


HOSTILE = QuizQuestion("next", "<script>~=#{}`a`", "</details>=x", "{b}", (("<i>~", "#"),))


def test_names_of_a_program_are_escaped() -> None:
    assert "<script>" not in page([HOSTILE], 0, "</title>") and "</title></title>" not in page([HOSTILE], 0, "</title>")
    assert r"\~\=\#\{\}" in gift([HOSTILE], 0) and r"=</details>\=x#\{b\}" in gift([HOSTILE], 0)


@pytest.mark.parametrize("suffix", FORMATS)
def test_each_format_has_every_question(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TRACE.save(tmp_path / "run.json")
    output = tmp_path / f"asked{suffix}"
    assert main(["quiz", str(tmp_path / "run.json"), "-o", str(output), "--questions", "7"]) == 0
    assert capsys.readouterr().out.startswith("Wrote 7 questions to ")
    text = output.read_text(encoding="utf-8")
    if suffix == ".html":
        assert text.count("<section ") == text.count("<summary>Answer") == 7
    elif suffix == ".gift":
        assert text.count("::[markdown]") == 7 and text.count("\n  =") == 7
    else:
        found = registered(tmp_path / "asked.exercises.py")
        assert len(found) == 7
        for each, cell in zip(found.values(), nbformat.reads(text, as_version=4).cells[3::2], strict=True):
            assert each.judge(each.solution).right and f'"{each.solution}"' in cell.source
            assert all(each.judge(wrong.answer).misconception == wrong.name for wrong in each.misconceptions)


@pytest.mark.parametrize(
    ("written", "output", "said"),
    [
        ("{", "a.html", "isn't a trace"),
        (None, "a.html", "no questions about"),
        (None, "a.pdf", "a.pdf isn't a quiz. Give a file that ends in .ipynb, .html, .gift."),
    ],
)
def test_what_cannot_be_asked_is_said(
    written: str | None, output: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if written is None:
        with workbench.record() as trace:
            torch.ones(2, requires_grad=True).sum()
        trace.save(tmp_path / "run.json")
    else:
        (tmp_path / "run.json").write_text(written)
    assert main(["quiz", str(tmp_path / "run.json"), "-o", str(tmp_path / output)]) == 1
    assert said in capsys.readouterr().err and not (tmp_path / output).exists()
