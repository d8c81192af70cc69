"""The faces in text: lines that read well aloud and compare well in a test, and graphs for other tools that draw them.

These are DOT, as text or as an object of the `graphviz` package, and Mermaid.
"""

# graphviz has no types of its own; its subgraph() without a graph is a context manager.
# pyright: reportUnknownMemberType=false, reportOptionalContextManager=false
from __future__ import annotations

import json
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from math import isfinite
from typing import TYPE_CHECKING

from .labels import FREED, KIND_WORDS, TENSORS, arrow_fields, box_fields, overlay_said, state_words
from .metric import clean, cut
from .model import AROUND, ASIDE, LOOSE, PANELS, PLACED, UNTOLD, WITHIN, Arrow, Box, Curves, Overlay, Scene, paths
from .storyboard import Storyboard
from .theme import Theme, theme_named

if TYPE_CHECKING:
    import graphviz  # pyright: ignore[reportMissingTypeStubs]

_WIDEST = 120  # columns of one line of the graph
_LONGEST_WORD = 24  # characters dropped at its end so that no word is cut
_LONGEST_CAPTION = 300  # characters of a step's caption
_LONGEST_SENTENCE = 1000  # characters of what is read aloud in place of an image
_DEEPEST = 14  # levels of the graph
_LONGEST = 80  # lines of the graph
_FIRST = 16  # steps told first when there are too many to tell all
_LAST = 6  # and last
_MOST_NUMBERS = 10  # up to which all of a curve's numbers are shown
_FEW_NUMBERS = 4  # told at each end of more
_MOST_ROWS = 20  # of an overlay


def to_text(storyboard: Storyboard) -> str:
    """Return the title, the legend, the graph from outputs to leaves as a still shows it, and each step's caption."""
    lines = [each for each in (storyboard.title, storyboard.legend) if each]
    lines += _opening_lines(storyboard)
    lines += [] if storyboard.overlay is None else ["", *_overlay_lines(storyboard.overlay)]
    if len(storyboard.steps) > 1:
        lines += ["", *_curve_lines(storyboard.curves), *_step_lines(storyboard)]
    return "\n".join(lines)


def _overlay_lines(overlay: Overlay) -> list[str]:
    """Return what an overlay's colors mean, and its numbers with the largest first, as far as there is room."""
    rows = sorted(overlay.rows, key=lambda row: (isfinite(row[2]), -row[2] if isfinite(row[2]) else 0))
    lines = [overlay_said(overlay), *[_line(f"  {number:.4g}  {title}") for title, _, number in rows[:_MOST_ROWS]]]
    return lines + [f"  … and {len(rows) - _MOST_ROWS} more"] * (len(rows) > _MOST_ROWS)


def _curve_lines(curves: Curves | None) -> list[str]:
    """Return each curve's numbers on one line, as far as there is room, and the minimum if there are many."""
    lines: list[str] = []
    for name, numbers in curves.numbers.items() if curves is not None else ():
        shown = ["none" if each is None else f"{each:.4g}" for each in numbers]
        known = [each for each in numbers if each is not None and isfinite(each)]
        least = ""
        if len(shown) > _MOST_NUMBERS:
            shown[_FEW_NUMBERS:-_FEW_NUMBERS] = ["…"]
            least = f"; least {min(known):.4g} in step {numbers.index(min(known)) + 1:,}" if known else ""
        lines.append(_line(f"{name} of steps 1 to {len(numbers):,}: {', '.join(shown)}{least}"))
    return lines


def to_sentence(storyboard: Storyboard) -> str:
    """Return the title and the graph as continuous text, to be read aloud instead of an image."""
    graph = "; ".join(line.strip("│├└─╌ ") for line in _opening_lines(storyboard))
    return _line(f"{storyboard.title}: {graph}" if storyboard.title else graph, _LONGEST_SENTENCE)


def _opening_lines(storyboard: Storyboard) -> list[str]:
    """Return the graph as a still picture shows it; if it stays empty, say why."""
    board, k = storyboard.shown()
    if not board.scene.boxes and board.steps:
        return [clean(board.steps[k].caption)]
    return graph_lines(board.at(k))


def graph_lines(scene: Scene) -> list[str]:
    """Return the graph as a tree: outputs first, and under each box what it was made from, in order."""
    there = {id: box for id, box in scene.boxes.items() if box.state != "future"}
    if any(box.place for box in scene.boxes.values()):
        return chart_lines(there.values())
    standing = [box for box in there.values() if box.holder is None and box.kind not in (*AROUND, *ASIDE)]
    panels = [box for box in standing if box.kind in PANELS]
    standing = [box for box in standing if box.kind not in PANELS]
    levels = [_named(box) for box in there.values() if box.kind == "level"]
    lines = [_line(f"Levels: {' '.join(levels)}")] if levels else []
    for panel in panels:
        lines += _panel_lines(panel)
    lines += _tree_lines(standing, _Tree(scene, there), _LONGEST - len(lines))
    lines += _region_lines(scene, there, standing)
    return lines or ["(nothing yet)"]


def _panel_lines(panel: Box) -> list[str]:
    """Return a panel's text, below its title."""
    note = textwrap.wrap(clean(panel.note), _WIDEST - 2)
    return [_line(f"{panel.title}:"), *[_line(f"  {line}") for line in (*note, *panel.lines)]]


class _Tree:
    """What each box was made from, by which arrows, and what hangs on it; and those that others were made from."""

    def __init__(self, scene: Scene, there: Mapping[str, Box]) -> None:
        self.there = there
        self.made_from: defaultdict[str, list[Arrow]] = defaultdict(list)
        self.hanging: defaultdict[str, list[Box]] = defaultdict(list)
        self.used: set[str] = set()
        for box in there.values():
            if box.holder is not None:
                self.hanging[box.holder].append(box)
        for arrow in scene.arrows.values():
            if arrow.state == "future" or arrow.source not in there or arrow.target not in there:
                continue
            if arrow.kind == "beside" and there[arrow.target].kind in ASIDE:
                self.hanging[arrow.source].append(there[arrow.target])
            elif arrow.kind in ("edge", "constant", "cut"):
                self.made_from[arrow.target].append(arrow)
                self.used.add(arrow.source)


def _tree_lines(standing: Sequence[Box], tree: _Tree, room: int) -> list[str]:
    """Return each box once with what it was made from below it, as far as there is room; and how many are left."""
    lines: list[str] = []
    named: set[str] = set()
    # (box, the arrow that led to it, how its line begins, how the lines below it begin, its level)
    todo: list[tuple[Box, Arrow | None, str, str, int]]
    todo = [(box, None, "", "", 0) for box in reversed(standing) if box.id not in tree.used]
    while todo and len(lines) < room:
        box, arrow, begin, below, level = todo.pop()
        again = box.id in named
        lines.append(_line(begin + _named(box, again) + _passed(arrow)))
        named.add(box.id)
        if again:
            continue
        above, hanging = tree.made_from[box.id], tree.hanging[box.id]
        if above and level == _DEEPEST:
            lines[-1] += " …"
            above = []
        for n, each in enumerate(hanging, 1):
            lines.append(_line(f"{below}{'├╌' if above or n < len(hanging) else '└╌'} {_named(each)}"))
        for n, arrow in reversed(list(enumerate(above))):
            last = n == len(above) - 1
            ends = (below + "└─ ", below + "   ") if last else (below + "├─ ", below + "│  ")
            todo.append((tree.there[arrow.source], arrow, *ends, level + 1))
    if left := len(standing) - len(named):
        lines.append(f"… and {left} more {'box' if left == 1 else 'boxes'}")
    return lines


def _region_lines(scene: Scene, there: Mapping[str, Box], standing: Sequence[Box]) -> list[str]:
    """Return each region with the boxes in it, if there are any."""
    around = paths(scene)
    lines: list[str] = []
    for region in [box for box in there.values() if box.kind == "region"]:
        inside = [box.title for box in standing if box.region == region.id]
        titles = [scene.boxes[id].title for id in (*around[region.id], region.id)]
        lines += [_line(f"{WITHIN.join(titles)}: {', '.join(inside)}")] if inside else []
    return lines


def chart_lines(boxes: Iterable[Box]) -> list[str]:
    """Return a chart's boxes one per line, if they have text; a heat map's heading gives its numbers."""
    shown = [box for box in boxes if box.kind not in UNTOLD and (box.title or box.alt)]
    words = [": ".join(filter(None, (box.alt or box.title, "" if box.alt else ", ".join(box.lines)))) for box in shown]
    alike = [(line, len([*same])) for line, same in groupby(words)]
    lines = [_line(f"{times} times: {line}" if times > 1 else line) for line, times in alike]
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
    if arrow.kind == "cut":
        return f"; cut off by {label}"
    counted = re.match(r"[\d,]+ gradients\b", label)  # of an arrow for several
    return f"; gives {label}" if arrow.state == "idle" else f"; receives {'' if counted else 'the gradient '}{label}"


def _line(text: str, room: int = _WIDEST) -> str:
    whole = clean(text)
    kept = cut(whole, room)
    # Part of a word says less than none of it; what has no spaces is cut where the room ends.
    words = kept.rfind(" ", room - _LONGEST_WORD) if kept != whole else 0
    return (f"{kept[:words].rstrip(' ,;:')} …" if words > 0 else kept).rstrip()


def _step_lines(storyboard: Storyboard) -> list[str]:
    stops = storyboard.stops
    phases = [storyboard.steps[end].phase for _, end, _ in stops]
    counts = Counter(phase if phase in ("backward", "update") else "forward" for phase in phases)
    *others, last = [f"{counts[phase]} {phase}" for phase in ("forward", "backward", "update") if counts[phase]]
    parts = f", {', '.join(others)} and {last}" if others else ""
    board, k = storyboard.shown()
    after = sum(begin <= k for begin, _, _ in stops)
    part = f", in {storyboard.chapter()}" if storyboard.chapter() else ""
    # A chart, a matrix: what has its places is no graph.
    kind = "picture" if any(box.place for box in storyboard.scene.boxes.values()) else "graph"
    shown = f"; the {kind} is shown after step {after}{part}" if board is storyboard else ""
    lines = [f"{len(stops)} steps{parts}{shown}:"]
    room = len(str(len(stops)))
    captions = [f"{n:>{room}}. {cut(clean(caption), _LONGEST_CAPTION)}" for n, (_, _, caption) in enumerate(stops, 1)]
    if len(captions) > _FIRST + _LAST + 1:
        captions[_FIRST:-_LAST] = [f"… {len(captions) - _FIRST - _LAST} more steps …"]
    return lines + captions


_DEEPEST_CLUSTER = 30  # clusters within each other
_WIDTHS = ("1.75", "1.5", "3", "4.5", "6.5")
_TONES = {
    "plus": ("above", "above"),
    "minus": ("below", "below"),
    "mixed": ("op-soft", "op-soft"),
    "faint": ("saved-stroke", "saved-soft"),
    "bad": ("error", "error"),
}


def to_dot(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> str:
    """Return the picture after step k as DOT source."""
    return to_digraph(storyboard, k, theme).source


def to_digraph(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> graphviz.Digraph:
    """Return the picture after step k as a `graphviz.Digraph`, to change or render further."""
    import graphviz  # pyright: ignore[reportMissingTypeStubs]

    theme, scene = theme_named(theme), storyboard.at(k)
    colors, size = theme.colors, f"{12 * theme.scale:g}"
    graph = graphviz.Digraph("workbench", graph_attr={"rankdir": "TB", "bgcolor": colors["canvas"]})
    graph.attr("node", shape="box", style="rounded,filled", fontname="monospace", fontsize=size)
    graph.attr("edge", fontname="monospace", fontsize=size)
    # A colon in a name would mean a port.
    names = {id: id if re.fullmatch(r"[\w.]+", id) else f"box {n}" for n, id in enumerate(scene.boxes)}
    there = {id: box for id, box in scene.boxes.items() if box.state != "future" and box.kind not in AROUND}
    levels = [box.title for box in scene.boxes.values() if box.kind == "level" and box.state != "future"]
    if levels:
        graph.attr(label=_dot_label([" ".join(levels)]), labelloc="t", labeljust="l", fontname="monospace")
    _write_cluster(graph, _clusters(there.values(), scene.boxes), names, colors, count())
    for arrow in scene.arrows.values():
        if arrow.state != "future":
            label = _dot_label(arrow_fields(arrow, scene)["label"].split("\n"))
            attributes = _arrow_attributes(arrow, colors)
            graph.edge(names[arrow.source], names[arrow.target], label=label, **attributes)
    return graph


@dataclass(slots=True)
class _Cluster:
    """A part of the graph by its name, with the boxes and the parts in it."""

    title: str = ""
    boxes: dict[str, list[Box]] = field(default_factory=dict)  # by the box they hang on, or are
    parts: dict[str, _Cluster] = field(default_factory=dict)  # by their id

    @property
    def is_empty(self) -> bool:
        """True if nothing is in it."""
        return not self.boxes and all(part.is_empty for part in self.parts.values())


def _clusters(there: Iterable[Box], all_boxes: Mapping[str, Box]) -> _Cluster:
    """Return the boxes in their nested regions, as deep as Graphviz draws them."""
    whole = _Cluster()
    homes: dict[str, _Cluster] = {}
    around = paths(Scene("", dict(all_boxes)))
    for id in [id for id, box in all_boxes.items() if box.kind == "region"]:
        at = whole
        for region in [*around[id], id][:_DEEPEST_CLUSTER]:
            at = at.parts.setdefault(region, _Cluster(all_boxes[region].title))
        homes[id] = at
    for box in there:
        holder = box.id if box.holder is None else box.holder
        region = all_boxes[holder].region if holder in all_boxes else None
        home = whole if region is None else homes[region]
        home.boxes.setdefault(holder, []).append(box)
    return whole


def _write_cluster(
    graph: graphviz.Digraph,
    cluster: _Cluster,
    names: dict[str, str],
    colors: Mapping[str, str],
    numbers: Iterator[int],
) -> None:
    """Write the boxes with their attachments, and the parts inside; Graphviz ranks boxes of a cluster only there."""
    for holder, boxes in cluster.boxes.items():
        for box in boxes:
            graph.node(names[box.id], **_box_attributes(box, colors))
        for box in boxes:
            if box.id != holder and boxes[0].id == holder:
                with graph.subgraph() as level:
                    level.attr(rank="same")
                    level.edge(names[holder], names[box.id], style="dotted", dir="none", color=colors["saved-stroke"])
    for part in cluster.parts.values():
        if not part.is_empty:
            with graph.subgraph(name=f"cluster_{next(numbers)}") as inner:
                inner.attr(label=_dot_label([part.title]), labeljust="l", style="dotted", fontname="monospace")
                _write_cluster(inner, part, names, colors, numbers)


def _box_attributes(box: Box, colors: Mapping[str, str]) -> dict[str, str]:
    shown = box_fields(box)
    freed = box.state == "freed"
    quiet = box.kind in ("plain", "input", "plot", *PLACED)
    role = FREED if freed else "constant" if quiet else _LIKE.get(box.kind, box.kind)
    attributes = {
        "label": _dot_label([f"{shown['title']} ({FREED})" if freed else shown["title"], *shown["lines"]]),
        "fillcolor": colors[f"{role}-fill"],
        "color": colors[f"{role}-stroke"],
        "fontcolor": colors[f"{role}-ink"],
    }
    if box.kind == "tangent":
        attributes["style"] = "filled"
    if box.kind == "group":
        attributes["shape"] = "box3d"
    if box.kind in TENSORS:
        attributes |= {"shape": "ellipse", "style": "filled"}
    if box.kind == "constant" or freed or box.state == "pending":
        attributes["style"] = attributes.get("style", "rounded,filled") + ",dashed"
    if box.kind == "output":
        attributes["peripheries"] = "2"
    if box.state in ("pending", "ready", "running"):
        attributes |= {"color": colors["gradient"], "penwidth": "4" if box.state == "running" else "2"}
    if box.state in ("differs", "error"):
        attributes |= {"color": colors["error"], "penwidth": "4"}
    return attributes


def _arrow_attributes(arrow: Arrow, colors: Mapping[str, str]) -> dict[str, str]:
    if arrow.kind == "same":
        return {"style": "dotted", "dir": "none", "constraint": "false", "color": colors["saved-stroke"]}
    if arrow.kind in ("tangent", "beside"):
        looks = {"penwidth": "2.5"} if arrow.kind == "tangent" else {"style": "dotted", "dir": "none"}
        return looks | {"color": colors["tangent-stroke"], "fontcolor": colors["tangent-ink"]}
    if arrow.kind == "cut":
        return {"style": "dotted", "color": colors["constant-stroke"], "fontcolor": colors["edge-ink"]}
    style = "dashed" if arrow.kind == "constant" else "solid"
    if arrow.state == "idle":
        return {"style": style, "color": colors["edge-stroke"], "fontcolor": colors["edge-ink"]}
    if arrow.weight:
        line, ink = _TONES[arrow.tone]
        looks = {"color": colors[line], "fontcolor": colors[ink], "penwidth": _WIDTHS[arrow.weight]}
    else:
        width = "3.5" if arrow.state == "flowing" else "1.75"
        looks = {"color": colors["gradient"], "fontcolor": colors["gradient-ink"], "penwidth": width}
    return {"style": "dashed" if arrow.tone in ("faint", "bad") else style, "dir": "back"} | looks


def _dot_label(lines: list[str]) -> str:
    """Return the lines as a label that Graphviz shows as they are: it reads no HTML, escape or entity in them."""
    import graphviz  # pyright: ignore[reportMissingTypeStubs]

    plain = [graphviz.escape(re.sub(r"&(?=#?\w+;)", "&amp;", line)) for line in lines]
    return graphviz.nohtml("\\n".join(plain))


# How a box of this kind begins and ends: what a tensor is, is round; what is done to it, is not.
_ROUND = ("([", "])")
_SQUARE = ("[", "]")
_DOUBLE = ("[[", "]]")
_SHAPES = dict.fromkeys(TENSORS, _ROUND) | {"function": _DOUBLE}
_LIKE = {"group": "op", "returned": "output"}  # kinds that look like others
_ROLES = ("function", "op", "leaf", "constant", "output", "saved", "tangent")
_DASHED = "stroke-dasharray:4 3"


def to_mermaid(storyboard: Storyboard, k: int | None = None, theme: str | Theme = "light") -> str:
    """Return the picture after step k as Mermaid source; for a chart, the texts of its boxes, one below the other."""
    scene, theme = storyboard.at(k), theme_named(theme)
    chart = any(box.place for box in scene.boxes.values())
    there = [box for box in scene.boxes.values() if box.state != "future" and box.kind not in AROUND]
    if chart:  # the numbers of a heat map are its heading's to tell
        there = [box for box in there if box.kind not in UNTOLD and (box.title or box.alt)]
    names = {box.id: f"n{number}" for number, box in enumerate(there)}
    lines = ["---", f"title: {json.dumps(storyboard.title or 'Graph')}", "---", f"flowchart {'LR' if chart else 'TD'}"]
    parts: list[str] = []
    inside = {region.id: region.title for region in scene.boxes.values() if region.kind == "region"}
    lines += [f"  {names[box.id]}{_mermaid_box(box)}" for box in there if box.region is None]
    for number, (region, title) in enumerate(inside.items()):
        members = [f"    {names[box.id]}{_mermaid_box(box)}" for box in there if box.region == region]
        lines += [f"  subgraph r{number}[{_mermaid_text([clean(title)])}]", *members, "  end"] if members else []
        parts += [f"r{number}"] if members else []
    links = [f"{names[box.holder]} -.- {names[box.id]}" for box in there if box.holder in names]
    marked: list[str] = []
    for arrow in scene.arrows.values():
        if arrow.state != "future" and arrow.source in names and arrow.target in names:
            marked += [str(len(links))] if arrow.state in ("flowing", "done") else []
            links.append(f"{names[arrow.source]} {_mermaid_link(arrow, scene)} {names[arrow.target]}")
    lines += [f"  {link}" for link in links]
    lines += [f"  linkStyle {','.join(marked)} stroke:{theme.colors['gradient']}"] if marked else []
    if parts:
        look = f"fill:{theme.colors['region-fill']},stroke:{theme.colors['region-stroke']},color:{theme.colors['ink']}"
        lines += [f"  classDef part {look},stroke-dasharray:2 4", f"  class {','.join(parts)} part"]
    return "\n".join([*lines, *_mermaid_classes(there, names, theme), ""])


def _mermaid_box(box: Box) -> str:
    shown = box_fields(box)
    title = shown["title"] or shown["alt"]
    said = f" ({FREED if box.state == 'freed' else state_words(box)})" if state_words(box) else ""
    begin, end = _SHAPES.get(box.kind, _SQUARE)
    return f"{begin}{_mermaid_text([title + said, *shown['lines']])}{end}"


def _mermaid_link(arrow: Arrow, scene: Scene) -> str:
    """Return an arrow's line with its label; it always points down, and the label says if a gradient climbs it."""
    climbed = arrow.state in ("flowing", "done")
    data = arrow.kind in ("constant", "cut")
    line = "-.-" if arrow.kind in LOOSE else "-.->" if data else "==>" if climbed else "-->"
    label = arrow_fields(arrow, scene)["label"].split("\n")
    if not any(label):
        return line
    return f"{line}|{_mermaid_text([f'gradient {label[0]}' if climbed else label[0], *label[1:]])}|"


def _mermaid_classes(there: list[Box], names: dict[str, str], theme: Theme) -> list[str]:
    colors = theme.colors
    lines = [f"  classDef default font-family:monospace,font-size:{12 * theme.scale:g}px"]
    wearing: dict[str, list[str]] = {}
    for box in there:
        kind = _LIKE.get(box.kind, box.kind)
        role = FREED if box.state == "freed" else kind if kind in _ROLES else "constant"
        wearing.setdefault(role, []).append(names[box.id])
        if box.state in ("running", "error", "differs"):
            wearing.setdefault("running" if box.state == "running" else "error", []).append(names[box.id])
    for role, members in wearing.items():
        if role in ("running", "error"):
            stroke = colors["gradient" if role == "running" else "error"]
            look = f"stroke:{stroke},stroke-width:4px" + (f",{_DASHED}" if role == "error" else "")
        else:
            look = f"fill:{colors[f'{role}-fill']},stroke:{colors[f'{role}-stroke']},color:{colors[f'{role}-ink']}"
            look += f",{_DASHED}" if role in ("constant", FREED) else ""
        lines += [f"  classDef {role} {look}", f"  class {','.join(members)} {role}"]
    return lines


def _mermaid_text(lines: list[str]) -> str:
    """Return the lines as a quoted label; all but letters, digits and a few signs are numbers, so none is markup."""
    return (
        '"' + "<br/>".join(re.sub(r"[^\w .,+=-]|_", lambda found: f"#{ord(found[0])};", line) for line in lines) + '"'
    )
