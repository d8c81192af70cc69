"""All that is saved at one glance: each node with its line, what it keeps and how many bytes, as if none were freed."""

from __future__ import annotations

from dataclasses import dataclass

from ..scene.metric import CHARACTER, TITLE_CHARACTER, clean, columns, cut
from ..scene.model import Box, BoxKind, Scene
from ..scene.storyboard import Storyboard
from ..trace.frame import Frame
from ..trace.records import NodeCreated
from ..trace.timeline import Timeline
from ..trace.values import series
from .memory_ledger import bytes_said, memory_of, size_of
from .saved_rows import slot_name

_ROWS, _ROW, _TOP = 24, 22, 58  # nodes shown; px of a node's line, and of what stands above the first
_NAME, _CODE, _KEPT = 28, 34, 46  # columns at most
_GAP, _BAR = 8, 150  # px before the bars, and of the largest
_EACH = "Each node with its line, what it keeps, and how many bytes that is:"


@dataclass(slots=True)
class _Row:
    """A node: what it keeps, and the bytes of that which nobody has kept before and which do not live anyway."""

    made: NodeCreated
    names: list[str]
    size: int
    own: int


def kept_at_a_glance(trace: Timeline, title: str) -> Storyboard:
    """The table of all nodes of a trace."""
    frame, rows = Frame(), []
    counted: dict[str, tuple[int, bool]] = {}  # memory -> its bytes, and whether it lives anyway
    for event in trace.events:
        event.apply(frame)
        if isinstance(event, NodeCreated) and event.runs is None:
            rows.append(_row(frame, event, counted))
    return Storyboard(Scene(title, {box.id: box for box in _boxes(rows, counted)}))


def _row(frame: Frame, made: NodeCreated, counted: dict[str, tuple[int, bool]]) -> _Row:
    row, mine = _Row(made, [], 0, 0), set()
    for n, (saved, value) in enumerate(zip(made.saved, frame.nodes[made.node].saved, strict=True)):
        memory, size, anyway = f"{made.node}.{n}", 0 if value is None else size_of(value), False
        if saved.tensor is not None:
            memory, size, anyway = memory_of(frame, saved.tensor)
        also = ", kept above" if memory in counted and not anyway else ", lives anyway" if anyway else ""
        kind = f" {value.shape}" if value is not None else ""
        row.names.append(f"{slot_name(frame, made.node, n)}{kind}{also}")
        row.size += size * (memory not in mine)
        row.own += size * (memory not in counted and not anyway)
        mine.add(memory)
        counted[memory] = size, anyway
    return row


def _boxes(rows: list[_Row], counted: dict[str, tuple[int, bool]]) -> list[Box]:
    total, anyway = sum(size for size, _ in counted.values()), sum(size for size, lives in counted.values() if lives)
    keeping = sum(bool(row.names) for row in rows)
    head = f"{keeping} of {len(rows)} nodes keep{'s' * (keeping == 1)} {bytes_said(total)} for the backward"
    boxes = [Box("total", "heading", head, place=(0, 0, columns(head) * TITLE_CHARACTER + 8, 24))]
    top = _TOP + _ROW * bool(anyway)
    if anyway:
        said = f"{bytes_said(anyway)} of that {'is' if anyway == 1 else 'are'} parameters and inputs, which live anyway"
        boxes.append(_text("anyway", "text", said, 0, 24))
    most = sorted(range(len(rows)), key=lambda n: -rows[n].size)[: _ROWS - (len(rows) > _ROWS)]
    shown = [rows[n] for n in sorted(most)]
    table = [
        ["node", *[cut(clean(row.made.name), _NAME) for row in shown]],
        ["line", *[cut(clean(row.made.source.text), _CODE) if row.made.source else "" for row in shown]],
        ["keeps", *[cut(clean(series(row.names) or "nothing"), _KEPT) for row in shown]],
        ["bytes", *[bytes_said(row.size) if row.names else "" for row in shown]],
    ]
    wide = [max(map(columns, texts)) for texts in table]
    lines = ["\u00a0\u00a0".join(map(_padded, texts, wide)) for texts in zip(*table, strict=True)]
    boxes.append(_text("head", "text", lines[0], 0, top - _ROW, _EACH))
    x = (sum(wide) + 2 * len(wide)) * CHARACTER + _GAP
    largest = max([row.size for row in shown], default=0)
    for n, (row, line) in enumerate(zip(shown, lines[1:], strict=True)):
        y = float(top + _ROW * n)
        boxes.append(_text(f"node{n}", "line", line, 0, y, _said(row)))
        if row.size:
            own, whole = _BAR * row.own / largest, _BAR * row.size / largest
            place = (x + own, y + 3, max(2.0, whole - own), _ROW - 6.0)
            boxes += [Box(f"rest{n}", "cell", "", place=place, state="over")] if whole > own else []
            place = (x, y + 3, max(2.0, own), _ROW - 6.0)
            boxes += [Box(f"own{n}", "bar", "", place=place)] if own else []
    if left := len(rows) - len(shown):
        size = max(row.size for n, row in enumerate(rows) if n not in most)
        said = f"… and {left} more, each with at most {bytes_said(size)}"
        boxes.append(_text("more", "text", said, 0, top + _ROW * len(shown)))
    return boxes


def _padded(text: str, wide: int) -> str:
    return text.replace(" ", "\u00a0") + "\u00a0" * (wide - columns(text))


def _text(id: str, kind: BoxKind, text: str, x: float, y: float, alt: str = "") -> Box:
    return Box(id, kind, text, place=(x, y, columns(text) * CHARACTER + 8, 20), alt=alt)


def _said(row: _Row) -> str:
    source = row.made.source
    line = f" (line {source.line}: {source.text})" if source else ""
    size = f": {bytes_said(row.size)}" if row.names else ""
    return f"{row.made.name}{line} keeps {series(row.names) or 'nothing'}{size}"
