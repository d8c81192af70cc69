"""A storyboard: one picture, laid out once, and the steps that change it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property
from math import prod
from numbers import Integral
from typing import Any

from .chart import closed_up, is_chart
from .folding import Folding
from .labels import box_fields
from .layout import Layout, LayoutUnavailable, chart_layout, laid_out
from .metric import clean
from .model import (
    AROUND,
    FOLDING,
    Arrow,
    Box,
    Curves,
    Density,
    Overlay,
    Scene,
    StoryStep,
    apply_step,
    groups_of,
    paths,
    with_changes,
)
from .player_data import story_data
from .region_layouts import RegionLayouts
from .sizes import Size, heading_size, in_group, label_size, larger, largest

NO_STEP = "There is no step {}; this {} has {}, counted from 0."
ROOM = (962, 558)  # px that a picture has in a notebook of 1440 × 900, beside the list of files
SMALL_ROOM = (570, 474)  # the same at 1024 × 768
LEGIBLE = 10 / 12  # of its own size, at which the smallest text of a picture is 10 px high
_LEAST = 3  # boxes that compute: a picture of fewer is whole only because it shows next to nothing
_NEARLY = 1.25  # times a small window: of a picture that isn't larger, most is in sight
_MANY = 60  # boxes that no window has room for with all that they tell
_BY_DENSITY = ("drawn_scene", "drawn_folding", "sizes", "layouts")  # what depends on how much boxes tell
_LONGEST_NORM = "norm 1.23e-05"


class PictureInside:
    """Another picture that boxes lead into, made on first use; `missing` is the text at a box that leads nowhere.

    It may be None. `leads` has by box the `when` of one of its steps, and the box that is meant there.
    """

    def __init__(
        self, make: Callable[[], tuple[Storyboard | None, Mapping[str, tuple[int, str]]]], missing: str
    ) -> None:
        self._make, self._missing = make, missing

    @cached_property
    def _made(self) -> tuple[Storyboard | None, Mapping[str, tuple[int, str]]]:
        return self._make()

    @property
    def story(self) -> Storyboard | None:
        """Return the picture."""
        return self._made[0]

    def to_dict(self, tell: Callable[[Storyboard], dict[str, Any]] | None) -> dict[str, Any]:
        """Return the storyboard as JSON-native values, with its story as `tell` gives it, if anything lays it out."""
        told: dict[str, Any] = {"leads": {}, "missing": self._missing}
        if tell is not None and self.story is not None:
            with suppress(LayoutUnavailable):
                told["story"] = tell(self.story)
                told["leads"] = {id: list(place) for id, place in self._made[1].items()}
        return told


class Storyboard:
    """What every format draws and the player plays: `scene` before all steps, then what each step changes.

    Without steps it is a still picture of `scene`. It is laid out once, on first use, so neither may change. It opens
    at the step `start`, counted from 0; by default at the last before the first backward. Formats that can't play show
    the step `still`, or another picture if `still` is one; the default is the same. The `legend` is one sentence that
    explains the picture; a picture of nothing has none.

    Of the groups with contents, those in `opened` are open; by default all are. Steps placed in one closed group are
    one step. `runs` has their joint caption, by group, from the first step to the last. `order` has the open groups in
    parts: a page with less room opens the first part, and as many of the others as fit. `curves` are next to the parts
    of the story; boxes may lead into `inside`. A page offers `tabs`, other pictures of the same by their names; None is
    this one.
    """

    def __init__(
        self,
        scene: Scene,
        steps: Iterable[StoryStep] = (),
        title: str = "",
        start: int | None = None,
        still: int | Storyboard | None = None,
        opened: Collection[str] | None = None,
        runs: Mapping[str, Sequence[tuple[int, int, str]]] | None = None,
        legend: str = "",
        order: Sequence[Collection[str]] = (),
        curves: Curves | None = None,
    ) -> None:
        self.scene, self.steps, self.curves = scene, list(steps), curves
        self.runs = {group: list(sentences) for group, sentences in (runs or {}).items()}
        self.given_start, self._still, self.legend = start, still, clean(legend) if scene.boxes else ""
        self._layout: Layout | None = None
        self._whole: Storyboard | None = None
        self._density: Density | None = None
        self.title = clean(title or scene.title)
        standing = {id for id, box in scene.boxes.items() if box.holder is None and box.kind not in AROUND}
        for box in scene.boxes.values():
            if box.holder is not None and box.holder not in standing:
                raise ValueError(f"Box {box.id!r} is attached to {box.holder!r}, which isn't in the scene.")
            if box.region is not None and getattr(scene.boxes.get(box.region), "kind", None) not in (
                "region",
                *FOLDING,
            ):
                raise ValueError(f"Box {box.id!r} is in {box.region!r}, which isn't a region or group of the scene.")
        standing |= {box.region for box in scene.boxes.values() if box.region is not None}  # an arrow ends at its frame
        hanging = standing | {id for id, box in scene.boxes.items() if box.holder is not None}
        for arrow in scene.arrows.values():
            for end in {arrow.source, arrow.target} - (hanging if arrow.kind == "same" else standing):
                raise ValueError(f"Arrow {arrow.id!r} ends at {end!r}, which isn't in the scene.")
        known = scene.boxes.keys() | scene.arrows.keys()
        for number, step in enumerate(self.steps):
            for strange in (step.boxes.keys() | step.arrows.keys()) - known:
                raise ValueError(f"Step {number} changes {strange!r}, which is not in the scene.")
            for id, change in step.boxes.items():
                if change.get("region", scene.boxes[id].region) != scene.boxes[id].region:
                    raise ValueError(
                        f"Step {number} moves box {id!r} into another group or region; a box stays where it is."
                    )
        self.inside: PictureInside | None = None
        self.overlay: Overlay | None = None
        self.tabs: dict[str, PictureInside | None] = {}
        self.opened = frozenset(groups_of(scene) if opened is None else opened)
        self.order = [frozenset(part) for part in order]

    @cached_property
    def folding(self) -> Folding:
        """Return what the text form says while the groups of `opened` are open."""
        return Folding(self.scene, self.opened)

    @cached_property
    def density(self) -> Density:
        """Return how much the boxes tell: no more than a notebook's window has room for."""
        if self._density is not None:
            return self._density
        try:
            fitting = self._fitting()
        except LayoutUnavailable:  # it can still be told in words
            return "full"
        self._layout = fitting._layout
        self.__dict__ |= {name: fitting.__dict__[name] for name in _BY_DENSITY if name in fitting.__dict__}
        return fitting.density

    def _fitting(self) -> Storyboard:
        """Return a copy of the density that fits, with what was found of it."""
        told = [box for box in self.scene.boxes.values() if box.brief is not None and box.kind != "group"]
        full = self.with_density("full")
        if not told or (len(told) <= _MANY and full.fits()):
            return full
        rows = self.with_density("rows")
        wide, low = rows.layout.width > ROOM[0] / LEGIBLE, rows.layout.height < ROOM[1] / LEGIBLE
        return self.with_density("columns") if wide and low else rows

    @cached_property
    def drawn_scene(self) -> Scene:
        """Return `scene` without what is only told: where boxes are brief, what built-in operations saved."""
        if self.density == "full":
            return self.scene
        boxes = self.scene.boxes
        wrong = {id for step in self.steps for id, change in step.boxes.items() if change.get("state") == "error"}
        chips = {box.id for box in boxes.values() if box.kind == "saved" and box.holder is not None}
        chips -= wrong | {id for id in chips if boxes[id].state == "error"}
        gone = {id for id in chips if boxes[boxes[id].holder or ""].kind != "function"}
        arrows = {a.id: a for a in self.scene.arrows.values() if gone.isdisjoint((a.source, a.target))}
        return Scene(self.scene.title, {id: box for id, box in boxes.items() if id not in gone}, arrows)

    @cached_property
    def drawn_folding(self) -> Folding:
        """Return what is drawn while the groups of `opened` are open."""
        return Folding(self.drawn_scene, self.opened) if self.density != "full" else self.folding

    def fits(self) -> bool:
        """Return True if all of the picture can be read in a notebook's window."""
        return all(own <= room / LEGIBLE for own, room in zip(self.layout.size, ROOM, strict=True))

    @cached_property
    def narrow(self) -> Storyboard:
        """Return the picture for a small window: in narrow boxes, with as many groups open as it has room for.

        Rather than close all that there is to see, it is a little larger than the window. Without an order, all that is
        open was asked for and stays so.
        """
        board, around, parts = self.with_density("columns"), paths(self.scene), self.order
        if not parts:
            return board
        ways = [frozenset[str]().union(*parts[:n]) for n in range(len(parts), 0, -1)]
        while ways[-1]:
            deepest = max(len(around[id]) for id in ways[-1])
            ways.append(frozenset(id for id in ways[-1] if len(around[id]) < deepest))
        boards: list[Storyboard] = []
        for opened in dict.fromkeys(ways):  # a layout takes time: of those that fit, the first has the most open
            boards.append(board.with_open(opened))
            if boards[-1]._computing() >= _LEAST and boards[-1]._too_large() == 1:
                break
        seen = min([each for each in boards if each._computing() >= _LEAST] or boards, key=Storyboard._too_large)
        whole = min(boards, key=Storyboard._too_large)
        found = whole if whole._too_large() == 1 and seen._too_large() > _NEARLY else seen
        return found.with_order([found.opened, *(part - found.opened for part in parts)])

    def _too_large(self) -> float:
        """Return how many small windows it takes to see all of it; 1 if it fits into one."""
        return prod(max(1.0, own * LEGIBLE / room) for own, room in zip(self.layout.size, SMALL_ROOM, strict=True))

    def _computing(self) -> int:
        """Return the number of boxes in sight that compute something."""
        boxes = self.drawn_folding.seen(self.drawn_scene).boxes.values()
        return sum(box.kind in ("op", "function", "plain", "group") for box in boxes)

    def with_boxes(
        self, change: Callable[[Box], Box], changes: Callable[[str, dict[str, Any]], dict[str, Any]]
    ) -> Storyboard:
        """Return the same picture with other boxes, and other changes of the box of an id in its steps."""
        boxes = {id: change(box) for id, box in self.scene.boxes.items()}
        steps = [
            replace(step, boxes={id: changes(id, change) for id, change in step.boxes.items()}) for step in self.steps
        ]
        still = self._still.with_boxes(change, changes) if isinstance(self._still, Storyboard) else self._still
        scene, more = (
            Scene(self.scene.title, boxes, self.scene.arrows),
            (self.runs, self.legend, self.order, self.curves),
        )
        made = Storyboard(scene, steps, self.title, self.given_start, still, self.opened, *more)
        made.inside, made.tabs, made.overlay = self.inside, self.tabs, self.overlay
        return made

    def with_open(self, opened: Collection[str]) -> Storyboard:
        """Return the same picture with these groups open at first."""
        if self._density is not None:
            self.sizes  # noqa: B018  (found once for all of them)
        return self._copy_without("folding", "drawn_folding", opened=frozenset(opened))

    def with_density(self, density: Density) -> Storyboard:
        """Return the same picture with boxes that tell so much."""
        return self._copy_without("density", *_BY_DENSITY, _density=density)

    def _copy_without(self, *found: str, **fields: Any) -> Storyboard:
        """Return a copy with other values of some fields, that computes these properties again."""
        other = copy(self)
        other._layout = None
        for name in (*found, "narrow"):
            other.__dict__.pop(name, None)
        other.__dict__.update(fields)
        return other

    def with_order(self, order: Sequence[Collection[str]]) -> Storyboard:
        """Return the same picture with the order in which its groups open on a page."""
        made = copy(self)
        made.__dict__.pop("narrow", None)
        made.order = [frozenset(part) for part in order]
        return made

    @property
    def start(self) -> int:
        """Return the step a player opens at: the given one, the last before the first backward, the last, or -1."""
        if self.given_start is not None:
            return self.given_start
        phases = [step.phase for step in self.steps]
        if "backward" in phases:
            return max(0, phases.index("backward") - 1)
        return len(phases) - 1

    @property
    def still(self) -> int:
        """Return the step for readers without a player: the given one, or the one a player opens at."""
        return self._still if isinstance(self._still, int) else self.start

    def shown(self, k: int | None = None) -> tuple[Storyboard, int]:
        """Return the picture of step k and its number there; None selects what a still shows."""
        if k is None and isinstance(self._still, Storyboard):
            return self._still.shown()
        if k is not None and not isinstance(k, Integral):
            raise TypeError(f"`step` is the number of a step, counted from 0, but got {k!r}.")
        return self, self.still if k is None else k

    def chapter(self, k: int | None = None) -> str:
        """Return the title of the part that step k is in; empty if the story has no parts."""
        board, k = self.shown(k)
        return next((step.chapter for step in reversed(board.steps[: k + 1]) if step.chapter), "")

    @property
    def layout(self) -> Layout:
        """Return all places, with room for the largest text of every step."""
        if self._layout is None:
            boxes, labels = self.sizes
            seen = self.drawn_folding.seen(self.drawn_scene)
            if self.has_rows:
                self._layout = chart_layout(closed_up(self.scene, seen))
                return self._layout
            boxes = boxes | {id: heading_size(box_fields(seen.boxes[id])["title"]) for id in self.folding.frames}
            hidden = {id for id, arrow in seen.arrows.items() if arrow.target != self.scene.arrows[id].target}
            labels = {id: self._label_size(labels, id, id in hidden) for id in seen.arrows}
            self._layout = laid_out(seen, boxes, labels)
        return self._layout

    @property
    def has_rows(self) -> bool:
        """Return True if it is a chart whose rows can be closed."""
        return bool(self.folding.groups) and is_chart(self.scene)

    def _label_size(self, labels: Mapping[str, Size], id: str, hidden: bool) -> Size:
        """Return the size of the largest label of a visible arrow, whose own target may be hidden in a group."""
        members = self.folding.members.get(id, [id])
        largest = larger(*[labels[in_group(each) if hidden else each] for each in members])
        if not self.folding.has_several(self.scene, id):
            return largest
        norm = larger(label_size(_LONGEST_NORM), label_size(f"{len(members)} gradients"))
        largest = larger(*[labels[in_group(each)] for each in members])
        # What ends the way, or below the norm why it is pale.
        if self.scene.arrows[id].kind == "cut" or largest[1] > norm[1]:
            return larger(norm, largest)
        return norm

    @cached_property
    def sizes(self) -> tuple[dict[str, Size], dict[str, Size]]:
        """Return the size of every closed box, and of every arrow label, that holds its largest text."""
        return largest(self.scene, self.steps, self.density)

    @cached_property
    def layouts(self) -> RegionLayouts:
        """Return each group, and the whole, laid out on its own with all groups in it closed."""
        return RegionLayouts(self.drawn_scene, *self.sizes, self._whole.layouts if self._whole is not None else None)

    @property
    def stops(self) -> list[tuple[int, int, str]]:
        """Return the steps as a reader sees them: the first and last of those that are one, and their text."""
        return stops(self.steps, self.folding, self.runs)

    @layout.setter
    def layout(self, layout: Layout) -> None:
        self._layout = layout

    def take_layout_of(self, whole: Storyboard, labels: Mapping[str, Size] | None = None) -> None:
        """Take the layout, density and sizes of `whole`, which contains this; `labels` have another size here."""
        self.density = self._density = whole.density
        self.layout, self.sizes, self._whole = (
            whole.layout,
            (whole.sizes[0], {**whole.sizes[1], **(labels or {})}),
            whole,
        )

    def at(self, k: int | None = None, drawn: bool = False) -> Scene:
        """Return the visible scene after steps 0 to k; -1 is before all steps, None is what a still picture shows.

        It has all boxes, or only those that are `drawn`.
        """
        board, k = self.shown(k)
        if board is not self:
            return board.at(k, drawn)
        if not -1 <= k < len(self.steps):
            raise IndexError(NO_STEP.format(k, "storyboard", len(self.steps)))
        scene = self.copied(drawn)
        for step in self.steps[: k + 1]:
            apply_step(scene, step)
        if drawn and self.density != "full":  # before several arrows become one
            scene.arrows = {id: shortened(arrow) for id, arrow in scene.arrows.items()}
        # Where rows are closed, the layout knows where the others stand.
        return (self.drawn_folding if drawn else self.folding).seen(scene)

    def copied(self, drawn: bool) -> Scene:
        """Return a copy of the scene before all steps, with all boxes or only those that are `drawn`."""
        scene = self.drawn_scene if drawn else self.scene
        return Scene(self.title, dict(scene.boxes), dict(scene.arrows))

    def to_dict(self, small: bool = True) -> dict[str, Any]:
        """Return the storyboard as JSON-native values, laid out and with its texts fitted, as the player gets it.

        It has what a `small` window shows of it too.
        """
        return story_data(self, small)


def stops(
    steps: Sequence[StoryStep], folding: Folding, runs: Mapping[str, Sequence[tuple[int, int, str]]]
) -> list[tuple[int, int, str]]:
    """Return the steps as a reader sees them: the first and last of those in one closed group, and the words."""
    captions = {(group, first, last): caption for group, several in runs.items() for first, last, caption in several}
    stops: list[tuple[int, int, str]] = []
    last = None
    for number, step in enumerate(steps):
        group = folding.visible_box.get(step.place) if step.place is not None else None
        if group is not None and group == last and group != step.place and not step.chapter:
            first, _, _ = stops.pop()
            stops.append((first, number, captions.get((group, first, number), step.caption)))
        else:
            stops.append((number, number, step.caption))
        last = group
    return stops


def shortened(arrow: Arrow) -> Arrow:
    """Return an arrow with the label that it has where boxes have one line."""
    if arrow.short is None:
        return arrow
    label, brief = arrow.short
    return with_changes(arrow, {"label": label, "brief": brief, "short": None})
