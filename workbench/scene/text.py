"""The text face: what the picture shows, in lines that read well aloud and compare well in a test."""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable

from .geometry import clean, cut
from .labels import KIND_WORDS, state_words
from .model import AROUND, PANELS, WITHIN, Arrow, Box, Scene, paths
from .storyboard import Storyboard

_WIDEST = 120  # columns of one line of the graph
_LONGEST_CAPTION, _LONGEST_SENTENCE = 300, 1000
_DEEPEST, _LONGEST = 14, 80  # levels and lines of the graph
_FIRST, _LAST = 16, 6  # steps told when there are too many to tell all


def to_text(storyboard: Storyboard) -> str:
    """The title, the legend, the graph from its outputs to its leaves as a still shows it, and what every step does."""
    lines = [each for each in (storyboard.title, storyboard.legend) if each]
    lines += _opening_lines(storyboard)
    if len(storyboard.steps) > 1:
        lines += ["", *_step_lines(storyboard)]
    return "\n".join(lines)


def to_sentence(storyboard: Storyboard) -> str:
    """The title and the graph as one running text: what is read aloud in place of an image."""
    graph = "; ".join(line.strip("│├└─╌ ") for line in _opening_lines(storyboard))
    return cut(f"{storyboard.title}: {graph}" if storyboard.title else graph, _LONGEST_SENTENCE)


def _opening_lines(storyboard: Storyboard) -> list[str]:
    """The graph as a still picture shows it; of one that stays empty, why."""
    board, k = storyboard.shown()
    if not board.scene.boxes and board.steps:
        return [clean(board.steps[k].caption)]
    return graph_lines(board.at(k))


def graph_lines(scene: Scene) -> list[str]:
    """The graph as a tree: the outputs first, and under each box what it was made from, in order."""
    there = {id: box for id, box in scene.boxes.items() if box.state != "future"}
    if any(box.place for box in scene.boxes.values()):
        return chart_lines(there.values())
    made_from: defaultdict[str, list[Arrow]] = defaultdict(list)
    saved: defaultdict[str, list[Box]] = defaultdict(list)
    used: set[str] = set()
    for box in there.values():
        if box.holder is not None:
            saved[box.holder].append(box)
    for arrow in scene.arrows.values():
        if arrow.state == "future" or arrow.source not in there or arrow.target not in there:
            continue
        if arrow.kind == "beside" and there[arrow.target].kind == "tangent":
            saved[arrow.source].append(there[arrow.target])
        elif arrow.kind in ("edge", "constant"):
            made_from[arrow.target].append(arrow)
            used.add(arrow.source)
    standing = [box for box in there.values() if box.holder is None and box.kind not in (*AROUND, "tangent")]
    levels = [_named(box) for box in there.values() if box.kind == "level"]
    lines = [_line(f"Levels: {' '.join(levels)}")] if levels else []
    for panel in [box for box in standing if box.kind in PANELS]:
        note = textwrap.wrap(clean(panel.note), _WIDEST - 2)
        lines += [_line(f"{panel.title}:"), *[_line(f"  {line}") for line in (*note, *panel.lines)]]
    standing = [box for box in standing if box.kind not in PANELS]
    told: set[str] = set()
    # (box, the arrow that led to it, how its line begins, how the lines below it begin, its level)
    todo: list[tuple[Box, Arrow | None, str, str, int]]
    todo = [(box, None, "", "", 0) for box in reversed(standing) if box.id not in used]
    while todo and len(lines) < _LONGEST:
        box, arrow, begin, below, level = todo.pop()
        again = box.id in told
        lines.append(_line(begin + _named(box, again) + _passed(arrow)))
        told.add(box.id)
        if again:
            continue
        above, chips = made_from[box.id], saved[box.id]
        if above and level == _DEEPEST:
            lines[-1] += " …"
            above = []
        for n, chip in enumerate(chips, 1):
            lines.append(_line(f"{below}{'├╌' if above or n < len(chips) else '└╌'} {_named(chip)}"))
        for n, arrow in reversed(list(enumerate(above))):
            last = n == len(above) - 1
            ends = (below + "└─ ", below + "   ") if last else (below + "├─ ", below + "│  ")
            todo.append((there[arrow.source], arrow, *ends, level + 1))
    if left := len(standing) - len(told):
        lines.append(f"… and {left} more {'box' if left == 1 else 'boxes'}")
    around = paths(scene)
    for region in [box for box in there.values() if box.kind == "region"]:
        inside = [box.title for box in standing if box.region == region.id]
        titles = [scene.boxes[id].title for id in (*around[region.id], region.id)]
        lines += [_line(f"{WITHIN.join(titles)}: {', '.join(inside)}")] if inside else []
    return lines or ["(nothing yet)"]


def chart_lines(boxes: Iterable[Box]) -> list[str]:
    """A chart's boxes one a line, as far as they say something; the numbers of a heat map are its heading's to tell."""
    told = [box for box in boxes if box.kind not in ("cell", "tick") and (box.title or box.alt)]
    lines = [
        _line(": ".join(filter(None, (box.alt or box.title, "" if box.alt else ", ".join(box.lines))))) for box in told
    ]
    if len(lines) > _LONGEST:
        lines[_LONGEST:] = [f"… and {len(lines) - _LONGEST} more"]
    return lines or ["(nothing yet)"]


def _named(box: Box, again: bool = False) -> str:
    kind = KIND_WORDS[box.kind] if box.kind not in ("op", "saved", "tangent", "level") else ""
    said = ", ".join(part for part in (kind, box.note, state_words(box), "see above" if again else "") if part)
    saved = "saved " if box.kind == "saved" and not box.title.startswith("saved") else ""
    name = f"{saved}{box.title} ({said})" if said else f"{saved}{box.title}"
    return name if again or not box.lines else f"{name}: {', '.join(box.lines)}"


def _passed(arrow: Arrow | None) -> str:
    if arrow is None or not arrow.label:
        return ""
    label = ", ".join(arrow.label.splitlines())
    return f"; gives {label}" if arrow.state == "idle" else f"; gets the gradient {label}"


def _line(text: str) -> str:
    return cut(clean(text), _WIDEST).rstrip()


def _step_lines(storyboard: Storyboard) -> list[str]:
    stops = storyboard.stops
    phases = [storyboard.steps[end].phase for _, end, _ in stops]
    counts = Counter(phase if phase in ("backward", "update") else "forward" for phase in phases)
    *others, last = [f"{counts[phase]} {phase}" for phase in ("forward", "backward", "update") if counts[phase]]
    parts = f", {', '.join(others)} and {last}" if others else ""
    board, k = storyboard.shown()
    after = sum(begin <= k for begin, _, _ in stops)
    part = f", in {storyboard.chapter()}" if storyboard.chapter() else ""
    shown = f"; the graph is shown after step {after}{part}" if board is storyboard else ""
    lines = [f"{len(stops)} steps{parts}{shown}:"]
    room = len(str(len(stops)))
    told = [f"{n:>{room}}. {cut(clean(caption), _LONGEST_CAPTION)}" for n, (_, _, caption) in enumerate(stops, 1)]
    if len(told) > _FIRST + _LAST + 1:
        told[_FIRST:-_LAST] = [f"… {len(told) - _FIRST - _LAST} more steps …"]
    return lines + told
