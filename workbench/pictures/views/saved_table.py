"""All saved tensors of a trace in one table: each node with what it saves, the largest first."""

from __future__ import annotations

from ..scene.metric import CHARACTER, TITLE_CHARACTER, clean, columns, cut, told_apart
from ..scene.model import Box, BoxKind, Scene
from ..scene.storyboard import Storyboard
from ..trace.values import series
from .memory_sizes import bytes_said
from .module_places import places_of
from .saved_survey import NodeRow, Survey
from .saved_words import keep_nothing

_ROWS = 24  # nodes shown
_LINE = 22  # px of a node's line
_TOP = 58  # px above the first
_NAME = 28  # columns at most
_CODE = 34  # columns at most
_KEPT = 46  # columns at most
_GAP = 8  # px before the bars
_BAR = 150  # px of the largest bar
_EACH = "Each node with its saved tensors, largest first, the bytes that they add, and its line:"


def kept_at_a_glance(survey: Survey, title: str) -> Storyboard:
    """Return the table of all nodes of a survey."""
    return Storyboard(Scene(title, {box.id: box for box in _boxes(survey)}))


def _boxes(survey: Survey) -> list[Box]:
    # What was found after the last stop, in a trace that was cut there, has no row.
    all_ = [survey.rows[made.node] for made in survey.made if made.runs is None and made.node in survey.rows]
    rows = sorted((row for row in all_ if row.names), key=lambda row: survey.rank[row.made.node])
    size, anyway = (
        sum(each.size for each in survey.counted.values() if each.anyway is lives) for lives in (False, True)
    )
    head = f"{len(rows)} of {len(all_)} nodes save{'s' * (len(rows) == 1)} {bytes_said(size)} for backward"
    boxes = [Box("total", "heading", head, place=(0, 0, columns(head) * TITLE_CHARACTER + 8, 24))]
    top = _TOP + _LINE * bool(anyway)
    if anyway:
        text = f"They also need {bytes_said(anyway)} of parameters and inputs, which are held anyway"
        boxes.append(_text("anyway", "text", text, 0, 24))
    shown = rows[: _ROWS - (len(rows) > _ROWS)]
    places = places_of(row.made for row in rows)
    called = [clean(places.get(row.made.node, row.made.name)) for row in shown]
    short = told_apart(called, _NAME)
    table = [
        ["node", *[short[name] for name in called]],
        ["saves", *[cut(clean(series(row.names)), _KEPT) for row in shown]],
        ["bytes", *[bytes_said(row.own) for row in shown]],
        ["line", *[cut(clean(row.made.source.text), _CODE) if row.made.source else "" for row in shown]],
    ]
    wide = [max(map(columns, texts)) for texts in table]
    lines = ["\u00a0\u00a0".join(map(_padded, texts, wide)) for texts in zip(*table, strict=True)]
    boxes += [_text("head", "text", lines[0], 0, top - _LINE, _EACH)] if shown else []
    x = (sum(wide) + 2 * len(wide)) * CHARACTER + _GAP
    largest = max([row.size for row in shown], default=0)
    for n, (row, line) in enumerate(zip(shown, lines[1:], strict=True)):
        y = float(top + _LINE * n)
        boxes.append(_text(f"node{n}", "line", line, 0, y, _alt_of(row, called[n])))
        if row.size:
            own, whole = _BAR * row.own / largest, _BAR * row.size / largest
            place = (x + own, y + 3, max(2.0, whole - own), _LINE - 6.0)
            boxes += [Box(f"rest{n}", "cell", "", place=place, state="over")] if whole > own else []
            place = (x, y + 3, max(2.0, own), _LINE - 6.0)
            boxes += [Box(f"own{n}", "bar", "", place=place)] if own else []
    y = float(top + _LINE * len(shown))
    if left := len(rows) - len(shown):
        most = rows[len(shown)].own
        text = f"… and {left:,} more, {f'each with at most {bytes_said(most)}' if most else 'which add nothing'}"
        boxes.append(_text("more", "text", text, 0, y))
        y += _LINE
    if nothing := len(all_) - len(rows):
        boxes.append(_text("nothing", "text", keep_nothing(nothing), 0, y))
    return boxes


def _padded(text: str, wide: int) -> str:
    return text.replace(" ", "\u00a0") + "\u00a0" * (wide - columns(text))


def _text(id: str, kind: BoxKind, text: str, x: float, y: float, alt: str = "") -> Box:
    return Box(id, kind, text, place=(x, y, columns(text) * CHARACTER + 8, 20), alt=alt)


def _alt_of(row: NodeRow, called: str) -> str:
    source, name = row.made.source, row.made.name
    line = f" (line {source.line}: {source.text})" if source else ""
    who = name if called == clean(name) else f"{called} ({name})"
    return f"{who} saves {bytes_said(row.own)}: {series(row.names)}{line}"
