"""Groups that open and close: parts lie in each other, nothing overlaps or climbs, and all that is closed opens."""

from __future__ import annotations

from dataclasses import replace

import pytest
from boxes import arrows_climb, assert_in_order
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.pictures.scene.model import Arrow, Box, Scene, StoryStep, paths
from workbench.pictures.scene.storyboard import Storyboard


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """A program: nodes in the order of their making, each in the innermost of the groups that are open then."""
    boxes: dict[str, Box] = {}
    arrows: dict[str, Arrow] = {}
    values: list[str] = []

    def uses(id: str, most: int) -> None:
        for n in range(draw(st.integers(1, most)) if values else 0):
            source = draw(st.sampled_from(values[-8:]))
            label = draw(st.sampled_from(["", "[1. 2. 3.]"]))
            arrows[f"{id}.{n}"] = Arrow(f"{id}.{n}", source, id, label=label)

    path: list[str] = []
    for n in range(draw(st.integers(0, 3))):
        boxes[f"x{n}"] = Box(f"x{n}", "leaf", f"x{n}")
        values.append(f"x{n}")
    for n in range(draw(st.integers(1, 14))):
        for _ in range(draw(st.integers(0, 2))):
            if path and draw(st.booleans()):
                path.pop()
            elif len(path) < 4:
                id = f"g{len(boxes)}"
                boxes[id] = Box(id, "group", f"part {len(boxes)}", ("3 nodes",), region=path[-1] if path else None)
                path.append(id)
        region = path[-1] if path else None
        if draw(st.booleans()):
            boxes[f"w{n}"] = Box(f"w{n}", "leaf", f"w{n}", region=region)
            values.append(f"w{n}")
        boxes[f"n{n}"] = Box(f"n{n}", "op", "MulBackward0" * draw(st.integers(1, 2)), region=region)
        uses(f"n{n}", 3)
        if draw(st.booleans()):
            boxes[f"s{n}"] = Box(f"s{n}", "saved", "saved self", ("(3,) float32",), holder=f"n{n}")
        values.append(f"n{n}")
    held = {box.region for box in boxes.values()}
    return Scene("", {id: box for id, box in boxes.items() if box.kind != "group" or id in held}, arrows)


def openings(scene: Scene) -> list[frozenset[str]]:
    """Nothing open, everything, and the outermost groups alone."""
    groups = [box.id for box in scene.boxes.values() if box.kind == "group"]
    return [frozenset(), frozenset(groups), frozenset(id for id in groups if scene.boxes[id].region is None)]


def check_all_openings(scene: Scene) -> None:
    for opened in openings(scene):
        board = Storyboard(scene, opened=opened)
        assert_in_order(board.at(-1), board.layout)
        assert arrows_climb(board.layout, board.at(-1)) == []


@settings(max_examples=6, deadline=None)
@given(scenes())
def test_parts_lie_in_each_other_and_no_arrow_leads_up(scene: Scene) -> None:
    check_all_openings(scene)


@pytest.mark.slow
@given(scenes())
def test_parts_of_many_scenes_lie_in_each_other(scene: Scene) -> None:
    check_all_openings(scene)


@settings(max_examples=20, deadline=None)
@given(scenes())
def test_what_is_seen_is_what_is_in_no_closed_group(scene: Scene) -> None:
    for opened in openings(scene):
        seen = Storyboard(scene, opened=opened).at(-1)
        for id, path in paths(scene).items():
            assert (id in seen.boxes) == (set(path) <= opened)
        for arrow in seen.arrows.values():
            assert {arrow.source, arrow.target} <= seen.boxes.keys() and arrow.source != arrow.target
        everything = Storyboard(scene, opened=openings(scene)[1]).at(-1)
        assert everything.arrows == scene.arrows


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(scenes())
def test_two_layouts_are_equal(scene: Scene) -> None:
    assert Storyboard(scene).layout == Storyboard(scene).layout
    assert Storyboard(scene).to_dict() == Storyboard(scene).to_dict()


def nested() -> Scene:
    boxes = [
        Box("x", "leaf", "x"),
        Box("outer", "group", "layer1", ("3 nodes",)),
        Box("w", "leaf", "w", region="outer"),
        Box("n1", "op", "n1", region="outer"),
        Box("inner", "group", "act", ("2 nodes",), region="outer"),
        Box("n2", "op", "n2", region="inner"),
        Box("n3", "op", "n3", region="inner"),
        Box("s", "saved", "s", holder="n2"),
        Box("n4", "op", "n4"),
    ]
    ends = [("x", "n1"), ("w", "n1"), ("n1", "n2"), ("n1", "n3"), ("n2", "n3"), ("n3", "n4"), ("x", "n4")]
    return Scene("", {box.id: box for box in boxes}, {f"{s}>{t}": Arrow(f"{s}>{t}", s, t) for s, t in ends})


def test_one_arrow_brings_a_value_into_a_closed_group_however_often_it_is_used_inside() -> None:
    seen = Storyboard(nested(), opened=["outer"]).at(-1)
    ends = [(arrow.source, arrow.target) for arrow in seen.arrows.values()]
    assert ends == [("x", "n1"), ("w", "n1"), ("n1", "inner"), ("inner", "n4"), ("x", "n4")]
    assert seen.boxes["outer"].kind == "region" and seen.boxes["inner"].kind == "group"
    assert "s" not in seen.boxes


def test_an_arrow_for_several_tells_the_sum_of_their_gradients_where_that_is_known_and_else_no_number() -> None:
    for sum_of_all, last in ((None, ""), ((2, "3.0", 2, "plus", 3.0), "3.0"), ((3, "3.0", 2, "plus", 3.0), "")):
        both = {"state": "flowing", "label": "2.0", "together": sum_of_all}
        steps = [
            StoryStep("", arrows={"n1>n3": {"state": "flowing", "label": "1.0"}}),
            StoryStep("", arrows={"n1>n3": {"state": "done"}, "n1>n2": both}),
        ]
        board = Storyboard(nested(), steps, opened=["outer"])
        told = [[(each.label, each.state) for each in board.at(k).arrows.values()][2] for k in (-1, 0, 1)]
        assert told == [("", "idle"), ("1.0", "flowing"), (last, "flowing")]


# The labels and tones of two arrows, and what one arrow says that stands for both.
PALE = [
    (["1.0\ncleared", "2.0\ncleared"], ["faint", "faint"], "cleared"),
    (["1.0\ncleared", "2.0\nhanded to the caller"], ["faint", "faint"], ""),
    (["1.0\nall +", "2.0\nall +"], ["plus", "plus"], ""),
    (["1.0\ncleared", "2.0\ncleared"], ["faint", "plus"], ""),
]


@pytest.mark.parametrize(("labels", "tones", "told"), PALE)
def test_an_arrow_for_several_says_why_all_of_them_are_pale(labels, tones, told) -> None:
    moves = [{"state": "done", "label": label, "tone": tone} for label, tone in zip(labels, tones, strict=True)]
    step = StoryStep("", arrows=dict(zip(("n1>n3", "n1>n2"), moves, strict=True)))
    board = Storyboard(nested(), [step], opened=["outer"])
    assert [each.label for each in board.at(0).arrows.values()][2] == told


def test_steps_inside_one_closed_group_are_one_step() -> None:
    places = ["n1", "n2", "n3", "n4", "n3", "n2", None, "n1"]
    steps = [StoryStep(f"step {n}", place=place) for n, place in enumerate(places)]
    runs = {"inner": [(1, 2, "inner runs"), (4, 5, "inner runs back")], "outer": [(0, 2, "outer runs")]}

    def stops(opened: list[str]) -> list[tuple[int, int, str]]:
        return Storyboard(nested(), steps, opened=opened, runs=runs).stops

    assert len(stops(["outer", "inner"])) == len(places)
    assert stops(["outer"])[1:2] == [(1, 2, "inner runs")] and len(stops(["outer"])) == 6
    assert stops([]) == [
        (0, 2, "outer runs"), (3, 3, "step 3"), (4, 5, "step 5"), (6, 6, "step 6"), (7, 7, "step 7")
    ]  # fmt: skip


def network() -> Scene:
    """Layers whose weight comes first among their arguments, with something that leads past the second."""
    boxes, arrows, value = {"x": Box("x", "leaf", "x")}, [], "x"
    for n in range(4):
        layer, mul, act = f"layer{n}", f"mul{n}", f"act{n}"
        boxes |= {layer: Box(layer, "group", layer)}
        for each, region in ((f"w{n}", layer), (f"t{n}", layer), (f"b{n}", layer), (mul, layer), (act, None)):
            boxes[each] = Box(each, "leaf" if each[0] in "wb" else "op", each * (n + 1), region=region)
        boxes[f"s{n}"] = Box(f"s{n}", "saved", "saved self", holder=mul)
        arrows += [(f"w{n}", f"t{n}"), (f"b{n}", mul), (value, mul), (f"t{n}", mul), (mul, act)]
        value = act
    ends = [*arrows, ("act0", "act2")]
    return Scene("", boxes, {f"{s}>{t}": Arrow(f"{s}>{t}", s, t) for s, t in ends})


def test_the_way_of_values_leads_straight_down_through_all_frames() -> None:
    for opened in openings(network()):
        layout = Storyboard(network(), opened=opened).layout
        middles = [layout.boxes[f"act{n}"].x + layout.boxes[f"act{n}"].w / 2 for n in range(4)]
        assert max(middles) - min(middles) <= 2
        if opened:
            for n in range(3):
                for way in (layout.arrows[f"mul{n}>act{n}"], layout.arrows[f"act{n}>mul{n + 1}"]):
                    across = [x for x, _ in way.points]
                    assert max(across) - min(across) <= 2


def test_what_is_used_after_a_frame_alone_stands_right_above_its_use() -> None:
    scene = network()
    new = Box("y", "constant", "y"), Box("loss", "op", "loss"), Box("net", "group", "net")
    scene.boxes |= {box.id: box for box in new}
    for id, box in scene.boxes.items():
        if id not in ("x", "y", "loss", "net") and box.region is None and box.holder is None:
            scene.boxes[id] = replace(box, region="net")
    scene.arrows |= {"y>loss": Arrow("y>loss", "y", "loss"), "act3>loss": Arrow("act3>loss", "act3", "loss")}
    layout = Storyboard(scene).layout
    y, net, loss = (layout.boxes[id] for id in ("y", "net", "loss"))
    assert net.y + net.h < y.y and loss.y - (y.y + y.h) < 40
    assert net.x < y.x and y.x + y.w < net.x + net.w
