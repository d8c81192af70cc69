"""The tables that mark which cells of an answer are wrong: true of the answer, safe to show, and silent on the rest."""

from __future__ import annotations

import base64
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from lab import CHECKOUT

import workbench as torch
from workbench.classroom import Misconception, backward_of, by_engine, gradients, marked, results, slopes_of
from workbench.classroom.cells import ALL_RIGHT, SOME_WRONG, table, to_svg, to_text
from workbench.classroom.judging import Exercise, Verdict
from workbench.classroom.registry import registered

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("&")</script>'
PUZZLES = registered(CHECKOUT / "notebooks" / "16-twenty-puzzles.exercises.py")


def square(x: Any) -> Any:
    return x**2


def judged(answer: Any, function: Any = square, *cases: Any) -> Verdict:
    probe = backward_of(function, *(cases or ([[3.0, -2.0, 5.0]], [[[1.0, 4.0], [2.0, -7.0]]])))
    asked = Exercise("square-backward", "", by_engine(function), {"the gradient": probe})
    return asked.judge(answer)


def drawn(verdict: Any) -> ElementTree.Element:
    """The picture, as a browser reads it out of the page."""
    (image,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', verdict._repr_html_())
    return ElementTree.fromstring(base64.b64decode(image))


def words(verdict: Any) -> list[str]:
    return [text.text or "" for text in drawn(verdict).iter(f"{SVG}text")]


def test_a_wrong_cell_has_a_cross_in_text_and_picture_and_a_right_one_a_tick() -> None:
    verdict = judged(lambda grad_output, x: grad_output * 2 * x.abs())
    told = repr(verdict).splitlines()
    assert told[-2:] == ["yours: gradient of x: 1 of 3 cells wrong (×)", "  ✓ 12   × -12  ✓ 50"]
    assert not verdict.right and len([*drawn(verdict).iter(f"{SVG}path")]) == 3
    assert {"grad_output", "x", "yours: gradient of x: 1 of 3 cells wrong (×)", "-2"} <= {*words(verdict)}
    # By its edge as well as by its sign, and not by color alone.
    edges = [each.get("stroke-width") for each in drawn(verdict).iter(f"{SVG}rect")]
    assert edges.count("2.5") == 1


def test_a_right_answer_has_ticks_alone_and_its_text_stays_short() -> None:
    verdict = judged(lambda grad_output, x: grad_output * 2 * x)
    assert verdict.right and repr(verdict) == "Right. (1 point)"
    assert f"yours: gradient of x: {ALL_RIGHT}" in words(verdict)
    assert all(not each.wrong.any() for each in verdict.tables if each.wrong is not None)


def test_the_first_case_that_is_wrong_is_drawn() -> None:
    verdict = judged(lambda grad_output, x: grad_output * 2 * (x if x.ndim == 1 else x.T))
    assert "  ✓ 4    × -12" in repr(verdict) and repr(verdict).count("\n") == 3


def test_no_right_number_is_told() -> None:
    verdict = judged(lambda grad_output, x: 0 * x + 8.25)
    right = {"12", "50"}  # 2 * 2 * 3 and 5 * 2 * 5, which are neither given nor returned
    assert not right & {
        *re.findall(r"[\d.]+", f"{verdict!r} {words(verdict)} {verdict._repr_html_().split('src=')[0]}")
    }


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda grad_output, x: grad_output[:2], "yours: gradient of x, of another shape: [2]\n  2   -3"),
        (lambda grad_output, x: None, "Not right: the gradient. Your code gave None"),
        (lambda grad_output, x: 1 / 0, "your code raised ZeroDivisionError"),
        (lambda grad_output, x: "six", "Not right: the gradient."),
        (lambda grad_output, x: x.mul_(2), "your code changed an argument in place"),
        (lambda grad_output, x: grad_output.mul_(2), "your code changed the gradient it received in place"),
        (lambda grad_output, x: [[[grad_output]]], "Not right: the gradient."),
        (lambda grad_output, x: grad_output * float("nan"), "× nan  × nan  × nan"),
        (lambda grad_output, x: by_asking(grad_output, x), "history"),
        (lambda grad_output, x: (grad_output, None), "your code returned 2 instead of one gradient."),
    ],
)
def test_an_answer_of_another_kind_is_told_in_words(answer: Any, said: str) -> None:
    verdict = judged(answer)
    assert not verdict.right and said in re.sub(r"(?<=[\w,])\n(?=\w)", " ", repr(verdict))


def by_asking(grad_output: Any, x: Any) -> Any:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(square(x), x, grad_output)[0]


def test_each_argument_has_its_own_table_and_one_that_is_held_has_no_gradient() -> None:
    index = torch.tensor([1, 1, 0])
    case = [[3.0, 4.0], index, [1.0, 2.0, 5.0]]
    right = judged(lambda g, x, i, w: (torch.zeros_like(x).index_add(0, i, g * w), g * x[i]), picked, case)
    assert right.right and {"index", "yours: gradient of w: every cell is right"} <= {*words(right)}
    wrong = judged(lambda g, x, i, w: (torch.zeros_like(x).index_add(0, i, g), g * x[i]), picked, case)
    assert "yours: gradient of x: 2 of 2 cells wrong (×)" in repr(wrong)
    assert "yours: gradient of w: every cell is right" in repr(wrong)


def picked(x: Any, index: Any, w: Any) -> Any:
    return x[index] * w


def test_other_exercises_mark_what_is_wrong_and_leave_a_right_answer_as_it_was() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            return 2 * grad_output

    class Forgotten(Doubled):
        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            return grad_output

    case = [[1.0, 2.0]]
    asked = Exercise("double-it", "", Doubled, {"the value": results(case), "the gradient": gradients(case)})
    assert asked.judge(Doubled)._repr_html_() is None
    assert repr(asked.judge(Forgotten)).endswith("yours: the gradient: 2 of 2 cells wrong (×)\n  × 2    × 2.5")
    number = Exercise("one-number", "", Doubled, {"the value": results([1.0]), "the gradient": gradients([1.0])})
    assert number.judge(Forgotten).tables == ()  # a single number needs no table
    plain = Exercise("a-number", "", 3, misconceptions=(Misconception("half", "no.", 2),))
    assert plain.judge(2).tables == () and plain.judge(2)._repr_html_() is None


def test_what_stands_in_a_picture_cannot_leave_it() -> None:
    shown = table(HOSTILE, np.array([1.0, np.inf]), np.array([True, False]))
    assert shown is not None
    (title, *_) = ElementTree.fromstring(to_svg([shown])).iter(f"{SVG}text")
    assert title.text == f"{HOSTILE}: {SOME_WRONG.format(1, 2)}"
    page = marked([1.0], [2.0], HOSTILE)._repr_html_()
    assert "<script" not in page and page.count('"') == 6
    assert to_text([shown]).splitlines()[1] == "  × 1    ✓ inf"


def test_nothing_is_drawn_of_what_is_empty_or_large() -> None:
    assert table("x", np.zeros((0, 3))) is None and table("x", np.zeros((3, 40))) is None
    assert table("x", np.array(2.0)) is not None and table("x", np.zeros((2, 2, 3))) is not None


def test_arrays_are_marked_beside_the_right_ones() -> None:
    shown = marked([1.0, -0.0], torch.tensor([1.0, 2.0]), "mine", x=[[5]])
    assert repr(shown) == "mine: 1 of 2 cells wrong (×)\n  ✓ 1  × 0"
    assert words(shown)[:2] == ["x", "5"]
    with pytest.raises(ValueError, match="have the same shape"):
        marked([1.0], [1.0, 2.0])


def test_a_wide_row_of_tables_goes_on_in_the_next_line() -> None:
    tables = [table(f"x{n}", np.arange(8.0)) for n in range(5)]
    picture = ElementTree.fromstring(to_svg([each for each in tables if each]))
    assert float(picture.get("width", 0)) <= 960
    assert len({each.get("transform", "").partition(",")[2] for each in picture.iter(f"{SVG}g")}) > 1


@pytest.mark.parametrize("name", PUZZLES)
def test_what_a_puzzle_takes_for_right_is_what_nudging_finds(name: str) -> None:
    puzzle = PUZZLES[name]
    assert puzzle.judge(puzzle.solution).right and puzzle.points == 1 and len(puzzle.misconceptions) >= 3
    probe: Any = puzzle.probes["the gradient"]
    assert len(probe.cases) >= 2
    shapes = set()
    for arriving, *case in probe.cases:
        held = [not isinstance(each, float | list) for each in case]
        shapes.add(tuple(np.shape(each) for each, still in zip(case, held, strict=True) if not still))
        solution = puzzle.solution

        def whole(numbers: Any, case: Any = case, held: Any = held) -> list[Any]:
            rest = iter(numbers)
            return [each if still else next(rest) for each, still in zip(case, held, strict=True)]

        function = solution.__closure__[[*solution.__code__.co_freevars].index("function")].cell_contents
        nudged = slopes_of(
            lambda *numbers, f=function: f(*whole(numbers)),
            [each for each, still in zip(case, held, strict=True) if not still],
        )
        assert nudged(lambda grad_output, *numbers, f=solution: f(grad_output, *whole(numbers))) == [True], arriving
    assert len(shapes) >= 2


@pytest.mark.parametrize("name", ["puzzle-clamp", "puzzle-max", "puzzle-sort"])
def test_where_the_values_decide_no_two_are_equal_and_none_is_at_a_limit(name: str) -> None:
    probe: Any = PUZZLES[name].probes["the gradient"]
    for _, x in probe.cases:
        numbers = np.ravel(x)
        assert len({*numbers}) == numbers.size and (name != "puzzle-clamp" or not {0.0, 6.0} & {*numbers})
