"""Where things stand: nothing overlaps, nothing jumps, and every machine agrees."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise

import pytest
from arrows import evenly, within
from boxes import assert_in_order
from scene_samples import deep, loss, square
from stand_in import write_program

from workbench.pictures.scene import siblings
from workbench.pictures.scene.engines import placed
from workbench.pictures.scene.layout import LayoutUnavailable
from workbench.pictures.scene.model import Arrow, Box, Scene, StoryStep
from workbench.pictures.scene.reading import drawn_region
from workbench.pictures.scene.storyboard import Storyboard

SAMPLES = [square, loss, deep]
FAKE_DOT = """
import sys
from pygraphviz import AGraph
sys.stdout.buffer.write(AGraph(string=sys.stdin.read()).draw(format="json0", prog="dot"))
"""


@pytest.mark.parametrize("sample", SAMPLES)
def test_boxes_labels_and_arrows_are_inside_apart_and_lead_down(sample):
    board = sample()
    layout = board.layout
    assert layout == sample().layout
    assert_in_order(board.scene, layout)
    places = [*layout.boxes.values(), *(way.label for way in layout.arrows.values() if way.label.w)]
    assert not [pair for pair in combinations(places, 2) if pair[0].meets(pair[1])]
    for place in places:
        assert place.x >= 0 and place.y >= 0
        assert place.x + place.w <= layout.width and place.y + place.h <= layout.height
    for id in board.scene.arrows:
        x, y = evenly(layout.arrows[id].points).T
        assert [other for other, place in layout.boxes.items() if within(place, x, y, 2)] == [], id


def test_inputs_stand_in_the_order_of_the_arguments():
    boxes = {name: Box(name, "leaf", name) for name in "zamb"} | {"n": Box("n", "op", "CatBackward0")}
    arrows = {name: Arrow(name, name, "n") for name in "zamb"}
    layout = Storyboard(Scene("", boxes, arrows)).layout
    assert sorted("zamb", key=lambda name: layout.boxes[name].x) == list("zamb")
    assert sorted("zamb", key=lambda name: layout.arrows[name].points[-1][0]) == list("zamb")


def test_arrows_that_meet_at_a_box_end_apart():
    boxes = {"x": Box("x", "leaf", "x"), "n": Box("n", "op", "MulBackward0")}
    arrows = {name: Arrow(name, "x", "n") for name in ("first", "second", "third")}
    ways = Storyboard(Scene("", boxes, arrows)).layout.arrows.values()
    for end in (0, -1):
        ends = sorted(way.points[end][0] for way in ways)
        assert min(right - left for left, right in zip(ends, ends[1:], strict=False)) >= 10


def test_both_arrows_of_x_times_x_are_straight_and_labelled_outside():
    boxes = {"x": Box("x", "leaf", "x"), "n": Box("n", "op", "MulBackward0")}
    arrows = {name: Arrow(name, "x", "n", label="[1, 2, 3, 4, 5, 6, 7]") for name in ("self", "other")}
    layout = Storyboard(Scene("", boxes, arrows)).layout
    left, right = layout.arrows["self"], layout.arrows["other"]
    for way in (left, right):
        assert len({x for x, _ in way.points}) == 1
    assert left.label.x + left.label.w == left.points[0][0] < right.points[0][0] == right.label.x
    assert left.label.x >= 0 and right.label.x + right.label.w <= layout.width


def test_many_arrows_between_two_boxes_are_straight_and_evenly_apart():
    boxes = [Box("loop", "op", "for t in range(8), with a long title"), Box("stack", "op", "stack(hs)")]
    arrows = [Arrow(f"a{n}", "loop", "stack") for n in range(8)]
    found = Storyboard(Scene("", {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows})).layout
    across = [{x for x, _ in found.arrows[arrow.id].points} for arrow in arrows]
    assert [len(each) for each in across] == [1] * 8
    places = sorted(x for each in across for x in each)
    gaps = [right - left for left, right in pairwise(places)]
    assert max(gaps) - min(gaps) < 0.2 and min(gaps) > 8
    stack = found.boxes["stack"]
    assert (places[0] + places[-1]) / 2 == pytest.approx(stack.x + stack.w / 2, abs=1)


def test_what_three_leaves_alone_lead_to_stands_below_their_middle():
    boxes = {name: Box(name, "leaf", name * 20) for name in "abc"} | {name: Box(name, "op", name) for name in "nm"}
    arrows = {name: Arrow(name, name, "n") for name in "abc"} | {"n": Arrow("n", "n", "m")}
    places = Storyboard(Scene("", boxes, arrows)).layout.boxes
    left, middle, right = sorted((places[name] for name in "abc"), key=lambda place: place.x)
    for place in (places["n"], places["m"]):
        assert left.x + left.w < place.x + place.w / 2 < right.x
        assert abs(place.x + place.w / 2 - middle.x - middle.w / 2) <= 1


def test_saved_tensors_hang_at_the_right_of_their_node():
    board = loss()
    for box in board.scene.boxes.values():
        if box.holder:
            chip, node = board.layout.boxes[box.id], board.layout.boxes[box.holder]
            assert 0 < chip.x - (node.x + node.w) < 40
            assert chip.y < node.y + node.h and node.y < chip.y + chip.h


def test_layouts_in_threads_are_equal():
    with ThreadPoolExecutor(4) as pool:
        layouts = list(pool.map(lambda _: loss().layout, range(12)))
    assert all(layout == layouts[0] for layout in layouts)


def test_there_is_room_for_the_longest_text_of_any_step():
    def board(*steps: StoryStep) -> Storyboard:
        boxes = {"x": Box("x", "leaf", "x"), "n": Box("n", "op", "n"), "s": Box("s", "saved", "s", holder="n")}
        return Storyboard(Scene("", boxes, {"a": Arrow("a", "x", "n")}), steps)

    long = StoryStep("", boxes={"x": {"lines": ("a line of some length", "two")}, "s": {"state": "freed"}})
    long.arrows = {"a": {"label": "[1, 2, 3, 4]\nnorm 5"}}
    before, after = board().layout, board(long, StoryStep("", boxes={"x": {"lines": ()}})).layout
    assert after.boxes["x"].w > before.boxes["x"].w and after.boxes["x"].h == before.boxes["x"].h + 16
    assert after.boxes["s"].w > before.boxes["s"].w
    assert after.boxes["n"] != before.boxes["n"] and after.boxes["n"].w == before.boxes["n"].w
    assert before.arrows["a"].label.w == 0 and after.arrows["a"].label.h >= 32


def test_a_picture_of_nothing_can_be_laid_out():
    layout = Storyboard(Scene()).layout
    assert layout.width > 0 and layout.boxes == {}


def test_nothing_is_written_to_standard_error():
    code = "import sys; sys.path.insert(0, 'tests/support'); from scene_samples import loss; loss().layout"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")


def test_groups_that_are_alike_are_laid_out_once(monkeypatch):
    asked = []
    monkeypatch.setattr(siblings, "placed", lambda dot: asked.append(dot) or placed(dot))
    ids = [f"{part} {n}" for n in range(9) for part in ("first", "second")]
    boxes = [Box(f"round {n}", "group", f"round {n}") for n in range(9)]
    boxes += [Box(id, "op", "an operation of this test", region=f"round {n // 2}") for n, id in enumerate(ids)]
    arrows = [Arrow(f"{start}>{end}", start, end) for start, end in pairwise(ids)]
    board = Storyboard(Scene("", {box.id: box for box in boxes}, {arrow.id: arrow for arrow in arrows}), opened=())
    one, other = (board.layouts[f"round {n}"] for n in (3, 7))
    assert len(board.layouts) == 10 and len([*board.layouts.values()]) == 10 and len(asked) == 4  # the ends differ
    assert [*one.places] == ["first 3", "second 3"] and [*other.places] == ["first 7", "second 7"]
    assert [*one.places.values()] == [*other.places.values()] and [*one.ways.values()] == [*other.ways.values()]
    assert [(way.start, way.end, way.value, way.arrow) for way in other.ways] == [
        (None, "first 7", "second 6", "second 6>first 7"),
        ("first 7", "second 7", "first 7", "first 7>second 7"),
        ("second 7", None, "second 7", None),
    ]


def test_a_dot_program_on_the_path_is_used_without_pygraphviz(tmp_path, monkeypatch):
    here = loss().layout
    drawn_region.cache_clear()
    write_program(tmp_path / "dot", FAKE_DOT)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    assert loss().layout == here


@pytest.mark.parametrize("missing", [["pygraphviz"], ["pygraphviz", "graphviz"]])
def test_without_any_graphviz_one_sentence_says_what_to_install(monkeypatch, tmp_path, missing):
    drawn_region.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(LayoutUnavailable, match=r"^[^.]*Graphviz is missing: run `pip install pygraphviz`.*PATH\.$"):
        square().layout  # noqa: B018


def test_a_dot_program_that_fails_is_named(monkeypatch, tmp_path):
    drawn_region.cache_clear()
    write_program(tmp_path / "dot", "import sys\nsys.exit('no layout engine')\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(LayoutUnavailable, match=r"`dot` failed: .*exit"):
        square().layout  # noqa: B018


@pytest.mark.slow
def test_a_thousand_boxes_take_seconds():
    boxes = {f"n{n}": Box(f"n{n}", "op", "AddBackward0") for n in range(1000)}
    arrows = {}
    for n in range(1, 1000):
        for m in {n - 1, n // 2}:
            arrows[f"{m}>{n}"] = Arrow(f"{m}>{n}", f"n{m}", f"n{n}")
    chain = {id: arrow for id, arrow in arrows.items() if int(id.split(">")[1]) - int(id.split(">")[0]) < 9}
    assert len(Storyboard(Scene("", boxes, chain)).layout.boxes) == 1000


def test_rows_stand_close_and_leave_room_for_labels():
    for label, most in (("", 28), ("1.0 × 2.0", 32), ("1.0\nnorm 2.0", 48)):
        boxes = {name: Box(name, "op", name) for name in "abc"}
        arrows = {a + b: Arrow(a + b, a, b, label=label) for a, b in ("ab", "bc")}
        layout = Storyboard(Scene("", boxes, arrows)).layout
        for a, b in ("ab", "bc"):
            foot, head, said = layout.boxes[a].y + layout.boxes[a].h, layout.boxes[b].y, layout.arrows[a + b].label
            assert head - foot <= most
            assert not label or (foot + 5 <= said.y and said.y + said.h <= head - 5)


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("about", ["n0", "n4", "n8"])
def test_a_story_stands_beside_all_else_near_what_it_is_about(about, side_by_side):
    boxes = {"x": Box("x", "leaf", "x")} | {
        f"n{n}": Box(f"n{n}", "op", "an operation of some length") for n in range(9)
    }
    arrows = {f"a{n}": Arrow(f"a{n}", "x" if side_by_side or not n else f"n{n - 1}", f"n{n}") for n in range(9)}
    story = Box("story", "story", "What happened", ("what happened, in words",) * 20, refers=about)
    layout = Storyboard(Scene("error", {**boxes, "story": story}, arrows), [StoryStep("One.", focus=about)]).layout
    told, node = layout.boxes["story"], layout.boxes[about]
    assert told.gap(node) <= 220
    assert told.y <= node.y and node.y + node.h <= told.y + told.h
    assert not any(told.meets(place) for id, place in layout.boxes.items() if id != "story")
    assert told.x >= 0 and told.x + told.w <= layout.width and told.y + told.h <= layout.height
    if not side_by_side:
        alone = Storyboard(Scene("error", boxes, arrows), [StoryStep("One.")]).layout
        assert layout.height == max(alone.height, round(told.h + 36))
