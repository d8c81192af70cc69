"""Every exercise of the course: its solution is right, and each misconception gets its own hint and no full points."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from answers import CHECKOUT, verdict_of
from answers import WRONG as WRONG_ANSWERS

import workbench as torch
from workbench.classroom import Misconception, Unusable, backward_of, check, grade, gradients, results
from workbench.classroom.answer_errors import _MEANINGS, NOTHING_CAME, Raised
from workbench.classroom.evidence import STOPPED
from workbench.classroom.judging import NOT_A_FUNCTION, Exercise
from workbench.classroom.registry import exercises, find, lessons

COURSE = exercises(CHECKOUT / "notebooks")
ALL = [pytest.param(exercise, id=exercise.name) for exercise in COURSE.values()]
WRONG = [
    pytest.param(exercise, wrong, id=f"{exercise.name}: {wrong.name}")
    for exercise in COURSE.values()
    for wrong in exercise.misconceptions
]


@pytest.fixture(autouse=True)
def beside_the_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` finds the exercises in the current folder."""
    monkeypatch.chdir(CHECKOUT / "notebooks")


def test_a_name_is_used_once_and_looks_like_one() -> None:
    names = [exercise.name for lesson in lessons().values() for exercise in lesson]
    assert len(names) == len(set(names))
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)] == []


# The best-known misconceptions: where they are met, and what the hint must speak of. Answers that show them are in
# tests/answers/.
WELL_KNOWN = [
    ("three-backwards", "gradients overwrite instead of add", "doesn't replace what's in .grad"),
    ("train-without-retaining", "retain_graph everywhere", "Each step needs the loss of the present weights"),
    ("who-has-a-grad", ".grad of a non-leaf", "it isn't kept there"),
    ("update-a-weight", "detach against no_grad", "the caller's weight hasn't moved"),
    ("read-the-error", "the operation that is named has written", "It doesn't say which line wrote into it"),
    ("version-of-a-view", "writing through a view", "one memory, which has one counter"),
    ("sigmoid-function", "an output kept as an attribute of ctx", "its memory is never freed"),
    ("scale-backward", "wrong number of gradients", "backward returns a value for each of them"),
    ("bias-backward", "broadcasting needs no sum", "repeated for each row"),
    ("tanh-twice", "an intermediate breaks double backward", "inside forward, where nothing is recorded"),
    ("cube-backward", "the local slope without the chain", "Your answer doesn't use what arrives"),
    ("grad-at-a-fork", "a forgotten fork", "the gradients of both paths are added"),
]


@pytest.mark.parametrize(("exercise", "name", "hint"), WELL_KNOWN)
def test_a_well_known_misconception_is_recognized_in_what_a_learner_writes(exercise: str, name: str, hint: str) -> None:
    written = next(answer for answer, shown in WRONG_ANSWERS[exercise] if shown == name)
    verdict = verdict_of(exercise, written)
    assert (verdict.misconception, verdict.right) == (name, False), verdict
    assert hint in verdict.says


@pytest.mark.parametrize("exercise", ALL)
def test_the_solution_is_right_and_nothing_is_quiet(exercise: Exercise) -> None:
    verdict = exercise.judge(exercise.solution)
    assert (verdict.right, verdict.points, verdict.misconception) == (True, exercise.points, None), verdict
    assert verdict.says.startswith("Right. (")
    for nothing in (None, ...):
        verdict = exercise.judge(nothing)
        assert (verdict.points, verdict.answered) == (0, False)
        assert re.fullmatch(r"Not answered yet \([\d.]+ points?\)\.", verdict.says)


@pytest.mark.parametrize(("exercise", "wrong"), WRONG)
def test_a_misconception_gets_its_own_hint(exercise: Exercise, wrong: object) -> None:
    for answer in wrong.answers:
        verdict = exercise.judge(answer)
        assert verdict.misconception == wrong.name, verdict
        assert verdict.says.endswith(wrong.hint) and verdict.points < exercise.points
    assert [each.hint for each in exercise.misconceptions].count(wrong.hint) == 1


@pytest.mark.parametrize("exercise", [each for each in ALL if not each.values[0].is_code])
def test_no_hint_tells_the_answer(exercise: Exercise) -> None:
    right = exercise.solution
    said = " ".join(each.hint for each in exercise.misconceptions)
    if isinstance(right, str):
        assert right not in re.findall(r"[\w.]+", said)
    elif not isinstance(right, bool) and np.ndim(right) == 0:
        assert right not in [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", said)]
    elif not isinstance(right, bool):
        assert str(list(right)) not in said


ODD = {
    "a number": (7, "Expected a class, got a value."),
    "a function": (len, "Expected a class, got a function."),
    "another class": (int, NOT_A_FUNCTION),
}


@pytest.mark.parametrize("name", ODD)
def test_an_answer_of_another_kind_is_told_in_a_sentence(name: str) -> None:
    odd, said = ODD[name]
    verdict = COURSE["cube-backward"].judge(odd)
    assert said in verdict.says and verdict.points == 0


def test_an_error_of_python_names_the_line_and_says_what_it_means() -> None:
    def in_pieces(w: Any, points: Any, target: Any) -> Any:
        loss = ((w * points - target) ** 2).mean() / 3
        return loss.grad * 2

    said = check("batch-in-pieces", in_pieces).says
    assert "your code raised TypeError: unsupported operand" in said
    assert said.endswith("It came from your line `return loss.grad * 2`. " + dict(_MEANINGS)["NoneType"])


class Rude(Exception):
    def __str__(self) -> str:
        raise ValueError


def changed(name: str, method: Any) -> type:
    """The right Function with another method."""
    return type("Cube", (COURSE["cube-backward"].solution,), {name: staticmethod(method)})


def raising(error: BaseException) -> type:
    """A Function whose backward raises."""

    def backward(ctx: Any, grad_output: Any) -> Any:
        raise error

    return changed("backward", backward)


def returning(value: Any) -> type:
    """A Function whose forward returns this, whatever it is given."""
    return changed("forward", lambda ctx, x: value(x))


def shouting(ctx: Any, x: Any) -> Any:
    while True:
        print("on and on")


def _itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


NO_TENSOR = "returned a value of type {} instead of a tensor."
FAILING = {
    "prints without an end": (changed("forward", shouting), "RuntimeError: it never stops printing."),
    "raises": (raising(NameError("name 'y' is not defined")), "raised NameError: name 'y' is not defined."),
    "leaves Python": (raising(SystemExit(3)), "raised SystemExit: 3."),
    "raises what cannot be told": (raising(Rude()), "raised Rude."),
    "raises about an object": (raising(KeyError(object())), "raised KeyError: <object object>."),
    "raises many lines": (raising(ValueError("one\ntwo" * 500)), "raised ValueError: one."),
    "raises a long line": (raising(ValueError("x" * 5000)), f"raised ValueError: {'x' * 200}…."),
    "returns itself": (returning(lambda x: _itself()), NO_TENSOR.format("list")),
    "returns a word": (returning(lambda x: "six"), NO_TENSOR.format("str")),
    "returns infinity": (returning(lambda x: x * float("inf")), "Not right: the value"),
    "returns no tensor": (returning(lambda x: object()), NO_TENSOR.format("object")),
    "returns lists in lists": (returning(lambda x: [[x, [None]], None]), "returned a value of type list"),
    "returns a long list": (returning(lambda x: range(10**9)), NO_TENSOR.format("range")),
}


def test_an_error_that_several_answers_end_in_gets_no_hint_about_one_of_them() -> None:
    def asks_for_two(answer: Any) -> Any:
        raise Unusable("your code returned 1 instead of 2 gradients")

    def forgotten(grad_output: Any) -> Any:
        return 1

    one, two = (Misconception(name, "Look again.", forgotten) for name in ("the slope is forgotten", "a sign too much"))
    for misconceptions, hint in (((one, two), None), ((one,), one.name)):
        asked = Exercise("hinge-backward", "", lambda grad: (grad, grad), {"all": asks_for_two}, misconceptions)
        asked.__dict__["_expected"] = {"all": [2.0]}
        verdict = asked.judge(lambda grad: grad)
        assert verdict.misconception == hint and not verdict.right


def test_no_answer_is_right_where_the_probe_can_use_not_even_the_solution() -> None:
    def hinge(z: Any, label: Any) -> Any:
        return (1 - z * label).clamp(min=0)

    def backward(grad_output: Any, z: Any, label: Any) -> Any:
        return torch.where(z * label < 1, -label * grad_output, 0.0)

    # A label given as a list counts as an input, whose gradient is missing. Given as a tensor, it doesn't.
    for label, earned in (([1.0, -1.0], 0), (torch.tensor([1, -1]), 1)):
        asked = Exercise("hinge-backward", "", backward, {"all": backward_of(hinge, [[0.5, 2.0], label])})
        assert asked.judge(backward).points == earned
        assert not asked.judge(lambda grad_output, z, label: 5 * grad_output).right
    # A solution without a gradient, and a probe that asks for one.
    rounded = Exercise("rounded", "", lambda x: x.detach().round(), {"the slope": gradients([1.2])})
    assert not rounded.judge(lambda x: x.detach()).right


def test_an_error_that_the_answer_raises_itself_may_be_the_right_one() -> None:
    def refused(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        return x

    asked = Exercise("refuse", "", refused, {"a negative number": results([-1.0])})
    assert asked.judge(refused).right and not asked.judge(lambda x: x).right


def test_a_key_that_a_dict_does_not_have_is_no_place_in_a_list() -> None:
    assert check("cube-backward", raising(KeyError("x"))).says.endswith(dict(_MEANINGS)["^KeyError"])


def test_a_slice_that_only_lists_have_is_told_from_a_wrong_step() -> None:
    said = check("puzzle-flip", lambda grad_output, x: grad_output[::-1]).says
    assert "raised ValueError" in said and said.endswith("x.flip(0) turns its first dimension around.")


@pytest.mark.parametrize("name", FAILING)
def test_a_failing_answer_is_told_in_a_sentence(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer, said = FAILING[name]
    verdict = check("cube-backward", answer)
    assert said in verdict.says and verdict.says.startswith("Not yet (") and not verdict.right
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_answer_is_judged_alike_in_every_mode(mode: Any) -> None:
    wrong = changed("backward", lambda ctx, grad_output: grad_output)
    said = Exercise(**vars_of("cube-backward")).judge(wrong).says
    with mode():
        exercise = Exercise(**vars_of("cube-backward"))  # which has not been judged before
        assert exercise.judge(wrong).says == said
        assert exercise.judge(exercise.solution).right
    torch.set_default_dtype(torch.float64)
    try:
        assert Exercise(**vars_of("train-without-retaining")).judge(wrong).answered
        assert torch.get_default_dtype() is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def vars_of(name: str) -> dict[str, Any]:
    """What an exercise is made from."""
    exercise = COURSE[name]
    return {each.name: getattr(exercise, each.name) for each in fields(exercise)}


@pytest.mark.parametrize("exercise", ALL)
def test_no_solution_raises_in_a_probe(exercise: Exercise) -> None:
    assert [found for found in exercise._expected.values() if isinstance(found, Raised)] == []


def test_an_answer_leaves_no_mode_and_no_random_number_behind() -> None:
    def meddling(ctx: Any, grad_output: Any) -> Any:
        torch.set_grad_enabled(False)
        torch.manual_seed(1)
        return grad_output

    torch.manual_seed(7)
    wanted = torch.rand(1).item()
    torch.manual_seed(7)
    COURSE["cube-backward"].judge(changed("backward", meddling))
    assert torch.is_grad_enabled() and torch.rand(1).item() == wanted


def test_a_function_without_a_body_is_not_answered_and_one_with_a_constant_is() -> None:
    def unwritten(*given: Any) -> Any:
        """What is to be done."""
        ...  # your code

    assert check("cube-backward", changed("backward", unwritten)).says == "Not answered yet (2 points)."
    exercise = Exercise("a-function", "", lambda: 2.5, {"the value": lambda answer: answer()})
    assert exercise.judge(lambda: 2.5).right

    assert not exercise.judge(unwritten).answered
    assert check("cube-backward", changed("jvp", unwritten)).right


x = torch.ones(3, requires_grad=True)  # as a notebook has one


def test_a_method_that_reads_the_notebooks_tensor_is_told_so() -> None:
    def of_notebook(ctx: Any, grad_output: Any) -> Any:
        return 3 * x**2 * grad_output

    def of_its_own(ctx: Any, grad_output: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x**2 * grad_output

    told = "The x in your backward is the notebook's own x"
    of_notebook.__name__ = of_its_own.__name__ = "backward"
    assert told in check("cube-backward", changed("backward", of_notebook)).says
    assert told not in check("cube-backward", changed("backward", of_its_own)).says


def test_an_answer_whose_derivative_is_its_own_alone_is_not_partly_right() -> None:
    asked = Exercise("a-double", "", lambda x: 2 * x, {"the value": results([1.0]), "gradcheck": lambda answer: True})
    assert not asked.judge(lambda x: 3 * x).partly and not asked.judge(lambda x: 3 * x).right


def test_none_is_an_answer_where_somebody_says_it() -> None:
    def nothing() -> None:
        return None

    asked = Exercise("a-function", "", lambda: 2.5, {"the value": lambda answer: answer()})
    for says_none in (nothing, lambda: None):
        verdict = asked.judge(says_none)
        assert verdict.answered and not verdict.right and NOTHING_CAME in verdict.says
    of_nothing = Exercise("grad-of-a-constant", "", None)
    assert of_nothing.judge(None).right and not of_nothing.judge(...).answered
    assert not of_nothing.judge(0).right
    assert check("number-none-or-zero", ["number", None, None, "zero"]).right
    assert check("number-none-or-zero", ["number", None, 0, 0.0]).answered
    assert not check("number-none-or-zero", [None] * 4).answered


def test_a_name_that_nobody_has_suggests_the_nearest_and_a_word_stays_a_prediction() -> None:
    with pytest.raises(ValueError, match="No exercise named 'cube-bckward'. Did you mean 'cube-backward'"):
        check("cube-bckward", Exercise)
    assert check("upside-down", "upside-down") == "Right."
    assert check("upside-down", "inside-out") == "Not yet: that's not the word."


def test_a_grader_gets_the_points_and_a_reader_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    exercise = COURSE["scale-backward"]
    assert grade("scale-backward", exercise.solution) == 1
    assert grade("scale-backward", exercise.misconceptions[0].answer) == 0
    said = capsys.readouterr().out.splitlines()
    assert max(map(len, said)) <= 100
    assert said[0] == "Right. (1 point)"
    assert said[1].startswith("Not yet (0 of 1 point). Wrong number of gradients: ")


class _Quarrelsome:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __array__(self, *given: Any) -> Any:
        raise KeyError("no")


def _odd_answers() -> list[Any]:
    values = [_itself(), 10**400, 1 + 2j, "six", "", b"6", {}, {"a": 1}, {1, 2}, object(), _Quarrelsome(), float("nan")]
    values += [-1, True, np.float32(2.5), np.array("x"), np.array([object()]), torch.ones(0), torch.ones(2, 3)]
    values += [iter([1]), [[1], 2], _Quarrelsome, Exception, print, lambda: 1]
    returned = (lambda *given: given, lambda *given: object(), lambda *given: [[1.0, [None]], None])
    return [*values, *returned, lambda *given: [list(given), [list(given)]]]


@pytest.mark.parametrize("exercise", ALL)
def test_no_odd_answer_is_right_and_none_raises(exercise: Exercise) -> None:
    for odd in _odd_answers():
        verdict = exercise.judge(odd)
        assert not verdict.right and verdict.says.startswith("Not yet ("), odd
        assert len(verdict.says) < 800 and "\n" not in verdict.says


def _looping(*arguments: Any) -> Any:
    while True:
        pass


class Looping(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        while True:
            pass


def _waiting(*arguments: Any) -> Any:
    threading.Event().wait()


@pytest.mark.parametrize("name, answer", [("slope-by-hand", _looping), ("cube-backward", Looping)])
@pytest.mark.parametrize("in_a_thread", [False, True])
def test_an_answer_that_never_ends_is_stopped(
    name: str, answer: Any, in_a_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.classroom.evidence.SECONDS", 0.2)
    verdicts: list[Any] = []
    run = threading.Thread(target=lambda: verdicts.append(find(name).judge(answer)))
    run.start() if in_a_thread else run.run()
    run.join() if in_a_thread else None
    assert STOPPED in verdicts[0].says and not verdicts[0].right
    assert find(name).judge(find(name).solution).right


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a wait ends by a signal")
def test_an_answer_that_waits_forever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.classroom.evidence.SECONDS", 0.2)
    assert STOPPED in find("slope-by-hand").judge(_waiting).says


def test_a_program_can_be_traced_after_a_limit_in_a_thread() -> None:
    program = """
import sys, threading
from workbench.classroom.time_limit import time_limit

def limited():
    with time_limit(60):
        pass

one = threading.Thread(target=limited)
one.start()
one.join()
sys.settrace(lambda *event: None)
threading.gettrace()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300, cwd=CHECKOUT)
