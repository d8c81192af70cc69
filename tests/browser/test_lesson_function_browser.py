"""Lesson 7 in a real JupyterLab: a Function of the reader's own, its details, and a page of it to keep."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import nbformat
import pytest
from browser_page import open_page
from lab import Lab
from lesson_page import Lesson, Player, study

NAME = "07-your-own-function.ipynb"
APPLIED, CALLED = "y = Square.apply(x)", "c = Func.apply(a, b, 4)"
SQUARE = ("SquareBackward (3,)  [1. 4. 9.]",)
X = ("(3,)  [1. -2. 3.]",)


@pytest.fixture(scope="module")
def lesson(lab: Lab) -> Iterator[Lesson]:
    with study(NAME, lab) as lesson:
        yield lesson


@pytest.fixture
def player(lesson: Lesson) -> Player:
    """The player of Square's backward, at the end of the forward part."""
    player = lesson.player("Graph of loss")
    player.press("Escape", "Home", "ArrowRight")
    return player


def typed(lesson: Lesson, method: str) -> str:
    """A method of Square as it is typed in the lesson."""
    cells = nbformat.read(lesson.folder / NAME, as_version=4).cells
    source = next(cell.source for cell in cells if cell.source.startswith("class Square"))
    methods = source.split("\n\n\n")[0].split("\n\n")
    found = next(text for text in methods if f"def {method}(" in text)
    return textwrap.dedent(found[found.index("    @staticmethod") :])


def test_before_its_cell_runs_a_picture_stands_still_and_says_what_it_shows(lesson: Lesson) -> None:
    for (alt, width, height, _), title in zip(lesson.stills, lesson.opened, strict=True):
        assert alt.startswith(f"{title}: ")
        assert re.search(r" \(custom Function(, done)?\): ", alt) and "Backward" in alt and "; saved " in alt
        assert width > 150 and height > 150


def test_players_open_where_the_backward_ends(lesson: Lesson) -> None:
    opened = {"Graph of y": "1 / 1", "Graph of loss": "7 / 7", "Graph of c": "6 / 6", "Graph of smallest": "7 / 7"}
    assert lesson.opened == opened | {"Graph of miss": "64 / 64"}


def test_a_function_of_ones_own_is_a_node_with_what_it_saved(lesson: Lesson) -> None:
    player = lesson.player("Graph of y")
    node = player.root.get_by_role("button", name="y = Square.apply(x) (custom Function)")
    assert node.get_attribute("class").split()[1] == "wb-kind-function"
    assert player.boxes() == {
        "x": ("idle", [*X]),
        "y = Square.apply(x)": ("idle", [*SQUARE]),
        "saved x": ("idle", [*X]),
        "y": ("idle", []),
    }
    assert not player.root.get_by_role("button", name="Step", exact=True).is_visible()


def test_a_click_shows_both_recipes_and_what_went_in_and_out_as_it_comes(lesson: Lesson, player: Player) -> None:
    recipes = [
        ("Node", "SquareBackward"),
        ("Forward", typed(lesson, "forward")),
        ("Backward", typed(lesson, "backward")),
    ]
    made = [
        ("Created at", "cell, line 3: y = Square.apply(x)"),
        ("Input", "x float32 (3,) norm 3.742 [1. -2. 3.]"),
        ("Output", "y float32 (3,) norm 9.899 [1. 4. 9.]"),
    ]
    kept, freed = "x float32 (3,) norm 3.742 [1. -2. 3.]", "Its saved tensors are freed, so this node can't run again."
    player.open(APPLIED)
    assert player.says("panel-title") == APPLIED
    assert player.details() == [*recipes, *made, ("Saved", kept)]
    player.press("ArrowRight", "ArrowRight")
    assert player.says("panel-kind") == "custom Function · ready"
    player.press("ArrowRight")
    assert player.says("panel-kind") == "custom Function · running"
    came = ("Gradient in", "for output 0 float32 (3,) norm 1.732 [1. 1. 1.]")
    went = ("Gradient out", "to x float32 (3,) norm 7.483 [2. -4. 6.]")
    assert player.details() == [*recipes, *made, ("Saved", freed), came, went]
    player.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert player.details() == [*recipes, *made, ("Saved", kept)]


def test_a_gradient_of_several_numbers_travels_with_its_norm(player: Player) -> None:
    for moment in [
        ([], [("loss to loss = y.sum()", "1.0")], [], {}),
        (
            ["loss = y.sum()"],
            [(f"loss = y.sum() to {APPLIED}", "[1. 1. 1.]  norm 1.73, grad, broadcast to (3,)")],
            [],
            {},
        ),
        ([APPLIED], [(f"{APPLIED} to x", "[2. -4. 6.]  norm 7.48")], ["saved x"], {}),
        (["x"], [], ["saved x"], {"x": "[2. -4. 6.]"}),
        ([], [], ["saved x"], {"x": "[2. -4. 6.]"}),
    ]:
        player.click("Step")
        assert player.now() == moment


def test_a_function_of_several_arguments_keeps_and_frees_all_it_saved(lesson: Lesson) -> None:
    player = lesson.player("Graph of c")
    player.press("Home")
    saved = ["saved a", "saved b", "saved[2]", "saved c"]
    assert [player.boxes()[title] for title in saved] == [("idle", [value]) for value in ("2.0", "5.0", "8.0", "70.0")]
    player.press("ArrowRight", "ArrowRight")
    sent = [(f"{CALLED} to a", "1.0 × 25.0 = 25.0"), (f"{CALLED} to b", "1.0 × 14.0 = 14.0")]
    assert player.now() == ([CALLED], sent, saved, {})
    player.press("End")
    assert player.now() == ([], [], saved, {"a": "25.0", "b": "14.0"})


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_axe_finds_no_violation(lesson: Lesson, player: Player, theme: str) -> None:
    lesson.put_on(theme)
    player.open(APPLIED)
    player.press("ArrowRight", "ArrowRight", "ArrowRight")
    lesson.assert_accessible()


def test_what_is_saved_in_the_lesson_plays_offline_to_the_end(lesson: Lesson) -> None:
    lesson.run("for kind in ('html', 'svg', 'png', 'dot', 'json'):\n    trace.save(f'lesson.{kind}')")
    starts = {"svg": b"<svg", "png": b"\x89PNG", "dot": b"digraph", "json": b'{"format": "workbench-trace"'}
    for kind, start in starts.items():
        assert (lesson.folder / f"lesson.{kind}").read_bytes().startswith(start)
    with open_page(offline=True) as page:
        page.goto((lesson.folder / "lesson.html").as_uri())
        player, there = Player(page, "Graph of smallest"), lesson.player("Graph of smallest")
        assert player.says("position") == "7 / 7"
        for each in (player, there):
            each.press("Home", "ArrowRight")
        for _ in range(5):
            assert player.boxes() == there.boxes()
            assert player.now() == there.now()
            player.click("Step")
            there.click("Step")
        assert player.says("position") == "7 / 7"
        assert player.now() == ([], [], ["saved s", "saved index"], {"s": "[0. 1. 0.]"})
        assert page.requests_outside == []
        assert page.console_errors == []
