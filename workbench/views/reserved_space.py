"""Room for what a picture may come to say: places are given once, and nothing moves when a number grows longer."""

from __future__ import annotations

import re
from dataclasses import replace

from ..scene.metric import CHIP_COLUMNS, columns
from ..scene.model import Scene, Step
from ..scene.sizes import largest
from ..scene.storyboard import Storyboard

_NUMBER = re.compile(r"(?<![\w.(])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w),])")  # of a value, not of a shape or a dtype
_LONGEST = "-1.235e-05"
_LAST = 3  # pictures before that are looked at
_SPARE = 24  # px that a text may be wider than its place: it then comes a little nearer to the edges


def roomy(scene: Scene, before: Storyboard | None = None) -> Storyboard:
    """A picture with room for the longest numbers, but for those of constants, and for gradients still to come.

    What the picture before had room for last, this one has room for too.
    """
    boxes, values = {}, {}
    for id, box in scene.boxes.items():
        if box.kind != "constant":
            lines = [part for line in box.lines for part in _parts(_NUMBER.sub(_LONGEST, line))]
            values[id] = next((line for line in lines if _LONGEST in line), "").rpartition("  ")[2]  # behind its shape
            if box.kind == "leaf" and not any(line.startswith("grad ") for line in lines):
                lines.append(f"grad {values[id]}")
            if box.kind == "group" and not any(line.startswith("gradient ") for line in lines):
                lines.append(f"gradient in {_LONGEST}, out {_LONGEST}")
            boxes[id] = {"lines": tuple(lines), "state": "freed" if box.kind == "saved" else box.state}
    arrows = {}
    for id, arrow in scene.arrows.items():
        label = _NUMBER.sub(_LONGEST, arrow.label)
        if not label and arrow.kind == "edge" and (value := values.get(arrow.source)):
            label = f"{value} ‖0.000‖" if value.startswith(("[", "from ")) else value
        arrows[id] = {"label": label}
    steps = [Step("", boxes=boxes, arrows=arrows)]
    for step in before.steps[:_LAST] if before else ():
        kept = {id: change for id, change in step.boxes.items() if id in scene.boxes}
        steps.append(Step("", boxes=kept, arrows={id: new for id, new in step.arrows.items() if id in scene.arrows}))
    return Storyboard(scene, steps)


def _parts(line: str) -> list[str]:
    """The line; of a value that no longer fits beside its shape, both."""
    head, gap, value = line.partition("  ")
    return [head, value] if gap and columns(line) > CHIP_COLUMNS else [line]


def within(scene: Scene, board: Storyboard) -> Scene | None:
    """A scene as part of a picture that has a place for all of it, and room for what it says; else None.

    What the picture has besides is not there yet, but for its regions, which take the place of the scene's own.
    """
    boxes = {id: box for id, box in scene.boxes.items() if box.kind != "region"}
    known, places, ways = board.scene, board.layout.boxes, board.layout.arrows
    for id, box in boxes.items():
        other = known.boxes.get(id)
        if other is None or (other.kind, other.holder) != (box.kind, box.holder):
            return None
        boxes[id] = replace(box, region=other.region)
    for id, arrow in scene.arrows.items():
        ends = known.arrows.get(id)
        if ends is None or (ends.source, ends.target) != (arrow.source, arrow.target):
            return None
    hidden = {id: box if box.kind == "region" else replace(box, state="future") for id, box in known.boxes.items()}
    arrows = {id: replace(arrow, state="future") for id, arrow in known.arrows.items()} | scene.arrows
    there = Scene(scene.title, hidden | boxes, arrows)
    sizes, labels = largest(there, [])
    if any(sizes[id][0] > places[id].w + _SPARE or sizes[id][1] > places[id].h for id in boxes):
        return None
    return None if any(labels[id][0] > ways[id].label.w + _SPARE for id in scene.arrows) else there
