"""A picture of why a gradient is what it is: the path from the loss to the tensor, and where it is cut or lost."""

from __future__ import annotations

import textwrap
from dataclasses import replace

from ...diagnosis.health.inquiry import Answer
from ..scene.metric import CHARACTER, columns
from ..scene.model import AROUND, Arrow, Box, Scene, StoryStep
from ..scene.storyboard import Storyboard
from ..trace.frame import Frame, Key
from ..trace.timeline import Timeline
from .graph import Graph
from .player_steps import cursor_at

LEGEND = "Values flow down the arrows; gradients flow back up, from the loss to the tensors it was computed from."
_MARKED = "Values flow down and gradients flow up; a cross marks where the gradient stops or goes wrong."
_STORY = "story"
_COLUMNS = 64  # of the story's lines
_ENDS = 6  # places of a long way that are drawn at each of its ends


def why_story(trace: Timeline, answer: Answer) -> Storyboard:
    """Return a picture of the marked places and the path to them; without a path, only the sentences."""
    title = answer.sentences[0].partition(":")[0].replace("`", "") if answer.sentences else "Gradient"
    frame = trace.frame(len(trace.events))
    ways = [kept for kept in (_shortened(answer.way, answer), _shortened(answer.behind, answer)) if kept]
    if not ways:
        return _in_words(title, answer)
    boxes, arrows = _drawn(trace, frame, {place for way in ways for place in way})
    for way, whole in zip(ways, [each for each in (answer.way, answer.behind) if each], strict=True):
        _join(boxes, arrows, way, whole)
    if answer.way and answer.behind and answer.cut:
        _cut(boxes, arrows, answer)
    lights = [place for place in answer.marks if place in boxes]
    for place in lights:
        box = boxes[place]
        boxes[place] = replace(box, state="error", lines=(*box.lines, answer.marks[place]))
    focus = lights[0] if lights else None
    boxes[_STORY] = Box(_STORY, "story", "Why", tuple(_wrapped(answer.text)), refers=focus)
    source = None if focus is None or focus not in frame.nodes else frame.nodes[focus].made.source
    step = StoryStep(" ".join(answer.sentences), "backward", cursor_at(source), focus)
    return Storyboard(Scene(title, boxes, arrows), [step], title, start=0, legend=_MARKED if lights else LEGEND)


def _in_words(title: str, answer: Answer) -> Storyboard:
    """Return only the sentences."""
    lines = _wrapped(answer.text)
    boxes = {
        f"line{n}": Box(f"line{n}", "text", line, place=(0.0, 20.0 * n, columns(line) * CHARACTER + 8, 20.0))
        for n, line in enumerate(lines)
    }
    return Storyboard(Scene(title, boxes), [StoryStep(" ".join(answer.sentences))], title)


def _shortened(way: list[str], answer: Answer) -> list[str]:
    """Return the ends of a path, and what is marked."""
    last = len(way) - _ENDS
    return [place for at, place in enumerate(way) if at < _ENDS or at >= last or place in answer.marks]


def _drawn(trace: Timeline, frame: Frame, places: set[str]) -> tuple[dict[str, Box], dict[str, Arrow]]:
    """Return the boxes of places and the arrows between them, as a graph draws them, without saved tensors."""
    for place in places - frame.nodes.keys():
        if frame.tensors[place].role is None:
            frame.play_part(place, "leaf")
    edges = [f"{node}.{at}" for node in places & frame.nodes.keys() for at in range(len(frame.nodes[node].made.edges))]
    between = [Key("edge", id) for id in edges if id in frame.edges and frame.edges[id].source in places]
    own = [Key("node" if place in frame.nodes else "tensor", place) for place in sorted(places)]
    drawn, joined = Graph(trace.events).draw(frame, [*own, *between])
    boxes = {box.id: box for box in drawn if box.holder is None and box.kind not in AROUND}
    boxes = {id: replace(box, region=None, state="idle") for id, box in boxes.items()}
    arrows = {arrow.id: arrow for arrow in joined if arrow.kind != "same"}
    return boxes, {id: each for id, each in arrows.items() if {each.source, each.target} <= boxes.keys()}


def _join(boxes: dict[str, Box], arrows: dict[str, Arrow], way: list[str], whole: list[str]) -> None:
    """Highlight the arrows of a path, and lead one past the places that are left out."""
    at = {place: number for number, place in enumerate(whole)}
    for above, below in zip(way[1:], way, strict=False):  # values go down from the one that gradients come to later
        left = at[above] - at[below] - 1
        if above in boxes and below in boxes and left:
            label = f"{left:,} more node{'s' * (left > 1)}"
            arrows[f"{below}.to.{above}"] = Arrow(f"{below}.to.{above}", above, below, label=label)


def _cut(boxes: dict[str, Box], arrows: dict[str, Arrow], answer: Answer) -> None:
    """Lead from the far side of a cut to this one, with the mark of a cut, unless the graph has that arrow."""
    above, below = answer.behind[0], answer.way[-1]
    if above in boxes and below in boxes:
        arrows["cut"] = Arrow("cut", above, below, "cut", answer.cut or "no gradient")


def _wrapped(text: str) -> list[str]:
    rows = [textwrap.wrap(row, _COLUMNS, subsequent_indent="\u00a0\u00a0") for row in text.split("\n")]
    return [line for row in rows for line in row]
