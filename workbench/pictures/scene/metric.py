"""The room that text takes, and texts cut to fit.

It follows our own metric, because a layout must not depend on a machine's fonts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from os.path import commonprefix

CHARACTER = 7.25  # px, one column of 12 px monospace text, a little more than any common font needs
TITLE_CHARACTER = CHARACTER * 14 / 12
LINE = 16  # px from one line of text to the next
TITLE_LINE = 18  # px from a title to the next line

# The most columns of each text; what is longer is cut.
TITLE_COLUMNS = 34
GROUP_TITLE_COLUMNS = 40  # on a closed group, whose lines are as wide
TEXT_COLUMNS = 38
LABEL_COLUMNS = 34
CHIP_COLUMNS = 30
HEADING_COLUMNS = 80
GROUP_COLUMNS = 60  # of a line on a closed group: height is scarcer than width
BEHIND_COLUMNS = 80  # of a title and the line behind it
NARROW_COLUMNS = 28  # the same, of a closed group where the picture is as narrow as it can be

# What XML cannot hold, and the marks that let a text reorder what stands around it.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Only there can so many marks be on one letter that they cover what is around it.
_STACKED = re.compile(r"[^\x00-\u02ff]{6,}")
_MARKS = 4  # on one letter
_REORDERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: object, keep_lines: bool = False) -> str:
    """Return the text without characters that break a file or reorder or cover others; one line unless asked."""
    text = str(text)
    if not text.isascii():
        text = _STACKED.sub(lambda found: "".join(_unstacked(found[0])), text)
    if text.isprintable():  # as most are
        return text
    printable = _UNPRINTABLE.sub("\ufffd", _REORDERING.sub("", text))
    return printable if keep_lines else " ".join(printable.splitlines()).replace("\t", " ")


def plain(sentence: str) -> str:
    """Return a sentence without the backticks around code, which has no looks of its own here."""
    return clean(sentence).replace("`", "")


def _unstacked(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MARKS:
            yield character


@lru_cache(10_000)
def columns(text: str) -> int:
    """Return the number of monospace columns that the text fills: a wide character two, a combining one none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


@lru_cache(10_000)
def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(text: str) -> float:
    """Return the width in px of a chart's text."""
    return columns(clean(text)) * CHARACTER + 6


def cut(text: str, room: int) -> str:
    """Return the text, or as much of its beginning as fits into `room` columns with an ellipsis."""
    if columns(text) <= room:
        return text
    kept: list[str] = []
    used = 1
    for character in text:
        used += _columns_of(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept) + "…"


def cut_inside(text: str, room: int) -> str:
    """Return the text, or its beginning and a piece of its end around an ellipsis, in `room` columns."""
    if columns(text) <= room:
        return text
    end, used = len(text), 0
    while end and used + _columns_of(text[end - 1]) <= 2 * (room - 1) // 3:
        end -= 1
        used += _columns_of(text[end])
    return cut(text[:end], room - used) + text[end:]


def told_apart(names: Iterable[str], room: int) -> dict[str, str]:
    """Return each name in `room` columns, cut inside; names that would become equal keep the part where they differ."""
    known = list(dict.fromkeys(names))
    short = {name: cut_inside(name, room) for name in known}
    alike: dict[str, list[str]] = {}
    for name, told in short.items():
        alike.setdefault(told, []).append(name)
    for group in [group for group in alike.values() if len(group) > 1]:
        same = len(commonprefix(group))
        begin = group[0].rfind(".", 0, same) + 1  # of the part of a path in which they differ
        for name in group:
            short[name] = cut_inside(f"…{name[begin:]}", room) if begin else cut(f"…{name[same:]}", room)
    return short
