"""The Jacobian's picture: which number stands where, in which order they come, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as torch


def f(x):
    return torch.stack([x[0] * x[1], x[1] ** 2 * -3, x.sum()])


def numbers(board, k=None):
    """The numbers of the cells after step k, row by row; None where none is known."""
    scene = board.at(k)
    cells = {id: box for id, box in scene.boxes.items() if box.kind == "cell" and ".s" not in id}
    rows = 1 + max(int(id.split(".")[1]) for id in cells)
    found = [[] for _ in range(rows)]
    for id, box in cells.items():
        found[int(id.split(".")[1])].append(box.title or None)
    return found


WHOLE = [["2", "1"], ["0", "-12"], ["1", "1"]]


def test_reverse_mode_paints_a_row_at_a_time():
    board = torch.jacobian(f, torch.tensor([1.0, 2.0])).storyboard
    nothing = [None, None]
    assert [numbers(board, k) for k in range(len(board.steps))] == [
        [nothing, nothing, nothing],
        [WHOLE[0], nothing, nothing],
        [WHOLE[0], WHOLE[1], nothing],
        WHOLE,
        WHOLE,
    ]
    running = [id for id, box in board.at(2).boxes.items() if box.state == "running"]
    assert running == ["j.r1", "j.s1", "j.1.0", "j.1.1"]
    assert [board.at(2).boxes[f"j.s{i}"].title for i in range(3)] == ["0", "1", "0"]


def test_forward_mode_paints_a_column_at_a_time():
    board = torch.jacobian(f, torch.tensor([1.0, 2.0]), "forward").storyboard
    assert len(board.steps) == 4
    assert {step.phase for step in board.steps} == {"columns"}  # a word that a player has room for
    assert numbers(board, 1) == [["2", None], ["0", None], ["1", None]]


def test_the_colour_says_the_sign_and_how_large_a_number_is():
    board = torch.jacobian(f, torch.tensor([1.0, 2.0])).storyboard
    shades = [board.at().boxes[f"j.{i}.{j}"].shade for i in range(3) for j in range(2)]
    assert shades == [1, 1, 0, -4, 1, 1]
    assert board.at().boxes["j.1.1"].alt == "d y[1] / d x[1] = -12"


def test_elements_of_matrices_and_numbers_have_names():
    board = torch.jacobian(lambda w: (w * w).sum(), torch.ones(2, 2)).storyboard
    titles = {box.title for box in board.at().boxes.values()}
    assert titles >= {"y", "w[0, 0]", "w[1, 1]", "Rows: y (), columns: w (2, 2)"}
    alone = torch.jacobian(lambda y: y * 2, torch.tensor(3.0), "forward")
    assert "output: 2" in repr(alone)


def test_what_depends_on_nothing_has_zeros_and_what_is_not_finite_says_so():
    constant = torch.tensor([1.0, 2.0])
    assert numbers(torch.jacobian(lambda x: constant, torch.tensor([1.0])).storyboard) == [["0"], ["0"]]
    assert numbers(torch.jacobian(lambda x: constant, torch.tensor([1.0]), "forward").storyboard) == [["0"], ["0"]]
    board = torch.jacobian(torch.sqrt, torch.tensor([0.0, 1.0])).storyboard
    assert board.at().boxes["j.0.0"].alt.endswith("= inf, not finite")


def test_a_large_one_is_shown_in_part_without_numbers():
    a = torch.tensor(np.ones((50, 60)))
    board = torch.jacobian(lambda x: a @ x, torch.ones(60, dtype=torch.float64)).storyboard
    cells = [box for id, box in board.at().boxes.items() if box.kind == "cell" and ".s" not in id]
    assert len(cells) == 40 * 40 and {box.title for box in cells} == {""} and {box.shade for box in cells} == {4}
    assert "Shown are the first 40 of each." in board.steps[0].caption


def test_nothing_of_nothing_is_a_picture_too():
    for mode in ("reverse", "forward"):
        assert "0 rows and 0 columns" in repr(torch.jacobian(lambda x: x, torch.zeros(0), mode))


def test_the_input_is_left_alone():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.jacobian(f, x)
    assert x.grad is None and x.is_leaf and x.requires_grad


def test_wrong_calls_say_what_is_wrong():
    x = torch.tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="There is no mode 'sideways'; choose 'reverse' or 'forward'"):
        torch.jacobian(f, x, "sideways")
    with pytest.raises(TypeError, match="differentiates by one Tensor, but got list"):
        torch.jacobian(f, [1.0])
    with pytest.raises(TypeError, match="needs a function that returns one Tensor, but this gave tuple"):
        torch.jacobian(lambda x: (x, x), x)


def test_hostile_names_are_shown_harmlessly(tmp_path):
    def bad(x):
        return x

    bad.__name__ = "</script><b>\u202e"
    picture = torch.jacobian(bad, torch.tensor([1.0]))
    picture.save(tmp_path / "bad.html")
    assert "</script><b>" not in (tmp_path / "bad.html").read_text()
    assert "\u202e" not in repr(picture) and "&lt;/script&gt;" in picture.to_svg()
