"""A reader who predicts right is told so, also when they go back and run a part of a lesson again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pytest
from lab import CHECKOUT

from workbench.classroom.handout import name_of, solution, student
from workbench.classroom.registry import file_of, registered

# Where a prediction is made, what a reader types there, and the cell that checks it.
ANSWERS = {
    "00-slopes-and-a-graph": [
        ("lesson00-03", "prediction = 6", "lesson00-04"),
        ("lesson00-15", "w_grad, b_grad = -2, -1", "lesson00-17"),
        ("lesson00-21", "prediction = 7", "lesson00-23"),
    ],
    "01-a-graph-appears": [
        ("lesson01-03", "prediction = 4", "lesson01-05"),
        ("lesson01-09", "prediction = 5", "lesson01-10"),
        ("lesson01-14", "shared_count, repeated_count = 2, 3", "lesson01-15"),
        ("lesson01-19", "prediction = 2", "lesson01-20"),
        ("lesson01-26", "w_grad, b_grad = -2, -1", "lesson01-27"),
        ("lesson01-31", "prediction = -1", "lesson01-32"),
    ],
    "02-backward-one-node-at-a-time": [
        ("lesson02-07", 'first = "b"', "lesson02-08"),
        ("lesson02-12", "prediction = 7", "lesson02-14"),
        ("lesson02-16", "shape, numbers = [3], [4, 4, 4]", "lesson02-18"),
        ("lesson02-24", "u_grad, v_grad = [10, 10, 10], 6", "lesson02-26"),
    ],
    "03-leaves-and-grad": [
        ("lesson03-03", "a_leaf, b_leaf, c_leaf, d_leaf = True, True, False, False", "lesson03-04"),
        ("lesson03-06", "prediction = 11", "lesson03-07"),
        ("lesson03-11", "grad_after, w_after = -25.6, 3.08", "lesson03-12"),
        ("lesson03-24", "prediction = 12", "lesson03-25"),
        ("lesson03-29", "p_reason, q_reason, r_reason, s_reason, t_reason = 0, 2, 3, 4, 0", "lesson03-30"),
    ],
    "04-where-history-stops": [
        ("lesson04-03", "prediction = 4", "lesson04-04"),
        ("lesson04-08", "a_grad, b_grad, c_grad = 12, 6, 6", "lesson04-09"),
        ("lesson04-13", "after_no_grad, after_inference = True, False", "lesson04-14"),
        ("lesson04-16", "w1_gets_one, w2_gets_one = True, True", "lesson04-17"),
        ("lesson04-23", "moving_goal, fixed_goal = 0.5, 1", "lesson04-24"),
    ],
    "05-what-backward-remembers": [
        ("lesson05-03", "prediction = 3", "lesson05-05"),
        ("lesson05-13", "prediction = 12", "lesson05-14"),
        ("lesson05-20", "plain_count, checkpointed_count = 8, 2", "lesson05-21"),
    ],
    "06-writing-over-history": [
        ("lesson06-03", "prediction = 2", "lesson06-04"),
        ("lesson06-12", "a_works, b_works, c_works = True, False, True", "lesson06-13"),
        ("lesson06-17", "prediction = [[10, 10], [1, 1]]", "lesson06-18"),
        ("lesson06-24", "prediction = 6", "lesson06-25"),
    ],
    "07-your-own-function": [
        ("lesson07-07", "prediction = [2, -4, 6]", "lesson07-09"),
        ("lesson07-11b", "prediction_a, prediction_b = 25, 14", "lesson07-12"),
        ("lesson07-16a", "prediction = [0, 1, 0]", "lesson07-17"),
        ("lesson07-25", "prediction = 2", "lesson07-26"),
    ],
    "08-differentiating-the-derivative": [
        ("lesson08-05", "first, second, third = 27, 18, 6", "lesson08-06"),
        ("lesson08-12", "prediction = [4, 12, 24, 24]", "lesson08-13"),
        ("lesson08-17", "passes_gradcheck, passes_gradgradcheck = True, False", "lesson08-18"),
        ("lesson08-26", "prediction = 24", "lesson08-27"),
    ],
    "09-pushing-forward": [
        ("lesson09-05", "prediction = 7", "lesson09-06"),
        ("lesson09-10", "prediction = 0", "lesson09-11"),
        ("lesson09-17", "prediction = [3, 1]", "lesson09-18"),
        ("lesson09-22", "pushes, walks_back = 1_000_000, 1", "lesson09-23"),
        ("lesson09-31", "prediction = [10, 6]", "lesson09-32"),
    ],
    "10-functions-of-functions": [
        ("lesson10-05", "second, third = 24, 6", "lesson10-06"),
        ("lesson10-12", "prediction = [1, 2]", "lesson10-13"),
        ("lesson10-17", "shape = [5]", "lesson10-18"),
        ("lesson10-22", "shape = [5, 3]", "lesson10-23"),
        ("lesson10-28", "prediction = [[10, 6], [6, 0]]", "lesson10-29"),
        ("lesson10-33", "prediction = 1", "lesson10-34"),
    ],
    "11-fuse-it": [
        ("lesson11-03", "prediction = 3", "lesson11-04"),
        ("lesson11-08", "prediction = [-0.5, 0.5]", "lesson11-09"),
        ("lesson11-17", "prediction = 384", "lesson11-18"),
        ("lesson11-26", "in_steps_count, fused_count = 8, 2", "lesson11-27"),
        ("lesson11-31", "prediction = 6", "lesson11-32"),
    ],
    "12-a-model-that-learns": [
        ("lesson12-03", "prediction = 0.4", "lesson12-04"),
        ("lesson12-10", "prediction = 105", "lesson12-11"),
        ("lesson12-15", "gradient_of_bias, alive_afterwards = 0, False", "lesson12-16"),
        ("lesson12-20", "prediction = 0.0009766", "lesson12-21"),
        ("lesson12-29", "returned, a_clipped, b_clipped = 5, 0.6, 0.8", "lesson12-30"),
    ],
    "13-the-same-in-pytorch": [
        ("lesson13-04", "prediction_a, prediction_b = 8, 7", "lesson13-05"),
        ("lesson13-09", "prediction = 4", "lesson13-10"),
        ("lesson13-16", 'bias_after, grad_after = 0.8, "None"', "lesson13-17"),
        ("lesson13-23", "prediction = False", "lesson13-24"),
    ],
    "14-matrices-and-partial-derivatives": [
        ("lesson14-03", "loss_by_w, loss_by_b = -12, -6", "lesson14-04"),
        ("lesson14-08", "prediction = [[3, 2], [1, 1], [4, 0]]", "lesson14-09"),
        ("lesson14-12", "prediction = [413, 12]", "lesson14-13"),
        ("lesson14-15", "prediction = [[5, 5], [7, 7], [9, 9]]", "lesson14-16"),
        ("lesson14-19", "shape, numbers = [2, 1], [[6], [60]]", "lesson14-20"),
        ("lesson14-22", "prediction = [0.25, 0.25, -0.75, 0.25]", "lesson14-23"),
        (
            "lesson14-29",
            "scores_right, std_right, centred_right, t_right, table_right = False, True, False, True, False",
            "lesson14-30",
        ),
    ],
    "15-layers-you-will-meet": [
        ("lesson15-03", "in_training, in_use = [2, 2, 0, 2], [1, 1, 1, 1]", "lesson15-04"),
        ("lesson15-08", "count_in_training, count_in_eval = 4, 1", "lesson15-09"),
        ("lesson15-15", "without, with_residual = 0.001, 1.331", "lesson15-16"),
        ("lesson15-20", "values_grad, scores_grad = [0.5, 0.25, 0.25, 0], [-5, 0, 5, 0]", "lesson15-21"),
        ("lesson15-25", "how_often, sees_first = 1, 16", "lesson15-26"),
        ("lesson15-30", "clipped_at_the_end, clipped_on_the_way = 1, 3", "lesson15-31"),
    ],
    "16-twenty-puzzles": [
        ("lesson16-03", "x_grad, wrong_cells = [3, 30, 100], 2", "lesson16-04"),
    ],
    "17-beyond-the-chain-solvers": [
        ("lesson17-03", "nodes_of_5, nodes_of_30 = 15, 90", "lesson17-04"),
        ("lesson17-07", "by_x, by_w = 0.5625, 0.45", "lesson17-08"),
        ("lesson17-16", "kept_for_10, kept_for_1000 = 2, 2", "lesson17-17"),
        ("lesson17-19", "accepts_10_euler, accepts_100_rk4 = False, True", "lesson17-20"),
        ("lesson17-27", "exact_slope, straight_of_1, score_of_1 = -0.8, -0.64, 0.8", "lesson17-28"),
        ("lesson17-31", "mean_of_straight, mean_of_score = -0.704, -0.8", "lesson17-32"),
    ],
    "19-build-the-engine-values": [
        ("lesson19-07", "prediction = 20", "lesson19-08"),
        ("lesson19-10", "prediction = 1024", "lesson19-11"),
        ("lesson19-17", "edges, different = 2, 1", "lesson19-18"),
        ("lesson19-22", "at_p, at_a = 3, 2", "lesson19-23"),
        ("lesson19-29", 'last = "v"', "lesson19-30"),
    ],
    "20-build-the-engine-tensors": [
        ("lesson20-03", "shape = [3]", "lesson20-04"),
        ("lesson20-08", "prediction = 12", "lesson20-09"),
        ("lesson20-13", "nodes, true_entries = 1, 1", "lesson20-14"),
        ("lesson20-20", "prediction = 24", "lesson20-21"),
    ],
    "21-build-the-engine-memory": [
        ("lesson21-03", "prediction = 28", "lesson21-04"),
        ("lesson21-12", "first, second, third = True, False, False", "lesson21-13"),
        ("lesson21-19", "base_version, part_version, copy_version = 3, 3, 1", "lesson21-20"),
        ("lesson21-24", "prediction = [2, 400, 600]", "lesson21-25"),
    ],
    "22-build-the-engine-events": [
        ("lesson22-03", "prediction = 7", "lesson22-04"),
        ("lesson22-08", "first, second = 12, 12", "lesson22-09"),
        ("lesson22-13", "prediction = 1", "lesson22-14"),
        ("lesson22-22", 'first = "b"', "lesson22-23"),
    ],
    "18-beyond-the-chain-cost": [
        ("lesson18-03", "kept_count, again_count = 4, 16", "lesson18-04"),
        ("lesson18-10", "prediction = 100", "lesson18-11"),
        ("lesson18-13", "prediction = [22, 6]", "lesson18-14"),
        ("lesson18-22", "of_sample_1, hardest = [[0, 0], [3, 4]], 3", "lesson18-23"),
        ("lesson18-27", "without_mark, with_mark = [1, 1], [2, 2]", "lesson18-28"),
        ("lesson18-32", "prediction = 3", "lesson18-33"),
    ],
}


@pytest.fixture(autouse=True)
def figures_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(CHECKOUT / "notebooks")
    monkeypatch.syspath_prepend(CHECKOUT / "notebooks")  # where a kernel looks for what a lesson imports
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("lesson", ANSWERS)
def test_right_answers_are_right_however_often_checked(lesson: str, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = nbformat.read(CHECKOUT / "notebooks" / f"{lesson}.ipynb", as_version=4)
    cells = {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}
    solved = {cell.id for cell in notebook.cells if cell.cell_type == "code" and name_of(cell)}
    asked = {id for id in cells.keys() - solved if re.search(r"^\w+ = None", cells[id], re.MULTILINE)}
    assert asked == {id for id, _, _ in ANSWERS[lesson]}
    cells |= {id: typed for id, typed, _ in ANSWERS[lesson]}
    names: dict[str, Any] = {}
    order = list(cells)
    for id in order:
        exec(compile(cells[id], id, "exec"), names)
    for first, _, last in ANSWERS[lesson]:
        capsys.readouterr()
        for id in order[order.index(first) : order.index(last) + 1]:
            exec(compile(cells[id], id, "exec"), names)
        said = capsys.readouterr().out
        assert said.count("Right.") == cells[last].count("check(")


@pytest.mark.parametrize("lesson", ANSWERS)
def test_no_output_of_a_section_shows_a_number_that_is_asked_for_later_in_it(lesson: str) -> None:
    cells = nbformat.read(CHECKOUT / "notebooks" / f"{lesson}.ipynb", as_version=4).cells
    places = {cell.id: place for place, cell in enumerate(cells)}
    for first, typed, last in ANSWERS[lesson]:
        names: dict[str, Any] = {}
        exec(typed, {}, names)
        section = next(place for place in range(places[first], -1, -1) if is_heading(cells[place]))
        seen = " ".join(shown(cell) for cell in cells[section : places[last]])
        assert [value for value in names.values() if as_shown(value).search(seen)] == [], typed


@pytest.mark.parametrize("lesson", ANSWERS)
def test_the_students_copy_holds_no_solution(lesson: str) -> None:
    path = CHECKOUT / "notebooks" / f"{lesson}.ipynb"
    given = nbformat.read(path, as_version=4)
    copy = student(given).cells
    for place, cell in enumerate(given.cells):
        if name := name_of(cell):
            exercise = registered(file_of(path))[name]
            told = [f"{each.name} {each.hint}" for each in exercise.misconceptions]
            if exercise.is_code:
                told += [exercise.asks, *(f"{each.source}\n{shown(each)}" for each in copy[:place] + copy[place + 1 :])]
                assert [text for text in told if holds(text, solution(cell), copy[place].source)] == [], name
            else:
                begins = next(at for at in range(place, -1, -1) if is_heading(copy[at]))
                told += [shown(each) for each in copy[begins:place]]
                assert [text for text in told if as_shown(exercise.solution).search(text)] == [], name


def holds(text: str, answer: str, handed_out: str) -> bool:
    """Whether all that a solution adds to what is handed out stands in a text, in its order, whatever it is called."""
    pressed = [re.sub(r"\s+", "", each) for each in (text, *answer.splitlines())]
    scaffold = {re.sub(r"\s+", "", line) for line in handed_out.splitlines()}
    at = 0
    for line in (line for line in pressed[1:] if line not in scaffold):
        # A result may have another name there, but not what is computed.
        computed = re.sub(r"^(?:return|[\w.,()\[\]]+=(?!=))(?=.*[(*+/-])", "", line)
        found = pressed[0].find(computed, at)
        if found < 0:
            return False
        at = found + len(computed)
    return True


def is_heading(cell: Any) -> bool:
    return cell.cell_type == "markdown" and re.search("^## ", cell.source, re.M) is not None


def shown(cell: Any) -> str:
    """What stands below a cell when a lesson is opened: what it printed, and its pictures without their next steps."""
    said = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])]
    return " ".join(re.split(r"^\d+ steps", each, flags=re.M)[0] for each in said)


def as_shown(value: Any) -> re.Pattern[str]:
    """How an answer looks in an output; truth values, letters, counts of bytes and rounds stand anywhere."""
    if isinstance(value, bool) or (isinstance(value, str) and len(value) == 1):
        return re.compile("(?!)")
    words = [value] if isinstance(value, str) else value
    if isinstance(words, list) and all(isinstance(each, str) for each in words):
        return re.compile(r"[\s,;\"'\[\]]+".join(rf"(?<![\w.]){re.escape(each)}(?!\w)" for each in words))
    numbers = [re.escape(f"{float(number):g}") for number in re.findall(r"-?[\d.]+", str(value))]
    begin, between, end = r"(?<![\w.-])(?<!round )", r"(?:\.0*)?[\s,\[\]]+", r"(?:\.0*)?(?![\w.]| bytes| KiB)"
    return re.compile(begin + between.join(numbers) + end)
