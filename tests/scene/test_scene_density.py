"""Graphs with arrows all over: their layout takes no longer than that of others, and still leads every value down."""

from __future__ import annotations

import random

import pytest
from work_done import counted

from workbench.pictures.scene.layout import laid_out
from workbench.pictures.scene.model import Arrow, Box, Scene
from workbench.pictures.scene.obstacles import Obstacles
from workbench.pictures.scene.reading import drawn_region
from workbench.pictures.scene.rows import thinned
from workbench.pictures.scene.sizes import largest
from workbench.pictures.scene.storyboard import Storyboard
from workbench.pictures.scene.svg import to_svg


def graph(sources: dict[str, list[str]], label: str = "") -> Scene:
    """A scene in which each box is computed from others."""
    boxes = {id: Box(id, "op", "MulBackward0", ("y  (3,) float64",)) for id in sources}
    arrows = [
        Arrow(f"{id}.{n}", source, id, label=label) for id, all in sources.items() for n, source in enumerate(all)
    ]
    return Scene("", boxes, {arrow.id: arrow for arrow in arrows})


def everything_before(count: int) -> dict[str, list[str]]:
    """Each box is computed from all before it, as where each layer takes what all others gave."""
    return {f"n{n}": [f"n{k}" for k in range(n)] for n in range(count)}


def anything_before(count: int, each: int) -> dict[str, list[str]]:
    chance = random.Random(0)
    return {f"n{n}": [f"n{chance.randrange(n)}" for _ in range(each if n else 0)] for n in range(count)}


def shared_weights(count: int) -> dict[str, list[str]]:
    """A long row in which every box uses one of few leaves, as in a recurrent network."""
    leaves = {f"w{n}": [] for n in range(20)}
    return leaves | {f"n{n}": [f"w{n % 20}", *([f"n{n - 1}"] if n else [])] for n in range(count)}


DENSE = {
    "each from all before": everything_before(50),
    "each from eight of 1,000": anything_before(1000, 8),
    "20 weights for 1,000": shared_weights(1000),
    "16,000 arrows": {id: [each for each in all if each != id] for id, all in anything_before(1000, 16).items()},
}


@pytest.mark.slow
@pytest.mark.parametrize("sources", DENSE.values(), ids=DENSE)
def test_a_dense_graph_is_laid_out(sources):
    scene = graph(sources)
    # If Graphviz got every arrow, this would end with an error after MOST_SECONDS.
    layout = laid_out(scene, *largest(scene, []))
    assert layout.arrows.keys() == scene.arrows.keys()
    rising = [id for id, arrow in scene.arrows.items() if layout.boxes[arrow.source].y >= layout.boxes[arrow.target].y]
    assert len(rising) <= len(scene.arrows) / 500
    for arrow in scene.arrows.values():
        (x, y), (u, v) = layout.arrows[arrow.id].points[0], layout.arrows[arrow.id].points[-1]
        upper, lower = layout.boxes[arrow.source], layout.boxes[arrow.target]
        assert upper.x < x < upper.x + upper.w and y == pytest.approx(upper.y + upper.h + 3, abs=0.2)
        assert lower.x < u < lower.x + lower.w and v == pytest.approx(lower.y - 3, abs=0.2)


def test_in_a_tangle_of_few_boxes_arrows_are_straight(monkeypatch):
    chance = random.Random(0)
    sources = {f"n{n}": [f"n{chance.randrange(n)}" for _ in range(10 if n else 0)] for n in range(36)}
    scene = graph(sources, "[1. 2.]  norm 0.5")
    _, labels = largest(scene, [])
    _, settings = thinned([*scene.arrows.values()], {id: id for id in scene.boxes}, labels)
    assert "splines=line" in settings  # to bend every arrow around every label takes Graphviz very long
    bent = counted(monkeypatch, (Obstacles, "way"))
    assert laid_out(scene, *largest(scene, [])).arrows.keys() == scene.arrows.keys() and not bent


def test_it_is_the_same_each_time():
    scene = graph(everything_before(20), "[1. 2.]")
    kept = []
    for _ in range(2):
        drawn_region.cache_clear()
        kept.append((laid_out(scene, *largest(scene, [])), to_svg(Storyboard(scene))))
    assert kept[0] == kept[1]


def test_boxes_do_not_overlap_and_labels_are_in_the_picture():
    scene = graph(everything_before(40), "[1. 2.]")
    layout = laid_out(scene, *largest(scene, []))
    places = list(layout.boxes.values())
    assert not [1 for n, one in enumerate(places) for other in places[:n] if one.meets(other)]
    labels = [way.label for way in layout.arrows.values()]
    assert all(0 <= each.x and each.x + each.w <= layout.width and each.y + each.h <= layout.height for each in labels)


def test_of_an_ordinary_graph_every_arrow_counts():
    scene = graph({f"n{n}": [f"n{n - 1}"] * 2 if n else [] for n in range(900)})
    told, _ = thinned([*scene.arrows.values()], {id: id for id in scene.boxes}, dict.fromkeys(scene.arrows, (0.0, 0.0)))
    assert told == [*scene.arrows.values()]


def test_what_stays_are_the_arrows_into_the_next_row_and_the_shortest_of_each_box():
    scene = graph(everything_before(60))
    told, _ = thinned([*scene.arrows.values()], {id: id for id in scene.boxes}, dict.fromkeys(scene.arrows, (0.0, 0.0)))
    kept = {(arrow.source, arrow.target) for arrow in told}
    assert {(f"n{n}", f"n{n + 1}") for n in range(59)} <= kept and len(kept) < len(scene.arrows)


def test_groups_that_need_each_other_are_no_endless_loop():
    scene = graph({"a": ["b", *everything_before(20)], "b": ["a"]} | everything_before(20))
    layout = laid_out(scene, *largest(scene, []))
    assert layout.boxes.keys() == scene.boxes.keys()
