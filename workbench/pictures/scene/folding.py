"""What is visible of a picture while some of its groups are closed, and how one arrow represents several.

The rules are data, in `static/folding.json`, which the page reads too: see `fold.js`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from .model import LOOSE, Arrow, ArrowTone, Scene, groups_of, paths, with_changes

_MOVED = ("flowing", "done")


class Folding:
    """What is visible of a scene while only the `opened` groups are open.

    One arrow represents all those from one box to another, whatever they connect inside closed groups; it has the id of
    the first of them. `members` has them all, and those from boxes in a group that refer to its source.
    """

    def __init__(self, scene: Scene, opened: Collection[str]) -> None:
        self.groups = groups_of(scene)
        closed = self.groups.difference(opened)
        # The box that stands for each: the outermost closed group that it lies in, or itself.
        self.visible_box = {
            id: next((group for group in path if group in closed), id) for id, path in paths(scene).items()
        }
        self.frames = {group for group in self.groups.difference(closed) if self.visible_box[group] == group}
        self.visible_box |= {box.id: box.instead for box in scene.boxes.values() if box.instead in self.frames}
        self.members: dict[str, list[str]] = {}
        self._from: dict[str, list[str]] = {}  # box -> the arrows that lead from it, or from one that refers to it
        together: dict[tuple[str, str, str], str] = {}
        for arrow in scene.arrows.values() if self.groups else ():
            source, target = self.visible_box[arrow.source], self.visible_box[arrow.target]
            if (source, target) == (arrow.source, arrow.target):
                self.members[arrow.id] = [arrow.id]
            elif source != target and arrow.kind not in LOOSE:
                first = together.setdefault((source, target, arrow.kind), arrow.id)
                self.members.setdefault(first, []).append(arrow.id)
        for arrow in scene.arrows.values() if self.groups else ():
            own = scene.boxes[arrow.source].refers
            self._from.setdefault(own or arrow.source, []).append(arrow.id)
            target = self.visible_box[arrow.target]
            # In a closed group it is one of many things there, which the arrow from the group isn't about.
            if own is not None and self.visible_box[arrow.source] == target and self.visible_box.get(own, own) == own:
                first = together.get((own, target, arrow.kind))
                self.members.get(first or "", []).append(arrow.id)

    def seen(self, scene: Scene) -> Scene:
        """Return a moment of the scene as a reader sees it."""
        if not self.groups:
            return scene
        boxes = {id: box for id, box in scene.boxes.items() if self.visible_box[id] == id}
        for id in [id for id in self.frames if boxes[id].kind == "group"]:
            there = boxes[id].state != "future"
            state = "idle" if there else "future"
            boxes[id] = replace(boxes[id], kind="region", lines=(), state=state, tint=None)
        return Scene(scene.title, boxes, {id: self.arrow(scene, id) for id in self.members})

    def arrow(self, scene: Scene, id: str) -> Arrow:
        """Return a visible arrow, at a moment."""
        first, members = scene.arrows[id], self.members[id]
        ends: dict[str, Any] = {"source": self.visible_box[first.source], "target": self.visible_box[first.target]}
        ends |= {"within": None} | ({"together": None} if len(members) > 1 else {})
        arrows = [scene.arrows[member] for member in members]
        if ends["target"] != first.target:
            ends["brief"] = None
            arrows = [each if each.brief is None else with_changes(each, {"label": each.brief}) for each in arrows]
        by_value: dict[str, list[Arrow]] = {}
        for arrow in arrows:
            by_value.setdefault(scene.boxes[arrow.source].refers or arrow.source, []).append(arrow)
        told = [one_of(each, self._is_all(scene, own, each), ends["target"]) for own, each in by_value.items()]
        return with_changes(side_by_side(told), {"id": id, **ends})

    def _is_all(self, scene: Scene, own: str, arrows: Sequence[Arrow]) -> bool:
        """Return True if no other arrow has brought a gradient for the same value."""
        others = set(self._from.get(own, ())).difference(arrow.id for arrow in arrows)
        return not any([scene.arrows[other].state in _MOVED for other in others])

    def has_several(self, scene: Scene, id: str) -> bool:
        """Return True if an arrow stands for several values."""
        sources = [scene.boxes[scene.arrows[member].source] for member in self.members.get(id, ())]
        return len({box.refers or box.id for box in sources}) > 1


@cache
def _rules() -> dict[str, dict[str, Any]]:
    """Return, for each field of an arrow, how it follows from the same field of several."""
    text = files("workbench").joinpath("pictures", "scene", "static", "folding.json").read_text(encoding="utf-8")
    return json.loads(text)["arrow"]


def _first_of(rule: Mapping[str, Any], arrows: Sequence[Arrow], field: str) -> Any:
    found = {getattr(arrow, field) for arrow in arrows}
    return next(value for value in rule["values"] if value in found)


def _largest(rule: Mapping[str, Any], arrows: Sequence[Arrow], field: str) -> Any:
    return max(getattr(arrow, field) for arrow in arrows)


def _same(rule: Mapping[str, Any], arrows: Sequence[Arrow], field: str) -> Any:
    found = {getattr(arrow, field) for arrow in arrows}
    return found.pop() if len(found) == 1 else rule["else"]


def _same_last_line(rule: Mapping[str, Any], arrows: Sequence[Arrow], field: str) -> Any:
    found = {tuple(getattr(arrow, field).split("\n")[1:][-1:]) for arrow in arrows}  # below the number
    of_tone = all(arrow.tone == rule["tone"] for arrow in arrows)
    return "".join(found.pop()) if of_tone and len(found) == 1 else rule["else"]


_RULES: dict[str, Callable[[Mapping[str, Any], Sequence[Arrow], str], Any]] = {
    "first of": _first_of,
    "largest": _largest,
    "same": _same,
    "same last line": _same_last_line,
}


def one_of(arrows: Sequence[Arrow], whole: bool, group: str) -> Arrow:
    """Return one arrow for several that bring one value to a group, perhaps (`whole`) all that brought it a gradient.

    It combines those that brought a gradient, by the rules; its number is that of their sum, if it is known.
    """
    there, moved = _there(arrows)
    if len(moved) < 2:
        return (moved or there)[0]
    told = _by_rules(moved)
    if (known := _sum_of(moved, whole, group)) is not None:
        told |= zip(("label", "weight", "tone", "norm"), known, strict=True)
    return replace(next(arrow for arrow in moved if arrow.state == told["state"]), **told)


def side_by_side(arrows: Sequence[Arrow]) -> Arrow:
    """Return one arrow for several that bring different values, each of them `one_of` those that bring the same.

    Gradients for different values don't add up, so it shows how many came, or what the only one is.
    """
    if len(arrows) == 1:
        return arrows[0]
    there, moved = _there(arrows)
    if there[0].kind == "cut":
        labels = {arrow.label for arrow in there}
        return replace(there[0], label=labels.pop() if len(labels) == 1 else f"{len(there)} cuts", note="")
    if not moved:
        return replace(there[0], label="", note="")
    told, number = _by_rules(moved) | {"note": ""}, f"{len(moved)} gradients"
    if len(moved) == 1:
        norm = told["norm"] = moved[0].norm
        # Of two numbers as near, Python writes the even one and a page the larger: here there are no such two.
        number = "" if norm is None else f"norm {norm * (1 - 1e-12):.3g}"
    told["label"] = "\n".join(filter(None, [number, told["label"]]))
    return replace(next(arrow for arrow in moved if arrow.state == told["state"]), **told)


def _there(arrows: Sequence[Arrow]) -> tuple[Sequence[Arrow], list[Arrow]]:
    """Return the arrows that are there, or else all, and those that brought a gradient."""
    there = [arrow for arrow in arrows if arrow.state != "future"] or arrows
    return there, [arrow for arrow in there if arrow.state in _MOVED]


def _by_rules(arrows: Sequence[Arrow]) -> dict[str, Any]:
    return {field: _RULES[rule["rule"]](rule, arrows, field) for field, rule in _rules().items()} | {"norm": None}


def _sum_of(moved: Sequence[Arrow], whole: bool, group: str) -> tuple[str, int, ArrowTone, float | None] | None:
    """Return what is known of the sum of what these arrows brought: of all that came, or only of these.

    What another backward pass brought is in no sum, so that there are more arrows then than the sum is of.
    """
    sums = [arrow.together for arrow in moved if arrow.together is not None] if whole else []
    sums += [arrow.within[group] for arrow in moved if arrow.within and group in arrow.within]
    return next((each[1:] for each in sums if each[0] == len(moved)), None)
