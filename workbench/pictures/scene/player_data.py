"""The data of a storyboard that the player gets: what is drawn and where, and what each step changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Any

from .labels import KIND_WORDS, STALE, STATE_WORDS, arrow_fields, box_fields, ends_of, native, overlay_said
from .layout import Layout, LayoutUnavailable, chart_layout
from .metric import clean
from .model import FORMAT, VERSION, Box, Curves, Detail, Overlay, StoryStep, apply_step

if TYPE_CHECKING:
    from .storyboard import Storyboard

_FEW = 400  # boxes, with those in closed groups, of a picture that a page can draw at two densities
_UNSEEN = {"d": "", "lx": 0, "ly": 0, "lw": 0, "lh": 0}  # the way of an arrow that lies in a closed group


def story_data(board: Storyboard, small: bool = True) -> dict[str, Any]:
    """Return the storyboard as JSON-native values, laid out and with its texts fitted, as the player gets it.

    It has what a `small` window shows of it too.
    """
    story = flat_data(board, small) | (
        {"levels": levels_data(board)} if board.folding.groups and not board.has_rows else {}
    )
    story |= {} if board.inside is None else {"within": board.inside.to_dict(story_data)}
    tabs = tabs_data(board, story_data)
    return story | ({"tabs": tabs} if tabs else {})


def tabs_data(board: Storyboard, tell: Callable[[Storyboard], Any]) -> list[list[Any]]:
    """Return the tabs that can be laid out, by name, each as `tell` gives it; this picture's own has None."""
    told: list[list[Any]] = []
    for name, tab in board.tabs.items():
        with suppress(LayoutUnavailable):
            told.append([name, None if tab is None or tab.story is None else tell(tab.story)])
    return told if len(told) > 1 else []


def levels_data(board: Storyboard) -> dict[str, Any]:
    """Return the part of `story_data` about the inside of groups."""
    return {region or "": layout.to_dict() for region, layout in board.layouts.items()}


def flat_data(board: Storyboard, small: bool = True) -> dict[str, Any]:
    """Return `story_data` without the inside of groups."""
    details = _Details()
    story: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "title": board.title,
        "words": {"kinds": dict(KIND_WORDS), "states": STATE_WORDS | {"stale": STALE}},
    }
    story |= _drawing(board, details)
    for told, step in zip(story["steps"], board.steps, strict=True):
        told |= {
            "caption": clean(step.caption),
            "phase": step.phase,
            "cursor": native(step.cursor),
            "focus": step.focus,
        }
        told |= {"when": step.when} if step.when else {}
        told |= {"chapter": clean(step.chapter)} if step.chapter else {}
        told |= {"stands": step.stands} if step.stands > 1 else {}
        told |= {"place": step.place} if step.place is not None and board.folding.groups else {}
    boxes = board.scene.boxes.values()
    small = small and len(boxes) <= _FEW and any([box.brief is not None for box in boxes])
    if small and (board.density != "columns" or board.narrow.opened != board.opened):
        story["brief"] = _drawing(board.narrow, details)  # for a smaller window, and for a lecture hall
        story["brief"] |= _opened(board.narrow) | {"levels": levels_data(board.narrow)} if board.folding.groups else {}
    story["details"] = details.texts
    story |= {} if board.given_start is None else {"start": board.given_start}
    story |= {"legend": board.legend} if board.legend else {}
    story |= {"overlay": _overlay(board.overlay)} if board.overlay is not None else {}
    story |= {"curves": _curves(board.curves, board.steps)} if board.curves is not None else {}
    if board.has_rows:
        story |= {"rows": True, "opened": [id for id in board.scene.boxes if id in board.opened]}
    elif board.folding.groups:
        story |= {"levels": {}, "runs": board.runs} | _opened(board)
    return story


def _opened(board: Storyboard) -> dict[str, Any]:
    """Return which groups are open, and the order in which they open on a page."""
    opened, *order = ([id for id in board.scene.boxes if id in part] for part in (board.opened, *board.order))
    return {"opened": opened} | ({"order": order} if order else {})


def _drawing(board: Storyboard, details: _Details) -> dict[str, Any]:
    """Return the places and the looks of all that is drawn, and how they change with each step."""
    # A page closes the rows of a chart itself, so it gets their places when all are open.
    layout = chart_layout(board.scene) if board.has_rows else board.layout
    scene = board.copied(drawn=True)
    boxes = {id: box_fields(box, board.density) | {"details": details.numbers(box)} for id, box in scene.boxes.items()}
    arrows = {id: arrow_fields(arrow, scene, board.density) for id, arrow in scene.arrows.items()}
    drawing: dict[str, Any] = {
        "width": layout.width,
        "height": layout.height,
        "boxes": [
            {"id": id, "kind": scene.boxes[id].kind, "holder": scene.boxes[id].holder}
            | ({"refers": refers} if (refers := scene.boxes[id].refers) is not None else {})
            | ({"family": family} if (family := scene.boxes[id].family) else {})
            | ({"skips": skips} if (skips := scene.boxes[id].skips) else {})
            | _place(board, layout, id)
            | shown
            | _fold(board, id)
            for id, shown in boxes.items()
        ],
        "arrows": [
            {"id": id, "kind": arrow.kind, "source": arrow.source, "target": arrow.target}
            | (layout.arrows[id].to_dict() if id in layout.arrows else _UNSEEN)
            | arrows[id]
            for id, arrow in scene.arrows.items()
        ],
    }
    touching: dict[str, list[str]] = {}  # box -> the arrows whose description names it
    for arrow in scene.arrows.values():
        for end in (arrow.source, arrow.target):
            touching.setdefault(end, []).append(arrow.id)
    steps: list[dict[str, Any]] = []
    for step in board.steps:
        apply_step(scene, step)
        renamed = [id for id, change in step.boxes.items() if "title" in change]
        concerned = dict.fromkeys([*step.arrows, *(arrow for id in renamed for arrow in touching.get(id, ()))])
        now = {
            id: box_fields(scene.boxes[id], board.density)
            | {"details": details.numbers(scene.boxes[id]) if "details" in change else boxes[id]["details"]}
            for id, change in step.boxes.items()
            if id in boxes
        }
        then = {id: arrow_fields(scene.arrows[id], scene, board.density) for id in concerned if id in arrows}
        steps.append({"boxes": _changes(boxes, now), "arrows": _changes(arrows, then)})
    return drawing | {"steps": steps}


def _place(board: Storyboard, layout: Layout, id: str) -> dict[str, float]:
    """Return the initial place of a box; if it is hidden then, its size."""
    if id in layout.boxes:
        return layout.boxes[id].to_dict()
    width, height = board.sizes[0][id]
    return {"x": 0, "y": 0, "w": width, "h": height}


def _fold(board: Storyboard, id: str) -> dict[str, Any]:
    """Return what a box is nested in, and its closed size, if boxes are in groups."""
    region, instead, place = board.scene.boxes[id].region, board.scene.boxes[id].instead, {}
    if board.folding.groups:
        place = {"region": region} if region is not None else {}
        place |= {"instead": instead} if instead is not None else {}
        place |= {"size": list(board.sizes[0][id])} if id in board.folding.groups and not board.has_rows else {}
    return place


def _curves(curves: Curves, steps: Iterable[StoryStep]) -> dict[str, Any]:
    """Curves as a player gets them, with the digits that it tells; JSON has no number that is not finite."""
    short = [[each and float(f"{each:.4g}") for each in row] for row in curves.numbers.values()]
    rows = [[each if each is None or isfinite(each) else f"{each}" for each in row] for row in short]
    chapters = {clean(step.chapter) for step in steps}
    titles = {title: place for title, place in curves.told.items() if title in chapters}
    return {"names": [clean(name) for name in curves.numbers], "numbers": rows, "told": titles}


def _overlay(overlay: Overlay) -> dict[str, Any]:
    """Return the user's own numbers as a page gets them: with their texts, and with the swatches of their key."""
    rows = [
        [
            clean(title),
            id,
            *([number, f"{number:.4g}"] if isfinite(number) else [f"{number}"] * 2),
            overlay.tint(number),
        ]
        for title, id, number in overlay.rows
    ]
    return {"rows": rows, "said": overlay_said(overlay), "ends": ends_of(overlay), "tints": overlay.tints}


class _Details:
    """What clicks show: each section once, as the same code and values are shown at many boxes and steps."""

    def __init__(self) -> None:
        self.texts: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[int, int] = {}  # by identity: the storyboard keeps them all

    def numbers(self, box: Box) -> list[int]:
        """Return the numbers of a box's sections."""
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


def _changes(shown: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the fields that differ from what is shown, and update what is shown."""
    changes: dict[str, dict[str, Any]] = {}
    for id, fields in now.items():
        if different := {name: value for name, value in fields.items() if shown[id].get(name) != value}:
            changes[id] = different
            shown[id] = fields
    return changes
