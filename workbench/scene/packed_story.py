"""A told storyboard in columns, as a notebook keeps it: a third of its size before it is compressed, half of it after.

`widgets/static/unpacking.js` makes the storyboard of it again, to a tenth of a px. What is alike stands together, what
follows from something else is left out, and numbers are told as differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .descriptions import WAYS, arrow_said, box_said

_PARTS = ("boxes", "arrows", "steps", "details", "levels")
_HOLE = "\0"  # no cleaned text has it
Told = dict[str, Any]  # what Storyboard.to_dict gives, and the parts of that


def packed_story(told: Told) -> Told:
    """What is told of a storyboard, in columns."""
    return _Packing(told).story() | {"ways": WAYS}


class _Packing:
    """Goes through a story once; an item is known by its place in the list."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._boxes: dict[str, Told] = {box["id"]: dict(box) for box in told["boxes"]}  # as they are by now
        self._arrows: dict[str, Told] = {arrow["id"]: dict(arrow) for arrow in told["arrows"]}
        self._box_at = {id: place for place, id in enumerate(self._boxes)}
        self._arrow_at = {id: place for place, id in enumerate(self._arrows)}
        self._details: dict[str, list[int]] = {}
        self._next = 0  # the first number of a detail that no item had yet

    def story(self) -> Told:
        told = self._told
        story = {name: value for name, value in told.items() if name not in _PARTS}
        boxes, arrows = list(map(self._box, self._boxes.values())), list(map(self._arrow, self._arrows.values()))
        _differences(boxes, ("x", "y"))
        _differences(arrows, ("target",))
        moved: dict[str, list[Told]] = {"boxes": [], "arrows": []}
        steps = [self._step(step, moved) for step in told["steps"]]
        _differences([step for step in steps if isinstance(step["focus"], int)], ("focus",))
        _differences([step for step in steps if "when" in step], ("when",))
        for moves in moved.values():
            _differences(moves, ("item",))
        tables = {"boxes": boxes, "arrows": arrows, "steps": steps, "details": map(_detail, told["details"])}
        story |= {name: _table(rows) for name, rows in tables.items()}
        story["moves"] = [_table(moves) for moves in moved.values()]
        if "levels" in told:
            story["levels"] = [self._level(frame, level) for frame, level in told["levels"].items()]
        return story

    def _level(self, frame: str, level: Told) -> list[Any]:
        """A level by places in the lists of boxes and arrows, one more than they are: 0 is none."""
        box = {id: place + 1 for id, place in self._box_at.items()} | {None: 0, "": 0}
        arrow = {id: place + 1 for id, place in self._arrow_at.items()} | {None: 0}
        wires = [
            [box[start], box[end], box[value], arrow[ended], len(steps), *steps, *label]
            for start, end, value, ended, steps, *label in level["wires"]
        ]
        spots = ([[box[value], x] for value, x in level[side].items()] for side in ("in", "out"))
        places = [[box[id], *corner] for id, corner in level["boxes"].items()]
        return [box[frame], level["w"], level["h"], places, wires, *spots]

    def _box(self, box: Told) -> Told:
        row: Told = box | {name: _tenths(box[name]) for name in "xywh"} | {"details": self._listed(box)}
        holder = row.pop("holder")
        if holder is not None:
            row["holder"] = self._box_at[box["id"]] - self._box_at[holder]
            _shorten(row, holder)
        return self._said(box, row)

    def _arrow(self, arrow: Told) -> Told:
        source, target = self._boxes[arrow["source"]], self._box_at[arrow["target"]]
        row: Told = arrow | {"source": target - self._box_at[arrow["source"]], "target": target}
        _shorten(row, arrow["target"])
        x, y, w, h = (_tenths(source[name]) for name in "xywh")
        for name, start in (("lx", x), ("ly", y), ("lw", 0), ("lh", 0)):
            row[name] = _tenths(arrow[name]) - start
        points = _points(arrow["d"], x + w // 2, y + h)
        row["d"] = arrow["d"] if points is None else points
        return self._said(arrow, {name: value for name, value in row.items() if value or name not in _EMPTY})

    def _step(self, step: Told, moved: dict[str, list[Told]]) -> Told:
        """The step, with how many of each it changes; the changes themselves join those that are moved."""
        for id, change in step["boxes"].items():
            box = self._boxes[id]
            box.update(change)
            row = change | ({"details": self._listed(box)} if "details" in change else {})
            moved["boxes"].append(self._said(box, row) | {"item": self._box_at[id]})
        for id, change in step["arrows"].items():
            arrow = self._arrows[id]
            arrow.update(change)
            moved["arrows"].append(self._said(arrow, dict(change)) | {"item": self._arrow_at[id]})
        focus = self._box_at[step["focus"]] if step["focus"] in self._boxes else step["focus"]
        told = step | {"focus": focus, "boxes": len(step["boxes"]), "arrows": len(step["arrows"])}
        if "place" in step:  # mostly where the focus is
            told["place"] = self._box_at[step["place"]] - (focus if isinstance(focus, int) else 0)
        return told

    def _listed(self, box: Told) -> list[int]:
        """A box's details: how many of those that it had stay at the beginning, then the others, mostly new ones."""
        before, now = self._details.get(box["id"], []), box["details"]
        same = next((n for n, (one, other) in enumerate(zip(before, now, strict=False)) if one != other), None)
        same = min(len(before), len(now)) if same is None else same
        numbers = [same]
        for number in now[same:]:
            numbers.append(number - self._next)
            self._next = max(self._next, number + 1)
        self._details[box["id"]] = now
        return numbers

    def _said(self, item: Told, row: Told) -> Told:
        """The row with the words of the item as it is by now: a note, if they are made from it and what is drawn."""
        before = item.get("note", "")
        words = self._arrow_words(item) if "source" in item else _box_words(item)
        item["note"] = note = _note(item["alt"], words)  # None: they are not made so
        if note is not None:
            row.pop("alt", None)
            return row if note == before else row | {"note": note}
        return row | {"alt": item["alt"]} if before is not None else row

    def _arrow_words(self, arrow: Told) -> Callable[[str], str]:
        upper, lower = self._boxes[arrow["source"]]["title"], self._boxes[arrow["target"]]["title"]
        return lambda note: arrow_said(upper, lower, arrow["kind"], arrow["label"], note, arrow["state"])


_EMPTY = ("label", "tone", "weight")  # of an arrow: mostly there is none


def _box_words(box: Told) -> Callable[[str], str]:
    return lambda note: box_said(box["title"], box["kind"], note, box["lines"], box["state"])


def _note(said: str, words: Callable[[str], str]) -> str | None:
    """The note with which the words are what is said, or None."""
    if said == words(""):
        return ""
    begin, hole, end = words(_HOLE).partition(_HOLE)
    found = said[len(begin) : len(said) - len(end)]
    return found if hole and found and words(found) == said else None


def _shorten(row: Told, longer: str) -> None:
    """An id that continues another is told by its end."""
    if row["id"].startswith(longer):
        row["end"] = row.pop("id")[len(longer) :]


def _tenths(number: float) -> int:
    return round(number * 10)


def _points(d: str, x: int, y: int) -> list[int] | None:
    """The numbers of a path, each point from the one before, the first from that place; None for another path."""
    texts = d.removeprefix("M").replace(" C", " ").replace(",", " ").split(" ")
    try:
        numbers = [_tenths(float(text)) for text in texts]
    except ValueError:
        return None
    pairs = [f"{x / 10:g},{y / 10:g}" for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
    if d != f"M{pairs[0]} C{' '.join(pairs[1:])}" or "e" in d:
        return None
    return [number - before for number, before in zip(numbers, [x, y, *numbers], strict=False)]


def _detail(detail: Told) -> Told:
    """A section of what a click shows; a value's numbers stand in several under other names."""
    body = detail["body"]
    if not isinstance(body, dict) or list(body) != ["name", "shape", "dtype", "text", "norm"]:
        return detail
    row = {name: value for name, value in detail.items() if name != "body"}
    return row | {"name": body["name"], "value": [body[name] for name in ("shape", "dtype", "text", "norm")]}


def _differences(rows: Sequence[Told], names: Iterable[str]) -> None:
    """Have each row tell these numbers from those of the row before."""
    for name in names:
        before = 0
        for row in rows:
            before, row[name] = row[name], row[name] - before


def _table(rows: Iterable[Told]) -> list[Any]:
    """How many rows there are, and their columns by name; one that not all rows have tells how far apart they are."""
    columns: dict[str, list[tuple[int, Any]]] = {}
    count = 0
    for count, row in enumerate(rows, 1):
        for name, value in row.items():
            columns.setdefault(name, []).append((count - 1, value))
    table: dict[str, Any] = {}
    for name, cells in columns.items():
        table[name] = _column([value for _, value in cells])
        if len(cells) < count:
            places = [place for place, _ in cells]
            table[name]["at"] = [place - before for place, before in zip(places, [0, *places], strict=False)]
    return [count, table]


def _column(values: list[Any]) -> dict[str, Any]:
    """The values; or, where they are often the same, those that there are, and which of them each is."""
    texts = [repr(value) for value in values]  # in a tenth of the time of JSON
    kinds = {text: value for text, value in zip(texts, values, strict=True)}
    if 2 * len(kinds) > len(values) or all(len(text) < 3 for text in kinds):
        return {"is": values}
    number = {text: n for n, text in enumerate(kinds)}
    return {"of": list(kinds.values()), "by": [number[text] for text in texts]}
