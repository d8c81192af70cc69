"""How much room text takes, by a metric of our own: a layout must not depend on a machine's fonts."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

CHARACTER = 7.25  # px, one column of 12 px monospace text, a little more than any common font needs
TITLE_CHARACTER = CHARACTER * 14 / 12
LINE, TITLE_LINE = 16, 18  # px from one line of text to the next

TITLE_COLUMNS, TEXT_COLUMNS, LABEL_COLUMNS, CHIP_COLUMNS, HEADING_COLUMNS = 34, 38, 34, 30, 80

# What XML cannot hold, and the marks that let a text reorder what stands around it.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REORDERING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: object, keep_lines: bool = False) -> str:
    """The text without characters that break a file or reorder what is around them; one line unless asked."""
    text = str(text)
    if text.isprintable():  # as most are
        return text
    printable = _UNPRINTABLE.sub("\ufffd", _REORDERING.sub("", text))
    return printable if keep_lines else " ".join(printable.splitlines()).replace("\t", " ")


@lru_cache(10_000)
def columns(text: str) -> int:
    """How many columns of a monospace font the text fills: a wide character two, a combining one none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


@lru_cache(10_000)
def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, room: int) -> str:
    """The text, or as much of its beginning as fits into `room` columns with an ellipsis."""
    if columns(text) <= room:
        return text
    kept, used = [], 1
    for character in text:
        used += _columns_of(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept) + "…"
