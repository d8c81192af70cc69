"""What is seen of a picture while some of its groups are closed, and how one arrow tells of several.

The rules of that are data, in `static/folding.json`, which the page reads as well: see `fold.js`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from .model import LOOSE, Arrow, Scene, groups_of, paths, with_changes

_Told = tuple[str, int, str]  # the label, the weight and the tone of an arrow


class Folding:
    """What is seen of a scene while of its groups only the `opened` are open.

    An arrow that stands for several has the id of the first of them: `members` has them all, and those from boxes in
    the group that refer to what it leads from.
    """

    def __init__(self, scene: Scene, opened: Collection[str]) -> None:
        self.groups = groups_of(scene)
        closed = self.groups.difference(opened)
        # The box that stands for each: the outermost closed group that it lies in, or itself.
        self.stands = {id: next((group for group in path if group in closed), id) for id, path in paths(scene).items()}
        self.frames = {group for group in self.groups.difference(closed) if self.stands[group] == group}
        self.members: dict[str, list[str]] = {}
        self._from: dict[str, list[str]] = {}  # box -> the arrows that lead from it, or from one that refers to it
        together: dict[tuple[str, str, str], str] = {}
        for arrow in scene.arrows.values() if self.groups else ():
            source, target = self.stands[arrow.source], self.stands[arrow.target]
            if target == arrow.target and (source == arrow.source or (source != target and arrow.kind not in LOOSE)):
                self.members[arrow.id] = [arrow.id]
            elif source != target and arrow.kind not in LOOSE:
                first = together.setdefault((arrow.source, target, arrow.kind), arrow.id)
                self.members.setdefault(first, []).append(arrow.id)
        for arrow in scene.arrows.values() if self.groups else ():
            own = scene.boxes[arrow.source].refers
            self._from.setdefault(own or arrow.source, []).append(arrow.id)
            target = self.stands[arrow.target]
            if own is not None and self.stands[arrow.source] == target:
                first = together.get((own, target, arrow.kind))
                self.members.get(first or "", []).append(arrow.id)

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
        first, members = scene.arrows[id], self.members[id]
        others = set(self._from.get(scene.boxes[first.source].refers or first.source, ())).difference(members)
        whole = not any([scene.arrows[other].state in ("flowing", "done") for other in others])
        ends: dict[str, Any] = {"source": self.stands[first.source], "target": self.stands[first.target]}
        ends |= {"within": None} | ({"together": None} if len(members) > 1 else {})
        arrows = [scene.arrows[member] for member in members]
        if ends["target"] != first.target:
            ends["brief"] = None
            arrows = [each if each.brief is None else with_changes(each, {"label": each.brief}) for each in arrows]
        told = one_of(arrows, whole, ends["target"])
        return with_changes(told, {"id": id, **ends})


@cache
def _rules() -> dict[str, dict[str, Any]]:
    """By field of an arrow, how it follows from the same field of several."""
    text = files("workbench").joinpath("scene", "static", "folding.json").read_text(encoding="utf-8")
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
    found = {getattr(arrow, field).split("\n")[-1] for arrow in arrows}
    of_tone = all(arrow.tone == rule["tone"] for arrow in arrows)
    return found.pop() if of_tone and len(found) == 1 else rule["else"]


_RULES: dict[str, Callable[[Mapping[str, Any], Sequence[Arrow], str], Any]] = {
    "first of": _first_of,
    "largest": _largest,
    "same": _same,
    "same last line": _same_last_line,
}


def one_of(arrows: Sequence[Arrow], whole: bool, group: str) -> Arrow:
    """One arrow for several that bring the same value to a group, perhaps (`whole`) all that brought a gradient for it.

    Those that brought a gradient are told, by the rules; of several the number is that of their sum, where it is known.
    """
    there = [arrow for arrow in arrows if arrow.state != "future"] or arrows
    moved = [arrow for arrow in there if arrow.state != "idle" and arrow.state != "future"]
    if len(moved) < 2:
        return (moved or there)[0]
    told = {field: _RULES[rule["rule"]](rule, moved, field) for field, rule in _rules().items()}
    if (known := _sum_of(moved, whole, group)) is not None:
        told |= zip(("label", "weight", "tone"), known, strict=True)
    return replace(next(arrow for arrow in moved if arrow.state == told["state"]), **told)


def _sum_of(moved: Sequence[Arrow], whole: bool, group: str) -> _Told | None:
    """What is told of the sum of what these arrows brought, if it is known: of all that came, or of these alone."""
    if whole and (told := next((arrow.together for arrow in moved if arrow.together is not None), None)) is not None:
        return told
    parts = [arrow.within[group] for arrow in moved if arrow.within and group in arrow.within]
    most = max(parts, key=lambda part: part[0], default=None)
    return most[1:] if most is not None and most[0] == len(moved) else None
