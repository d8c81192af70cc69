"""The picture model: boxes, arrows, and the steps that change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite, log10
from operator import attrgetter
from typing import Any, Literal, TypeVar

BoxKind = Literal[
    "function",
    "op",
    "plain",
    "leaf",
    "constant",
    "group",
    "input",
    "output",
    "saved",
    "tangent",
    "returned",
    "level",
    "region",
    "cell",
    "bar",
    "ghost",
    "event",
    "text",
    "heading",
    "line",
    "frame",
    "name",
    "story",
    "tick",
    "plot",
]
BoxState = Literal[
    "future", "coming", "idle", "pending", "ready", "running", "done", "freed", "over", "differs", "error"
]
# How much boxes tell: all that they can; one line each; or the same, with the facts of a group below its title.
Density = Literal["full", "rows", "columns"]
# What a model is built of: a strip of color on the boxes of such operations and modules.
Family = Literal["", "convolution", "norm", "activation", "attention", "loss"]
ArrowKind = Literal["edge", "constant", "cut", "tangent", "beside", "same"]
ArrowState = Literal["future", "idle", "flowing", "done"]
ArrowTone = Literal["", "plus", "minus", "mixed", "faint", "odd", "bad"]
ArrowSum = tuple[int, str, int, ArrowTone, float | None]  # of how many: the label, weight, tone and norm of their sum

AROUND = ("level", "region")  # the kinds of boxes that no arrow leads to
ASIDE = ("tangent", "returned")  # the kinds that stand next to what they belong to
REMARKABLE = ("odd", "bad")  # the tones of gradients that are zero, tiny or huge, or not finite
LOOSE = ("beside", "same")  # the kinds of arrows that bring nothing into a box: a dotted line without a head
# The kinds with a given place: a heat map's cell, a chart's bar and the one it is compared with, a mark on
# a timeline, text without a frame, bold or in the lines of a program, a frame around others, the name of a row, text in
# large letters, and a label of an axis.
PLACED = ("cell", "bar", "ghost", "event", "text", "heading", "line", "frame", "name", "story", "tick")
UNTOLD = ("cell", "name", "tick")  # those that a text leaves out: a box beside them tells the same
FOLDING = ("group", "name")  # those that can be closed, if boxes lie in them
PANELS = ("frame", "story")  # those that are read line by line
WITHIN = " › "  # in the title of a region, between what it lies in and its own name
FORMAT = "workbench-storyboard"
VERSION = 1


@dataclass(slots=True)
class Detail:
    """One section of what a click on a box shows: a heading over code, a sentence, a link or an array's value."""

    heading: str
    kind: Literal["code", "text", "link", "value"]
    body: Any  # str, or for "link" {"text", "href"}, for "value" {"name", "shape", "dtype", "text", "norm"}


@dataclass(frozen=True, slots=True)
class Plot:
    """A function's curve, and its tangent at one point; points are (x, y) from 0 to 1, y growing upwards.

    The curve is in several runs if the function has no finite value between them. `ends` are the numbers at the left,
    the right, the lower and the upper end.
    """

    runs: tuple[tuple[tuple[float, float], ...], ...]
    ends: tuple[str, str, str, str]
    at: tuple[float, float] | None = None
    tangent: tuple[tuple[float, float], ...] = ()


@dataclass(slots=True)
class Box:
    """A thing in the picture; a box with a `holder` is attached to that box (a saved tensor to its node).

    In a chart every box has a `place`: (x, y, width, height) in px. Its `shade`, from -4 to 4, shows how far a number
    is below or above zero. Elsewhere the layout places the boxes.

    A box of the kind "plot" shows its `plot` below its title and its line.

    Activating a box with a `goto`, the number of a step from 0, opens that step in a player.

    In a chart, the "name" of a row can be closed like a group. Then the rows that name it as their `region` are hidden,
    and those below move up. A box that is there `instead` of such a row's contents is visible while the row is closed.

    A box of the kind "region" is drawn around those that name it as their `region`, and may be inside another. The same
    applies to the kind "group", which can be closed: then it is one box with its lines, and hides its contents. Boxes
    of the kind "level" are in a separate strip above the picture, in order. A `note` is only for the box's text
    version. The `unsaid` part of its lines is for hovering and for screen readers.

    A box that `refers` to another represents it, small, where it is used; in a chart, activating it opens the other.
    One of the kind "story" is about the box that it refers to, and is next to all others at that box's height.

    Where there is no room for all of its lines, it has only the `brief` ones: the first, its shape or number, is behind
    its title. A closed group has no more in any picture; its second is what it holds.

    With a `tint`, from -3 to 3 or "odd", it has the color of a number that the user gave for it; see `Overlay`.

    A box of a `family` has a strip in its color at the left. A closed group with `skips`, values that lead past what it
    holds to its end, has a line around its right side.
    """

    id: str
    kind: BoxKind
    title: str
    lines: tuple[str, ...] = ()
    state: BoxState = "idle"
    holder: str | None = None
    region: str | None = None
    place: tuple[float, float, float, float] | None = None
    shade: int = 0
    alt: str = ""
    details: tuple[Detail, ...] = ()
    goto: int | None = None
    note: str = ""
    unsaid: str = ""
    refers: str | None = None
    plot: Plot | None = None
    instead: str | None = None
    brief: tuple[str, ...] | None = None
    family: Family = ""
    skips: int = 0
    tint: int | Literal["odd"] | None = None


@dataclass(slots=True)
class Arrow:
    """A value's path down from the box that made it (source) to the one using it (target); gradients flow up along it.

    Tangents have separate arrows; an arrow of the kind "beside" leads from a box to its tangent's, at its side. One of
    the kind "cut" brings data without a gradient path: it has a mark in its middle. One of the kind "same" joins boxes
    with the same memory, say a tensor and where it is saved; it moves no box.

    The arrows into one box are in the order of its arguments. A label may have several lines (`\\n`). With a `weight`
    from 1 to 4, the arrow is as wide as its gradient is large, and has the color of its `tone`. A `note` is only for
    its text version.

    The `norm` is that of its gradient, if it is finite. `together` is the label of one arrow for all those from its
    source that brought a gradient in one backward pass; the last of them has it. By group, `within` is the same for
    those that lead into the group: if several have it, the one for the most arrows is right. `brief` is the label if
    the target is hidden in a closed group and the label differs: it leaves out the hidden formula. `short` are the
    label and this one where boxes have one line.
    """

    id: str
    source: str
    target: str
    kind: ArrowKind = "edge"
    label: str = ""
    state: ArrowState = "idle"
    weight: int = 0
    tone: ArrowTone = ""
    alt: str = ""
    note: str = ""
    norm: float | None = None
    together: ArrowSum | None = None
    within: dict[str, ArrowSum] | None = None
    brief: str | None = None
    short: tuple[str, str | None] | None = None


@dataclass(slots=True)
class Scene:
    """One moment's picture, without positions."""

    title: str = ""
    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: dict[str, Arrow] = field(default_factory=dict)


@dataclass(slots=True)
class StoryStep:
    """What changes at one stop of the player: per box and arrow only the fields that differ from before."""

    caption: str
    phase: str = "forward"  # a word that a player shows; it opens before the first "backward"
    cursor: dict[str, Any] | None = None  # {"file", "line", "text"} of the user's code
    focus: str | None = None  # the box the step is about
    boxes: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrows: dict[str, dict[str, Any]] = field(default_factory=dict)
    place: str | None = None  # a box: steps in one closed group are one step
    stands: int = 1  # the steps that it stands for, all but itself left out
    chapter: str = ""  # of the first step of a part: its title, for example a training step's
    when: int = 0  # a number that grows from step to step: where the same moment is in the inside of a box


@dataclass(frozen=True, slots=True)
class Curves:
    """Numbers that all parts of a story share, even those left out: the losses of a training run's steps."""

    numbers: Mapping[str, tuple[float | None, ...]]  # by name; None where a part has none
    told: Mapping[str, int]  # the title of each part that is shown -> its place among the numbers


@dataclass(frozen=True, slots=True)
class Overlay:
    """Numbers of the user's own for boxes, which color them: (title, box, number), in the order that they were given.

    `low` and `high` are the ends of the scale, None if no number is finite. A scale with `signs` has no color at 0; one
    that is `logarithmic` has as many colors for each power of ten.
    """

    rows: tuple[tuple[str, str, float], ...]
    low: float | None
    high: float | None
    signs: bool = False
    logarithmic: bool = False

    def tint(self, number: float) -> int | Literal["odd"]:
        """Return the color of a number, as a box has it."""
        if self.low is None or self.high is None or not isfinite(number):
            return "odd"
        if self.signs:
            return round(TINTS * (number / max(-self.low, self.high)))
        low, high, sign = (self.low, self.high, 1) if self.high > 0 or self.low == 0 else (-self.high, -self.low, -1)
        if low == high:
            return sign * 2
        number, low, high = (log10(each) if self.logarithmic else each for each in (abs(number), low, high))
        return sign * min(TINTS, int((TINTS + 1) * (number - low) / (high - low)))

    @property
    def tints(self) -> list[int]:
        """Return all colors of the scale, from the low end to the high one."""
        if self.low is None or self.high is None:
            return []
        if self.signs:
            return [*range(-TINTS, TINTS + 1)]
        return [*range(TINTS + 1)] if self.high > 0 or self.low == 0 else [*range(-TINTS, 1)]


TINTS = 3  # colors of numbers above 0, and as many below

Thing = TypeVar("Thing", Box, Arrow)
_FIELDS = {kind: [each.name for each in fields(kind)] for kind in (Box, Arrow)}
_VALUES = {kind: attrgetter(*names) for kind, names in _FIELDS.items()}


def with_changes(before: Thing, changes: Mapping[str, Any]) -> Thing:
    """Return a copy with these fields changed, several times as fast as `dataclasses.replace`."""
    kind = type(before)
    after = kind(*_VALUES[kind](before))
    for name, value in changes.items():
        setattr(after, name, value)
    return after


def apply_step(scene: Scene, step: StoryStep) -> None:
    """Apply the changes of a step, as far as they are about what is in the scene."""
    for id, change in step.boxes.items():
        if id in scene.boxes:
            scene.boxes[id] = with_changes(scene.boxes[id], change)
    for id, change in step.arrows.items():
        if id in scene.arrows:
            scene.arrows[id] = with_changes(scene.arrows[id], change)


def changed(before: Box | Arrow, after: Box | Arrow) -> dict[str, Any]:
    """Return the fields of `after` that differ from `before`, by name."""
    if before is after:
        return {}
    return {
        name: value
        for name in _FIELDS[type(after)]
        if (value := getattr(after, name)) is not (old := getattr(before, name)) and value != old
    }


def groups_of(scene: Scene) -> set[str]:
    """Return the groups that hold something, and so can be opened."""
    return {
        box.region for box in scene.boxes.values() if box.region is not None and scene.boxes[box.region].kind in FOLDING
    }


def paths(scene: Scene) -> dict[str, list[str]]:
    """Return the groups and regions around each box, the outermost first."""
    # A box's attachments and neighbors are in the groups and regions of the box.
    home = {id: box.holder for id, box in scene.boxes.items() if box.holder is not None}
    for arrow in scene.arrows.values():
        if arrow.kind == "beside" and scene.boxes[arrow.target].kind in ASIDE:
            home[arrow.target] = arrow.source
    found: dict[str, list[str]] = {}
    for id in scene.boxes:
        path: list[str] = []
        at = scene.boxes[home.get(id, id)].region
        while at is not None:
            path.append(at)
            at = scene.boxes[at].region
        found[id] = path[::-1]
    return found
