"""Which boxes and arrows are seen while some groups are open and the others are closed.

A group holds the boxes whose `region` it is. Open, it is a frame around them; closed, it is one box, and the arrows
that lead into it end there: one for each value, however often it is used inside.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from .model import LOOSE, Arrow, Scene, with_changes


def groups_of(scene: Scene) -> set[str]:
    """The groups that hold something, and so can be opened."""
    return {
        box.region for box in scene.boxes.values() if box.region is not None and scene.boxes[box.region].kind == "group"
    }


def paths(scene: Scene) -> dict[str, list[str]]:
    """The groups and regions that each box lies in, the outermost first."""
    # What hangs on a box or stands beside it lies where that does.
    home = {id: box.holder for id, box in scene.boxes.items() if box.holder is not None}
    for arrow in scene.arrows.values():
        if arrow.kind == "beside" and scene.boxes[arrow.target].kind == "tangent":
            home[arrow.target] = arrow.source
    found = {}
    for id in scene.boxes:
        path: list[str] = []
        at = scene.boxes[home.get(id, id)].region
        while at is not None:
            path.append(at)
            at = scene.boxes[at].region
        found[id] = path[::-1]
    return found


class Folding:
    """What is seen of a scene while of its groups only the `opened` are open.

    An arrow that stands for several has the id of the first of them: `members` has them all.
    """

    def __init__(self, scene: Scene, opened: Collection[str]) -> None:
        self.groups = groups_of(scene)
        closed = self.groups.difference(opened)
        # The box that stands for each: the outermost closed group that it lies in, or itself.
        self.stands = {id: next((group for group in path if group in closed), id) for id, path in paths(scene).items()}
        self.frames = {group for group in self.groups.difference(closed) if self.stands[group] == group}
        self.members: dict[str, list[str]] = {}
        together: dict[tuple[str, str, str], str] = {}
        for arrow in scene.arrows.values() if self.groups else ():
            source, target = self.stands[arrow.source], self.stands[arrow.target]
            if target == arrow.target and (source == arrow.source or (source != target and arrow.kind not in LOOSE)):
                self.members[arrow.id] = [arrow.id]
            elif source != target and arrow.kind not in LOOSE:
                first = together.setdefault((arrow.source, target, arrow.kind), arrow.id)
                self.members.setdefault(first, []).append(arrow.id)

    def seen(self, scene: Scene) -> Scene:
        """A moment of the scene as it is seen."""
        if not self.groups:
            return scene
        boxes = {id: box for id, box in scene.boxes.items() if self.stands[id] == id}
        for id in self.frames:
            there = boxes[id].state != "future"
            boxes[id] = replace(boxes[id], kind="region", lines=(), state="idle" if there else "future")
        return Scene(scene.title, boxes, {id: self.arrow(scene, id) for id in self.members})

    def arrow(self, scene: Scene, id: str) -> Arrow:
        """One of the arrows that are seen, at a moment."""
        arrow = _one_of([scene.arrows[member] for member in self.members[id]])
        ends = {"source": self.stands[arrow.source], "target": self.stands[arrow.target]}
        return with_changes(arrow, {"id": id, **ends})


def _one_of(arrows: list[Arrow]) -> Arrow:
    """One arrow for several that bring the same value to the same box."""
    there = [arrow for arrow in arrows if arrow.state != "future"]
    if len(arrows) == 1 or not there:
        return arrows[0]
    moved = [arrow for arrow in there if arrow.state in ("flowing", "done")]
    if not moved:
        return there[0]
    flowing = [arrow for arrow in moved if arrow.state == "flowing"]
    if len(moved) == 1:
        return moved[0]
    tones = {arrow.tone for arrow in moved}
    tone = tones.pop() if len(tones) == 1 else "mixed"
    # An arrow says last why it is pale.
    why = {arrow.label.split("\n")[-1] for arrow in moved} if tone == "faint" else set()
    return replace(
        (flowing or moved)[0],
        label="\n".join([count_of(len(moved)), *(why if len(why) == 1 else ())]),
        weight=max(arrow.weight for arrow in moved),
        tone=tone,
    )


def count_of(gradients: int) -> str:
    """The label of an arrow that stands for several."""
    return f"{gradients} gradients"
