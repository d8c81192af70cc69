"""Numbers of the user's own over a picture of a graph: for parameters, other tensors and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ...bridges import is_of_torch
from ...errors import did_you_mean
from ..scene.model import Box, Overlay, with_changes
from ..scene.storyboard import Storyboard
from ..trace.engine import ACCUMULATE
from ..trace.names import own_of
from ..trace.timeline import Timeline
from ..trace.values import series
from ..trace.workbench_engine import is_tensor

_SPREAD = 1000  # times the lowest number: a scale to more than that is logarithmic
_MOST_NAMES = 12  # that an error lists
_KINDS = ("leaf", "constant", "input", "op", "function", "plain", "group")  # what a number can be for
_NO_MAPPING = "Expected a dict as `overlay`, from names, tensors or nodes to numbers, but got {}."
_NO_NUMBER = "The overlay has {} for {}, where a number is expected."
_NO_KEY = "The overlay has a key of type {}. A key is a name in the picture, a tensor, or the grad_fn of one."
_LOADED = "This trace was loaded from a file, so its tensors and nodes aren't known. Use names as keys of the overlay."
_UNSEEN = "The overlay has a key that isn't in this picture: {}."
_UNKNOWN = "Nothing in this picture is named {!r}, a key of the overlay.{}{}"
_SEVERAL = "Several names in this picture end with {!r}, a key of the overlay: {}. Give more of the name."
_EMPTY = "The overlay has no numbers."


@dataclass(frozen=True, slots=True)
class Numbers:
    """What an overlay says, read while the recording is at hand: by key a name or the id of a box, and a number."""

    names: Mapping[str, float]
    ids: Mapping[str, tuple[float, str]]  # with the text of the key
    of_all: bool = True  # whether the picture has to have all of them: another view of the same may show less

    @classmethod
    def of(cls, trace: Timeline, overlay: Any) -> Numbers:
        """Read an overlay as a user gives it.

        Raises:
            TypeError: if it isn't a mapping to numbers, or has keys of another kind.
            ValueError: if it has no numbers.
        """
        if isinstance(overlay, Numbers):
            return overlay
        if not isinstance(overlay, Mapping):
            raise TypeError(_NO_MAPPING.format(type(overlay).__name__))
        names: dict[str, float] = {}
        ids: dict[str, tuple[float, str]] = {}
        for key, given in overlay.items():  # pyright: ignore[reportUnknownVariableType]
            said = repr(key) if isinstance(key, str) else f"a {type(key).__name__}"  # pyright: ignore[reportUnknownArgumentType]
            number = _number(given, said)
            if isinstance(key, str):
                names[key] = number
            else:
                ids[_id_of(trace, key) or f"no box {len(ids)}"] = number, said
        if not names and not ids:
            raise ValueError(_EMPTY)
        return cls(names, ids)


def _number(given: Any, said: str) -> float:
    """Return what a user gives as a number: also a tensor or an array of one number."""
    if not isinstance(given, str | bool | complex):
        with suppress(TypeError, ValueError, RuntimeError):
            return float(given)
    raise TypeError(_NO_NUMBER.format(type(given).__name__, said))


def _id_of(trace: Timeline, key: Any) -> str | None:
    """Return the id in a trace of a tensor, or of a node; None if the trace doesn't have it."""
    recorder: Any = trace._source
    key = getattr(key, "variable", None) if _is_leafs(key) else key
    own = own_of(key)
    of_torch, node = is_of_torch(own), not is_tensor(own) and not is_of_torch(own)
    if node and not callable(getattr(own, "name", None)):
        raise TypeError(_NO_KEY.format(type(key).__name__))
    if isinstance(recorder, Sequence):
        raise TypeError(_LOADED)
    if node:
        serial = recorder._number(own) if hasattr(recorder, "_number") else None
    elif of_torch:
        serial = recorder._have(own) if hasattr(recorder, "_have") else None
    else:
        serial = getattr(own, "_tag", None)
    id = None if serial is None else recorder.id_of(serial)
    state = trace.frame(len(trace.events)).tensors.get(id or "")
    return id if state is None or state.role is not None or state.node is None else state.node


def _is_leafs(key: Any) -> bool:
    name = getattr(key, "name", None)
    return not isinstance(key, str) and callable(name) and name() == ACCUMULATE


def laid_over(board: Storyboard, numbers: Numbers) -> Storyboard:
    """Return the picture with the boxes in the colors of these numbers.

    Raises:
        ValueError: if a key isn't in the picture; the message suggests similar names.
    """
    boxes = {id: box for id, box in board.scene.boxes.items() if box.kind in _KINDS}
    found = _found(numbers, boxes)
    if not found:
        return board
    for id, box in boxes.items():  # those that stand for another box where it is used
        if box.refers in found:
            found.setdefault(id, found[box.refers])
    own = [(boxes[id].title, id, number) for id, number in found.items() if boxes[id].refers is None]
    overlay = _scaled(own or [(boxes[id].title, id, number) for id, number in found.items()])
    lines = {id: f"overlay {number:.4g}" for id, number in found.items()}
    tints = {id: overlay.tint(number) for id, number in found.items()}
    for group, held in _held(board, found).items():
        if group not in found:
            most = max(held, key=lambda number: (not isfinite(number), abs(number)))
            lines[group] = f"overlay {most:.4g}" if len(held) == 1 else f"overlay up to {most:.4g} ({len(held)} inside)"
            tints[group] = overlay.tint(most)

    def told(id: str, fields: dict[str, Any]) -> dict[str, Any]:
        if id not in lines:
            return fields
        # A group has so many lines that a text cuts the last ones; where it is brief, the first two have a meaning.
        at = {"lines": 1 if board.scene.boxes[id].kind == "group" else None, "brief": None}
        more = {
            name: (*told[: at[name]], lines[id], *(told[at[name] :] if at[name] else ()))
            for name in at
            if (told := fields.get(name)) is not None
        }
        return {**fields, **more}

    def over(box: Box) -> Box:
        if box.id not in lines:
            return box
        return with_changes(box, told(box.id, {"lines": box.lines, "brief": box.brief}) | {"tint": tints[box.id]})

    made = board.with_boxes(over, told)
    made.overlay = overlay
    return made


def _found(numbers: Numbers, boxes: Mapping[str, Box]) -> dict[str, float]:
    """Return the numbers by the ids of these boxes."""
    found: dict[str, float] = {}
    for id, (number, said) in numbers.ids.items():
        if id in boxes:
            found[id] = number
        elif numbers.of_all:
            raise ValueError(_UNSEEN.format(said))
    for name, number in numbers.names.items():
        try:
            found |= dict.fromkeys(_named(name, boxes.values()), number)
        except ValueError:
            if numbers.of_all:
                raise
    return found


def _named(name: str, boxes: Iterable[Box]) -> list[str]:
    """Return the boxes with this title, or whose title is a name that ends with it, or begins with it and ` = `.

    Raises:
        ValueError: if there is none, or there are several such titles.
    """
    titled: dict[str, list[str]] = {}
    for box in boxes:
        titled.setdefault(box.title, []).append(box.id)
    titles = [name] if name in titled else [title for title in titled if _is_called(title, name)]
    if not titles:
        near = did_you_mean(name, titled)
        names = sorted(titled, key=lambda title: not title.replace(".", "_").isidentifier())  # operations are last
        raise ValueError(
            _UNKNOWN.format(name, near, "" if near else f" It has: {series(names[:_MOST_NAMES]) or 'no names at all'}.")
        )
    if len(titles) > 1:
        raise ValueError(_SEVERAL.format(name, series(titles[:_MOST_NAMES])))
    return titled[titles[0]]


def _is_called(title: str, name: str) -> bool:
    """Return True if a name ends like this, or if a variable of this name holds what is computed there."""
    return title.endswith((f".{name}", f" › {name}")) or title.startswith(f"{name} = ")


def _held(board: Storyboard, found: Mapping[str, float]) -> dict[str, list[float]]:
    """Return the numbers in each group, of whatever it holds."""
    held: dict[str, list[float]] = {}
    for id, number in found.items():
        box = board.scene.boxes[id]
        while box.region is not None and box.refers is None:
            box = board.scene.boxes[box.region]
            if box.kind == "group":
                held.setdefault(box.id, []).append(number)
    return held


def _scaled(rows: Sequence[tuple[str, str, float]]) -> Overlay:
    finite = [number for _, _, number in rows if isfinite(number)]
    if not finite:
        return Overlay(tuple(rows), None, None)
    low, high = min(finite), max(finite)
    least, most = (low, high) if low > 0 else (-high, -low)
    return Overlay(tuple(rows), low, high, low < 0 < high, 0 < least and most > least * _SPREAD)
