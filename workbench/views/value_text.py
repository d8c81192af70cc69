"""How a picture says values: on the lines of a box, and in the details of a click."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from ..scene.geometry import CHARACTER, LABEL_COLUMNS, columns
from ..scene.model import Box, Detail, Scene, Step
from ..scene.storyboard import Storyboard
from ..trace.values import Value

WORDS = 72  # columns of a sentence that stands alone
BOX_COLUMNS = 32  # of what a box says of a value
_USUAL = "float32"  # the dtype that a box need not tell
_MOST = 20_000  # sayings kept
_Said = TypeVar("_Said")


class Sayings:
    """What was said of values, each once: a box is drawn again whenever something about it changes.

    `say(lines_of, value)` is `lines_of(value)`. A value is known by its identity: equal ones may read differently,
    as 0.0 and -0.0 do.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], tuple[tuple[Any, ...], Any]] = {}

    def __call__(self, say: Callable[..., _Said], *args: Any) -> _Said:
        key = (say, *[id(arg) if arg.__class__ is Value else arg for arg in args])
        if key not in self._kept:
            if len(self._kept) >= _MOST:  # a stepper's picture lives as long as it is looked at
                self._kept.clear()
            self._kept[key] = args, say(*args)  # as long as a value is kept, its identity is no other's
        return self._kept[key][1]


def sentence_of(text: str) -> str:
    """A text with its full stop, if it does not end in one."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def in_words(title: str, sentence: str) -> Storyboard:
    """A picture of nothing but a sentence."""
    lines = textwrap.wrap(sentence, WORDS)
    places = [(0.0, 20.0 * n, columns(line) * CHARACTER + 8, 20.0) for n, line in enumerate(lines)]
    boxes = {f"word{n}": Box(f"word{n}", "text", line, place=places[n]) for n, line in enumerate(lines)}
    return Storyboard(Scene(title, boxes), [Step(sentence)], title)


def whole(value: Value, line: int) -> str:
    """All numbers of a value; empty where a line of so many characters cannot hold them."""
    text = value.text(line=line)
    return "" if value.shape and (value.values is None or "…" in text or not text.startswith("[")) else text


def label_of(grad: Value | None) -> str:
    """A gradient on an arrow: its values, its norm, and what is wrong with it."""
    if grad is None:
        return "no gradient"
    norm = f"‖{grad.norm:.3g}‖" if grad.shape and grad.is_known else ""
    text = whole(grad, LABEL_COLUMNS - len(norm) - 2)
    text = f"{text}  {norm}".strip() if text or norm else grad.text(line=LABEL_COLUMNS)
    return "\n".join([text, *trouble_of(grad)])


def line_of(grad: Value | None) -> str:
    """As `label_of`, but on one line: fewer values where the norm needs the room."""
    if grad is None or not grad.shape or not grad.is_known:
        return label_of(grad)
    norm = f"  ‖{grad.norm:.3g}‖"
    text = grad.brief(LABEL_COLUMNS - len(norm), mean=False)
    text += norm if len(text) + len(norm) <= LABEL_COLUMNS else ""
    return "\n".join([text, *trouble_of(grad)])


def with_more(label: str, more: str) -> str:
    """A label with more to say: on its last line, if that has room, else below it."""
    last = label.rpartition("\n")[2]
    return f"{label}  {more}" if columns(last) + columns(more) + 2 <= LABEL_COLUMNS else f"{label}\n{more}"


def text_of(value: Value, line: int) -> str:
    """A value on a line of so many characters."""
    return value.text(line=line)


def brief_of(value: Value, line: int) -> str:
    """A value on a line of a box of so many columns."""
    return value.brief(line)


def head_of(value: Value, name: str = "") -> str:
    """`mul (2,)`, `mul int64`, `mul`: a name, the shape unless it is one number, the dtype unless it is the usual."""
    if value.batch:
        return f"{name}  {value.kind}".lstrip()
    return " ".join(filter(None, (name, str(value.shape or ""), "" if value.dtype == _USUAL else value.dtype)))


def lines_of(value: Value, name: str = "", room: int = BOX_COLUMNS, mean: bool = True) -> list[str]:
    """A value on the lines of a box: on one if it fits, else below its shape; and what is wrong with it."""
    return [*behind_head(head_of(value, name), value.brief(room, mean), room), *trouble_of(value)]


def behind_head(head: str, text: str, room: int = BOX_COLUMNS) -> list[str]:
    """A text behind its head on one line if it fits, else below it."""
    line = f"{head}  {text}".lstrip()
    return [line] if columns(line) <= room else [head, text]


def left_out(*values: Value) -> str:
    """Shape and dtype of the values, where the lines of a box do not tell both."""
    return "; ".join([value.kind for value in values if head_of(value) != value.kind])


def trouble_of(value: Value) -> list[str]:
    """A line that says what is wrong with a value, if anything is."""
    return [value.trouble] if value.trouble else []


def value_detail(heading: str, name: str, value: Value | None) -> Detail:
    """A value as a click shows it; None is a gradient that is not there."""
    if value is None:
        return Detail(heading, "text", f"{name}: no gradient" if name else "no gradient")
    body = {
        "name": name,
        "shape": list(value.shape),
        "dtype": value.dtype,
        "text": " ".join([value.text(shown=64, line=600), *trouble_of(value)]),
        "norm": float(f"{value.norm:.4g}") if math.isfinite(value.norm) else None,
    }
    return Detail(heading, "value", body)
