"""Room for what a picture may come to say: places are given once, and nothing moves when a number grows longer."""

from __future__ import annotations

import re

from ..scene.model import Scene, Step
from ..scene.sizes import largest
from ..scene.storyboard import Storyboard

_NUMBER = re.compile(r"(?<![\w.(])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w),])")  # of a value, not of a shape or a dtype
_LONGEST = "-1.235e-05"
_SPARE = 24  # px that a text may be wider than its place: it then comes a little nearer to the edges


def roomy(scene: Scene) -> Storyboard:
    """A picture with room for the longest numbers, but for those of constants, and for gradients still to come."""
    boxes, values = {}, {}
    for id, box in scene.boxes.items():
        if box.kind != "constant":
            lines = [_NUMBER.sub(_LONGEST, line) for line in box.lines]
            values[id] = next((line for line in lines if _LONGEST in line), "")
            if box.kind == "leaf" and not any(line.startswith("grad ") for line in lines):
                lines.append(f"grad {values[id]}")
            boxes[id] = {"lines": tuple(lines)}
    arrows = {}
    for id, arrow in scene.arrows.items():
        label = _NUMBER.sub(_LONGEST, arrow.label)
        if not label and arrow.kind == "edge" and (value := values.get(arrow.source)):
            label = f"{value} ‖0.000‖" if value.startswith("[") else value
        arrows[id] = {"label": label}
    return Storyboard(scene, [Step("", boxes=boxes, arrows=arrows)])


def fits(scene: Scene, board: Storyboard) -> bool:
    """Whether all of a scene has its place in a picture, and room there for what it says."""
    known, layout = board.scene, board.layout
    for id, box in scene.boxes.items():
        other = known.boxes.get(id)
        if other is None or (other.kind, other.holder, other.region) != (box.kind, box.holder, box.region):
            return False
    for id, arrow in scene.arrows.items():
        ends = known.arrows.get(id)
        if ends is None or (ends.source, ends.target) != (arrow.source, arrow.target):
            return False
    boxes, labels = largest(scene, [])
    places = layout.boxes
    if not all(w <= places[id].w + _SPARE and h <= places[id].h for id, (w, h) in boxes.items()):
        return False
    return all(w <= layout.arrows[id].label.w + _SPARE for id, (w, _) in labels.items())
