"""Lesson 0 in a real JupyterLab: the first backward is stepped by button, key and slider, also with no kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lab import Lab
from lesson_page import Lesson, Player, study

ROW, ROWS = 40, 4  # px of a row of boxes; the leaf, two operations and the output


@pytest.fixture(scope="module")
def lesson(lab: Lab) -> Iterator[Lesson]:
    with study("00-slopes-and-a-graph.ipynb", lab) as lesson:
        yield lesson


@pytest.fixture
def player(lesson: Lesson) -> Player:
    """The player of the first backward, at the end of the forward part."""
    player = lesson.player("Graph of loss")
    player.press("Home", "ArrowRight", "ArrowRight", "ArrowRight")
    return player


def test_before_its_cell_runs_a_picture_stands_still_and_says_what_it_shows(lesson: Lesson) -> None:
    # The last two are functions with a slider, which are no players once their cells have run.
    *players, slider, to_send = lesson.stills
    assert slider[0].startswith("curve over x: ") and slider[0].endswith("at 0.5: 0.75, slope 2.0")
    assert to_send[0].startswith("loss_over_w over w: ") and to_send[0].endswith("at 3.0: 0.25, slope -2.0")
    for (alt, width, height, titles), title in zip(players, lesson.opened, strict=True):
        assert alt.startswith(f"{title}: ")
        assert "AddBackward0" in alt and re.search(r"\(leaf(, done)?\): \d\.\d", alt)
        assert len(titles) >= 6 and all(title in alt for title in titles)
        assert width > 300 and height > ROW * ROWS


def test_players_open_where_the_backward_ends(lesson: Lesson) -> None:
    assert lesson.opened == {"Autograd graph": "4 / 4", "Graph of loss": "12 / 12", "Graph of y": "7 / 7"}


def test_the_graph_grows_with_the_lines_that_run(lesson: Lesson) -> None:
    player, there = lesson.player("Autograd graph"), set()
    player.press("Home")
    for line, arrived in (
        ("a = w * x", {"w", "x", "a = w * x", "saved other (x)"}),
        ("out = a + b", {"b", "out = a + b"}),
        ("loss = (out - 7.0) ** 2", {"out - 7.0"}),
        ("loss = (out - 7.0) ** 2", {"loss = (out - 7.0) ** 2", "saved self"}),
    ):
        assert player.says("code") == line
        assert player.boxes().keys() - there == arrived
        there |= arrived
        player.press("ArrowRight")
    assert player.boxes()["w"] == ("idle", ["3.0"])
    assert player.boxes()["saved other (x)"] == ("idle", ["2.0"])


LOSS = "loss = (out - 7.0) ** 2"
# After each press of Step: what runs, the gradients that flow, what is freed, and what the leaves hold.
BACKWARD = [
    ([], [(f"loss to {LOSS}", "1.0")], [], {}),
    ([LOSS], [(f"{LOSS} to out - 7.0", "1.0 × -1.0 (2 · (out − 7)) = -1.0")], ["saved self"], {}),
    (["out - 7.0"], [("out - 7.0 to out = a + b", "-1.0 × 1.0 = -1.0")], ["saved self"], {}),
    (
        ["out = a + b"],
        [("out = a + b to a = w * x", "-1.0 × 1.0 = -1.0"), ("out = a + b to b", "-1.0 × 1.0 = -1.0")],
        ["saved self"],
        {},
    ),
    (["b"], [], ["saved self"], {"b": "-1.0"}),
    (
        ["a = w * x"],
        [("a = w * x to w", "-1.0 × 2.0 (x) = -2.0")],
        ["saved other (x)", "saved self"],
        {"b": "-1.0"},
    ),
    (["w"], [], ["saved other (x)", "saved self"], {"w": "-2.0", "b": "-1.0"}),
    ([], [], ["saved other (x)", "saved self"], {"w": "-2.0", "b": "-1.0"}),
]


def assert_steps_backward(player: Player) -> None:
    """Step from the end of the forward part shows each moment of the backward."""
    assert player.now() == ([], [], [], {})
    went: list[tuple[str, str]] = []
    for moment in BACKWARD:
        player.click("Step")
        assert player.now() == moment
        assert player.gradients("done") == sorted(went)
        went += [(way, label.rpartition(" = ")[2]) for way, label in moment[1]]  # the slope is told once


def test_step_shows_the_backward_one_node_at_a_time(player: Player) -> None:
    assert_steps_backward(player)
    states = {title: state for title, (state, _) in player.boxes().items()}
    assert states.pop("x") == "idle"
    assert set(states.values()) == {"done", "freed"}
    assert player.root.get_by_role("button", name="Last step", exact=True).get_attribute("aria-disabled") == "true"


def test_keys_buttons_and_slider_lead_to_the_same_pictures_and_back_undoes_exactly(player: Player) -> None:
    player.press("Home")
    drawn = [player.drawn()]
    for _ in range(11):
        player.press("ArrowRight")
        drawn.append(player.drawn())
    assert all(before != after for before, after in zip(drawn, drawn[1:], strict=False))
    for picture in reversed(drawn[:-1]):
        player.press("ArrowLeft")
        assert player.drawn() == picture
    slider = player.root.get_by_role("slider", name="Position")
    for act, place in [
        (lambda: player.press("End"), 11),
        (lambda: player.click("Back"), 10),
        (lambda: player.press("Home"), 0),
        (lambda: player.click("Last step"), 11),
        (lambda: player.click("First step"), 0),
        (lambda: slider.fill("6"), 6),
        (lambda: slider.press("ArrowRight"), 7),
        (lambda: slider.fill("2"), 2),
    ]:
        act()
        assert player.says("position") == f"{place + 1} / 12"
        assert player.drawn() == drawn[place]


def test_space_plays_to_the_end(player: Player) -> None:
    player.press("End", "ArrowLeft", "ArrowLeft", " ")
    assert player.root.get_attribute("data-playing") == "true"
    player.root.get_by_role("button", name="Play", exact=True).wait_for()
    assert player.says("position") == "12 / 12"
    assert player.now() == BACKWARD[-1]


def test_the_picture_says_what_the_lessons_table_says(lesson: Lesson, player: Player) -> None:
    rows = lesson.page.locator(".jp-RenderedMarkdown tbody tr").all()
    player.press("End")
    went = player.gradients("done")
    assert len(rows) == 4
    for row in rows:
        node, _, arrives, passes = row.locator("td").all_text_contents()
        sent = re.findall(r"-?\d+", passes)
        node = next(title for title, (_, lines) in player.boxes().items() if lines and lines[0].startswith(node))
        assert [float(label) for way, label in went if way.endswith(f" to {node}")] == [float(arrives)]
        assert [float(label) for way, label in went if way.startswith(f"{node} to ")] == [float(n) for n in sent]


def test_what_three_arrows_bring_to_one_tensor_adds_up(lesson: Lesson) -> None:
    player = lesson.player("Graph of y")
    player.press("End")
    brought = [label for way, label in player.gradients("done") if way.endswith(" to x")]
    assert sorted(brought) == ["1.0", "3.0", "3.0"]
    assert player.boxes()["x"] == ("done", ["3.0", "grad 7.0"])


def test_keys_pressed_in_a_player_stay_in_it(lesson: Lesson, player: Player) -> None:
    page, cells = lesson.page, lesson.cells()
    step = player.root.get_by_role("button", name="Step", exact=True)
    for place in (player.root, step, player.root.locator(".wb-box").first):
        for key in ("b", "a", "x", "m", "ArrowDown", "Shift+Enter"):
            place.focus()
            page.keyboard.press(key)
    assert lesson.cells() == cells
    # Outside a player the same key inserts a cell: had one leaked, it would have been seen.
    page.locator(".jp-MarkdownCell").first.click()
    page.keyboard.press("b")
    assert lesson.cells() == cells + 1
    page.keyboard.press("z")
    assert lesson.cells() == cells


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_axe_finds_no_violation(lesson: Lesson, player: Player, theme: str) -> None:
    lesson.put_on(theme)
    player.open("a = w * x")
    for moment in ("Home", "End"):
        player.press(moment)
        lesson.assert_accessible()


def test_stepping_goes_on_when_the_kernel_is_gone(lesson: Lesson, player: Player) -> None:
    if lesson.lab.ask("api/kernels"):
        lesson.lab.shut_kernel_down(lesson.page)
    assert_steps_backward(player)
    player.press("ArrowLeft")
    assert player.now() == BACKWARD[-2]
    player.open("w")
    assert player.details()[-1] == ("Grad", "w.grad float32 () norm 2 -2.0")
