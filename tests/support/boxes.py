"""Name the boxes of a graph as tests do, and check where boxes and arrows are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest

from workbench.pictures.scene.geometry import Rectangle, along
from workbench.pictures.scene.labels import arrow_fields
from workbench.pictures.scene.layout import Layout
from workbench.pictures.scene.model import LOOSE, Box, Scene, paths
from workbench.pictures.scene.sizes import label_size
from workbench.pictures.scene.storyboard import Storyboard


def name_of(box: Box) -> str:
    """`PowBackward0`, whatever expression computed it."""
    below = re.match(r"[A-Za-z_]\w*?Backward\w*|CopySlices", box.lines[0] if box.lines else "")
    return (
        below[0]
        if below and box.kind in ("op", "function")
        else re.sub(r"(Backward\w*|CopySlices), \d+\w\w$", r"\1", box.title)
    )


def before_backward(board: Storyboard) -> Scene:
    """The picture after the last step before the first backward: all that the forward made, and no gradient."""
    first = next(k for k, step in enumerate(board.steps) if step.phase == "backward")
    return board.at(first - 1)


def contains(outer: Rectangle, inner: Rectangle) -> bool:
    """Return whether one rectangle is inside another."""
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.w <= outer.x + outer.w
        and inner.y + inner.h <= outer.y + outer.h
    )


def drawn_part(scene: Scene, layout: Layout) -> Scene:
    """Return what is drawn of a scene: where boxes are brief, what is saved is only told."""
    assert {scene.boxes[id].kind for id in scene.boxes.keys() - layout.boxes.keys()} <= {"saved"}
    arrows = {id: arrow for id, arrow in scene.arrows.items() if {arrow.source, arrow.target} <= layout.boxes.keys()}
    return Scene(scene.title, {id: box for id, box in scene.boxes.items() if id in layout.boxes}, arrows)


def check_inside(scene: Scene, layout: Layout) -> None:
    """Check that every box is inside the picture."""
    whole, scene = Rectangle(0, 0, layout.width, layout.height), drawn_part(scene, layout)
    for id in scene.boxes:
        assert contains(whole, layout.boxes[id]), id


def assert_in_order(scene: Scene, layout: Layout) -> None:
    """Check that boxes are apart unless one is part of the other, and that arrows lead down from box to box."""
    scene = drawn_part(scene, layout)
    within = paths(scene)
    check_inside(scene, layout)
    for one, other in combinations([id for id, box in scene.boxes.items() if box.kind != "level"], 2):
        first, second = layout.boxes[one], layout.boxes[other]
        if one in within[other]:
            assert contains(first, second), (one, other)
        elif other in within[one]:
            assert contains(second, first), (one, other)
        else:
            assert not first.meets(second), (one, other)
    for id, arrow in scene.arrows.items():
        if arrow.kind in LOOSE:
            continue
        points, upper, lower = layout.arrows[id].points, layout.boxes[arrow.source], layout.boxes[arrow.target]
        (x0, y0), (x1, y1) = points[0], points[-1]
        assert y0 == pytest.approx(upper.y + upper.h + 3, abs=0.3) and upper.x <= x0 <= upper.x + upper.w
        assert y1 == pytest.approx(lower.y - 3, abs=0.3) and lower.x <= x1 <= lower.x + lower.w
        assert len(points) % 3 == 1
        assert y0 < y1, f"{id} points up"


def arrows_climb(layout: Layout, scene: Scene) -> list[str]:
    """Return the arrows that lead up somewhere on their path."""
    scene = drawn_part(scene, layout)
    levels = {
        id: along(layout.arrows[id].points)[:, 1] for id, arrow in scene.arrows.items() if arrow.kind not in LOOSE
    }
    return [id for id, level in levels.items() if (level[1:] < level[:-1] - 0.5).any()]


def check_labels(scene: Scene, board: Storyboard) -> None:
    """Check that arrows end at boxes that are seen, and that there is room for each label."""
    for id, arrow in scene.arrows.items():
        assert {arrow.source, arrow.target} <= scene.boxes.keys(), id
        label = arrow_fields(arrow, scene, board.density)["label"]
        (wide, high), room = label_size(label), board.layout.arrows[id].label
        assert wide <= room.w and high <= room.h, arrow


def check_graph(board: Storyboard, steps: Iterable[int]) -> None:
    """Check that nothing overlaps, arrows end at boxes, and labels have room, at these steps."""
    for k in steps:
        seen = board.at(k, drawn=True)
        check_labels(seen, board)
    assert_in_order(seen, board.layout)


def last(board: Storyboard) -> Scene:
    """Return the picture after the last step."""
    return board.at(len(board.steps) - 1)


def there(board: Storyboard, k: int | None = None) -> dict[str, Box]:
    """Return the boxes that are seen after a step, by their ids."""
    return {id: box for id, box in board.at(k).boxes.items() if box.state != "future"}


def box_named(scene: Scene, name: str) -> Box:
    """Return the one box of this name."""
    (found,) = [box for box in scene.boxes.values() if name_of(box) == name]
    return found


def details(box: Box, heading: str) -> list[Any]:
    """Return what a click on a box shows under a heading."""
    return [detail.body for detail in box.details if detail.heading == heading]


def titles(boxes: Iterable[Box], *kinds: str) -> list[str]:
    """Return the titles of the boxes of some kinds, in order."""
    return [box.title for box in boxes if box.kind in kinds]
