"""A storyboard: one picture, laid out once, and the steps that change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .layout import Layout, laid_out
from .metric import clean
from .model import AROUND, FORMAT, VERSION, Box, Detail, Scene, Step
from .shown import KIND_WORDS, STALE, STATE_WORDS, arrow_fields, box_fields, native
from .sizes import largest


class Storyboard:
    """What every face draws and the player plays: `scene` before anything, then what each step changes.

    Without steps it is a still picture of `scene`. It is laid out once, on first use, so neither may change.
    It opens at the step `start`, counted from 0; of itself at the last before the first backward. What cannot play
    shows the step `still`; of itself the same.
    `insides` has what a box opens to in the player, by the box's id: there or in a picture that another opens to.
    """

    def __init__(
        self,
        scene: Scene,
        steps: Iterable[Step] = (),
        title: str = "",
        insides: Mapping[str, Storyboard] | None = None,
        start: int | None = None,
        still: int | None = None,
    ) -> None:
        self.scene, self.steps, self.insides = scene, list(steps), dict(insides or {})
        self._start, self._still = start, still
        self._layout: Layout | None = None
        self.title = clean(title or scene.title)
        standing = {id for id, box in scene.boxes.items() if box.holder is None and box.kind not in AROUND}
        for box in scene.boxes.values():
            if box.holder is not None and box.holder not in standing:
                raise ValueError(f"Box {box.id!r} hangs on {box.holder!r}, which stands nowhere in the scene.")
            if box.region is not None and getattr(scene.boxes.get(box.region), "kind", None) != "region":
                raise ValueError(f"Box {box.id!r} lies in {box.region!r}, which is no region of the scene.")
        hanging = standing | {id for id, box in scene.boxes.items() if box.holder is not None}
        for arrow in scene.arrows.values():
            for end in {arrow.source, arrow.target} - (hanging if arrow.kind == "same" else standing):
                raise ValueError(f"Arrow {arrow.id!r} ends at {end!r}, which stands nowhere in the scene.")
        known = scene.boxes.keys() | scene.arrows.keys()
        for number, step in enumerate(self.steps):
            for strange in (step.boxes.keys() | step.arrows.keys()) - known:
                raise ValueError(f"Step {number} changes {strange!r}, which is not in the scene.")

    @property
    def start(self) -> int:
        """The step a player opens at: as told, or the last before the first backward, or the last; -1 without steps."""
        if self._start is not None:
            return self._start
        phases = [step.phase for step in self.steps]
        if "backward" in phases:
            return max(0, phases.index("backward") - 1)
        return len(phases) - 1

    @property
    def still(self) -> int:
        """The step a picture that cannot play shows: as told, or the one a player opens at."""
        return self.start if self._still is None else self._still

    @property
    def layout(self) -> Layout:
        """Where everything stands, with room for the largest text of every step."""
        if self._layout is None:
            self._layout = laid_out(self.scene, *largest(self.scene, self.steps))
        return self._layout

    @layout.setter
    def layout(self, layout: Layout) -> None:
        self._layout = layout

    def at(self, k: int | None = None) -> Scene:
        """The scene after steps 0 to k; -1 is before anything, None is what a still picture shows."""
        if k is None:
            k = self.still
        if not -1 <= k < len(self.steps):
            raise IndexError(f"There is no step {k}; this storyboard has {len(self.steps)}, counted from 0.")
        scene = Scene(self.title, dict(self.scene.boxes), dict(self.scene.arrows))
        for step in self.steps[: k + 1]:
            _apply(scene, step)
        return scene

    def to_dict(self) -> dict[str, Any]:
        """The storyboard as JSON-native values, placed and with its texts fitted, as the player gets it."""
        return self._told() | {"words": {"kinds": dict(KIND_WORDS), "states": STATE_WORDS | {"stale": STALE}}}

    def _told(self) -> dict[str, Any]:
        layout, scene, said = self.layout, self.at(-1), _Details()
        boxes = {id: box_fields(box) | {"details": said.numbers(box)} for id, box in scene.boxes.items()}
        arrows = {id: arrow_fields(arrow, scene) for id, arrow in scene.arrows.items()}
        told = {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "width": layout.width,
            "height": layout.height,
            "boxes": [
                {"id": id, "kind": scene.boxes[id].kind, "holder": scene.boxes[id].holder}
                | layout.boxes[id].to_dict()
                | shown
                for id, shown in boxes.items()
            ],
            "arrows": [
                {"id": id, "kind": arrow.kind, "source": arrow.source, "target": arrow.target}
                | layout.arrows[id].to_dict()
                | arrows[id]
                for id, arrow in scene.arrows.items()
            ],
        }
        touching: dict[str, list[str]] = {}  # box -> the arrows whose description names it
        for arrow in scene.arrows.values():
            for end in (arrow.source, arrow.target):
                touching.setdefault(end, []).append(arrow.id)
        steps = []
        for step in self.steps:
            _apply(scene, step)
            renamed = [id for id, change in step.boxes.items() if "title" in change]
            concerned = dict.fromkeys([*step.arrows, *(arrow for id in renamed for arrow in touching.get(id, ()))])
            now = {
                id: box_fields(scene.boxes[id])
                | {"details": said.numbers(scene.boxes[id]) if "details" in change else boxes[id]["details"]}
                for id, change in step.boxes.items()
            }
            steps.append(
                {
                    "caption": clean(step.caption),
                    "phase": step.phase,
                    "cursor": native(step.cursor),
                    "focus": step.focus,
                    "boxes": _changes(boxes, now),
                    "arrows": _changes(arrows, {id: arrow_fields(scene.arrows[id], scene) for id in concerned}),
                }
                | ({"when": step.when} if step.when else {})
            )
        insides = {id: inside._told() for id, inside in self.insides.items()}
        told |= {"steps": steps, "details": said.texts}
        told |= {} if self._start is None else {"start": self._start}
        return told | ({"insides": insides} if insides else {})


class _Details:
    """What clicks show: each section once, as the same code and values are shown at many boxes and steps."""

    def __init__(self) -> None:
        self.texts: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[int, int] = {}  # by identity: the storyboard keeps them all

    def numbers(self, box: Box) -> list[int]:
        """The numbers of a box's sections."""
        return [self._number(each) for each in box.details]

    def _number(self, detail: Detail) -> int:
        if id(detail) in self._known:
            return self._known[id(detail)]
        text = {"heading": clean(detail.heading), "kind": detail.kind, "body": native(detail.body)}
        key = repr(text)
        if key not in self._numbers:
            self._numbers[key] = len(self.texts)
            self.texts.append(text)
        self._known[id(detail)] = number = self._numbers[key]
        return number


def _apply(scene: Scene, step: Step) -> None:
    for id, change in step.boxes.items():
        scene.boxes[id] = replace(scene.boxes[id], **change)
    for id, change in step.arrows.items():
        scene.arrows[id] = replace(scene.arrows[id], **change)


def _changes(shown: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The fields that differ from what was shown, which is brought up to date."""
    changes = {}
    for id, fields in now.items():
        if different := {name: value for name, value in fields.items() if shown[id].get(name) != value}:
            changes[id] = different
            shown[id] = fields
    return changes
